"""Compiles small shared objects and programs for tests of the loader, each in one call."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.archive.elf import version_script

_CC = ("gcc", "-O1", "-w", "-fno-stack-protector", "-fno-asynchronous-unwind-tables")


def library(
    path: Path,
    functions: str = "",
    *options: str,
    soname: str | None = None,
    uses: str = "",
    libraries: Sequence[Path] = (),
    nodes: Mapping[str, list[str]] | None = None,
    libc: bool = False,
    source: str = "",
) -> Path:
    """Make a shared object that defines functions, calls others, and needs libraries in their order.

    Args:
        path: Where it goes; its directory is made.
        functions: Names of functions to define, separated by blanks.
        options: More for gcc.
        soname: DT_SONAME; the file's name by default, none if empty.
        uses: Names of functions to call, so that each has a relocation.
        libraries: Objects to need, wanted or not.
        nodes: Version nodes to functions, which are defined, too.
        libc: Whether it is linked with the C library.
        source: C code to go with it.
    """
    names = [*functions.split(), *(name for names in (nodes or {}).values() for name in names)]
    extra = [f"-Wl,-soname,{soname if soname is not None else path.name}"] if soname != "" else []
    if nodes:
        script = path.with_suffix(".map")
        path.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(version_script(nodes))
        extra.append(f"-Wl,--version-script={script}")
    if not libc:
        extra.append("-nostdlib")
    return _link(path, source + _source(names, uses), ["-shared", "-fPIC", *extra, *options], libraries)


def program(path: Path, uses: str = "", *options: str, libraries: Sequence[Path] = ()) -> Path:
    """Make a program that calls functions, and needs libraries in their order."""
    return _link(path, _source([], uses) + "int main(void) { return 0; }\n", list(options), libraries)


def _source(names: Sequence[str], uses: str) -> str:
    source = "".join(f"int {name}(void) {{ return 0; }}\n" for name in names)
    if uses:
        source += "".join(f"int {name}(void);\n" for name in uses.split())
        calls, caller = " + ".join(f"{name}()" for name in uses.split()), "_".join(uses.split())
        source += f"__attribute__((used)) int uses_{caller}(void) {{ return {calls}; }}\n"
    return source


def _link(path: Path, source: str, options: list[str], libraries: Sequence[Path]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [
        *_CC,
        *options,
        "-o",
        str(path),
        "-x",
        "c",
        "-",
        "-x",
        "none",
        "-Wl,--allow-shlib-undefined,--unresolved-symbols=ignore-all",
        "-Wl,--no-as-needed",
        *map(str, libraries),
    ]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path
