"""Which roles' wishes role apt_transaction joins, as Ansible itself evaluates it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PLAY = """
- hosts: localhost
  gather_facts: false
  vars_files: [VARS]
  vars:
    apt_transaction_roles: [demo_archive, demo_one, demo_two]
    apt_transaction_sources_of: {demo_two: [demo_archive]}
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
  roles:
    - {role: demo_archive, tags: [demo_archive]}
    - {role: demo_one, tags: [demo_one]}
    - {role: demo_two, tags: [demo_two]}
  tasks:
    - ansible.builtin.copy:
        dest: OUT
        content: "{{ {'wishes': _apt_transaction_wishes, 'permits': _apt_transaction_permits,
                    'joined': _apt_transaction_joined, 'files': _apt_transaction_files} | to_json }}"
      tags: [always]
""".replace("VARS", str(ROOT / "roles/apt_transaction/vars/main.yml"))

SOURCE = {"file": "demo.sources", "text": "Types: deb\\n", "key": {"path": "/etc/apt/keyrings/demo.gpg"}}
DEFAULTS = {
    "demo_archive": {"sources": [SOURCE], "pins": [{"file": "demo", "packages": ["two"]}], "files": {"/a": None}},
    "demo_one": {
        "wishes": [{"name": "one", "version": "1*"}],
        "permit": {"remove": ["one-*"]},
        "files": {"/b": "text"},
    },
    "demo_two": {"wishes": [{"name": "two"}, {"name": "three", "state": "absent"}]},
}
ONE = [{"name": "one", "version": "1*", "role": "demo_one"}]
TWO = [{"name": "two", "role": "demo_two"}, {"name": "three", "state": "absent", "role": "demo_two"}]


@pytest.mark.skipif(not shutil.which("ansible-playbook"), reason="needs ansible-playbook on PATH")
@pytest.mark.parametrize(
    ("arguments", "wishes", "sources"),
    [
        ([], ONE + TWO, [SOURCE]),
        # Its packages come from the archive of another role, whose wishes would not count.
        (["--tags", "demo_two"], TWO, [SOURCE]),
        (["--tags", "demo_one"], ONE, []),
        (["--tags", "apt_transaction"], ONE + TWO, [SOURCE]),
        (["--skip-tags", "demo_two"], ONE, [SOURCE]),
        (["--skip-tags", "demo_archive"], ONE + TWO, []),
    ],
)
def test_the_wishes_of_the_roles_that_the_tags_select(tmp_path, arguments, wishes, sources):
    for role, declared in DEFAULTS.items():
        (tmp_path / "roles" / role / "defaults").mkdir(parents=True)
        (tmp_path / "roles" / role / "defaults/main.yml").write_text(json.dumps({f"{role}_apt": declared}))
    out = tmp_path / "out.json"
    (tmp_path / "play.yml").write_text(PLAY.replace("OUT", str(out)))
    done = subprocess.run(
        ["ansible-playbook", "-i", "localhost,", "-c", "local", "play.yml", *arguments],
        cwd=tmp_path,
        env=os.environ | {"ANSIBLE_CONFIG": str(tmp_path / "none.cfg"), "ANSIBLE_LOCALHOST_WARNING": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(out.read_text())
    assert answer["wishes"] == wishes
    assert [permit for permit in answer["permits"] if permit] == ([{"remove": ["one-*"]}] if wishes[0] in ONE else [])
    assert answer["joined"]["sources"] == sources
    assert answer["joined"]["pins"] == (DEFAULTS["demo_archive"]["pins"] if sources else [])
    assert answer["joined"]["conflicts"] == []
    assert answer["files"] == ({"/a": None} if sources else {}) | ({"/b": "text"} if wishes[0] in ONE else {})
