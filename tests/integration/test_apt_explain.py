"""Why there is no plan, or why one is refused: chains of requirements and remedies, with a real apt."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.apt_archives import Archives, package, wish
from tests.support.apt_host import Answer, AptHost


@pytest.fixture
def archives(apt_host: AptHost) -> Archives:
    return Archives(apt_host)


def explained(answer: Answer, subject: str = "") -> dict[str, Any]:
    """Return the one explanation, or that of a subject."""
    found = [item for item in answer["explanation"] if item["subject"] == (subject or item["subject"])]
    assert len(found) == 1, answer["msg"]
    return found[0]


def kinds(explanation: dict[str, Any]) -> list[tuple[str, str]]:
    return [(step["kind"], step["package"].removesuffix("-stand-in")) for step in explanation["steps"]]


# --- real packages ---

SOURCE = """Types: deb
URIs: {uri}
Suites: {suite}
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


@pytest.fixture
def newer(request: pytest.FixtureRequest) -> Iterator[AptHost]:
    """Give a Debian 12 of its own with a newer suite at priority 100, since going back from that is not possible."""
    if not shutil.which("podman"):
        pytest.skip("needs podman; `./halo test integration` brings it")
    suite = request.param
    with AptHost("debian-12", f"explain-{suite}") as host:
        uri = host.run("cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -o '[a-z]*://[^ ]*'")
        host.run(f"cat >/etc/apt/sources.list.d/{suite}.sources", SOURCE.format(uri=uri.split()[0], suite=suite))
        pin = f"Package: *\nPin: release n={suite}\nPin-Priority: 100\n"
        host.run(f"cat >/etc/apt/preferences.d/{suite}", pin)
        if suite == "sid":
            # Nothing promises that a snapshot of sid is younger than its Valid-Until.
            host.run("echo 'Acquire::Check-Valid-Until \"false\";' >/etc/apt/apt.conf.d/sid")
        host.run("apt-get update -qq")
        yield host


def settled(host: AptHost, wanted: dict[str, Any], release: str) -> None:
    """See that the wish is explained, and that the pins that are offered lead to exactly what they say."""
    name = wanted["name"]
    answer = host.plan(wanted, execute=True, refresh="never")
    assert answer.codes == ["APT.UNSOLVABLE"], answer["msg"]
    explanation = explained(answer)
    assert explanation["steps"][0]["package"] == name
    assert explanation["steps"][-1]["kind"] == "candidate"
    assert f"from Debian {release} at priority 100" in explanation["steps"][-1]["text"]
    assert "apt takes its candidate alone" in explanation["steps"][-1]["text"]
    offered = explanation["remedies"][0]
    assert {pin["release"] for pin in offered["pins"]} == {f"o=Debian,n={release}"}
    pinned = {name for pin in offered["pins"] for name in pin["packages"]}
    assert {"libc6", "libc-bin"} <= pinned & set(offered["changes"]["upgrade"])
    assert "libelf1t64" in offered["changes"]["install"]

    # What was tried is what the plan with these pins is, and it is refused, change by change.
    before = host.installed()
    refused = host.plan(wanted, pins=offered["pins"], execute=True, refresh="never")
    planned = {kind: [n for n, k in refused.kinds().items() if k == kind] for kind in offered["changes"]}
    assert planned == offered["changes"]
    codes = {"upgrade": "APT.UPGRADE_REFUSED", "remove": "APT.REMOVE_REFUSED"}
    assert {(f["code"], f["subject"]) for f in refused["findings"]} == {
        (codes[what], subject) for what, names in offered["permit"].items() for subject in names
    }
    steps = explained(refused, "libc6")["steps"]
    assert (steps[0]["package"], steps[-1]["kind"]) == (name, "stay")
    assert f"  upgrade libc6 {before['libc6']} -> " in answer["findings"][0]["remedy"]
    assert host.installed() == before

    permits = {f"permit_{what}": names for what, names in offered["permit"].items()}
    done = host.plan(wanted, pins=offered["pins"], execute=True, refresh="never", **permits)
    assert done["changed"], done["msg"]
    foretold = {**before, **{c["name"]: c["to"] for c in refused["plan"]["changes"]}}
    assert host.installed() == {name: version for name, version in foretold.items() if version}
    assert name in host.installed()


