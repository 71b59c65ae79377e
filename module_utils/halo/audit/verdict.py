"""What apt itself says of sources and preferences, asked in a directory of its own where there is nothing else."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any

import apt_pkg

from ..apt.errors import fail
from ..apt.root import marked

_NOTHING = "/dev/null"


class Judge:
    """apt, configured as on the host, with no sources, lists, packages or preferences but those it is asked about.

    Args:
        root: The host's root directory, whose ``apt.conf`` counts.

    Raises:
        AptError: The host's apt configuration cannot be read.
    """

    def __init__(self, root: str) -> None:
        self._root = root

    def __enter__(self) -> Judge:
        # apt's warnings come as Python warnings, which would mix into the module's answer.
        warnings.simplefilter("ignore")
        self._path = Path(tempfile.mkdtemp(prefix="halo-audit-"))
        try:
            self._configure()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self._path, ignore_errors=True)

    def _configure(self) -> None:
        for name in ("cache/archives/partial", "lists/partial"):
            (self._path / name).mkdir(parents=True)
        (self._path / "status").touch()
        apt_pkg.config.set("Dir", self._root)
        try:
            apt_pkg.init_config()
            for key, value in (
                ("Dir::Cache", self._path / "cache"),
                ("Dir::State::lists", self._path / "lists"),
                ("Dir::State::status", self._path / "status"),
                ("Dir::State::extended_states", _NOTHING),
                ("Dir::Etc::sourcelist", _NOTHING),
                ("Dir::Etc::sourceparts", _NOTHING),
                ("Dir::Etc::preferences", _NOTHING),
                ("Dir::Etc::preferencesparts", _NOTHING),
                ("Dir::Cache::pkgcache", ""),
                ("Dir::Cache::srcpkgcache", ""),
            ):
                apt_pkg.config.set(key, str(value))
            apt_pkg.init_system()
        except apt_pkg.Error as error:
            remedy = "correct the file in /etc/apt that is named; `apt-config dump` says the same"
            raise fail("APT.CONFIG_UNREADABLE", "apt", _words(error), remedy) from error
        self._policy: Any = None

    def sources(self, name: str, text: str) -> str:
        """Return why apt refuses a file of sources, or nothing.

        Args:
            name: The file as the host calls it; its ending decides how it is read.
            text: What stands in it.
        """
        path = self._path / f"asked{Path(name).suffix}"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        apt_pkg.config.set("Dir::Etc::sourcelist", str(path))
        try:
            apt_pkg.SourceList().read_main_list()
        except (apt_pkg.Error, SystemError) as error:
            return _words(error).replace(str(path), name)
        return ""

    def preferences(self, text: str) -> bool:
        """Say whether apt accepts a file of preferences."""
        path = self._path / "asked.pref"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        if self._policy is None:
            # A policy needs a cache; this one is empty, and is no one's but ours.
            self._cache = apt_pkg.Cache(None)
            self._policy = apt_pkg.Policy(self._cache)
        try:
            return bool(self._policy.read_pinfile(str(path)))
        except (apt_pkg.Error, SystemError):
            return False


def _words(error: BaseException) -> str:
    """Return apt's messages without their marks."""
    return "; ".join(text for _, text in marked(error))
