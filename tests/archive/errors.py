"""The one exception of the test archive."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class ArchiveError(Exception):
    """The archive cannot be built or served; the message says what to do."""


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command and return it with what it wrote.

    Raises:
        ArchiveError: It failed or does not exist; the message ends with what it said.
    """
    words = [str(word) for word in command]
    try:
        return subprocess.run(words, check=True, capture_output=True, **options)
    except FileNotFoundError as error:
        remedy = "apt-get install apt-utils dpkg-dev gcc gpg"
        raise ArchiveError(f"{words[0]} is not installed here\nremedy: {remedy}") from error
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout or b"").decode(errors="replace").strip()
        raise ArchiveError(f"{' '.join(words[:6])} exited with {error.returncode}: {said[-1500:]}") from error
