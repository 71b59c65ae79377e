"""Between Ansible's plain parameters and answers, and repairing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import findings as found
from ..apt import bootstrap as python
from ..apt.glue import has_python_apt
from ..audit.glue import AUDIT_ARGUMENTS, question
from ..findings import Finding
from .model import FileRepair, Repairs

#: The parameters of module ``apt_repair``.
REPAIR_ARGUMENTS: dict[str, Any] = {
    **{name: spec for name, spec in AUDIT_ARGUMENTS.items() if name != "online"},
    "foreign_origins": {"type": "list", "elements": "str", "default": []},
    "lock_timeout": {"type": "int", "default": 60},
}


def repair(params: Mapping[str, Any], check_mode: bool) -> dict[str, Any]:
    """Audit and repair what module ``apt_repair`` was asked for, and audit again what was repaired.

    Returns:
        The module's answer, with ``failed`` and, where that is true, ``msg``.
    """
    if not has_python_apt():
        absent = python.absent(f"neither this interpreter nor {python.PYTHON} can import apt_pkg")
        return _answer(Repairs(), [absent], [])
    # Only now, since they import apt_pkg.
    from ..audit.run import audit
    from .carry_out import carry_out
    from .plan import plan

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
    return _answer(repairs, findings, [problem.as_dict() for problem in state.problems])


def _answer(repairs: Repairs, findings: list[Finding], problems: list[dict[str, Any]]) -> dict[str, Any]:
    commands = [" ".join(command.words) for command in repairs.commands]
    return {
        "changed": bool(repairs.files or commands),
        "before": {file.name: _text(file.before) for file in repairs.files},
        "after": {file.name: None if file.after is None else _text(file.after) for file in repairs.files},
        "diff": [_diff(file) for file in repairs.files]
        + ([{"prepared": "".join(f"run: {command}\n" for command in commands)}] if commands else []),
        "commands": commands,
        "findings": [finding.as_dict() for finding in found.worst_first(dict.fromkeys(findings))],
        "problems": problems,
        "failed": bool(found.errors(findings)),
        "msg": found.text(findings),
    }


def _diff(file: FileRepair) -> dict[str, str]:
    after = "" if file.after is None else _text(file.after)
    return {"before_header": file.name, "after_header": file.name, "before": _text(file.before), "after": after}


def _text(data: bytes) -> str:
    if b"\0" in data or data[:1] >= b"\x80":
        return f"{len(data)} bytes of keys\n"
    return data.decode("utf-8", "replace")
