"""Between Ansible's plain parameters and answers, and planning."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import findings as found
from ..findings import Finding
from . import bootstrap as python
from .channels import Conflict, Meta
from .model import OneOrigin, Permissions, Plan, Remedy
from .preferences import Pin
from .sources import prepare
from .wishes import Joined, join, parse

_WISH: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "version": {"type": "str"},
    "origin": {"type": "str"},
    "state": {"type": "str", "choices": ["present", "latest", "absent", "fetched"], "default": "present"},
    "dest": {"type": "path"},
    "role": {"type": "str"},
}
_ONE_ORIGIN: dict[str, Any] = {
    "origin": {"type": "str", "required": True},
    "packages": {"type": "list", "elements": "str", "required": True},
}
_CONFLICT: dict[str, Any] = {
    "channel": {"type": "str", "required": True},
    "packages": {"type": "list", "elements": "str", "required": True},
    "spare": {"type": "list", "elements": "str", "default": []},
    "remedy": {"type": "str", "required": True},
}
_META: dict[str, Any] = {"name": {"type": "str", "required": True}, "instead": {"type": "str", "required": True}}
_SOURCE: dict[str, Any] = {
    "file": {"type": "str", "required": True},
    "text": {"type": "str", "required": True},
    # no_log would hide the keyring's path in every message; a public key is no secret.
    "key": {"type": "dict", "required": True, "no_log": False},
    "environment": {"type": "dict", "default": {}},
}
_REMEDY: dict[str, Any] = {
    "permission": {"type": "str", "required": True, "choices": ["upgrade", "downgrade", "remove", "change_held"]},
    "packages": {"type": "list", "elements": "str", "required": True},
    "text": {"type": "str", "required": True},
}
_NAMES: dict[str, Any] = {"type": "list", "elements": "str", "default": []}

#: The parameters of module ``apt_plan``.
PLAN_ARGUMENTS: dict[str, Any] = {
    "wishes": {"type": "list", "elements": "dict", "default": [], "options": _WISH},
    "pins": {"type": "list", "elements": "dict", "default": []},
    "sources": {"type": "list", "elements": "dict", "default": [], "options": _SOURCE},
    "files": {"type": "dict", "default": {}},
    "repairs": _NAMES,
    "one_origin": {"type": "list", "elements": "dict", "default": [], "options": _ONE_ORIGIN},
    "conflicts": {"type": "list", "elements": "dict", "default": [], "options": _CONFLICT},
    "metas": {"type": "list", "elements": "dict", "default": [], "options": _META},
    "permit_upgrade": _NAMES,
    "permit_downgrade": _NAMES,
    "permit_remove": _NAMES,
    "permit_change_held": _NAMES,
    "remedies": {"type": "list", "elements": "dict", "default": [], "options": _REMEDY},
    "execute": {"type": "bool", "default": False},
    "refresh": {"type": "str", "choices": ["auto", "always", "never"], "default": "auto"},
    "cache_valid_time": {"type": "int", "default": 3600},
    "recommends": {"type": "bool", "default": False},
    "log": {"type": "path", "default": "/var/log/halo/apt.log"},
    "lock_timeout": {"type": "int", "default": 60},
    "root": {"type": "path", "default": "/"},
}

#: The parameters of module ``apt_bootstrap``.
BOOTSTRAP_ARGUMENTS: dict[str, Any] = {
    "files": {"type": "dict", "default": {}},
    "lock_timeout": {"type": "int", "default": 60},
}


def has_python_apt() -> bool:
    """Say whether this very interpreter can import apt_pkg."""
    return importlib.util.find_spec("apt_pkg") is not None


def plan(params: Mapping[str, Any], check_mode: bool) -> dict[str, Any]:
    """Plan, or execute, what module ``apt_plan`` was asked for.

    Args:
        params: The module's parameters, see :data:`PLAN_ARGUMENTS`.
        check_mode: Whether nothing may be changed.

    Returns:
        The module's answer, with ``failed`` and, where that is true, ``msg``.
    """
    wishes, findings = _wishes(params)
    pins, invalid = _pins(params)
    findings += invalid
    if params["execute"] and params["root"] != "/":
        findings.append(_elsewhere(params["root"]))
    if not has_python_apt():
        evidence = f"neither this interpreter nor {python.PYTHON} can import apt_pkg"
        findings.append(python.absent(evidence, bool(params["files"] or params["repairs"])))
    if wishes is None or found.errors(findings):
        return _answer(None, findings)
    sources, unusable = prepare(params["sources"], params["root"])
    if unusable:
        return _answer(None, findings + unusable)
    # Only now, since what follows imports apt_pkg.
    from .plan import Request, transact

    execute = params["execute"] and not check_mode
    outcome = transact(
        Request(
            wishes=wishes,
            pins=pins,
            sources=sources,
            files=params["files"],
            conflicts=tuple(_conflict(item) for item in params["conflicts"]),
            metas=tuple(Meta(item["name"], item["instead"]) for item in params["metas"]),
            one_origin=tuple(OneOrigin(item["origin"], tuple(item["packages"])) for item in params["one_origin"]),
            permissions=Permissions(*(tuple(params[f"permit_{what}"]) for what in Permissions.__dataclass_fields__)),
            remedies=tuple(
                Remedy(item["permission"], tuple(item["packages"]), item["text"]) for item in params["remedies"]
            ),
            refresh=params["refresh"],
            cache_valid_s=params["cache_valid_time"],
            recommends=params["recommends"],
            execute=execute,
            log=params["log"],
            lock_timeout_s=params["lock_timeout"],
            root=params["root"],
        )
    )
    findings += [_to_come(one, () if execute else params["repairs"]) for one in outcome.findings]
    log = params["log"] if outcome.logged else ""
    return _answer(outcome.plan, findings, log, outcome.explanations)


def bootstrap(params: Mapping[str, Any], check_mode: bool) -> dict[str, Any]:
    """Install python3-apt where it is missing.

    Args:
        params: The parameters of module ``apt_bootstrap``.
        check_mode: Whether nothing may be changed.

    Returns:
        The module's answer, with ``failed`` and, where that is true, ``msg``.
    """
    before = python.present()
    findings = [] if before or check_mode else python.install(params["lock_timeout"], params["files"])
    after = not findings
    return {
        "changed": after and not before,
        "before": {python.PACKAGE: before},
        "after": {python.PACKAGE: after},
        "diff": {"before": f"{python.PACKAGE}: {before}\n", "after": f"{python.PACKAGE}: {after}\n"},
        "findings": [finding.as_dict() for finding in findings],
        "failed": bool(findings),
        "msg": found.text(findings),
    }


def _wishes(params: Mapping[str, Any]) -> tuple[Joined | None, list[Finding]]:
    wishes, findings = parse(params["wishes"])
    if findings:
        return None, findings
    return join(wishes)


def _pins(params: Mapping[str, Any]) -> tuple[list[Pin], list[Finding]]:
    pins, findings = [], []
    for item in params["pins"]:
        try:
            pins.append(Pin.from_dict(item))
        except ValueError as error:
            name = str(item.get("file", "?"))
            findings.append(
                Finding("PIN.INVALID", "error", name, str(error), "correct this pin in the role's defaults")
            )
    return pins, findings


def _conflict(item: Mapping[str, Any]) -> Conflict:
    return Conflict(item["channel"], tuple(item["packages"]), item["remedy"], tuple(item["spare"]))


def _to_come(finding: Finding, repairs: Sequence[str]) -> Finding:
    """Return what dpkg left unfinished as a warning, where its repair is going to come before anything is planned."""
    if finding.code != "APT.DPKG_INTERRUPTED" or not repairs:
        return finding
    evidence = f"{finding.evidence}; nothing can be planned before `{' && '.join(repairs)}`, which this run does first"
    remedy = "nothing where this run provisions; otherwise `./halo repair`"
    return replace(finding, severity="warning", evidence=evidence, remedy=remedy)


def _elsewhere(root: str) -> Finding:
    evidence = f"execute was asked for below {root}"
    return Finding("APT.WISH_INVALID", "error", "root", evidence, "execute on / alone, or plan only")


def _answer(
    planned: Plan | None, findings: list[Finding], log: str = "", explanation: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    plan = planned or Plan()
    failed = bool(found.errors(findings))
    message = found.text(findings)
    if failed and planned and not log:
        message += f"\n\nThe plan that was refused:\n{plan.as_dict()['text']}"
    before = {change.name: change.old or None for change in plan.changes}
    after = {change.name: change.new or None for change in plan.changes}
    return {
        "changed": bool(plan) and not failed,
        "before": before,
        "after": after,
        "diff": {"before": _shown(plan, "old"), "after": _shown(plan, "new")},
        "findings": [finding.as_dict() for finding in found.worst_first(findings)],
        "plan": {**plan.as_dict(), **({"text": ""} if planned is None else {})},
        "explanation": list(explanation),
        "log": log,
        "failed": failed,
        "msg": message,
    }


def _shown(plan: Plan, side: str) -> str:
    lines = []
    for change in plan.changes:
        version = getattr(change, side)
        if change.kind == "mark_manual":
            lines.append(f"{change.name} {version} ({'automatic' if side == 'old' else 'manual'})")
        elif version:
            lines.append(f"{change.name} {version}")
    if side == "new":
        lines += [f"{item.dest}/{item.filename}" for item in plan.fetch]
    return "".join(f"{line}\n" for line in lines)
