"""What is permitted, what is shown, what dpkg has written down: all that needs no apt."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ansible.module_utils.halo.apt import dpkgdb, glue, space
from ansible.module_utils.halo.apt.model import Change, Permissions, Plan, Remedy, human
from ansible.module_utils.halo.apt.permit import refusals

ROOT = Path(__file__).resolve().parents[2]


def change(kind, **fields):
    versions = {"install": ("", "2"), "upgrade": ("1", "2"), "downgrade": ("2", "1"), "remove": ("1", "")}
    old, new = versions.get(kind, ("1", "1"))
    return Change(
        **{"name": "pkg-a", "arch": "amd64", "kind": kind, "old": old, "new": new, "reasons": ("why",), **fields}
    )


REFUSED = [
    (change("upgrade", foreign=True), "APT.UPGRADE_REFUSED", "upgrade"),
    (change("downgrade"), "APT.DOWNGRADE_REFUSED", "downgrade"),
    (change("downgrade", wished=True), "APT.DOWNGRADE_REFUSED", "downgrade"),
    (change("remove"), "APT.REMOVE_REFUSED", "remove"),
    (change("remove", essential=True), "APT.ESSENTIAL_REFUSED", "remove"),
    (change("remove", essential=True, wished=True), "APT.ESSENTIAL_REFUSED", "remove"),
    (change("upgrade", held=True, wished=True), "APT.HELD_REFUSED", "change_held"),
    (change("remove", held=True, wished=True), "APT.HELD_REFUSED", "change_held"),
]


@pytest.mark.parametrize(("item", "code", "permission"), REFUSED)
def test_a_change_beyond_the_permissions_names_the_variable_that_permits_it(item, code, permission):
    findings = refusals([item], Permissions())
    assert [finding.code for finding in findings] == [code]
    assert f'-e \'{{"apt_transaction_permit_{permission}": ["pkg-a"]}}\'' in findings[0].remedy
    assert "why" in findings[0].evidence
    assert refusals([item], Permissions(**{permission: ("pkg-a",)})) == []


@pytest.mark.parametrize(("item", "code", "permission"), REFUSED)
def test_globs_permit_all_but_the_removal_of_essential_packages(item, code, permission):
    permitted = refusals([item], Permissions(**{permission: ("pkg-*",)})) == []
    assert permitted is (code != "APT.ESSENTIAL_REFUSED")


@pytest.mark.parametrize(
    "item",
    [
        change("install"),
        change("upgrade"),
        change("upgrade", foreign=True, wished=True),
        change("remove", wished=True),
        change("mark_manual", held=True, wished=True),
    ],
)
def test_what_needs_no_permission(item):
    assert refusals([item], Permissions()) == []


def test_a_roles_advice_replaces_the_permission_for_its_own_packages_but_for_essential_ones():
    advice = Remedy("remove", ("pkg-*",), "turn the switch")
    assert refusals([change("remove")], Permissions(), [advice])[0].remedy == "turn the switch"
    for other in (change("downgrade"), change("remove", name="other"), change("remove", essential=True)):
        assert "apt_transaction_permit_" in refusals([other], Permissions(), [advice])[0].remedy


def test_one_change_can_need_two_permissions():
    findings = refusals([change("remove", held=True)], Permissions())
    assert {finding.code for finding in findings} == {"APT.REMOVE_REFUSED", "APT.HELD_REFUSED"}


def test_the_text_of_a_plan_has_every_change_its_reason_and_the_totals():
    plan = Plan(
        (change("install", origin="Debian", suite="trixie", priority=500, size=1_500_000), change("remove")),
        (),
        1_500_000,
        -2_000,
    )
    assert plan.as_dict()["text"].splitlines() == [
        "install pkg-a 2 (Debian trixie, priority 500, 1.5 MB)",
        "    why",
        "remove pkg-a 1",
        "    why",
        "1 to install, 1 to remove; 1.5 MB to download, -2 kB more on disk",
    ]


def test_sizes():
    assert [human(size) for size in (0, 999, 1000, 12_345_678, 3 * 10**9, -5_000_000)] == [
        "0 B", "999 B", "1 kB", "12.3 MB", "3 GB", "-5 MB",
    ]  # fmt: skip


def test_no_space_counts_what_goes_to_one_file_system_together(tmp_path):
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    half = free * 2 // 3
    assert space.shortages([(tmp_path / "not" / "yet", half)]) == []
    findings = space.shortages([(tmp_path / "not" / "yet", half), (tmp_path, half), (tmp_path, -5)])
    assert [finding.code for finding in findings] == ["APT.NO_SPACE"]
    assert "missing" in findings[0].evidence


STATUS = """\
Package: bash
Status: install ok installed
Architecture: amd64
Version: 5.2-1
Description: a shell
 Version: 9

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: rocminfo
Status: hold ok installed
Architecture: all
Version: 5.7
"""


@pytest.fixture
def host(tmp_path):
    (tmp_path / "var/lib/dpkg/updates").mkdir(parents=True)
    (tmp_path / "var/lib/apt").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)
    (tmp_path / "var/lib/apt/extended_states").write_text(
        "Package: bash\nArchitecture: amd64\nAuto-Installed: 1\n\n"
        "Package: rocminfo\nArchitecture: amd64\nAuto-Installed: 0\n"
    )
    return tmp_path


def test_the_database_of_a_host(host):
    database = dpkgdb.read(str(host))
    assert database.versions == {"bash": "5.2-1", "rocminfo": "5.7"}
    assert database.held == {"rocminfo"}
    assert database.auto == {"bash"}
    assert database.unfinished == ()


@pytest.mark.parametrize("state", ["half-configured", "unpacked", "half-installed", "triggers-pending"])
def test_a_package_that_dpkg_has_not_finished(host, state):
    status = host / "var/lib/dpkg/status"
    status.write_text(STATUS.replace("install ok installed", f"install ok {state}"))
    assert dpkgdb.read(str(host)).unfinished == (f"bash is {state}",)


def test_a_transaction_that_dpkg_has_not_finished(host):
    (host / "var/lib/dpkg/updates/0001").write_text("")
    assert "unfinished" in dpkgdb.read(str(host)).unfinished[0]


def params(**given):
    return {**{name: spec.get("default") for name, spec in glue.PLAN_ARGUMENTS.items()}, **given}


def test_nothing_is_planned_when_the_request_is_wrong():
    answer = glue.plan(
        params(wishes=[{"name": "X"}], pins=[{"file": "a"}], execute=True, root="/elsewhere"), check_mode=False
    )
    codes = {finding["code"] for finding in answer["findings"]}
    assert answer["failed"]
    assert not answer["changed"]
    assert {"APT.WISH_INVALID", "PIN.INVALID"} <= codes


@pytest.mark.skipif(glue.has_python_apt(), reason="this Python has python3-apt")
def test_without_python_apt_there_is_a_finding_and_no_plan():
    answer = glue.plan(params(), check_mode=True)
    assert [finding["code"] for finding in answer["findings"]] == ["APT.PYTHON_ABSENT"]
    assert "apt-get install --no-install-recommends python3-apt" in answer["msg"]
    assert answer["plan"]["text"] == ""


INTERRUPTED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from halo.apt.interrupt import Interrupt
with Interrupt() as interrupt:
    try:
        if sys.argv[2] == "deferred":
            with interrupt.deferred():
                os.kill(os.getpid(), signal.SIGTERM)
                print("went on")
        else:
            os.kill(os.getpid(), signal.SIGTERM)
            print("went on")
        print("not reached")
    finally:
        print("cleaned")
"""


@pytest.mark.parametrize(("mode", "output"), [("at once", "cleaned\n"), ("deferred", "went on\ncleaned\n")])
def test_sigterm_runs_what_cleans_up(mode, output):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(ROOT / "module_utils"), mode],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, output)
