"""Stores of toolchains: whether one is intact, and how it is made."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..findings import Finding
from .wanted import Toolchain, ToolchainError, no_space, occupied, unreadable

CONFIG_NAME = "clang.cfg"
MARKER_NAME = "halo-toolchain.json"


@dataclass(frozen=True)
class Plan:
    """What there is to do.

    Attributes:
        toolchain: What is wanted.
        before: The current store, its packages, and what is wrong with the one that is wanted.
        after: The same as wanted.
        unpack: Whether the store is to be made, or made again.
        leftovers: Remains of an interrupted run, which go away.
        kept: Names of the other stores of this toolchain, which stay.
        findings: What stands in the way.
    """

    toolchain: Toolchain
    before: dict[str, Any]
    after: dict[str, Any]
    unpack: bool = False
    leftovers: tuple[Path, ...] = ()
    kept: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything is to be done."""
        return self.unpack or self.before != self.after or bool(self.leftovers)


def plan(wanted: Toolchain, ahead: bool = False) -> Plan:
    """Compare what is wanted with what is there, and change nothing.

    Args:
        wanted: The toolchain.
        ahead: Whether the plan is made before the packages are fetched, as in check mode: their absence is no finding.

    Raises:
        OSError: Something below the prefix cannot be read.
    """
    current = str(wanted.link.readlink()) if wanted.link.is_symlink() else ""
    before: dict[str, Any] = {"store": current, "packages": _packages(wanted.prefix / current), "defect": ""}
    after: dict[str, Any] = {"store": "", "packages": [], "defect": ""}
    findings = _occupied(wanted)
    if not wanted.debs:
        if not ahead:
            findings.append(unreadable(wanted.source / "manifest.json", "it does not exist", wanted.source))
        return Plan(wanted, before, after, True, findings=tuple(findings))
    before["defect"] = _defect(wanted)
    after["store"] = wanted.store.name
    after["packages"] = [f"{deb.name} {deb.version}" for deb in wanted.debs]
    unpack = bool(before["defect"]) or not wanted.store.exists()
    if unpack and not findings:
        findings = _unfit_debs(wanted) or _lack_of_space(wanted)
    leftovers = tuple(path for path in _temporary(wanted) if os.path.lexists(path))
    kept = tuple(path.name for path in _stores(wanted) if path != wanted.store)
    return Plan(wanted, before, after, unpack, leftovers, kept, tuple(findings))


def apply(planned: Plan) -> None:
    """Unpack the store where it is missing or damaged, and let the link point to it.

    Both happen in one step each: at any moment the link leads to a whole toolchain, the old or the new one.

    Raises:
        ToolchainError: A package cannot be unpacked, or the file system is full.
        OSError: Something below the prefix cannot be written.
    """
    wanted = planned.toolchain
    new, old, link = _temporary(wanted)
    _make_directories(wanted.prefix)
    # Whoever holds the lock knows that what looks like a leftover is one.
    with _locked(wanted.prefix / f".{wanted.name}.lock"):
        for path in (new, old):
            if path.exists():
                shutil.rmtree(path)
        if planned.unpack:
            try:
                _unpack(wanted, new, old)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise ToolchainError(no_space(wanted, str(error))) from error
            finally:
                shutil.rmtree(new, ignore_errors=True)
        link.unlink(missing_ok=True)
        link.symlink_to(wanted.store.name)
        link.replace(wanted.link)


def _unpack(wanted: Toolchain, new: Path, old: Path) -> None:
    new.mkdir()
    for deb in wanted.debs:
        done = _dpkg_deb("--extract", str(wanted.source / deb.filename), str(new))
        if "No space left on device" in done.stderr:
            raise ToolchainError(no_space(wanted, done.stderr.strip()))
        if done.returncode:
            raise ToolchainError(unreadable(wanted.source / deb.filename, done.stderr.strip(), wanted.source))
    files = {str(path.relative_to(new)): _shape(path) for path in sorted(new.rglob("*")) if not _is_directory(path)}
    marker = {"name": wanted.name, "hash": wanted.hash, "debs": [asdict(deb) for deb in wanted.debs], "files": files}
    for name, text in ((CONFIG_NAME, wanted.config), (MARKER_NAME, json.dumps(marker, indent=1) + "\n")):
        (new / name).write_text(text, encoding="utf-8")
        (new / name).chmod(0o644)
    new.chmod(0o755)
    if wanted.store.exists():
        wanted.store.rename(old)
    new.rename(wanted.store)
    # A damaged store. What runs from it keeps its files open, what starts later finds the whole ones.
    shutil.rmtree(old, ignore_errors=True)


