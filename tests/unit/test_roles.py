"""What every role keeps to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ROLES = sorted(path.parent.parent.name for path in (ROOT / "roles").glob("*/tasks/main.yml"))
TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "path": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "list": (list,),
    "dict": (dict,),
}


def read(role: str, name: str) -> Any:
    return yaml.safe_load((ROOT / "roles" / role / name).read_text())


def options(role: str) -> dict[str, Any]:
    specs: dict[str, Any] = read(role, "meta/argument_specs.yml")["argument_specs"]
    return {name: option for entry in specs.values() for name, option in (entry.get("options") or {}).items()}


def tasks(role: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every task of a role, those in blocks too, with its file."""

    def walk(listed: list[dict[str, Any]], file: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for task in listed or []:
            yield file, task
            for part in ("block", "rescue", "always"):
                yield from walk(task.get(part, []), file)

    for path in sorted((ROOT / "roles" / role).glob("tasks/*.yml")) + sorted(
        (ROOT / "roles" / role).glob("handlers/*.yml")
    ):
        yield from walk(yaml.safe_load(path.read_text()), path.name)


@pytest.mark.parametrize("role", ROLES)
class TestEveryRole:
    def test_it_is_complete(self, role: str) -> None:
        for name in ("README.md", "defaults/main.yml", "meta/main.yml", "meta/argument_specs.yml", "tasks/main.yml"):
            assert (ROOT / "roles" / role / name).is_file(), name

    def test_defaults_and_argument_specs_name_the_same_variables(self, role: str) -> None:
        required = {name for name, option in options(role).items() if option.get("required")}
        assert set(read(role, "defaults/main.yml") or {}) | required == set(options(role))

    def test_documented_defaults_are_the_real_ones(self, role: str) -> None:
        defaults = read(role, "defaults/main.yml") or {}
        for name, option in options(role).items():
            if "default" in option:
                assert option["default"] == defaults[name], name

    def test_defaults_have_the_documented_type(self, role: str) -> None:
        for name, value in (read(role, "defaults/main.yml") or {}).items():
            templated = isinstance(value, str) and "{{" in value
            assert templated or isinstance(value, TYPES[options(role)[name].get("type", "str")]), name

    def test_variables_carry_the_roles_name(self, role: str) -> None:
        for name in {**(read(role, "defaults/main.yml") or {}), **options(role)}:
            assert name.startswith(f"{role}_"), name
        for _, task in tasks(role):
            if "register" in task:
                assert task["register"].startswith(f"_{role}_"), task["register"]

    def test_every_default_is_used(self, role: str) -> None:
        for name in read(role, "defaults/main.yml") or {}:
            users = [
                path
                for top in ("roles", "playbooks")
                for path in (ROOT / top).rglob("*")
                if path.suffix in (".yml", ".j2")
                and path.name != "argument_specs.yml"
                and re.search(rf"(?<![\w-]){name}\b(?!:)", path.read_text())
            ]
            joined = name == f"{role}_apt"  # apt_transaction finds it by the role's name
            assert users or joined, f"{name} is set and used nowhere"

    def test_its_readme_names_every_variable(self, role: str) -> None:
        text = (ROOT / "roles" / role / "README.md").read_text()
        assert [name for name in options(role) if name not in text] == []

    def test_tasks_are_named_in_the_imperative(self, role: str) -> None:
        for file, task in tasks(role):
            assert re.fullmatch(r"[A-Z][^.]*[^.]", task.get("name", "")), (file, task)

    def test_injected_facts_are_not_used(self, role: str) -> None:
        # Magic variables stay; what fact gathering injects goes away in ansible-core 2.24.
        magic = "check_mode|diff_mode|play_hosts|play_role_names|parent_role_names|version|run_tags|skip_tags|facts"
        magic += "|host|connection"
        for path in (ROOT / "roles" / role).rglob("*"):
            if path.suffix in (".yml", ".j2"):
                assert re.findall(rf"(?<![\w.])ansible_(?!(?:{magic})\b)\w+", path.read_text()) == [], path

    def test_it_is_in_the_playbooks(self, role: str) -> None:
        text = "".join(path.read_text() for path in (ROOT / "playbooks").glob("*.yml"))
        assert f"role: {role}," in text


def test_the_variables_of_every_role_are_checked_at_the_start() -> None:
    listed = read("stack", "vars/main.yml")["_stack_argument_specs"]
    assert sorted(set(re.findall(r"'([a-z_]+)'", listed)) & set(ROLES)) == ROLES


def test_only_one_role_calls_apt() -> None:
    words = ("ansible.builtin.apt", "apt_plan", "apt-get", "ansible.builtin.package", "dpkg -i")
    for role in ROLES:
        for file, task in tasks(role):
            called = [word for word in words if word in task]
            assert not called or role == "apt_transaction", (role, file, task["name"])


def test_user_variables_reach_roles_through_defaults_only() -> None:
    allowed = {"halo_stack_data"}
    for role in ROLES:
        for path in (ROOT / "roles" / role).rglob("*.yml"):
            if path.name == "argument_specs.yml" or path.parent.name == "defaults":
                continue
            used = {name for name in re.findall(r"\bhalo_[a-z_]+", path.read_text()) if name != "halo_provision"}
            assert used <= allowed, (path, used - allowed)


def test_what_a_user_sets_is_described_where_it_is_set() -> None:
    listed = set(re.findall(r"^\| `(halo_\w+)` \|", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE))
    assert set(yaml.safe_load((ROOT / "inventory/group_vars/all.yml").read_text())) <= listed
