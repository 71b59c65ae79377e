"""Choosing a stack and what it says for a host."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from halo import stack, stack_file
from halo.findings import Finding

DISTRO, _ = stack_file.load(Path(__file__).parents[2] / "stacks" / "distro.yml")
assert DISTRO is not None

DEBIAN_12 = {"id": "debian", "version": "12", "codename": "bookworm", "pretty": "Debian GNU/Linux 12 (bookworm)"}
DEBIAN_13 = {"id": "debian", "version": "13", "codename": "trixie", "pretty": "Debian GNU/Linux 13 (trixie)"}
UBUNTU_26 = {"id": "ubuntu", "version": "26.04", "codename": "resolute", "pretty": "Ubuntu 26.04 LTS"}
REX = {"id": "rex", "version": "1", "codename": "rex", "pretty": "AMD Ryzen AI Developer Platform 1 (rex)"}


def other(name: str, date: str, verified: bool, *versions: str) -> dict[str, Any]:
    """Return a stack like distro's Debian part under another name and date."""
    made = deepcopy(DISTRO)
    made.update(name=name, date=date, os=[entry for entry in made["os"] if entry["version"] in versions])
    for entry in made["os"]:
        entry["names_verified"] = verified
    return made


def resolve(
    system: dict[str, str], *, stacks: list[dict[str, Any]] | None = None, gpus: tuple[str, ...] = (), **request: Any
) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Resolve for a Halo without a driver, unless gpus says otherwise."""
    host = {"os": system, "halo_cpu": not gpus}
    wanted = stack.Request(**request)
    return stack.resolve(stacks or [DISTRO], host, [{"gfx": gfx} for gfx in gpus], wanted)


def codes(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in findings]


def test_auto_on_debian_13_takes_distro_and_says_why() -> None:
    data, findings = resolve(DEBIAN_13)
    assert data is not None
    assert codes(findings) == [("STACK.CHOSEN", "info")]
    assert data["name"] == "distro"
    assert data["reason"] == "newest stack whose package names are verified for Debian 13"
    assert (data["gfx"], data["gfx_source"]) == ("gfx1151", "cpu")
    assert data["rocm"]["origin"] == "Debian"
    assert data["toolchain"]["cxx"] == "/usr/bin/clang++-17"
    assert data["os"] == DEBIAN_13
    assert data["unverified"] == []
    assert "facts" not in data


def test_auto_takes_the_newest_verified_one_not_the_newest() -> None:
    stacks = [
        other("old", "2020-01-01", True, "13"),
        other("fits", "2026-06-01", True, "13"),
        other("hopeful", "2027-01-01", False, "13"),
        other("elsewhere", "2028-01-01", True, "12"),
    ]
    data, _ = resolve(DEBIAN_13, stacks=stacks)
    assert data is not None
    assert data["name"] == "fits"


def test_the_result_shares_nothing_with_the_stack() -> None:
    data, _ = resolve(DEBIAN_13)
    assert data is not None
    data["rocm"]["gfx"].clear()
    again, _ = resolve(DEBIAN_13)
    assert again is not None
    assert again["rocm"]["gfx"]


def test_auto_refuses_what_nobody_verified_and_names_it() -> None:
    data, findings = resolve(UBUNTU_26)
    assert data is None
    assert codes(findings) == [("STACK.OS_UNSUPPORTED", "error")]
    assert "not verified for Ubuntu 26.04 LTS" in findings[0].evidence
    assert "-e halo_stack=distro" in findings[0].remedy


def test_by_name_an_unverified_entry_is_taken_and_warned_about() -> None:
    data, findings = resolve(UBUNTU_26, stack="distro")
    assert data is not None
    assert codes(findings) == [("STACK.CHOSEN", "info"), ("STACK.UNVERIFIED", "warning")]
    assert data["unverified"]
    for about in data["unverified"]:
        assert about in findings[1].evidence


@pytest.mark.parametrize("system", [REX, {"id": "", "version": "", "codename": "", "pretty": ""}])
@pytest.mark.parametrize("name", ["auto", "distro"])
def test_an_os_release_that_no_stack_has(system: dict[str, str], name: str) -> None:
    data, findings = resolve(system, stack=name)
    assert data is None
    assert codes(findings) == [("STACK.OS_UNSUPPORTED", "error")]
    assert (system["pretty"] or "unknown") in findings[0].evidence
    assert "Debian 12" in findings[0].remedy
    assert "Debian 13" in findings[0].remedy


def test_a_named_stack_without_this_release_names_another_that_has_it() -> None:
    stacks = [DISTRO, other("bookworm-only", "2026-01-01", True, "12")]
    _, findings = resolve(DEBIAN_13, stacks=stacks, stack="bookworm-only")
    assert codes(findings) == [("STACK.OS_UNSUPPORTED", "error")]
    assert "Debian 12" in findings[0].evidence
    assert "-e halo_stack=distro" in findings[0].remedy


@pytest.mark.parametrize(
    ("name", "likely"), [("distr", "distro"), ("Distro", "distro"), ("../x", "auto"), ("", "auto")]
)
def test_an_unknown_stack_names_those_that_exist(name: str, likely: str) -> None:
    data, findings = resolve(DEBIAN_13, stack=name)
    assert data is None
    assert codes(findings) == [("STACK.UNKNOWN", "error")]
    assert "distro" in findings[0].evidence
    assert findings[0].remedy == f"-e halo_stack={likely}"


def test_gfx_that_the_compiler_lacks_is_an_error_that_says_where_it_is_known() -> None:
    data, findings = resolve(DEBIAN_12)
    assert data is None
    assert codes(findings) == [("STACK.GFX_UNSUPPORTED", "error")]
    assert "gfx1030" in findings[0].evidence
    assert "Debian 13 (stack distro)" in findings[0].remedy
    assert "-e halo_gfx=gfx10" in findings[0].remedy


def test_another_gfx_goes_on_with_a_warning_about_the_halos_own() -> None:
    data, findings = resolve(DEBIAN_12, gfx="gfx1030")
    assert data is not None
    assert (data["gfx"], data["gfx_source"]) == ("gfx1030", "variable")
    assert codes(findings) == [("STACK.CHOSEN", "info"), ("STACK.GFX_UNSUPPORTED", "warning")]
    assert findings[1].subject == "gfx1151"


@pytest.mark.parametrize("gfx", ["1151", "gfx", "gfx11511", "GFX1151", "gfx1151:xnack+", "gfx115x", "; rm -rf /"])
def test_what_is_no_gfx_name_is_refused(gfx: str) -> None:
    data, findings = resolve(DEBIAN_13, gfx=gfx)
    assert data is None
    assert codes(findings) == [("STACK.GFX_UNSUPPORTED", "error")]
    assert findings[0].remedy == "-e halo_gfx=gfx1151"


def test_a_gfx_that_nobody_knows_has_a_remedy_too() -> None:
    _, findings = resolve(DEBIAN_13, gfx="gfx1999")
    assert codes(findings) == [("STACK.GFX_UNSUPPORTED", "error")]
    assert findings[0].remedy.startswith("-e halo_gfx=")


@pytest.mark.parametrize(
    ("wanted", "gpus", "halo_cpu", "expected"),
    [
        ("auto", ["gfx1151"], True, ("gfx1151", "gpu", [])),
        ("auto", ["gfx1100", "gfx1151"], False, ("gfx1151", "gpu", [])),
        ("auto", ["gfx1100", "gfx90a"], False, ("gfx1100", "gpu", [])),
        ("auto", [], True, ("gfx1151", "cpu", [])),
        ("auto", [], False, ("", "", [("GPU.ABSENT", "error")])),
        ("gfx1030", [], False, ("gfx1030", "variable", [])),
        ("gfx1151", ["gfx1151"], True, ("gfx1151", "variable", [])),
        ("gfx1030", ["gfx1151"], True, ("gfx1030", "variable", [("GPU.GFX_DIFFERS", "warning")])),
    ],
)
def test_where_the_target_comes_from(wanted: str, gpus: list[str], halo_cpu: bool, expected: Any) -> None:
    gfx, source, findings = stack.target(wanted, {"halo_cpu": halo_cpu}, [{"gfx": gfx} for gfx in gpus])
    assert (gfx, source, codes(findings)) == expected


def test_libraries_without_kernels_for_the_gpu_are_warned_about_only_when_wanted() -> None:
    _, findings = resolve(DEBIAN_13, components=("runtime",))
    assert codes(findings) == [("STACK.CHOSEN", "info")]
    data, findings = resolve(DEBIAN_13, components=("runtime", "libraries"))
    assert data is not None
    assert codes(findings) == [("STACK.CHOSEN", "info"), ("STACK.GFX_UNSUPPORTED", "warning")]
    assert "gfx1100" in findings[1].evidence
    data, findings = resolve(DEBIAN_13, gfx="gfx1100", components=("runtime", "libraries"))
    assert codes(findings) == [("STACK.CHOSEN", "info")]


def test_unknown_components_are_named_each() -> None:
    data, findings = resolve(DEBIAN_13, components=("runtime", "librarys", "x"))
    assert data is None
    assert codes(findings) == [("STACK.COMPONENT_UNKNOWN", "error")] * 2
    assert [finding.subject for finding in findings] == ["librarys", "x"]
    assert "libraries" in findings[0].remedy


def test_everything_that_is_wrong_is_said_at_once() -> None:
    _, findings = resolve(DEBIAN_12, components=("nope",), gfx="gfx1151")
    assert {finding.code for finding in findings} == {"STACK.COMPONENT_UNKNOWN", "STACK.GFX_UNSUPPORTED"}
