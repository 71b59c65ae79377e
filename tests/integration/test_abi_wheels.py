"""Real wheels built for ROCm, on a test host without ROCm: each has the verdict that is known of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.apt_host import AptHost

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT / "tests/data/abi/wheels.txt"
TAGS = ["2_39", "2_35", "2_34", "2_31", "2_28", "2_27", "2_17"]

#: glibc 2.36 and GCC 12; what these lack, Debian 13 has.
RELEASE = "debian-12"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a directory with the unpacked wheels, each below its project's name."""
    down, out = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("unpacked")
    platforms = [f"--platform=manylinux_{tag}_x86_64" for tag in TAGS] + ["--platform=manylinux2014_x86_64"]
    wanted = ["--python-version=3.12", "--abi=cp312", "--abi=abi3", "--abi=none", *platforms]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += wanted
    command += ["--require-hashes", f"--requirement={PINS}", f"--dest={down}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for wheel in down.glob("*.whl"):
        site = out / wheel.name.split("-")[0] / "lib/python3.12/site-packages"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    return out


@pytest.fixture(scope="module")
def host(wheels: Path) -> Iterator[AptHost]:
    """Give a container that has them in /srv."""
    if not shutil.which("podman"):
        pytest.skip("needs podman; `./halo test integration` brings it")
    with AptHost(RELEASE, "abi-wheels") as host:
        host.run("apt-get install -qq --no-install-recommends libstdc++6 >/dev/null 2>&1")
        subprocess.run(["podman", "cp", f"{wheels}/.", f"{host.name}:/srv"], check=True)
        yield host


def errors(host: AptHost, project: str) -> dict[tuple[str, str], set[str]]:
    """Return code and what is needed, to the names of the objects."""
    command = f"PYTHONPATH=/halo python3 -B -m halo abi --json /srv/{project} || [ $? = 1 ]"
    answer: dict[str, Any] = json.loads(host.run(command))
    assert answer["counts"]["objects"]
    found: dict[tuple[str, str], set[str]] = {}
    for one in answer["problems"]:
        if one["severity"] == "error":
            found.setdefault((one["code"], one["needed"].split(",")[0]), set()).add(Path(one["object"]).name)
    return found


def test_one_that_needs_nothing_passes(host: AptHost) -> None:
    assert errors(host, "rocm_bindings_hip") == {}


def test_a_missing_runtime_is_one_cause(host: AptHost) -> None:
    assert errors(host, "gafime_rocm") == {("ABI.LIBRARY_MISSING", "libamdhip64.so.7"): {"libgafime_rocm.so"}}
    assert {code for code, _ in errors(host, "jax_rocm7_plugin")} == {"ABI.LIBRARY_MISSING"}


def test_modules_that_use_hip_without_naming_it(host: AptHost) -> None:
    found = errors(host, "jax_rocm60_plugin")
    underlinked = {name for (code, _), names in found.items() if code == "ABI.UNDERLINKED" for name in names}
    assert underlinked == {"_hybrid.so", "_prng.so", "_rnn.so", "_triton.so"}


def test_a_wheel_for_a_newer_glibc(host: AptHost) -> None:
    found = errors(host, "mlrs_rocm")
    assert {code for code, _ in found} == {"ABI.NODE_MISSING", "ABI.UNDERLINKED"}
    assert ("ABI.NODE_MISSING", "GLIBC_2.39 (glibc 2.39)") in found


def test_a_wheel_that_is_bound_to_another_distribution(host: AptHost) -> None:
    # ldd -r of glibc 2.36 dies of SIGSEGV on its libmori_pybinds.so.
    found = errors(host, "amd_mori")
    assert {code for code, _ in found} == {"ABI.LIBRARY_MISSING", "ABI.NODE_MISSING"}
    nodes = {needed.split(" ")[0] for code, needed in found if code == "ABI.NODE_MISSING"}
    assert {"GLIBC_2.38", "GLIBCXX_3.4.32"} <= nodes
    assert ("ABI.LIBRARY_MISSING", "libhsa-runtime64.so.1") in found


def test_the_right_runtime_makes_it_whole(host: AptHost) -> None:
    host.run("apt-get install -qq --no-install-recommends gcc libc6-dev python3 >/dev/null 2>&1")
    # A stand-in with all functions that the wheel takes, at their nodes.
    script = r"""
import json, pathlib, subprocess, sys
sys.path[:0] = ["/halo"]
from halo.abi import elf, symbols
read = elf.read(sys.argv[1])
names = symbols.Tables(read, defined=False).needs(symbols.Wanted()).noded["libamdhip64.so.7"]
nodes = {}
for name in names:
    function, _, node = name.decode().partition("@")
    nodes.setdefault(node, []).append(function)
out = pathlib.Path("/opt/rocm/lib")
out.mkdir(parents=True)
source = "".join(f"int {name}(void) {{ return 0; }}\n" for names in nodes.values() for name in names)
(out / "map").write_text("".join(f"{node} {{ {'; '.join(names)}; }};\n" for node, names in nodes.items()))
subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-Wl,-soname,libamdhip64.so.7", f"-Wl,--version-script={out}/map",
                "-o", str(out / "libamdhip64.so.7"), "-x", "c", "-"], input=source.encode(), check=True)
"""
    path = host.run("find /srv/gafime_rocm -name libgafime_rocm.so").strip()
    host.python(script, path)
    assert errors(host, "gafime_rocm") == {}
    assert "loaded" in host.run(f"python3 -c 'import ctypes; ctypes.CDLL(\"{path}\")' && echo loaded")
