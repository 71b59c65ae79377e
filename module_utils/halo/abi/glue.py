"""Between Ansible's plain parameters and answers, and the check."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any

from .. import findings as found
from ..findings import Finding
from . import report
from .model import Result
from .paths import Root
from .run import Request, RequestError, check

_NAMES: dict[str, Any] = {"type": "list", "elements": "str", "default": []}

#: The parameters of module ``abi_check``.
CHECK_ARGUMENTS: dict[str, Any] = {
    "paths": {"type": "list", "elements": "path", "required": True},
    "root": {"type": "path", "default": "/"},
    "interpreter": {"type": "path"},
    "library_path": _NAMES,
    "preload": _NAMES,
    "symbols": {"type": "bool", "default": True},
    "ignore": _NAMES,
    "skip_missing": {"type": "bool", "default": False},
    "baseline": {"type": "bool", "default": False},
}


def abi_check(params: Mapping[str, Any]) -> dict[str, Any]:
    """Check what module ``abi_check`` was asked for.

    Returns:
        The module's answer, with ``failed`` and, where that is true, ``msg``.
    """
    environment = {"LD_LIBRARY_PATH": ":".join(params["library_path"]), "LD_PRELOAD": ":".join(params["preload"])}
    root = Root(params["root"])
    paths = [path for path in params["paths"] if not params["skip_missing"] or root.exists(path)]
    request = Request(paths, params["root"], params["interpreter"] or "", environment, symbols=params["symbols"])
    try:
        result = check(request)
    except RequestError as error:
        remedy = "correct the paths; they are those of the host below `root`"
        return answer(Result(), [Finding("ABI.REQUEST_INVALID", "error", "abi_check", str(error), remedy)])
    ignored = [one for one in result.problems if _ignored(one.object, params["ignore"])]
    result.problems = [one for one in result.problems if one not in ignored]
    result.counts["ignored"] = len(ignored)
    findings = report.findings(result)
    if params["baseline"]:
        findings = found.as_warnings(findings)
    checked = Finding("ABI.CHECKED", "info", ", ".join(paths) or "no path", report.summary(result))
    return answer(result, [*findings, checked])


def _ignored(path: str, globs: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, glob) for glob in globs)


def answer(result: Result, findings: list[Finding]) -> dict[str, Any]:
    """Return a result as plain data."""
    return {
        "findings": [finding.as_dict() for finding in found.worst_first(findings)],
        "problems": [problem.as_dict() for problem in result.problems],
        "counts": {name: count for name, count in sorted(result.counts.items()) if count},
        "seconds": result.seconds,
        "glibc": result.glibc,
        "failed": bool(found.errors(findings)),
        "msg": found.text(findings),
    }
