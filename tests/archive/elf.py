"""Compiles tiny ELF files that are true to their description: SONAME, version nodes, what they need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .errors import run

#: What a library needs: SONAME to version node to functions. The node ``""`` is a library without versions.
Needs = Mapping[str, Mapping[str, list[str]]]

_CC = ("gcc", "-O1", "-w", "-fno-stack-protector", "-Wl,--build-id=sha1", "-Wl,--hash-style=gnu")


class Compiler:
    """Compiles each description once.

    Args:
        store: A directory for what was compiled.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self._done: dict[str, bytes] = {}

    def compiled(self, kind: str, spec: Mapping[str, Any]) -> bytes:
        """Return the bytes of the ELF file.

        Args:
            kind: ``elf`` for a shared library, ``program`` for an executable.
            spec: Its description.

        Raises:
            ArchiveError: gcc refuses.
        """
        key = json.dumps([kind, spec], sort_keys=True)
        if key not in self._done:
            with TemporaryDirectory(dir=self._store) as work:
                self._done[key] = (_library if kind == "elf" else _program)(spec, Path(work)).read_bytes()
        return self._done[key]


def version_script(nodes: Mapping[str, list[str]]) -> str:
    """Return the linker's version script for nodes in their order, each the successor of the one before."""
    lines, before = [], ""
    for node, functions in nodes.items():
        hidden = "" if before else " local: *;"
        names = "".join(f" {name};" for name in functions)
        lines.append(f"{node} {{ {f'global:{names}' if names else ''}{hidden} }}{before};")
        before = f" {node}"
    return "\n".join(lines) + "\n"


def _library(spec: Mapping[str, Any], work: Path) -> Path:
    nodes: Mapping[str, list[str]] = spec.get("nodes", {})
    functions = [name for names in nodes.values() for name in names]
    source = "".join(f"int {name}(void) {{ return {int(spec.get('returns', 0))}; }}\n" for name in functions)
    needs: Needs = spec.get("needs", {})
    used = [name for versions in needs.values() for names in versions.values() for name in names]
    if used:
        # Called, so that the symbol has a relocation: the dynamic linker looks up nothing else.
        source += "".join(f"int {name}(void);\n" for name in used)
        calls = " + ".join(f"{name}()" for name in used)
        source += f"__attribute__((used)) static int uses(void) {{ return {calls}; }}\n"
    options = [f"-Wl,-soname,{spec['soname']}"]
    if set(nodes) - {""}:
        (work / "versions").write_text(version_script(nodes), encoding="utf-8")
        options.append(f"-Wl,--version-script={work / 'versions'}")
    return _link(source, ["-shared", "-fPIC", *options], needs, spec.get("runpath"), work)


def _program(spec: Mapping[str, Any], work: Path) -> Path:
    return _link(spec["source"], [], spec.get("needs", {}), spec.get("runpath"), work)


def _link(source: str, options: list[str], needs: Needs, runpath: str | None, work: Path) -> Path:
    (work / "source.c").write_text(source, encoding="utf-8")
    if runpath:
        options = [*options, f"-Wl,--enable-new-dtags,-rpath,{runpath}"]
    stubs = [_stub(soname, nodes, work) for soname, nodes in needs.items()]
    out = work / "out"
    command: list[str | Path] = [
        *_CC,
        *options,
        "-o",
        out,
        work / "source.c",
        "-Wl,--no-as-needed",
        *stubs,
        "-Wl,--as-needed",
    ]
    run([*command, "-Wl,--allow-shlib-undefined"])
    return out


def _stub(soname: str, nodes: Mapping[str, list[str]], work: Path) -> Path:
    """Return a library to link against in place of the one that will be there at run time."""
    directory = work / f"stub-{soname}"
    directory.mkdir()
    built = _library({"soname": soname, "nodes": nodes}, directory)
    return built.rename(directory / soname)
