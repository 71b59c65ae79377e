"""Installing python3-apt, which everything else here needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..findings import Finding, errors
from . import locks

PYTHON = "/usr/bin/python3"
PACKAGE = "python3-apt"
_ETC = Path("/etc/apt")
_HELD = re.compile(r"(?:Could not get lock |Unable to acquire the .* lock \()(/[\w./-]*\w)")
_MALFORMED = ("The list of sources could not be read", "preferences", "Syntax error", "specified for pin")
REMEDY = "run `apt-get update && apt-get install --no-install-recommends python3-apt` on the host"


def present() -> bool:
    """Say whether the system's Python has python3-apt."""
    done = subprocess.run([PYTHON, "-c", "import apt_pkg"], check=False, stderr=subprocess.DEVNULL)
    return done.returncode == 0


def install(lock_timeout_s: int, files: Mapping[str, str | None] | None = None) -> list[Finding]:
    """Install python3-apt with ``apt-get``.

    Lists that are there are tried as they are first; they are refreshed when that fails.

    Args:
        lock_timeout_s: Seconds to wait for apt's and dpkg's locks.
        files: Path in ``/etc/apt`` -> its text after a repair that is still to come, ``None`` where it goes; with what
            is on the host apt-get may not work at all.

    Returns:
        Nothing, or the finding why it is not there.
    """
    with _as_repaired(files or {}) as options:
        options += ["-o", f"DPkg::Lock::Timeout={lock_timeout_s}"]
        said = _apt_get(options, "install", PACKAGE)
        if said and not (broken := _broken(said, lock_timeout_s)):
            said = _apt_get(options, "update", "--error-on=any") or _apt_get(options, "install", PACKAGE)
            broken = _broken(said, lock_timeout_s)
    if not said and present():
        return []
    return (broken if said else []) or [absent(said or f"{PACKAGE} is installed, and {PYTHON} cannot import apt_pkg")]


def absent(evidence: str, to_repair: bool = False) -> Finding:
    """Return the finding that python3-apt is missing.

    Args:
        evidence: What was tried.
        to_repair: Whether a repair is still to come, without which apt may install nothing.
    """
    remedy = f"first `./halo repair`, then {REMEDY}" if to_repair else REMEDY
    return Finding("APT.PYTHON_ABSENT", "error", PACKAGE, evidence, remedy)


def _broken(said: str, lock_timeout_s: int) -> list[Finding]:
    """Return why apt-get does nothing at all, where it says so; a missing package is then not what is wrong."""
    held = _HELD.search(said)
    if held:
        return errors(locks.locked(Path(held[1]), lock_timeout_s, said).findings)
    if "dpkg was interrupted" in said:
        return errors(locks.interrupted(said).findings)
    if any(words in said for words in _MALFORMED):
        remedy = "correct the file that apt names, or let role apt_repair do it; `apt-get check` shows the same"
        return [Finding("APT.CONFIG_UNREADABLE", "error", "apt", said, remedy)]
    return []


@contextmanager
def _as_repaired(files: Mapping[str, str | None]) -> Iterator[list[str]]:
    """Yield options that lead apt-get to a copy of its configuration, with some files as they will be."""
    if not files:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="halo-apt-", dir="/var/tmp") as directory:
        # apt's methods run as _apt, and read keys there.
        Path(directory).chmod(0o755)
        copy = Path(directory, "apt")
        shutil.copytree(_ETC, copy, ignore_dangling_symlinks=True)
        for path, text in files.items():
            target = copy / Path(path).relative_to(_ETC)
            if text is None:
                target.unlink()
            else:
                target.write_text(text, encoding="utf-8")
        yield ["-o", f"Dir::Etc={copy}"]


def _apt_get(given: Sequence[str], *arguments: str) -> str:
    """Run apt-get, and return what it said when it failed."""
    options = [
        "-y",
        "-qq",
        "--no-install-recommends",
        *given,
        "-o",
        "Dpkg::Options::=--force-confdef",
        "-o",
        "Dpkg::Options::=--force-confold",
    ]
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
