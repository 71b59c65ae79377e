"""Descriptions of the test archive's packages: loops, checks, control files."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.archive.build import HERE, load_packages
from tests.archive.deb import conffiles, control_text, stanza
from tests.archive.description import DescriptionError, Package, Place, parse, size_bytes
from tests.archive.elf import Compiler, version_script
from tests.archive.publish import load_archives


def described(text: str, directory: Path = Path()) -> list[Package]:
    """Return the packages of a description, with a place to be published where it names none."""
    data = yaml.safe_load(text)
    data.setdefault("publish", [{"archive": "a", "suite": "s"}])
    return parse(data, directory / "some.yml")


def one(fields: str) -> Package:
    """Return a package with some fields besides those that it must have."""
    (package,) = described(f'packages: [{{name: pkg, version: "1.0", description: x, {fields}}}]')
    return package


def test_loops_make_every_combination_and_rows_have_columns() -> None:
    packages = described(
        """
        foreach: {os: [{codename: jammy, number: "22.04"}, {codename: noble, number: "24.04"}]}
        publish: [{archive: legacy, suite: "${os.codename}"}]
        vars: {base: "7.2"}
        packages:
          - {name: plain, version: "${base}~${os.number}", description: x}
          - name: lib-${gfx}
            foreach: {gfx: [gfx1, [gfx2, gfx3]]}
            version: "1"
            description: for ${gfx}
        """
    )
    assert [(p.name, p.version, p.targets[0].suite) for p in packages] == [
        ("plain", "7.2~22.04", "jammy"),
        ("lib-gfx1", "1", "jammy"),
        ("lib-gfx2", "1", "jammy"),
        ("lib-gfx3", "1", "jammy"),
        ("plain", "7.2~24.04", "noble"),
        ("lib-gfx1", "1", "noble"),
        ("lib-gfx2", "1", "noble"),
        ("lib-gfx3", "1", "noble"),
    ]


def test_an_item_of_a_list_is_repeated() -> None:
    package = one('depends: [first, {foreach: {part: [a1, b2]}, item: "x-${part} (= 1)"}, last]')
    assert package.control["Depends"] == "first, x-a1 (= 1), x-b2 (= 1), last"


def test_shell_variables_in_scripts_are_left_alone() -> None:
    package = one('scripts: {postinst: "#!/bin/sh\\necho $1 ${DPKG_ROOT:-} $ORIGIN"}')
    assert package.scripts["postinst"] == "#!/bin/sh\necho $1 ${DPKG_ROOT:-} $ORIGIN"


@pytest.mark.parametrize(
    ("fields", "key", "message"),
    [
        ("depend: [libc6]", "pkg", "unknown key depend; known are"),
        ('section: "${nope}"', "key section", "no variable ${nope}; there are none"),
        ("depends: libc6", "key depends", "must be a list"),
        ('depends: ["libc6 >= 2"]', "key depends", "'libc6 >= 2' is no relation"),
        ('depends: ["aa | B"]', "key depends", "'B' is no relation"),
        ("architecture: x86", "key architecture", "neither amd64 nor all"),
        ("foreach: {gfx: []}", "key foreach", "lists that are not empty"),
        ("scripts: {postinst: echo}", "key scripts.postinst", "starts with #!"),
        ("scripts: {config: '#!'}", "key scripts", "unknown key config"),
        ("files: {usr/x: y}", "key files.usr/x", "no absolute path"),
        ("files: {/usr/../x: y}", "key files./usr/../x", "no absolute path"),
        ("files: {/x: {content: y, size: 1}}", "key files./x", "needs exactly one of"),
        ("files: {/x: {mode: '0644'}}", "key files./x", "has none"),
        ("files: {/x: {content: y, mode: 644}}", "key files./x.mode", "is no mode"),
        ("files: {/x: {size: 3 parsecs}}", "key files./x.size", "is no size"),
        ("files: {/x: {elf: {nodes: {}}}}", "key files./x.elf", "needs a soname"),
        ("files: {/x: {from: nowhere}}", "key files./x.from", "No such file"),
        ("index_only: 1 GB, files: {/x: y}", "key index_only", "has neither files nor scripts"),
        ("publish: []", "key publish", "must name the archives and suites"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(fields: str, key: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        one(fields)
    said = str(caught.value)
    assert said.startswith("some.yml, package pkg")
    assert key in said
    assert message in said


def test_a_version_that_yaml_took_for_a_number_is_refused() -> None:
    with pytest.raises(
        DescriptionError, match=r"some\.yml, package pkg, key version: 7\.2 is no version; write it in quotes"
    ):
        described("packages: [{name: pkg, version: 7.2, description: x}]")


def test_a_package_twice_in_one_suite_is_refused() -> None:
    twice = 'packages: [{name: pkg, version: "1", description: x}, {name: pkg, version: "1", description: y}]'
    with pytest.raises(DescriptionError, match=r"some\.yml, package pkg: described twice for a/s"):
        described(twice)


def test_sizes_have_units() -> None:
    place = Place("f")
    assert [size_bytes(value, place) for value in (7, "64 KiB", "1.5 GB")] == [7, 65536, 1_500_000_000]


def test_control_file() -> None:
    package = one(
        'source: src, pre_depends: [a1], depends: [b2, "c3 | d4 (>= 2:1.0~x)"], provides: ["v5 (= 3)"],'
        ' conflicts: [e6], breaks: [f7], replaces: [g8], recommends: [h9], description: "short\\nlong\\n\\nmore"'
    )
    assert control_text(package, 12).splitlines() == [
        "Package: pkg",
        "Source: src",
        "Version: 1.0",
        "Architecture: amd64",
        "Maintainer: halo-provision test archive <nobody@example.invalid>",
        "Pre-Depends: a1",
        "Depends: b2, c3 | d4 (>= 2:1.0~x)",
        "Recommends: h9",
        "Breaks: f7",
        "Conflicts: e6",
        "Replaces: g8",
        "Provides: v5 (= 3)",
        "Section: devel",
        "Priority: optional",
        "Installed-Size: 12",
        "Description: short",
        " long",
        " .",
        " more",
    ]


def test_files_below_etc_are_conffiles() -> None:
    package = one("files: {/etc/a.conf: x, /etc/link: {symlink: a.conf}, /usr/share/etc/b: y}")
    assert conffiles(package) == "/etc/a.conf\n"


def test_a_package_in_the_index_alone_claims_its_size() -> None:
    lines = stanza(one("index_only: 450 MB, installed_size: 1 GiB"), "pool/main/pkg_1.0_amd64.deb").splitlines()
    assert "Size: 450000000" in lines
    assert f"Installed-Size: {1024 * 1024}" in lines
    assert "Filename: pool/main/pkg_1.0_amd64.deb" in lines


def test_version_nodes_follow_one_another() -> None:
    assert version_script({"hip_4.2": ["a", "b"], "hip_5.0": ["c"]}) == (
        "hip_4.2 { global: a; b; local: *; };\nhip_5.0 { global: c; } hip_4.2;\n"
    )


def test_an_elf_file_is_what_its_description_says(tmp_path: Path) -> None:
    spec = {
        "soname": "libamdhip64.so.7",
        "nodes": {"hip_4.2": ["hipMalloc"], "hip_6.0": ["hipPointerGetAttributes"]},
        "needs": {"libhsa-runtime64.so.1": {"ROCR_1": ["hsa_init"]}},
        "runpath": "$ORIGIN",
    }
    library = tmp_path / "lib.so"
    library.write_bytes(Compiler(tmp_path).compiled("elf", spec))
    command = ["readelf", "--wide", "--dynamic", "--version-info", "--dyn-syms", str(library)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for expected in (
        "Library soname: [libamdhip64.so.7]",
        "Shared library: [libhsa-runtime64.so.1]",
        "Library runpath: [$ORIGIN]",
        "hipMalloc@@hip_4.2",
        "hipPointerGetAttributes@@hip_6.0",
        "UND hsa_init@ROCR_1",
        "Name: ROCR_1",
    ):
        assert expected in said
    assert "stub-" not in said


# What follows is about the descriptions that are there.


@pytest.fixture(scope="module")
def packages() -> list[Package]:
    archives, _ = load_archives(HERE / "archives.yml")
    return load_packages(HERE / "packages", archives)


def in_suite(packages: list[Package], archive: str, suite: str) -> dict[str, list[Package]]:
    """Return what a suite has, by name."""
    found: dict[str, list[Package]] = {}
    for package in packages:
        if any(target.archive == archive and target.suite == suite for target in package.targets):
            found.setdefault(package.name, []).append(package)
    return found


def exact(package: Package) -> Iterator[tuple[str, str]]:
    """Yield the names and versions that a package depends on exactly."""
    for relation in package.control.get("Depends", "").split(", "):
        name, found, version = relation.partition(" (= ")
        if found:
            yield name, version.rstrip(")")


def test_every_exact_dependency_is_there(packages: list[Package]) -> None:
    seen = 0
    for archive, suite in {(target.archive, target.suite) for package in packages for target in package.targets}:
        there = in_suite(packages, archive, suite)
        for package in (package for versions in there.values() for package in versions):
            for name, version in exact(package):
                seen += 1
                assert version in [found.version for found in there.get(name, [])], (archive, suite, package.name, name)
    assert seen > 500


@pytest.mark.parametrize(
    ("codename", "name"),
    [
        ("noble", "rocminfo"),
        ("noble", "hipcc"),
        ("noble", "rocm-cmake"),
        ("jammy", "rocminfo"),
        ("jammy", "rocm-cmake"),
    ],
)
def test_case_distro_package_outranks(packages: list[Package], codename: str, name: str) -> None:
    (ours,) = in_suite(packages, "ubuntu", codename)[name]
    (amds,) = in_suite(packages, "legacy-7.2.4", codename)[name]
    assert amds.version.endswith({"noble": "70204-93~24.04", "jammy": "70204-93~22.04"}[codename])
    assert subprocess.run(["dpkg", "--compare-versions", ours.version, "gt", amds.version], check=False).returncode == 0
    wants = in_suite(packages, "legacy-7.2.4", codename)[
        "rocm-hip-runtime" if name == "rocminfo" else "rocm-hip-runtime-dev"
    ]
    assert (name, amds.version) in exact(wants[0])


def test_case_unversioned_meta_brings_every_gfx(packages: list[Package]) -> None:
    there = {name: versions[0] for name, versions in in_suite(packages, "amdrocm-ubuntu2404", "stable").items()}

    def closure(start: str) -> set[str]:
        todo, done = [start], set[str]()
        while todo:
            name = todo.pop()
            if name in there and name not in done:
                done.add(name)
                todo += [
                    each.split()[0] for each in there[name].control.get("Depends", "").replace("|", ",").split(",")
                ]
        return done

    def megabytes(names: set[str]) -> float:
        return sum(there[name].index_only or 0 for name in names) / 1e6

    everything, one_gpu = closure("amdrocm-core-dev"), closure("amdrocm-core-dev10.0-gfx1151")
    assert len({name.rpartition("gfx")[2] for name in everything if "gfx" in name}) == 25
    assert {name.rpartition("gfx")[2] for name in one_gpu if "gfx" in name} == {"1151"}
    assert megabytes(everything) > 10_000
    assert megabytes(one_gpu) == 0


def test_an_unknown_suite_is_refused(tmp_path: Path) -> None:
    archives, _ = load_archives(HERE / "archives.yml")
    data: dict[str, Any] = {"publish": [{"archive": "ubuntu", "suite": "focal"}]}
    data["packages"] = [{"name": "pkg", "version": "1", "description": "x"}]
    (tmp_path / "x.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    with pytest.raises(DescriptionError, match=r"package pkg: no suite ubuntu/focal; there are .*ubuntu/noble"):
        load_packages(tmp_path, archives)
