"""What tests of one session share: a container for each release, and the test archive."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.support.apt_host import RELEASES, AptHost
from tests.support.served_archive import Served, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Give AMD's part of the test archive, served from a container of its own."""
    if not shutil.which("podman"):
        pytest.skip("needs podman; `./halo test integration` brings it")
    with serving(tmp_path_factory.mktemp("archive"), tmp_path_factory.mktemp("cache")) as archive:
        yield archive


@pytest.fixture(scope="session", params=RELEASES)
def shared_apt_host(request: pytest.FixtureRequest) -> Iterator[AptHost]:
    """Give a container with a real apt."""
    if not shutil.which("podman"):
        pytest.skip("needs podman; `./halo test integration` brings it")
    with AptHost(request.param, "apt") as host:
        yield host


@pytest.fixture
def apt_host(shared_apt_host: AptHost) -> Iterator[AptHost]:
    """Give the container, and put back afterwards what the test changes in packages, marks and apt's configuration."""
    host = shared_apt_host
    before, keep = host.installed(), "/var/lib/apt/extended_states /etc/apt"
    host.run(f"rm -rf /halo/kept.tar; tar -cf /halo/kept.tar {keep} 2>/dev/null")
    yield host
    host.run("rm -rf /etc/apt; tar -C / -xf /halo/kept.tar; rm -rf /srv/* /var/cache/halo")
    after = host.installed()
    names = host.run("dpkg-query -W -f '${Package}\\n'").split()
    if others := [name for name in names if name not in before]:
        host.run(f"dpkg --purge --force-all {' '.join(others)} >/dev/null 2>&1")
    if lost := [f"{name}={version}" for name, version in before.items() if after.get(name) != version]:
        host.run(f"apt-get install -qq --allow-downgrades --no-install-recommends {' '.join(lost)}")
    host.run("tar -C / -xf /halo/kept.tar")
