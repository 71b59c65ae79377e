"""The command halo, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from halo import __version__, gpu
from halo.findings import CATALOGUE

ROOT = Path(__file__).parents[2]


def halo(*arguments: str, cwd: Path | None = None) -> tuple[int, str, str]:
    """Return exit status, stdout and stderr of `python -m halo`."""
    done = subprocess.run(
        [sys.executable, "-m", "halo", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT / "module_utils"), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_version() -> None:
    assert halo("--version") == (0, f"halo {__version__}\n", "")


@pytest.mark.parametrize(
    "arguments", [(), ("bogus",), ("stack",), ("stack", "a", "b"), ("gpu", "--roots"), ("stacks", "x")]
)
def test_what_cannot_be_understood_is_status_2(arguments: tuple[str, ...]) -> None:
    status, out, err = halo(*arguments)
    assert (status, out) == (2, "")
    assert "usage: halo" in err


def test_stacks_lists_each_with_its_releases() -> None:
    status, out, _ = halo("stacks")
    assert status == 0
    assert "distro  distro  " in out
    assert "    Debian 13: ROCm 5.7.1\n" in out
    assert "    Ubuntu 26.04: ROCm 7.1.1  (not verified)\n" in out


def test_stack_by_name_and_by_file() -> None:
    by_name = halo("stack", "distro")
    assert by_name[0] == 0
    assert "Debian 13: ROCm 5.7.1 from Debian, clang++-17" in by_name[1]
    assert "not verified: " in by_name[1]
    assert halo("stack", "distro.yml", cwd=ROOT / "stacks") == by_name
    assert halo("stack", str(ROOT / "stacks/distro.yml")) == by_name


def test_an_unknown_stack_is_status_2_and_says_what_was_meant() -> None:
    status, out, err = halo("stack", "distr")
    assert (status, out) == (2, "")
    assert "did you mean 'distro'" in err


def test_a_wrong_stack_is_status_1_with_its_findings(tmp_path: Path) -> None:
    path = tmp_path / "distro.yml"
    path.write_text((ROOT / "stacks/distro.yml").read_text().replace("channel: distro", "channel: ppa"))
    status, out, err = halo("stack", str(path))
    assert (status, out) == (1, "")
    assert f"STACK.INVALID {path}:7: channel: it is 'ppa'" in err
    status, out, err = halo("stack", str(tmp_path / "none.yml"))
    assert (status, out) == (1, "")
    assert "No such file" in err


def node(root: Path, number: int, text: str) -> None:
    directory = root / gpu.TOPOLOGY / str(number)
    directory.mkdir(parents=True)
    (directory / "properties").write_text(text)


def test_gpu_below_a_root(tmp_path: Path) -> None:
    node(tmp_path, 0, "simd_count 0\n")
    node(tmp_path, 1, "simd_count 80\ngfx_target_version 110501\nvendor_id 4098\ndrm_render_minor 128\n")
    status, out, err = halo("gpu", "--root", str(tmp_path))
    assert (status, err) == (0, "")
    assert out.startswith("gfx1151  APU (gfx1151 exists in APUs only)  node 1  renderD128")
    status, out, _ = halo("gpu", "--root", str(tmp_path), "--json")
    assert [found["gfx"] for found in json.loads(out)["gpus"]] == ["gfx1151"]


def test_gpu_without_one_is_status_1_and_still_json(tmp_path: Path) -> None:
    status, out, err = halo("gpu", "--root", str(tmp_path), "--json")
    assert status == 1
    assert json.loads(out) == {"gpus": []}
    assert "amdgpu" in err
    node(tmp_path, 1, "nonsense\n")
    status, _, err = halo("gpu", "--root", str(tmp_path))
    assert status == 1
    assert "GPU.UNREADABLE" in err


def test_gpu_below_what_is_no_directory(tmp_path: Path) -> None:
    status, out, err = halo("gpu", "--root", str(tmp_path / "absent"))
    assert (status, out) == (2, "")
    assert "no directory" in err


@pytest.mark.parametrize("code", ["APT.LOCKED", "apt.locked"])
def test_finding_says_meaning_severity_and_what_to_do(code: str) -> None:
    status, out, _ = halo("finding", code)
    assert status == 0
    first, severity, todo = out.splitlines()
    assert first == f"APT.LOCKED: {CATALOGUE['APT.LOCKED']}"
    assert severity == "severity: error"
    assert todo.startswith("what to do: ")


def test_finding_without_a_code_lists_them_all() -> None:
    status, out, _ = halo("finding")
    assert status == 0
    assert [line.split(":")[0] for line in out.splitlines()] == list(CATALOGUE)


def test_an_unknown_finding() -> None:
    status, out, err = halo("finding", "APT.LOCKD")
    assert (status, out) == (2, "")
    assert "did you mean 'APT.LOCKED'" in err


def test_a_reader_that_stops_early_is_no_error() -> None:
    command = f"{sys.executable} -m halo finding | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["/bin/bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "module_utils"), "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stderr) == (0, "")
