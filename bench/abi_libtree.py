"""The same as ``abi-nodes`` against Debian's libtree, written in C, which looks at neither versions nor symbols."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import abi, abi_nodes

NAME = "abi-libtree"
LIMIT = 15.0
RUNS = 5

ours = abi_nodes.ours

_libtree: str


@contextmanager
def setup() -> Iterator[str]:
    """Unpack libtree, unless it is installed."""
    global _libtree
    with TemporaryDirectory() as work, abi.setup() as host:
        _libtree = shutil.which("libtree") or str(Path(work, "usr/bin/libtree"))
        if not Path(_libtree).exists():
            subprocess.run(["apt-get", "download", "-qq", "libtree"], cwd=work, check=True)
            (package,) = Path(work).glob("*.deb")
            subprocess.run(["dpkg", "-x", package, work], check=True)
        yield host


def theirs() -> None:
    """Show the trees of all objects."""
    subprocess.run([_libtree, *abi.objects()], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
