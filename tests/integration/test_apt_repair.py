"""Repairs, in trees of files that a real apt judges before and after."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Iterator
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
        foretold = shared_apt_host.repair(root=TREE, check_mode=True, **params)
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


def test_dpkg_locked_is_told_with_its_holder_and_nothing_is_run(apt_host: AptHost) -> None:
    assert apt_host.run(BROKEN) == "half-configured"
    apt_host.run(f"cat >/srv/hold.py <<'E'\n{HOLD_LOCK}E\npython3 /srv/hold.py & echo $! >/srv/holder")
    try:
        apt_host.run("until test -e /srv/held; do sleep 0.1; done")
        answer = apt_host.repair(gpu_apu=True, lock_timeout=1)
        (locked,) = [finding for finding in answer["findings"] if finding["code"] == "APT.LOCKED"]
        assert answer["failed"] and "python3 /srv/hold.py" in locked["evidence"]
        assert apt_host.run("dpkg-query -W -f '${db:Status-Status}' amdgpu-dkms") == "half-configured"
    finally:
        apt_host.run("kill $(cat /srv/holder)")
