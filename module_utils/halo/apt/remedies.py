"""What would make wishes that exclude each other possible; each is tried before it is offered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .clauses import ExhaustedError, Need, Search
from .errors import AptError
from .explain import Chain, Explainer
from .model import Change, human, of_kind
from .moves import moves
from .permit import needed
from .solve import Target, UnsolvableError
from .versions import compare
from .view import View
from .wishes import Wish

#: Marks what fulfils wishes, and returns the changes and the bytes to download; raises when there is no way.
Attempt = Callable[[Sequence[Target], Mapping[str, Wish]], "tuple[list[Change], int]"]

#: Trial solves for remedies; each takes as long as a third of a plan.
_TRIALS = 4

#: Other versions of one wished package that are looked at.
_VERSIONS = 6

_PRIORITY = 990
#: The lowest priority at which apt goes back to an older version.
_DOWNGRADING = 1001


@dataclass(frozen=True)
class Tried:
    """A remedy, with what apt would do.

    Attributes:
        advice: What to do.
        changes: What apt would change then.
        download_bytes: What it would download.
        pins: The pins that the advice consists of, in the form that roles write them in.
    """

    advice: str
    changes: tuple[Change, ...]
    download_bytes: int
    pins: tuple[dict[str, Any], ...] = ()

    @property
    def permit(self) -> dict[str, list[str]]:
        """The permissions that it takes, each with the packages."""
        found: dict[str, list[str]] = {}
        for change in self.changes:
            for what, _ in needed(change):
                found.setdefault(what, []).append(change.name)
        return found

    def text(self) -> str:
        """Return advice, result and permissions for a person."""
        lines = [self.advice, *(f"  {line}" for line in self._pin_lines())]
        counts = [
            f"{len(found)} to {kind.replace('_', ' ')}"
            for kind in ("install", "upgrade", "downgrade", "remove")
            if (found := of_kind(self.changes, kind))
        ]
        lines.append(f"tried: {', '.join(counts) or 'nothing to change'}; {human(self.download_bytes)} to download")
        if new := of_kind(self.changes, "install"):
            lines.append(f"  install {', '.join(change.name for change in new)}")
        for kind in ("upgrade", "downgrade", "remove"):
            lines += [f"  {_told(change)}" for change in of_kind(self.changes, kind)]
        for what, names in self.permit.items():
            lines.append(f"it takes apt_transaction_permit_{what}: [{', '.join(names)}]")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form, whose keys docs/architecture.md lists."""
        kinds = sorted({change.kind for change in self.changes})
        return {
            "advice": self.advice,
            "pins": list(self.pins),
            "permit": self.permit,
            "changes": {kind: [change.name for change in of_kind(self.changes, kind)] for kind in kinds},
        }

    def _pin_lines(self) -> Iterator[str]:
        for pin in self.pins:
            yield f"Package: {' '.join(pin['packages'])}"
            yield f"Pin: release {pin['release']}"
            yield f"Pin-Priority: {pin['priority']}"


def _told(change: Change) -> str:
    versions = " -> ".join(filter(None, (change.old, change.new)))
    return f"{change.kind} {change.name} {versions}: {change.reasons[-1]}"


