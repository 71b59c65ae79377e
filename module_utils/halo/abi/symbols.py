"""The dynamic symbols of an object: what it offers and what it asks for, fetched on demand.

A name is bytes. A versioned one is written ``name@node``. Nothing is kept of an object's tables but these names.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct

from .elf import (
    GNU_HASH,
    HASH,
    JMPREL,
    PLTRELSZ,
    RELA,
    RELASZ,
    STRSZ,
    STRTAB,
    SYMTAB,
    VERSYM,
    Elf,
    opened,
)
from .tables import ElfError

_SYMBOL = Struct("<IIQ8x")
_SIZE = 24
_ABS, _TLS = 0xFFF1, 6
#: Types that the loader takes: NOTYPE, OBJECT, FUNC, COMMON, TLS, IFUNC. Bindings: GLOBAL, WEAK, UNIQUE.
_TYPES, _BINDINGS = (0, 1, 2, 5, 6, 10), (1, 2, 10)
#: Low 16 bits of a symbol's second word (info, visibility) with which a definition can be found from outside.
_OFFERED = frozenset(
    bind << 4 | kind | other << 8
    for bind in _BINDINGS
    for kind in _TYPES
    for other in range(256)
    if other & 3 in (0, 3)
)
#: The most bytes of one table; a damaged file may claim any size.
_MOST = 1 << 30


@dataclass
class Exports:
    """What an object defines for others.

    Attributes:
        plain: Names that a reference without a version finds.
        noded: ``name@node``.
        base: Names of definitions without a node, which a reference with one finds, too.
    """

    plain: set[bytes] = field(default_factory=set)
    noded: set[bytes] = field(default_factory=set)
    base: set[bytes] = field(default_factory=set)


@dataclass
class Imports:
    """What an object needs of others, without what may be absent.

    Attributes:
        plain: Names without a version.
        noded: File of the version's definition to ``name@node``.
        weak: How many may be absent.
    """

    plain: frozenset[bytes] = frozenset()
    noded: dict[str, frozenset[bytes]] = field(default_factory=dict)
    weak: int = 0


class Wanted:
    """The names that anybody needs, each once, and their hashes."""

    def __init__(self) -> None:
        self.names: dict[bytes, bytes] = {}
        self.hashes: set[int] = set()
        self._hashed = 0

    def hash(self) -> None:
        """Hash the names that came since the last time."""
        names = list(self.names)[self._hashed :]
        self.hashes.update(gnu_hash(name) | 1 for name in names)
        self._hashed += len(names)


def gnu_hash(name: bytes) -> int:
    """Return the hash under which DT_GNU_HASH lists a name."""
    value = 5381
    for byte in name:
        value = value * 33 + byte & 0xFFFFFFFF
    return value


class Tables:
    """The symbol and string table of one object, held only as long as this is.

    Args:
        elf: The object.
        defined: Whether definitions are wanted, too. With a GNU hash what is undefined stands in front of them, but
            for functions of which a program takes the address: those are listed, though others define them.
    """

    def __init__(self, elf: Elf, defined: bool = True) -> None:
        self._elf = elf
        self._defined = defined or bool(elf.interp)
        self.first = self.count = 0
        self.symbols = self.strings = b""
        #: The hash of each symbol from ``first`` on, but for its low bit; empty where there is no GNU hash.
        self.hashes: array[int] = array("I")
        self.versions: array[int] = array("H")
        fd = opened(elf.path)
        try:
            self._read(fd)
        except OSError as error:
            raise ElfError("unreadable", error.strerror or str(error)) from None
        finally:
            os.close(fd)

    def _read(self, fd: int) -> None:
        tags = self._elf.tags
        if SYMTAB not in tags:
            return
        at, left = self._elf.place(tags[SYMTAB])
        if GNU_HASH in tags:
            self.first, self.count = self._gnu_hash(fd)
        elif HASH in tags:
            self.first, self.count = 1, self._words(fd, tags[HASH], 2)[1]
        if self.count <= self.first:
            # GNU ld writes no hash at all where nothing is exported; only what has a relocation is ever looked up.
            self.count = 1 + max((max(part, default=0) for part in relocations(self._elf, fd)), default=0)
            self.first = self.count
        if not self._defined and GNU_HASH in tags:
            self.count = self.first
        if self.count * _SIZE > left:
            raise ElfError("damaged", "its symbol table lies outside the file")
        self.symbols = os.pread(fd, self.count * _SIZE, at)
        at, left = self._elf.place(tags.get(STRTAB, -1))
        self.strings = os.pread(fd, min(tags.get(STRSZ, left), left, _MOST), at)
        if VERSYM in tags:
            at, _ = self._elf.place(tags[VERSYM], 2 * self.count)
            self.versions.frombytes(os.pread(fd, 2 * self.count, at))
        if len(self.symbols) < self.count * _SIZE or len(self.versions) not in (0, self.count):
            raise ElfError("damaged", "its symbol table lies outside the file")

    def _words(self, fd: int, address: int, count: int) -> array[int]:
        at, _ = self._elf.place(address, 4 * count)
        return _array(os.pread(fd, 4 * count, at))

    def _gnu_hash(self, fd: int) -> tuple[int, int]:
        """Read the hashes; return the first symbol that has one, and the number of symbols."""
        address = self._elf.tags[GNU_HASH]
        buckets, first, bloom, _ = self._words(fd, address, 4)
        if max(buckets, first, bloom) * 4 > self._elf.size:
            raise ElfError("damaged", "its hash table lies outside the file")
        address += 16 + 8 * bloom
        last = max(self._words(fd, address, buckets), default=0)
        if last < first or not last:
            return first, 0
        if not self._defined:
            return first, first + 1
        at, left = self._elf.place(address + 4 * buckets, 4)
        known = last - first
        for window in (4 * (known + 64), left):
            words = _array(os.pread(fd, min(window, left), at))
            for number in range(known, len(words)):
                if words[number] & 1:
                    self.hashes = words[: number + 1]
                    return first, first + number + 1
        raise ElfError("damaged", "a chain of its hash table has no end")

    def offers(self, wanted: Wanted) -> Exports:
        """Return what it defines, of the names that are wanted."""
        found = Exports()
        plain, noded, base = found.plain, found.noded, found.base
        nodes, hashes, names = self._elf.versions, wanted.hashes, wanted.names
        symbols, strings, versions, end = self.symbols, self.strings, self.versions, self.strings.find
        # The table of hashes saves looking at most of the names.
        indices: Iterable[int] = range(self.first, self.count)
        if self.hashes:
            indices = [index for index, value in enumerate(self.hashes, self.first) if value | 1 in hashes]
        for index in indices:
            offset, word, value = _SYMBOL.unpack_from(symbols, index * _SIZE)
            if word < 0x10000 or word & 0xFFFF not in _OFFERED:
                continue
            if not value and word >> 16 != _ABS and word & 15 != _TLS:
                continue
            name = strings[offset : end(b"\0", offset)]
            if name not in names:
                continue
            version = versions[index] if versions else 1
            number = version & 0x7FFF
            # As glibc's check_match: a hidden version is found by name only, the first one also without.
            if number < 3 or version < 0x8000:
                plain.add(name)
            if number in nodes:
                noded.add(name + nodes[number])
            elif version < 0x8000:
                base.add(name)
        return found

    def needs(self, wanted: Wanted) -> Imports:
        """Return what it does not define itself and must find, and add it to what is wanted."""
        plain: list[bytes] = []
        noded: dict[str, list[bytes]] = {}
        weak = 0
        nodes, sources = self._elf.versions, self._elf.sources
        strings, versions, end = self.strings, self.versions, self.strings.find
        share = wanted.names.setdefault
        for index, (offset, word, _) in enumerate(_SYMBOL.iter_unpack(self.symbols)):
            if word >> 16 or not offset:
                continue
            if word >> 4 & 15 == 2:
                weak += 1
                continue
            if word >> 4 & 15 == 0:
                continue
            name = strings[offset : end(b"\0", offset)]
            name = share(name, name)
            number = versions[index] & 0x7FFF if versions else 0
            if number in sources:
                noded.setdefault(sources[number], []).append(name + nodes[number])
            else:
                plain.append(name)
        return Imports(frozenset(plain), {file: frozenset(names) for file, names in noded.items()}, weak)

    def names_at(self, indices: Iterable[int]) -> set[bytes]:
        """Return the names of symbols by their index, with their node where they want one."""
        found, nodes = set(), self._elf.versions
        for index in indices:
            if index < self.count:
                offset = _SYMBOL.unpack_from(self.symbols, index * _SIZE)[0]
                name = self.strings[offset : self.strings.find(b"\0", offset)]
                number = self.versions[index] & 0x7FFF if self.versions else 0
                found.add(name + nodes[number] if number in self._elf.sources else name)
        return found


def relocated(elf: Elf, tables: Tables) -> set[bytes]:
    """Return the names of which a relocation makes the loader look for them: it looks for no others."""
    fd = opened(elf.path)
    try:
        return tables.names_at({index for part in relocations(elf, fd) for index in part})
    finally:
        os.close(fd)


def relocations(elf: Elf, fd: int) -> list[array[int]]:
    """Return the symbols' indices of both relocation tables.

    Raises:
        ElfError: A table lies outside the file.
    """
    found = []
    for table, size in ((RELA, RELASZ), (JMPREL, PLTRELSZ)):
        length = elf.tags.get(size, 0)
        if table in elf.tags and length:
            at, left = elf.place(elf.tags[table])
            # Of six words the fourth is the symbol.
            found.append(_array(os.pread(fd, min(length, left, _MOST) // _SIZE * _SIZE, at))[3::6])
    return found


def _array(data: bytes) -> array[int]:
    words = array("I")
    words.frombytes(data[: len(data) & ~3])
    if sys.byteorder == "big":
        words.byteswap()
    return words
