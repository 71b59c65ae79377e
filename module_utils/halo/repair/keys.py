"""A store of keys without one of them."""

from __future__ import annotations

from .. import openpgp
from ..openpgp import OpenPgpError
from .model import RefusedError


def without(data: bytes, fingerprint: str) -> bytes | None:
    """Return a store without one key, the others in the form in which they were; None where nothing is left.

    Raises:
        RefusedError: The store cannot be read, or does not have the key.
    """
    try:
        keys = openpgp.read(data)
    except OpenPgpError as error:
        raise RefusedError(str(error)) from error
    others = [key for key in keys if key.fingerprint != fingerprint]
    if len(others) == len(keys):
        raise RefusedError(f"it has no key {fingerprint}")
    binary = b"".join(key.encode() for key in others)
    if not others:
        return None
    return openpgp.armoured(binary) if b"-----BEGIN PGP" in data else binary
