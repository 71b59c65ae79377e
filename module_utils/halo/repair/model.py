"""What a repair consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..audit.model import Problem
from ..findings import Finding


class RefusedError(Exception):
    """A repair that would touch more than it may; the message says why."""


@dataclass(frozen=True)
class FileRepair:
    """A file as it is and as it will be.

    Attributes:
        name: As the host calls it.
        before: Its bytes now.
        after: Its bytes afterwards, None where nothing is left of it.
        problems: What this repairs.
    """

    name: str
    before: bytes
    after: bytes | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Command:
    """A command of dpkg.

    Attributes:
        words: The command.
        problems: What this repairs.
    """

    words: tuple[str, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class Repairs:
    """Everything that a run would repair, in this order: files, then commands.

    Attributes:
        files: ...
        commands: ...
        findings: What is refused, and why.
    """

    files: tuple[FileRepair, ...] = ()
    commands: tuple[Command, ...] = ()
    findings: tuple[Finding, ...] = ()


def refused(problem: Problem, reason: str) -> Finding:
    """Return the finding that something stays as it is."""
    evidence = f"{problem.code} is not repaired: {reason}"
    return Finding(
        "REPAIR.REFUSED", "warning", problem.file or problem.subject, evidence, problem.remedy or "look at it"
    )


def what(problems: Sequence[Problem]) -> str:
    """Return what a repair is for, as a person reads it."""
    return "; ".join(dict.fromkeys(f"{problem.code}: {problem.evidence}" for problem in problems))
