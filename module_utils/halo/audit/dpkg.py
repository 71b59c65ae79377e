"""What dpkg has begun and not finished, holds, what it was told to divert, and a gcc without its C++ headers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..apt.dpkgdb import JOURNAL, Database, Package, interrupted
from .model import Problem

_DIVERSIONS = "var/lib/dpkg/diversions"
_GCC = "usr/lib/gcc/x86_64-linux-gnu"
_DKMS = "amdgpu-dkms"


def states(database: Database, root: str, apu: bool | None) -> list[Problem]:
    """Return what dpkg's status says: unfinished packages, holds, AMD's kernel module on an APU."""
    problems = []
    packages = list(database.packages.values())
    for package in packages:
        if package.name == _DKMS and apu:
            problems.append(_kernel_module(package))
        elif package.unfinished:
            problems.append(_unfinished(package))
    if interrupted(root):
        evidence = f"/{JOURNAL} holds changes that dpkg has not taken over yet: it was interrupted"
        problems.append(
            Problem("DPKG.UNFINISHED", "warning", "dpkg", evidence, "dpkg --configure -a", f"/{JOURNAL}", 0, 0, {})
        )
    held = sorted((package for package in packages if package.want == "hold"), key=lambda package: package.name)
    if held:
        problems.append(_held(held))
    return problems


def _unfinished(package: Package) -> Problem:
    damaged = package.flag == "reinstreq" or package.state == "half-installed"
    evidence = f"{package.name} {package.version} is {package.state}" + (
        ", and must be installed again" if damaged else ""
    )
    remedy = f"apt-get install --reinstall {package.name}" if damaged else "dpkg --configure -a, and read what it says"
    return Problem(
        "DPKG.UNFINISHED", "warning", package.name, evidence, remedy, "/var/lib/dpkg/status", detail=_detail(package)
    )


def _kernel_module(package: Package) -> Problem:
    evidence = (
        f"{package.name} {package.version} is {package.state}; this machine's GPU is that of an APU, which uses the "
        "kernel's own amdgpu driver"
    )
    remedy = f"dpkg --purge {package.name} && dpkg --configure -a"
    return Problem(
        "DPKG.AMDGPU_DKMS", "warning", package.name, evidence, remedy, "/var/lib/dpkg/status", detail=_detail(package)
    )


def _held(held: Iterable[Package]) -> Problem:
    names = [package.name for package in held]
    evidence = "on hold: " + ", ".join(f"{package.name} {package.version}" for package in held)
    return Problem(
        "DPKG.HELD",
        "info",
        f"{len(names)} package" + "s" * (len(names) > 1),
        evidence,
        f"apt-mark unhold {' '.join(names)}, where they are in the way",
        "/var/lib/dpkg/status",
        detail={"packages": [_detail(package) for package in held]},
    )


def _detail(package: Package) -> dict[str, str]:
    return {
        "name": package.name,
        "arch": package.arch,
        "version": package.version,
        "want": package.want,
        "state": package.state,
        "flag": package.flag,
    }


def diversions(database: Database, root: str) -> list[Problem]:
    """Return the diversions that the administrator made, and those of packages that are not there any more."""
    path = Path(root) / _DIVERSIONS
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    installed = {package.name for package in database.packages.values()}
    rows = [
        {"path": original, "to": target, "package": "" if owner == ":" else owner}
        for original, target, owner in zip(lines[::3], lines[1::3], lines[2::3])
        if owner.partition(":")[0] not in installed
    ]
    if not rows:
        return []
    shown = "; ".join(
        f"{row['path']} to {row['to']} by "
        + (f"{row['package']}, which is not installed" if row["package"] else "hand")
        for row in rows
    )
    remedy = "dpkg-divert --rename --remove PATH, for those that are not needed"
    subject = f"{len(rows)} diversion" + "s" * (len(rows) > 1)
    return [
        Problem(
            "DPKG.DIVERTED", "info", subject, f"diverted: {shown}", remedy, f"/{_DIVERSIONS}", detail={"rows": rows}
        )
    ]


def headers(database: Database, root: str) -> list[Problem]:
    """Return a problem where the gcc that clang takes for its C++ library has no headers.

    clang takes the highest directory that has crtbegin.o, whether libstdc++-N-dev is there or not
    (https://github.com/llvm/llvm-project, clang/lib/Driver/ToolChains/Gnu.cpp).
    """
    base = Path(root) / _GCC
    found = [int(path.parent.name) for path in base.glob("*/crtbegin.o") if path.parent.name.isdigit()]
    if not found:
        return []
    newest = max(found)
    package = f"libstdc++-{newest}-dev"
    if any(one.name == package and one.state == "installed" for one in database.packages.values()):
        return []
    evidence = f"/{_GCC}/{newest} is the newest gcc there, so clang takes it, and {package} is not installed"
    detail = {"package": package, "major": newest}
    return [
        Problem(
            "TOOLCHAIN.NO_LIBSTDCXX",
            "warning",
            package,
            evidence,
            f"apt-get install {package}",
            f"/{_GCC}/{newest}",
            detail=detail,
        )
    ]
