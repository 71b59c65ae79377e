"""From wishes to a plan, and on request to a changed host."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apt_pkg

from ..findings import Finding, errors
from . import dpkgdb, execute, fetch, locks, preferences, space
from .changes import build, host_release, marked
from .channels import Conflict, Meta, for_all_gpus, mixed_channels
from .choose import choose
from .errors import AptError, fail
from .interrupt import Interrupt
from .model import Change, Fetch, OneOrigin, Permissions, Plan, Remedy
from .origins import mixed_origins
from .permit import refusals
from .refresh import needed, refresh
from .report import Reporter
from .root import PrivateRoot, messages, partial
from .solve import Solver, Target, UnsolvableError
from .sources import Sources
from .view import View
from .wishes import Joined, Wish


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        wishes: The wishes of all roles together.
        pins: The pins as they will be, which the plan sees before they are written.
        sources: The sources and keyrings as they will be, which the plan sees before they are on the host.
        files: Path of a source or preferences file -> its text after a repair to come, ``None`` where it goes.
        one_origin: Sets of packages that must come from one origin each.
        conflicts: What must not be on the host beside what is wished for.
        metas: Packages that bring the code for every GPU.
        permissions: What the plan may do beyond installing.
        remedies: What roles advise when one of their changes is refused.
        refresh: ``auto``, ``always`` or ``never``.
        cache_valid_s: Seconds for which lists count as fresh, with ``auto``; 0: however old.
        recommends: Whether recommended packages are installed.
        execute: Whether a permitted plan is executed.
        log: The file that dpkg's output is appended to.
        lock_timeout_s: Seconds to wait for apt's and dpkg's locks.
        root: The root directory of the host; only ``/`` can be executed on.
    """

    wishes: Joined
    pins: Sequence[preferences.Pin] = ()
    sources: Sources = field(default_factory=Sources)
    files: Mapping[str, str | None] = field(default_factory=dict)
    one_origin: Sequence[OneOrigin] = ()
    conflicts: Sequence[Conflict] = ()
    metas: Sequence[Meta] = ()
    permissions: Permissions = field(default_factory=Permissions)
    remedies: Sequence[Remedy] = ()
    refresh: str = "auto"
    cache_valid_s: int = 3600
    recommends: bool = False
    execute: bool = False
    log: str = "/var/log/halo/apt.log"
    lock_timeout_s: float = 60
    root: str = "/"


@dataclass
class Outcome:
    """What came of a request.

    Attributes:
        plan: The plan, or nothing when none could be made.
        findings: What was found; an error among them means that nothing was executed, or that executing failed.
        logged: Whether dpkg may have been run, with its output in the log.
        explanations: What the findings about the plan come from, in the plain form that module ``apt_plan`` returns.
    """

    plan: Plan | None = None
    findings: list[Finding] = field(default_factory=list)
    logged: bool = False
    explanations: list[dict[str, Any]] = field(default_factory=list)


def transact(request: Request) -> Outcome:
    """Plan, and execute where that is asked for and permitted.

    Nothing is raised for what a user or a host can get wrong; that comes as findings.
    """
    outcome = Outcome()
    try:
        with Interrupt() as interrupt:
            _transact(request, outcome, interrupt)
    except AptError as error:
        outcome.findings += error.findings
    except apt_pkg.Error as error:
        remedy = "run `apt-get check` on the host, and repair what it names"
        outcome.findings.append(Finding("APT.STATUS_UNREADABLE", "error", "apt", messages(error), remedy))
    except OSError as error:
        outcome.findings.append(_system_error(error))
    return outcome


def _system_error(error: OSError) -> Finding:
    subject = str(error.filename or "apt")
    if error.errno == errno.ENOSPC:
        return Finding("APT.NO_SPACE", "error", subject, str(error), "free some space there")
    remedy = "run as root (become: true), and see that this path can be read and written"
    return Finding("APT.STATUS_UNREADABLE", "error", subject, str(error), remedy)


