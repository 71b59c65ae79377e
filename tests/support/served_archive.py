"""The test archive, built once and served to containers: AMD's part, sound and in every broken variant."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.archive import nginx
from tests.archive.build import HERE, Site, build
from tests.archive.keys import Key, armoured, make
from tests.archive.publish import load_archives

NETWORK = os.environ.get("HALO_TEST_NETWORK", "podman")

LEGACY = "repo.radeon.com/rocm/apt/7.2.4"
AMDROCM = "stable.repo.amd.com/rocm/core/packages/ubuntu2404"
LEGACY_KEY = "repo.radeon.com/rocm/rocm.gpg.key"


@dataclass(frozen=True)
class Served:
    """An archive that is served.

    Attributes:
        url: Without a slash at its end.
        site: Its directories.
        keys: Its keys by name.
    """

    url: str
    site: Site
    keys: dict[str, Key]

    def keyring(self, key: str, state: str = "current") -> bytes:
        """Return a public key, binary."""
        return self.keys[key].public(self.site.keys, state)

    def armoured(self, key: str, state: str = "current") -> str:
        """Return a public key, armoured."""
        return armoured(self.keyring(key, state)).decode()

    def at(self, path: str, variant: str = "") -> str:
        """Return the URL of a path, of the sound archive or of a broken variant."""
        return f"{self.url}/broken/{variant}/{path}" if variant else f"{self.url}/{path}"


@contextmanager
def serving(out: Path, cache: Path) -> Iterator[Served]:
    """Build the archive below ``out``, and serve it from a container as long as the block lasts."""
    site = Site(out, cache)
    build(site, ["amd"])
    _, specs = load_archives(HERE / "archives.yml")
    purpose = os.environ.get("HALO_TEST_NAME", "halo")
    name = f"{purpose}-archive-{uuid.uuid4().hex[:8]}"
    try:
        yield Served(nginx.start(site.out, NETWORK, name, label=f"halo-test={purpose}"), site, make(specs, site.keys))
    finally:
        nginx.stop(name)
