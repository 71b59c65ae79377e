"""What does not fit to compile with, on trees that are laid out as packages lay them out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from ansible.module_utils.halo.findings import as_warnings
from ansible.module_utils.halo.toolchain.hazards import HAZARDS, check
from ansible.module_utils.halo.toolchain.inventory import read

DATA = Path(__file__).parents[1] / "data" / "bitcode"
GCC = "usr/lib/gcc/x86_64-linux-gnu"


def put(root: Path, path: str, text: str = "") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def clang(root: Path, llvm: str, resource: str) -> None:
    put(root, f"{llvm}/bin/clang")
    put(root, f"{llvm}/lib/clang/{resource}/include/stddef.h")


def libcxx(root: Path, directory: str, version: str, minimum: str = "", where: str = "__config") -> None:
    put(root, f"{directory}/__config", f"#  define _LIBCPP_VERSION {version}\n")
    if minimum:
        with put(
            root, f"{directory}/{where}", (root / directory / where).read_text() if where == "__config" else ""
        ).open("a") as file:
            file.write(f'#      warning "Libc++ only supports Clang {minimum} and later"\n')


def gcc(root: Path, major: int, headers: bool = True) -> None:
    put(root, f"{GCC}/{major}/crtbegin.o")
    if headers:
        put(root, f"usr/include/c++/{major}/cmath")
        put(root, f"{GCC}/{major}/libstdc++.so")


def device_libraries(root: Path, directory: str, file: str) -> None:
    put(root, f"{directory}/ocml.bc")
    shutil.copy(DATA / file, root / directory / "ocml.bc")


def codes(root: Path, *compilers: str) -> list[tuple[str, str, str]]:
    return [(finding.code, finding.severity, finding.subject) for finding in check(read(root, compilers))]


def test_headers_of_libcxx_that_are_for_a_newer_clang(tmp_path: Path) -> None:
    clang(tmp_path, "usr/lib/llvm-14", "14.0.6")
    clang(tmp_path, "usr/lib/llvm-19", "19")
    libcxx(tmp_path, "usr/lib/llvm-19/include/c++/v1", "190107", "17", "__configuration/compiler.h")
    path = "/usr/lib/llvm-14/bin/clang"
    assert codes(tmp_path) == [("TOOLCHAIN.LIBCXX_NEEDS_CLANG", "info", path)]
    # Debian's versioned names are links into LLVM's own directory.
    (tmp_path / "usr/bin").mkdir()
    (tmp_path / "usr/bin/clang++-14").symlink_to("../lib/llvm-14/bin/clang")
    assert codes(tmp_path, "/usr/bin/clang++-14") == [("TOOLCHAIN.LIBCXX_NEEDS_CLANG", "error", path)]
    assert codes(tmp_path, "/usr/lib/llvm-19/bin/clang++") == [("TOOLCHAIN.LIBCXX_NEEDS_CLANG", "info", path)]
    finding = check(read(tmp_path, ("/usr/bin/clang++-14",)))[0]
    assert "clang 14; the libc++ 19 headers in /usr/lib/llvm-19/include/c++/v1 are for clang 17" in finding.evidence
    assert "compile with clang-19" in finding.remedy


def test_a_clang_that_is_new_enough_and_headers_that_say_nothing_fit(tmp_path: Path) -> None:
    clang(tmp_path, "usr/lib/llvm-17", "17")
    libcxx(tmp_path, "usr/lib/llvm-19/include/c++/v1", "190107", "17")
    libcxx(tmp_path, "usr/lib/llvm-14/include/c++/v1", "14000")
    (tmp_path / "usr/include/c++").mkdir(parents=True)
    (tmp_path / "usr/include/c++/v1").symlink_to("../../lib/llvm-14/include/c++/v1")
    items = read(tmp_path)
    # The link to 14's headers is no third one.
    assert [(item.kind, item.major, item.minimum) for item in items] == [
        ("clang", 17, 0),
        ("libcxx", 14, 0),
        ("libcxx", 19, 17),
    ]
    assert codes(tmp_path, "/usr/lib/llvm-17/bin/clang") == []


@pytest.mark.parametrize(
    ("llvm", "device", "reader", "file", "found"),
    [
        ("opt/rocm-7.2.4/lib/llvm", "opt/rocm-7.2.4/amdgcn/bitcode", "15.0.0", "llvm17.bc", True),
        ("opt/rocm-7.2/lib/llvm", "opt/rocm-7.2/lib/llvm/lib/clang/15/lib/amdgcn/bitcode", "15", "llvm17.bc", True),
        ("opt/rocm/core-10.0/lib/llvm", "opt/rocm/core-10.0/amdgcn/bitcode", "16", "llvm17.bc", True),
        ("usr/lib/llvm-15", "usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "15.0.7", "llvm15.bc", False),
        ("usr/lib/llvm-17", "usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "17", "llvm15.bc", False),
        # Each ROCm has a compiler of its own.
        ("usr/lib/llvm-14", "opt/rocm-7.2.4/amdgcn/bitcode", "14", "llvm17.bc", False),
        ("opt/rocm-6.4.0/lib/llvm", "opt/rocm-7.2.4/amdgcn/bitcode", "15", "llvm17.bc", False),
    ],
)  # fmt: skip
def test_device_libraries_that_are_newer_than_the_clang_beside_them(
    tmp_path: Path, llvm: str, device: str, reader: str, file: str, found: bool
) -> None:
    clang(tmp_path, llvm, reader)
    device_libraries(tmp_path, device, file)
    expected = [("TOOLCHAIN.BITCODE_NEWER", "error", f"/{llvm}/bin/clang")] if found else []
    assert codes(tmp_path, f"/{llvm}/bin/clang") == expected


def test_libstdcxx_dev_missing_for_newest_gcc(tmp_path: Path) -> None:
    gcc(tmp_path, 13)
    gcc(tmp_path, 9, headers=False)
    assert codes(tmp_path) == []
    gcc(tmp_path, 14, headers=False)
    assert codes(tmp_path) == [("TOOLCHAIN.NO_LIBSTDCXX", "error", f"/{GCC}/14")]
    assert check(read(tmp_path))[0].remedy == "apt-get install libstdc++-14-dev"
    # Before provisioning nothing is an error that the run may repair.
    assert [finding.severity for finding in as_warnings(check(read(tmp_path)))] == ["warning"]
    gcc(tmp_path, 14)
    assert codes(tmp_path) == []


def test_damaged_and_looping_things_are_left_out(tmp_path: Path) -> None:
    libcxx(tmp_path, "usr/lib/llvm-19/include/c++/v1", "none")
    put(tmp_path, "opt/rocm-7/amdgcn/bitcode/ocml.bc", "no bitcode")
    put(tmp_path, "usr/lib/llvm-15/lib/clang/next/include/a.h")
    (tmp_path / "usr/include/c++").mkdir(parents=True)
    (tmp_path / "usr/include/c++/v1").symlink_to("v1")
    (tmp_path / "opt/rocm").symlink_to("rocm")
    assert read(tmp_path) == []


def test_each_hazard_names_a_source() -> None:
    for hazard in HAZARDS:
        assert re.fullmatch(r"https://\S+", hazard.source), hazard.code
