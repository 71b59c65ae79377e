"""The broken variants that are a matter of files: keys and indexes to be served in place of the sound ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from email.utils import formatdate
from pathlib import Path

from .keys import Gpg, Key, armoured, served
from .publish import Archive, sign_release, write_packages

HUGE = 5 * 1024 * 1024

#: Variant of a key to what it serves, of the key, its directory, and a stranger's key.
KEY_VARIANTS: Mapping[str, Callable[[Key, Path, Key], bytes]] = {
    "key-expired": lambda key, keys, _: armoured(key.public(keys, "expired")),
    "key-expiring": lambda key, keys, _: armoured(key.public(keys, "expiring")),
    "key-wrong": lambda _, keys, stranger: armoured(stranger.public(keys)),
    "key-empty": lambda key, keys, _: b"",
    "key-truncated": lambda key, keys, _: key.public(keys)[: len(key.public(keys)) // 2],
    "key-huge": lambda key, keys, _: b"# padding\n" * (HUGE // 10) + armoured(key.public(keys)),
    "key-secret": lambda key, keys, _: key.secret(keys),
    "key-armoured": lambda key, keys, _: armoured(key.public(keys)),
    "key-binary": lambda key, keys, _: key.public(keys),
    "key-concatenated": lambda key, keys, _: served(key.public(keys), "concatenated"),
    "key-crlf": lambda key, keys, _: armoured(key.public(keys)).replace(b"\n", b"\r\n"),
    "key-several": lambda key, keys, stranger: armoured(stranger.public(keys)) + armoured(key.public(keys)),
}

DAY = 86400


def write_key_variants(broken: Path, keys: Mapping[str, Key], directory: Path) -> None:
    """Write what each variant of a key serves at each path where a vendor serves one."""
    for variant, content in KEY_VARIANTS.items():
        for key in keys.values():
            for path in key.serve:
                target = broken / variant / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content(key, directory, keys["stranger"]))


def write_index_variants(
    root: Path, broken: Path, archive: Archive, keys: Mapping[str, Key], gpg: Gpg, now: float
) -> None:
    """Write the broken indexes of one archive.

    Args:
        root: The archive's root directory, published.
        broken: The directory of the variants.
        archive: The archive.
        keys: All keys, the stranger's among them.
        gpg: Can sign with the archive's and the stranger's.
        now: Seconds since the epoch.
    """
    key = keys[archive.key]
    for suite in archive.suites:
        dists = Path(archive.path, "dists", suite)
        sound = root / "dists" / suite
        if not (sound / "InRelease").exists():
            continue
        text = (sound / "Release").read_bytes()
        components = [path.parent.name for path in sorted(sound.glob("*/binary-amd64"))]

        # Signed properly, by nobody whom the host trusts: NO_PUBKEY.
        sign_release(broken / "index-wrong-key" / dists, text, keys["stranger"], gpg)

        # Changed after it was signed: BADSIG.
        tampered = broken / "index-tampered-inrelease" / dists
        tampered.mkdir(parents=True, exist_ok=True)
        signed = (sound / "InRelease").read_bytes()
        (tampered / "InRelease").write_bytes(signed.replace(b"\nArchitectures: amd64\n", b"\nArchitectures: arm64\n"))

        # Changed although Release says what it must be, the size unchanged: hash mismatch.
        for component in components:
            packages = sound / component / "binary-amd64" / "Packages"
            changed = re.sub(r"^(Version: .*)\d$", r"\1z", packages.read_text(encoding="utf-8"), flags=re.MULTILINE)
            directory = broken / "index-tampered-packages" / dists / component / "binary-amd64"
            write_packages(directory / "Packages", changed)

        # True and signed, at another time.
        past = f"Date: {_date(now - 20 * DAY)}\nValid-Until: {_date(now - 10 * DAY)}"
        future = f"Date: {_date(now + 10 * DAY)}"
        for variant, dates in (("index-stale", past), ("index-future", future)):
            dated = re.sub(rb"^Date: .*$", dates.encode(), text, count=1, flags=re.MULTILINE)
            sign_release(broken / variant / dists, dated, key, gpg)


def _date(seconds: float) -> str:
    return formatdate(seconds, usegmt=True).replace("GMT", "UTC")