def _defect(wanted: Toolchain) -> str:
    """Return what is wrong with the store that is there, or nothing."""
    if not wanted.store.exists():
        return ""
    marker = _marker(wanted.store)
    files = marker.get("files")
    if marker.get("hash") != wanted.hash or not isinstance(files, dict):
        return f"{MARKER_NAME} is missing or damaged"
    try:
        if (wanted.store / CONFIG_NAME).read_text(encoding="utf-8") != wanted.config:
            return f"{CONFIG_NAME} was changed"
    except (OSError, ValueError):
        return f"{CONFIG_NAME} is missing or damaged"
    lost = [name for name, shape in files.items() if _shape(wanted.store / name) != shape]
    return f"{lost[0]} is missing or changed, one of {len(lost)}" if lost else ""


def _shape(path: Path) -> int | str:
    """Return what tells cheaply that a file is whole: its size in bytes, or where a link points."""
    try:
        return f"-> {path.readlink()}" if path.is_symlink() else path.lstat().st_size
    except OSError:
        return "missing"


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _marker(store: Path) -> dict[str, Any]:
    try:
        marker = json.loads((store / MARKER_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return marker if isinstance(marker, dict) else {}


def _packages(store: Path) -> list[str]:
    return [f"{deb['name']} {deb['version']}" for deb in _marker(store).get("debs", [])]


def _stores(wanted: Toolchain) -> list[Path]:
    pattern = re.compile(re.escape(wanted.name) + "-[0-9a-f]{12}")
    if not wanted.prefix.is_dir():
        return []
    return sorted(path for path in wanted.prefix.iterdir() if pattern.fullmatch(path.name))


def _temporary(wanted: Toolchain) -> tuple[Path, Path, Path]:
    """Return where a store is made, where a damaged one goes, and where the link is made."""
    hidden = f"{wanted.prefix}/.{wanted.name}"
    return Path(f"{hidden}.new"), Path(f"{hidden}.old"), Path(f"{hidden}.link")


def _make_directories(path: Path) -> None:
    """Make directories that everybody can enter, whatever the umask is: users compile with what lies below."""
    for directory in (*reversed(path.parents), path):
        if not directory.exists():
            directory.mkdir()
            directory.chmod(0o755)


def _occupied(wanted: Toolchain) -> list[Finding]:
    """Find what this project did not make where prefix, link and store belong."""
    for path in (*reversed(wanted.prefix.parents), wanted.prefix):
        if os.path.lexists(path) and not path.is_dir():
            return [occupied(path, "it is no directory")]
    if wanted.link.is_symlink():
        target = str(wanted.link.readlink())
        if not re.fullmatch(re.escape(wanted.name) + "-[0-9a-f]{12}", target):
            return [occupied(wanted.link, f"it links to {target}")]
    elif wanted.link.exists():
        return [occupied(wanted.link, "it is no link of this project's")]
    if wanted.store.exists() and not (_marker(wanted.store) or (wanted.store / CONFIG_NAME).exists()):
        return [occupied(wanted.store, f"it holds neither {MARKER_NAME} nor {CONFIG_NAME}")]
    return []


def _unfit_debs(wanted: Toolchain) -> list[Finding]:
    findings = []
    for deb in wanted.debs:
        path = wanted.source / deb.filename
        try:
            found = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            findings.append(unreadable(path, str(error), wanted.source))
            continue
        if found != deb.sha256:
            evidence = f"its sha256 is {found}, the manifest says {deb.sha256}"
            findings.append(unreadable(path, evidence, wanted.source))
    return findings


def _lack_of_space(wanted: Toolchain) -> list[Finding]:
    needed = 0
    for deb in wanted.debs:
        done = _dpkg_deb("--field", str(wanted.source / deb.filename), "Installed-Size")
        if done.returncode:
            return [unreadable(wanted.source / deb.filename, done.stderr.strip(), wanted.source)]
        # In KiB; the field is optional.
        needed += int(done.stdout.strip() or 0) * 1024
    free = shutil.disk_usage(next(path for path in (wanted.prefix, *wanted.prefix.parents) if path.exists())).free
    if needed <= free:
        return []
    return [no_space(wanted, f"{needed / 1e6:.1f} MB are needed, {free / 1e6:.1f} MB are free")]


def _dpkg_deb(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Messages are searched for, so they must not be translated.
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(["dpkg-deb", *arguments], capture_output=True, text=True, env=environment, check=False)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
