"""Proofs meet real compilers: on a fresh Debian 13, on a provisioned one, and on one that was spoiled in one respect.

Each spoilt state must lead to its own finding and to no other, and every remedy that is a command is typed.
"""

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from halo.proof.bundle import code_objects, section

from tests.images import build as images

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "/opt/halo/toolchain/libc++-17"
RECORDS = "/var/lib/halo/proofs"
LIBCXX = [
    "libc++-17-dev",
    "libc++1-17t64",
    "libc++abi-17-dev",
    "libc++abi1-17t64",
    "libunwind-17-dev",
    "libunwind-17t64",
]
TOOLCHAIN = [
    {"name": "clang-17", "version": "1:17.*"},
    {"name": "libstdc++-14-dev", "version": "14.*"},
    {"name": "libc6-dev", "version": "2.41*"},
]
RUNTIME = [{"name": "rocminfo", "version": "6.1.2*"}, {"name": "hipcc", "version": "5.7.1*"}]
# What role stack publishes, as far as role host_verify reads it.
STACK = {
    "gfx": "gfx1151",
    "archive": None,
    "rocm": {
        "prefix": "/usr",
        "hipcc": "/usr/bin/hipcc",
        "rocminfo": "/usr/bin/rocminfo",
        "gfx": ["gfx1030", "gfx1151"],
        "components": {"runtime": RUNTIME},
        "set": ["hipcc", "rocminfo", "libamdhip64-*", "libhsakmt*"],
    },
    "toolchain": {
        "cxx": "/usr/bin/clang++-17",
        "packages": TOOLCHAIN,
        "libcxx": {"major": 17, "version": "1:17.*", "packages": LIBCXX},
    },
}
CXX = {"compiler": "/usr/bin/clang++-17", "packages": TOOLCHAIN, "libcxx_major": 17}
HIP = {"gfx": "gfx1151", "hipcc": "/usr/bin/hipcc", "known_gfx": ["gfx1030", "gfx1151"], "packages": RUNTIME}
APT = "DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0"


