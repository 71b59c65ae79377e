"""What the kernel's compute driver (KFD) says about the GPUs of a host."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .findings import Finding

#: The gfx target of Ryzen AI Max, the machine this project is for.
HALO_GFX = "gfx1151"

#: PCI vendor, 0x1002.
AMD = 4098

TOPOLOGY = "sys/class/kfd/kfd/topology/nodes"

#: Targets that exist in APUs only, column "APU" of https://llvm.org/docs/AMDGPUUsage.html#processors (2026-11-30).
#: Newer kernels show such a GPU as a node of its own, so the node's counts alone do not tell.
APU_TARGETS = frozenset(
    (
        *("gfx700", "gfx703", "gfx705", "gfx801", "gfx810", "gfx902", "gfx909", "gfx90c", "gfx1013"),
        *("gfx1033", "gfx1035", "gfx1036", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    )
)

GFX_NAME = re.compile(r"gfx[0-9]{1,2}[0-9a-f]{2}")


@dataclass(frozen=True)
class Gpu:
    """One GPU that the compute driver offers.

    Attributes:
        node: Number of its node in the topology.
        gfx: Compiler target, as ``gfx1151``.
        name: What the driver calls it; empty where it says nothing.
        apu: Whether CPU and GPU share memory in one package.
        apu_reason: What ``apu`` was concluded from.
        simd_count: SIMD units; two for each compute unit.
        vendor_id: PCI vendor, :data:`AMD`.
        device_id: PCI device.
        render_minor: N of ``/dev/dri/renderDN``; 0 where the driver says nothing.
    """

    node: int
    gfx: str
    name: str
    apu: bool
    apu_reason: str
    simd_count: int
    vendor_id: int
    device_id: int
    render_minor: int

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form in which ``gpu_facts`` returns it."""
        return asdict(self)


def gfx_name(version: int) -> str:
    """Return the compiler's name of a KFD ``gfx_target_version``.

    Args:
        version: Decimal MMmmss, as 110501 or 90010. The name has minor and stepping as one hex digit each
            (``kfd_device.c`` and LLVM's processor names).

    Raises:
        ValueError: The number is none that a name can be made of.
    """
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    if not (6 <= major <= 99 and minor < 16 and stepping < 16):
        raise ValueError(f"gfx_target_version {version} is no MMmmss")
    return f"gfx{major}{minor:x}{stepping:x}"


def read(root: Path) -> tuple[list[Gpu], list[Finding]]:
    """Return the GPUs in the topology below ``root``, and a finding for each node that cannot be read.

    A host without the driver has no topology: no GPUs and no finding. What that means is for the caller to say.
    """
    gpus: list[Gpu] = []
    findings: list[Finding] = []
    try:
        nodes = [path for path in (root / TOPOLOGY).iterdir() if path.name.isdecimal()]
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [_unreadable(root / TOPOLOGY, str(error))]
    for node in sorted(nodes, key=lambda path: int(path.name)):
        try:
            gpu = _gpu(node)
        except (OSError, ValueError) as error:
            findings.append(_unreadable(node / "properties", str(error)))
        else:
            if gpu:
                gpus.append(gpu)
    return gpus, findings


def _gpu(node: Path) -> Gpu | None:
    properties = _properties((node / "properties").read_text(encoding="ascii"))
    if properties.get("simd_count", 0) == 0:
        return None  # a CPU
    if properties.get("vendor_id", AMD) != AMD:
        return None  # other drivers can put nodes here too
    if "gfx_target_version" not in properties:
        raise ValueError("no gfx_target_version: damaged, or a kernel before 5.14")
    gfx = gfx_name(properties["gfx_target_version"])
    shared = properties.get("cpu_cores_count", 0) > 0
    if shared:
        reason = "CPU and GPU are one node of the topology"
    elif gfx in APU_TARGETS:
        reason = f"{gfx} exists in APUs only"
    else:
        reason = f"a node without CPU cores, and {gfx} exists in discrete GPUs"
    return Gpu(
        node=int(node.name),
        gfx=gfx,
        name=_name(node / "name"),
        apu=shared or gfx in APU_TARGETS,
        apu_reason=reason,
        simd_count=properties["simd_count"],
        vendor_id=properties.get("vendor_id", AMD),
        device_id=properties.get("device_id", 0),
        render_minor=properties.get("drm_render_minor", 0),
    )


def _properties(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, _, value = line.partition(" ")
        # Negative: drm_render_minor is -1 on a CPU.
        if not re.fullmatch(r"-?[0-9]+", value.strip()):
            raise ValueError(f"line {number} is no name and number: {line[:60]!r}")
        found[key] = int(value)
    return found


def _name(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""  # only for people to read


def _unreadable(path: Path, evidence: str) -> Finding:
    return Finding(
        "GPU.UNREADABLE",
        "warning",
        str(path),
        evidence,
        "run as root outside a container; if it stays, reboot and look at: dmesg | grep -i -e kfd -e amdgpu",
    )
