#!/usr/bin/python
# Copyright: halo-provision contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Say what is wrong with a host's apt and dpkg."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_audit
short_description: Say what is wrong with a host's apt and dpkg
version_added: "0.1.0"
description:
  - Reads every source in both forms, every keyring, the preferences, dpkg's status and diversions, and apt's lists.
  - Tells sources that are malformed, named twice, contradict each other, or are for another release; keys that are
    missing, wrong, expired, or old copies in C(/etc/apt/trusted.gpg) and C(/etc/apt/trusted.gpg.d); pins that prefer
    nothing; unfinished and held packages, and those that no archive has.
  - An C(error) is only what makes every apt call fail. What merely was wrong before is a C(warning) or C(info).
  - Changes nothing, and never opens the host's own apt cache, which malformed sources would prevent.
  - C(python3-apt) need not be there, except for O(online=true).
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
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
      file: {description: "The file of the source, C(/etc/apt/sources.list.d/NAME.sources).", type: path}
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
  expiring_days:
    description: How many days before it expires a key is told of.
    type: int
    default: 30
  foreign_uris:
    description: URIs below which archives of ROCm's other channels lie.
    type: list
    elements: str
    default: []
  gpu_apu:
    description: Whether the GPU is that of an APU, which needs no kernel module of AMD. Nothing is said when left out.
    type: bool
  online:
    description: Ask the archives as well, in a private directory; their signatures are verified.
    type: bool
    default: false
  root:
    description: The host's root directory.
    type: path
    default: /
author: halo-provision contributors (@halo-provision)
"""

EXAMPLES = r"""
- name: Look for what is wrong with apt
  apt_audit:
    gpu_apu: true
    archives:
      - uris: [https://archive.example.org/rocm]
        suites: [noble]
        fingerprints: [0123456789ABCDEF0123456789ABCDEF01234567]
        file: /etc/apt/sources.list.d/rocm.sources
        keyring: /etc/apt/keyrings/rocm.gpg
  register: audit
"""

RETURN = r"""
findings:
  description: What was found, each with code, severity, subject, evidence and remedy.
  returned: always
  type: list
  elements: dict
problems:
  description: The same with C(file), C(line), C(stanza) and C(detail), from which a repair can be computed.
  returned: always
  type: list
  elements: dict
sources:
  description: Every source that could be read, disabled ones too.
  returned: always
  type: list
  elements: dict
  sample:
    - {file: /etc/apt/sources.list, line: 1, stanza: 0, type: deb, uri: "http://archive.example.org/debian",
       suite: trixie, components: [main], architectures: [], signed_by: "", trusted: "", enabled: true, shared: 1}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.respawn import has_respawned, probe_interpreters_for_module, respawn_module
from ansible.module_utils.halo.apt.glue import has_python_apt
from ansible.module_utils.halo.audit import glue


def main() -> None:
    """Read the parameters, audit, and answer."""
    module = AnsibleModule(argument_spec=glue.AUDIT_ARGUMENTS, supports_check_mode=True)
    if not has_python_apt() and not has_respawned():
        interpreter = probe_interpreters_for_module(["/usr/bin/python3"], "apt_pkg")
        if interpreter:
            respawn_module(interpreter)
    answer = glue.audit(module.params)
    if answer["failed"]:
        module.fail_json(**answer)
    module.exit_json(changed=False, **answer)


if __name__ == "__main__":
    main()
