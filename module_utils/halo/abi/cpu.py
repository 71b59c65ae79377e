"""What ld.so makes of this machine's CPU: directories of builds for it, and the name of its platform."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_LEVELS = {
    "x86-64-v2": "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}

#: glibc knows platforms of Intel's alone: init_cpu_features in sysdeps/x86/cpu-features.c (read in 2.36).
_PLATFORMS = {"xeon_phi": "avx512cd avx512er avx512pf", "haswell": "avx2 bmi1 bmi2 abm movbe popcnt"}


def cpu_levels() -> tuple[str, ...]:
    """Return the glibc-hwcaps directories that this machine's CPU can use, best first."""
    flags = _cpu()[1]
    found: list[str] = []
    for level, wanted in _LEVELS.items():
        if not flags.issuperset(wanted.split()):
            break
        found.insert(0, level)
    return tuple(found)


def cpu_platform() -> str:
    """Return what ``$PLATFORM`` stands for on this machine's CPU."""
    vendor, flags = _cpu()
    found = (name for name, wanted in _PLATFORMS.items() if flags.issuperset(wanted.split()))
    return next(found, "x86_64") if vendor == "GenuineIntel" else "x86_64"


@cache
def _cpu() -> tuple[str, frozenset[str]]:
    """Return the CPU's vendor and flags; nothing where nobody says."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return "", frozenset()
    vendor = re.search(r"^vendor_id\s*:\s*(\S+)", text, re.MULTILINE)
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return vendor[1] if vendor else "", frozenset(flags[1].split() if flags else ())
