"""Repairs, in trees of files that a real apt judges before and after."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.apt_host import Answer, AptHost
from tests.support.apt_tree import (
    DPKG,
    LISTS,
    NEW,
    OLD,
    PARTS,
    PINS,
    TREE,
    URI,
    Files,
    lay,
    listed,
    package,
    pin,
    stanza,
    two_copies,
)
from tests.unit.gpg_home import GpgHome

Repair = Callable[..., Answer]
OWN = f"{PARTS}/rocm.sources"


@pytest.fixture
def repair(shared_apt_host: AptHost) -> Iterator[Repair]:
    """Return what repairs the fresh host with files laid over it: in check mode, for good, and once more."""

    def run(files: Files, **params: Any) -> Answer:
        lay(shared_apt_host, files)
        before = tree(shared_apt_host)
        # What is foretold without python3-apt is what is done with it.
        foretold = shared_apt_host.repair(root=TREE, check_mode=True, python_apt=False, **params)
        assert tree(shared_apt_host) == before, "check mode wrote"
        answer = shared_apt_host.repair(root=TREE, **params)
        assert (foretold["before"], foretold["after"], foretold["changed"]) == (
            answer["before"],
            answer["after"],
            answer["changed"],
        )
        if answer["changed"] and not answer["commands"]:
            assert not shared_apt_host.repair(root=TREE, **params)["changed"], "a second run changed something"
        return answer

    yield run
    shared_apt_host.run(f"rm -rf {TREE}")


@pytest.fixture(scope="module")
def gpg() -> Iterator[GpgHome]:
    if not shutil.which("gpg"):
        pytest.skip("needs gpg, which makes the keys")
    home = GpgHome()
    yield home
    home.close()


@pytest.fixture(scope="module")
def copies(gpg: GpgHome) -> dict[str, Any]:
    return two_copies(gpg)


def tree(host: AptHost) -> str:
    return host.run(f"cd {TREE}; find . -type f -exec sha256sum {{}} + | sort")


def read(host: AptHost, name: str) -> str:
    return host.run(f"cat {TREE}{name}")


def backups(host: AptHost) -> list[str]:
    """Return the files that were laid aside, without the directory that their content names."""
    names = host.run(f"cd {TREE}/var/lib/halo/backup && find . -type f").splitlines()
    return sorted("/" + name.split("/", 2)[2] for name in names)


def test_source_twice_leaves_the_deb822_source(repair: Repair, shared_apt_host: AptHost) -> None:
    files: Files = {
        f"{PARTS}/amdgpu.list": f"# mine\ndeb {URI} noble main\ndeb {URI} noble-updates main\n",
        f"{PARTS}/amdgpu.sources": stanza(),
    }
    answer = repair(files)
    assert list(answer["after"]) == [f"{PARTS}/amdgpu.list"]
    assert read(shared_apt_host, f"{PARTS}/amdgpu.list") == f"# mine\ndeb {URI} noble-updates main\n"
    assert read(shared_apt_host, f"{PARTS}/amdgpu.sources") == stanza()
    assert backups(shared_apt_host) == [f"{PARTS}/amdgpu.list"]
    assert "SOURCE.TWICE" not in [problem["code"] for problem in answer["problems"]]


def test_signed_by_conflict_is_gone_and_apt_works(repair: Repair, shared_apt_host: AptHost) -> None:
    files: Files = {
        f"{PARTS}/docker.list": "".join(
            f"{kind} [signed-by=/k/a.gpg] {URI} noble main\n" for kind in ("deb", "deb-src")
        ),
        f"{PARTS}/docker.sources": stanza(Signed_By="/k/b.gpg"),
    }
    lay(shared_apt_host, files)
    command = f"apt-get -o Dir={TREE} -o Dir::State::status={TREE}/var/lib/dpkg/status indextargets 2>&1 || true"
    assert "Conflicting values" in shared_apt_host.run(command)
    answer = repair(files)
    assert not answer["failed"], answer["msg"]
    assert "E:" not in shared_apt_host.run(command)
    # What the other source does not have stays, with the same key.
    assert read(shared_apt_host, f"{PARTS}/docker.list") == f"deb-src [signed-by=/k/b.gpg] {URI} noble main\n"


def test_wrong_suite_of_the_stacks_archive_is_rewritten(repair: Repair, shared_apt_host: AptHost) -> None:
    text = f"# AMD\nTypes: deb\nURIs: {URI}\nSuites: jammy\n# all of it\nComponents: main\n"
    answer = repair({OWN: text}, archives=[{"uris": [URI], "suites": ["noble"], "file": OWN}])
    assert read(shared_apt_host, OWN) == text.replace("jammy", "noble")
    assert "SOURCE.WRONG_SUITE" not in [problem["code"] for problem in answer["problems"]]


def test_wrong_suite_of_an_archive_that_nobody_knows_is_left_alone(repair: Repair) -> None:
    answer = repair({f"{PARTS}/a.list": f"deb {URI} jammy main\n"})
    assert not answer["changed"]
    assert "SOURCE.WRONG_SUITE" in answer.codes


def test_key_expired_in_legacy_trusted_store(
    repair: Repair, shared_apt_host: AptHost, copies: dict[str, Any], gpg: GpgHome
) -> None:
    other = gpg.make("Other <other@example.org>")
    files: Files = {
        f"{PARTS}/old.list": f"deb {URI} noble main\n",
        OLD: copies["expired"] + gpg.export(other),
        NEW: copies["fresh"],
        **listed(URI),
    }
    wanted = {"uris": [URI], "fingerprints": [copies["fingerprint"]], "keyring": NEW, "file": OWN}
    answer = repair(files, archives=[wanted])
    assert answer["after"][f"{PARTS}/old.list"] is None and answer["problems"] == []
    left = shared_apt_host.run(f"base64 {TREE}{OLD}")
    assert base64.b64decode(left) == gpg.export(other), "only that key is gone"
    assert backups(shared_apt_host) == [f"{PARTS}/old.list", OLD]


def test_a_stale_copy_that_a_source_needs_stays(repair: Repair, copies: dict[str, Any]) -> None:
    files: Files = {
        f"{PARTS}/old.list": f"deb {URI} noble main\n",
        OLD: copies["expired"],
        NEW: copies["fresh"],
        **listed(URI),
    }
    answer = repair(files, archives=[{"uris": [URI], "fingerprints": [copies["fingerprint"]]}])
    assert not answer["changed"] and "REPAIR.REFUSED" in answer.codes


def test_pin_of_the_other_channel_is_dropped_and_others_stay(repair: Repair, shared_apt_host: AptHost) -> None:
    text = f"# two\n{pin('release o=repo.radeon.com')}\n{pin('release o=mine', packages='x')}"
    answer = repair({f"{PINS}/p.pref": text}, foreign_origins=["repo.radeon.com"])
    assert read(shared_apt_host, f"{PINS}/p.pref") == pin("release o=mine", packages="x")
    assert answer.codes.count("APT.PIN_IDLE") == 1


def test_pin_of_the_other_channel_is_narrowed_where_it_is_the_stacks_own(
    repair: Repair, shared_apt_host: AptHost
) -> None:
    """AMD's instructions pin everything of an archive; its source may still be on its way."""
    text = f"# AMD's\n{pin('release o=AMD ROCm', packages='*')}\n{pin('release o=AMD ROCm', packages='mine')}"
    archive = {"uris": [URI], "origin": "AMD ROCm", "packages": ["amdrocm*", "hipcc"], "file": OWN}
    answer = repair({f"{PINS}/rocm-pin-600": text}, archives=[archive])
    assert read(shared_apt_host, f"{PINS}/rocm-pin-600") == text.replace("Package: *", "Package: amdrocm* hipcc")
    assert backups(shared_apt_host) == [f"{PINS}/rocm-pin-600"]
    assert answer["problems"] == []
    told = repair({f"{PINS}/rocm-pin-600": text}, archives=[{**archive, "origin": "Other"}])
    assert not told["changed"] and told.codes == ["APT.PIN_IDLE", "APT.PIN_IDLE"]


