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
_FRONTEND = Path("/var/lib/dpkg/lock-frontend")
_LOCK = Path("/var/lib/dpkg/lock")


def carry_out(repairs: Repairs, root: str, lock_timeout_s: int) -> list[Finding]:
    """Write the files and run the commands, and return a finding for each.

    Args:
        repairs: What is to be done.
        root: The host's root directory; commands are run where that is ``/`` alone.
        lock_timeout_s: Seconds to wait for dpkg's lock.

    Returns:
        ``REPAIR.DONE`` for what was done. The first ``REPAIR.FAILED`` ends it: what comes behind is as it was.
    """
    findings: list[Finding] = []
    for file in repairs.files:
        try:
            copy = _keep(file, root)
            _write(file, root)
        except OSError as error:
            evidence = f"{file.name} stays as it was: {error.strerror or error}"
            remedy = "make room on its file system and that of /var/lib/halo, make both writable, and run again"
            return [*findings, Finding("REPAIR.FAILED", "error", file.name, evidence, remedy)]
        evidence = f"{'changed' if file.after is not None else 'removed'}; a copy is in {copy}. {what(file.problems)}"
        findings.append(Finding("REPAIR.DONE", "info", file.name, evidence))
    if repairs.commands and root == "/":
        try:
            with locks.file(_FRONTEND, lock_timeout_s):
                # dpkg takes this one itself, and does not wait for it.
                with locks.file(_LOCK, lock_timeout_s):
                    pass
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
    _copy_owner(Path(shutil.copy2(Path(root) / file.name.lstrip("/"), target)), Path(root) / file.name.lstrip("/"))
    return name


def _write(file: FileRepair, root: str) -> None:
    path = Path(root) / file.name.lstrip("/")
    if file.after is None:
        path.unlink()
        return
    # apt passes over hidden files, so it reads either the old or the new one.
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    try:
        # Nobody else reads it before it has the mode of what it takes the place of, which may hold a password.
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(file.after)
            stream.flush()
            os.fsync(stream.fileno())
        _copy_owner(temporary, path)
        shutil.copystat(path, temporary)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _copy_owner(target: Path, source: Path) -> None:
    owner = source.stat()
    if (owner.st_uid, owner.st_gid) != (target.stat().st_uid, target.stat().st_gid):
        os.chown(target, owner.st_uid, owner.st_gid)


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
