"""Sets of packages that must come from one origin each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..findings import Finding
from .dpkgdb import Database
from .model import Change, OneOrigin
from .view import View


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
