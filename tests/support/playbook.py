"""Runs the project's playbooks as a user does and reads the report that the run leaves behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Run:
    """The outcome of one ansible-playbook call.

    Attributes:
        rc: The exit status.
        output: Standard output and error together.
        report: The JSON report of the closing table, empty when the run ended before it.
        calls: The modules that were sent to each host, in order.
    """

    rc: int
    output: str
    report: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)

    def findings(self, host: str) -> list[dict[str, str]]:
        """Return all findings of a host, over all stages."""
        stages = self.report["hosts"][host]["stages"]
        return [finding for stage in stages for finding in stage["findings"]]

    def codes(self, host: str, severity: str | None = None) -> set[str]:
        """Return the codes of a host's findings, of one severity where it is given."""
        return {f["code"] for f in self.findings(host) if severity in (None, f["severity"])}

    def changed(self, host: str) -> int:
        """Return the recap's number of changed tasks."""
        match = re.search(rf"^{re.escape(host)}\s+: .*changed=(\d+)", self.output, re.MULTILINE)
        assert match, f"no recap for {host} in:\n{self.output[-3000:]}"
        return int(match.group(1))


def run(playbook: str, *args: str, inventory: str = "inventory/molecule.yml", timeout: int = 900) -> Run:
    """Run a playbook of this checkout with its own ansible.cfg."""
    with tempfile.TemporaryDirectory() as directory:
        calls = Path(directory, "calls")
        # Molecule's own ANSIBLE_* settings would outrank this checkout's ansible.cfg.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")} | {
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_CALLBACK_PLUGINS": f"{ROOT}/callback_plugins:{ROOT}/bench/callback",
            "ANSIBLE_CALLBACKS_ENABLED": "halo_table,module_calls",
            "ANSIBLE_NOCOLOR": "1",
            "HALO_MODULE_CALLS": str(calls),
            "HALO_REPORT_DIR": directory,
        }
        done = subprocess.run(
            ["ansible-playbook", "-i", inventory, playbook, *args],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        report = Path(directory, "last.json")
        sent: dict[str, list[str]] = {}
        for line in calls.read_text(encoding="utf-8").splitlines() if calls.exists() else ():
            sent.setdefault(line.split()[0], []).append(line.split()[1])
        return Run(
            rc=done.returncode,
            output=done.stdout,
            report=json.loads(report.read_text(encoding="utf-8")) if report.exists() else {},
            calls=sent,
        )
