"""Which pin gives a package its priority; the private root is a stand-in with nothing but files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.module_utils.halo.apt.pinned import pinned_by

PINS = """# AMD's
Explanation: what follows is ours
Package: hip*
 roc*
Pin:  release  o=AMD ROCm
Pin-Priority: +600

Package: libc6
Pin: version 2.36*
Pin-Priority: 990
"""


@pytest.fixture
def root(tmp_path: Path) -> SimpleNamespace:
    (tmp_path / "preferences.d").mkdir()
    (tmp_path / "preferences.d/rocm.pref").write_text(PINS, encoding="utf-8")
    (tmp_path / "preferences.d/libc.dpkg-old").write_text(PINS.replace("990", "980"), encoding="utf-8")
    return SimpleNamespace(path=tmp_path, host=Path("/"))


@pytest.mark.parametrize(
    ("name", "priority", "expected"),
    [
        ("rocminfo", 600, "`Pin: release o=AMD ROCm` for hip* roc* in /etc/apt/preferences.d/rocm.pref"),
        ("libc6", 990, "`Pin: version 2.36*` for libc6 in /etc/apt/preferences.d/rocm.pref"),
        ("libc6", 600, ""),
        ("clang-17", 600, ""),
        # apt does not read files of this name.
        ("libc6", 980, ""),
    ],
)
def test_the_pin_that_has_the_name_and_the_priority(
    root: SimpleNamespace, name: str, priority: int, expected: str
) -> None:
    assert pinned_by(root, name, priority) == expected