def test_channels_mixed_the_source_of_the_channel_that_is_left_goes(repair: Repair, shared_apt_host: AptHost) -> None:
    left = "https://repo.example.org/rocm"
    text = f"deb {left}/apt/6.2 noble main\ndeb {left}s noble main\n"
    files: Files = {
        f"{PARTS}/rocm.list": text,
        f"{PINS}/rocm-pin-600": pin("release o=repo.example"),
        **listed(f"{left}/apt/6.2"),
        **listed(f"{left}s", origin="Other"),
    }
    params: dict[str, Any] = {"foreign_uris": [left], "foreign_origins": ["repo.example"]}
    stays = repair(files, **params)
    assert not stays["changed"]
    (word,) = [finding for finding in stays["findings"] if finding["code"] == "SOURCE.OTHER_CHANNEL"]
    assert (word["severity"], "rocm_runtime_migrate" in word["remedy"]) == ("info", True)
    answer = repair(files, retire=True, **params)
    # The pin would prefer nothing any more.
    assert answer["after"][f"{PINS}/rocm-pin-600"] is None
    assert read(shared_apt_host, f"{PARTS}/rocm.list") == f"deb {left}s noble main\n"
    assert backups(shared_apt_host) == [f"{PINS}/rocm-pin-600", f"{PARTS}/rocm.list"]


