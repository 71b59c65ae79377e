"""What the proofs conclude from what they see; the compilers themselves are met in tests/integration/test_proof.py."""

import json
import math
from pathlib import Path

import pytest
from halo.apt.dpkgdb import read
from halo.findings import Finding
from halo.proof import cxx, ledger, packages, rocminfo
from halo.proof.evidence import first_errors, gcc_in_use, lacks_libstdcxx, libstdcxx_remedy, names_unknown_target
from halo.proof.programs import CXX_VALUES
from halo.proof.run import Outcome, run_clean

DATA = Path(__file__).parents[1] / "data" / "proof"


def outcome(stdout="", stderr="", rc=1, timed_out=False):
    return Outcome(("/usr/bin/tool",), rc, stdout, stderr, timed_out)


# --- running -----------------------------------------------------------------------------------------------------


def test_nothing_of_the_environment_is_inherited(tmp_path, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/rocm/lib")
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", "11.0.0")
    seen = run_clean(["/usr/bin/env"], tmp_path, 10).stdout
    assert sorted(line.split("=")[0] for line in seen.splitlines()) == [
        "HIP_PLATFORM",
        "HOME",
        "LC_ALL",
        "PATH",
        "TMPDIR",
    ]


def test_a_command_that_hangs_is_stopped_together_with_its_children(tmp_path):
    # A child that outlives the shell keeps its output open, so that reading it would last until the child is done.
    ran = run_clean(["/bin/sh", "-c", "(sleep 8; touch survived) & wait"], tmp_path, 1)
    assert ran.timed_out
    assert not (tmp_path / "survived").exists()
    assert "past its time" in first_errors(ran)


@pytest.mark.parametrize(("mode", "rc", "words"), [(None, 127, "No such file"), (0o644, 126, "Permission denied")])
def test_a_command_that_cannot_be_started(tmp_path, mode, rc, words):
    tool = tmp_path / "tool"
    if mode is not None:
        tool.write_text("#!/bin/sh\n")
        tool.chmod(mode)
    ran = run_clean([str(tool)], tmp_path, 10)
    assert ran.rc == rc
    assert words in first_errors(ran)


# --- evidence ----------------------------------------------------------------------------------------------------

MISSING_HEADER = """\
\x1b[1mmain.cpp:3:10: \x1b[0;1;31mfatal error: \x1b[0m'cmath' file not found
#include <cmath>
         ^~~~~~~
1 error generated.
"""
TARGET = "clang: error: invalid target ID 'gfx9999'; format is a processor name followed by ...\n"


def test_the_first_errors_of_a_compiler():
    assert first_errors(outcome(stderr=MISSING_HEADER)) == "main.cpp:3:10: fatal error: 'cmath' file not found"
    many = "".join(f"a.cpp:{n}:1: error: number {n}\nnote: here\n" for n in range(9))
    assert first_errors(outcome(stderr=many)).splitlines() == [f"a.cpp:{n}:1: error: number {n}" for n in range(3)]


def test_a_tool_that_says_nothing_like_an_error():
    assert first_errors(outcome(stderr="one\ntwo\nthree\nfour\n")) == "two\nthree\nfour"
    assert first_errors(outcome(rc=-11)) == "/usr/bin/tool exited with -11 and said nothing"


@pytest.mark.parametrize(
    ("evidence", "library", "target"),
    [
        ("main.cpp:3:10: fatal error: 'cmath' file not found", True, False),
        ("ld.lld: error: unable to find library -lstdc++", True, False),
        ("/usr/bin/ld: cannot find -lstdc++: No such file or directory", True, False),
        ("fatal error: 'hip/hip_runtime.h' file not found", False, False),
        (TARGET, False, True),
        ("error: use of undeclared identifier 'string'", False, False),
    ],
)
def test_what_an_error_means(evidence, library, target):
    assert lacks_libstdcxx(evidence) is library
    assert names_unknown_target(evidence) is target


def test_case_libstdcxx_dev_missing_for_newest_gcc(tmp_path):
    gcc = tmp_path / "usr/lib/gcc/x86_64-linux-gnu"
    assert gcc_in_use(tmp_path) is None
    for version, name in (("9", "crtbegin.o"), ("12", "crtbegin.o"), ("14", "crtbegin.o"), ("15", "plugin.o")):
        (gcc / version).mkdir(parents=True)
        (gcc / version / name).touch()
    # By number, not by letter; and 15 has no crtbegin.o, so clang passes it over.
    assert gcc_in_use(tmp_path) == 14
    assert libstdcxx_remedy(14).startswith("apt-get install libstdc++-14-dev ")


# --- the C++ program's answer ------------------------------------------------------------------------------------


def said(tmp_path, library="libc++", headers=170006, loaded=("libc++.so.1",), **values):
    for name in loaded:
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / name).touch()
    return {
        "library": library,
        "headers": headers,
        "loaded": [str(tmp_path / "lib" / name) for name in loaded],
        "values": {**CXX_VALUES, **values},
    }


