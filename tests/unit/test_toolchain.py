import hashlib
import json
import os
import shutil
import stat
import subprocess

import pytest
from halo.toolchain.store import apply, plan
from halo.toolchain.wanted import ToolchainError, request

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not on this machine")

LIBRARY = "usr/lib/llvm-17/lib/libc++.so.1"


def build(source, name, files, version="1:17.0.6-1", installed_size=10):
    """Make a real package, and return its entry in the manifest."""
    tree = source.parent / "tree" / name
    shutil.rmtree(tree, ignore_errors=True)
    for path, content in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            (tree / path).symlink_to(content[3:])
        else:
            (tree / path).write_text(content)
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: all\nInstalled-Size: {installed_size}\n"
        "Maintainer: Nobody <nobody@example.org>\nDescription: for a test\n"
    )
    filename = f"{name}.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(source / filename)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    data = (source / filename).read_bytes()
    return {
        "name": name,
        "version": version,
        "architecture": "all",
        "filename": filename,
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
        "origin": "Debian",
    }


@pytest.fixture
def source(tmp_path):
    directory = tmp_path / "debs"
    directory.mkdir()
    write_manifest(directory, usual(directory))
    return directory


def usual(directory, **changes):
    runtime = {LIBRARY + ".0": "library", LIBRARY: "-> libc++.so.1.0"}
    return [
        build(directory, "libc++-17-dev", {"usr/lib/llvm-17/include/c++/v1/cmath": "header"}, **changes),
        build(directory, "libc++1-17", runtime, **changes),
    ]


def write_manifest(directory, entries):
    (directory / "manifest.json").write_text(json.dumps(entries))


def wanted(source, **changes):
    options = {"name": "libc++-17", "major": 17, "prefix": str(source.parent / "prefix"), "source": str(source)}
    return request(**{**options, **changes})


def make(source, **changes):
    planned = plan(wanted(source, **changes))
    assert planned.findings == ()
    if planned.changed:
        apply(planned)
    return planned


def codes(planned):
    return [finding.code for finding in planned.findings]


def everything(directory):
    return {
        str(path.relative_to(directory)): (path.lstat().st_ino, path.lstat().st_mtime_ns)
        for path in directory.rglob("*")
    }


def test_a_plan_writes_nothing(source):
    before = everything(source.parent)
    planned = plan(wanted(source))
    assert planned.changed
    assert planned.after["packages"] == ["libc++-17-dev 1:17.0.6-1", "libc++1-17 1:17.0.6-1"]
    assert everything(source.parent) == before


def test_the_link_leads_to_what_the_packages_held(source):
    toolchain = make(source).toolchain
    assert toolchain.link.resolve() == toolchain.store
    assert (toolchain.link / LIBRARY).read_text() == "library"
    assert (toolchain.link / "usr/lib/llvm-17/include/c++/v1/cmath").read_text() == "header"
    assert not list(toolchain.prefix.glob(".*.new"))
    marker = json.loads((toolchain.store / "halo-toolchain.json").read_text())
    assert [(deb["name"], deb["origin"]) for deb in marker["debs"]] == [
        ("libc++-17-dev", "Debian"),
        ("libc++1-17", "Debian"),
    ]


def test_the_configuration_names_the_store_and_not_the_link_as_rpath(source):
    toolchain = make(source).toolchain
    lines = (toolchain.store / "clang.cfg").read_text().splitlines()
    assert f"-Wl,-rpath,{toolchain.store}/usr/lib/llvm-17/lib" in lines
    assert "-isystem <CFGDIR>/usr/lib/llvm-17/include/c++/v1" in lines
    assert not any("--sysroot" in line for line in lines)


def test_everybody_can_read_it_whatever_the_umask(source):
    previous = os.umask(0o077)
    try:
        toolchain = make(source, prefix=str(source.parent / "opt/halo/toolchain")).toolchain
    finally:
        os.umask(previous)
    for path in (toolchain.prefix.parent, toolchain.prefix, toolchain.store):
        assert stat.S_IMODE(path.stat().st_mode) == 0o755, path
    for name in ("clang.cfg", "halo-toolchain.json"):
        assert stat.S_IMODE((toolchain.store / name).stat().st_mode) == 0o644, name


def test_a_second_run_touches_nothing(source):
    make(source)
    prefix = source.parent / "prefix"
    before = everything(prefix)
    assert not make(source).changed
    assert everything(prefix) == before