@pytest.mark.parametrize("newer", ["trixie"], indirect=True)
def test_a_version_of_a_release_at_priority_100_takes_a_pin_on_its_chain(newer: AptHost) -> None:
    assert "REFUSED" in newer.run("apt-get -s install rocminfo=6.1.2-2 2>/dev/null || echo REFUSED")
    settled(newer, {"name": "rocminfo", "version": "6.1.2*"}, "trixie")


@pytest.mark.parametrize("newer", ["trixie"], indirect=True)
def test_compilers_pinned_to_the_hosts_release_do_not_take_the_same_major_of_another(newer: AptHost) -> None:
    """Both releases have gcc-12; the other's needs more of its own than a pin to `12.*` would bring."""
    wanted = {"name": "gcc-12", "version": "12.*", "origin": "Debian"}
    pin = {"file": "halo-toolchain_pin", "packages": ["gcc-12"], "priority": 990}
    by_version = newer.plan(wanted, pins=[{**pin, "version": "12.*"}], refresh="never")
    assert by_version.codes == ["APT.UNSOLVABLE"], "else this shows nothing"
    answer = newer.plan(wanted, pins=[{**pin, "release": "o=Debian,n=bookworm*"}], refresh="never")
    assert answer.codes == [], answer["msg"]
    assert answer.changes()["gcc-12"]["suite"].startswith("bookworm")


@pytest.mark.skipif(not os.environ.get("HALO_SOAK"), reason="fetches sid's index, which `./halo soak` does")
@pytest.mark.parametrize("newer", ["sid"], indirect=True)
def test_a_package_of_sid_takes_a_pin_on_its_chain(newer: AptHost) -> None:
    settled(newer, {"name": "libamdhip64-6"}, "sid")


# Wished and installed.
LIBCXX = {"debian-12": ("15", "14"), "debian-13": ("17", "18")}


@pytest.mark.parametrize("solver", ["internal", "3.0"])
def test_libcxx_versions_conflict_is_told_by_the_name_that_both_provide(apt_host: AptHost, solver: str) -> None:
    if solver == "3.0":
        if apt_host.release == "debian-12":
            pytest.skip("apt 2.6 has no solver 3.0")
        apt_host.run("echo 'APT::Solver \"3.0\";' >/etc/apt/apt.conf.d/solver")
    wished, installed = LIBCXX[apt_host.release]
    apt_host.run(f"apt-get install -qq --no-install-recommends libc++-{installed}-dev")
    answer = apt_host.plan({"name": f"libc++-{wished}-dev"}, execute=True)
    assert set(answer.codes) == {"APT.REMOVE_REFUSED"}
    explanation = explained(answer, f"libc++-{installed}-dev")
    assert [step["kind"] for step in explanation["steps"]] == ["wish", "stay", "conflicts"]
    conflict = explanation["steps"][2]
    assert conflict["relation"] == "Conflicts libc++-x.y-dev"
    assert {conflict["package"], conflict["versions"][0][0]} == {f"libc++-{wished}-dev", f"libc++-{installed}-dev"}
    # Wished beside each other, they have no plan at all.
    both = apt_host.plan({"name": f"libc++-{wished}-dev"}, {"name": f"libc++-{installed}-dev"})
    assert both.codes == ["APT.UNSOLVABLE"]
    assert [step["kind"] for step in explained(both)["steps"]] == ["wish", "wish", "conflicts"]
    advice = [remedy["advice"] for remedy in explained(both)["remedies"]]
    assert f"leave out: role demo wishes libc++-{installed}-dev" in advice


# --- wishes that exclude each other, with stand-ins ---


