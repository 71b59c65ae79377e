"""One opened apt cache, and the questions that planning asks it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import apt_pkg

from .root import PrivateRoot

POSITIVE = ("PreDepends", "Depends")
NEGATIVE = ("Conflicts", "Breaks")
_POCKET = re.compile(r"-(updates|security|proposed-updates|proposed)$")


class View:
    """The packages as apt sees them in a private root.

    Attributes:
        cache: The opened cache.
        depcache: What is marked for installation and removal. There is one for a cache, so a trial begins with
            :meth:`reset`.
        recommends: Whether recommended packages count as dependencies.

    Raises:
        AptError: The cache cannot be opened.
    """

    def __init__(self, root: PrivateRoot) -> None:
        self.cache: Any = root.cache()
        self.depcache: Any = apt_pkg.DepCache(self.cache)
        self.recommends = root.recommends
        self._policy: Any = self.depcache.policy
        self._clean = True
        self._preferred: list[Any] = []

    def reset(self) -> None:
        """Forget all marks. Opening the cache has done so already, and doing it again takes a third of a second."""
        if not self._clean:
            self.depcache.init()
            self._set_candidates()
        self._clean = True

    def begin(self) -> None:
        """Forget all marks, because new ones are to be made."""
        self.reset()
        self._clean = False

    @contextmanager
    def prefer(self, versions: Iterable[Any]) -> Iterator[None]:
        """Make some versions apt's candidates, as pins would, until the block ends."""
        self._preferred = list(versions)
        self.reset()
        self._set_candidates()
        try:
            yield
        finally:
            self._clean = self._clean and not self._preferred
            self._preferred = []
            self.reset()

    def _set_candidates(self) -> None:
        # Within a group apt works out once and not every time what is needed no more.
        with apt_pkg.ActionGroup(self.depcache):
            for version in self._preferred:
                self.depcache.set_candidate_ver(version.parent_pkg, version)

    def package(self, name: str) -> Any | None:
        """Return a package of the native architecture, virtual ones included, or nothing."""
        try:
            return self.cache[name]
        except KeyError:
            return None

    def archives(self, version: Any) -> list[Any]:
        """Return the archives that offer a version."""
        return [file for file, _ in version.file_list if not file.not_source]

    def priority(self, version: Any) -> int:
        """Return apt's priority of a version."""
        return int(self._policy.get_priority(version))

    def archive(self, version: Any) -> Any | None:
        """Return the archive that apt would take a version from: the one of the highest priority."""
        return max(self.archives(version), key=self._policy.get_priority, default=None)

    def source(self, version: Any) -> tuple[str, str]:
        """Return Origin and codename (or suite) of a version's archive, both empty when no archive offers it."""
        file = self.archive(version)
        return (file.origin, file.codename or file.archive) if file is not None else ("", "")

    def releases(self, version: Any) -> set[tuple[str, str]]:
        """Return Origin and base codename of all archives that offer a version.

        A release and its updates are one, ``trixie``, ``trixie-updates`` and ``trixie-security``; its backports are
        another, also where all of them have one codename, as Ubuntu's do.
        """
        return {(file.origin, base_codename(file.codename, file.archive)) for file in self.archives(version)}

    def candidate(self, package: Any) -> Any | None:
        """Return the version that would be installed."""
        return self.depcache.get_candidate_ver(package)

    def default(self, package: Any) -> Any | None:
        """Return the candidate by priorities alone; a trial may leave others behind."""
        return self._policy.get_candidate_ver(package)

    def outcome(self, package: Any) -> Any | None:
        """Return the version of a package after what is marked now, or nothing."""
        depcache = self.depcache
        if depcache.marked_delete(package):
            return None
        if depcache.marked_install(package) or depcache.marked_upgrade(package) or depcache.marked_downgrade(package):
            return depcache.get_candidate_ver(package)
        return package.current_ver

    def changed(self, package: Any) -> bool:
        """Say whether a package changes by what is marked now."""
        return _id(self.outcome(package)) != _id(package.current_ver)

    def groups(self, version: Any, kinds: Iterable[str]) -> Iterable[list[Any]]:
        """Yield a version's dependencies of some kinds, each a list of alternatives."""
        depends = version.depends_list
        for kind in kinds:
            yield from depends.get(kind, ())

    @property
    def wanted_kinds(self) -> tuple[str, ...]:
        """The kinds of dependency that bring packages along."""
        return (*POSITIVE, "Recommends") if self.recommends else POSITIVE


def base_codename(codename: str, suite: str) -> str:
    """Return the release that an archive belongs to."""
    if suite.endswith("-backports"):
        return suite
    return _POCKET.sub("", codename or suite)


def relation(dependency: Any) -> str:
    """Return one alternative of a dependency as a control file writes it."""
    name = dependency.target_pkg.get_fullname(True)
    version = dependency.target_ver
    return f"{name} ({dependency.comp_type_deb} {version})" if version else name


def alternatives(group: Iterable[Any]) -> str:
    """Return a dependency as a control file writes it."""
    return " | ".join(relation(dependency) for dependency in group)


def same(first: Any | None, second: Any | None) -> bool:
    """Say whether two versions are the same one."""
    return _id(first) == _id(second)


def _id(version: Any | None) -> int:
    return -1 if version is None else int(version.id)
