"""Proofs are expensive, so what was proved is written down together with the hash of everything that it rests on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..findings import Finding

#: Part of every digest: a change of what a proof asserts makes all records void.
_SCHEMA = 1


class RefutedError(Exception):
    """A proof failed; it carries the finding that says how."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text())
        self.finding = finding


@dataclass(frozen=True)
class Record:
    """What is written down about a proof that passed.

    Attributes:
        inputs: SHA-256 of its inputs.
        proved: When it ran, UTC, ISO 8601.
        evidence: What it saw.
    """

    inputs: str
    proved: str
    evidence: str


def digest(inputs: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a proof's inputs, any JSON-able mapping."""
    return hashlib.sha256(json.dumps([_SCHEMA, inputs], sort_keys=True).encode()).hexdigest()


def file_state(path: Path) -> str:
    """Return what tells a file from its successor: where it really lies, its size and its time, or ``absent``."""
    try:
        real = path.resolve(strict=True)
        stat = real.stat()
    except (OSError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        return "absent"
    return f"{real} {stat.st_size} {stat.st_mtime_ns}"


def result(before: Any, after: Any, findings: Iterable[Finding]) -> dict[str, Any]:
    """Return what a module of the verification returns.

    It is never changed: a record is a cache, and no state of the host that anyone asked for.
    """
    return {
        "changed": False,
        "before": before,
        "after": after,
        "diff": {"before": "", "after": ""},
        "findings": [finding.as_dict() for finding in findings],
    }


class Ledger:
    """Runs proofs, skips those whose inputs are unchanged, and collects what they found.

    A failed proof is never written down, and a record that cannot be understood counts as none.

    Args:
        directory: Where the records lie.
        force: Run every proof, whatever is on record.
        check_mode: Write no records.

    Attributes:
        findings: Of all proofs so far.
        before: Proof -> its record as it was found, or None.
        after: Proof -> its record as it is now, or None.
    """

    def __init__(self, directory: str, force: bool = False, check_mode: bool = False) -> None:
        self.findings: list[Finding] = []
        self.before: dict[str, dict[str, str] | None] = {}
        self.after: dict[str, dict[str, str] | None] = {}
        self.check_mode = check_mode
        self._directory = Path(directory)
        self._force = force

    def result(self) -> dict[str, Any]:
        """Return what a module returns."""
        return result(self.before, self.after, self.findings)

    def prove(self, name: str, inputs: Mapping[str, Any], attempt: Callable[[], str]) -> None:
        """Run a proof unless its record still holds.

        Args:
            name: Of the proof and of its record.
            inputs: Everything that its result rests on.
            attempt: Returns its evidence, or raises :class:`RefutedError`.
        """
        path = self._directory / f"{name}.json"
        known = _load(path)
        self.before[name] = asdict(known) if known else None
        self.after[name] = self.before[name]
        wanted = digest(inputs)
        if known and known.inputs == wanted and not self._force:
            evidence = f"unchanged since {known.proved}: {known.evidence}"
            self.findings.append(Finding("PROOF.PASSED", "info", name, evidence))
            return
        try:
            evidence = attempt()
        except RefutedError as refuted:
            self.findings.append(refuted.finding)
            if known and known.inputs == wanted and not self.check_mode:
                # A forced proof refutes its own record: something that is no input has changed.
                path.unlink()
                self.after[name] = None
            return
        if not self.check_mode:
            record = Record(wanted, datetime.now(timezone.utc).isoformat(timespec="seconds"), evidence)
            try:
                _save(path, record)
                self.after[name] = asdict(record)
            except OSError as error:
                # The proof holds all the same; the next run has to repeat it.
                evidence += f" (not recorded: {error})"
        self.findings.append(Finding("PROOF.PASSED", "info", name, evidence))


def _load(path: Path) -> Record | None:
    try:
        return Record(**{key: _text(value) for key, value in json.loads(path.read_text(encoding="utf-8")).items()})
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value


def _save(path: Path, record: Record) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    # Written beside and renamed, so that a kill leaves the old record or the new one.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(asdict(record), indent=2, sort_keys=True) + "\n", encoding="utf-8")
        draft.chmod(0o644)
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink()