@dataclass
class Remedies:
    """Looks for remedies by the rules, and lets apt try those that should do.

    Args:
        view: The opened cache.
        explainer: What explained the wishes.
        targets: The wishes for installed packages.
        absent: The wishes for absent ones.
        installed: The installed packages.
        attempt: Lets apt try.
    """

    view: View
    explainer: Explainer
    targets: Sequence[Target]
    absent: Mapping[str, Wish]
    installed: Sequence[Any]
    attempt: Attempt
    _left: int = field(default=_TRIALS, init=False)

    def find(self, chain: Chain | None) -> list[Tried]:
        """Return what helps against a chain of requirements; without one, against apt's solver not finding a way."""
        if chain is None:
            return list(self._by_hand())
        kinds = {rule.kind for rule in chain.rules}
        blamed = {rule.package for rule in chain.rules if rule.kind in ("wish", "absent")}
        found = list(self._pins()) if "candidate" in kinds else []
        found += self._other_versions(blamed)
        return found + (list(self._without(blamed)) if len(blamed) > 1 else [])

    def _try(
        self, targets: Sequence[Target], absent: Mapping[str, Wish], preferred: Iterable[Any] = ()
    ) -> tuple[list[Change], int] | None:
        if not self._left:
            return None
        self._left -= 1
        try:
            with self.view.prefer(preferred):
                return self.attempt(targets, absent)
        except (UnsolvableError, AptError):
            return None

    def _pins(self) -> Iterator[Tried]:
        """Yield the pin on everything that apt would have to take against its priorities."""
        taken = moves(self.view, self.explainer.network, self.explainer.wishes, self.installed) or {}
        wished = {target.package.id for target in self.targets}
        versions = [version for number, version in taken.items() if number not in wished]
        if not versions:
            return
        result = self._try(self.targets, self.absent, versions)
        if result is not None:
            pins = tuple(_pins_for(self.view, versions))
            advice = "let apt take these versions, by a file in /etc/apt/preferences.d that ends in .pref:"
            yield Tried(advice, tuple(result[0]), result[1], pins)

    def _other_versions(self, blamed: set[str]) -> Iterator[Tried]:
        """Yield for each wish that is to blame the newest other version of its package that would do."""
        for place, target in enumerate(self.targets):
            if target.package.name not in blamed:
                continue
            wish = self.explainer.wishes[place]
            others = [
                version
                for version in target.package.version_list
                if self.view.archives(version) and self.view.priority(version) >= 0
                if version.ver_str != target.version.ver_str
            ]
            for version in others[:_VERSIONS]:
                demand = self.explainer.network.demand("wish", target.package, [version], "")
                if not self._fits([demand if need is wish else need for need in self.explainer.wishes]):
                    continue
                changed = [replace(item, version=version) if item is target else item for item in self.targets]
                result = self._try(changed, self.absent)
                if result is not None:
                    origin = " ".join(filter(None, self.view.source(version)))
                    advice = f"wish for {target.package.name} {version.ver_str} ({origin}) instead"
                    yield Tried(advice, tuple(result[0]), result[1])
                    break

    def _without(self, blamed: set[str]) -> Iterator[Tried]:
        """Yield for each wish that is to blame what is left without it."""
        for place, target in enumerate(self.targets):
            if target.package.name in blamed:
                wishes = self.explainer.wishes[:place] + self.explainer.wishes[place + 1 :]
                left = [item for item in self.targets if item is not target]
                result = self._try(left, self.absent) if self._fits(wishes) else None
                if result is not None:
                    yield Tried(f"leave out: {target.goal.text()}", tuple(result[0]), result[1])
        for name, wish in self.absent.items():
            if name in blamed:
                result = self._try(self.targets, {key: one for key, one in self.absent.items() if key != name})
                if result is not None:
                    yield Tried(f"leave out for {name}: {wish.text()}", tuple(result[0]), result[1])

    def _by_hand(self) -> Iterator[Tried]:
        """Yield the wishes that lead apt's solver to what it does not find by itself."""
        search = Search(self.explainer.network)
        if self._core(search, self.explainer.wishes) is not None:
            return
        wished = {target.package.id for target in self.targets}
        goal = self.targets[0].goal if self.targets else None
        further = [
            Target(replace(goal, name=version.parent_pkg.name), version.parent_pkg, version)
            for version in map(self.explainer.network.version, search.solution.values())
            if version.parent_pkg.id not in wished and version.parent_pkg.current_ver is None
            if goal is not None
        ]
        result = self._try([*self.targets, *further], self.absent) if further else None
        if result is not None:
            names = ", ".join(target.package.name for target in further)
            yield Tried(
                f"wish for these as well, which apt's solver does not find: {names}", tuple(result[0]), result[1]
            )

    def _fits(self, demands: Sequence[Need]) -> bool:
        return self._core(Search(self.explainer.network), demands) is None

    @staticmethod
    def _core(search: Search, demands: Sequence[Need]) -> Any:
        try:
            return search.core(demands)
        except ExhaustedError:
            return frozenset()


def _pins_for(view: View, versions: Iterable[Any]) -> Iterator[dict[str, Any]]:
    groups: dict[tuple[str, str, int], list[str]] = {}
    for version in versions:
        current = version.parent_pkg.current_ver
        older = current is not None and compare(version.ver_str, current.ver_str) < 0
        groups.setdefault((*view.source(version), _DOWNGRADING if older else _PRIORITY), []).append(
            version.parent_pkg.name
        )
    for (origin, codename, priority), names in sorted(groups.items()):
        file = f"halo-{''.join(c for c in codename if c.isalnum() or c in '_-') or 'remedy'}"
        release = ",".join(f"{key}={value}" for key, value in (("o", origin), ("n", codename)) if value)
        yield {"file": file, "packages": sorted(names), "release": release, "priority": priority}
