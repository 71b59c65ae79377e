"""What is wrong with a host's apt, in trees of files that a real apt judges; no test changes the container itself."""

from __future__ import annotations

import gzip
import lzma
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.apt_host import Answer, AptHost
from tests.support.apt_tree import (
    DPKG,
    LIST,
    LISTS,
    NEW,
    OLD,
    PARTS,
    PINS,
    TREE,
    URI,
    Files,
    lay,
    listed,
    package,
    pin,
    stanza,
    two_copies,
)
from tests.unit.gpg_home import GpgHome

Audit = Callable[..., Answer]


@pytest.fixture
def audit(shared_apt_host: AptHost) -> Iterator[Audit]:
    """Return what audits the fresh host with files laid over it; ``None`` takes one away."""

    def run(files: Files, **params: Any) -> Answer:
        lay(shared_apt_host, files)
        return shared_apt_host.audit(root=TREE, **params)

    yield run
    shared_apt_host.run(f"rm -rf {TREE}")


def one(answer: Answer, code: str) -> dict[str, Any]:
    """Return the only problem, which has this code."""
    assert [problem["code"] for problem in answer["problems"]] == [code], answer["problems"]
    problem: dict[str, Any] = answer["problems"][0]
    return problem


def by_code(answer: Answer, code: str) -> dict[str, Any]:
    """Return the only problem with a code, among others."""
    (problem,) = [problem for problem in answer["problems"] if problem["code"] == code]
    return problem


# A host with nothing to find


def test_a_fresh_tree_has_no_problem(audit: Audit) -> None:
    answer = audit({})
    assert (answer["findings"], answer["problems"], answer["failed"]) == ([], [], False)
    (source,) = answer["sources"]
    assert (source["uri"], source["suite"], source["components"]) == (
        "http://archive.example.org/ubuntu",
        "noble",
        ["main"],
    )


def test_the_test_host_itself_is_read_as_apt_reads_it(shared_apt_host: AptHost) -> None:
    answer = shared_apt_host.audit()
    assert not answer["failed"], answer["msg"]
    form = "$(CREATED_BY)|$(REPO_URI)|$(SUITE)|$(CODENAME)|$(COMPONENT)"
    targets = shared_apt_host.run(f"apt-get indextargets --format '{form}'").splitlines()
    there = {(uri, component) for by, uri, _, _, component in (row.split("|") for row in targets) if by == "Packages"}
    read = {(entry["uri"].rstrip("/") + "/", part) for entry in answer["sources"] for part in entry["components"]}
    assert there and read == there


def test_both_forms_are_read_with_all_that_they_say(audit: Audit) -> None:
    text = (
        "# of the vendor\n\n"
        "Types: deb deb-src\n# in between\nURIs: https://a.example.org/x https://b.example.org/y/\nSuites: noble\n"
        "Components: main\n extra\nArchitectures: amd64\nSigned-By: /etc/apt/keyrings/a.gpg\nTrusted: no\nEnabled: no\n"
    )
    answer = audit(
        {f"{PARTS}/v.sources": text, f"{PARTS}/w.list": "deb [ arch=amd64,i386 ] http://c.example.org ./ #x\n"}
    )
    entries = {(entry["type"], entry["uri"]): entry for entry in answer["sources"]}
    assert len(entries) == 6
    first = entries["deb-src", "https://b.example.org/y/"]
    assert (first["file"], first["line"], first["stanza"], first["shared"]) == (f"{PARTS}/v.sources", 3, 1, 4)
    assert (first["components"], first["architectures"]) == (["main", "extra"], ["amd64"])
    assert (first["signed_by"], first["trusted"], first["enabled"]) == ("/etc/apt/keyrings/a.gpg", "no", False)
    flat = entries["deb", "http://c.example.org"]
    assert (flat["suite"], flat["components"], flat["architectures"]) == ("./", [], ["amd64", "i386"])
    # A disabled source has no lists to miss.
    assert {problem["subject"] for problem in answer["problems"]} == {"http://c.example.org ./"}


