"""Every source of a host, in both forms, with what could still be read of files that apt refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .model import Entry, Problem
from .stanzas import Stanza, stanzas
from .verdict import Judge

PARTS = "etc/apt/sources.list.d"
#: Endings of files that apt passes over without a word: copies that dpkg, editors and upgrades leave behind.
_SILENT = (".disabled", ".bak", ".save", ".orig", ".distUpgrade", "~")
_NAME = re.compile(r"[A-Za-z0-9_.-]+\.(list|sources)")
_DECLINES = ("no", "false", "without", "off", "disable", "0")
_AGREES = ("yes", "true", "with", "on", "enable", "1")
_FILL = "Enabled: no\nTypes: deb\nURIs: file:/\nSuites: fill/\n\n"


@dataclass(frozen=True)
class Text:
    """A file of the host.

    Attributes:
        name: As the host calls it.
        text: What stands in it; bytes that are no UTF-8 are kept as surrogates.
    """

    name: str
    text: str


def files(root: str) -> tuple[list[Text], list[Problem]]:
    """Return the files of sources that apt reads, in its order, and a word about each that it passes over."""
    base = Path(root)
    found, problems = [], []
    paths = [base / "etc/apt/sources.list", *(sorted((base / PARTS).iterdir()) if (base / PARTS).is_dir() else ())]
    for path in paths:
        name = f"/{path.relative_to(base)}"
        if path.is_dir():
            continue
        if path.parent == base / PARTS and not _NAME.fullmatch(path.name):
            if not path.name.startswith(".") and not path.name.endswith(_SILENT) and ".dpkg-" not in path.name:
                problems.append(ignored(name, ".list or .sources"))
            continue
        try:
            found.append(Text(name, path.read_text(encoding="utf-8", errors="surrogateescape")))
        except FileNotFoundError:
            # sources.list need not be there; a link that leads nowhere is one to a file that is gone.
            if path.is_symlink():
                problems.append(unreadable(name, 0, 0, "the link leads nowhere", "SOURCE.UNREADABLE"))
        except OSError as error:
            problems.append(unreadable(name, 0, 0, str(error.strerror), "SOURCE.UNREADABLE"))
    return found, problems


def ignored(name: str, endings: str) -> Problem:
    """Return the word about a file that apt does not read because of its name."""
    evidence = (
        f"apt does not read it: its name has other signs than letters, digits, _ . -, or does not end in {endings}"
    )
    return Problem("APT.FILE_IGNORED", "info", name, evidence, file=name)


def unreadable(name: str, line: int, stanza: int, reason: str, code: str) -> Problem:
    """Return the error for what makes apt refuse a file, and with it every call."""
    at = f"line {line}: " if line else ""
    remedy = (
        f"correct {name}" + (f" at line {line}" if line else "") + ", or move it out of /etc/apt; then `apt-get check`"
    )
    detail = {"reason": reason}
    return Problem(code, "error", name, f"{at}{reason}", remedy, name, line, stanza, detail)


def odd(file: Text, stanza: Stanza, code: str) -> Problem:
    """Return the warning about a line that is no field, which apt passes over."""
    line = _shown(file.text.split("\n")[stanza.odd - 1])
    evidence = f"line {stanza.odd}: `{line}` is no field; apt passes over it"
    remedy = f"correct {file.name} at line {stanza.odd}"
    return Problem(code, "warning", file.name, evidence, remedy, file.name, stanza.odd, stanza.number, {"reason": line})


def read(texts: Iterable[Text], judge: Judge) -> tuple[list[Entry], list[Problem]]:
    """Return the entries of files, and an error for each line or stanza that apt refuses; the others are read.

    Raises:
        AptError: apt does not even take its own configuration.
    """
    entries: list[Entry] = []
    problems: list[Problem] = []
    files = list(texts)
    sound = judge.accepts((file.name, file.text) for file in files)
    for file in files:
        parse = _stanza_file if file.name.endswith(".sources") else _line_file
        found, refused = parse(file, judge, whole=sound or not judge.sources(file.name, file.text))
        entries += found
        problems += refused
    return entries, problems


def _line_file(file: Text, judge: Judge, whole: bool) -> tuple[list[Entry], list[Problem]]:
    entries, problems = [], []
    for number, line in enumerate(file.text.split("\n"), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        # Empty lines before it, so that apt counts as a person does.
        reason = "" if whole else judge.sources(file.name, "\n" * (number - 1) + line + "\n")
        if reason:
            problems.append(unreadable(file.name, number, 0, f"`{_shown(line)}`: {reason}", "SOURCE.UNREADABLE"))
        else:
            entries.append(_entry(file.name, number, line.partition("#")[0]))
    return entries, problems


def _entry(name: str, number: int, line: str) -> Entry:
    """Read a line that apt has accepted (sources.list(5))."""
    kind, rest = line.split(None, 1)
    options: dict[str, str] = {}
    if rest.startswith("["):
        inside, _, rest = rest[1:].partition("]")
        options = {key.lower(): value for key, _, value in (word.partition("=") for word in inside.split())}
    # A bracket holds spaces together, as in the names of discs.
    uri, suite, *components = re.findall(r"(?:\[[^\]]*\]|[^\s\[])+", rest)
    return Entry(
        file=name,
        line=number,
        stanza=0,
        type=kind,
        uri=uri,
        suite=suite,
        components=tuple(components),
        architectures=tuple(options.get("arch", "").replace(",", " ").split()),
        signed_by=options.get("signed-by", ""),
        trusted=_answer(options.get("trusted", "")),
    )


def _stanza_file(file: Text, judge: Judge, whole: bool) -> tuple[list[Entry], list[Problem]]:
    entries: list[Entry] = []
    problems = []
    for stanza in stanzas(file.text):
        # Disabled stanzas before it, so that apt counts as a person does.
        reason = "" if whole else judge.sources(file.name, _FILL * (stanza.number - 1) + stanza.text)
        if reason:
            problems.append(unreadable(file.name, stanza.line, stanza.number, reason, "SOURCE.UNREADABLE"))
            continue
        entries += _entries(file.name, stanza)
        if stanza.odd:
            problems.append(odd(file, stanza, "SOURCE.UNREADABLE"))
    return entries, problems


def _entries(name: str, stanza: Stanza) -> list[Entry]:
    kinds, uris, suites = stanza.words("types"), stanza.words("uris"), stanza.words("suites")
    return [
        Entry(
            file=name,
            line=stanza.line,
            stanza=stanza.number,
            type=kind,
            uri=uri,
            suite=suite,
            components=stanza.words("components"),
            architectures=tuple(stanza.fields.get("architectures", "").replace(",", " ").split()),
            signed_by=stanza.fields.get("signed-by", "").strip(),
            trusted=_answer(stanza.fields.get("trusted", "")),
            enabled=_answer(stanza.fields.get("enabled", "")) != "no",
            shared=len(kinds) * len(uris) * len(suites),
        )
        for kind in kinds
        for uri in uris
        for suite in suites
    ]


def _answer(word: str) -> str:
    """Return ``yes``, ``no`` or nothing for a word, as apt understands it."""
    word = word.strip().lower()
    return "no" if word in _DECLINES else "yes" if word in _AGREES else ""


def _shown(line: str) -> str:
    return line.strip()[:120].encode("ascii", "backslashreplace").decode()
