"""The producer of LLVM bitcode, read from the first bytes of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: What has to be read of a file: the identification is its first block.
WINDOW = 4096

_MAGIC = b"BC\xc0\xde"
_WRAPPER = b"\xde\xc0\x17\x0b"
_IDENTIFICATION = 13
_CHAR6 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"

# Ids of abbreviations that have a meaning of their own.
_END, _ENTER, _DEFINE, _UNABBREVIATED = range(4)
_LITERAL, _FIXED, _VBR, _ARRAY, _LETTER, _BLOB = range(6)


class BitcodeError(ValueError):
    """The bytes are no bitcode, or are cut off."""


def producer(path: Path) -> str:
    """Return what wrote a file of bitcode, such as ``LLVM17.0.6``.

    Args:
        path: The file.

    Raises:
        BitcodeError: It is no bitcode, or does not say.
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(WINDOW)
        if start[:4] == _WRAPPER and len(start) >= 12:
            file.seek(int.from_bytes(start[8:12], "little"))
            start = file.read(WINDOW)
    return identification(start)


def identification(data: bytes) -> str:
    """Return the producer that the first block of a bitstream names.

    The format is described at https://llvm.org/docs/BitCodeFormat.html.

    Raises:
        BitcodeError: It is no bitcode, or does not say.
    """
    if data[:4] != _MAGIC:
        raise BitcodeError("no bitcode")
    bits = _Bits(data)
    if bits.fixed(2) != _ENTER or bits.vbr(8) != _IDENTIFICATION:
        raise BitcodeError("the bitcode does not begin with its identification")
    width = bits.vbr(4)
    bits.align()
    bits.fixed(32)
    abbreviations: list[list[_Operand]] = []
    while True:
        number = bits.fixed(width)
        if number == _END:
            raise BitcodeError("the bitcode does not name its producer")
        if number == _ENTER:
            raise BitcodeError("there is a block within the identification")
        if number == _DEFINE:
            abbreviations.append(_definition(bits))
            continue
        if number == _UNABBREVIATED:
            code, count = bits.vbr(6), bits.vbr(6)
            record = [code, *(bits.vbr(6) for _ in range(count))]
        elif number - 4 < len(abbreviations):
            record = _abbreviated(bits, abbreviations[number - 4])
        else:
            raise BitcodeError("an abbreviation is used that was not defined")
        if record and record[0] == 1:
            return "".join(chr(letter) for letter in record[1:] if letter < 0x110000)


def major(text: str) -> int | None:
    """Return the major version of LLVM in a producer's name."""
    digits = text[4:].partition(".")[0] if text.startswith("LLVM") else ""
    return int(digits) if digits.isdecimal() else None


@dataclass(frozen=True)
class _Operand:
    kind: int
    value: int = 0


class _Bits:
    """Bits, the lowest first; the magic number is behind already."""

    def __init__(self, data: bytes) -> None:
        self._all = int.from_bytes(data, "little")
        self._length = 8 * len(data)
        self._place = 32

    def fixed(self, width: int) -> int:
        """Return the next number of a width."""
        if self._place + width > self._length:
            raise BitcodeError("the bitcode ends within its identification")
        value = (self._all >> self._place) & ((1 << width) - 1)
        self._place += width
        return value

    def vbr(self, width: int) -> int:
        """Return the next number that is written in groups, whose highest bit says that another one follows."""
        high, value, shift = 1 << (width - 1), 0, 0
        while True:
            group = self.fixed(width)
            value |= (group & (high - 1)) << shift
            if not group & high:
                return value
            shift += width - 1

    def align(self) -> None:
        """Go on at the next multiple of 32 bits."""
        self._place = -(-self._place // 32) * 32


def _definition(bits: _Bits) -> list[_Operand]:
    operands = []
    for _ in range(bits.vbr(5)):
        if bits.fixed(1):
            operands.append(_Operand(_LITERAL, bits.vbr(8)))
            continue
        kind = bits.fixed(3)
        if kind not in (_FIXED, _VBR, _ARRAY, _LETTER, _BLOB):
            raise BitcodeError("an abbreviation has an unknown operand")
        width = bits.vbr(5) if kind in (_FIXED, _VBR) else 0
        if kind == _VBR and width < 2:
            raise BitcodeError("an abbreviation has an operand without a width")
        operands.append(_Operand(kind, width))
    return operands


def _abbreviated(bits: _Bits, operands: list[_Operand]) -> list[int]:
    record: list[int] = []
    for place, operand in enumerate(operands):
        if operand.kind == _ARRAY:
            element = operands[place + 1] if place + 1 < len(operands) else _Operand(_BLOB)
            return record + [_scalar(bits, element) for _ in range(bits.vbr(6))]
        record.append(_scalar(bits, operand))
    return record


def _scalar(bits: _Bits, operand: _Operand) -> int:
    if operand.kind == _LITERAL:
        return operand.value
    if operand.kind == _FIXED:
        return bits.fixed(operand.value)
    if operand.kind == _VBR:
        return bits.vbr(operand.value)
    if operand.kind == _LETTER:
        return ord(_CHAR6[bits.fixed(6)])
    raise BitcodeError("an identification has no such operands")
