"""Read which code objects a HIP executable carries, without a GPU and without LLVM's tools.

Formats: ELF64 (System V gABI, chapter 4), Clang's offload bundle and its compressed form
(https://clang.llvm.org/docs/ClangOffloadBundler.html, as of Clang 15 to 19).
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

#: The section that hipcc puts the bundle into.
SECTION = ".hip_fatbin"

_PLAIN = b"__CLANG_OFFLOAD_BUNDLE__"
_COMPRESSED = b"CCOB"
_ZLIB = 0
_EM_AMDGPU = 224


class UnreadableError(ValueError):
    """The bytes are not what they should be."""


class CompressedError(ValueError):
    """The bundle is compressed in a way that Python cannot undo here; clang-offload-bundler can."""


@dataclass(frozen=True)
class CodeObject:
    """One entry of an offload bundle.

    Attributes:
        target: The whole id, ``hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-``.
        size: Length in bytes; 0 where the entry is empty, as the host's is.
        machine: The ELF machine number of its content, or None where it is no ELF file.
    """

    target: str
    size: int
    machine: int | None

    @property
    def gfx(self) -> str:
        """The processor without features, ``gfx90a``; empty for the host's entry."""
        return gfx_of(self.target)

    @property
    def is_amdgpu(self) -> bool:
        """Whether its content is an ELF file for AMD GPUs."""
        return self.machine == _EM_AMDGPU


def gfx_of(target: str) -> str:
    """Return the processor in a bundle entry's id, ``gfx1151``, or an empty string where it names none."""
    # Features follow a colon (":xnack-"); generic targets hold dashes themselves ("gfx11-generic").
    head = target.split(":", 1)[0]
    start = head.find("-gfx")
    return head[start + 1 :] if start >= 0 else ""


def section(elf: bytes, name: str = SECTION) -> bytes | None:
    """Return the content of a section of a 64-bit little-endian ELF file, or None where it has no such section.

    Raises:
        UnreadableError: It is no such file, or it is cut short.
    """
    if elf[:6] != b"\x7fELF\x02\x01":
        raise UnreadableError("no 64-bit little-endian ELF file")
    try:
        (table,) = struct.unpack_from("<Q", elf, 0x28)
        entry_size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
        headers = [struct.unpack_from("<IIQQQQ", elf, table + index * entry_size) for index in range(count)]
        names = _slice(elf, *headers[names_index][4:6])
        for name_at, _type, _flags, _address, offset, size in headers:
            if names[name_at : names.index(b"\0", name_at)] == name.encode():
                return _slice(elf, offset, size)
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        raise UnreadableError(f"ELF section headers: {error}") from error
    return None


def code_objects(fatbin: bytes) -> list[CodeObject]:
    """Return the entries of all bundles in a ``.hip_fatbin`` section; one is there for each translation unit.

    Raises:
        UnreadableError: There is no bundle, or one is cut short.
        CompressedError: A bundle is compressed with something else than zlib.
    """
    found: list[CodeObject] = []
    position = _next_bundle(fatbin, 0)
    if position is None:
        raise UnreadableError("no offload bundle begins in it")
    while position is not None:
        try:
            if fatbin.startswith(_COMPRESSED, position):
                bundle, end = _decompress(fatbin, position)
                entries, _ = _entries(bundle, 0)
            else:
                entries, end = _entries(fatbin, position)
        except (struct.error, OverflowError, UnicodeDecodeError, zlib.error) as error:
            raise UnreadableError(f"offload bundle at byte {position}: {error}") from error
        found += entries
        position = _next_bundle(fatbin, end)
    return found


def _next_bundle(data: bytes, start: int) -> int | None:
    positions = [at for at in (data.find(_PLAIN, start), data.find(_COMPRESSED, start)) if at >= 0]
    return min(positions, default=None)


def _entries(data: bytes, start: int) -> tuple[list[CodeObject], int]:
    """Return the entries of the bundle that begins at a byte, and the byte where it ends."""
    position = start + len(_PLAIN)
    (count,) = struct.unpack_from("<Q", data, position)
    position += 8
    end = position
    found = []
    for _ in range(count):
        offset, size, id_size = struct.unpack_from("<QQQ", data, position)
        position += 24
        target = _slice(data, position, id_size).decode("ascii")
        position += id_size
        content = _slice(data, start + offset, size)
        machine = struct.unpack_from("<H", content, 18)[0] if content[:4] == b"\x7fELF" else None
        found.append(CodeObject(target, size, machine))
        end = max(end, position, start + offset + size)
    return found, end


def _decompress(data: bytes, start: int) -> tuple[bytes, int]:
    """Return the plain form of the compressed bundle that begins at a byte, and the byte where it ends."""
    version, method = struct.unpack_from("<HH", data, start + 4)
    # Version 1 does not say how long it is; 2 holds sizes of 32 bits, 3 of 64. A hash of 8 bytes follows.
    size_format, header = {1: ("", 20), 2: ("<I", 24), 3: ("<Q", 32)}.get(version, ("", 0))
    if not header:
        raise UnreadableError(f"compressed offload bundle of the unknown version {version}")
    if method != _ZLIB:
        raise CompressedError(f"an offload bundle is compressed with method {method} (1: zstd)")
    end = start + struct.unpack_from(size_format, data, start + 8)[0] if size_format else len(data)
    inflate = zlib.decompressobj()
    plain = inflate.decompress(_slice(data, start + header, end - start - header)) + inflate.flush()
    if not plain.startswith(_PLAIN):
        raise UnreadableError("a compressed offload bundle holds no bundle")
    return plain, end - len(inflate.unused_data)


def _slice(data: bytes, offset: int, size: int) -> bytes:
    """Return a part, which must be whole: Python's own slices are silently short."""
    if offset < 0 or size < 0 or offset + size > len(data):
        raise UnreadableError(f"cut short: {size} bytes at {offset} in {len(data)}")
    return data[offset : offset + size]
