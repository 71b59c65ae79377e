#!/usr/bin/python
# Copyright: halo-provision contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read which GPUs the compute driver offers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_facts
short_description: Read which GPUs the compute driver offers
version_added: "0.1.0"
description:
  - Reads C(/sys/class/kfd/kfd/topology), which the amdgpu driver of the kernel fills. ROCm need not be installed.
  - A host without that driver has no GPUs; that is no failure.
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
  platform: {platforms: debian}
options:
  root:
    description: Directory below which C(sys) is read.
    type: path
    default: /
author: halo-provision contributors (@halo-provision)
"""

EXAMPLES = r"""
- name: Read the host's GPUs
  gpu_facts:
  register: gpu

- name: Say what they are
  ansible.builtin.debug:
    msg: "{{ gpu.gpus | map(attribute='gfx') | join(', ') | default('no GPU', true) }}"
"""

RETURN = r"""
gpus:
  description: The GPUs, by their nodes' numbers.
  returned: always
  type: list
  elements: dict
  contains:
    node: {description: Number of the node in the topology, type: int, sample: 1}
    gfx: {description: Compiler target, type: str, sample: gfx1151}
    name: {description: What the driver calls it, type: str, sample: ip discovery}
    apu: {description: Whether CPU and GPU share one package and its memory, type: bool}
    apu_reason: {description: "What RV(gpus[].apu) was concluded from", type: str}
    simd_count: {description: SIMD units, type: int, sample: 80}
    vendor_id: {description: PCI vendor (4098 is AMD), type: int, sample: 4098}
    device_id: {description: PCI device, type: int, sample: 5510}
    render_minor: {description: The number N of C(/dev/dri/renderDN), type: int, sample: 128}
findings:
  description: C(GPU.UNREADABLE) for each node that cannot be read or understood, and is left out.
  returned: always
  type: list
  elements: dict
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo import gpu


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={"root": {"type": "path", "default": "/"}}, supports_check_mode=True)
    gpus, findings = gpu.read(Path(module.params["root"]))
    module.exit_json(
        changed=False,
        gpus=[found.as_dict() for found in gpus],
        findings=[finding.as_dict() for finding in findings],
    )


if __name__ == "__main__":
    main()
