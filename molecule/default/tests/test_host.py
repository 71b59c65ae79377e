"""What a provisioned host must be like, asked of the host's own tools and not of the project's."""

from __future__ import annotations

import re

import pytest

from tests.support import channel

# llvm: the tools that take a HIP program apart; libc: of the release, and of its look-alike where that is another.
EXPECTED = {
    "debian-12": {
        "gfx": "gfx1030",
        "clang": "15",
        "llvm": "15",
        "rocm": {"hipcc": "5.2.3", "rocminfo": "5.2.3"},
        "prefix": "/usr",
        "libc": ("2.36",),
        "brought": ("libhsa-runtime64*", "libllvm*", "libamd-comgr*"),
    },
    "debian-13": {
        "gfx": "gfx1151",
        "clang": "17",
        "llvm": "17",
        "rocm": {"hipcc": "5.7.1", "rocminfo": "6.1.2"},
        "prefix": "/usr",
        "libc": ("2.41",),
        "brought": ("libhsa-runtime64*", "libllvm*", "libamd-comgr*"),
    },
    "ubuntu-22.04": {
        "gfx": "gfx1151",
        "clang": "15",
        "llvm": "19",
        "rocm": {"hipcc": "1.1.1.70204", "rocminfo": "1.0.0.70204", "rocm-core": "7.2.4"},
        "prefix": "/opt/rocm-7.2.4",
        "libc": ("2.35", "2.36"),
        "brought": ("hsa-rocr", "comgr", "libllvm*"),
    },
    "ubuntu-24.04": {
        "gfx": "gfx1151",
        "clang": "18",
        "llvm": "17",
        "rocm": {"amdrocm10.0-gfx1151": "10.0.0", "amdrocm-core-dev10.0-gfx1151": "10.0.0"},
        "prefix": "/opt/rocm/core-10.0",
        "libc": ("2.39", "2.41"),
        "brought": ("amdrocm-runtime10.0", "amdrocm-llvm10.0", "libllvm*"),
    },
}

SAXPY = r"""
#include <hip/hip_runtime.h>
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
int main() { saxpy<<<1, 64>>>(64, 2.0f, nullptr, nullptr); return 0; }
"""


@pytest.fixture
def expected(host):
    """Return what this release's stack promises."""
    return EXPECTED[channel.release(host)]


def test_rocm_packages_have_the_stacks_versions(host, expected):
    for name, version in expected["rocm"].items():
        package = host.package(name)
        assert package.is_installed
        assert package.version.startswith(version), f"{name} is {package.version}"


def test_rocminfo_runs_and_says_that_there_is_no_gpu(host, expected):
    result = host.run(f"{expected['prefix']}/bin/rocminfo")
    assert "ROCk module is NOT loaded" in result.stdout + result.stderr


def test_hip_program_holds_a_code_object_for_the_hosts_gfx(host, expected):
    clang = expected["llvm"]
    host.check_output(f"mkdir -p /tmp/saxpy && cat > /tmp/saxpy/saxpy.hip <<'END'\n{SAXPY}\nEND")
    host.check_output(
        f"{expected['prefix']}/bin/hipcc --offload-arch={expected['gfx']} -o /tmp/saxpy/saxpy /tmp/saxpy/saxpy.hip"
    )
    host.check_output(
        f"llvm-objcopy-{clang} --dump-section=.hip_fatbin=/tmp/saxpy/fatbin /tmp/saxpy/saxpy /dev/null"
        if host.run(f"command -v llvm-objcopy-{clang}").rc == 0
        else "objcopy --dump-section .hip_fatbin=/tmp/saxpy/fatbin /tmp/saxpy/saxpy /tmp/saxpy/copy"
    )
    # AMD's compiler, a stand-in, has its own llvm-objcopy.
    path = f"PATH=$PATH:{expected['prefix']}/libexec/halo-stand-in"
    listed = host.check_output(f"{path} clang-offload-bundler-{clang} --list --type=o --input=/tmp/saxpy/fatbin")
    assert f"amdgcn-amd-amdhsa--{expected['gfx']}" in listed
    host.run("rm -r /tmp/saxpy")


def test_compilers_are_those_of_the_stack_and_stay_at_their_major(host, expected):
    policy = host.check_output(f"apt-cache policy clang-{expected['clang']} libc6-dev")
    for stanza in re.split(r"\n(?=\S)", policy):
        installed = re.search(r"Installed: (\S+)", stanza).group(1)
        # The pin is in force: apt gives the installed version the pin's priority.
        assert re.search(rf"\*\*\* {re.escape(installed)} 990", stanza), stanza
    assert host.package("libc6-dev").version.startswith(expected["libc"])


def test_pinned_libcxx_lives_beside_the_system(host, expected):
    major = expected["clang"]
    assert host.file(f"/opt/halo/toolchain/libc++-{major}").is_symlink
    assert not host.package(f"libc++-{major}-dev").is_installed, "mode sysroot installs no libc++ package"
    host.check_output(
        "cat > /tmp/v.cpp <<'END'\n#include <iostream>\nint main() { std::cout << _LIBCPP_VERSION; }\nEND\n"
        f"clang++-{major} --config /opt/halo/toolchain/libc++-{major}/clang.cfg -o /tmp/v /tmp/v.cpp"
    )
    assert host.check_output("/tmp/v").startswith(major)
    loaded = host.check_output("ldd /tmp/v | sed -n 's/.*libc++.so.1 => //p'")
    assert loaded.startswith("/opt/halo/toolchain/"), loaded
    host.run("rm /tmp/v /tmp/v.cpp")


def test_a_plain_upgrade_changes_none_of_the_stacks_packages(host, expected):
    simulated = host.check_output("apt-get -s -o Debug::NoLocking=1 upgrade")
    changed = set(re.findall(r"^Inst (\S+)", simulated, re.MULTILINE))
    assert not changed & {*expected["rocm"], f"clang-{expected['clang']}", "libc6-dev"}


def test_only_what_was_wished_for_is_marked_manual(host, expected):
    manual = set(host.check_output("apt-mark showmanual").split())
    assert {*expected["rocm"], f"clang-{expected['clang']}"} <= manual
    # Dependencies of the wished packages: automatic, so that they go when these go.
    dependencies = set(channel.installed(host, *expected["brought"]))
    assert dependencies, "the runtime libraries are there"
    assert not dependencies & manual


def test_the_log_holds_what_dpkg_said(host, expected):
    log = host.file("/var/log/halo/apt.log")
    assert log.mode == 0o640
    assert log.contains(f"Setting up {next(iter(expected['rocm']))}")


def test_nothing_was_installed_into_the_system_python(host):
    assert host.run("find /usr/local/lib/python3* -name '*.dist-info' 2>/dev/null").stdout == ""


def test_no_temporary_files_are_left(host):
    left = host.check_output("find /tmp /var/tmp -mindepth 1 -maxdepth 1 -name '*halo*'")
    assert left == ""
