"""Explaining a wish that cannot be fulfilled, and finding remedies, against one ``apt-get -s install`` that works."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.apt_host import AptHost

NAME = "explain"
LIMIT = 5
RUNS = 5

RELEASE = "debian-12"
# A suite that is newer than the host's, known and not preferred; what is wished is there alone.
SUITE = "trixie"
WISH = {"name": "rocminfo", "version": "6.1.2*"}
SOURCE = """Types: deb
URIs: {uri}
Suites: {suite}
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""

_host: AptHost


@contextmanager
def setup() -> Iterator[str]:
    """Start a host that has the whole indexes of two releases."""
    global _host
    with AptHost(RELEASE, "bench-explain") as _host:
        uri = _host.run("cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -o '[a-z]*://[^ ]*'")
        _host.run(f"cat >/etc/apt/sources.list.d/{SUITE}.sources", SOURCE.format(uri=uri.split()[0], suite=SUITE))
        _host.run(f"cat >/etc/apt/preferences.d/{SUITE}", f"Package: *\nPin: release n={SUITE}\nPin-Priority: 100\n")
        # apt-get keeps its caches, which the planner uses too.
        _host.run("apt-get update -qq; apt-get -s install hello >/dev/null")
        yield RELEASE


def ours() -> None:
    """Explain, and find remedies."""
    answer = _host.plan(WISH, refresh="never", check_mode=True)
    assert answer.codes == ["APT.UNSOLVABLE"], answer["msg"]
    assert answer["explanation"][0]["remedies"], answer["msg"]


def theirs() -> None:
    """Simulate one installation that works."""
    command = _host.command("apt-get", "-s", "install", "--no-install-recommends", WISH["name"])
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
