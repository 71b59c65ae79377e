"""Reading and checking stack files, on the controller: this needs PyYAML and jsonschema, which hosts need not have.

Nothing that runs on a host may import this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from .findings import Finding
from .stack import AUTO, label

Path_ = Sequence["str | int"]

#: What stacks share: key -> the directory, beside the stack or else in stacks/, of the files that names stand for.
PARTS = {"kernel": "kernels", "toolchain": "toolchains"}

_SHIPPED = Path(__file__).resolve().parents[2] / "stacks"

#: A mistake often breaks many rules; more than this many findings for one file hide the first.
MOST = 10


class _Loader(yaml.SafeLoader):
    """YAML as stacks use it: no key twice, and a date stays the text it is."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode):
                if key_node.value in seen:
                    problem = f"the key {key_node.value!r} stands here a second time"
                    raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
                seen.add(key_node.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def names(directory: Path) -> list[str]:
    """Return the names of the stacks in a directory, sorted."""
    return sorted(path.stem for path in directory.glob("*.yml"))


def load(path: Path) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Read one stack file and check it.

    Returns:
        The stack, or ``None`` and ``STACK.INVALID`` findings whose subject is ``FILE:LINE`` or ``FILE``.
    """
    try:
        tree = _compose(path)
        if isinstance(tree, yaml.MappingNode):
            _splice(tree, path)
        stack = _Loader("").construct_document(tree) if tree else None
    except _UnreadableError as error:
        return None, [error.finding]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{mark.name}:{mark.line + 1}" if mark else str(path)
        return None, [_invalid(where, f"no valid YAML: {error.problem}", "correct this line")]
    except (yaml.YAMLError, ValueError) as error:
        return None, [_invalid(str(path), f"no valid YAML: {error}", "correct the file")]
    except RecursionError:
        return None, [_too_deep(path)]
    if not isinstance(stack, dict):
        found = "it is empty" if stack is None else f"it holds {_kind(stack)}, expected keys and values"
        return None, [_invalid(str(path), found, "compare with stacks/distro.yml and docs/stacks.md")]
    try:
        problems = _problems(stack, path)
    except RecursionError:  # an alias that holds itself
        return None, [_too_deep(path)]
    findings = [
        _invalid(_place(tree, where), f"{_dotted(where)}: {problem}", "see docs/stacks.md, then correct it")
        for where, problem in problems
    ]
    return (None, findings) if findings else (stack, [])


def load_all(directory: Path, wanted: str = AUTO) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Read every stack of a directory; see :func:`load`.

    Where the user names one stack, mistakes in the others are warnings. Without a name they are errors, since the
    file with the mistake might be the one to choose.
    """
    stacks: list[dict[str, Any]] = []
    findings: list[Finding] = []
    found = names(directory)
    if not found:
        findings.append(_invalid(str(directory), "there is no stack here", "point stack_dir at a directory of stacks"))
    for name in found:
        stack, wrong = load(directory / f"{name}.yml")
        severity = "error" if wanted in (AUTO, name) else "warning"
        findings += [replace(finding, severity=severity) for finding in wrong]
        if stack:
            stacks.append(stack)
    return stacks, findings


def schema() -> dict[str, Any]:
    """Return the schema that every stack must satisfy."""
    loaded: dict[str, Any] = json.loads((_SHIPPED / "schema.json").read_text(encoding="utf-8"))
    return loaded


class _UnreadableError(Exception):
    """A file, or a part that a file names, cannot be read."""

    def __init__(self, subject: str, evidence: str, remedy: str) -> None:
        super().__init__(evidence)
        self.finding = _invalid(subject, evidence, remedy)


def _compose(path: Path) -> yaml.Node | None:
    """Return the tree of a YAML file, in which every node knows its file and line."""
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
    except OSError as error:
        evidence = error.strerror or str(error)
        raise _UnreadableError(str(path), evidence, "check the file's name and permissions") from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise _UnreadableError(f"{path}:{line}", "this is no UTF-8", "save the file as UTF-8") from error
    loader.name = str(path)
    node: yaml.Node | None = loader.get_single_node()
    return node


def _splice(tree: yaml.MappingNode, path: Path) -> None:
    """Put in what the names of shared parts stand for."""
    mappings = [tree]
    for key, value in tree.value:
        if key.value == "os" and isinstance(value, yaml.SequenceNode):
            mappings += [entry for entry in value.value if isinstance(entry, yaml.MappingNode)]
    for mapping in mappings:
        for index, (key, value) in enumerate(mapping.value):
            if isinstance(value, yaml.ScalarNode) and value.value and key.value in [*PARTS]:
                mapping.value[index] = (key, _part(key.value, value, path))


def _part(key: str, name: yaml.ScalarNode, path: Path) -> yaml.Node:
    known = {
        file.stem: file
        for top in (_SHIPPED, path.resolve().parent)
        for file in sorted((top / PARTS[key]).glob("*.yml"))
    }
    node = _compose(known[name.value]) if name.value in known else None
    if node is None:
        subject = f"{path}:{name.start_mark.line + 1}"
        evidence = f"{key}: there is no {PARTS[key]}/{name.value}.yml, or it is empty{_like(name.value, list(known))}"
        raise _UnreadableError(subject, evidence, f"name one of {', '.join(sorted(known))}")
    return node


def _problems(stack: dict[str, Any], path: Path) -> list[tuple[Path_, str]]:
    errors = jsonschema.Draft202012Validator(schema()).iter_errors(stack)
    problems = [found for error in sorted(errors, key=_order) for found in _explain(error)]
    if problems:
        return problems[:MOST]
    if stack["name"] != path.stem:
        return [(["name"], f"it is {stack['name']!r}, expected the file's own name, {path.stem!r}")]
    seen: set[tuple[str, str]] = set()
    for index, entry in enumerate(stack["os"]):
        key = (entry["id"], entry["version"])
        if key in seen:
            problems.append((["os", index], f"{label(entry)} has an entry already"))
        seen.add(key)
    return problems


def _order(error: jsonschema.ValidationError) -> list[str]:
    return [f"{part:06}" if isinstance(part, int) else str(part) for part in error.absolute_path]


def _explain(error: jsonschema.ValidationError) -> list[tuple[Path_, str]]:
    """Say in the words of a stack's author what jsonschema says in those of the schema."""
    path = list(error.absolute_path)
    rules: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    if error.validator == "required":
        # jsonschema reports each missing key by itself; its message begins with the key's name.
        return [(path, f"the key {error.message.split(' is a required')[0]} is missing")]
    if error.validator == "additionalProperties":
        known = sorted(rules["properties"])
        instance: Any = error.instance
        unknown = [key for key in instance if key not in known]
        expected = f"expected {', '.join(known)}"
        return [([*path, key], f"unknown key{_like(str(key), known)}; {expected}") for key in unknown]
    expected = rules.get("description") or error.message
    if error.validator == "enum":
        expected = f"{expected}: one of {', '.join(rules['enum'])}"
    return [(path, f"it is {_kind(error.instance)}, expected {expected}")]


def _like(key: str, known: list[str]) -> str:
    close = get_close_matches(key, known, 1)
    return f", did you mean {close[0]!r}" if close else ""


def _kind(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"{str(value).lower()} (true or false)"
    if isinstance(value, (int, float)):
        return f"the number {value} (without quotes)"
    if isinstance(value, str):
        return f"{value[:80]!r}"
    name = "list" if isinstance(value, list) else "mapping"
    return f"a {name} of {len(value)}" if value else f"an empty {name}"


def _dotted(path: Path_) -> str:
    """Return a path as ``os[1].rocm.gfx[0]``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".") or "the file"


def _place(node: Any, path: Path_) -> str:
    """Return ``FILE:LINE`` where the value at a path begins, or the innermost mapping or list on the way to it."""
    mark = node.start_mark
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in node.value if key.value == str(part)]
            if not pairs:
                break
            mark, node = pairs[0][0].start_mark, pairs[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            mark = node.start_mark
        else:
            break
    return f"{mark.name}:{mark.line + 1}"


def _too_deep(path: Path) -> Finding:
    return _invalid(str(path), "it is nested too deeply", "compare with stacks/distro.yml")


def _invalid(subject: str, evidence: str, remedy: str) -> Finding:
    return Finding("STACK.INVALID", "error", subject, evidence, remedy)
