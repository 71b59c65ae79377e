"""The part of apt's packages that some demands lead to, as rules for :mod:`halo.apt.clauses`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .clauses import Ban, Need
from .view import NEGATIVE, POSITIVE, View, alternatives, relation

#: What a rule can be; the first ones are demands.
KINDS = ("wish", "stay", "hold", "absent", "depends", "conflicts", "candidate")


@dataclass(frozen=True)
class Rule:
    """One requirement.

    Attributes:
        kind: One of :data:`KINDS`: something is wished; something installed shall stay, within its release or at least
            its version; it is on hold; it is wished absent; a version depends on another, or excludes one; apt takes
            no other version of a package than its candidate and the installed one.
        package: The package that it is about.
        version: The version of it, empty where it is about all of them.
        relation: A dependency as a control file writes it, with its kind, ``Depends a (>= 2) | b``.
        versions: The versions that fulfil a demand or a dependency, or that a conflict excludes, or the candidate.
        text: What a demand is, in words.
    """

    kind: str
    package: str
    version: str = ""
    relation: str = ""
    versions: tuple[Any, ...] = ()
    text: str = ""


class Network:
    """Rules for the solver; versions are apt's own numbers of them.

    Args:
        view: The opened cache.
        free: Packages of which any version may be taken, not just apt's candidate.
    """

    def __init__(self, view: View, free: Iterable[Any] = ()) -> None:
        self.rules: list[Rule] = []
        self._view = view
        self._free = {package.id for package in free}
        self._versions: dict[int, Any] = {}
        self._absent: dict[int, int] = {}
        self._candidates: dict[int, tuple[int, frozenset[int]]] = {}
        self._needs: dict[int, list[Need]] = {}
        self._bans: dict[int, list[Ban]] = {}

    def demand(self, kind: str, package: Any, versions: Sequence[Any], text: str) -> Need:
        """Make the demand that one of some versions of a package be there."""
        return Need(self._rule(Rule(kind, package.name, "", "", tuple(versions), text)), self._numbers(versions))

    def forbid(self, package: Any, text: str) -> None:
        """Demand that a package be absent."""
        self._absent[package.id] = self._rule(Rule("absent", package.name, text=text))

    def register(self, version: Any) -> int:
        """Return the number of a version, after which the rules know it."""
        return self._numbers([version])[0]

    def version(self, number: int) -> Any:
        """Return a version by its number."""
        return self._versions[number]

    def is_candidate_rule(self, rule: int) -> bool:
        """Say whether a rule is about a candidate."""
        return self.rules[rule].kind == "candidate"

    def package(self, version: int) -> int:
        """Return the number of a version's package."""
        return int(self._versions[version].parent_pkg.id)

    def needs(self, version: int) -> Sequence[Need]:
        """Return the dependencies of a version."""
        if version not in self._needs:
            self._needs[version] = [
                self._need(self._versions[version], kind, group)
                for kind in POSITIVE
                for group in self._view.groups(self._versions[version], (kind,))
            ]
        return self._needs[version]

    def bans(self, version: int) -> Sequence[Ban]:
        """Return what a version conflicts with or breaks."""
        if version not in self._bans:
            own = self._versions[version]
            self._bans[version] = [
                ban
                for kind in NEGATIVE
                for group in self._view.groups(own, (kind,))
                for dependency in group
                for ban in self._exclusions(own, kind, dependency)
            ]
        return self._bans[version]

    def excluded(self, version: int) -> Sequence[int]:
        """Return the rules that forbid a version whatever else is there."""
        package = self._versions[version].parent_pkg
        found = [self._absent[package.id]] if package.id in self._absent else []
        if package.id not in self._free:
            rule, allowed = self._candidate(package)
            if version not in allowed:
                found.append(rule)
        return found

    def rank(self, version: int) -> int:
        """Return the place of a version in the order in which the solver tries them: what changes least is first."""
        own = self._versions[version]
        package = own.parent_pkg
        current, candidate = package.current_ver, self._view.default(package)
        if current is not None:
            return 0 if current.id == version else 1 if candidate is not None and candidate.id == version else 2
        return 3 if candidate is not None and candidate.id == version else 4

    def _rule(self, rule: Rule) -> int:
        self.rules.append(rule)
        return len(self.rules) - 1

    def _numbers(self, versions: Iterable[Any]) -> tuple[int, ...]:
        numbers = {int(version.id): version for version in versions}
        self._versions.update(numbers)
        return tuple(numbers)

    def _need(self, own: Any, kind: str, group: Sequence[Any]) -> Need:
        targets = [target for dependency in group for target in dependency.all_targets()]
        text = f"{kind} {alternatives(group)}"
        rule = self._rule(Rule("depends", own.parent_pkg.name, own.ver_str, text, tuple(targets)))
        return Need(rule, self._numbers(targets))

    def _exclusions(self, own: Any, kind: str, dependency: Any) -> list[Ban]:
        # A package may conflict with what it provides itself, so that there is one provider at a time.
        targets = [target for target in dependency.all_targets() if target.parent_pkg.name != own.parent_pkg.name]
        if not targets:
            return []
        text = f"{kind} {relation(dependency)}"
        rule = self._rule(Rule("conflicts", own.parent_pkg.name, own.ver_str, text, tuple(targets)))
        return [Ban(rule, number) for number in self._numbers(targets)]

    def _candidate(self, package: Any) -> tuple[int, frozenset[int]]:
        if package.id not in self._candidates:
            candidate = self._view.default(package)
            allowed = frozenset(v.id for v in (candidate, package.current_ver) if v is not None)
            version = candidate.ver_str if candidate is not None else ""
            versions = (candidate,) if candidate is not None else ()
            self._candidates[package.id] = self._rule(Rule("candidate", package.name, version, "", versions)), allowed
        return self._candidates[package.id]
