import os
import stat

import pytest
from halo import pin
from halo.apt.preferences import MARK

FILE = "halo-x"
PIN = {"packages": ["clang-17"], "version": "1:17.*", "priority": 990}
STATUS = """\
Package: hipcc
Status: install ok installed
Architecture: amd64
Version: 5.7.1-6

Package: rocminfo
Status: hold ok installed
Architecture: amd64
Version: 6.1.2-2

Package: rocm-smi
Status: deinstall ok config-files
Architecture: amd64
Version: 6.0-1
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "etc/apt/preferences.d").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)
    return tmp_path


def path(root):
    return root / "etc/apt/preferences.d" / f"{FILE}.pref"


def write(root, pins):
    planned = pin.plan(FILE, pins, root=str(root))
    assert planned.findings == ()
    if planned.changed:
        pin.apply(planned)
    return planned


def tree(root):
    return {str(entry): entry.is_file() and entry.read_text() for entry in root.rglob("*")}


def test_a_plan_writes_nothing_and_apply_writes_what_was_planned(root):
    before = tree(root)
    planned = pin.plan(FILE, [PIN], root=str(root))
    assert tree(root) == before
    assert planned.before is None
    pin.apply(planned)
    assert path(root).read_text() == planned.after
    assert planned.after == f"{MARK}\n\nPackage: clang-17\nPin: version 1:17.*\nPin-Priority: 990\n"
    assert stat.S_IMODE(path(root).stat().st_mode) == 0o644
    assert [entry.name for entry in path(root).parent.iterdir()] == [path(root).name]


def test_a_second_run_changes_nothing_and_another_pin_does(root):
    write(root, [PIN])
    assert not write(root, [PIN]).changed
    assert write(root, [{**PIN, "priority": 991}]).changed
    assert "Pin-Priority: 991" in path(root).read_text()


def test_the_mode_does_not_depend_on_the_umask(root):
    previous = os.umask(0o077)
    try:
        write(root, [PIN])
    finally:
        os.umask(previous)
    assert stat.S_IMODE(path(root).stat().st_mode) == 0o644


def test_installed_is_what_dpkg_has_on_the_host(root):
    globs = {"packages": ["hipcc", "rocm*"], "version": "installed", "priority": 995}
    text = write(root, [globs]).after
    assert "Package: hipcc\nPin: version 5.7.1-6\nPin-Priority: 995\n" in text
    assert "Package: rocminfo\nPin: version 6.1.2-2\nPin-Priority: 995\n" in text
    assert "rocm-smi" not in text, "its configuration alone is left"


def test_installed_follows_the_host(root):
    globs = {"packages": ["hipcc"], "version": "installed", "priority": 995}
    write(root, [globs])
    status = root / "var/lib/dpkg/status"
    status.write_text(STATUS.replace("5.7.1-6", "5.7.1-7"))
    assert write(root, [globs]).changed
    assert "Pin: version 5.7.1-7" in path(root).read_text()


def test_absent_removes_only_what_is_there(root):
    assert not pin.plan(FILE, [], present=False, root=str(root)).changed
    write(root, [PIN])
    planned = pin.plan(FILE, [], present=False, root=str(root))
    assert planned.changed
    pin.apply(planned)
    assert not path(root).exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"packages": []}, "packages is empty"),
        ({"packages": "clang-17"}, "no list"),
        ({"packages": ["Clang 17"]}, "neither a package name nor a glob"),
        ({"packages": ["clang-17\nPackage: *"]}, "neither a package name nor a glob"),
        ({"priority": 0}, "is 0"),
        ({"priority": "high"}, "no integer"),
        ({"priority": True}, "no integer"),
        ({"priority": 1001}, "downgrade"),
        ({"version": None}, "exactly one of version and release"),
        ({"release": "o=Debian"}, "exactly one of version and release"),
        ({"version": "1:17.*\nPin-Priority: 2000"}, "no version"),
        ({"file": "halo-y"}, "belongs into halo-y"),
        ({"prio": 1}, "unknown keys: prio"),
    ],
)
def test_a_bad_pin_is_refused(root, change, reason):
    planned = pin.plan(FILE, [PIN, {**PIN, **change}], root=str(root))
    assert [finding.code for finding in planned.findings] == ["PIN.INVALID"]
    assert reason in planned.findings[0].evidence
    assert not planned.changed


def test_a_priority_of_1000_still_passes(root):
    assert write(root, [{**PIN, "priority": 1000}]).changed


@pytest.mark.parametrize("name", ["halo.x", "../halo-x", "halo x", ""])
def test_a_file_that_apt_would_skip_is_refused(root, name):
    planned = pin.plan(name, [PIN], root=str(root))
    assert [finding.code for finding in planned.findings] == ["PIN.INVALID"]


def test_no_pins_at_all_are_refused(root):
    assert [finding.code for finding in pin.plan(FILE, [], root=str(root)).findings] == ["PIN.INVALID"]


@pytest.mark.parametrize("present", [True, False])
@pytest.mark.parametrize("text", ["", "Package: *\nPin: release o=Debian\nPin-Priority: 1\n", f"\n{MARK}\n"])
def test_somebody_elses_file_is_left_alone(root, text, present):
    path(root).write_text(text)
    planned = pin.plan(FILE, [PIN], present=present, root=str(root))
    assert [finding.code for finding in planned.findings] == ["PIN.FOREIGN_FILE"]
    assert not planned.changed


def test_a_link_is_somebody_elses_even_to_a_file_of_this_project(root):
    write(root, [PIN])
    path(root).rename(root / "elsewhere")
    path(root).symlink_to(root / "elsewhere")
    planned = pin.plan(FILE, [{**PIN, "priority": 1}], root=str(root))
    assert [finding.code for finding in planned.findings] == ["PIN.FOREIGN_FILE"]


def test_the_remains_of_an_interrupted_write_do_no_harm(root):
    path(root).with_name(f".{path(root).name}.new").write_text("Package: half")
    write(root, [PIN])
    assert [entry.name for entry in path(root).parent.iterdir()] == [path(root).name]
