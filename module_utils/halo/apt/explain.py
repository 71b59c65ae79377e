"""Why wishes cannot be fulfilled, and what forces a change: the fewest requirements that exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .choose import alternative
from .clauses import ExhaustedError, Need, Search, irreducible
from .model import Change
from .network import Network, Rule
from .solve import Target
from .versions import compare
from .view import View
from .wishes import Wish

#: How many versions that are offered are told of one dependency.
_MOST = 4


@dataclass(frozen=True)
class Chain:
    """Requirements that exclude each other, none of which can be left out.

    Attributes:
        rules: The requirements, from the wishes on.
        lines: The same for a person, a line a step.
    """

    rules: tuple[Rule, ...]
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The chain as it stands in a finding."""
        return "\n".join(self.lines)

    def as_list(self) -> list[dict[str, Any]]:
        """Return the plain form, whose keys docs/architecture.md lists."""
        return [
            {
                "kind": rule.kind,
                "package": rule.package,
                "version": rule.version,
                "relation": rule.relation,
                "versions": [[version.parent_pkg.name, version.ver_str] for version in rule.versions],
                "text": line,
            }
            for rule, line in zip(self.rules, self.lines)
        ]


class Explainer:
    """Explains by the rules of a view; what is marked in its depcache does not matter.

    Args:
        view: The opened cache.
        targets: What shall be installed.
        absent: What is wished absent, by name.
        pinned: Gives the words for the pin that gives a package some priority, empty where there is none.
    """

    def __init__(
        self,
        view: View,
        targets: Sequence[Target],
        absent: Mapping[str, Wish],
        pinned: Callable[[str, int], str] = lambda _name, _priority: "",
    ) -> None:
        self._view = view
        self._pinned = pinned
        self.network = Network(view, [target.package for target in targets])
        self.wishes = [
            self.network.demand("wish", target.package, options(view, target), target.goal.text()) for target in targets
        ]
        for name, wish in absent.items():
            package = view.package(name)
            if package is not None:
                self.network.forbid(package, wish.text())

    def unsolvable(self) -> Chain | None:
        """Return why the wishes exclude each other, or nothing when they do not, or nobody knows."""
        return self._chain(self.wishes)

    def forced(self, change: Change, permission: str) -> Chain | None:
        """Return what forces a change that takes a permission, or nothing when another plan could do without it."""
        package = self._view.package(change.name)
        if package is None or package.current_ver is None:
            return None
        return self._chain([*self.wishes, self._stay(package, permission)])

    def _stay(self, package: Any, permission: str) -> Need:
        current, versions = package.current_ver, list(package.version_list)
        is_there = f"{package.get_fullname(True)} {self._offer(current)} is installed"
        if permission == "change_held":
            return self.network.demand("hold", package, [current], f"{is_there} and on hold")
        if permission == "downgrade":
            kept = [v for v in versions if compare(v.ver_str, current.ver_str) >= 0]
            return self.network.demand("stay", package, kept, f"{is_there} and would stay, or get newer")
        if permission == "upgrade":
            releases = self._view.releases(current)
            kept = [v for v in versions if v.id == current.id or self._view.releases(v) & releases]
            return self.network.demand("stay", package, kept, f"{is_there} and would stay in its release")
        return self.network.demand("stay", package, versions, f"{is_there} and would stay")

    def _chain(self, demands: Sequence[Need]) -> Chain | None:
        try:
            core = Search(self.network).core(demands)
            if core is None:
                return None
            core = irreducible(self.network, demands, core)
        except ExhaustedError:
            return None
        rules = ordered(self.network.rules[number] for number in sorted(core))
        involved = {version.id for rule in rules if rule.kind != "conflicts" for version in rule.versions}
        rules = [
            replace(rule, versions=tuple(v for v in rule.versions if v.id in involved))
            if rule.kind == "conflicts"
            else rule
            for rule in rules
        ]
        return Chain(tuple(rules), tuple(self._line(rule) for rule in rules))

    def _line(self, rule: Rule) -> str:
        if rule.kind == "wish":
            return f"{rule.text}: {self._offers(rule.versions)}"
        if rule.kind == "depends":
            line = f"{rule.package} {rule.version} {rule.relation}"
            return f"{line}: {self._unmet(rule)}" if not rule.versions else line
        if rule.kind == "conflicts":
            return f"{rule.package} {rule.version} {rule.relation}: {', '.join(sorted(map(name, rule.versions)))}"
        if rule.kind == "candidate":
            return self._candidate(rule)
        return rule.text

    def _candidate(self, rule: Rule) -> str:
        package = self._view.package(rule.package)
        others = [
            version
            for version in (package.version_list if package is not None else ())
            if self._view.archives(version) and version.id not in {v.id for v in rule.versions}
        ]
        if not rule.versions:
            return f"{rule.package}: apt takes no version of it: {self._offers(others)}"
        own = rule.versions[0]
        pinned = self._pinned(rule.package, self._view.priority(own))
        line = f"{rule.package}: apt takes its candidate alone, {self._offer(own)}{pinned and f' by {pinned}'}"
        return f"{line}; offered too: {self._offers(others)}" if others else line

    def _unmet(self, rule: Rule) -> str:
        """Say what there is of the packages of a dependency that no version fulfils."""
        offered = []
        for alternative_text in rule.relation.partition(" ")[2].split(" | "):
            wanted = alternative_text.partition(" ")[0]
            package = self._view.package(wanted.partition(":")[0])
            versions = [v for v in package.version_list if self._view.archives(v)] if package is not None else []
            offered.append(f"of {wanted} {self._offers(versions)}" if versions else f"no archive has {wanted}")
        return ", ".join(offered)

    def _offers(self, versions: Iterable[Any]) -> str:
        shown = [self._offer(version) for version in versions]
        return " and ".join(shown[:_MOST]) + (f" and {len(shown) - _MOST} more" if len(shown) > _MOST else "")

    def _offer(self, version: Any) -> str:
        source = " ".join(filter(None, self._view.source(version)))
        return (
            f"{version.ver_str} from {source} at priority {self._view.priority(version)}" if source else version.ver_str
        )


def options(view: View, target: Target) -> list[Any]:
    """Return the versions that a wish may end with, that which is chosen first."""
    other = alternative(view, target.goal)
    current = target.package.current_ver
    # What is installed and would stay may move within its bound, where the other wishes need that.
    if other is None or current is None or target.version.id != current.id or other.id == current.id:
        return [target.version]
    return [target.version, other]


def ordered(rules: Iterable[Rule]) -> list[Rule]:
    """Return rules in the order in which a person follows them: each after what leads to its package.

    Wishes come first, then what they lead to, then what stands against that, conflicts last.
    """
    left = list(rules)
    found: list[Rule] = []
    while left:
        packages = {version.parent_pkg.name for rule in found for version in rule.versions}
        following = min(left, key=lambda rule: _place(rule, packages))
        left.remove(following)
        found.append(following)
    return found


def _place(rule: Rule, reached: set[str]) -> int:
    if rule.kind == "wish":
        return 0
    if rule.kind in ("candidate", "depends"):
        return 1 if rule.package in reached else 4
    return 3 if rule.kind == "conflicts" else 2


def name(version: Any) -> str:
    """Return package and version."""
    return f"{version.parent_pkg.get_fullname(True)} {version.ver_str}"
