"""A libc++ beside another major of it, with packages that apt fetched and a real clang."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.apt_host import AptHost

PREFIX = "/opt/halo/toolchain"

# Release -> the major that the stack pins, its packages, and the major that is installed.
LIBCXX = {
    "debian-12": (15, ["libc++-15-dev", "libc++1-15", "libc++abi-15-dev", "libc++abi1-15"], 14),
    "debian-13": (17, ["libc++-17-dev", "libc++1-17t64", "libc++abi-17-dev", "libc++abi1-17t64"], 18),
}
UNWIND = {"debian-12": ["libunwind-15-dev", "libunwind-15"], "debian-13": ["libunwind-17-dev", "libunwind-17t64"]}

# What module toolchain_sysroot does; a last argument names a file that fills the disk between plan and apply.
MAKE = """
import json, os, sys
sys.path.insert(0, "/halo")
from halo.toolchain.store import apply, plan
from halo.toolchain.wanted import ToolchainError, request
name, major, prefix, source, *filler = sys.argv[1:]
planned = plan(request(name, int(major), prefix, source))
findings = list(planned.findings)
for path in filler:
    free = os.statvfs(os.path.dirname(path))
    with open(path, "wb") as stream:
        stream.write(bytes(free.f_bavail * free.f_frsize - 4_000_000))
try:
    if planned.changed and not findings:
        apply(planned)
except ToolchainError as error:
    findings += error.findings