def test_key_expired_of_a_channel_that_was_left_is_told_with_what_ends_it(
    shared_apt_host: AptHost, copies: dict[str, Any]
) -> None:
    lay(shared_apt_host, {f"{PARTS}/rocm.sources": stanza(Signed_By=NEW), NEW: copies["expired"]})
    answer = shared_apt_host.audit(root=TREE, foreign_uris=[URI])
    (told,) = [finding for finding in answer["findings"] if finding["code"] == "SOURCE.KEY_EXPIRED"]
    assert "rocm_runtime_migrate=true" in told["remedy"]


def test_signed_by_conflict_with_the_source_to_come_is_an_error_unless_it_is_repaired(
    repair: Repair, shared_apt_host: AptHost
) -> None:
    files: Files = {f"{PARTS}/mine.list": f"deb [signed-by=/k/mine.gpg] {URI} noble main\n"}
    archive = {"uris": [URI], "file": OWN, "keyring": NEW}
    lay(shared_apt_host, files)
    (error,) = [
        one for one in shared_apt_host.audit(root=TREE, archives=[archive])["findings"] if one["code"] == "SOURCE.STRAY"
    ]
    assert error["severity"] == "error" and f"{PARTS}/mine.list:1" in error["evidence"] and NEW in error["evidence"]
    # Where nobody brings the stack's source, theirs is all that there is.
    alone = repair(files, archives=[{**archive, "comes": False}])
    assert not alone["changed"] and not alone["failed"]
    answer = repair(files, archives=[archive])
    assert answer["after"] == {f"{PARTS}/mine.list": None} and not answer["failed"]


@pytest.mark.parametrize(
    ("options", "others"),
    [
        ("", "[arch-=amd64] "),
        ("", "[arch+=i386] "),
        ("", "[arch=arm64] "),
        ("[trusted=yes] ", ""),
        ("", "[check-valid-until=no] "),
    ],
)
def test_source_twice_with_options_of_its_own_is_joined_by_hand(
    repair: Repair, shared_apt_host: AptHost, options: str, others: str
) -> None:
    files: Files = {
        f"{PARTS}/a.list": f"deb {options}{URI} noble main\n",
        f"{PARTS}/b.list": f"deb {others}{URI} noble main\n",
    }
    answer = repair(files)
    assert not answer["changed"]
    assert "REPAIR.REFUSED" in answer.codes
    assert [read(shared_apt_host, name) for name in files] == list(files.values())


@pytest.mark.parametrize(
    "mark",
    [
        "# Ansible managed",
        "# ansible-managed",
        "## Managed by Puppet",
        "# THIS FILE IS AUTOMATICALLY CONFIGURED",
        "# changes will be lost",
        "## Note, this file is written by cloud-init on first boot of an instance",
        "## modifications made here will not survive a re-bundle.",
        "# Written by ubuntu-pro-client",
        "# This file is generated by a script",
        "# autogenerated",
        "# DO NOT MODIFY",
        "# Local changes will be overwritten",
    ],
)
def test_what_another_tool_keeps_is_refused(repair: Repair, mark: str) -> None:
    files: Files = {f"{PARTS}/a.list": f"{mark}\ndeb {URI} noble main\n", f"{PARTS}/b.sources": stanza()}
    answer = repair(files)
    assert not answer["changed"]
    (finding,) = [finding for finding in answer["findings"] if finding["code"] == "REPAIR.REFUSED"]
    assert mark in finding["evidence"]
    ours = "# Written by halo-provision; changes made here are lost."
    assert repair({**files, f"{PARTS}/a.list": f"{ours}\ndeb {URI} noble main\n"})["changed"]


