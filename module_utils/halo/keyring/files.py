"""A keyring file as it lies on the host: read and written."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import openpgp
from ..openpgp import Selection, iso

#: apt reads keyrings as the user _apt.
MODE = 0o644


@dataclass(frozen=True)
class Keyring:
    """What a keyring file holds, or will hold.

    Attributes:
        data: Its bytes, None where there is no file.
        mode: Its permission bits.
        selection: Which of the wanted keys are in it, None where nothing can be read from it.
        problem: Why nothing can be read from it.
    """

    data: bytes | None = None
    mode: int = 0
    selection: Selection | None = None
    problem: str = ""

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self.data is not None

    def as_dict(self) -> dict[str, Any]:
        """Return the form in which modules return it; ``expires`` is the first expiry among the wanted keys."""
        keys = self.selection.keys if self.selection else ()
        foreign = self.selection.foreign if self.selection else ()
        return {
            "exists": self.exists,
            "mode": f"{self.mode:04o}" if self.exists else "",
            "expires": iso(openpgp.earliest(key.expires for key in keys)),
            "keys": [key.as_dict() for key in keys],
            "foreign": [key.fingerprint for key in foreign],
            "problem": self.problem,
        }

    def text(self) -> str:
        """Return the lines that a diff compares; nothing where there is no file."""
        if not self.exists:
            return ""
        lines = [f"mode {self.mode:04o}"]
        if self.problem:
            lines.append(f"unreadable: {self.problem}")
        if self.selection:
            # The same keys may lie there in a form that apt cannot read.
            lines.append("form " + ("binary" if self.data == self.selection.data else "other than one binary keyring"))
            for key in self.selection.keys:
                lines.append(f"key {key.fingerprint} expires {iso(key.expires) or 'never'}{_revoked(key.revoked)}")
                lines += [f"  uid {uid}" for uid in key.user_ids]
                lines += [
                    f"  subkey {sub.fingerprint} expires {iso(sub.expires) or 'never'}{_revoked(sub.revoked)}"
                    for sub in key.subkeys
                ]
            lines += [f"foreign key {key.fingerprint}" for key in self.selection.foreign]
        return "\n".join(lines) + "\n"


def _revoked(revoked: bool) -> str:
    return " revoked" if revoked else ""


def read(path: Path, wanted: Sequence[str]) -> Keyring:
    """Read a keyring file, in whichever form it is.

    Args:
        path: The file.
        wanted: Fingerprints of the primary keys that it should hold.

    Raises:
        OSError: It is no regular file or cannot be read.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no regular file")
        with path.open("rb") as stream:
            data = stream.read(openpgp.MAX_BYTES + 1)
    except FileNotFoundError:
        return Keyring()
    mode = stat.S_IMODE(status.st_mode)
    try:
        return Keyring(data, mode, openpgp.normalise(data, wanted))
    except openpgp.OpenPgpError as error:
        return Keyring(data, mode, problem=str(error))


def write(path: Path, data: bytes) -> None:
    """Put a keyring in its place in one step: apt reads either the old or the new one.

    Directories that are missing are made with mode 0755, whatever the umask, so that apt's user gets in.

    Raises:
        OSError: It cannot be written.
    """
    missing = [parent for parent in path.parents if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir()
        parent.chmod(0o755)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(descriptor, MODE)
            os.fsync(descriptor)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise
