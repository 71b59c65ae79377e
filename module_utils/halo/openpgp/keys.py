"""Public keys: put together from packets, merged, chosen by fingerprint, written as one binary keyring."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from . import packets
from .errors import DamagedError, NotAKeyError
from .forms import packets_of, shown
from .packets import Packet, Signature

#: The packets of one key, each with the signatures that stand behind it: dicts, so that copies fall together.
Group = dict[Packet, dict[Packet, None]]

_VERSIONS = (4, 5, 6)
#: What belongs to a public key, in the order in which it is written.
_ORDER = {packets.PUBLIC_KEY: 0, packets.USER_ID: 1, packets.USER_ATTRIBUTE: 1, packets.PUBLIC_SUBKEY: 2}


@dataclass(frozen=True)
class Subkey:
    """A subkey that its primary key claims.

    Attributes:
        fingerprint: Hexadecimal, capitals.
        created: Seconds since 1970.
        expires: Seconds since 1970, None for never.
        revoked: Whether the primary key says so.
        can_sign: Whether it may sign data, such as an archive's Release file.
    """

    fingerprint: str
    created: int
    expires: int | None
    revoked: bool
    can_sign: bool


@dataclass(frozen=True)
class Key:
    """A public key with what its own signatures say about it, none of which is verified.

    Attributes:
        fingerprint: Of the primary key, hexadecimal in capitals: 40 digits (version 4) or 64 (versions 5 and 6).
        version: 4, 5 or 6.
        created: Seconds since 1970.
        expires: Seconds since 1970, None for never; computed as gpg does.
        revoked: Whether the key revokes itself.
        self_signed: Whether there is any self-signature on the key or a user ID, without which no one uses a key.
        user_ids: With everything unprintable escaped.
        subkeys: Those with a binding signature.
        components: What the key is written from: its packets, each with the signatures that stand behind it.
    """

    fingerprint: str
    version: int
    created: int
    expires: int | None
    revoked: bool
    self_signed: bool
    user_ids: tuple[str, ...]
    subkeys: tuple[Subkey, ...]
    components: Group = field(repr=False, compare=False)

    @property
    def signs_until(self) -> int | None:
        """Seconds since 1970 until when the key is of use to apt, None for ever.

        Archives are often signed by a subkey, so the last expiry among the signing subkeys counts as well.
        """
        signing = [subkey.expires for subkey in self.subkeys if subkey.can_sign and not subkey.revoked]
        if not signing:
            return self.expires
        last = None if None in signing else max(moment for moment in signing if moment is not None)
        return earliest([self.expires, last])

    def encode(self) -> bytes:
        """Return the key as binary packets."""
        parts = [part for packet, signatures in self.components.items() for part in (packet, *signatures)]
        return b"".join(part.encode() for part in parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the key as modules return it, with moments as ISO 8601 in UTC and ``None`` for never."""
        return {
            "fingerprint": self.fingerprint,
            "created": iso(self.created),
            "expires": iso(self.expires),
            "revoked": self.revoked,
            "user_ids": list(self.user_ids),
            "subkeys": [
                {
                    "fingerprint": subkey.fingerprint,
                    "created": iso(subkey.created),
                    "expires": iso(subkey.expires),
                    "revoked": subkey.revoked,
                    "can_sign": subkey.can_sign,
                }
                for subkey in self.subkeys
            ],
        }


@dataclass(frozen=True)
class Selection:
    """The wanted ones among some keys.

    Attributes:
        keys: The wanted keys that are there, in the order in which they were asked for.
        foreign: The keys that nobody asked for.
        missing: The fingerprints that no key has.
    """

    keys: tuple[Key, ...]
    foreign: tuple[Key, ...]
    missing: tuple[str, ...]

    @property
    def data(self) -> bytes:
        """The wanted keys as one binary keyring, the same for every form in which they were served."""
        return b"".join(key.encode() for key in self.keys)


def read(data: bytes) -> list[Key]:
    """Read public keys in any form in which archives serve them.

    Args:
        data: Binary, armoured (one or more blocks, any line ends, text around them), or binary followed by armoured.

    Returns:
        The keys in their order, each primary fingerprint once: copies are merged.

    Raises:
        OpenPgpError: One of its subclasses says what the data is instead.
    """
    groups: list[Group] = []
    group: Group = {}
    signatures: dict[Packet, None] = {}
    unsupported = set()
    for packet in packets_of(data):
        if packet.tag == packets.PUBLIC_KEY:
            group = {}
            if _version(packet) in _VERSIONS:
                groups.append(group)
            else:
                unsupported.add(_version(packet))
        if packet.tag == packets.SIGNATURE:
            signatures[packet] = None
        else:
            signatures = group.setdefault(packet, {})
    if not groups:
        versions = ", ".join(str(version) for version in sorted(unsupported))
        raise NotAKeyError(f"it holds only keys of version {versions}, which nobody supports any more")
    return _merged(groups)


def select(keys: Iterable[Key], wanted: Sequence[str]) -> Selection:
    """Choose keys by primary fingerprint; a key that somebody wants as a subkey of another is not chosen.

    Args:
        keys: As :func:`read` returns them, also from several files.
        wanted: Fingerprints, hexadecimal in capitals.
    """
    merged = {key.fingerprint: key for key in _merged(key.components for key in keys)}
    names = list(dict.fromkeys(wanted))
    return Selection(
        keys=tuple(merged[name] for name in names if name in merged),
        foreign=tuple(key for name, key in merged.items() if name not in names),
        missing=tuple(name for name in names if name not in merged),
    )


