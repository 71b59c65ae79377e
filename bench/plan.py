"""A plan, from starting Python to the answer, against ``apt-get -s install`` of the same packages on the same host."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.apt_host import AptHost

NAME = "plan"
LIMIT = 1.3
RUNS = 7

# What stack `distro` installs on this release: the toolchain and ROCm with its libraries.
RELEASE = "debian-13"
PACKAGES = ("clang-17", "libstdc++-14-dev", "libc6-dev", "rocminfo", "hipcc", "librocblas-dev", "libhipblas-dev")

_host: AptHost


@contextmanager
def setup() -> Iterator[str]:
    """Start a host whose lists and caches are there."""
    global _host
    with AptHost(RELEASE, "bench") as _host:
        # apt-get keeps its caches, which the planner uses too.
        _host.run("apt-get -s install hello >/dev/null")
        yield RELEASE


def ours() -> None:
    """Plan."""
    answer = _host.plan(*({"name": name} for name in PACKAGES), refresh="never", check_mode=True)
    assert answer["changed"], answer["msg"]


def theirs() -> None:
    """Simulate."""
    command = _host.command("apt-get", "-s", "install", "--no-install-recommends", *PACKAGES)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