def test_without_python3_apt_the_same_is_found(audit: Audit, shared_apt_host: AptHost, copies: dict[str, Any]) -> None:
    """Sources must be repaired before python3-apt can be installed, so the audit has its own eyes as well."""
    files: Files = {
        f"{PARTS}/a.sources": f"# remark\n{stanza(Signed_By=NEW, Architectures='amd64,i386')}\nTypes : deb\nodd\n\n"
        + stanza(),
        f"{PARTS}/b.list": f"deb [signed-by=/gone.gpg] {URI} noble main\ndeb x\ndeb-src {URI} jammy main\n",
        f"{PARTS}/c.sources": f"URIs: {URI}/c\n .\n\t{URI}/d\nTypes: deb\nTypes: deb-src\nSuites:\n noble\n"
        "Components: main \n",
        f"{PINS}/p": f"Package: a\n b\nPin: release o=mine\nPin-Priority:  600\n\n{pin('release o=*')}\nPin: none\n",
        NEW: copies["expired"],
        **listed(URI),
    }
    answer = audit(files)
    assert {"SOURCE.UNREADABLE", "SOURCE.CONFLICT", "SOURCE.TWICE", "SOURCE.WRONG_SUITE", "SOURCE.KEY_MISSING"} < set(
        answer.codes
    )
    assert {"APT.PREFERENCES_UNREADABLE", "APT.PIN_IDLE"} < set(answer.codes)
    assert shared_apt_host.audit(root=TREE, python_apt=False) == answer


def test_lists_are_called_as_apt_calls_them(shared_apt_host: AptHost) -> None:
    uris = [
        "http://user:word@h.test:8080/a_b/c~d/x y/",
        "https://H.test/\xfc/%20/",
        "http://[::1]:90/x/",
        "http://h.test//x/",
        "http://h.test/a+b,c(d)/@e",
        "file:/srv/a_b/",
        "file:///x/",
        "copy:/x/",
        "mirror+file:/etc/x/",
        "cdrom:[Debian x_y]/dists/",
    ]
    script = (
        "import sys, apt_pkg\nsys.path.insert(0, '/halo')\n"
        "from halo.audit.lists import filename\napt_pkg.init_config()\n"
        "names = [(apt_pkg.uri_to_filename(uri), filename(uri)) for uri in sys.argv[1:]]\n"
        "print([pair for pair in names if pair[0] != pair[1]])\n"
    )
    assert shared_apt_host.python(script, *uris) == "[]\n"


def test_without_python3_apt_no_archive_is_asked_and_that_is_said(shared_apt_host: AptHost) -> None:
    answer = shared_apt_host.audit(python_apt=False, online=True)
    assert not answer["failed"]
    assert [finding["severity"] for finding in answer["findings"] if finding["code"] == "APT.PYTHON_ABSENT"] == [
        "warning"
    ]


# Sources


def test_source_twice(audit: Audit) -> None:
    lists = listed(URI)
    answer = audit(
        {
            f"{PARTS}/amdgpu.list": f"# AMD's\ndeb [signed-by={LIST}] {URI}/ noble main\n",
            f"{PARTS}/amdgpu.sources": stanza(Signed_By=LIST),
            **lists,
        }
    )
    problem = by_code(answer, "SOURCE.TWICE")
    assert problem["severity"] == "warning"
    assert problem["evidence"] == f"{PARTS}/amdgpu.list:2 and {PARTS}/amdgpu.sources:1 name the same archive"
    assert problem["detail"]["keep"]["file"] == f"{PARTS}/amdgpu.sources"
    assert [(entry["file"], entry["line"]) for entry in problem["detail"]["drop"]] == [(f"{PARTS}/amdgpu.list", 2)]


@pytest.mark.parametrize(
    "second",
    [
        f"deb {URI} noble extra\n",
        f"deb-src {URI} noble main\n",
        f"deb {URI} noble-updates main\n",
        f"# deb {URI} noble main\n",
    ],
)
def test_source_twice_is_not_said_of_what_apt_loads_once(audit: Audit, second: str) -> None:
    answer = audit({f"{PARTS}/a.list": f"deb {URI} noble main\n", f"{PARTS}/b.list": second})
    assert "SOURCE.TWICE" not in answer.codes


def test_source_twice_keeps_the_stacks_own_file(audit: Audit) -> None:
    own = f"{PARTS}/rocm.list"
    answer = audit(
        {
            own: f"deb {URI} noble main\n",
            f"{PARTS}/a.sources": stanza("http://archive.example.org/rocm"),
            **listed(URI),
        },
        archives=[{"uris": [URI], "file": own}],
    )
    assert by_code(answer, "SOURCE.TWICE")["detail"]["keep"]["file"] == own