def test_what_belongs_to_a_package_is_refused(repair: Repair) -> None:
    files: Files = {
        f"{PARTS}/a.list": f"deb {URI} noble main\n",
        f"{PARTS}/b.sources": stanza(),
        "/var/lib/dpkg/info/vendor-release.list": f"/.\n{PARTS}/a.list\n",
    }
    answer = repair(files)
    assert not answer["changed"]
    (finding,) = [finding for finding in answer["findings"] if finding["code"] == "REPAIR.REFUSED"]
    assert "belongs to package vendor-release" in finding["evidence"]


@pytest.mark.parametrize(
    ("state", "apu", "commands"),
    [
        ("half-configured", True, ["dpkg --purge amdgpu-dkms", "dpkg --configure -a"]),
        ("half-configured", False, ["dpkg --configure -a"]),
        ("installed", True, []),
    ],
)
def test_half_configured_dkms(repair: Repair, state: str, apu: bool, commands: list[str]) -> None:
    status = DPKG + package("amdgpu-dkms", f"install ok {state}")
    index = f"{LISTS}/archive.example.org_ubuntu_dists_noble_main_binary-amd64_Packages"
    assert repair({"/var/lib/dpkg/status": status, index: status}, gpu_apu=apu)["commands"] == commands


def test_headers_half_configured_by_a_module_that_seems_whole(repair: Repair) -> None:
    status = DPKG + package("amdgpu-dkms") + package("linux-headers-6.8.0-40-generic", "install ok half-configured")
    commands = repair({"/var/lib/dpkg/status": status}, gpu_apu=True)["commands"]
    assert commands == ["dpkg --purge amdgpu-dkms", "dpkg --configure -a"]


# On the container itself, where dpkg is run

BROKEN = r"""
mkdir -p /srv/deb/DEBIAN && cd /srv
cat >deb/DEBIAN/control <<END
Package: amdgpu-dkms
Version: 1:6.8.5-stand-in
Architecture: all
Maintainer: nobody
Description: stand-in
END
printf '#!/bin/sh\nexit 10\n' >deb/DEBIAN/postinst && chmod 755 deb/DEBIAN/postinst
dpkg-deb --build deb amdgpu-dkms.deb >/dev/null
dpkg -i amdgpu-dkms.deb >/dev/null 2>&1 || true
dpkg-query -W -f '${db:Status-Status}' amdgpu-dkms
"""
HOLD_LOCK = """
import fcntl, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
open("/srv/held", "w").close()
time.sleep(600)
"""


def test_half_configured_dkms_is_purged_on_an_apu_and_dpkg_finishes(apt_host: AptHost) -> None:
    assert apt_host.run(BROKEN) == "half-configured"
    # Without the word that it is an APU the module stays, and dpkg fails again as it did before.
    answer = apt_host.repair(gpu_apu=False)
    assert answer["failed"] and "REPAIR.FAILED" in answer.codes and "amdgpu-dkms" in answer["msg"]
    answer = apt_host.repair(gpu_apu=True)
    assert not answer["failed"], answer["msg"]
    assert "amdgpu-dkms" not in apt_host.run("dpkg-query -W -f '${Package}\\n'").split()
    assert apt_host.run("dpkg --audit") == ""
    assert not apt_host.repair(gpu_apu=True)["changed"]


@contextmanager
def locked(host: AptHost) -> Iterator[None]:
    """Have another process hold dpkg's lock."""
    host.run(f"cat >/srv/hold.py <<'E'\n{HOLD_LOCK}E\npython3 /srv/hold.py & echo $! >/srv/holder")
    try:
        host.run("until test -e /srv/held; do sleep 0.1; done")
        yield
        assert host.run("test -e /var/lib/dpkg/lock-frontend && echo there") == "there\n"
    finally:
        host.run("kill $(cat /srv/holder)")


