"""Where ld.so finds a library by name alone: ``/etc/ld.so.cache``, and what it is made from."""

from __future__ import annotations

import fnmatch
import os
import posixpath
from collections.abc import Iterator
from struct import Struct, error

from .paths import Root

_OLD, _NEW = b"ld.so-1.7.0", b"glibc-ld.so.cache1.1"
_HEADER, _ENTRY = Struct("<20sII4xI12x"), Struct("<iII4xQ")
_EXTENSION_MAGIC = 0xEAA42174
#: A library of x86-64 with glibc.
_FLAGS = 0x0303
_NAMED = 1 << 62


def parse(data: bytes, levels: tuple[str, ...]) -> dict[str, str]:
    """Return name to path, as ld.so chooses.

    Args:
        data: The file, in the new format or with the old one in front.
        levels: The ``glibc-hwcaps`` subdirectories that the CPU can use, best first.

    Returns:
        Nothing where the file is none that this glibc family reads.
    """
    start = 0
    if data.startswith(_OLD):
        count = int.from_bytes(data[12:16], "little")
        start = (16 + 12 * count + 7) & ~7
    data = data[start:]
    if not data.startswith(_NEW):
        return {}
    try:
        return _entries(data, levels)
    except (error, ValueError):
        return {}


def _entries(data: bytes, levels: tuple[str, ...]) -> dict[str, str]:
    _, count, _, extensions = _HEADER.unpack_from(data)
    named = _hwcaps(data, extensions)
    # Lower is better; what stands in no hwcaps directory comes last.
    order = {number: levels.index(name) for number, name in enumerate(named) if name in levels}
    names: dict[int, str] = {}
    seen: dict[str, tuple[int, int]] = {}
    for flags, key, value, hwcap in _ENTRY.iter_unpack(data[_HEADER.size : _HEADER.size + count * _ENTRY.size]):
        if flags != _FLAGS:
            continue
        # Since glibc 2.37 any other hwcap is passed over; older ones had their entries there for legacy directories.
        rank = order.get(hwcap & 0xFFFFFFFF, -1) if hwcap & _NAMED else -1 if hwcap else len(levels)
        if rank < 0:
            continue
        if key not in names:
            names[key] = _string(data, key)
        name = names[key]
        if name not in seen or rank < seen[name][0]:
            seen[name] = (rank, value)
    return {name: _string(data, value) for name, (_, value) in seen.items()}


def _hwcaps(data: bytes, extensions: int) -> list[str]:
    """Return the names of the hwcaps subdirectories that the cache speaks of."""
    if not extensions:
        return []
    magic, count = Struct("<II").unpack_from(data, extensions)
    if magic != _EXTENSION_MAGIC:
        return []
    for number in range(min(count, 64)):
        tag, _, offset, size = Struct("<IIII").unpack_from(data, extensions + 8 + 16 * number)
        if tag == 1:
            return [_string(data, place) for (place,) in Struct("<I").iter_unpack(data[offset : offset + (size & ~3)])]
    return []


def _string(data: bytes, offset: int) -> str:
    return os.fsdecode(data[offset : data.index(b"\0", offset)])


def directories(root: Root) -> list[str]:
    """Return what ldconfig would look through: ``ld.so.conf`` with what it includes, its parts if it is missing."""
    if text := root.text("/etc/ld.so.conf"):
        return list(dict.fromkeys(_configured(root, text, "/etc", 0)))
    return list(dict.fromkeys(_configured(root, "include /etc/ld.so.conf.d/*.conf", "/etc", 0)))


def _configured(root: Root, text: str, base: str, depth: int) -> Iterator[str]:
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        word, _, rest = line.partition(" ")
        if word == "include" and depth < 8:
            for pattern in rest.split():
                directory, glob = posixpath.split(posixpath.join(base, pattern))
                for name in sorted(fnmatch.filter(root.names(directory), glob)):
                    yield from _configured(root, root.text(f"{directory}/{name}"), directory, depth + 1)
        elif line.startswith("/"):
            yield line.split("=")[0].rstrip("/") or "/"
