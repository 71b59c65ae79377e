"""What dpkg and apt have written down about a host, read without apt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("var/lib/dpkg/status")
JOURNAL = Path("var/lib/dpkg/updates")
_EXTENDED = Path("var/lib/apt/extended_states")
_FIELD = re.compile(r"^(Package|Status|Architecture|Version|Auto-Installed): (.*)$", re.MULTILINE)
_UNFINISHED = ("half-installed", "half-configured", "unpacked", "triggers-awaited", "triggers-pending")


@dataclass(frozen=True)
class Package:
    """A package in dpkg's status.

    Attributes:
        name: Its name.
        arch: Its architecture, ``all`` included.
        version: Its version.
        want: What is wanted of it: ``install``, ``hold``, ``deinstall``, ``purge``.
        state: What it is: ``installed``, ``config-files``, ``half-configured`` and so on.
        flag: ``ok``, or ``reinstreq`` where only installing it again makes it whole.
    """

    name: str
    arch: str
    version: str
    want: str
    state: str
    flag: str = "ok"

    @property
    def unfinished(self) -> bool:
        """Whether dpkg has begun with it and not finished."""
        return self.state in _UNFINISHED or self.flag == "reinstreq"


@dataclass(frozen=True)
class Database:
    """dpkg's status and apt's marks, as they were at one moment.

    Attributes:
        packages: Everything that is installed, or half so, as ``name:arch`` -> package.
        auto: ``name`` of what is marked as installed automatically.
        unfinished: What dpkg has begun and not finished, as lines for a person.
    """

    packages: dict[str, Package]
    auto: frozenset[str]
    unfinished: tuple[str, ...]

    @property
    def versions(self) -> dict[str, str]:
        """Name -> version of all that is installed."""
        return {package.name: package.version for package in self.packages.values()}

    @property
    def held(self) -> frozenset[str]:
        """The names of the packages on hold."""
        return frozenset(package.name for package in self.packages.values() if package.want == "hold")


def read(root: str = "/") -> Database:
    """Read dpkg's status and apt's marks below a root directory.

    Raises:
        OSError: dpkg's status cannot be read.
    """
    base = Path(root)
    packages, unfinished = {}, []
    for stanza in _stanzas((base / _STATUS).read_text(encoding="utf-8", errors="replace")):
        want, _, rest = stanza.get("Status", "").partition(" ")
        flag, _, state = rest.partition(" ")
        package = Package(
            stanza["Package"], stanza.get("Architecture", ""), stanza.get("Version", ""), want, state, flag
        )
        if package.unfinished:
            unfinished.append(f"{package.name} is {state}")
        if state not in ("", "not-installed", "config-files"):
            packages[f"{package.name}:{package.arch}"] = package
    if interrupted(root):
        unfinished.append(f"{base / JOURNAL} holds an unfinished transaction")
    return Database(packages, _auto(base / _EXTENDED), tuple(unfinished))


def interrupted(root: str = "/") -> bool:
    """Say whether dpkg's journal holds changes that it has not taken over."""
    journal = Path(root) / JOURNAL
    return journal.is_dir() and any(entry.name.isdigit() for entry in journal.iterdir())


def _auto(path: Path) -> frozenset[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return frozenset()
    return frozenset(stanza["Package"] for stanza in _stanzas(text) if stanza.get("Auto-Installed") == "1")


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    for stanza in text.split("\n\n"):
        fields = dict(_FIELD.findall(stanza))
        if "Package" in fields:
            yield fields
