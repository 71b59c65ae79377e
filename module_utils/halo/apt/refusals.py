"""Why apt refuses an archive: its words, and those of gpgv and sqv, sorted into kinds that have one remedy each.

Nothing here needs apt, so whoever verifies an archive otherwise can ask as well.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from ..findings import Finding
from ..openpgp import iso

_CLOCK = "compare the host's date with the true one; where it is wrong: `timedatectl set-ntp true`"
_NETWORK = "`curl -v` with the archive's URL on the host shows what happens; does it need Acquire::http::Proxy?"
_KEY = (
    "fetch the vendor's key again into the keyring that the source names in Signed-By; for the stack's archive "
    "`--tags rocm_keyring` does so, and the source of a channel of ROCm that was left goes with "
    "`-e rocm_runtime_migrate=true`"
)
_KEYRING = f"{_KEY}. It must be a binary keyring that everybody may read (mode 0644)"
_OTHER_MIRROR = "take the vendor's own archive or another mirror, and see whether a proxy keeps old files"


@dataclass(frozen=True)
class Refusal:
    """One kind of reason why an archive is not used.

    Attributes:
        kind: Its name.
        code: The code of the finding about it.
        pattern: What apt, gpgv or sqv says then, as an expression; the case counts nothing.
        remedy: What to do.
        dated: Whether the host's date has to do with it.
    """

    kind: str
    code: str
    pattern: str
    remedy: str
    dated: bool = False


#: In the order in which they count where a message fits several. apt calls nearly everything that it refuses unsigned
#: as well, and gpgv says ERRSIG also of a missing key. tests/unit/test_apt_refusals.py has the messages as they were
#: seen, of apt 2.6.2 with gpgv 2.2.40 and apt 3.0.4 with sqv 1.3.0, and says which ones nobody has seen.
REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "signature bad",
        "APT.SIGNATURE_BAD",
        r"BADSIG|Message has been manipulated|into data and signature failed",
        f"what is served is not what was signed. Run again later; if it stays, {_OTHER_MIRROR}",
    ),
    Refusal(
        "key revoked",
        "APT.KEY_UNUSABLE",
        r"REVKEYSIG|is revoked",
        "look up the vendor's new key, and put it into the keyring that the source names in Signed-By; for the stack's "
        "archive put its fingerprint and URL into the stack",
    ),
    Refusal(
        "key expired",
        "APT.KEY_EXPIRED",
        r"EXPKEYSIG|Signing key .{1,200}? not live\s+because:\s+Expired on",
        f"{_KEY}. Before that, {_CLOCK}",
        dated=True,
    ),
    Refusal(
        "key unusable",
        "APT.KEY_UNUSABLE",
        r"Malformed certificate in keyring|Failed to parse keyring .{1,300}?: (?:EOF|Permission denied)",
        _KEYRING,
    ),
    Refusal(
        "key missing",
        "APT.KEY_MISSING",
        r"NO_PUBKEY|Missing key|Failed to parse keyring .{1,300}?: No such file",
        f"{_KEY}. If the keyring is there, it may hold something else than a binary key (`file KEYRING`), or another "
        "key now signs the archive: then compare its fingerprint with what the vendor publishes elsewhere",
    ),
    Refusal(
        "clock",
        "APT.CLOCK",
        r"is not valid yet|is expired \(invalid since|EXPSIG|Not live until|Verifying signature:\s+Expired on",
        f"{_CLOCK}. If it is right, the archive is no longer updated: {_OTHER_MIRROR}",
        dated=True,
    ),
    Refusal(
        "signature weak",
        "APT.SIGNATURE_BAD",
        r"Policy rejected|Weak digest|signatures were invalid: [0-9A-F]{40}",
        "the archive is signed with an algorithm that apt no longer accepts: ask its owner for another signature, or "
        "take the packages from another archive",
    ),
    Refusal(
        "key unusable",
        "APT.KEY_UNUSABLE",
        r"ERRSIG|Signing key .{1,200}? is (?:bad|not bound)|Failed to parse keyring",
        _KEYRING,
    ),
    Refusal(
        "login page",
        "APT.LOGIN_PAGE",
        r"NOSPLIT|NODATA|does the network require authentication|\b511\s+Network",
        "`curl -sL URL/dists/SUITE/InRelease | head` on the host shows what answers; log in to the network, or set the "
        "right proxy in Acquire::http::Proxy (`apt-config dump | grep -i proxy`)",
    ),
    Refusal(
        "index differs",
        "APT.INDEX_DIFFERS",
        r"Hash Sum mismatch|unexpected size|Mirror sync in progress",
        f"run again once the mirror has finished its update; if it stays, {_OTHER_MIRROR}",
    ),
    Refusal(
        "proxy",
        "APT.REFRESH_FAILED",
        r"\b407\s+Proxy",
        "put user and password into the proxy's URL, in a file in /etc/apt/apt.conf.d: "
        '`Acquire::http::Proxy "http://USER:PASSWORD@proxy.example.org:3128";`',
    ),
    Refusal(
        "denied",
        "APT.REFRESH_FAILED",
        r"\b40[13]\s+(?:Unauthorized|Forbidden)",
        "put user and password into a file in /etc/apt/auth.conf.d (`man apt_auth.conf`), or correct the archive's URL",
    ),
    Refusal(
        "not found",
        "APT.NOT_FOUND",
        r"\b4(?:04|10)\s+(?:File )?(?:Not found|Gone)|File not found|does (?:not|no longer) have a Release file",
        "correct URL and suite in the source, or remove it; below the URL, /dists/ shows which suites there are",
    ),
    Refusal(
        "certificate",
        "APT.REFRESH_FAILED",
        r"certificate|handshake|\b(?:SSL|TLS)\b",
        f"{_CLOCK}; install ca-certificates, or the proxy's own authority with `update-ca-certificates`",
        dated=True,
    ),
    Refusal(
        "name",
        "APT.REFRESH_FAILED",
        r"Could not resolve|failure resolving|happened resolving|No address associated",
        "`getent hosts NAME` on the host: correct the archive's URL, the host's DNS, or set Acquire::http::Proxy",
    ),
    Refusal("timeout", "APT.REFRESH_FAILED", r"timed out|Timeout was reached", f"run again; {_NETWORK}"),
    Refusal("refused", "APT.REFRESH_FAILED", r"Connection refused|Could not connect|Unable to connect", _NETWORK),
    Refusal(
        "cut",
        "APT.REFRESH_FAILED",
        r"Remote end closed|Connection reset|Error reading from server|Connection failed",
        f"run again; if it stays, something on the way ends the connection: {_NETWORK}",
    ),
    Refusal(
        "unsigned",
        "APT.UNSIGNED",
        r"is (?:not|no longer) signed",
        "ask the archive's owner for a signature, take an archive that has one, or remove the source; nobody can tell "
        "what an unsigned archive was made of",
    ),
)

_OTHER = Refusal(
    "other",
    "APT.REFRESH_FAILED",
    "",
    "see that the host reaches this archive, or take its source away; `apt-get update` shows the same",
)

_SPAN = re.compile(r"invalid (since|for another) ((?:\d+(?:d|h|min|s)\s*)+)")
_SECONDS = {"d": 86400, "h": 3600, "min": 60, "s": 1}


def classify(message: str) -> Refusal:
    """Return the kind of reason for which an archive is refused.

    Args:
        message: What apt says about one archive, or gpgv (its status lines) or sqv about its signature; in English.
    """
    for refusal in REFUSALS:
        if re.search(refusal.pattern, message, re.IGNORECASE | re.DOTALL):
            return refusal
    return _OTHER


def finding(archive: str, message: str, now: float | None = None) -> Finding:
    """Return the error finding about an archive that is refused.

    Args:
        archive: The archive, without a password in its URL.
        message: As :func:`classify` takes it; it becomes the evidence.
        now: The host's date in seconds since 1970; by default that of this moment.
    """
    refusal = classify(message)
    now = time.time() if now is None else now
    evidence = re.sub(r" {2,}", " ", message.strip())
    if refusal.dated:
        dates = (_archives_date(message, now), f"the host's date: {iso(int(now))}")
        evidence = "; ".join(filter(None, (evidence, *dates)))
    return Finding(refusal.code, "error", archive, evidence, refusal.remedy)


def _archives_date(message: str, now: float) -> str:
    """Return the date until or from which an archive is valid; apt tells how far that is from the host's date."""
    span = _SPAN.search(message)
    if not span:
        return ""
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)(d|h|min|s)", span[2]))
    if span[1] == "since":
        return f"the archive was valid until {iso(int(now - seconds))}"
    return f"the archive is of {iso(int(now + seconds))}"
