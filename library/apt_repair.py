#!/usr/bin/python
# Copyright: halo-provision contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Repair what is wrong with a host's apt and dpkg."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_repair
short_description: Repair what is wrong with a host's apt and dpkg
version_added: "0.1.0"
description:
  - Audits as M(apt_audit) does, repairs what is certain, and audits again.
  - Of sources of one archive it leaves one; where another has more, it is led to the same keyring. The suite of the
    stack's archive is corrected. Old copies of keys are taken out of C(/etc/apt/trusted.gpg) and its directory, unless
    a source still needs them. Idle pins to O(foreign_origins) are dropped, and a pin for
    all packages of the stack's archive is narrowed to those that are meant.
  - C(dpkg --configure -a) finishes what dpkg began; on an APU a half configured C(amdgpu-dkms) is purged before.
  - Every changed file is copied to C(/var/lib/halo/backup) first. What belongs to a package or another
    tool, and links, are refused. C(python3-apt) need not be there.
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
  platform: {platforms: debian}
options:
  archives:
    description: The stack's archives, of which it is known what their sources should be.
    type: list
    elements: dict
    default: []
    suboptions:
      uris: {description: Their URIs for this host., type: list, elements: str, required: true}
      suites: {description: Their suites for this host., type: list, elements: str, default: []}
      fingerprints:
        description: Whole primary fingerprints of the keys that sign them.
        type: list
        elements: str
        default: []
      origin: {description: The Release file's Origin., type: str}
      file:
        description: The file of the source. Sources of the archive in other files are taken out.
        type: path
      keyring: {description: The path of the keyring., type: path}
      packages:
        description: Names and globs of what is meant to come from it; a pin for all of its packages is told.
        type: list
        elements: str
        default: []
      comes:
        description: Whether this run writes O(archives[].file), so that other sources of the archive give way.
        type: bool
        default: true
  foreign_origins:
    description: Origins and host names of ROCm's other channels; idle pins to these are dropped, others stay.
    type: list
    elements: str
    default: []
  foreign_uris:
    description: URIs below which archives of these channels lie.
    type: list
    elements: str
    default: []
  retire: {description: Take out the sources of O(foreign_uris)., type: bool, default: false}
  expiring_days: {description: How many days before it expires a key is told of., type: int, default: 30}
  gpu_apu:
    description: Whether the GPU is that of an APU, which needs no kernel module of AMD.
    type: bool
  lock_timeout: {description: Seconds to wait for dpkg's lock., type: int, default: 60}
  root: {description: "The host's root directory. dpkg is run on V(/) alone.", type: path, default: /}
author: halo-provision contributors (@halo-provision)
"""

EXAMPLES = r"""
- name: Repair apt before anything else calls it
  apt_repair:
    gpu_apu: true
    foreign_origins: [repo.example.org]
"""

RETURN = r"""
before: {description: Path -> text before., returned: always, type: dict}
after: {description: "Path -> text afterwards, null where the file is removed.", returned: always, type: dict}
files:
  description: In check mode, path -> text of sources and preferences as they will be, for M(apt_plan).
  returned: always
  type: dict
commands: {description: The commands of dpkg., returned: always, type: list, elements: str}
findings:
  description: What was repaired or refused, and what is still wrong.
  returned: always
  type: list
  elements: dict
problems: {description: What is still wrong, as M(apt_audit) returns it., returned: always, type: list, elements: dict}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.respawn import has_respawned, probe_interpreters_for_module, respawn_module
from ansible.module_utils.halo.apt.glue import has_python_apt
from ansible.module_utils.halo.repair import glue


def main() -> None:
    """Read the parameters, repair, and answer."""
    module = AnsibleModule(argument_spec=glue.REPAIR_ARGUMENTS, supports_check_mode=True)
    if not has_python_apt() and not has_respawned():
        interpreter = probe_interpreters_for_module(["/usr/bin/python3"], "apt_pkg")
        if interpreter:
            respawn_module(interpreter)
    answer = glue.repair(module.params, module.check_mode)
    if answer["failed"]:
        module.fail_json(**answer)
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
