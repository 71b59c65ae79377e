#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: toolchain_check
short_description: Find compilers, C++ headers and device libraries that do not fit each other
version_added: "0.1.0"
description:
  - Looks for every clang, libc++, gcc directory and ROCm device library below O(root), without running any.
  - Compares them by the rows of C(module_utils/halo/toolchain/hazards.py), each of which names its source.
  - Changes nothing.
author:
  - halo-provision contributors (@halo-provision)
extends_documentation_fragment:
  - action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: posix
options:
  root:
    description: The root directory of the host, or of an unpacked tree.
    type: path
    default: /
  compilers:
    description:
      - Paths of the compilers that the stack takes. What does not fit with another one is of severity V(info).
    type: list
    elements: str
    default: []
  baseline:
    description: Whether this is before provisioning, when an error is only a warning, since the run may repair it.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Check what there is to compile with
  toolchain_check:
    compilers: [/usr/bin/clang++-17]

- name: Check the root of a container's image
  toolchain_check:
    root: /var/lib/machines/noble
"""

RETURN = r"""
findings:
  description: What does not fit.
  returned: always
  type: list
  elements: dict
items:
  description: What was found, each with its kind, path, prefix and major version.
  returned: always
  type: list
  elements: dict
  sample: [{"kind": "clang", "path": "/usr/lib/llvm-17/bin/clang", "prefix": "/usr", "major": 17}]
"""

from dataclasses import asdict
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo import findings
from ansible.module_utils.halo.toolchain import hazards, inventory


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/"},
            "compilers": {"type": "list", "elements": "str", "default": []},
            "baseline": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    root = Path(module.params["root"])
    if not root.is_dir():
        module.fail_json(msg=f"root: {root} is no directory", findings=[])
    items = inventory.read(root, tuple(module.params["compilers"]))
    found = hazards.check(items)
    if module.params["baseline"]:
        found = findings.as_warnings(found)
    result = {
        "changed": False,
        "items": [asdict(item) for item in items],
        "findings": [finding.as_dict() for finding in findings.worst_first(found)],
    }
    if findings.errors(found):
        module.fail_json(msg=findings.text(found), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
