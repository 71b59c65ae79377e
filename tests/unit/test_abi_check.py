"""Whole checks of small trees: what is wrong is said with its cause, and what only looks wrong is not."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from halo.abi import glue, releases
from halo.abi.cpu import cpu_levels
from halo.abi.model import Problem, Result
from halo.abi.run import Request, RequestError, check

from tests.support.elf_objects import library, program

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not on this machine")

RUNPATH = "-Wl,--enable-new-dtags,-rpath,"
HIP = {"hip_4.2": ["hipMalloc", "hipFree"], "hip_6.0": ["hipGetDevicePropertiesR0600"]}
USED = "hipMalloc hipFree hipGetDevicePropertiesR0600"


def checked(*paths: Path, **options: Any) -> Result:
    environment = {name: str(options.pop(name)) for name in ("LD_LIBRARY_PATH", "LD_PRELOAD") if name in options}
    return check(Request([str(path) for path in paths], environment=environment, **options))


def bad(result: Result) -> list[tuple[str, str]]:
    """Return code and object's name of errors and warnings."""
    return [(one.code, Path(one.object).name) for one in result.problems if one.severity != "info"]


def codes(result: Result) -> dict[str, Problem]:
    return {one.code: one for one in result.problems}


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """Give a module that was linked with a whole HIP runtime and finds it in ``rocm``."""
    whole = library(tmp_path / "whole" / "libamdhip64.so.7", nodes=HIP)
    return library(tmp_path / "app" / "libapp.so", "a", f"{RUNPATH}{tmp_path}/rocm", uses=USED, libraries=[whole])


def test_a_whole_runtime_is_fine(app: Path, tmp_path: Path) -> None:
    library(tmp_path / "rocm" / "libamdhip64.so.7", nodes=HIP)
    result = checked(app)
    assert result.problems == []
    assert result.counts["objects"] == 1


def test_a_missing_library_is_named_with_where_it_was_looked_for(app: Path, tmp_path: Path) -> None:
    library(tmp_path / "rocm" / "libamdhip64.so.6", nodes=HIP)
    result = checked(app, tmp_path / "rocm")
    (one,) = result.problems
    assert (one.code, one.severity, one.object, one.needed) == (
        "ABI.LIBRARY_MISSING",
        "error",
        str(app),
        "libamdhip64.so.7",
    )
    assert f"RUNPATH: {tmp_path}/rocm" in one.looked
    assert f"{tmp_path}/rocm/libamdhip64.so.6" in one.found
    assert result.counts["consequences"] == 3, "its symbols are not told as well"


def test_a_missing_node_is_told_with_the_newest_that_is_there_and_once(app: Path, tmp_path: Path) -> None:
    library(tmp_path / "rocm" / "libamdhip64.so.7", nodes={"hip_4.2": HIP["hip_4.2"]})
    (one,) = checked(app).problems
    assert (one.code, one.severity, one.needed) == ("ABI.NODE_MISSING", "error", "hip_6.0 (ROCm 6.0)")
    assert f"{tmp_path}/rocm/libamdhip64.so.7 (found by RUNPATH) has hip_4.2" in one.found


def test_a_symbol_missing_although_its_node_is_there_names_the_provider(app: Path, tmp_path: Path) -> None:
    library(tmp_path / "rocm" / "libamdhip64.so.7", nodes={"hip_4.2": ["hipMalloc"], "hip_6.0": ["other"]})
    (one,) = checked(app).problems
    assert (one.code, one.severity) == ("ABI.SYMBOL_MISSING", "error")
    assert one.symbols == ("hipFree@hip_4.2", "hipGetDevicePropertiesR0600@hip_6.0")
    assert one.found.startswith(f"{tmp_path}/rocm/libamdhip64.so.7 (found by RUNPATH)")


