# Copyright: halo-provision contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The closing table of a run; the layout is in ``module_utils/halo/table.py``."""
# ruff: noqa: E402 -- ansible-doc wants the documentation before the imports

from __future__ import annotations

DOCUMENTATION = r"""
name: halo_table
type: aggregate
short_description: End a run with a table of stages, verdicts and findings
version_added: "0.1.0"
description:
  - Collects the findings of every task's result and prints a table for each host when the run ends. A stage is a role.
  - Writes the same as JSON, a file for each run and a copy named C(last.json).
  - With the extra variable C(plan_output) it also writes what the run planned, host by host, to the file of that name.
  - Colours follow ansible-core's own settings, so there are none where the output is no terminal.
requirements:
  - enable in configuration, C(callbacks_enabled = halo_table)
options:
  report_dir:
    description: Directory of the reports. By default it is C(.halo/reports) in the checkout that holds this plugin.
    type: path
    env:
      - name: HALO_REPORT_DIR
    ini:
      - section: halo_table
        key: report_dir
author: halo-provision contributors (@halo-provision)
"""

import json
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ansible.module_utils
from ansible import constants
from ansible.plugins.callback import CallbackBase
from ansible.utils.color import stringc

_CHECKOUT = Path(__file__).resolve().parent.parent
# The setting module_utils tells ansible-core where to look when it packs a module for a host; it does not reach plugins
# on the controller. With its directory in the package's path the import below is the one that modules use.
_UTILS = str(_CHECKOUT / "module_utils")
if _UTILS not in ansible.module_utils.__path__:
    ansible.module_utils.__path__.append(_UTILS)

from ansible.module_utils.halo import failures, table
from ansible.module_utils.halo.findings import Finding

_COLOURS = {
    "error": constants.COLOR_ERROR,
    "unreachable": constants.COLOR_UNREACHABLE,
    "failed": constants.COLOR_ERROR,
    "refused": constants.COLOR_ERROR,
    "warning": constants.COLOR_WARN,
    "changed": constants.COLOR_CHANGED,
    "would change": constants.COLOR_CHANGED,
    "ok": constants.COLOR_OK,
    "skipped": constants.COLOR_SKIP,
    "not reached": constants.COLOR_SKIP,
    "host": constants.COLOR_HIGHLIGHT,
}


class CallbackModule(CallbackBase):
    """Feeds :class:`halo.table.Run` and prints its report."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "halo_table"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._run = table.Run()
        self._about: dict[str, Any] = {}
        self._play = ""
        self._staged = False
        self._plans: dict[str, Any] = {}
        self._plan_output = ""

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Learn all stages beforehand, so that those that a failure keeps from running show as not reached."""
        plays = playbook.get_plays()
        stages = [role.get_name() for play in plays for role in play.get_roles() if not role.from_include]
        self._run, self._staged = table.Run(stages), bool(stages)
        self._about = {"playbook": Path(playbook._file_name).name, "started": _now()}

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Keep the play's name, the stage of tasks outside roles."""
        self._play = play.get_name().strip() or "play"
        self._plan_output = str(play.get_variable_manager().extra_vars.get("plan_output") or "")

    def v2_runner_on_ok(self, result: Any) -> None:
        """Add a result."""
        self._add(result, "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Add a failed result."""
        found = []
        if "argument_errors" in result.result:
            roles = [path.name for path in (_CHECKOUT / "roles").iterdir()]
            spec = result.result.get("argument_spec_data") or {}
            found = failures.variables(result.result["argument_errors"], spec, roles)
        self._add(result, "ok" if ignore_errors else "failed", found)

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Add a skipped task."""
        self._add(result, "skipped")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Add a host that does not answer."""
        name = result.host.get_name()
        address = str(result.host.get_vars().get("ansible_host", name))
        found = failures.unreachable(name, address, str(result.result.get("msg") or ""))
        self._add(result, "unreachable", [found])

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Print the table and write the report."""
        for host in stats.processed:
            if not (stats.failures.get(host) or stats.dark.get(host)):
                self._run.forgive(host)
        report = self._run.report(**self._about, finished=_now())
        self._write_plans(report)
        if not self._staged and not report["hosts"]:
            return  # a playbook without roles that has nothing to say, such as the one that makes the test hosts
        width = shutil.get_terminal_size((100, 24)).columns
        self._display.banner("HALO")
        self._display.display(table.render(report, width, _paint))
        directory = Path(self.get_option("report_dir") or _CHECKOUT / ".halo" / "reports")
        try:
            self._display.display(f"\nreport: {_write(directory, report)}")
        except OSError as error:
            self._display.warning(
                f"the report was not written: {error}; set HALO_REPORT_DIR to a directory that can be"
            )

    def _write_plans(self, report: dict[str, Any]) -> None:
        if not self._plan_output:
            return
        hosts = {
            name: {
                "plan": self._plans.get(name, {}),
                "findings": [finding for stage in host["stages"] for finding in stage["findings"]],
            }
            for name, host in report["hosts"].items()
        }
        try:
            _replace(Path(self._plan_output), json.dumps({**self._about, "hosts": hosts}, indent=1) + "\n")
        except OSError as error:
            self._display.warning(f"plan_output was not written: {error}; name a file in a directory that exists")

    def _add(self, result: Any, status: str, more: Iterable[Finding] = ()) -> None:
        role = result.task._role
        plain = result.result
        if more:
            plain = {**plain, "findings": [finding.as_dict() for finding in more]}
        if "plan" in plain and result.task.action == "apt_plan":
            # The first one, which is made before anything is changed.
            self._plans.setdefault(result.host.get_name(), plain["plan"])
        if status == "ok" and result.task.action == "ansible.builtin.validate_argument_spec":
            return  # runs for every role whatever the tags, so it says nothing about the stage
        # A play's own tasks matter where they say something; a stage of theirs in every table would not.
        if role is None and status in ("ok", "skipped") and not table.findings_of(plain):
            return
        stage = role.get_name() if role else self._play
        self._run.add(result.host.get_name(), stage, status, plain, bool(result.task.check_mode))


def _paint(text: str, style: str) -> str:
    return stringc(text, _COLOURS[style]) if style in _COLOURS else text


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _write(directory: Path, report: dict[str, Any]) -> Path:
    """Write the report and its copy last.json, each in one step, so that no reader sees half of one."""
    directory.mkdir(parents=True, exist_ok=True)
    name = f"{report.get('started', _now()).replace(':', '').replace('-', '')}-{os.getpid()}.json"
    text = json.dumps(report, indent=2) + "\n"
    for path in (directory / name, directory / "last.json"):
        _replace(path, text)
    return directory / name


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
