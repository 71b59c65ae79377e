"""Proof that hipcc makes code for the host's GPU; no GPU is needed for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..findings import Finding
from .bundle import SECTION, Compressed, Unreadable, code_objects, gfx_of, section
from .evidence import first_errors, gcc_in_use, lacks_libstdcxx, libstdcxx_remedy, names_unknown_target
from .ledger import Refuted, file_state
from .programs import HIP_SOURCES
from .run import run_clean

COMPILE_TIMEOUT_S = 300.0
TOOL_TIMEOUT_S = 60.0

_SOURCE = next(iter(HIP_SOURCES))
_AGAIN = "ansible-playbook site.yml -l halo --tags rocm_runtime"


def inputs(hipcc: Path, gfx: str, packages: Mapping[str, str], root: Path = Path("/")) -> dict[str, Any]:
    """Return everything that the proof rests on.

    Args:
        hipcc: The stack's hipcc.
        gfx: The target.
        packages: Name -> version of the ROCm packages and the toolchain, with their dependencies.
        root: The host's root directory.
    """
    return {
        "sources": HIP_SOURCES,
        "gfx": gfx,
        "compiler": file_state(hipcc),
        "packages": dict(packages),
        "gcc": gcc_in_use(root),
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
        Refuted: It does not.
    """
    subject = f"{hipcc} for {gfx}"
    if not hipcc.exists():
        raise Refuted(Finding("PROOF.COMPILER_ABSENT", "error", subject, f"{hipcc} does not exist", _AGAIN))
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
        raise Refuted(Finding("PROOF.COMPILE_FAILED", "error", subject, evidence, remedy))
    try:
        targets = _targets(hipcc, gfx, (work / "saxpy").read_bytes(), work)
    except (OSError, Unreadable) as error:
        raise Refuted(_no_code_object(subject, str(error))) from error
    found = [target for target in targets if gfx_of(target) == gfx]
    if not found:
        raise Refuted(_no_code_object(subject, f"found {', '.join(targets) or 'none'}, wanted {gfx}"))
    return f"{hipcc} compiled a saxpy in a clean environment; its executable holds {', '.join(found)}"


def _targets(hipcc: Path, gfx: str, executable: bytes, work: Path) -> list[str]:
    """Return the ids of the code objects for AMD GPUs in an executable.

    Raises:
        Unreadable: There are none that could be read.
    """
    fatbin = section(executable)
    if fatbin is None:
        raise Unreadable(f"the executable has no section {SECTION}")
    try:
        return [entry.target for entry in code_objects(fatbin) if entry.is_amdgpu]
    except Compressed as error:
        return _listed(hipcc, gfx, fatbin, work, str(error))


def _listed(hipcc: Path, gfx: str, fatbin: bytes, work: Path, reason: str) -> list[str]:
    """Return what the clang-offload-bundler that belongs to hipcc lists."""
    (work / "fatbin").write_bytes(fatbin)
    # With a target, since hipcc otherwise asks for the GPU first and complains that there is none.
    asked = run_clean(
        (str(hipcc), f"--offload-arch={gfx}", "--print-prog-name=clang-offload-bundler"), work, TOOL_TIMEOUT_S
    )
    bundler = asked.stdout.strip().rpartition("\n")[2]
    listed = run_clean((bundler or "clang-offload-bundler", "--list", "--type=o", "--input=fatbin"), work, TOOL_TIMEOUT_S)
    if listed.rc != 0:
        raise Unreadable(f"{reason}, and {bundler} fails: {first_errors(listed)}")
    return [line for line in listed.stdout.split() if gfx_of(line)]


def _no_code_object(subject: str, evidence: str) -> Finding:
    remedy = f"{_AGAIN}   (hipcc is not the stack's, or something wraps it: see type -a hipcc)"
    return Finding("PROOF.NO_CODE_OBJECT", "error", subject, evidence, remedy)
