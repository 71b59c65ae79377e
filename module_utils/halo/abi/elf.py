"""Reads what the dynamic loader reads of an ELF file, and no more: no section headers, never the whole file.

Tables are fetched with ``pread``: a mapped file that somebody truncates meanwhile would end the process with SIGBUS.
"""

from __future__ import annotations

import os
import stat
from struct import Struct

from . import tables
from .tables import ElfError

EXEC, DYN = 2, 3
X86_64, AMDGPU = 62, 224
DF_1_NODEFLIB, DF_1_PIE = 0x800, 0x08000000

_LOAD, _DYNAMIC, _INTERP, _GNU_STACK, _GNU_PROPERTY = 1, 2, 3, 0x6474E551, 0x6474E553
_ISA_NEEDED = 0xC0008002
_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = Struct("<IIQQQQQQ")
_TAG = Struct("<QQ")
_PROPERTY = Struct("<III")

#: Longer than any that exists, short enough to bound memory whatever a damaged file claims.
_MOST_TAGS = 65_536

NEEDED, HASH, STRTAB, SYMTAB, RELA, RELASZ, STRSZ, SONAME, RPATH = 1, 4, 5, 6, 7, 8, 10, 14, 15
PLTRELSZ, JMPREL, RUNPATH, RELRSZ, RELR = 2, 23, 29, 35, 36
GNU_HASH, VERSYM, FLAGS_1 = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFB
VERDEF, VERDEFNUM, VERNEED, VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF


class Elf:
    """One ELF object.

    Attributes:
        path: Where it was read, a path of this machine; symbols are fetched from there on demand.
        identity: Device and inode: what the loader takes for the same file.
        type: :data:`EXEC` or :data:`DYN`.
        interp: The program interpreter, empty in a library.
        isa: The level of x86-64 that it demands, 1 to 4; 0 where it says nothing.
        stack: Flags of PT_GNU_STACK; None where there is none, which means an executable stack.
        needed: DT_NEEDED in their order.
        verneed: File name to the nodes wanted of it, each with whether it is weak.
        verdef: The nodes it defines, without its own name.
        versions: Version index to ``@node`` as bytes, of both tables.
        sources: Version index to the file it is wanted of.
        tags: The dynamic section, the last of each tag.
        cut: Bytes that a PT_LOAD has beyond the end of the file; the loader dies of SIGBUS there.
    """

    __slots__ = (
        "cut",
        "flags_1",
        "identity",
        "interp",
        "isa",
        "mode",
        "needed",
        "path",
        "rpath",
        "runpath",
        "segments",
        "size",
        "soname",
        "sources",
        "stack",
        "tags",
        "type",
        "verdef",
        "verneed",
        "versions",
    )

    def __init__(self, path: str, info: os.stat_result) -> None:
        self.path = path
        self.identity = (info.st_dev, info.st_ino)
        self.mode = info.st_mode
        self.size = info.st_size
        self.type = 0
        self.interp = ""
        self.soname = ""
        self.rpath = ""
        self.runpath = ""
        self.flags_1 = 0
        self.cut = 0
        self.isa = 0
        self.stack: int | None = None
        self.segments: list[tuple[int, int, int]] = []
        self.tags: dict[int, int] = {}
        self.needed: tuple[str, ...] = ()
        self.verneed: dict[str, tuple[tuple[str, bool], ...]] = {}
        self.verdef: frozenset[str] = frozenset()
        self.versions: dict[int, bytes] = {}
        self.sources: dict[int, str] = {}

    @property
    def program(self) -> bool:
        """Whether it is started, not loaded."""
        return bool(self.interp) and (self.type == EXEC or bool(self.flags_1 & DF_1_PIE) or not self.soname)

    def place(self, address: int, size: int = 0) -> tuple[int, int]:
        """Return a virtual address's offset in the file, and how many bytes of the segment follow it there.

        Raises:
            ElfError: No segment has it, or not that many bytes.
        """
        for start, length, offset in self.segments:
            if start <= address < start + length:
                left = min(start + length - address, self.size - offset - (address - start))
                if left < size:
                    break
                return offset + address - start, left
        raise ElfError("damaged", f"a table at {address:#x} lies outside the file")


def read(path: str) -> Elf:
    """Read one object's header, dynamic section and version tables.

    Raises:
        ElfError: It is none that can be judged, or cannot be read. Devices and FIFOs are never waited for.
    """
    fd = opened(path)
    try:
        return _parsed(path, fd)
    except OSError as error:
        raise ElfError("unreadable", error.strerror or str(error)) from None
    finally:
        os.close(fd)


def opened(path: str) -> int:
    """Return a file descriptor for reading.

    Raises:
        ElfError: The file cannot be opened.
    """
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise ElfError("unreadable", getattr(error, "strerror", None) or str(error)) from None


def _parsed(path: str, fd: int) -> Elf:
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        raise ElfError("unreadable", "Is a directory" if stat.S_ISDIR(info.st_mode) else "no regular file")
    file = tables.File(fd)
    elf = Elf(path, info)
    count, offset = _header(elf, file.head)
    note = _segments(elf, file, _table(file, offset, count * _SEGMENT.size))
    if note[1]:
        elf.isa = _isa(file.read(min(note[1], 4096), min(note[0], elf.size)))
    return elf