codes = [finding.code for finding in findings]
print(json.dumps({"changed": planned.changed, "store": str(planned.toolchain.store), "codes": codes}))
"""

# Prints the major of the headers that it was compiled with, and the libraries that it runs with.
PROGRAM = r"""
#include <cmath>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
int main() {
  try { throw std::runtime_error("thrown"); }
  catch (const std::exception &error) { if (std::string(error.what()) != "thrown" || std::sqrt(4.0) != 2.0) return 1; }
  std::cout << _LIBCPP_VERSION / (_LIBCPP_VERSION < 100000 ? 1000 : 10000) << std::endl;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(" r-xp ") != std::string::npos && line.find("/lib") != std::string::npos)
      std::cout << line.substr(line.find('/')) << std::endl;
}
"""

# Uses libc++ alone, so that --as-needed drops libc++abi and libunwind from what the program itself needs.
SMALL = "#include <iostream>\nint main() { std::cout << 1; }\n"

C = (
    "".join(f"#include <{name}.h>\n" for name in ("stdlib", "math", "stdatomic", "complex", "tgmath"))
    + "int main(void) {}\n"
)


class ToolchainHost(AptHost):
    """A container with clang, another major of libc++ installed, and the pinned one fetched."""

    def __enter__(self) -> ToolchainHost:
        super().__enter__()
        self.major, names, self.other = LIBCXX[self.release]
        self.source = f"/var/cache/halo/debs/libc++-{self.major}"
        self.link = f"{PREFIX}/libc++-{self.major}"
        self.clang = f"clang++-{self.major} --config {self.link}/clang.cfg"
        try:
            others = f"libc++-{self.other}-dev libc++abi-{self.other}-dev"
            self.run(f"apt-get install -qq --no-install-recommends clang-{self.major} {others}")
            wishes = [{"name": name, "state": "fetched", "dest": self.source} for name in names + UNWIND[self.release]]
            fetched = self.plan(*wishes, execute=True)
            assert not fetched.get("failed"), fetched
            for name, text in (("program.cpp", PROGRAM), ("small.cpp", SMALL), ("c.c", C)):
                self.run(f"cat > /halo/{name}", stdin=text)
            self.before = self.installed()
            self.store = self.make()["store"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self, prefix: str = PREFIX, *filler: str) -> dict[str, object]:
        """Make the toolchain below a prefix."""
        return json.loads(self.python(MAKE, f"libc++-{self.major}", str(self.major), prefix, self.source, *filler))

    def sh(self, script: str) -> str:
        """Run a script where the programs lie."""
        return self.run(f"cd /halo; {script}")


@pytest.fixture(scope="module", params=LIBCXX)
def host(request):
    if not shutil.which("podman"):
        pytest.skip("needs podman; `./halo test integration` brings it")
    with ToolchainHost(request.param, "toolchain") as container:
        yield container


def test_headers_and_all_three_libraries_are_the_pinned_ones(host):
    shown = host.sh(f"{host.clang} -Wall -Werror program.cpp -o program; ./program").split()
    assert shown[0] == str(host.major)
    directory = f"{host.store}/usr/lib/llvm-{host.major}/lib"
    libraries = sorted(line for line in shown if "libc++" in Path(line).name or "libunwind" in line)
    assert libraries == [f"{directory}/{name}.so.1.0" for name in ("libc++", "libc++abi", "libunwind")]


def test_without_the_configuration_it_is_the_other_major(host):
    """Shows that the test above can fail."""
    shown = host.sh(f"clang++-{host.major} -stdlib=libc++ program.cpp -o other; ./other").split()
    assert shown[0] == str(host.other)
    assert not any(line.startswith(PREFIX) for line in shown)


def test_libraries_that_the_program_needs_only_through_another_are_the_pinned_ones_too(host):
    host.sh(f"{host.clang} -Wl,--as-needed small.cpp -o small")
    assert "libc++abi" not in host.sh("objdump -p small | grep NEEDED")
    loaded = host.sh("ldd small | grep -E 'libc[+][+]|libunwind'")
    assert loaded.count(f"=> {host.store}/") == 3, loaded


def test_a_program_keeps_its_libraries_when_the_link_moves_on(host):
    host.sh(f"{host.clang} small.cpp -o small; mv {host.link} {host.link}.off")
    try:
        assert host.sh("ldd small").count(f"=> {host.store}/") == 3
    finally:
        host.sh(f"mv {host.link}.off {host.link}")


@pytest.mark.parametrize(
    "arguments",
    [
        "-c -Wall -Wextra small.cpp",
        "-shared -fPIC small.cpp",
        "-fsyntax-only -isystem /usr/include small.cpp",
        "-x c c.c",
    ],
    ids=["compile only", "shared library", "isystem of the user's", "C"],
)
def test_no_way_of_calling_the_compiler_warns_or_fails(host, arguments):
    host.sh(f"{host.clang} -Werror {arguments} -o out")


def test_nothing_that_was_installed_was_touched(host):
    assert host.installed() == host.before
    # Test hosts have no documentation: tests/images excludes it, and dpkg misses it.
    touched = host.run(
        f"dpkg --verify libc++-{host.other}-dev libc++1-{host.other} clang-{host.major}"
        " | grep -v ' /usr/share/\\(doc\\|locale\\|man\\)/' || :"
    )
    assert touched == ""


def test_a_second_run_changes_nothing(host):
    assert host.make() == {"changed": False, "store": host.store, "codes": []}


def test_a_lost_header_comes_back(host):
    header = f"{host.store}/usr/lib/llvm-{host.major}/include/c++/v1/cmath"
    host.run(f"rm {header}")
    assert host.make()["changed"]
    host.run(f"test -s {header}")


def test_a_file_system_that_is_full_is_not_touched(host):
    assert host.make("/small/toolchain")["codes"] == ["TOOLCHAIN.NO_SPACE"]
    assert host.run("ls -A /small") == ""


def test_a_file_system_that_fills_up_meanwhile_is_left_as_it_was(host):
    try:
        assert host.make("/dev/shm/toolchain", "/dev/shm/filler")["codes"] == ["TOOLCHAIN.NO_SPACE"]  # noqa: S108
        assert host.run("ls -A /dev/shm/toolchain") == f".libc++-{host.major}.lock\n"
    finally:
        host.run("rm -rf /dev/shm/*")