def agrees_with_apt(host: AptHost, answer: Answer) -> bool:
    """Say whether the audit calls an error what makes this apt fail, and nothing else."""
    options = f"-o Dir={TREE} -o Dir::State::status={TREE}/var/lib/dpkg/status -o Dir::Cache=/srv/none"
    refused = "E:" in host.run(f"apt-get {options} indextargets 2>&1 || true")
    return refused == answer["failed"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("[signed-by=/k/a.gpg]", "[signed-by=/k/b.gpg]"),
        ("[signed-by=/k/a.gpg]", ""),
        ("", "[signed-by=/k/a.gpg]"),
        ("[trusted=yes]", ""),
    ],
)
def test_signed_by_conflict_is_an_error_where_this_apt_fails(
    audit: Audit, shared_apt_host: AptHost, first: str, second: str
) -> None:
    answer = audit(
        {f"{PARTS}/a.list": f"deb {first} {URI} noble main\n", f"{PARTS}/b.list": f"deb {second} {URI}/ noble x\n"}
    )
    problem = by_code(answer, "SOURCE.CONFLICT")
    assert f"{PARTS}/a.list:1 says" in problem["evidence"] and f"{PARTS}/b.list:1 says" in problem["evidence"]
    assert agrees_with_apt(shared_apt_host, answer), answer["msg"]
    assert ("every apt call fails" in problem["evidence"]) == answer["failed"]


def test_signed_by_conflict_of_a_list_and_a_sources_keeps_deb822(audit: Audit, shared_apt_host: AptHost) -> None:
    answer = audit(
        {
            f"{PARTS}/docker.list": f"deb [signed-by=/usr/share/keyrings/d.gpg] {URI} noble main\n",
            f"{PARTS}/docker.sources": stanza(Signed_By="/etc/apt/keyrings/d.asc"),
        }
    )
    problem = by_code(answer, "SOURCE.CONFLICT")
    assert answer["failed"] and agrees_with_apt(shared_apt_host, answer)
    assert problem["detail"]["option"] == "Signed-By"
    assert problem["detail"]["keep"]["file"] == f"{PARTS}/docker.sources"
    # What can be read is read all the same.
    assert len(answer["sources"]) == 3


def test_wrong_suite_of_a_vendors_source_is_told_before_anything_is_solved(audit: Audit) -> None:
    uri = "https://repo.example.org/rocm/apt/6.2"
    answer = audit(
        {f"{PARTS}/rocm.list": f"deb {uri} jammy main\n", **listed(uri, "jammy")}, archives=[{"uris": [uri]}]
    )
    problem = one(answer, "SOURCE.WRONG_SUITE")
    assert problem["evidence"] == (
        f"suite jammy in {PARTS}/rocm.list:1 is for Ubuntu 22.04 (jammy), the host is Ubuntu 24.04 LTS"
    )
    assert (problem["detail"]["suite"], problem["detail"]["certain"], problem["line"]) == ("noble", True, 1)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (f"deb {URI} jammy-updates main", "noble-updates"),
        (f"deb {URI} bookworm main", "noble"),
        ("deb https://archive.example.org/rocm/ubuntu2204 stable main", ""),
    ],
)
def test_wrong_suite_in_every_form(audit: Audit, source: str, wanted: str) -> None:
    problem = by_code(audit({f"{PARTS}/rocm.list": source + "\n"}), "SOURCE.WRONG_SUITE")
    assert (problem["severity"], problem["detail"]["suite"], problem["detail"]["certain"]) == ("warning", wanted, False)


@pytest.mark.parametrize("suite", ["noble-security", "stable", "noble/main", "./", "ubuntu2404"])
def test_wrong_suite_is_not_said_of_what_fits(audit: Audit, suite: str) -> None:
    components = "" if suite.endswith("/") else "main"
    answer = audit({f"{PARTS}/a.list": f"deb {URI}/ubuntu2404 {suite} {components}\n"})
    assert "SOURCE.WRONG_SUITE" not in answer.codes


def test_wrong_suite_beside_the_hosts_own_is_on_purpose(audit: Audit) -> None:
    uri = "http://archive.example.org/ubuntu"
    answer = audit({f"{PARTS}/more.list": f"deb {uri} questing main\n", **listed(uri, "questing", "Ubuntu")})
    assert one(answer, "SOURCE.WRONG_SUITE")["severity"] == "info"


