"""What apt makes of the pins of roles toolchain_pin and rocm_runtime: two archives have the same packages."""

from __future__ import annotations

import json

import pytest

# Makes a flat archive: codename and version.
ARCHIVE = """
import hashlib, pathlib, subprocess, sys
codename, version = sys.argv[1:]
directory, control = pathlib.Path("/srv", codename), pathlib.Path("/srv/tree/DEBIAN/control")
directory.mkdir(parents=True, exist_ok=True)
control.parent.mkdir(parents=True, exist_ok=True)
packages = ""
for name in ("rocm-stand-in", "rocm-later"):
    fields = [f"Package: {name}", f"Version: {version}", "Architecture: all", "Maintainer: Nobody <nobody@example.org>"]
    fields += ["Description: stand-in", ""]
    control.write_text("\\n".join(fields))
    deb = directory / f"{name}_{version}.deb"
    subprocess.run(["dpkg-deb", "--build", "/srv/tree", deb], check=True, stdout=subprocess.DEVNULL)
    data = deb.read_bytes()
    fields[-1:] = [f"Filename: ./{deb.name}", f"Size: {len(data)}"]
    fields += [f"SHA256: {hashlib.sha256(data).hexdigest()}", "", ""]
    packages += "\\n".join(fields)
(directory / "Packages").write_text(packages)
listed = f"{hashlib.sha256(packages.encode()).hexdigest()} {len(packages)} Packages"
(directory / "Release").write_text(f"Origin: Stand-in\\nCodename: {codename}\\nSHA256:\\n {listed}\\n")
"""

# What module apt_pin does.
PIN = """
import json, sys
sys.path.insert(0, "/halo")
from halo import pin
planned = pin.plan("halo-test", json.loads(sys.argv[1]))
assert not planned.findings, planned.findings
pin.apply(planned)
"""

SOURCES = "deb [trusted=yes] file:/srv/one ./\ndeb [trusted=yes] file:/srv/two ./\n"
APT = "apt-get -o Dir::Etc::SourceList=/srv/sources.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=/srv/lists"


@pytest.fixture
def host(apt_host):
    """Version 1 is in archive ``one`` and installed, version 2 is in ``two``; both archives have the same Origin."""
    apt_host.python(ARCHIVE, "one", "1")
    apt_host.python(ARCHIVE, "two", "2")
    apt_host.run("mkdir -p /srv/lists/partial; cat > /srv/sources.list", stdin=SOURCES)
    apt_host.run(f"{APT} update -qq; {APT} install -qq rocm-stand-in=1")
    return apt_host


def would(host, command):
    return [line for line in host.run(f"{APT} --simulate {command}").splitlines() if line.startswith(("Inst", "Remv"))]


def test_an_upgrade_moves_nothing_that_is_pinned_to_what_is_installed(host):
    assert [line[:26] for line in would(host, "upgrade")] == ["Inst rocm-stand-in [1] (2 "], "else this shows nothing"
    pins = [
        {"packages": ["rocm-*"], "version": "installed", "priority": 995},
        {"packages": ["rocm-*"], "release": "o=Stand-in,n=one", "priority": 990},
    ]
    host.python(PIN, json.dumps(pins))
    assert would(host, "upgrade") == would(host, "dist-upgrade") == []
    later = would(host, "install rocm-later")
    assert len(later) == 1
    assert later[0].startswith("Inst rocm-later (1 "), "what is not installed comes from the pinned release"
    host.python(ARCHIVE, "one", "1.1")
    host.run(f"{APT} update -qq")
    assert would(host, "upgrade") == [], "nor does a newer version in the pinned release move it"


def test_a_pin_to_a_prefix_lets_updates_within_it_through(host):
    host.python(PIN, json.dumps([{"packages": ["rocm-stand-in"], "version": "1*", "priority": 990}]))
    assert would(host, "upgrade") == []
    host.python(ARCHIVE, "one", "1.1")
    host.run(f"{APT} update -qq")
    assert [line[:28] for line in would(host, "upgrade")] == ["Inst rocm-stand-in [1] (1.1 "]
