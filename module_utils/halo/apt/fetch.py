"""Packages that are downloaded and verified, and not installed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apt_pkg

from .choose import choose
from .errors import AptError, fail
from .interrupt import Interrupt
from .model import Fetch
from .refresh import Progress
from .root import PrivateRoot, give_to_apt, messages
from .view import View
from .wishes import Goal

MANIFEST = "manifest.json"


def pending(root: PrivateRoot, view: View, wished: Mapping[str, Sequence[Goal]]) -> list[Fetch]:
    """Return what must be downloaded, of the directories whose content is not what the wishes say.

    A directory whose manifest fulfils every wish for it, with files that are intact, stays as it is, also when the
    archive has moved on: what was built from it does not change under its name.

    Raises:
        AptError: No archive has what a wish wants.
    """
    items = []
    for dest, goals in wished.items():
        if not _fulfilled(root.host / dest.lstrip("/"), goals):
            items += [_resolve(root, view, goal, dest) for goal in goals]
    return items


def _fulfilled(directory: Path, goals: Sequence[Goal]) -> bool:
    try:
        entries = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        held = {entry["name"]: entry for entry in entries}
        intact = all(_sha256(directory / entry["filename"]) == entry["sha256"] for entry in entries)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return (
        intact
        and held.keys() == {goal.name for goal in goals}
        and all(
            goal.admits(held[goal.name]["version"]) and goal.origin in ("", held[goal.name]["origin"]) for goal in goals
        )
    )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def _resolve(root: PrivateRoot, view: View, goal: Goal, dest: str) -> Fetch:
    version = choose(view, goal, keep_installed=False)
    records = apt_pkg.PackageRecords(view.cache)
    sources = root.sources()
    best = view.archive(version)
    for file, offset in version.file_list:
        index = sources.find_index(file)
        if not index or (best is not None and goal.origin and file.origin != goal.origin):
            continue
        records.lookup((file, offset))
        sha256 = records.hashes.find("sha256") if records.hashes else None
        if not index.is_trusted or sha256 is None:
            continue
        return Fetch(
            dest=dest,
            name=goal.name,
            version=version.ver_str,
            architecture=version.arch,
            filename=Path(records.filename).name,
            sha256=str(sha256).rpartition(":")[2],
            size=version.size,
            origin=file.origin,
            uri=index.archive_uri(records.filename),
        )
    raise fail(
        "APT.DOWNLOAD_FAILED",
        goal.name,
        f"{version.ver_str} is in no archive whose signed index has its SHA-256",
        "fetch it from a signed archive",
    )


def execute(root: PrivateRoot, items: Sequence[Fetch], interrupt: Interrupt) -> None:
    """Download into the directories, and write their manifests last.

    A directory's old manifest stays valid until the new one takes its place; then what it does not name is removed.

    Raises:
        AptError: A package could not be downloaded, or is not what the signed index says.
    """
    for dest in dict.fromkeys(item.dest for item in items):
        _fill(root.host / dest.lstrip("/"), [item for item in items if item.dest == dest], interrupt)


def _fill(directory: Path, items: Sequence[Fetch], interrupt: Interrupt) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=directory))
    try:
        give_to_apt(partial)
        _download(partial, items, interrupt)
        for item in items:
            os.chown(partial / item.filename, 0, 0)
            (partial / item.filename).chmod(0o644)
            (partial / item.filename).replace(directory / item.filename)
        entries = [item.entry() for item in sorted(items, key=lambda item: item.name)]
        manifest = partial / MANIFEST
        manifest.write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
        manifest.chmod(0o644)
        manifest.replace(directory / MANIFEST)
        _remove_others(directory, {item.filename for item in items})
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _download(directory: Path, items: Sequence[Fetch], interrupt: Interrupt) -> None:
    progress = Progress(interrupt)
    acquire = apt_pkg.Acquire(progress)
    # apt frees an item, and forgets it, as soon as Python lets go of it.
    wanted = [
        apt_pkg.AcquireFile(
            acquire, item.uri, f"SHA256:{item.sha256}", item.size, item.name, destfile=str(directory / item.filename)
        )
        for item in items
    ]
    problem = ""
    with interrupt.deferred():
        try:
            acquire.run()
        except (apt_pkg.Error, SystemError) as error:
            problem = messages(error)
    failed = {item.name: got.error_text for item, got in zip(items, wanted) if got.status != got.STAT_DONE}
    differing = [item.name for item in items if item.name not in failed and not _intact(directory, item)]
    if failed or differing:
        raise download_failed({**failed, **dict.fromkeys(differing, "its SHA-256 is not the signed one")}, problem)


def _intact(directory: Path, item: Fetch) -> bool:
    path = directory / item.filename
    return path.is_file() and _sha256(path) == item.sha256


def _remove_others(directory: Path, names: Iterable[str]) -> None:
    for path in directory.glob("*.deb"):
        if path.name not in names:
            path.unlink()


def download_failed(reasons: Mapping[str, Any], problem: str) -> AptError:
    """Return the finding that packages could not be downloaded."""
    evidence = "; ".join([*(f"{name}: {reason}" for name, reason in reasons.items()), *([problem] if problem else [])])
    return fail(
        "APT.DOWNLOAD_FAILED",
        ", ".join(reasons) or "packages",
        evidence,
        "run again, with refreshed lists (apt_transaction_refresh: always), and see that the host reaches the archive",
    )
