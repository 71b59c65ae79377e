import pytest
from ansible.module_utils.halo.apt.wishes import Wish, join, parse


def wishes(*items):
    found, findings = parse({"role": f"role{number}", **item} for number, item in enumerate(items))
    assert findings == []
    return found


def test_a_wish_says_who_wants_what_from_where():
    first, second, third = wishes(
        {"name": "clang-17", "version": "1:17.*", "origin": "Debian"},
        {"name": "hipcc", "state": "latest", "version": None},
        {"name": "libc++-18*", "state": "absent"},
    )
    assert first.text() == "role role0 wishes clang-17 1:17.* from Debian"
    assert second.text() == "role role1 wishes hipcc (latest)"
    assert third.text() == "role role2 wishes libc++-18* absent"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"name": "Clang"}, "'Clang' is no name of a package"),
        ({"name": "libc++-*"}, "'libc++-*' is no name of a package"),
        ({"name": "*", "state": "absent"}, "no name or glob"),
        ({"name": "l*", "state": "absent"}, "no name or glob"),
        ({"name": "clang-17=1:17"}, "no name of a package; write clang-17 as name, and its version as version"),
        ({"name": "clang-17/sid"}, "no name of a package; write clang-17 as name, and its archive's Origin as origin"),
        ({"name": "clang-17:i386"}, "no name of a package; leave the architecture away"),
        ({"name": "clang-17", "version": "> 17"}, "neither a prefix"),
        ({"name": "clang-17", "state": "installed"}, "none of present, latest, absent, fetched"),
        ({"name": "clang-17", "state": "fetched"}, "needs dest"),
        ({"name": "clang-17", "dest": "/x"}, "needs dest, and no other state"),
        ({"name": "clang-17", "state": "fetched", "dest": "x"}, "no absolute path"),
        ({"name": "clang-17", "state": "absent", "version": "1"}, "neither version nor origin"),
        ({"name": "clang-17", "pin": 1}, "unknown keys: pin"),
        ({"version": "1"}, "name is missing"),
    ],
)
def test_a_wish_that_cannot_be_understood_is_a_finding(item, message):
    found, findings = parse([{"role": "demo", **item}, {"name": "bash"}])
    assert [finding.code for finding in findings] == ["APT.WISH_INVALID"]
    assert message in findings[0].evidence
    assert "demo_apt" in findings[0].remedy
    assert [wish.name for wish in found] == ["bash"]


def test_bounds_of_two_roles_hold_together_and_latest_wins():
    joined, findings = join(
        wishes({"name": "hipcc", "version": ">= 5"}, {"name": "hipcc", "version": "<< 6", "state": "latest"})
    )
    goal = joined.install["hipcc"]
    assert findings == []
    assert goal.latest
    assert [version for version in ("4.9", "5.7.1", "6.1") if goal.admits(version)] == ["5.7.1"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"name": "hipcc", "version": "5.*"}, {"name": "hipcc", "version": "6.*"}),
        ({"name": "hipcc", "origin": "Debian"}, {"name": "hipcc", "origin": "AMD ROCm"}),
        ({"name": "hipcc"}, {"name": "hipcc", "state": "absent"}),
        (
            {"name": "hipcc", "version": "5.*", "state": "fetched", "dest": "/d"},
            {"name": "hipcc", "version": "6.*", "state": "fetched", "dest": "/d"},
        ),
    ],
)
def test_wishes_that_exclude_each_other_name_both_roles(first, second):
    _, findings = join(wishes(first, second))
    assert [finding.code for finding in findings] == ["APT.WISH_CONFLICT"]
    assert findings[0].subject == "hipcc"
    assert "role0" in findings[0].evidence + findings[0].remedy
    assert "role1" in findings[0].evidence + findings[0].remedy


def test_the_same_package_fetched_at_two_versions_into_two_places_is_no_conflict():
    joined, findings = join(
        wishes(
            {"name": "hipcc", "version": "5.*", "state": "fetched", "dest": "/a"},
            {"name": "hipcc", "version": "6.*", "state": "fetched", "dest": "/b"},
            {"name": "hipcc", "version": "7.*"},
        )
    )
    assert findings == []
    assert sorted(joined.fetch) == ["/a", "/b"]
    assert sorted(joined.install) == ["hipcc"]


def test_a_glob_takes_what_is_installed_and_spares_what_is_wanted():
    joined, findings = join(wishes({"name": "libc++-*-dev", "state": "absent"}, {"name": "libc++-17-dev"}))
    assert findings == []
    installed = ["libc++-17-dev", "libc++-18-dev", "libc++1-18", "bash"]
    assert joined.removals(installed) == {"libc++-18-dev": Wish("libc++-*-dev", state="absent", role="role0")}
