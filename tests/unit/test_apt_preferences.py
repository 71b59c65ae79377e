import pytest
from halo.apt.preferences import MARK, Pin, by_file, render


def pin(**changes):
    return Pin.from_dict({"file": "halo-x", "packages": ["clang-17"], "priority": 990, "version": "1:17.*", **changes})


def test_a_version_pin_as_apt_reads_it():
    assert render([pin(packages=["clang-17", "llvm-17*"])], {}) == (
        f"{MARK}\n\nPackage: clang-17 llvm-17*\nPin: version 1:17.*\nPin-Priority: 990\n"
    )


def test_a_release_pin():
    text = render([pin(version=None, release="o=Debian,n=trixie", priority=-1)], {})
    assert "Pin: release o=Debian,n=trixie\nPin-Priority: -1\n" in text


def test_installed_resolves_each_glob_and_falls_back_only_where_nothing_matches():
    wanted = pin(packages=["rocm*", "hipcc", "librocblas*"], version="installed", fallback="5.*")
    text = render([wanted], {"rocminfo": "5.7.1-1", "rocm-cmake": "6.0", "hipcc": "5.7.1-1", "bash": "5"})
    assert text.split("\n\n")[1:] == [
        "Package: librocblas*\nPin: version 5.*\nPin-Priority: 990",
        "Package: hipcc rocminfo\nPin: version 5.7.1-1\nPin-Priority: 990",
        "Package: rocm-cmake\nPin: version 6.0\nPin-Priority: 990\n",
    ]


def test_installed_without_match_and_fallback_writes_nothing_but_the_mark():
    assert render([pin(version="installed")], {"bash": "5"}) == MARK + "\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"file": "halo.x"}, "apt skips the file"),
        ({"file": "../x"}, "apt skips the file"),
        ({"packages": []}, "packages is empty"),
        ({"packages": "clang-17"}, "no list of names"),
        ({"packages": ["Clang 17"]}, "neither a package name nor a glob"),
        ({"packages": ["a\nPin: version *"]}, "neither a package name nor a glob"),
        ({"priority": 0}, "priority 0"),
        ({"priority": 40000}, "priority 40000"),
        ({"priority": "990"}, "no integer"),
        ({"priority": True}, "no integer"),
        ({"release": "o=Debian"}, "exactly one of version and release"),
        ({"version": None}, "exactly one of version and release"),
        ({"version": "1 2"}, "no version"),
        ({"fallback": "1:17.*"}, "fallback goes with"),
        ({"version": None, "release": "Debian"}, "not like o=Debian"),
        ({"priorty": 1}, "unknown keys: priorty"),
    ],
)
def test_what_apt_would_refuse_or_skip_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        pin(**changes)


def test_missing_fields_are_named():
    with pytest.raises(ValueError, match="lacks: packages, priority"):
        Pin.from_dict({"file": "halo-x"})


def test_by_file_keeps_order():
    first, other, second = pin(), pin(file="halo-y"), pin(priority=1)
    assert by_file([first, other, second]) == {"halo-x": [first, second], "halo-y": [other]}
