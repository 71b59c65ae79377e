"""AMD's archives beside the distribution's, with a real apt: sources that are to come, and what excludes what.

All packages are stand-ins with AMD's and Ubuntu's versions.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.support.apt_archives import Archives, package, wish
from tests.support.apt_host import AptHost
from tests.unit.gpg_home import GpgHome

AMD = "repo.radeon.com"
SIGNED_BY = "/etc/apt/keyrings/vendor.gpg"
SOURCE = f"Types: deb\nURIs: file:/srv/vendor\nSuites: ./\nSigned-By: {SIGNED_BY}\n"


@pytest.fixture
def archives(apt_host: AptHost) -> Archives:
    return Archives(apt_host)


@pytest.fixture(scope="module")
def vendor() -> Iterator[GpgHome]:
    if not shutil.which("gpg"):
        pytest.skip("needs gpg, which makes the keys")
    home = GpgHome()
    home.fingerprint = home.make("Vendor <vendor@example.org>")
    yield home
    home.close()


@pytest.fixture
def signed(apt_host: AptHost, archives: Archives, vendor: GpgHome) -> dict[str, object]:
    """Return a source that the host does not have, of a signed archive, with the key in the request."""
    archives.add("vendor", package("hipcc", "1.1.1.70204-93"), origin=AMD, options="")
    apt_host.run("rm /etc/apt/sources.list.d/vendor.list")
    release = apt_host.run("cat /srv/vendor/Release").encode()
    apt_host.run("cat >/srv/vendor/InRelease", stdin=vendor.gpg("--clearsign", data=release).decode())
    content = vendor.export(vendor.fingerprint, armour=True).decode()
    key = {"path": SIGNED_BY, "fingerprints": [vendor.fingerprint], "content": content}
    return {"file": "vendor.sources", "text": SOURCE, "key": key, "environment": {}}


def state(host: AptHost) -> str:
    return host.run("find /etc/apt /var/lib/apt -printf '%p %s %T@\\n' | sort; ls -A /var/tmp")


def test_a_source_with_its_key_and_pin_is_planned_with_before_it_is_there(apt_host: AptHost, signed: dict) -> None:
    before = state(apt_host)
    pin = {"file": "halo-rocm_source", "packages": ["hipcc*"], "release": f"o={AMD}", "priority": 600}
    answer = apt_host.plan(wish("hipcc", origin=AMD), sources=[signed], pins=[pin], check_mode=True)
    assert answer["msg"] == ""
    assert [(change["name"], change["priority"]) for change in answer["plan"]["changes"]] == [("hipcc-stand-in", 600)]
    assert state(apt_host) == before


def test_a_source_of_the_same_name_is_replaced_and_other_uses_of_the_key_see_the_new_one(
    apt_host: AptHost, signed: dict
) -> None:
    apt_host.run("echo nonsense >/etc/apt/sources.list.d/vendor.sources")
    # As people who followed the vendor's steps have it; the key is not there, and the same archive twice must agree.
    apt_host.run(f"echo 'deb [signed-by={SIGNED_BY}] file:/srv/vendor ./' >/etc/apt/sources.list.d/rocm.list")
    assert apt_host.plan(wish("hipcc")).codes == ["APT.CONFIG_UNREADABLE"]
    answer = apt_host.plan(wish("hipcc"), sources=[signed])
    assert (answer["msg"], answer.kinds()) == ("", {"hipcc-stand-in": "install"})


def test_key_wrong_fingerprint_ends_it_before_apt_runs(apt_host: AptHost, signed: dict) -> None:
    signed["key"]["fingerprints"] = ["A" * 40]
    before = state(apt_host)
    answer = apt_host.plan(wish("hipcc"), sources=[signed], execute=True)
    assert "KEY.WRONG_FINGERPRINT" in answer.codes
    assert not [code for code in answer.codes if code.startswith("APT.")]
    assert state(apt_host) == before


@pytest.mark.parametrize("what", ["InRelease", "Packages", "key"])
def test_index_tampered_is_never_used(apt_host: AptHost, signed: dict, vendor: GpgHome, what: str) -> None:
    if what == "key":
        other = vendor.make(f"Other <{what}@example.org>")
        signed["key"].update(content=vendor.export(other, armour=True).decode(), fingerprints=[other])
    else:
        apt_host.run(
            f"sed -i s/stand-in/stand-im/ /srv/vendor/{what}; grep -q stand-im /srv/vendor/{what} ||"
            f" sed -i 's/^Origin: .*/Origin: Debian/' /srv/vendor/{what}"
        )
    answer = apt_host.plan(wish("hipcc"), sources=[signed], execute=True)
    code = {"InRelease": "APT.SIGNATURE_BAD", "Packages": "APT.INDEX_DIFFERS", "key": "APT.KEY_MISSING"}[what]
    assert answer.codes == [code], answer["msg"]
    assert "/srv/vendor" in answer["findings"][0]["subject"]
    assert "hipcc-stand-in" not in apt_host.installed()


@pytest.fixture
def outranked(apt_host: AptHost, archives: Archives) -> Archives:
    """Ubuntu's rocminfo is installed, AMD's is older by its number."""
    archives.add(
        "ubuntu", package("rocminfo", "5.7.1-3build1"), package("libhsa-runtime64-1", "5.7.1-2"), origin="Ubuntu"
    )
    assert apt_host.plan(wish("rocminfo"), wish("libhsa-runtime64-1"), execute=True)["msg"] == ""
    return archives.add(
        "vendor",
        package("rocminfo", "1.0.0.70204-93~24.04"),
        package("rocm-hip-runtime", "7.2.4", Depends="rocminfo-stand-in (= 1.0.0.70204-93~24.04)"),
        origin=AMD,
    )


def test_distro_package_outranks_until_the_stack_permits_its_replacement(
    apt_host: AptHost, outranked: Archives
) -> None:
    pin = {"file": "halo-rocm_source", "packages": ["roc*"], "release": f"o={AMD}", "priority": 600}
    wishes = [
        wish("rocm-hip-runtime", origin=AMD),
        wish("rocminfo", "1.0.0.70204*", origin=AMD),
        {"name": "libhsa-runtime*", "state": "absent"},
    ]
    answer = apt_host.plan(*wishes, pins=[pin], execute=True)
    assert answer.codes == ["APT.DOWNGRADE_REFUSED"]
    assert apt_host.installed()["rocminfo-stand-in"] == "5.7.1-3build1"

    answer = apt_host.plan(*wishes, pins=[pin], permit_downgrade=["rocminfo*"], execute=True)
    assert answer["msg"] == ""
    assert answer.kinds() == {
        "libhsa-runtime64-1-stand-in": "remove",
        "rocm-hip-runtime-stand-in": "install",
        "rocminfo-stand-in": "downgrade",
    }
    chain = " ; ".join(answer.changes()["rocminfo-stand-in"]["reasons"])
    assert "rocm-hip-runtime-stand-in 7.2.4 Depends rocminfo-stand-in (= 1.0.0.70204-93~24.04)" in chain
    assert "5.7.1-3build1 from Ubuntu ubuntu at priority 500" in chain
    assert "1.0.0.70204-93~24.04 from repo.radeon.com vendor at priority 600" in chain
    again = apt_host.plan(*wishes, pins=[pin], permit_downgrade=["rocminfo*"], execute=True)
    assert (again["changed"], again["msg"]) == (False, "")


def test_channels_mixed_is_refused_and_migrated_in_one_transaction(apt_host: AptHost, archives: Archives) -> None:
    archives.add(
        "vendor", package("rocm-core", "7.2.4"), package("hip-dev", "7.2", Depends="rocm-core-stand-in"), origin=AMD
    )
    assert apt_host.plan(wish("hip-dev"), execute=True)["msg"] == ""
    archives.add("new", package("amdrocm10.0", "10.0.0-4"), origin="AMD ROCm")
    conflict = {"channel": "legacy", "packages": ["rocm-*", "hip-*"], "spare": [], "remedy": "say so"}
    wished = wish("amdrocm10.0", origin="AMD ROCm")

    answer = apt_host.plan(wished, conflicts=[conflict], execute=True)
    assert answer.codes == ["ROCM.CHANNELS_MIXED"]
    assert "hip-dev-stand-in 7.2, rocm-core-stand-in 7.2.4" in answer["findings"][0]["evidence"]
    assert "amdrocm10.0-stand-in" not in apt_host.installed()

    gone = [{"name": glob, "state": "absent"} for glob in conflict["packages"]]
    answer = apt_host.plan(wished, *gone, conflicts=[conflict], execute=True)
    assert answer["msg"] == ""
    assert answer.kinds() == {
        "amdrocm10.0-stand-in": "install",
        "hip-dev-stand-in": "remove",
        "rocm-core-stand-in": "remove",
    }


def test_unversioned_meta_is_refused_with_what_it_would_bring(apt_host: AptHost, archives: Archives) -> None:
    gpus = [package(f"amdrocm10.0-gfx{number}", "10.0.0-4") for number in (906, 1100, 1151)]
    needs = ", ".join(one["Package"] for one in gpus)
    archives.add("new", package("amdrocm", "10.0.0-4", Depends=needs), *gpus, origin="AMD ROCm")
    metas = [{"name": "amdrocm-stand-in", "instead": "amdrocm10.0-gfx1151"}]
    answer = apt_host.plan(wish("amdrocm"), metas=metas, execute=True)
    assert answer.codes == ["ROCM.ALL_GPUS"]
    assert "brings 4 packages" in answer["findings"][0]["evidence"]
    assert answer["findings"][0]["remedy"].startswith("write amdrocm10.0-gfx1151 instead")
    assert "amdrocm-stand-in" not in apt_host.installed()
    assert apt_host.plan(wish("amdrocm10.0-gfx1151"), metas=metas)["msg"] == ""