@pytest.mark.parametrize(
    ("library", "headers", "major"),
    [
        ("libc++", 15006, 15),
        ("libc++", 14000, 14),
        ("libc++", 170006, 17),
        ("libc++", 210103, 21),
        ("libstdc++", 14, 14),
    ],
)
def test_the_major_of_the_headers(library, headers, major):
    assert cxx._major({"library": library, "headers": headers}) == major


def test_the_right_library(tmp_path):
    wanted = cxx.libcxx(17, "sysroot", tmp_path)
    assert cxx._wrong_library(said(tmp_path), wanted) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"headers": 180100}, ["headers: found libc++ 18, wanted libc++ 17"]),
        ({"library": "libstdc++", "headers": 17}, ["headers: found libstdc++ 17, wanted libc++ 17"]),
        ({"loaded": ()}, ["found no libc++.so"]),
        ({"loaded": ("libc++abi.so.1",)}, ["found no libc++.so"]),
    ],
)
def test_the_wrong_library(tmp_path, changes, words):
    wrong = cxx._wrong_library(said(tmp_path, **changes), cxx.libcxx(17, "sysroot", tmp_path))
    assert len(wrong) == len(words)
    assert all(word in line for word, line in zip(words, wrong, strict=True))


def test_a_link_below_the_prefix_to_another_library_is_the_wrong_library(tmp_path):
    prefix, elsewhere = tmp_path / "prefix", tmp_path / "elsewhere"
    (prefix / "lib").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "libc++.so.1").touch()
    (prefix / "lib" / "libc++.so.1").symlink_to(elsewhere / "libc++.so.1")
    answer = said(tmp_path, loaded=()) | {"loaded": [str(prefix / "lib" / "libc++.so.1")]}
    assert cxx._wrong_library(answer, cxx.libcxx(17, "sysroot", prefix)) == [
        f"loaded: found {elsewhere}/libc++.so.1, wanted one below {prefix}"
    ]


def test_mode_system_looks_where_the_package_of_that_major_has_it(tmp_path):
    llvm = tmp_path / "usr/lib/llvm-17/lib"
    llvm.mkdir(parents=True)
    (llvm / "libc++.so.1.0").touch()
    public = tmp_path / "usr/lib/x86_64-linux-gnu"
    public.mkdir(parents=True)
    (public / "libc++.so.1").symlink_to(llvm / "libc++.so.1.0")
    answer = said(tmp_path, loaded=()) | {"loaded": [str(public / "libc++.so.1")]}
    assert cxx._wrong_library(answer, cxx.libcxx(17, "system", Path("/unused"), tmp_path)) == []
    assert cxx._wrong_library(answer, cxx.libcxx(18, "system", Path("/unused"), tmp_path)) != []


@pytest.mark.parametrize(
    "ran",
    [
        outcome("", rc=0),
        outcome("no json", rc=0),
        outcome("{}", rc=0),
        outcome('{"values": [], "loaded": [], "headers": 14}', rc=0),
        outcome(json.dumps({"values": {}, "loaded": [], "headers": 14}), rc=-6),
    ],
)
def test_an_answer_that_is_none(ran):
    assert cxx._said(ran) is None


def test_values_must_be_the_same():
    assert cxx._same(math.gamma(0.5) * (1 + 1e-15), CXX_VALUES["tgamma"])
    assert not cxx._same(math.gamma(0.5) + 1e-9, CXX_VALUES["tgamma"])
    assert not cxx._same(None, 1)
    assert not cxx._same("17", 17)


def test_the_pinned_libstdcxx_is_the_one_among_the_packages():
    assert cxx.libstdcxx(["clang-17", "libstdc++-14-dev"]).major == 14
    assert cxx.libstdcxx(["clang-17"]).major is None


# --- records -----------------------------------------------------------------------------------------------------


class Attempts:
    """A proof whose outcome the test chooses, and which counts how often it was tried."""

    def __init__(self, error=None):
        self.count = 0
        self.error = error

    def __call__(self):
        self.count += 1
        if self.error:
            raise ledger.RefutedError(self.error)
        return "it holds"


FAILURE = Finding("PROOF.RUN_FAILED", "error", "x", "broken", "mend it")


