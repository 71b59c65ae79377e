"""What a host is, read from trees below a root."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from halo import host

RELEASE = """\
PRETTY_NAME="Debian GNU/Linux 13 (trixie)"
NAME="Debian GNU/Linux"
VERSION_ID="13"
VERSION_CODENAME=trixie
ID=debian
"""
STATUS = """\
Package: apt
Status: install ok installed
Architecture: arm64

Package: dpkg
Essential: yes
Status: install ok installed
Architecture: amd64
Version: 1.22.22
"""
CPUINFO = """\
processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S

processor\t: 1
model name\t: something else
"""


def tree(root: Path, files: dict[str, str] | None = None) -> Path:
    """Write a Debian 13 Halo below root, with other files where wanted."""
    default = {
        "etc/os-release": RELEASE,
        "var/lib/dpkg/status": STATUS,
        "proc/cpuinfo": CPUINFO,
        "proc/sys/kernel/osrelease": "6.18.4-1-generic\n",
    }
    for name, text in {**default, **(files or {})}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_halo_on_debian_13(tmp_path: Path) -> None:
    found = host.read(tree(tmp_path))
    assert found.os == {
        "id": "debian",
        "id_like": "",
        "version": "13",
        "codename": "trixie",
        "pretty": "Debian GNU/Linux 13 (trixie)",
    }
    assert (found.architecture, found.kernel) == ("amd64", "6.18.4-1-generic")
    assert (found.cpu_model, found.halo_cpu) == ("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", True)
    assert found.python3_apt is False


def test_python3_apt_is_its_extension_module_of_any_python(tmp_path: Path) -> None:
    module = tmp_path / "usr/lib/python3/dist-packages/apt_pkg.cpython-313-x86_64-linux-gnu.so"
    module.parent.mkdir(parents=True)
    assert host.read(tree(tmp_path)).python3_apt is False
    module.write_text("")
    assert host.read(tmp_path).python3_apt is True


def test_the_architecture_is_that_of_dpkg_not_of_another_package(tmp_path: Path) -> None:
    assert host.read(tree(tmp_path)).architecture == "amd64"
    arm = "Package: apt\nArchitecture: amd64\n\nPackage: dpkg\nArchitecture: arm64\n"
    assert host.read(tree(tmp_path, {"var/lib/dpkg/status": arm})).architecture == "arm64"


def test_os_release_falls_back_to_the_vendors_file(tmp_path: Path) -> None:
    tree(tmp_path, {"usr/lib/os-release": "ID=ubuntu\nVERSION_ID='26.04'\nID_LIKE=debian\n"})
    (tmp_path / "etc/os-release").unlink()
    assert host.read(tmp_path).os == {
        "id": "ubuntu",
        "id_like": "debian",
        "version": "26.04",
        "codename": "",
        "pretty": "",
    }


def test_damaged_files_give_empty_facts(tmp_path: Path) -> None:
    broken = '# ID=comment\nID="debian\nnonsense\nVERSION_ID=13 # not a comment in this format\n\x00\n'
    files = {"etc/os-release": broken, "proc/cpuinfo": "model name\n", "var/lib/dpkg/status": "x"}
    found = host.read(tree(tmp_path, files))
    assert found.os["id"] == ""
    assert found.cpu_model == ""
    assert found.architecture  # the kernel's, where dpkg's own is not to be had


def test_an_empty_root_is_no_error(tmp_path: Path) -> None:
    found = host.read(tmp_path)
    assert (found.os["id"], found.kernel, found.cpu_model, found.halo_cpu) == ("", "", "", False)


def facts(**changes: Any) -> dict[str, Any]:
    """Return the facts of a machine that is no Halo, changed."""
    plain = {"architecture": "amd64", "cpu_model": "AMD EPYC", "halo_cpu": False}
    return {**plain, **changes}


@pytest.mark.parametrize(
    ("changes", "gpus", "allowed", "expected"),
    [
        ({}, [], False, [("HOST.NOT_HALO", "error")]),
        ({}, ["gfx1100"], False, [("HOST.NOT_HALO", "error")]),
        ({}, [], True, [("HOST.NOT_HALO", "info")]),
        ({}, ["gfx1100", "gfx1151"], False, []),
        ({"halo_cpu": True}, [], False, []),
        ({"architecture": "arm64"}, ["gfx1151"], False, [("HOST.ARCH", "error")]),
        ({"architecture": "arm64"}, [], True, [("HOST.ARCH", "error")]),
        ({"architecture": "i386", "halo_cpu": True}, [], True, [("HOST.ARCH", "error")]),
        ({"architecture": ""}, ["gfx1151"], False, [("HOST.ARCH", "error")]),
    ],
)
def test_only_a_halo_may_be_provisioned(
    changes: dict[str, Any], gpus: list[str], allowed: bool, expected: list[tuple[str, str]]
) -> None:
    findings = host.check(facts(**changes), [{"gfx": gfx} for gfx in gpus], allowed)
    assert [(finding.code, finding.severity) for finding in findings] == expected


def test_the_remedy_on_another_machine_is_what_goes_on() -> None:
    (finding,) = host.check(facts(), [], False)
    assert "-e halo_allow_any_host=true" in finding.remedy
    assert "AMD EPYC" in finding.evidence
