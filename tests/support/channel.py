"""What AMD's channels must look like on a host, asked of the host's own tools and of gpg."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

from tests.support.playbook import ROOT


def release(host: Any) -> str:
    """Return the host's release, such as ``ubuntu-24.04``."""
    return str(host.check_output(". /etc/os-release; echo $ID-$VERSION_ID"))


def fingerprint(channel: str) -> str:
    """Return the fingerprint of the key that the test archive signs a channel with."""
    manifest = json.loads((ROOT / ".halo/archive/archive.json").read_text(encoding="utf-8"))
    return str(manifest["keys"][channel]["fingerprint"])


def fingerprints_in(keyring: bytes) -> list[str]:
    """Return the primary fingerprints of a binary keyring, as gpg reads them."""
    command = ["gpg", "--batch", "--with-colons", "--show-keys"]
    shown = subprocess.run(command, input=keyring, capture_output=True, check=True).stdout.decode()
    return re.findall(r"^pub:.*\n(?:sub.*\n)*fpr:+([0-9A-F]+):", shown, re.MULTILINE)


def pinned(host: Any, package: str) -> dict[str, Any]:
    """Return what apt-cache policy says of a package: ``installed``, ``candidate``, ``priority`` of the installed one.

    Also ``sources``: the lines of where the installed version comes from.
    """
    said = host.check_output(f"apt-cache policy {package}")
    table = re.search(r"^ \*\*\* (\S+) (\d+)\n((?: {8}.*\n?)*)", said, re.MULTILINE)
    assert table, f"{package} is not installed:\n{said}"
    return {
        "installed": table[1],
        "candidate": re.search(r"Candidate: (\S+)", said)[1],
        "priority": int(table[2]),
        "sources": [line.strip() for line in table[3].splitlines()],
    }


def installed(host: Any, *globs: str) -> dict[str, str]:
    """Return the installed packages that match, with their versions."""
    words = " ".join(f"'{glob}'" for glob in globs)
    said = host.run("dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\\n' " + words).stdout
    # A package that is only known has no version.
    lines = [line.split() for line in said.splitlines()]
    return {line[1]: line[2] for line in lines if line[0] == "installed"}


def assert_keyring(host: Any, path: str, channel: str) -> None:
    """Assert that a keyring holds the channel's key alone, in a file that apt's user can read."""
    keyring = host.file(path)
    assert (keyring.mode, keyring.user) == (0o644, "root")
    assert fingerprints_in(keyring.content) == [fingerprint(channel)]


def assert_pin_spares_others(host: Any, *absent: str) -> None:
    """Assert that the pins are in force for packages of the channel that are not installed, and not for another."""
    said = host.check_output(f"apt-cache policy {' '.join(absent)} bash")
    not_installed, shell = said[: said.index("bash:")], said[said.index("bash:") :]
    assert " 990\n" in not_installed, said
    assert " 990\n" not in shell
    assert " 600\n" not in shell
