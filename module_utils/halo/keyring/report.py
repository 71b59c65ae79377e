"""What there is to say about keys and keyrings, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..findings import Finding
from ..openpgp import Key, Selection, iso
from .files import Keyring
from .sources import Served


def invalid(options: Mapping[str, Any], error: ValueError) -> Finding:
    """Return what to say about a request that cannot be understood."""
    remedy = (
        "correct rocm_keyring_fingerprints or rocm_keyring_urls where one is set, else the key in the stack; "
        "`ansible-doc -t module apt_keyring` says what may be given"
    )
    return Finding("KEY.INVALID", "error", str(options.get("path")), str(error), remedy)


def unusable(path: Path, error: OSError) -> Finding:
    """Return what to say about a file that cannot be read or written."""
    remedy = f"run with `become: true`; look at the file and its directories: `namei -l {path}`"
    return Finding("KEY.PATH_UNUSABLE", "error", str(path), error.strerror or str(error), remedy)


def normalised(path: Path, present: Selection) -> Finding:
    """Return what to say where the wanted keys are on the host, in another form or with foreign keys."""
    foreign = ", ".join(name(key) for key in present.foreign)
    evidence = f"it also held {foreign}" if foreign else "it was not one binary keyring"
    return Finding("KEY.NORMALISED", "info", str(path), f"{evidence}; the wanted keys in it are kept")


def others(served: Iterable[Served], wanted: Sequence[str], missing: Sequence[str]) -> list[Finding]:
    """Return what to say about keys that nobody asked for.

    Args:
        served: What the sources gave.
        wanted: The fingerprints that were asked for.
        missing: Those of them that no source gave.
    """
    findings = []
    for one in served:
        names = {key.fingerprint for key in one.keys}
        extra = [key for key in one.keys if key.fingerprint not in wanted]
        if one.keys and not names.intersection(missing or wanted):
            evidence = f"served {', '.join(name(key) for key in one.keys)}; wanted {', '.join(missing or wanted)}"
            remedy = (
                "compare both fingerprints with what the vendor publishes elsewhere; then correct the URL, or the "
                "fingerprint in the stack. Do not take a served fingerprint over untested"
            )
            findings.append(Finding("KEY.WRONG_FINGERPRINT", "warning", one.source, evidence, remedy))
        elif extra:
            evidence = f"served as well and left out: {', '.join(name(key) for key in extra)}"
            findings.append(Finding("KEY.FOREIGN", "info", one.source, evidence))
    return findings


def flaws(path: Path, served: Iterable[tuple[Key, str]], present: Selection | None, now: int) -> list[Finding]:
    """Return what to say about keys that were served and are of no use.

    Args:
        path: The keyring.
        served: Keys with ``unsigned``, ``revoked``, ``expired``, or nothing.
        present: What the host has.
        now: Seconds since 1970.
    """
    findings = []
    for key, flaw in served:
        if flaw == "unsigned":
            evidence = f"{name(key)} was served without any signature of its own: the file was cut off or stripped"
            remedy = "fetch the key from another URL; `gpg --show-keys FILE` must show a user ID"
            findings.append(Finding("KEY.SOURCE_UNREADABLE", "warning", str(path), evidence, remedy))
        elif flaw == "revoked":
            remedy = "look up the vendor's new key, and put its fingerprint and URL into the stack"
            findings.append(Finding("KEY.REVOKED", "error", str(path), f"{name(key)} revokes itself", remedy))
        elif flaw == "expired":
            old = [one for one in present.keys if one.fingerprint == key.fingerprint] if present else []
            here = f"the host's {_expiry(old[0], now)}" if old else "the host has none"
            evidence = f"the {name(key)} that is served {_expiry(key, now)}; {here}; the host's clock: {iso(now)}"
            remedy = "compare the clock (`date -u`); if it is right, the vendor has to serve a key with a later expiry"
            findings.append(Finding("KEY.EXPIRED", "warning", str(path), evidence, remedy))
    return findings


def installed(
    path: Path, before: Keyring, fetched: Selection, served: Iterable[Served], now: int, write: bool
) -> Finding:
    """Return what to say where the file is replaced by what was fetched, or would be without ``write``."""
    names = {key.fingerprint for key in fetched.keys}
    source = ", ".join(one.source for one in served if any(key.fingerprint in names for key in one.keys))
    new = f"{'now' if write else 'would be'}: {_expiries(fetched, now)}"
    present = before.selection
    if present and not present.missing:
        evidence = f"{new}; before: {_expiries(present, now)}; from {source}"
        return Finding("KEY.REFRESHED", "info", str(path), evidence)
    why = before.problem or ("a wanted key was not in it" if before.exists else "there was no keyring")
    return Finding("KEY.INSTALLED", "info", str(path), f"{why}; {new}; from {source}")


def expiring(path: Path, chosen: Selection, until: int | None, now: int) -> Finding:
    """Return what to say where the best keys that could be had do not last."""
    if until is not None and until <= now:
        evidence = f"the signing subkeys expired {iso(until)}"
    else:
        evidence = f"of use until {iso(until)}"
    evidence = f"{', '.join(key.fingerprint for key in chosen.keys)}: {evidence}, and no source has a later one"
    remedy = "nothing yet, if the vendor is about to extend it; otherwise correct the URLs and run again before then"
    return Finding("KEY.EXPIRING", "warning", str(path), evidence, remedy)


def clock(keys: Iterable[Key], now: int) -> list[Finding]:
    """Return what to say about keys that were made in the host's future."""
    remedy = "set the clock: `timedatectl set-ntp true`; until then apt refuses signatures as made in the future"
    return [
        Finding(
            "KEY.CLOCK",
            "warning",
            key.fingerprint,
            f"the key was made {iso(key.created)}, and the host's clock says {iso(now)}",
            remedy,
        )
        for key in keys
        if key.created > now
    ]


def name(key: Key) -> str:
    """Return how a key is called in a message."""
    return f"{key.fingerprint} ({key.user_ids[0]})" if key.user_ids else key.fingerprint


def _expiries(selection: Selection, now: int) -> str:
    return ", ".join(f"{key.fingerprint} {_expiry(key, now)}" for key in selection.keys)


def _expiry(key: Key, now: int) -> str:
    if key.expires is None:
        return "expires never"
    return f"{'expired' if key.expires <= now else 'expires'} {iso(key.expires)}"
