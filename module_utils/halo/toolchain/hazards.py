"""Pairs of things to compile with that do not fit each other. A new hazard is a new row."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..findings import Finding
from .inventory import Item

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"<": operator.lt, ">": operator.gt, "==": operator.eq}


@dataclass(frozen=True)
class Hazard:
    """A row: what does not fit, and who says so.

    Attributes:
        code: The code of its finding.
        severity: That of the finding where one of both is what the stack compiles with, or where ``used`` is false.
        first: The kind of one thing.
        second: The kind of the other one; empty where the first does not fit by itself.
        when: Comparisons that must all hold: an attribute of the first, an operator, and an attribute of the second
            (or a constant, which is no string).
        alike: Attributes in which both must be the same.
        evidence: The sentence, with the attributes of both.
        remedy: What to do.
        source: The URL of where it is described.
        used: Whether it is of no more than interest (``info``) unless the stack compiles with the first.
    """

    code: str
    severity: str
    first: str
    second: str
    when: tuple[tuple[str, str, str | int | bool], ...]
    evidence: str
    remedy: str
    source: str
    alike: tuple[str, ...] = ()
    used: bool = False


HAZARDS = (
    Hazard(
        "TOOLCHAIN.LIBCXX_NEEDS_CLANG",
        "error",
        "clang",
        "libcxx",
        (("major", "<", "minimum"),),
        "{first.path} is clang {first.major}; the libc++ {second.major} headers in {second.path} are for clang"
        " {second.minimum} and later",
        "compile with clang-{second.major}, or take the headers of another major:"
        " ansible-playbook site.yml -l halo --tags toolchain_pin",
        "https://libcxx.llvm.org/#platform-and-compiler-support",
        used=True,
    ),
    Hazard(
        "TOOLCHAIN.BITCODE_NEWER",
        "error",
        "clang",
        "bitcode",
        (("major", "<", "major"),),
        "{first.path} is clang {first.major}; the device libraries in {second.path} were written by LLVM"
        " {second.major}, which it cannot read",
        "compile for the GPU with clang {second.major} or newer, the one that the device libraries came with",
        "https://llvm.org/docs/DeveloperPolicy.html#ir-backwards-compatibility",
        alike=("prefix",),
        used=True,
    ),
    Hazard(
        "TOOLCHAIN.NO_LIBSTDCXX",
        "error",
        "gcc",
        "",
        (("newest", "==", True), ("complete", "==", False)),
        "{first.path} is the newest gcc there, so clang takes it, and its C++ headers are missing",
        "apt-get install libstdc++-{first.major}-dev",
        "https://github.com/ROCm/legacy-rocm-build/issues/4612",
    ),
)


def check(items: Iterable[Item], hazards: Iterable[Hazard] = HAZARDS) -> list[Finding]:
    """Return a finding for each pair that does not fit."""
    there = list(items)
    return [_finding(hazard, first, second) for hazard in hazards for first, second in _pairs(hazard, there)]


def _pairs(hazard: Hazard, items: list[Item]) -> Iterator[tuple[Item, Item]]:
    for first in (item for item in items if item.kind == hazard.first):
        # What does not fit by itself is compared with itself.
        for second in (item for item in items if item.kind == hazard.second) if hazard.second else (first,):
            if all(getattr(first, name) == getattr(second, name) for name in hazard.alike) and all(
                _holds(first, name, compare, second, other) for name, compare, other in hazard.when
            ):
                yield first, second


def _holds(first: Item, name: str, compare: str, second: Item, other: str | int | bool) -> bool:
    value = getattr(second, other) if isinstance(other, str) else other
    return _OPERATORS[compare](getattr(first, name), value)


def _finding(hazard: Hazard, first: Item, second: Item) -> Finding:
    evidence = hazard.evidence.format(first=first, second=second)
    severity = hazard.severity if first.used or not hazard.used else "info"
    remedy = hazard.remedy.format(first=first, second=second) if severity != "info" else ""
    return Finding(hazard.code, severity, first.path, f"{evidence} ({hazard.source})", remedy)
