"""A reader for OpenPGP public keys as archives serve them: fingerprint, user IDs, expiry, revocation.

Minimal hosts have gpgv or sqv, which neither dearmour nor list keys, so keys are read here. Formats: RFC 9580
(https://www.rfc-editor.org/rfc/rfc9580), which covers RFC 4880, and version 5 of LibrePGP.

No signature is verified here. A fingerprint is a hash over the key material, so a key whose primary fingerprint is the
wanted one is the wanted key. All that hangs on it, user IDs, subkeys, expiry, revocation, is what the file says:
whoever can change the file can make a key look expired or valid, but apt's gpgv or sqv verifies all of it before it
trusts a signature. A forged file can therefore break an update and cannot make apt accept a foreign archive.
"""

from __future__ import annotations

from .armour import encode as armoured
from .errors import (
    DamagedError,
    EmptyError,
    HtmlError,
    NotAKeyError,
    OpenPgpError,
    SecretKeyError,
    TooLargeError,
    TruncatedError,
)
from .forms import MAX_BYTES
from .keys import Key, Selection, Subkey, earliest, iso, normalise, read, select
from .signatures import issuers

__all__ = [
    "MAX_BYTES",
    "DamagedError",
    "EmptyError",
    "HtmlError",
    "Key",
    "NotAKeyError",
    "OpenPgpError",
    "SecretKeyError",
    "Selection",
    "Subkey",
    "TooLargeError",
    "TruncatedError",
    "armoured",
    "earliest",
    "iso",
    "issuers",
    "normalise",
    "read",
    "select",
]
