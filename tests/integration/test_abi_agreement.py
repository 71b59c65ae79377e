"""Every ELF object of the test hosts, judged by the package and by the host's own ld.so."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.images import build as images
from tests.support.apt_host import RELEASES, AptHost

ROOT = Path(__file__).resolve().parents[2]

#: Objects about which ld.so and the package differ, and why. An entry that no longer differs fails the test, too.
EXPLAINED: dict[str, str] = {}

#: Brings plugins, C++, libraries of their own directory, and what is linked with RUNPATH.
PACKAGES = "python3 perl libclang1 git systemd libamdhip64-5 rocminfo"


@pytest.fixture(scope="module", params=RELEASES)
def host(request: pytest.FixtureRequest) -> Iterator[AptHost]:
    """Give a container with some more libraries than a minimal one has."""
    if not shutil.which("podman"):
        pytest.skip("needs podman; `./halo test integration` brings it")
    images.build(request.param)
    with AptHost(request.param, "abi") as host:
        host.run(f"apt-get install -qq --no-install-recommends {PACKAGES} >/dev/null 2>&1")
        oracle = ROOT / "tests/support/abi_oracle.py"
        subprocess.run(["podman", "cp", str(oracle), f"{host.name}:/halo/oracle.py"], check=True)
        yield host


def halo(host: AptHost, *words: str) -> dict[str, Any]:
    command = " ".join(["PYTHONPATH=/halo python3 -B -m halo abi --json", *words, "|| [ $? = 1 ]"])
    answer: dict[str, Any] = json.loads(host.run(command))
    return answer


def errors(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in answer["problems"] if one["severity"] == "error"]


def test_every_object_is_judged_as_ld_so_judges_it(host: AptHost) -> None:
    count, differences = json.loads(host.run("python3 /halo/oracle.py /halo /usr"))
    print(f"{host.release}: {count} objects")
    assert count > 500
    assert {path: rest for path, *rest in differences if path not in EXPLAINED} == {}
    assert EXPLAINED.keys() <= {path for path, *_ in differences}


def test_a_release_has_no_errors_of_its_own(host: AptHost) -> None:
    answer = halo(host, "/usr")
    assert answer["counts"]["objects"] > 500
    # On glibc 2.41 it would be one: Debian 12's HIP runtime wants an executable stack.
    assert errors(answer) == []
    stacks = [one["object"] for one in answer["problems"] if one["code"] == "ABI.EXECUTABLE_STACK"]
    assert [Path(path).name.split(".so")[0] for path in stacks] == (
        ["libamdhip64"] if host.release == "debian-12" else []
    )


@pytest.mark.parametrize("host", ["debian-13"], indirect=True)
def test_an_older_hsa_in_front_is_named_with_the_symbols_it_lacks(host: AptHost) -> None:
    older = "/srv/older"
    with AptHost("debian-12", "abi-older") as other:
        other.run(
            "cd /srv && apt-get download -qq libhsa-runtime64-1 >/dev/null 2>&1 && dpkg -x libhsa*.deb /srv/older"
        )
        pipe = subprocess.run(other.command("tar", "-C", "/srv", "-cf", "-", "older"), capture_output=True, check=True)
    subprocess.run(host.command("tar", "-C", "/srv", "-xf", "-"), input=pipe.stdout, check=True)
    (hip,) = host.run("ls /usr/lib/x86_64-linux-gnu/libamdhip64.so.5.*").split()
    library_path = f"{older}/usr/lib/x86_64-linux-gnu"
    answer = halo(host, hip, "--env", f"LD_LIBRARY_PATH={library_path}")
    missing = [one for one in errors(answer) if one["code"] == "ABI.SYMBOL_MISSING" and one["object"] == hip]
    assert "hsa_amd_memory_async_copy_on_engine@ROCR_1" in missing[0]["symbols"]
    assert f"{library_path}/libhsa-runtime64.so.1 (found by LD_LIBRARY_PATH)" in missing[0]["found"]
    said = host.run(f"LD_LIBRARY_PATH={library_path} ldd -r {hip} 2>&1 || true")
    theirs = {line.split("symbol: ")[1].split(",")[0] for line in said.splitlines() if "undefined symbol" in line}
    assert {name.split("@")[0] for one in missing for name in one["symbols"]} == theirs


def test_dlopen_refuses_what_is_said_to_be_refused(host: AptHost) -> None:
    host.run("apt-get install -qq --no-install-recommends gcc libc6-dev >/dev/null 2>&1")
    host.run("printf 'int x(void) { return 0; }' | gcc -shared -fPIC -Wl,-z,execstack -o /srv/libstack.so -x c -")
    answer = halo(host, "/srv/libstack.so")
    (one,) = answer["problems"]
    loads = host.run("python3 -c 'import ctypes; ctypes.CDLL(\"/srv/libstack.so\")' 2>&1 && echo loaded || true")
    assert one["code"] == "ABI.EXECUTABLE_STACK"
    assert (one["severity"] == "warning") == ("loaded" in loads)
