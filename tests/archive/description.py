"""Reads the descriptions of archives and packages: YAML with loops, checked before anything is built."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from .errors import ArchiveError

#: Key in a description, to field of the control file, in the order in which dpkg writes them.
RELATIONS = {
    "pre_depends": "Pre-Depends",
    "depends": "Depends",
    "recommends": "Recommends",
    "suggests": "Suggests",
    "breaks": "Breaks",
    "conflicts": "Conflicts",
    "replaces": "Replaces",
    "provides": "Provides",
}
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")

_FILE_KEYS = {"vars", "foreach", "publish", "defaults", "packages"}
_PACKAGE_KEYS = {
    "name", "version", "architecture", "section", "priority", "maintainer", "homepage", "source", "description",
    "vars", "foreach", "publish", "scripts", "files", "index_only", "installed_size", *RELATIONS,
}  # fmt: skip
_CONTENT_KINDS = {"content", "symlink", "size", "elf", "program"}
_ELF_KEYS = {"soname", "nodes", "needs", "runpath", "returns"}
_PROGRAM_KEYS = {"source", "needs", "runpath"}

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_VERSION = re.compile(r"(?:\d+:)?\d[A-Za-z0-9.+~-]*")
_RELATION = re.compile(rf"{_NAME.pattern}(?::any)? ?(?:\((?:<<|<=|=|>=|>>) {_VERSION.pattern}\))?")
_VARIABLE = re.compile(r"\$\{([a-z][a-z0-9_.]*)\}")
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(B|KB|KiB|MB|MiB|GB|GiB)")
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class DescriptionError(ArchiveError):
    """A description is wrong: which file, package and key, and what is wrong with it."""


@dataclass(frozen=True)
class Place:
    """Where in the descriptions something stands, for messages."""

    file: str
    package: str = ""
    key: str = ""

    def error(self, message: str) -> DescriptionError:
        """Return the error that something is wrong here."""
        parts = [self.file, self.package and f"package {self.package}", self.key and f"key {self.key}"]
        return DescriptionError(f"{', '.join(part for part in parts if part)}: {message}")

    def at(self, key: str) -> Place:
        """Return the place of a key below this one."""
        return Place(self.file, self.package, f"{self.key}.{key}" if self.key else key)


@dataclass(frozen=True)
class Target:
    """Where a package is published."""

    archive: str
    suite: str
    component: str = "main"


@dataclass(frozen=True)
class Package:
    """One binary package.

    Attributes:
        control: Fields of the control file by name, without Installed-Size.
        scripts: Maintainer scripts by name.
        files: Absolute path to a mapping with one of ``content``, ``symlink``, ``size``, ``elf``, ``program``.
        targets: The suites that it is published in.
        index_only: Bytes that the index claims for a .deb which does not exist; None where it is built.
        installed_size: KiB that the control file claims; None: what the files take.
    """

    control: Mapping[str, str]
    scripts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    index_only: int | None = None
    installed_size: int | None = None

    @property
    def name(self) -> str:
        """The package's name."""
        return self.control["Package"]

    @property
    def version(self) -> str:
        """The package's version."""
        return self.control["Version"]

    @property
    def filename(self) -> str:
        """The name of its .deb; without the epoch, as everywhere."""
        return f"{self.name}_{self.version.partition(':')[2] or self.version}_{self.control['Architecture']}.deb"


