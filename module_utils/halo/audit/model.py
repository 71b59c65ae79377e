"""What the audit is asked, and the form in which it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..findings import Finding


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, with all that a repair needs to know of it.

    Attributes:
        code: A code of :data:`halo.findings.CATALOGUE`.
        severity: ``error`` only where no apt call can work; otherwise ``warning`` or ``info``.
        subject: What it is about, as a person calls it.
        evidence: What was seen.
        remedy: What to type; empty only for ``info``.
        file: The file as the host calls it, without the root directory; empty where there is none.
        line: The first line of the entry or stanza, counted from 1; 0 where there is none.
        stanza: The number of a deb822 stanza, counted from 1 as apt counts; 0 in one-line files.
        detail: More, by kind; docs/architecture.md has the table.
    """

    code: str
    severity: str
    subject: str
    evidence: str
    remedy: str = ""
    file: str = ""
    line: int = 0
    stanza: int = 0
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def finding(self) -> Finding:
        """The finding that a person reads."""
        return Finding(self.code, self.severity, self.subject, self.evidence, self.remedy)

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form in which ``apt_audit`` returns it."""
        return asdict(self)


@dataclass(frozen=True)
class Entry:
    """One archive's suite that a source names: a type, a URI and a suite.

    Attributes:
        file: The file as the host calls it.
        line: The first line of the entry or stanza.
        stanza: The number of the stanza; 0 in one-line files.
        type: ``deb`` or ``deb-src``.
        uri: As it is written.
        suite: As it is written; it ends in ``/`` for flat archives.
        components: Empty for flat archives.
        architectures: Those that the entry is limited to; empty for the host's.
        signed_by: As it is written: paths, fingerprints or an armoured key; empty where nothing is said.
        trusted: ``yes``, ``no`` or empty.
        enabled: Whether apt uses it.
        shared: How many entries the stanza or line has; a repair of one must leave the others alone.
    """

    file: str
    line: int
    stanza: int
    type: str
    uri: str
    suite: str
    components: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    signed_by: str = ""
    trusted: str = ""
    enabled: bool = True
    shared: int = 1

    @property
    def place(self) -> str:
        """File and line, for a person."""
        return f"{self.file}:{self.line}"

    @property
    def key(self) -> tuple[str, str]:
        """What makes an archive's suite the same one to apt, for which the scheme counts nothing."""
        return bare(self.uri), self.suite.rstrip("/") or "/"

    @property
    def archive(self) -> str:
        """URI and suite, for a person."""
        return f"{self.uri.rstrip('/')} {self.suite}"

    def where(self) -> dict[str, Any]:
        """Return the entry as problems carry it."""
        return asdict(self)

    def problem(self, code: str, severity: str, evidence: str, remedy: str, detail: Mapping[str, Any]) -> Problem:
        """Return a problem of this entry's archive, at this entry's place."""
        return Problem(code, severity, self.archive, evidence, remedy, self.file, self.line, self.stanza, dict(detail))


@dataclass(frozen=True)
class Wanted:
    """The archive of the stack.

    Attributes:
        uris: Its URIs for this host.
        suites: Its suites for this host.
        fingerprints: Of its primary keys, hexadecimal in capitals.
        origin: The Origin of its Release file.
        file: The file in ``sources.list.d`` that belongs to it, as the host calls it.
        keyring: The path of its keyring.
        packages: Names and globs of what is meant to come from it.
        comes: Whether this run writes its file, so that its other sources give way.
    """

    uris: tuple[str, ...]
    suites: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    origin: str = ""
    file: str = ""
    keyring: str = ""
    packages: tuple[str, ...] = ()
    comes: bool = True

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Wanted:
        """Make one from the plain form in which a role gives it."""
        return cls(
            uris=tuple(data["uris"]),
            suites=tuple(data.get("suites") or ()),
            fingerprints=tuple("".join(item.split()).upper() for item in data.get("fingerprints") or ()),
            origin=data.get("origin") or "",
            file=data.get("file") or "",
            keyring=data.get("keyring") or "",
            packages=tuple(data.get("packages") or ()),
            comes=data.get("comes", True),
        )

    def has(self, entry: Entry) -> bool:
        """Say whether a source is of this archive, whatever its suite."""
        return bare(entry.uri) in {bare(uri) for uri in self.uris}


@dataclass(frozen=True)
class Question:
    """What the audit is asked.

    Attributes:
        root: The host's root directory.
        archives: The stack's archives.
        expiring_days: How many days before its expiry a key is told of.
        foreign_uris: URIs below which the archives of ROCm's other channels lie.
        retire: Whether sources of these are about to be taken out, with the pins to them.
        apu: Whether the host's GPU is that of an APU; ``None`` where nobody knows.
        online: Whether archives are asked as well.
        now: Seconds since 1970.
    """

    root: str = "/"
    archives: tuple[Wanted, ...] = ()
    expiring_days: int = 30
    foreign_uris: tuple[str, ...] = ()
    retire: bool = False
    apu: bool | None = None
    online: bool = False
    now: int = 0

    def wanted(self, entry: Entry) -> Wanted | None:
        """Return the stack's archive that a source names, if it is one."""
        return next((archive for archive in self.archives if archive.has(entry)), None)

    def foreign(self, entry: Entry) -> bool:
        """Say whether a source is of another channel of ROCm than the stack's."""
        return any(f"{bare(entry.uri)}/".startswith(f"{bare(uri)}/") for uri in self.foreign_uris)


@dataclass(frozen=True)
class Audit:
    """What was read, and what is wrong with it.

    Attributes:
        problems: As they were found.
        entries: All sources that could be read, disabled ones too.
        findings: What refreshing the archives said, where the audit was ``online``.
    """

    problems: tuple[Problem, ...] = ()
    entries: tuple[Entry, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def all_findings(self) -> list[Finding]:
        """The findings of all problems, and those of the archives."""
        return [*(problem.finding for problem in self.problems), *self.findings]


def bare(uri: str) -> str:
    """Return a URI as apt compares it: without scheme, credentials and slashes at its end.

    apt takes the same archive over http and https for one, since their lists have one name.
    """
    rest = uri.partition("://")[2] or uri.partition(":")[2]
    host, slash, path = rest.partition("/")
    return f"{host.rpartition('@')[2].lower()}{slash}{path}".rstrip("/")