def prove(directory, inputs, attempt, **options):
    book = ledger.Ledger(str(directory / "proofs"), **options)
    book.prove("x", inputs, attempt)
    return book


def test_a_proof_is_repeated_only_when_an_input_changes(tmp_path):
    attempt = Attempts()
    first = prove(tmp_path, {"clang": "17"}, attempt)
    assert (first.before, first.after["x"]["evidence"]) == ({"x": None}, "it holds")
    again = prove(tmp_path, {"clang": "17"}, attempt)
    assert attempt.count == 1
    assert again.findings[0].code == "PROOF.PASSED"
    assert again.findings[0].evidence == f"unchanged since {first.after['x']['proved']}: it holds"
    assert again.before == again.after == first.after
    prove(tmp_path, {"clang": "17.1"}, attempt)
    assert attempt.count == 2
    assert prove(tmp_path, {"clang": "17.1"}, attempt, force=True).findings[0].evidence == "it holds"
    assert attempt.count == 3


def test_a_failed_proof_is_never_recorded(tmp_path):
    attempt = Attempts(FAILURE)
    for count in (1, 2):
        book = prove(tmp_path, {}, attempt)
        assert (attempt.count, book.findings, book.after) == (count, [FAILURE], {"x": None})
    assert not (tmp_path / "proofs").exists()


def test_a_forced_proof_that_fails_voids_its_record(tmp_path):
    prove(tmp_path, {}, Attempts())
    assert prove(tmp_path, {}, Attempts(FAILURE), force=True).after == {"x": None}
    attempt = Attempts()
    prove(tmp_path, {}, attempt)
    assert attempt.count == 1


def test_check_mode_reads_records_and_writes_none(tmp_path):
    attempt = Attempts()
    assert prove(tmp_path, {}, attempt, check_mode=True).findings[0].evidence == "it holds"
    assert list(tmp_path.iterdir()) == []
    prove(tmp_path, {}, attempt)
    assert "unchanged" in prove(tmp_path, {}, attempt, check_mode=True).findings[0].evidence
    prove(tmp_path, {}, Attempts(FAILURE), check_mode=True, force=True)
    assert "unchanged" in prove(tmp_path, {}, attempt).findings[0].evidence


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"inputs": 1, "proved": "", "evidence": ""}', "\xff"])
def test_a_damaged_record_counts_as_none(tmp_path, text):
    attempt = Attempts()
    prove(tmp_path, {}, attempt)
    (tmp_path / "proofs" / "x.json").write_bytes(text.encode("latin-1"))
    book = prove(tmp_path, {}, attempt)
    assert (attempt.count, book.before["x"], book.findings[0].evidence) == (2, None, "it holds")
    assert "unchanged" in prove(tmp_path, {}, attempt).findings[0].evidence
    assert [path.name for path in (tmp_path / "proofs").iterdir()] == ["x.json"]


def test_a_record_that_cannot_be_written_does_not_lose_the_proof(tmp_path):
    (tmp_path / "proofs").write_text("a file where the directory belongs")
    book = prove(tmp_path, {}, Attempts())
    assert book.findings[0].code == "PROOF.PASSED"
    assert "not recorded" in book.findings[0].evidence


def test_the_state_of_a_file(tmp_path):
    real, link = tmp_path / "clang-17", tmp_path / "clang"
    assert ledger.file_state(link) == "absent"
    link.symlink_to(real)
    assert ledger.file_state(link) == "absent"
    real.write_text("a")
    before = ledger.file_state(link)
    assert before == ledger.file_state(real)
    real.write_text("ab")
    assert ledger.file_state(link) != before
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert ledger.file_state(tmp_path / "loop") == "absent"


def test_what_a_cxx_proof_rests_on(tmp_path):
    prefix, compiler = tmp_path / "store-1", tmp_path / "clang"
    for path in (prefix / "usr/lib", tmp_path / "etc/ld.so.conf.d"):
        path.mkdir(parents=True)
    (prefix / "usr/lib/libc++.so.1").write_text("1")
    (prefix / "clang.cfg").write_text("-stdlib=libc++")
    compiler.write_text("clang")
    (tmp_path / "libc++-17").symlink_to(prefix)

    def digest(installed=("clang-17:amd64",), mode="sysroot"):
        library = cxx.libcxx(17, mode, tmp_path / "libc++-17", tmp_path)
        return ledger.digest(cxx.inputs(compiler, library, dict.fromkeys(installed, "1 installed"), tmp_path))

    seen = [digest()]
    assert digest() == seen[0]

    def differs():
        seen.append(digest())
        return len(set(seen)) == len(seen)

    (prefix / "clang.cfg").write_text("-stdlib=libc++ -O3")
    assert differs()
    (prefix / "usr/lib/libc++.so.1").write_text("12")
    assert differs()
    (tmp_path / "etc/ld.so.conf.d/conda.conf").write_text("/opt/conda/lib\n")
    assert differs()
    compiler.write_text("clang, another")
    assert differs()
    prefix.rename(tmp_path / "store-2")
    (tmp_path / "libc++-17").unlink()
    (tmp_path / "libc++-17").symlink_to(tmp_path / "store-2")
    assert differs()
    (tmp_path / "store-2" / "clang.cfg").unlink()
    assert differs()
    assert digest(installed=("clang-17:amd64", "libgcc-15-dev:amd64")) not in seen
    assert digest(mode="system") not in seen


