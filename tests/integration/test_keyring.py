"""Keyrings on a host with a real apt: every key of the test archive is either of use to apt, or changes nothing.

What module apt_keyring makes of keys by itself is in tests/unit/test_keyring.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.apt_host import AptHost
from tests.support.served_archive import AMDROCM, LEGACY, LEGACY_KEY, Served

ROOT = Path(__file__).resolve().parents[2]

PATH = "/etc/apt/keyrings/vendor.gpg"
AMDROCM_KEY = "stable.repo.amd.com/rocm/gpg/packages.gpg"
REFUSES = "http://127.0.0.1:9/key"

# What module apt_keyring does between Ansible's parameters and its answer.
DRIVER = """
import json, sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, "/halo")
from halo import keyring
planned = keyring.plan_options(json.loads(sys.argv[1]), True, int(time.time()), write=True)
found = [*planned.findings, *(keyring.apply(planned) if planned.changed else [])]
print(json.dumps({"changed": planned.changed, "findings": [finding.as_dict() for finding in found],
                  "before": planned.before.as_dict(), "after": planned.after.as_dict()}))
"""


class Host:
    """A host with one source, whose keyring is kept.

    Args:
        host: Its container.
        served: The archive of the source.
        path: Which archive: :data:`LEGACY` or :data:`AMDROCM`.
    """

    def __init__(self, host: AptHost, served: Served, path: str = LEGACY) -> None:
        self._host = host
        self._served = served
        self.key = "legacy" if path == LEGACY else "amdrocm"
        suite = "noble" if path == LEGACY else "stable"
        host.run("rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/keyrings; mkdir /etc/apt/keyrings")
        source = f"deb [arch=amd64 signed-by={PATH}] {served.at(path)} {suite} main\n"
        host.run("cat >/etc/apt/sources.list.d/vendor.list", stdin=source)

    def put(self, keyring: bytes) -> None:
        """Write the keyring as somebody else left it."""
        subprocess.run(self._host.command("sh", "-c", f"cat >{PATH}"), input=keyring, check=True)

    def keep(self, *urls: str, **options: Any) -> dict[str, Any]:
        """Keep the keyring, with keys from URLs, and return the module's answer."""
        fingerprints = [self._served.keys[self.key].fingerprint]
        request = {"path": PATH, "fingerprints": fingerprints, "urls": list(urls), **options}
        answer: dict[str, Any] = json.loads(self._host.python(DRIVER, json.dumps(request)))
        return answer

    def update(self) -> str:
        """Return what ``apt-get update`` has to complain about, with nothing left of what was fetched before."""
        # The machine's own apt may have these off, and test hosts have what it has.
        options = "-o Dir::State::lists=/srv/lists -o Acquire::Check-Date=true -o Acquire::Retries=0"
        script = f"rm -rf /srv/lists; mkdir -p /srv/lists/partial; apt-get update -qq {options} 2>&1"
        return self._host.run(f"({script}) || echo failed")

    def files(self) -> str:
        """Return all that lies in apt's configuration."""
        return self._host.run("cd /etc/apt; find . -type f -exec sha256sum {} + | sort; find . -printf '%p %m %T@\\n'")

    def keyring(self) -> str:
        """Return the hash of the keyring, and its mode."""
        return self._host.run(f"sha256sum <{PATH}; stat -c %a {PATH}")


@pytest.fixture(scope="module")
def container(shared_apt_host: AptHost) -> Iterator[AptHost]:
    """Give the container, whose packages no test here touches, and put apt's configuration back at the end."""
    shared_apt_host.run("cp -a /etc/apt /srv/etc-apt")
    yield shared_apt_host
    shared_apt_host.run("rm -rf /etc/apt /srv/lists; mv /srv/etc-apt /etc/apt")


@pytest.fixture
def host(container: AptHost, served: Served) -> Host:
    return Host(container, served)


def written(keyring: bytes) -> str:
    return f"{hashlib.sha256(keyring).hexdigest()}  -\n644\n"


def codes(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(finding["severity"], finding["code"]) for finding in answer["findings"]]


