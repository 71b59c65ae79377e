"""Reading stack files: what a mistake in one is reported as, and what the shipped ones hold."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from halo import stack_file

STACKS = Path(__file__).parents[2] / "stacks"
TEXT = (STACKS / "distro.yml").read_text()


def line_of(text: str, marker: str) -> int:
    return text[: text.index(marker)].count("\n") + 1


def load(directory: Path, text: str | bytes, name: str = "distro.yml") -> list[tuple[str, str]]:
    """Return subject, without its directory, and evidence of each finding."""
    path = directory / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    stack, findings = stack_file.load(path)
    assert (stack is None) == bool(findings)
    assert {finding.code for finding in findings} <= {"STACK.INVALID"}
    assert all(finding.remedy and finding.severity == "error" for finding in findings)
    return [(finding.subject.replace(f"{directory}/", ""), finding.evidence) for finding in findings]


@pytest.mark.parametrize(
    ("old", "new", "path", "expected"),
    [
        (
            'version: "13"',
            "version: 13",
            "os[0].version",
            "the number 13 (without quotes), expected a release number in",
        ),
        ('version: "26.04"', "version: 26.04", "os[2].version", "the number 26.04 (without quotes)"),
        ('release: "5.7.1"', "release: 5.7", "os[0].rocm.release", "the number 5.7 (without quotes)"),
        ("channel: distro", "channel: distros", "channel", "one of distro, amdrocm, legacy"),
        ("schema: 1", "schema: 2", "schema", "the number 2"),
        ("names_verified: false", "names_verified: maybe", "os[2].names_verified", "'maybe', expected true where"),
        ("hipcc: /usr/bin/hipcc", "hipcc: bin/hipcc", "os[0].rocm.hipcc", "expected an absolute path, or null"),
        ("gfx: [gfx1151]", "gfx: []", "os[2].rocm.gfx", "an empty list, expected a list of gfx targets"),
        ("gfx: [gfx1151]", "gfx: [gfx1151, gfx1151]", "os[2].rocm.gfx", "each once"),
        ("gfx: [gfx1151]", "gfx: [gfx1151, 1151]", "os[2].rocm.gfx[1]", "the number 1151"),
        ("gfx: [gfx1151]", "gfx: gfx1151", "os[2].rocm.gfx", "'gfx1151', expected a list"),
        ("origin: Ubuntu", "origin:", "os[2].rocm.origin", "it is empty"),
        ("title: ROCm", "titel: ROCm", "titel", "unknown key, did you mean 'title'"),
        ("major: 15", 'major: "15"', "os[1].toolchain.libcxx.major", "LLVM's major version, without quotes"),
        ("kernel: rdna3.5", "kernel: [{}]", "kernel[0]", "the key 'rocm' is missing"),
        ("        runtime:\n", "        runtimes:\n", "os[0].rocm.components", "the key 'runtime' is missing"),
        (
            'version: "1:15.*"}',
            'version: "1:15.0.6-4"}',
            "os[1].toolchain.packages[0].version",
            "never an exact",
        ),
        (
            '{name: hipcc, version: "5.7.1*"}',
            "hipcc",
            "os[0].rocm.components.runtime[1]",
            "'hipcc', expected a package as",
        ),
        ('{name: hipcc, version: "5.7.1*"}', '{name: hip cc, version: "5*"}', "runtime[1].name", "'hip cc'"),
        ("verified: true", "verified: false", None, None),
        ('date: "2026-11-30"', "date: 2026-11-30", None, None),
    ],
)
def test_a_mistake_is_told_with_line_path_and_what_was_expected(
    tmp_path: Path, old: str, new: str, path: str | None, expected: str | None
) -> None:
    assert old in TEXT
    text = TEXT.replace(old, new, 1)
    findings = load(tmp_path, text)
    if expected is None:
        assert findings == []
        return
    assert path is not None
    subject, evidence = next(found for found in findings if expected in found[1])
    assert path in evidence
    if "missing" not in expected:  # a missing key has the line of what lacks it
        assert subject == f"distro.yml:{line_of(TEXT, old)}"


def test_names_verified_needs_a_fact_that_was_verified(tmp_path: Path) -> None:
    head, debian_13, rest = re.split(r"(?=  - id: )", TEXT, maxsplit=2)
    text = (
        head
        + debian_13.replace("verified: true\n      -", "verified: false\n      -").replace(
            "verified: true\n    rocm", "verified: false\n    rocm"
        )
        + rest
    )
    ((subject, evidence),) = load(tmp_path, text)
    assert "os[0].facts" in evidence
    assert "names_verified is true" in evidence
    assert subject.startswith("distro.yml:")


def test_a_key_that_stands_twice(tmp_path: Path) -> None:
    assert load(tmp_path, TEXT + "title: again\n") == [
        (f"distro.yml:{TEXT.count(chr(10)) + 1}", "no valid YAML: the key 'title' stands here a second time")
    ]
    nested = TEXT.replace("origin: Ubuntu", "origin: Ubuntu\n      origin: Debian")
    ((subject, _),) = load(tmp_path, nested)
    assert subject == f"distro.yml:{line_of(nested, 'origin: Ubuntu') + 1}"


@pytest.mark.parametrize(
    ("text", "subject", "expected"),
    [
        ("", "distro.yml", "it is empty"),
        ("# only a comment\n", "distro.yml", "it is empty"),
        ("- a\n- b\n", "distro.yml", "a list of 2, expected keys and values"),
        ("just words\n", "distro.yml", "'just words', expected keys and values"),
        ("a: [\n", "distro.yml:2", "no valid YAML"),
        ("a: b\n\tc: d\n", "distro.yml:2", "no valid YAML"),
        ("a: b\n---\nc: d\n", "distro.yml:2", "no valid YAML"),
        ("a: !!python/object:os.system {}\n", "distro.yml:1", "no valid YAML"),
        ("a: *nowhere\n", "distro.yml:1", "undefined alias"),
        ("? [a]\n: 1\n", "distro.yml:1", "no valid YAML"),
        ("a: \x01\n", "distro.yml", "special characters"),
        (b"a: b\nc: \xff\n", "distro.yml:2", "no UTF-8"),
        ("[" * 3000, "distro.yml", "nested too deeply"),
        (TEXT.replace("os:\n", "os: &os\n  - *os\n", 1), "distro.yml", ""),
    ],
)
def test_what_is_no_stack_at_all(tmp_path: Path, text: str | bytes, subject: str, expected: str) -> None:
    findings = load(tmp_path, text)
    assert findings[0][0].startswith(subject)
    assert expected in findings[0][1]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path, expected in ((tmp_path / "none.yml", "No such file"), (tmp_path, "Is a directory")):
        stack, (finding,) = stack_file.load(path)
        assert stack is None
        assert expected in finding.evidence


def test_the_name_must_be_the_files(tmp_path: Path) -> None:
    (found,) = load(tmp_path, TEXT, "mine.yml")
    assert found == (
        f"mine.yml:{line_of(TEXT, 'name: distro')}",
        "name: it is 'distro', expected the file's own name, 'mine'",
    )


def test_a_mistake_in_a_part_is_told_with_the_parts_file_and_line(tmp_path: Path) -> None:
    for kind, name, old, new, where in (
        ("kernels", "rdna3.5", "verdict: unsupported", "verdict: broken", "kernel[1].verdict"),
        ("toolchains", "ubuntu-26.04", "major: 21", 'major: "21"', "os[2].toolchain.libcxx.major"),
    ):
        part = tmp_path / kind / f"{name}.yml"
        part.parent.mkdir()
        shipped = (STACKS / kind / part.name).read_text()
        part.write_text(shipped.replace(old, new, 1))
        findings = load(tmp_path, TEXT)
        assert findings[0][0] == f"{kind}/{part.name}:{line_of(shipped, old)}"
        assert findings[0][1].startswith(f"{where}: ")
        part.unlink()
    part.write_text("cc: [\n")
    assert load(tmp_path, TEXT)[0][0] == "toolchains/ubuntu-26.04.yml:2"


@pytest.mark.parametrize("name", ["ubuntu-26.4", "../distro", "kernels/rdna3.5", "1"])
def test_a_part_that_does_not_exist_names_those_that_do(tmp_path: Path, name: str) -> None:
    (tmp_path / "distro.yml").write_text(TEXT.replace("toolchain: ubuntu-26.04", f"toolchain: {name}"))
    stack, (finding,) = stack_file.load(tmp_path / "distro.yml")
    assert stack is None
    assert finding.subject == f"{tmp_path}/distro.yml:{line_of(TEXT, 'toolchain: ubuntu-26.04')}"
    assert f"there is no toolchains/{name}.yml" in finding.evidence
    assert "ubuntu-22.04, ubuntu-24.04, ubuntu-26.04" in finding.remedy


def test_an_os_release_may_stand_once_only(tmp_path: Path) -> None:
    ((_, evidence),) = load(tmp_path, TEXT.replace('version: "12"', 'version: "13"'))
    assert evidence == "os[1]: Debian 13 has an entry already"


def test_many_mistakes_do_not_flood(tmp_path: Path) -> None:
    assert len(load(tmp_path, TEXT.replace("gfx1", "gpx1"))) == stack_file.MOST


def test_mistakes_elsewhere_are_warnings_when_a_stack_is_named(tmp_path: Path) -> None:
    (tmp_path / "distro.yml").write_text(TEXT)
    (tmp_path / "broken.yml").write_text("")
    for wanted, severity in (("auto", "error"), ("broken", "error"), ("distro", "warning")):
        stacks, findings = stack_file.load_all(tmp_path, wanted)
        assert [stack["name"] for stack in stacks] == ["distro"]
        assert [(finding.code, finding.severity) for finding in findings] == [("STACK.INVALID", severity)]


def test_a_directory_without_stacks(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "absent"):
        stacks, (finding,) = stack_file.load_all(directory)
        assert stacks == []
        assert finding.code == "STACK.INVALID"


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(stack_file.schema())


def test_the_schema_closes_every_mapping() -> None:
    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if "properties" in node and "type" in node:
                assert node.get("additionalProperties") is False, node
            for value in node.values():
                walk(value)

    walk(stack_file.schema())


SHIPPED, _findings = stack_file.load_all(STACKS)
ENTRIES = [(stack, entry) for stack in SHIPPED for entry in stack["os"]]


def test_the_shipped_stacks_are_valid() -> None:
    assert [finding.text() for finding in _findings] == []
    assert [stack["name"] for stack in SHIPPED] == stack_file.names(STACKS)


@pytest.mark.parametrize(("stack", "entry"), ENTRIES, ids=[f"{s['name']}-{e['id']}-{e['version']}" for s, e in ENTRIES])
class TestEveryEntry:
    """What the schema cannot say."""

    def test_the_set_holds_every_package_of_the_components(self, stack: Any, entry: Any) -> None:
        for component in entry["rocm"]["components"].values():
            for package in component:
                assert any(fnmatchcase(package["name"], glob) for glob in entry["rocm"]["set"]), package

    def test_the_set_leaves_other_software_alone(self, stack: Any, entry: Any) -> None:
        for name in ("libamd3", "libroc0.4", "librocksdb-dev", "libc6", "clang-17", "libdrm-amdgpu1", "libhipi-perl"):
            assert not any(fnmatchcase(name, glob) for glob in entry["rocm"]["set"]), name

    def test_the_conflicts_reach_every_libcxx_package_and_no_other_libunwind(self, stack: Any, entry: Any) -> None:
        libcxx = entry["toolchain"]["libcxx"]
        for name in [*libcxx["packages"], "libc++-18-dev", "libc++1-18", "libc++abi1-17t64", "libunwind-18-dev"]:
            assert any(fnmatchcase(name, glob) for glob in libcxx["conflicts"]), name
        for name in ("libunwind8", "libunwind-setjmp0", "libc++-17-dev-wasm32", "libstdc++-14-dev"):
            assert not any(fnmatchcase(name, glob) for glob in libcxx["conflicts"]), name

    def test_one_compiler_one_libcxx(self, stack: Any, entry: Any) -> None:
        toolchain = entry["toolchain"]
        major = toolchain["libcxx"]["major"]
        assert toolchain["cxx"].endswith(f"clang++-{major}")
        assert toolchain["cc"].endswith(f"clang-{major}")
        assert f"clang-{major}" in [package["name"] for package in toolchain["packages"]]
        assert len(toolchain["libcxx"]["packages"]) == 6
        assert all(str(major) in name for name in toolchain["libcxx"]["packages"])

    def test_an_archive_of_its_own_goes_with_another_origin(self, stack: Any, entry: Any) -> None:
        own = entry["rocm"]["origin"] != entry["toolchain"]["origin"]
        assert ("archive" in entry, "apu" in entry, stack["channel"] != "distro") == (own, own, own)

    def test_what_is_replaced_by_name_is_wished_for_by_name(self, stack: Any, entry: Any) -> None:
        # On the second run an absent wish would reach the stack's own package of that name, unless it is wished for.
        # These globs of the legacy set reach names that AMD's archive does not have.
        theirs = {"rocm-smi", "hipify-perl", "rocm-device-libs-[0-9]*"}
        wished = {package["name"] for component in entry["rocm"]["components"].values() for package in component}
        for name in set(entry["rocm"].get("replaces", [])) - theirs - wished:
            assert not any(fnmatchcase(name.rstrip("*"), glob) for glob in entry["rocm"]["set"]), name

    def test_packages_for_one_gpu_are_named_so(self, stack: Any, entry: Any) -> None:
        metas = entry["rocm"].get("metas", [])
        assert all("{gfx}" in meta["instead"] and "{gfx}" not in meta["name"] for meta in metas)
        wished = {package["name"] for component in entry["rocm"]["components"].values() for package in component}
        assert not wished & {meta["name"] for meta in metas}

    def test_a_release_that_has_no_ryzen_is_refused_or_supported_but_never_forgotten(
        self, stack: Any, entry: Any
    ) -> None:
        if stack["channel"] != "distro":
            assert (entry["apu"] == "supported") == (entry["version"] in ("24.04", "26.04"))

    def test_library_targets_are_known_to_the_compiler(self, stack: Any, entry: Any) -> None:
        assert set(entry["rocm"].get("library_gfx", [])) <= set(entry["rocm"]["gfx"])
