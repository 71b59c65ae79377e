"""Which symbols of an object nobody in its scope defines (``do_lookup_x`` and ``check_match`` in glibc)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .elf import Elf
from .symbols import Exports, Imports, Tables, Wanted, relocated
from .tables import ElfError

_NOTHING, _NO_EXPORTS = Imports(), Exports()


@dataclass
class Unresolved:
    """What nobody defines.

    Attributes:
        plain: Names without a version.
        noded: File of the version's definition to ``name@node``.
    """

    plain: frozenset[bytes] = frozenset()
    noded: dict[str, frozenset[bytes]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.plain or self.noded)


_RESOLVED = Unresolved()


class Symbols:
    """The symbols of all objects of a run: needs of each first, then of each definition only what somebody needs."""

    def __init__(self) -> None:
        self._wanted = Wanted()
        self._imports: dict[tuple[int, int], Imports] = {}
        self._exports: dict[tuple[int, int], Exports] = {}
        self._relocated: dict[tuple[int, int], set[bytes]] = {}
        self.damaged: dict[str, str] = {}
        self.unused = 0

    def learn(self, objects: Iterable[Elf]) -> None:
        """Read what objects need; best for all of them before anything is asked."""
        new = [elf for elf in objects if elf.identity not in self._imports]
        if new:
            # What was read of definitions leaves out what nobody wanted then.
            self._exports.clear()
            for elf in new:
                try:
                    self._imports[elf.identity] = Tables(elf, defined=False).needs(self._wanted)
                except ElfError as error:
                    self.damaged[elf.path] = str(error)
                    self._imports[elf.identity] = _NOTHING
            self._wanted.hash()

    def imports(self, elf: Elf) -> Imports:
        """Return what an object needs."""
        return self._imports[elf.identity]

    def exports(self, elf: Elf) -> Exports:
        """Return what an object defines of all that is needed."""
        found = self._exports.get(elf.identity)
        if found is None:
            try:
                found = Tables(elf).offers(self._wanted)
            except ElfError as error:
                self.damaged[elf.path] = str(error)
                found = _NO_EXPORTS
            self._exports[elf.identity] = found
        return found

    def unresolved(self, elf: Elf, scope: Iterable[Elf], files: Mapping[str, Elf]) -> Unresolved:
        """Return what an object needs and a scope does not have.

        Args:
            elf: The object.
            scope: All objects in which the loader looks, in its order; read only as far as needed.
            files: By the name under which a version is wanted, who has it.
        """
        imports = self._imports[elf.identity]
        scope = tuple(scope)
        plain = imports.plain
        for other in scope:
            if not plain:
                break
            plain = plain - self.exports(other).plain
        noded: dict[str, frozenset[bytes]] = {}
        for file, names in imports.noded.items():
            if file in files:
                names = names - self.exports(files[file]).noded
            if names and (names := self._anywhere(names, scope)):
                noded[file] = names
        if not (plain or noded):
            return _RESOLVED
        used = self._used(elf)
        found = Unresolved(plain & used, {file: left for file, names in noded.items() if (left := names & used)})
        self.unused += len(plain) - len(found.plain)
        return found or _RESOLVED

    def _anywhere(self, names: frozenset[bytes], scope: tuple[Elf, ...]) -> frozenset[bytes]:
        for other in scope:
            exports = self.exports(other)
            names = names - exports.noded
            if names and exports.base:
                names = frozenset(name for name in names if name.rpartition(b"@")[0] not in exports.base)
            if not names:
                break
        return names

    def _used(self, elf: Elf) -> set[bytes]:
        """Return what relocations refer to; whatever else is undefined the loader never looks up."""
        found = self._relocated.get(elf.identity)
        if found is None:
            try:
                found = relocated(elf, Tables(elf, defined=False))
            except (ElfError, OSError) as error:
                self.damaged[elf.path] = str(error)
                found = set()
            self._relocated[elf.identity] = found
        return found
