#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: toolchain_sysroot
short_description: Unpack fetched libc++ packages beside the system's
version_added: "0.1.0"
description:
  - Makes a libc++ of another major version than the system's usable with clang. Nothing is installed or replaced.
  - What M(apt_plan) fetched is checked against its manifest and unpacked into a store, a directory whose name ends in
    a hash of its content. A link without the hash then moves on to it. Both happen in one step each.
  - The store holds C(clang.cfg), for C(clang++ --config), and C(halo-toolchain.json), which says what is in it.
  - A store with missing or changed files is made again. Other stores stay, since programs may be linked against them.
author:
  - halo-provision contributors (@halo-provision)
extends_documentation_fragment:
  - action_common_attributes
attributes:
  check_mode:
    support: full
    details: Where nothing was fetched yet, the packages are not known and the task counts as changed.
  diff_mode:
    support: full
  platform:
    platforms: debian
options:
  debs:
    description:
      - The directory with the fetched packages and their C(manifest.json).
    type: path
    required: true
  name:
    description:
      - The name of the link.
    type: str
    required: true
  major:
    description:
      - LLVM's major version, as in C(/usr/lib/llvm-17).
    type: int
    required: true
  cxx:
    description:
      - The compiler that the toolchain is for.
    type: path
    required: true
  prefix:
    description:
      - The directory of the stores and links.
    type: path
    default: /opt/halo/toolchain
"""

EXAMPLES = r"""
- name: Unpack libc++ 17
  toolchain_sysroot:
    debs: /var/cache/halo/debs/libc++-17
    name: libc++-17
    major: 17
    cxx: /usr/bin/clang++-17
"""

RETURN = r"""
link:
  description: The path under which the toolchain is used.
  returned: success
  type: str
  sample: /opt/halo/toolchain/libc++-17
store:
  description: The directory that the link points to; empty in check mode where nothing was fetched yet.
  returned: success
  type: str
  sample: /opt/halo/toolchain/libc++-17-0a1b2c3d4e5f
command:
  description: How to compile with it.
  returned: success
  type: str
  sample: /usr/bin/clang++-17 --config /opt/halo/toolchain/libc++-17/clang.cfg
kept:
  description: Names of other stores of this toolchain. Nothing but programs linked against them needs them.
  returned: success
  type: list
  elements: str
before:
  description: The current store, its packages, and what is wrong with the one that is wanted.
  returned: success
  type: dict
after:
  description: The same afterwards, or as it would be in check mode.
  returned: success
  type: dict
findings:
  description: What stands in the way.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo.toolchain.store import apply, plan
from ansible.module_utils.halo.toolchain.wanted import ToolchainError, request


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "debs": {"type": "path", "required": True},
            "name": {"type": "str", "required": True},
            "major": {"type": "int", "required": True},
            "cxx": {"type": "path", "required": True},
            "prefix": {"type": "path", "default": "/opt/halo/toolchain"},
        },
        supports_check_mode=True,
    )
    options = module.params
    try:
        wanted = request(options["name"], options["major"], options["prefix"], options["debs"])
        planned = plan(wanted, ahead=module.check_mode)
        if planned.findings:
            raise ToolchainError(*planned.findings)
        if planned.changed and not module.check_mode:
            apply(planned)
    except ToolchainError as error:
        module.fail_json(msg=str(error), findings=[finding.as_dict() for finding in error.findings])
    except OSError as error:
        module.fail_json(msg=f"cannot unpack {options['name']}: {error}", findings=[])
    module.exit_json(
        changed=planned.changed,
        link=str(wanted.link),
        store=str(wanted.store) if wanted.debs else "",
        command=f"{options['cxx']} --config {wanted.link}/clang.cfg",
        kept=list(planned.kept),
        before=planned.before,
        after=planned.after,
        diff={"before": planned.before, "after": planned.after},
        findings=[],
    )


if __name__ == "__main__":
    main()
