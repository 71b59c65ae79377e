"""Archives that cannot be used, through the real planner: each kind is told apart, and nothing comes of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.apt_archives import Archives, package
from tests.support.apt_host import Answer, AptHost
from tests.support.served_archive import LEGACY, Served
from tests.unit.gpg_home import GpgHome

SIGNED_BY = "/etc/apt/keyrings/vendor.gpg"
WISH = {"name": "rocm-hip-runtime"}

# A test host has these two as the machine's own apt has them, which may be off. What is slow comes in pieces.
SETTINGS = """
Acquire::Check-Valid-Until "true";
Acquire::Check-Date "true";
Acquire::Retries "0";
Acquire::http::Timeout "1";
"""


@pytest.fixture
def host(apt_host: AptHost) -> AptHost:
    """Give a host without sources."""
    apt_host.run("rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*; mkdir -p /etc/apt/keyrings")
    apt_host.run("cat >/etc/apt/apt.conf.d/zz-test", stdin=SETTINGS)
    return apt_host


def source(url: str) -> str:
    """Return a source of the archive's suite for Ubuntu 24.04."""
    lines = ["Types: deb", f"URIs: {url}", "Suites: noble", "Components: main", "Architectures: amd64"]
    return "\n".join([*lines, f"Signed-By: {SIGNED_BY}", ""])


def brought(served: Served, url: str) -> dict[str, Any]:
    """Return the source as a role brings it, with the key that the archive should be signed with."""
    key = {"path": SIGNED_BY, "fingerprints": [served.keys["legacy"].fingerprint], "content": served.armoured("legacy")}
    return {"file": "vendor.sources", "text": source(url), "key": key, "environment": {}}


def put(host: AptHost, url: str, keyring: bytes | None) -> None:
    """Write the source onto the host, and its keyring where there is one."""
    host.run("cat >/etc/apt/sources.list.d/vendor.sources", stdin=source(url))
    if keyring is not None:
        subprocess.run(host.command("sh", "-c", f"cat >{SIGNED_BY}"), input=keyring, check=True)


def state(host: AptHost) -> str:
    """Return what must stay as it is: configuration, keys, lists, packages and marks; not what apt left half-way."""
    find = "find /etc/apt /var/lib/apt /var/lib/dpkg -path '*/lists/partial' -prune -o -type f -printf '%p %s %T@\\n'"
    return host.run(f"{find} | sort; ls -A /var/tmp")


def refused(host: AptHost, execute: bool = True, **params: Any) -> Answer:
    """Plan with an archive that cannot be used, be ready to execute, and return the answer."""
    before = state(host)
    answer = host.plan(WISH, execute=execute, refresh="always", **params)
    assert answer["failed"]
    assert not answer["changed"]
    assert state(host) == before
    return answer


def the(answer: Answer) -> tuple[str, str, str]:
    """Return code, subject and evidence of the only finding."""
    (finding,) = answer["findings"]
    assert finding["severity"] == "error"
    assert finding["remedy"]
    return finding["code"], finding["subject"], finding["evidence"]


def test_the_sound_archive_is_planned_with(host: AptHost, served: Served) -> None:
    """Else the other tests would show nothing."""
    answer = host.plan({"name": "rocm-core"}, refresh="always", sources=[brought(served, served.at(LEGACY))])
    assert (answer["msg"], answer.kinds()) == ("", {"rocm-core": "install"})


@pytest.mark.parametrize(
    ("variant", "code", "evidence"),
    [
        ("index-wrong-key", "APT.KEY_MISSING", "NO_PUBKEY|Missing key"),
        ("index-tampered-inrelease", "APT.SIGNATURE_BAD", "BADSIG|Message has been manipulated"),
        ("index-tampered-packages", "APT.INDEX_DIFFERS", r"main/binary-amd64/Packages\S*: Hash Sum mismatch"),
        ("index-unsigned", "APT.UNSIGNED", "is not signed"),
        ("gone", "APT.NOT_FOUND", "Release: 404 Not Found"),
        ("login-page", "APT.LOGIN_PAGE", r"InRelease: .*NOSPLIT"),
        ("slow", "APT.REFRESH_FAILED", "timed out"),
        ("cut", "APT.REFRESH_FAILED", "Remote end closed connection"),
    ],
)
def test_index_tampered_or_not_to_be_had(host: AptHost, served: Served, variant: str, code: str, evidence: str) -> None:
    url = served.at(LEGACY, variant)
    told, subject, said = the(refused(host, sources=[brought(served, url)]))
    assert (told, subject) == (code, f"{url} noble")
    assert re.search(evidence, said), said


@pytest.mark.parametrize(
    ("variant", "says"),
    [("index-stale", "the archive was valid until"), ("index-future", "the archive is of")],
)
def test_dates_that_do_not_fit_are_both_told(host: AptHost, served: Served, variant: str, says: str) -> None:
    code, _, said = the(refused(host, sources=[brought(served, served.at(LEGACY, variant))]))
    assert code == "APT.CLOCK"
    dates = re.search(rf"{says} (\S+); the host's date: (\S+)$", said)
    assert dates, said
    index = (served.site.out / "broken" / variant / LEGACY / "dists/noble/Release").read_text()
    field = "Valid-Until" if variant == "index-stale" else "Date"
    (true,) = re.findall(rf"^{field}: (.*) UTC$", index, re.MULTILINE)
    off = abs(int(host.run(f"echo $(( $(date -ud '{true}' +%s) - $(date -ud '{dates[1]}' +%s) ))")))
    # apt grants a few seconds.
    assert off < 60, (true, said)
    assert dates[2][:10] == host.run("date -u +%F").strip()


