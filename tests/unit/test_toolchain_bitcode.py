"""The producer of bitcode, in the forms in which LLVM writes it."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from ansible.module_utils.halo.toolchain.bitcode import BitcodeError, identification, major, producer

# The beginning of ocml.bc in Debian's packages rocm-device-libs 5.2.3-2 and rocm-device-libs-17 6.0.
DATA = Path(__file__).parents[1] / "data" / "bitcode"


@pytest.mark.parametrize(("file", "expected"), [("llvm15.bc", "LLVM15.0.5"), ("llvm17.bc", "LLVM17.0.6")])
def test_the_device_libraries_of_debian(file: str, expected: str) -> None:
    assert producer(DATA / file) == expected


def test_bitcode_within_a_wrapper(tmp_path: Path) -> None:
    bitcode = (DATA / "llvm15.bc").read_bytes()
    header = b"".join(number.to_bytes(4, "little") for number in (0x0B17C0DE, 0, 64, len(bitcode), 7))
    (tmp_path / "wrapped.bc").write_bytes(header.ljust(64, b"\0") + bitcode)
    assert producer(tmp_path / "wrapped.bc") == "LLVM15.0.5"


def test_what_this_machines_clang_writes(tmp_path: Path) -> None:
    clang = next((name for name in ("clang", *(f"clang-{n}" for n in range(25, 12, -1))) if shutil.which(name)), None)
    if clang is None:
        pytest.skip("no clang on this machine; the device libraries of Debian are read all the same")
    (tmp_path / "a.c").write_text("int a;\n", encoding="utf-8")
    subprocess.run([clang, "-c", "-emit-llvm", "a.c"], cwd=tmp_path, check=True)
    version = subprocess.run([clang, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    assert major(producer(tmp_path / "a.bc")) == int(version.partition(".")[0])


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"BC\xc0\xde", b"BC\xc0\xde" + bytes(64)])
def test_what_is_no_bitcode_is_refused(data: bytes) -> None:
    with pytest.raises(BitcodeError):
        identification(data)


@pytest.mark.parametrize("seed", range(200))
def test_damaged_bitcode_is_refused_or_read_and_never_hangs(seed: int) -> None:
    generator = random.Random(seed)  # noqa: S311
    damaged = bytearray((DATA / "llvm17.bc").read_bytes()[: generator.randint(8, 256)])
    for _ in range(generator.randint(1, 8)):
        damaged[generator.randrange(4, len(damaged))] ^= 1 << generator.randrange(8)
    try:
        text = identification(bytes(damaged))
    except BitcodeError:
        return
    assert isinstance(text, str)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("LLVM17.0.6", 17), ("LLVM20.0.0git", 20), ("LLVM3.8.0", 3), ("APPLE_1_1300.0", None), ("", None)],
)
def test_the_major_version(text: str, expected: int | None) -> None:
    assert major(text) == expected
