"""Which pin gives a package its priority, for explanations. What is wrong with pins is the audit's matter."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from ..audit.stanzas import Stanza, stanzas

if TYPE_CHECKING:
    from .root import PrivateRoot


def pinned_by(root: PrivateRoot, name: str, priority: int) -> str:
    """Return in words which pin of the preferences gives a package a priority, or nothing.

    Args:
        root: The private root, whose preferences are read.
        name: The package.
        priority: The priority that apt gives it.
    """
    for file, stanza in _stanzas(root.path):
        packages = stanza.words("package")
        given = stanza.words("pin-priority") in ((str(priority),), (f"+{priority}",))
        if given and any(fnmatchcase(name, pattern) for pattern in packages):
            shown = root.host / "etc/apt" / file.relative_to(root.path)
            return f"`Pin: {' '.join(stanza.words('pin'))}` for {' '.join(packages)} in {shown}"
    return ""


def _stanzas(etc: Path) -> Iterator[tuple[Path, Stanza]]:
    parts = etc / "preferences.d"
    for path in (etc / "preferences", *sorted(parts.iterdir())):
        # apt reads no others there, and says so itself.
        if path.is_file() and (path.parent != parts or path.suffix in ("", ".pref")):
            yield from ((path, stanza) for stanza in stanzas(path.read_text(encoding="utf-8", errors="replace")))