def test_an_intact_store_does_not_need_the_packages_again(source):
    make(source)
    for deb in source.glob("*.deb"):
        deb.unlink()
    assert not make(source).changed


def test_new_packages_make_a_new_store_and_the_old_one_stays(source):
    old = make(source).toolchain
    write_manifest(source, usual(source, version="1:17.0.7-1"))
    planned = make(source)
    assert planned.before["packages"] == ["libc++-17-dev 1:17.0.6-1", "libc++1-17 1:17.0.6-1"]
    assert planned.toolchain.store != old.store
    assert planned.toolchain.link.resolve() == planned.toolchain.store
    assert (old.store / LIBRARY).read_text() == "library"
    assert plan(wanted(source)).kept == (old.store.name,)


def test_going_back_to_earlier_packages_only_moves_the_link(source, tmp_path):
    shutil.copytree(source, tmp_path / "earlier")
    earlier = make(source).toolchain
    inode = earlier.store.stat().st_ino
    write_manifest(source, usual(source, version="1:17.0.7-1"))
    make(source)
    planned = make(tmp_path / "earlier")
    assert planned.changed
    assert not planned.unpack
    assert earlier.link.resolve() == earlier.store
    assert earlier.store.stat().st_ino == inode


@pytest.mark.parametrize("change", [{"major": 18}, {"sha256": "0" * 64}, {"version": "2"}, {"architecture": "amd64"}])
def test_the_hash_depends_on_what_the_store_is_made_of(source, change):
    entries = json.loads((source / "manifest.json").read_text())
    before = wanted(source).hash
    major = change.pop("major", 17)
    entries[0].update(change)
    write_manifest(source, entries)
    assert wanted(source, major=major).hash != before


def test_the_hash_does_not_depend_on_the_order_or_on_file_names(source):
    entries = json.loads((source / "manifest.json").read_text())
    before = wanted(source).hash
    entries[0]["filename"] = "other.deb"
    write_manifest(source, entries[::-1])
    assert wanted(source).hash == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda store: (store / LIBRARY).unlink(),
        lambda store: (store / (LIBRARY + ".0")).write_text("short"),
        lambda store: shutil.rmtree(store / "usr/lib/llvm-17/include"),
        lambda store: (store / "clang.cfg").write_text("-stdlib=libstdc++\n"),
        lambda store: (store / "clang.cfg").unlink(),
        lambda store: (store / "halo-toolchain.json").write_text("{"),
        lambda store: (store / "halo-toolchain.json").unlink(),
    ],
    ids=["link gone", "file cut", "directory gone", "cfg changed", "cfg gone", "marker cut", "marker gone"],
)
def test_a_damaged_store_is_made_again(source, damage):
    toolchain = make(source).toolchain
    whole = sorted(str(path) for path in toolchain.store.rglob("*"))
    damage(toolchain.store)
    planned = make(source)
    assert planned.before["defect"]
    assert sorted(str(path) for path in toolchain.store.rglob("*")) == whole
    assert (toolchain.link / LIBRARY).read_text() == "library"
    assert not make(source).changed


def test_a_store_whose_link_is_gone_gets_it_back(source):
    toolchain = make(source).toolchain
    toolchain.link.unlink()
    planned = make(source)
    assert planned.changed
    assert not planned.unpack
    assert toolchain.link.resolve() == toolchain.store


def test_the_remains_of_an_interrupted_run_go_away(source):
    prefix = source.parent / "prefix"
    for name in (".libc++-17.new/usr", ".libc++-17.old/usr"):
        (prefix / name).mkdir(parents=True)
    (prefix / ".libc++-17.link").symlink_to("libc++-17-000000000000")
    make(source)
    assert sorted(path.name for path in prefix.iterdir()) == [
        ".libc++-17.lock",
        "libc++-17",
        wanted(source).store.name,
    ]


def test_remains_beside_a_whole_store_count_as_a_change_once(source):
    make(source)
    (source.parent / "prefix/.libc++-17.new").mkdir()
    assert make(source).changed
    assert not make(source).changed


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_what_somebody_else_put_at_the_link_stays(source, kind):
    place = source.parent / "prefix/libc++-17"
    place.parent.mkdir()
    if kind == "directory":
        place.mkdir()
    elif kind == "file":
        place.write_text("")
    else:
        place.symlink_to("/usr/lib/llvm-17")
    planned = plan(wanted(source))
    assert codes(planned) == ["TOOLCHAIN.PREFIX_OCCUPIED"]
    assert planned.findings[0].subject == str(place)


