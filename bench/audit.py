"""An audit of a host with fifty sources, against one ``apt-get -s install`` on the same host."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.apt_host import AptHost

NAME = "audit"
LIMIT = 0.5
RUNS = 7

RELEASE = "debian-13"
SOURCES = 50

# The host's own index under another archive's name would be a second one to read: these have lists of their own, small
# as vendors' are, and a key each names.
MAKE = r"""
import pathlib, shutil, sys
lists, parts = pathlib.Path("/var/lib/apt/lists"), pathlib.Path("/etc/apt/sources.list.d")
key = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
packages = "".join(f"Package: stand-in-{n}\nVersion: 1\nArchitecture: amd64\nDescription: {n}\n\n" for n in range(500))
for number in range(int(sys.argv[1])):
    site = f"archive-{number}.example.org"
    keyring = pathlib.Path(f"/etc/apt/keyrings/{number}.gpg")
    shutil.copy(key, keyring)
    source = f"Types: deb\nURIs: https://{site}/apt\nSuites: stable\nComponents: main\nSigned-By: {keyring}\n"
    line = f"deb [signed-by={keyring}] https://{site}/apt stable main\n"
    (parts / (f"{number}.sources" if number % 2 else f"{number}.list")).write_text(source if number % 2 else line)
    (lists / f"{site}_apt_dists_stable_InRelease").write_text(
        f"Origin: {number}\nSuite: stable\nCodename: stable\nArchitectures: amd64\nComponents: main\n"
    )
    (lists / f"{site}_apt_dists_stable_main_binary-amd64_Packages").write_text(packages)
"""

_host: AptHost


@contextmanager
def setup() -> Iterator[str]:
    """Start a host with the distribution's lists and many more sources."""
    global _host
    with AptHost(RELEASE, "bench-audit") as _host:
        own = _host.run("apt-get indextargets --format '$(CREATED_BY)' 'Created-By: Packages' | wc -l")
        _host.python(MAKE, str(SOURCES - int(own)))
        # apt-get keeps its caches, from which it then solves.
        _host.run("apt-get -s install hello >/dev/null")
        yield RELEASE


def ours() -> None:
    """Audit."""
    answer = _host.audit()
    assert not answer["failed"], answer["msg"]
    assert len(answer["sources"]) > SOURCES / 2


def theirs() -> None:
    """Simulate."""
    command = _host.command("apt-get", "-s", "install", "hello")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
