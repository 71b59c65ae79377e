"""deb822 files in stanzas with their lines; what stands in a stanza is read by apt's own parser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import apt_pkg


@dataclass(frozen=True)
class Stanza:
    """One stanza of a file.

    Attributes:
        number: Counted from 1, as apt counts: paragraphs of comments alone do not.
        line: Its first line that is no comment, counted from 1.
        text: Its lines as they stand in the file.
        fields: Name in lower case -> value; empty where apt's parser cannot read the stanza.
        readable: Whether it can.
    """

    number: int
    line: int
    text: str
    fields: dict[str, str] = field(default_factory=dict)
    readable: bool = True

    def words(self, name: str) -> tuple[str, ...]:
        """Return a field's words; empty where it is absent."""
        return tuple(self.fields.get(name, "").split())


def stanzas(text: str) -> Iterator[Stanza]:
    """Split a file at its empty lines, the only thing that ends a stanza for apt, and read each stanza."""
    # Not splitlines(), for which more than a line feed ends a line.
    number, start, lines = 0, 0, [line.rstrip("\r") for line in (*text.split("\n"), "")]
    for end, line in enumerate(lines):
        if line:
            continue
        content = [at for at in range(start, end) if not lines[at].startswith("#")]
        if content:
            number += 1
            yield _stanza(number, content[0] + 1, "\n".join(lines[start:end]) + "\n", [lines[at] for at in content])
        start = end + 1


def fields(lines: list[str]) -> dict[str, str]:
    """Read the fields of one stanza without comments.

    Raises:
        ValueError: It is none.
    """
    try:
        section = apt_pkg.TagSection("\n".join(lines) + "\n\n")
        return {name.lower(): str(section[name]) for name in section.keys()}  # noqa: SIM118 it is no dict
    except (KeyError, SystemError) as error:
        raise ValueError(str(error)) from error


def _stanza(number: int, line: int, text: str, lines: list[str]) -> Stanza:
    try:
        return Stanza(number, line, text, fields(lines))
    except ValueError:
        return Stanza(number, line, text, readable=False)
