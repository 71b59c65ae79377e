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
    """Return errors and warnings one by one, and what is only worth knowing as one finding a code."""
    found = [_finding(problem) for problem in result.problems if problem.severity != "info"]
    known = defaultdict(list)
    for problem in result.problems:
        if problem.severity == "info":
            known[problem.code].append(problem)
    for code, problems in sorted(known.items()):
        objects = {problem.object for problem in problems}
        subject = next(iter(objects)) if len(objects) == 1 else f"{len(objects)} objects"
        shown = problems[0] if len(problems) == 1 else None
        evidence = _evidence(shown) if shown else few({f"{one.object} needs {one.needed}" for one in problems}, 3)
        found.append(Finding(code, "info", subject, evidence))
    return found


def _finding(problem: Problem) -> Finding:
    return Finding(problem.code, problem.severity, problem.object, _evidence(problem), problem.remedy)


def _evidence(problem: Problem) -> str:
    parts = [f"needs {problem.needed}: {problem.found}" if problem.needed else problem.found]
    if problem.looked:
        parts.append(f"looked in {', '.join(problem.looked)}")
    if len(problem.chain) > 1:
        parts.append(f"loaded by {' > '.join(problem.chain[:-1])}")
    if problem.processes > 1:
        parts.append(f"met by {problem.processes} objects")
    return "; ".join(parts)


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
