"""Between Ansible's plain parameters and answers, and the audit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from .. import findings as found
from ..findings import Finding
from . import run
from .model import Question, Wanted

_NAMES: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
_ARCHIVE: dict[str, Any] = {
    "uris": {"type": "list", "elements": "str", "required": True},
    "suites": _NAMES,
    "fingerprints": _NAMES,
    "origin": {"type": "str"},
    "file": {"type": "path"},
    # no_log would hide the keyring's path in every message; a public key is no secret.
    "keyring": {"type": "path", "no_log": False},
    "packages": _NAMES,
    "comes": {"type": "bool", "default": True},
}

#: The parameters of module ``apt_audit``.
AUDIT_ARGUMENTS: dict[str, Any] = {
    "archives": {"type": "list", "elements": "dict", "default": [], "options": _ARCHIVE},
    "expiring_days": {"type": "int", "default": 30},
    "foreign_uris": _NAMES,
    "gpu_apu": {"type": "bool"},
    "online": {"type": "bool", "default": False},
    "root": {"type": "path", "default": "/"},
}


def question(params: Mapping[str, Any]) -> Question:
    """Return what is asked by a module's parameters, see :data:`AUDIT_ARGUMENTS`."""
    return Question(
        root=params["root"],
        archives=tuple(Wanted.from_dict(item) for item in params["archives"]),
        expiring_days=params["expiring_days"],
        foreign_uris=tuple(params["foreign_uris"]),
        retire=params.get("retire", False),
        apu=params["gpu_apu"],
        online=params["online"],
        now=int(time.time()),
    )


def audit(params: Mapping[str, Any]) -> dict[str, Any]:
    """Audit what module ``apt_audit`` was asked for.

    Returns:
        The module's answer, with ``failed`` and, where that is true, ``msg``.
    """
    outcome = run.audit(question(params))
    return _answer(
        outcome.all_findings,
        [problem.as_dict() for problem in outcome.problems],
        [entry.where() for entry in outcome.entries],
    )


def _answer(findings: list[Finding], problems: list[dict[str, Any]], sources: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "findings": [finding.as_dict() for finding in found.worst_first(findings)],
        "problems": problems,
        "sources": sources,
        "failed": bool(found.errors(findings)),
        "msg": found.text(findings),
    }
