"""Module apt_keyring and what it plans, with keys made by gpg and served by a real web server."""

import base64
import json
import os
import shutil
import time

import apt_keyring
import pytest
from ansible.module_utils.testing import patch_module_args
from gpg_home import DAY, GpgHome
from halo import openpgp
from halo.keyring import Request, plan
from key_server import running

pytestmark = pytest.mark.skipif(not shutil.which("gpg"), reason="gpg, which makes the keys, is not here")

NOW = int(time.time())


@pytest.fixture(scope="module")
def home():
    home = GpgHome()
    yield home
    home.close()


class Vendor:
    """A vendor's key in the states that it went through."""

    def __init__(self, home):
        self.fingerprint = home.make("Vendor <vendor@example.org>", expires="100d", at=NOW - 300 * DAY)
        self.expired = home.export(self.fingerprint)
        # 20 days from now: less than the 30 of refresh_days.
        home.gpg("--quick-set-expire", self.fingerprint, "310d", at=NOW - 290 * DAY)
        self.soon = home.export(self.fingerprint)
        home.gpg("--quick-set-expire", self.fingerprint, "500d", at=NOW - 5 * DAY)
        self.later = home.export(self.fingerprint)
        self.later_armoured = home.export(self.fingerprint, armour=True)
        self.secret = home.gpg("--export-secret-keys", "--armor", self.fingerprint)
        revocation = (home.path / "openpgp-revocs.d" / f"{self.fingerprint}.rev").read_bytes()
        home.gpg("--import", data=revocation.replace(b":-----BEGIN", b"-----BEGIN"))
        self.revoked = home.export(self.fingerprint)


@pytest.fixture(scope="module")
def vendor(home):
    return Vendor(home)


@pytest.fixture(scope="module")
def other(home):
    """A key that nobody asked for."""
    return home.make("Other")


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def server():
    with running() as server:
        yield server


@pytest.fixture
def run(capsys, tmp_path, vendor):
    """Run the module for the vendor's key in one file, and return its answer."""

    def run(check=False, **options):
        arguments = {"path": str(tmp_path / "etc/apt/keyrings/vendor.gpg"), "fingerprints": [vendor.fingerprint]}
        arguments.update(options, _ansible_check_mode=check, _ansible_diff=True)
        with patch_module_args(arguments), pytest.raises(SystemExit) as stop:
            apt_keyring.main()
        answer = json.loads(capsys.readouterr().out)
        assert bool(stop.value.code) == bool(answer.get("failed"))
        if not answer.get("failed"):
            again = base64.b64decode(answer["keyring"])
            assert check or (keyring.read_bytes() if keyring.exists() else b"") == again
        return answer

    keyring = tmp_path / "etc/apt/keyrings/vendor.gpg"
    run.path = keyring
    return run


def put(path, data, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def codes(answer):
    return [(finding["severity"], finding["code"]) for finding in answer["findings"]]


def evidence(answer, code):
    (text,) = [finding["evidence"] for finding in answer["findings"] if finding["code"] == code]
    return text


def day(data):
    """The expiry of the only key in a file, as findings write it."""
    return openpgp.iso(openpgp.read(data)[0].expires)


# What the file becomes.


def test_key_missing(run, server, vendor):
    url = server.serve("/key", vendor.later_armoured)
    answer = run(urls=[url])
    assert answer["changed"]
    assert codes(answer) == [("info", "KEY.INSTALLED")]
    assert evidence(answer, "KEY.INSTALLED").startswith("there was no keyring; now")
    assert run.path.read_bytes() == vendor.later
    assert run.path.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in run.path.parent.iterdir()] == ["vendor.gpg"], "nothing half-written is left"
    assert (answer["before"]["exists"], answer["before"]["expires"]) == (False, None)
    assert (answer["after"]["exists"], answer["after"]["mode"]) == (True, "0644")
    assert answer["after"]["expires"] == day(vendor.later)
    assert answer["diff"]["before"] == ""
    assert f"key {vendor.fingerprint} expires {day(vendor.later)}\n  uid Vendor" in answer["diff"]["after"]


def test_a_valid_key_asks_nobody(run, server, vendor):
    put(run.path, vendor.later)
    answer = run(urls=[server.serve("/key", vendor.later)], src="/nowhere")
    assert not answer["changed"]
    assert answer["findings"] == []
    assert answer["diff"]["before"] == answer["diff"]["after"] != ""
    assert server.asked == []


