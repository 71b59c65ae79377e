"""What a process has loaded, and by which names each object is known in it."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from . import elf as elves
from .cpu import cpu_platform
from .elf import Elf

_LIB = "lib/x86_64-linux-gnu"


class Object:
    """An ELF object under the path by which it was found; ``$ORIGIN`` depends on that path.

    Attributes:
        elf: What was read of it.
        path: The host's path of it.
        rpath: Directories of DT_RPATH, expanded.
        runpath: Directories of DT_RUNPATH, expanded; None where it has none.
    """

    __slots__ = ("elf", "path", "rpath", "runpath")

    def __init__(self, elf: Elf, path: str) -> None:
        self.elf = elf
        self.path = path
        origin = posixpath.dirname(path)
        self.rpath = expanded(elf.rpath, origin) if elf.rpath else ()
        self.runpath = expanded(elf.runpath, origin) if elves.RUNPATH in elf.tags else None


class Search(NamedTuple):
    """How the search for one name ended.

    Attributes:
        object: What was found.
        how: ``RPATH``, ``RUNPATH``, ``LD_LIBRARY_PATH``, ``cache``, ``default``, ``path``,
            ``loaded``; empty where nothing was found.
        fatal: What ended the search though the name was found, as ``path: reason``.
        skipped: Files of that name that the loader passed over, as ``path: reason``.
    """

    object: Object | None
    how: str = ""
    fatal: str = ""
    skipped: tuple[str, ...] = ()


class Missing(NamedTuple):
    """A needed name that led to nothing."""

    by: int
    name: str
    search: Search


@dataclass
class Closure:
    """What one process has loaded, in the order of its scope.

    Attributes:
        objects: The main program or library, preloaded ones, then breadth-first what they need.
        by: For each the index of the one that made it be loaded, -1 for the first.
        how: For each the mechanism that found it.
        names: Name to index: by what a later need is already met.
        missing: Needs that are not met.
        skipped: Files passed over in the search: who needed them, the name, the file with the reason.
        chains: For each the directories of DT_RPATH, its own and those of whoever made it be loaded.
        known: For each file its index.
    """

    objects: list[Object] = field(default_factory=list)
    by: list[int] = field(default_factory=list)
    how: list[str] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)
    skipped: list[tuple[int, str, str]] = field(default_factory=list)
    chains: list[tuple[str, ...]] = field(default_factory=list)
    known: dict[tuple[int, int], int] = field(default_factory=dict)

    def chain(self, index: int) -> list[str]:
        """Return the paths that lead from the first object to one."""
        found = []
        while index >= 0:
            found.append(self.objects[index].path)
            index = self.by[index]
        return found[::-1]

    def add(self, found: Object, by: int, how: str, name: str) -> None:
        """Load an object, unless the same file is there under another name."""
        index = self.known.get(found.elf.identity)
        if index is None:
            index = self.known[found.elf.identity] = len(self.objects)
            self.objects.append(found)
            self.by.append(by)
            self.how.append(how)
            self.chains.append(found.rpath + self.chains[by] if by >= 0 else found.rpath)
            self.names.setdefault(found.path, index)
            if found.elf.soname:
                self.names.setdefault(found.elf.soname, index)
        self.names.setdefault(name, index)

    def copy(self) -> Closure:
        """Return one to load further objects into."""
        return replace(
            self,
            objects=list(self.objects),
            by=list(self.by),
            how=list(self.how),
            names=dict(self.names),
            missing=[],
            skipped=[],
            chains=list(self.chains),
            known=dict(self.known),
        )


def expanded(text: str, origin: str) -> tuple[str, ...]:
    """Return a path list's directories; relative ones, which depend on the working directory, are left out."""
    directories = (substituted(part, origin) if "$" in part else part for part in text.split(":"))
    return tuple(dict.fromkeys(part.rstrip("/") or "/" for part in directories if part.startswith("/")))


def substituted(text: str, origin: str) -> str:
    """Return a text with ``$ORIGIN``, ``$LIB`` and ``$PLATFORM`` replaced."""
    for name, value in (("ORIGIN", origin), ("LIB", _LIB), ("PLATFORM", cpu_platform())):
        text = text.replace(f"${{{name}}}", value)
        text = re.sub(rf"\${name}(?![A-Za-z0-9_])", value.replace("\\", r"\\"), text)
    return text
