"""What must not be beside a set of packages, and packages that bring more than anybody wants."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..findings import Finding
from .model import Change, human
from .wishes import Goal


@dataclass(frozen=True)
class Conflict:
    """Packages of another channel, beside which what is wished for cannot be.

    Attributes:
        channel: How the channel is called.
        packages: Names or globs of its packages.
        spare: Names or globs of those that are no proof of it, since others have packages of the same name.
        remedy: What to do when some are installed and not wished absent.
    """

    channel: str
    packages: tuple[str, ...]
    remedy: str
    spare: tuple[str, ...] = ()

    def covers(self, name: str) -> bool:
        """Say whether a package is one of the channel's."""
        return _matches(name, self.packages) and not _matches(name, self.spare)


@dataclass(frozen=True)
class Meta:
    """A package that depends on the code for every GPU there is.

    Attributes:
        name: The package.
        instead: The one for a single GPU.
    """

    name: str
    instead: str


def mixed_channels(
    installed: Mapping[str, str], absent: Collection[str], conflicts: Iterable[Conflict]
) -> list[Finding]:
    """Return an error finding for each other channel of which packages are installed and stay.

    Args:
        installed: Package name -> version, of everything on the host.
        absent: The packages that are wished absent.
        conflicts: What must not be on the host.
    """
    findings = []
    for conflict in conflicts:
        names = sorted(name for name in installed if name not in absent and conflict.covers(name))
        if names:
            listed = ", ".join(f"{name} {installed[name]}" for name in names)
            evidence = f"{len(names)} installed: {listed}"
            findings.append(
                Finding("ROCM.CHANNELS_MIXED", "error", f"channel {conflict.channel}", evidence, conflict.remedy)
            )
    return findings


def for_all_gpus(
    changes: Sequence[Change], install: Mapping[str, Goal], metas: Iterable[Meta], download: int
) -> list[Finding]:
    """Return an error finding for each wished package that would bring the code for every GPU.

    Args:
        changes: What the plan changes.
        install: Name -> goal, of what is wished for.
        metas: The packages that bring so much.
        download: Bytes that the whole plan downloads.
    """
    findings = []
    for meta in metas:
        if meta.name not in install:
            continue
        cause = install[meta.name].text()
        brought = [change for change in changes if change.new and change.reasons[:1] == (cause,)]
        if brought:
            size = sum(change.size for change in brought)
            evidence = (
                f"{cause}: brings {len(brought)} packages with the code for every GPU, {human(size)} of the "
                f"{human(download)} to download"
            )
            remedy = f"write {meta.instead} instead, or -e rocm_runtime_all_gpus=true if every GPU is meant"
            findings.append(Finding("ROCM.ALL_GPUS", "error", meta.name, evidence, remedy))
    return findings


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