def test_key_expired(run, server, vendor):
    put(run.path, vendor.expired)
    answer = run(urls=[server.serve("/key", vendor.later)])
    assert answer["changed"]
    assert codes(answer) == [("info", "KEY.REFRESHED")]
    assert evidence(answer, "KEY.REFRESHED") == (
        f"now: {vendor.fingerprint} expires {day(vendor.later)}; "
        f"before: {vendor.fingerprint} expired {day(vendor.expired)}; from {server.url}/key"
    )
    assert answer["before"]["expires"] == day(vendor.expired) < answer["after"]["expires"] == day(vendor.later)
    assert run.path.read_bytes() == vendor.later


@pytest.mark.parametrize(("days", "asked"), [(15, 0), (25, 1)])
def test_a_key_is_refreshed_some_days_before_it_expires(run, server, vendor, days, asked):
    put(run.path, vendor.soon)
    answer = run(urls=[server.serve("/key", vendor.later)], refresh_days=days)
    assert answer["changed"] == bool(asked)
    assert len(server.asked) == asked
    assert run.path.read_bytes() == (vendor.later if asked else vendor.soon)


def test_key_binary_plus_armoured(run, server, vendor):
    answer = run(urls=[server.serve("/key", vendor.later + vendor.later_armoured)])
    assert answer["changed"]
    assert run.path.read_bytes() == vendor.later


def test_what_lies_there_in_another_form_is_put_into_order_without_a_request(run, server, vendor, home, other):
    url = server.serve("/key", vendor.later)
    for data, said in [
        (vendor.later + vendor.later_armoured, "it was not one binary keyring"),
        (vendor.later_armoured, "it was not one binary keyring"),
        (home.export(other) + vendor.later, f"it also held {other} (Other)"),
    ]:
        put(run.path, data)
        answer = run(urls=[url])
        assert answer["changed"]
        assert codes(answer) == [("info", "KEY.NORMALISED")]
        assert evidence(answer, "KEY.NORMALISED").startswith(said)
        assert answer["diff"]["before"] != answer["diff"]["after"]
        assert run.path.read_bytes() == vendor.later
        assert not run(urls=[url])["changed"]
    assert server.asked == []


def test_only_the_mode_is_wrong(run, server, vendor):
    put(run.path, vendor.later, 0o600)
    answer = run(urls=[server.serve("/key", vendor.later)])
    assert answer["changed"]
    assert (answer["before"]["mode"], answer["after"]["mode"]) == ("0600", "0644")
    assert run.path.stat().st_mode & 0o777 == 0o644
    assert server.asked == []


def test_missing_directories_are_made_for_apts_user_whatever_the_umask(run, server, vendor):
    old = os.umask(0o077)
    try:
        run(urls=[server.serve("/key", vendor.later)])
    finally:
        os.umask(old)
    for directory in (run.path.parent, run.path.parents[1], run.path.parents[2]):
        assert directory.stat().st_mode & 0o777 == 0o755
    assert run.path.stat().st_mode & 0o777 == 0o644


def test_a_keyring_that_cannot_be_read_is_replaced(run, server, vendor):
    put(run.path, b"<html>login")
    answer = run(urls=[server.serve("/key", vendor.later)])
    assert codes(answer) == [("info", "KEY.INSTALLED")]
    assert evidence(answer, "KEY.INSTALLED").startswith("it is a web page; now")
    assert answer["before"]["problem"] == "it is a web page"
    assert run.path.read_bytes() == vendor.later


def test_foreign_keys_that_are_served_as_well_are_left_out_and_reported(run, server, vendor, home, other):
    answer = run(urls=[server.serve("/key", home.export(other) + vendor.later)])
    assert sorted(codes(answer)) == [("info", "KEY.FOREIGN"), ("info", "KEY.INSTALLED")]
    assert other in evidence(answer, "KEY.FOREIGN")
    assert run.path.read_bytes() == vendor.later


def test_several_wanted_keys_may_come_from_several_sources(run, server, vendor, home, other):
    wanted = [vendor.fingerprint, other]
    first, second = server.serve("/a", vendor.later), server.serve("/b", home.export(other, armour=True))
    answer = run(fingerprints=wanted, urls=[first, second])
    assert codes(answer) == [("info", "KEY.INSTALLED")]
    assert run.path.read_bytes() == vendor.later + home.export(other)
    assert not run(fingerprints=wanted, urls=[first, second])["changed"]
    assert server.asked == ["/a", "/b"]
    answer = run(fingerprints=[vendor.fingerprint], urls=[first])
    assert codes(answer) == [("info", "KEY.NORMALISED")]
    assert run.path.read_bytes() == vendor.later


