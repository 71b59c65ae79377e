"""The ELF reader: the same as pyelftools reads, and nothing but ElfError whatever the bytes are."""

from __future__ import annotations

import os
import random
import resource
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerNeedSection
from halo.abi import elf, scope, symbols
from halo.abi.elf import Elf
from halo.abi.tables import ElfError

from tests.support import elf_objects

SYSTEM = Path("/usr/lib/x86_64-linux-gnu")
SEED = int(os.environ.get("HALO_SEED") or time.time())
SOAK = bool(os.environ.get("HALO_SOAK"))
COUNT = int(os.environ.get("HALO_COUNT") or (10_000 if SOAK else 500))

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not on this machine")


def system_objects() -> list[Elf]:
    found = []
    for directory, _, names in os.walk(SYSTEM):
        for name in sorted(names):
            path = Path(directory, name)
            if not path.is_symlink() and path.is_file():
                try:
                    found.append(elf.read(str(path)))
                except ElfError:
                    continue
    return found


def pyelftools_says(path: str) -> dict[str, object]:
    with Path(path).open("rb") as file:
        read = ELFFile(file)
        dynamic = next(segment for segment in read.iter_segments() if segment.header.p_type == "PT_DYNAMIC")
        tags = list(dynamic.iter_tags())
        text = {tag.entry.d_tag: tag for tag in tags}
        needed: dict[str, list[tuple[str, bool]]] = {}
        defined: set[str] = set()
        dynsym: tuple[int, set[bytes]] = (0, set())
        for section in read.iter_sections():
            if isinstance(section, GNUVerNeedSection):
                for version, auxiliaries in section.iter_versions():
                    wanted = [(one.name, bool(one.entry["vna_flags"] & 2)) for one in auxiliaries]
                    needed.setdefault(version.name, []).extend(wanted)
            elif isinstance(section, GNUVerDefSection):
                for version, auxiliaries in section.iter_versions():
                    if not version.entry["vd_flags"] & 1:
                        defined.add(next(iter(auxiliaries)).name)
            elif section.name == ".dynsym":
                strong = {
                    symbol.name.encode()
                    for symbol in section.iter_symbols()
                    if symbol.name and symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["bind"] == "STB_GLOBAL"
                }
                dynsym = (section.num_symbols(), strong)
        stack = [segment.header.p_flags for segment in read.iter_segments() if segment.header.p_type == "PT_GNU_STACK"]
        return {
            "needed": tuple(tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"),
            "soname": text["DT_SONAME"].soname if "DT_SONAME" in text else "",
            "runpath": text["DT_RUNPATH"].runpath if "DT_RUNPATH" in text else "",
            "rpath": text["DT_RPATH"].rpath if "DT_RPATH" in text else "",
            "stack": stack[0] if stack else None,
            "interp": next(
                (one.get_interp_name() for one in read.iter_segments() if hasattr(one, "get_interp_name")), ""
            ),
            "verneed": {file: tuple(wanted) for file, wanted in needed.items()},
            "verdef": frozenset(defined),
            "symbols": dynsym,
        }


def test_every_field_is_what_pyelftools_reads() -> None:
    # Symbol by symbol pyelftools takes seconds, so that only a part is compared unless there is time.
    everything = system_objects()
    assert len(everything) > 20
    chosen = everything if SOAK else random.Random(SEED).sample(everything, min(len(everything), 60))  # noqa: S311
    print(f"HALO_SEED={SEED}")
    compared = 0
    for read in chosen:
        theirs = pyelftools_says(read.path)
        count, strong = theirs.pop("symbols")
        assert {name: getattr(read, name) for name in theirs} == theirs, read.path
        tables = symbols.Tables(read)
        if tables.hashes:
            assert tables.count == count, read.path
            found = symbols.Tables(read, defined=False).needs(symbols.Wanted())
            ours = set(found.plain) | {name.rpartition(b"@")[0] for names in found.noded.values() for name in names}
            assert ours == strong, read.path
            compared += 1
    assert compared


@needs_gcc
@pytest.mark.parametrize("style", ["gnu", "sysv", "both"])
def test_symbols_of_either_hash_table(tmp_path: Path, style: str) -> None:
    nodes = {"V_1": ["one"], "V_2": ["two"]}
    made = elf_objects.library(tmp_path / "liba.so", "", f"-Wl,--hash-style={style}", nodes=nodes, uses="absent other")
    read = elf.read(str(made))
    assert read.verdef == {"V_1", "V_2"}
    wanted = symbols.Wanted()
    assert symbols.Tables(read, defined=False).needs(wanted).plain == {b"absent", b"other"}
    for name in (b"one", b"two", b"three"):
        wanted.names[name] = name
    wanted.hash()
    offered = symbols.Tables(read).offers(wanted)
    assert offered.noded == {b"one@V_1", b"two@V_2"}
    assert offered.plain == {b"one", b"two"}
    assert offered.base == set()


@needs_gcc
def test_a_library_without_section_headers_is_read_the_same(tmp_path: Path) -> None:
    made = elf_objects.library(tmp_path / "liba.so", "one", nodes={"V": ["two"]}, uses="absent")
    before = elf.read(str(made))
    data = bytearray(made.read_bytes())
    end = struct.unpack_from("<Q", data, 40)[0]
    data[40:48], data[58:64] = bytes(8), bytes(6)
    made.write_bytes(data[:end])
    after = elf.read(str(made))
    assert (after.verdef, after.needed, after.tags) == (before.verdef, before.needed, before.tags)
    assert symbols.Tables(after).count == symbols.Tables(before).count > 2


@needs_gcc
def test_an_undefined_symbol_without_a_relocation_is_not_looked_for(tmp_path: Path) -> None:
    made = elf_objects.library(tmp_path / "liba.so", uses="called", source='__asm__(".globl declared");')
    with made.open("rb") as file:
        names = [symbol.name for symbol in ELFFile(file).get_section_by_name(".dynsym").iter_symbols()]
    assert {"declared", "called"} <= set(names), "the linker keeps both"
    read, store = elf.read(str(made)), scope.Symbols()
    store.learn([read])
    assert store.unresolved(read, [read], {}).plain == {b"called"}
    assert store.unused == 1


@needs_gcc
def test_a_function_of_which_a_program_takes_the_address_is_needed(tmp_path: Path) -> None:
    lower = elf_objects.library(tmp_path / "liblow.so", "low")
    source = "int low(void); int (*volatile pointer)(void) = low; int main(void) { return pointer == low; }"
    main = tmp_path / "main"
    command = ["gcc", "-fno-pic", "-no-pie", "-rdynamic", "-o", str(main), "-x", "c", "-", "-x", "none", str(lower)]
    subprocess.run(command, input=source, text=True, check=True)
    read = elf.read(str(main))
    assert b"low" in symbols.Tables(read, defined=False).needs(symbols.Wanted()).plain


def header(
    *, magic: bytes = b"\x7fELF", elf_class: int = 2, data: int = 1, abi: int = 0, kind: int = 3, machine: int = 62
) -> bytes:
    ident = magic + bytes([elf_class, data, 1, abi]) + bytes(8)
    order = "<" if data == 1 else ">"
    return ident + struct.pack(f"{order}HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 0, 64, 56, 0, 64, 0, 0)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "short"),
        (b"#!/bin/sh\n", "foreign"),
        (b"/* GNU ld script */ " * 20, "foreign"),
        (header()[:40], "short"),
        (header(elf_class=1), "class"),
        (header(machine=224), "machine"),
        (header(machine=183), "machine"),
        (header(data=2), "other"),
        (header(abi=9), "other"),
        (header(kind=1), "type"),
        (header(kind=4), "type"),
        (header(), "static"),
    ],
)
def test_what_is_no_object_of_this_host_is_told_apart(tmp_path: Path, content: bytes, kind: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ElfError) as caught:
        elf.read(str(tmp_path / "file"))
    assert caught.value.kind == kind


