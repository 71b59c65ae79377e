"""Pins, and the apt preferences file that they become."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

#: First line of every preferences file of this project; a file without it is somebody else's.
MARK = "# Written by halo-provision; changes made here are lost."

#: The version of a pin that means: whatever the host has.
INSTALLED = "installed"

# apt silently skips a file in preferences.d whose name holds anything else.
_FILE = re.compile(r"[A-Za-z0-9_-]+")
_PACKAGE = re.compile(r"[a-z0-9*?\[\]][a-z0-9+.*?\[\]!-]*(:[a-z0-9]+)?")
_VALUE = re.compile(r"[^\s]+")
_KEYS = ("file", "packages", "priority", "version", "release", "fallback")
# apt keeps priorities in a signed short.
_HIGHEST = 32767


@dataclass(frozen=True)
class Pin:
    """A preference for some packages, before it is known what the host has.

    Attributes:
        file: Name of the file in ``/etc/apt/preferences.d``, without ``.pref``.
        packages: Package names, or globs as apt understands them in ``Package:``.
        priority: apt's pin priority, -32767 to 32767 and not 0.
        version: A version, exact or with globs (``1:17.*``), or ``installed``.
        release: A release as apt writes it, ``o=Debian,n=trixie``; instead of ``version``.
        fallback: The version that takes the place of ``installed`` for packages that the host does not have.

    Raises:
        ValueError: A field that apt would refuse or, worse, skip without a word.
    """

    file: str
    packages: tuple[str, ...]
    priority: int
    version: str = ""
    release: str = ""
    fallback: str = ""

    def __post_init__(self) -> None:
        if not _FILE.fullmatch(self.file):
            raise ValueError(f"pin file {self.file!r}: only letters, digits, - and _, otherwise apt skips the file")
        if not self.packages:
            raise ValueError(f"pin in {self.file}: packages is empty")
        for package in self.packages:
            if not _PACKAGE.fullmatch(package):
                raise ValueError(f"pin in {self.file}: {package!r} is neither a package name nor a glob of them")
        if isinstance(self.priority, bool) or not isinstance(self.priority, int):
            raise ValueError(f"pin in {self.file}: priority {self.priority!r} is no integer")
        if self.priority == 0 or abs(self.priority) > _HIGHEST:
            raise ValueError(f"pin in {self.file}: priority {self.priority} is 0 or beyond {_HIGHEST}")
        if bool(self.version) == bool(self.release):
            raise ValueError(f"pin in {self.file}: give exactly one of version and release")
        if self.fallback and self.version != INSTALLED:
            raise ValueError(f"pin in {self.file}: fallback goes with version: {INSTALLED} only")
        for value in (self.version, self.fallback):
            if value and not _VALUE.fullmatch(value):
                raise ValueError(f"pin in {self.file}: {value!r} is no version")
        if self.release and not re.fullmatch(r"[acnolvbu]=[^,\n]+(,\s*[acnolvbu]=[^,\n]+)*", self.release):
            raise ValueError(f"pin in {self.file}: release {self.release!r} is not like o=Debian,n=trixie")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Pin:
        """Make a pin from the plain form in which roles write it.

        Args:
            data: The keys of :class:`Pin`; ``packages`` a list, ``None`` the same as an absent key.

        Raises:
            ValueError: An unknown, missing or wrong field.
        """
        given = {key: value for key, value in data.items() if value is not None}
        unknown = sorted(set(given) - set(_KEYS))
        if unknown:
            raise ValueError(f"pin has unknown keys: {', '.join(unknown)}")
        missing = [key for key in _KEYS[:3] if key not in given]
        if missing:
            raise ValueError(f"pin {given.get('file', '')!r} lacks: {', '.join(missing)}")
        packages = given["packages"]
        if isinstance(packages, str) or not all(isinstance(package, str) for package in packages):
            raise ValueError(f"pin {given['file']!r}: packages {packages!r} is no list of names")
        texts = {key: str(given[key]) for key in ("version", "release", "fallback") if key in given}
        return cls(file=str(given["file"]), packages=tuple(packages), priority=given["priority"], **texts)


def by_file(pins: Iterable[Pin]) -> dict[str, list[Pin]]:
    """Return the pins grouped by the file that they belong into, in their order."""
    files: dict[str, list[Pin]] = {}
    for pin in pins:
        files.setdefault(pin.file, []).append(pin)
    return files


def render(pins: Sequence[Pin], installed: Mapping[str, str]) -> str:
    """Write the pins of one file as apt preferences.

    Args:
        pins: The pins of one file.
        installed: Package name -> version, of everything that is installed on the host. A pin to ``installed`` becomes
            one stanza a version; names and globs that match nothing there take the pin's ``fallback``, or are dropped
            where it has none.

    Returns:
        The text of the file, with :data:`MARK` as its first line.
    """
    stanzas = []
    for pin in pins:
        for wanted, packages in _targets(pin, installed):
            names = " ".join(packages)
            stanzas.append(f"Package: {names}\nPin: {wanted}\nPin-Priority: {pin.priority}\n")
    return "\n".join([MARK + "\n", *stanzas])


def _targets(pin: Pin, installed: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    if pin.release:
        return [(f"release {pin.release}", list(pin.packages))]
    if pin.version != INSTALLED:
        return [(f"version {pin.version}", list(pin.packages))]
    versions: dict[str, list[str]] = {}
    for pattern in pin.packages:
        names = sorted(name for name in installed if fnmatchcase(name, pattern))
        for name in names:
            versions.setdefault(installed[name], []).append(name)
        if not names and pin.fallback:
            versions.setdefault(pin.fallback, []).append(pattern)
    return [(f"version {version}", sorted(set(names))) for version, names in sorted(versions.items())]
