"""The locks of apt and dpkg, and who holds them. Only :func:`system` needs python3-apt."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import AptError, fail

if TYPE_CHECKING:
    from .root import PrivateRoot

_PAUSE_S = 0.5


@contextmanager
def system(root: PrivateRoot, timeout_s: float) -> Iterator[None]:
    """Hold dpkg's locks and that of apt's downloaded packages.

    Args:
        root: The private root of the host.
        timeout_s: Seconds to wait for each of them.

    Raises:
        AptError: Another process did not let go in time, or dpkg was interrupted.
    """
    import apt_pkg

    from .root import messages

    frontend = root.host / "var/lib/dpkg/lock-frontend"
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            apt_pkg.pkgsystem_lock()
            break
        except apt_pkg.Error as error:
            if "configure -a" in str(error):
                raise interrupted(messages(error), root.host) from error
            if time.monotonic() >= deadline:
                path = frontend if _holder(frontend) else frontend.with_name("lock")
                raise locked(path, timeout_s, messages(error)) from error
            time.sleep(_PAUSE_S)
    try:
        with file(root.archives / "lock", timeout_s):
            yield
    finally:
        apt_pkg.pkgsystem_unlock()


@contextmanager
def file(path: Path, timeout_s: float) -> Iterator[None]:
    """Hold a lock file as apt does.

    Args:
        path: The lock file, which is made when it is missing.
        timeout_s: Seconds to wait.

    Raises:
        AptError: Another process did not let go in time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout_s
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        while True:
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() >= deadline:
                    raise locked(path, timeout_s, str(error)) from error
                time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(descriptor)


def interrupted(evidence: str, host: Path = Path("/")) -> AptError:
    """Return the finding that dpkg must finish first.

    A run whose connection broke leaves a dpkg that goes on: it was not interrupted, and must not be now.

    Args:
        evidence: What is unfinished.
        host: The host's root.
    """
    locks = (host / "var/lib/dpkg" / name for name in ("lock", "lock-frontend"))
    pid = next(filter(None, map(_holder, locks)), "")
    if pid:
        wait = f"wait for it: `tail --pid={pid} -f /dev/null` on the host returns when it has ended; then run again"
        return fail("APT.LOCKED", "dpkg", f"it is at work, {_process(pid)}; {evidence}", wait)
    return fail(
        "APT.DPKG_INTERRUPTED", "dpkg", evidence, "run `dpkg --configure -a` on the host, and look at what it says"
    )


def locked(path: Path, timeout_s: float, reason: str) -> AptError:
    """Return the finding that another process holds a lock, with that process."""
    pid = _holder(path)
    holder = _process(pid) if pid else f"an unknown process ({reason})"
    return fail(
        "APT.LOCKED",
        str(path),
        f"held by {holder} for more than {timeout_s:g} s",
        "let that process finish, or wait longer for it: apt_transaction_lock_timeout, apt_repair_lock_timeout; never "
        "remove the lock file",
    )


def _holder(path: Path) -> str:
    """Return the process id of whoever else holds a lock, or nothing."""
    try:
        inode = path.stat().st_ino
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return ""
    for line in lines:
        words = line.split()
        # "1: POSIX  ADVISORY  WRITE 1234 fe:01:5678 0 EOF"; the device differs from stat's on overlays.
        if len(words) >= 6 and words[1] != "->" and words[5].rpartition(":")[2] == str(inode):
            return "" if words[4] == str(os.getpid()) else words[4]
    return ""


def _process(pid: str) -> str:
    try:
        name = Path("/proc", pid, "comm").read_text(encoding="utf-8").strip()
        words = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return f"process {pid}"
    command = b" ".join(words).decode(errors="replace").strip()
    return f"{name} (process {pid}: {command})" if command else f"{name} (process {pid})"