def evidence(answer: dict[str, Any], code: str) -> str:
    (said,) = [str(finding["evidence"]) for finding in answer["findings"] if finding["code"] == code]
    return said


def test_key_expired_is_replaced_by_the_same_key_with_a_later_expiry(host: Host, served: Served) -> None:
    host.put(served.keyring("legacy", "expired"))
    said = host.update()
    assert said.endswith("failed\n")
    assert "EXPKEYSIG" in said or "Expired on" in said
    answer = host.keep(served.at(LEGACY_KEY))
    assert answer["changed"]
    assert codes(answer) == [("info", "KEY.REFRESHED")]
    old, new = answer["before"]["expires"], answer["after"]["expires"]
    assert old < new
    fingerprint = served.keys["legacy"].fingerprint
    assert evidence(answer, "KEY.REFRESHED") == (
        f"now: {fingerprint} expires {new}; before: {fingerprint} expired {old}; from {served.at(LEGACY_KEY)}"
    )
    assert host.keyring() == written(served.keyring("legacy"))
    assert host.update() == ""


def test_key_missing_is_installed(host: Host, served: Served) -> None:
    said = host.update()
    assert said.endswith("failed\n")
    assert "NO_PUBKEY" in said or "No such file" in said
    answer = host.keep(served.at(LEGACY_KEY))
    assert codes(answer) == [("info", "KEY.INSTALLED")]
    assert host.keyring() == written(served.keyring("legacy"))
    assert host.update() == ""


@pytest.mark.parametrize("where", ["on the host", "served"])
def test_key_binary_plus_armoured_becomes_one_binary_keyring(container: AptHost, served: Served, where: str) -> None:
    """As AMD serves it, apt finds no key in it."""
    host = Host(container, served, AMDROCM)
    as_served = (served.site.www / AMDROCM_KEY).read_bytes()
    if where == "served":
        answer = host.keep(served.at(AMDROCM_KEY))
        assert codes(answer) == [("info", "KEY.INSTALLED")]
    else:
        host.put(as_served)
        assert host.update().endswith("failed\n")
        # The keys are there, so nobody needs to be asked.
        answer = host.keep(REFUSES)
        assert codes(answer) == [("info", "KEY.NORMALISED")]
    assert answer["changed"]
    assert as_served.startswith(served.keyring("amdrocm") + b"-----BEGIN")
    assert host.keyring() == written(served.keyring("amdrocm"))
    assert host.update() == ""


@pytest.mark.parametrize("variant", ["key-armoured", "key-binary", "key-concatenated", "key-crlf", "key-several"])
def test_every_form_of_a_key_becomes_a_keyring_that_apt_reads(host: Host, served: Served, variant: str) -> None:
    answer = host.keep(served.at(LEGACY_KEY, variant))
    foreign = [("info", "KEY.FOREIGN")] if variant == "key-several" else []
    assert sorted(codes(answer)) == [*foreign, ("info", "KEY.INSTALLED")]
    assert host.keyring() == written(served.keyring("legacy"))
    assert host.update() == ""


def test_key_expiring_is_taken_with_a_warning(host: Host, served: Served) -> None:
    answer = host.keep(served.at(LEGACY_KEY, "key-expiring"))
    assert answer["changed"]
    assert sorted(codes(answer)) == [("info", "KEY.INSTALLED"), ("warning", "KEY.EXPIRING")]
    assert answer["after"]["expires"] in evidence(answer, "KEY.EXPIRING")
    assert host.keyring() == written(served.keyring("legacy", "expiring"))
    assert host.update() == ""


