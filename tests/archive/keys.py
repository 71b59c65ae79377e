"""Makes the archives' OpenPGP keys on the spot, with a past: the same key expired, about to expire, and extended."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .errors import run

#: Keys older than this are made anew: the state "about to expire" must stay true.
LIFETIME = timedelta(days=1)

#: States of one key, each the file ``keys/<name>/<state>.gpg``: when it was extended last and for how long, in days.
STATES = {"expired": (-40, 30), "expiring": (-5, 10), "current": (0, 730)}

_ALGORITHM = "rsa3072"


@dataclass(frozen=True)
class Key:
    """A key of an archive.

    Attributes:
        name: Its name in ``archives.yml``.
        fingerprint: Of the primary key.
        signer: Fingerprint of the key that signs: the primary key or its subkey.
        expires: When the current state of it expires, seconds since the epoch.
        serve: Where the vendor serves it, and how: paths below the document root to a form of :func:`served`.
    """

    name: str
    fingerprint: str
    signer: str
    expires: int
    serve: Mapping[str, str]

    def public(self, keys: Path, state: str = "current") -> bytes:
        """Return the binary public key in one of its :data:`STATES`."""
        return (keys / self.name / f"{state}.gpg").read_bytes()

    def secret(self, keys: Path) -> bytes:
        """Return the armoured secret key."""
        return (keys / self.name / "secret.asc").read_bytes()


class Gpg:
    """gpg in a home directory of its own."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def __call__(self, *arguments: str | Path, at: datetime | None = None, stdin: bytes = b"") -> bytes:
        """Run gpg, at a pretended time, and return what it prints.

        Raises:
            ArchiveError: gpg fails.
        """
        clock = [f"--faked-system-time={at:%Y%m%dT%H%M%S}"] if at else []
        common = ["--batch", "--quiet", "--pinentry-mode=loopback", "--passphrase=", "--trust-model=always"]
        environment = os.environ | {"LC_ALL": "C"}
        command = ["gpg", "--homedir", self._home, *common, *clock, *arguments]
        return run(command, input=stdin, env=environment).stdout

    def sign(self, text: bytes, signer: str, *form: str) -> bytes:
        """Return text signed, in the form ``--clearsign`` or ``--armor --detach-sign``."""
        return self("--digest-algo=SHA512", f"--local-user={signer}!", *form, stdin=text)


@contextmanager
def gpg_home() -> Iterator[Gpg]:
    """Yield a gpg whose home lives as long as the block; short of path, since the agent's socket lies in it."""
    with TemporaryDirectory(prefix="halo-gpg-") as home:
        try:
            yield Gpg(Path(home))
        finally:
            # ENOENT where gpg never started an agent; the agent otherwise stays behind.
            subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], capture_output=True, check=False)


@contextmanager
def signing(keys: Path, names: list[str]) -> Iterator[Gpg]:
    """Yield a gpg that can sign with the named keys."""
    with gpg_home() as gpg:
        for name in names:
            gpg("--import", keys / name / "secret.asc")
        yield gpg


def make(specs: Mapping[str, Mapping[str, Any]], keys: Path) -> dict[str, Key]:
    """Return the keys by name, made anew where there are none that are young and as described.

    Args:
        specs: The keys as ``archives.yml`` describes them.
        keys: The directory that holds them.

    Raises:
        ArchiveError: gpg fails.
    """
    record = keys / "keys.json"
    if record.exists():
        known = json.loads(record.read_text(encoding="utf-8"))
        age = datetime.now(UTC) - datetime.fromtimestamp(known["made"], UTC)
        if known["specs"] == specs and age < LIFETIME:
            return {name: Key(**values) for name, values in known["keys"].items()}
    now = datetime.now(UTC)
    made = {}
    for name, spec in specs.items():
        (keys / name).mkdir(parents=True, exist_ok=True)
        with gpg_home() as gpg:
            made[name] = _make_one(gpg, name, spec, keys / name, now)
    values = {name: asdict(key) for name, key in made.items()}
    record.write_text(json.dumps({"made": now.timestamp(), "specs": specs, "keys": values}, indent=1), encoding="utf-8")
    return made


def _make_one(gpg: Gpg, name: str, spec: Mapping[str, Any], directory: Path, now: datetime) -> Key:
    born = datetime.fromisoformat(f"{spec['created']}T00:00:00+00:00")
    subkey = spec["signs"] == "subkey"
    gpg("--quick-generate-key", spec["user"], _ALGORITHM, "cert" if subkey else "cert,sign", "1y", at=born)
    primary = _fingerprints(gpg)[0]
    if subkey:
        gpg("--quick-add-key", primary, _ALGORITHM, "sign", "1y", at=born)
    for state, (days, valid) in STATES.items():
        # "now" is pushed back a little: a signature of the future is no signature.
        extended = now + timedelta(days=days, minutes=-5)
        gpg("--quick-set-expire", primary, f"{valid}d", at=extended)
        # By name: "*" would leave out what has expired already.
        for other in _fingerprints(gpg)[1:]:
            gpg("--quick-set-expire", primary, f"{valid}d", other, at=extended)
        (directory / f"{state}.gpg").write_bytes(gpg("--export", primary))
    (directory / "secret.asc").write_bytes(gpg("--armor", "--export-secret-keys", primary))
    expires = int(now.timestamp()) + STATES["current"][1] * 86400 - 300
    return Key(name, primary, _fingerprints(gpg)[-1], expires, spec.get("serve", {}))


def _fingerprints(gpg: Gpg) -> list[str]:
    """Return the fingerprints of the primary key and its subkeys."""
    listing = gpg("--with-colons", "--with-subkey-fingerprint", "--list-keys").decode()
    return [line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:")]


def armoured(public: bytes) -> bytes:
    """Return a binary public key with ASCII armour, as ``gpg --armor --export`` writes it."""
    with gpg_home() as gpg:
        return (
            gpg("--enarmor", stdin=public)
            .replace(b"PGP ARMORED FILE", b"PGP PUBLIC KEY BLOCK")
            .replace(b'Comment: Use "gpg --dearmor" for unpacking\n', b"")
        )


def served(public: bytes, form: str) -> bytes:
    """Return a public key as a vendor serves it.

    Args:
        public: The binary key.
        form: ``armoured``; ``binary``; or ``concatenated``: binary, followed by an armoured copy, which gpgv refuses.
    """
    if form == "binary":
        return public
    return armoured(public) if form == "armoured" else public + armoured(public)
