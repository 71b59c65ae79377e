"""Which archives a pin means; the archive here is a stand-in for what the audit reads of a Release file."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible.module_utils.halo.audit.pins import meets

AMD = SimpleNamespace(
    origin="AMD ROCm",
    label="AMD ROCm",
    archive="stable",
    codename="stable",
    component="main",
    version="",
    site="stable.repo.example",
)


@pytest.mark.parametrize(
    "pin",
    [
        "release o=AMD ROCm",
        'release o="AMD ROCm", a=stable',
        "release n=stab*",
        "origin stable.repo.example",
        'origin "stable.repo.example"',
        # What is not understood is taken for met, so that nothing is called idle that may not be.
        "release o=/^AMD/",
        "release stable",
        "version 1.*",
    ],
)
def test_pins_that_mean_the_archive(pin: str) -> None:
    assert meets(pin, AMD)


@pytest.mark.parametrize(
    "pin",
    [
        "release o=repo.radeon.com",
        "release o=AMD ROCm,a=jammy",
        "release n=noble",
        "release c=universe",
        "origin repo.example",
    ],
)
def test_every_part_of_a_pin_must_match(pin: str) -> None:
    assert not meets(pin, AMD)
