"""Role stack and the closing table, run by ansible-playbook against a tree that stands in for a host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PUBLISH = """\
- name: Verify
  hosts: all
  gather_facts: false
  roles: [stack]
  tasks:
    - name: Show what is published
      ansible.builtin.copy:
        content: "{{ halo_stack_data | to_json }}"
        dest: "{{ published }}"
        mode: "0600"
"""
BEFORE = """\
- name: Plan
  hosts: all
  gather_facts: false
  check_mode: true
  roles: [stack]
"""
LATER = """\
- name: Later
  hosts: all
  gather_facts: false
  roles: [host_verify]
  tags: [never]
"""
CPUINFO = "model name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\n"
RELEASES = {
    "13": 'ID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
    "12": 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
}


class Outcome:
    """What a run of ansible-playbook left."""

    def __init__(self, done: subprocess.CompletedProcess[str], report: Path, published: Path) -> None:
        self.status = done.returncode
        self.table = done.stdout.partition("\nHALO ")[2]
        self.output = done.stdout + done.stderr
        self.report: dict[str, Any] = json.loads((report / "last.json").read_text()) if report.is_dir() else {}
        self.reports = sorted(path.name for path in report.iterdir()) if report.is_dir() else []
        self.published: dict[str, Any] = json.loads(published.read_text()) if published.exists() else {}

    @property
    def stages(self) -> dict[str, str]:
        return {row["stage"]: row["verdict"] for row in self.report["hosts"]["box"]["stages"]}

    @property
    def codes(self) -> list[tuple[str, str]]:
        return [
            (finding["code"], finding["severity"])
            for row in self.report["hosts"]["box"]["stages"]
            for finding in row["findings"]
        ]


def run(
    tmp_path: Path,
    release: str = "13",
    *,
    cpu: str = CPUINFO,
    plays: str = PUBLISH,
    report: Path | None = None,
    **variables: Any,
) -> Outcome:
    """Run role stack on a host of that release and CPU, with what a user sets."""
    host = tmp_path / "host"
    files = {
        "etc/os-release": RELEASES[release],
        "proc/cpuinfo": cpu,
        "var/lib/dpkg/status": "Package: dpkg\nArchitecture: amd64\n",
    }
    for name, text in files.items():
        (host / name).parent.mkdir(parents=True, exist_ok=True)
        (host / name).write_text(text)
    (tmp_path / "play.yml").write_text(plays)
    published = tmp_path / "published.json"
    extra = {
        "stack_root": str(host),
        "published": str(published),
        "ansible_python_interpreter": sys.executable,
        **variables,
    }
    command = [
        str(Path(sys.executable).with_name("ansible-playbook")),
        "--inventory=box,",
        "--connection=local",
        f"--extra-vars=@{ROOT / 'inventory/group_vars/all.yml'}",
        f"--extra-vars={json.dumps(extra)}",
        str(tmp_path / "play.yml"),
    ]
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "HALO_"))},
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_HOME": str(tmp_path / "ansible"),
        "HALO_REPORT_DIR": str(report or tmp_path / "reports"),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
    }
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    return Outcome(done, report or tmp_path / "reports", published)


def test_a_halo_without_a_driver_gets_its_stack(tmp_path: Path) -> None:
    outcome = run(tmp_path, plays=BEFORE + PUBLISH + LATER)
    assert outcome.status == 0, outcome.output
    assert outcome.published["name"] == "distro"
    assert (outcome.published["gfx"], outcome.published["gfx_source"]) == ("gfx1151", "cpu")
    assert outcome.codes == [("STACK.CHOSEN", "info")], "two plays, one finding"
    assert outcome.stages == {"stack": "ok", "host_verify": "skipped"}
    assert "stack distro: ROCm 5.7.1 for gfx1151: newest stack whose package names are verified" in outcome.table
    assert f"report: {tmp_path / 'reports'}" in outcome.table
    assert "\x1b" not in outcome.output, "no colours where there is no terminal"
    assert len(outcome.reports) == 2
    assert outcome.report["playbook"] == "play.yml"
    assert outcome.report["started"] <= outcome.report["finished"]
    assert "[WARNING]: " not in outcome.output


def test_another_machine_is_refused_before_anything_else(tmp_path: Path) -> None:
    outcome = run(tmp_path, cpu="model name : AMD EPYC\n", plays=PUBLISH + LATER, halo_stack="no-such-stack")
    assert outcome.status == 2
    assert outcome.published == {}
    assert outcome.codes == [("HOST.NOT_HALO", "error")]
    assert outcome.stages == {"stack": "refused", "host_verify": "not reached"}
    assert "-e halo_allow_any_host=true -e halo_gfx=gfx1151" in outcome.table


def test_going_on_regardless_needs_a_target(tmp_path: Path) -> None:
    outcome = run(tmp_path, cpu="", halo_allow_any_host="true")
    assert outcome.status == 2
    assert outcome.codes == [("HOST.NOT_HALO", "info"), ("GPU.ABSENT", "error")]


def test_going_on_regardless_with_a_target(tmp_path: Path) -> None:
    outcome = run(tmp_path, cpu="", halo_allow_any_host="true", halo_gfx="gfx1151")
    assert outcome.status == 0, outcome.output
    assert outcome.published["gfx_source"] == "variable"


def test_debian_12_does_not_know_the_halos_target(tmp_path: Path) -> None:
    outcome = run(tmp_path, "12")
    assert outcome.status == 2
    assert outcome.codes == [("STACK.GFX_UNSUPPORTED", "error")]
    outcome = run(tmp_path, "12", halo_gfx="gfx1030")
    assert outcome.status == 0, outcome.output
    assert outcome.codes == [("STACK.CHOSEN", "info"), ("STACK.GFX_UNSUPPORTED", "warning")]


def test_a_broken_stack_file_stops_the_run_with_its_name(tmp_path: Path) -> None:
    stacks = tmp_path / "stacks"
    stacks.mkdir()
    (stacks / "mine.yml").write_text("schema: 1\n")
    outcome = run(tmp_path, stack_dir=str(stacks))
    assert outcome.status == 2
    assert {code for code, _ in outcome.codes} == {"STACK.INVALID"}
    assert "mine.yml:1" in outcome.table
    assert "the key 'os' is missing" in " ".join(outcome.table.split())


def test_an_unknown_stack(tmp_path: Path) -> None:
    outcome = run(tmp_path, halo_stack="distr")
    assert outcome.status == 2
    assert outcome.codes == [("STACK.UNKNOWN", "error")]
    assert "-e halo_stack=distro" in outcome.table


def test_a_report_that_cannot_be_written_is_a_warning_and_the_table_stays(tmp_path: Path, unwritable: Path) -> None:
    outcome = run(tmp_path, report=unwritable)
    assert outcome.status == 0, outcome.output
    assert "stack distro" in outcome.table
    assert "the report was not written" in outcome.output


WRONG = [
    ("host_verify_force", [1], "set it to true or false"),
    ("host_verify_components", {"a": 1}, """-e '{"host_verify_components": [...]}'"""),
    ("apt_transaction_lock_timeout", "soon", "a whole number"),
    # Of a role that has nothing to do with this stack.
    ("rocm_keyring_refresh_days", "few", "a whole number"),
    ("rocm_keyring_urls", {"a": "b"}, "a list of str"),
    ("toolchain_pin_mode", "both", """as -e '{"toolchain_pin_mode": "sysroot"}'"""),
    ("rocm_runtime_migrate", "perhaps", "true or false"),
    ("stack_allow_any_host", "perhaps", "true or false"),
]


def refused(outcome: Outcome) -> list[dict[str, str]]:
    """Return the errors of a run that role stack ended."""
    assert outcome.status == 2
    assert outcome.stages["stack"] == "refused"
    assert set(outcome.stages.values()) <= {"refused", "not reached"}
    return [f for f in outcome.report["hosts"]["box"]["stages"][0]["findings"] if f["severity"] == "error"]


@pytest.mark.parametrize(("name", "value", "remedy"), WRONG, ids=[name for name, *_ in WRONG])
def test_a_wrong_variable_of_any_role_is_refused_at_the_start(
    tmp_path: Path, name: str, value: Any, remedy: str
) -> None:
    # The roles come later, or in another playbook.
    (finding,) = refused(run(tmp_path, plays=BEFORE + LATER, **{name: value}))
    assert (finding["code"], finding["subject"]) == ("VARIABLE.INVALID", name)
    assert "<class" not in finding["evidence"]
    assert remedy in finding["remedy"]
    page = finding["remedy"].split("; ")[-1].split()[0]
    assert name in (ROOT / page).read_text(), "the page that is named explains it"


def test_all_wrong_variables_are_named_at_once(tmp_path: Path) -> None:
    found = refused(run(tmp_path, plays=BEFORE, host_verify_force=[1], rocm_keyring_timeout="long"))
    assert {finding["subject"] for finding in found} == {"host_verify_force", "rocm_keyring_timeout"}


def test_a_variable_that_several_roles_take_is_named_as_the_user_knows_it(tmp_path: Path) -> None:
    plays = BEFORE.replace("[stack]", "[stack, toolchain_pin]")
    (finding,) = refused(run(tmp_path, plays=plays, halo_toolchain_mode="both"))
    assert finding["subject"] == "toolchain_pin_mode"
    assert "halo_toolchain_mode" in finding["remedy"]


def test_a_task_that_fails_without_findings_is_in_the_table_with_its_message(tmp_path: Path) -> None:
    task = "  tasks:\n    - name: Fail\n      ansible.builtin.fail: {msg: it is broken}\n"
    outcome = run(tmp_path, plays=BEFORE + task)
    assert outcome.stages == {"stack": "ok", "Plan": "failed"}
    assert "it is broken" in outcome.table
