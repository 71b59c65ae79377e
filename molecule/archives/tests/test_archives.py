"""Every way in which AMD's archives go wrong, against one fresh host, which must still be fresh afterwards.

The test archive serves the whole mirror again, with one thing wrong in it, below /broken/. The order matters for the
last tests, which change the host.
"""

from __future__ import annotations

import base64
import json

import pytest

from tests.support import channel, refusals
from tests.support.playbook import ROOT, run
from tests.support.refusals import snapshot

HOST = "ubuntu-24.04-virgin"
MIRROR = "http://archive.halo.test"


@pytest.fixture(autouse=True, scope="module")
def prepared(host):
    """Bring python3-apt, as Ubuntu's server images have it, and an apt that minds dates whatever the machine's does."""
    host.check_output("apt-get update -qq && apt-get install -qq --no-install-recommends python3-apt")
    minding = 'Acquire::Check-Valid-Until "true"; Acquire::Check-Date "true";'
    host.check_output(f"echo '{minding}' >/etc/apt/apt.conf.d/zz-dates")


@pytest.fixture(autouse=True)
def nothing_changes(request, host, prepared):
    """Compare every file of the host before and after, unless the test is about a change."""
    if request.node.get_closest_marker("changes"):
        yield
        return
    before = snapshot(host)
    yield
    assert snapshot(host) == before


def refused(variant, code, *args):
    # The plan comes first in site.yml, too, and is what refuses.
    mirror = f"halo_mirror={MIRROR}/broken/{variant}"
    result = refusals.refused(HOST, "-e", mirror, *args, playbook="playbooks/plan.yml")
    return result, refusals.error(result, HOST, code)


def test_check_mode_shows_source_pin_key_and_the_whole_plan(tmp_path):
    output = tmp_path / "plan.json"
    result = run("site.yml", f"--limit={HOST}", "--check", "--diff", "-e", f"plan_output={output}")
    assert result.rc == 0, result.output[-3000:]
    plan = json.loads(output.read_text(encoding="utf-8"))["hosts"][HOST]["plan"]
    assert {"amdrocm10.0-gfx1151", "clang-18"} <= {change["name"] for change in plan["changes"]}
    for wanted in (
        f"+URIs: {MIRROR}/stable.repo.amd.com/rocm/core/packages/ubuntu2404",
        "+Signed-By: /etc/apt/keyrings/amdrocm.gpg",
        "+Pin: release o=AMD ROCm",
        channel.fingerprint("amdrocm"),
        "install amdrocm10.0-gfx1151 10.0.0-4",
        "install amdrocm-llvm10.0 10.0.0-4",
        "install clang-18 ",
    ):
        assert wanted in result.output, wanted


def test_key_wrong_fingerprint_shows_both_and_apt_is_not_run():
    result, finding = refused("key-wrong", "KEY.WRONG_FINGERPRINT")
    assert channel.fingerprint("amdrocm") in finding["evidence"]
    assert channel.fingerprint("stranger") in finding["evidence"]
    assert "apt_plan" not in result.calls[HOST]


@pytest.mark.parametrize(
    ("variant", "code", "says"),
    [
        ("key-missing", "KEY.SOURCE_FAILED", "404"),
        # The same as with a proxy that answers everything so: the key comes first.
        ("login-page", "KEY.SOURCE_UNREADABLE", "web page"),
        ("key-expired", "KEY.EXPIRED", "expired"),
    ],
)
def test_a_key_that_cannot_be_used(variant, code, says):
    result, finding = refused(variant, code)
    assert says in finding["evidence"]
    assert "apt_plan" not in result.calls[HOST]


@pytest.mark.parametrize(
    ("variant", "code"), [("index-tampered-inrelease", "APT.SIGNATURE_BAD"), ("index-stale", "APT.CLOCK")]
)
def test_index_tampered_or_stale_is_never_used(variant, code):
    result, finding = refused(variant, code)
    assert "stable.repo.amd.com" in finding["subject"] + finding["evidence"]
    for forbidden in ("trusted=yes", "allow-unauthenticated", "AllowInsecure"):
        assert forbidden.lower() not in result.output.lower()


def test_unversioned_meta_is_refused_with_its_size_and_the_name_for_this_gpu():
    result = refusals.refused(HOST, "-e", '{"rocm_runtime_extra_packages": ["amdrocm-core-dev"]}')
    finding = refusals.error(result, HOST, "ROCM.ALL_GPUS")
    assert "amdrocm-core-dev10.0-gfx1151" in finding["remedy"]
    assert "GB" in finding["evidence"]