# --- rocminfo ----------------------------------------------------------------------------------------------------


def test_rocminfo_as_debian_13_prints_it_without_a_gpu():
    text = (DATA / "rocminfo-debian-13-no-gpu.txt").read_text()
    assert rocminfo.agents(text) == []
    for required, severity in ((False, "warning"), (True, "error")):
        (found,) = rocminfo.gpu_findings(outcome(text), "gfx1151", required)
        assert (found.code, found.severity) == ("GPU.ABSENT", severity)
        assert found.evidence == "/usr/bin/tool exited with 1: ROCk module is NOT loaded, possibly no GPU devices"


def stand_in():
    """No GPU is at hand: written by hand after outputs in public bug reports."""
    return (DATA / "rocminfo-gfx1151-stand-in.txt").read_text()


def test_rocminfo_with_a_gpu_and_an_npu():
    assert [(agent.name, agent.kind) for agent in rocminfo.agents(stand_in())] == [
        ("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", "CPU"),
        ("gfx1151", "GPU"),
        ("aie2", "DSP"),
    ]
    (found,) = rocminfo.gpu_findings(outcome(stand_in(), rc=0), "gfx1151", True)
    assert (found.code, found.severity) == ("PROOF.PASSED", "info")
    assert found.evidence == "/usr/bin/tool lists gfx1151"


def test_rocminfo_whose_lines_lost_their_trailing_blanks():
    trimmed = "\n".join(line.rstrip() for line in stand_in().splitlines())
    assert rocminfo.agents(trimmed) == rocminfo.agents(stand_in())


@pytest.mark.parametrize(("required", "severity"), [(False, "warning"), (True, "error")])
def test_rocminfo_with_another_gpu(required, severity):
    (found,) = rocminfo.gpu_findings(outcome(stand_in(), rc=0), "gfx1030", required)
    assert (found.code, found.severity) == ("GPU.GFX_DIFFERS", severity)
    assert "gfx1151" in found.evidence
    assert "gfx1151" in found.remedy


def test_rocminfo_that_lists_the_cpu_alone():
    text = stand_in().split("Agent 2")[0]
    (found,) = rocminfo.gpu_findings(outcome(text, rc=0), "gfx1151", False)
    assert (found.code, "no agent of type GPU" in found.evidence) == ("GPU.ABSENT", True)


def test_rocminfo_that_may_not_open_the_device():
    text = "\x1b[37mROCk module is loaded\x1b[0m\nUnable to open /dev/kfd read-write: Permission denied\n"
    (found,) = rocminfo.gpu_findings(outcome(text), "gfx1151", False)
    assert found.code == "GPU.ABSENT"
    assert "Permission denied" in found.evidence


def test_rocminfo_that_is_not_there(tmp_path):
    (found,) = rocminfo.look(tmp_path / "rocminfo", "gfx1151", False, tmp_path)
    assert (found.code, found.severity) == ("PROOF.ROCMINFO_ABSENT", "error")


# --- packages ----------------------------------------------------------------------------------------------------

STATUS = """\
Package: clang-17
Status: install ok installed
Architecture: amd64
Version: 1:17.0.6-22+b2

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.41-12

Package: hipcc
Status: hold ok installed
Architecture: amd64
Version: 5.7.1-6+deb13u1

Package: rocminfo
Status: install ok half-configured
Architecture: amd64
Version: 6.1.2-2

Package: rocm-smi
Status: deinstall ok config-files
Architecture: amd64
Version: 5.7.0-1
"""


@pytest.fixture
def database(tmp_path):
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)
    return read(str(tmp_path))


