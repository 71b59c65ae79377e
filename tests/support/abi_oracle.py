"""Compares what the package says of ELF objects with what the loader of the same machine says, object by object.

Runs by itself where the package is, in a container too: ``abi_oracle.py PACKAGE_DIRECTORY PATH ...`` prints JSON.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

LD_SO = "/lib64/ld-linux-x86-64.so.2"
_LOADED = re.compile(r"^\t(\S+)(?: => (.+?))? \(0x[0-9a-f]+\)$")
_MISSING = re.compile(r"^\t(\S+) => not found$")
_NODE = re.compile(r"^.*?: (\S+): version `(\S+)' not found \(required by (\S+)\)$")
_SYMBOL = re.compile(r"^undefined symbol: ([^\s,]+)(?:, version (\S+))?\s+\((\S+)\)$")
_FATAL = re.compile(r"error while loading shared libraries: (\S+): (.*)$")


def loader_says(path: str, **environment: str) -> dict[str, list[str]]:
    """Return what ld.so in trace mode, with all symbols bound, says of one object."""
    env = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "1", "LD_BIND_NOW": "1", "LC_ALL": "C", **environment}
    done = subprocess.run([LD_SO, path], capture_output=True, text=True, errors="replace", check=False, env=env)
    said: dict[str, set[str]] = {"loaded": set(), "missing": set(), "nodes": set(), "symbols": set(), "fatal": set()}
    for line in (done.stdout + done.stderr).splitlines():
        if found := _MISSING.match(line):
            said["missing"].add(found[1])
        elif found := _LOADED.match(line):
            said["loaded"].add(os.path.realpath(found[2] or found[1]) if "vdso" not in found[1] else "")
        elif found := _NODE.match(line):
            said["nodes"].add(f"{os.path.realpath(found[3])} {found[2]} {os.path.realpath(found[1])}")
        elif found := _SYMBOL.match(line):
            said["symbols"].add(f"{os.path.realpath(found[3])} {found[1]}{'@' + found[2] if found[2] else ''}")
        elif found := _FATAL.search(line):
            said["fatal"].add(f"{found[1]}: {found[2]}")
    if done.returncode < 0:
        said["fatal"].add(f"signal {-done.returncode}")
    said["loaded"] -= {"", os.path.realpath(path)}
    return {name: sorted(values) for name, values in said.items()}


class Ours:
    """What the package says, in the same form: each object alone, as ld.so is asked."""

    def __init__(self, **environment: str) -> None:
        from halo.abi import check, elf, loader, paths, scope

        self._check, self._error = check, elf.ElfError
        library_path, preload = environment.get("LD_LIBRARY_PATH", ""), environment.get("LD_PRELOAD", "")
        self.loader = loader.Loader(paths.Root(), library_path, preload)
        self._symbols = scope.Symbols()

    def says(self, path: str) -> dict[str, list[str]]:
        """Return it for one object."""
        said: dict[str, set[str]] = {
            name: set() for name in ("loaded", "missing", "nodes", "symbols", "fatal", "unsure")
        }
        closure = self.loader.closure(self.loader.load(path))
        real = {id(found): os.path.realpath(found.path) for found in closure.objects}
        said["loaded"] = set(real.values()) - {os.path.realpath(path)}
        for missing in closure.missing:
            if missing.search.fatal:
                return {**{name: [] for name in said}, "fatal": [missing.search.fatal]}
            said["missing"].add(missing.name)
        self._symbols.learn(found.elf for found in closure.objects)
        for user in closure.objects:
            files = {}
            for file in user.elf.verneed:
                index = closure.names.get(file)
                if index is not None:
                    provider = closure.objects[index]
                    files[file] = provider.elf
                    for node in self._check.missing_nodes(user.elf, provider.elf, file):
                        said["nodes"].add(f"{real[id(user)]} {node} {real[id(provider)]}")
            unresolved = self._symbols.unresolved(user.elf, (found.elf for found in closure.objects), files)
            for name in unresolved.plain:
                said["symbols"].add(f"{real[id(user)]} {name.decode()}")
            for file, names in unresolved.noded.items():
                said["symbols"] |= {f"{real[id(user)]} {name.decode()}" for name in names}
                if file not in files:
                    said["unsure"] |= {f"{real[id(user)]} {name.decode()}" for name in names}
        return {name: sorted(values) for name, values in said.items()}


def objects(loader, paths: list[str]) -> list[str]:
    """Return the paths of all ELF objects at and below some paths."""
    from halo.abi.tables import ElfError
    from halo.abi.walk import Walk

    found = []
    for path in Walk(loader.root).files(paths):
        try:
            loader.load(path)
        except ElfError:
            continue
        found.append(path)
    return found


def compare(paths: list[str], **environment: str) -> tuple[int, list[tuple[str, str, list[str], list[str]]]]:
    """Return how many objects were compared, and for each difference object, field, what ld.so and what we say."""
    ours = Ours(**environment)
    found = objects(ours.loader, paths)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        theirs = pool.map(lambda path: loader_says(path, **environment), found)
        differences = []
        for path, said in zip(found, theirs):  # noqa: B905 - runs on Python 3.9, too
            mine = ours.says(path)
            # Where the library is not there, ld.so names the version of its symbols for some objects, for some not.
            bare = {name.rpartition("@")[0]: name for name in mine.pop("unsure")}
            said["symbols"] = sorted({bare.get(name, name) for name in said["symbols"]})
            if said["fatal"]:
                # ld.so stops at the first thing that is fatal, and says no more.
                if not mine["fatal"]:
                    differences.append((path, "fatal", said["fatal"], mine["fatal"]))
                continue
            for name, values in said.items():
                if values != mine[name]:
                    only = [sorted(set(values) - set(mine[name])), sorted(set(mine[name]) - set(values))]
                    differences.append((path, name, *only))
    return len(found), differences


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    sys.dont_write_bytecode = True
    print(json.dumps(compare(sys.argv[2:])))
