"""Sources of the stack's archive in another file than its own, and sources of ROCm's other channels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .model import Entry, Problem, Question, Wanted
from .repeated import line
from .verdict import Judge


def stray(entries: Iterable[Entry], question: Question, judge: Judge) -> list[Problem]:
    """Return a problem for each source of the stack's archive outside its own file, where that does not name it yet.

    It is an error where this run writes that file and apt would not bear the two beside each other.
    """
    used = [entry for entry in entries if entry.enabled]
    problems = []
    for entry in used:
        wanted = question.wanted(entry)
        if not wanted or not wanted.file or entry.file == wanted.file:
            continue
        if any(other.file == wanted.file and other.key == entry.key for other in used):
            continue
        clash = wanted.comes and _clash(entry, wanted, judge)
        evidence = f"{entry.place} names the stack's archive, whose source is {wanted.file}"
        if clash:
            evidence += f"; apt refuses them beside each other: {clash}"
        remedy = f"take it out of {entry.place}; `--tags rocm_keyring` writes {wanted.file}"
        detail = {"entry": entry.where(), "file": wanted.file, "comes": wanted.comes}
        problems.append(entry.problem("SOURCE.STRAY", "error" if clash else "warning", evidence, remedy, detail))
    return problems


def _clash(entry: Entry, wanted: Wanted, judge: Judge) -> str:
    ours = replace(entry, signed_by=wanted.keyring, trusted="")
    return judge.sources("both.list", f"{line(entry)}\n{line(ours)}\n") if wanted.keyring else ""


def other_channels(entries: Iterable[Entry], question: Question) -> list[Problem]:
    """Return a word about each source of a channel beside which the stack's packages cannot be."""
    return [
        entry.problem(
            "SOURCE.OTHER_CHANNEL",
            "info",
            f"{entry.place} names ROCm of another channel, beside which the stack's cannot be installed",
            RETIRE,
            {"entry": entry.where()},
        )
        for entry in entries
        if entry.enabled and question.foreign(entry)
    ]


#: What takes such a source out.
RETIRE = "`-e rocm_runtime_migrate=true` takes it out, with what is installed from it"
