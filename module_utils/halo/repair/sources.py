"""New contents of sources: one source an archive, of the host's own release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..audit.model import Entry
from . import text as edit
from .model import RefusedError

#: Field of a stanza -> attribute of an entry: what an entry can be told from its neighbours by.
_AXES = {"Types": "type", "URIs": "uri", "Suites": "suite"}


def entry(data: Mapping[str, Any]) -> Entry:
    """Return the entry that a problem carries in its plain form."""
    lists = {name: tuple(data[name]) for name in ("components", "architectures")}
    return Entry(**{**data, **lists})


def rewritten(
    text: str,
    every: Sequence[Entry],
    drop: Iterable[Entry],
    suites: Mapping[Entry, str],
    signed_by: Mapping[Entry, str],
) -> str:
    """Return a file of sources without some entries, and with other suites or keyrings in others.

    Args:
        text: The file.
        every: All of its entries.
        drop: Those to take out.
        suites: Entry -> the suite that it should have.
        signed_by: Entry -> the keyring that it should name.

    Raises:
        RefusedError: An entry shares its stanza with others in a way that no change of one field separates.
    """
    gone = set(drop)
    lines: set[int] = set()
    # From the end, so that the numbers of what is above stay true.
    for line in sorted({one.line for one in every}, reverse=True):
        group = [one for one in every if one.line == line]
        out = [one for one in group if one in gone]
        if len(out) == len(group):
            lines |= set(edit.stanza_lines(text, line)) if group[0].stanza else {line}
            continue
        if out:
            text = _narrowed(text, line, group, out)
        left = [one for one in group if one not in gone]
        new = {one: suites[one] for one in left if one in suites}
        if new:
            text = _moved(text, line, left, new)
        keyrings = {signed_by[one] for one in left if one in signed_by}
        if keyrings:
            text = _trusting(text, line, left, signed_by, keyrings)
    return edit.without_lines(text, lines)


def _narrowed(text: str, line: int, group: Sequence[Entry], out: Sequence[Entry]) -> str:
    for field, attribute in _AXES.items():
        values = {getattr(one, attribute) for one in out}
        if {one for one in group if getattr(one, attribute) in values} == set(out):
            return edit.with_field(text, line, field, dict.fromkeys(values))
    raise RefusedError(f"the stanza at line {line} names other archives in the same fields")


def _moved(text: str, line: int, group: Sequence[Entry], new: Mapping[Entry, str]) -> str:
    if not group[0].stanza:
        return edit.with_suite(text, line, new[group[0]])
    for one in group:
        if (one.suite in {moved.suite for moved in new}) != (one in new):
            raise RefusedError(f"the stanza at line {line} names another archive for which the suite may be right")
    return edit.with_field(text, line, "Suites", {one.suite: suite for one, suite in new.items()})


def _trusting(text: str, line: int, group: Sequence[Entry], signed_by: Mapping[Entry, str], keyrings: set[str]) -> str:
    if len(keyrings) > 1 or any(one not in signed_by for one in group):
        raise RefusedError(f"the stanza at line {line} names another archive, whose key may be another")
    (keyring,) = keyrings
    if group[0].stanza:
        return edit.with_value(text, line, "Signed-By", keyring)
    return edit.with_option(text, line, "signed-by", ",".join(keyring.replace(",", " ").split()))
