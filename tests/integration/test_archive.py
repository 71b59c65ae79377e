"""The test archive against real apts: Debian 12's, which verifies with gpgv, and Debian 13's, which does with sqv.

The images are those of tests/images, or what HALO_TEST_IMAGE_DEBIAN_12 and _13 name. Needs podman and root.
"""

from __future__ import annotations

import http.client
import itertools
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.archive.server import SLOW_RATE
from tests.images import build as images
from tests.support.served_archive import AMDROCM, LEGACY, LEGACY_KEY, NETWORK, Served

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed: apt-get install podman")

KEYRING = "/etc/apt/keyrings/test.gpg"
SOURCE = "/etc/apt/sources.list.d/test.sources"
LISTS = "/tmp/lists"  # noqa: S108  # in a container of its own

#: What apt says of the same thing with each of its verifiers.
SAYS = {
    "expired": {"debian-12": "EXPKEYSIG", "debian-13": "Expired on"},
    "missing": {"debian-12": "NO_PUBKEY", "debian-13": "Missing key"},
    "no keyring": {"debian-12": "NO_PUBKEY", "debian-13": "Malformed certificate in keyring"},
    "changed": {"debian-12": "BADSIG", "debian-13": "Message has been manipulated"},
}


def shown(key: bytes) -> list[tuple[str, str, int]]:
    """Return the primary keys that gpg reads: ``pub`` or ``sec``, fingerprint, when it expires."""
    with TemporaryDirectory() as home:
        command = ["gpg", "--homedir", home, "--batch", "--with-colons", "--show-keys"]
        said = subprocess.run(command, input=key, capture_output=True, check=False).stdout.decode()
    lines = [line.split(":") for line in said.splitlines()]
    pairs = itertools.pairwise(lines)
    return [(line[0], after[9], int(line[6] or 0)) for line, after in pairs if line[0] in ("pub", "sec")]


class Host:
    """A container whose apt is asked.

    Args:
        release: ``debian-12`` or ``debian-13``.
        name: The container's.
    """

    def __init__(self, release: str, name: str) -> None:
        self.release = release
        self._name = name

    def run(self, *command: str, stdin: bytes = b"") -> tuple[int, str]:
        """Return a command's exit status and what it says."""
        words = ["podman", "exec", "--interactive", "--env=LC_ALL=C", self._name, *command]
        done = subprocess.run(
            words, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300
        )
        return done.returncode, done.stdout.decode()

    def configure(self, url: str, suite: str, keyring: bytes, pin: str = "") -> None:
        """Write a source, its key and preferences, and forget what was fetched before: apt would fall back to it."""
        source = f"Types: deb\nURIs: {url}\nSuites: {suite}\nComponents: main\nSigned-By: {KEYRING}\n"
        script = f"""cat > {KEYRING}
            printf %s '{source}' > {SOURCE}
            printf %s '{pin}' > /etc/apt/preferences.d/test
            rm -rf {LISTS}; mkdir -p {LISTS}/partial"""
        rc, said = self.run("sh", "-ec", script, stdin=keyring)
        assert rc == 0, said

    def update(self) -> tuple[int, str]:
        """Update from the test's source alone."""
        alone = [
            f"-oDir::Etc::sourcelist={SOURCE}",
            "-oDir::Etc::sourceparts=/dev/null",
            f"-oDir::State::lists={LISTS}",
        ]
        # A test host has these as the machine's own apt has them, which may be off.
        dates = ["-oAcquire::Check-Valid-Until=true", "-oAcquire::Check-Date=true"]
        return self.run("apt-get", "update", *alone, *dates, "-oAcquire::Retries=0")


@pytest.fixture(scope="module", params=["debian-12", "debian-13"])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    purpose = os.environ.get("HALO_TEST_NAME", "halo")
    name = f"{purpose}-archive-host-{uuid.uuid4().hex[:8]}"
    # By label `./halo clean` finds what a test that was ended leaves behind.
    options = ["--detach", "--init", f"--name={name}", f"--label=halo-test={purpose}", f"--network={NETWORK}"]
    command = ["podman", "run", *options, images.build(request.param), "sleep", "1800"]
    subprocess.run(command, check=True, capture_output=True)
    yield Host(request.param, name)
    subprocess.run(["podman", "rm", "--force", "--time=0", name], check=True, capture_output=True)


def test_sound_archives_are_accepted(served: Served, host: Host) -> None:
    for path, suite, key in ((LEGACY, "noble", "legacy"), (LEGACY, "jammy", "legacy"), (AMDROCM, "stable", "amdrocm")):
        host.configure(f"{served.url}/{path}", suite, served.keyring(key))
        assert host.update()[0] == 0


