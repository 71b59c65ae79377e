"""Why a package changes: the shortest chain from a wish to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from .view import NEGATIVE, POSITIVE, View, relation, same

#: How many packages that need a version, and how many versions, are told.
_MOST = 4


class Reasons:
    """Chains from the wishes to all packages that change by what is marked.

    Args:
        view: The opened cache, with the changes marked.
        packages: The packages that change.
        wished: Package id -> the text of the wish that names it.
    """

    def __init__(self, view: View, packages: Sequence[Any], wished: dict[int, str]) -> None:
        self._view = view
        self._packages = {package.id: package for package in packages}
        self._chains: dict[int, tuple[str, ...]] = {}
        self._objections: dict[int, list[tuple[Any, str]]] = {}
        self._dependents: dict[int, list[tuple[Any, str, set[int]]]] = {}
        self._index()
        self._walk(wished)

    def of(self, package: Any) -> tuple[str, ...]:
        """Return the chain that leads to a package."""
        return self._chains.get(package.id, ("apt's solver chose it to make the rest fit",))

    def against(self, package: Any) -> tuple[str, ...]:
        """Return why a package cannot stay at its newer version: who needs another one, and who offers which."""
        needs = {
            f"{_name(version)} {kind} {relation(dependency)}"
            for version in map(self._view.outcome, self._packages.values())
            if version is not None
            for kind in POSITIVE
            for group in self._view.groups(version, (kind,))
            for dependency in group
            if dependency.target_pkg.id == package.id
            and not any(same(target, package.current_ver) for target in dependency.all_targets())
        }
        offers = [
            f"{version.ver_str} from {' '.join(filter(None, self._view.source(version)))} at priority"
            f" {self._view.priority(version)}"
            for version in package.version_list
            if self._view.archives(version)
        ]
        return (*sorted(needs)[:_MOST], *([f"offered: {', '.join(offers[:_MOST])}"] if offers else []))

    def _walk(self, wished: dict[int, str]) -> None:
        self._chains.update((number, (text,)) for number, text in wished.items())
        # What really forces a change comes first; what merely depends on it is for those that nothing forces.
        for strict in (True, False):
            queue = deque(self._packages[number] for number in self._chains if number in self._packages)
            while queue:
                package = queue.popleft()
                for next_package, step in self._steps(package, strict):
                    if next_package.id not in self._chains:
                        self._chains[next_package.id] = (*self._chains[package.id], step)
                        queue.append(next_package)

    def _steps(self, package: Any, strict: bool) -> Iterator[tuple[Any, str]]:
        """Yield the changing packages that a changing package forces, and how."""
        version = self._view.outcome(package)
        if version is not None:
            yield from self._needs(version, strict)
            yield from self._excludes(version)
        if package.current_ver is not None:
            yield from self._abandons(package)

    def _needs(self, version: Any, strict: bool) -> Iterator[tuple[Any, str]]:
        for kind in self._view.wanted_kinds:
            for group in self._view.groups(version, (kind,)):
                for dependency in group:
                    targets = dependency.all_targets()
                    for target in targets:
                        package = target.parent_pkg
                        if package.id not in self._packages or not same(self._view.outcome(package), target):
                            continue
                        if not (strict and any(same(package.current_ver, other) for other in targets)):
                            yield package, f"{_name(version)} {kind} {relation(dependency)}"

    def _excludes(self, version: Any) -> Iterator[tuple[Any, str]]:
        for kind in NEGATIVE:
            for group in self._view.groups(version, (kind,)):
                for dependency in group:
                    for target in dependency.all_targets():
                        package = target.parent_pkg
                        if package.id in self._packages and same(package.current_ver, target):
                            yield package, f"{_name(version)} {kind} {relation(dependency)}: {_name(target)}"
        for package, step in self._objections.get(version.id, ()):
            yield package, f"{step}: {_name(version)}"

    def _abandons(self, gone: Any) -> Iterator[tuple[Any, str]]:
        """Yield the packages whose dependency the installed version satisfies that goes."""
        after = self._view.outcome(gone)
        for package, step, satisfying in self._dependents.get(gone.current_ver.id, ()):
            if after is None or after.id not in satisfying:
                yield package, f"{step}, which goes"

    def _index(self) -> None:
        """Turn round the relations of the installed versions that go: target -> the package that objects or depends."""
        for package in self._packages.values():
            version = package.current_ver
            if version is None or same(self._view.outcome(package), version):
                continue
            for kind in (*NEGATIVE, *POSITIVE):
                for group in self._view.groups(version, (kind,)):
                    satisfying = {target.id for dependency in group for target in dependency.all_targets()}
                    for dependency in group:
                        step = f"{_name(version)} {kind} {relation(dependency)}"
                        for target in dependency.all_targets():
                            if kind in NEGATIVE:
                                self._objections.setdefault(target.id, []).append((package, step))
                            else:
                                self._dependents.setdefault(target.id, []).append((package, step, satisfying))


def _name(version: Any) -> str:
    return f"{version.parent_pkg.get_fullname(True)} {version.ver_str}"
