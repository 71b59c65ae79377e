"""Finds the libraries of an object as ld.so does, glibc 2.35 to 2.42 (``_dl_map_object`` in ``elf/dl-load.c``)."""

from __future__ import annotations

import posixpath
import re
import stat
from typing import NamedTuple

from . import elf as elves
from . import ldcache
from .closure import Closure, Missing, Object, Search, expanded, substituted
from .cpu import cpu_levels
from .elf import Elf
from .paths import Root
from .tables import ElfError

LD_SO = "ld-linux-x86-64.so.2"
#: Debian's multiarch directories, as compiled into its ld.so.
DEFAULT = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib")
#: What glibc until 2.36 also looked into, below every directory.
_LEGACY = ("tls/x86_64/x86_64", "tls/x86_64", "tls", "x86_64/x86_64", "x86_64")
_LAST_LEGACY = (2, 36)


class _Refusal(NamedTuple):
    """What an :exc:`ElfError` is made of: an exception that is kept would keep all that was read with it."""

    kind: str
    reason: str


class Loader:
    """The loader of one host.

    Args:
        root: Its file system.
        library_path: LD_LIBRARY_PATH.
        preload: LD_PRELOAD.
        levels: The glibc-hwcaps directories that its CPU can use, best first; those of this machine by default.

    Attributes:
        glibc: The host's version of glibc, empty where it has none.
        isa: The level of x86-64 that the CPU has, 1 to 4.
    """

    def __init__(
        self, root: Root, library_path: str = "", preload: str = "", levels: tuple[str, ...] | None = None
    ) -> None:
        self.root = root
        self.levels = cpu_levels() if levels is None else levels
        self.isa = 1 + len(self.levels)
        self._library_path = expanded(library_path.replace(";", ":"), "") if library_path else ()
        self._preload = (*re.split(r"[ :]+", preload.strip()), *root.text("/etc/ld.so.preload").split())
        self._objects: dict[str, Object | _Refusal] = {}
        self._elves: dict[str, Elf | _Refusal] = {}
        self._searches: dict[tuple[object, ...], Search] = {}
        self._subdirectories: dict[str, tuple[str, ...]] = {}
        self._cache = ldcache.parse(root.data("/etc/ld.so.cache"), self.levels)
        self._configured = () if self._cache else tuple(ldcache.directories(root))
        self._below = tuple(f"glibc-hwcaps/{level}" for level in self.levels)
        self.glibc = self._glibc()
        if self.glibc and self.glibc <= _LAST_LEGACY:
            self._below += _LEGACY
        self._subdirectories.clear()
        self._searches.clear()

    def _glibc(self) -> tuple[int, ...]:
        """Return the host's version of glibc by the newest node of its libc, nothing where there is none."""
        found = self._search("libc.so.6", (), None, False, False).object
        nodes = found.elf.verdef if found else ()
        matches = [match for node in nodes if (match := re.fullmatch(r"GLIBC_(\d+)\.(\d+)", node))]
        return max(((int(match[1]), int(match[2])) for match in matches), default=())

    def load(self, path: str) -> Object:
        """Return the object at a path of the host.

        Raises:
            ElfError: There is none that can be loaded.
        """
        found = self._objects.get(path)
        if found is None:
            try:
                real = self.root.real(path)
                read = self._elves.get(real)
                if read is None:
                    read = self._elves[real] = _read(self.root.outside(real))
                found = Object(read, path) if isinstance(read, Elf) else read
            except OSError as error:
                found = _Refusal("unreadable", error.strerror or str(error))
            self._objects[path] = found
        if isinstance(found, _Refusal):
            raise ElfError(*found)
        return found

    def closure(self, main: Object, base: Closure | None = None) -> Closure:
        """Return what is loaded with an object: as a program or library alone, or into a process that runs already."""
        loaded = base.copy() if base else Closure()
        start = len(loaded.objects)
        secure = bool(main.elf.mode & (stat.S_ISUID | stat.S_ISGID)) and main.elf.program
        loaded.add(main, 0 if base else -1, "", main.path)
        if not base and not secure:
            for name in filter(None, self._preload):
                found = self.find(name, loaded, 0, secure)
                if found.object:
                    loaded.add(found.object, 0, "preload", name)
        index = start
        objects, names = loaded.objects, loaded.names
        while index < len(objects):
            for name in objects[index].elf.needed:
                if name in names:
                    continue
                found = self.find(name, loaded, index, secure)
                if found.skipped:
                    loaded.skipped.extend((index, name, skipped) for skipped in found.skipped)
                if found.object:
                    loaded.add(found.object, index, found.how, name)
                else:
                    loaded.missing.append(Missing(index, name, found))
            index += 1
        return loaded

    def find(self, name: str, loaded: Closure, index: int, secure: bool) -> Search:
        """Return where a name leads that an object of a process needs."""
        by = loaded.objects[index]
        chain = loaded.chains[index] if by.runpath is None else ()
        if "$" in name:
            name = substituted(name, posixpath.dirname(by.path))
        key = (name, chain, by.runpath, by.elf.flags_1 & elves.DF_1_NODEFLIB, secure)
        found = self._searches.get(key)
        if found is None:
            nodeflib = bool(by.elf.flags_1 & elves.DF_1_NODEFLIB)
            found = self._searches[key] = self._search(name, chain, by.runpath, nodeflib, secure)
        return found

    def places(
        self, chain: tuple[str, ...], runpath: tuple[str, ...] | None, nodeflib: bool, secure: bool
    ) -> list[tuple[str, tuple[str, ...]]]:
        """Return mechanism and directories in the order in which a name is looked for; the cache itself has none."""
        return [
            ("RPATH", chain),
            ("LD_LIBRARY_PATH", () if secure else self._library_path),
            ("RUNPATH", runpath or ()),
            ("cache", self._configured),
            ("default", () if nodeflib else DEFAULT),
        ]

    def _search(
        self, name: str, chain: tuple[str, ...], runpath: tuple[str, ...] | None, nodeflib: bool, secure: bool
    ) -> Search:
        skipped: list[str] = []
        if "/" in name:
            return self._try(name, "path", skipped) or Search(None, skipped=tuple(skipped))
        if name == LD_SO and (found := self._try(f"/lib64/{LD_SO}", "loaded", [])):
            return found
        for how, directories in self.places(chain, runpath, nodeflib, secure):
            if how == "cache" and name in self._cache:
                path = self._cache[name]
                if not (nodeflib and posixpath.dirname(path) in DEFAULT) and (found := self._try(path, how, skipped)):
                    return found
            for directory in directories:
                for below in self._with_hwcaps(directory):
                    if name in self.root.names(below) and (found := self._try(f"{below}/{name}", how, skipped)):
                        return found
        return Search(None, skipped=tuple(skipped))

    def _try(self, path: str, how: str, skipped: list[str]) -> Search | None:
        """Return how a candidate ends the search, None where the loader goes on."""
        try:
            found = self.load(path)
        except ElfError as error:
            if error.kind in ("class", "machine"):
                skipped.append(f"{path}: {error}")
                return None
            if error.kind == "unreadable" and str(error) not in ("Is a directory", "no regular file"):
                return None
            return Search(None, how, f"{path}: {error}", tuple(skipped))
        if found.elf.type == elves.EXEC or found.elf.flags_1 & elves.DF_1_PIE:
            return Search(None, how, f"{path}: cannot dynamically load executable", tuple(skipped))
        return Search(found, how, "", tuple(skipped))

    def _with_hwcaps(self, directory: str) -> tuple[str, ...]:
        found = self._subdirectories.get(directory)
        if found is None:
            names = self.root.names(directory)
            below = [part for part in self._below if part.split("/")[0] in names]
            found = (*(f"{directory}/{part}" for part in below if self.root.names(f"{directory}/{part}")), directory)
            self._subdirectories[directory] = found
        return found


def _read(path: str) -> Elf | _Refusal:
    try:
        return elves.read(path)
    except ElfError as error:
        return _Refusal(error.kind, str(error))
