#!/usr/bin/env python3
"""Runs the comparisons of this directory, ours and theirs in turn, and says which are slower than their limit.

``run.py [NAME ...]`` runs all of them, or those named. It writes ``bench/results.json``, a list of ``{name, ours_s,
theirs_s, ratio, limit, runs, host}`` with medians in seconds, prints the same as a table, and exits 1 when a ratio is
over its limit. ``HALO_BENCH_RUNS`` sets how often each side is run (5).

A comparison is a module beside this one with::

    NAME = "plan"       # what it is called
    LIMIT = 1.3         # the highest ratio of ours to theirs
    RUNS = 5            # optional: how often by default

    def setup(): ...    # a context manager; what it yields, a description of the host, goes into the results
    def ours(): ...     # once, what is measured
    def theirs(): ...   # once, what it is measured against
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from types import ModuleType

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"


@dataclass(frozen=True)
class Result:
    """One comparison; the times are medians in seconds."""

    name: str
    ours_s: float
    theirs_s: float
    ratio: float
    limit: float
    runs: int
    host: str


def comparisons(names: list[str]) -> list[ModuleType]:
    """Return the comparisons with some names, or all of them.

    Raises:
        SystemExit: There is none of that name.
    """
    paths = sorted(path for path in HERE.glob("*.py") if path.stem not in ("run", "__init__"))
    found = {module.NAME: module for module in (importlib.import_module(f"bench.{path.stem}") for path in paths)}
    if unknown := set(names) - found.keys():
        raise SystemExit(f"no comparison {', '.join(sorted(unknown))}; there are: {', '.join(found)}")
    return [found[name] for name in names or found]


def seconds(side: Callable[[], object]) -> float:
    """Return how long one side takes."""
    started = time.perf_counter()
    side()
    return time.perf_counter() - started


def compare(module: ModuleType) -> Result:
    """Run both sides in turn, so that whatever else the machine does meets both alike."""
    runs = int(os.environ.get("HALO_BENCH_RUNS") or getattr(module, "RUNS", 5))
    with module.setup() as host:
        # The first round fills caches, for both.
        module.ours(), module.theirs()
        times = [(seconds(module.ours), seconds(module.theirs)) for _ in range(runs)]
    ours, theirs = (median(side) for side in zip(*times, strict=True))
    return Result(module.NAME, round(ours, 3), round(theirs, 3), round(ours / theirs, 3), module.LIMIT, runs, host)


def table(results: list[Result]) -> str:
    """Return the results as a person reads them."""
    rows = [("comparison", "ours", "theirs", "ratio", "limit", "host", "")]
    for result in results:
        times = (f"{result.ours_s:.2f} s", f"{result.theirs_s:.2f} s", f"{result.ratio:.2f}", f"{result.limit:g}")
        rows.append((result.name, *times, result.host, "OVER THE LIMIT" if result.ratio > result.limit else "ok"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def main() -> int:
    """Run the comparisons that the command line names."""
    sys.path[:0] = [str(HERE.parent)]
    results = []
    for module in comparisons(sys.argv[1:]):
        print(f"bench: {module.NAME} ...", file=sys.stderr, flush=True)
        results.append(compare(module))
    RESULTS.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n", encoding="utf-8")
    print(table(results))
    return int(any(result.ratio > result.limit for result in results))


if __name__ == "__main__":
    sys.exit(main())
