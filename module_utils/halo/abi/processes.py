"""Judges objects by themselves, and which copies of libraries come together in a process."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator

from . import releases
from .check import GLIBC_2_41, Check
from .closure import Object
from .model import Case
from .paths import Root

_EXECUTABLE = 1


def judge(check: Check) -> None:
    """Add the problems to the check's result."""
    if not check.loader.glibc:
        text = "there is no libc.so.6 of glibc for x86-64, so that whatever needs it is reported as missing it"
        check.problem("ABI.NO_GLIBC", "info", check.loader.root.top or "/", "", text, "")
    _files(check)
    told: set[tuple[object, ...]] = set()
    for case in check.gathered.cases:
        _copies(check, case, told)
        _passed_over(check, case, told)
        _shadowed(check, case, told)


def _files(check: Check) -> None:
    seen = set()
    for case in check.gathered.cases:
        for found in case.closure.objects:
            if found.elf.identity in seen:
                continue
            seen.add(found.elf.identity)
            if found.elf.cut > 0:
                remedy = f"install it again: dpkg -S {found.path} names the package"
                text = f"it ends {found.elf.cut} bytes before its last segment; the loader dies of SIGBUS"
                check.problem("ABI.DAMAGED", "error", found.path, "its whole contents", text, remedy)
            if not found.elf.program and (found.elf.stack is None or found.elf.stack & _EXECUTABLE):
                _stack(check, found)
            if found.elf.isa > check.loader.isa:
                text = f'this CPU has x86-64-v{check.loader.isa}; the loader ends with "CPU ISA level is lower"'
                remedy = f"take a build for x86-64-v{check.loader.isa}"
                check.problem("ABI.CPU", "error", found.path, f"x86-64-v{found.elf.isa}", text, remedy)
            _search_path(check, found)


def _stack(check: Check, found: Object) -> None:
    refused = check.loader.glibc >= GLIBC_2_41
    does = "refuses to load it with dlopen" if refused else "allows it; 2.41 and later refuse it"
    text = f"glibc {check.result.glibc} {does}"
    remedy = f"patchelf --clear-execstack {found.path}, or GLIBC_TUNABLES=glibc.rtld.execstack=2 for the process"
    severity = "error" if refused else "warning"
    check.problem("ABI.EXECUTABLE_STACK", severity, found.path, "an executable stack", text, remedy)


def _search_path(check: Check, found: Object) -> None:
    """Note where others can put a library that is then loaded: a build's path that is left over, mostly."""
    text = found.elf.runpath or found.elf.rpath
    if text and not all(part.startswith(("/", "$")) for part in text.split(":")):
        shown = "it looks in the directory in which the program is started"
        check.problem("ABI.SEARCH_PATH_OPEN", "info", found.path, f"RUNPATH {text}", shown, "")
    for directory in (*found.rpath, *(found.runpath or ())):
        if exposed := check.loader.root.exposed(directory):
            remedy = f"patchelf --set-rpath without {directory} {found.path}, or chmod o-w {exposed}"
            shown = f"everybody may write to {exposed}"
            check.problem("ABI.SEARCH_PATH_OPEN", "warning", found.path, f"RUNPATH {directory}", shown, remedy)


def _copies(check: Check, case: Case, told: set[tuple[object, ...]]) -> None:
    for what, found in _twice(case):
        key = (what, *(one.elf.identity for one in found))
        if key not in told:
            told.add(key)
            chains = [" > ".join(case.closure.chain(case.closure.known[one.elf.identity])) for one in found]
            text = f"{what} is in one process {len(found)} times: {'; '.join(chains)}"
            remedy = "let all objects find one copy: make their RUNPATH, or LD_LIBRARY_PATH, name one directory"
            check.problem("ABI.TWO_COPIES", "warning", case.object.path, what, text, remedy)


def _twice(case: Case) -> Iterator[tuple[str, list[Object]]]:
    """Yield what a process must not have twice, and the objects that are in it."""
    groups: dict[str, list[Object]] = defaultdict(list)
    for loaded in case.closure.objects:
        what = releases.ONCE.get(releases.stem(loaded.elf.soname))
        if what:
            groups[what].append(loaded)
    for what, found in groups.items():
        if len(found) > 1:
            yield what, found


def _passed_over(check: Check, case: Case, told: set[tuple[object, ...]]) -> None:
    for index, name, skipped in case.closure.skipped:
        if (name, skipped) not in told:
            told.add((name, skipped))
            check.problem("ABI.PASSED_OVER", "info", case.closure.objects[index].path, name, skipped, "")


def _shadowed(check: Check, case: Case, told: set[tuple[object, ...]]) -> None:
    """Note where LD_LIBRARY_PATH or a preload takes the place of the copy that an object's own RUNPATH names."""
    closure = case.closure
    for user in closure.objects:
        for name in user.elf.needed if user.runpath else ():
            index = closure.names.get(name, -1)
            if index < 0 or closure.how[index] not in ("LD_LIBRARY_PATH", "preload"):
                continue
            taken = closure.objects[index].path
            own = _own_copy(check.loader.root, user.runpath or (), name, taken)
            if own and (user.path, name) not in told:
                told.add((user.path, name))
                text = f"{taken} by {closure.how[index]}, in front of {own}"
                remedy = f"take {posixpath.dirname(taken)} out of LD_LIBRARY_PATH and LD_PRELOAD"
                check.problem("ABI.WRONG_COPY", "warning", user.path, name, text, remedy)


def _own_copy(root: Root, directories: tuple[str, ...], name: str, taken: str) -> str:
    for directory in directories:
        if name in root.names(directory):
            path = f"{directory}/{name}"
            return "" if root.real(path) == root.real(taken) else path
    return ""