@dataclass(frozen=True)
class Host:
    """A container that is reached as users reach hosts, by SSH."""

    name: str
    inventory: Path

    def sh(self, script, check=True):
        done = subprocess.run(["podman", "exec", "-i", self.name, "sh", "-ec", script], capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def module(self, name, /, check=False, **options):
        """Run one module and return its result."""
        tree = self.inventory.parent / "results"
        flags = ["--check"] if check else []
        command = [
            "ansible",
            "-i",
            self.inventory,
            "-t",
            tree,
            *flags,
            "-m",
            name,
            "-a",
            json.dumps(options),
            self.name,
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        result = json.loads((tree / self.name).read_text())
        (tree / self.name).unlink()
        assert "findings" in result, done.stdout + done.stderr
        assert result["changed"] is False
        # The verdict fits to the findings.
        assert (done.returncode != 0) == any(found["severity"] == "error" for found in result["findings"])
        return result

    def codes(self, name, /, **options):
        """Run one module and return subject -> code of what it found."""
        return {found["subject"]: found["code"] for found in self.module(name, **options)["findings"]}

    def role(self, *arguments, **environment):
        """Run role host_verify, in an environment of the host's; return the exit status and the output."""
        variables = {"halo_stack_data": STACK, "halo_toolchain_mode": "sysroot", "halo_rocm_components": ["runtime"]}
        play = {"hosts": self.name, "gather_facts": False, "vars": variables, "roles": ["host_verify"]}
        playbook = self.inventory.parent / "verify.yml"
        playbook.write_text(yaml.safe_dump([play | {"environment": environment}]))
        command = ["ansible-playbook", "-i", self.inventory, playbook, *arguments]
        settings = os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def files(self):
        """Return all files that a module might have left behind or changed."""
        return self.sh(
            "find / -xdev \\( -path /proc -o -path /sys -o -path /run \\) -prune -o -type f -printf '%p %T@\\n'"
        )


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    work = tmp_path_factory.mktemp("proof")
    if not shutil.which("podman"):
        pytest.skip("needs podman; `./halo test integration` brings it")
    purpose = os.environ.get("HALO_TEST_NAME", "halo")
    name = f"{purpose}-proof-{os.getpid()}"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", work / "key"], check=True)
    options = ["--detach", "--name", name, "--label", f"halo-test={purpose}"]
    command = ["podman", "run", *options, images.build("debian-13"), "sleep", "infinity"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    try:
        address = subprocess.run(
            ["podman", "inspect", "-f", "{{.NetworkSettings.IPAddress}}", name],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.strip()
        connection = {
            "ansible_host": address,
            "ansible_user": "root",
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_ssh_private_key_file": str(work / "key"),
            "ansible_ssh_common_args": f"-o StrictHostKeyChecking=no -o UserKnownHostsFile={work}/known"
            f" -o ControlPath={work}/%C",
        }
        (work / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": {name: connection}}}))
        made = Host(name, work / "hosts.yml")
        key = (work / "key.pub").read_text().strip()
        made.sh(
            f"install -d -m 700 /root/.ssh /run/sshd; echo '{key}' > /root/.ssh/authorized_keys; ssh-keygen -A; "
            "mkdir -p -m 700 /root/.ansible/tmp; /usr/sbin/sshd"
        )
        _answers(address)
        yield made
    finally:
        subprocess.run(["podman", "rm", "-f", "-t", "0", name], check=False, stdout=subprocess.DEVNULL)


def _answers(address):
    for _ in range(100):
        try:
            socket.create_connection((address, 22), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"no SSH server answers at {address}")


@pytest.fixture(scope="module")
def provisioned(host):
    """Provision the host by hand: another libc++ major is installed, the pinned one lies beside it."""
    names = " ".join(package["name"] for package in TOOLCHAIN + RUNTIME)
    config = "-stdlib=libc++\n-nostdinc++\n-isystem <CFGDIR>/usr/lib/llvm-17/include/c++/v1\n"
    config += "-L<CFGDIR>/usr/lib/llvm-17/lib\n-Wl,-rpath,<CFGDIR>/usr/lib/llvm-17/lib\n"
    host.sh(f"{APT} update; {APT} install -y --no-install-recommends {names} libc++-18-dev")
    host.sh(
        f"mkdir -p {PREFIX}-x; ln -s libc++-17-x {PREFIX}; cd /var/tmp; {APT} download {' '.join(LIBCXX)}; "
        f"for deb in *.deb; do dpkg-deb -x $deb {PREFIX}; done; printf '%s' '{config}' > {PREFIX}/clang.cfg"
    )
    return host


# --- before provisioning -----------------------------------------------------------------------------------------


def test_check_mode_on_a_fresh_host_says_so_and_passes(host):
    before = host.files()
    rc, output = host.role("--check", "--diff")
    assert rc == 0, output
    assert re.search(rf"{host.name} .*changed=0 .*failed=0", output)
    for module, options in (("cxx_proof", CXX), ("hip_proof", HIP), ("stack_check", {"packages": TOOLCHAIN})):
        assert set(host.codes(module, check=True, **options).values()) == {"PROOF.NOT_PROVISIONED"}
    assert host.files() == before


def test_a_fresh_host_fails_with_the_findings_of_all_checks_at_once(host):
    rc, output = host.role()
    assert rc == 2
    for subject in ("clang-17", "hipcc"):
        assert f"ERROR VERIFY.PACKAGE_DIFFERS {subject}: not installed" in output
    for compiler in ("clang++-17 with libstdc++", "clang++-17 with libc++", "hipcc for gfx1151"):
        assert f"ERROR PROOF.COMPILER_ABSENT /usr/bin/{compiler}" in output
    assert "ERROR PROOF.ROCMINFO_ABSENT" in output
    assert host.sh(f"ls {RECORDS} 2>/dev/null || true") == ""


# --- provisioned -------------------------------------------------------------------------------------------------


def test_a_provisioned_host_passes_and_leaves_nothing_but_records(provisioned):
    before = provisioned.files()
    result = provisioned.module("cxx_proof", **CXX)
    evidence = {found["subject"]: found["evidence"] for found in result["findings"]}
    assert {found["code"] for found in result["findings"]} == {"PROOF.PASSED"}
    assert "/usr/lib/x86_64-linux-gnu/libstdc++.so.6" in evidence["libstdc++"]
    assert (
        f"libc++ 17 and ran in a clean environment on {PREFIX}-x/usr/lib/llvm-17/lib/libc++.so.1" in evidence["libc++"]
    )
    hip = provisioned.module("hip_proof", rocminfo="/usr/bin/rocminfo", **HIP)
    assert [found["code"] for found in hip["findings"]] == ["PROOF.PASSED", "GPU.ABSENT"]
    assert "hipv4-amdgcn-amd-amdhsa--gfx1151" in hip["findings"][0]["evidence"]
    assert "ROCk module is NOT loaded" in hip["findings"][1]["evidence"]
    new = {line.split()[0] for line in set(provisioned.files().splitlines()) - set(before.splitlines())}
    assert new == {f"{RECORDS}/{name}.json" for name in ("hip", "libc++", "libstdc++")}


def test_the_role_passes_and_skips_what_was_proved(provisioned):
    rc, output = provisioned.role()
    assert rc == 0, output
    before = provisioned.files()
    for module, options in (("cxx_proof", CXX), ("hip_proof", HIP)):
        result = provisioned.module(module, **options)
        assert all(found["evidence"].startswith("unchanged since 20") for found in result["findings"])
        assert result["before"] == result["after"]
        forced = provisioned.module(module, check=True, force=True, **options)
        assert all("in a clean environment" in found["evidence"] for found in forced["findings"])
        assert not any("unchanged" in found["evidence"] for found in forced["findings"])
    assert provisioned.files() == before


def test_everything_that_was_installed_loads_and_fits(provisioned):
    rc, output = provisioned.role()
    assert rc == 0, output
    result = provisioned.module("abi_check", paths=["/usr/lib/x86_64-linux-gnu", "/opt/halo/toolchain"])
    assert result["counts"]["objects"] > 300
    (checked,) = [found for found in result["findings"] if found["code"] == "ABI.CHECKED"]
    assert f"{result['counts']['objects']} objects" in checked["evidence"]
    fits = provisioned.module("toolchain_check", compilers=["/usr/bin/clang++-17"])
    assert [item["kind"] for item in fits["items"] if item["used"]] == ["clang"]
    # That of the system, and that which is unpacked beside it.
    assert [item["major"] for item in fits["items"] if item["kind"] == "libcxx"] == [17, 18]
    assert fits["findings"] == []


def test_headers_that_are_for_a_newer_clang(provisioned):
    """Debian's libc++-19-dev says in its headers that they are for clang 17 and later."""

    def about_19(result):
        return [found for found in result["findings"] if "libc++ 19" in found["evidence"]]

    provisioned.sh(f"cd /var/tmp; {APT} download libc++-19-dev; dpkg-deb -x libc++-19-dev*.deb /")
    try:
        assert provisioned.codes("toolchain_check", compilers=["/usr/bin/clang++-17"]) == {}
        provisioned.sh("mkdir -p /usr/lib/llvm-16/bin /usr/lib/llvm-16/lib/clang/16; touch /usr/lib/llvm-16/bin/clang")
        options = {"compilers": ["/usr/lib/llvm-16/bin/clang++"]}
        (found,) = about_19(provisioned.module("toolchain_check", **options))
        assert (found["code"], found["severity"]) == ("TOOLCHAIN.LIBCXX_NEEDS_CLANG", "error")
        assert "the libc++ 19 headers in /usr/lib/llvm-19/include/c++/v1 are for clang 17" in found["evidence"]
        (before,) = about_19(provisioned.module("toolchain_check", baseline=True, **options))
        assert before["severity"] == "warning"
    finally:
        # It had taken the place of links that libc++-18-dev brings.
        provisioned.sh(
            "rm -rf /usr/lib/llvm-16 /usr/lib/llvm-19 /usr/include/c++/v1; "
            f"{APT} install -y --reinstall --no-install-recommends libc++-18-dev"
        )


def test_a_library_that_is_gone_is_an_error_and_before_a_run_a_warning(provisioned):
    name = "libhsa-runtime64.so.1"
    provisioned.sh(f"cd /usr/lib/x86_64-linux-gnu; mkdir /srv/gone; mv {name}* /srv/gone")
    try:
        rc, output = provisioned.role()
        assert rc == 2
        assert "ERROR ABI.LIBRARY_MISSING /usr/lib/x86_64-linux-gnu/libamdhip64.so.5" in output
        assert f"needs {name}: no file of that name" in output
        rc, output = provisioned.role("-e", "host_verify_baseline=true", "--check")
        assert rc == 0, output
        before = provisioned.module("abi_check", paths=["/usr/lib/x86_64-linux-gnu"], baseline=True)
        assert "ABI.LIBRARY_MISSING" in [
            found["code"] for found in before["findings"] if found["severity"] == "warning"
        ]
    finally:
        provisioned.sh("mv /srv/gone/* /usr/lib/x86_64-linux-gnu; rmdir /srv/gone")


def test_without_a_gpu_it_fails_only_where_one_is_required(provisioned):
    result = provisioned.module("hip_proof", rocminfo="/usr/bin/rocminfo", require_gpu=True, **HIP)
    assert [(found["code"], found["severity"]) for found in result["findings"]] == [
        ("PROOF.PASSED", "info"),
        ("GPU.ABSENT", "error"),
    ]


def test_the_environment_of_a_login_changes_nothing(provisioned):
    rc, output = provisioned.role(
        "-e", "host_verify_force=true", LD_LIBRARY_PATH="/usr/lib/llvm-18/lib", CPATH="/nowhere"
    )
    assert rc == 0, output


def test_the_reader_of_bundles_agrees_with_clangs_own_tool(provisioned):
    source = "#include <hip/hip_runtime.h>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"
    targets = "--offload-arch=gfx1151 --offload-arch=gfx1030 --offload-arch=gfx90a:xnack-"
    provisioned.sh(f"mkdir /var/tmp/two; cd /var/tmp/two; printf '{source}' > a.hip; hipcc {targets} a.hip -o a")
    executable = base64.b64decode(provisioned.sh("base64 /var/tmp/two/a"))
    theirs = provisioned.sh(
        "cd /var/tmp/two; objcopy --dump-section .hip_fatbin=fatbin a copy;"
        "/usr/lib/llvm-17/bin/clang-offload-bundler --list --type=o --input=fatbin; rm -r /var/tmp/two"
    )
    ours = [entry.target for entry in code_objects(section(executable))]
    assert sorted(ours) == sorted(theirs.split())
    assert len(ours) == 4


# --- spoilt in one respect ---------------------------------------------------------------------------------------

PASSED = {"libstdc++": "PROOF.PASSED", "libc++": "PROOF.PASSED"}
WITH_LIBCXX = "/usr/bin/clang++-17 with libc++"


@pytest.fixture
def config(provisioned):
    """Return a function that edits clang.cfg with sed; it is itself again afterwards."""
    provisioned.sh(f"cp {PREFIX}/clang.cfg /root/clang.cfg")
    yield lambda edit: provisioned.sh(f"sed -i '{edit}' {PREFIX}/clang.cfg")
    provisioned.sh(f"cp /root/clang.cfg {PREFIX}/clang.cfg")


def test_another_major_in_mode_system(provisioned):
    result = provisioned.module("cxx_proof", libcxx_mode="system", **CXX)
    assert [found["code"] for found in result["findings"]] == ["PROOF.PASSED", "PROOF.WRONG_LIBCXX"]
    assert result["findings"][1]["evidence"].startswith(
        "headers: found libc++ 18, wanted libc++ 17\nloaded: found /usr/lib/llvm-18/"
    )


def test_headers_of_another_major(provisioned, config):
    config("/nostdinc/d; /isystem/d")
    result = provisioned.module("cxx_proof", **CXX)
    assert result["findings"][1]["code"] == "PROOF.WRONG_LIBCXX"
    assert result["findings"][1]["evidence"] == "headers: found libc++ 18, wanted libc++ 17"


def test_shared_object_of_another_major(provisioned, config):
    config("/rpath/d")
    result = provisioned.module("cxx_proof", **CXX)
    assert result["findings"][1]["code"] == "PROOF.WRONG_LIBCXX"
    lines = result["findings"][1]["evidence"].splitlines()
    assert lines and all(line.startswith("loaded: found /usr/lib/llvm-18/lib/lib") for line in lines)


def test_configuration_is_missing(provisioned, config):
    provisioned.sh(f"rm {PREFIX}/clang.cfg")
    assert provisioned.codes("cxx_proof", **CXX) == {"libstdc++": "PROOF.PASSED", WITH_LIBCXX: "PROOF.LIBCXX_ABSENT"}
    assert provisioned.codes("cxx_proof", check=True, **CXX) == {"C++": "PROOF.NOT_PROVISIONED"}


def test_configuration_that_does_not_compile(provisioned, config):
    config("s/llvm-17/llvm-16/")
    assert provisioned.codes("cxx_proof", **CXX) == {"libstdc++": "PROOF.PASSED", WITH_LIBCXX: "PROOF.COMPILE_FAILED"}


def test_other_libstdcxx_than_pinned(provisioned):
    pinned = [{"name": "libstdc++-13-dev"}]
    found = provisioned.codes("cxx_proof", **CXX | {"packages": pinned})
    assert found == {"/usr/bin/clang++-17 with libstdc++": "PROOF.WRONG_LIBCXX", "libc++": "PROOF.PASSED"}


def test_case_libstdcxx_dev_missing_for_newest_gcc(provisioned):
    provisioned.sh("dpkg --remove --force-depends libstdc++-14-dev")
    result = provisioned.module("cxx_proof", **CXX)
    assert [found["code"] for found in result["findings"]] == ["PROOF.COMPILE_FAILED", "PROOF.PASSED"]
    assert "file not found" in result["findings"][0]["evidence"]
    hip = provisioned.module("hip_proof", **HIP)
    assert [found["code"] for found in hip["findings"]] == ["PROOF.COMPILE_FAILED"]
    (finding,) = provisioned.module("toolchain_check", root="/")["findings"]
    assert (finding["code"], finding["remedy"]) == ("TOOLCHAIN.NO_LIBSTDCXX", "apt-get install libstdc++-14-dev")
    remedy = result["findings"][0]["remedy"].partition("   ")[0]
    assert remedy == hip["findings"][0]["remedy"].partition("   ")[0] == "apt-get install libstdc++-14-dev"
    provisioned.sh(f"{remedy} -y -qq")
    assert provisioned.codes("cxx_proof", **CXX) == PASSED


def test_gfx_that_the_compiler_does_not_know(provisioned):
    result = provisioned.module("hip_proof", **HIP | {"gfx": "gfx9999"})
    assert [found["code"] for found in result["findings"]] == ["PROOF.COMPILE_FAILED"]
    assert "invalid target ID 'gfx9999'" in result["findings"][0]["evidence"]
    assert "gfx1030, gfx1151" in result["findings"][0]["remedy"]


@pytest.mark.parametrize(
    ("command", "evidence"),
    [
        ("hipcc --offload-arch=gfx1030 saxpy.hip -o saxpy", "found hipv4-amdgcn-amd-amdhsa--gfx1030, wanted gfx1151"),
        ("echo int main\\(\\) {} | clang++-17 -x c++ - -o saxpy", "the executable has no section .hip_fatbin"),
    ],
)
def test_no_code_object(provisioned, command, evidence):
    # A stand-in for hipcc that does not do what it was asked for.
    provisioned.sh(f"printf '%s\\n' '#!/bin/sh' '{command}' > /root/hipcc; chmod +x /root/hipcc")
    result = provisioned.module("hip_proof", **HIP | {"hipcc": "/root/hipcc"})
    assert [(found["code"], found["evidence"]) for found in result["findings"]] == [("PROOF.NO_CODE_OBJECT", evidence)]


def test_damaged_record(provisioned):
    provisioned.codes("hip_proof", **HIP)
    provisioned.sh(f"head -c 40 {RECORDS}/hip.json > /root/cut; cp /root/cut {RECORDS}/hip.json")
    result = provisioned.module("hip_proof", **HIP)
    assert "unchanged" not in result["findings"][0]["evidence"]
    assert "unchanged" in provisioned.module("hip_proof", **HIP)["findings"][0]["evidence"]


def test_a_package_that_changes_voids_the_record(provisioned):
    provisioned.codes("hip_proof", **HIP)
    assert "unchanged" in provisioned.module("hip_proof", **HIP)["findings"][0]["evidence"]
    provisioned.sh(f"{APT} install -y --no-install-recommends hello")
    assert "unchanged" not in provisioned.module("hip_proof", **HIP)["findings"][0]["evidence"]


# --- packages ----------------------------------------------------------------------------------------------------


def check(host, **options):
    result = host.module("stack_check", packages=TOOLCHAIN + RUNTIME, rocm_set=STACK["rocm"]["set"], **options)
    return {(found["code"], found["severity"], found["subject"]) for found in result["findings"]}


@pytest.fixture
def newer(provisioned):
    """Return a function that offers newer packages in an archive on the host's own disk."""

    def offer(versions):
        common = f"Architecture: amd64\nMaintainer: nobody\nSize: 1\nSHA256: {'0' * 64}\nDescription: newer\n"
        stanzas = "\n".join(
            f"Package: {name}\nVersion: {version}\nFilename: ./{name}.deb\n{common}"
            for name, version in versions.items()
        )
        provisioned.sh(
            f"mkdir -p /archive; printf '%s' '{stanzas}' > /archive/Packages; "
            "echo 'deb [trusted=yes] file:/archive ./' > /etc/apt/sources.list.d/newer.list; "
            f"{APT} update"
        )

    yield offer
    provisioned.sh(f"rm -rf /archive /etc/apt/sources.list.d/newer.list /etc/apt/preferences.d/test.pref; {APT} update")


def test_packages_as_the_stack_wants_them(provisioned):
    assert check(provisioned) == {("VERIFY.PASSED", "info", "packages")}


def test_an_upgrade_of_the_rocm_set_is_found_until_it_is_pinned(provisioned, newer):
    within = ("VERIFY.UPGRADE_WOULD_CHANGE", "info", "libstdc++-14-dev")
    newer({"rocminfo": "6.1.2-99", "libhsakmt1": "6.2.9-1", "libstdc++-14-dev": "14.9", "libc6-dev": "2.42-1"})
    wanted = {("VERIFY.UPGRADE_WOULD_CHANGE", "error", name) for name in ("rocminfo", "libhsakmt1", "libc6-dev")}
    assert check(provisioned) == {*wanted, within}
    assert {severity for _, severity, _ in check(provisioned, check=True)} == {"warning", "info"}
    pins = 'Package: rocminfo libhsakmt* libc6-dev\\nPin: origin ""\\nPin-Priority: -1\\n'
    provisioned.sh(f"printf '{pins}' > /etc/apt/preferences.d/test.pref")
    assert check(provisioned) == {within, ("VERIFY.PASSED", "info", "packages")}


def test_no_lists_means_that_nothing_was_checked(provisioned):
    provisioned.sh("mv /var/lib/apt/lists /root/lists")
    try:
        assert check(provisioned) == {("VERIFY.UPGRADE_UNKNOWN", "warning", "apt-get -s upgrade")}
    finally:
        provisioned.sh("rm -rf /var/lib/apt/lists; mv /root/lists /var/lib/apt/lists")


def test_an_apt_that_cannot_read_its_sources(provisioned):
    provisioned.sh("echo nonsense > /etc/apt/sources.list.d/broken.list")
    try:
        assert check(provisioned) == {("VERIFY.UPGRADE_UNKNOWN", "error", "apt-get -s upgrade")}
    finally:
        provisioned.sh("rm /etc/apt/sources.list.d/broken.list")


def test_a_package_outside_its_bound(provisioned):
    result = provisioned.module("stack_check", packages=[{"name": "clang-17", "version": "1:18.*"}])
    assert [(found["code"], found["subject"]) for found in result["findings"]] == [
        ("VERIFY.PACKAGE_DIFFERS", "clang-17")
    ]
    assert "1:17.0.6" in result["findings"][0]["evidence"]
