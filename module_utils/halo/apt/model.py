"""What a plan is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

KINDS = ("install", "upgrade", "downgrade", "remove", "mark_manual")


@dataclass(frozen=True)
class Change:
    """One package that the plan changes.

    Attributes:
        name: The package.
        arch: Its architecture.
        kind: One of :data:`KINDS`.
        old: The installed version, empty when there is none.
        new: The version afterwards, empty for a removal.
        origin: The Release file's Origin of the new version's archive.
        suite: Its codename, or suite where it has no codename.
        priority: apt's priority of the new version.
        size: Bytes of the .deb, 0 for a removal.
        wished: Whether a wish names it.
        auto: Whether it is marked as automatically installed afterwards.
        reasons: The shortest chain from a wish to this change, a line a step; for a downgrade also who needs the older
            version, and who offers which.
        held: Whether it is on hold.
        essential: Whether dpkg calls it essential, or apt important.
        foreign: Whether its new version is neither of the host's release nor of the archive it came from.
    """

    name: str
    arch: str
    kind: str
    old: str = ""
    new: str = ""
    origin: str = ""
    suite: str = ""
    priority: int = 0
    size: int = 0
    wished: bool = False
    auto: bool = False
    reasons: tuple[str, ...] = ()
    held: bool = False
    essential: bool = False
    foreign: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form, whose keys docs/architecture.md lists."""
        return {
            "name": self.name,
            "arch": self.arch,
            "kind": self.kind,
            "from": self.old,
            "to": self.new,
            "origin": self.origin,
            "suite": self.suite,
            "priority": self.priority,
            "size": self.size,
            "wished": self.wished,
            "auto": self.auto,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True)
class Fetch:
    """One .deb to download into a directory.

    Attributes:
        dest: The directory.
        name: The package.
        version: Its version.
        architecture: Its architecture.
        filename: The name of the file in ``dest``.
        sha256: Its hash, from the signed index.
        size: Bytes.
        origin: The Release file's Origin of its archive.
        uri: Where it is.
    """

    dest: str
    name: str
    version: str
    architecture: str
    filename: str
    sha256: str
    size: int
    origin: str
    uri: str = ""

    def entry(self) -> dict[str, Any]:
        """Return its entry in ``manifest.json``."""
        keys = ("name", "version", "architecture", "filename", "sha256", "size", "origin")
        return {key: getattr(self, key) for key in keys}


@dataclass(frozen=True)
class Permissions:
    """What a plan may do beyond installing, as lists of package names or globs."""

    upgrade: tuple[str, ...] = ()
    downgrade: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    change_held: tuple[str, ...] = ()

    def allow(self, what: str, name: str, exact: bool = False) -> bool:
        """Say whether a permission names a package.

        Args:
            what: The permission.
            name: The package.
            exact: Whether a glob does not count.
        """
        patterns: tuple[str, ...] = getattr(self, what)
        return name in patterns or (not exact and any(fnmatchcase(name, pattern) for pattern in patterns))


@dataclass(frozen=True)
class Remedy:
    """What a role advises when a change of its packages is refused, instead of the permission by name.

    Attributes:
        permission: ``upgrade``, ``downgrade``, ``remove`` or ``change_held``.
        packages: Names or globs of packages.
        text: What to do.
    """

    permission: str
    packages: tuple[str, ...]
    text: str

    def fits(self, permission: str, name: str) -> bool:
        """Say whether this is the advice for a missing permission of a package."""
        return self.permission == permission and any(fnmatchcase(name, pattern) for pattern in self.packages)


@dataclass(frozen=True)
class OneOrigin:
    """A set of packages that must all come from one origin.

    Attributes:
        origin: The Release file's Origin.
        packages: Names or globs of the packages.
    """

    origin: str
    packages: tuple[str, ...]

    def covers(self, name: str) -> bool:
        """Say whether a package belongs to the set."""
        return any(fnmatchcase(name, pattern) for pattern in self.packages)


@dataclass(frozen=True)
class Plan:
    """Everything that apt would change on a host.

    Attributes:
        changes: What changes among the installed packages.
        fetch: What is downloaded and not installed.
        download_bytes: Bytes to download for the changes and fetches, caches aside.
        disk_bytes: Bytes that the changes take below /usr, negative when they free some.
    """

    changes: tuple[Change, ...] = ()
    fetch: tuple[Fetch, ...] = ()
    download_bytes: int = 0
    disk_bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.changes or self.fetch)

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form that module ``apt_plan`` returns."""
        return {
            "changes": [change.as_dict() for change in self.changes],
            "fetch": [{**item.entry(), "dest": item.dest} for item in self.fetch],
            "download_bytes": self.download_bytes,
            "disk_bytes": self.disk_bytes,
            "text": render(self),
        }


def of_kind(changes: Sequence[Change], kind: str) -> list[Change]:
    """Return the changes of one kind."""
    return [change for change in changes if change.kind == kind]


def human(size: int) -> str:
    """Return a number of bytes as a person reads it, in decimal units as apt does."""
    value, sign = float(abs(size)), "-" if size < 0 else ""
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{sign}{value:.3g} {unit}"
        value /= 1000
    return f"{sign}{value:.3g} GB"


def render(plan: Plan) -> str:
    """Write a plan for a person: what changes, by kind, with the reason for each, and the totals."""
    lines = []
    for kind in KINDS:
        for change in of_kind(plan.changes, kind):
            lines.append(_line(change))
            # A new package's own parent is in the plan too, with its reason; what goes is told from the beginning.
            steps = change.reasons[-1:] if kind == "install" else change.reasons
            lines.extend(f"    {step}" for step in steps)
    for item in plan.fetch:
        lines.append(f"fetch {item.name} {item.version} into {item.dest} ({item.origin}, {human(item.size)})")
    counts = [f"{len(of_kind(plan.changes, kind))} to {kind.replace('_', ' ')}" for kind in KINDS]
    counts.append(f"{len(plan.fetch)} to fetch")
    totals = ", ".join(count for count in counts if not count.startswith("0 ")) or "nothing to change"
    if plan:
        totals += f"; {human(plan.download_bytes)} to download, {human(plan.disk_bytes)} more on disk"
    return "\n".join([*lines, totals])


def _line(change: Change) -> str:
    versions = " -> ".join(version for version in (change.old, change.new) if version)
    if change.kind == "remove":
        return f"remove {change.name} {change.old}"
    if change.kind == "mark_manual":
        return f"mark manual {change.name} {change.old}"
    source = f"{change.origin or 'no origin'} {change.suite}".strip()
    return f"{change.kind} {change.name} {versions} ({source}, priority {change.priority}, {human(change.size)})"