def test_the_variants_of_a_key_are_what_they_are_called(served: Served) -> None:
    def variant(name: str) -> bytes:
        return (served.site.out / "broken" / name / LEGACY_KEY).read_bytes()

    now, day = time.time(), 86400
    key, stranger = served.keys["legacy"], served.keys["stranger"]
    current = [("pub", key.fingerprint, key.expires)]
    for name in ("key-armoured", "key-binary", "key-crlf", "key-huge"):
        assert shown(variant(name)) == current, name
    assert b"\r\n" in variant("key-crlf")
    assert len(variant("key-huge")) > 5_000_000
    assert [each[1] for each in shown(variant("key-several"))] == [stranger.fingerprint, key.fingerprint]
    assert [each[1] for each in shown(variant("key-wrong"))] == [stranger.fingerprint]
    ((_, expired, then),) = shown(variant("key-expired"))
    ((_, expiring, soon),) = shown(variant("key-expiring"))
    assert expired == expiring == key.fingerprint
    assert now - 11 * day < then < now < soon < now + 5 * day < key.expires
    assert shown(variant("key-secret"))[0][:2] == ("sec", key.fingerprint)
    assert variant("key-empty") == b""
    assert shown(variant("key-truncated")) != current
    assert variant("key-concatenated").startswith(variant("key-binary") + b"-----BEGIN PGP PUBLIC KEY BLOCK-----")


def test_nginx_does_what_files_cannot(served: Served) -> None:
    def get(path: str) -> tuple[int, str, bytes]:
        with urllib.request.urlopen(served.url + path, timeout=30) as response:  # noqa: S310  # a container's http
            return response.status, response.headers["Content-Type"], response.read()

    key = f"/{LEGACY_KEY}"
    sound = get(key)[2]
    assert get(f"/broken/key-login-page{key}")[:2] == (200, "text/html")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(f"/broken/key-missing{key}")
    with pytest.raises(http.client.IncompleteRead):
        get(f"/broken/key-cut{key}")
    started = time.monotonic()
    assert get(f"/broken/key-slow{key}")[2] == sound
    # Whatever the load: nginx waits between what it sends.
    assert time.monotonic() - started > len(sound) / SLOW_RATE - 1.5


@pytest.mark.parametrize(
    ("variant", "path", "says"),
    [
        ("index-wrong-key", LEGACY, "missing"),
        ("index-wrong-key", AMDROCM, "missing"),
        ("index-tampered-inrelease", LEGACY, "changed"),
        ("index-tampered-packages", LEGACY, "Hash Sum mismatch"),
        ("index-tampered-packages", AMDROCM, "Hash Sum mismatch"),
        ("index-unsigned", LEGACY, "is not signed"),
        ("index-stale", LEGACY, "is expired (invalid since"),
        ("index-future", LEGACY, "is not valid yet"),
        ("gone", LEGACY, "does not have a Release file"),
        ("login-page", LEGACY, "does the network require authentication?"),
        ("cut", LEGACY, "Failed to fetch"),
    ],
)
def test_broken_archives_are_refused(served: Served, host: Host, variant: str, path: str, says: str) -> None:
    suite, key = ("noble", "legacy") if path == LEGACY else ("stable", "amdrocm")
    host.configure(f"{served.url}/broken/{variant}/{path}", suite, served.keyring(key))
    rc, said = host.update()
    assert (SAYS[says][host.release] if says in SAYS else says) in said
    # To apt, what could not be fetched is no more than a warning.
    assert rc == (0 if variant == "cut" else 100)


@pytest.mark.parametrize(("path", "suite", "key"), [(LEGACY, "noble", "legacy"), (AMDROCM, "stable", "amdrocm")])
def test_case_key_expired(served: Served, host: Host, path: str, suite: str, key: str) -> None:
    """The same key is refused in the state of last month and accepted as it is served now."""
    host.configure(f"{served.url}/{path}", suite, served.keyring(key, "expired"))
    rc, said = host.update()
    assert rc == 100
    assert SAYS["expired"][host.release] in said
    host.configure(f"{served.url}/{path}", suite, served.keyring(key, "expiring"))
    assert host.update()[0] == 0


def test_case_key_binary_plus_armoured(served: Served, host: Host) -> None:
    """What AMD serves is no keyring as it is."""
    as_served = (served.site.www / "stable.repo.amd.com/rocm/gpg/packages.gpg").read_bytes()
    host.configure(f"{served.url}/{AMDROCM}", "stable", as_served)
    rc, said = host.update()
    assert rc == 100, said
    assert SAYS["no keyring"][host.release] in said, said


def test_rocm_needs_the_pin_and_says_that_it_is_a_stand_in(served: Served, host: Host) -> None:
    suite, release = {"debian-12": ("jammy", "22.04"), "debian-13": ("noble", "24.04")}[host.release]
    source = (f"{served.url}/{LEGACY}", suite, served.keyring("legacy"))
    install = ("apt-get", "-y", "--no-install-recommends", "install", "rocm-hip-runtime")
    host.configure(*source)
    rc, said = host.run("apt-get", "update")
    assert rc == 0, said

    rc, said = host.run(*install, "--simulate")
    assert rc == 100
    assert f"rocminfo (= 1.0.0.70204-93~{release})" in said

    host.configure(*source, pin="Package: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n")
    rc, said = host.run(*install)
    assert rc == 0, said[-2000:]
    rc, said = host.run("/opt/rocm/bin/rocminfo")
    assert rc == 1
    assert sorted(said.splitlines()) == [
        "ROCk module is NOT loaded, possibly no GPU devices",
        "rocminfo: a stand-in of the test archive",
    ]
