"""Proof that the pinned clang compiles C++ against the pinned libraries, and that these are what runs."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..apt import dpkgdb
from ..findings import Finding
from .evidence import TRIPLET, first_errors, gcc_in_use, lacks_libstdcxx, libstdcxx_remedy
from .ledger import Ledger, RefutedError, file_state
from .packages import differences, fingerprint, not_provisioned
from .programs import CXX_SOURCES, CXX_VALUES
from .run import Outcome, run_clean

COMPILE_TIMEOUT_S = 180.0
RUN_TIMEOUT_S = 60.0

_FLAGS = ("-std=c++17", "-O1", "-pthread")
_AGAIN = "ansible-playbook site.yml -l halo --tags toolchain_pin"
_LIBSTDCXX_DEV = re.compile(r"libstdc\+\+-(\d+)-dev")


@dataclass(frozen=True)
class Library:
    """A C++ library that programs are to be compiled against and to run on.

    Attributes:
        name: ``libstdc++`` or ``libc++``.
        major: The pinned major, or None where the stack pins none.
        flags: What chooses it on clang's command line.
        directory: Below it, links resolved, its shared objects must lie.
        config: clang's configuration file for it, where there is one.
    """

    name: str
    major: int | None
    flags: tuple[str, ...]
    directory: Path
    config: Path | None = None


def libstdcxx(packages: Iterable[str], root: Path = Path("/")) -> Library:
    """Return the system's libstdc++, its major taken from the ``libstdc++-N-dev`` among a stack's packages."""
    majors = [int(match.group(1)) for match in map(_LIBSTDCXX_DEV.fullmatch, packages) if match]
    return Library("libstdc++", max(majors, default=None), (), root / "usr/lib" / TRIPLET)


def libcxx(major: int, mode: str, prefix: Path, root: Path = Path("/")) -> Library:
    """Return the pinned libc++.

    Args:
        major: Its major.
        mode: ``sysroot``: unpacked below ``prefix``, chosen by ``prefix/clang.cfg``; ``system``: installed by apt.
        prefix: For mode ``sysroot``.
        root: The host's root directory.
    """
    if mode == "system":
        return Library("libc++", major, ("-stdlib=libc++",), root / f"usr/lib/llvm-{major}/lib")
    config = prefix / "clang.cfg"
    return Library("libc++", major, ("--config", str(config)), prefix, config)


def prove(
    compiler: Path, libraries: Iterable[Library], wished: Iterable[Mapping[str, str]], ledger: Ledger, tmpdir: str
) -> None:
    """Prove a compiler with several libraries, each on its own, so that one that fails hides none.

    Args:
        compiler: The pinned clang++.
        libraries: What to compile against.
        wished: The packages of the toolchain, ``{name, version}``.
        ledger: Takes the findings.
        tmpdir: Where to make temporary directories.

    Raises:
        OSError: dpkg's status cannot be read, or there is no space.
        ValueError: The bound of a package cannot be understood.
    """
    database = dpkgdb.read()
    libraries = list(libraries)
    files = [compiler, *(library.config for library in libraries if library.config)]
    missing = not_provisioned("C++", differences(wished, database), files)
    if ledger.check_mode and missing:
        ledger.findings.append(missing)
        return
    for library in libraries:
        with tempfile.TemporaryDirectory(dir=tmpdir) as work:
            rests_on = inputs(compiler, library, fingerprint(database))
            ledger.prove(library.name, rests_on, partial(attempt, compiler, library, Path(work)))


def inputs(compiler: Path, library: Library, packages: Mapping[str, str], root: Path = Path("/")) -> dict[str, Any]:
    """Return everything that the proof rests on.

    Args:
        compiler: The pinned clang++.
        library: The library.
        packages: What dpkg has, see :func:`halo.proof.packages.fingerprint`.
        root: The host's root directory.
    """
    # What makes the loader choose another library without any change of packages.
    choosers = [root / "etc/ld.so.preload", root / "etc/ld.so.conf", *sorted(root.glob("etc/ld.so.conf.d/*"))]
    shared = sorted(library.directory.glob("**/libc++*.so.1")) if library.config else []
    return {
        "sources": CXX_SOURCES,
        "values": CXX_VALUES,
        "flags": [*_FLAGS, *library.flags],
        "major": library.major,
        "compiler": file_state(compiler),
        "packages": dict(packages),
        "loader": {str(path): _content(path) for path in choosers},
        "store": [str(library.directory.resolve()), *map(file_state, shared)],
        "config": _content(library.config) if library.config else "",
    }


def attempt(compiler: Path, library: Library, work: Path, root: Path = Path("/")) -> str:
    """Compile a shared library and an executable, run it, and compare what it says with what it must say.

    Args:
        compiler: The pinned clang++.
        library: What to compile against.
        work: An empty directory, on a file system that may execute.
        root: The host's root directory, which only the remedies look at.

    Returns:
        The evidence that it holds.

    Raises:
        RefutedError: It does not.
    """
    subject = f"{compiler} with {library.name}"
    if not compiler.exists():
        evidence = f"{compiler} does not exist"
        raise RefutedError(Finding("PROOF.COMPILER_ABSENT", "error", subject, evidence, _AGAIN))
    if library.config and not library.config.is_file():
        evidence = f"{library.config} does not exist"
        raise RefutedError(Finding("PROOF.LIBCXX_ABSENT", "error", subject, evidence, _AGAIN))
    for name, text in CXX_SOURCES.items():
        (work / name).write_text(text, encoding="utf-8")
    clang = (str(compiler), *library.flags, *_FLAGS)
    for command in (
        (*clang, "-fPIC", "-shared", "failure.cpp", "-o", "libfailure.so"),
        (*clang, "main.cpp", "-o", "proof", "-L.", "-lfailure", "-Wl,-rpath,$ORIGIN"),
    ):
        compiled = run_clean(command, work, COMPILE_TIMEOUT_S)
        if compiled.rc != 0:
            raise RefutedError(_compile_failed(subject, library, compiled, root))
    ran = run_clean((str(work / "proof"),), work, RUN_TIMEOUT_S)
    said = _said(ran)
    if said is None:
        raise RefutedError(_run_failed(subject, f"exit status {ran.rc}: {first_errors(ran)}"))
    wrong = _wrong_library(said, library)
    if wrong:
        remedy = _AGAIN + ("" if library.name == "libc++" else f"   and remove what brings another {library.name}")
        raise RefutedError(Finding("PROOF.WRONG_LIBCXX", "error", subject, "\n".join(wrong), remedy))
    differing = [
        f"{name}: found {said['values'].get(name)}, wanted {value}"
        for name, value in CXX_VALUES.items()
        if not _same(said["values"].get(name), value)
    ]
    if differing:
        raise RefutedError(_run_failed(subject, "; ".join(differing)))
    # One of them stands for all: they lie below the same directory.
    loaded = next(Path(path).resolve() for path in said["loaded"] if _is_library(path, library))
    return (
        f"{compiler} compiled with {library.name} {_major(said)} and ran in a clean environment on {loaded}: "
        f"{', '.join(CXX_VALUES)}"
    )


def _compile_failed(subject: str, library: Library, outcome: Outcome, root: Path) -> Finding:
    evidence = first_errors(outcome)
    remedy = _AGAIN
    if library.name == "libstdc++" and lacks_libstdcxx(evidence):
        remedy = libstdcxx_remedy(gcc_in_use(root))
    return Finding("PROOF.COMPILE_FAILED", "error", subject, evidence, remedy)


def _run_failed(subject: str, evidence: str) -> Finding:
    remedy = (
        "dpkg --verify   shows damaged files of the toolchain; "
        "where the evidence is 'Permission denied', set ansible_remote_tmp to a directory that is not mounted noexec"
    )
    return Finding("PROOF.RUN_FAILED", "error", subject, evidence, remedy)


def _said(outcome: Outcome) -> dict[str, Any] | None:
    """Return what the program printed, or None where it did not come to its end."""
    try:
        said = json.loads(outcome.stdout)
        complete = isinstance(said["values"], dict) and isinstance(said["loaded"], list) and said["headers"] > 0
    except (ValueError, KeyError, TypeError):
        return None
    return said if complete and outcome.rc == 0 else None


def _major(said: Mapping[str, Any]) -> int:
    """Return the major of the headers; ``_LIBCPP_VERSION`` is 15006 for 15.0.6 and, from 16 on, 170006 for 17.0.6."""
    headers = int(said["headers"])
    if said["library"] != "libc++":
        return headers
    return headers // (10000 if headers >= 100000 else 1000)


def _wrong_library(said: Mapping[str, Any], library: Library) -> list[str]:
    """Return in what the library that was used differs from the wanted one."""
    wrong = []
    if said["library"] != library.name or (library.major is not None and _major(said) != library.major):
        wrong.append(f"headers: found {said['library']} {_major(said)}, wanted {library.name} {library.major}")
    wanted = library.directory.resolve()
    loaded = [Path(path).resolve() for path in said["loaded"]]
    wrong += [f"loaded: found {path}, wanted one below {wanted}" for path in loaded if wanted not in path.parents]
    if not any(_is_library(path, library) for path in said["loaded"]):
        wrong.append(f"loaded: found no {library.name}.so, wanted one below {wanted}")
    return wrong


def _is_library(path: str, library: Library) -> bool:
    return Path(path).name.startswith(f"{library.name}.so")


def _same(found: object, wanted: float) -> bool:
    return isinstance(found, (int, float)) and math.isclose(found, wanted, rel_tol=1e-12)


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "absent"
