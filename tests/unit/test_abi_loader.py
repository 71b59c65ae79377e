"""Where the loader looks: every arrangement is also given to this machine's ld.so, which must say the same."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from halo.abi import ldcache
from halo.abi.cpu import cpu_levels, cpu_platform
from halo.abi.loader import Loader
from halo.abi.paths import Root

from tests.support import elf_objects
from tests.support.abi_oracle import LD_SO, Ours, loader_says
from tests.support.elf_objects import library, program

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not on this machine")
needs_loader = pytest.mark.skipif(not Path(LD_SO).exists(), reason="there is no glibc for x86-64 on this machine")

RPATH, RUNPATH = "-Wl,--disable-new-dtags,-rpath,", "-Wl,--enable-new-dtags,-rpath,"


def agreed(main: Path, **environment: str) -> dict[str, list[str]]:
    """Return what both say of an object; they must say the same."""
    theirs, ours = loader_says(str(main), **environment), Ours(**environment).says(str(main))
    ours.pop("unsure")
    if theirs["fatal"]:
        assert ours["fatal"], theirs
        return theirs
    assert ours == theirs
    return theirs


def copies(root: Path, *names: str) -> dict[str, Path]:
    return {name: library(root / name / "libx.so", "x") for name in names}


Arrange = Callable[[Path], tuple[Path, dict[str, str], str]]
ARRANGEMENTS: dict[str, Arrange] = {}


def arrangement(function: Arrange) -> Arrange:
    ARRANGEMENTS[function.__name__] = function
    return function


@arrangement
def rpath_beats_library_path(root: Path) -> tuple[Path, dict[str, str], str]:
    one = copies(root, "a", "b")
    main = program(root / "main", "x", f"{RPATH}{root}/a", libraries=[one["a"]])
    return main, {"LD_LIBRARY_PATH": f"{root}/b"}, "a/libx.so"


@arrangement
def library_path_beats_runpath(root: Path) -> tuple[Path, dict[str, str], str]:
    one = copies(root, "a", "b")
    main = program(root / "main", "x", f"{RUNPATH}{root}/a", libraries=[one["a"]])
    return main, {"LD_LIBRARY_PATH": f"{root}/none;{root}/b"}, "b/libx.so"


@arrangement
def rpath_is_inherited(root: Path) -> tuple[Path, dict[str, str], str]:
    one = copies(root, "a")
    middle = library(root / "m" / "libm1.so", "m", uses="x", libraries=[one["a"]])
    main = program(root / "main", "m", f"{RPATH}{root}/a:{root}/m", libraries=[middle])
    return main, {}, "a/libx.so"


@arrangement
def runpath_is_not_inherited(root: Path) -> tuple[Path, dict[str, str], str]:
    one = copies(root, "a")
    middle = library(root / "m" / "libm1.so", "m", uses="x", libraries=[one["a"]])
    main = program(root / "main", "m", f"{RUNPATH}{root}/a:{root}/m", libraries=[middle])
    return main, {}, ""


@arrangement
def a_library_with_runpath_inherits_nothing(root: Path) -> tuple[Path, dict[str, str], str]:
    one = copies(root, "a")
    middle = library(root / "m" / "libm1.so", "m", f"{RUNPATH}{root}/none", uses="x", libraries=[one["a"]])
    main = program(root / "main", "m", f"{RPATH}{root}/a:{root}/m", libraries=[middle])
    return main, {}, ""


@arrangement
def rpath_passes_through_a_library_with_runpath(root: Path) -> tuple[Path, dict[str, str], str]:
    one = copies(root, "a")
    lower = library(root / "m" / "libm2.so", "m2", uses="x", libraries=[one["a"]])
    middle = library(root / "m" / "libm1.so", "m", f"{RUNPATH}{root}/m", uses="m2", libraries=[lower])
    main = program(root / "main", "m", f"{RPATH}{root}/a:{root}/m", libraries=[middle])
    return main, {}, "a/libx.so"


@arrangement
def loaded_by_soname_beats_everything(root: Path) -> tuple[Path, dict[str, str], str]:
    one = copies(root, "a")
    other = library(root / "b" / "other-name.so", "x", soname="libx.so")
    main = program(root / "main", "x", f"{RPATH}{root}/a", libraries=[one["a"]])
    return main, {"LD_PRELOAD": str(other), "LD_LIBRARY_PATH": f"{root}/a"}, "b/other-name.so"


@arrangement
def the_same_file_under_two_names_is_one(root: Path) -> tuple[Path, dict[str, str], str]:
    one = library(root / "a" / "libx.so", "x", soname="")
    (root / "a" / "liby.so").symlink_to("libx.so")
    main = program(root / "main", "x", f"{RPATH}{root}/a", f"-L{root}/a", "-Wl,--no-as-needed", "-lx", "-ly")
    assert one.exists()
    return main, {}, "a/libx.so"


@arrangement
def origin_and_lib_and_platform(root: Path) -> tuple[Path, dict[str, str], str]:
    platforms = {
        name: library(root / f"lib/x86_64-linux-gnu/{name}/libx.so", "x") for name in ("haswell", "x86_64", "xeon_phi")
    }
    path = f"{RUNPATH}$ORIGIN/../${{LIB}}/$PLATFORM"
    main = program(root / "bin" / "main", "x", path, libraries=[platforms["x86_64"]])
    return main, {}, f"{cpu_platform()}/libx.so"


@arrangement
def origin_of_a_library_reached_by_a_link(root: Path) -> tuple[Path, dict[str, str], str]:
    copies(root, "deep/a")
    lower = root / "deep" / "a" / "libx.so"
    library(root / "deep" / "libm1.so", "m", f"{RUNPATH}$ORIGIN/a", uses="x", libraries=[lower])
    (root / "links").mkdir()
    (root / "links" / "libm1.so").symlink_to("../deep/libm1.so")
    main = program(root / "main", "m", f"{RUNPATH}{root}/links", libraries=[root / "deep" / "libm1.so"])
    return main, {}, ""


@arrangement
def a_hwcaps_copy_comes_first(root: Path) -> tuple[Path, dict[str, str], str]:
    level = (cpu_levels() or ("x86-64-v1",))[0]
    one = copies(root, "a", f"a/glibc-hwcaps/{level}", "a/glibc-hwcaps/x86-64-v9")
    main = program(root / "main", "x", f"{RUNPATH}{root}/a", libraries=[one["a"]])
    return main, {}, f"{level}/libx.so" if cpu_levels() else "a/libx.so"


@arrangement
def a_needed_path_is_that_path(root: Path) -> tuple[Path, dict[str, str], str]:
    one = library(root / "a" / "libx.so", "x", soname="")
    main = program(root / "main", "x", libraries=[one])
    return main, {}, "a/libx.so"


@arrangement
def missing_below_a_library(root: Path) -> tuple[Path, dict[str, str], str]:
    gone = library(root / "gone" / "libgone.so", "g")
    middle = library(root / "m" / "libm1.so", "m", uses="g", libraries=[gone])
    main = program(root / "main", "m", f"{RPATH}{root}/m", libraries=[middle])
    return main, {}, ""


@arrangement
def a_dangling_link_is_passed_over(root: Path) -> tuple[Path, dict[str, str], str]:
    one = copies(root, "b")
    (root / "a").mkdir()
    (root / "a" / "libx.so").symlink_to("nowhere")
    return program(root / "main", "x", f"{RUNPATH}{root}/a:{root}/b", libraries=[one["b"]]), {}, "b/libx.so"


@arrangement
def a_library_for_another_machine_is_passed_over(root: Path) -> tuple[Path, dict[str, str], str]:
    one = copies(root, "a", "b")
    data = bytearray(one["a"].read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    one["a"].write_bytes(data)
    return program(root / "main", "x", f"{RUNPATH}{root}/a:{root}/b", libraries=[one["b"]]), {}, "b/libx.so"


@needs_gcc
@needs_loader
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_it_finds_what_the_loader_finds(tmp_path: Path, name: str) -> None:
    main, environment, wanted = ARRANGEMENTS[name](tmp_path)
    said = agreed(main, **environment)
    found = [path for path in said["loaded"] if path.endswith("libx.so") or "other-name" in path]
    assert [path.endswith(wanted) for path in found] == ([True] if wanted else [])
    if not wanted:
        assert said["missing"] in (["libx.so"], ["libgone.so"])


SPOILED = {
    "empty": lambda path: path.write_bytes(b""),
    "a few bytes": lambda path: path.write_text("INPUT(libx.so.1)"),
    "a linker script": lambda path: path.write_text("/* GNU ld script */\nINPUT(libx.so.1)\n" * 4),
    "an object file": lambda path: subprocess.run(
        ["gcc", "-c", "-o", str(path), "-x", "c", "-"], input=b"int x(void) { return 0; }", check=True
    ),
    "a directory": lambda path: (path.unlink(), path.mkdir()),
    "cut in its program headers": lambda path: os.truncate(path, 100),
    "a program": lambda path: program(path, "", "-pie"),
}


@needs_gcc
@needs_loader
@pytest.mark.parametrize("how", SPOILED)
def test_a_spoiled_file_ends_the_search_though_a_good_one_follows(tmp_path: Path, how: str) -> None:
    one = copies(tmp_path, "a", "b")
    main = program(tmp_path / "main", "x", f"{RUNPATH}{tmp_path}/a:{tmp_path}/b", libraries=[one["b"]])
    SPOILED[how](one["a"])
    said = agreed(main)
    assert "libx.so: " in said["fatal"][0]


@needs_gcc
@needs_loader
def test_versions_and_symbols_are_judged_as_the_loader_does(tmp_path: Path) -> None:
    full = library(tmp_path / "full" / "libv.so", nodes={"V_1": ["one"], "V_2": ["two"]})
    user = library(tmp_path / "libuser.so", "u", f"{RUNPATH}{tmp_path}/now", uses="one two three", libraries=[full])
    for nodes, functions in (
        ({"V_1": ["one"], "V_2": ["two"]}, ""),
        ({"V_1": ["one"]}, ""),
        ({"V_1": ["two"], "V_2": ["one"]}, ""),
        ({"V_1": ["zero"], "V_2": ["more"]}, ""),
        ({"V_1": ["one"], "V_2": ["two", "three"]}, ""),
    ):
        shutil.rmtree(tmp_path / "now", ignore_errors=True)
        library(tmp_path / "now" / "libv.so", functions, nodes=nodes)
        main = program(tmp_path / "main", "u", f"{RUNPATH}{tmp_path}", libraries=[user])
        said = agreed(main)
        assert bool(said["nodes"]) == ("V_2" not in nodes)


def test_the_cache_is_read_as_ldconfig_prints_it() -> None:
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if not ldconfig or not Path("/etc/ld.so.cache").exists():
        pytest.skip("there is no ld.so.cache on this machine")
    printed = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True).stdout
    theirs: dict[str, str] = {}
    for line in printed.splitlines()[1:]:
        name, _, rest = line.strip().partition(" (")
        kind, _, path = rest.partition(") => ")
        if kind == "libc6,x86-64":
            theirs.setdefault(name, path)
    ours = ldcache.parse(Path("/etc/ld.so.cache").read_bytes(), ())
    assert len(theirs) > 10
    assert ours == theirs


def cache(entries: list[tuple[int, str, str, int]], hwcaps: list[str]) -> bytes:
    """Make a cache of flags, names, paths and hwcap values."""
    strings, places = b"", {}
    size = 48 + 24 * len(entries)
    for text in [*[text for entry in entries for text in entry[1:3]], *hwcaps]:
        places[text] = size + len(strings)
        strings += text.encode() + b"\0"
    strings += b"\0" * (-len(strings) % 4)
    extension = size + len(strings)
    data = b"glibc-ld.so.cache1.1" + struct.pack("<IIBxxxI12x", len(entries), len(strings), 2, extension)
    data += b"".join(
        struct.pack("<iIIIQ", flags, places[name], places[path], 0, hwcap) for flags, name, path, hwcap in entries
    )
    named = b"".join(struct.pack("<I", places[name]) for name in hwcaps)
    return data + strings + struct.pack("<IIIIII", 0xEAA42174, 1, 1, 0, extension + 24, len(named)) + named


def test_the_cache_prefers_what_the_cpu_can_use() -> None:
    named = 1 << 62
    entries = [
        (0x0303, "libx.so", "/a/x86-64-v2/libx.so", named),
        (0x0303, "libx.so", "/a/x86-64-v3/libx.so", named | 1),
        (0x0303, "libx.so", "/a/libx.so", 0),
        (0x0303, "libx.so", "/b/libx.so", 0),
        (0x0003, "liby.so", "/a32/liby.so", 0),
        (0x0303, "liby.so", "/a/legacy/liby.so", 4),
        (0x0303, "liby.so", "/a/liby.so", 0),
    ]
    data = cache(entries, ["x86-64-v2", "x86-64-v3"])
    assert ldcache.parse(data, ())["libx.so"] == "/a/libx.so"
    assert ldcache.parse(data, ("x86-64-v2",))["libx.so"] == "/a/x86-64-v2/libx.so"
    both = ldcache.parse(data, ("x86-64-v3", "x86-64-v2"))
    assert both == {"libx.so": "/a/x86-64-v3/libx.so", "liby.so": "/a/liby.so"}
    old = b"ld.so-1.7.0\0" + struct.pack("<I", 1) + bytes(12)
    assert ldcache.parse(old + bytes(-len(old) % 8) + data, ())["libx.so"] == "/a/libx.so"
    for end in range(0, len(data), 7):
        ldcache.parse(data[:end], ())


@needs_gcc
def test_below_another_root_nothing_of_this_machine_leaks_in(tmp_path: Path) -> None:
    host = tmp_path / "host"
    library(host / "opt/vendor/lib/libv.so.1", "v")
    library(host / "usr/lib/x86_64-linux-gnu/libd.so.1", "d", soname="libd.so.1")
    (host / "etc/ld.so.conf.d").mkdir(parents=True)
    (host / "etc/ld.so.conf.d/vendor.conf").write_text("# vendor\n/opt/current/lib\n")
    (host / "opt/current").symlink_to("/opt/vendor")
    (host / "lib").symlink_to("usr/lib")
    needed = [host / "opt/vendor/lib/libv.so.1", host / "usr/lib/x86_64-linux-gnu/libd.so.1"]
    library(host / "srv/libuser.so", uses="v d", libraries=[*needed, Path("/usr/lib/x86_64-linux-gnu/libm.so.6")])
    loader = Loader(Root(str(host)))
    closure = loader.closure(loader.load("/srv/libuser.so"))
    assert [found.path for found in closure.objects] == [
        "/srv/libuser.so",
        "/opt/current/lib/libv.so.1",
        "/lib/x86_64-linux-gnu/libd.so.1",
    ]
    assert closure.how[1:] == ["cache", "default"]
    assert [missing.name for missing in closure.missing] == ["libm.so.6"]
    assert loader.glibc == ()


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "up").symlink_to("../../../../../../../../etc")
    (tmp_path / "etc").mkdir()
    root = Root(str(tmp_path))
    with pytest.raises(OSError, match="symbolic links"):
        root.real("/a/x")
    assert root.names("/a") == frozenset()
    assert root.real("/up/passwd") == "/etc/passwd"
    assert root.inside(f"{tmp_path}/etc") == "/etc"
    assert root.inside("/etc") == "/etc"


def test_the_helper_makes_what_it_says(tmp_path: Path) -> None:
    if not shutil.which("gcc"):
        pytest.skip("gcc is not on this machine")
    made = elf_objects.library(tmp_path / "libx.so", "x", soname="liby.so", uses="z")
    printed = subprocess.run(["readelf", "-dWs", str(made)], capture_output=True, text=True, check=True).stdout
    assert "soname: [liby.so]" in printed
    assert "UND z" in printed
