"""Fetches real Debian packages through apt's own verification, into a cache, for the look-alikes' archive."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.images.build import Archive, machine_archive

from .errors import ArchiveError, run

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_URI = re.compile(r"^'\S+' (([^\s_]+)_([^\s_]+)_[^\s_]+\.deb) \d+ ", re.MULTILINE)


def machine_mirrors() -> Archive:
    """Return where this machine's apt finds Debian.

    Raises:
        ArchiveError: It knows no Debian archive.
    """
    archive = machine_archive()
    if not archive.main:
        raise ArchiveError(
            "the apt of this machine has no Debian archive to re-publish\n"
            "remedy: apt-get update; where there is none, test on real images: HALO_TEST_IMAGE_UBUNTU_2204=IMAGE"
        )
    return archive


class AptRoot:
    """apt for another release, in a directory of its own; it believes that nothing is installed.

    Args:
        directory: Where its lists and packages lie.
        release: The codename of the Debian release.
    """

    def __init__(self, directory: Path, release: str) -> None:
        self._directory = directory.resolve()
        self.archives = self._directory / "archives"
        for path in ("lists/partial", "archives/partial", "nothing/partial", "etc", "solved"):
            (self._directory / path).mkdir(parents=True, exist_ok=True)
        (self._directory / "status").touch()
        mirrors = machine_mirrors()
        pockets = {release: mirrors.main, f"{release}-updates": mirrors.main, f"{release}-security": mirrors.security}
        signed = f"[arch=amd64 signed-by={_KEYRING}]" if _KEYRING.exists() else "[arch=amd64]"
        lines = [f"deb {signed} {uri} {suite} main\n" for suite, uri in pockets.items() if uri]
        (self._directory / "etc" / "sources.list").write_text("".join(lines), encoding="utf-8")
        settings = {
            "Dir::State": self._directory,
            "Dir::State::lists": self._directory / "lists",
            "Dir::State::status": self._directory / "status",
            "Dir::State::extended_states": self._directory / "extended_states",
            "Dir::Cache": self._directory,
            "Dir::Cache::archives": self.archives,
            # Images for containers switch both off, which makes every call read all lists again.
            "Dir::Cache::pkgcache": self._directory / "pkgcache.bin",
            "Dir::Cache::srcpkgcache": self._directory / "srcpkgcache.bin",
            "Acquire::GzipIndexes": "false",
            "Dir::Etc::sourcelist": self._directory / "etc" / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Architecture": "amd64",
            "APT::Architectures": "amd64",
            "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
            "APT::Keep-Downloaded-Packages": "true",
            "APT::Install-Recommends": "false",
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::Retries": "3",
            "Debug::NoLocking": "true",
        }
        self._options = [f"-o{name}={value}" for name, value in settings.items()]

    @property
    def has_lists(self) -> bool:
        """Whether the lists have ever been fetched."""
        return any((self._directory / "lists").glob("*InRelease"))

    def update(self) -> None:
        """Refresh the lists; what has not changed is not fetched again.

        Raises:
            ArchiveError: They cannot be fetched or verified.
        """
        self._apt("update", "--error-on=any")

    def closure(self, wishes: list[str]) -> dict[str, str]:
        """Return what installing packages onto nothing would install, as the .deb's file name to ``name=version``.

        Raises:
            ArchiveError: They cannot be installed together.
        """
        digest = hashlib.sha256(json.dumps(wishes).encode())
        for path in sorted((self._directory / "lists").glob("*InRelease")):
            digest.update(path.read_bytes())
        solved = self._directory / "solved" / f"{digest.hexdigest()}.json"
        if not solved.exists():
            # URIs are printed of what is not there yet: it must look where nothing is. --simulate would be far slower.
            nothing = f"-oDir::Cache::archives={self._directory / 'nothing'}"
            said = self._apt(nothing, "--print-uris", "install", *wishes).stdout.decode()
            closure = {file: f"{name}={version.replace('%3a', ':')}" for file, name, version in _URI.findall(said)}
            solved.write_text(json.dumps(closure), encoding="utf-8")
        solution: dict[str, str] = json.loads(solved.read_text(encoding="utf-8"))
        return solution

    def download(self, closure: Mapping[str, str]) -> None:
        """Download what is not in the cache yet, verified by apt against the signed lists.

        Raises:
            ArchiveError: Something cannot be fetched or is not what the lists say.
        """
        missing = [package for file, package in closure.items() if not (self.archives / file).exists()]
        if missing:
            print(f"  fetching {len(missing)} packages of {self._directory.name}", file=sys.stderr, flush=True)
            self._apt("download", *missing, directory=self.archives)

    def _apt(self, *arguments: str, directory: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        environment = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        return run(["apt-get", "-y", *self._options, *arguments], env=environment, cwd=directory or self._directory)
