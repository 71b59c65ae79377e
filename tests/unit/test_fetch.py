"""Fetching, against a real server: what comes back, and what is said when nothing does."""

import os
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest
from halo.fetch import FetchError, fetch, masked, proxy_of
from key_server import running

LIMIT = 1 << 20


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def server():
    with running() as server:
        yield server


def refused(url, limit=LIMIT, timeout=10):
    with pytest.raises(FetchError) as caught:
        fetch(url, limit, timeout)
    assert caught.value.remedy
    return caught.value.reason


def test_what_is_served_comes_back(server, tmp_path):
    assert fetch(server.serve("/key", b"\x98\x00key"), LIMIT, 10) == b"\x98\x00key"
    assert fetch(server.serve("/pieces", [b"a", b"b"]), LIMIT, 10) == b"ab"
    (tmp_path / "a key").write_bytes(b"local")
    assert fetch(f"file://{tmp_path}/a%20key", LIMIT, 10) == b"local"
    assert fetch(f"file://localhost{tmp_path}/a%20key", LIMIT, 10) == b"local"


def test_redirects_are_followed_to_http_alone(server, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    key = server.serve("/key", b"key")
    assert fetch(server.serve("/moved", status=302, headers={"Location": key}), LIMIT, 10) == b"key"
    to_file = server.serve("/file", status=302, headers={"Location": f"file://{secret}"})
    assert "HTTP 302" in refused(to_file)
    to_ftp = server.serve("/ftp", status=302, headers={"Location": "ftp://127.0.0.1/x"})
    assert refused(to_ftp) == "unknown url type: ftp"
    assert "HTTP 302" in refused(server.serve("/loop", status=302, headers={"Location": "/loop"}))


def test_a_password_in_the_url_is_sent_there_and_nowhere_else(server):
    with running() as other:
        target = other.serve("/key", b"key")
        server.serve("/moved", status=302, headers={"Location": target})
        url = server.url.replace("//", "//user:p%40ss@") + "/moved"
        assert fetch(url, LIMIT, 10) == b"key"
        assert server.logins == ["Basic dXNlcjpwQHNz"]
        assert other.logins == [None]
        assert masked(url) == server.url.replace("//", "//***@") + "/moved"


@pytest.mark.parametrize(("status", "reason"), [(404, "HTTP 404 Not Found"), (401, "HTTP 401"), (503, "HTTP 503")])
def test_an_error_status_is_no_key(server, status, reason):
    assert refused(server.serve("/key", b"key", status=status)).startswith(reason)


def test_no_more_than_the_limit_is_read(server):
    sent = []

    def endless():
        while True:
            sent.append(1)
            yield b"x" * 65536

    assert "5242880 bytes; no more" in refused(server.serve("/announced", [], length=5 << 20))
    assert f"more than {LIMIT} bytes" in refused(server.serve("/endless", endless()))
    assert len(sent) < 200, "the server was not cut off"
    assert fetch(server.serve("/exact", b"x" * 10), 10, 10) == b"x" * 10
    assert refused(server.serve("/one more", b"x" * 11).replace(" ", "%20"), 10)


def test_a_cut_connection_is_not_taken_for_the_end(server):
    assert refused(server.serve("/cut", [b"x" * 100], length=300)) == "the connection was cut after 100 of 300 bytes"


def test_a_slow_server_does_not_outlast_the_timeout(server):
    def slow():
        for _ in range(100):
            time.sleep(0.1)
            yield b"x"

    started = time.monotonic()
    assert refused(server.serve("/slow", slow()), timeout=0.5) == "no complete answer within 0.5 s"
    # The whole answer would take ten seconds, each byte of it comes within the timeout.
    assert time.monotonic() - started < 8


def test_a_server_that_never_answers(server):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/key"
        assert refused(url, timeout=0.3) == "no complete answer within 0.3 s"
    assert "refused" in refused(url, timeout=5)


def test_a_server_that_speaks_something_else():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}/key"

        def answer():
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        assert "SSL" in refused(url, timeout=5)
        thread.join()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://no-such-host.invalid/key", "does not resolve"),
        ("ftp://127.0.0.1/key", "neither http:"),
        ("key.gpg", "neither http:"),
        ("file://elsewhere/key", "neither http:"),
        ("http:///key", "neither http:"),
        ("http://[::1/key", "cannot be understood"),
        ("http://127.0.0.1:port/key", "cannot be understood"),
        ("http://127.0.0.1/a key", "cannot be understood"),
        ("file:///nowhere/key", "/nowhere/key cannot be read: No such file"),
        ("file:///usr", "/usr is no regular file"),
        ("file:///dev/zero", "/dev/zero is no regular file"),
    ],
)
def test_a_url_that_leads_nowhere(url, reason):
    assert reason in refused(url)


def test_the_proxy_of_the_environment_is_used_and_named(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url.replace("//", "//user:secret@"))
    server.serve("http://keys.example.org/key", b"from the proxy")
    assert fetch("http://keys.example.org/key", LIMIT, 10) == b"from the proxy"
    assert server.asked == ["http://keys.example.org/key"]
    assert proxy_of("http://keys.example.org/key") == server.url.replace("//", "//***@")
    monkeypatch.setenv("no_proxy", "example.org")
    assert proxy_of("http://keys.example.org/key") == ""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert fetch(server.serve("/direct", b"direct"), LIMIT, 10) == b"direct"


def test_a_proxy_that_wants_a_password(server, monkeypatch):
    monkeypatch.setenv("https_proxy", server.url)
    with pytest.raises(FetchError) as caught:
        fetch("https://keys.example.org/key", LIMIT, 10)
    assert "Tunnel connection failed: 501" in caught.value.reason
    monkeypatch.setenv("http_proxy", server.url)
    server.serve("http://keys.example.org/key", status=407)
    with pytest.raises(FetchError) as caught:
        fetch("http://keys.example.org/key", LIMIT, 10)
    assert "HTTP 407" in caught.value.reason
    assert "user and password" in caught.value.remedy


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl, which makes the certificate, is not here")
def test_a_certificate_has_to_be_trusted(tmp_path, monkeypatch):
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with running(context) as server:
        url = server.serve("/key", b"key")
        assert refused(url) == "the certificate of 127.0.0.1 is not trusted: self-signed certificate"
        assert server.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert fetch(url, LIMIT, 10) == b"key"
