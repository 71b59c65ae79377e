"""What the archives said of themselves when the host asked them last: Release files and indexes of packages."""

from __future__ import annotations

import mmap
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import openpgp
from ..apt.dpkgdb import Database
from .model import Entry, Problem
from .stanzas import fields

LISTS = "var/lib/apt/lists"
_HELPER = "/usr/lib/apt/apt-helper"
#: What apt writes as a number in the name of a list, beside what cannot be printed.
_QUOTED = frozenset(b'\\|{}[]<>"^~_=!@#$%^&*')
_CLEARSIGNED = b"-----BEGIN PGP SIGNED MESSAGE-----"
_SIGNATURE = b"-----BEGIN PGP SIGNATURE-----"
#: A Release file's own fields come before these, which are long and of no use here.
_HASHES = (b"\nMD5Sum:", b"\nSHA1:", b"\nSHA256:", b"\nSHA512:")
_NAME = b"\nPackage: "
_PACKED = (".lz4", ".gz", ".xz", ".zst", ".bz2")


@dataclass(frozen=True)
class Archive:
    """One archive's suite, with the names that a pin can ask for.

    Attributes:
        entry: The source.
        known: Whether its Release file is among the host's lists; otherwise all but the site is empty.
        site: The host name in its URI.
        origin: Of the Release file, like the following.
        label: ...
        archive: Its suite.
        codename: ...
        version: ...
        components: ...
        architectures: ...
        issuers: Key IDs and fingerprints that its signatures name, unverified.
        indexes: The files that list its packages, by architecture; the architecture is empty for flat archives.
    """

    entry: Entry
    known: bool
    site: str = ""
    origin: str = ""
    label: str = ""
    archive: str = ""
    codename: str = ""
    version: str = ""
    components: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    issuers: frozenset[str] = frozenset()
    indexes: tuple[tuple[str, Path], ...] = ()

    @property
    def component(self) -> str:
        """The component, where the source has only one; a pin on another one is idle then."""
        return self.entry.components[0] if len(self.entry.components) == 1 else ""


def archives(entries: Iterable[Entry], root: str, native: str) -> list[Archive]:
    """Read the host's lists of every source for binary packages that is in use."""
    directory = Path(root) / LISTS
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    foreign = _text(Path(root) / "var/lib/dpkg/arch").split()
    found = []
    for entry in entries:
        if not entry.enabled or entry.type != "deb":
            continue
        base = entry.uri.rstrip("/") + "/"
        flat = entry.suite.endswith("/")
        suite = entry.suite.replace("$(ARCH)", native)
        prefix = filename(base + (suite if flat else f"dists/{suite}/"))
        architectures = entry.architectures or (native, *(name for name in foreign if name != native))
        indexes = tuple(_indexes(prefix, "" if flat else entry.components, architectures, names, directory))
        release = next(
            (directory / (prefix + name) for name in ("InRelease", "Release") if prefix + name in names), None
        )
        found.append(_archive(entry, release, indexes))
    return found


def filename(uri: str) -> str:
    """Return what apt calls the list of a URI (apt's ``URItoFileName``)."""
    rest = uri.partition(":")[2]
    host, slash, path = (rest[2:] if rest.startswith("//") else rest).partition("/")
    rest = host.rpartition("@")[2].replace("[", "").replace("]", "") + slash + path
    quoted = (chr(byte) if 0x20 < byte < 0x7F and byte not in _QUOTED else f"%{byte:02x}" for byte in rest.encode())
    return "".join(quoted).replace("/", "_")


def _indexes(
    prefix: str, components: Iterable[str], architectures: Iterable[str], names: set[str], directory: Path
) -> Iterator[tuple[str, Path]]:
    stems = [(arch, f"{part}_binary-{arch}_") for part in components for arch in architectures] or [("", "")]
    for arch, stem in stems:
        for ending in ("", *_PACKED):
            name = f"{prefix}{stem.replace('/', '_')}Packages{ending}"
            if name in names:
                yield arch, directory / name


def _archive(entry: Entry, release: Path | None, indexes: tuple[tuple[str, Path], ...]) -> Archive:
    site = entry.uri.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
    said, issuers = _release(release) if release else ({}, frozenset[str]())
    return Archive(
        entry=entry,
        known=bool(said),
        site=site,
        origin=said.get("origin", ""),
        label=said.get("label", ""),
        archive=said.get("suite", ""),
        codename=said.get("codename", ""),
        version=said.get("version", ""),
        components=tuple(said.get("components", "").split()),
        architectures=tuple(said.get("architectures", "").split()),
        issuers=issuers,
        indexes=indexes,
    )


