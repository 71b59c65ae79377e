"""Whether the file systems hold what a plan brings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..findings import Finding
from .model import human


def shortages(needs: Iterable[tuple[Path, int]]) -> list[Finding]:
    """Return an error finding for each file system that is too full.

    Args:
        needs: Directories, which need not exist yet, and the bytes that will be written below each.
    """
    wanted: dict[int, int] = {}
    places: dict[int, list[Path]] = {}
    for path, size in needs:
        if size > 0:
            device = _existing(path).stat().st_dev
            wanted[device] = wanted.get(device, 0) + size
            places.setdefault(device, []).append(path)
    findings = []
    for device, size in wanted.items():
        state = os.statvfs(_existing(places[device][0]))
        free = state.f_bavail * state.f_frsize
        if free < size:
            names = ", ".join(str(path) for path in dict.fromkeys(places[device]))
            evidence = f"{human(size)} needed, {human(free)} free, {human(size - free)} missing"
            remedy = f"free {human(size - free)} there, for example with `apt-get clean`"
            findings.append(Finding("APT.NO_SPACE", "error", names, evidence, remedy))
    return findings


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
