"""What apt itself says of sources and preferences, asked in a directory of its own where there is nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from ..apt.errors import fail

_NOTHING = "/dev/null"


class Judge:
    """apt, configured as on the host, with no sources, lists, packages or preferences but those it is asked about.

    apt's programs are asked, since they are there before python3-apt can be.

    Args:
        root: The host's root directory, whose ``apt.conf`` counts.
    """

    def __init__(self, root: str) -> None:
        self._root = root

    def __enter__(self) -> Judge:
        self._path = Path(tempfile.mkdtemp(prefix="halo-audit-"))
        try:
            self._lay_out()
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

    def _lay_out(self) -> None:
        for name in ("cache/archives/partial", "lists/partial"):
            (self._path / name).mkdir(parents=True)
        (self._path / "status").touch()
        # apt reads this file before the host's configuration, and the options behind it.
        (self._path / "apt.conf").write_text(f'Dir "{self._root}";\n', encoding="utf-8")
        self._environment = {**os.environ, "APT_CONFIG": str(self._path / "apt.conf"), "LC_ALL": "C.UTF-8"}
        settings = {
            "Dir::Cache": self._path / "cache",
            "Dir::Cache::pkgcache": "",
            "Dir::Cache::srcpkgcache": "",
            "Dir::State::lists": self._path / "lists",
            "Dir::State::status": self._path / "status",
            "Dir::State::extended_states": _NOTHING,
            "Dir::Etc::sourcelist": _NOTHING,
            "Dir::Etc::sourceparts": _NOTHING,
            "Dir::Etc::preferences": _NOTHING,
            "Dir::Etc::preferencesparts": _NOTHING,
        }
        self._options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

    def accepts(self, texts: Iterable[tuple[str, str]]) -> bool:
        """Say whether apt takes all files of sources, given as name and text, together.

        Raises:
            AptError: The host's apt configuration cannot be read, whatever the sources are.
        """
        parts = self._path / "parts"
        parts.mkdir()
        for number, (name, text) in enumerate(texts):
            _write(parts / f"{number}{Path(name).suffix}", text)
        if not self._ask("apt-get", "indextargets", f"Dir::Etc::sourceparts={parts}"):
            return True
        reason = self._ask("apt-get", "indextargets")
        if reason:
            remedy = "correct the file in /etc/apt that is named; `apt-config dump` says the same"
            raise fail("APT.CONFIG_UNREADABLE", "apt", reason, remedy)
        return False

    def sources(self, name: str, text: str) -> str:
        """Return why apt refuses a file of sources, or nothing.

        Args:
            name: The file as the host calls it; its ending decides how it is read.
            text: What stands in it.
        """
        path = self._path / f"asked{Path(name).suffix}"
        _write(path, text)
        return self._ask("apt-get", "indextargets", f"Dir::Etc::sourcelist={path}").replace(str(path), name)

    def preferences(self, text: str) -> bool:
        """Say whether apt accepts a file of preferences."""
        path = self._path / "asked.pref"
        _write(path, text)
        return not self._ask("apt-cache", "policy", f"Dir::Etc::preferences={path}")

    def _ask(self, program: str, command: str, *settings: str) -> str:
        """Return what a program of apt says when it fails, without its marks."""
        options = [word for setting in settings for word in ("-o", setting)]
        done = subprocess.run(
            [program, *self._options, *options, command],
            check=False,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        if not done.returncode:
            return ""
        said = [line[2:].strip() for line in done.stderr.splitlines() if line.startswith("E:")]
        return "; ".join(dict.fromkeys(said)) or f"{program} {command} returned {done.returncode}"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