def test_what_somebody_else_put_at_the_store_stays(source):
    place = wanted(source).store
    place.mkdir(parents=True)
    (place / "precious").write_text("")
    assert codes(plan(wanted(source))) == ["TOOLCHAIN.PREFIX_OCCUPIED"]


def test_a_prefix_below_a_file(source):
    (source.parent / "file").write_text("")
    planned = plan(wanted(source, prefix=str(source.parent / "file/toolchain")))
    assert codes(planned) == ["TOOLCHAIN.PREFIX_OCCUPIED"]
    assert planned.findings[0].subject == str(source.parent / "file")


def test_a_package_that_is_not_the_one_that_was_planned(source):
    with (source / "libc++1-17.deb").open("ab") as stream:
        stream.write(b"x")
    planned = plan(wanted(source))
    assert codes(planned) == ["TOOLCHAIN.DEB_UNREADABLE"]
    assert planned.findings[0].subject == str(source / "libc++1-17.deb")


def test_every_missing_package_is_named(source):
    for deb in source.glob("*.deb"):
        deb.unlink()
    assert codes(plan(wanted(source))) == ["TOOLCHAIN.DEB_UNREADABLE"] * 2


def test_a_package_that_is_damaged_although_its_hash_is_right(source):
    deb = source / "libc++1-17.deb"
    # The end of the last member, so that its fields can still be read.
    data = deb.read_bytes()[:-6000]
    deb.write_bytes(data)
    entries = json.loads((source / "manifest.json").read_text())
    entries[1]["sha256"] = hashlib.sha256(data).hexdigest()
    write_manifest(source, entries)
    planned = plan(wanted(source))
    assert codes(planned) == []
    with pytest.raises(ToolchainError) as caught:
        apply(planned)
    assert [finding.code for finding in caught.value.findings] == ["TOOLCHAIN.DEB_UNREADABLE"]
    assert [path.name for path in planned.toolchain.prefix.iterdir()] == [".libc++-17.lock"]


def test_a_failure_leaves_the_current_toolchain_alone(source):
    current = make(source).toolchain
    write_manifest(source, usual(source, version="1:17.0.7-1"))
    planned = plan(wanted(source))
    (source / "libc++1-17.deb").write_bytes(b"garbage")
    with pytest.raises(ToolchainError):
        apply(planned)
    assert current.link.resolve() == current.store
    assert (current.link / LIBRARY).read_text() == "library"


def test_no_space_is_said_before_anything_is_unpacked(source):
    write_manifest(source, usual(source, installed_size=10**12))
    planned = plan(wanted(source))
    assert codes(planned) == ["TOOLCHAIN.NO_SPACE"]
    assert not planned.toolchain.prefix.exists()


def test_nothing_fetched_yet_is_a_finding_only_where_it_should_have_been(source):
    (source / "manifest.json").unlink()
    assert codes(plan(wanted(source))) == ["TOOLCHAIN.DEB_UNREADABLE"]
    ahead = plan(wanted(source), ahead=True)
    assert ahead.changed
    assert codes(ahead) == []


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '[{"name": "x"}]', "null"])
def test_a_damaged_manifest(source, text):
    (source / "manifest.json").write_text(text)
    with pytest.raises(ToolchainError) as caught:
        wanted(source)
    assert caught.value.findings[0].code == "TOOLCHAIN.DEB_UNREADABLE"


def test_a_manifest_that_leads_elsewhere(source):
    entries = json.loads((source / "manifest.json").read_text())
    entries[0]["filename"] = "../../etc/passwd"
    write_manifest(source, entries)
    with pytest.raises(ToolchainError):
        wanted(source)


@pytest.mark.parametrize(
    "change",
    [{"name": "../x"}, {"name": "lib c"}, {"major": 0}, {"prefix": "opt"}, {"prefix": "/opt/a b"}, {"prefix": "/a,b"}],
)
def test_what_cannot_stand_in_a_path_or_in_the_configuration(source, change):
    with pytest.raises(ToolchainError) as caught:
        wanted(source, **change)
    assert [finding.code for finding in caught.value.findings] == ["TOOLCHAIN.REQUEST_INVALID"]
