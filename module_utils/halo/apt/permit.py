"""What a plan may do, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from ..findings import Finding
from .model import Change, Permissions, Remedy

_CODES = {
    "upgrade": "APT.UPGRADE_REFUSED",
    "downgrade": "APT.DOWNGRADE_REFUSED",
    "remove": "APT.REMOVE_REFUSED",
    "change_held": "APT.HELD_REFUSED",
}


def refusals(
    changes: Iterable[Change],
    permissions: Permissions,
    remedies: Sequence[Remedy] = (),
    forced: Callable[[Change, str], Sequence[str]] = lambda _change, _what: (),
) -> list[Finding]:
    """Return an error finding for each change that goes beyond the permissions.

    Wishing a package present is no permission to downgrade it; wishing it absent is one to remove it, unless it is
    essential, which takes its exact name. Where a role has advice for a refusal, that is the remedy.

    Args:
        changes: The changes of a plan.
        permissions: What it may do.
        remedies: What roles advise.
        forced: Gives for a change and the permission that it lacks what forces it, a line a step; nothing where
            another plan could do without it. Then the finding has the change's own reasons.
    """
    refused = [
        (change, what, code)
        for change in changes
        for what, code in needed(change)
        if not permissions.allow(what, change.name, exact=code == "APT.ESSENTIAL_REFUSED")
    ]
    names: dict[str, list[str]] = {}
    for change, what, _ in refused:
        names.setdefault(what, []).append(change.name)
    return [
        _refusal(change, what, code, remedies, forced(change, what) or change.reasons, typed(what, names[what]))
        for change, what, code in refused
    ]


def typed(what: str, names: Iterable[str]) -> str:
    """Return a permission for all of some packages as it is typed; a list without JSON would be one text."""
    return "-e '" + json.dumps({f"apt_transaction_permit_{what}": list(names)}) + "'"


def needed(change: Change) -> Iterable[tuple[str, str]]:
    """Yield the permissions that a change needs, each with the code of its refusal."""
    if change.kind == "upgrade" and change.foreign and not change.wished:
        yield "upgrade", _CODES["upgrade"]
    if change.kind == "downgrade":
        yield "downgrade", _CODES["downgrade"]
    if change.kind == "remove" and change.essential:
        yield "remove", "APT.ESSENTIAL_REFUSED"
    elif change.kind == "remove" and not change.wished:
        yield "remove", _CODES["remove"]
    if change.held and change.kind != "mark_manual":
        yield "change_held", _CODES["change_held"]


def _refusal(
    change: Change, what: str, code: str, remedies: Sequence[Remedy], reasons: Sequence[str], permission: str
) -> Finding:
    versions = " -> ".join(filter(None, (change.old, change.new)))
    source = f" from {change.origin} {change.suite}" if change.origin else ""
    evidence = "\n".join([f"{change.kind} {versions}{source}:", *reasons])
    remedy = f"if that is right, {permission}"
    advice = [item.text for item in remedies if item.fits(what, change.name)]
    if advice and code != "APT.ESSENTIAL_REFUSED":
        remedy = advice[0]
    if what == "change_held":
        remedy += f", or lift the hold with `apt-mark unhold {change.name}`"
    return Finding(code, "error", change.name, evidence, remedy)
