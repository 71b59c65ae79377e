"""The same as ``abi`` for libraries and version nodes only, against a loop of ``ldd``."""

from __future__ import annotations

from bench import abi

NAME = "abi-nodes"
LIMIT = 1 / 40
RUNS = 2

setup = abi.setup


def ours() -> None:
    """Check without symbols."""
    abi.ours("--no-symbols")


def theirs() -> None:
    """Ask ldd."""
    abi.each('ldd "$object" || :')
