"""The reader of offload bundles, on bytes that clang 19 made, and on damaged ones."""

import gzip
import random
import struct
import sys
import zlib
from pathlib import Path

import pytest
from halo.proof import hip
from halo.proof.bundle import CompressedError, UnreadableError, code_objects, gfx_of, section
from halo.proof.ledger import RefutedError

DATA = Path(__file__).parents[1] / "data" / "proof"
# clang++-19 --offload-device-only --offload-arch=gfx1151 --offload-arch=gfx1030, and the same with --offload-compress
PLAIN = gzip.decompress((DATA / "clang-19.hipfb.gz").read_bytes())
ZSTD = (DATA / "clang-19-zstd.hipfb").read_bytes()
TARGETS = ["host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--gfx1030", "hipv4-amdgcn-amd-amdhsa--gfx1151"]


def compressed(version, method=0):
    """Lay out a compressed bundle as clang does; clang 19's own zstd file checks the layout of version 2."""
    body = zlib.compress(PLAIN)
    size = {1: "", 2: "I", 3: "Q"}[version]
    lengths = [len(PLAIN)]
    if size:
        lengths.insert(0, 8 + 2 * struct.calcsize(size) + 8 + len(body))
    return struct.pack(f"<4sHH{(size or 'I') * len(lengths)}Q", b"CCOB", version, method, *lengths, 0x1234) + body


def elf(*sections):
    """Make an ELF file that has nothing but sections, as (name, content)."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _ in sections) + b".shstrtab\0"
    contents = [content for _, content in sections] + [names]
    labels = [name for name, _ in sections] + [".shstrtab"]
    headers, body, at = [bytes(64)], b"", 64
    for label, content in zip(labels, contents, strict=True):
        headers.append(
            struct.pack("<IIQQQQIIQQ", names.index(label.encode() + b"\0"), 1, 0, 0, at, len(content), *[0] * 4)
        )
        body, at = body + content, at + len(content)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, 0, 0, at, 0, 64, 0, 0, 64, len(headers), len(headers) - 1
    )
    return head + body + b"".join(headers)


def test_a_bundle_that_clang_made():
    found = code_objects(PLAIN)
    assert sorted(entry.target for entry in found) == sorted(TARGETS)
    assert sorted(entry.gfx for entry in found if entry.is_amdgpu) == ["gfx1030", "gfx1151"]
    host = next(entry for entry in found if entry.target.startswith("host"))
    assert (host.size, host.machine, host.gfx) == (0, None, "")


def test_one_bundle_for_each_translation_unit():
    padded = PLAIN + bytes(-len(PLAIN) % 4096)
    assert [entry.target for entry in code_objects(padded + PLAIN)] == [
        entry.target for entry in code_objects(PLAIN)
    ] * 2


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_bundle_compressed_with_zlib(version):
    assert code_objects(compressed(version)) == code_objects(PLAIN)


@pytest.mark.parametrize("version", [2, 3])
def test_compressed_bundles_in_a_row(version):
    assert len(code_objects(compressed(version) + bytes(100) + compressed(version))) == 2 * len(TARGETS)


def test_zstd_is_left_to_clangs_own_tool():
    # The header is read, so that what follows is known: method 1, and not merely "something unknown".
    with pytest.raises(CompressedError, match="method 1 "):
        code_objects(ZSTD)


def test_an_unknown_version_of_compression():
    with pytest.raises(UnreadableError, match="version 9"):
        code_objects(b"CCOB\x09\0" + compressed(2)[6:])


@pytest.mark.parametrize(
    ("target", "gfx"),
    [
        ("hipv4-amdgcn-amd-amdhsa--gfx1151", "gfx1151"),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a"),
        ("hipv4-amdgcn-amd-amdhsa--gfx11-generic", "gfx11-generic"),
        ("host-x86_64-unknown-linux--", ""),
        ("host-x86_64-unknown-linux-gnu-", ""),
    ],
)
def test_the_processor_in_a_target(target, gfx):
    assert gfx_of(target) == gfx


def test_an_entry_that_is_no_amdgpu_file_is_no_code_object():
    at = PLAIN.index(b"\x7fELF")
    other = bytearray(PLAIN)
    other[at + 18 : at + 20] = struct.pack("<H", 62)
    assert [entry.is_amdgpu for entry in code_objects(bytes(other))].count(True) == 1


@pytest.mark.parametrize("data", [b"", b"no bundle", bytes(4096)])
def test_no_bundle_at_all(data):
    with pytest.raises(UnreadableError, match="no offload bundle"):
        code_objects(data)


def test_a_bundle_that_is_cut_short_never_reads_as_whole():
    last = max(struct.unpack_from("<QQ", PLAIN, at) for at in _offsets())
    for end in [*range(24, sum(last), 61), sum(last) - 1]:
        with pytest.raises(UnreadableError):
            code_objects(PLAIN[:end])
    assert code_objects(PLAIN[: sum(last)])


def _offsets():
    at = 32
    for _ in range(struct.unpack_from("<Q", PLAIN, 24)[0]):
        yield at
        at += 24 + struct.unpack_from("<Q", PLAIN, at + 16)[0]


def test_damaged_bundles_raise_nothing_else():
    chance = random.Random(1151)  # noqa: S311 (damage that can be repeated, no secret)
    refused = 0
    for source in (PLAIN, compressed(1), compressed(2), compressed(3), ZSTD) * 60:
        damaged = bytearray(source)
        for _ in range(4):
            damaged[chance.randrange(min(len(damaged), 300))] = chance.randrange(256)
        try:
            code_objects(bytes(damaged))
        except (UnreadableError, CompressedError):
            refused += 1
    assert refused > 60, "the damage reaches what is read"


def test_the_section_of_an_elf_file():
    made = elf((".text", b"code"), (".hip_fatbin", PLAIN), (".data", b"x"))
    assert section(made) == PLAIN
    assert section(made, ".text") == b"code"
    assert section(elf((".text", b"code"))) is None


def test_the_sections_of_a_real_executable():
    real = Path(sys.executable).resolve().read_bytes()
    assert section(real, ".interp").rstrip(b"\0").decode().startswith("/lib")
    assert section(real) is None


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(100), b"\x7fELF\x02\x01\x01"])
def test_no_elf_file_of_ours(data):
    with pytest.raises(UnreadableError):
        section(data)


def test_an_elf_file_that_is_cut_short():
    made = elf((".hip_fatbin", PLAIN))
    for end in range(6, len(made) - 64, 199):
        with pytest.raises(UnreadableError):
            section(made[:end])


def test_an_elf_file_whose_sections_lie_beyond_everything():
    made = bytearray(elf((".hip_fatbin", PLAIN)))
    made[0x28:0x30] = b"\xff" * 8
    with pytest.raises(UnreadableError):
        section(bytes(made))


# A stand-in for hipcc, which "compiles" to a given file and names a stand-in for clang-offload-bundler.
HIPCC = """#!/bin/sh
case "$*" in
  *--print-prog-name=clang-offload-bundler) echo "a warning first"; echo {bundler};;
  "--offload-arch=gfx1151 saxpy.hip -o saxpy") cat {executable} > saxpy;;
  *) echo "error: asked for $*" >&2; exit 1;;
