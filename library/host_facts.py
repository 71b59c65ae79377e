#!/usr/bin/python
# Copyright: halo-provision contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read what decides which stack fits a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_facts
short_description: Read what decides which stack fits a host
version_added: "0.1.0"
description:
  - Reads the OS release, dpkg's architecture, the running kernel, the CPU's name and whether python3-apt is there.
  - Reads files only, so it costs less than M(ansible.builtin.setup), and its result is returned, not injected.
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
  platform: {platforms: debian}
options:
  root:
    description: Directory below which the host's file system is read.
    type: path
    default: /
author: halo-provision contributors (@halo-provision)
"""

EXAMPLES = r"""
- name: Read the host's facts
  host_facts:
  register: host

- name: Say what it is
  ansible.builtin.debug:
    msg: "{{ host.host.os.pretty }} on {{ host.host.cpu_model }}"
"""

RETURN = r"""
host:
  description: The facts. What cannot be read is an empty string.
  returned: always
  type: dict
  contains:
    os:
      description: ID, ID_LIKE, VERSION_ID, VERSION_CODENAME and PRETTY_NAME of os-release.
      type: dict
      sample: {id: debian, id_like: "", version: "13", codename: trixie, pretty: Debian GNU/Linux 13 (trixie)}
    architecture:
      description: The native architecture of dpkg.
      type: str
      sample: amd64
    kernel:
      description: Release of the running kernel.
      type: str
      sample: 6.18.4-1-generic
    cpu_model:
      description: Name of the first CPU.
      type: str
      sample: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S
    halo_cpu:
      description: Whether that is a Ryzen AI Max.
      type: bool
    python3_apt:
      description: Whether the system's Python has python3-apt.
      type: bool
findings:
  description: Always empty; what the facts mean is for M(stack_load) to say.
  returned: always
  type: list
  elements: dict
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo import host


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={"root": {"type": "path", "default": "/"}}, supports_check_mode=True)
    facts = host.read(Path(module.params["root"]))
    module.exit_json(changed=False, host=facts.as_dict(), findings=[])


if __name__ == "__main__":
    main()
