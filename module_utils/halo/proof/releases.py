"""Which release of ROCm /opt/rocm leads to, and which others lie beside the stack's.

AMD's newer packages make alternatives of what is in /opt/rocm, the older ones of /opt/rocm itself. Both leave them at
the release that was there first, and no release removes another.
"""

from __future__ import annotations

from pathlib import Path

from ..findings import Finding

ROCM = Path("/opt/rocm")
ALTERNATIVES = Path("/etc/alternatives")


def check(prefix: Path, rocm: Path = ROCM, alternatives: Path = ALTERNATIVES) -> list[Finding]:
    """Return what there is to say about other releases, nothing where the stack's is not in AMD's directory.

    Args:
        prefix: Where the stack's release lies: ``/opt/rocm/core-10.0``, ``/opt/rocm-7.2.4``.
        rocm: AMD's directory, or link.
        alternatives: The directory of update-alternatives.
    """
    if not prefix.is_dir() or not str(prefix).startswith(str(rocm)):
        return []
    return _links(prefix, rocm, alternatives) + _beside(prefix)


def _links(prefix: Path, rocm: Path, alternatives: Path) -> list[Finding]:
    links = [rocm] if rocm.is_symlink() else sorted(path for path in rocm.iterdir() if path.is_symlink())
    elsewhere, commands = [], []
    for link in links:
        first, target = link.readlink(), link.resolve()
        wanted = prefix if link == rocm else prefix / link.name
        managed = first.parent == alternatives
        # Other links in the directory are of packages, and mean what they say.
        if target == wanted.resolve() or not wanted.exists() or not (managed or link == rocm):
            continue
        elsewhere.append(f"{link} leads to {target}")
        commands.append(f"update-alternatives --set {first.name} {wanted}" if managed else f"ln -sfn {wanted} {link}")
    if not elsewhere:
        return []
    evidence = f"{', '.join(elsewhere)}; the stack's release is in {prefix}"
    return [Finding("ROCM.LINK_ELSEWHERE", "warning", str(rocm), evidence, " && ".join(commands))]


def _beside(prefix: Path) -> list[Finding]:
    family = prefix.name.partition("-")[0]
    found = []
    for other in sorted(prefix.parent.glob(f"{family}-*")):
        if other.is_symlink() or other.resolve() == prefix.resolve() or not (other / "bin").is_dir():
            continue
        try:
            release = (other / ".info/version").read_text(encoding="utf-8").strip()
        except OSError:
            release = other.name.partition("-")[2]
        evidence = f"ROCm {release} is installed beside the stack's, which is in {prefix}"
        owners = f"dpkg -S {other} | sed 's/: .*//; s/,//g'"
        remedy = f"nothing, if you use it; else apt-get autoremove $({owners}) shows what would go, and asks"
        found.append(Finding("ROCM.RELEASE_BESIDE", "info", str(other), evidence, remedy))
    return found
