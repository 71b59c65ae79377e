"""Sources that are not on the host yet: which keyring a plan uses for them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.halo.apt.sources import prepare
from gpg_home import DAY, GpgHome
from key_server import KeyServer, running

pytestmark = pytest.mark.skipif(not shutil.which("gpg"), reason="gpg, which makes the keys, is not here")

PATH = "/etc/apt/keyrings/vendor.gpg"


@pytest.fixture(scope="module")
def home() -> Iterator[GpgHome]:
    home = GpgHome()
    yield home
    home.close()


@pytest.fixture(scope="module")
def keys(home: GpgHome) -> tuple[str, bytes, bytes]:
    """Return a fingerprint, its key as it expires in two days, and as it expires in a year."""
    now = int(time.time())
    fingerprint = home.make("Vendor <vendor@example.org>", expires="12d", at=now - 10 * DAY)
    soon = home.export(fingerprint)
    home.gpg("--quick-set-expire", fingerprint, "365d", at=now - DAY)
    return fingerprint, soon, home.export(fingerprint)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyServer]:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    with running() as server:
        yield server


def source(fingerprint: str, *urls: str, **more: Any) -> dict[str, Any]:
    key = {"path": PATH, "fingerprints": [fingerprint], "urls": list(urls)}
    return {"file": "vendor.sources", "text": f"Types: deb\nSigned-By: {PATH}\n", "key": key, **more}


def on_host(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / PATH.lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    path.chmod(0o644)


def test_a_key_that_the_host_lacks_is_fetched_and_nothing_is_written(
    tmp_path: Path, server: KeyServer, keys: tuple[str, bytes, bytes]
) -> None:
    fingerprint, _, later = keys
    made, findings = prepare([source(fingerprint, server.serve("/key", later))], str(tmp_path))
    assert findings == []
    assert made.keyrings == {PATH: later}
    assert list(made.files) == ["vendor.sources"]
    assert list(tmp_path.iterdir()) == []


def test_a_valid_key_on_the_host_is_used_where_it_lies_and_nobody_is_asked(
    tmp_path: Path, server: KeyServer, keys: tuple[str, bytes, bytes]
) -> None:
    fingerprint, _, later = keys
    on_host(tmp_path, later)
    made, findings = prepare([source(fingerprint, server.serve("/key", later))], str(tmp_path))
    assert (findings, made.keyrings, server.asked) == ([], {}, [])


def test_a_key_that_expires_soon_is_planned_with_as_it_will_be(
    tmp_path: Path, server: KeyServer, keys: tuple[str, bytes, bytes]
) -> None:
    fingerprint, soon, later = keys
    on_host(tmp_path, soon)
    made, findings = prepare([source(fingerprint, server.serve("/key", later))], str(tmp_path))
    assert (findings, made.keyrings) == ([], {PATH: later})


def test_key_wrong_fingerprint_ends_it_with_both(
    tmp_path: Path, server: KeyServer, keys: tuple[str, bytes, bytes]
) -> None:
    fingerprint, _, later = keys
    made, findings = prepare([source("A" * 40, server.serve("/key", later))], str(tmp_path))
    assert "KEY.WRONG_FINGERPRINT" in {finding.code for finding in findings}
    assert all(finding.severity == "error" for finding in findings)
    assert any(fingerprint in finding.evidence and "A" * 40 in finding.text() for finding in findings)
    assert made.keyrings == {}


def test_its_environment_holds_for_fetching_and_no_longer(
    tmp_path: Path, server: KeyServer, keys: tuple[str, bytes, bytes]
) -> None:
    fingerprint, _, later = keys
    server.serve("http://vendor.invalid/key", later)
    before = dict(os.environ)
    item = source(fingerprint, "http://vendor.invalid/key", environment={"http_proxy": server.url})
    made, findings = prepare([item], str(tmp_path))
    assert (findings, made.keyrings) == ([], {PATH: later})
    assert server.asked == ["http://vendor.invalid/key"], "the proxy was asked"
    assert dict(os.environ) == before


@pytest.mark.parametrize("name", ["vendor", "../vendor.sources", "a/b.list", "ven dor.list", ".sources~"])
def test_a_file_that_apt_would_skip_is_refused(tmp_path: Path, name: str) -> None:
    made, (finding,) = prepare([source("A" * 40, "http://127.0.0.1:1/", file=name)], str(tmp_path))
    assert (finding.code, finding.subject) == ("APT.WISH_INVALID", name)
    assert made.files == {}
