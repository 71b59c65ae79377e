"""Ansible's own refusals as findings: a host that does not answer, a variable of a wrong type."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from halo import failures

ROOT = Path(__file__).parents[2]

# The words are OpenSSH's.
SSH = {
    "ssh: connect to host 192.0.2.9 port 22: Connection refused": "openssh-server",
    "ssh: connect to host 192.0.2.9 port 22: Connection timed out": "ping 192.0.2.9",
    "ssh: connect to host 192.0.2.9 port 22: No route to host": "ping 192.0.2.9",
    "ssh: Could not resolve hostname box1: Name or service not known": "ansible_host",
    "root@192.0.2.9: Permission denied (publickey,password).": "ssh-copy-id USER@192.0.2.9",
    "No ED25519 host key is known.\r\nHost key verification failed.": "ssh 192.0.2.9 once",
    "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.": "ssh-keygen -R 192.0.2.9",
    "Shared connection to 192.0.2.9 closed.": "run again",
    "something that nobody has seen yet": "ssh -v 192.0.2.9",
    "": "ssh -v 192.0.2.9",
}


@pytest.mark.parametrize(("said", "typed"), SSH.items())
def test_each_way_of_not_answering_has_its_own_remedy(said: str, typed: str) -> None:
    finding = failures.unreachable("box1", "192.0.2.9", f"Failed to connect to the host via ssh: {said}")
    assert (finding.code, finding.severity, finding.subject) == ("HOST.UNREACHABLE", "error", "box1")
    assert said in finding.evidence
    assert typed in finding.remedy


def play(tmp_path: Path, inventory: dict[str, Any], book: str, *arguments: str) -> dict[str, Any]:
    """Run a playbook with this checkout's ansible.cfg, and return the report."""
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"children": {"halo": {"hosts": inventory}}}}))
    shipped = f"@{ROOT / 'inventory/group_vars/all.yml'}"
    done = subprocess.run(
        ["ansible-playbook", "-i", str(tmp_path / "hosts.json"), book, "-e", shipped, *arguments],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "HALO_REPORT_DIR": str(tmp_path / "reports")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    report = tmp_path / "reports/last.json"
    assert report.exists(), done.stdout + done.stderr
    read: dict[str, Any] = json.loads(report.read_text())
    return {**read, "output": done.stdout}


def test_a_host_that_does_not_answer_is_a_finding_in_the_table(tmp_path: Path) -> None:
    # Nothing listens on the discard port of this machine, so ssh is refused at once.
    box = {"ansible_host": "127.0.0.1", "ansible_port": 9, "ansible_become": False}
    report = play(tmp_path, {"box1": box}, str(ROOT / "playbooks/verify.yml"))
    (stage, *_) = report["hosts"]["box1"]["stages"]
    assert stage["verdict"] == "unreachable"
    (finding,) = stage["findings"]
    assert finding["code"] == "HOST.UNREACHABLE"
    assert "port 9: Connection refused" in finding["evidence"]
    assert "error HOST.UNREACHABLE box1" in report["output"]