def test_components_and_architectures_that_the_archive_does_not_have(audit: Audit) -> None:
    answer = audit({LIST: "deb [arch=amd64,riscv64] http://archive.example.org/ubuntu noble main multivers\n"})
    found = {problem["detail"]["what"]: problem["detail"]["names"] for problem in answer["problems"]}
    assert set(answer.codes) == {"SOURCE.NOT_THERE"}
    assert found == {"component": ["multivers"], "architecture": ["riscv64"]}


def test_an_archive_that_was_never_reached_is_named_and_nothing_is_concluded(audit: Audit) -> None:
    status = DPKG + package("from-there")
    problem = one(
        audit({f"{PARTS}/a.list": f"deb {URI} noble main\n", "/var/lib/dpkg/status": status}), "SOURCE.NO_LISTS"
    )
    assert problem["subject"] == f"{URI} noble"


BAD_LINES = [
    "deb http://x.test\n",
    "debx http://x.test noble main\n",
    "deb [foo http://x.test noble main\n",
    "deb http://x.test noble/ main\n",
]


@pytest.mark.parametrize("bad", BAD_LINES)
def test_malformed_line_is_named_and_the_others_are_read(audit: Audit, shared_apt_host: AptHost, bad: str) -> None:
    answer = audit({f"{PARTS}/x.list": f"# mine\ndeb {URI} noble main\n\n{bad}deb {URI} noble-updates main\n"})
    problem = by_code(answer, "SOURCE.UNREADABLE")
    assert (problem["severity"], problem["file"], problem["line"]) == ("error", f"{PARTS}/x.list", 4)
    assert bad.strip() in problem["evidence"] and TREE not in problem["evidence"] and "asked" not in problem["evidence"]
    assert {entry["suite"] for entry in answer["sources"] if entry["file"] == f"{PARTS}/x.list"} == {
        "noble",
        "noble-updates",
    }
    assert agrees_with_apt(shared_apt_host, answer)


BAD_STANZAS = {
    "no URIs": "Types: deb\nSuites: noble\nComponents: main\n",
    "no field": "garbage\n",
    "an unknown type": stanza().replace("deb\n", "rpm\n"),
    "a key that is none": stanza() + "Signed-By:\n -----BEGIN\n .\n abc\n",
}


@pytest.mark.parametrize("bad", BAD_STANZAS.values(), ids=BAD_STANZAS.keys())
def test_malformed_stanza_is_named_and_the_others_are_read(audit: Audit, shared_apt_host: AptHost, bad: str) -> None:
    text = f"{stanza()}\n# of the vendor\n{bad}\n{stanza(suites='noble-updates')}"
    answer = audit({f"{PARTS}/x.sources": text})
    problem = by_code(answer, "SOURCE.UNREADABLE")
    assert (problem["file"], problem["line"], problem["stanza"]) == (f"{PARTS}/x.sources", 7, 2)
    assert TREE not in problem["evidence"] and "asked" not in problem["evidence"]
    suites = [entry["suite"] for entry in answer["sources"] if entry["stanza"]]
    assert suites == ["noble", "noble-updates"]
    assert agrees_with_apt(shared_apt_host, answer)


def test_a_line_that_is_no_field_is_a_warning_where_apt_passes_over_it(audit: Audit, shared_apt_host: AptHost) -> None:
    answer = audit({f"{PARTS}/x.sources": f"{stanza()}nocolon\n\n{stanza(suites='noble-updates')}"})
    problem = by_code(answer, "SOURCE.UNREADABLE")
    assert (problem["severity"], problem["line"], problem["detail"]["reason"]) == ("warning", 5, "nocolon")
    assert agrees_with_apt(shared_apt_host, answer)
    answer = audit({f"{PARTS}/x.sources": f"{stanza()}\n{stanza(suites='noble-updates')}nocolon\n"})
    problem = by_code(answer, "SOURCE.UNREADABLE")
    assert (problem["severity"], problem["line"], problem["stanza"]) == ("error", 6, 2)
    assert agrees_with_apt(shared_apt_host, answer)


def test_files_that_apt_passes_over(audit: Audit) -> None:
    answer = audit({f"{PARTS}/a b.list": "x", f"{PARTS}/a.txt": "x", f"{PARTS}/a.list.save": "x", f"{PINS}/a.b": "x"})
    files = sorted(problem["file"] for problem in answer["problems"])
    assert files == [f"{PINS}/a.b", f"{PARTS}/a b.list", f"{PARTS}/a.txt"]
    assert set(answer.codes) == {"APT.FILE_IGNORED"}


