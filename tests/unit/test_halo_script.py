"""./halo in a checkout of its own whose lock is empty: a real .venv is made in seconds, and without a network."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.images import build

ROOT = Path(__file__).resolve().parents[2]

BROKEN = "#!/bin/sh\necho 'pyenv: command not found' >&2\nexit 127\n"
TOO_OLD = '#!/bin/sh\n[ "$1" = -c ] && { echo 3.10; exit 1; }\nexit 0\n'
SHOW_ARGUMENTS = "import json, sys\nprint(json.dumps(sys.argv[1:]))\nsys.exit(7)\n"


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class Checkout:
    """As much of a checkout as ./halo needs, and the directory of stand-ins that come first on PATH."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stand_ins = path.parent / f"{path.name}-bin"
        for name in ("halo", "tests/images/system.sh"):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path / name)
        for name in ("requirements.txt", "requirements-dev.txt"):
            (path / name).write_text("# nothing to install\n", encoding="utf-8")
        for name in ("__init__.py", "__main__.py"):
            script(path / "module_utils/halo" / name, SHOW_ARGUMENTS if name == "__main__.py" else "")
        # The newest does not run, the next is too old, the third is real.
        script(self.stand_ins / "python3.14", BROKEN)
        script(self.stand_ins / "python3.13", TOO_OLD)
        script(self.stand_ins / "python3.12", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')

    def run(self, *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.stand_ins}:/usr/bin:/bin"  # none of the tools that run this test
        return subprocess.run(
            [str(self.path / "halo"), *arguments],
            cwd=cwd or self.path,
            env={**os.environ, "PATH": path, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a checkout whose .venv the first test makes and the others use."""
    return Checkout(tmp_path_factory.mktemp("a checkout"))  # with a space in its path


def test_takes_the_newest_python_that_really_runs_and_finishes_what_was_interrupted(checkout):
    left = checkout.path / ".venv/left-over"
    script(left, "")
    done = checkout.run("frobnicate", "--x", "a b")
    assert "making .venv from requirements.txt" in done.stderr
    assert not left.exists()
    config = (checkout.path / ".venv/pyvenv.cfg").read_text(encoding="utf-8")
    assert (
        f"home = {Path(sys.executable).resolve().parent}" in config or f"home = {Path(sys.base_prefix)}/bin" in config
    )
    # What halo does not know it passes on to the package, and its answer back.
    assert (json.loads(done.stdout), done.returncode) == (["frobnicate", "--x", "a b"], 7)


def test_leaves_a_complete_venv_alone_and_says_nothing(checkout):
    made = (checkout.path / ".venv/pyvenv.cfg").stat().st_mtime_ns
    done = checkout.run("frobnicate", cwd=checkout.path.parent)
    assert (done.returncode, done.stderr) == (7, "")
    assert (checkout.path / ".venv/pyvenv.cfg").stat().st_mtime_ns == made


def test_makes_the_venv_anew_when_its_python_has_gone(checkout):
    left = checkout.path / ".venv/left-over"
    left.touch()
    (checkout.path / ".venv/bin/python").unlink()
    assert checkout.run("frobnicate").returncode == 7
    assert not left.exists()


def test_a_venv_with_everything_serves_what_needs_less(checkout):
    assert "making .venv from requirements-dev.txt" in checkout.run("lint").stderr
    assert checkout.run("frobnicate").stderr == ""


def test_prints_each_command_as_it_can_be_typed(checkout):
    script(
        checkout.path / ".venv/bin/ansible-playbook",
        f"#!{sys.executable}\nimport json, os, sys\nprint(json.dumps([os.environ['ANSIBLE_CONFIG'], *sys.argv[1:]]))\n",
    )
    words = ["-i", "hosts", "-e", "a='b c' $d", "--check", ""]
    done = checkout.run("provision", *words)
    config, *given = json.loads(done.stdout)
    assert config == str(checkout.path / "ansible.cfg")
    assert given == ["site.yml", "-l", "halo", *words]
    assert shlex.split(done.stderr.removeprefix("+ ")) == ["ansible-playbook", *given]


def test_names_files_so_that_another_directory_does_not_matter(checkout, tmp_path):
    link = tmp_path / "halo"
    link.symlink_to(checkout.path / "halo")
    done = subprocess.run([str(link), "plan"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[1:] == [str(checkout.path / "playbooks/plan.yml"), "-l", "halo"]


def test_says_what_is_missing_when_no_python_runs(tmp_path):
    checkout = Checkout(tmp_path / "checkout")
    done = checkout.run("frobnicate", HALO_PYTHON=str(checkout.stand_ins / "python3.14"))
    assert done.returncode == 1
    assert "no Python from 3.11 to 3.14" in done.stderr
    assert "remedy: apt-get install python3" in done.stderr
    assert not (checkout.path / ".venv").exists()


def test_follows_a_changed_lock_and_refuses_a_package_with_another_hash(checkout, tmp_path):
    wheel = tmp_path / "a_package-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not what was locked")
    lock = f"a-package @ {wheel.as_uri()} --hash=sha256:{'0' * 64}\n"
    (checkout.path / "requirements.txt").write_text(lock, encoding="utf-8")
    done = checkout.run("frobnicate")
    assert done.returncode == 1
    assert "making .venv from requirements.txt" in done.stderr
    assert "pip cannot install requirements.txt" in done.stderr
    assert f"Expected sha256 {'0' * 64}" in done.stderr
    assert not (checkout.path / ".venv/halo.stamp").exists(), "the next call tries again"


def test_a_command_that_nobody_knows_is_answered_with_all_there_are(tmp_path):
    checkout = Checkout(tmp_path / "checkout")
    shutil.rmtree(checkout.path / "module_utils")
    shutil.copytree(ROOT / "module_utils", checkout.path / "module_utils")
    done = checkout.run("provison")
    assert done.returncode == 2
    error = done.stderr.splitlines()[-1]
    assert "invalid choice: 'provison'" in error
    for command in ("stacks", "finding", "provision", "plan", "demo", "test", "clean"):
        assert re.search(rf"\b{command}\b", error), command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["test", "unti"], "./halo test [lint] [unit]"), (["clean", "--all"], "./halo clean [--containers | --packages]")],
)
def test_a_wrong_argument_is_refused_before_anything_happens(tmp_path, arguments, said):
    checkout = Checkout(tmp_path / "checkout")
    done = checkout.run(*arguments)
    assert done.returncode == 1
    assert f"remedy: {said}" in done.stderr
    assert not (checkout.path / ".halo").exists()


def test_help_lists_every_command(tmp_path):
    done = Checkout(tmp_path / "checkout").run()
    assert done.returncode == 0
    for command in ("demo", "provision", "plan", "verify", "test", "lint", "bench", "soak", "clean"):
        assert f"\n  {command} " in done.stdout


def test_clean_removes_what_is_ours_and_nothing_else(tmp_path):
    checkout = Checkout(tmp_path / "checkout")
    asked = tmp_path / "asked"
    # A stand-in, since the images of the real one may be in use.
    script(
        checkout.stand_ins / "podman",
        f'#!/bin/sh\necho "$@" >>{asked}\n'
        'case "$*" in "ps -aq --filter label=halo-test=x") echo 11 12 ;; "network exists x-test") exit 1 ;;\n'
        '"images --quiet --filter reference=localhost/halo-test/*") echo 21 ;; esac\n',
    )
    for name in (".venv/x", ".halo/installed-packages", "a/__pycache__/x", ".ruff_cache/x"):
        script(checkout.path / name, "a-package\n")
    before = {path for path in checkout.path.rglob("*") if path.is_file()}
    done = checkout.run("clean", HALO_TEST_NAME="x")
    assert done.returncode == 0, done.stderr
    kept = {path for path in checkout.path.rglob("*") if path.is_file()}
    assert {str(path.relative_to(checkout.path)) for path in before - kept} == {
        ".venv/x",
        ".halo/installed-packages",
        "a/__pycache__/x",
        ".ruff_cache/x",
    }
    assert "apt-get purge a-package" in done.stderr
    changes = [line for line in asked.read_text().splitlines() if line.split()[0] in ("rm", "rmi")]
    assert changes == ["rm --force --time 0 11 12", "rmi 21"]


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """Return a checkout in which pytest and molecule are stand-ins, and nothing else is needed."""
    checkout = Checkout(tmp_path_factory.mktemp("steps") / "checkout")
    with (checkout.path / "tests/images/system.sh").open("a", encoding="utf-8") as file:
        file.write("need() { :; }\ntest_hosts() { :; }\n")
    checkout.run("test", "unit")
    # Integration tests end only when molecule has begun, so that one behind the other would never end.
    begun = checkout.path / "begun"
    wait = f"until [ -e {begun} ]; do sleep 0.1; done"
    script(
        checkout.path / ".venv/bin/pytest",
        f'#!/bin/sh\ncase "$*" in *integration) {wait}; echo 7 passed; exit "$BAD" ;; esac\n',
    )
    script(checkout.path / ".venv/bin/molecule", f"#!/bin/sh\ntouch {begun}; echo 6 scenarios\n")
    return checkout


@pytest.mark.parametrize(("bad", "verdict"), [("0", "passed"), ("3", "FAILED (3)")])
def test_integration_tests_run_beside_molecule_and_their_verdict_counts(steps, bad, verdict):
    done = steps.run("test", "unit", "integration", "molecule", BAD=bad)
    assert done.returncode == (bad != "0"), done.stderr
    assert "7 passed" in done.stderr, "its output is shown when it has ended"
    rows = [line.split(maxsplit=3) for line in done.stdout.splitlines() if line.count(" s  ")]
    assert [(name, ended) for name, _, _, ended in rows] == [
        ("unit", "passed"),
        ("integration", verdict),
        ("molecule", "passed"),
    ]


def test_image_is_another_one_where_anything_that_goes_into_it_is():
    recipe = build.RECIPES["debian-13"]
    archive = build.Archive("http://mirror.test/debian", "http://mirror.test/debian-security")
    proxy = 'Acquire::http::Proxy "http://proxy.test:3142";\nAPT::Architecture "amd64";\n'
    plain = build.mmdebstrap_arguments(recipe, archive, "")
    assert plain[-3:] == [
        "deb http://mirror.test/debian trixie main non-free-firmware",
        "deb http://mirror.test/debian trixie-updates main non-free-firmware",
        "deb http://mirror.test/debian-security trixie-security main non-free-firmware",
    ]
    proxied = build.mmdebstrap_arguments(recipe, archive, proxy)
    assert set(proxied) - set(plain) == {'--aptopt=Acquire::http::Proxy "http://proxy.test:3142"'}
    # Where the machine's apt does not know Debian, mmdebstrap's own default stands.
    assert build.mmdebstrap_arguments(recipe, build.Archive(), "")[-2:] == ["trixie", "-"]
    assert not any(
        "security" in word
        for word in build.mmdebstrap_arguments(recipe, build.Archive("http://mirror.test/debian"), "")
    )
