"""ROCm from stable.repo.amd.com: key, source, pin in force, versions, prefix; of the older channel nothing is left."""

from __future__ import annotations

import pytest

from tests.support import channel

WISHED = ("amdrocm10.0-gfx1151", "amdrocm-core-dev10.0-gfx1151")


@pytest.fixture
def release(host):
    return channel.release(host).removeprefix("ubuntu-")


def test_keyring_holds_the_stacks_key_alone(host):
    """Case key-binary-plus-armoured: it is served as a binary key with an armoured copy behind it."""
    channel.assert_keyring(host, "/etc/apt/keyrings/amdrocm.gpg", "amdrocm")
    assert b"BEGIN PGP" not in host.file("/etc/apt/keyrings/amdrocm.gpg").content


def test_source_is_the_releases_and_trusts_that_key_alone(host, release):
    source = host.file("/etc/apt/sources.list.d/amdrocm-stable.sources").content_string
    assert f"/rocm/core/packages/ubuntu{release.replace('.', '')}\n" in source
    assert "Suites: stable\n" in source
    assert "Signed-By: /etc/apt/keyrings/amdrocm.gpg\n" in source
    assert "trusted" not in source.lower()
    assert host.run("apt-get update").rc == 0


def test_packages_are_the_stacks_and_the_pin_is_in_force(host):
    for name in WISHED:
        policy = channel.pinned(host, name)
        assert policy["installed"] == policy["candidate"] == "10.0.0-4"
        assert policy["priority"] == 995
        assert any("/stable.repo.amd.com/" in source for source in policy["sources"]), policy


def test_pin_of_the_other_channel_is_not_what_decides(host):
    """Case pin-of-the-other-channel: the role's pin names the channel's Origin, and AMD's packages alone."""
    pin = host.file("/etc/apt/preferences.d/halo-rocm_source.pref").content_string
    assert "Package: amdrocm*\nPin: release o=AMD ROCm\n" in pin
    channel.assert_pin_spares_others(host, "amdrocm-opencl10.0")


def test_only_the_hosts_own_gpu_is_there(host):
    """Case unversioned-meta: nothing pulled in the packages for every GPU."""
    for_a_gpu = [name for name in channel.installed(host, "amdrocm*") if "-gfx" in name]
    assert for_a_gpu
    assert all(name.endswith("-gfx1151") for name in for_a_gpu), for_a_gpu


def test_channels_mixed_was_migrated_and_no_rocm_of_another_origin_is_left(host):
    # On 24.04 prepare.yml had installed rocm-core and rocminfo of the older channel.
    assert not channel.installed(
        host, "rocm-*", "rocminfo", "hip*", "hsa-*", "comgr", "libhsa-runtime64*", "rocprofiler-*"
    )
    assert not host.file("/opt/rocm-7.2.4/bin").exists
    # Nobody would keep the key of its source.
    assert not host.file("/etc/apt/sources.list.d/rocm.list").exists
    assert not host.file("/etc/apt/preferences.d/rocm-pin-600").exists


def test_prefix_is_the_releases(host):
    assert host.file("/opt/rocm/core-10.0/.info/version").content_string.startswith("10.0.0")
    assert "ROCk module is NOT loaded" in host.run("/opt/rocm/core-10.0/bin/rocminfo").stdout
    assert not host.file("/usr/bin/hipcc").exists


def test_a_plain_upgrade_leaves_it_alone(host):
    simulated = host.check_output("apt-get -s -o Debug::NoLocking=1 upgrade")
    assert "Inst amdrocm" not in simulated
