"""What roles want from apt, and what they want together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any

from ..findings import Finding
from .versions import Bound

STATES = ("present", "latest", "absent", "fetched")

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
# A glob must begin with something, so that a slip cannot mean every package there is.
_GLOB = re.compile(r"[a-z0-9][a-z0-9+.-][a-z0-9+.*?\[\]!-]*")


@dataclass(frozen=True)
class Wish:
    """What one role wants of one package.

    Attributes:
        name: A binary package of the native architecture; with state ``absent`` a glob as well.
        version: The bound of its version, see :class:`halo.apt.versions.Bound`.
        origin: The Release file's Origin that it must come from; empty: any.
        state: ``present``, ``latest``, ``absent`` or ``fetched``.
        dest: The directory for a ``fetched`` package.
        role: Who wishes.

    Raises:
        ValueError: A field that cannot be understood.
    """

    name: str
    version: str = ""
    origin: str = ""
    state: str = "present"
    dest: str = ""
    role: str = ""

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"state {self.state!r} is none of {', '.join(STATES)}")
        pattern, kind = (_GLOB, "name or glob") if self.state == "absent" else (_NAME, "name")
        if not pattern.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no {kind} of a package{_hint(self.name)}")
        if self.state == "absent" and (self.version or self.origin):
            raise ValueError("state absent takes neither version nor origin")
        if (self.state == "fetched") != bool(self.dest):
            raise ValueError("state fetched needs dest, and no other state takes it")
        if self.dest and not self.dest.startswith("/"):
            raise ValueError(f"dest {self.dest!r} is no absolute path")
        Bound(self.version)

    def text(self) -> str:
        """Return the wish as the first line of a chain of reasons."""
        who = f"role {self.role}" if self.role else "somebody"
        if self.state == "absent":
            return f"{who} wishes {self.name} absent"
        words = [who, "wishes", self.name, self.version, f"from {self.origin}" if self.origin else ""]
        return " ".join(word for word in [*words, "" if self.state == "present" else f"({self.state})"] if word)


def _hint(name: str) -> str:
    """Return what to write instead of what apt-get's command line would take as a name."""
    for separator, what in (("=", "its version as version"), ("/", "its archive's Origin as origin")):
        if separator in name:
            return f"; write {name.partition(separator)[0]} as name, and {what}"
    return "; leave the architecture away" if ":" in name else ""


@dataclass(frozen=True)
class Goal:
    """What all roles together want of one package that shall be installed or fetched."""

    name: str
    wishes: tuple[Wish, ...]

    @property
    def latest(self) -> bool:
        """Whether an older version that is installed does not do."""
        return any(wish.state == "latest" for wish in self.wishes)

    @property
    def origin(self) -> str:
        """The one Origin that is wanted, or nothing."""
        return next((wish.origin for wish in self.wishes if wish.origin), "")

    def admits(self, version: str) -> bool:
        """Say whether a version is within the bounds of every wish."""
        return all(Bound(wish.version).admits(version) for wish in self.wishes)

    def text(self) -> str:
        """Return the wishes in one line."""
        return "; ".join(dict.fromkeys(wish.text() for wish in self.wishes))


@dataclass(frozen=True)
class Joined:
    """The wishes of all roles together.

    Attributes:
        install: Name -> goal, of what shall be installed.
        absent: The wishes for removals; :meth:`removals` applies them.
        fetch: Directory -> goals, of what shall be downloaded into it.
    """

    install: Mapping[str, Goal]
    absent: tuple[Wish, ...]
    fetch: Mapping[str, tuple[Goal, ...]]

    def removals(self, installed: Iterable[str]) -> dict[str, Wish]:
        """Return which of the installed packages are wished absent, and by which wish.

        A glob spares what another wish wants present.
        """
        return {
            name: wish
            for name in installed
            for wish in self.absent
            if name not in self.install and fnmatchcase(name, wish.name)
        }


def parse(items: Iterable[Mapping[str, Any]]) -> tuple[list[Wish], list[Finding]]:
    """Read wishes from their plain form.

    Args:
        items: Dicts with the keys of :class:`Wish`; ``None`` is the same as an absent key.

    Returns:
        The wishes, and a finding ``APT.WISH_INVALID`` for each item that is none.
    """
    wishes, findings = [], []
    known = [field.name for field in fields(Wish)]
    for item in items:
        given = {key: value for key, value in item.items() if value is not None}
        who = f"{given.get('role') or 'unknown role'}: {given.get('name', '?')}"
        try:
            unknown = sorted(set(given) - set(known))
            if unknown:
                raise ValueError(f"unknown keys: {', '.join(unknown)}")
            if "name" not in given:
                raise ValueError("name is missing")
            wishes.append(Wish(**{key: str(value) for key, value in given.items()}))
        except ValueError as error:
            role = given.get("role") or "the role"
            remedy = f"correct this wish in {role}_apt; docs/architecture.md says what a wish is"
            findings.append(Finding("APT.WISH_INVALID", "error", who, str(error), remedy))
    return wishes, findings


def join(wishes: Sequence[Wish]) -> tuple[Joined, list[Finding]]:
    """Join the wishes of several roles.

    Returns:
        The wishes by what they ask for, and a finding ``APT.WISH_CONFLICT`` for each package of which two wishes
        exclude each other.
    """
    install = _group(wish for wish in wishes if wish.state in ("present", "latest"))
    absent = tuple(wish for wish in wishes if wish.state == "absent")
    fetch: dict[str, tuple[Goal, ...]] = {}
    for dest in sorted({wish.dest for wish in wishes if wish.dest}):
        fetch[dest] = tuple(_group(wish for wish in wishes if wish.dest == dest).values())
    findings = [
        conflict(name, first, second)
        for goals in ([*install.values()], *fetch.values())
        for goal in goals
        for name, first, second in _contradictions(goal)
    ]
    for wish in absent:
        if wish.name in install:
            findings.append(conflict(wish.name, wish, install[wish.name].wishes[0]))
    return Joined(install, absent, fetch), findings


def conflict(name: str, first: Wish, second: Wish) -> Finding:
    """Return the finding that two wishes for a package exclude each other."""
    remedy = f"change one of the two: {first.role or 'the role'}_apt or {second.role or 'the role'}_apt"
    return Finding("APT.WISH_CONFLICT", "error", name, f"{first.text()}, but {second.text()}", remedy)


def _group(wishes: Iterable[Wish]) -> dict[str, Goal]:
    grouped: dict[str, list[Wish]] = {}
    for wish in wishes:
        grouped.setdefault(wish.name, []).append(wish)
    return {name: Goal(name, tuple(members)) for name, members in grouped.items()}


def _contradictions(goal: Goal) -> Iterable[tuple[str, Wish, Wish]]:
    for number, first in enumerate(goal.wishes):
        for second in goal.wishes[number + 1 :]:
            origins = {first.origin, second.origin} - {""}
            if len(origins) > 1 or Bound(first.version).excludes(Bound(second.version)):
                yield goal.name, first, second
