"""Role apt_repair in the project's own playbooks, on a host on which every call of apt fails.

The tests are one story, in this order: what is planned, what is refused, and what is repaired once and for all.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.images import build as images
from tests.support.playbook import ROOT, Run, run

PARTS = "/etc/apt/sources.list.d"
TWICE = f"{PARTS}/twice.list"
OWN = f"{PARTS}/vendor.sources"
MINE = f"{PARTS}/mine.list"
VENDOR = "http://archive.example.org/vendor"


@dataclass(frozen=True)
class Host:
    """A container that is reached by SSH."""

    name: str
    inventory: Path

    def sh(self, script: str, check: bool = True) -> str:
        """Run a shell script, and return what it prints."""
        command = ["podman", "exec", "-i", "--env=DEBIAN_FRONTEND=noninteractive", self.name, "sh", "-ec", script]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def play(self, playbook: str, *arguments: str) -> Run:
        """Run a playbook of this checkout."""
        return run(f"playbooks/{playbook}.yml", *arguments, inventory=str(self.inventory))

    def state(self) -> str:
        """Return what a plan must leave as it is."""
        found = self.sh("find /etc /usr /opt /var/lib /var/tmp -type f -printf '%p %s %T@\\n' | sort")
        return "\n".join(line for line in found.splitlines() if "/__pycache__/" not in line)

    def findings(self, ran: Run, stage: str = "apt_repair") -> list[dict[str, Any]]:
        """Return a stage's findings."""
        stages = {one["stage"]: one for one in ran.report["hosts"][self.name]["stages"]}
        found: list[dict[str, Any]] = stages[stage]["findings"]
        return found

    def errors(self, ran: Run, stage: str = "apt_repair") -> list[str]:
        """Return the codes of a stage's errors."""
        return [finding["code"] for finding in self.findings(ran, stage) if finding["severity"] == "error"]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Give a host without python3-apt, of which two sources of one archive contradict."""
    if not (shutil.which("podman") and shutil.which("ansible-playbook")):
        pytest.skip("needs podman and ansible-playbook; `./halo test integration` brings them")
    work = tmp_path_factory.mktemp("role")
    purpose = os.environ.get("HALO_TEST_NAME", "halo")
    name = f"{purpose}-repair-{os.getpid()}"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", work / "key"], check=True)
    options = ["--detach", "--name", name, "--label", f"halo-test={purpose}"]
    subprocess.run(["podman", "run", *options, images.build("debian-13"), "sleep", "infinity"], check=True)
    try:
        made = Host(name, work / "hosts.yml")
        key = (work / "key.pub").read_text().strip()
        made.sh(
            f"install -d -m 700 /root/.ssh /run/sshd; echo '{key}' > /root/.ssh/authorized_keys; ssh-keygen -A; "
            "mkdir -p -m 700 /root/.ansible/tmp; /usr/sbin/sshd; apt-get update -qq"
        )
        made.sh(
            "uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1); "
            f'for key in gone lost; do echo "deb [signed-by=/$key.gpg] $uri trixie main"; done >{TWICE}'
        )
        inspect = ["podman", "inspect", "-f", "{{.NetworkSettings.IPAddress}}", name]
        address = subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.strip()
        options = ["StrictHostKeyChecking=no", f"UserKnownHostsFile={work}/known", f"ControlPath={work}/%C"]
        # The inventory is not the checkout's, so what stands beside that one is brought along.
        connection = yaml.safe_load((ROOT / "inventory/group_vars/all.yml").read_text()) | {
            "ansible_host": address,
            "ansible_user": "root",
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_ssh_private_key_file": str(work / "key"),
            "ansible_ssh_common_args": " ".join(f"-o {option}" for option in options),
            "halo_allow_any_host": True,
            "halo_gfx": "gfx1151",
        }
        made.inventory.write_text(yaml.safe_dump({"all": {"children": {"halo": {"hosts": {name: connection}}}}}))
        _answers(address)
        yield made
    finally:
        subprocess.run(["podman", "rm", "-f", "-t", "0", name], check=False, stdout=subprocess.DEVNULL)


def _answers(address: str) -> None:
    for _ in range(100):
        try:
            socket.create_connection((address, 22), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"no SSH server answers at {address}")


def test_signed_by_conflict_a_plan_alone_says_what_would_be_repaired_and_changes_nothing(host: Host) -> None:
    before = host.state()
    ran = host.play("plan", "--diff")
    assert host.state() == before
    assert "-deb [signed-by=/gone.gpg]" in ran.output
    assert not host.errors(ran)
    told = [finding["evidence"] for finding in host.findings(ran) if finding["code"] == "REPAIR.WOULD"]
    assert any(evidence.startswith("SOURCE.CONFLICT") for evidence in told), told
    # What ends it is what it lacks, and not the sources.
    assert host.errors(ran, "apt_transaction") == ["APT.PYTHON_ABSENT"]
    assert host.findings(ran, "apt_transaction")[0]["remedy"].startswith("first `./halo repair`")


def test_signed_by_conflict_ends_the_run_before_apt_is_called_where_nobody_repairs(host: Host) -> None:
    before = host.state()
    ran = host.play("provision", "-e", "apt_repair_enabled=false")
    assert ran.rc != 0 and host.errors(ran) == ["SOURCE.CONFLICT"]
    assert {"apt_bootstrap", "apt_plan"}.isdisjoint(ran.calls[host.name])
    assert host.state() == before


def test_signed_by_conflict_a_plan_is_made_with_the_sources_as_they_will_be(host: Host) -> None:
    """As site.yml plans: python3-apt is installed for that, and nothing else is changed."""
    before = host.sh("find /etc/apt -type f -exec sha256sum {} + | sort")
    ran = host.play("plan", "-e", "halo_plan_only=false")
    assert ran.rc == 0, ran.output[-3000:]
    assert "install rocminfo" in ran.output
    assert host.sh("find /etc/apt -type f -exec sha256sum {} + | sort") == before
    assert "Conflicting values" in host.sh("apt-get check 2>&1", check=False)


def test_held_package_is_refused_and_allowed_by_its_name(host: Host) -> None:
    control = "Package: rocminfo\\nVersion: 1-stand-in\\nArchitecture: amd64\\nMaintainer: x\\nDescription: stand-in\\n"
    host.sh(
        f"mkdir -p /srv/deb/DEBIAN; printf '{control}' >/srv/deb/DEBIAN/control; dpkg-deb --build /srv/deb /srv/a.deb; "
        "dpkg -i /srv/a.deb; apt-mark hold rocminfo || dpkg --set-selections <<E\nrocminfo hold\nE\n"
    )
    refused = host.play("plan")
    (finding,) = [one for one in host.findings(refused, "apt_transaction") if one["code"] == "APT.HELD_REFUSED"]
    assert refused.rc != 0 and finding["subject"] == "rocminfo"
    assert "rocm_runtime_unhold" in finding["remedy"] and "apt-mark unhold rocminfo" in finding["remedy"]
    allowed = host.play("plan", "-e", '{"rocm_runtime_unhold": ["rocminfo"]}')
    assert allowed.rc == 0, allowed.output[-3000:]
    assert "upgrade rocminfo 1-stand-in" in allowed.output
    host.sh("dpkg --purge rocminfo")


def test_signed_by_conflict_is_repaired_once_and_for_all(host: Host) -> None:
    ran = host.play("provision", "--tags", "apt_repair")
    assert (ran.rc, ran.changed(host.name)) == (0, 1), ran.output[-3000:]
    assert "REPAIR.DONE" in [finding["code"] for finding in host.findings(ran)]
    host.sh(f"apt-get check; ! test -e {TWICE}")
    assert "gone.gpg" in host.sh(f"cat /var/lib/halo/backup/*{TWICE}")
    again = host.play("provision", "--tags", "apt_repair")
    assert (again.rc, again.changed(host.name)) == (0, 0), again.output[-3000:]


def test_wrong_suite_and_source_twice_of_the_stacks_archive(host: Host) -> None:
    stanza = f"Types: deb\\nURIs: {VENDOR}\\nSuites: bookworm\\nComponents: main\\n"
    host.sh(f"printf '{stanza}' >{OWN}; echo 'deb {VENDOR} bookworm main' >{MINE}")
    archive = {
        "name": "vendor",
        "key": {},
        "sources": [{"uris": [VENDOR], "suites": ["trixie"], "components": ["main"]}],
    }
    # Only the audit hears of this archive: nothing serves it.
    arguments = ["--tags", "apt_repair", "-e", yaml.safe_dump({"apt_repair_archive": archive}, default_flow_style=True)]
    before = host.state()
    planned = host.play("plan", *arguments)
    assert planned.rc == 0, planned.output[-3000:]
    told = {one["evidence"].partition(":")[0] for one in host.findings(planned) if one["code"] == "REPAIR.WOULD"}
    assert told == {"SOURCE.WRONG_SUITE", "SOURCE.TWICE"}
    assert host.state() == before
    done = host.play("provision", *arguments)
    assert (done.rc, done.changed(host.name)) == (0, 1), done.output[-3000:]
    assert host.sh(f"cat {OWN}") == stanza.replace("bookworm", "trixie").replace("\\n", "\n")
    host.sh(f"! test -e {MINE}")
    assert host.sh(f"cat /var/lib/halo/backup/*{MINE}") == f"deb {VENDOR} bookworm main\n"
    again = host.play("provision", *arguments)
    assert (again.rc, again.changed(host.name)) == (0, 0), again.output[-3000:]