def test_what_is_no_file_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "absent", Path("/dev/null/x"), "a\0b"):
        with pytest.raises(ElfError) as caught:
            elf.read(str(path))
        assert caught.value.kind == "unreadable"


def test_a_file_of_two_gigabytes_costs_what_its_tables_cost(tmp_path: Path) -> None:
    big = tmp_path / "libbig.so"
    shutil.copy(next(iter(SYSTEM.glob("libc.so.6"))), big)
    os.truncate(big, 2 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read = elf.read(str(big))
    assert len(symbols.Tables(read).hashes) > 1000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10


def everything_of(path: Path) -> None:
    """Read all that is read of an object; it may only raise ElfError."""
    read = elf.read(str(path))
    store = scope.Symbols()
    store.learn([read])
    store.exports(read)
    store.unresolved(read, [read], {"libc.so.6": read})
    symbols.relocated(read, symbols.Tables(read))


def test_damaged_files_raise_nothing_but_elf_errors(tmp_path: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311
    print(f"HALO_SEED={SEED} HALO_COUNT={COUNT}")
    small = [read.path for read in system_objects() if read.size < 200_000]
    originals = [Path(path).read_bytes() for path in chance.sample(small, min(len(small), 25))]
    target, outcomes, slowest = tmp_path / "damaged", {"read": 0, "refused": 0}, 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(COUNT):
        data = bytearray(chance.choice(originals))
        # Most bytes are code, which is not read: the dynamic section and the tables it names lie where it matters.
        dynamic = data.find(struct.pack("<QQ", 1, 1)[:8], 0x300)
        places = [range(16, 64), range(64, 64 + 56 * 11), range(0x200, min(len(data), 0x3000)), range(len(data))]
        if dynamic > 0:
            places.append(range(dynamic, min(dynamic + 500, len(data))))
        for _ in range(chance.choice((1, 1, 2, 8, 40))):
            at = chance.choice(chance.choice(places))
            if at < len(data):
                data[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, data[at] ^ (1 << chance.randrange(8))))
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        target.write_bytes(data)
        started = time.process_time()
        try:
            everything_of(target)
            outcomes["read"] += 1
        except ElfError:
            outcomes["refused"] += 1
        except Exception as error:
            kept = Path("/tmp") / f"halo-damaged-{SEED}-{number}"  # noqa: S108
            kept.write_bytes(data)
            raise AssertionError(f"{kept}: {error!r}") from error
        slowest = max(slowest, time.process_time() - started)
    assert min(outcomes.values()) > COUNT / 20, "both happen often"
    assert slowest < 5, "seconds: a bound for runaway tables, not a measure"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 128 << 10


@pytest.mark.parametrize("table", ["verneed", "verdef"])
def test_a_version_table_that_points_to_itself_ends(tmp_path: Path, table: str) -> None:
    source = elf.read(str(SYSTEM / "libc.so.6"))
    data = bytearray(Path(source.path).read_bytes())
    tag, number = (elf.VERNEED, elf.VERNEEDNUM) if table == "verneed" else (elf.VERDEF, elf.VERDEFNUM)
    at, _ = source.place(source.tags[tag])
    form = struct.Struct("<HHIII") if table == "verneed" else struct.Struct("<HHHHIII")
    fields = list(form.unpack_from(data, at))
    fields[1 if table == "verneed" else 3] = 0xFFFF
    fields[-2:] = [16, 1]
    for step in range(3000):
        form.pack_into(data, at + step, *fields)
    dynamic = data.find(struct.pack("<QQ", number, source.tags[number]))
    struct.pack_into("<QQ", data, dynamic, number, 0xFFFFFFFF)
    (tmp_path / "loop").write_bytes(data)
    with pytest.raises(ElfError):
        elf.read(str(tmp_path / "loop"))
