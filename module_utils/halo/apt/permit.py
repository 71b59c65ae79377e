"""What a plan may do, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..findings import Finding
from .dpkgdb import Database
from .model import Change, OneOrigin, Permissions
from .view import View

_CODES = {
    "upgrade": "APT.UPGRADE_REFUSED",
    "downgrade": "APT.DOWNGRADE_REFUSED",
    "remove": "APT.REMOVE_REFUSED",
    "change_held": "APT.HELD_REFUSED",
}


def refusals(changes: Iterable[Change], permissions: Permissions) -> list[Finding]:
    """Return an error finding for each change that goes beyond the permissions.

    Wishing a package present is no permission to downgrade it; wishing it absent is one to remove it, unless it is
    essential, which takes its exact name.
    """
    return [
        _refusal(change, what, code)
        for change in changes
        for what, code in _needed(change)
        if not permissions.allow(what, change.name, exact=code == "APT.ESSENTIAL_REFUSED")
    ]


def mixed_origins(
    view: View, changes: Sequence[Change], database: Database, sets: Iterable[OneOrigin]
) -> Iterable[Finding]:
    """Yield an error finding for each package of a set that is, after the plan, from another origin than the set's.

    An installed version that no archive offers any more is from nowhere known, and passes.
    """
    new = {change.name for change in changes if change.kind != "mark_manual"}
    stays = [name for name in database.versions if name not in new]
    for one in sets:
        for change in changes:
            if change.new and change.name in new and one.covers(change.name) and change.origin != one.origin:
                reasons = "; ".join(change.reasons)
                evidence = f"{change.new} comes from {change.origin}, the set from {one.origin}: {reasons}"
                remedy = "pin the package to the set's origin, or choose a stack whose archive has it"
                yield Finding("ROCM.MIXED_ORIGIN", "error", change.name, evidence, remedy)
        for name in filter(one.covers, stays):
            package = view.package(name)
            archives = view.archives(package.current_ver) if package is not None and package.current_ver else []
            origins = sorted({archive.origin for archive in archives})
            if origins and one.origin not in origins:
                evidence = (
                    f"{database.versions[name]} is installed from {', '.join(origins)}, the set from {one.origin}"
                )
                remedy = f"remove it with `apt-get remove {name}`, or choose the stack that it belongs to"
                yield Finding("ROCM.MIXED_ORIGIN", "error", name, evidence, remedy)


def _needed(change: Change) -> Iterable[tuple[str, str]]:
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


def _refusal(change: Change, what: str, code: str) -> Finding:
    versions = " -> ".join(filter(None, (change.old, change.new)))
    source = f" from {change.origin} {change.suite}" if change.origin else ""
    evidence = f"{change.kind} {versions}{source}: {'; '.join(change.reasons)}"
    remedy = f"if that is right, set apt_transaction_permit_{what}: [{change.name}]"
    if what == "change_held":
        remedy += f", or lift the hold with `apt-mark unhold {change.name}`"
    return Finding(code, "error", change.name, evidence, remedy)
