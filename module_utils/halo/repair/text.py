"""Edits of sources and preferences that leave every other line as its owner wrote it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from .model import RefusedError

_SUITE = re.compile(r"(\s*\S+\s+(?:\[[^\]]*\]\s*)?\S+\s+)(\S+)")
_OPTIONS = re.compile(r"(\s*\S+\s+)(?:\[([^\]]*)\]\s*)?(?=\S)")


def split(text: str) -> list[str]:
    """Return the lines of a text with their ends, as apt counts them: a line feed alone ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def without_lines(text: str, numbers: Collection[int]) -> str:
    """Return a text without some lines, counted from 1."""
    return "".join(line for at, line in enumerate(split(text), 1) if at not in numbers)


def with_suite(text: str, number: int, suite: str) -> str:
    """Return one-line sources with another suite in one line."""
    lines = split(text)
    found = _SUITE.match(lines[number - 1])
    if not found:
        raise RefusedError(f"the suite in line {number} cannot be found")
    lines[number - 1] = found[1] + suite + lines[number - 1][found.end() :]
    return "".join(lines)


def with_option(text: str, number: int, option: str, value: str) -> str:
    """Return one-line sources in which one line has an option with this value, and no other."""
    lines = split(text)
    found = _OPTIONS.match(lines[number - 1])
    if not found:
        raise RefusedError(f"the options in line {number} cannot be found")
    others = [word for word in (found[2] or "").split() if word.partition("=")[0].lower() != option]
    lines[number - 1] = f"{found[1]}[{' '.join([*others, f'{option}={value}'])}] {lines[number - 1][found.end() :]}"
    return "".join(lines)


def stanza_lines(text: str, number: int) -> range:
    """Return the lines of the stanza whose content begins at a line, from 1, with its comments and the gap behind."""
    # To apt a line of blanks is part of a stanza; only an empty one ends it.
    empty = [not line.rstrip("\r\n") for line in split(text)]
    first, last = number, number
    while first > 1 and not empty[first - 2]:
        first -= 1
    while last < len(empty) and not empty[last]:
        last += 1
    while last < len(empty) and empty[last]:
        last += 1
    return range(first, last + 1)


def with_field(text: str, number: int, field: str, words: Mapping[str, str | None]) -> str:
    """Return deb822 with words of one field replaced or, for ``None``, taken out.

    Args:
        text: The file.
        number: The first line of the stanza's content.
        field: The field's name.
        words: Word -> what takes its place.

    Raises:
        RefusedError: The field is not there.
    """
    found = _field(text, number, field)
    if not found:
        raise RefusedError(f"the stanza at line {number} has no {field}")
    at, end, value = found
    kept = [new for word in value.split() if (new := words.get(word, word)) is not None]
    return _replaced(text, at, end, f"{field}: {' '.join(dict.fromkeys(kept))}\n")


def with_value(text: str, number: int, field: str, value: str) -> str:
    """Return deb822 with one field of a stanza set to a value of one line, added where it was not there."""
    found = _field(text, number, field)
    at, end = found[:2] if found else (number, number - 1)
    return _replaced(text, at, end, f"{field}: {value}\n")


def _field(text: str, number: int, field: str) -> tuple[int, int, str] | None:
    """Return the first and the last line of a field, from 1, and its value."""
    lines = split(text)
    within = stanza_lines(text, number)
    for at in within:
        name, colon, value = lines[at - 1].partition(":")
        if colon and name.strip().lower() == field.lower():
            end = at
            while end < within.stop - 1 and lines[end][:1] in (" ", "\t", "#"):
                value += "" if lines[end].startswith("#") else lines[end]
                end += 1
            while lines[end - 1].startswith("#"):
                # It stands before the next field.
                end -= 1
            return at, end, value
    return None


def _replaced(text: str, first: int, last: int, line: str) -> str:
    lines = split(text)
    old = lines[first - 1] if first <= len(lines) else ""
    lines[first - 1 : last] = [line.replace("\n", "\r\n") if old.endswith("\r\n") else line]
    return "".join(lines)
