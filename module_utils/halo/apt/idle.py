"""Pins that prefer an archive which no source of the host names, as those that the last ROCm left behind."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..findings import Finding

if TYPE_CHECKING:
    from .root import PrivateRoot
    from .view import View

#: Key in ``Pin: release`` -> what apt's Python bindings call it.
_FIELDS = {"a": "archive", "n": "codename", "o": "origin", "l": "label", "c": "component", "v": "version"}


def idle_pins(root: PrivateRoot, view: View, own: Collection[str]) -> list[Finding]:
    """Return a warning for each positive pin to a release or host that none of the archives is.

    Args:
        root: The private root, whose preferences are read.
        view: The opened cache.
        own: Names of files in ``preferences.d`` that this very run writes.
    """
    archives = [file for file in view.cache.file_list if not file.not_source]
    return [
        _finding(shown, pin, packages, archives)
        for path, shown in _files(root)
        if path.name not in own
        for pin, packages, priority in stanzas(path.read_text(encoding="utf-8", errors="replace"))
        if priority > 0 and not any(meets(pin, archive) for archive in archives)
    ]


def pinned_by(root: PrivateRoot, name: str, priority: int) -> str:
    """Return in words which pin of the preferences gives a package a priority, or nothing."""
    for path, shown in _files(root):
        for pin, packages, given in stanzas(path.read_text(encoding="utf-8", errors="replace")):
            if given == priority and any(fnmatchcase(name, pattern) for pattern in packages.split()):
                return f"`Pin: {pin}` for {packages} in {shown}"
    return ""


def _files(root: PrivateRoot) -> Iterable[tuple[Path, str]]:
    """Yield the preferences files that apt reads, each with its name on the host."""
    parts = root.path / "preferences.d"
    for path in (root.path / "preferences", *sorted(parts.iterdir())):
        # apt reads no others there, and says so itself.
        if path.is_file() and (path.parent != parts or path.suffix in ("", ".pref")):
            yield path, str(root.host / "etc/apt" / path.relative_to(root.path))


def stanzas(text: str) -> Iterable[tuple[str, str, int]]:
    """Yield ``Pin``, ``Package`` and priority of the stanzas of an apt preferences file."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
        fields = {
            key.strip().lower(): " ".join(value.split())
            for key, value in re.findall(r"^([A-Za-z-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.MULTILINE)
        }
        priority = fields.get("pin-priority", "")
        if "pin" in fields and re.fullmatch(r"[+-]?\d+", priority):
            yield fields["pin"], fields.get("package", "*"), int(priority)


def meets(pin: str, archive: Any) -> bool:
    """Say whether an archive is what a pin means; what is not understood is taken for met."""
    kind, _, rest = pin.partition(" ")
    if kind == "origin":
        return fnmatchcase(archive.site, rest.strip().strip('"'))
    if kind != "release":
        return True
    for part in rest.split(","):
        key, separator, value = part.strip().partition("=")
        if not separator or key not in _FIELDS or value.startswith("/"):
            continue
        if not fnmatchcase(str(getattr(archive, _FIELDS[key]) or ""), value.strip().strip('"')):
            return False
    return True


def _finding(path: str, pin: str, packages: str, archives: Iterable[Any]) -> Finding:
    origins = ", ".join(sorted({archive.origin for archive in archives if archive.origin})) or "none"
    evidence = f"`Pin: {pin}` for {packages} matches no archive; their origins are {origins}"
    remedy = f"remove {path}, or correct its Pin: line; this run writes pins of its own for the stack's archive"
    return Finding("APT.PIN_IDLE", "warning", path, evidence, remedy)
