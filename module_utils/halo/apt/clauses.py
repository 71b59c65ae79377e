"""A small solver that says whether rules can be fulfilled together, and if not, which few of them cannot.

Versions, packages and rules are numbers here; what they stand for is :mod:`halo.apt.network`'s matter. A version is
left out unless something demands it, so only what the demands lead to is ever looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

#: Numbers of rules; those below 0 are assumptions that the search makes by itself.
Cause = frozenset[int]

#: Steps after which a search gives up. What apt meets in practice takes some hundreds.
STEPS = 20_000

#: Assumptions that may hang on each other; each takes a frame of Python's stack.
DEPTH = 400


class ExhaustedError(Exception):
    """The search gave up before it knew."""


@dataclass(frozen=True)
class Need:
    """A rule that one of some versions be there."""

    rule: int
    options: tuple[int, ...]


@dataclass(frozen=True)
class Ban:
    """A rule that a version not be there."""

    rule: int
    version: int


class Rules(Protocol):
    """What the solver asks about versions; the answers must not change."""

    def package(self, version: int) -> int:
        """Return the package of a version: of each there is one version at most."""

    def needs(self, version: int) -> Sequence[Need]:
        """Return what a version needs."""

    def bans(self, version: int) -> Sequence[Ban]:
        """Return what a version cannot stand."""

    def excluded(self, version: int) -> Sequence[int]:
        """Return the rules each of which excludes a version whatever else is there."""

    def rank(self, version: int) -> int:
        """Return a number that is the lower, the rather a version shall be taken."""


@dataclass
class _State:
    chosen: dict[int, tuple[int, Cause]] = field(default_factory=dict)
    banned: dict[int, Cause] = field(default_factory=dict)
    open: list[tuple[Need, Cause]] = field(default_factory=list)

    def copy(self) -> _State:
        return _State(dict(self.chosen), dict(self.banned), list(self.open))


class Search:
    """One search.

    Args:
        rules: The rules.
        active: Says which rules count; all of them by default.

    Attributes:
        solution: Package -> version, once a search has found one.
    """

    def __init__(self, rules: Rules, active: Callable[[int], bool] = lambda _: True) -> None:
        self.solution: dict[int, int] = {}
        self._rules = rules
        self._active = active
        self._steps = 0

    def core(self, demands: Sequence[Need]) -> Cause | None:
        """Return rules that cannot be fulfilled together with each other, or nothing when there is a solution.

        Args:
            demands: What is needed in any case.

        Raises:
            ExhaustedError: It takes too long.
        """
        state = _State(open=[(need, frozenset()) for need in demands if self._active(need.rule)])
        return self._extend(state, 0)

    def _extend(self, state: _State, depth: int) -> Cause | None:
        """Fulfil what is open, or return why that cannot be; assumptions of this and higher levels are among it."""
        core = self._propagate(state)
        if core is not None:
            return core
        if not state.open:
            self.solution = {package: version for package, (version, _) in state.chosen.items()}
            return None
        if depth >= DEPTH:
            raise ExhaustedError
        need, cause = min(state.open, key=lambda item: len(self._live(state, item[0])))
        live = self._live(state, need)
        core = self._refuted(state, need, cause)
        assumption = frozenset({-1 - depth})
        for version in sorted(live, key=self._rules.rank):
            branch = state.copy()
            failed = self._choose(branch, version, assumption)
            if failed is None:
                failed = self._extend(branch, depth + 1)
            if failed is None or not failed & assumption:
                # Solved, or impossible whatever is assumed here.
                return failed
            core |= failed - assumption
        return core

    def _propagate(self, state: _State) -> Cause | None:
        """Choose whatever has no alternative, those first that were demanded first."""
        forced = True
        while forced:
            forced = False
            queue, state.open = deque(state.open), []
            while queue:
                self._steps += 1
                if self._steps > STEPS:
                    raise ExhaustedError
                need, cause = queue.popleft()
                if any(self._is_chosen(state, version) for version in need.options):
                    continue
                live = self._live(state, need)
                if len(live) > 1:
                    state.open.append((need, cause))
                    continue
                why = self._refuted(state, need, cause)
                core = self._choose(state, live[0], why, queue) if live else why
                if core is not None:
                    return core
                forced = True
        return None

    def _choose(
        self, state: _State, version: int, cause: Cause, queue: deque[tuple[Need, Cause]] | None = None
    ) -> Cause | None:
        state.chosen[self._rules.package(version)] = (version, cause)
        for ban in self._rules.bans(version):
            if self._active(ban.rule):
                why = cause | {ban.rule}
                if self._is_chosen(state, ban.version):
                    return why | state.chosen[self._rules.package(ban.version)][1]
                state.banned.setdefault(ban.version, why)
        further = [(need, cause) for need in self._rules.needs(version) if self._active(need.rule)]
        (state.open if queue is None else queue).extend(further)
        return None

    def _is_chosen(self, state: _State, version: int) -> bool:
        chosen = state.chosen.get(self._rules.package(version))
        return chosen is not None and chosen[0] == version

    def _live(self, state: _State, need: Need) -> list[int]:
        return [version for version in need.options if self._why_not(state, version) is None]

    def _refuted(self, state: _State, need: Need, cause: Cause) -> Cause:
        """Return why a need is there, and why its options that cannot be taken cannot."""
        whys = (self._why_not(state, version) for version in need.options)
        return (cause | {need.rule}).union(*(why for why in whys if why is not None))

    def _why_not(self, state: _State, version: int) -> Cause | None:
        for rule in self._rules.excluded(version):
            if self._active(rule):
                return frozenset({rule})
        chosen = state.chosen.get(self._rules.package(version))
        if chosen is not None and chosen[0] != version:
            return chosen[1]
        if version in state.banned:
            return state.banned[version]
        for ban in self._rules.bans(version):
            if self._active(ban.rule) and self._is_chosen(state, ban.version):
                return state.chosen[self._rules.package(ban.version)][1] | {ban.rule}
        return None


def irreducible(rules: Rules, demands: Sequence[Need], core: Cause) -> Cause:
    """Return a part of some rules that cannot be fulfilled, but could without any one of them.

    Args:
        rules: The rules.
        demands: What is needed in any case; only those in ``core`` count.
        core: What :meth:`Search.core` returned.

    Raises:
        ExhaustedError: It takes too long.
    """
    # Rules are numbered as they are met: those that are far from the demands are given up first.
    for rule in sorted(core, reverse=True):
        if rule in core:
            smaller = Search(rules, (core - {rule}).__contains__).core(demands)
            core = core if smaller is None else smaller
    return core