def test_sources_are_tried_in_turn_until_one_gives_a_key_that_lasts(run, server, vendor):
    urls = [
        server.serve("/gone", status=404),
        server.serve("/old", vendor.expired),
        server.serve("/soon", vendor.soon),
        server.serve("/new", vendor.later),
        server.serve("/never", vendor.later),
    ]
    answer = run(urls=urls)
    assert codes(answer) == [("warning", "KEY.SOURCE_FAILED"), ("info", "KEY.INSTALLED")]
    assert server.asked == ["/gone", "/old", "/soon", "/new"]
    assert answer["after"]["expires"] == day(vendor.later)


def test_content_and_src_come_before_urls(run, server, vendor, tmp_path):
    url = server.serve("/key", vendor.later)
    assert run(content=vendor.later_armoured.decode(), urls=[url])["changed"]
    run.path.unlink()
    put(tmp_path / "key", vendor.later)
    assert run(src=str(tmp_path / "key"), urls=[url])["changed"]
    run.path.unlink()
    assert run(urls=[f"file://{tmp_path}/key", url])["changed"]
    assert server.asked == []


def test_state_absent(run, vendor):
    put(run.path, vendor.later)
    assert run(state="absent", check=True)["changed"]
    assert run.path.exists()
    answer = run(state="absent")
    assert answer["changed"]
    assert answer["after"]["exists"] is False
    assert not run.path.exists()
    assert not run(state="absent")["changed"]


def test_check_mode_fetches_and_writes_nothing(run, server, vendor):
    answer = run(check=True, urls=[server.serve("/key", vendor.later_armoured)])
    assert evidence(answer, "KEY.INSTALLED").startswith("there was no keyring; would be: ")
    assert answer["changed"]
    assert server.asked == ["/key"]
    assert not run.path.parent.exists()
    # What apt is to plan with, before the key is on the host.
    assert base64.b64decode(answer["keyring"]) == vendor.later
    put(run.path, vendor.expired)
    answer = run(check=True, urls=[f"{server.url}/key"])
    assert answer["after"]["expires"] == day(vendor.later)
    assert run.path.read_bytes() == vendor.expired


# What cannot be had.


@pytest.fixture
def refused(run, vendor):
    """Run the module with a source of no use, on a host without the key and on one whose key lasts some days."""

    def refused(source, code, **options):
        answer = run(**{"urls": [source], **options})
        assert answer["failed"]
        assert code in answer["msg"]
        assert ("error", code) in codes(answer)
        assert not run.path.parent.exists(), "something was written"
        put(run.path, vendor.soon)
        kept = run(**{"urls": [source], **options})
        if code != "KEY.REVOKED":
            assert not kept.get("failed")
            assert not kept["changed"]
            assert {severity for severity, _ in codes(kept)} == {"warning"}
            assert ("warning", "KEY.EXPIRING") in codes(kept)
            assert day(vendor.soon) in evidence(kept, "KEY.EXPIRING")
        assert run.path.read_bytes() == vendor.soon
        return evidence(answer, code)

    return refused


def test_key_wrong_fingerprint(refused, server, vendor, home, other):
    said = refused(server.serve("/key", home.export(other)), "KEY.WRONG_FINGERPRINT")
    assert said == f"served {other} (Other); wanted {vendor.fingerprint}"


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"", "KEY.SOURCE_UNREADABLE", "it is empty"),
        (b"<html><title>Log in</title>", "KEY.SOURCE_UNREADABLE", "it is a web page titled 'Log in'"),
        (b"x" * (5 << 20), "KEY.SOURCE_FAILED", "5242880 bytes; no more than 1048576 are read"),
    ],
)
def test_bad_answers(refused, server, body, code, said):
    assert refused(server.serve("/key", body), code) == said


def test_a_url_that_is_gone(refused, server):
    assert refused(f"{server.url}/gone", "KEY.SOURCE_FAILED") == "HTTP 404 Not Found"


def test_a_truncated_key(refused, server, vendor):
    assert "of which" in refused(server.serve("/key", vendor.later[:-9]), "KEY.SOURCE_UNREADABLE")


def test_a_truncated_armoured_key(refused, server, vendor):
    said = refused(server.serve("/key", vendor.later_armoured[:-60]), "KEY.SOURCE_UNREADABLE")
    assert said == "the armour has no END line"


def test_a_key_cut_off_behind_its_first_packet(refused, server, vendor):
    size = 2 + vendor.later[1]
    said = refused(server.serve("/key", vendor.later[:size]), "KEY.SOURCE_UNREADABLE")
    assert "without any signature of its own" in said


