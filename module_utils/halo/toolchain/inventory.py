"""What there is on a host to compile with: compilers, headers, C++ libraries and device bitcode, read and never run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import bitcode

TRIPLET = "x86_64-linux-gnu"

#: Directories that hold an LLVM, below the root directory; glob patterns.
_LLVM = ("usr/lib/llvm-*", "opt/rocm*/llvm", "opt/rocm*/lib/llvm", "opt/rocm/core-*/lib/llvm")
#: Directories that hold libc++'s headers.
_LIBCXX = (
    *(f"{llvm}/include/c++/v1" for llvm in _LLVM),
    "usr/include/c++/v1",
    "opt/halo/toolchain/*/usr/lib/llvm-*/include/c++/v1",
)
#: Directories that hold the device libraries of ROCm.
_BITCODE = (
    f"usr/lib/{TRIPLET}/amdgcn/bitcode",
    "usr/amdgcn/bitcode",
    "opt/rocm*/amdgcn/bitcode",
    "opt/rocm/core-*/amdgcn/bitcode",
    *(f"{llvm}/lib/clang/*/{place}" for llvm in _LLVM for place in ("amdgcn/bitcode", "lib/amdgcn/bitcode")),
)

_VERSION = re.compile(r"^#\s*define _LIBCPP_VERSION (\d+)", re.MULTILINE)
_MINIMUM = re.compile(r"only supports Clang (\d+) and later")
_GCC = f"usr/lib/gcc/{TRIPLET}"
#: The libstdc++ of gcc's own packages, on which all of its headers hang.
_HEADER = "usr/include/c++/{major}/cmath"


@dataclass(frozen=True)
class Item:
    """One thing to compile with.

    Attributes:
        kind: ``clang``, ``libcxx`` (headers), ``gcc`` (the directory that clang takes libstdc++ from) or ``bitcode``.
        path: Where it lies on the host.
        prefix: What it belongs to: ``/usr``, or a ROCm's own directory.
        major: The major version of it, or of the LLVM that wrote it.
        minimum: The oldest major of clang that the headers are for; 0 where they do not say.
        newest: Whether there is no newer one of its kind.
        complete: Whether its C++ headers and library are there.
        used: Whether it is what the stack compiles with.
    """

    kind: str
    path: str
    prefix: str
    major: int
    minimum: int = 0
    newest: bool = False
    complete: bool = True
    used: bool = False


def read(root: Path = Path("/"), compilers: tuple[str, ...] = ()) -> list[Item]:
    """Return what a host has, each thing once, by kind and path.

    What cannot be read or understood is left out; other checks say so.

    Args:
        root: The root directory of the host.
        compilers: Paths of the compilers that the stack takes.
    """
    found: dict[tuple[str, Path], Item] = {}
    for path, item in (*_clangs(root, compilers), *_libcxx(root), *_gccs(root), *_bitcode(root)):
        found.setdefault((item.kind, path), item)
    return sorted(found.values(), key=lambda item: (item.kind, item.major, item.path))


def _clangs(root: Path, compilers: tuple[str, ...]) -> Iterator[tuple[Path, Item]]:
    # The same clang is found by its versioned name in /usr/bin and in LLVM's own directory.
    used = {_real(root, root / compiler.lstrip("/")).parent for compiler in compilers}
    for llvm in _directories(root, _LLVM):
        program = llvm / "bin" / "clang"
        majors = [_leading(path.name) for path in (llvm / "lib/clang").glob("*")] if _is_file(program) else []
        major = max((number for number in majors if number is not None), default=None)
        if major is not None:
            real = _real(root, program)
            yield real, Item("clang", _shown(root, program), _prefix(root, llvm), major, used=real.parent in used)


def _libcxx(root: Path) -> Iterator[tuple[Path, Item]]:
    for headers in _directories(root, _LIBCXX):
        match = _VERSION.search(_text(headers / "__config"))
        if match is None:
            continue
        # 14000 was written until 15, 160006 since 16.
        number = int(match[1])
        major = number // 10_000 if number >= 160_000 else number // 1000
        said = [_MINIMUM.search(_text(headers / name)) for name in ("__config", "__configuration/compiler.h")]
        minimum = max((int(found[1]) for found in said if found), default=0)
        real = _real(root, headers)
        yield real, Item("libcxx", _shown(root, real), _prefix(root, real), major, minimum)


def _gccs(root: Path) -> Iterator[tuple[Path, Item]]:
    majors = [int(path.parent.name) for path in root.glob(f"{_GCC}/*/crtbegin.o") if path.parent.name.isdecimal()]
    for major in majors:
        library = root / _GCC / str(major) / "libstdc++.so"
        # The link may lead to another package's file, which may be missing: that the link is there is what counts.
        complete = _is_file(root / _HEADER.format(major=major)) and (library.is_symlink() or library.exists())
        path = root / _GCC / str(major)
        yield path, Item("gcc", _shown(root, path), "/usr", major, newest=major == max(majors), complete=complete)


def _bitcode(root: Path) -> Iterator[tuple[Path, Item]]:
    for directory in _directories(root, _BITCODE):
        file = directory / "ocml.bc"
        try:
            major = bitcode.major(bitcode.producer(file))
        except (OSError, bitcode.BitcodeError):
            continue
        if major is not None:
            real = _real(root, directory)
            yield real, Item("bitcode", _shown(root, real), _prefix(root, real), major)


def _directories(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in sorted(root.glob(pattern)) if path.is_dir())


def _real(root: Path, path: Path) -> Path:
    """Return where a path leads below the root; what leads out of it stays as it is."""
    try:
        real = path.resolve()
        real.relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):
        return path
    return real


def _prefix(root: Path, path: Path) -> str:
    parts = path.relative_to(root).parts if root in path.parents else _real(root, path).parts[1:]
    if parts[0] == "opt" and len(parts) > 1:
        return "/" + "/".join(parts[:3] if parts[1] == "rocm" and parts[2].startswith("core-") else parts[:2])
    return f"/{parts[0]}"


def _shown(root: Path, path: Path) -> str:
    return f"/{path.relative_to(root)}"


def _leading(name: str) -> int | None:
    digits = name.partition(".")[0]
    return int(digits) if digits.isdecimal() else None


def _is_file(path: Path) -> bool:
    return path.is_file()


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(200_000)
    except OSError:
        return ""
