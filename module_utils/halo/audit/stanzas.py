"""deb822 files in stanzas with their lines; a stanza is read by apt's own parser, where python3-apt is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

try:
    import apt_pkg
except ImportError:
    # Sources must be repaired before python3-apt can be installed.
    apt_pkg = None


@dataclass(frozen=True)
class Stanza:
    """One stanza of a file.

    Attributes:
        number: Counted from 1, as apt counts: paragraphs of comments alone do not.
        line: Its first line that is no comment, counted from 1.
        text: Its lines as they stand in the file, the empty one behind it included.
        fields: Name in lower case -> value; empty where apt's parser cannot read the stanza.
        odd: The first line that is neither a field nor a continuation, 0 for none. apt mostly passes over it.
    """

    number: int
    line: int
    text: str
    fields: dict[str, str] = field(default_factory=dict)
    odd: int = 0

    def words(self, name: str) -> tuple[str, ...]:
        """Return a field's words; empty where it is absent."""
        return tuple(self.fields.get(name, "").split())


def stanzas(text: str) -> Iterator[Stanza]:
    """Split a file at its empty lines, the only thing that ends a stanza for apt, and read each stanza."""
    # Not splitlines(), for which more than a line feed ends a line.
    lines = [line.rstrip("\r") for line in text.split("\n")]
    number, start = 0, 0
    for end, line in enumerate((*lines, "")):
        if line:
            continue
        content = {at: lines[at] for at in range(start, min(end, len(lines))) if not lines[at].startswith("#")}
        if content:
            number += 1
            # What follows the last line feed is no line.
            whole = "\n".join(lines[start : end + 1 if end < len(lines) - 1 else end]) + "\n"
            odd = next((at + 1 for at, one in content.items() if not _belongs(one)), 0)
            found = fields([one for one in content.values() if _belongs(one)])
            yield Stanza(number, next(iter(content)) + 1, whole, found, odd)
        start = end + 1


def _belongs(line: str) -> bool:
    return line[0] in " \t" or ":" in line[1:]


def fields(lines: Sequence[str]) -> dict[str, str]:
    """Read the fields of one stanza without comments: name in lower case -> value; empty where it is none."""
    if apt_pkg is None:
        return _plain(lines)
    try:
        section = apt_pkg.TagSection("\n".join(lines) + "\n\n")
        # It lists a field with blanks before its colon, and finds it without them.
        names = [name.strip() for name in section.keys()]  # noqa: SIM118 it is no dict
        return {name.lower(): str(section[name]) for name in names}
    except (KeyError, ValueError, SystemError):
        return {}


def _plain(lines: Sequence[str]) -> dict[str, str]:
    """Read them as apt's parser does; of a field that stands twice it takes the last."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if line[0] not in " \t":
            name, _, line = line.partition(":")
            name = name.strip().lower()
            found[name] = []
        if name in found:
            found[name].append(line)
    return {name: "\n".join(value).strip() for name, value in found.items()}