def test_a_secret_key(refused, server, vendor):
    assert "private key" in refused(server.serve("/key", vendor.secret), "KEY.SOURCE_UNREADABLE")


def test_a_key_that_has_expired_where_it_is_served_as_well(refused, server, vendor):
    said = refused(server.serve("/key", vendor.expired), "KEY.EXPIRED")
    assert f"that is served expired {day(vendor.expired)}; the host has none" in said


def test_expired_on_the_host_and_where_it_is_served_names_both_dates(run, server, vendor, home, monkeypatch):
    put(run.path, vendor.expired)
    server.serve("/key", vendor.soon)
    monkeypatch.setattr(time, "time", lambda: NOW + 100 * DAY)
    answer = run(urls=[f"{server.url}/key"])
    assert answer["failed"]
    said = evidence(answer, "KEY.EXPIRED")
    assert f"that is served expired {day(vendor.soon)}; the host's expired {day(vendor.expired)}" in said
    assert f"the host's clock: {openpgp.iso(NOW + 100 * DAY)}" in said
    assert run.path.read_bytes() == vendor.expired
    assert answer["before"] == answer["after"]


def test_a_revoked_key_stops_the_run_even_where_the_host_has_an_older_copy(refused, run, server, vendor):
    url = server.serve("/key", vendor.revoked)
    assert "revokes itself" in refused(url, "KEY.REVOKED")
    answer = run(urls=[url])
    assert answer["failed"]
    assert ("error", "KEY.REVOKED") in codes(answer)


def test_a_login_page_of_a_proxy_is_told_with_the_proxy(refused, server, monkeypatch):
    url = "http://keys.example.org/key"
    server.serve(url, b"<!DOCTYPE html><title>Hotel</title>")
    monkeypatch.setenv("http_proxy", server.url.replace("//", "//me:secret@"))
    said = refused(url, "KEY.SOURCE_UNREADABLE")
    assert said == f"it is a web page titled 'Hotel' (through the proxy {server.url.replace('//', '//***@')})"


def test_a_password_in_the_url_is_not_told(run, server):
    answer = run(urls=[server.url.replace("//", "//me:secret@") + "/gone"])
    assert answer["failed"]
    told = {key: value for key, value in answer.items() if key != "invocation"}
    assert "***@127.0.0.1" in json.dumps(told)
    assert "secret" not in json.dumps(told)


def test_a_source_that_lags_behind_does_not_replace_what_the_host_has(run, server, vendor):
    put(run.path, vendor.soon)
    answer = run(urls=[server.serve("/key", vendor.expired)])
    assert not answer["changed"]
    assert run.path.read_bytes() == vendor.soon
    put(run.path, vendor.later)
    answer = run(urls=[server.serve("/key", vendor.soon)], refresh_days=600)
    assert not answer["changed"]
    assert codes(answer) == [("warning", "KEY.EXPIRING")]
    assert run.path.read_bytes() == vendor.later


def test_an_expired_signing_subkey_is_fetched_again(home, server, run):
    """The primary key is valid, but nothing that its expired subkey signs is."""
    fingerprint = home.make("Subkey", at=NOW - 300 * DAY)
    home.gpg("--quick-add-key", fingerprint, "ed25519", "sign", "100d", at=NOW - 299 * DAY)
    old = home.export(fingerprint)
    home.gpg("--quick-add-key", fingerprint, "ed25519", "sign", "1y", at=NOW - DAY)
    new = home.export(fingerprint)
    put(run.path, old)
    url = server.serve("/key", old)
    answer = run(fingerprints=[fingerprint], urls=[url])
    assert codes(answer) == [("warning", "KEY.EXPIRING")]
    assert "the signing subkeys expired" in evidence(answer, "KEY.EXPIRING")
    server.serve("/key", new)
    answer = run(fingerprints=[fingerprint], urls=[url])
    assert codes(answer) == [("info", "KEY.REFRESHED")]
    assert run.path.read_bytes() == new


def test_a_clock_before_the_keys_creation_is_told(run, server, vendor, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: NOW - 400 * DAY)
    answer = run(urls=[server.serve("/key", vendor.later)])
    assert codes(answer) == [("warning", "KEY.CLOCK"), ("info", "KEY.INSTALLED")]
    assert openpgp.iso(NOW - 400 * DAY) in evidence(answer, "KEY.CLOCK")


# Where it cannot be put.