def test_old_llvm_dependency_names_are_told_with_what_there_is_of_them(apt_host: AptHost, archives: Archives) -> None:
    archives.add(
        "jammy",
        package(
            "rocm-llvm",
            "18.0",
            Depends="libc-stand-in, libstdc++-5-dev-stand-in | libstdc++-7-dev-stand-in"
            " | libstdc++-11-dev-stand-in (>= 2)",
        ),
        package("hipcc", "1", Depends="rocm-llvm-stand-in"),
        origin="repo.radeon.com",
    )
    archives.add("noble", package("libc"), package("libstdc++-11-dev", "1"), package("libstdc++-14-dev"))
    answer = apt_host.plan(wish("hipcc"), execute=True)
    assert answer.codes == ["APT.UNSOLVABLE"]
    finding = answer["findings"][0]
    assert finding["subject"] == "hipcc-stand-in"
    first, second, third = finding["evidence"].splitlines()
    assert first == "role demo wishes hipcc-stand-in: 1 from repo.radeon.com jammy at priority 500"
    assert second == "hipcc-stand-in 1 Depends rocm-llvm-stand-in"
    assert third == (
        "rocm-llvm-stand-in 18.0 Depends libstdc++-5-dev-stand-in | libstdc++-7-dev-stand-in"
        " | libstdc++-11-dev-stand-in (>= 2): no archive has libstdc++-5-dev-stand-in, no archive has"
        " libstdc++-7-dev-stand-in, of libstdc++-11-dev-stand-in 1 from Stand-in noble at priority 500"
    )
    assert "(repo.radeon.com jammy)" in finding["remedy"]
    assert "./halo stacks" in finding["remedy"]
    assert apt_host.installed().keys().isdisjoint({"hipcc-stand-in", "rocm-llvm-stand-in"})


def test_wrong_suite_shows_as_a_dependency_that_only_the_other_release_has(
    apt_host: AptHost, archives: Archives
) -> None:
    archives.add("jammy", package("rocm-gdb", "15", Depends="libpython3.10-stand-in"), origin="repo.radeon.com")
    archives.add("noble", package("libpython3.12"), package("rocm-core"), origin="Ubuntu")
    answer = apt_host.plan(wish("rocm-gdb"), wish("rocm-core"))
    finding = answer["findings"][0]
    assert "rocm-gdb-stand-in 15 Depends libpython3.10-stand-in: no archive has libpython3.10-stand-in" in (
        finding["evidence"].splitlines()
    )
    assert "rocm-core" not in finding["evidence"]
    assert "see that its archive (repo.radeon.com jammy) is the one for this release" in finding["remedy"]


def test_a_candidate_in_the_way_is_named_with_its_pin_and_the_way_round_it_works(
    apt_host: AptHost, archives: Archives
) -> None:
    archives.add("a", package("lib", "1"), package("lib", "2"), package("app", "1", Depends="lib-stand-in (>= 2)"))
    stanza = "Package: lib-*\\nPin: version 1\\nPin-Priority: 995\\n"
    apt_host.run(f"printf '{stanza}' >/etc/apt/preferences.d/old-lib")
    answer = apt_host.plan(wish("app"))
    assert answer.codes == ["APT.UNSOLVABLE"]
    explanation = explained(answer)
    assert kinds(explanation) == [("wish", "app"), ("depends", "app"), ("candidate", "lib")]
    line = explanation["steps"][2]["text"]
    assert "1 from Stand-in a at priority 995 by `Pin: version 1` for lib-* in /etc/apt/preferences.d/old-lib" in line
    assert "offered too: 2 from Stand-in a at priority 500" in line
    assert explanation["remedies"][0]["pins"][0]["packages"] == ["lib-stand-in"]
    assert explanation["remedies"][0]["changes"] == {"install": ["app-stand-in", "lib-stand-in"]}
    pinned = apt_host.plan(wish("app"), pins=explanation["remedies"][0]["pins"])
    assert pinned.kinds() == {"app-stand-in": "install", "lib-stand-in": "install"}, pinned["msg"]


def test_two_wishes_that_conflict_are_both_named_and_leaving_one_out_is_tried(
    apt_host: AptHost, archives: Archives
) -> None:
    archives.add(
        "a",
        package("one", "1", Depends="lib-stand-in (= 1)"),
        package("two", "1", Depends="two-data-stand-in"),
        package("two-data", "1", Conflicts="lib-stand-in"),
        package("lib", "1"),
        package("three", "1"),
    )
    answer = apt_host.plan(wish("one"), wish("two"), wish("three"))
    assert answer.codes == ["APT.UNSOLVABLE"]
    assert answer["findings"][0]["subject"] == "one-stand-in, two-stand-in"
    explanation = explained(answer)
    assert kinds(explanation) == [
        ("wish", "one"), ("wish", "two"), ("depends", "one"), ("depends", "two"), ("conflicts", "two-data"),
    ]  # fmt: skip
    left = {remedy["advice"]: set(remedy["changes"]["install"]) for remedy in explanation["remedies"]}
    assert left == {
        "leave out: role demo wishes one-stand-in": {"two-stand-in", "two-data-stand-in", "three-stand-in"},
        "leave out: role demo wishes two-stand-in": {"one-stand-in", "lib-stand-in", "three-stand-in"},
    }