esac
"""
BUNDLER = """#!/bin/sh
[ "$*" = "--list --type=o --input=fatbin" ] && cmp -s fatbin {fatbin} || {{ echo "error: bad input" >&2; exit 1; }}
printf '%s\\n' {targets}
"""


@pytest.mark.parametrize(
    ("targets", "verdict"),
    [
        (TARGETS, "its executable holds hipv4-amdgcn-amd-amdhsa--gfx1151"),
        (TARGETS[:2], "PROOF.NO_CODE_OBJECT"),
        ([], "PROOF.NO_CODE_OBJECT"),
    ],
)
def test_a_zstd_bundle_is_listed_by_the_tool_that_belongs_to_hipcc(tmp_path, targets, verdict):
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "fatbin").write_bytes(ZSTD)
    (tmp_path / "executable").write_bytes(elf((".hip_fatbin", ZSTD)))
    paths = {"executable": tmp_path / "executable", "bundler": tmp_path / "bundler", "fatbin": tmp_path / "fatbin"}
    for name, text in (("hipcc", HIPCC), ("bundler", BUNDLER)):
        (tmp_path / name).write_text(text.format(**paths, targets=" ".join(targets)))
        (tmp_path / name).chmod(0o755)
    try:
        said = hip.attempt(tmp_path / "hipcc", "gfx1151", ["gfx1030"], work)
    except RefutedError as refuted:
        said = refuted.finding.code
    assert verdict in said