def _release(path: Path) -> tuple[dict[str, str], frozenset[str]]:
    """Return the fields of a Release file, and who signed it."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}, frozenset()
    text, marker, signature = data.partition(_SIGNATURE)
    if text.startswith(_CLEARSIGNED):
        text = text.partition(b"\n\n")[2]
    end = min((at for at in (text.find(mark) for mark in _HASHES) if at >= 0), default=len(text))
    if not marker:
        signature = _bytes(path.with_name(path.name + ".gpg"))
    said = fields(text[:end].decode("utf-8", "replace").strip().split("\n"))
    return said, openpgp.issuers(marker + signature)


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8", "replace")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def not_there(found: Iterable[Archive], native: str) -> list[Problem]:
    """Return a problem for each component and architecture that a source names and its archive does not have."""
    problems = []
    for archive in found:
        entry = archive.entry
        # Debian's security archive calls its component updates/main, and apt takes the last part.
        offered = {name.rpartition("/")[2] for name in archive.components} | set(archive.components)
        missing = [name for name in entry.components if offered and name not in offered]
        wanted = entry.architectures or (native,)
        known = {"all", *archive.architectures}
        lacking = [name for name in wanted if archive.architectures and name not in known]
        for what, names, there in (
            ("component", missing, sorted(offered)),
            ("architecture", lacking, sorted(archive.architectures)),
        ):
            if names:
                evidence = f"{entry.place} names the {what} {', '.join(names)}, the archive has {', '.join(there)}"
                remedy = f"take {', '.join(names)} out of {entry.place}, or correct it"
                detail = {"entry": entry.where(), "what": what, "names": names, "offered": there}
                problems.append(entry.problem("SOURCE.NOT_THERE", "warning", evidence, remedy, detail))
    return problems


def homeless(found: Iterable[Archive], database: Database) -> list[Problem]:
    """Return the installed packages that no archive of the host has, in any version.

    Where an archive's lists are not there, it is named instead, since nobody can tell.
    """
    every = list(found)
    unseen = [archive.entry for archive in every if not archive.known and not archive.indexes]
    if unseen:
        evidence = f"nothing of it is in /{LISTS}: it was never asked, did not answer, or has no suite of this name"
        return [
            entry.problem("SOURCE.NO_LISTS", "info", evidence, "apt-get update", {"entry": entry.where()})
            for entry in unseen
        ]
    offered: dict[str, set[bytes]] = {}
    for path, arch in {path: arch for archive in every for arch, path in archive.indexes}.items():
        offered.setdefault(arch, set()).update(_names(path))
    anywhere = set().union(*offered.values())
    # Flat archives do not say of which architecture their packages are.
    fitting = {arch: names | offered.get("", set()) for arch, names in offered.items()} | {"all": anywhere}
    lost = sorted(
        (
            package
            for package in database.packages.values()
            if package.name.encode() not in fitting.get(package.arch, offered.get("", set()))
        ),
        key=lambda package: package.name,
    )
    if not lost:
        return []
    shown = [f"{package.name} {package.version}" for package in lost]
    more = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
    evidence = f"installed, and no archive of the host has them: {', '.join(shown[:20])}{more}"
    subject = f"{len(lost)} package" + "s" * (len(lost) > 1)
    detail = {"packages": [{"name": one.name, "arch": one.arch, "version": one.version} for one in lost]}
    return [Problem("APT.NO_ARCHIVE", "info", subject, evidence, "", "/var/lib/dpkg/status", detail=detail)]


def _names(path: Path) -> set[bytes]:
    """Return the names of the packages in an index.

    apt's parser needs a second for Debian's index; a line that begins with a field's name is that field, as
    continuation lines begin with a space.
    """
    if path.suffix in _PACKED:
        # Not every Python can unpack all that apt packs.
        unpacked = subprocess.run([_HELPER, "cat-file", str(path)], check=False, stdout=subprocess.PIPE).stdout
        return set(_fields(b"\n" + unpacked))
    with path.open("rb") as stream:
        if not path.stat().st_size:
            return set()
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            # The first line has no line feed before it.
            first = data[: data.find(b"\n") + 1]
            return {*_fields(b"\n" + first), *_fields(data)}


def _fields(data: bytes | mmap.mmap) -> Iterator[bytes]:
    at = data.find(_NAME)
    while at >= 0:
        start = at + len(_NAME)
        at = data.find(b"\n", start)
        yield data[start : at if at >= 0 else len(data)].rstrip()
        at = data.find(_NAME, at) if at >= 0 else -1
