"""Case libcxx-versions-conflict: libc++ 18 is installed, the stack wants 17, and the two conflict."""

from __future__ import annotations

from tests.support.playbook import run

HOST = "debian-13-libcxx"
OTHERS = ("libc++-18-dev", "libc++1-18", "libc++abi-18-dev")
PINNED = ("libc++-17-dev", "libc++1-17t64", "libc++abi-17-dev")

PROGRAM = """
cat > /tmp/v.cpp <<'END'
#include <iostream>
int main() { std::cout << _LIBCPP_VERSION; }
END
"""


def test_sysroot_leaves_the_installed_major_alone_and_uses_the_pinned_one(host):
    for name in OTHERS:
        assert host.package(name).is_installed
    host.check_output(f"{PROGRAM} clang++-17 --config /opt/halo/toolchain/libc++-17/clang.cfg -o /tmp/v /tmp/v.cpp")
    assert host.check_output("/tmp/v").startswith("17")
    assert "/opt/halo/toolchain/libc++-17-" in host.check_output("ldd /tmp/v")


def test_without_the_configuration_clang_takes_the_other_major(host):
    """Shows that the test above can fail: the same compiler, without the configuration, finds 18."""
    host.check_output(f"{PROGRAM} clang++-17 -stdlib=libc++ -o /tmp/v /tmp/v.cpp")
    assert host.check_output("/tmp/v").startswith("18")


def test_system_mode_refuses_to_replace_what_nobody_permitted(host):
    refused = run("site.yml", f"--limit={HOST}", "-e", "halo_toolchain_mode=system")
    assert refused.rc != 0
    subjects = {f["subject"] for f in refused.findings(HOST) if f["code"] == "APT.REMOVE_REFUSED"}
    assert any("libc++-18-dev" in subject for subject in subjects), refused.output[-3000:]
    assert "toolchain_pin_replace" in refused.output, "the remedy names the variable"
    evidence = next(f["evidence"] for f in refused.findings(HOST) if f["subject"] == "libc++-18-dev").splitlines()
    for step in ("role toolchain_pin wishes libc++-17-dev", "is installed and would stay", "Conflicts libc++-x.y-dev"):
        assert any(step in line for line in evidence), evidence
        assert step in refused.output, "the chain is printed, not only reported"
    for name in OTHERS:
        assert host.package(name).is_installed
    assert refused.changed(HOST) == 0


def test_system_mode_replaces_when_it_is_told_to(host):
    replaced = run(
        "site.yml", f"--limit={HOST}", "-e", "halo_toolchain_mode=system", "-e", "toolchain_pin_replace=true"
    )
    assert replaced.rc == 0, replaced.output[-3000:]
    for name in PINNED:
        assert host.package(name).is_installed
    for name in OTHERS:
        assert not host.package(name).is_installed
    host.check_output(f"{PROGRAM} clang++-17 -stdlib=libc++ -o /tmp/v /tmp/v.cpp")
    assert host.check_output("/tmp/v").startswith("17")

    again = run("site.yml", f"--limit={HOST}", "-e", "halo_toolchain_mode=system", "-e", "toolchain_pin_replace=true")
    assert (again.rc, again.changed(HOST)) == (0, 0), again.output[-3000:]
