"""Which versions would have to be taken beside apt's candidates for the wishes to be fulfilled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .clauses import ExhaustedError, Need, Search
from .network import Network
from .view import View, same

#: Rounds of finding out what else on the host must move; a round reaches one dependency further.
_ROUNDS = 40


def moves(view: View, network: Network, wishes: Sequence[Need], installed: Sequence[Any]) -> dict[int, Any] | None:
    """Return the versions to take that apt would not, as few as a plain search finds.

    What is installed stays, moved where it must, unless nothing else does.

    Args:
        view: The opened cache.
        network: The rules.
        wishes: The demands.
        installed: The installed packages.

    Returns:
        Package id -> version, for versions that are neither installed nor apt's candidates; nothing when not even all
        versions of all packages fulfil the wishes.
    """
    stays: dict[int, Need] = {}
    gone: set[int] = set()
    for _ in range(_ROUNDS):
        search = Search(network, lambda rule: not network.is_candidate_rule(rule))
        try:
            core = search.core([*wishes, *stays.values()])
        except ExhaustedError:
            return None
        if core is not None:
            blamed = [package for package in installed if package.id in stays and stays[package.id].rule in core]
            if not blamed:
                return None
            # A package that has no newer version is one that the release replaced by another.
            given_up = min(blamed, key=lambda package: (len(_offered(view, package)), package.name))
            gone.add(given_up.id)
            del stays[given_up.id]
            continue
        affected = [p for p in _affected(network, search.solution, gone, installed) if p.id not in stays]
        if not affected:
            chosen = (network.version(number) for number in search.solution.values())
            return {v.parent_pkg.id: v for v in chosen if not _as_apt_has_it(view, v)}
        for package in affected:
            stays[package.id] = network.demand("stay", package, package.version_list, "")
    return None


def _offered(view: View, package: Any) -> list[Any]:
    return [version for version in package.version_list if view.archives(version)]


def _as_apt_has_it(view: View, version: Any) -> bool:
    package = version.parent_pkg
    return same(version, package.current_ver) or same(version, view.default(package))


def _affected(network: Network, solution: Mapping[int, int], gone: set[int], installed: Iterable[Any]) -> list[Any]:
    """Return the installed packages that the solution says nothing of and that cannot stay as they are beside it."""
    staying = {
        package.id: network.register(package.current_ver)
        for package in installed
        if package.id not in solution and package.id not in gone
    }
    taken = set(solution.values())
    there = taken.union(staying.values())
    banned = {ban.version for number in taken for ban in network.bans(number)}
    return [
        package
        for package in installed
        if package.id in staying
        and (
            staying[package.id] in banned
            or any(ban.version in taken for ban in network.bans(staying[package.id]))
            or not all(there.intersection(need.options) for need in network.needs(staying[package.id]))
        )
    ]