def test_another_version_of_what_is_wished_is_offered_when_it_works(apt_host: AptHost, archives: Archives) -> None:
    archives.add("a", package("app", "2", Depends="missing-stand-in"), package("app", "1"), package("other", "1"))
    explanation = explained(apt_host.plan(wish("app"), wish("other")))
    assert [remedy["advice"] for remedy in explanation["remedies"]] == ["wish for app-stand-in 1 (Stand-in a) instead"]
    foretold = explanation["remedies"][0]["changes"]["install"]
    assert apt_host.plan(wish("app", "1"), wish("other")).kinds() == dict.fromkeys(foretold, "install")


def test_a_package_that_one_wishes_absent_and_another_needs(apt_host: AptHost, archives: Archives) -> None:
    archives.add("a", package("app", "1", Depends="lib-stand-in"), package("lib", "1"))
    assert apt_host.plan(wish("lib"), execute=True)["changed"]
    answer = apt_host.plan(wish("app"), {"name": "lib-stand*", "state": "absent"})
    assert answer.codes == ["APT.UNSOLVABLE"]
    assert kinds(explained(answer)) == [("wish", "app"), ("depends", "app"), ("absent", "lib")]
    advice = [remedy["advice"] for remedy in explained(answer)["remedies"]]
    assert "leave out for lib-stand-in: role demo wishes lib-stand* absent" in advice


# --- changes that are refused, with stand-ins ---


def test_removal_as_side_effect_is_refused_with_what_forces_it(apt_host: AptHost, archives: Archives) -> None:
    archives.add(
        "a",
        package("rocm-core", "6"),
        package("hip", "6", Depends="rocm-core-stand-in (<< 7)"),
        package("numba", "1", Depends="amdcomgr-stand-in | other-stand-in"),
        package("amdcomgr", "7", Breaks="rocm-core-stand-in (<< 7)"),
    )
    assert apt_host.plan(wish("hip"), execute=True)["changed"]
    answer = apt_host.plan(wish("numba"), execute=True)
    assert answer.codes == ["APT.REMOVE_REFUSED", "APT.REMOVE_REFUSED"]
    assert kinds(explained(answer, "rocm-core-stand-in")) == [
        ("wish", "numba"), ("depends", "numba"), ("stay", "rocm-core"), ("conflicts", "amdcomgr"),
    ]  # fmt: skip
    forced = kinds(explained(answer, "hip-stand-in"))
    assert forced == [
        ("wish", "numba"), ("depends", "numba"), ("stay", "hip"), ("depends", "hip"), ("conflicts", "amdcomgr"),
    ]  # fmt: skip
    evidence = next(f["evidence"] for f in answer["findings"] if f["subject"] == "hip-stand-in")
    assert evidence.splitlines()[0] == "remove 6:"
    assert "hip-stand-in 6 Depends rocm-core-stand-in (<< 7)" in evidence.splitlines()
    # Both what was found and what was planned can be read.
    assert "The plan that was refused:\n" in answer["msg"]
    assert answer["plan"]["text"] in answer["msg"]
    assert {"hip-stand-in", "rocm-core-stand-in"} <= apt_host.installed().keys()


def test_held_package_is_named_with_the_hold_and_what_needs_it_newer(apt_host: AptHost, archives: Archives) -> None:
    archives.add("a", package("rocminfo", "5"))
    assert apt_host.plan(wish("rocminfo"), execute=True)["changed"]
    apt_host.run("apt-mark hold rocminfo-stand-in")
    newer = package("rocminfo", "6"), package("hip", "6", Depends="rocminfo-stand-in (>= 6)")
    archives.add("a", package("rocminfo", "5"), *newer)
    answer = apt_host.plan(wish("hip"), refresh="always", execute=True)
    assert answer.codes == ["APT.HELD_REFUSED"]
    assert kinds(explained(answer)) == [("wish", "hip"), ("depends", "hip"), ("hold", "rocminfo")]
    assert (
        "rocminfo-stand-in 5 from Stand-in a at priority 500 is installed and on hold"
        in answer["findings"][0]["evidence"].splitlines()
    )
    assert "apt-mark unhold rocminfo-stand-in" in answer["findings"][0]["remedy"]
    apt_host.run("apt-mark unhold rocminfo-stand-in")
    assert apt_host.plan(wish("hip")).kinds() == {"hip-stand-in": "install", "rocminfo-stand-in": "upgrade"}


