"""The private apt root: the host's own view of apt, with what a run is going to change laid over it."""

from __future__ import annotations

import locale
import os
import pwd
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import apt_pkg

from . import copies
from .errors import AptError, fail

#: Where private roots are made: on disk rather than in a tmpfs, and mostly on the file system of /var/lib/apt,
#: so that lists and caches can be hard links.
PARENT = "/var/tmp"  # noqa: S108 mkdtemp makes a directory of its own there
PREFIX = "halo-apt-"
#: File in ``/etc/apt`` -> the directory beside it.
PARTS = {"sources.list": "sources.list.d", "preferences": "preferences.d"}


class PrivateRoot:
    """A temporary directory that apt takes for its configuration and caches, until the block ends.

    The host's ``apt.conf``, keyrings, credentials, dpkg status and auto marks are used where they lie. Sources and
    preferences are copies with the given files laid over them. Nothing on the host is written, unless the lists are
    refreshed there or the plan is executed.

    Args:
        host: The root directory of the host.
        preferences: Name of a file in ``preferences.d`` -> its text, of files to replace or add.
        sources: Name of a file in ``sources.list.d`` -> its text, or ``None`` to leave that file out.
        recommends: Whether recommended packages are installed.
        keyrings: Path of a keyring on the host -> its bytes as they will be. Sources that name the path are led to a
            copy in the private root.
        files: Path in ``/etc/apt`` of a source or preferences file -> its text after a repair that is still to come,
            ``None`` where it goes. ``preferences`` and ``sources`` are laid over them.

    Raises:
        AptError: The host's apt configuration cannot be read.
    """

    def __init__(
        self,
        host: str = "/",
        preferences: Mapping[str, str] | None = None,
        sources: Mapping[str, str | None] | None = None,
        recommends: bool = False,
        keyrings: Mapping[str, bytes] | None = None,
        files: Mapping[str, str | None] | None = None,
    ) -> None:
        self.host = Path(host)
        self.recommends = recommends
        self._preferences = preferences or {}
        self._sources = sources or {}
        self._keyrings = keyrings or {}
        self._files = files or {}
        #: Path of a keyring's copy -> what it is called on the host.
        self.copies: dict[str, str] = {}

    def __enter__(self) -> PrivateRoot:
        Path(PARENT).mkdir(exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=PARENT))
        try:
            # apt's download methods run as _apt and must get in.
            self.path.chmod(0o755)
            self._read_host_configuration()
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
        shutil.rmtree(self.path, ignore_errors=True)

    @property
    def host_lists(self) -> Path:
        """The host's own lists directory."""
        return self.host / "var/lib/apt/lists"

    @property
    def archives(self) -> Path:
        """The host's own directory of downloaded packages."""
        return self.host / "var/cache/apt/archives"

    def use_lists(self, path: Path) -> None:
        """Make apt read, and refresh, the lists in a directory."""
        self._set("Dir::State::lists", path)

    def link_lists(self) -> Path:
        """Return a private directory that holds the host's lists as hard links, for refreshing them there."""
        private = self.path / "lists"
        partial(private)
        for entry in self.host_lists.glob("*_*"):
            if entry.is_file():
                _link(entry, private / entry.name)
        return private

    @contextmanager
    def for_methods(self) -> Iterator[None]:
        """Keep what apt's methods write to a temporary directory within the private root, and their words English.

        Ansible's modules run in the host's language, in which nobody could tell one reason from another.
        """
        directory, before = self.path / "tmp", dict(os.environ)
        directory.mkdir(exist_ok=True)
        # Methods run as _apt.
        directory.chmod(0o1777)
        language = locale.setlocale(locale.LC_MESSAGES)
        os.environ.update(TMPDIR=str(directory), LC_ALL="C")
        locale.setlocale(locale.LC_MESSAGES, "C")
        try:
            yield
        finally:
            locale.setlocale(locale.LC_MESSAGES, language)
            os.environ.clear()
            os.environ.update(before)

    def _read_host_configuration(self) -> None:
        # apt's warnings come as Python warnings, which would mix into the module's answer.
        warnings.simplefilter("ignore")
        apt_pkg.config.set("Dir", str(self.host))
        try:
            apt_pkg.init_config()
        except apt_pkg.Error as error:
            raise unreadable(error) from error

    def _lay_out(self) -> None:
        etc = self.host / "etc/apt"
        for name, parts in (("sources.list", self._sources), ("preferences", self._preferences)):
            copies.copy(etc / name, self.path, self._files)
            copies.copy_parts(etc / PARTS[name], self.path, self._files, parts)
        self.copies = copies.lay_keyrings(self.path, self._keyrings)
        cache = self.path / "cache"
        (cache / "archives" / "partial").mkdir(parents=True)
        for name in ("pkgcache.bin", "srcpkgcache.bin"):
            # apt reads them when they still fit, which saves a second; it replaces and never rewrites them.
            if (self.host / "var/cache/apt" / name).is_file():
                _link(self.host / "var/cache/apt" / name, cache / name)
        self._set("Dir::Etc::sourcelist", self.path / "sources.list")
        self._set("Dir::Etc::sourceparts", self.path / "sources.list.d")
        self._set("Dir::Etc::preferences", self.path / "preferences")
        self._set("Dir::Etc::preferencesparts", self.path / "preferences.d")
        self._set("Dir::Cache", cache)
        self._set("Dir::Cache::archives", cache / "archives")
        self._set("Dir::State::status", self.host / "var/lib/dpkg/status")
        self._set("Dir::State::extended_states", self.host / "var/lib/apt/extended_states")
        self.use_lists(self.host_lists)
        # Neither our own nor the host's configuration may turn verification off.
        for key in (
            "APT::Get::AllowUnauthenticated",
            "Acquire::AllowInsecureRepositories",
            "Acquire::AllowWeakRepositories",
            "Acquire::AllowDowngradeToInsecureRepositories",
        ):
            apt_pkg.config.set(key, "false")
        apt_pkg.config.set("APT::Install-Recommends", "true" if self.recommends else "false")
        apt_pkg.config.set("APT::Install-Suggests", "false")
        try:
            apt_pkg.init_system()
        except apt_pkg.Error as error:
            raise unreadable(error) from error

    @staticmethod
    def _set(key: str, path: Path) -> None:
        apt_pkg.config.set(key, str(path))

    def sources(self) -> apt_pkg.SourceList:
        """Read the sources.

        Raises:
            AptError: A source is malformed, or two contradict.
        """
        sources = apt_pkg.SourceList()
        try:
            sources.read_main_list()
        except apt_pkg.Error as error:
            raise unreadable(error, self) from error
        return sources

    def contradicting(self, message: str) -> list[str]:
        """Return the files of sources that contradict, as the host calls them, where that is what apt complains of."""
        return [
            f"{self.host / 'etc/apt' / name}{' (which this run writes)' if Path(name).name in self._sources else ''}"
            for name in copies.contradicting(self.path, message)
        ]

    def cache(self) -> apt_pkg.Cache:
        """Open the cache over the host's status and the lists in use.

        Raises:
            AptError: Sources, preferences, lists or dpkg's status cannot be read.
        """
        self.sources()
        try:
            return apt_pkg.Cache(None)
        except (apt_pkg.Error, SystemError) as error:
            text = messages(error, self)
            if "preferences" in text:
                raise unreadable(error, self) from error
            raise fail(
                "APT.STATUS_UNREADABLE",
                str(self.host / "var/lib"),
                text,
                "run `apt-get update` and `dpkg --audit`, and repair what they name",
            ) from error