def test_a_malformed_configuration_is_an_error(audit: Audit) -> None:
    problem = one(audit({"/etc/apt/apt.conf.d/99x": "Foo { bar\n"}), "APT.CONFIG_UNREADABLE")
    assert problem["severity"] == "error" and "99x" in problem["evidence"]


# Keys


@pytest.fixture(scope="module")
def gpg() -> Iterator[GpgHome]:
    if not shutil.which("gpg"):
        pytest.skip("needs gpg, which makes the keys")
    home = GpgHome()
    yield home
    home.close()


@pytest.fixture(scope="module")
def copies(gpg: GpgHome) -> dict[str, Any]:
    return two_copies(gpg)


def source(keyring: str = NEW) -> Files:
    return {f"{PARTS}/v.sources": stanza(Signed_By=keyring), **listed(URI)}


def test_key_expired(audit: Audit, copies: dict[str, Any]) -> None:
    answer = audit(
        {**source(), NEW: copies["expired"]}, archives=[{"uris": [URI], "fingerprints": [copies["fingerprint"]]}]
    )
    problem = one(answer, "SOURCE.KEY_EXPIRED")
    assert problem["severity"] == "warning"
    assert problem["detail"]["fingerprint"] == copies["fingerprint"] and problem["detail"]["keyring"] == NEW
    assert f"key {copies['fingerprint']} in {NEW} expired 20" in problem["evidence"]


def test_key_expired_is_not_said_while_another_key_of_the_keyring_lasts(
    audit: Audit, copies: dict[str, Any], gpg: GpgHome
) -> None:
    other = gpg.make("Next <next@example.org>")
    assert audit({**source(), NEW: copies["expired"] + gpg.export(other)})["problems"] == []


@pytest.mark.parametrize(("days", "code"), [(90, "SOURCE.KEY_EXPIRING"), (10, "")])
def test_key_that_expires_within_days(audit: Audit, gpg: GpgHome, days: int, code: str) -> None:
    fingerprint = gpg.make(f"Soon {days} <soon@example.org>", expires="60d")
    answer = audit({**source(), NEW: gpg.export(fingerprint)}, expiring_days=days)
    assert answer.codes == ([code] if code else [])


def test_key_expired_in_legacy_trusted_store(audit: Audit, copies: dict[str, Any]) -> None:
    answer = audit(
        {f"{PARTS}/old.list": f"deb {URI} noble main\n", OLD: copies["expired"], NEW: copies["fresh"], **listed(URI)},
        archives=[{"uris": [URI], "fingerprints": [copies["fingerprint"]], "keyring": NEW}],
    )
    problem = by_code(answer, "KEY.STALE_COPY")
    assert (problem["file"], problem["detail"]["fingerprint"]) == (OLD, copies["fingerprint"])
    assert problem["detail"]["fresh"][0]["keyring"] == NEW
    assert [entry["file"] for entry in problem["detail"]["users"]] == [f"{PARTS}/old.list"]
    assert by_code(answer, "SOURCE.KEY_EXPIRED")["detail"]["keyring_wanted"] == NEW


def test_key_expired_in_legacy_trusted_store_among_others(audit: Audit, copies: dict[str, Any], gpg: GpgHome) -> None:
    other = gpg.make("Distribution <distribution@example.org>")
    store = "/etc/apt/trusted.gpg"
    answer = audit({**source(), NEW: copies["fresh"], store: gpg.export(other) + copies["expired"]})
    problem = one(answer, "KEY.STALE_COPY")
    assert (problem["file"], problem["detail"]["alone"], problem["detail"]["users"]) == (store, False, [])


def test_key_missing_because_the_keyring_is_not_there(audit: Audit) -> None:
    problem = one(audit(source()), "SOURCE.KEY_MISSING")
    assert NEW in problem["evidence"] and "No such file" in problem["evidence"]


def test_key_missing_is_known_from_who_signed_the_lists(audit: Audit, copies: dict[str, Any], gpg: GpgHome) -> None:
    signer = gpg.make("Signer <signer@example.org>")
    text = b"Origin: repo.example\nSuite: noble\nCodename: noble\nArchitectures: amd64\nComponents: main\n"
    signed = listed(URI, data=gpg.gpg("--clearsign", "-u", signer, data=text))
    files: Files = {f"{PARTS}/v.list": f"deb {URI} noble main\n", OLD: copies["fresh"], **signed}
    problem = one(audit(files), "SOURCE.KEY_MISSING")
    assert problem["detail"]["missing"] == [signer]
    assert audit({**files, "/etc/apt/trusted.gpg.d/s.gpg": gpg.export(signer)})["problems"] == []