def test_a_path_that_is_a_directory_or_lies_below_a_file(run, server, vendor):
    url = server.serve("/key", vendor.later)
    run.path.mkdir(parents=True)
    answer = run(urls=[url])
    assert codes(answer) == [("error", "KEY.PATH_UNUSABLE")]
    assert "no regular file" in evidence(answer, "KEY.PATH_UNUSABLE")
    run.path.rmdir()
    run.path.parent.rmdir()
    run.path.parent.write_text("in the way")
    assert codes(run(urls=[url])) == [("error", "KEY.PATH_UNUSABLE")]
    assert server.asked == []


def test_a_failed_write_leaves_the_old_file_and_no_other(run, server, vendor, monkeypatch):
    put(run.path, vendor.expired)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    answer = run(urls=[server.serve("/key", vendor.later)])
    assert answer["failed"]
    assert evidence(answer, "KEY.PATH_UNUSABLE") == "No space left on device"
    assert answer["before"] == answer["after"]
    assert run.path.read_bytes() == vendor.expired
    assert list(run.path.parent.iterdir()) == [run.path]


def test_a_symlink_is_replaced_by_the_file(run, server, vendor, tmp_path):
    target = tmp_path / "elsewhere.gpg"
    put(target, vendor.expired)
    run.path.parent.mkdir(parents=True)
    run.path.symlink_to(target)
    assert run(urls=[server.serve("/key", vendor.later)])["changed"]
    assert not run.path.is_symlink()
    assert target.read_bytes() == vendor.expired


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "keys/vendor.gpg"}, "not absolute"),
        ({"path": "/etc/../vendor.gpg"}, "has .. in it"),
        ({"path": "/etc/apt/keyrings/vendor.asc"}, "does not end in .gpg"),
        ({"path": "/etc/apt/trusted.gpg.d/vendor.gpg"}, "trust these keys for every archive"),
        ({"fingerprints": []}, "no fingerprint"),
        ({"fingerprints": ["9386B48A1A693C5C"]}, "short key IDs can be forged"),
        ({"fingerprints": ["X" * 40]}, "40 or 64 hexadecimal"),
        ({"urls": []}, "none of content, src and urls"),
        ({"refresh_days": -1}, "out of bounds"),
        ({"timeout": 0}, "out of bounds"),
    ],
)
def test_a_request_that_makes_no_sense(run, options, said):
    answer = run(**{"urls": ["http://127.0.0.1:9/key"], **options})
    assert codes(answer) == [("error", "KEY.INVALID")]
    assert said in evidence(answer, "KEY.INVALID")


PRINTED = "0xca8b b472 7a47 b4d0 9b4e  e896 9386 b48a 1a69 3c5c"
PLAIN = {"path": "/a.gpg", "fingerprints": [PRINTED], "urls": ["https://example.org/"]}


def test_a_request_in_its_plain_form():
    """As a role writes it: fingerprints as gpg prints them, numbers that a template made texts of."""
    request = Request.from_dict({**PLAIN, "src": None, "refresh_days": "7", "timeout": "1.5"})
    assert request.fingerprints == ("CA8BB4727A47B4D09B4EE8969386B48A1A693C5C",)
    assert (request.src, request.refresh_days, request.timeout) == ("", 7, 1.5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"url": "https://example.org/"}, "unknown keys: url"),
        ({"urls": "https://example.org/"}, "urls 'https://example.org/' is no list"),
        ({"urls": [{"a": 1}]}, "no list of texts"),
        ({"fingerprints": PRINTED}, "no list of texts"),
        ({"content": ["x"]}, "content .* is no text"),
        ({"path": None}, "not absolute"),
        ({"refresh_days": "soon"}, "soon"),
        ({"timeout": []}, "could not convert"),
        ({"timeout": "inf"}, "out of bounds"),
        ({"timeout": "nan"}, "out of bounds"),
    ],
)
def test_a_plain_form_that_is_wrong(change, said):
    with pytest.raises(ValueError, match=said):
        Request.from_dict({**PLAIN, **change})


def test_a_plan_below_another_root_gives_the_bytes_and_writes_nothing(tmp_path, server, vendor):
    """What a planner asks for that has to see the key before it is on the host."""
    request = Request("/etc/apt/keyrings/vendor.gpg", (vendor.fingerprint,), urls=(server.serve("/key", vendor.later),))
    planned = plan(request, NOW, str(tmp_path))
    assert planned.after.data == vendor.later
    assert planned.path == tmp_path / "etc/apt/keyrings/vendor.gpg"
    assert list(tmp_path.iterdir()) == []
