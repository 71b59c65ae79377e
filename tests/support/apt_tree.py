"""Trees of files that look like a host to whoever reads them below a root directory, in a container with a real apt."""

from __future__ import annotations

import base64
import json
import time

from tests.support.apt_host import AptHost
from tests.unit.gpg_home import DAY, GpgHome

TREE = "/srv/audited"
LIST = "/etc/apt/sources.list"
PARTS = "/etc/apt/sources.list.d"
PINS = "/etc/apt/preferences.d"
LISTS = "/var/lib/apt/lists"
OLD = "/etc/apt/trusted.gpg.d/vendor.gpg"
NEW = "/etc/apt/keyrings/vendor.gpg"
URI = "https://archive.example.org/rocm"
NOBLE = 'ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\nPRETTY_NAME="Ubuntu 24.04 LTS"\n'
DPKG = "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.22\n\n"
#: A host with nothing to say about: its own archive with lists, and dpkg alone.
FRESH = {
    "/etc/os-release": NOBLE,
    LIST: "deb http://archive.example.org/ubuntu noble main\n",
    f"{LISTS}/archive.example.org_ubuntu_dists_noble_InRelease": (
        "Origin: Ubuntu\nLabel: Ubuntu\nSuite: noble\nCodename: noble\nArchitectures: amd64 i386\n"
        "Components: main universe\nSHA256:\n 00 0 main/x\n"
    ),
    f"{LISTS}/archive.example.org_ubuntu_dists_noble_main_binary-amd64_Packages": "Package: dpkg\nVersion: 1.22\n\n",
    "/var/lib/dpkg/status": DPKG,
}
WRITE = r"""
import base64, json, pathlib, shutil, sys
root = pathlib.Path(sys.argv[1])
shutil.rmtree(root, ignore_errors=True)
for name, data in json.loads(sys.argv[2]).items():
    path = root / name.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(data))
"""

Files = dict[str, "str | bytes | None"]


def lay(host: AptHost, files: Files) -> None:
    """Make the tree anew: the fresh host with files laid over it; ``None`` takes one away."""
    every = {name: data for name, data in {**FRESH, **files}.items() if data is not None}
    encoded = {
        name: base64.b64encode(data if isinstance(data, bytes) else data.encode()).decode()
        for name, data in every.items()
    }
    host.python(WRITE, TREE, json.dumps(encoded))


def stanza(uri: str = URI, suites: str = "noble", components: str = "main", **fields: str) -> str:
    """Return a deb822 source."""
    more = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in fields.items())
    return f"Types: deb\nURIs: {uri}\nSuites: {suites}\n" + (f"Components: {components}\n" if components else "") + more


def listed(uri: str, suite: str = "noble", origin: str = "repo.example", data: bytes = b"") -> Files:
    """Return the lists of an archive without packages."""
    name = uri.partition("://")[2].rstrip("/").replace("/", "_")
    release = f"Origin: {origin}\nSuite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: main\n".encode()
    return {
        f"{LISTS}/{name}_dists_{suite}_InRelease": data or release,
        f"{LISTS}/{name}_dists_{suite}_main_binary-amd64_Packages": "",
    }


def package(name: str, status: str = "install ok installed", version: str = "1") -> str:
    """Return a stanza of dpkg\'s status."""
    return f"Package: {name}\nStatus: {status}\nArchitecture: amd64\nVersion: {version}\n\n"


def pin(pin: str, priority: str = "600", packages: str = "*") -> str:
    """Return a stanza of preferences."""
    return f"Package: {packages}\nPin: {pin}\nPin-Priority: {priority}\n"


def two_copies(gpg: GpgHome) -> dict[str, str | bytes]:
    """Return one key as it expired, and as its owner prolonged it."""
    past = int(time.time()) - 400 * DAY
    fingerprint = gpg.make("Vendor <vendor@example.org>", expires="30d", at=past)
    expired = gpg.export(fingerprint)
    gpg.gpg("--quick-set-expire", fingerprint, "10y", at=past + DAY)
    return {"fingerprint": fingerprint, "expired": expired, "fresh": gpg.export(fingerprint)}