def _transact(request: Request, outcome: Outcome, interrupt: Interrupt) -> None:
    database = _database(request.root)
    mixed = mixed_channels(database.versions, request.wishes.removals(database.versions), request.conflicts)
    if mixed:
        raise AptError(*mixed)
    overlay = {
        f"{name}.pref": preferences.render(pins, database.versions)
        for name, pins in preferences.by_file(request.pins).items()
    }
    sources = request.sources
    with PrivateRoot(request.root, overlay, sources.files, request.recommends, sources.keyrings, request.files) as root:
        _refresh(root, request, interrupt)
        made = _make(root, request, outcome)
        if not (request.execute and made.plan) or errors(outcome.findings):
            return
        with locks.system(root, request.lock_timeout_s):
            # Somebody may have changed packages while this waited for the lock.
            if _database(request.root) != made.database:
                made = _make(root, request, outcome)
            if errors(outcome.findings):
                return
            fetch.execute(root, made.plan.fetch, interrupt)
            if made.plan.changes:
                outcome.logged = True
                execute.execute(root, made.view, made.plan, Path(request.log), made.database, interrupt)


def _database(root: str) -> dpkgdb.Database:
    try:
        return dpkgdb.read(root)
    except OSError as error:
        raise fail(
            "APT.STATUS_UNREADABLE", "/var/lib/dpkg/status", str(error), "restore it from /var/backups/dpkg.status.*"
        ) from error


def _refresh(root: PrivateRoot, request: Request, interrupt: Interrupt) -> None:
    if not needed(root, request.refresh, request.cache_valid_s):
        return
    if request.execute:
        partial(root.host_lists)
        with locks.file(root.host_lists / "lock", request.lock_timeout_s):
            refresh(root, interrupt)
    else:
        root.use_lists(root.link_lists())
        refresh(root, interrupt)


@dataclass(frozen=True)
class _Made:
    """A plan, the view in which it is marked, and the host that it was made for."""

    plan: Plan
    view: View
    database: dpkgdb.Database


def _make(root: PrivateRoot, request: Request, outcome: Outcome) -> _Made:
    """Solve, and put plan and findings into the outcome."""
    database = _database(request.root)
    if database.unfinished:
        raise locks.interrupted("; ".join(database.unfinished))
    view = View(root)
    absent = request.wishes.removals(database.versions)
    targets = _targets(view, request.wishes)
    fetches = fetch.pending(root, view, request.wishes.fetch)
    reporter = Reporter(root, view, targets, absent)
    try:
        changes = _changes(root, view, targets, absent, database, reporter.is_hopeless)
    except UnsolvableError as error:

        def attempt(other: Sequence[Target], without: Mapping[str, Wish]) -> tuple[list[Change], int]:
            tried = _changes(root, view, other, without, database, lambda: True)
            return tried, int(view.depcache.deb_size)

        finding = reporter.unsolvable(error, sorted(database.versions), attempt)
        outcome.explanations = reporter.explanations
        raise AptError(finding) from error
    plan = outcome.plan = _plan(view, changes, fetches)
    refused = refusals(changes, request.permissions, request.remedies, reporter.forced)
    outcome.explanations = reporter.explanations
    outcome.findings = [
        *refused,
        *mixed_origins(view, changes, database, request.one_origin),
        *for_all_gpus(changes, request.wishes.install, request.metas, plan.download_bytes),
        *space.shortages(_needs(root, view, fetches)),
    ]
    return _Made(plan, view, database)


def _targets(view: View, wishes: Joined) -> list[Target]:
    targets, findings = [], []
    for goal in wishes.install.values():
        try:
            version = choose(view, goal)
            targets.append(Target(goal, version.parent_pkg, version))
        except AptError as error:
            findings += error.findings
    if findings:
        raise AptError(*findings)
    return targets


def _changes(
    root: PrivateRoot,
    view: View,
    targets: Sequence[Target],
    absent: Mapping[str, Wish],
    database: dpkgdb.Database,
    is_hopeless: Callable[[], bool],
) -> list[Change]:
    removals = [package for package in map(view.package, absent) if package is not None and package.current_ver]
    Solver(view, targets, removals, is_hopeless).solve()
    for target in targets:
        if view.changed(target.package):
            view.depcache.mark_auto(target.package, False)
    packages = marked(view, database, targets)
    return build(view, packages, targets, absent, database, host_release(root.host))


def _plan(view: View, changes: Sequence[Change], fetches: Sequence[Fetch]) -> Plan:
    download = int(view.depcache.deb_size) + sum(item.size for item in fetches)
    return Plan(tuple(changes), tuple(fetches), download, int(view.depcache.usr_size))


def _needs(root: PrivateRoot, view: View, fetches: Sequence[Fetch]) -> list[tuple[Path, Any]]:
    needs = [(root.archives, int(view.depcache.deb_size)), (root.host / "usr", int(view.depcache.usr_size))]
    return needs + [(root.host / item.dest.lstrip("/"), item.size) for item in fetches]
