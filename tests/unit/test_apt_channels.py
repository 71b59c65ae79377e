"""What of another channel may be installed, and packages that bring the code for every GPU."""

from __future__ import annotations

import pytest
from ansible.module_utils.halo.apt.channels import Conflict, Meta, for_all_gpus, mixed_channels
from ansible.module_utils.halo.apt.model import Change
from ansible.module_utils.halo.apt.wishes import join, parse

LEGACY = Conflict(
    "legacy", ("rocm-*", "rocminfo", "hip-*"), "-e rocm_runtime_migrate=true", spare=("rocminfo", "rocm-cmake")
)


def test_channels_mixed_lists_every_package_with_its_version() -> None:
    installed = {"rocm-core": "7.2.4.70204-93~24.04", "hip-dev": "7.2.5", "bash": "5.2"}
    (finding,) = mixed_channels(installed, set(), [LEGACY])
    assert (finding.code, finding.severity, finding.subject) == ("ROCM.CHANNELS_MIXED", "error", "channel legacy")
    assert finding.evidence == "2 installed: hip-dev 7.2.5, rocm-core 7.2.4.70204-93~24.04"
    assert "rocm_runtime_migrate=true" in finding.remedy


def test_channels_mixed_is_over_once_its_packages_are_wished_absent() -> None:
    installed = {"rocm-core": "7.2.4", "hip-dev": "7.2.5"}
    assert mixed_channels(installed, {"rocm-core", "hip-dev"}, [LEGACY]) == []
    (finding,) = mixed_channels(installed, {"rocm-core"}, [LEGACY])
    assert finding.evidence == "1 installed: hip-dev 7.2.5", "what stays is still in the way"


def test_what_the_distribution_has_under_the_same_name_proves_nothing() -> None:
    assert mixed_channels({"rocminfo": "5.7.1-3build1", "rocm-cmake": "6.0.0-1"}, set(), [LEGACY]) == []


def changes(*items: tuple[str, int, str]) -> list[Change]:
    return [
        Change(name=name, arch="amd64", kind="install", new="10.0.0-4", size=size, reasons=(cause,))
        for name, size, cause in items
    ]


@pytest.mark.parametrize("installed", [False, True])
def test_unversioned_meta_is_refused_with_its_size_and_the_name_to_take(installed: bool) -> None:
    wishes, _ = parse(
        [{"name": "amdrocm-core-dev", "role": "rocm_runtime"}, {"name": "clang-18", "role": "toolchain_pin"}]
    )
    goals = join(wishes)[0].install
    meta, other = goals["amdrocm-core-dev"].text(), goals["clang-18"].text()
    brought = changes(("amdrocm-core-dev", 1_000, meta), ("amdrocm-blas10.0-gfx906", 4_000_000_000, meta))
    made = ([] if installed else brought) + changes(("clang-18", 7_000_000, other))
    findings = for_all_gpus(
        made, goals, [Meta("amdrocm-core-dev", "amdrocm-core-dev10.0-gfx1151"), Meta("amdrocm", "x")], 4_007_001_000
    )
    if installed:
        assert findings == [], "nothing is left to be refused"
        return
    (finding,) = findings
    assert (finding.code, finding.severity, finding.subject) == ("ROCM.ALL_GPUS", "error", "amdrocm-core-dev")
    assert "2 packages" in finding.evidence
    assert "4 GB of the 4.01 GB to download" in finding.evidence
    assert finding.remedy.startswith("write amdrocm-core-dev10.0-gfx1151 instead")
