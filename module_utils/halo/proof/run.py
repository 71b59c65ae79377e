"""Run one command in an environment that nothing on the host can bend."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Outcome:
    """What a command did.

    Attributes:
        argv: The command.
        rc: Its exit status; negative: the signal that ended it; 126 or 127: it could not be started.
        stdout: What it printed.
        stderr: What it complained about, or why it could not be started.
        timed_out: It was stopped because it ran past its time.
    """

    argv: tuple[str, ...]
    rc: int
    stdout: str
    stderr: str
    timed_out: bool = False


def run_clean(argv: Sequence[str], cwd: Path, timeout_s: float) -> Outcome:
    """Run a command without the variables that change what is compiled or loaded.

    ``LD_LIBRARY_PATH``, ``CPATH``, ``LIBRARY_PATH``, ``HIPCC_COMPILE_FLAGS_APPEND``, ``HSA_OVERRIDE_GFX_VERSION`` and
    their like would make the proof one of the caller's environment, not of the host; so nothing is inherited.

    Args:
        argv: The command, its first word an absolute path.
        cwd: Working directory, also its ``HOME`` and ``TMPDIR``.
        timeout_s: Seconds after which the command and all its children are killed.
    """
    # HIP_PLATFORM: without it hipcc guesses by looking for a CUDA compiler.
    environment = {"PATH": _PATH, "LC_ALL": "C.UTF-8", "HOME": str(cwd), "TMPDIR": str(cwd), "HIP_PLATFORM": "amd"}
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A group of its own, since hipcc is a script whose children would outlive it and keep the pipes open.
            start_new_session=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        return Outcome(tuple(argv), 127 if isinstance(error, FileNotFoundError) else 126, "", str(error))
    with process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            return Outcome(tuple(argv), process.returncode, stdout, stderr, timed_out=True)
    return Outcome(tuple(argv), process.returncode, stdout, stderr)