def test_a_suite_that_the_archive_does_not_have(host: AptHost, served: Served) -> None:
    wanted = brought(served, served.at(LEGACY))
    wanted["text"] = wanted["text"].replace("noble", "plucky")
    code, subject, _ = the(refused(host, sources=[wanted]))
    assert (code, subject) == ("APT.NOT_FOUND", f"{served.at(LEGACY)} plucky")


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("key-expired", {"APT.KEY_EXPIRED"}),
        ("key-missing", {"APT.KEY_MISSING"}),
        ("key-wrong", {"APT.KEY_MISSING"}),
        ("key-truncated", {"APT.KEY_UNUSABLE"}),
        # To gpgv that is no keyring at all, to sqv a broken one.
        ("key-binary-plus-armoured", {"APT.KEY_MISSING", "APT.KEY_UNUSABLE"}),
    ],
)
def test_a_key_on_the_host_that_does_not_fit_is_told_apart(
    host: AptHost, served: Served, case: str, code: set[str]
) -> None:
    current = served.keyring("legacy")
    keyring = {
        "key-expired": served.keyring("legacy", "expired"),
        "key-missing": None,
        "key-wrong": served.keyring("stranger"),
        "key-truncated": current[: len(current) // 2],
        "key-binary-plus-armoured": current + served.armoured("legacy").encode(),
    }[case]
    put(host, served.at(LEGACY), keyring)
    told, subject, said = the(refused(host))
    assert told in code
    assert subject == f"{served.at(LEGACY)} noble"
    assert ("the host's date: " in said) == (case == "key-expired")


@pytest.fixture(scope="module")
def stranger() -> Iterator[GpgHome]:
    if not shutil.which("gpg"):
        pytest.skip("needs gpg, which makes the keys")
    home = GpgHome()
    home.make("Stranger <stranger@example.org>")
    yield home
    home.close()


def test_of_several_archives_each_is_told_with_its_own_reason(host: AptHost, served: Served, stranger: GpgHome) -> None:
    """Among them one with a detached signature, of which apt's list of what failed knows nothing."""
    Archives(host).add("detached", package("tool"), options=f"[signed-by={SIGNED_BY}]")
    release = host.run("cat /srv/detached/Release").encode()
    signature = stranger.gpg("--armor", "--detach-sign", data=release).decode()
    host.run("cat >/srv/detached/Release.gpg", stdin=signature)
    put(host, served.at(LEGACY), served.keyring("legacy"))
    more = {
        name: f"deb [signed-by={SIGNED_BY}] {served.at(LEGACY, name)} noble main" for name in ("gone", "login-page")
    }
    more["dead"] = f"deb [signed-by={SIGNED_BY}] http://me:secret@127.0.0.1:9/{LEGACY} noble main"
    for name, line in more.items():
        host.run(f"cat >/etc/apt/sources.list.d/{name}.list", stdin=line + "\n")
    # What is sound among them would be refreshed.
    answer = refused(host, execute=False)
    assert {finding["subject"]: finding["code"] for finding in answer["findings"]} == {
        "file:/srv/detached ./": "APT.KEY_MISSING",
        f"{served.at(LEGACY, 'gone')} noble": "APT.NOT_FOUND",
        f"{served.at(LEGACY, 'login-page')} noble": "APT.LOGIN_PAGE",
        f"http://127.0.0.1:9/{LEGACY} noble": "APT.REFRESH_FAILED",
    }
    assert "secret" not in json.dumps(answer)


# Gives the host a language whose one message is what apt says of an unsigned archive; the locale is C's otherwise.
GERMAN = """
import pathlib, shutil, struct
shutil.copytree("/usr/lib/locale/C.utf8", "/usr/lib/locale/de_DE.utf8")
pairs = [("", "Content-Type: text/plain; charset=UTF-8\\n"),
         ("The repository '%s' is not signed.", "Das Depot %s ist nicht signiert.")]
texts = [text.encode() for side in zip(*pairs) for text in side]
table, data = b"", b""
for text in texts:
    table += struct.pack("<2I", len(text), 28 + 16 * len(pairs) + len(data))
    data += text + b"\\0"
header = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
directory = pathlib.Path("/usr/share/locale/de/LC_MESSAGES")
directory.mkdir(parents=True)
for library in pathlib.Path("/usr/lib").glob("*/libapt-pkg.so.*.*.*"):
    version = ".".join(library.name.split(".")[2:4])
    (directory / f"libapt-pkg{version}.mo").write_bytes(header + table + data)
"""


def test_reasons_are_told_apart_on_a_host_of_another_language(host: AptHost, served: Served) -> None:
    request = host.request([WISH], refresh="always", sources=[brought(served, served.at(LEGACY, "index-unsigned"))])
    # AnsibleModule takes the host's locale before anything else.
    driver = 'import locale, runpy; locale.setlocale(locale.LC_ALL, ""); runpy.run_path("/halo/drive.py")'
    try:
        host.python(GERMAN)
        put(host, served.at(LEGACY, "index-unsigned"), served.keyring("legacy"))
        host.run("mkdir -p /srv/lists/partial")
        said = host.run("LC_ALL=de_DE.UTF-8 apt-get update -o Dir::State::lists=/srv/lists 2>&1", check=False)
        assert "ist nicht signiert" in said, "else this shows nothing"
        host.run("rm /etc/apt/sources.list.d/*")
        answer = Answer(json.loads(host.run(f"LC_ALL=de_DE.UTF-8 python3 -c '{driver}'", stdin=request)))
    finally:
        host.run("rm -rf /usr/share/locale/de /usr/lib/locale/de_DE.utf8 /srv/lists")
    assert answer.codes == ["APT.UNSIGNED"]
    assert "is not signed" in answer["msg"]
