"""What role rocm_keyring and role rocm_runtime have to agree on."""

from pathlib import Path

import yaml

ROLES = Path(__file__).parents[2] / "roles"


def pin_file(role, variable):
    return yaml.safe_load((ROLES / role / "vars/main.yml").read_text(encoding="utf-8"))[variable]


def test_pins_to_installed_versions_are_read_before_the_pin_of_the_archive():
    """apt takes the first pin that matches; `apt upgrade` would move ROCm otherwise."""
    installed = pin_file("rocm_runtime", "_rocm_runtime_file")
    archive = pin_file("rocm_keyring", "_rocm_keyring_pin_file")
    assert sorted([f"{archive}.pref", f"{installed}.pref"]) == [f"{installed}.pref", f"{archive}.pref"]
