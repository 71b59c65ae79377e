"""Sources that were made for another release of the operating system than the host's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .model import Entry, Problem, Question

#: Codenames of the releases that a source may have been made for -> VERSION_ID of os-release.
UBUNTU = {
    "bionic": "18.04",
    "focal": "20.04",
    "jammy": "22.04",
    "kinetic": "22.10",
    "lunar": "23.04",
    "mantic": "23.10",
    "noble": "24.04",
    "oracular": "24.10",
    "plucky": "25.04",
    "questing": "25.10",
    "resolute": "26.04",
}
DEBIAN = {"stretch": "9", "buster": "10", "bullseye": "11", "bookworm": "12", "trixie": "13", "forky": "14", "sid": ""}
#: A release in a URI: ``.../ubuntu2204``, ``.../debian12``, ``.../ubuntu/22.04``.
_IN_URI = re.compile(r"/(ubuntu|debian)[/_-]?(\d{2})\.?(\d{2})?(?=/|$)")


def foreign(entries: Iterable[Entry], question: Question, os: Mapping[str, str]) -> list[Problem]:
    """Return a problem for each source of another release.

    Args:
        entries: All sources.
        question: The stack's archives say which suite a source should have.
        os: The host's release, as :class:`halo.host.Host` has it; nothing is said where it has no codename.
    """
    if not os.get("codename"):
        return []
    used = [entry for entry in entries if entry.enabled]
    # Beside the host's own suite another one of the same archive is there on purpose, mostly with a pin.
    beside = {entry.key[0] for entry in used if _release(entry.suite) == os["codename"]}
    problems = []
    for entry in used:
        release = _release(entry.suite)
        if release and release != os["codename"]:
            problems.append(_suite(entry, release, question, os, beside=entry.key[0] in beside))
        elif version := _other_version(entry.uri, os):
            problems.append(_uri(entry, version, question, os))
    return problems


def _release(suite: str) -> str:
    """Return the codename in a suite, ``noble`` of ``noble-updates`` or ``noble/main``; nothing of ``stable``."""
    name = re.split(r"[-/]", suite)[0].lower()
    return name if name in UBUNTU or name in DEBIAN else ""


def _other_version(uri: str, os: Mapping[str, str]) -> str:
    found = _IN_URI.search(uri)
    if not found or not os.get("version"):
        return ""
    version = f"{found[2]}.{found[3]}" if found[3] else found[2]
    return "" if (found[1], version) == (os.get("id"), os["version"]) else f"{found[1]} {version}"


def _suite(entry: Entry, release: str, question: Question, os: Mapping[str, str], beside: bool) -> Problem:
    family = "Ubuntu" if release in UBUNTU else "Debian"
    what = f"{family} {(UBUNTU | DEBIAN)[release]} ({release})" if (UBUNTU | DEBIAN)[release] else f"Debian {release}"
    evidence = f"suite {entry.suite} in {entry.place} is for {what}, the host is {_host(os)}"
    if beside:
        evidence += "; the same archive's own suite of the host is there as well"
        return _problem("info", entry, evidence, "", question, os, "")
    wanted = question.wanted(entry)
    suite = os["codename"] + entry.suite[len(release) :]
    if wanted and wanted.suites and suite not in wanted.suites:
        suite = wanted.suites[0]
    remedy = f"write {suite} instead of {entry.suite} in {entry.place}, or remove the source if it has no such suite"
    return _problem("warning", entry, evidence, remedy, question, os, suite)


def _uri(entry: Entry, version: str, question: Question, os: Mapping[str, str]) -> Problem:
    evidence = f"{entry.uri} in {entry.place} is for {version}, the host is {_host(os)}"
    remedy = f"lead {entry.place} to the directory for {_host(os)}, or remove the source if there is none"
    return _problem("warning", entry, evidence, remedy, question, os, "")


def _problem(
    severity: str, entry: Entry, evidence: str, remedy: str, question: Question, os: Mapping[str, str], suite: str
) -> Problem:
    detail = {
        "entry": entry.where(),
        "codename": os["codename"],
        "suite": suite,
        # Whether another archive has a suite of this name nobody here knows; of the stack's it is known.
        "certain": bool(suite and question.wanted(entry)),
    }
    return entry.problem("SOURCE.WRONG_SUITE", severity, evidence, remedy, detail)


def _host(os: Mapping[str, str]) -> str:
    return os.get("pretty") or f"{os.get('id', '')} {os['codename']}".strip()
