"""ASCII armour: from the text between BEGIN and END lines to bytes (RFC 9580, section 6)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from .errors import DamagedError, NotAKeyError, SecretKeyError, TruncatedError

_BEGIN = re.compile(rb"-----BEGIN PGP ([A-Z0-9/, ]+)-----")
_END = b"-----END PGP PUBLIC KEY BLOCK-----"
_BEGIN_SIGNATURE = b"-----BEGIN PGP SIGNATURE-----"
_END_SIGNATURE = b"-----END PGP SIGNATURE-----"
_BASE64 = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
_CHECKSUM = re.compile(rb"=([A-Za-z0-9+/]{4})")


def _crc24_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte << 16
        for _ in range(8):
            crc = (crc << 1) ^ (0x1864CFB if crc & 0x800000 else 0)
        table.append(crc & 0xFFFFFF)
    return table


_CRC24 = _crc24_table()


def crc24(data: bytes) -> int:
    """Return the checksum of armour over the decoded bytes (RFC 9580, section 6.1.1)."""
    crc = 0xB704CE
    for byte in data:
        crc = ((crc << 8) & 0xFFFFFF) ^ _CRC24[(crc >> 16) ^ byte]
    return crc


def decode(text: bytes) -> list[bytes]:
    """Return the content of each public key block; text around the blocks is skipped, as gpg does.

    Args:
        text: Lines that end in LF, CR or CRLF, indented or not.

    Returns:
        One item a block; empty where there is no armour at all.

    Raises:
        SecretKeyError: One of the blocks is a private key.
        NotAKeyError: There is armour, but of messages or signatures alone.
        TruncatedError: A block has no END line.
        DamagedError: A line is no base64, or the checksum, which is optional, is there and wrong.
    """
    blocks = []
    others = []
    lines = (line.strip() for line in text.splitlines())
    for line in lines:
        begin = _BEGIN.fullmatch(line)
        if begin is None:
            continue
        kind = begin[1].decode("ascii")
        if kind.startswith("PRIVATE KEY"):
            raise SecretKeyError("it holds an armoured private key")
        if kind == "PUBLIC KEY BLOCK":
            blocks.append(_block(lines))
        else:
            others.append(kind)
    if others and not blocks:
        raise NotAKeyError(f"it holds an armoured PGP {others[0]} and no public key")
    return blocks


def signatures(text: bytes) -> list[bytes]:
    """Return the content of each armoured signature.

    Raises:
        TruncatedError: A block has no END line.
        DamagedError: A line is no base64, or the checksum is wrong.
    """
    lines = (line.strip() for line in text.splitlines())
    return [_block(lines, _END_SIGNATURE) for line in lines if line == _BEGIN_SIGNATURE]


def encode(data: bytes) -> bytes:
    """Return the binary packets of public keys as one armoured block."""
    text = base64.b64encode(data)
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    checksum = b"=" + base64.b64encode(crc24(data).to_bytes(3, "big"))
    return b"\n".join([b"-----BEGIN PGP PUBLIC KEY BLOCK-----", b"", *lines, checksum, _END, b""])


def _block(lines: Iterator[bytes], last: bytes = _END) -> bytes:
    for line in lines:
        if not line:
            break
        if b":" not in line:
            raise DamagedError(f"armour header {_shown(line)} is not like 'Comment: text'")
    encoded: list[bytes] = []
    checksum = b""
    for line in lines:
        if line == last:
            return _decoded(b"".join(encoded), checksum)
        found = _CHECKSUM.fullmatch(line)
        if found and not checksum:
            checksum = found[1]
        elif line and (checksum or not _BASE64.fullmatch(line)):
            raise DamagedError(f"armour line {_shown(line)} is no base64")
        else:
            encoded.append(line)
    raise TruncatedError("the armour has no END line")


def _decoded(encoded: bytes, checksum: bytes) -> bytes:
    try:
        data = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise DamagedError(f"the armour is no base64: {error}") from error
    # RFC 9580 lets a reader ignore the checksum. Nothing else here would notice damage in a self-signature.
    if checksum and int.from_bytes(base64.b64decode(checksum), "big") != crc24(data):
        raise DamagedError("the armour's checksum is wrong")
    return data


def _shown(line: bytes) -> str:
    return ascii(line[:40].decode("latin-1"))