@pytest.mark.parametrize("name", ["rocminfo", "hipcc"])
def test_distro_package_outranks_and_distro_hipcc_outranks_show_both_offers(
    apt_host: AptHost, archives: Archives, name: str
) -> None:
    archives.add("ubuntu", package(name, "5.7.1-3"), origin="Ubuntu")
    assert apt_host.plan(wish(name), execute=True)["msg"] == ""
    archives.add(
        "vendor",
        package(name, "1.1.1.70204-93"),
        package("rocm-hip-runtime", "7.2.4", Depends=f"{name}-stand-in (= 1.1.1.70204-93)"),
        origin="repo.radeon.com",
    )
    pin = {"file": "halo-rocm", "packages": ["roc*", "hip*"], "release": "o=repo.radeon.com", "priority": 600}
    wishes = [wish("rocm-hip-runtime"), wish(name, "1.1.1*", origin="repo.radeon.com")]
    answer = apt_host.plan(*wishes, pins=[pin])
    assert answer.codes == ["APT.DOWNGRADE_REFUSED"]
    lines = [step["text"] for step in explained(answer)["steps"]]
    assert (
        f"role demo wishes {name}-stand-in 1.1.1* from repo.radeon.com: 1.1.1.70204-93 from repo.radeon.com"
        in (lines[0])
    )
    assert "at priority 600" in lines[0]
    assert lines[1:] == [
        f"{name}-stand-in 5.7.1-3 from Ubuntu ubuntu at priority 500 is installed and would stay, or get newer"
    ]
    # Without a wish for the package itself apt keeps to its candidate; the way round is a pin that goes back.
    alone = apt_host.plan(wishes[0], pins=[])
    assert alone.codes == ["APT.UNSOLVABLE"], alone["msg"]
    expected = [("wish", "rocm-hip-runtime"), ("depends", "rocm-hip-runtime"), ("candidate", name)]
    assert kinds(explained(alone)) == expected
    back = explained(alone)["remedies"][0]
    assert (back["pins"][0]["packages"], back["pins"][0]["priority"]) == ([f"{name}-stand-in"], 1001)
    assert back["permit"] == {"downgrade": [f"{name}-stand-in"]}
    assert apt_host.plan(wishes[0], pins=back["pins"], permit_downgrade=back["permit"]["downgrade"])["msg"] == ""


# --- names and versions that mean nothing, or too much ---


def test_what_a_wish_may_mean_is_said_and_never_guessed(apt_host: AptHost, archives: Archives) -> None:
    archives.add(
        "a",
        package("clang", "1:17.0.6-1"),
        package("mta-one", "1", Provides="mta-stand-in"),
        package("mta-two", "1", Provides="mta-stand-in"),
        package("tool", "1"),
    )
    virtual = apt_host.plan(wish("mta"))
    assert virtual.codes == ["APT.WISH_VIRTUAL"]
    assert "provided by mta-one-stand-in, mta-two-stand-in" in virtual["msg"]
    epoch = apt_host.plan(wish("clang", "17.*"))
    assert epoch.codes == ["APT.WISH_VERSION"]
    assert "1:17.0.6-1" in epoch["findings"][0]["evidence"]
    assert "`1:` before the version in `17.*`" in epoch["findings"][0]["remedy"]
    assert apt_host.plan(wish("clang", "1:17.*")).kinds() == {"clang-stand-in": "install"}
    both = apt_host.plan(wish("tool", "1", role="one"), wish("tool", "2", role="two"))
    assert both.codes == ["APT.WISH_CONFLICT"]
    nothing = apt_host.plan(wish("toool"))
    assert nothing.codes == ["APT.WISH_UNKNOWN"]
    for answer in (virtual, epoch, both, nothing):
        assert (answer["plan"]["changes"], answer["failed"]) == ([], True)
