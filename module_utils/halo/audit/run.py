"""The whole audit of one host."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from .. import host
from ..apt import bootstrap, dpkgdb
from ..apt.errors import AptError
from ..findings import Finding
from . import dpkg, keys, lists, pins, sources, stores
from .model import Audit, Entry, Problem, Question
from .repeated import repeated
from .strays import other_channels, stray
from .suites import foreign
from .verdict import Judge


def audit(question: Question) -> Audit:
    """Read a host below its root directory, and say what is wrong with its apt and dpkg.

    What is wrong is a problem; only what makes every apt call fail is one of severity ``error``.
    """
    facts = host.read(Path(question.root))
    problems: list[Problem] = []
    entries: list[Entry] = []
    try:
        database: dpkgdb.Database | None = dpkgdb.read(question.root)
    except OSError as error:
        database = None
        problems.append(_status(error))
    try:
        with Judge(question.root) as judge:
            texts, passed_over = sources.files(question.root)
            entries, refused = sources.read(texts, judge)
            problems += refused + repeated(entries, question, judge)
            problems += stray(entries, question, judge) + other_channels(entries, question)
            problems += foreign(entries, question, facts.os)
            archives = lists.archives(entries, question.root, facts.architecture)
            problems += lists.not_there(archives, facts.architecture)
            known = stores.stores(entries, question.root)
            problems += keys.source_keys(archives, known, question)
            problems += keys.stale(archives, known, question) + keys.left_over(known, question)
            preferences, unread = pins.files(question.root)
            left = [one for one in archives if not (question.retire and question.foreign(one.entry))]
            problems += unread + pins.check(preferences, left, question, judge) + passed_over
    except AptError as error:
        return Audit((*problems, *map(_problem, error.findings)), tuple(entries))
    if database is not None:
        problems += dpkg.states(database, question.root, question.apu)
        problems += dpkg.diversions(database, question.root) + dpkg.headers(database, question.root)
        problems += lists.homeless(archives, database)
    return Audit(tuple(problems), tuple(entries), tuple(_asked(question, problems)))


def _status(error: OSError) -> Problem:
    evidence = f"dpkg's status cannot be read: {error.strerror}"
    remedy = "restore it from /var/backups/dpkg.status.0 or /var/lib/dpkg/status-old"
    path = "/var/lib/dpkg/status"
    return Problem("APT.STATUS_UNREADABLE", "error", path, evidence, remedy, path)


def _problem(finding: Finding) -> Problem:
    return Problem(finding.code, finding.severity, finding.subject, finding.evidence, finding.remedy)


def _asked(question: Question, problems: Iterable[Problem]) -> list[Finding]:
    """Ask the archives, in a private root, and return what cannot be had or trusted."""
    if not question.online or any(problem.severity == "error" for problem in problems):
        # apt would only repeat what makes every call fail.
        return []
    from ..apt.interrupt import Interrupt

    try:
        from ..apt.refresh import refresh
        from ..apt.root import PrivateRoot
    except ImportError:
        return [replace(bootstrap.absent("it is missing, so no archive was asked"), severity="warning")]
    try:
        with Interrupt() as interrupt, PrivateRoot(question.root) as root:
            root.use_lists(root.link_lists())
            refresh(root, interrupt)
    except AptError as error:
        return error.findings
    return []
