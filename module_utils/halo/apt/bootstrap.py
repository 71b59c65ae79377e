"""Installing python3-apt, which everything else here needs."""

from __future__ import annotations

import os
import subprocess

from ..findings import Finding

PYTHON = "/usr/bin/python3"
PACKAGE = "python3-apt"
REMEDY = "run `apt-get update && apt-get install --no-install-recommends python3-apt` on the host"


def present() -> bool:
    """Say whether the system's Python has python3-apt."""
    done = subprocess.run([PYTHON, "-c", "import apt_pkg"], check=False, stderr=subprocess.DEVNULL)
    return done.returncode == 0


def install(lock_timeout_s: int) -> list[Finding]:
    """Install python3-apt with ``apt-get``.

    Lists that are there are tried as they are first; they are refreshed when that fails.

    Args:
        lock_timeout_s: Seconds to wait for apt's and dpkg's locks.

    Returns:
        Nothing, or the finding ``APT.PYTHON_ABSENT`` with what apt-get said.
    """
    if not _apt_get(lock_timeout_s, "install", PACKAGE) and present():
        return []
    problem = _apt_get(lock_timeout_s, "update", "--error-on=any") or _apt_get(lock_timeout_s, "install", PACKAGE)
    if not problem and present():
        return []
    return [absent(problem or f"{PACKAGE} is installed, and {PYTHON} cannot import apt_pkg")]


def absent(evidence: str) -> Finding:
    """Return the finding that python3-apt is missing."""
    return Finding("APT.PYTHON_ABSENT", "error", PACKAGE, evidence, REMEDY)


def _apt_get(lock_timeout_s: int, *arguments: str) -> str:
    """Run apt-get, and return what it said when it failed."""
    options = ["-y", "-qq", "--no-install-recommends", "-o", f"DPkg::Lock::Timeout={lock_timeout_s}"]
    options += ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["apt-get", *options, *arguments],
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if not done.returncode:
        return ""
    return "\n".join(done.stdout.strip().splitlines()[-5:]) or f"apt-get {arguments[0]} returned {done.returncode}"
