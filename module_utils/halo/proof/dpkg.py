"""What dpkg has installed, read from its status file alone: python3-apt may not be there yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: ROCm exists for this architecture alone; a foreign libc6:i386 is another package.
ARCHITECTURES = ("amd64", "all")

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]*")


@dataclass(frozen=True)
class Package:
    """An installed package.

    Attributes:
        version: Its version.
        depends: Names in its Depends and Pre-Depends, all alternatives.
        provides: Names in its Provides.
    """

    version: str
    depends: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()


def installed(status: Path) -> dict[str, Package]:
    """Return name -> package for all that is fully installed.

    Args:
        status: dpkg's status file, ``/var/lib/dpkg/status``.

    Raises:
        OSError: The file cannot be read.
    """
    found = {}
    for fields in _paragraphs(status.read_text(encoding="utf-8", errors="replace")):
        if fields.get("Status", "").split()[-1:] != ["installed"] or fields.get("Architecture") not in ARCHITECTURES:
            continue
        needs = f"{fields.get('Pre-Depends', '')},{fields.get('Depends', '')}"
        found[fields["Package"]] = Package(fields["Version"], _names(needs), _names(fields.get("Provides", "")))
    return found


def closure(names: Iterable[str], packages: Mapping[str, Package]) -> dict[str, str]:
    """Return name -> version of installed packages and of all that they depend on, as far as it is installed.

    Args:
        names: Where to begin; a name that is not installed maps to an empty version.
        packages: The result of :func:`installed`.
    """
    providers: dict[str, list[str]] = {}
    for name, package in packages.items():
        for provided in package.provides:
            providers.setdefault(provided, []).append(name)
    reached: dict[str, str] = {}
    waiting = list(names)
    for name in waiting:
        reached.setdefault(name, "")
    while waiting:
        name = waiting.pop()
        for real in [name, *providers.get(name, ())]:
            if real in packages and not reached.get(real):
                reached[real] = packages[real].version
                waiting += packages[real].depends
    return reached


def _names(relations: str) -> tuple[str, ...]:
    alternatives = (alternative.strip() for group in relations.split(",") for alternative in group.split("|"))
    return tuple(match.group() for match in map(_NAME.match, alternatives) if match)


def _paragraphs(text: str) -> Iterator[dict[str, str]]:
    for paragraph in text.split("\n\n"):
        fields: dict[str, str] = {}
        key = ""
        for line in paragraph.splitlines():
            if line[:1].isspace():
                fields[key] = f"{fields.get(key, '')} {line.strip()}"
            else:
                key, _, value = line.partition(":")
                fields[key] = value.strip()
        if "Package" in fields and "Version" in fields:
            yield fields
