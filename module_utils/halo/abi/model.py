"""What a check finds, before it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .closure import Closure, Object


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with one object.

    Attributes:
        code: A finding's code.
        severity: A finding's severity.
        object: The host's path of the object that is affected.
        needed: What it needs: a library, a node, symbols.
        found: What is there instead.
        looked: Where it was looked for, as ``mechanism: directories``.
        chain: Paths from what is started or loaded to the object.
        processes: How many of the checked objects load it and meet this.
        remedy: What to do.
        symbols: All symbols that are meant, where the text names a few.
    """

    code: str
    severity: str
    object: str
    needed: str
    found: str
    looked: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    processes: int = 1
    remedy: str = ""
    symbols: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form."""
        return asdict(self)

    def printable(self) -> Problem:
        """Return it with escapes for what a terminal cannot or should not show: names are any bytes."""
        changed: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, str) and not value.isprintable():
                changed[name] = _escaped(value)
            elif isinstance(value, tuple) and not all(text.isprintable() for text in value):
                changed[name] = tuple(map(_escaped, value))
        return replace(self, **changed) if changed else self


def _escaped(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


@dataclass
class Case:
    """One object that was asked about, in the process that loads it.

    Attributes:
        object: The object.
        closure: What that process has loaded.
        own: The object's index in it.
        python: The interpreter that imports it, None where it is a program or nobody is known.
        any_python: Python imports it, but no interpreter for it is known.
    """

    object: Object
    closure: Closure
    own: int = 0
    python: Object | None = None
    any_python: bool = False

    @property
    def strict(self) -> bool:
        """Whether everything is known that can meet its needs: it is a program, or imported by a known Python."""
        return self.python is not None or self.object.elf.program


@dataclass
class Result:
    """The outcome of a check.

    Attributes:
        problems: Worst first, then by object.
        counts: What was looked at, left out and passed over.
        seconds: How long each part took.
        glibc: The host's glibc, empty where there is none.
    """

    problems: list[Problem] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    glibc: str = ""


def few(names: Iterable[str], most: int = 5) -> str:
    """Return some names as a person reads them."""
    ordered = sorted(names)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(ordered[:most]) + more