def test_a_stub_without_a_version_table_aborts_glibc_until_2_40(app: Path, tmp_path: Path) -> None:
    stub = library(tmp_path / "rocm" / "libamdhip64.so.7", USED)
    result = checked(app)
    (one,) = result.problems
    assert one.code == "ABI.NO_VERSIONS"
    assert one.severity == ("error" if tuple(map(int, result.glibc.split("."))) < (2, 41) else "info")
    assert str(stub) in one.found


def test_a_library_with_the_right_name_and_no_symbols(app: Path, tmp_path: Path) -> None:
    library(tmp_path / "rocm" / "libamdhip64.so.7")
    result = checked(app)
    assert {one.code for one in result.problems if one.severity == "error"} == {"ABI.SYMBOL_MISSING"}
    assert sum(len(one.symbols) for one in result.problems) == 3


def test_a_file_for_another_machine_in_front_is_passed_over(tmp_path: Path) -> None:
    good, other = library(tmp_path / "b/libx.so", "x"), library(tmp_path / "a/libx.so", "x")
    data = bytearray(other.read_bytes())
    data[4] = 1
    other.write_bytes(data)
    main = program(tmp_path / "main", "x", f"{RUNPATH}{tmp_path}/a:{tmp_path}/b", libraries=[good])
    result = checked(main)
    assert bad(result) == []
    assert "ELFCLASS32" in codes(result)["ABI.PASSED_OVER"].found


def test_an_empty_file_in_front_is_an_error_although_a_good_one_follows(tmp_path: Path) -> None:
    good = library(tmp_path / "b/libx.so", "x")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/libx.so").touch()
    main = program(tmp_path / "main", "x", f"{RUNPATH}{tmp_path}/a:{tmp_path}/b", libraries=[good])
    (one,) = checked(main).problems
    assert (one.code, one.severity) == ("ABI.LIBRARY_UNUSABLE", "error")
    assert f"{tmp_path}/a/libx.so: file too short" in one.found
    assert f"{tmp_path}/a/libx.so" in one.remedy