def test_key_wrong_fingerprint(audit: Audit, copies: dict[str, Any], gpg: GpgHome) -> None:
    other = gpg.make("Stranger <stranger@example.org>")
    answer = audit(
        {**source(), NEW: gpg.export(other)}, archives=[{"uris": [URI + "/"], "fingerprints": [copies["fingerprint"]]}]
    )
    problem = one(answer, "SOURCE.KEY_WRONG")
    assert copies["fingerprint"] in problem["evidence"] and other in problem["evidence"]
    assert (problem["detail"]["missing"], problem["detail"]["there"]) == ([copies["fingerprint"]], [other])


def test_key_wrong_where_signed_by_names_another_fingerprint(audit: Audit, copies: dict[str, Any]) -> None:
    files = source(f"{NEW} {'A' * 40}")
    assert one(audit({**files, NEW: copies["fresh"]}), "SOURCE.KEY_MISSING")["line"] == 1


def test_key_binary_plus_armoured(audit: Audit, copies: dict[str, Any], gpg: GpgHome) -> None:
    both = copies["fresh"] + gpg.export(copies["fingerprint"], armour=True)
    problem = one(audit({**source(), NEW: both}), "SOURCE.KEYRING_UNUSABLE")
    assert "binary key followed by an armoured one" in problem["evidence"]


@pytest.mark.parametrize(("name", "armour"), [("/etc/apt/keyrings/v.gpg", True), ("/etc/apt/keyrings/v.asc", False)])
def test_key_in_a_form_that_its_name_denies(
    audit: Audit, copies: dict[str, Any], gpg: GpgHome, name: str, armour: bool
) -> None:
    answer = audit({**source(name), name: gpg.export(copies["fingerprint"], armour=armour)})
    assert answer.codes == ["SOURCE.KEYRING_UNUSABLE"]


def test_key_within_the_source(audit: Audit, copies: dict[str, Any], gpg: GpgHome) -> None:
    lines = gpg.export(copies["fingerprint"], armour=True).decode().splitlines()
    key = "\n" + "\n".join(f" {line or '.'}" for line in lines)
    wanted = {"uris": [URI], "fingerprints": [copies["fingerprint"]]}
    assert audit(source(key), archives=[wanted])["problems"] == []
    assert audit(source(key), archives=[{**wanted, "fingerprints": ["A" * 40]}]).codes == ["SOURCE.KEY_WRONG"]


def test_a_source_that_nobody_verifies(audit: Audit) -> None:
    answer = audit({f"{PARTS}/v.sources": stanza(Trusted="yes"), **listed(URI)})
    assert one(answer, "SOURCE.UNVERIFIED")["severity"] == "warning"


# Preferences


def test_pin_of_the_other_channel(audit: Audit) -> None:
    files: Files = {f"{PARTS}/v.list": f"deb {URI} noble main\n", **listed(URI, origin="AMD ROCm")}
    text = f"# AMD's\n\n{pin('release o=AMD ROCm')}\n{pin('release o=repo.radeon.com')}"
    problem = one(audit({**files, f"{PINS}/rocm-pin-600": text}), "APT.PIN_IDLE")
    assert (problem["file"], problem["line"], problem["stanza"]) == (f"{PINS}/rocm-pin-600", 7, 2)
    assert "AMD ROCm, Ubuntu" in problem["evidence"]
    assert problem["detail"] == {"pin": "release o=repo.radeon.com", "packages": ["*"], "priority": 600}


@pytest.mark.parametrize(
    "text",
    [
        pin("release o=Ubuntu"),
        pin("release n=noble", packages="a b"),
        pin("origin archive.example.org", packages="a"),
        pin("version 1.*", packages="a"),
        pin("release o=elsewhere", "-1"),
        pin("release o=Ubuntu", "1001"),
    ],
)
def test_pins_that_do_what_they_say(audit: Audit, text: str) -> None:
    assert audit({"/etc/apt/preferences": text})["problems"] == []


