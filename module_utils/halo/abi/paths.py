"""Paths of a host whose root directory may be any: links are followed inside it, nothing of this machine leaks in."""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from pathlib import Path

_MOST_LINKS = 40


class Root:
    """The file system below a root directory, remembered: it is taken not to change while it is looked at.

    Args:
        top: The root directory, a path of this machine.
    """

    def __init__(self, top: str = "/") -> None:
        top = os.path.realpath(top)
        self.top = "" if top == "/" else top
        self._real: dict[str, str] = {"/": "/"}
        self._names: dict[str, frozenset[str]] = {}
        self._exposed: dict[str, str] = {}

    def outside(self, path: str) -> str:
        """Return the path of this machine for one of the host."""
        return self.top + path

    def inside(self, path: str) -> str:
        """Return the host's path for one that was typed: this machine's if it lies below the root, else the host's."""
        path = posixpath.normpath(path if path.startswith("/") else posixpath.join(str(Path.cwd()), path))
        if self.top and (path == self.top or path.startswith(self.top + "/")):
            path = path[len(self.top) :] or "/"
        return path

    def real(self, path: str) -> str:
        """Return an absolute path without symbolic links.

        Raises:
            OSError: The links lead in a circle. That something is missing at the end is no error here.
        """
        return self._follow(path, 0)

    def note(self, path: str) -> None:
        """Remember that a path has no symbolic links, as somebody saw who listed its directory."""
        self._real[path] = path

    def _follow(self, path: str, links: int) -> str:
        known = self._real.get(path)
        if known is not None:
            return known
        head, tail = posixpath.split(path.rstrip("/") or "/")
        if not tail:
            return "/"
        parent = self._follow(head, links)
        if tail == ".":
            found = parent
        elif tail == "..":
            found = posixpath.dirname(parent)
        else:
            found = parent + "/" + tail if parent != "/" else "/" + tail
            try:
                target = os.readlink(self.top + found)  # noqa: PTH115 - a Path for each costs half of the time
            except (OSError, ValueError):
                target = ""
            if target:
                if links >= _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                found = self._follow(posixpath.join(parent, target), links + 1)
        self._real[path] = found
        return found

    def exists(self, path: str) -> bool:
        """Say whether there is something at a path as it was typed, be it a dangling link."""
        return os.path.lexists(self.outside(self.inside(path)))

    def names(self, directory: str) -> frozenset[str]:
        """Return what a directory holds, nothing if there is no such directory."""
        names = self._names.get(directory)
        if names is None:
            try:
                names = frozenset(os.listdir(self.top + self.real(directory)))  # noqa: PTH208 - names are wanted, not Paths
            except (OSError, ValueError):
                names = frozenset()
            self._names[directory] = names
        return names

    def exposed(self, directory: str) -> str:
        """Return the directory in which everybody may make this one, or what is in it; empty where only owners may."""
        found = self._exposed.get(directory)
        if found is None:
            try:
                mode = os.lstat(self.top + self.real(directory)).st_mode
                found = directory if stat.S_ISDIR(mode) and mode & stat.S_IWOTH else ""
            except FileNotFoundError:
                found = self.exposed(posixpath.dirname(posixpath.normpath(directory)))
            except (OSError, ValueError):
                found = ""
            self._exposed[directory] = found
        return found

    def text(self, path: str) -> str:
        """Return a small text file's contents, nothing if it cannot be read."""
        try:
            with Path(self.top + self.real(path)).open(encoding="utf-8", errors="surrogateescape") as file:
                return file.read(1 << 20)
        except (OSError, ValueError):
            return ""

    def data(self, path: str) -> bytes:
        """Return a file's bytes, nothing if it cannot be read."""
        try:
            with Path(self.top + self.real(path)).open("rb") as file:
                return file.read(1 << 26)
        except (OSError, ValueError):
            return b""
