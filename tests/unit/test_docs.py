"""Every module is documented as ansible-doc wants it, and the documentation is what the module takes."""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.stem for path in (ROOT / "library").glob("*.py"))
#: Modules that are the documentation of an action plugin; the argument spec is there.
ACTIONS = sorted(path.stem for path in (ROOT / "action_plugins").glob("*.py"))
ANSIBLE_DOC = Path(sys.executable).with_name("ansible-doc")


class SeenError(Exception):
    """Carries what a module's main() gave to AnsibleModule."""


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked(name: str) -> dict[str, Any]:
    """Return the keyword arguments with which a module makes its AnsibleModule; its own code runs up to there."""
    module = load(ROOT / "library" / f"{name}.py")

    class Recorder:
        def __init__(self, **arguments: Any) -> None:
            raise SeenError(arguments)

    module.AnsibleModule = Recorder
    with pytest.raises(SeenError) as seen:
        module.main()
    arguments: dict[str, Any] = seen.value.args[0]
    return arguments


def argument_spec(name: str) -> dict[str, Any]:
    if name in ACTIONS:
        spec: dict[str, Any] = load(ROOT / "action_plugins" / f"{name}.py").ARGUMENT_SPEC
    else:
        spec = asked(name)["argument_spec"]
    return spec


def documentation(name: str) -> dict[str, Any]:
    text: str = load(ROOT / "library" / f"{name}.py").DOCUMENTATION
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def comparable(options: dict[str, Any] | None) -> dict[str, Any]:
    """Return options without their words, with ansible-core's defaults written out."""
    return {
        name: {
            "type": option.get("type", "str"),
            "required": bool(option.get("required", False)),
            "default": option.get("default"),
            "choices": list(option["choices"]) if option.get("choices") else None,
            "elements": option.get("elements"),
            "aliases": list(option.get("aliases", [])),
            "options": comparable(option.get("options") or option.get("suboptions")),
        }
        for name, option in (options or {}).items()
    }


def ansible_doc(*names: str, kind: str = "module") -> tuple[dict[str, Any], str]:
    """Return what ansible-doc makes of plugins, and what it complains about."""
    command = [ANSIBLE_DOC, "--json", "--type", kind, "--module-path", ROOT / "library", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return (json.loads(done.stdout) if done.returncode == 0 else {}), done.stderr


@functools.cache
def all_modules() -> dict[str, Any]:
    """Return all modules at once, which takes a tenth of the time; nothing when one of them is wrong."""
    return ansible_doc(*MODULES)[0]


def test_there_are_modules() -> None:
    assert len(MODULES) > 5
    assert set(ACTIONS) <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_ansible_doc_renders_it(name: str) -> None:
    rendered, complaint = (all_modules(), "") if all_modules() else ansible_doc(name)
    assert name in rendered, complaint
    doc = rendered[name]["doc"]
    assert doc["module"] == name
    assert doc["short_description"] and not doc["short_description"].endswith(".")
    assert doc["version_added"] == "0.1.0"
    assert {"check_mode", "diff_mode", "platform"} <= set(doc["attributes"])
    assert rendered[name]["return"], "RETURN is empty"
    assert "findings" in rendered[name]["return"]


@pytest.mark.parametrize("name", MODULES)
def test_the_documented_options_are_those_it_takes(name: str) -> None:
    assert comparable(documentation(name).get("options")) == comparable(argument_spec(name))


@pytest.mark.parametrize("name", [name for name in MODULES if name not in ACTIONS])
def test_check_mode_is_supported_as_documented(name: str) -> None:
    documented = documentation(name)["attributes"]["check_mode"]["support"]
    assert asked(name).get("supports_check_mode", False) is (documented != "none")
    assert documented != "none"


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_named_tasks_of_this_module(name: str) -> None:
    tasks = yaml.safe_load(load(ROOT / "library" / f"{name}.py").EXAMPLES)
    assert any(name in task for task in tasks)
    documented = set(documentation(name).get("options") or {})
    for task in tasks:
        assert task["name"][0].isupper()
        assert set(task.get(name) or {}) <= documented


@pytest.mark.parametrize("name", MODULES)
def test_it_is_glue(name: str) -> None:
    lines = (ROOT / "library" / f"{name}.py").read_text().count("\n")
    assert lines < 150


def test_the_callback_is_documented_and_must_be_enabled() -> None:
    rendered, complaint = ansible_doc("halo_table", kind="callback")
    assert rendered, complaint
    doc = rendered["halo_table"]["doc"]
    assert doc["options"]["report_dir"]["env"] == [{"name": "HALO_REPORT_DIR"}]
    assert any("callbacks_enabled" in requirement for requirement in doc["requirements"])
    assert "callbacks_enabled = halo_table" in (ROOT / "ansible.cfg").read_text()