def test_pin_is_not_called_idle_while_an_archive_is_unknown(audit: Audit) -> None:
    files: Files = {f"{PARTS}/v.list": f"deb {URI} noble main\n", f"{PINS}/a.pref": pin("release o=repo.radeon.com")}
    assert audit(files).codes == ["SOURCE.NO_LISTS"]


@pytest.mark.parametrize(
    ("text", "effect"), [(pin("release *", "-1"), "nothing"), (pin("origin *", "1001"), "downgrades")]
)
def test_pin_that_matches_everything(audit: Audit, text: str, effect: str) -> None:
    problem = one(audit({f"{PINS}/all.pref": text}), "APT.PIN_EVERYTHING")
    assert effect in problem["evidence"]


BAD_PINS = {
    "no Package": "Pin: version 1\nPin-Priority: 600\n",
    "no priority": "Package: a\nPin: version 1\n",
    "priority 0": pin("version 1", "0", "a"),
    "priority too high": pin("version 1", "99999", "a"),
    "no number": pin("version 1", "high", "a"),
    "no field": "garbage\n",
}


@pytest.mark.parametrize("bad", BAD_PINS.values(), ids=BAD_PINS.keys())
def test_malformed_preferences(audit: Audit, shared_apt_host: AptHost, bad: str) -> None:
    answer = audit({f"{PINS}/x.pref": f"{pin('version 2', packages='a')}\n# odd\n{bad}\n{pin('release o=elsewhere')}"})
    problem = by_code(answer, "APT.PREFERENCES_UNREADABLE")
    assert (problem["severity"], problem["file"], problem["line"]) == ("error", f"{PINS}/x.pref", 6)
    # What could still be read is judged.
    assert by_code(answer, "APT.PIN_IDLE")["line"] == 6 + bad.count("\n") + 1
    options = f"-o Dir={TREE} -o Dir::State::status={TREE}/var/lib/dpkg/status -o Dir::Cache=/srv/none"
    assert "E:" in shared_apt_host.run(f"apt-get {options} -s install dpkg 2>&1 || true")


@pytest.mark.parametrize("text", [pin("bogus 1", "0"), pin("version 1"), "Package: a\nPin-Priority: 5\n"])
def test_pins_that_apt_does_not_understand_and_passes_over(audit: Audit, shared_apt_host: AptHost, text: str) -> None:
    problem = one(audit({f"{PINS}/x.pref": text}), "APT.PIN_IDLE")
    assert "does not understand" in problem["evidence"]
    options = f"-o Dir={TREE} -o Dir::State::status={TREE}/var/lib/dpkg/status -o Dir::Cache=/srv/none"
    said = shared_apt_host.run(f"apt-get {options} -s install dpkg 2>&1 || true")
    assert "E:" not in said, said


# dpkg


def test_half_configured_dkms(audit: Audit) -> None:
    status = DPKG + package("amdgpu-dkms", "install ok half-configured", "1:6.8.5")
    packages = {f"{LISTS}/archive.example.org_ubuntu_dists_noble_main_binary-amd64_Packages": status}
    found = one(audit({"/var/lib/dpkg/status": status, **packages}), "DPKG.UNFINISHED")
    assert found["evidence"] == "amdgpu-dkms 1:6.8.5 is half-configured"
    assert (found["detail"]["name"], found["detail"]["state"]) == ("amdgpu-dkms", "half-configured")


@pytest.mark.parametrize("state", ["half-configured", "unpacked", "installed"])
def test_half_configured_dkms_on_an_apu_needs_no_module_at_all(audit: Audit, state: str) -> None:
    status = DPKG + package("amdgpu-dkms", f"install ok {state}", "1:6.8.5")
    packages = {f"{LISTS}/archive.example.org_ubuntu_dists_noble_main_binary-amd64_Packages": status}
    found = one(audit({"/var/lib/dpkg/status": status, **packages}, gpu_apu=True), "DPKG.AMDGPU_DKMS")
    assert "kernel's own amdgpu driver" in found["evidence"] and state in found["evidence"]
    assert found["remedy"].startswith("dpkg --purge amdgpu-dkms")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("install ok half-configured", "is half-configured"),
        ("install ok triggers-pending", "is triggers-pending"),
        ("install reinstreq half-installed", "must be installed again"),
    ],
)
def test_headers_half_configured(audit: Audit, status: str, words: str) -> None:
    text = DPKG + package("linux-headers-6.8.0-40-generic", status)
    found = by_code(audit({"/var/lib/dpkg/status": text}), "DPKG.UNFINISHED")
    assert found["subject"] == "linux-headers-6.8.0-40-generic" and words in found["evidence"]


