"""OpenPGP packets: where each begins and ends, and what a signature says (RFC 9580, sections 4 and 5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .errors import DamagedError, TruncatedError

SIGNATURE = 2
SECRET_KEY = 5
PUBLIC_KEY = 6
SECRET_SUBKEY = 7
MARKER = 10
TRUST = 12
USER_ID = 13
PUBLIC_SUBKEY = 14
USER_ATTRIBUTE = 17
PADDING = 21

#: Signature types.
CERTIFICATIONS = (0x10, 0x11, 0x12, 0x13)
SUBKEY_BINDING = 0x18
DIRECT_KEY = 0x1F
KEY_REVOCATION = 0x20
SUBKEY_REVOCATION = 0x28
CERTIFICATION_REVOCATION = 0x30

_CREATED, _KEY_LIFETIME, _ISSUER, _KEY_FLAGS, _ISSUER_FINGERPRINT = 2, 9, 16, 27, 33
_FLAG_SIGN = 0x02


@dataclass(frozen=True)
class Packet:
    """One packet without its header."""

    tag: int
    body: bytes

    def encode(self) -> bytes:
        """Return the packet with the shortest header, in the old format where the tag allows, as gpg writes it."""
        size = len(self.body)
        if self.tag >= 16:
            return bytes([0xC0 | self.tag, 0xFF]) + size.to_bytes(4, "big") + self.body
        kind, octets = (0, 1) if size < 1 << 8 else (1, 2) if size < 1 << 16 else (2, 4)
        return bytes([0x80 | self.tag << 2 | kind]) + size.to_bytes(octets, "big") + self.body


def tag_of(octet: int) -> int:
    """Return the tag in the first octet of a packet, in the new or the old format."""
    return octet & 0x3F if octet & 0x40 else octet >> 2 & 0x0F


def split(data: bytes) -> tuple[list[Packet], bytes]:
    """Return the packets at the start of the data, and the rest: from the first octet on that begins no packet.

    Raises:
        TruncatedError: The data ends within a packet.
        DamagedError: A length that keys do not have: partial or indeterminate.
    """
    packets = []
    at = 0
    while at < len(data) and data[at] & 0x80:
        tag = tag_of(data[at])
        start, size = _length(data, at, tag)
        if start + size > len(data):
            raise TruncatedError(f"the packet at byte {at} has {size} bytes, of which {len(data) - start} are there")
        packets.append(Packet(tag, data[start : start + size]))
        at = start + size
    return packets, data[at:]


def _length(data: bytes, at: int, tag: int) -> tuple[int, int]:
    """Return where the body of the packet at ``at`` begins, and its size in bytes."""
    if not data[at] & 0x40:
        kind = data[at] & 3
        if kind == 3:
            raise DamagedError(f"the packet at byte {at} (tag {tag}) has an indeterminate length")
        return at + 1 + (1 << kind), _number(data, at + 1, 1 << kind)
    first = _number(data, at + 1, 1)
    if first < 192:
        return at + 2, first
    if first < 224:
        return at + 3, (first - 192 << 8) + _number(data, at + 2, 1) + 192
    if first == 255:
        return at + 6, _number(data, at + 2, 4)
    raise DamagedError(f"the packet at byte {at} (tag {tag}) has a partial length, which only messages may have")


def _number(data: bytes, at: int, octets: int) -> int:
    if at + octets > len(data):
        raise TruncatedError(f"the data ends at byte {len(data)}, within a length")
    return int.from_bytes(data[at : at + octets], "big")


@dataclass(frozen=True)
class Signature:
    """What a signature packet claims; nothing of it is verified.

    Attributes:
        kind: The signature type, such as :data:`DIRECT_KEY`.
        created: Seconds since 1970.
        issuers: Key IDs and fingerprints of the signer, hexadecimal in capitals.
        key_lifetime: Seconds from the key's creation to its expiry, 0 for a key that does not expire.
        can_sign: Whether the key flags allow signing data.
    """

    kind: int
    created: int
    issuers: frozenset[str]
    key_lifetime: int = 0
    can_sign: bool = False


def signature(body: bytes) -> Signature | None:
    """Read the body of a signature packet.

    Returns:
        None for a version that is not known; its meaning cannot be known either.

    Raises:
        DamagedError: Its fields do not fit into it.
    """
    version = body[0] if body else 0
    if version == 3 and len(body) >= 15:
        return Signature(body[2], int.from_bytes(body[3:7], "big"), frozenset([body[7:15].hex().upper()]))
    if version not in (4, 5, 6):
        return None
    octets = 4 if version == 6 else 2
    hashed, at = _area(body, 4, octets)
    unhashed, _ = _area(body, at, octets)
    created = lifetime = 0
    can_sign = False
    issuers = set()
    # What the signature does not cover can be changed by anybody, so that only hints are taken from there: gpg puts the
    # issuer's key ID into the unhashed area, and a wrong one makes a signature merely fail.
    for number, value in hashed:
        if number == _CREATED:
            created = int.from_bytes(value[:4], "big")
        elif number == _KEY_LIFETIME:
            lifetime = int.from_bytes(value[:4], "big")
        elif number == _KEY_FLAGS:
            can_sign = bool(value[:1] and value[0] & _FLAG_SIGN)
    for number, value in hashed + unhashed:
        if number == _ISSUER:
            issuers.add(value.hex().upper())
        elif number == _ISSUER_FINGERPRINT:
            issuers.add(value[1:].hex().upper())
    return Signature(body[1], created, frozenset(issuers), lifetime, can_sign)


def _area(body: bytes, at: int, octets: int) -> tuple[list[tuple[int, bytes]], int]:
    """Return the subpackets of the area at ``at``, and where it ends."""
    start = at + octets
    end = start + int.from_bytes(body[at:start], "big")
    if end > len(body):
        raise DamagedError("a signature's subpackets do not fit into it")
    return list(_subpackets(body[start:end])), end


def _subpackets(area: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(area):
        size = area[at]
        at += 1
        if size == 255:
            size, at = int.from_bytes(area[at : at + 4], "big"), at + 4
        elif size >= 192:
            size, at = (size - 192 << 8) + int.from_bytes(area[at : at + 1], "big") + 192, at + 1
        if not 0 < size <= len(area) - at:
            raise DamagedError("a subpacket does not fit into its signature")
        # The highest bit of the type says that it is critical.
        yield area[at] & 0x7F, area[at + 1 : at + size]
        at += size
