"""The same as ``abi`` against the loader itself, without ldd's shell around it."""

from __future__ import annotations

from bench import abi
from tests.support.abi_oracle import LD_SO

NAME = "abi-ld.so"
LIMIT = 1.0
RUNS = 3

setup, ours = abi.setup, abi.ours


def theirs() -> None:
    """Let ld.so trace with all symbols bound."""
    variables = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "1", "LD_BIND_NOW": "1"}
    # env is not traced itself: bash would be, if these were its own variables.
    words = " ".join(f"{name}={value}" for name, value in variables.items())
    abi.each(f'{words} {LD_SO} "$object" || :')
