"""Lets tests import what a checkout holds the way ansible-core does when it runs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import ansible.module_utils
import pytest

ROOT = Path(__file__).resolve().parents[2]

# Modules say `from ansible.module_utils.halo import ...`; ansible-core adds the directory when it packs a module.
if str(ROOT / "module_utils") not in ansible.module_utils.__path__:
    ansible.module_utils.__path__.append(str(ROOT / "module_utils"))
sys.path.insert(0, str(ROOT / "library"))


@pytest.fixture
def root() -> Path:
    """Return the checkout."""
    return ROOT


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """Give a path below which nobody can make anything, root included: below a file."""
    blocker = tmp_path / "a-file"
    blocker.write_text("")
    yield blocker / "below"
