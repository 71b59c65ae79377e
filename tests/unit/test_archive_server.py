"""The Python server of the test archive: sound files, the variants' files, and the rules."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator

import pytest

from tests.archive.nginx import configuration
from tests.archive.server import RULES, action, server, split

KEY = "/repo.radeon.com/rocm/rocm.gpg.key"
INRELEASE = "/repo.radeon.com/rocm/apt/7.2.4/dists/noble/InRelease"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    root = tmp_path_factory.mktemp("archive")
    for path, text in {
        f"www{KEY}": "sound key",
        f"www{INRELEASE}": "sound index",
        f"broken/key-wrong{KEY}": "another's key",
        "secret": "not below the document root",
    }.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    with server(root) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield httpd.server_port
        httpd.shutdown()
        thread.join()


def get(port: int, path: str) -> tuple[int, str, str]:
    """Return status, content type and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.headers.get("Content-Type", ""), response.read().decode()
    finally:
        connection.close()


def test_sound_files(port: int) -> None:
    assert get(port, KEY)[::2] == (200, "sound key")
    assert get(port, "/no/such/file")[0] == 404


def test_a_variant_is_the_mirror_with_its_own_files_in_place(port: int) -> None:
    assert get(port, f"/broken/key-wrong{KEY}")[::2] == (200, "another's key")
    assert get(port, f"/broken/key-wrong{INRELEASE}")[::2] == (200, "sound index")


def test_rules_apply_to_their_paths_alone(port: int) -> None:
    assert get(port, f"/broken/key-missing{KEY}")[0] == 404
    assert get(port, f"/broken/key-missing{INRELEASE}")[::2] == (200, "sound index")
    assert get(port, f"/broken/index-unsigned{INRELEASE}")[0] == 404
    assert get(port, f"/broken/index-unsigned{KEY}")[::2] == (200, "sound key")
    assert get(port, f"/broken/gone{KEY}")[0] == 404


def test_a_login_page_is_html_with_200(port: int) -> None:
    status, kind, body = get(port, f"/broken/key-login-page{KEY}")
    assert (status, kind) == (200, "text/html")
    assert "sound key" not in body


def test_a_cut_connection_ends_half_way(port: int) -> None:
    with pytest.raises(http.client.IncompleteRead) as caught:
        get(port, f"/broken/cut{KEY}")
    assert caught.value.partial == b"soun"


def test_nothing_outside_the_document_root_is_served(port: int) -> None:
    for path in (
        "/../secret",
        "/broken/key-wrong/../../secret",
        "/%2e%2e/secret",
        "/broken/key-wrong/%2e%2e/%2e%2e/secret",
    ):
        assert get(port, path)[0] == 404


def test_the_variant_is_the_first_part_below_broken() -> None:
    assert split("/broken/slow/a/b") == ("slow", "/a/b")
    assert split("/ubuntu/broken/slow/a") == ("", "/ubuntu/broken/slow/a")
    assert action("key-slow", "/ubuntu/dists/noble/Release.gpg") == ""
    assert action("key-slow", KEY) == "slow"


def test_nginx_has_a_location_for_every_rule() -> None:
    lines = [
        line.split()[2].strip('"') for line in configuration().splitlines() if line.strip().startswith('location ~ "')
    ]
    assert [line.split("/")[2].partition("(")[0] for line in lines] == [rule.variant for rule in RULES]
