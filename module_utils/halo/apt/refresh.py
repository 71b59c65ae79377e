"""Refreshing the lists of packages, as ``apt-get update`` does, with every failure told."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import apt_pkg

from ..fetch import masked
from ..findings import Finding
from . import refusals
from .errors import AptError
from .interrupt import Interrupt
from .root import PrivateRoot, marked, messages


class Progress:
    """What apt calls while it downloads. A method that raises would end the interpreter, so none does anything.

    Attributes:
        failures: URI -> the last reason why it failed, of what failed and was not fetched otherwise.
    """

    def __init__(self, interrupt: Interrupt) -> None:
        self.failures: dict[str, str] = {}
        self._interrupt = interrupt

    def start(self) -> None:
        """Downloading begins."""

    def stop(self) -> None:
        """Downloading is over."""

    def fetch(self, item: Any) -> None:
        """An item is being fetched."""

    def ims_hit(self, item: Any) -> None:
        """An item has not changed since."""

    def done(self, item: Any) -> None:
        """An item is there."""
        self.failures.pop(item.uri, None)

    def fail(self, item: Any) -> None:
        """An item failed, or is not there and need not be."""
        if item.owner is not None and item.owner.error_text:
            self.failures[item.uri] = str(item.owner.error_text)

    def pulse(self, _owner: Any) -> bool:
        """Say whether to go on."""
        return not self._interrupt.pending

    def media_change(self, _medium: str, _drive: str) -> bool:
        """Say that nobody is there to change a disc."""
        return False


def needed(root: PrivateRoot, policy: str, valid_s: int) -> bool:
    """Say whether the host's lists must be refreshed before planning.

    Args:
        root: The private root.
        policy: ``always``, ``never``, or ``auto``: when lists are missing or older than ``valid_s``.
        valid_s: Seconds that lists stay valid; 0 for however long.
    """
    if policy != "auto":
        return policy == "always"
    archives = root.sources().list
    if any(not any(index.exists for index in archive.index_files) for archive in archives):
        return True
    stamps = [root.host_lists, root.host / "var/lib/apt/periodic/update-success-stamp"]
    newest = max((stamp.stat().st_mtime for stamp in stamps if stamp.exists()), default=0.0)
    return bool(valid_s) and time.time() - newest > valid_s


def refresh(root: PrivateRoot, interrupt: Interrupt) -> None:
    """Refresh the lists that the private root uses.

    Raises:
        AptError: An archive does not answer, or what it answers cannot be trusted.
    """
    sources = root.sources()
    progress = Progress(interrupt)
    acquire = apt_pkg.Acquire(progress)
    problem: Exception | None = None
    with interrupt.deferred(), root.for_methods():
        try:
            sources.get_indexes(acquire, False)
            acquire.run()
        except (apt_pkg.Error, SystemError) as error:
            problem = error
    failed = {
        str(item.desc_uri): str(item.error_text or progress.failures.get(item.desc_uri, "")).strip()
        for item in acquire.items
        if item.status not in (item.STAT_DONE, item.STAT_IDLE)
    }
    if failed or problem:
        raise AptError(*_refusals([_Archive(one.uri, one.dist) for one in sources.list], failed, problem, root))
    lists = Path(apt_pkg.config.find_dir("Dir::State::lists"))
    os.utime(lists)


class _Archive:
    """One suite of one source.

    Attributes:
        prefix: What the URIs of its indexes begin with.
        name: How apt calls it, without a password.
    """

    def __init__(self, uri: str, suite: str) -> None:
        self.prefix = uri + (suite if suite.endswith("/") else f"dists/{suite}/")
        self.name = f"{masked(uri).replace('//***@', '//').rstrip('/')} {suite}"


def _refusals(
    archives: Sequence[_Archive], failed: Mapping[str, str], problem: Exception | None, root: PrivateRoot
) -> list[Finding]:
    """Return one finding for each archive that failed.

    Args:
        archives: The archives of all sources.
        failed: URI -> reason, of the indexes that failed.
        problem: What apt raised. Where a detached signature fails, and with older versions in general, the index
            counts as done, and only this names the archive.
        root: The private root.
    """
    reasons: dict[str, list[str]] = {}
    for uri, reason in failed.items():
        owners = [archive for archive in archives if uri.startswith(archive.prefix)]
        # "bookworm" and "bookworm/updates" may both be there.
        owner = max(owners, key=lambda archive: len(archive.prefix), default=None)
        name, index = (owner.name, uri[len(owner.prefix) :]) if owner else (masked(uri), "index")
        reasons.setdefault(name, []).append(f"{index}: {reason}" if reason else "")
    told = marked(problem) if problem else []
    for archive in archives:
        about = [(mark, text) for mark, text in told if f"{archive.name} " in text]
        if archive.name not in reasons and any(mark == "E" for mark, _ in about):
            reasons[archive.name] = [text for _, text in about]
    if problem and not any("".join(said) for said in reasons.values()):
        reasons = {name: [messages(problem, root)] for name in reasons or ("apt",)}
    return [refusals.finding(name, masked("; ".join(filter(None, said)))) for name, said in reasons.items()]
