"""Between Ansible's plain parameters and answers, and repairing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import findings as found
from ..audit.glue import AUDIT_ARGUMENTS, question
from ..audit.run import audit
from ..findings import Finding
from .carry_out import carry_out
from .model import FileRepair, Repairs
from .plan import plan

#: The parameters of module ``apt_repair``.
REPAIR_ARGUMENTS: dict[str, Any] = {
    **{name: spec for name, spec in AUDIT_ARGUMENTS.items() if name != "online"},
    "foreign_origins": {"type": "list", "elements": "str", "default": []},
    "lock_timeout": {"type": "int", "default": 60},
    "retire": {"type": "bool", "default": False},
}


def repair(params: Mapping[str, Any], check_mode: bool) -> dict[str, Any]:
    """Audit and repair what module ``apt_repair`` was asked for, and audit again what was repaired.

    Returns:
        The module's answer, with ``failed`` and, where that is true, ``msg``.
    """
    asked = question({**params, "online": False})
    try:
        state = audit(asked)
        repairs = plan(state, asked, params["foreign_origins"])
        done = [] if check_mode else carry_out(repairs, params["root"], params["lock_timeout"])
        if done:
            state = audit(asked)
    except OSError as error:
        remedy = "make the file system of this path writable, and run again"
        failed = Finding("REPAIR.FAILED", "error", str(error.filename or params["root"]), str(error), remedy)
        return _answer(Repairs(), [failed], [])
    findings = [*done, *repairs.findings]
    if check_mode:
        # What will be repaired is no reason to stop, so only the rest of what was found is told with its severity.
        groups = [*(file.problems for file in repairs.files), *(command.problems for command in repairs.commands)]
        mended = [problem for group in groups for problem in group]
        findings += [problem.finding for problem in state.problems if problem not in mended]
        findings += [Finding("REPAIR.WOULD", "info", one.subject, f"{one.code}: {one.evidence}") for one in mended]
    else:
        findings += state.all_findings
    answer = _answer(repairs, findings, [problem.as_dict() for problem in state.problems])
    return {**answer, "files": _to_come(repairs) if check_mode else {}}


def _answer(repairs: Repairs, findings: list[Finding], problems: list[dict[str, Any]]) -> dict[str, Any]:
    commands = [" ".join(command.words) for command in repairs.commands]
    return {
        "changed": bool(repairs.files or commands),
        "before": {file.name: _text(file.before) for file in repairs.files},
        "after": {file.name: None if file.after is None else _text(file.after) for file in repairs.files},
        "diff": [_diff(file) for file in repairs.files]
        + ([{"prepared": "".join(f"run: {command}\n" for command in commands)}] if commands else []),
        "commands": commands,
        "files": {},
        "findings": [finding.as_dict() for finding in found.worst_first(dict.fromkeys(findings))],
        "problems": problems,
        "failed": bool(found.errors(findings)),
        "msg": found.text(findings),
    }


def _to_come(repairs: Repairs) -> dict[str, str | None]:
    """Return path -> text of sources and preferences as they will be, for whoever plans meanwhile."""
    return {
        file.name: None if file.after is None else _text(file.after)
        for file in repairs.files
        if file.name.startswith(("/etc/apt/sources.list", "/etc/apt/preferences"))
    }


def _diff(file: FileRepair) -> dict[str, str]:
    after = "" if file.after is None else _text(file.after)
    return {"before_header": file.name, "after_header": file.name, "before": _text(file.before), "after": after}


def _text(data: bytes) -> str:
    if b"\0" in data or data[:1] >= b"\x80":
        return f"{len(data)} bytes of keys\n"
    return data.decode("utf-8", "replace")
