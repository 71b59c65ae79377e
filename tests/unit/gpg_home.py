"""A throw-away GnuPG home that makes the keys which tests read."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

DAY = 86400


class GpgHome:
    """A GnuPG home directory; ``close`` ends its agent and removes it."""

    def __init__(self) -> None:
        # Not pytest's tmp_path: the agent's socket must fit into 108 bytes.
        self.path = Path(tempfile.mkdtemp(prefix="halo-gpg-"))
        self.path.chmod(0o700)
        self.env = {**os.environ, "GNUPGHOME": str(self.path), "LC_ALL": "C.UTF-8"}

    def close(self) -> None:
        subprocess.run(["gpgconf", "--kill", "all"], env=self.env, check=False, capture_output=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def gpg(self, *args: str, at: int | None = None, data: bytes | None = None) -> bytes:
        """Run gpg, as if it were the moment ``at`` (seconds since 1970)."""
        faked = [] if at is None else ["--faked-system-time", time.strftime("%Y%m%dT%H%M%S!", time.gmtime(at))]
        command = ["gpg", "--batch", "--yes", "--no-tty", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
        done = subprocess.run([*command, *faked, *args], env=self.env, input=data, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"gpg {args}: {done.stderr.decode()}")
        return done.stdout

    def make(
        self, uid: str, algo: str = "ed25519", expires: str = "never", at: int | None = None, usage: str = "sign"
    ) -> str:
        """Make a key and return its fingerprint."""
        self.gpg("--quick-generate-key", uid, algo, usage, expires, at=at)
        listing = self.gpg("--list-keys", "--with-colons", f"={uid}").decode()
        return next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))

    def export(self, *fingerprints: str, armour: bool = False) -> bytes:
        return self.gpg("--export", *(["--armor"] if armour else []), *fingerprints)

    def show(self, data: bytes) -> list[list[str]]:
        """Return the fields of what ``gpg --show-keys`` says about a file."""
        listing = self.gpg("--show-keys", "--with-colons", "--fixed-list-mode", data=data).decode()
        return [line.split(":") for line in listing.splitlines()]
