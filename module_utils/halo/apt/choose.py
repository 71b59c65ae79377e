"""Which version of a package fulfils a wish."""

from __future__ import annotations

from typing import Any

from ..findings import Finding
from .errors import AptError, fail
from .versions import Bound, newest
from .view import View
from .wishes import Goal, conflict


def choose(view: View, goal: Goal, keep_installed: bool = True) -> Any:
    """Return the version that shall be installed, or fetched.

    An installed version within bound and origin stays, unless the wish is ``latest``; one that no archive offers any
    more counts as of the wished origin. Otherwise it is apt's own candidate where that fits, or else the newest that
    fits. Versions that are pinned below 0 are not offered.

    Args:
        view: The opened cache.
        goal: What is wanted.
        keep_installed: Whether what is installed matters at all.

    Raises:
        AptError: No archive has the package, or none a version that fits.
    """
    package = view.package(goal.name)
    installed = package.current_ver if package is not None else None
    offered = [version for version in package.version_list if view.archives(version)] if package is not None else []
    if keep_installed and installed is not None and not goal.latest and fits(view, goal, installed, unproven=True):
        return installed
    if package is None or not (offered or installed):
        raise _absent(goal, package)
    fitting = {v.ver_str: v for v in offered if fits(view, goal, v) and view.priority(v) >= 0}
    if not fitting:
        if keep_installed and installed is not None and fits(view, goal, installed, unproven=True):
            return installed
        raise AptError(_no_version(view, goal, offered))
    candidate = view.candidate(package)
    if candidate is not None and candidate.ver_str in fitting:
        return fitting[candidate.ver_str]
    return fitting[newest(fitting)]


def alternative(view: View, goal: Goal) -> Any:
    """Return the version that would be chosen if nothing were installed, or nothing."""
    try:
        return choose(view, goal, keep_installed=False)
    except AptError:
        return None


def fits(view: View, goal: Goal, version: Any, unproven: bool = False) -> bool:
    """Say whether a version is within a wish's bound, and from its origin.

    Args:
        view: The opened cache.
        goal: The wish.
        version: The version.
        unproven: Whether a version that no archive offers counts as of the wished origin.
    """
    if not goal.admits(version.ver_str):
        return False
    archives = view.archives(version)
    return not goal.origin or (unproven and not archives) or any(file.origin == goal.origin for file in archives)


def _absent(goal: Goal, package: Any) -> AptError:
    if package is not None and package.has_provides:
        providers = sorted({version.parent_pkg.name for _, _, version in package.provides_list})
        return fail(
            "APT.WISH_VIRTUAL",
            goal.name,
            f"{goal.text()}; provided by {', '.join(providers[:8])}",
            "wish for one of the packages that provide it",
        )
    return fail(
        "APT.WISH_UNKNOWN",
        goal.name,
        f"{goal.text()}; no configured archive has a package of that name",
        "correct the name, or configure the archive that has it and run `apt-get update`",
    )


def _no_version(view: View, goal: Goal, offered: list[Any]) -> Finding:
    alone = {
        wish: [version for version in offered if Bound(wish.version).admits(version.ver_str)] for wish in goal.wishes
    }
    if len(goal.wishes) > 1 and all(alone.values()) and not any(goal.admits(version.ver_str) for version in offered):
        first, second = goal.wishes[:2]
        return conflict(goal.name, first, second)
    shown = [f"{v.ver_str} ({' '.join(filter(None, view.source(v)))}, priority {view.priority(v)})" for v in offered]
    return Finding(
        "APT.WISH_VERSION",
        "error",
        goal.name,
        f"{goal.text()}; offered: {', '.join(shown[:8]) or 'nothing'}",
        _epoch(goal, offered) or "configure the archive that has such a version, or change the bound in the stack",
    )


def _epoch(goal: Goal, offered: list[Any]) -> str:
    """Return what to do where a bound lacks the epoch that the offered versions have."""
    for bound in (Bound(wish.version) for wish in goal.wishes):
        for version in offered:
            epoch, colon, rest = version.ver_str.partition(":")
            if colon and bound.admits(rest) and not bound.admits(version.ver_str):
                return f"put the epoch of its versions into the bound, `{epoch}:` before the version in `{bound.text}`"
    return ""