def test_an_interrupted_dpkg(audit: Audit) -> None:
    assert one(audit({"/var/lib/dpkg/updates/0001": "x"}), "DPKG.UNFINISHED")["remedy"] == "dpkg --configure -a"


def test_held_package(audit: Audit) -> None:
    status = DPKG.replace("install ok", "hold ok")
    found = one(audit({"/var/lib/dpkg/status": status}), "DPKG.HELD")
    assert (found["severity"], found["evidence"]) == ("info", "on hold: dpkg 1.22")
    assert found["detail"]["packages"][0]["version"] == "1.22"


def test_packages_that_no_archive_has(audit: Audit) -> None:
    gone = package("removed", "deinstall ok config-files")
    found = one(
        audit({"/var/lib/dpkg/status": DPKG + package("zed") + package("acme", version="2") + gone}), "APT.NO_ARCHIVE"
    )
    assert (found["subject"], [one["name"] for one in found["detail"]["packages"]]) == ("2 packages", ["acme", "zed"])
    assert "acme 2, zed 1" in found["evidence"]


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_packages_that_only_a_compressed_index_has(audit: Audit, ending: str, pack: Callable[[bytes], bytes]) -> None:
    name = f"{LISTS}/archive.example.org_ubuntu_dists_noble_main_binary-amd64_Packages"
    index = pack(b"Package: other\nVersion: 1\n\nPackage: dpkg\nVersion: 1\n\n")
    assert audit({name: None, name + ending: index})["problems"] == []
    status = DPKG + package("other") + package("another")
    answer = audit({name: None, name + ending: index, "/var/lib/dpkg/status": status})
    assert one(answer, "APT.NO_ARCHIVE")["detail"]["packages"] == [{"name": "another", "arch": "amd64", "version": "1"}]


def test_diversions_by_hand_and_of_what_is_gone(audit: Audit) -> None:
    rows = "/usr/bin/a\n/usr/bin/a.real\n:\n/usr/bin/b\n/usr/bin/b.real\ngone\n/usr/bin/c\n/usr/bin/c.real\ndpkg\n"
    found = one(audit({"/var/lib/dpkg/diversions": rows}), "DPKG.DIVERTED")
    assert [row["path"] for row in found["detail"]["rows"]] == ["/usr/bin/a", "/usr/bin/b"]


def test_a_host_without_dpkgs_status(audit: Audit) -> None:
    answer = audit({"/var/lib/dpkg/status": None})
    assert answer.codes == ["APT.STATUS_UNREADABLE"] and answer["failed"]


# The compiler


GCC = "/usr/lib/gcc/x86_64-linux-gnu"


def test_libstdcxx_dev_missing_for_newest_gcc(audit: Audit) -> None:
    status = DPKG + package("libstdc++-13-dev") + package("libgcc-14-dev")
    files: Files = {f"{GCC}/13/crtbegin.o": "", f"{GCC}/14/crtbegin.o": "", "/var/lib/dpkg/status": status}
    found = by_code(audit(files), "TOOLCHAIN.NO_LIBSTDCXX")
    assert (found["remedy"], found["detail"]) == (
        "apt-get install libstdc++-14-dev",
        {"package": "libstdc++-14-dev", "major": 14},
    )
    complete = audit({**files, "/var/lib/dpkg/status": status + package("libstdc++-14-dev")})
    assert "TOOLCHAIN.NO_LIBSTDCXX" not in complete.codes


def test_libstdcxx_dev_missing_is_not_said_of_a_directory_that_clang_passes_over(audit: Audit) -> None:
    status = DPKG + package("libstdc++-9-dev")
    files: Files = {f"{GCC}/9/crtbegin.o": "", f"{GCC}/14/cc1": "", "/var/lib/dpkg/status": status}
    assert "TOOLCHAIN.NO_LIBSTDCXX" not in audit(files).codes


# Archives asked


def test_an_archive_that_does_not_answer_is_told_only_when_asked(audit: Audit) -> None:
    files: Files = {LIST: "deb http://127.0.0.1:9/ubuntu noble main\n"}
    assert audit(files).codes == ["SOURCE.NO_LISTS"]
    answer = audit(files, online=True)
    assert answer["failed"] and {code for code in answer.codes if code != "SOURCE.NO_LISTS"} == {"APT.REFRESH_FAILED"}
