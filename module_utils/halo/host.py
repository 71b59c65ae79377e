"""What a host is: its OS release, architecture, kernel and CPU, read below a root directory."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .findings import Finding
from .gpu import HALO_GFX

#: How the CPU names itself in a Ryzen AI Halo, also before its GPU driver is up: "AMD RYZEN AI MAX+ 395 w/ ...".
HALO_CPU = "RYZEN AI MAX"

ARCHITECTURE = "amd64"


@dataclass(frozen=True)
class Host:
    """Facts of one host; what cannot be read is an empty string.

    Attributes:
        os: ``id``, ``id_like``, ``version``, ``codename``, ``pretty`` of os-release.
        architecture: dpkg's native architecture, as ``amd64``.
        kernel: Release of the running kernel, as ``6.18.4-1-generic``.
        cpu_model: The first CPU's name.
        halo_cpu: Whether that name is a Ryzen AI Max.
        python3_apt: Whether the system's Python has python3-apt.
    """

    os: dict[str, str] = field(default_factory=dict)
    architecture: str = ""
    kernel: str = ""
    cpu_model: str = ""
    halo_cpu: bool = False
    python3_apt: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the plain form in which ``host_facts`` returns it."""
        return asdict(self)


def read(root: Path) -> Host:
    """Read the facts of the host whose file system begins at ``root``."""
    cpu = _cpu_model(_text(root / "proc/cpuinfo"))
    return Host(
        os=_os(_text(root / "etc/os-release") or _text(root / "usr/lib/os-release")),
        architecture=_architecture(_text(root / "var/lib/dpkg/status")),
        kernel=_text(root / "proc/sys/kernel/osrelease").strip(),
        cpu_model=cpu,
        halo_cpu=HALO_CPU in cpu.upper(),
        python3_apt=any((root / "usr/lib/python3/dist-packages").glob("apt_pkg*.so")),
    )


def check(host: Mapping[str, Any], gpus: Iterable[Mapping[str, Any]], allow_any_host: bool) -> list[Finding]:
    """Say whether this is a machine that may be provisioned.

    Args:
        host: A :class:`Host` in its plain form.
        gpus: The host's GPUs in their plain form.
        allow_any_host: The user's word that it may be one that is no Halo.
    """
    native = host["architecture"]
    if native != ARCHITECTURE:
        evidence = f"dpkg's native architecture is {native or 'unknown'}, ROCm is packaged for {ARCHITECTURE}"
        remedy = f"install an {ARCHITECTURE} Debian or Ubuntu on a Ryzen AI Max machine"
        return [Finding("HOST.ARCH", "error", "this machine", evidence, remedy)]
    found = [gpu["gfx"] for gpu in gpus]
    if host["halo_cpu"] or HALO_GFX in found:
        return []
    evidence = f"the CPU is {host['cpu_model'] or 'unknown'}, GPUs: {', '.join(found) or 'none that ROCm could use'}"
    if allow_any_host:
        return [Finding("HOST.NOT_HALO", "info", "this machine", f"{evidence}; going on, halo_allow_any_host is set")]
    return [
        Finding(
            "HOST.NOT_HALO",
            "error",
            "this machine",
            evidence,
            f"-e halo_allow_any_host=true -e halo_gfx={HALO_GFX} to go on regardless, with proofs for {HALO_GFX}",
        )
    ]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _os(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.strip().partition("=")
        if not separator or key.startswith("#"):
            continue
        try:
            values[key] = "".join(shlex.split(value))
        except ValueError:
            continue  # an open quote: os-release(5) gives such a line no meaning
    return {
        "id": values.get("ID", ""),
        "id_like": values.get("ID_LIKE", ""),
        "version": values.get("VERSION_ID", ""),
        "codename": values.get("VERSION_CODENAME", ""),
        "pretty": values.get("PRETTY_NAME", ""),
    }


def _architecture(status: str) -> str:
    """Return dpkg's native architecture: its own package has it, whatever the kernel is."""
    for paragraph in status.split("\n\n"):
        if paragraph.startswith("Package: dpkg\n"):
            for line in paragraph.splitlines():
                if line.startswith("Architecture: "):
                    return line[len("Architecture: ") :]
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def _cpu_model(cpuinfo: str) -> str:
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return ""
