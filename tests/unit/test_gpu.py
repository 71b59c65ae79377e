"""The topology that the compute driver shows, as trees below a root."""

from __future__ import annotations

from pathlib import Path

import pytest
from halo import gpu

HALO = """\
cpu_cores_count 0
simd_count 80
mem_banks_count 1
caches_count 62
io_links_count 1
max_waves_per_simd 16
lds_size_in_kb 64
gfx_target_version 110501
vendor_id 4098
device_id 5510
location_id 50176
domain 0
drm_render_minor 128
"""
CPU = "cpu_cores_count 32\nsimd_count 0\ngfx_target_version 0\nvendor_id 0\ndevice_id 0\ndrm_render_minor -1\n"


def topology(root: Path, *nodes: str | bytes, name: str = "ip discovery\n") -> Path:
    """Write nodes 0, 1, ... below root and return it."""
    for number, properties in enumerate(nodes):
        node = root / gpu.TOPOLOGY / str(number)
        node.mkdir(parents=True)
        (node / "properties").write_bytes(properties if isinstance(properties, bytes) else properties.encode())
        (node / "name").write_text(name)
    return root


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (110501, "gfx1151"),
        (110000, "gfx1100"),
        (120001, "gfx1201"),
        (100306, "gfx1036"),
        (100103, "gfx1013"),
        (90402, "gfx942"),
        (90010, "gfx90a"),
        (90012, "gfx90c"),
        (80003, "gfx803"),
    ],
)
def test_target_versions_become_the_compilers_names(version: int, name: str) -> None:
    assert gpu.gfx_name(version) == name


@pytest.mark.parametrize("version", [0, -1, 5, 110599, 119901, 1105010])
def test_a_number_that_is_no_target_version_is_refused(version: int) -> None:
    with pytest.raises(ValueError, match=str(version)):
        gpu.gfx_name(version)


def test_a_halo_shows_one_apu_beside_its_cpu(tmp_path: Path) -> None:
    found, findings = gpu.read(topology(tmp_path, CPU, HALO))
    assert findings == []
    assert [(g.node, g.gfx, g.name, g.apu, g.simd_count, g.device_id, g.render_minor) for g in found] == [
        (1, "gfx1151", "ip discovery", True, 80, 0x1586, 128)
    ]
    assert "gfx1151 exists in APUs only" in found[0].apu_reason


def test_cpu_and_gpu_in_one_node_are_an_apu_whatever_the_target(tmp_path: Path) -> None:
    shared = HALO.replace("cpu_cores_count 0", "cpu_cores_count 24").replace("110501", "90402")
    (found,), _ = gpu.read(topology(tmp_path, shared))
    assert (found.gfx, found.apu, "one node" in found.apu_reason) == ("gfx942", True, True)


def test_a_discrete_gpu_is_no_apu(tmp_path: Path) -> None:
    (found,), _ = gpu.read(topology(tmp_path, CPU, HALO.replace("110501", "110000")))
    assert (found.gfx, found.apu) == ("gfx1100", False)


def test_nodes_come_by_number_not_by_name(tmp_path: Path) -> None:
    nodes = [CPU] + [HALO.replace("minor 128", f"minor {128 + number}") for number in range(11)]
    found, _ = gpu.read(topology(tmp_path, *nodes))
    assert [g.node for g in found] == list(range(1, 12))
    assert [g.render_minor for g in found] == list(range(128, 139))


def test_another_vendors_node_is_not_rocms(tmp_path: Path) -> None:
    other = HALO.replace("vendor_id 4098", "vendor_id 4318")
    assert gpu.read(topology(tmp_path, CPU, other)) == ([], [])


def test_a_host_without_the_driver_has_no_gpu_and_no_finding(tmp_path: Path) -> None:
    assert gpu.read(tmp_path) == ([], [])


@pytest.mark.parametrize(
    ("damage", "evidence"),
    [
        (b"", None),
        (HALO.replace("gfx_target_version 110501\n", "").encode(), "no gfx_target_version"),
        (HALO.replace("110501", "11").encode(), "gfx_target_version 11"),
        (HALO.replace("110501", "eleven").encode(), "line 8"),
        (HALO[:-1].replace("drm_render_minor 128", "drm_render").encode(), "line 13"),
        (b"simd_count 80\n\xff\xfe\x00\n", "ascii"),
        (b"\x00" * 4096, "line 1"),
    ],
)
def test_damage_in_one_node_is_a_finding_and_the_others_stay(
    tmp_path: Path, damage: bytes, evidence: str | None
) -> None:
    found, findings = gpu.read(topology(tmp_path, CPU, damage, HALO))
    assert [g.node for g in found] == [2]
    assert [(f.code, f.severity) for f in findings] == ([("GPU.UNREADABLE", "warning")] if evidence else [])
    for finding in findings:
        assert evidence and evidence in finding.evidence
        assert finding.subject.endswith("nodes/1/properties")


def test_a_node_that_lacks_its_files_or_has_strange_neighbours(tmp_path: Path) -> None:
    root = topology(tmp_path, CPU, HALO)
    (root / gpu.TOPOLOGY / "2").mkdir()
    (root / gpu.TOPOLOGY / "generation_id").write_text("3")
    (root / gpu.TOPOLOGY / "1" / "name").unlink()
    found, findings = gpu.read(root)
    assert [(g.node, g.name) for g in found] == [(1, "")]
    assert [f.subject.rsplit("/", 2)[-2] for f in findings] == ["2"]


def test_a_topology_that_is_no_directory_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / gpu.TOPOLOGY).parent.mkdir(parents=True)
    (tmp_path / gpu.TOPOLOGY).write_text("")
    found, findings = gpu.read(tmp_path)
    assert found == []
    assert [f.code for f in findings] == ["GPU.UNREADABLE"]
