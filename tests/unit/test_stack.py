"""Choosing a stack and what it says for a host."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from halo import stack, stack_file, stack_fill
from halo.findings import Finding

DISTRO, _ = stack_file.load(Path(__file__).parents[2] / "stacks" / "distro.yml")
assert DISTRO is not None

DEBIAN_12 = {"id": "debian", "version": "12", "codename": "bookworm", "pretty": "Debian GNU/Linux 12 (bookworm)"}
DEBIAN_13 = {"id": "debian", "version": "13", "codename": "trixie", "pretty": "Debian GNU/Linux 13 (trixie)"}
UBUNTU_26 = {"id": "ubuntu", "version": "26.04", "codename": "resolute", "pretty": "Ubuntu 26.04 LTS"}
REX = {"id": "rex", "version": "1", "codename": "rex", "pretty": "AMD Ryzen AI Developer Platform 1 (rex)"}


STACKS, _ = stack_file.load_all(Path(__file__).parents[2] / "stacks")
UBUNTU_22 = {"id": "ubuntu", "version": "22.04", "codename": "jammy", "pretty": "Ubuntu 22.04.5 LTS"}
UBUNTU_24 = {"id": "ubuntu", "version": "24.04", "codename": "noble", "pretty": "Ubuntu 24.04.4 LTS"}


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


def shipped(system: dict[str, str], **request: Any) -> tuple[dict[str, Any] | None, list[Finding]]:
    return resolve(system, stacks=STACKS, **request)


def severities(findings: list[Finding], code: str) -> list[str]:
    return [finding.severity for finding in findings if finding.code == code]


def test_auto_on_ubuntu_24_04_takes_the_newest_rocm_whose_names_are_verified() -> None:
    data, findings = shipped(UBUNTU_24)
    assert data is not None
    assert (data["name"], data["channel"], data["apu"]) == ("amdrocm-10.0", "amdrocm", "supported")
    assert data["reason"] == "newest stack whose package names are verified for Ubuntu 24.04"
    assert severities(findings, "STACK.APU_UNSUPPORTED") == []
    assert data["rocm"]["components"]["runtime"][0] == {"name": "amdrocm10.0-gfx1151", "version": "10.0.*"}
    assert {"name": "amdrocm-core-dev", "instead": "amdrocm-core-dev10.0-gfx1151"} in data["rocm"]["metas"]
    assert data["archive"]["key"]["fingerprints"] == ["D0F004A0025A1145C7807FCD0701EAC4D5E02107"]
    assert data["archive"]["sources"][0]["suites"] == ["stable"]
    assert "{gfx}" not in str(data)


def test_names_follow_the_target() -> None:
    data, _ = shipped(UBUNTU_24, gpus=("gfx1201",))
    assert data is not None
    assert data["rocm"]["components"]["sdk"] == [{"name": "amdrocm-core-sdk10.0-gfx1201", "version": "10.0.*"}]


def test_inferred_names_are_taken_by_name_only_and_told() -> None:
    data, findings = shipped(UBUNTU_24, stack="amdrocm-10.1")
    assert data is not None
    assert data["rocm"]["prefix"] == "/opt/rocm/core-10.1"
    (finding,) = [finding for finding in findings if finding.code == "STACK.UNVERIFIED"]
    assert "names of all packages" in finding.evidence


def test_auto_on_ubuntu_22_04_takes_legacy_and_says_why_nothing_newer() -> None:
    data, findings = shipped(UBUNTU_22, gpus=("gfx1100",))
    assert data is not None
    assert (data["name"], data["archive"]["sources"][0]["suites"]) == ("legacy-7.2.4", ["jammy"])
    assert "not amdrocm-10.0, amdrocm-7.14, which AMD supports there for other GPUs only" in data["reason"]
    assert severities(findings, "STACK.APU_UNSUPPORTED") == [], "the GPU is none of an APU"


@pytest.mark.parametrize("name", ["auto", "legacy-7.2.4", "amdrocm-10.0", "amdrocm-7.14"])
class TestReleaseUnsupportedForApu:
    """Case release-unsupported-for-apu: Ubuntu 22.04 on a Halo."""

    @pytest.mark.parametrize("gpus", [(), ("gfx1151",)])
    def test_release_unsupported_for_apu_stops_a_halo(self, name: str, gpus: tuple[str, ...]) -> None:
        data, findings = shipped(UBUNTU_22, stack=name, gpus=gpus)
        assert data is None
        (finding,) = [finding for finding in findings if finding.severity == "error"]
        assert finding.code == "STACK.APU_UNSUPPORTED"
        assert "building, and containers on a host with Ubuntu 24.04 or Ubuntu 26.04" in finding.evidence
        assert "-e halo_allow_userspace_only=true" in finding.remedy

    def test_release_unsupported_for_apu_is_a_warning_where_the_user_says_so(self, name: str) -> None:
        data, findings = shipped(UBUNTU_22, stack=name, gpus=("gfx1151",), userspace_only=True)
        assert data is not None
        assert severities(findings, "STACK.APU_UNSUPPORTED") == ["warning"]

    def test_release_unsupported_for_apu_is_a_warning_where_no_gpu_is(self, name: str) -> None:
        host = {"os": UBUNTU_22, "halo_cpu": False}
        data, findings = stack.resolve(STACKS, host, [], stack.Request(stack=name, gfx="gfx1151"))
        assert data is not None
        assert severities(findings, "STACK.APU_UNSUPPORTED") == ["warning"]


@pytest.mark.parametrize(("name", "excluded"), [("amdrocm-10.0", "legacy"), ("legacy-7.2.4", "amdrocm")])
def test_channels_exclude_each_other_by_what_they_consist_of(name: str, excluded: str) -> None:
    data, _ = shipped(UBUNTU_24, stack=name)
    assert data is not None
    (conflict,) = data["rocm"]["conflicts"]
    assert conflict["channel"] == excluded
    sets = [one["rocm"]["set"] for made in STACKS if made["channel"] == excluded for one in made["os"]]
    assert sets
    assert all(set(globs) <= set(conflict["packages"]) for globs in sets)
    assert not set(data["rocm"]["set"]) & set(conflict["packages"])
    (origin,) = data["rocm"]["foreign_origins"]
    assert (
        origin == {one["rocm"]["origin"] for made in STACKS if made["channel"] == excluded for one in made["os"]}.pop()
    )
    assert origin != data["rocm"]["origin"]
    # Every release of a channel lies below the same directories, and none of the stack's own does.
    own = [uri for source in data["archive"]["sources"] for uri in source["uris"]]
    foreign = {
        uri
        for made in STACKS
        if made["channel"] == excluded
        for one in made["os"]
        for source in one["archive"]["sources"]
        for uri in source["uris"]
    }
    below = tuple(f"{uri}/" for uri in data["rocm"]["foreign_uris"])
    assert foreign and all(uri.startswith(below) for uri in foreign)
    assert not any(uri.startswith(below) for uri in own)


@pytest.mark.parametrize(
    ("host", "gpus", "on_apu"),
    [
        ({"halo_cpu": True}, [], True),
        ({"halo_cpu": False}, [{"gfx": "gfx1151", "apu": True}], True),
        ({"halo_cpu": False}, [{"gfx": "gfx1100", "apu": False}], False),
        ({"halo_cpu": False}, [], None),
    ],
)
def test_whether_the_gpu_is_that_of_an_apu_is_published(
    host: dict[str, Any], gpus: list[dict[str, Any]], on_apu: bool | None
) -> None:
    data, findings = stack.resolve(STACKS, {"os": DEBIAN_13, **host}, gpus, stack.Request(gfx="gfx1151"))
    assert data is not None, findings
    assert data["on_apu"] is on_apu


def test_other_channels_are_looked_for_on_the_mirror_too() -> None:
    mirror = "http://mirror.test/amd"
    theirs = stack_fill.uris_of(["legacy"], STACKS)
    assert theirs
    assert set(stack_fill.uris_of(["legacy"], STACKS, mirror)) == {
        *theirs,
        *(f"{mirror}/{uri.partition('://')[2]}" for uri in theirs),
    }


def test_at_equal_releases_the_vendors_channel_wins_over_a_later_date() -> None:
    stacks = [other("distro", "2027-01-01", True, "13"), other("vendor", "2026-01-01", True, "13")]
    stacks[1]["channel"] = "legacy"
    data, _ = resolve(DEBIAN_13, stacks=stacks)
    assert data is not None
    assert data["name"] == "vendor"


def test_releases_are_compared_as_numbers() -> None:
    stacks = [other("nine", "2027-01-01", True, "13"), other("ten", "2026-01-01", True, "13")]
    stacks[0]["os"][0]["rocm"]["release"] = "9.5"
    stacks[1]["os"][0]["rocm"]["release"] = "10.0"
    data, _ = resolve(DEBIAN_13, stacks=stacks)
    assert data is not None
    assert data["name"] == "ten"


@pytest.mark.parametrize("mirror", ["http://10.0.0.2:8080", "https://mirror.example.org/amd/"])
@pytest.mark.parametrize("name", ["amdrocm-10.0", "legacy-7.2.4", "amdrocm-7.14"])
def test_a_mirror_takes_the_place_of_every_host(name: str, mirror: str) -> None:
    theirs, _ = shipped(UBUNTU_24, stack=name)
    ours, _ = shipped(UBUNTU_24, stack=name, mirror=mirror)
    assert theirs is not None
    assert ours is not None

    def urls(data: dict[str, Any]) -> list[str]:
        archive = data["archive"]
        return archive["key"]["urls"] + [uri for source in archive["sources"] for uri in source["uris"]]

    assert len(urls(ours)) >= 2
    for before, after in zip(urls(theirs), urls(ours), strict=True):
        assert after == f"{mirror.rstrip('/')}/{before.removeprefix('https://')}"
    assert "https://" not in str(ours["archive"]).replace(mirror.rstrip("/"), "")
    assert ours["archive"]["key"]["fingerprints"] == theirs["archive"]["key"]["fingerprints"]


@pytest.mark.parametrize(
    "mirror",
    ["mirror.example.org", "ftp://mirror.example.org", "http://", "http://mirror.test/ x", "http://mirror.test/?a=b"],
)
def test_what_is_no_mirror_is_refused(mirror: str) -> None:
    data, findings = shipped(UBUNTU_24, mirror=mirror)
    assert data is None
    assert severities(findings, "STACK.MIRROR_INVALID") == ["error"]


def test_a_stack_without_an_archive_needs_no_mirror() -> None:
    data, _ = resolve(DEBIAN_13, mirror="https://mirror.example.org")
    assert data is not None
    assert data["archive"] is None


def test_auto_offers_the_least_unverified_where_nothing_is_verified() -> None:
    _, findings = shipped(UBUNTU_26)
    assert codes(findings) == [("STACK.OS_UNSUPPORTED", "error")]
    assert "-e halo_stack=amdrocm-10.0" in findings[0].remedy
