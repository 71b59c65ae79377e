"""The plan is what apt-get says on the same host, over random sets of real packages."""

from __future__ import annotations

import os
import random
import re
import time

import pytest

SEED = int(os.environ.get("HALO_SEED") or time.time())
COUNT = int(os.environ.get("HALO_COUNT") or (200 if os.environ.get("HALO_SOAK") else 20))

# Sets mix packages of these kinds, since a uniform choice from the archive would hardly ever meet the ones that matter.
POOLS = {
    "any": r".",
    "development": r"-dev$",
    "rocm": r"^(rocm|hip|libhip|libroc|libamd|hsa|libhsa|comgr|miopen)",
    "toolchain": r"^(clang|llvm|lld|gcc|g\+\+|libc\+\+|libstdc\+\+|libclang|cmake|ninja)",
}
INSTALLS = re.compile(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", re.MULTILINE)
REMOVALS = re.compile(r"^Remv (\S+) \[(\S+)\]", re.MULTILINE)


def sets(host, seed, count):
    """Return random sets of one to five names of packages that the archive really has."""
    names = host.run("apt-cache dumpavail | sed -n 's/^Package: //p' | sort -u").split()
    pools = [[name for name in names if re.search(pattern, name)] for pattern in POOLS.values()]
    generator = random.Random(seed)  # noqa: S311
    return [
        sorted({generator.choice(generator.choice(pools)) for _ in range(generator.randint(1, 5))})
        for _ in range(count)
    ]


def theirs(host, names):
    """Return what apt-get would do, or nothing when it sees no way."""
    output = host.run(f"apt-get -s install --no-install-recommends {' '.join(names)} || echo REFUSED", check=False)
    if "REFUSED" in output:
        return None
    found = {(name, version, "install") for name, version in INSTALLS.findall(output)}
    return found | {(name, version, "remove") for name, version in REMOVALS.findall(output)}


def ours(host, names):
    """Return what the plan would do, or nothing when there is none."""
    answer = host.plan(*({"name": name, "state": "latest"} for name in names), refresh="never")
    if "APT.UNSOLVABLE" in answer.codes:
        return None
    assert answer["plan"]["text"], answer["msg"]
    return {
        (change["name"], change["to"] or change["from"], "remove" if change["kind"] == "remove" else "install")
        for change in answer["plan"]["changes"]
        if change["kind"] != "mark_manual"
    }


@pytest.mark.parametrize("solver", ["default", "3.0"])
def test_the_plan_is_what_apt_get_says(apt_host, solver):
    if solver != "default":
        if apt_host.release == "debian-12":
            pytest.skip("apt 2.6 has no solver 3.0")
        apt_host.run(f"echo 'APT::Solver \"{solver}\";' >/etc/apt/apt.conf.d/solver")
    count = COUNT if solver == "default" else COUNT // 2
    print(f"HALO_SEED={SEED} HALO_COUNT={COUNT}")
    differing = []
    for names in sets(apt_host, SEED, count):
        mine, other = ours(apt_host, names), theirs(apt_host, names)
        if mine != other:
            difference = sorted((mine or set()) ^ (other or set()))
            differing.append(f"{names}: ours {mine and len(mine)}, theirs {other and len(other)}: {difference[:6]}")
    assert not differing, f"seed {SEED}, {len(differing)} of {count} differ:\n" + "\n".join(differing)
