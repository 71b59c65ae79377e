"""Copies of the host's sources, preferences and keyrings, with what a run is going to change laid over them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

_ETC = "/etc/apt"
_CONTRADICTED = re.compile(r"Conflicting values set for option \S+ regarding source [a-z+-]+:/*(\S+?)/* ")


def copy(source: Path, directory: Path, files: Mapping[str, str | None]) -> None:
    """Copy a file of ``/etc/apt`` into a directory, or what it is going to be.

    Args:
        source: The file, which may be missing.
        directory: The directory to copy into.
        files: Path on the host -> text of files as they will be, ``None`` for those that go.
    """
    target, name = directory / source.name, f"{_ETC}/{source.name}"
    if name not in files:
        if source.is_file():
            shutil.copy2(source, target)
    elif (text := files[name]) is not None:
        target.write_text(text, encoding="utf-8")


def copy_parts(
    source: Path,
    directory: Path,
    files: Mapping[str, str | None],
    last: Mapping[str, str | None] | Mapping[str, str],
) -> None:
    """Copy a directory of ``/etc/apt`` into another directory.

    Args:
        source: The directory, which may be missing.
        directory: The directory to copy into.
        files: As :func:`copy` takes it.
        last: Name of a file in the directory -> its text, laid over that.
    """
    # Times are kept, because apt throws its caches away when sources are newer than they.
    target, prefix = directory / source.name, f"{_ETC}/{source.name}/"
    repaired = {path[len(prefix) :]: text for path, text in files.items() if path.startswith(prefix)}
    overlay = {**repaired, **last}
    target.mkdir()
    for entry in sorted(source.iterdir()) if source.is_dir() else []:
        if entry.is_file() and entry.name not in overlay:
            shutil.copy2(entry, target / entry.name)
    for name, text in overlay.items():
        if text is not None:
            (target / name).write_text(text, encoding="utf-8")
            (target / name).chmod(0o644)
    if source.is_dir() and not overlay:
        shutil.copystat(source, target)
    elif not overlay:
        os.utime(target, (0, 0))


def lay_keyrings(directory: Path, keyrings: Mapping[str, bytes]) -> dict[str, str]:
    """Write keyrings as they will be, lead the copied sources that name their paths to them, and return what is where.

    Args:
        directory: The directory with the copied sources.
        keyrings: Path of a keyring on the host -> its bytes.

    Returns:
        Path of a copy -> path on the host.
    """
    copies = {}
    for number, (path, data) in enumerate(keyrings.items()):
        copy = directory / "keyrings" / f"{number}-{Path(path).name}"
        copy.parent.mkdir(exist_ok=True)
        copy.parent.chmod(0o755)
        copy.write_bytes(data)
        copy.chmod(0o644)
        copies[str(copy)] = path
        for source in _sources(directory):
            text = source.read_bytes()
            # A path that only begins like this one is another file.
            led = bytes(copy).join(re.split(re.escape(path.encode()) + rb"(?![\w./-])", text))
            if led != text:
                source.write_bytes(led)
    return copies


def contradicting(directory: Path, message: str) -> list[str]:
    """Return the copied files of sources that name the archive about which apt says that its sources contradict."""
    archive = _CONTRADICTED.search(message)
    if not archive:
        return []
    return [
        str(source.relative_to(directory))
        for source in _sources(directory)
        if archive[1] in source.read_text(encoding="utf-8", errors="replace")
    ]


def _sources(directory: Path) -> list[Path]:
    paths = (directory / "sources.list", *sorted((directory / "sources.list.d").iterdir()))
    return [path for path in paths if path.is_file()]
