"""One file of apt preferences: what is there, what belongs there, and how it gets there."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .apt import dpkgdb
from .apt.preferences import INSTALLED, MARK, Pin, render
from .findings import Finding

#: Above this, apt downgrades an installed package to reach the pin (apt_preferences(5)).
HIGHEST_SAFE = 1000


@dataclass(frozen=True)
class PinFile:
    """One preferences file as it is and as it is to be; None where there is no file.

    Attributes:
        path: The file, below the root that was asked for.
        before: Its text now.
        after: Its text as wanted.
        findings: What keeps it from being written.
    """

    path: Path
    before: str | None
    after: str | None
    findings: tuple[Finding, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything is to be written or removed."""
        return self.before != self.after


def plan(file: str, pins: Sequence[Mapping[str, Any]], present: bool = True, root: str = "/") -> PinFile:
    """Compare one preferences file with the pins that belong into it, and change nothing.

    Args:
        file: The file's name in ``/etc/apt/preferences.d``, without ``.pref``.
        pins: Pins in their plain form; one without ``file`` belongs into this file.
        present: Whether the file is wanted at all.
        root: The directory that is taken for ``/``.

    Raises:
        OSError: The file or dpkg's status cannot be read.
    """
    path = Path(root) / "etc/apt/preferences.d" / f"{file}.pref"
    wanted, findings = _parse(file, pins, present)
    if findings:
        return PinFile(path, None, None, tuple(findings))
    before, foreign = _read(path)
    if foreign:
        return PinFile(path, before, before, (foreign,))
    if not present:
        return PinFile(path, before, None)
    installed = dpkgdb.read(root).versions if any(pin.version == INSTALLED for pin in wanted) else {}
    return PinFile(path, before, render(wanted, installed))


def apply(planned: PinFile) -> None:
    """Write or remove the file as planned, in one step: apt reads either the old or the new one.

    Raises:
        OSError: The file cannot be written or removed.
    """
    if planned.after is None:
        planned.path.unlink()
        return
    planned.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    # apt passes over hidden files, so it never reads half a file.
    temporary = planned.path.with_name(f".{planned.path.name}.new")
    with temporary.open("w", encoding="utf-8") as stream:
        os.fchmod(stream.fileno(), 0o644)
        stream.write(planned.after)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(planned.path)


def _parse(file: str, pins: Sequence[Mapping[str, Any]], present: bool) -> tuple[list[Pin], list[Finding]]:
    remedy = "correct the pin; docs/architecture.md, section Wishes, says what a pin may hold"
    wanted, reasons = [], []
    if present and not pins:
        reasons.append("no pins are given, and state is present")
    try:
        # A pin of its own, so that a bad file name is found even where there are no pins.
        Pin(file=file, packages=("any",), version="1", priority=1)
    except ValueError as error:
        reasons.append(str(error))
    for data in pins if not reasons else ():
        try:
            pin = Pin.from_dict({**data, "file": data.get("file") or file})
            if pin.file != file:
                raise ValueError(f"{', '.join(pin.packages)}: this pin belongs into {pin.file}")
            if pin.priority > HIGHEST_SAFE:
                raise ValueError(f"{', '.join(pin.packages)}: with priority {pin.priority} apt would downgrade them")
            wanted.append(pin)
        except ValueError as error:
            reasons.append(str(error))
    return wanted, [Finding("PIN.INVALID", "error", file, reason, remedy) for reason in reasons]


def _read(path: Path) -> tuple[str | None, Finding | None]:
    """Return the text of the file, and a finding where it is not this project's."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None, None
    text = path.read_text(encoding="utf-8", errors="replace") if stat.S_ISREG(mode) else ""
    first = text.split("\n", 1)[0]
    if first == MARK:
        return text, None
    evidence = f"it starts with {first!r}" if stat.S_ISREG(mode) else "it is no regular file"
    remedy = f"mv {path} {path}.disabled, if it is not needed, and run again"
    return text, Finding("PIN.FOREIGN_FILE", "error", str(path), evidence, remedy)
