#!/usr/bin/python
# Copyright: halo-provision contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: stack_load
short_description: Choose the stack for a host and check that it fits
version_added: "0.1.0"
description:
  - Reads the stacks, checks them against their schema, chooses one and returns what it says for the host.
  - Runs on the controller and never on the host. It needs PyYAML and jsonschema there.
  - Fails with findings where the machine is none to provision, where no stack fits, or where a stack is wrong.
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none}
  platform: {platforms: debian}
options:
  name:
    description:
      - Name of a stack. V(auto) takes the newest ROCm whose package names are verified for the host's OS release,
        but none that AMD supports there for other GPUs than Ryzen APUs only, while there is another.
    type: str
    default: auto
  gfx:
    description: Target to compile for. V(auto) takes that of the GPU, or gfx1151 where the CPU is a Ryzen AI Max.
    type: str
    default: auto
  components:
    description: Which of the stack's components are to be installed.
    type: list
    elements: str
    default: [runtime]
  mirror:
    description:
      - URL below which every archive of a stack lies at C(HOST/PATH), keys included.
      - Empty for the archives themselves.
    type: str
    default: ""
  allow_any_host:
    description: Go on although the machine is no Ryzen AI Max.
    type: bool
    default: false
  allow_userspace_only:
    description: Go on although AMD does not support the machine's APU on its OS release, to build or in a container.
    type: bool
    default: false
  dir:
    description: Directory of the stacks, on the controller.
    type: path
    required: true
  host:
    description: What M(host_facts) returned as RV(host_facts#module:host).
    type: dict
    required: true
  gpus:
    description: What M(gpu_facts) returned as RV(gpu_facts#module:gpus).
    type: list
    elements: dict
    default: []
author: halo-provision contributors (@halo-provision)
"""

EXAMPLES = r"""
- name: Choose the stack
  stack_load:
    dir: "{{ playbook_dir }}/stacks"
    host: "{{ host.host }}"
    gpus: "{{ gpu.gpus }}"
  register: loaded

- name: Choose a stack by name and compile for another target
  stack_load:
    name: distro
    gfx: gfx1030
    allow_any_host: true
    dir: "{{ playbook_dir }}/stacks"
    host: "{{ host.host }}"
  register: loaded
"""

RETURN = r"""
stack:
  description: What the stack says for this host. C(docs/architecture.md) describes it.
  returned: success
  type: dict
findings:
  description: C(STACK.CHOSEN) with the reason, and whatever else is to be said.
  returned: always
  type: list
  elements: dict
"""
