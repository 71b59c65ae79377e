"""Writing repaired files, each after a copy was laid aside, and running dpkg."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from ..apt import locks
from ..apt.errors import AptError
from ..findings import Finding
from .model import Command, FileRepair, Repairs, what

#: Where copies lie: outside apt's directories, which would read or complain about them.
BACKUP = "/var/lib/halo/backup"
_LOCK = "/var/lib/dpkg/lock-frontend"


def carry_out(repairs: Repairs, root: str, lock_timeout_s: int) -> list[Finding]:
    """Write the files and run the commands, and return a finding for each.

    Args:
        repairs: What is to be done.
        root: The host's root directory; commands are run where that is ``/`` alone.
        lock_timeout_s: Seconds to wait for dpkg's lock.

    Raises:
        OSError: A file cannot be written. Those before it are.
    """
    findings = []
    for file in repairs.files:
        copy = _keep(file, root)
        _write(file, root)
        evidence = f"{'changed' if file.after is not None else 'removed'}; a copy is in {copy}. {what(file.problems)}"
        findings.append(Finding("REPAIR.DONE", "info", file.name, evidence))
    if repairs.commands and root == "/":
        try:
            with locks.file(Path(_LOCK), lock_timeout_s):
                findings += [_run(command) for command in repairs.commands]
        except AptError as error:
            findings += error.findings
    return findings


def backup(file: FileRepair) -> str:
    """Return where the copy of a file lies: by its content, so that the same is kept once."""
    return f"{BACKUP}/{hashlib.sha256(file.before).hexdigest()[:12]}{file.name}"


def _keep(file: FileRepair, root: str) -> str:
    name = backup(file)
    target = Path(root) / name.lstrip("/")
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    shutil.copy2(Path(root) / file.name.lstrip("/"), target)
    return name


def _write(file: FileRepair, root: str) -> None:
    path = Path(root) / file.name.lstrip("/")
    if file.after is None:
        path.unlink()
        return
    # apt passes over hidden files, so it reads either the old or the new one.
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as stream:
        stream.write(file.after)
        stream.flush()
        os.fsync(stream.fileno())
    shutil.copystat(path, temporary)
    temporary.replace(path)


def _run(command: Command) -> Finding:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "DPKG_FRONTEND_LOCKED": "1"}
    done = subprocess.run(
        command.words,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    line = " ".join(command.words)
    if done.returncode:
        said = "\n".join(done.stdout.strip().splitlines()[-8:])
        evidence = f"`{line}` returned {done.returncode}: {said}"
        return Finding("REPAIR.FAILED", "error", "dpkg", evidence, f"run `{line}` on the host, and read what it says")
    return Finding("REPAIR.DONE", "info", "dpkg", f"`{line}`. {what(command.problems)}")