def normalise(data: bytes, wanted: Sequence[str]) -> Selection:
    """Read what was served and choose the wanted keys: ``normalise(...).data`` is the keyring.

    Raises:
        OpenPgpError: As :func:`read`.
    """
    return select(read(data), wanted)


def earliest(moments: Iterable[int | None]) -> int | None:
    """Return the first of some moments, where None is never."""
    return min((moment for moment in moments if moment is not None), default=None)


def iso(moment: int | None) -> str | None:
    """Return seconds since 1970 as ISO 8601 in UTC, None for None."""
    return None if moment is None else datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _version(packet: Packet) -> int:
    return packet.body[0] if packet.body else 0


def _created(packet: Packet) -> int:
    return int.from_bytes(packet.body[1:5], "big")


def _fingerprint(packet: Packet) -> str:
    """Return the fingerprint of a primary key or subkey (RFC 9580, section 5.5.4)."""
    body = packet.body
    version = _version(packet)
    # Version, creation, algorithm; from version 5 on also the size of the key material.
    if len(body) <= (6 if version == 4 else 10):
        raise DamagedError("a key packet is too short")
    if version == 4:
        if len(body) > 0xFFFF:
            raise DamagedError("a key packet is too long")
        # SHA-1 is what version 4 prescribes. Forging a key needs a second preimage, which SHA-1 still withstands.
        return hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body, usedforsecurity=False).hexdigest().upper()
    prefix = b"\x9a" if version == 5 else b"\x9b"
    return hashlib.sha256(prefix + len(body).to_bytes(4, "big") + body).hexdigest().upper()


def _key(group: Group) -> Key:
    """Work out what the self-signatures of one key say."""
    primary = next(iter(group))
    fingerprint = _fingerprint(primary)
    created = _created(primary)
    names = {fingerprint, fingerprint[-16:] if _version(primary) == 4 else fingerprint[:16]}
    own = {packet: _own(signatures, names) for packet, signatures in group.items()}
    certified = [
        _latest(signatures, *packets.CERTIFICATIONS, packets.CERTIFICATION_REVOCATION)
        for packet, signatures in own.items()
        if packet.tag in (packets.USER_ID, packets.USER_ATTRIBUTE)
    ]
    valid = [one for one in certified if one and one.kind != packets.CERTIFICATION_REVOCATION]
    subkeys = [_subkey(packet, own[packet]) for packet in group if packet.tag == packets.PUBLIC_SUBKEY]
    direct = _latest(own[primary], packets.DIRECT_KEY)
    return Key(
        fingerprint=fingerprint,
        version=_version(primary),
        created=created,
        expires=_expiry(created, direct, valid),
        revoked=any(one.kind == packets.KEY_REVOCATION for one in own[primary]),
        self_signed=bool(valid or direct),
        user_ids=tuple(shown(packet.body)[1:-1] for packet in group if packet.tag == packets.USER_ID),
        subkeys=tuple(subkey for subkey in subkeys if subkey),
        components=group,
    )


def _own(signatures: Iterable[Packet], names: set[str]) -> list[Signature]:
    """Return the signatures that one of these key IDs and fingerprints made."""
    every = [packets.signature(packet.body) for packet in signatures]
    return [one for one in every if one and one.issuers & names]


def _latest(signatures: Iterable[Signature], *kinds: int) -> Signature | None:
    """Return the newest signature of some kinds, of equally old ones the last."""
    newest = None
    for one in signatures:
        if one.kind in kinds and (newest is None or one.created >= newest.created):
            newest = one
    return newest


def _expiry(created: int, direct: Signature | None, certified: Sequence[Signature]) -> int | None:
    """Return the expiry as gpg does: of the newest direct-key signature that gives one, else of the newest user ID."""
    if direct and direct.key_lifetime:
        return created + direct.key_lifetime
    newest = _latest([one for one in certified if one.key_lifetime], *packets.CERTIFICATIONS)
    return created + newest.key_lifetime if newest else None


def _subkey(packet: Packet, own: Sequence[Signature]) -> Subkey | None:
    binding = _latest(own, packets.SUBKEY_BINDING)
    if binding is None:
        return None
    created = _created(packet)
    return Subkey(
        fingerprint=_fingerprint(packet),
        created=created,
        expires=created + binding.key_lifetime if binding.key_lifetime else None,
        revoked=any(one.kind == packets.SUBKEY_REVOCATION for one in own),
        can_sign=binding.can_sign,
    )


def _merged(groups: Iterable[Group]) -> list[Key]:
    """Return each primary key once, with everything that its copies have, in the order in which keys are written."""
    merged: dict[str, Group] = {}
    for group in groups:
        target = merged.setdefault(_fingerprint(next(iter(group))), {})
        for packet, signatures in group.items():
            # A reader cannot use subkeys of a version that it does not know, and might stumble over them.
            if packet.tag != packets.PUBLIC_SUBKEY or _version(packet) in _VERSIONS:
                target.setdefault(packet, {}).update(signatures)
    return [_key(dict(sorted(group.items(), key=lambda item: _ORDER[item[0].tag]))) for group in merged.values()]