def messages(error: BaseException, root: PrivateRoot | None = None) -> str:
    """Return apt's messages without their marks, with the host's paths instead of those of the private root."""
    text = str(error)
    if root is not None:
        for name in (*PARTS.values(), *PARTS):
            text = text.replace(str(root.path / name), str(root.host / "etc/apt" / name))
        for copy, path in root.copies.items():
            text = text.replace(copy, path)
    said = _marked(text)
    return "; ".join([part for mark, part in said if mark == "E"] or [part for _, part in said])


def marked(error: BaseException) -> list[tuple[str, str]]:
    """Return apt's messages, each behind its mark: ``E`` for an error, ``W`` for a warning, or nothing."""
    return _marked(str(error))


def _marked(text: str) -> list[tuple[str, str]]:
    parts = [part.strip() for part in text.replace(", W:", "\nW:").replace(", E:", "\nE:").splitlines()]
    return [(part[0], part[2:]) if part[:2] in ("E:", "W:") else ("", part) for part in parts if part]


def unreadable(error: BaseException, root: PrivateRoot | None = None) -> AptError:
    """Return the finding that apt cannot read its own configuration."""
    text = messages(error, root)
    remedy = "correct the file and line that apt names; `apt-get check` shows the same"
    places = root.contradicting(text) if root is not None else []
    if places:
        text += f"; named in {' and '.join(places)}"
        remedy = "leave one source of this archive, which role apt_repair does (apt_repair_enabled: true)"
    return fail("APT.CONFIG_UNREADABLE", "apt", text, remedy)


def partial(directory: Path) -> None:
    """Make the directory in which apt's methods download below another, where it is missing."""
    path = directory / "partial"
    if not path.is_dir():
        path.mkdir(parents=True, mode=0o700)
        give_to_apt(path)


def give_to_apt(directory: Path) -> None:
    """Give a directory to the user that apt's methods run as; otherwise they run as root."""
    user = apt_pkg.config.find("APT::Sandbox::User", "_apt")
    # Without such a user apt downloads as root anyway; without being root there is no other user.
    with suppress(KeyError, PermissionError):
        os.chown(directory, pwd.getpwnam(user).pw_uid, 0)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
