"""Proof that hipcc makes code for the host's GPU; no GPU is needed for it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ..apt import dpkgdb
from ..findings import Finding
from .bundle import SECTION, CompressedError, UnreadableError, code_objects, gfx_of, section
from .evidence import first_errors, gcc_in_use, lacks_libstdcxx, libstdcxx_remedy, names_unknown_target
from .ledger import Ledger, RefutedError, file_state
from .packages import differences, fingerprint, not_provisioned
from .programs import HIP_SOURCES
from .rocminfo import look
from .run import run_clean

COMPILE_TIMEOUT_S = 300.0
TOOL_TIMEOUT_S = 60.0

_SOURCE = next(iter(HIP_SOURCES))
_AGAIN = "ansible-playbook site.yml -l halo --tags rocm_runtime"


def prove(
    hipcc: Path | None,
    rocminfo: Path | None,
    gfx: str,
    known: Iterable[str],
    wished: Iterable[Mapping[str, str]],
    require_gpu: bool,
    ledger: Ledger,
    tmpdir: str,
) -> None:
    """Prove the compiler and look for the GPU, each on its own, so that one that fails does not hide the other.

    Args:
        hipcc: The stack's hipcc, or None: nothing is compiled.
        rocminfo: The stack's rocminfo, or None: no GPU is looked for.
        gfx: The target, ``gfx1151``.
        known: The targets that the stack says its compiler knows.
        wished: The packages of ROCm and the toolchain, ``{name, version}``.
        require_gpu: Whether it is an error that the GPU is not there.
        ledger: Takes the findings.
        tmpdir: Where to make temporary directories.

    Raises:
        OSError: dpkg's status cannot be read, or there is no space.
        ValueError: The bound of a package cannot be understood.
    """
    database = dpkgdb.read()
    missing = not_provisioned("HIP", differences(wished, database), [path for path in (hipcc, rocminfo) if path])
    if ledger.check_mode and missing:
        ledger.findings.append(missing)
        return
    with tempfile.TemporaryDirectory(dir=tmpdir) as work:
        if hipcc:
            rests_on = inputs(hipcc, gfx, fingerprint(database))
            ledger.prove("hip", rests_on, partial(attempt, hipcc, gfx, known, Path(work)))
        if rocminfo:
            ledger.findings += look(rocminfo, gfx, require_gpu, Path(work))


def inputs(hipcc: Path, gfx: str, packages: Mapping[str, str]) -> dict[str, Any]:
    """Return everything that the proof rests on.

    Args:
        hipcc: The stack's hipcc.
        gfx: The target.
        packages: What dpkg has, see :func:`halo.proof.packages.fingerprint`.
    """
    return {
        "sources": HIP_SOURCES,
        "gfx": gfx,
        "compiler": file_state(hipcc),
        "packages": dict(packages),
    }


def attempt(hipcc: Path, gfx: str, known: Iterable[str], work: Path, root: Path = Path("/")) -> str:
    """Compile a saxpy and find the code object for the target in the executable.

    Args:
        hipcc: The stack's hipcc.
        gfx: The target, ``gfx1151``.
        known: The targets that the stack says its compiler knows; for the remedy.
        work: An empty directory.
        root: The host's root directory, which only the remedies look at.

    Returns:
        The evidence that it holds.

    Raises:
        RefutedError: It does not.
    """
    subject = f"{hipcc} for {gfx}"
    if not hipcc.exists():
        raise RefutedError(Finding("PROOF.COMPILER_ABSENT", "error", subject, f"{hipcc} does not exist", _AGAIN))
    for name, text in HIP_SOURCES.items():
        (work / name).write_text(text, encoding="utf-8")
    compiled = run_clean((str(hipcc), f"--offload-arch={gfx}", _SOURCE, "-o", "saxpy"), work, COMPILE_TIMEOUT_S)
    if compiled.rc != 0:
        evidence = first_errors(compiled)
        remedy = _AGAIN
        if names_unknown_target(evidence):
            remedy = f"set halo_gfx to a target that this compiler knows ({', '.join(known)}), or choose another stack"
        elif lacks_libstdcxx(evidence):
            remedy = libstdcxx_remedy(gcc_in_use(root))
        raise RefutedError(Finding("PROOF.COMPILE_FAILED", "error", subject, evidence, remedy))
    try:
        targets = _targets(hipcc, gfx, (work / "saxpy").read_bytes(), work)
    except (OSError, UnreadableError) as error:
        raise RefutedError(_no_code_object(subject, str(error))) from error
    found = [target for target in targets if gfx_of(target) == gfx]
    if not found:
        raise RefutedError(_no_code_object(subject, f"found {', '.join(targets) or 'none'}, wanted {gfx}"))
    return f"{hipcc} compiled a saxpy in a clean environment; its executable holds {', '.join(found)}"


def _targets(hipcc: Path, gfx: str, executable: bytes, work: Path) -> list[str]:
    """Return the ids of the code objects for AMD GPUs in an executable.

    Raises:
        UnreadableError: There are none that could be read.
    """
    fatbin = section(executable)
    if fatbin is None:
        raise UnreadableError(f"the executable has no section {SECTION}")
    try:
        return [entry.target for entry in code_objects(fatbin) if entry.is_amdgpu]
    except CompressedError as error:
        return _listed(hipcc, gfx, fatbin, work, str(error))


def _listed(hipcc: Path, gfx: str, fatbin: bytes, work: Path, reason: str) -> list[str]:
    """Return what the clang-offload-bundler that belongs to hipcc lists."""
    (work / "fatbin").write_bytes(fatbin)
    # With a target, since hipcc otherwise asks for the GPU first and complains that there is none.
    asked = run_clean(
        (str(hipcc), f"--offload-arch={gfx}", "--print-prog-name=clang-offload-bundler"), work, TOOL_TIMEOUT_S
    )
    bundler = asked.stdout.strip().rpartition("\n")[2]
    listed = run_clean(
        (bundler or "clang-offload-bundler", "--list", "--type=o", "--input=fatbin"), work, TOOL_TIMEOUT_S
    )
    if listed.rc != 0:
        raise UnreadableError(f"{reason}, and {bundler} fails: {first_errors(listed)}")
    return [line for line in listed.stdout.split() if gfx_of(line)]


def _no_code_object(subject: str, evidence: str) -> Finding:
    remedy = f"{_AGAIN}   (hipcc is not the stack's, or something wraps it: see type -a hipcc)"
    return Finding("PROOF.NO_CODE_OBJECT", "error", subject, evidence, remedy)
