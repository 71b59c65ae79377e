#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: hip_proof
short_description: Prove that hipcc makes code for the host's GPU, and look for that GPU
version_added: "0.1.0"
description:
  - Compiles a HIP program and looks into the executable for the code object of the wanted target, without a GPU.
  - Asks rocminfo which GPUs ROCm sees.
  - Nothing is inherited from the environment, C(HSA_OVERRIDE_GFX_VERSION) least of all.
  - The compilation is skipped while hipcc, the target and every installed package are unchanged. A proof that failed
    is always repeated, and rocminfo is always asked.
  - Never reports a change; the record of a proof is a cache. In check mode proofs run, and are not recorded.
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
  gfx:
    description: The target to compile for, such as V(gfx1151).
    type: str
    required: true
  hipcc:
    description: The stack's hipcc. Without it nothing is compiled.
    type: path
  known_gfx:
    description: The targets that the stack's compiler knows, which a finding offers.
    type: list
    elements: str
    default: []
  rocminfo:
    description: The stack's rocminfo. Without it no GPU is looked for.
    type: path
  require_gpu:
    description: Whether it is an error, not a warning, that no GPU or one of another target is there.
    type: bool
    default: false
  packages:
    description:
      - The packages of the ROCm set that were chosen, and those of the toolchain.
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
  records:
    description: Where it is written down what was proved, a file for each proof.
    type: path
    default: /var/lib/halo/proofs
  force:
    description: Run the proofs although nothing that they rest on has changed.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Prove the HIP compiler and look for the GPU
  hip_proof:
    gfx: gfx1151
    hipcc: /usr/bin/hipcc
    rocminfo: /usr/bin/rocminfo
    packages:
      - {name: hipcc, version: "5.7.1*"}
    require_gpu: true
"""

RETURN = r"""
before:
  description: Each proof with its record as it was found, or null.
  returned: always
  type: dict
after:
  description: Each proof with its record as it is now, or null.
  returned: always
  type: dict
findings:
  description: What was proved and what was not.
  returned: always
  type: list
  elements: dict
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo import findings
from ansible.module_utils.halo.proof import hip, ledger, packages


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "gfx": {"type": "str", "required": True},
            "hipcc": {"type": "path"},
            "known_gfx": {"type": "list", "elements": "str", "default": []},
            "rocminfo": {"type": "path"},
            "require_gpu": {"type": "bool", "default": False},
            "packages": packages.ARGUMENT,
            "records": {"type": "path", "default": "/var/lib/halo/proofs"},
            "force": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    options = module.params
    hipcc, rocminfo = (options[name] and Path(options[name]) for name in ("hipcc", "rocminfo"))
    proofs = ledger.Ledger(options["records"], options["force"], module.check_mode)
    try:
        hip.prove(
            hipcc,
            rocminfo,
            gfx=options["gfx"],
            known=options["known_gfx"],
            wished=options["packages"],
            require_gpu=options["require_gpu"],
            ledger=proofs,
            tmpdir=module.tmpdir,
        )
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"cannot prove the HIP compiler: {error}", findings=[])
    if findings.errors(proofs.findings):
        module.fail_json(msg=findings.text(proofs.findings), **proofs.result())
    module.exit_json(**proofs.result())


if __name__ == "__main__":
    main()
