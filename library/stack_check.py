#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: stack_check
short_description: Check that the stack's packages are what the stack says, and would stay so
version_added: "0.1.0"
description:
  - Compares what dpkg has installed with the stack's bounds.
  - Lets apt simulate an upgrade of the whole host, as C(apt upgrade) would do it. It must leave O(rocm_set) as it is,
    and O(packages) within their bounds. apt's lock is not taken and its lists are not refreshed.
  - With O(prefix), says which releases of ROCm lie beside the stack's, and whether C(/opt/rocm) leads to one of them.
  - Changes nothing. In check mode a host that was not provisioned yet is no error, and neither is an upgrade, since the
    pins may be still to come.
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
    platforms: debian
options:
  packages:
    description:
      - The packages of the stack that must be installed.
      - In check mode, a host on which one of them is absent or outside its bound counts as not provisioned yet.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: A binary package.
        type: str
        required: true
      version:
        description: The bound of its version, such as V(1:17.*); empty for any.
        type: str
        default: ""
  rocm_set:
    description: Names, or globs of them, of all packages that make up the ROCm set.
    type: list
    elements: str
    default: []
  prefix:
    description: Where the stack's ROCm lies, to say what C(/opt/rocm) leads to and which releases lie beside it.
    type: path
"""

EXAMPLES = r"""
- name: Check the packages
  stack_check:
    packages:
      - {name: hipcc, version: "5.7.1*"}
      - {name: clang-17, version: "1:17.*"}
    rocm_set: [hipcc, "rocm*", "libamdhip64-*"]
"""

RETURN = r"""
before:
  description: Each package of O(packages) with the version that is installed, or null.
  returned: always
  type: dict
  sample: {"hipcc": "5.7.1-6+deb13u1"}
after:
  description: The same as RV(before).
  returned: always
  type: dict
findings:
  description: What differs, and what an upgrade would change.
  returned: always
  type: list
  elements: dict
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo import findings
from ansible.module_utils.halo.apt import dpkgdb
from ansible.module_utils.halo.proof import ledger, packages, releases


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "packages": packages.ARGUMENT,
            "rocm_set": {"type": "list", "elements": "str", "default": []},
            "prefix": {"type": "path"},
        },
        supports_check_mode=True,
    )
    wished, globs = module.params["packages"], module.params["rocm_set"]
    try:
        database = dpkgdb.read()
        found = packages.check(wished, globs, database, Path(module.tmpdir), module.check_mode)
        found += releases.check(Path(module.params["prefix"])) if module.params["prefix"] else []
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"cannot check the stack's packages: {error}", findings=[])
    versions = {package["name"]: packages.version(package["name"], database) for package in wished}
    result = ledger.result(versions, versions, found)
    if findings.errors(found):
        module.fail_json(msg=findings.text(found), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
