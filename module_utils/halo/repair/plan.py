"""Which repairs there are for what the audit found, and what is refused."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..audit.model import Audit, Entry, Problem, Question
from ..findings import Finding
from . import keys, sources
from . import text as edit
from .model import Command, FileRepair, RefusedError, Repairs, refused
from .sources import entry

_INFO = "var/lib/dpkg/info"
_CONFIGURE = ("dpkg", "--configure", "-a")
#: What other tools write above what they keep.
_MARK = re.compile(
    r"^\s*#.*(?:\b(?:managed|maintained|written|generated|created|installed|configured) by\b|ansible[- ]managed"
    r"|automatically (?:configured|generated)|\bauto-?generated|\b(?:do not|don't) (?:edit|modify|change)"
    r"|(?:changes|modifications|edits)\b.*\b(?:lost|overwritten|discarded|not survive))",
    re.IGNORECASE,
)
#: Options of sources that two entries of one archive may differ in (sources.list(5)).
_OPTION = re.compile(
    r"\barch[+-]=|\b(?:lang|target|pdiffs|by-hash|allow-[\w-]+|check-[\w-]+|valid-[\w-]+|date-[\w-]+|inrelease-path)[+-]?="
    r"|^(?:Architectures-(?:Add|Remove)|Languages|Targets|PDiffs|By-Hash|Allow|Check|Valid|Date|InRelease-Path)[\w-]*\s*:",
    re.IGNORECASE,
)
_NATIVE = "amd64"
_HEADERS = ("linux-headers-", "linux-image-")


def plan(audit: Audit, question: Question, origins: Sequence[str] = ()) -> Repairs:
    """Return the repairs of a host, and change nothing.

    Args:
        audit: What is wrong.
        question: What the audit was asked.
        origins: Origins and host names of ROCm's other channels; an idle pin to one of these is dropped, others stay.

    Raises:
        OSError: A file cannot be read.
    """
    findings: list[Finding] = []
    files: list[FileRepair] = []
    dropped: set[Entry] = set()
    jobs = _source_jobs(question, audit, question.retire, dropped, findings)
    jobs.update(_pin_jobs(audit.problems, origins))
    for name, (problems, change) in jobs.items():
        _file(question.root, name, problems, change, files, findings)
    for problem in audit.problems:
        if problem.code != "KEY.STALE_COPY":
            continue
        users = [one for one in map(entry, problem.detail["users"]) if one not in dropped]
        if users:
            reason = f"{', '.join(one.place for one in users)} names no Signed-By, so apt verifies it with this store"
            findings.append(refused(problem, reason))
            continue
        # Another key of the same store may have been taken out already.
        earlier = next((one for one in files if one.name == problem.file), None)
        if earlier:
            files.remove(earlier)
        _stale(question.root, problem, earlier, files, findings)
    return Repairs(tuple(files), tuple(_commands(audit.problems)), tuple(findings))


#: File -> what is wrong in it, and how its text changes.
Jobs = dict[str, tuple[list[Problem], Callable[[str], str]]]


@dataclass
class _Sources:
    """What is to change in one file of sources."""

    problems: list[Problem] = field(default_factory=list)
    drop: set[Entry] = field(default_factory=set)
    suites: dict[Entry, str] = field(default_factory=dict)
    signed_by: dict[Entry, str] = field(default_factory=dict)


def _source_jobs(question: Question, audit: Audit, retire: bool, dropped: set[Entry], findings: list[Finding]) -> Jobs:
    files: defaultdict[str, _Sources] = defaultdict(_Sources)
    for problem in audit.problems:
        if (problem.code == "SOURCE.STRAY" and problem.detail["comes"]) or (
            problem.code == "SOURCE.OTHER_CHANNEL" and retire
        ):
            one = entry(problem.detail["entry"])
            files[one.file].drop.add(one)
            files[one.file].problems.append(problem)
        elif problem.code == "SOURCE.WRONG_SUITE" and problem.severity != "info" and problem.detail["certain"]:
            one = entry(problem.detail["entry"])
            files[one.file].suites[one] = problem.detail["suite"]
            files[one.file].problems.append(problem)
        elif problem.code in ("SOURCE.TWICE", "SOURCE.CONFLICT"):
            _one_left(question.root, problem, files, findings)
    dropped.update(*(file.drop for file in files.values()))
    return {name: (file.problems, _rewriting(audit, name, file)) for name, file in files.items()}


def _one_left(root: str, problem: Problem, files: defaultdict[str, _Sources], findings: list[Finding]) -> None:
    """Drop what another source covers; let what it does not cover name the same keyring."""
    keep = entry(problem.detail["keep"])
    for one in map(entry, problem.detail["drop"]):
        if one == keep:
            continue
        if keep.trusted == "yes" != one.trusted or not (_plain(root, keep) and _plain(root, one)):
            findings.append(
                refused(problem, f"{keep.place} and {one.place} have options of their own: join them by hand")
            )
            continue
        if _covers(keep, one):
            files[one.file].drop.add(one)
        elif problem.detail.get("option") == "Signed-By" and keep.signed_by and "-----" not in keep.signed_by:
            files[one.file].signed_by[one] = keep.signed_by
        else:
            findings.append(refused(problem, f"{one.place} has more than {keep.place}: join them by hand"))
            continue
        files[one.file].problems.append(problem)


def _plain(root: str, entry: Entry) -> bool:
    """Say whether an entry has none of the options that say more than its architectures and key."""
    text = (Path(root) / entry.file.lstrip("/")).read_bytes().decode("utf-8", "surrogateescape")
    numbers = edit.stanza_lines(text, entry.line) if entry.stanza else range(entry.line, entry.line + 1)
    lines = edit.split(text)
    return not any(_OPTION.search(lines[number - 1]) for number in numbers if number <= len(lines))


def _covers(keep: Entry, other: Entry) -> bool:
    """Say whether nothing is lost with an entry that another one takes the place of."""
    return (
        keep.type == other.type
        and set(other.components) <= set(keep.components)
        and (
            (not keep.architectures and set(other.architectures) <= {_NATIVE})
            or (bool(other.architectures) and set(other.architectures) <= set(keep.architectures))
        )
    )


def _rewriting(audit: Audit, name: str, file: _Sources) -> Callable[[str], str]:
    every = [one for one in audit.entries if one.file == name]
    return lambda text: sources.rewritten(text, every, file.drop, file.suites, file.signed_by)


def _pin_jobs(problems: Iterable[Problem], origins: Sequence[str]) -> Jobs:
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        idle = problem.code == "APT.PIN_IDLE" and any(origin in problem.detail["pin"] for origin in origins)
        if idle or problem.code == "APT.PIN_BROAD":
            found.setdefault(problem.file, []).append(problem)
    return {name: (pins, _pinning(pins)) for name, pins in found.items()}


def _pinning(pins: Iterable[Problem]) -> Callable[[str], str]:
    def change(text: str) -> str:
        # From the end, so that the numbers of what is above stay true.
        for pin in sorted(pins, key=lambda one: -one.line):
            if pin.code == "APT.PIN_BROAD":
                text = edit.with_field(text, pin.line, "Package", {"*": " ".join(pin.detail["meant"])})
            else:
                text = edit.without_lines(text, edit.stanza_lines(text, pin.line))
        return text

    return change


def _file(
    root: str,
    name: str,
    problems: Sequence[Problem],
    change: Callable[[str], str],
    files: list[FileRepair],
    findings: list[Finding],
) -> None:
    before = (Path(root) / name.lstrip("/")).read_bytes()
    try:
        _free(root, name, before)
        after = change(before.decode("utf-8", "surrogateescape"))
    except RefusedError as error:
        findings.extend(refused(problem, str(error)) for problem in problems)
        return
    # A file of comments alone says nothing any more.
    left = any(line.strip() and not line.lstrip().startswith("#") for line in after.splitlines())
    data = after.encode("utf-8", "surrogateescape") if left else None
    files.append(FileRepair(name, before, data, tuple(problems)))


def _stale(
    root: str, problem: Problem, earlier: FileRepair | None, files: list[FileRepair], findings: list[Finding]
) -> None:
    before = earlier.before if earlier else (Path(root) / problem.file.lstrip("/")).read_bytes()
    now = (earlier.after or b"") if earlier else before
    try:
        _free(root, problem.file, before)
        after = keys.without(now, problem.detail["fingerprint"])
    except RefusedError as error:
        findings.append(refused(problem, str(error)))
        files.extend([earlier] if earlier else [])
        return
    files.append(FileRepair(problem.file, before, after, (*(earlier.problems if earlier else ()), problem)))


def _free(root: str, name: str, data: bytes) -> None:
    """See that a file is nobody else's.

    Raises:
        RefusedError: It belongs to a package, is a link, or says that another tool writes it.
    """
    path = Path(root) / name.lstrip("/")
    if path.is_symlink():
        raise RefusedError(f"{name} is a link")
    for line in data.decode("utf-8", "replace").splitlines():
        if _MARK.search(line) and "halo-provision" not in line:
            raise RefusedError(f"{name} says that something else keeps it: `{line.strip()}`")
    wanted = b"\n" + name.encode() + b"\n"
    for listing in sorted((Path(root) / _INFO).glob("*.list")):
        if wanted in b"\n" + listing.read_bytes() + b"\n":
            raise RefusedError(f"{name} belongs to package {listing.stem.partition(':')[0]}")


def _commands(problems: Sequence[Problem]) -> list[Command]:
    """Return dpkg's commands; on an APU AMD's module goes where it or the kernel that it breaks is half configured."""
    unfinished = [problem for problem in problems if problem.code == "DPKG.UNFINISHED"]
    modules = [
        problem
        for problem in problems
        if problem.code == "DPKG.AMDGPU_DKMS"
        and (
            problem.detail["state"] != "installed"
            or any(other.detail.get("name", "").startswith(_HEADERS) for other in unfinished)
        )
    ]
    commands = [Command(("dpkg", "--purge", problem.detail["name"]), (problem,)) for problem in modules]
    if unfinished or modules:
        commands.append(Command(_CONFIGURE, (*unfinished, *modules)))
    return commands
