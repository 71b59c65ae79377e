"""Every keyring of a host: those that sources name, and the stores that all sources share."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import openpgp
from ..openpgp import Key, OpenPgpError
from .model import Entry

#: What every source without Signed-By is verified with.
SHARED = ("etc/apt/trusted.gpg", "etc/apt/trusted.gpg.d")
_OWN = ("etc/apt/keyrings", "usr/share/keyrings")
_ENDINGS = (".gpg", ".asc")


@dataclass(frozen=True)
class Store:
    """A file with keys, or the key within a source.

    Attributes:
        name: As the host calls it; the place of the source for a key within one.
        keys: What is in it.
        problem: Why apt can use nothing of it; empty where it can.
        form: ``binary``, ``armoured`` or ``both``.
        shared: Whether all sources without Signed-By are verified with it.
    """

    name: str
    keys: tuple[Key, ...] = ()
    problem: str = ""
    form: str = ""
    shared: bool = False


def stores(entries: Iterable[Entry], root: str) -> dict[str, Store]:
    """Read the keyrings below a root directory and those that sources name: path -> store."""
    base = Path(root)
    paths = dict.fromkeys(_paths(base))
    for entry in entries:
        paths.update(dict.fromkeys(base / name.lstrip("/") for name in named(entry) if name.startswith("/")))
    return {store.name: store for store in (_store(base, path) for path in paths)}


def named(entry: Entry) -> tuple[str, ...]:
    """Return the paths and fingerprints in a source's Signed-By; nothing for a key within the source."""
    return () if "-----" in entry.signed_by else tuple(entry.signed_by.replace(",", " ").split())


def within(entry: Entry) -> Store | None:
    """Return the key that stands within a source."""
    if "-----" not in entry.signed_by:
        return None
    # A line of deb822 cannot be empty; a full stop stands for it.
    lines = ("" if line.strip() == "." else line.strip() for line in entry.signed_by.split("\n"))
    keys, problem, _ = _keys("\n".join(lines).encode())
    return Store(entry.place, keys, problem, "armoured")


def _paths(base: Path) -> Iterator[Path]:
    for directory in (SHARED[1], *_OWN):
        if (base / directory).is_dir():
            yield from (path for path in sorted((base / directory).iterdir()) if path.suffix in _ENDINGS)
    if (base / SHARED[0]).exists():
        yield base / SHARED[0]


def _store(base: Path, path: Path) -> Store:
    name = f"/{path.relative_to(base)}"
    shared = name == f"/{SHARED[0]}" or name.startswith(f"/{SHARED[1]}/")
    try:
        # An absolute link is one within the host, not within the machine that reads it.
        status = _followed(base, path).stat()
        if not stat.S_ISREG(status.st_mode):
            return Store(name, problem="it is no regular file", shared=shared)
        with _followed(base, path).open("rb") as stream:
            data = stream.read(openpgp.MAX_BYTES + 1)
    except OSError as error:
        return Store(name, problem=error.strerror or str(error), shared=shared)
    keys, problem, form = _keys(data)
    if not problem and not status.st_mode & stat.S_IROTH:
        problem = f"apt's user cannot read it: mode {stat.S_IMODE(status.st_mode):04o}"
    elif not problem and form == "both":
        problem = "it is a binary key followed by an armoured one, of which apt reads neither"
    elif not problem and (form, path.suffix) in (("armoured", ".gpg"), ("binary", ".asc")):
        problem = f"it is {form}, and its name ends in {path.suffix}, so apt cannot read it"
    return Store(name, keys, problem, form, shared)


def _followed(base: Path, path: Path) -> Path:
    for _ in range(20):
        if not path.is_symlink():
            break
        target = path.readlink()
        path = base / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    return path


def _keys(data: bytes) -> tuple[tuple[Key, ...], str, str]:
    armoured = b"-----BEGIN PGP" in data
    form = (
        "binary"
        if not armoured
        else "both"
        if data[:1] and data[0] & 0x80 and data[:3] != b"\xef\xbb\xbf"
        else "armoured"
    )
    try:
        return tuple(openpgp.read(data)), "", form
    except OpenPgpError as error:
        return (), str(error), form
