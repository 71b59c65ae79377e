"""Tells what a check found: as findings, and as the few lines a person reads."""

from __future__ import annotations

from collections import defaultdict

from ..findings import Finding
from .model import Problem, Result, few

_COUNTS = {
    "left_out_foreign": "no ELF",
    "left_out_name": "no ELF by name",
    "left_out_link": "symbolic links",
    "left_out_twice": "hard links",
    "left_out_special": "devices, pipes, sockets",
    "left_out_class": "32-bit",
    "left_out_machine": "for other machines",
    "left_out_type": "object files",
    "left_out_static": "static or debug files",
    "left_out_short": "empty or too short",
    "left_out_damaged": "damaged",
    "left_out_unreadable": "unreadable",
    "met_by_loader": "met by the programs that load them",
    "consequences": "symbols of what is missing",
    "unresolved_but_unused": "undefined symbols that nothing uses",
    "symbols_of_unknown_python": "symbols of a Python that is not known",
}


def findings(result: Result) -> list[Finding]:
    """Return one finding for each thing that is wrong, however many objects it is wrong for.

    What is only worth knowing is one finding a code.
    """
    groups: dict[tuple[str, ...], list[Problem]] = defaultdict(list)
    for problem in result.problems:
        key = (problem.severity, problem.code)
        groups[key if problem.severity == "info" else (*key, problem.needed, problem.found)].append(problem)
    return [_finding(problems) for problems in groups.values()]


def _finding(problems: list[Problem]) -> Finding:
    first, objects = problems[0], sorted({problem.object for problem in problems})
    subject = objects[0] if len(objects) == 1 else f"{objects[0]} and {len(objects) - 1} more"
    if first.severity == "info" and len(problems) > 1:
        evidence = few({f"{one.object} needs {one.needed}" for one in problems}, 3)
    else:
        evidence = _evidence(first, len(objects))
    return Finding(first.code, first.severity, subject, evidence, first.remedy)


def _evidence(problem: Problem, objects: int) -> str:
    parts = [f"needs {problem.needed}: {problem.found}" if problem.needed else problem.found]
    if problem.looked:
        parts.append(f"looked in {', '.join(map(_short, problem.looked))}")
    if len(problem.chain) > 1:
        parts.append(f"loaded by {' > '.join(problem.chain[:-1])}")
    if objects == 1 and problem.processes > 1:
        parts.append(f"met by {problem.processes} objects")
    return "; ".join(parts)


def _short(looked: str) -> str:
    """Return mechanism and the first directories: some vendors' RUNPATH has eighty."""
    directories = looked.split(":")
    return looked if len(directories) < 7 else f"{':'.join(directories[:4])} and {len(directories) - 4} more"


def summary(result: Result) -> str:
    """Return the last lines: what was checked, found and left out, and how long it took."""
    counts = result.counts
    tally = [sum(one.severity == severity for one in result.problems) for severity in ("error", "warning", "info")]
    taken = sum(result.seconds.values())
    lines = [
        f"{counts['objects']} objects of {counts['files']} files, glibc {result.glibc or 'none'}: "
        f"{tally[0]} errors, {tally[1]} warnings, {tally[2]} infos in {taken:.2f} s"
    ]
    left = [f"{counts[name]} {words}" for name, words in _COUNTS.items() if counts[name]]
    if left:
        lines.append(f"left out: {', '.join(left)}")
    return "\n".join(lines)
