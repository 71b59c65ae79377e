#!/usr/bin/python
# Copyright: halo-provision contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Say which ELF objects on a host do not load, and why."""

from __future__ import annotations

DOCUMENTATION = r"""
module: abi_check
short_description: Say which ELF objects on a host do not load, and why
version_added: "0.1.0"
description:
  - Reads ELF objects and finds their libraries as ld.so does, by RPATH, RUNPATH, C(LD_LIBRARY_PATH),
    C(/etc/ld.so.cache), C(glibc-hwcaps) and default directories; nothing is run.
  - Tells libraries that are missing, version nodes and symbols that the library which is found does not have, other
    copies than an object comes with, executable stacks that the host's glibc refuses, damaged files.
  - What is imported by Python is judged together with the interpreter of its environment.
  - Judges x86-64 objects for glibc; others are counted in RV(counts).
  - Cannot see what a program loads by name at run time, nor changed structures behind the same symbols.
  - Changes nothing. Needs nothing but Python on the host.
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
  platform: {platforms: linux}
options:
  paths:
    description: Files and directories to check, of the host or, below O(root), of that tree.
    type: list
    elements: path
    required: true
  root:
    description: Root directory of the tree to look at; absolute links and paths are followed inside it.
    type: path
    default: /
  interpreter:
    description: The Python that imports extension modules. By default that of the environment in which each lies.
    type: path
  library_path:
    description: Directories of C(LD_LIBRARY_PATH), as of a systemd unit or a profile.
    type: list
    elements: str
    default: []
  preload:
    description: Libraries of C(LD_PRELOAD).
    type: list
    elements: str
    default: []
  symbols:
    description: Look at every symbol, besides libraries and version nodes.
    type: bool
    default: true
  ignore:
    description: Globs of objects' paths about which nothing is said.
    type: list
    elements: str
    default: []
  skip_missing:
    description: Leave out paths that are not there, instead of refusing the request.
    type: bool
    default: false
  baseline:
    description: Whether this is before provisioning, when an error is only a warning, since the run may repair it.
    type: bool
    default: false
author: halo-provision contributors (@halo-provision)
"""

EXAMPLES = r"""
- name: Check ROCm, and an environment that uses it
  abi_check:
    paths: [/opt/rocm/lib, /opt/venv/lib/python3.12/site-packages]
    library_path: [/opt/rocm/lib]
  register: objects

- name: Check a container's root
  abi_check:
    paths: [/usr/lib]
    root: /var/lib/machines/build
"""

RETURN = r"""
findings:
  description: What was found, each with code, severity, subject, evidence and remedy; infos joined by code.
  returned: always
  type: list
  elements: dict
problems:
  description: Everything that was found, one by one.
  returned: always
  type: list
  elements: dict
  sample:
    - {code: ABI.NODE_MISSING, severity: error, object: /opt/app/libapp.so, needed: GLIBC_2.38 (glibc 2.38),
       found: /lib/x86_64-linux-gnu/libc.so.6 (found by cache) has GLIBC_2.36, looked: [], chain: [/opt/app/libapp.so],
       processes: 1, remedy: "take a build for this release, or a host that has glibc 2.38", symbols: []}
counts:
  description: Objects and files that were looked at, and what was left out, by reason.
  returned: always
  type: dict
  sample: {objects: 1009, files: 2320, left_out_foreign: 125, left_out_link: 538, left_out_machine: 20}
seconds:
  description: How long it took to read headers, to find libraries, and to look up symbols.
  returned: always
  type: dict
  sample: {read: 0.2, libraries: 0.07, symbols: 0.6}
glibc:
  description: Version of the host's glibc, empty where it has none.
  returned: always
  type: str
  sample: "2.41"
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo.abi import glue


def main() -> None:
    """Read the parameters, check, and answer."""
    module = AnsibleModule(argument_spec=glue.CHECK_ARGUMENTS, supports_check_mode=True)
    answer = glue.abi_check(module.params)
    if answer["failed"]:
        module.fail_json(**answer)
    module.exit_json(changed=False, **answer)


if __name__ == "__main__":
    main()
