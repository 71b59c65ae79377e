"""Executing exactly a plan, and comparing the host with it afterwards."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import apt_pkg

from . import dpkgdb
from .errors import AptError, fail
from .fetch import download_failed
from .interrupt import Interrupt
from .model import Plan, of_kind, render
from .refresh import Progress
from .root import PrivateRoot, messages, partial
from .view import View

#: Nobody answers a question, and no service is restarted behind the user's back.
_ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "DEBIAN_PRIORITY": "critical",
    "APT_LISTCHANGES_FRONTEND": "none",
    "NEEDRESTART_MODE": "l",
    "LC_ALL": "C.UTF-8",
    # The outer lock is held by this process, on dpkg's behalf.
    "DPKG_FRONTEND_LOCKED": "true",
}
_TAIL_LINES = 15


def execute(
    root: PrivateRoot, view: View, plan: Plan, log: Path, before: dpkgdb.Database, interrupt: Interrupt
) -> None:
    """Carry out what is marked in a view, which is the plan, and see that the host is then what the plan says.

    Args:
        root: The private root; the caller holds the system's lock.
        view: The opened cache with the changes marked.
        plan: The plan.
        log: The file that dpkg's output is appended to.
        before: The host before the change.
        interrupt: SIGTERM waits until dpkg is done.

    Raises:
        AptError: A download or dpkg failed, or the host is not what was planned.
    """
    apt_pkg.config.set("Dir::Cache::archives", str(root.archives))
    # Otherwise dpkg writes to a terminal of its own, and the log stays empty.
    apt_pkg.config.set("Dpkg::Use-Pty", "false")
    for option in ("--force-confdef", "--force-confold"):
        apt_pkg.config.set("Dpkg::Options::", option)
    with _environment(), interrupt.deferred(), _logged(log, plan):
        if len(plan.changes) > len(of_kind(plan.changes, "mark_manual")):
            _commit(root, view, log, interrupt)
        _mark_manual(plan, log)
        _restore_holds(before, log)
    _compare(plan, before, dpkgdb.read(str(root.host)))


def _commit(root: PrivateRoot, view: View, log: Path, interrupt: Interrupt) -> None:
    manager = apt_pkg.PackageManager(view.depcache)
    progress = Progress(interrupt)
    acquire = apt_pkg.Acquire(progress)
    partial(root.archives)
    problem = ""
    try:
        manager.get_archives(acquire, root.sources(), apt_pkg.PackageRecords(view.cache))
        acquire.run()
    except (apt_pkg.Error, SystemError) as error:
        problem = messages(error)
    failed = {
        item.desc_uri: item.error_text or "not downloaded"
        for item in acquire.items
        if item.status != item.STAT_DONE or not item.complete
    }
    if failed or problem:
        raise download_failed(failed, problem)
    try:
        with _dpkg_may_lock():
            result = manager.do_install(-1)
    except (apt_pkg.Error, SystemError) as error:
        raise _failed(log, messages(error)) from error
    if result != manager.RESULT_COMPLETED:
        raise _failed(log, "dpkg returned an error")


def _failed(log: Path, reason: str) -> AptError:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
    return fail(
        "APT.EXECUTE_FAILED",
        "dpkg",
        "\n".join([reason, *lines]),
        f"see {log} on the host, repair what it names, then run `dpkg --configure -a` and this again",
    )


def _mark_manual(plan: Plan, log: Path) -> None:
    names = [f"{c.name}:{c.arch}" if c.arch != "all" else c.name for c in of_kind(plan.changes, "mark_manual")]
    if names:
        done = subprocess.run(["apt-mark", "manual", *names], check=False)
        if done.returncode:
            raise _failed(log, "apt-mark manual failed")


def _restore_holds(before: dpkgdb.Database, log: Path) -> None:
    lost = [package for package in before.packages.values() if package.want == "hold"]
    now = dpkgdb.read().packages
    lines = [f"{p.name}:{p.arch} hold" if p.arch != "all" else f"{p.name} hold" for p in lost if _lost(p, now)]
    if not lines:
        return
    with _dpkg_may_lock():
        done = subprocess.run(["dpkg", "--set-selections"], input="\n".join(lines) + "\n", text=True, check=False)
    if done.returncode:
        raise _failed(log, "dpkg --set-selections could not restore the holds")


def _lost(package: dpkgdb.Package, now: Mapping[str, dpkgdb.Package]) -> bool:
    current = now.get(f"{package.name}:{package.arch}")
    return current is not None and current.want != "hold"


def _compare(plan: Plan, before: dpkgdb.Database, after: dpkgdb.Database) -> None:
    native = apt_pkg.config.find("APT::Architecture")
    expected = {key: package.version for key, package in before.packages.items()}
    for change in plan.changes:
        for arch in (change.arch, "all", native):
            expected.pop(f"{change.name}:{arch}", None)
        if change.new:
            expected[f"{change.name}:{change.arch}"] = change.new
    actual = {key: package.version for key, package in after.packages.items()}
    differing = [
        f"{key} is {actual.get(key, 'absent')} instead of {expected.get(key, 'absent')}"
        for key in sorted(expected.keys() | actual.keys())
        if expected.get(key) != actual.get(key)
    ]
    for change in plan.changes:
        if change.new and (change.name in after.auto) != change.auto and change.kind in ("install", "mark_manual"):
            differing.append(f"{change.name} is marked {'auto' if change.name in after.auto else 'manual'}")
    differing += list(after.unfinished)
    if differing:
        raise fail(
            "APT.RESULT_DIFFERS",
            "apt",
            "; ".join(differing),
            "run again, and see what else changes packages on the host",
        )


@contextmanager
def _dpkg_may_lock() -> Iterator[None]:
    """Leave the inner of the system's two locks to dpkg, which takes it itself."""
    apt_pkg.pkgsystem_unlock_inner()
    try:
        yield
    finally:
        apt_pkg.pkgsystem_lock_inner()


@contextmanager
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _logged(log: Path, plan: Plan) -> Iterator[None]:
    """Send this process's own output, and so dpkg's, to the log, and give it an empty input."""
    log.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
    empty = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.fchmod(descriptor, 0o640)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    os.write(descriptor, f"\n=== {stamp}\n{render(plan)}\n".encode())
    saved = [os.dup(number) for number in range(3)]
    for number, target in enumerate((empty, descriptor, descriptor)):
        os.dup2(target, number)
    try:
        yield
    finally:
        for number, target in enumerate(saved):
            os.dup2(target, number)
            os.close(target)
        os.close(descriptor)
        os.close(empty)
