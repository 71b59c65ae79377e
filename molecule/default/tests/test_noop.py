"""A run that has nothing to do changes nothing and costs few round trips."""

from __future__ import annotations

from tests.support.channel import release
from tests.support.playbook import run


def test_second_provisioning_changes_nothing_with_at_most_20_module_calls(host):
    name = release(host)
    result = run("playbooks/provision.yml", f"--limit={name}")
    assert (result.rc, result.changed(name)) == (0, 0), result.output[-3000:]
    assert 0 < len(result.calls) <= 20, result.calls


def test_proofs_are_not_repeated_while_their_inputs_are_unchanged(host):
    name = release(host)
    result = run("playbooks/verify.yml", f"--limit={name}")
    assert result.rc == 0, result.output[-3000:]
    passed = [f for f in result.findings(name) if f["code"] == "PROOF.PASSED"]
    assert passed
    assert all("unchanged since" in f["evidence"] for f in passed), passed
    # No GPU here: that is said, and it is no error unless the inventory requires one.
    assert "GPU.ABSENT" in result.codes(name, "warning")
    required = run("playbooks/verify.yml", f"--limit={name}", "-e", "host_verify_require_gpu=true")
    assert required.rc != 0
    assert "GPU.ABSENT" in required.codes(name, "error")
