"""Edits of sources and preferences that leave every other line as its owner wrote it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from .model import RefusedError

_SUITE = re.compile(r"(\s*\S+\s+(?:\[[^\]]*\]\s*)?\S+\s+)(\S+)")
_OPTIONS = re.compile(r"(\s*\S+\s+)(?:\[([^\]]*)\]\s*)?(?=\S)")


def without_lines(text: str, numbers: Collection[int]) -> str:
    """Return a text without some lines, counted from 1."""
    return "".join(line for at, line in enumerate(text.splitlines(keepends=True), 1) if at not in numbers)


def with_suite(text: str, number: int, suite: str) -> str:
    """Return one-line sources with another suite in one line."""
    lines = text.splitlines(keepends=True)
    found = _SUITE.match(lines[number - 1])
    if not found:
        raise RefusedError(f"the suite in line {number} cannot be found")
    lines[number - 1] = found[1] + suite + lines[number - 1][found.end() :]
    return "".join(lines)


def with_option(text: str, number: int, option: str, value: str) -> str:
    """Return one-line sources in which one line has an option with this value, and no other."""
    lines = text.splitlines(keepends=True)
    found = _OPTIONS.match(lines[number - 1])
    if not found:
        raise RefusedError(f"the options in line {number} cannot be found")
    others = [word for word in (found[2] or "").split() if word.partition("=")[0].lower() != option]
    lines[number - 1] = f"{found[1]}[{' '.join([*others, f'{option}={value}'])}] {lines[number - 1][found.end() :]}"
    return "".join(lines)


def stanza_lines(text: str, number: int) -> range:
    """Return the lines of the stanza whose content begins at a line, from 1, with its comments and the gap behind."""
    lines = text.splitlines()
    first, last = number, number
    while first > 1 and lines[first - 2].strip():
        first -= 1
    while last < len(lines) and lines[last].strip():
        last += 1
    while last < len(lines) and not lines[last].strip():
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
    lines = text.splitlines(keepends=True)
    within = stanza_lines(text, number)
    for at in within:
        name, colon, value = lines[at - 1].partition(":")
        if colon and name.strip().lower() == field.lower():
            end = at
            while end < within.stop - 1 and lines[end][:1] in (" ", "\t", "#") and lines[end].strip():
                value += "" if lines[end].startswith("#") else lines[end]
                end += 1
            while lines[end - 1].startswith("#"):
                # It stands before the next field.
                end -= 1
            return at, end, value
    return None


def _replaced(text: str, first: int, last: int, line: str) -> str:
    lines = text.splitlines(keepends=True)
    lines[first - 1 : last] = [line]
    return "".join(lines)
