"""Preferences: what apt refuses, and pins that prefer nothing, or everything alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from .lists import Archive
from .model import Problem, Question, Wanted
from .sources import Text, ignored, odd, unreadable
from .stanzas import Stanza, stanzas
from .verdict import Judge

PARTS = "etc/apt/preferences.d"
#: Key in ``Pin: release`` -> attribute of an archive.
_FIELDS = {"a": "archive", "n": "codename", "o": "origin", "l": "label", "c": "component", "v": "version"}
_CODE = "APT.PREFERENCES_UNREADABLE"
_LETTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
#: What apt gives an archive without a pin.
_DEFAULT = 500
#: Above it apt downgrades what is installed (apt_preferences(5)).
_DOWNGRADES = 1000
#: apt keeps priorities in a signed short.
_HIGHEST = 32767


def files(root: str) -> tuple[list[Text], list[Problem]]:
    """Return the files of preferences that apt reads, in its order, and a word about each that it passes over."""
    base = Path(root)
    found, problems = [], []
    for path in (base / "etc/apt/preferences", *(sorted((base / PARTS).iterdir()) if (base / PARTS).is_dir() else ())):
        name = f"/{path.relative_to(base)}"
        if path.parent == base / PARTS and not _read_by_apt(path):
            if path.suffix not in (".disabled", ".bak", ".save", ".orig") and ".dpkg-" not in path.name:
                problems.append(ignored(name, ".pref"))
            continue
        try:
            if path.is_file():
                found.append(Text(name, path.read_text(encoding="utf-8", errors="surrogateescape")))
        except OSError as error:
            problems.append(unreadable(name, 0, 0, str(error.strerror), _CODE))
    return found, problems


def _read_by_apt(path: Path) -> bool:
    stem = path.name[: -len(".pref")] if path.name.endswith(".pref") else path.name
    return bool(stem) and set(stem) <= _LETTERS


def check(texts: Iterable[Text], archives: Sequence[Archive], question: Question, judge: Judge) -> list[Problem]:
    """Return what is wrong with preferences.

    Args:
        texts: The files.
        archives: The host's sources in use.
        question: Which archives are the stack's, and which packages are meant to come from them.
        judge: apt, which decides what is malformed.
    """
    problems = []
    files = list(texts)
    sound = judge.preferences("\n\n".join(file.text for file in files)) if files else True
    for file in files:
        found = list(stanzas(file.text))
        bad = [(stanza, reason) for stanza in found if (reason := _reason(stanza))]
        if not sound and not judge.preferences(file.text):
            problems += [
                unreadable(file.name, stanza.line, stanza.number, reason, _CODE) for stanza, reason in bad
            ] or [unreadable(file.name, 0, 0, "apt refuses the file and does not say why", _CODE)]
        for stanza in found:
            if stanza.odd and not _reason(stanza):
                problems.append(odd(file, stanza, _CODE))
            if not _reason(stanza):
                problems += _pin(file, stanza, archives, question)
    return problems


def _reason(stanza: Stanza) -> str:
    """Return why apt refuses a stanza, or nothing."""
    if not stanza.fields.get("package"):
        return "the stanza has no Package"
    if not _understood(stanza):
        # apt passes over the stanza before it looks at the priority.
        return ""
    priority = stanza.fields.get("pin-priority", "")
    number = _number(priority)
    if number is None or not number:
        return f"Pin-Priority is {priority or 'absent'}, and must be a number other than 0"
    if abs(number) > _HIGHEST:
        return f"Pin-Priority {priority} is beyond {_HIGHEST}"
    return ""


def _understood(stanza: Stanza) -> bool:
    """Say whether apt knows what the pin means; for every package it knows no pin to a version."""
    kinds = ("release", "origin") if stanza.words("package") == ("*",) else ("release", "origin", "version")
    return next(iter(stanza.words("pin")), "") in kinds


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _pin(file: Text, stanza: Stanza, archives: Sequence[Archive], question: Question) -> list[Problem]:
    pin = " ".join(stanza.fields.get("pin", "").split())
    packages = " ".join(stanza.words("package"))
    priority = _number(stanza.fields.get("pin-priority", "")) or 0
    if not _understood(stanza):
        evidence = f"line {stanza.line}: apt does not understand `Pin: {pin}`, so the stanza does nothing"
        return [_problem("APT.PIN_IDLE", file, stanza, pin, packages, priority, evidence)]
    if pin.startswith("version"):
        return []
    stacks = next((one for one in question.archives if _names(pin, one)), None)
    if stacks and packages == "*" and priority > _DEFAULT and stacks.packages:
        evidence = f"`Pin: {pin}` at {priority} is for every package of {stacks.origin}, whatever it takes the place of"
        problem = _problem("APT.PIN_BROAD", file, stanza, pin, packages, priority, evidence)
        return [replace(problem, detail={**problem.detail, "meant": list(stacks.packages)})]
    met = [archive for archive in archives if _meets(pin, archive)]
    if not met and priority > 0 and not (stacks and stacks.comes):
        origins = ", ".join(sorted({archive.origin for archive in archives if archive.origin})) or "none"
        evidence = f"`Pin: {pin}` for {packages} at {priority} matches no archive; their origins are {origins}"
        return [_problem("APT.PIN_IDLE", file, stanza, pin, packages, priority, evidence)]
    several = len({(archive.origin, archive.site) for archive in archives}) > 1
    if packages == "*" and met and len(met) == len(archives) and (several or _universal(pin)):
        effect = (
            "so nothing can be installed"
            if priority < 0
            else "so apt downgrades to whatever an archive has"
            if priority > _DOWNGRADES
            else "so it prefers none of them"
        )
        evidence = f"`Pin: {pin}` for every package at {priority} matches all archives, {effect}"
        return [_problem("APT.PIN_EVERYTHING", file, stanza, pin, packages, priority, evidence)]
    return []


def _meets(pin: str, archive: Archive) -> bool:
    """Say whether a pin may mean an archive; one whose Release file is not there may be any."""
    return (not archive.known and not pin.startswith("origin")) or meets(pin, archive)


def meets(pin: str, archive: Archive) -> bool:
    """Say whether an archive is what a pin means; what is not understood is taken for met."""
    kind, _, rest = pin.partition(" ")
    if kind == "origin":
        return fnmatchcase(archive.site, rest.strip().strip('"'))
    if kind != "release":
        return True
    for part in rest.split(","):
        key, separator, value = part.strip().partition("=")
        if not separator or key not in _FIELDS or value.startswith("/"):
            continue
        if not fnmatchcase(str(getattr(archive, _FIELDS[key]) or ""), value.strip().strip('"')):
            return False
    return True


def _names(pin: str, wanted: Wanted) -> bool:
    """Say whether a pin names the origin of the stack's archive, which need not be among the sources yet."""
    kind, _, rest = pin.partition(" ")
    parts = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    return bool(wanted.origin) and kind == "release" and parts.get("o", "").strip('"') == wanted.origin


def _universal(pin: str) -> bool:
    values = [part.partition("=")[2] or part for part in pin.partition(" ")[2].split(",")]
    return all(value.strip().strip('"') == "*" for value in values)


def _problem(code: str, file: Text, stanza: Stanza, pin: str, packages: str, priority: int, evidence: str) -> Problem:
    remedy = {
        "APT.PIN_IDLE": f"remove the stanza in {file.name}:{stanza.line}, or correct its Pin: line",
        "APT.PIN_BROAD": f"name the packages that are meant in {file.name}:{stanza.line}",
        "APT.PIN_EVERYTHING": f"name packages or one origin in {file.name}:{stanza.line}, or remove the stanza",
    }[code]
    detail = {"pin": pin, "packages": packages.split(), "priority": priority}
    return Problem(code, "warning", file.name, evidence, remedy, file.name, stanza.line, stanza.number, detail)
