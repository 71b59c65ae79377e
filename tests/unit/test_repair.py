"""Edits of sources and preferences, and of stores of keys: whatever is not meant stays as it was, byte by byte."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from ansible.module_utils.halo import openpgp
from ansible.module_utils.halo.audit.model import Entry, Problem, bare
from ansible.module_utils.halo.repair import keys
from ansible.module_utils.halo.repair.carry_out import backup, carry_out
from ansible.module_utils.halo.repair.model import FileRepair, RefusedError, Repairs
from ansible.module_utils.halo.repair.sources import rewritten

from tests.unit.gpg_home import GpgHome

FILE = "/etc/apt/sources.list.d/x.sources"
STANZA = (
    "# mine\nTypes: deb deb-src\nURIs: http://a.test\n http://b.test\n"
    "# why\nSuites: jammy jammy-updates\nComponents: main\n"
)


def entries(line: int = 2, **fields: str) -> list[Entry]:
    """Return the entries of the stanza that have all of these values."""
    every = [
        Entry(FILE, line, 1, kind, uri, suite, ("main",), shared=8)
        for kind in ("deb", "deb-src")
        for uri in ("http://a.test", "http://b.test")
        for suite in ("jammy", "jammy-updates")
    ]
    return [one for one in every if all(getattr(one, name) == value for name, value in fields.items())]


@pytest.mark.parametrize(
    ("gone", "before", "after"),
    [
        ({"type": "deb-src"}, "Types: deb deb-src\n", "Types: deb\n"),
        ({"uri": "http://b.test"}, "URIs: http://a.test\n http://b.test\n", "URIs: http://a.test\n"),
        ({"suite": "jammy"}, "Suites: jammy jammy-updates\n", "Suites: jammy-updates\n"),
    ],
)
def test_part_of_a_stanza_is_taken_out_where_one_field_tells_it(gone: dict[str, str], before: str, after: str) -> None:
    text = rewritten(f"{STANZA}\n{STANZA}", [*entries(), *entries(10)], entries(10, **gone), {}, {})
    assert text == f"{STANZA}\n{STANZA.replace(before, after)}"


def test_part_of_a_stanza_that_no_field_tells_is_refused() -> None:
    with pytest.raises(RefusedError, match="line 2"):
        rewritten(STANZA, entries(), entries(type="deb", uri="http://a.test"), {}, {})


def test_a_whole_stanza_goes_with_its_comments_and_its_gap() -> None:
    assert rewritten(f"{STANZA}\n{STANZA}", [*entries(), *entries(10)], entries(), {}, {}) == STANZA


def test_a_line_of_blanks_is_part_of_its_stanza_as_for_apt() -> None:
    text = "Types: deb\nURIs: http://a.test\nSuites: jammy\n \t\nComponents: main\n"
    (entry,) = [replace(one, line=1, shared=1) for one in entries(type="deb", uri="http://a.test", suite="jammy")]
    assert rewritten(text, [entry], [entry], {}, {}) == ""
    assert rewritten(text, [entry], [], {entry: "noble"}, {}) == text.replace("jammy\n \t\n", "noble\n")


@pytest.mark.parametrize("odd", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\r"])
def test_only_a_line_feed_ends_a_line_as_for_apt(odd: str) -> None:
    text = f"# a{odd}b\ndeb http://a.test jammy main\ndeb http://b.test jammy main\n"
    every = [
        Entry(FILE, line, 0, "deb", f"http://{site}.test", "jammy", ("main",)) for line, site in ((2, "a"), (3, "b"))
    ]
    assert rewritten(text, every, every[:1], {}, {}) == text.replace("deb http://a.test jammy main\n", "")


def test_a_changed_field_keeps_the_line_ends_of_its_file() -> None:
    text = STANZA.replace("\n", "\r\n")
    new = {one: one.suite.replace("jammy", "noble") for one in entries()}
    assert rewritten(text, entries(), [], new, {}) == text.replace("jammy", "noble")


def test_a_file_keeps_owner_and_mode_and_is_never_readable_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "etc/apt/sources.list.d/a.list"
    path.parent.mkdir(parents=True)
    path.write_text("deb http://u:secret@a.test jammy main\n")
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 1234, 1234)
    owner = path.stat()
    problem = Problem("SOURCE.WRONG_SUITE", "warning", "a", "evidence", "remedy")
    change = FileRepair(
        "/etc/apt/sources.list.d/a.list", path.read_bytes(), b"deb http://u:secret@a.test noble main\n", (problem,)
    )
    (done,) = carry_out(Repairs((change,)), str(tmp_path), 1)
    assert done.code == "REPAIR.DONE"
    assert (path.stat().st_mode, path.stat().st_uid, path.stat().st_gid) == (owner.st_mode, owner.st_uid, owner.st_gid)
    copy = tmp_path / backup(change).lstrip("/")
    assert copy.read_bytes() == change.before and copy.stat().st_uid == owner.st_uid


def test_what_cannot_be_written_is_an_error_and_what_was_written_before_is_told(tmp_path: Path) -> None:
    parts = tmp_path / "etc/apt/sources.list.d"
    parts.mkdir(parents=True)
    problem = Problem("SOURCE.TWICE", "warning", "a", "evidence", "remedy")
    for name in ("a.list", "b.list"):
        (parts / name).write_text("old\n")
    changes = [
        FileRepair(f"/etc/apt/sources.list.d/{name}", b"old\n", b"new\n", (problem,))
        for name in ("a.list", "b.list", "c.list")
    ]
    # A directory stands where the new file would be written first.
    (parts / ".b.list.new").mkdir()
    (parts / ".b.list.new/x").touch()
    findings = carry_out(Repairs(tuple(changes)), str(tmp_path), 1)
    assert [(one.code, one.subject) for one in findings] == [
        ("REPAIR.DONE", "/etc/apt/sources.list.d/a.list"),
        ("REPAIR.FAILED", "/etc/apt/sources.list.d/b.list"),
    ]
    assert [(parts / name).read_text() for name in ("a.list", "b.list")] == ["new\n", "old\n"]


def test_suites_are_rewritten_in_place() -> None:
    new = {one: one.suite.replace("jammy", "noble") for one in entries()}
    assert rewritten(STANZA, entries(), [], new, {}) == STANZA.replace("jammy", "noble")


@pytest.mark.parametrize(
    ("line", "suite", "keyring"),
    [
        (
            "deb http://a.test jammy main # c\n",
            "deb http://a.test noble main # c\n",
            "deb [signed-by=/k] http://a.test jammy main # c\n",
        ),
        (
            "deb  [ arch=amd64 Signed-By=/o ] http://a.test  jammy main\n",
            "deb  [ arch=amd64 Signed-By=/o ] http://a.test  noble main\n",
            "deb  [arch=amd64 signed-by=/k] http://a.test  jammy main\n",
        ),
    ],
)
def test_one_line_is_edited_and_the_others_stay(line: str, suite: str, keyring: str) -> None:
    text, one = (
        f"# a\n\n{line}deb http://b.test jammy main",
        Entry(FILE, 3, 0, "deb", "http://a.test", "jammy", ("main",)),
    )
    other = Entry(FILE, 4, 0, "deb", "http://b.test", "jammy", ("main",))
    assert rewritten(text, [one, other], [], {one: "noble"}, {}) == text.replace(line, suite)
    assert rewritten(text, [one, other], [], {}, {one: "/k"}) == text.replace(line, keyring)
    assert rewritten(text, [one, other], [one], {}, {}) == text.replace(line, "")


def test_a_keyring_is_set_for_a_whole_stanza_alone() -> None:
    text = rewritten(STANZA, entries(), [], {}, dict.fromkeys(entries(), "/k.gpg"))
    assert "Signed-By: /k.gpg\n" in text and text.replace("Signed-By: /k.gpg\n", "") == STANZA
    with pytest.raises(RefusedError, match="another archive"):
        rewritten(STANZA, entries(), [], {}, dict.fromkeys(entries(uri="http://a.test"), "/k.gpg"))


@pytest.mark.parametrize("armour", [False, True])
def test_one_key_is_taken_out_of_a_store_and_gpg_reads_the_rest(armour: bool) -> None:
    home = GpgHome()
    try:
        one, two = home.make("One <one@example.org>"), home.make("Two <two@example.org>")
        left = keys.without(home.export(one, two, armour=armour), one)
        assert left is not None and left.startswith(b"-----BEGIN") == armour
        assert [row[9] for row in home.show(left) if row[0] == "fpr"] == [two]
        assert [key.fingerprint for key in openpgp.read(left)] == [two]
        assert keys.without(left, two) is None
        with pytest.raises(RefusedError, match="no key"):
            keys.without(left, one)
    finally:
        home.close()


def test_who_signed_is_read_from_every_form_of_a_signature() -> None:
    home = GpgHome()
    try:
        fingerprint = home.make("Signer <signer@example.org>")
        clear = home.gpg("--clearsign", data=b"Origin: x\n")
        assert fingerprint in openpgp.issuers(clear[clear.index(b"-----BEGIN PGP SIGNATURE") :])
        assert fingerprint in openpgp.issuers(home.gpg("--detach-sign", data=b"x"))
    finally:
        home.close()
    assert openpgp.issuers(b"") == openpgp.issuers(b"<html>") == openpgp.issuers(b"\x88\xff") == frozenset()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.test/x", "https://A.test/x/"),
        ("https://user:word@a.test/x", "https://a.test/x"),
    ],
)
def test_uris_of_one_archive(one: str, other: str) -> None:
    assert bare(one) == bare(other)


@pytest.mark.parametrize("other", ["http://a.test/X", "http://a.test/x/y", "http://b.test/x", "file:/a.test/x"])
def test_uris_of_other_archives(other: str) -> None:
    assert bare("http://a.test/x") != bare(other)
