"""What a keyring will be: kept, put into order, or fetched again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import openpgp
from ..findings import Finding, errors
from ..openpgp import Key, Selection, earliest
from . import files, report, sources
from .files import MODE, Keyring
from .request import Request
from .sources import Served

DAY = 86400


@dataclass(frozen=True)
class Planned:
    """A keyring as it is and as it will be.

    Attributes:
        path: The file, below the root that was asked for.
        before: What is there.
        after: What will be there; the same as before where an error is among the findings.
        findings: What was seen on the way.
    """

    path: Path
    before: Keyring
    after: Keyring
    findings: tuple[Finding, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything is to be written or removed."""
        return (self.before.data, self.before.mode) != (self.after.data, self.after.mode)


def plan(request: Request, now: int, root: str = "/", write: bool = False) -> Planned:
    """Compare a keyring with what is wanted, fetch keys where they are needed, and change nothing.

    No source is opened while the file holds every wanted key, none of them revoked, expired, or about to expire.

    Args:
        request: What is wanted; without fingerprints, that there is no file.
        now: Seconds since 1970.
        root: The directory that is taken for ``/``.
        write: Whether it will be applied, so that findings say what is and not what would be.
    """
    path = Path(root) / request.path.lstrip("/")
    try:
        before = files.read(path, request.fingerprints)
    except OSError as error:
        return Planned(path, Keyring(), Keyring(), (report.unusable(path, error),))
    if not request.fingerprints:
        return Planned(path, before, Keyring())
    chosen = before.selection
    findings: list[Finding] = []
    if chosen is None or due(chosen, now, request.refresh_days):
        chosen, findings = _refreshed(request, path, before, now, write)
    elif before.data != chosen.data:
        findings.append(report.normalised(path, chosen))
    if chosen is None or errors(findings):
        return Planned(path, before, before, tuple(findings))
    findings += report.clock(chosen.keys, now)
    return Planned(path, before, Keyring(chosen.data, MODE, replace(chosen, foreign=())), tuple(findings))


def plan_options(options: Mapping[str, Any], present: bool, now: int, root: str = "/", write: bool = False) -> Planned:
    """Do the same as :func:`plan` with a request in its plain form, whose faults become findings.

    Args:
        options: The keys of :class:`Request`.
        present: Whether the file is wanted at all.
        now: Seconds since 1970.
        root: The directory that is taken for ``/``.
        write: As there.
    """
    try:
        request = Request.from_dict(options) if present else Request(path=str(options["path"]))
    except ValueError as error:
        return Planned(Path(str(options.get("path"))), Keyring(), Keyring(), (report.invalid(options, error),))
    return plan(request, now, root, write)


def apply(planned: Planned) -> list[Finding]:
    """Write or remove the file as planned, and return what keeps it from being written."""
    try:
        if planned.after.data is None:
            planned.path.unlink()
        else:
            files.write(planned.path, planned.after.data)
    except OSError as error:
        return [report.unusable(planned.path, error)]
    return []


def flaw(key: Key, now: int) -> str:
    """Return why a key is of no use: ``unsigned`` (by itself), ``revoked`` or ``expired``; empty if it is of use."""
    if not key.self_signed:
        return "unsigned"
    if key.revoked:
        return "revoked"
    return "expired" if key.expires is not None and key.expires <= now else ""


def usable(selection: Selection, now: int) -> bool:
    """Return whether every wanted key is there and of use."""
    return not selection.missing and not any(flaw(key, now) for key in selection.keys)


def due(selection: Selection, now: int, days: int) -> bool:
    """Return whether keys have to be fetched: one is not there, is of no use, or will not last for some days."""
    until = _until(selection)
    return not usable(selection, now) or (until is not None and until <= now + days * DAY)


def _until(selection: Selection) -> int | None:
    return earliest(key.signs_until for key in selection.keys)


def _refreshed(
    request: Request, path: Path, before: Keyring, now: int, write: bool
) -> tuple[Selection | None, list[Finding]]:
    """Return the keys that the file is to hold, None for none, having tried the sources in turn."""
    served: list[Served] = []
    fetched = openpgp.select([], request.fingerprints)
    for one in sources.each(request):
        served.append(one)
        fetched = openpgp.select([key for each in served for key in each.keys], request.fingerprints)
        if not due(fetched, now, request.refresh_days):
            break
    findings = [one.failure for one in served if one.failure]
    findings += report.others(served, request.fingerprints, fetched.missing)
    findings += report.flaws(path, [(key, flaw(key, now)) for key in fetched.keys], before.selection, now)

    present = before.selection if before.selection and usable(before.selection, now) else None
    chosen = fetched if usable(fetched, now) else present
    if chosen is None:
        return None, [replace(one, severity="error") if one.severity == "warning" else one for one in findings]
    if present and _sooner(fetched, present):
        # A source may lag behind the one that the host's key came from.
        chosen = present
    if chosen is fetched and before.data != fetched.data:
        findings.append(report.installed(path, before, fetched, served, now, write))
    if due(chosen, now, request.refresh_days):
        findings.append(report.expiring(path, chosen, _until(chosen), now))
    return chosen, findings


def _sooner(one: Selection, other: Selection) -> bool:
    first, second = _until(one), _until(other)
    return first is not None and (second is None or first < second)
