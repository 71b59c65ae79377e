"""Every kind of bad input against one fresh host, which must still be fresh afterwards.

The order matters for the last tests alone, which change the host.
"""

from __future__ import annotations

import pytest

from tests.support import refusals
from tests.support.playbook import ROOT, run
from tests.support.refusals import snapshot

HOST = "debian-13-virgin"


@pytest.fixture(autouse=True)
def nothing_changes(request, host):
    """Compare every file of the host before and after, unless the test is about a change."""
    if request.node.get_closest_marker("changes"):
        yield
        return
    before = snapshot(host)
    yield
    assert snapshot(host) == before


def refused(*args, playbook="site.yml"):
    return refusals.refused(HOST, *args, playbook=playbook)


def error(result, code):
    return refusals.error(result, HOST, code)


def test_check_mode_without_python3_apt_is_a_finding():
    finding = error(refused("--check", "--diff"), "APT.PYTHON_ABSENT")
    assert "python3-apt" in finding["remedy"]


def test_a_plan_alone_does_not_install_python3_apt():
    error(refused(playbook="playbooks/plan.yml"), "APT.PYTHON_ABSENT")


def test_a_machine_that_is_no_halo_is_refused_before_anything_else():
    result = refused("-e", "halo_allow_any_host=false")
    finding = error(result, "HOST.NOT_HALO")
    assert "halo_allow_any_host=true" in finding["remedy"]
    assert "APT.PYTHON_ABSENT" not in result.codes(HOST), "nothing after it ran"


def test_unknown_stack_names_those_that_exist():
    finding = error(refused("-e", "halo_stack=distor"), "STACK.UNKNOWN")
    assert "distro" in finding["evidence"] + finding["remedy"]


def test_stack_that_breaks_its_schema_names_file_path_and_expectation(tmp_path):
    good = (ROOT / "stacks/distro.yml").read_text(encoding="utf-8")
    (tmp_path / "schema.json").write_text((ROOT / "stacks/schema.json").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "broken.yml").write_text(
        good.replace("name: distro", "name: broken", 1).replace("channel: distro", "channel: floppy", 1),
        encoding="utf-8",
    )
    finding = error(refused("-e", f"stack_dir={tmp_path}", "-e", "halo_stack=broken"), "STACK.INVALID")
    assert "broken.yml" in finding["subject"] + finding["evidence"]
    assert "channel" in finding["evidence"]
    assert "amdrocm" in finding["evidence"], "what was expected"


def test_gfx_that_the_stack_lacks():
    finding = error(refused("-e", "halo_gfx=gfx9999"), "STACK.GFX_UNSUPPORTED")
    assert "gfx1151" in finding["evidence"] + finding["remedy"], "what it knows"


@pytest.mark.changes
def test_check_mode_with_python3_apt_ends_with_the_plan(host):
    host.check_output("apt-get update -qq && apt-get install -qq --no-install-recommends python3-apt")
    before = snapshot(host)
    result = run("site.yml", f"--limit={HOST}", "--check", "--diff")
    assert result.rc == 0, result.output[-3000:]
    for wanted in ("hipcc", "clang-17", "libc6-dev"):
        assert wanted in result.output
    assert snapshot(host) == before
    assert not host.package("hipcc").is_installed


@pytest.mark.changes
def test_archive_that_does_not_answer(host):
    host.check_output("rm -rf /var/lib/apt/lists && mkdir -p /var/lib/apt/lists/partial && cp -a /etc/apt /root/apt")
    try:
        host.check_output(
            "rm -f /etc/apt/sources.list.d/*; echo 'deb http://127.0.0.1:9/debian trixie main' > /etc/apt/sources.list"
        )
        before = snapshot(host)
        finding = error(refused(), "APT.REFRESH_FAILED")
        assert "127.0.0.1:9" in finding["subject"] + finding["evidence"]
        assert snapshot(host) == before
    finally:
        host.check_output("rm -rf /etc/apt && mv /root/apt /etc/apt")


@pytest.mark.changes
def test_no_space_is_said_before_anything_is_downloaded(host):
    # A container's /dev/shm is a file system of its own, and too small for ROCm.
    host.check_output("apt-get update -qq && mv /var/cache/apt/archives /var/cache/apt/kept")
    host.check_output("mkdir -p /dev/shm/archives/partial && ln -s /dev/shm/archives /var/cache/apt/archives")
    try:
        finding = error(refused(), "APT.NO_SPACE")
        assert "/var/cache/apt/archives" in finding["subject"] + finding["evidence"]
        assert host.check_output("ls /dev/shm/archives/*.deb 2>/dev/null | wc -l") == "0"
        assert not host.package("hipcc").is_installed
    finally:
        host.check_output(
            "rm -rf /var/cache/apt/archives /dev/shm/archives && mv /var/cache/apt/kept /var/cache/apt/archives"
        )


@pytest.mark.changes
def test_one_tag_provisions_one_role_on_a_host_without_python3_apt(host):
    host.check_output("apt-get purge -qq --autoremove python3-apt")
    assert not host.package("python3-apt").is_installed
    result = run("site.yml", f"--limit={HOST}", "--tags=toolchain_pin")
    assert result.rc == 0, result.output[-3000:]
    assert host.package("clang-17").is_installed
    assert not host.package("hipcc").is_installed, "rocm_runtime was not asked for"
    assert result.output.count("- install clang-17 ") == 1, "the plan is shown once"
    assert host.file("/opt/halo/toolchain/libc++-17").is_symlink
