"""Refreshing the lists of packages, as ``apt-get update`` does, with every failure told."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apt_pkg

from ..findings import Finding
from .errors import AptError
from .interrupt import Interrupt
from .root import PrivateRoot, messages


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
    problem = ""
    with interrupt.deferred(), root.temporary():
        try:
            sources.get_indexes(acquire, False)
            acquire.run()
        except (apt_pkg.Error, SystemError) as error:
            problem = messages(error, root)
    failed = [item for item in acquire.items if item.status not in (item.STAT_DONE, item.STAT_IDLE)]
    if failed or problem:
        raise AptError(*_findings(failed, progress.failures, problem))
    lists = Path(apt_pkg.config.find_dir("Dir::State::lists"))
    os.utime(lists)


def _findings(failed: Iterable[Any], failures: dict[str, str], problem: str) -> list[Finding]:
    remedy = (
        "see that the host reaches this archive and that its key is current, or take its source away; "
        "`apt-get update` shows the same"
    )
    reasons = {item.desc_uri: item.error_text or failures.get(item.desc_uri, "") for item in failed}
    if not reasons:
        # Older apt calls an item done although it refuses the archive; the message names it.
        named = re.search(r"repository '([^']+)'", problem)
        reasons = {named[1] if named else "apt": ""}
    findings = []
    for uri, reason in reasons.items():
        evidence = "; ".join(filter(None, (reason.strip(), problem)))
        findings.append(Finding("APT.REFRESH_FAILED", "error", _archive(uri), evidence, remedy))
    return findings


def _archive(uri: str) -> str:
    # A signature is checked on the downloaded file; what counts for a person is where it came from.
    name = uri.split("/partial/")[-1]
    return name.replace("_", "/") if "/partial/" in uri else uri
