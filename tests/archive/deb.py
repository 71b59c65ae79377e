"""Builds .deb files with dpkg-deb."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .description import Package
from .elf import Compiler
from .errors import run

#: Every file's time: a package with the same description has the same bytes.
EPOCH = 1_780_000_000


def control_text(package: Package, installed_kib: int) -> str:
    """Return the control file."""
    fields = dict(package.control)
    size = package.installed_size if package.installed_size is not None else installed_kib
    description = fields.pop("Description")
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\n".join([*lines, f"Installed-Size: {size}", f"Description: {description}", ""])


def conffiles(package: Package) -> str:
    """Return the conffiles: all regular files below /etc, as debhelper does it."""
    paths = [path for path, spec in package.files.items() if "symlink" not in spec]
    return "".join(f"{path}\n" for path in paths if path.startswith("/etc/"))


def build(package: Package, directory: Path, compiler: Compiler) -> Path:
    """Build a package.

    Args:
        package: What to build.
        directory: Where to put the .deb; must exist.
        compiler: Compiles its ELF files.

    Returns:
        The .deb.

    Raises:
        ArchiveError: gcc or dpkg-deb refuses.
    """
    target = directory / package.filename
    with TemporaryDirectory(prefix="deb-", dir=directory) as work:
        tree = Path(work)
        tree.chmod(0o755)
        written = sum(_write(tree, path, spec, compiler) for path, spec in package.files.items())
        meta = tree / "DEBIAN"
        meta.mkdir()
        (meta / "control").write_text(control_text(package, -(-written // 1024)), encoding="utf-8")
        if listed := conffiles(package):
            (meta / "conffiles").write_text(listed, encoding="utf-8")
        for name, text in package.scripts.items():
            (meta / name).write_text(text, encoding="utf-8")
            (meta / name).chmod(0o755)
        # gzip at its fastest: nobody waits for these to download, everybody for them to be built.
        options = ("--root-owner-group", "-Zgzip", "-z1")
        run(["dpkg-deb", *options, "--build", tree, target], env=os.environ | {"SOURCE_DATE_EPOCH": str(EPOCH)})
    return target


def stanza(package: Package, filename: str) -> str:
    """Return the index's stanza of a package that is never built; its checksum is that of nothing that exists."""
    size = package.index_only or 0
    installed = package.installed_size if package.installed_size is not None else 3 * size // 1024
    fields = control_text(package, installed).rstrip("\n")
    checksum = hashlib.sha256(f"index only: {filename}".encode()).hexdigest()
    return f"{fields}\nFilename: {filename}\nSize: {size}\nSHA256: {checksum}\n"


def _write(tree: Path, path: str, spec: dict[str, Any] | Any, compiler: Compiler) -> int:
    """Write one file of the package and return its size."""
    target = tree / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if "symlink" in spec:
        target.symlink_to(spec["symlink"])
        return 0
    if "content" in spec:
        data = spec["content"].encode()
    elif "size" in spec:
        data = bytes(spec["size"])
    else:
        kind = "elf" if "elf" in spec else "program"
        data = compiler.compiled(kind, spec[kind])
    target.write_bytes(data)
    target.chmod(spec["mode"])
    return len(data)
