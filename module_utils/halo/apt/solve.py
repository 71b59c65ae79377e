"""Finding a set of changes that fulfils all wishes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apt_pkg

from .choose import alternative, fits
from .root import messages
from .view import NEGATIVE, POSITIVE, View, alternatives, same
from .wishes import Goal


class UnsolvableError(Exception):
    """No attempt fulfils the wishes.

    Attributes:
        problem: What apt says.
        unmet: The dependencies for which apt has no candidate, a line each.
    """

    def __init__(self, problem: str, unmet: list[str]) -> None:
        super().__init__(problem)
        self.problem = problem
        self.unmet = unmet


@dataclass(frozen=True)
class Target:
    """A wish for an installed package, with the version that fulfils it.

    Attributes:
        goal: The wish.
        package: The package.
        version: The version that fulfils it.
        firm: Whether it must be that very version. Otherwise what is installed may stay, or move to it.
    """

    goal: Goal
    package: Any
    version: Any
    firm: bool = True


class Solver:
    """Marks in a view's depcache what fulfils the wishes.

    apt's solvers differ in what they do to installed packages that are in the way: the classic one removes them, 3.0
    refuses. So what a wished version cannot stand beside is asked to be removed explicitly, which both do alike.

    Args:
        view: The opened cache.
        targets: What shall be installed.
        removals: What is wished absent.
        hopeless: Says whether the wishes exclude each other whatever is tried; asked once a first attempt failed.
    """

    def __init__(
        self,
        view: View,
        targets: Sequence[Target],
        removals: Sequence[Any],
        hopeless: Callable[[], bool] = lambda: False,
    ) -> None:
        self.view = view
        self.targets = targets
        self.removals = {package.id: package for package in removals}
        self._hopeless = hopeless
        self._chosen = {target.package.id: target.version for target in targets}

    def solve(self) -> None:
        """Mark the changes.

        Raises:
            UnsolvableError: There is no way.
        """
        hard = self._in_the_way(self._closure(only_hard=True))
        problem = self._trial(hard)
        if not problem:
            return
        # The trial has made what it wanted apt's candidates; what follows asks for apt's own.
        self.view.reset()
        firm, loosened = self.targets, self._loosened()
        soft = self._with_dependents({**hard, **self._in_the_way(self._closure(only_hard=False))})
        # From what changes least to what changes most. Holds are set aside last, so that the plan shows which one
        # would have to go.
        attempts = [
            (ignore_holds, forced, targets)
            for ignore_holds in (False, True)
            for forced in ([hard, soft] if soft.keys() != hard.keys() else [hard])
            for targets in ([firm, loosened] if loosened != firm else [firm])
        ]
        # The last attempt has all the leave there is, so it says as much as all others where nothing can help.
        left = attempts[-1:] if self._hopeless() else attempts[1:]
        for ignore_holds, forced, self.targets in left:
            if not self._trial(forced, ignore_holds):
                return
        self.targets = firm
        raise UnsolvableError(problem.rstrip("."), self._unmet())

    def _loosened(self) -> list[Target]:
        """Return the targets with leave to move, within its bound, for what is installed and would stay."""
        return [
            replace(target, version=other, firm=False)
            if same(target.version, target.package.current_ver)
            and (other := alternative(self.view, target.goal)) is not None
            and not same(other, target.version)
            else target
            for target in self.targets
        ]

    def _trial(self, forced: dict[int, Any], ignore_holds: bool = False) -> str:
        """Mark everything from scratch, and return why it did not work out, or nothing."""
        depcache = self.view.depcache
        apt_pkg.config.set("APT::Ignore-Hold", "true" if ignore_holds else "false")
        problem = ""
        self.view.begin()
        resolver = apt_pkg.ProblemResolver(depcache)
        try:
            with apt_pkg.ActionGroup(depcache):
                for target in self.targets:
                    depcache.set_candidate_ver(target.package, target.version)
                for package in {**self.removals, **forced}.values():
                    resolver.clear(package)
                    resolver.protect(package)
                    resolver.remove(package)
                    depcache.mark_delete(package)
                firm = [target for target in self.targets if target.firm]
                for target in firm:
                    resolver.clear(target.package)
                    resolver.protect(target.package)
                    if not same(target.version, target.package.current_ver):
                        depcache.mark_install(target.package, False, True)
                for target in firm:
                    if depcache.is_inst_broken(target.package):
                        depcache.mark_install(target.package, True, True)
            resolver.resolve(True)
        except (apt_pkg.Error, SystemError) as error:
            problem = messages(error)
        if depcache.broken_count:
            return problem or f"{depcache.broken_count} packages would be broken"
        return problem or "; ".join(self._unfulfilled())

    def _unfulfilled(self) -> list[str]:
        """Return the wishes that the marks do not fulfil: apt may leave a mark out without a word."""
        unmet = [
            f"{target.package.name} {target.version.ver_str} would not be installed"
            for target in self.targets
            if not self._fulfilled(target)
        ]
        stays = [package for package in self.removals.values() if self.view.outcome(package) is not None]
        return unmet + [f"{package.name} would not be removed" for package in stays]

    def _fulfilled(self, target: Target) -> bool:
        outcome = self.view.outcome(target.package)
        if target.firm or outcome is None:
            return same(outcome, target.version)
        return fits(self.view, target.goal, outcome, unproven=True)

    def _closure(self, only_hard: bool) -> list[Any]:
        """Return the versions that the targets bring along.

        Args:
            only_hard: Leave out dependencies that more than one package could satisfy. Otherwise the first that is
                apt's candidate stands for the dependency.
        """
        found: dict[int, Any] = {}
        stack = [target.version for target in self.targets if not same(target.version, target.package.current_ver)]
        while stack:
            version = stack.pop()
            package = version.parent_pkg
            if package.id in found:
                continue
            found[package.id] = version
            for group in self.view.groups(version, self.view.wanted_kinds):
                options = self._options(group)
                if options and not (only_hard and len(options) > 1):
                    stack.append(next(iter(options.values())))
        return list(found.values())

    def _options(self, group: Iterable[Any]) -> dict[int, Any]:
        """Return the versions that could newly satisfy a dependency, none when an installed one does."""
        options: dict[int, Any] = {}
        for dependency in group:
            for version in dependency.all_targets():
                package = version.parent_pkg
                planned = self._planned(package)
                if package.current_ver is not None and same(version, package.current_ver) and same(version, planned):
                    return {}
                if same(version, planned):
                    options.setdefault(package.id, version)
        return options

    def _planned(self, package: Any) -> Any | None:
        return self._chosen.get(package.id) or self.view.candidate(package)

    def _in_the_way(self, versions: Iterable[Any]) -> dict[int, Any]:
        """Return the installed packages that cannot stand beside some versions, nor be upgraded to where they can."""
        found: dict[int, Any] = {}
        for version in versions:
            for group in self.view.groups(version, NEGATIVE):
                for dependency in group:
                    hit = {target.id for target in dependency.all_targets()}
                    for target in dependency.all_targets():
                        package = target.parent_pkg
                        planned = self._planned(package)
                        if same(target, package.current_ver) and (planned is None or planned.id in hit):
                            found[package.id] = package
            for package in self._objectors(version):
                found[package.id] = package
        own = {version.parent_pkg.id for version in versions} | self._chosen.keys()
        return {number: package for number, package in found.items() if number not in own}

    def _objectors(self, version: Any) -> Iterable[Any]:
        """Yield the installed packages that themselves conflict with or break a version."""
        names = {version.parent_pkg.name, *(provided[0] for provided in version.provides_list)}
        for name in names:
            package = self.view.package(name)
            for dependency in package.rev_depends_list if package is not None else ():
                if dependency.dep_type_untranslated not in NEGATIVE:
                    continue
                objector = dependency.parent_pkg
                if objector.id == version.parent_pkg.id or not same(dependency.parent_ver, objector.current_ver):
                    continue
                if not same(self._planned(objector), objector.current_ver):
                    continue
                if any(same(target, version) for target in dependency.all_targets()):
                    yield objector

    def _with_dependents(self, removals: dict[int, Any]) -> dict[int, Any]:
        """Add the installed packages that cannot stay without those that are removed."""
        found, stack = dict(removals), list(removals.values())
        while stack:
            gone = stack.pop()
            for dependency in gone.rev_depends_list:
                package = dependency.parent_pkg
                if dependency.dep_type_untranslated not in POSITIVE:
                    continue
                if package.id in found or package.id in self._chosen:
                    continue
                if same(dependency.parent_ver, package.current_ver) and self._loses(package.current_ver, found):
                    found[package.id] = package
                    stack.append(package)
        return found

    def _loses(self, version: Any, removals: dict[int, Any]) -> bool:
        """Say whether a dependency of an installed version has nothing left to satisfy it."""
        for group in self.view.groups(version, POSITIVE):
            targets = [target for dependency in group for target in dependency.all_targets()]
            kept = (t for t in targets if t.parent_pkg.id not in removals)
            if not any(same(t, t.parent_pkg.current_ver) or same(t, self._planned(t.parent_pkg)) for t in kept):
                return True
        return False

    def _unmet(self) -> list[str]:
        unmet = []
        for version in self._closure(only_hard=False):
            for group in self.view.groups(version, POSITIVE):
                targets = [target for dependency in group for target in dependency.all_targets()]
                if not any(same(target, self._planned(target.parent_pkg)) for target in targets):
                    offered = ", ".join(f"{t.parent_pkg.name} {t.ver_str}" for t in targets) or "none is installable"
                    unmet.append(
                        f"{version.parent_pkg.name} {version.ver_str} Depends {alternatives(group)} ({offered})"
                    )
        return unmet