def size_bytes(value: object, place: Place) -> int:
    """Return the bytes of ``3 MiB``, ``1.5 GB`` or a plain number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _SIZE.fullmatch(str(value))
    if not match:
        raise place.error(f"{value!r} is no size; write 4096, 3 MiB or 1.5 GB")
    return int(float(match.group(1)) * _UNITS[match.group(2)])


def substitute(value: Any, variables: Mapping[str, Any], place: Place) -> Any:
    """Return a value with ``${name}`` and ``${row.column}`` replaced in all its strings, keys too.

    An item ``{foreach: ..., item: ...}`` of a list stands for one item a round.
    """
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: str(_look_up(match.group(1), variables, place)), value)
    if isinstance(value, Mapping):
        return {substitute(key, variables, place): substitute(item, variables, place) for key, item in value.items()}
    if isinstance(value, list):
        items = []
        for item in value:
            if isinstance(item, Mapping) and set(item) == {"foreach", "item"}:
                items += [
                    substitute(item["item"], {**variables, **row}, place) for row in rounds(item["foreach"], place)
                ]
            else:
                items.append(substitute(item, variables, place))
        return items
    return value


def rounds(foreach: object, place: Place) -> Iterator[dict[str, Any]]:
    """Yield the variables of each round of a loop: every combination of the variables' values.

    A list within a list of values is joined to it, so that lists can be built of YAML's anchors.
    """
    if not isinstance(foreach, Mapping) or not all(isinstance(values, list) and values for values in foreach.values()):
        raise place.at("foreach").error("must be a mapping of variables to lists that are not empty")
    flat = [
        [each for item in values for each in (item if isinstance(item, list) else [item])]
        for values in foreach.values()
    ]
    for combination in itertools.product(*flat):
        yield dict(zip(foreach, combination, strict=True))


def _look_up(name: str, variables: Mapping[str, Any], place: Place) -> Any:
    value: Any = variables
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise place.error(f"no variable ${{{name}}}; there are {', '.join(sorted(variables)) or 'none'}")
        value = value[part]
    if isinstance(value, Mapping | list):
        raise place.error(f"${{{name}}} is no text but a {type(value).__name__}")
    return value


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds.

    Raises:
        DescriptionError: It is no YAML.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise DescriptionError(f"{path.name}: is no YAML: {error}") from error


def load(path: Path) -> list[Package]:
    """Return the packages that a file describes, in its order.

    Raises:
        DescriptionError: Something is wrong; the message names the file, the package and the key.
    """
    return parse(read_yaml(path), path)


def parse(data: Any, path: Path) -> list[Package]:
    """Return the packages of a parsed description.

    Args:
        data: What the YAML file holds.
        path: The file, for messages; what a package takes ``from`` another file is found beside it.

    Raises:
        DescriptionError: Something is wrong; the message names the file, the package and the key.
    """
    file = path.name
    place = Place(file)
    if not isinstance(data, Mapping):
        raise place.error("must be a mapping")
    _known(data, _FILE_KEYS, place)
    if not isinstance(data.get("packages"), list):
        raise place.at("packages").error("must be a list")
    packages: list[Package] = []
    for outer in rounds(data["foreach"], place) if "foreach" in data else [{}]:
        variables = dict(data.get("vars", {})) | outer
        for entry in data["packages"]:
            packages += _expand({"publish": data.get("publish", [])} | data.get("defaults", {}), entry, variables, path)
    seen: set[tuple[Target, str, str]] = set()
    for package in packages:
        for target in package.targets:
            identity = (target, package.name, package.version)
            if identity in seen:
                raise Place(file, package.name).error(f"described twice for {target.archive}/{target.suite}")
            seen.add(identity)
    return packages


def _expand(defaults: Mapping[str, Any], entry: object, variables: Mapping[str, Any], path: Path) -> Iterator[Package]:
    file = path.name
    if not isinstance(entry, Mapping) or "name" not in entry:
        raise Place(file).error(f"a package must be a mapping with a name, not {entry!r}")
    place = Place(file, str(entry["name"]))
    merged = {**defaults, **entry}
    _known(merged, _PACKAGE_KEYS, place)
    if isinstance(merged.get("files"), Mapping):
        here = place.at("files")
        merged["files"] = {key: _included(spec, path, here.at(str(key))) for key, spec in merged["files"].items()}
    loop, own = merged.pop("foreach", None), merged.pop("vars", {})
    variables = {**variables, **substitute(own, variables, place.at("vars"))}
    for row in rounds(loop, place) if loop is not None else [{}]:
        named = {key: substitute(value, {**variables, **row}, place.at(key)) for key, value in merged.items()}
        yield _package(named, Place(file, str(named["name"])))


def _included(spec: object, path: Path, place: Place) -> object:
    """Return what a file of a package is, with the text of the file that it is taken ``from``."""
    if not isinstance(spec, Mapping) or "from" not in spec:
        return spec
    try:
        text = (path.parent / str(spec["from"])).read_text(encoding="utf-8")
    except OSError as error:
        raise place.at("from").error(str(error)) from error
    return {key: value for key, value in spec.items() if key != "from"} | {"content": text}


def _package(entry: Mapping[str, Any], place: Place) -> Package:
    name, version = str(entry["name"]), entry.get("version")
    if not _NAME.fullmatch(name):
        raise place.at("name").error(f"{name!r} is no package name (lower case, digits, + . -)")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise place.at("version").error(f'{version!r} is no version; write it in quotes, as in "7.2.4.70204-93"')
    architecture = entry.get("architecture", "amd64")
    if architecture not in ("amd64", "all"):
        raise place.at("architecture").error(f"{architecture!r} is neither amd64 nor all")
    control = {
        "Package": name,
        "Source": entry.get("source"),
        "Version": version,
        "Architecture": architecture,
        "Maintainer": entry.get("maintainer", "halo-provision test archive <nobody@example.invalid>"),
        **{title: _relation(entry[key], place.at(key)) for key, title in RELATIONS.items() if key in entry},
        "Section": entry.get("section", "devel"),
        "Priority": entry.get("priority", "optional"),
        "Homepage": entry.get("homepage"),
        "Description": _description(entry.get("description"), place.at("description")),
    }
    index_only = entry.get("index_only")
    installed = entry.get("installed_size")
    if index_only is not None and (entry.get("files") or entry.get("scripts")):
        raise place.at("index_only").error("such a package is never built and has neither files nor scripts")
    return Package(
        control={title: value for title, value in control.items() if value},
        scripts=_scripts(entry.get("scripts", {}), place.at("scripts")),
        files=_files(entry.get("files", {}), place.at("files")),
        targets=_targets(entry["publish"], place.at("publish")),
        index_only=None if index_only is None else size_bytes(index_only, place.at("index_only")),
        installed_size=None if installed is None else -(-size_bytes(installed, place.at("installed_size")) // 1024),
    )


def _relation(value: object, place: Place) -> str:
    if not isinstance(value, list):
        raise place.error("must be a list, one relation an item")
    for item in value:
        for alternative in str(item).split("|"):
            if not _RELATION.fullmatch(alternative.strip()):
                raise place.error(f"{alternative.strip()!r} is no relation; write `name` or `name (>= 1.2)`")
    return ", ".join(str(item) for item in value)


def _description(value: object, place: Place) -> str:
    lines = str(value).rstrip().splitlines() if value else []
    if not lines:
        raise place.error("is missing")
    return "\n".join([lines[0], *(f" {line}" if line.strip() else " ." for line in lines[1:])])


def _scripts(value: object, place: Place) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise place.error("must be a mapping")
    _known(value, set(SCRIPTS), place)
    for name, text in value.items():
        if not isinstance(text, str) or not text.startswith("#!"):
            raise place.at(name).error("must be a text that starts with #!")
    return dict(value)


def _files(value: object, place: Place) -> dict[str, dict[str, Any]]:
    if not isinstance(value, Mapping):
        raise place.error("must be a mapping of paths")
    files = {}
    for path, spec in value.items():
        here = place.at(path)
        if not path.startswith("/") or path.endswith("/") or ".." in path.split("/"):
            raise here.error("is no absolute path of a file")
        spec = {"content": spec} if isinstance(spec, str) else spec
        if not isinstance(spec, Mapping):
            raise here.error("must be a text or a mapping")
        _known(spec, _CONTENT_KINDS | {"mode"}, here)
        kinds = sorted(_CONTENT_KINDS & set(spec))
        if len(kinds) != 1:
            known = ", ".join(sorted(_CONTENT_KINDS))
            raise here.error(f"needs exactly one of {known}, has {', '.join(kinds) or 'none'}")
        files[path] = _file(kinds[0], spec, here)
    return files


def _file(kind: str, spec: Mapping[str, Any], place: Place) -> dict[str, Any]:
    mode = spec.get("mode", "0755" if kind in ("elf", "program") else "0644")
    if not re.fullmatch(r"0[0-7]{3,4}", str(mode)):
        raise place.at("mode").error(f'{mode!r} is no mode; write it in quotes, as in "0755"')
    checked: dict[str, Any] = {"mode": int(mode, 8), kind: spec[kind]}
    if kind == "size":
        checked[kind] = size_bytes(spec[kind], place.at(kind))
    elif kind in ("content", "symlink") and not isinstance(spec[kind], str):
        raise place.at(kind).error("must be a text")
    elif kind in ("elf", "program"):
        if not isinstance(spec[kind], Mapping):
            raise place.at(kind).error("must be a mapping")
        _known(spec[kind], _ELF_KEYS if kind == "elf" else _PROGRAM_KEYS, place.at(kind))
        required = "soname" if kind == "elf" else "source"
        if not isinstance(spec[kind].get(required), str):
            raise place.at(kind).error(f"needs a {required}")
    return checked


def _targets(value: object, place: Place) -> tuple[Target, ...]:
    if not isinstance(value, list) or not value:
        raise place.error("must name the archives and suites: [{archive: ..., suite: ...}]")
    targets = []
    for item in value:
        if not isinstance(item, Mapping) or not {"archive", "suite"} <= set(item) <= {"archive", "suite", "component"}:
            raise place.error(f"{item!r} must have archive and suite, and may have component")
        targets.append(Target(**item))
    return tuple(targets)


def _known(value: Mapping[str, Any], known: set[str], place: Place) -> None:
    unknown = sorted(str(key) for key in set(value) - known)
    if unknown:
        raise place.error(f"unknown key {', '.join(unknown)}; known are {', '.join(sorted(known))}")