@pytest.mark.changes
def test_pin_of_the_other_channel_is_what_would_be_repaired_or_a_warning(host):
    pin = "Package: *\\nPin: release o=repo.radeon.com\\nPin-Priority: 600\\n"
    host.check_output(f"printf '{pin}' >/etc/apt/preferences.d/rocm-pin-600")
    result = run("playbooks/plan.yml", f"--limit={HOST}")
    assert result.rc == 0, result.output[-3000:]
    assert "APT.PIN_IDLE" not in result.codes(HOST)
    (would,) = [finding for finding in result.findings(HOST) if finding["code"] == "REPAIR.WOULD"]
    assert "repo.radeon.com" in would["evidence"]
    result = run("playbooks/plan.yml", f"--limit={HOST}", "-e", "apt_repair_enabled=false")
    assert result.rc == 0, result.output[-3000:]
    assert "APT.PIN_IDLE" in result.codes(HOST, "warning")
    host.check_output("rm /etc/apt/preferences.d/rocm-pin-600")


@pytest.mark.changes
def test_channels_mixed_is_refused_with_the_list_of_packages(host):
    key = "/etc/apt/keyrings/rocm.asc"
    fetch = "import sys, urllib.request as u; open(sys.argv[2], 'wb').write(u.urlopen(sys.argv[1]).read())"
    host.check_output(f'python3 -c "{fetch}" {MIRROR}/repo.radeon.com/rocm/rocm.gpg.key {key}')
    source = f"deb [signed-by={key}] {MIRROR}/repo.radeon.com/rocm/apt/7.2.4 noble main"
    host.check_output(f"echo '{source}' >/etc/apt/sources.list.d/rocm.list")
    host.check_output("apt-get update -qq && apt-get install -qq --no-install-recommends rocm-core")
    before = snapshot(host)
    try:
        finding = refusals.error(refusals.refused(HOST), HOST, "ROCM.CHANNELS_MIXED")
        assert "rocm-core 7.2.4.70204-93~24.04" in finding["evidence"]
        assert "rocm_runtime_migrate" in finding["remedy"]
        assert snapshot(host) == before

        # What is wrong there is seen by the audit, too: jammy's suite on noble.
        host.check_output("sed -i 's/ noble / jammy /' /etc/apt/sources.list.d/rocm.list")
        audit = run("playbooks/audit.yml", f"--limit={HOST}")
        assert (audit.rc, audit.changed(HOST)) == (0, 0), audit.output[-3000:]
        wrong = [finding for finding in audit.findings(HOST) if finding["code"] == "SOURCE.WRONG_SUITE"]
        assert [finding["severity"] for finding in wrong] == ["warning"]
        assert "jammy" in wrong[0]["evidence"]
        assert "rocm.list" in wrong[0]["subject"] + wrong[0]["evidence"]
    finally:
        host.check_output(f"apt-get purge -qq rocm-core && rm {key} /etc/apt/sources.list.d/rocm.list")


@pytest.mark.changes
def test_source_twice_and_pin_of_the_other_channel_are_repaired(host):
    """As people have it who followed AMD's steps: a one-line source of their own, and a pin to the other channel."""
    uri = f"{MIRROR}/stable.repo.amd.com/rocm/core/packages/ubuntu2404"
    entry = f"deb [signed-by=/etc/apt/keyrings/mine.gpg] {uri} stable main"
    key = base64.b64encode((ROOT / ".halo/archive/keys/amdrocm/current.gpg").read_bytes()).decode()
    host.check_output(f"echo {key} | base64 -d >/etc/apt/keyrings/mine.gpg")
    host.check_output(f"echo '{entry}' >/etc/apt/sources.list.d/mine.list && apt-get update -qq")
    pin = "Package: *\\nPin: release o=repo.radeon.com\\nPin-Priority: 600\\n"
    host.check_output(f"printf '{pin}' >/etc/apt/preferences.d/rocm-pin-600")

    before = snapshot(host)
    would = run("playbooks/repair.yml", f"--limit={HOST}", "--check", "--diff")
    assert would.rc == 0, would.output[-3000:]
    assert f"-{entry}" in would.output
    assert snapshot(host) == before

    repaired = run("playbooks/repair.yml", f"--limit={HOST}")
    assert repaired.rc == 0, repaired.output[-3000:]
    assert host.check_output("ls /etc/apt/sources.list.d") == "amdrocm-stable.sources\nubuntu.sources"
    assert not host.file("/etc/apt/preferences.d/rocm-pin-600").exists
    kept = host.check_output("find /var/lib/halo/backup -type f -printf '%f\\n' | sort")
    assert kept == "mine.list\nrocm-pin-600"
    assert host.run("apt-get update").rc == 0
    again = run("playbooks/repair.yml", f"--limit={HOST}")
    assert (again.rc, again.changed(HOST)) == (0, 0), again.output[-3000:]
