"""Whether the stack's packages are what the stack says, and whether they would stay so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..apt.dpkgdb import Database, Package
from ..apt.versions import Bound
from ..findings import Finding
from .evidence import first_errors
from .run import run_clean

APT_TIMEOUT_S = 120.0

#: The argument ``packages`` of the modules that use this.
ARGUMENT: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {"name": {"type": "str", "required": True}, "version": {"type": "str", "default": ""}},
}

# ROCm exists for this architecture alone; libc6:i386 is another package.
_ARCHITECTURES = ("amd64", "all")
_SHOWN = 3
_AGAIN = "ansible-playbook site.yml -l halo"
_STEP = re.compile(r"^(?P<verb>Inst|Remv) (?P<name>\S+)(?: \[(?P<old>[^\]]*)\])?(?: \((?P<new>\S+))?", re.MULTILINE)
_APT_GET = ("/usr/bin/apt-get", "-o", "Debug::NoLocking=1")


def fingerprint(database: Database) -> dict[str, str]:
    """Return all that dpkg has, ``name:arch`` -> version and state, as an input of proofs.

    All of it, not the stack's share: what clang takes also depends on packages that nobody named, such as another GCC's
    directory or another libc++, and to repeat a proof costs seconds.
    """
    return {key: f"{package.version} {package.state}" for key, package in database.packages.items()}


def version(name: str, database: Database) -> str | None:
    """Return the version of a package that dpkg has, installed or half so, or None."""
    package = _native(name, database)
    return package.version if package else None


def differences(wished: Iterable[Mapping[str, str]], database: Database) -> list[Finding]:
    """Return a finding ``VERIFY.PACKAGE_DIFFERS`` for each package that is absent or outside its bound.

    Args:
        wished: ``{name, version}``, the version a bound as in wishes.
        database: What dpkg has.

    Raises:
        ValueError: A bound cannot be understood.
    """
    findings = []
    for wish in wished:
        name, bound = wish["name"], Bound(wish.get("version") or "")
        package = _native(name, database)
        if package is None:
            evidence = f"not installed, wanted {bound.text or 'any version'}"
        elif package.state != "installed":
            evidence = f"{package.version} is {package.state}, wanted installed"
        elif not bound.admits(package.version):
            evidence = f"{package.version} is installed, wanted {bound.text}"
        else:
            continue
        findings.append(Finding("VERIFY.PACKAGE_DIFFERS", "error", name, evidence, _AGAIN))
    return findings


def not_provisioned(subject: str, differing: Sequence[Finding], files: Iterable[Path] = ()) -> Finding | None:
    """Return the finding that a host was not provisioned yet, or None where it was.

    In check mode the host is as it was before the run, so what is missing there is the run's business, no error.

    Args:
        subject: What cannot be proved.
        differing: The result of :func:`differences`.
        files: What must exist besides.
    """
    missing = [f"{finding.subject}: {finding.evidence}" for finding in differing]
    missing += [f"{path} does not exist" for path in files if not path.exists()]
    if not missing:
        return None
    # The plan says all of it; here a few lines tell that it is so.
    shown = missing if len(missing) <= _SHOWN else [*missing[: _SHOWN - 1], f"and {len(missing) - _SHOWN + 1} more"]
    return Finding("PROOF.NOT_PROVISIONED", "info", subject, "\n".join(shown))


def check(
    wished: Sequence[Mapping[str, str]], rocm_set: Sequence[str], database: Database, work: Path, check_mode: bool
) -> list[Finding]:
    """Return what differs from the stack, and what an upgrade would change.

    Args:
        wished: The stack's packages, ``{name, version}``.
        rocm_set: Names and globs of the packages that must stay at their very version.
        database: What dpkg has.
        work: A directory to run in.
        check_mode: Whether the run that installs and pins is still to come.

    Raises:
        ValueError: A bound cannot be understood.
    """
    findings = differences(wished, database)
    missing = not_provisioned("packages", findings)
    if check_mode and missing:
        return [missing]
    simulated, unknown = simulate_upgrade(work)
    findings += unknown + upgrade_findings(changes(simulated), wished, rocm_set, pins_written=not check_mode)
    if all(finding.severity == "info" for finding in findings):
        evidence = f"{len(wished)} packages are within the stack's bounds, and apt upgrade would leave them there"
        findings.append(Finding("VERIFY.PASSED", "info", "packages", evidence))
    return findings


def simulate_upgrade(work: Path) -> tuple[str, list[Finding]]:
    """Return what ``apt-get -s upgrade`` prints, and findings where that says nothing; apt's lock is not taken.

    Args:
        work: A directory to run in.
    """
    # With new packages, as `apt upgrade` does and `apt-get upgrade` does not; with all phases, since a package that is
    # held back by Ubuntu's phasing today comes tomorrow.
    phased = ("-o", "APT::Get::Always-Include-Phased-Updates=1")
    simulated = run_clean((*_APT_GET, "-s", *phased, "upgrade", "--with-new-pkgs"), work, APT_TIMEOUT_S)
    if simulated.rc != 0:
        return "", [_unknown("error", first_errors(simulated), "apt-get -s upgrade   shows what is wrong with apt")]
    asked = (*_APT_GET, "indextargets", "--format", "$(FILENAME)", "Created-By: Packages")
    if not run_clean(asked, work, APT_TIMEOUT_S).stdout.strip():
        # Otherwise the check could not fail: without lists no upgrade is known.
        return "", [_unknown("warning", "apt has no package lists on this host", "apt-get update; then verify again")]
    return simulated.stdout, []


@dataclass(frozen=True)
class Change:
    """What an upgrade would do to an installed package; ``new`` is None where it would be removed."""

    name: str
    old: str
    new: str | None


def changes(simulated: str) -> list[Change]:
    """Return what would happen to installed packages, from the output of ``apt-get -s upgrade``."""
    steps = (step for step in _STEP.finditer(simulated) if step["old"])
    return [
        Change(step["name"].partition(":")[0], step["old"], None if step["verb"] == "Remv" else step["new"])
        for step in steps
    ]


def upgrade_findings(
    changed: Iterable[Change], wished: Iterable[Mapping[str, str]], rocm_set: Sequence[str], pins_written: bool
) -> list[Finding]:
    """Return a finding ``VERIFY.UPGRADE_WOULD_CHANGE`` for each of the stack's packages that would change.

    The ROCm set must stay as it is. Other packages may move within their bounds, since security updates of a pinned
    major are wanted; that is told and is no error.

    Args:
        changed: What an upgrade would do.
        wished: The stack's packages, ``{name, version}``.
        rocm_set: Names and globs of the packages that must stay at their very version.
        pins_written: False where the run that writes the pins is still to come; then it is a warning.
    """
    bounds = {wish["name"]: Bound(wish.get("version") or "") for wish in wished}
    findings = []
    for change in changed:
        in_rocm = any(fnmatchcase(change.name, pattern) for pattern in rocm_set)
        if not in_rocm and change.name not in bounds:
            continue
        evidence = f"apt upgrade would {f'install {change.new}' if change.new else 'remove it'}, installed {change.old}"
        severity, remedy = "error" if pins_written else "warning", f"{_AGAIN}   (apt-cache policy {change.name})"
        if not in_rocm and change.new and bounds[change.name].admits(change.new):
            severity, remedy = "info", ""
        findings.append(Finding("VERIFY.UPGRADE_WOULD_CHANGE", severity, change.name, evidence, remedy))
    return findings


def _native(name: str, database: Database) -> Package | None:
    found = (database.packages.get(f"{name}:{architecture}") for architecture in _ARCHITECTURES)
    return next((package for package in found if package), None)


def _unknown(severity: str, evidence: str, remedy: str) -> Finding:
    return Finding("VERIFY.UPGRADE_UNKNOWN", severity, "apt-get -s upgrade", evidence, remedy)