def test_dpkg_locked_is_told_with_its_holder_and_nothing_is_run(apt_host: AptHost) -> None:
    assert apt_host.run(BROKEN) == "half-configured"
    with locked(apt_host):
        answer = apt_host.repair(gpu_apu=True, lock_timeout=1, python_apt=False)
        (told,) = [finding for finding in answer["findings"] if finding["code"] == "APT.LOCKED"]
        assert answer["failed"] and "python3 /srv/hold.py" in told["evidence"]
        assert apt_host.run("dpkg-query -W -f '${db:Status-Status}' amdgpu-dkms") == "half-configured"


def test_half_configured_dkms_is_a_warning_of_the_plan_where_its_repair_is_to_come(apt_host: AptHost) -> None:
    assert apt_host.run(BROKEN) == "half-configured"
    commands = apt_host.repair(gpu_apu=True, check_mode=True)["commands"]
    alone = apt_host.plan({"name": "hello"})
    assert (alone["failed"], alone.codes) == (True, ["APT.DPKG_INTERRUPTED"])
    answer = apt_host.plan({"name": "hello"}, repairs=commands)
    assert (answer["failed"], answer["changed"], answer.codes) == (False, False, ["APT.DPKG_INTERRUPTED"])
    assert "dpkg --purge amdgpu-dkms && dpkg --configure -a" in answer["findings"][0]["evidence"]
    # Executing, there is nothing to come any more.
    assert apt_host.plan({"name": "hello"}, repairs=commands, execute=True)["failed"]


CONTRADICT = r"""
uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
suite=$(apt-get indextargets --format '$(RELEASE)' 'Created-By: Packages' | head -n 1)
for key in gone lost; do echo "deb [signed-by=/$key.gpg] $uri $suite main"; done >/etc/apt/sources.list.d/twice.list
"""
TWICE = f"{PARTS}/twice.list"


def test_signed_by_conflict_python3_apt_is_installed_by_what_the_sources_will_be(apt_host: AptHost) -> None:
    apt_host.run(f"dpkg --purge --force-depends python3-apt >/dev/null; {CONTRADICT}")
    before = apt_host.run("find /etc/apt -type f -exec sha256sum {} + | sort")
    refused = apt_host.bootstrap(lock_timeout=1)
    assert refused.codes == ["APT.CONFIG_UNREADABLE"] and "Conflicting values" in refused["msg"]
    planned = apt_host.repair(check_mode=True)
    assert planned["files"] == {TWICE: None} and not planned["failed"], planned
    with locked(apt_host):
        held = apt_host.bootstrap(files=planned["files"], lock_timeout=1)
        assert held.codes == ["APT.LOCKED"] and "python3 /srv/hold.py" in held["msg"]
    done = apt_host.bootstrap(files=planned["files"])
    assert done["changed"] and not done["failed"], done["msg"]
    assert apt_host.run("find /etc/apt -type f -exec sha256sum {} + | sort") == before
    # What is planned meanwhile is planned so, too.
    assert apt_host.plan({"name": "hello"}).codes == ["APT.CONFIG_UNREADABLE"]
    assert apt_host.plan({"name": "hello"}, files=planned["files"], refresh="never").kinds()["hello"] == "install"


def test_signed_by_conflict_names_the_users_file_where_nobody_repairs(
    apt_host: AptHost, copies: dict[str, Any], gpg: GpgHome
) -> None:
    apt_host.run(f"{CONTRADICT}sed -i '2d; s/gone/mine/' {TWICE}; rm -f {PARTS}/*.sources; : >/etc/apt/sources.list")
    uri, suite = apt_host.run(f"cut -d' ' -f3,4 {TWICE}").split()
    armoured = gpg.export(copies["fingerprint"], armour=True).decode()
    key = {"path": NEW, "fingerprints": [copies["fingerprint"]], "content": armoured}
    ours = {"file": "ours.sources", "text": stanza(uri, suite, Signed_By=NEW), "key": key}
    answer = apt_host.plan({"name": "hello"}, sources=[ours])
    assert answer.codes == ["APT.CONFIG_UNREADABLE"], answer["msg"]
    assert f"{PARTS}/ours.sources (which this run writes) and {TWICE}" in answer["msg"]
    assert "halo-apt-" not in answer["msg"] and NEW in answer["msg"]