@pytest.mark.parametrize(
    ("variant", "code", "says"),
    [
        ("key-expired", "KEY.EXPIRED", "that is served expired"),
        ("key-wrong", "KEY.WRONG_FINGERPRINT", "served {stranger} (A stranger"),
        ("key-missing", "KEY.SOURCE_FAILED", "HTTP 404 Not Found"),
        ("key-login-page", "KEY.SOURCE_UNREADABLE", "it is a web page titled 'Sign in to the network'"),
        ("key-empty", "KEY.SOURCE_UNREADABLE", "it is empty"),
        ("key-truncated", "KEY.SOURCE_UNREADABLE", ""),
        ("key-huge", "KEY.SOURCE_FAILED", "no more than 1048576 are read"),
        ("key-secret", "KEY.SOURCE_UNREADABLE", "private key"),
        ("key-slow", "KEY.SOURCE_FAILED", "no complete answer within 1 s"),
        ("key-cut", "KEY.SOURCE_FAILED", "the connection was cut after"),
    ],
)
def test_refused_keys_change_nothing(host: Host, served: Served, variant: str, code: str, says: str) -> None:
    wanted, stranger = served.keys["legacy"].fingerprint, served.keys["stranger"].fingerprint
    for expired in (b"", served.keyring("legacy", "expired")):
        if expired:
            host.put(expired)
        before = host.files()
        answer = host.keep(served.at(LEGACY_KEY, variant), timeout=1 if variant == "key-slow" else 30)
        assert codes(answer) == [("error", code)]
        assert says.format(wanted=wanted, stranger=stranger) in evidence(answer, code)
        assert not answer["changed"]
        assert host.files() == before


def test_with_a_valid_key_on_the_host_nobody_is_asked(host: Host, served: Served) -> None:
    host.put(served.keyring("legacy"))
    assert codes(host.keep(REFUSES, refresh_days=1000)) == [
        ("warning", "KEY.SOURCE_FAILED"),
        ("warning", "KEY.EXPIRING"),
    ]
    answer = host.keep(REFUSES)
    assert (answer["changed"], answer["findings"]) == (False, [])


PLAYBOOK = """
- hosts: all
  gather_facts: false
  roles: [rocm_keyring]
"""


@pytest.mark.parametrize("there", ["no key", "an expired key"])
def test_role_rocm_keyring_in_check_mode_shows_what_it_would_do_and_writes_nothing(
    host: Host, container: AptHost, served: Served, tmp_path: Path, there: str
) -> None:
    ansible = Path(sys.executable).with_name("ansible-playbook")
    command = str(ansible) if ansible.exists() else shutil.which("ansible-playbook")
    if not command:
        pytest.skip("needs ansible-playbook, beside Python or on PATH")
    if there == "an expired key":
        host.put(served.keyring("legacy", "expired"))
    # Ansible pipes a module into the interpreter, which is the container's.
    interpreter = tmp_path / "python"
    interpreter.write_text(f'#!/bin/sh\nexec podman exec --interactive {container.name} python3 "$@"\n')
    interpreter.chmod(0o755)
    fingerprint = served.keys["legacy"].fingerprint
    archive = {
        "name": "rocm-vendor",
        "keyring": "vendor",
        "key": {"fingerprints": [fingerprint], "urls": [served.at(LEGACY_KEY)]},
        "sources": [{"uris": [served.at(LEGACY)], "suites": ["noble"], "components": ["main"]}],
    }
    rocm = {"origin": "repo.radeon.com", "set": ["rocm*"]}
    variables = {"halo_stack_data": {"archive": archive, "rocm": rocm}, "ansible_python_interpreter": str(interpreter)}
    (tmp_path / "play.yml").write_text(PLAYBOOK)
    (tmp_path / "vars.json").write_text(json.dumps(variables))
    before = host.files()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    environment |= {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    environment |= {"HALO_REPORT_DIR": str(tmp_path / "reports")}
    words = ["-i", "host,", "-c", "local", "-e", f"@{tmp_path}/vars.json", "--check", "--diff"]
    done = subprocess.run(
        [command, *words, str(tmp_path / "play.yml")],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert f"+key {fingerprint} expires" in done.stdout
    assert (f"-key {fingerprint} expires" in done.stdout) == (there == "an expired key")
    assert ("KEY.REFRESHED" if there == "an expired key" else "KEY.INSTALLED") in done.stdout
    assert f"+URIs: {served.at(LEGACY)}" in done.stdout
    assert f"+Signed-By: {PATH}" in done.stdout
    assert host.files() == before
