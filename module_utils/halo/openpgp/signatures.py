"""Who made a signature, as the signature itself says; nothing of it is verified."""

from __future__ import annotations

from . import armour, packets
from .errors import OpenPgpError


def issuers(data: bytes) -> frozenset[str]:
    """Return the key IDs and fingerprints that a detached or clear-text signature names.

    Args:
        data: Binary or armoured; empty, damaged or something else gives nothing.
    """
    found: set[str] = set()
    try:
        for block in [data] if data[:1] and data[0] & 0x80 else armour.signatures(data):
            for packet in packets.split(block)[0]:
                one = packets.signature(packet.body) if packet.tag == packets.SIGNATURE else None
                found |= one.issuers if one else frozenset()
    except OpenPgpError:
        return frozenset()
    return frozenset(found)
