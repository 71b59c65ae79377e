"""``halo abi`` of all libraries of this machine, symbols included, against a loop of ``ldd -r``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support import abi_oracle

NAME = "abi"
LIMIT = 0.1
RUNS = 2

ROOT = Path(__file__).resolve().parents[1]
TREE = "/usr/lib/x86_64-linux-gnu"
MOST_MEMORY = 100 << 20

_work: Path
_objects: list[str]


@contextmanager
def setup() -> Iterator[str]:
    """List the objects, so that nobody else has to look for them."""
    global _work, _objects
    sys.path.append(str(ROOT / "module_utils"))
    from halo.abi.loader import Loader
    from halo.abi.paths import Root

    with TemporaryDirectory() as name:
        _work = Path(name)
        _objects = abi_oracle.objects(Loader(Root()), [TREE])
        (_work / "objects").write_text("".join(f"{path}\n" for path in _objects), encoding="utf-8")
        (_work / "answer").touch()
        megabytes = sum(Path(path).stat().st_size for path in _objects) >> 20
        yield f"{len(_objects)} objects, {megabytes} MB"


def ours(*options: str) -> None:
    """Check them all, from starting Python to the answer, within the memory that it may take."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "module_utils")}
    with (_work / "answer").open("w") as answer:
        command = [sys.executable, "-m", "halo", "abi", TREE, *options]
        started = subprocess.Popen(command, stdout=answer, env=environment)
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    said = (_work / "answer").read_text(encoding="utf-8")
    assert started.returncode == 0, said
    assert f"{len(_objects)} objects" in said
    assert usage.ru_maxrss << 10 <= MOST_MEMORY, f"{usage.ru_maxrss >> 10} MB"


def each(command: str, **environment: str) -> None:
    """Run a command once for each object, as ``$object``."""
    script = f"while read -r object; do {command}; done <{_work}/objects >/dev/null 2>&1"
    subprocess.run(["/bin/bash", "-c", script], check=True, env={**os.environ, **environment})


def theirs() -> None:
    """Ask ldd."""
    each('ldd -r "$object" || :')


def objects() -> list[str]:
    """Return the paths of all objects."""
    return _objects