@pytest.mark.parametrize(
    ("wish", "evidence"),
    [
        ({"name": "clang-17", "version": "1:17.*"}, None),
        ({"name": "hipcc", "version": "5.7.1*"}, None),
        ({"name": "hipcc", "version": ""}, None),
        ({"name": "hipcc"}, None),
        ({"name": "clang-17", "version": "17.*"}, "1:17.0.6-22+b2 is installed, wanted 17.*"),
        ({"name": "hipcc", "version": ">= 6"}, "5.7.1-6+deb13u1 is installed, wanted >= 6"),
        ({"name": "rocminfo", "version": "6.1.2*"}, "6.1.2-2 is half-configured, wanted installed"),
        ({"name": "rocm-smi", "version": "5.7*"}, "not installed, wanted 5.7*"),
        ({"name": "libc6", "version": "2.41*"}, "not installed, wanted 2.41*"),
        ({"name": "libfoo"}, "not installed, wanted any version"),
    ],
)
def test_a_package_and_its_bound(database, wish, evidence):
    found = packages.differences([wish], database)
    assert [finding.evidence for finding in found] == ([evidence] if evidence else [])
    assert all((finding.code, finding.severity) == ("VERIFY.PACKAGE_DIFFERS", "error") for finding in found)


def test_a_bound_that_cannot_be_understood(database):
    with pytest.raises(ValueError, match="neither a prefix"):
        packages.differences([{"name": "hipcc", "version": "=="}], database)


def test_a_host_that_was_not_provisioned(database, tmp_path):
    assert packages.not_provisioned("C++", [], [tmp_path]) is None
    found = packages.not_provisioned("C++", packages.differences([{"name": "libfoo"}], database), [tmp_path / "clang"])
    assert (found.code, found.severity, found.subject) == ("PROOF.NOT_PROVISIONED", "info", "C++")
    assert found.evidence == f"libfoo: not installed, wanted any version\n{tmp_path}/clang does not exist"


def test_of_a_host_that_lacks_much_a_few_lines_are_enough(database, tmp_path):
    for count, last in ((3, "/2 does not exist"), (4, "and 2 more"), (12, "and 10 more")):
        found = packages.not_provisioned("C++", [], [tmp_path / str(number) for number in range(count)])
        assert len(found.evidence.splitlines()) == 3
        assert found.evidence.endswith(last)


SIMULATED = """\
Reading package lists...
The following packages will be upgraded:
  bash clang-17 hipcc
Inst bash [5.2.15-2] (5.2.15-3 Debian:13.8/stable [amd64])
Inst clang-17 [1:17.0.6-22+b2] (1:17.0.6-23 Debian:13.8/stable [amd64])
Inst libfresh (1.0 Debian:13.8/stable [amd64])
Inst hipcc [5.7.1-6+deb13u1] (5.7.1-6+deb13u2 Debian:13.8/stable [amd64]) []
Inst libc6:i386 [2.41-12] (2.42-1 Debian:14/testing [i386])
Remv libamdhip64-5 [5.7.1-6+deb13u1]
Conf bash (5.2.15-3 Debian:13.8/stable [amd64])
Conf hipcc (5.7.1-6+deb13u2 Debian:13.8/stable [amd64])
"""


def upgraded(rocm_set, *wished, pins_written=True):
    found = packages.upgrade_findings(packages.changes(SIMULATED), wished, rocm_set, pins_written)
    assert all(finding.code == "VERIFY.UPGRADE_WOULD_CHANGE" for finding in found)
    return {finding.subject: finding.severity for finding in found}


def test_what_an_upgrade_would_do():
    assert [(change.name, change.new) for change in packages.changes(SIMULATED)] == [
        ("bash", "5.2.15-3"),
        ("clang-17", "1:17.0.6-23"),
        ("hipcc", "5.7.1-6+deb13u2"),
        ("libc6", "2.42-1"),
        ("libamdhip64-5", None),
    ]


def test_an_upgrade_must_leave_the_rocm_set_alone():
    assert upgraded(["hipcc", "libamdhip64-*"]) == {"hipcc": "error", "libamdhip64-5": "error"}
    assert upgraded(["hipcc"], {"name": "hipcc", "version": "5.7.1*"}) == {"hipcc": "error"}
    assert upgraded(["librocblas*"]) == {}


def test_an_upgrade_may_move_the_toolchain_within_its_bounds():
    assert upgraded([], {"name": "clang-17", "version": "1:17.*"}) == {"clang-17": "info"}
    assert upgraded([], {"name": "libc6", "version": "2.41*"}) == {"libc6": "error"}
    assert upgraded([], {"name": "libamdhip64-5", "version": ""}) == {"libamdhip64-5": "error"}


def test_before_the_pins_are_written_an_upgrade_is_a_warning():
    assert upgraded(["hipcc"], pins_written=False) == {"hipcc": "warning"}
