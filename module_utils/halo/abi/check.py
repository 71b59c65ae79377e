"""Loads objects as ld.so would, and gathers what each process misses; :mod:`.judge` says what of it matters."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from . import elf as elves
from . import python
from .closure import Closure, Missing, Object
from .elf import Elf
from .loader import Loader
from .model import Case, Problem, Result
from .scope import Symbols, Unresolved
from .tables import ElfError
from .walk import Walk

_LIBRARY = re.compile(r"\.so(\.[\d.]+)?$")
#: From this glibc on, dlopen refuses an executable stack, and a library without a version table no longer aborts.
GLIBC_2_41 = (2, 41)


class Fault(NamedTuple):
    """What one object misses: ``kind`` is ``library``, ``node``, ``symbol`` or ``table``."""

    kind: str
    object: Object
    needed: str
    provider: Object | None


@dataclass
class Gathered:
    """What :mod:`.judge` judges.

    Attributes:
        cases: What was asked about.
        faults: Each with the cases that meet it.
        missing: The failed search, for a library.
        unresolved: The symbols, by object and case.
        inside: By identity, the cases whose process has an object that misses something.
    """

    cases: list[Case] = field(default_factory=list)
    faults: dict[Fault, list[int]] = field(default_factory=lambda: defaultdict(list))
    missing: dict[Fault, Missing] = field(default_factory=dict)
    unresolved: dict[tuple[Fault, int], Unresolved] = field(default_factory=dict)
    inside: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))


class Check:
    """One check of a host.

    Args:
        loader: The host's loader.
        interpreter: The host's path of the Python that imports extension modules; each one's own by default.
        symbols: Whether to look at symbols, besides libraries and version nodes.

    Raises:
        ElfError: The interpreter is none.
    """

    def __init__(self, loader: Loader, interpreter: str = "", symbols: bool = True) -> None:
        self.loader = loader
        self.result = Result(glibc=".".join(map(str, loader.glibc)))
        self.gathered = Gathered()
        self.store = Symbols()
        self.selected: dict[str, list[Object]] = defaultdict(list)
        self._one: dict[tuple[int, int], Object] = {}
        self._symbols = symbols
        self._pythons: dict[str, tuple[Object, Closure] | None] = {}
        self._interpreter = interpreter
        if interpreter:
            self._load_python(interpreter)

    def run(self, paths: list[str]) -> Gathered:
        """Check the files at and below paths of the host.

        Raises:
            OSError: One of them is not there.
        """
        self._timed("read", lambda: self._select(paths))
        self._timed("libraries", self._libraries)
        if self._symbols:
            self._timed("symbols", self._check_symbols)
        self._invert()
        self.result.counts["objects"] = len(self.gathered.cases)
        return self.gathered

    def _timed(self, name: str, part: Callable[[], None]) -> None:
        started = time.perf_counter()
        part()
        self.result.seconds[name] = round(time.perf_counter() - started, 4)

    def problem(self, code: str, severity: str, path: str, needed: str, found: str, remedy: str) -> None:
        """Note what is wrong with a file itself."""
        self.result.problems.append(Problem(code, severity, path, needed, found, remedy=remedy))

    def _select(self, paths: list[str]) -> None:
        walk = Walk(self.loader.root)
        counts = self.result.counts
        for path in walk.files(paths):
            try:
                found = self.loader.load(path)
            except ElfError as error:
                self._unusable(path, error)
                continue
            self._one.setdefault(found.elf.identity, found)
            self.gathered.cases.append(self._case(found))
            for name in {found.elf.soname, path.rpartition("/")[2]} - {""}:
                self.selected[name].append(found)
        counts.update({f"left_out_{name}": count for name, count in walk.counts.items() if name != "files"})
        counts["files"] = walk.counts["files"]
        for path, reason in walk.unreadable:
            self.problem("ABI.UNREADABLE", "warning", path, "", reason, "run as root, or leave the directory out")

    def _unusable(self, path: str, error: ElfError) -> None:
        kind = "machine" if error.kind == "other" else error.kind
        self.result.counts[f"left_out_{kind}"] += 1
        if kind == "unreadable":
            self.problem("ABI.UNREADABLE", "warning", path, "", str(error), "run as root, or leave the file out")
        elif kind == "damaged" or (kind == "short" and _LIBRARY.search(path)):
            remedy = f"install it again: dpkg -S {path} names the package"
            self.problem("ABI.DAMAGED", "warning", path, "an ELF object", str(error), remedy)

    def _case(self, found: Object) -> Case:
        if found.elf.program or not python.imported(found.path):
            return Case(found, Closure())
        path = self._interpreter or python.interpreter(self.loader.root, found.path)
        loaded = self._load_python(path) if path else None
        return Case(found, Closure(), python=loaded[0] if loaded else None, any_python=not loaded)

    def _load_python(self, path: str) -> tuple[Object, Closure] | None:
        if path not in self._pythons:
            try:
                found = self.loader.load(self.loader.root.real(path))
                self._pythons[path] = (found, self.loader.closure(found))
                self._pythons[found.path] = self._pythons[path]
            except (ElfError, OSError):
                if path == self._interpreter:
                    raise
                self._pythons[path] = None
        return self._pythons[path]

    def _libraries(self) -> None:
        """Load everything, and compare the version nodes that are wanted with those that are there."""
        nodes: dict[tuple[int, int], list[Fault]] = {}
        gathered = self.gathered
        for number, case in enumerate(gathered.cases):
            base = self._pythons[case.python.path] if case.python else None
            case.closure = closure = self.loader.closure(case.object, base[1] if base else None)
            case.own = closure.known[case.object.elf.identity]
            for missing in closure.missing:
                fault = self._fault("library", closure.objects[missing.by], missing.name)
                gathered.faults[fault].append(number)
                gathered.missing.setdefault(fault, missing)
            names, objects = closure.names, closure.objects
            for user in objects:
                for file in user.elf.verneed:
                    index = names.get(file)
                    if index is None:
                        continue
                    provider = objects[index]
                    # In a process an object has one provider of a file, so that the pair stands for all three.
                    key = (id(user), id(provider))
                    if key not in nodes:
                        wanted = missing_nodes(user.elf, provider.elf, file)
                        nodes[key] = [self._fault("node", user, node, provider) for node in wanted]
                    for fault in nodes[key]:
                        gathered.faults[fault].append(number)

    def _check_symbols(self) -> None:
        cases = self.gathered.cases
        everything = {found.elf.identity: found.elf for case in cases for found in case.closure.objects}
        self.store.learn(everything.values())
        alone: dict[tuple[int, int], tuple[Unresolved, frozenset[tuple[int, int]]]] = {}
        for case in cases:
            found = case.object
            if case.python is None:
                alone[found.elf.identity] = (self._lookup(found, case.closure), frozenset(case.closure.known))
        tables: dict[tuple[int, int], Fault | None] = {}
        for number, case in enumerate(cases):
            scope = case.closure.known.keys()
            for index, found in enumerate(case.closure.objects):
                self._table(number, found, case.closure, tables)
                identity = found.elf.identity
                if case.python and index < case.own and not index:
                    continue  # The interpreter itself is no part of the question.
                if identity not in alone and not (case.python and index == case.own):
                    own = self.loader.closure(found)
                    self.store.learn(other.elf for other in own.objects)
                    alone[identity] = (self._lookup(found, own), frozenset(own.known))
                known = alone.get(identity)
                # Where all that an object finds by itself is there, more in front of it can only add.
                if known and known[1] <= scope and (not known[0] or index == case.own):
                    unresolved = known[0]
                else:
                    unresolved = self._lookup(found, case.closure)
                if unresolved:
                    fault = self._fault("symbol", found, "")
                    self.gathered.faults[fault].append(number)
                    self.gathered.unresolved[fault, number] = unresolved

    def _lookup(self, found: Object, closure: Closure) -> Unresolved:
        objects = closure.objects
        files = {file: objects[index].elf for file in found.elf.verneed if (index := closure.names.get(file, -1)) >= 0}
        return self.store.unresolved(found.elf, (other.elf for other in objects), files)

    def _table(self, number: int, user: Object, closure: Closure, known: dict[tuple[int, int], Fault | None]) -> None:
        """Note a library that has no version table at all where one is wanted: glibc until 2.40 aborts."""
        for file in user.elf.verneed:
            index = closure.names.get(file)
            if index is None or elves.VERSYM in closure.objects[index].elf.tags:
                continue
            provider = closure.objects[index]
            key = (id(user), id(provider))
            if key not in known:
                wanted = self.store.imports(user.elf).noded.get(file, frozenset())
                has = self.store.exports(provider.elf).plain
                bare = {name.rpartition(b"@")[0] for name in wanted}
                known[key] = self._fault("table", user, file, provider) if bare & has else None
            if fault := known[key]:
                self.gathered.faults[fault].append(number)

    def _fault(self, kind: str, found: Object, needed: str, provider: Object | None = None) -> Fault:
        """Return a fault of an object under one path, by whichever it was reached."""
        return Fault(kind, self._one.setdefault(found.elf.identity, found), needed, provider)

    def _invert(self) -> None:
        """Note for what misses something in which processes it is at all: it may miss nothing in some."""
        wanted = {fault.object.elf.identity for fault in self.gathered.faults}
        for number, case in enumerate(self.gathered.cases):
            for identity in wanted.intersection(case.closure.known):
                self.gathered.inside[identity].append(number)
        for path, reason in self.store.damaged.items():
            inside = path[len(self.loader.root.top) :]
            remedy = f"install it again: dpkg -S {inside} names the package"
            self.problem("ABI.DAMAGED", "error", inside, "its symbols", reason, remedy)
        self.result.counts["unresolved_but_unused"] = self.store.unused


def missing_nodes(user: Elf, provider: Elf, file: str) -> list[str]:
    """Return the nodes that one object wants of a file and its provider does not define."""
    # A library that defines no nodes at all is taken as it is.
    if elves.VERDEF not in provider.tags:
        return []
    return [node for node, weak in user.verneed[file] if not weak and node not in provider.verdef]
