"""Archives that are named more than once, and those whose sources contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from .model import Entry, Problem, Question
from .stores import named
from .verdict import Judge


def repeated(entries: Iterable[Entry], question: Question, judge: Judge) -> list[Problem]:
    """Return a problem for each archive and suite that is named twice, or with different keys.

    Two sources may share an archive as long as nothing in them is the same; apt then loads nothing twice.
    """
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        if entry.enabled:
            groups.setdefault(entry.key, []).append(entry)
    problems = []
    for group in groups.values():
        for option in ("signed_by", "trusted"):
            if len({_value(entry, option) for entry in group}) > 1:
                problems.append(_conflict(group, option, question, judge))
        if any(_same(one, other) for at, one in enumerate(group) for other in group[:at]):
            problems.append(_twice(group, question))
    return problems


def best(group: Sequence[Entry], question: Question) -> Entry:
    """Return the entry that should stay: the stack's own, else deb822 with Signed-By, else the first of the best.

    One that names a keyring which is not there comes last.
    """

    def rank(entry: Entry) -> tuple[bool, bool, bool, bool]:
        wanted = question.wanted(entry)
        there = all((Path(question.root) / name.lstrip("/")).exists() for name in named(entry) if name.startswith("/"))
        return bool(wanted and wanted.file == entry.file), there, bool(entry.stanza), bool(entry.signed_by)

    return max(group, key=rank)


def _same(one: Entry, other: Entry) -> bool:
    """Say whether apt would load something twice."""
    if one.type != other.type:
        return False
    shared = set(one.components) & set(other.components) or not (one.components or other.components)
    limited = one.architectures and other.architectures
    return bool(shared) and not (limited and not set(one.architectures) & set(other.architectures))


def _value(entry: Entry, option: str) -> str:
    # Signed-By may list several things, with commas or without; an armoured key is one text.
    value: str = getattr(entry, option)
    return value if "-----" in value else " ".join(sorted(value.replace(",", " ").split()))


def _detail(keep: Entry, others: Iterable[Entry]) -> dict[str, object]:
    return {"keep": keep.where(), "drop": [entry.where() for entry in others]}


def _places(group: Iterable[Entry]) -> str:
    return " and ".join(entry.place for entry in group)


def _conflict(group: Sequence[Entry], option: str, question: Question, judge: Judge) -> Problem:
    keep = best(group, question)
    name = {"signed_by": "Signed-By", "trusted": "Trusted"}[option]
    values = "; ".join(f"{entry.place} says {_short(_value(entry, option))}" for entry in group)
    # Which contradictions apt bears depends on its version and on the order of the sources, so it is asked.
    refused = judge.sources("conflict.list", "".join(f"{line(entry)}\n" for entry in group))
    evidence = f"{name} differs: {values}" + (", so every apt call fails" if refused else "")
    remedy = f"leave one source of this archive, the one in {keep.place}; then `apt-get check`"
    others = [entry for entry in group if entry is not keep]
    return keep.problem(
        "SOURCE.CONFLICT",
        "error" if refused else "warning",
        evidence,
        remedy,
        {"option": name, **_detail(keep, others)},
    )


def _twice(group: Sequence[Entry], question: Question) -> Problem:
    keep = best(group, question)
    others = [entry for entry in group if entry is not keep]
    evidence = f"{_places(group)} name the same archive"
    remedy = f"leave the one in {keep.place}, take out {_places(others)}"
    return keep.problem("SOURCE.TWICE", "warning", evidence, remedy, _detail(keep, others))


def _short(value: str) -> str:
    return "a key of its own" if "-----" in value else value or "nothing"


def line(entry: Entry) -> str:
    """Return an entry as one line for apt to judge; an armoured key, which has no place there, as a path."""
    signed_by = "/inline/" + str(abs(hash(entry.signed_by))) if "-----" in entry.signed_by else entry.signed_by
    options = {"signed-by": ",".join(signed_by.replace(",", " ").split()), "trusted": entry.trusted}
    inside = " ".join(f"{key}={value}" for key, value in options.items() if value)
    brackets = f"[{inside}] " if inside else ""
    return f"{entry.type} {brackets}{entry.uri} {entry.suite} {' '.join(entry.components)}"
