"""What a compiler's complaints mean, and what to type."""

from __future__ import annotations

import re
from pathlib import Path

from .run import Outcome

#: The multiarch directory; ROCm exists for this architecture alone.
TRIPLET = "x86_64-linux-gnu"

# hipcc and clang colour their output where they feel like it, rocminfo always.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ERROR = re.compile(r"(?:^|[\s:])(?:fatal )?error: |undefined reference to|cannot find -l|not found")
_NO_CXX_LIBRARY = re.compile(
    r"'(?:cmath|string|cstdlib|exception|new|stdexcept)' file not found"
    r"|(?:unable to find library|cannot find) -lstdc\+\+"
)
_TARGET = re.compile(r"(?:invalid target ID|[Uu]nsupported gpu(?: arch)?|unknown target CPU)")


def plain(text: str) -> str:
    """Return a text without terminal colours."""
    return _COLOUR.sub("", text)


def first_errors(outcome: Outcome, limit: int = 3) -> str:
    """Return the first lines in which a tool says what is wrong, or its last ones where none looks like that.

    Args:
        outcome: A command that failed.
        limit: The most lines.
    """
    if outcome.timed_out:
        return f"{outcome.argv[0]} was stopped because it ran past its time"
    lines = [line.strip() for line in plain(outcome.stderr + "\n" + outcome.stdout).splitlines() if line.strip()]
    chosen = [line for line in lines if _ERROR.search(line)][:limit] or lines[-limit:]
    return "\n".join(chosen) or f"{outcome.argv[0]} exited with {outcome.rc} and said nothing"


def names_unknown_target(evidence: str) -> bool:
    """Return whether the compiler complains about the gfx target itself."""
    return bool(_TARGET.search(evidence))


def lacks_libstdcxx(evidence: str) -> bool:
    """Return whether the compiler found no C++ standard library."""
    return bool(_NO_CXX_LIBRARY.search(evidence))


def gcc_in_use(root: Path = Path("/")) -> int | None:
    """Return the major of the GCC whose libstdc++ clang takes, or None where there is none.

    Clang takes the highest version below ``/usr/lib/gcc`` that has a ``crtbegin.o`` (from libgcc-N-dev), whether or not
    it has headers: https://github.com/ROCm/legacy-rocm-build/issues/4612 .
    """
    found = root.glob(f"usr/lib/gcc/{TRIPLET}/*/crtbegin.o")
    return max((int(path.parent.name) for path in found if path.parent.name.isdigit()), default=None)


def libstdcxx_remedy(gcc: int | None) -> str:
    """Return what to type where clang finds no libstdc++.

    Args:
        gcc: The result of :func:`gcc_in_use`.
    """
    if gcc is None:
        return "apt-get install g++   (no GCC lies below /usr/lib/gcc, whose libstdc++ clang could take)"
    return (
        f"apt-get install libstdc++-{gcc}-dev   "
        f"(clang takes the highest version in /usr/lib/gcc/{TRIPLET}, which is {gcc})"
    )
