"""Says of what processes miss which of it matters, and why: the rules against false alarms stand here."""

from __future__ import annotations

import posixpath
import re

from . import elf as elves
from . import processes, python, releases
from .check import GLIBC_2_41, Check, Fault
from .closure import Object
from .loader import DEFAULT
from .model import Case, Problem, few
from .scope import Unresolved

_PYTHON_API = re.compile(r"^_?Py[A-Z_]")
#: Directories that belong to nobody: what lies in two of their subdirectories is no package of its own.
_SHARED = {*DEFAULT, "/", "/usr", "/opt", "/usr/local", "/usr/local/lib", "/usr/bin", "/usr/libexec", "/tmp", "/home"}  # noqa: S108


class Judge:
    """Turns what was gathered into problems.

    Args:
        check: A check that has run.
    """

    def __init__(self, check: Check) -> None:
        self._check = check
        self._loader = check.loader
        self._gathered = check.gathered
        self._counts = check.result.counts
        self._problems = check.result.problems

    def judge(self) -> None:
        """Add the problems to the check's result, in a fixed order."""
        for fault, numbers in self._gathered.faults.items():
            bad = [number for number in numbers if self._gathered.cases[number].strict]
            fine = set(self._gathered.inside[fault.object.elf.identity]) - set(numbers)
            if not bad and fine:
                # Alone it lacks something that every program brings which loads it.
                self._counts["met_by_loader"] += 1
                continue
            getattr(self, f"_{fault.kind}")(fault, bad or numbers)
        processes.judge(self._check)
        order = ("error", "warning", "info")
        self._problems.sort(key=lambda one: (order.index(one.severity), one.code, one.object, one.needed, one.found))

    def _add(
        self,
        code: str,
        severity: str,
        fault: Fault,
        numbers: list[int],
        found: str,
        remedy: str,
        needed: str = "",
        looked: tuple[str, ...] = (),
        symbols: tuple[str, ...] = (),
    ) -> None:
        case = self._gathered.cases[numbers[0]]
        index = case.closure.known.get(fault.object.elf.identity, case.own)
        chain = tuple(case.closure.chain(index))
        if severity == "error" and releases.HELPER.search(chain[0]):
            severity = "warning"
        needed = needed or fault.needed
        path = fault.object.path
        self._problems.append(
            Problem(code, severity, path, needed, found, looked, chain, len(numbers), remedy, symbols)
        )

    def _library(self, fault: Fault, numbers: list[int]) -> None:
        case = self._gathered.cases[numbers[0]]
        name, user = fault.needed, fault.object
        search = self._gathered.missing[fault].search
        looked = self._looked(case, fault)
        if search.fatal:
            path = search.fatal.partition(": ")[0]
            remedy = f"remove {path} or install it again; the loader stops there, whatever comes behind it"
            return self._add("ABI.LIBRARY_UNUSABLE", "error", fault, numbers, search.fatal, remedy, looked=looked)
        if releases.DRIVERS.match(name):
            return self._add(
                "ABI.OPTIONAL_MISSING", "info", fault, numbers, "a GPU driver's library", "", looked=looked
            )
        if self._other_variant(user):
            found = "another build of it for this machine's GPU is complete"
            return self._add("ABI.OPTIONAL_MISSING", "info", fault, numbers, found, "", looked=looked)
        if not user.elf.program and (beside := self._beside(user, name)):
            return self._add("ABI.NEEDS_PRELOAD", "info", fault, numbers, beside, "", looked=looked)
        found = self._instead(name, search.skipped)
        remedy = f"install the package that has {name} (apt-file search {name}), or name its directory in RUNPATH"
        if elsewhere := [one.path for one in self._check.selected.get(name, ())]:
            directory = posixpath.dirname(elsewhere[0])
            remedy = f"put {directory} into a file of /etc/ld.so.conf.d and run ldconfig, or into the object's RUNPATH"
        return self._add("ABI.LIBRARY_MISSING", "error", fault, numbers, found, remedy, looked=looked)

    def _looked(self, case: Case, fault: Fault) -> tuple[str, ...]:
        index = case.closure.known.get(fault.object.elf.identity, case.own)
        chain = case.closure.chains[index] if fault.object.runpath is None else ()
        nodeflib = bool(fault.object.elf.flags_1 & elves.DF_1_NODEFLIB)
        places = self._loader.places(chain, fault.object.runpath, nodeflib, False)
        shown = [(how, where or ("/etc/ld.so.cache",) if how == "cache" else where) for how, where in places]
        return tuple(f"{how}: {':'.join(where)}" for how, where in shown if where)

    def _instead(self, name: str, skipped: tuple[str, ...]) -> str:
        if skipped:
            return f"only {', '.join(skipped)}"
        others = self._check.selected.get(name, [])
        stem = releases.stem(name)
        if not others:
            others = [
                one for other, ones in self._check.selected.items() if releases.stem(other) == stem for one in ones
            ]
        paths = {one.path for one in others}
        for directory in (*DEFAULT, "/opt/rocm/lib"):
            paths |= {f"{directory}/{n}" for n in self._loader.root.names(directory) if n.startswith(f"{stem}.so.")}
        return f"there is {', '.join(sorted(paths)[:3])}" if paths else "no file of that name"

    def _other_variant(self, user: Object) -> bool:
        """Whether this is one of several builds for different hardware, another of which can be loaded."""
        directory, name = posixpath.split(user.path)
        found = releases.VARIANT.match(name)
        if not found:
            return False
        others = [
            other[0]
            for sibling in self._loader.root.names(directory)
            if sibling != name and (match := releases.VARIANT.match(sibling)) and match[1] == found[1]
            if match[2] in ("rocm", "hip") and (other := self._check.selected.get(sibling))
        ]
        if found[2] not in ("rocm", "hip"):
            return bool(others)
        broken = {fault.object.path for fault in self._gathered.faults if fault.kind == "library"}
        return any(other.path not in broken for other in others)

    def _beside(self, user: Object, name: str) -> str:
        """Return where the same package or environment has a library that whoever loads this has loaded before."""
        packages = python.site(user.path)
        beside = {
            other.path: posixpath.commonpath([user.path, other.path]) for other in self._check.selected.get(name, ())
        }
        near = {path: shared for path, shared in beside.items() if shared not in _SHARED}
        if packages:
            near.update((path, shared) for path, shared in beside.items() if python.site(path) == packages)
        if near:
            return max(near, key=lambda path: (len(near[path]), path))
        return python.shipped(self._loader.root, name, packages) if packages else ""

    def _node(self, fault: Fault, numbers: list[int]) -> None:
        provider = fault.provider
        if provider is None:
            return
        newest = releases.newest(fault.needed, provider.elf.verdef)
        found = f"{provider.path}{self._how(fault, numbers)} has {newest or 'no node of that family'}"
        release = releases.origin(fault.needed)
        remedy = f"take a build for this release, or a host that has {release or fault.needed}"
        for other in self._check.selected.get(provider.elf.soname, ()):
            if fault.needed in other.elf.verdef:
                found += f"; {other.path} has {fault.needed}"
                remedy = f"let it find {other.path} first: it is shadowed by {provider.path}"
                self._add("ABI.WRONG_COPY", "error", fault, numbers, found, remedy)
                return
        needed = f"{fault.needed} ({release})" if release else fault.needed
        self._add("ABI.NODE_MISSING", "error", fault, numbers, found, remedy, needed=needed)

    def _how(self, fault: Fault, numbers: list[int]) -> str:
        closure = self._gathered.cases[numbers[0]].closure
        provider = fault.provider
        how = closure.how[closure.known[provider.elf.identity]] if provider else ""
        return f" (found by {how})" if how else ""

    def _table(self, fault: Fault, numbers: list[int]) -> None:
        if fault.provider is None:
            return
        found = f"{fault.provider.path} has no version table"
        if self._loader.glibc and self._loader.glibc < GLIBC_2_41:
            remedy = f"replace {fault.provider.path} with the real library: glibc until 2.40 aborts when it is used"
            self._add("ABI.NO_VERSIONS", "error", fault, numbers, found, remedy)
        else:
            self._add("ABI.NO_VERSIONS", "info", fault, numbers, found, "")

    def _symbol(self, fault: Fault, numbers: list[int]) -> None:
        """Judge symbols, but not those that are missing because their library or node is."""
        # Where the fewest libraries are missing, the most can be said about symbols.
        numbers = sorted(numbers, key=lambda number: len(self._gathered.cases[number].closure.missing))
        case = self._gathered.cases[numbers[0]]
        unresolved = self._gathered.unresolved[fault, numbers[0]]
        user, lost = fault.object, [missing.name for missing in case.closure.missing]
        gone = {
            (other.provider.elf.identity, other.needed)
            for other in self._gathered.faults
            if other.kind == "node" and other.object is user and other.provider
        }
        for file, names in unresolved.noded.items():
            index = case.closure.names.get(file)
            if index is None:
                self._counts["consequences"] += len(names)
                continue
            provider = case.closure.objects[index]
            left = {name for name in names if (provider.elf.identity, _node(name)) not in gone}
            self._counts["consequences"] += len(names) - len(left)
            if left:
                found = (
                    f"{provider.path}{self._how(Fault('', user, '', provider), numbers)} has the node, not the symbol"
                )
                self._missing_symbols(fault, numbers, frozenset(left), found, provider)
        if lost and unresolved.plain:
            self._counts["consequences"] += len(unresolved.plain)
        elif unresolved.plain:
            self._plain(fault, numbers, case, unresolved)

    def _missing_symbols(
        self, fault: Fault, numbers: list[int], names: frozenset[bytes], found: str, provider: Object | None
    ) -> None:
        some, symbols = _described(names)
        remedy = f"take {fault.object.path} and the library from one release"
        if provider is not None:
            remedy = f"install the release of {provider.path} that {fault.object.path} was built against"
        self._add("ABI.SYMBOL_MISSING", "error", fault, numbers, found, remedy, needed=some, symbols=symbols)

    def _plain(self, fault: Fault, numbers: list[int], case: Case, unresolved: Unresolved) -> None:
        names = frozenset(name.decode("utf-8", "replace") for name in unresolved.plain)
        some, symbols = _described(unresolved.plain)
        api = frozenset(name for name in names if _PYTHON_API.match(name))
        if case.python is None and (case.any_python or api):
            # No interpreter for it is known, so that nothing can be said about what the interpreter has.
            self._counts["symbols_of_unknown_python"] += len(api)
            names = names - api
        elif api and case.python:
            wanted = python.version(case.object.path)
            found = f"{case.python.path} does not have it"
            remedy = f"install the build for {posixpath.basename(self._loader.root.real(case.python.path))}"
            if wanted:
                remedy += f"; this one is for Python {wanted}"
            self._add("ABI.OTHER_PYTHON", "error", fault, numbers, found, remedy, needed=some, symbols=symbols)
            return
        if not names:
            return
        if (library := releases.rocm_library(names)) and library not in map(releases.stem, case.closure.names):
            found = f"it names no library for it among {', '.join(fault.object.elf.needed) or 'none'}"
            remedy = f"ask for a build linked with {library}; until then LD_PRELOAD={library}.so"
            self._add("ABI.UNDERLINKED", "error", fault, numbers, found, remedy, needed=some, symbols=symbols)
        elif case.strict:
            self._missing_symbols(fault, numbers, unresolved.plain, "no object of the process has it", None)
        elif provider := self._same_family(fault.object, case, unresolved.plain):
            found = f"{provider.path} has others of the same namespace, not this"
            self._missing_symbols(fault, numbers, unresolved.plain, found, provider)
        elif not (case.any_python and not names):
            found = "it is loaded by a program that brings it"
            self._add("ABI.HOST_SYMBOLS", "info", fault, numbers, found, "", needed=some, symbols=symbols)

    def _same_family(self, user: Object, case: Case, names: frozenset[bytes]) -> Object | None:
        """Return the needed library from which it takes other names of the same C++ namespace, where there is one."""
        families = {family for name in names if (family := _namespace(name))}
        if not families:
            return None
        imports = self._check.store.imports(user.elf).plain
        related = {name for name in imports - names if _namespace(name) in families}
        for needed in user.elf.needed:
            index = case.closure.names.get(needed)
            if index is not None and related & self._check.store.exports(case.closure.objects[index].elf).plain:
                return case.closure.objects[index]
        return None


def _node(name: bytes) -> str:
    return name.rpartition(b"@")[2].decode("utf-8", "surrogateescape")


def _namespace(name: bytes) -> bytes:
    """Return a mangled C++ name's outermost namespace, empty where it has none."""
    found = re.match(rb"_Z(?:T[VTISC]|G[VR]|Th[n\d_]*|Tv[n\d_]*)?N?[VKRO]*(\d+)", name)
    if not found or b"N" not in name[: found.start(1)]:
        return b""
    start, length = found.end(1), int(found[1])
    return name[start : start + length]


def _described(names: frozenset[bytes]) -> tuple[str, tuple[str, ...]]:
    """Return symbols as a text of a few, and as a tuple of all."""
    ordered = tuple(sorted(name.decode("utf-8", "replace") for name in names))
    return few(ordered, 4), ordered
