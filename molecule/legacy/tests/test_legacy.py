"""ROCm from repo.radeon.com: key, source, pin in force, versions, prefix; of Ubuntu's own ROCm nothing is left."""

from __future__ import annotations

import pytest

from tests.support import channel

PACKAGES = {
    "rocm-core": "7.2.4.70204-93~",
    "rocm-hip-runtime-dev": "7.2.4.70204-93~",
    "rocminfo": "1.0.0.70204-93~",
    "hipcc": "1.1.1.70204-93~",
    "rocm-cmake": "0.14.0.70204-93~",
    "rocm-device-libs": "1.0.0.70204-93~",
}


@pytest.fixture
def release(host):
    return channel.release(host).removeprefix("ubuntu-")


def test_keyring_holds_the_stacks_key_alone(host):
    channel.assert_keyring(host, "/etc/apt/keyrings/rocm.gpg", "legacy")


def test_source_is_the_releases_and_trusts_that_key_alone(host, release):
    source = host.file("/etc/apt/sources.list.d/rocm.sources").content_string
    codename = {"22.04": "jammy", "24.04": "noble"}[release]
    assert source.count(f"Suites: {codename}\n") == source.count("Signed-By: /etc/apt/keyrings/rocm.gpg\n") == 2
    assert "trusted" not in source.lower()
    update = host.run("apt-get update")
    assert update.rc == 0
    assert "W:" not in update.stderr, update.stderr


def test_distro_package_outranks_and_distro_hipcc_outranks_are_solved_by_explicit_replacement(host, release):
    """Ubuntu's rocminfo and hipcc, which prepare.yml installed, have higher versions than AMD's."""
    for name, version in PACKAGES.items():
        policy = channel.pinned(host, name)
        assert policy["installed"] == policy["candidate"] == f"{version}{release}"
        assert policy["priority"] == 995, "the pin to what is installed is in force"
        assert any("repo.radeon.com" in source for source in policy["sources"]), policy


def test_pin_prefers_the_channel_for_its_own_packages_and_for_no_other(host):
    channel.assert_pin_spares_others(host, "rocm-openmp-sdk", "rocblas")


def test_no_rocm_of_another_origin_is_left(host):
    # Among them Ubuntu's libhsa-runtime64-1, which its rocminfo had brought.
    assert not channel.installed(host, "libhsa-runtime64*", "libamdhip64*", "libamd-comgr*", "rocm-device-libs-1*")
    assert not channel.installed(host, "amdrocm*")
    mine = channel.installed(host, "rocm*", "hip*", "hsa*", "comgr*")
    assert set(PACKAGES) <= set(mine)
    assert all("70204" in version for version in mine.values()), mine
    assert not host.file("/usr/bin/rocminfo").exists
    assert not host.file("/usr/bin/hipcc").exists


def test_prefix_is_the_releases_and_the_link_leads_there(host):
    assert host.check_output("readlink -f /opt/rocm") == "/opt/rocm-7.2.4"
    assert host.file("/opt/rocm-7.2.4/.info/version").content_string.startswith("7.2.4")
    assert "ROCk module is NOT loaded" in host.run("/opt/rocm/bin/rocminfo").stdout


def test_a_plain_upgrade_leaves_it_alone(host):
    simulated = host.check_output("apt-get -s -o Debug::NoLocking=1 upgrade")
    assert not [name for name in PACKAGES if f"Inst {name} " in simulated], simulated