def _header(elf: Elf, head: bytes) -> tuple[int, int]:
    """Judge the header in the loader's order; return number and offset of the program headers."""
    if head[:4] != b"\x7fELF":
        if len(head) < _HEADER.size:
            raise ElfError("short" if b"\0" in head or not head else "foreign", "file too short")
        raise ElfError("foreign", "invalid ELF header")
    if len(head) < _HEADER.size:
        raise ElfError("short", "file too short")
    ident, elf.type, machine, version, _, phoff, _, _, _, phentsize, phnum, _, _, _ = _HEADER.unpack_from(head)
    if ident[4] != 2:
        raise ElfError("class", "wrong ELF class: ELFCLASS32" if ident[4] == 1 else "wrong ELF class")
    if ident[5] != 1:
        raise ElfError("other", "ELF file data encoding not little-endian")
    if machine != X86_64:
        raise ElfError("machine", "code for AMD GPUs" if machine == AMDGPU else f"e_machine {machine}")
    if ident[7] not in (0, 3):
        raise ElfError("other", "ELF file OS ABI invalid")
    if ident[6] != 1 or version != 1 or ident[9:] != bytes(7):
        raise ElfError("damaged", "invalid ELF header")
    if elf.type not in (EXEC, DYN):
        raise ElfError("type", "only ET_DYN and ET_EXEC can be loaded")
    if phentsize != _SEGMENT.size:
        raise ElfError("damaged", "ELF file's phentsize not the expected size")
    return phnum, phoff


def _table(file: tables.File, offset: int, size: int) -> bytes:
    table = file.read(size, offset) if offset < 1 << 62 else b""
    if len(table) < size:
        raise ElfError("damaged", "cannot read file data")
    return table


def _isa(note: bytes) -> int:
    """Return the level that .note.gnu.property demands: of its bits the highest; 0 where it cannot be read."""
    at = 16
    while at + 12 <= len(note):
        kind, size, bits = _PROPERTY.unpack_from(note, at)
        if kind == _ISA_NEEDED:
            return min(int(bits).bit_length(), 4)
        at += 8 + (size + 7 & ~7)
    return 0


def _segments(elf: Elf, file: tables.File, table: bytes) -> tuple[int, int]:
    """Read what the program headers lead to; return offset and size of the properties' note."""
    dynamic = interp = note = (0, 0)
    for kind, flags, offset, address, _, size, _, _ in _SEGMENT.iter_unpack(table):
        if kind == _LOAD:
            elf.segments.append((address, size, offset))
            elf.cut = max(elf.cut, offset + size - elf.size if size else 0)
        elif kind == _DYNAMIC:
            dynamic = (offset, size)
        elif kind == _INTERP:
            interp = (offset, size)
        elif kind == _GNU_STACK:
            elf.stack = flags
        elif kind == _GNU_PROPERTY:
            note = (offset, size)
    if not dynamic[1]:
        raise ElfError("static", "object file has no dynamic section")
    if dynamic[0] + _TAG.size > elf.size:
        # What `objcopy --only-keep-debug` leaves: headers of segments whose contents are elsewhere.
        raise ElfError("static" if elf.cut else "damaged", "its dynamic section lies beyond its end")
    data = file.read(min(dynamic[1], _MOST_TAGS * _TAG.size), dynamic[0])
    data = data[: len(data) - len(data) % _TAG.size]
    entries = list(_TAG.iter_unpack(data))
    kinds = [tag for tag, _ in entries]
    if 0 in kinds:
        del entries[kinds.index(0) :]
    needed = [value for tag, value in entries if tag == NEEDED]
    elf.tags = dict(entries)
    tags = elf.tags
    try:
        at, left = elf.place(tags.get(STRTAB, -1))
    except ElfError:
        raise ElfError("damaged", "its string table lies outside the file") from None
    strings = tables.Strings(file, at, min(tags.get(STRSZ, left), left))
    if interp[1] and interp[0] < elf.size:
        found = file.read(min(interp[1], 4096), interp[0])
        elf.interp = os.fsdecode(found.split(b"\0")[0])
    elf.needed = tuple(strings.at(offset) for offset in needed)
    elf.soname = strings.at(tags[SONAME]) if SONAME in tags else ""
    elf.runpath = strings.at(tags[RUNPATH]) if RUNPATH in tags else ""
    # The loader forgets RPATH where there is a RUNPATH.
    elf.rpath = strings.at(tags[RPATH]) if RPATH in tags and RUNPATH not in tags else ""
    elf.flags_1 = tags.get(FLAGS_1, 0)
    if VERNEED in tags:
        chain, count = tables.Chain(file, *elf.place(tags[VERNEED])), tags.get(VERNEEDNUM, 0)
        elf.verneed, elf.versions, elf.sources = tables.needed_versions(chain, count, strings)
    if VERDEF in tags:
        chain, count = tables.Chain(file, *elf.place(tags[VERDEF])), tags.get(VERDEFNUM, 0)
        defined = tables.defined_versions(chain, count, strings)
        elf.verdef = frozenset(os.fsdecode(node[1:]) for node in defined.values())
        elf.versions.update(defined)
    return note
