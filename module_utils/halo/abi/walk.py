"""Lists the files that may be ELF objects below some paths: each once, no device or FIFO, no link followed."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .paths import Root

#: Names of files that are never loaded: opening each of them is most of the time that a tree of Python code takes.
_OTHER = re.compile(
    r"\.(?:py[cio]?|h|hh|hpp|hxx|inc|inl|c|cc|cpp|cu|f90|a|la|o|pc|cmake|txt|md|rst|html?|css|js|mjs|cjs|ts|map|json|ya?ml"
    r"|toml|xml|xsd|svg|png|jpe?g|gif|ico|ttf|woff2?|pdf|gz|xz|bz2|zst|zip|jar|whl|tar|pdb|pod|pm|pl|ph|rb|lua|go|rs|java|class|el|elc"
    r"|tcl|sh|csv|dat|db|npy|npz|bin|hsaco|co|bc|ll|mo|po|gir|typelib|pak|vim|d|debug|rules|service|conf|list|sources)$",
    re.IGNORECASE,
)


@dataclass
class Walk:
    """The walk through some paths.

    Attributes:
        counts: What was left out, by reason: ``link``, ``special``, ``name``, ``twice``, ``unreadable``.
        unreadable: Directories that cannot be listed, with the reason.
    """

    root: Root
    counts: Counter[str] = field(default_factory=Counter)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def files(self, paths: list[str]) -> Iterator[str]:
        """Yield the host's paths of the files at and below paths of the host, without links; sorted by directory.

        Raises:
            OSError: One of the paths is not there.
        """
        for path in paths:
            real = self.root.real(path)
            info = os.lstat(self.root.outside(real))
            if not stat.S_ISDIR(info.st_mode):
                self.counts["files"] += 1
                # Named by the user, so it is opened whatever its name; what it is, is seen then.
                if self._first(info.st_dev, info.st_ino):
                    yield real
            else:
                yield from self._below(real)

    def _below(self, top: str) -> Iterator[str]:
        waiting = [top]
        while waiting:
            directory = waiting.pop()
            outside = self.root.outside(directory)
            try:
                # The directory's device stands for its files': a stat of each would cost more than all the rest.
                info = os.lstat(outside)
                if not self._first(info.st_dev, info.st_ino):
                    continue
                with os.scandir(outside) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self.unreadable.append((directory, error.strerror or str(error)))
                continue
            prefix = "" if directory == "/" else directory
            below = []
            for entry in found:
                if entry.is_symlink():
                    self.counts["link"] += 1
                elif entry.is_dir(follow_symlinks=False):
                    below.append(f"{prefix}/{entry.name}")
                elif not entry.is_file(follow_symlinks=False):
                    self.counts["special"] += 1
                else:
                    self.counts["files"] += 1
                    if _OTHER.search(entry.name):
                        self.counts["name"] += 1
                    elif self._first(info.st_dev, entry.inode()):
                        self.root.note(f"{prefix}/{entry.name}")
                        yield f"{prefix}/{entry.name}"
            waiting.extend(reversed(below))

    def _first(self, device: int, inode: int) -> bool:
        if (device, inode) in self._seen:
            self.counts["twice"] += 1
            return False
        self._seen.add((device, inode))
        return True
