"""Which GPUs ROCm sees, by asking rocminfo."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..findings import Finding
from .evidence import plain
from .run import Outcome, run_clean

TIMEOUT_S = 60.0

_AGENT = re.compile(r"^Agent \d+\s*$", re.MULTILINE)
_NAME = re.compile(r"^ {2}Name: +(\S.*?)\s*$", re.MULTILINE)
_KIND = re.compile(r"^ {2}Device Type: +(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Agent:
    """A processor that rocminfo lists.

    Attributes:
        name: A CPU's model, or a GPU's target, ``gfx1151``.
        kind: ``CPU``, ``GPU`` or what else stands as its device type (``DSP`` on some APUs).
    """

    name: str
    kind: str


def agents(text: str) -> list[Agent]:
    """Return the agents in rocminfo's output, in its order; none where it lists none."""
    found = []
    for part in _AGENT.split(plain(text))[1:]:
        # The first of each: names of ISAs and pools follow, indented further.
        name, kind = _NAME.search(part), _KIND.search(part)
        if name and kind:
            found.append(Agent(name.group(1), kind.group(1)))
    return found


def look(rocminfo: Path, gfx: str, require_gpu: bool, work: Path) -> list[Finding]:
    """Ask rocminfo, and return what it says about the GPU that the stack compiles for.

    Args:
        rocminfo: The stack's rocminfo.
        gfx: The target that was asked for.
        require_gpu: Whether it is an error that it is not there.
        work: A directory to run in.
    """
    if not rocminfo.exists():
        evidence, remedy = f"{rocminfo} does not exist", "ansible-playbook site.yml -l halo --tags rocm_runtime"
        return [Finding("PROOF.ROCMINFO_ABSENT", "error", "rocminfo", evidence, remedy)]
    return gpu_findings(run_clean((str(rocminfo),), work, TIMEOUT_S), gfx, require_gpu)


def gpu_findings(outcome: Outcome, gfx: str, require_gpu: bool) -> list[Finding]:
    """Return what rocminfo says about the GPU that the stack compiles for.

    Args:
        outcome: Of rocminfo.
        gfx: The target that was asked for.
        require_gpu: Whether it is an error that it is not there.
    """
    severity = "error" if require_gpu else "warning"
    names = [agent.name for agent in agents(outcome.stdout) if agent.kind == "GPU"]
    if not names:
        # What libkmod adds on standard error where there is no /proc/modules says nothing about the GPU.
        said = " ".join(plain(outcome.stdout.strip() or outcome.stderr).split()[:60]) or "nothing"
        if agents(outcome.stdout):
            said = "lists no agent of type GPU"
        remedy = "lsmod | grep amdgpu; ls -l /dev/kfd /dev/dri/renderD*; in a container pass both devices to it"
        evidence = f"{outcome.argv[0]} exited with {outcome.rc}: {said}"
        return [Finding("GPU.ABSENT", severity, gfx, evidence, remedy)]
    if gfx not in names:
        remedy = f"set halo_gfx to {names[0]}, or to auto"
        return [Finding("GPU.GFX_DIFFERS", severity, gfx, f"rocminfo lists {', '.join(names)}", remedy)]
    return [Finding("PROOF.PASSED", "info", "rocminfo", f"{outcome.argv[0]} lists {', '.join(names)}")]