def test_a_cut_library_is_damaged(tmp_path: Path) -> None:
    whole = library(tmp_path / "libx.so", "x", source="static int big[4000] = {1}; int *get(void) { return big; }")
    os.truncate(whole, whole.stat().st_size // 2)
    result = checked(tmp_path)
    assert bad(result) == [("ABI.DAMAGED", "libx.so")]


def test_what_uses_hip_and_names_no_library_for_it(tmp_path: Path) -> None:
    (one,) = checked(library(tmp_path / "_prng.so", "p", uses="hipGetLastError hipMalloc")).problems
    assert (one.code, one.severity) == ("ABI.UNDERLINKED", "error")
    assert one.symbols == ("hipGetLastError", "hipMalloc")
    assert "libamdhip64" in one.remedy


def test_a_plugin_of_a_program_is_no_error(tmp_path: Path) -> None:
    result = checked(library(tmp_path / "plugin.so", "p", uses="host_register host_log"))
    assert bad(result) == []
    assert codes(result)["ABI.HOST_SYMBOLS"].symbols == ("host_log", "host_register")


def outdated(root: Path) -> Path:
    """Make a program that was linked with a library which has lost a function since."""
    before = library(root / "before/libown.so", "nobody_has_this")
    library(root / "now/libown.so", "other")
    return program(root / "app/main", "nobody_has_this", f"{RUNPATH}{root}/now", libraries=[before])


def test_a_program_without_a_symbol_is_an_error(tmp_path: Path) -> None:
    (one,) = checked(outdated(tmp_path)).problems
    assert (one.code, one.severity, one.symbols) == ("ABI.SYMBOL_MISSING", "error", ("nobody_has_this",))


def test_a_cxx_symbol_that_its_library_has_no_more_is_an_error(tmp_path: Path) -> None:
    old = library(tmp_path / "old/libtorch.so", "_ZN3c104kept _ZN3c104gone")
    user = library(
        tmp_path / "_C.so", "c", f"{RUNPATH}{tmp_path}/new", uses="_ZN3c104kept _ZN3c104gone", libraries=[old]
    )
    library(tmp_path / "new/libtorch.so", "_ZN3c104kept")
    (one,) = checked(user).problems
    assert (one.code, one.severity, one.symbols) == ("ABI.SYMBOL_MISSING", "error", ("_ZN3c104gone",))
    assert f"{tmp_path}/new/libtorch.so" in one.found


def test_what_programs_bring_is_no_fault_of_a_library(tmp_path: Path) -> None:
    lower = library(tmp_path / "lib/liblower.so", "low")
    middle = library(tmp_path / "lib/libmiddle.so", "mid", uses="low extra", libraries=[lower])
    extra = library(tmp_path / "lib/libextra.so", "extra")
    main = program(
        tmp_path / "main", "mid", f"-Wl,--disable-new-dtags,-rpath,{tmp_path}/lib", libraries=[middle, extra]
    )
    alone = checked(middle)
    assert codes(alone)["ABI.LIBRARY_MISSING"].needed == "liblower.so"
    together = checked(main, middle)
    assert together.problems == []
    assert together.counts["met_by_loader"] == 2


def test_a_fault_below_is_told_once_with_the_chain(tmp_path: Path) -> None:
    gone = library(tmp_path / "gone/libgone.so", "g")
    middle = library(tmp_path / "lib/libmiddle.so", "mid", uses="g", libraries=[gone])
    options = f"-Wl,--disable-new-dtags,-rpath,{tmp_path}/lib"
    mains = [program(tmp_path / f"main{number}", "mid", options, libraries=[middle]) for number in range(3)]
    (one,) = checked(*mains).problems
    assert (one.object, one.needed, one.processes) == (str(middle), "libgone.so", 3)
    assert one.chain == (str(mains[0]), str(middle))


def test_a_library_of_the_same_package_needs_its_preload(tmp_path: Path) -> None:
    site = tmp_path / "venv/lib/python3.12/site-packages"
    engine = library(site / "triton/_C/libtriton.so", "t")
    plugin = library(site / "triton/plugins/plugin.so", "p", f"{RUNPATH}/project/build", uses="t", libraries=[engine])
    assert bad(checked(site)) == []
    assert codes(checked(site))["ABI.NEEDS_PRELOAD"].found == str(engine)
    # Asked about alone, its environment is not searched for what it may have loaded.
    assert bad(checked(plugin)) == [("ABI.LIBRARY_MISSING", "plugin.so")]


def test_what_rocm_sdk_preloads_is_there(tmp_path: Path) -> None:
    site = tmp_path / "venv/lib/python3.12/site-packages"
    hip = library(site / "_rocm_sdk_core/lib/libamdhip64.so.7", nodes=HIP)
    module = library(site / "torch/lib/libtorch_hip.so", "t", uses=USED, libraries=[hip])
    assert bad(checked(module)) == []
    shutil.rmtree(site / "_rocm_sdk_core")
    assert bad(checked(module)) == [("ABI.LIBRARY_MISSING", "libtorch_hip.so")]


def test_builds_for_other_hardware_may_miss_their_libraries(tmp_path: Path) -> None:
    absent = library(tmp_path / "gone/libcudart.so.12", "c")
    blas = library(tmp_path / "gone/libhipblas.so.2", "h")
    here = library(tmp_path / "bnb/libhipblas.so.3", "h")
    library(tmp_path / "bnb/libbitsandbytes_cuda121.so", "b", uses="c", libraries=[absent])
    library(tmp_path / "bnb/libbitsandbytes_rocm64.so", "b", uses="h", libraries=[blas])
    good = library(tmp_path / "bnb/libbitsandbytes_rocm72.so", "b", f"{RUNPATH}$ORIGIN", uses="h", libraries=[here])
    assert bad(checked(tmp_path / "bnb")) == []
    good.unlink()
    assert bad(checked(tmp_path / "bnb")) == [("ABI.LIBRARY_MISSING", "libbitsandbytes_rocm64.so")]


def test_a_drivers_library_is_not_asked_for(tmp_path: Path) -> None:
    driver = library(tmp_path / "gone/libcuda.so.1", "cuInit")
    assert bad(checked(library(tmp_path / "libx.so", "x", uses="cuInit", libraries=[driver]))) == []


def test_weak_symbols_and_test_helpers(tmp_path: Path) -> None:
    weak = "int perhaps(void) __attribute__((weak)); int asks(void) { return perhaps ? perhaps() : 0; }"
    assert checked(library(tmp_path / "libx.so", source=weak)).problems == []
    gone = library(tmp_path / "gone/libgone.so", "g")
    helper = program(tmp_path / "torch/bin/test_shim", "g", libraries=[gone])
    (one,) = checked(helper).problems
    assert (one.code, one.severity) == ("ABI.LIBRARY_MISSING", "warning")


def test_an_executable_stack_is_refused_from_2_41(tmp_path: Path) -> None:
    made = library(tmp_path / "libx.so", "x", "-Wl,-z,execstack")
    result = checked(made)
    (one,) = result.problems
    assert one.code == "ABI.EXECUTABLE_STACK"
    assert one.severity == ("error" if tuple(map(int, result.glibc.split("."))) >= (2, 41) else "warning")
    # That of a root decides, not that of this machine.
    for version, severity in (("2.40", "warning"), ("2.41", "error")):
        host = tmp_path / version
        nodes = {f"GLIBC_{version}": ["abort"]}
        library(host / "usr/lib/x86_64-linux-gnu/libc.so.6", nodes=nodes, soname="libc.so.6")
        shutil.copy(made, host / "libx.so")
        (one,) = check(Request(["/libx.so"], str(host))).problems
        assert (one.code, one.severity) == ("ABI.EXECUTABLE_STACK", severity)


def test_a_cpu_that_is_too_old_is_told_as_the_loader_tells_it(tmp_path: Path) -> None:
    made = library(tmp_path / "libx.so", "x", "-Wl,-z,x86-64-v4")
    has = 1 + len(cpu_levels())
    assert bad(checked(made)) == ([("ABI.CPU", "libx.so")] if has < 4 else [])
    # In trace mode ld.so does not look.
    loads = [sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", str(made)]
    refused = subprocess.run(loads, capture_output=True, text=True, check=False).stderr
    assert ("CPU ISA level is lower than required" in refused) == (has < 4)
    assert checked(library(tmp_path / "liby.so", "y", "-Wl,-z,x86-64-baseline")).problems == []


def test_a_search_path_that_anybody_can_fill(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    left_over = library(tmp_path / "liba.so", "a", f"{RUNPATH}{tmp_path}/open/build/lib:{tmp_path}/absent")
    (one,) = checked(left_over).problems
    assert (one.code, one.severity) == ("ABI.SEARCH_PATH_OPEN", "warning")
    assert one.found.endswith(f"{tmp_path}/open")
    (one,) = checked(library(tmp_path / "libb.so", "b", f"{RUNPATH}/opt/rocm/lib:")).problems
    assert (one.code, one.severity) == ("ABI.SEARCH_PATH_OPEN", "info")


def test_two_copies_in_one_process(tmp_path: Path) -> None:
    first = library(tmp_path / "a/libamdhip64.so.6", "one")
    second = library(tmp_path / "b/libamdhip64.so", "two", soname="libamdhip64.so.7")
    user = library(tmp_path / "libu.so", uses="two", libraries=[second])
    main = program(
        tmp_path / "main",
        "one",
        f"-Wl,--disable-new-dtags,-rpath,{tmp_path}/a:{tmp_path}/b:{tmp_path}",
        libraries=[first, user],
    )
    (tmp_path / "b/libamdhip64.so").rename(tmp_path / "b/libamdhip64.so.7")
    (one,) = checked(main).problems
    assert (one.code, one.severity) == ("ABI.TWO_COPIES", "warning")
    assert f"{main} > {first}" in one.found
    assert f"{tmp_path}/b/libamdhip64.so.7" in one.found


def test_a_copy_in_front_of_the_own_one(app: Path, tmp_path: Path) -> None:
    library(tmp_path / "rocm" / "libamdhip64.so.7", nodes=HIP)
    library(tmp_path / "old" / "libamdhip64.so.7", nodes={"hip_4.2": HIP["hip_4.2"]})
    assert checked(app).problems == []
    result = checked(app, tmp_path / "rocm", LD_LIBRARY_PATH=tmp_path / "old")
    errors = [one for one in result.problems if one.severity == "error"]
    assert [(one.code, one.needed) for one in errors] == [("ABI.WRONG_COPY", "hip_6.0")]
    assert f"{tmp_path}/old/libamdhip64.so.7 (found by LD_LIBRARY_PATH)" in errors[0].found
    assert f"{tmp_path}/rocm/libamdhip64.so.7 has hip_6.0" in errors[0].found
    assert ("ABI.WRONG_COPY", "libapp.so") in bad(result)
    assert checked(app, LD_PRELOAD=tmp_path / "rocm/libamdhip64.so.7", LD_LIBRARY_PATH=tmp_path / "old").problems == []


def extension(path: Path, uses: str) -> Path:
    return library(path, "PyInit_x", uses=uses)


def test_an_extension_is_judged_with_its_interpreter(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    python = program(venv / "bin/python3.12", "", "-rdynamic", libraries=[])
    source = "int PyLong_FromLong(void) { return 0; } int main(void) { return 0; }"
    subprocess.run(["gcc", "-rdynamic", "-o", str(python), "-x", "c", "-"], input=source.encode(), check=True)
    site = venv / "lib/python3.12/site-packages"
    tag = "cpython-312-x86_64-linux-gnu.so"
    fits = extension(site / f"fits.{tag}", "PyLong_FromLong")
    other = extension(site / f"other.{tag}", "PyLong_FromLong _PyCode_GetExtra")
    assert bad(checked(fits)) == []
    (one,) = checked(site).problems
    assert (one.code, one.severity, one.object) == ("ABI.OTHER_PYTHON", "error", str(other))
    assert one.symbols == ("_PyCode_GetExtra",)
    assert str(python) in one.found
    assert bad(checked(fits, interpreter=str(python))) == []
    # Where no interpreter of its version is known, its symbols are counted.
    lonely = extension(tmp_path / "unpacked/x.cpython-399-x86_64-linux-gnu.so", "PyLong_FromLong")
    result = checked(lonely)
    assert bad(result) == []
    assert result.counts["symbols_of_unknown_python"] == 1


def test_a_setuid_program_takes_nothing_from_the_environment(tmp_path: Path) -> None:
    one = library(tmp_path / "a/libx.so", "x")
    main = program(tmp_path / "main", "x", libraries=[one])
    assert checked(main, LD_LIBRARY_PATH=tmp_path / "a").problems == []
    main.chmod(0o4755)
    assert bad(checked(main, LD_LIBRARY_PATH=tmp_path / "a")) == [("ABI.LIBRARY_MISSING", "main")]


def test_bad_input_is_counted_and_never_waited_for(tmp_path: Path) -> None:
    library(tmp_path / "libx.so", "x")
    os.link(tmp_path / "libx.so", tmp_path / "hard")
    (tmp_path / "libx.so.1").symlink_to("libx.so")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "up").symlink_to("..")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "code.py").write_text("pass\n")
    (tmp_path / "libempty.so").touch()
    result = checked(tmp_path)
    assert {name: count for name, count in result.counts.items() if count} == {
        "files": 5,
        "objects": 1,
        "left_out_foreign": 1,
        "left_out_link": 4,
        "left_out_name": 1,
        "left_out_short": 1,
        "left_out_special": 1,
        "left_out_twice": 1,
    }
    assert bad(result) == [("ABI.DAMAGED", "libempty.so")]


def test_a_directory_with_very_many_files(tmp_path: Path) -> None:
    count = 200_000 if os.environ.get("HALO_SOAK") else 20_000
    for number in range(count):
        (tmp_path / f"{number}").touch()
    result = checked(tmp_path)
    assert (result.counts["files"], result.counts["left_out_short"], result.problems) == (count, count, [])


def test_a_root_without_glibc_says_so(tmp_path: Path) -> None:
    library(tmp_path / "srv/libx.so", "x", libc=True)
    result = check(Request(["/srv"], str(tmp_path)))
    assert bad(result) == [("ABI.LIBRARY_MISSING", "libx.so")]
    assert "ABI.NO_GLIBC" in codes(result)


def test_names_of_any_bytes_can_be_printed(tmp_path: Path) -> None:
    made = library(tmp_path / os.fsdecode(b"lib\xff\x1b[31m.so"), "x", soname="", uses="hipMalloc")
    data = made.read_bytes()
    made.write_bytes(data.replace(b"hipMalloc", b"hip\xffa\x1boc"))
    needs = library(tmp_path / "libn.so", libraries=[library(tmp_path / "gone/libgone.so")])
    needs.write_bytes(needs.read_bytes().replace(b"libgone", b"lib\x07on\xfe"))
    shutil.rmtree(tmp_path / "gone")
    params = {name: spec.get("default") for name, spec in glue.CHECK_ARGUMENTS.items()}
    answer = glue.abi_check({**params, "paths": [str(tmp_path)]})
    assert len(answer["problems"]) == 2
    for one in answer["problems"]:
        assert all(text.isprintable() for text in (one["object"], one["needed"], one["found"], *one["symbols"]))
    assert answer["msg"].encode().replace(b"\n", b"").decode().isprintable()
    assert any(one["needed"] == r"lib\x07on\udcfe.so" for one in answer["problems"])


def test_damaged_objects_among_good_ones_never_end_a_check(tmp_path: Path) -> None:
    seed = int(os.environ.get("HALO_SEED") or time.time())
    count = int(os.environ.get("HALO_COUNT") or (1000 if os.environ.get("HALO_SOAK") else 60))
    print(f"HALO_SEED={seed} HALO_COUNT={count}")
    chance, tree = random.Random(seed), tmp_path / "tree"  # noqa: S311
    whole = library(tree / "libamdhip64.so.7", nodes=HIP)
    library(tree / "libapp.so", "a", f"{RUNPATH}$ORIGIN", uses=USED, libraries=[whole])
    library(
        tree / "_C.cpython-312-x86_64-linux-gnu.so",
        "PyInit",
        f"{RUNPATH}$ORIGIN",
        uses=f"{USED} PyX",
        libraries=[whole],
    )
    program(tree / "main", "hipMalloc", f"{RUNPATH}$ORIGIN", libraries=[whole, tree / "libapp.so"])
    originals = {path: path.read_bytes() for path in tree.iterdir() if path.suffix != ".map"}
    params = {name: spec.get("default") for name, spec in glue.CHECK_ARGUMENTS.items()}
    found = set()
    for _ in range(count):
        for path, content in originals.items():
            data = bytearray(content)
            for _ in range(chance.choice((0, 1, 3, 20))):
                data[chance.randrange(min(len(data), 0x4000))] = chance.randrange(256)
            path.write_bytes(data[: chance.randrange(len(data))] if chance.random() < 0.1 else data)
        answer = glue.abi_check({**params, "paths": [str(tree)], "library_path": [str(tree)]})
        json.dumps(answer).encode()
        answer["msg"].encode()
        found |= {one["code"] for one in answer["problems"]}
    # Which other ones it is depends on the seed.
    assert {"ABI.DAMAGED"} < found, "the damage is of several kinds"


def test_a_request_that_cannot_be_carried_out(tmp_path: Path) -> None:
    for request in (
        Request([str(tmp_path / "absent")]),
        Request(["/usr/lib"], interpreter=str(tmp_path)),
        Request(["/usr/lib"], interpreter="/etc/passwd"),
        Request(["/usr/lib"], environment={"LD_LIBRARY_PATHS": "/x"}),
    ):
        with pytest.raises(RequestError):
            check(request)


def test_the_order_and_the_answer_are_the_same_each_time(app: Path, tmp_path: Path) -> None:
    outdated(tmp_path)
    params = {name: spec.get("default") for name, spec in glue.CHECK_ARGUMENTS.items()}
    first, second = (glue.abi_check({**params, "paths": [str(tmp_path / "app")]}) for _ in range(2))
    assert first["failed"]
    assert [one["code"] for one in first["findings"]] == ["ABI.LIBRARY_MISSING", "ABI.SYMBOL_MISSING", "ABI.CHECKED"]
    assert first["problems"] == second["problems"]
    ignoring = glue.abi_check({**params, "paths": [str(tmp_path / "app")], "ignore": ["*/libapp.so", "*/main"]})
    assert (ignoring["failed"], ignoring["counts"]["ignored"]) == (False, 2)
    wrong = glue.abi_check({**params, "paths": [str(tmp_path / "absent")]})
    assert [one["code"] for one in wrong["findings"]] == ["ABI.REQUEST_INVALID"]


@pytest.mark.parametrize(
    ("node", "release"),
    [
        ("GLIBC_2.38", "glibc 2.38"),
        ("GLIBC_2.2.5", "glibc 2.2"),
        ("GLIBCXX_3.4.32", "libstdc++ of GCC 13.2"),
        ("CXXABI_1.3.15", "libstdc++ of GCC 14"),
        ("hip_6.0", "ROCm 6.0"),
        ("GLIBC_PRIVATE", ""),
        ("AMDROCM_SYSDEPS_1.0", ""),
    ],
)
def test_nodes_are_told_with_their_release(node: str, release: str) -> None:
    assert releases.origin(node) == release


def test_the_newest_node_is_of_the_same_family() -> None:
    defined = frozenset({"GLIBC_2.9", "GLIBC_2.36", "GLIBC_PRIVATE", "GLIBCXX_3.4.30"})
    assert releases.newest("GLIBC_2.38", defined) == "GLIBC_2.36"
    assert releases.newest("hip_6.0", defined) == ""


def test_this_machines_own_libraries_have_no_errors() -> None:
    result = checked(Path("/usr/lib/x86_64-linux-gnu"))
    assert [one for one in result.problems if one.severity == "error"] == []
    assert result.counts["objects"] > 20


def test_the_command(app: Path, tmp_path: Path) -> None:
    def halo(*words: str) -> tuple[int, str, str]:
        environment = {"PYTHONPATH": str(Path(__file__).parents[2] / "module_utils"), "PATH": "/usr/bin:/bin"}
        command = [sys.executable, "-m", "halo", "abi", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    status, out, _ = halo(str(app))
    assert status == 1
    assert "ERROR ABI.LIBRARY_MISSING" in out
    assert "1 objects of 1 files" in out
    library(tmp_path / "rocm" / "libamdhip64.so.7", nodes=HIP)
    status, out, _ = halo(str(app), "--json")
    assert (status, '"objects": 1' in out) == (0, True)
    assert halo(str(tmp_path / "absent"))[0] == 2
    assert "NAME=VALUE" in halo(str(app), "--env", "nonsense")[2]
    assert halo(str(app), "--root", str(tmp_path / "absent"))[0] == 2
