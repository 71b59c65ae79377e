"""Edits of sources and preferences, and of stores of keys: whatever is not meant stays as it was, byte by byte."""

from __future__ import annotations

import pytest
from ansible.module_utils.halo import openpgp
from ansible.module_utils.halo.audit.model import Entry, bare
from ansible.module_utils.halo.repair import keys
from ansible.module_utils.halo.repair.model import RefusedError
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
