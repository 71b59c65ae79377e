"""Planning and executing against a real apt and dpkg: with real packages, and with archives of stand-ins."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time

import pytest

from tests.support.apt_archives import Archives, package, wish

# The libc++ of two LLVM majors, which conflict with each other for real.
LIBCXX = {"debian-12": ("14", "15"), "debian-13": ("17", "18")}


@pytest.fixture
def archives(apt_host):
    return Archives(apt_host)


# --- real packages ---


@pytest.fixture
def libcxx(apt_host):
    """Give the major that is wished while the other one is installed."""
    wished, installed = LIBCXX[apt_host.release]
    answer = apt_host.plan({"name": f"libc++-{installed}-dev"}, execute=True)
    assert answer["changed"], answer["msg"]
    assert f"libc++-{installed}-dev" in apt_host.installed()
    return wished, installed


@pytest.mark.parametrize("solver", ["internal", "3.0"])
def test_a_replacement_is_shown_and_refused_until_permitted(apt_host, libcxx, solver):
    if solver == "3.0":
        if apt_host.release == "debian-12":
            pytest.skip("apt 2.6 has no solver 3.0")
        apt_host.run("echo 'APT::Solver \"3.0\";' >/etc/apt/apt.conf.d/solver")
    wished, other = libcxx
    before = apt_host.installed()
    refused = apt_host.plan({"name": f"libc++-{wished}-dev", "version": f"1:{wished}.*"}, execute=True)
    removed = sorted(name for name, kind in refused.kinds().items() if kind == "remove")
    assert refused["failed"]
    assert set(refused.codes) == {"APT.REMOVE_REFUSED"}
    assert removed == sorted(finding["subject"] for finding in refused["findings"])
    assert f"libc++-{other}-dev" in removed
    reasons = refused.changes()[f"libc++-{other}-dev"]["reasons"]
    assert reasons[0] == f"role demo wishes libc++-{wished}-dev 1:{wished}.*"
    assert "Conflicts libc++-x.y-dev" in reasons[-1]
    assert apt_host.installed() == before

    permitted = apt_host.plan(
        {"name": f"libc++-{wished}-dev", "version": f"1:{wished}.*"}, permit_remove=["lib*-1?*"], execute=True
    )
    assert permitted["changed"], permitted["msg"]
    assert permitted.kinds() == refused.kinds()
    after = apt_host.installed()
    assert after[f"libc++-{wished}-dev"].startswith(f"1:{wished}.")
    assert not after.keys() & set(removed)


def test_a_replacement_that_is_wished_needs_no_permission(apt_host, libcxx):
    wished, other = libcxx
    globs = [
        {"name": pattern, "state": "absent"} for pattern in ("libc++-*-dev", "libc++1-*", "libc++abi*", "libunwind-*")
    ]
    answer = apt_host.plan({"name": f"libc++-{wished}-dev"}, *globs, execute=True)
    assert answer["changed"], answer["msg"]
    assert [name for name in apt_host.installed() if re.match(r"lib(c\+\+|unwind).*-" + other, name)] == []
    assert f"libc++-{wished}-dev" in apt_host.installed()


def test_dependencies_stay_automatic_and_a_second_run_changes_nothing(apt_host):
    answer = apt_host.plan({"name": "pciutils", "origin": "Debian"}, execute=True)
    assert answer["changed"], answer["msg"]
    new = apt_host.installed().keys() & answer.changes().keys()
    assert len(new) > 2
    assert apt_host.auto() & new == new - {"pciutils"}
    log = apt_host.run("stat -c %a /var/log/halo/apt.log; cat /var/log/halo/apt.log")
    assert log.startswith("640\n")
    assert "Setting up pciutils" in log
    again = apt_host.plan({"name": "pciutils", "origin": "Debian"}, execute=True)
    assert (again["changed"], again["plan"]["changes"], again["failed"]) == (False, [], False)


def test_a_wished_package_that_is_marked_automatic_becomes_manual(apt_host):
    apt_host.run("apt-mark auto adduser")
    assert apt_host.plan({"name": "adduser"}).kinds() == {"adduser": "mark_manual"}
    assert "adduser" in apt_host.auto()
    assert apt_host.plan({"name": "adduser"}, execute=True)["changed"]
    assert "adduser" not in apt_host.auto()
    assert not apt_host.plan({"name": "adduser"}, execute=True)["changed"]


def test_essential_packages_go_by_their_exact_name_alone(apt_host):
    gone = {"name": "sed", "state": "absent"}
    assert "APT.ESSENTIAL_REFUSED" in apt_host.plan(gone).codes
    assert "APT.ESSENTIAL_REFUSED" in apt_host.plan(gone, permit_remove=["*"]).codes


def test_fetched_packages_are_verified_and_not_installed(apt_host):
    major = LIBCXX[apt_host.release][0]
    dest = "/var/cache/halo/debs/x"
    wishes = [
        {"name": name, "version": f"1:{major}.*", "origin": "Debian", "state": "fetched", "dest": dest}
        for name in (f"libc++-{major}-dev", f"libunwind-{major}-dev")
    ]
    before = apt_host.installed()
    planned = apt_host.plan(*wishes, check_mode=True)
    assert planned["changed"]
    assert [item["name"] for item in planned["plan"]["fetch"]] == [wish["name"] for wish in wishes]
    assert apt_host.run(f"ls {dest} 2>/dev/null || echo nothing") == "nothing\n"

    assert apt_host.plan(*wishes, execute=True)["changed"]
    manifest = json.loads(apt_host.run(f"cat {dest}/manifest.json"))
    assert [entry["name"] for entry in manifest] == sorted(wish["name"] for wish in wishes)
    for entry in manifest:
        shown = apt_host.run(f"sha256sum {dest}/{entry['filename']}; dpkg-deb -W {dest}/{entry['filename']}").split()
        assert [shown[0], shown[-2], shown[-1]] == [entry["sha256"], entry["name"], entry["version"]]
    assert sorted(apt_host.run(f"ls -A {dest}").split()) == sorted(
        ["manifest.json", *(e["filename"] for e in manifest)]
    )
    assert apt_host.installed() == before

    # No archive can be reached any more: what is there and intact needs none.
    apt_host.run("rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*")
    assert not apt_host.plan(*wishes, execute=True)["changed"]
    apt_host.run(f"echo damaged >>{dest}/{manifest[0]['filename']}")
    damaged = apt_host.plan(*wishes, execute=True)
    assert set(damaged.codes) == {"APT.WISH_UNKNOWN"} or set(damaged.codes) == {"APT.WISH_VERSION"}


def test_check_mode_writes_nothing(apt_host):
    tree = (
        (
            "find / -xdev ( -path /proc -o -path /sys -o -path /dev ) -prune"
            " -o -path /var/tmp -prune -o -printf '%p %y %m %U %s %T@ %l\\n' | sort"
        )
        .replace("( ", "\\( ")
        .replace(" )", " \\)")
    )
    before = apt_host.run(tree)
    answer = apt_host.plan(
        {"name": "pciutils"},
        {"name": "hello", "state": "fetched", "dest": "/var/cache/halo/hello"},
        pins=[{"file": "halo-x", "packages": ["pciutils"], "version": "installed", "priority": 990}],
        execute=True,
        check_mode=True,
        refresh="always",
    )
    assert answer["changed"], answer["msg"]
    assert len(answer["plan"]["fetch"]) == 1
    assert apt_host.run(tree) == before
    assert apt_host.run("ls -A /var/tmp") == ""


def test_another_root_can_be_planned_for(apt_host):
    apt_host.run(
        "mkdir -p /srv/root/etc /srv/root/var/lib/dpkg /srv/root/var/lib/apt /srv/root/usr"
        "; cp -a /etc/apt /etc/os-release /srv/root/etc/; cp -al /var/lib/apt/lists /srv/root/var/lib/apt/"
        "; : >/srv/root/var/lib/dpkg/status"
    )
    answer = apt_host.plan({"name": "bash"}, root="/srv/root")
    assert answer.kinds()["bash"] == "install"
    assert answer.kinds()["libc6"] == "install"
    assert apt_host.plan({"name": "bash"}).kinds() == {}
    assert apt_host.plan({"name": "bash"}, root="/srv/root", execute=True)["failed"]


# --- permissions, with stand-ins ---


def test_a_downgrade_is_refused_until_permitted(apt_host, archives):
    archives.add("a", package("tool", "1"), package("tool", "2"))
    assert apt_host.plan(wish("tool"), execute=True).changes()["tool-stand-in"]["to"] == "2"
    refused = apt_host.plan(wish("tool", "1*"), execute=True)
    assert refused.codes == ["APT.DOWNGRADE_REFUSED"]
    assert """-e '{"apt_transaction_permit_downgrade": ["tool-stand-in"]}'""" in refused["msg"]
    assert apt_host.installed()["tool-stand-in"] == "2"
    assert apt_host.plan(wish("tool", "1*"), permit_downgrade=["tool-*"], execute=True)["changed"]
    assert apt_host.installed()["tool-stand-in"] == "1"


def test_what_is_within_the_bound_stays_and_latest_moves(apt_host, archives):
    archives.add("a", package("tool", "1"))
    assert apt_host.plan(wish("tool"), execute=True)["changed"]
    archives.add("a", package("tool", "1"), package("tool", "2"))
    assert apt_host.plan(wish("tool", ">= 1"), refresh="always", execute=True).kinds() == {}
    newer = apt_host.plan(wish("tool", ">= 1", state="latest"), execute=True)
    assert newer.kinds() == {"tool-stand-in": "upgrade"}
    assert newer["before"], newer["after"] == ({"tool-stand-in": "1"}, {"tool-stand-in": "2"})
    assert apt_host.installed()["tool-stand-in"] == "2"


def test_a_package_nobody_wished_for_stays_in_its_release(apt_host, archives):
    archives.add("stable", package("lib", "1"), package("app", "1", Depends="lib-stand-in"))
    assert apt_host.plan(wish("lib"), execute=True)["changed"]
    archives.add("next", package("lib", "2"), package("app", "2", Depends="lib-stand-in (>= 2)"), origin="Other")
    refused = apt_host.plan(wish("app"), execute=True)
    assert refused.codes == ["APT.UPGRADE_REFUSED"]
    change = refused.changes()["lib-stand-in"]
    assert (change["from"], change["to"], change["origin"], change["wished"]) == ("1", "2", "Other", False)
    assert change["reasons"] == ["role demo wishes app-stand-in", "app-stand-in 2 Depends lib-stand-in (>= 2)"]
    assert apt_host.plan(wish("app"), permit_upgrade=["lib-*"])["changed"]
    # What is wished moves without a permission: what is installed stays only where nothing needs it newer.
    moved = apt_host.plan(wish("app"), wish("lib"))
    assert (moved.codes, moved.kinds()) == ([], {"app-stand-in": "install", "lib-stand-in": "upgrade"})
    assert moved.changes()["lib-stand-in"]["reasons"] == change["reasons"]
    assert apt_host.plan(wish("app"), wish("lib", "1*")).codes == ["APT.UNSOLVABLE"]


def test_updates_of_its_own_release_are_no_move(apt_host, archives):
    archives.add("stable", package("lib", "1"))
    assert apt_host.plan(wish("lib"), execute=True)["changed"]
    archives.add("stable-updates", package("lib", "2"), package("app", "2", Depends="lib-stand-in (>= 2)"))
    moved = apt_host.plan(wish("app"))
    assert (moved.codes, moved.kinds()) == ([], {"app-stand-in": "install", "lib-stand-in": "upgrade"})
    archives.add("stable-backports", package("lib", "3"), package("app", "3", Depends="lib-stand-in (>= 3)"))
    assert apt_host.plan(wish("app", "3")).codes == ["APT.UPGRADE_REFUSED"]


def test_a_held_package_is_refused_and_when_permitted_stays_held(apt_host, archives):
    archives.add("a", package("tool", "1"))
    assert apt_host.plan(wish("tool"), execute=True)["changed"]
    apt_host.run("apt-mark hold tool-stand-in")
    archives.add("a", package("tool", "1"), package("tool", "2"), package("app", "1", Depends="tool-stand-in (>= 2)"))
    for wanted in (wish("tool", ">= 2"), wish("app")):
        refused = apt_host.plan(wanted, refresh="always", execute=True)
        assert refused.codes == ["APT.HELD_REFUSED"], refused["msg"]
        assert "apt-mark unhold tool-stand-in" in refused["msg"]
    assert apt_host.installed()["tool-stand-in"] == "1"
    assert apt_host.plan(wish("app"), permit_change_held=["tool-stand-in"], execute=True)["changed"]
    assert apt_host.installed()["tool-stand-in"] == "2"
    assert apt_host.run("apt-mark showhold") == "tool-stand-in\n"


def test_a_removal_as_a_side_effect_names_what_forces_it(apt_host, archives):
    archives.add(
        "a",
        package("old", "1"),
        package("needs-old", "1", Depends="old-stand-in"),
        package("new", "1", Breaks="old-stand-in (<< 2)"),
    )
    assert apt_host.plan(wish("needs-old"), execute=True)["changed"]
    refused = apt_host.plan(wish("new"), execute=True)
    assert refused.codes == ["APT.REMOVE_REFUSED", "APT.REMOVE_REFUSED"]
    assert refused.changes()["old-stand-in"]["reasons"] == [
        "role demo wishes new-stand-in",
        "new-stand-in 1 Breaks old-stand-in (<< 2): old-stand-in 1",
    ]
    assert (
        refused.changes()["needs-old-stand-in"]["reasons"][-1]
        == "needs-old-stand-in 1 Depends old-stand-in, which goes"
    )
    # Where the package in the way has a version that fits, it is upgraded instead.
    archives.add("a", package("old", "2"), package("new", "1", Breaks="old-stand-in (<< 2)"))
    assert apt_host.plan(wish("new"), refresh="always").kinds() == {
        "new-stand-in": "install",
        "old-stand-in": "upgrade",
    }


# --- choosing ---


def test_pins_count_before_they_are_written(apt_host, archives):
    archives.add("a", package("tool", "1"), package("tool", "2"))
    pin = {"file": "halo-x", "packages": ["tool-*"], "version": "1*", "priority": 990}
    change = apt_host.plan(wish("tool"), pins=[pin]).changes()["tool-stand-in"]
    assert (change["to"], change["priority"]) == ("1", 990)
    assert apt_host.run("ls /etc/apt/preferences.d 2>/dev/null || :") == ""


def test_a_wish_that_nothing_fulfils_says_what_is_there(apt_host, archives):
    archives.add("a", package("tool", "1", Provides="virtual-stand-in"), package("tool", "2"))
    answer = apt_host.plan(
        wish("missing"),
        wish("virtual"),
        wish("tool", "3*"),
        execute=True,
    )
    assert answer.codes == ["APT.WISH_UNKNOWN", "APT.WISH_VIRTUAL", "APT.WISH_VERSION"]
    assert "provided by tool-stand-in" in answer["msg"]
    assert "offered: 2 (Stand-in a, priority 500), 1 (Stand-in a, priority 500)" in answer["msg"]
    assert "APT.WISH_VERSION" in apt_host.plan(wish("tool", origin="Nobody")).codes


def test_bounds_of_two_roles_without_a_common_version_conflict(apt_host, archives):
    archives.add("a", package("tool", "1"), package("tool", "3"))
    answer = apt_host.plan(wish("tool", "<< 2", role="one"), wish("tool", ">> 2", role="two"))
    assert answer.codes == ["APT.WISH_CONFLICT"]
    assert "one_apt or two_apt" in answer["msg"]


def test_what_cannot_be_solved_names_the_dependency(apt_host, archives):
    archives.add("a", package("app", "1", Depends="lib-stand-in (>= 2) | other-stand-in"), package("lib", "1"))
    answer = apt_host.plan(wish("app"), execute=True)
    assert answer.codes == ["APT.UNSOLVABLE"]
    assert "lib-stand-in (>= 2) | other-stand-in" in answer["msg"]
    assert "app-stand-in" not in apt_host.installed()


def test_one_origin_for_a_whole_set(apt_host, archives):
    archives.add("a", package("app", "1", Depends="lib-stand-in"))
    archives.add("b", package("lib", "1"), origin="Other")
    answer = apt_host.plan(
        wish("app"), one_origin=[{"origin": "Stand-in", "packages": ["app-*", "lib-*"]}], execute=True
    )
    assert answer.codes == ["ROCM.MIXED_ORIGIN"]
    assert answer["findings"][0]["subject"] == "lib-stand-in"


# --- a host that is not well ---


def test_a_lock_that_another_process_holds(apt_host, archives):
    archives.add("a", package("tool"))
    holder = (
        "import fcntl, time\n"
        "lock = open('/var/lib/dpkg/lock-frontend', 'w')\n"
        "fcntl.lockf(lock, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "time.sleep(600)\n"
    )
    command = apt_host.command("python3", "-c", holder)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        pid = apt_host.run("pgrep -f lock-frontend | head -1").strip()
        try:
            answer = apt_host.plan(wish("tool"), execute=True, lock_timeout=1)
            planned = apt_host.plan(wish("tool"), lock_timeout=1)
        finally:
            apt_host.run(f"kill {pid}", check=False)
    assert answer.codes == ["APT.LOCKED"]
    assert re.search(rf"held by python3 \(process {pid}: python3 -c", answer["msg"]), answer["msg"]
    assert planned["changed"], "planning needs no lock"
    assert apt_host.run("test -e /var/lib/dpkg/lock-frontend && echo there") == "there\n"
    assert apt_host.plan(wish("tool"), execute=True)["changed"]


def test_a_dpkg_that_outlived_its_run_is_waited_for_and_not_called_interrupted(apt_host, archives):
    archives.add("a", package("tool"))
    # Its maintainer script lasts until it is told to end.
    apt_host.run(
        "mkdir -p /slow/DEBIAN && mkfifo /slow.end && cd / && "
        "printf 'Package: slow\\nVersion: 1\\nArchitecture: all\\nMaintainer: x\\nDescription: x\\n' "
        ">/slow/DEBIAN/control && "
        "printf '#!/bin/sh\\necho at work; cat /slow.end\\n' >/slow/DEBIAN/postinst && "
        "chmod 755 /slow/DEBIAN/postinst && dpkg-deb -b /slow /slow.deb"
    )
    with subprocess.Popen(apt_host.command("dpkg", "-i", "/slow.deb"), stdout=subprocess.PIPE, text=True) as process:
        assert any("at work" in line for line in process.stdout)
        pid = apt_host.run("pgrep -x dpkg").strip()
        try:
            answer = apt_host.plan(wish("tool"))
        finally:
            apt_host.run("echo >/slow.end")
    assert answer.codes == ["APT.LOCKED"]
    assert f"(process {pid}: dpkg -i /slow.deb)" in answer["msg"]
    assert f"tail --pid={pid} -f /dev/null" in answer["findings"][0]["remedy"]
    assert apt_host.plan(wish("tool"))["changed"], "once it has ended"


def test_a_dpkg_that_was_interrupted_must_finish(apt_host, archives):
    archives.add("a", package("tool"))
    apt_host.run("touch /var/lib/dpkg/updates/0001")
    try:
        assert apt_host.plan(wish("tool")).codes == ["APT.DPKG_INTERRUPTED"]
    finally:
        # The host is shared with the tests that follow.
        apt_host.run("rm /var/lib/dpkg/updates/0001")


def test_an_archive_that_does_not_answer(apt_host):
    apt_host.run(
        "echo 'Acquire::Retries \"0\";' >/etc/apt/apt.conf.d/retries"
        "; rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*"
        "; echo 'deb http://127.0.0.1:9/debian trixie main' >/etc/apt/sources.list.d/dead.list"
    )
    for execute in (False, True):
        answer = apt_host.plan({"name": "pciutils"}, execute=execute)
        assert set(answer.codes) == {"APT.REFRESH_FAILED"}
        assert "http://127.0.0.1:9/debian" in answer["findings"][0]["subject"]
        assert "connect" in answer["findings"][0]["evidence"].lower()
    assert "pciutils" not in apt_host.installed()


def test_an_archive_without_a_signature_is_never_used(apt_host, archives):
    archives.add("unsigned", package("tool"), options="")
    apt_host.run(
        "printf '%s \"true\";\\n' APT::Get::AllowUnauthenticated Acquire::AllowInsecureRepositories"
        " >/etc/apt/apt.conf.d/careless"
    )
    answer = apt_host.plan(wish("tool"), execute=True)
    assert set(answer.codes) == {"APT.UNSIGNED"}
    assert "not signed" in answer["msg"]
    assert "/srv/unsigned" in answer["findings"][0]["subject"]
    assert apt_host.plan(wish("tool"), refresh="never", execute=True).codes == ["APT.WISH_UNKNOWN"]


def test_a_package_that_is_not_what_the_index_says(apt_host, archives):
    archives.add("a", package("tool"), package("other"))
    assert apt_host.plan(wish("tool"), execute=True)["changed"]
    apt_host.run("sed -i s/stand-in/STAND-IN/ /srv/a/other-stand-in_1_all.deb")
    for wanted in (wish("other"), wish("other", state="fetched", dest="/var/cache/halo/x")):
        answer = apt_host.plan(wanted, execute=True)
        assert answer.codes == ["APT.DOWNLOAD_FAILED"], answer["msg"]
        assert "other-stand-in" in answer["msg"]
    assert "other-stand-in" not in apt_host.installed()
    assert apt_host.run("ls -A /var/cache/halo/x") == ""


@pytest.mark.parametrize(
    ("path", "text", "shown"),
    [
        ("/etc/apt/sources.list.d/bad.list", "deb bogus\n", "/etc/apt/sources.list.d/bad.list"),
        ("/etc/apt/sources.list.d/bad.sources", "Types: deb\nURIs: x\n", "/etc/apt/sources.list.d/bad.sources"),
        ("/etc/apt/preferences.d/bad.pref", "Pin: version 1\nPin-Priority: 5\n", "preferences.d/bad.pref"),
        ("/etc/apt/apt.conf.d/bad", 'APT::Foo "bar\n', "/etc/apt/apt.conf.d/bad"),
    ],
)
def test_configuration_that_apt_cannot_read(apt_host, path, text, shown):
    apt_host.run(f"cat >{path}", stdin=text)
    answer = apt_host.plan({"name": "pciutils"}, execute=True)
    assert answer.codes == ["APT.CONFIG_UNREADABLE"], answer["msg"]
    assert shown in answer["findings"][0]["evidence"]
    assert "halo-apt-" not in answer["msg"]
    assert apt_host.run("ls -A /var/tmp") == ""


def test_a_file_system_that_is_too_full(apt_host):
    # A tmpfs of 1 MB takes the place of apt's archives.
    apt_host.run("mv /var/cache/apt/archives /var/cache/apt/kept; ln -s /small /var/cache/apt/archives")
    try:
        answer = apt_host.plan({"name": "cmake"}, execute=True)
        small = apt_host.plan({"name": "hello"})
    finally:
        apt_host.run("rm /var/cache/apt/archives; mv /var/cache/apt/kept /var/cache/apt/archives")
    assert answer.codes == ["APT.NO_SPACE"]
    assert re.search(r"MB needed, .* free, .* missing", answer["msg"])
    assert small.codes == []
    assert apt_host.run("ls -A /small") == ""


def test_a_package_that_fails_to_configure_and_what_follows(apt_host, archives):
    archives.add("a", package("broken", postinst="#!/bin/sh\necho the reason why\nexit 10\n"), package("tool"))
    failed = apt_host.plan(wish("broken"), execute=True)
    assert failed.codes == ["APT.EXECUTE_FAILED"]
    assert "the reason why" in failed["msg"]
    assert failed["log"] == "/var/log/halo/apt.log"
    following = apt_host.plan(wish("tool"), execute=True)
    assert following.codes == ["APT.DPKG_INTERRUPTED"]
    assert "broken-stand-in is half-configured" in following["msg"]
    assert "dpkg --configure -a" in following["msg"]


@pytest.mark.parametrize("moment", ["planning", "refreshing"])
def test_a_killed_plan_leaves_nothing_behind(apt_host, moment):
    if moment == "refreshing":
        # An archive that accepts a connection and never answers.
        apt_host.run("echo 'deb http://127.0.0.1:8099/debian trixie main' >/etc/apt/sources.list.d/slow.list")
        silent = (
            "import socket, time\n"
            "server = socket.create_server(('127.0.0.1', 8099))\n"
            "print('up', flush=True)\n"
            "time.sleep(600)\n"
        )
        server = subprocess.Popen(apt_host.command("python3", "-c", silent), stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline() == "up\n"
    command = apt_host.command("python3", "/halo/drive.py")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(apt_host.request([{"name": "pciutils"}]))
        process.stdin.close()
        deadline = time.monotonic() + 60
        while not apt_host.run("ls -A /var/tmp"):
            assert time.monotonic() < deadline, "no private root appeared"
        apt_host.run("pkill -TERM -f '[/]halo/drive.py'")
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    if moment == "refreshing":
        apt_host.run("pkill -f '[8]099'", check=False)
        server.wait(timeout=10)
        server.stdout.close()
    assert apt_host.run("ls -A /var/tmp") == ""
