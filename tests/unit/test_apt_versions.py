import itertools
import random
import shutil
import subprocess

import pytest
from ansible.module_utils.halo.apt.versions import Bound, compare, newest

# Ordered by hand from deb-version(7), with the spots where naive comparisons go wrong.
ORDERED = [
    "1.0~~", "1.0~~a", "1.0~", "1.0", "1.0-1", "1.0-1+b1", "1.0-1.1", "1.0-2", "1.0a", "1.0+b1", "1.0.1", "1.9", "1.10",
    "1.10-0.1", "1.10-1~bpo12+1", "1.10-1", "1.10-1+deb13u1", "5.7.1-6", "5.7.1-6+deb13u1", "6.1.2-2", "1:0.1", "2:0~a",
]  # fmt: skip


def test_the_order_is_that_of_the_manual():
    assert newest(reversed(ORDERED)) == ORDERED[-1]
    for first, second in itertools.combinations(range(len(ORDERED)), 2):
        assert compare(ORDERED[first], ORDERED[second]) < 0 < compare(ORDERED[second], ORDERED[first])


@pytest.mark.parametrize(("first", "second"), [("1.0", "1.00"), ("0:1.0", "1.0"), ("1.0", "1.0-0"), ("1.0-", "1.0")])
def test_different_spellings_of_one_version_are_equal(first, second):
    assert compare(first, second) == 0


@pytest.mark.skipif(not shutil.which("dpkg"), reason="needs dpkg to compare with")
def test_the_order_is_that_of_dpkg():
    generator = random.Random(20261130)  # noqa: S311
    alphabet = "019az.+~-"
    for _ in range(300):
        first, second = ("1" + "".join(generator.choices(alphabet, k=generator.randint(0, 5))) + "1" for _ in range(2))
        order = compare(first, second)
        relation = "lt" if order < 0 else "gt" if order > 0 else "eq"
        done = subprocess.run(["dpkg", "--compare-versions", first, relation, second], check=False)
        assert done.returncode == 0, f"dpkg does not say {first} {relation} {second}"


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        ("", ["1", "2:3-4"], []),
        ("1:17.*", ["1:17.0.6-22+b2", "1:17.1"], ["1:170.1", "17.0.6", "1:18.0", "1:17"]),
        (">= 5.7, << 6", ["5.7", "5.7.1-6+deb13u1", "5.99"], ["5.6", "6", "6.1", "5.7~"]),
        (">=5.7,<<6~", ["5.7"], ["6~", "6"]),
        ("<= 2", ["2", "1"], ["2.0.1", "2+b1"]),
        (">> 2", ["2+b1"], ["2"]),
        ("= 1.0", ["1.0", "1.00"], ["1.0-1"]),
        ("5.7.1-6", ["5.7.1-6"], ["5.7.1-6+deb13u1"]),
        (">= 14, 14.*", ["14.2.0-19"], ["15", "14"]),
    ],
)
def test_what_a_bound_admits(bound, inside, outside):
    assert [version for version in inside if not Bound(bound).admits(version)] == []
    assert [version for version in outside if Bound(bound).admits(version)] == []


@pytest.mark.parametrize("text", ["> 5", "== 5", ">= ", "1:17.*.*", "a b", "1:17.?", "*5", "!= 3", "-1"])
def test_what_is_no_bound_is_refused(text):
    with pytest.raises(ValueError, match="neither a prefix"):
        Bound(text)


@pytest.mark.parametrize(
    ("first", "second", "exclude"),
    [
        ("1:17.*", "1:18.*", True),
        ("1:17.*", "1:17.0*", False),
        ("1:17.*", ">= 1:18", False),
        ("5.7.1-6", "5.*", False),
        ("5.7.1-6", "6.*", True),
        ("5.7.1-6", ">= 6", True),
        ("<< 6, 5.*", "5.7.1", False),
        ("", "1:17.*", False),
    ],
)
def test_bounds_that_plainly_exclude_each_other(first, second, exclude):
    assert Bound(first).excludes(Bound(second)) is exclude
    assert Bound(second).excludes(Bound(first)) is exclude
