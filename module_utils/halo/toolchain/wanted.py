"""What a toolchain is to consist of, and what can be wrong with it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from ..findings import Finding, text

# The rpath is absolute, so that a program keeps the store that it was linked against when the link moves on. It is a
# DT_RPATH, not a DT_RUNPATH: the latter does not hold for what a library needs in turn, so that a program linked with
# --as-needed would load this libc++ together with the system's libc++abi.
# -isystem instead of -cxx-isystem: libc++'s headers must come before those of any -isystem on the command line.
_CONFIG = """\
# Written by halo-provision. Use: clang++ --config {link}/clang.cfg
-stdlib=libc++
-nostdinc++
-isystem <CFGDIR>/usr/lib/llvm-{major}/include/c++/v1
-L<CFGDIR>/usr/lib/llvm-{major}/lib
-Wl,-rpath,{store}/usr/lib/llvm-{major}/lib
-Wl,--disable-new-dtags
"""


class ToolchainError(Exception):
    """The toolchain cannot be made.

    Attributes:
        findings: Why not.
    """

    def __init__(self, *findings: Finding) -> None:
        super().__init__(text(findings))
        self.findings = findings


@dataclass(frozen=True)
class Deb:
    """One entry of the manifest that lies beside fetched packages; sizes in bytes, the hash in hexadecimal."""

    name: str
    version: str
    architecture: str
    filename: str
    sha256: str
    size: int
    origin: str


@dataclass(frozen=True)
class Toolchain:
    """A toolchain as it is wanted.

    Attributes:
        name: Name of the link, for instance ``libc++-17``.
        major: LLVM's major version, as in ``/usr/lib/llvm-17``.
        prefix: The directory of stores and links.
        source: The directory of the fetched packages.
        debs: What it consists of, sorted by name; nothing where it was not fetched yet.
    """

    name: str
    major: int
    prefix: Path
    source: Path
    debs: tuple[Deb, ...]

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits over everything that the content of the store depends on."""
        inputs = [_CONFIG, self.major, [[deb.name, deb.version, deb.architecture, deb.sha256] for deb in self.debs]]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:12]

    @property
    def store(self) -> Path:
        """The directory that holds it."""
        return self.prefix / f"{self.name}-{self.hash}"

    @property
    def link(self) -> Path:
        """The path under which it is used."""
        return self.prefix / self.name

    @property
    def config(self) -> str:
        """The text of clang's configuration file."""
        return _CONFIG.format(link=self.link, store=self.store, major=self.major)


def request(name: str, major: int, prefix: str, source: str) -> Toolchain:
    """Make a wish from what a user gave and from what was fetched.

    Args:
        name: Name of the link, for instance ``libc++-17``.
        major: LLVM's major version.
        prefix: The directory of stores and links.
        source: The directory of the fetched packages and their manifest.

    Raises:
        ToolchainError: A value is unfit to stand in a path and in clang's configuration, or the manifest is damaged.
        OSError: The manifest cannot be read.
    """
    reasons = []
    if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]*", name):
        reasons.append(f"name {name!r} is not made of small letters, digits, +, . and -")
    if major < 1:
        reasons.append(f"major {major} is no version of LLVM")
    # clang splits its configuration at blanks, and -Wl at commas.
    if not re.fullmatch(r"(/[A-Za-z0-9_+.-]+)+", prefix):
        reasons.append(f"prefix {prefix!r} is not an absolute path of letters, digits, _, +, . and -")
    if reasons:
        code, remedy = "TOOLCHAIN.REQUEST_INVALID", "correct it; the defaults of role toolchain_pin are fit"
        raise ToolchainError(*(Finding(code, "error", name, reason, remedy) for reason in reasons))
    return Toolchain(name, major, Path(prefix), Path(source), _read_manifest(Path(source)))


def _read_manifest(source: Path) -> tuple[Deb, ...]:
    path = source / "manifest.json"
    try:
        debs = [Deb(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return ()
    except (ValueError, TypeError) as error:
        raise ToolchainError(unreadable(path, f"it is no manifest of packages: {error}", source)) from error
    elsewhere = [deb.filename for deb in debs if Path(deb.filename).name != deb.filename]
    if elsewhere or not debs:
        reason = f"it names files elsewhere: {', '.join(elsewhere)}" if elsewhere else "it names no packages"
        raise ToolchainError(unreadable(path, reason, source))
    return tuple(sorted(debs, key=lambda deb: deb.name))


def occupied(path: Path, evidence: str) -> Finding:
    """Say that something which this project did not make lies in the way."""
    remedy = f"mv {path} {path}.disabled, if it is not needed, or set toolchain_pin_prefix to another directory"
    return Finding("TOOLCHAIN.PREFIX_OCCUPIED", "error", str(path), evidence, remedy)


def no_space(wanted: Toolchain, evidence: str) -> Finding:
    """Say that the file system is too full."""
    remedy = f"make room on the file system of {wanted.prefix}, or set toolchain_pin_prefix to a directory on another"
    return Finding("TOOLCHAIN.NO_SPACE", "error", str(wanted.prefix), evidence, remedy)


def unreadable(path: Path, evidence: str, source: Path) -> Finding:
    """Say that a fetched package or its manifest, below ``source``, is not what it must be."""
    remedy = f"rm -r {source} and run again with apt_transaction among the roles: it downloads the packages"
    return Finding("TOOLCHAIN.DEB_UNREADABLE", "error", str(path), evidence, remedy)
