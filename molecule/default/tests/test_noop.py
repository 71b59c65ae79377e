"""A run that has nothing to do changes nothing and costs few round trips. Each run is made once, on all hosts."""

from __future__ import annotations

import re

import pytest

from tests.support.channel import release
from tests.support.playbook import run


@pytest.fixture(scope="session")
def provisioned_again():
    return run("playbooks/provision.yml", "--limit=fresh")


@pytest.fixture(scope="session")
def verified():
    return run("playbooks/verify.yml", "--limit=fresh")


@pytest.fixture(scope="session")
def verified_with_a_gpu_required():
    return run("playbooks/verify.yml", "--limit=fresh", "-e", "host_verify_require_gpu=true")


def test_second_provisioning_changes_nothing_with_at_most_20_module_calls(host, provisioned_again):
    name = release(host)
    assert provisioned_again.rc == 0, provisioned_again.output[-3000:]
    assert provisioned_again.changed(name) == 0, provisioned_again.output[-3000:]
    calls = provisioned_again.calls[name]
    assert 0 < len(calls) <= 20, calls


def test_proofs_are_not_repeated_while_their_inputs_are_unchanged(host, verified):
    assert verified.rc == 0, verified.output[-3000:]
    passed = [f for f in verified.findings(release(host)) if f["code"] == "PROOF.PASSED"]
    assert passed
    assert all("unchanged since" in f["evidence"] for f in passed), passed


def test_every_object_of_what_was_installed_loads(host, verified):
    (checked,) = [f for f in verified.findings(release(host)) if f["code"] == "ABI.CHECKED"]
    objects, errors = re.match(r"(\d+) objects .* (\d+) errors,", checked["evidence"]).groups()
    assert (int(objects) > 3, int(errors)) == (True, 0), checked


def test_a_missing_gpu_is_said_and_is_an_error_where_one_is_required(host, verified, verified_with_a_gpu_required):
    assert "GPU.ABSENT" in verified.codes(release(host), "warning")
    assert verified_with_a_gpu_required.rc != 0
    assert "GPU.ABSENT" in verified_with_a_gpu_required.codes(release(host), "error")
