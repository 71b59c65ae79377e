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

#: Files of keys, which mostly are no text.
_STORES = ("/etc/apt/trusted.gpg", "/etc/apt/keyrings/")

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
        return _answer(Repairs(), [failed], [], False)
    findings = [*done, *repairs.findings]
    if check_mode:
        # What will be repaired is no reason to stop, so only the rest of what was found is told with its severity.
        mended = [(file.name, problem) for file in repairs.files for problem in file.problems]
        mended += [("dpkg", problem) for command in repairs.commands for problem in command.problems]
        problems = [problem for _, problem in mended]
        findings += [problem.finding for problem in state.problems if problem not in problems]
        findings += [Finding("REPAIR.WOULD", "info", name, f"{one.code}: {one.evidence}") for name, one in mended]
    else:
        findings += state.all_findings
    # Below another root directory no command is run.
    changed = bool(repairs.files or (repairs.commands and params["root"] == "/"))
    if found.errors(done):
        changed = any(finding.code == "REPAIR.DONE" for finding in done)
    answer = _answer(repairs, findings, [problem.as_dict() for problem in state.problems], changed)
    return {**answer, "files": _to_come(repairs) if check_mode else {}}


def _answer(repairs: Repairs, findings: list[Finding], problems: list[dict[str, Any]], changed: bool) -> dict[str, Any]:
    commands = [" ".join(command.words) for command in repairs.commands]
    return {
        "changed": changed,
        "before": {file.name: _text(file, file.before) for file in repairs.files},
        "after": {file.name: None if file.after is None else _text(file, file.after) for file in repairs.files},
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
        file.name: None if file.after is None else _text(file, file.after)
        for file in repairs.files
        if file.name.startswith(("/etc/apt/sources.list", "/etc/apt/preferences"))
    }


def _diff(file: FileRepair) -> dict[str, str]:
    after = "" if file.after is None else _text(file, file.after)
    return {"before_header": file.name, "after_header": file.name, "before": _text(file, file.before), "after": after}


def _text(file: FileRepair, data: bytes) -> str:
    if file.name.startswith(_STORES) and b"-----BEGIN" not in data:
        return f"{len(data)} bytes of keys\n"
    return data.decode("utf-8", "replace")
