"""Releases of ROCm side by side, with the alternatives that the real update-alternatives makes."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from halo.proof import releases

pytestmark = pytest.mark.skipif(not shutil.which("update-alternatives"), reason="needs update-alternatives of dpkg")


class Host:
    def __init__(self, root: Path) -> None:
        self.rocm, self.alternatives, self.admin = root / "opt/rocm", root / "etc/alternatives", root / "admin"
        for path in (self.rocm.parent, self.alternatives, self.admin):
            path.mkdir(parents=True)

    def update(self, *arguments: str) -> None:
        own = ["--altdir", str(self.alternatives), "--admindir", str(self.admin), "--log", "/dev/null"]
        subprocess.run(["update-alternatives", *own, *arguments], check=True, capture_output=True)

    def install(self, release: str, legacy: bool = False) -> Path:
        """Do what the packages of a release do."""
        prefix = self.rocm.with_name(f"rocm-{release}") if legacy else self.rocm / f"core-{release}"
        for part in ("bin", "lib", ".info"):
            (prefix / part).mkdir(parents=True)
        (prefix / ".info/version").write_text(f"{release}.0-4\n")
        if legacy:
            self.update("--install", str(self.rocm), "rocm", str(prefix), "1")
        else:
            for part in ("bin", "lib"):
                self.update("--install", str(self.rocm / part), f"rocm-{part}", str(prefix / part), "100")
        return prefix

    def check(self, prefix: Path) -> dict[str, releases.Finding]:
        return {finding.code: finding for finding in releases.check(prefix, self.rocm, self.alternatives)}


@pytest.fixture
def box(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize("legacy", [False, True])
def test_a_single_release_needs_no_word(box: Host, legacy: bool) -> None:
    assert box.check(box.install("10.0", legacy)) == {}


@pytest.mark.parametrize("legacy", [False, True])
def test_links_that_stay_at_the_release_before_are_named_and_the_remedy_moves_them(box: Host, legacy: bool) -> None:
    old, new = box.install("10.0", legacy), box.install("10.1", legacy)
    box.update("--set", "rocm", str(old)) if legacy else [
        box.update("--set", f"rocm-{part}", str(old / part)) for part in ("bin", "lib")
    ]
    found = box.check(new)
    link = found["ROCM.LINK_ELSEWHERE"]
    assert link.severity == "warning"
    assert str(old) in link.evidence and str(new) in link.evidence
    beside = found["ROCM.RELEASE_BESIDE"]
    assert (beside.severity, beside.subject) == ("info", str(old))
    assert "10.0.0-4" in beside.evidence and f"dpkg -S {old} " in beside.remedy

    for command in link.remedy.split(" && "):
        word, *arguments = shlex.split(command)
        assert word == "update-alternatives"
        box.update(*arguments)
    assert set(box.check(new)) == {"ROCM.RELEASE_BESIDE"}
    assert (box.rocm / "bin").resolve() == new / "bin"
    assert set(box.check(old)) == {"ROCM.LINK_ELSEWHERE", "ROCM.RELEASE_BESIDE"}, "going back is told as well"


def test_a_link_by_hand_is_moved_by_hand(box: Host) -> None:
    prefix = box.install("7.2.4", legacy=True)
    other = box.rocm.with_name("rocm-6.2.0")
    (other / "bin").mkdir(parents=True)
    box.rocm.unlink()
    box.rocm.symlink_to(other)
    link = box.check(prefix)["ROCM.LINK_ELSEWHERE"]
    subprocess.run(shlex.split(link.remedy), check=True)
    assert set(box.check(prefix)) == {"ROCM.RELEASE_BESIDE"}


def test_remains_of_a_removed_release_and_rocm_elsewhere_need_no_word(box: Host, tmp_path: Path) -> None:
    prefix = box.install("10.1")
    (box.rocm / "core-10.0/lib").mkdir(parents=True)
    (box.rocm / "core").symlink_to("core-10.0")  # of a package, no alternative
    assert box.check(prefix) == {}
    (tmp_path / "usr/bin").mkdir(parents=True)
    assert box.check(tmp_path / "usr") == {}
    assert box.check(box.rocm / "core-9.9") == {}
