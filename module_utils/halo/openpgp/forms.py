"""The forms in which archives serve keys: binary, armoured, or binary followed by armoured."""

from __future__ import annotations

import re

from . import armour, packets
from .errors import DamagedError, EmptyError, HtmlError, NotAKeyError, SecretKeyError, TooLargeError
from .packets import Packet

#: An archive's key has some kilobytes; no file above this size is read.
MAX_BYTES = 1 << 20

_HTML = re.compile(rb"<\s*(!doctype\s+html|html|head|body|title)\b", re.IGNORECASE)
_TITLE = re.compile(rb"<\s*title[^>]*>\s*(.{1,80}?)\s*<", re.IGNORECASE | re.DOTALL)
_BOM = b"\xef\xbb\xbf"
#: What a public key consists of.
_PARTS = (packets.PUBLIC_KEY, packets.USER_ID, packets.USER_ATTRIBUTE, packets.PUBLIC_SUBKEY, packets.SIGNATURE)
#: What may stand among these and says nothing about them.
_IGNORED = (packets.MARKER, packets.TRUST, packets.PADDING)
# RFC 9580, section 4.3: packets of tag 40 and above are to be skipped by those who do not know them.
_FIRST_NONCRITICAL = 40


def packets_of(data: bytes) -> list[Packet]:
    """Return the packets of public keys in any form, copies included; the first begins a public key.

    Raises:
        OpenPgpError: One of its subclasses says what the data is instead.
    """
    if len(data) > MAX_BYTES:
        raise TooLargeError(f"it has {len(data)} bytes, more than {MAX_BYTES}")
    if not data.strip():
        raise EmptyError("it is empty")
    found: list[Packet] = []
    rest = data[len(_BOM) :] if data.startswith(_BOM) else data
    if rest[0] & 0x80:
        first = packets.tag_of(rest[0])
        if first not in (packets.PUBLIC_KEY, packets.SECRET_KEY, packets.SECRET_SUBKEY, *_IGNORED):
            raise NotAKeyError(f"it begins with {shown(rest[:16])} and not with a public key")
        found, rest = packets.split(rest)
    if rest.strip():
        found += _armoured(rest, "" if not found else f"after {len(data) - len(rest)} bytes of binary key ")
    for index, packet in enumerate(found):
        if packet.tag in (packets.SECRET_KEY, packets.SECRET_SUBKEY):
            raise SecretKeyError("it holds a secret key")
        if packet.tag not in _PARTS + _IGNORED and packet.tag < _FIRST_NONCRITICAL:
            raise NotAKeyError(f"packet {index + 1} has tag {packet.tag}, which no public key holds")
    content = [packet for packet in found if packet.tag in _PARTS]
    if not content or content[0].tag != packets.PUBLIC_KEY:
        raise NotAKeyError("its first packet is no public key")
    return content


def _armoured(text: bytes, where: str) -> list[Packet]:
    blocks = armour.decode(text)
    if not blocks:
        if _HTML.search(text[:4096]):
            title = _TITLE.search(text[:4096])
            raise HtmlError("it is a web page" + (f" titled {shown(title[1])}" if title else ""))
        if text[8:12] == b"KBXf":
            raise NotAKeyError("it is a keybox of gpg, which apt cannot read")
        problem = f"{where}comes {shown(text[:60])}" if where else f"it begins with {shown(text[:60])}"
        raise (DamagedError if where else NotAKeyError)(f"{problem} and not with a public key")
    found: list[Packet] = []
    for block in blocks:
        part, rest = packets.split(block)
        if rest:
            raise DamagedError(f"an armoured block holds {len(rest)} bytes that are no packet")
        found += part
    return found


def shown(data: bytes) -> str:
    """Return bytes from outside in quotes, fit for a terminal and a log."""
    text = data[:200].decode("utf-8", "replace")
    return "'" + "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text) + "'"
