"""The same as ``abi`` against pyelftools, which only reads: needs, version tables, and every dynamic symbol."""

from __future__ import annotations

from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVersionSection

from bench import abi

NAME = "abi-pyelftools"
LIMIT = 0.2
RUNS = 2

setup, ours = abi.setup, abi.ours


def theirs() -> None:
    """Read, and resolve nothing."""
    for path in abi.objects():
        with Path(path).open("rb") as file:
            for section in ELFFile(file).iter_sections():
                if isinstance(section, GNUVersionSection):
                    for _, auxiliaries in section.iter_versions():
                        list(auxiliaries)
                elif section.name == ".dynsym":
                    [symbol.name for symbol in section.iter_symbols()]
