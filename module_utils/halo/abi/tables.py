"""Names and version tables of an ELF object: of unknown length, so that they are read piece by piece."""

from __future__ import annotations

import os
from struct import Struct

_VERNEED, _VERNAUX = Struct("<HHIII"), Struct("<IHHII")
_VERDEF, _VERDAUX = Struct("<HHHHIII"), Struct("<II")
_WEAK, _BASE = 2, 1

#: Longer than any that exists, short enough to bound time and memory whatever a damaged file claims.
_MOST_NODES, _LONGEST_STRING = 32_768, 65_536

#: Version index to ``@node``, as a symbol's name is continued.
Versions = dict[int, bytes]


class ElfError(Exception):
    """A file is no ELF object that can be judged.

    Attributes:
        kind: ``foreign`` (no ELF), ``class`` or ``machine`` (not this host's: the loader goes on searching),
            ``other`` (byte order or system), ``type``
            (an object file, a core), ``static`` (nothing dynamic in it), ``short`` or ``damaged``, ``unreadable``.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class File:
    """An open file whose beginning is read at once: most objects have all that is wanted there.

    Args:
        fd: The file; whoever opened it closes it.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.head = os.pread(fd, 16_384, 0)

    def read(self, size: int, offset: int) -> bytes:
        """Return the bytes at an offset, fewer where the file ends."""
        end = offset + size
        return self.head[offset:end] if end <= len(self.head) else os.pread(self._fd, size, offset)


class Strings:
    """The dynamic string table, of which a few names are wanted and tens of megabytes may be there.

    Args:
        file: The file.
        start: Where the table is.
        size: Its length in bytes.
    """

    def __init__(self, file: File, start: int, size: int) -> None:
        self._file = file
        self._start = start
        self._size = size
        self._blocks: dict[int, bytes] = {}

    def at(self, offset: int) -> str:
        """Return the name at an offset; see :meth:`raw`."""
        return os.fsdecode(self.raw(offset))

    def raw(self, offset: int) -> bytes:
        """Return the name at an offset.

        Raises:
            ElfError: It does not lie in the table, or has no end.
        """
        number, start = offset >> 12, offset & 4095
        block = self._blocks.get(number)
        if block is None:
            block = self._block(number)
        end = block.find(b"\0", start)
        return block[start:end] if end >= 0 else self._long(number, start)

    def _block(self, number: int) -> bytes:
        at = number << 12
        if at >= self._size:
            raise ElfError("damaged", "a name lies outside its string table")
        block = self._blocks[number] = self._file.read(min(4096, self._size - at), self._start + at)
        return block

    def _long(self, number: int, start: int) -> bytes:
        """Return a name that does not end in the block where it begins."""
        if start >= len(self._blocks[number]):
            raise ElfError("damaged", "a name lies outside its string table")
        pieces = [self._blocks[number][start:]]
        while len(pieces) << 12 <= _LONGEST_STRING:
            number += 1
            if number << 12 >= self._size:
                break
            block = self._blocks.get(number) or self._block(number)
            end = block.find(b"\0")
            if end >= 0:
                return b"".join([*pieces, block[:end]])
            pieces.append(block)
        raise ElfError("damaged", "a name in its string table has no end")


class Chain:
    """A table whose entries point to each other, read in windows that grow.

    Args:
        file: The file.
        start: Where the table begins.
        left: How many bytes there can be at most.
    """

    def __init__(self, file: File, start: int, left: int) -> None:
        self._file = file
        self._start = start
        self._left = left
        self._data = b""

    def take(self, form: Struct, at: int) -> tuple[int, ...]:
        """Return the fields at an offset.

        Raises:
            ElfError: They lie outside the file.
        """
        end = at + form.size
        if end > len(self._data):
            size = min(max(end, 2 * len(self._data), 1024), self._left)
            self._data = self._file.read(size, self._start)
            if end > len(self._data):
                raise ElfError("damaged", "a version table lies outside the file")
        return form.unpack_from(self._data, at)


def needed_versions(
    chain: Chain, count: int, strings: Strings
) -> tuple[dict[str, tuple[tuple[str, bool], ...]], Versions, dict[int, str]]:
    """Return DT_VERNEED: by file the nodes with whether each is weak; by index the nodes, and the files.

    Raises:
        ElfError: The table leads out of the file, or has no end.
    """
    files: dict[str, tuple[tuple[str, bool], ...]] = {}
    versions: Versions = {}
    sources: dict[int, str] = {}
    at = nodes = 0
    for _ in range(min(count, _MOST_NODES)):
        _, auxiliaries, file, first, following = chain.take(_VERNEED, at)
        name, wanted, inner = strings.at(file), [], at + first
        for _ in range(auxiliaries):
            nodes += 1
            if nodes > _MOST_NODES:
                raise ElfError("damaged", "its version table has no end")
            _, flags, index, node, step = chain.take(_VERNAUX, inner)
            raw = strings.raw(node)
            versions[index & 0x7FFF] = b"@" + raw
            sources[index & 0x7FFF] = name
            wanted.append((os.fsdecode(raw), bool(flags & _WEAK)))
            inner += step
            if not step:
                break
        files[name] = (*files.get(name, ()), *wanted)
        at += following
        if not following:
            break
    return files, versions, sources


def defined_versions(chain: Chain, count: int, strings: Strings) -> Versions:
    """Return DT_VERDEF by index, without the entry that only names the file.

    Raises:
        ElfError: The table leads out of the file.
    """
    versions: Versions = {}
    at = 0
    for _ in range(min(count, _MOST_NODES)):
        _, flags, index, names, _, first, following = chain.take(_VERDEF, at)
        # The first name is the node's own; those that follow are its predecessors.
        if names and not flags & _BASE:
            versions[index & 0x7FFF] = b"@" + strings.raw(chain.take(_VERDAUX, at + first)[0])
        at += following
        if not following:
            break
    return versions
