#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Module apt_plan: what roles want from apt, planned once and executed once."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_plan
short_description: Plan and execute all that several roles want from apt
version_added: "0.1.0"
description:
  - Solves all wishes together in a private apt root, and returns every change with the reason for it.
  - Executes exactly that plan, unless it goes beyond the permissions. Dependencies stay marked as automatic.
  - Needs C(python3-apt) on the host; M(apt_bootstrap) puts it there.
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
  platform: {platforms: debian}
options:
  wishes:
    description: What is wanted.
    <<: &dicts {type: list, elements: dict, default: []}
    suboptions:
      name:
        {description: "A binary package of the native architecture; with O(wishes[].state=absent) a glob as well.",
         type: str, required: true}
      version:
        {description: "A prefix V(1:17.*), an exact version, or V(>= 5.7, << 6). Any when left out.", type: str}
      origin: {description: The Release file's Origin that it must come from. Any when left out., type: str}
      state:
        description:
          - V(present) keeps an installed version that fits, V(latest) takes the newest that fits.
          - V(absent) removes it, but never what another wish wants present.
          - V(fetched) downloads and verifies it into O(wishes[].dest) without installing it.
        type: str
        choices: [present, latest, absent, fetched]
        default: present
      dest: {description: "The directory for O(wishes[].state=fetched).", type: path}
      role: {description: Who wishes it., type: str}
  pins: {description: "The pins as they will be, as C(apt_pin) takes them.", type: list, elements: dict, default: []}
  sources:
    description: Sources as they will be, with their keys. The plan sees them before they are on the host.
    <<: *dicts
    suboptions:
      file: {description: The name of a file in C(/etc/apt/sources.list.d)., type: str, required: true}
      text: {description: What stands in it., type: str, required: true}
      key: {description: The options of module C(apt_keyring)., type: dict, required: true}
      environment: {description: Variables for fetching the key., type: dict, default: {}}
  files: {description: "Path in C(/etc/apt) -> text after a repair to come, null if it goes.", type: dict, default: {}}
  repairs: {description: Commands of dpkg that a repair to come runs., type: list, elements: str, default: []}
  conflicts:
    description: Channels whose packages, given as O(conflicts[].packages), may only be there when wished absent.
    <<: *dicts
    suboptions:
      channel: {description: What they belong to., type: str, required: true}
      packages: {description: Names or globs of packages., type: list, elements: str, required: true}
      spare: {description: Names or globs of those that may be there., type: list, elements: str, default: []}
      remedy: {description: What to do about them., type: str, required: true}
  metas:
    description: Packages with the code for every GPU, O(metas[].instead) the one for a single GPU; refused.
    <<: *dicts
    suboptions:
      name: {description: The package., type: str, required: true}
      instead: {description: The one to wish for., type: str, required: true}
  one_origin:
    description: Sets of packages of which each must come from one origin, dependencies included.
    <<: *dicts
    suboptions:
      origin: {description: The Release file's Origin., type: str, required: true}
      packages: {description: Names or globs of packages., type: list, elements: str, required: true}
  permit_upgrade:
    {description: "Names or globs of packages nobody wished for that may move to another release or origin.",
     type: list, elements: str, default: []}
  permit_downgrade: {description: Names or globs that may be downgraded., type: list, elements: str, default: []}
  permit_remove:
    {description: "Names or globs of packages that may be removed. Essential ones by their exact name alone.",
     type: list, elements: str, default: []}
  permit_change_held:
    {description: "Names or globs of packages on hold that may change. The hold is kept at the new version.",
     type: list, elements: str, default: []}
  remedies:
    description: What a role advises when one of these changes is refused, instead of the permission by name.
    <<: *dicts
    suboptions:
      permission:
        {description: The permission that is missing., type: str, required: true,
         choices: [upgrade, downgrade, remove, change_held]}
      packages: {description: Names or globs of packages., type: list, elements: str, required: true}
      text: {description: What to do., type: str, required: true}
  execute:
    {description: "Execute the plan. Otherwise nothing on the host changes, its lists included.",
     type: bool, default: false}
  refresh:
    {description: "When to refresh the lists. V(auto) does so when one is missing or O(cache_valid_time) is over.",
     type: str, choices: [auto, always, never], default: auto}
  cache_valid_time: {description: Seconds that lists stay fresh; V(0) for however long., type: int, default: 3600}
  recommends: {description: Install recommended packages too., type: bool, default: false}
  log: {description: The file that dpkg's output is appended to., type: path, default: /var/log/halo/apt.log}
  lock_timeout: {description: Seconds to wait for apt's and dpkg's locks., type: int, default: 60}
  root: {description: The host's root directory. Only V(/) can be executed on., type: path, default: /}
author: halo-provision contributors (@halo-provision)
"""

EXAMPLES = r"""
- name: Replace libc++ 18 by 17
  apt_plan:
    wishes:
      - {name: libc++-17-dev, version: "1:17.*", origin: Debian, role: toolchain_pin}
    permit_remove: [libc++*-18*, libunwind-18*]
    execute: true
"""

RETURN = r"""
plan:
  description: Keys changes, fetch, download_bytes, disk_bytes, text; docs/architecture.md describes them.
  returned: always
  type: dict
before: {description: Package versions before of all that changes., returned: always, type: dict}
after: {description: Package versions afterwards of all that changes., returned: always, type: dict}
findings:
  description: What was found, each with code, severity, subject, evidence and remedy.
  returned: always
  type: list
  elements: dict
explanation: {description: The chains behind findings; docs/architecture.md has the keys., returned: always, type: list}
log: {description: The file with dpkg's output; empty when dpkg was not run., returned: always, type: str}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.respawn import has_respawned, probe_interpreters_for_module, respawn_module
from ansible.module_utils.halo.apt import glue


def main():
    """Read the parameters, plan or execute, and answer."""
    module = AnsibleModule(argument_spec=glue.PLAN_ARGUMENTS, supports_check_mode=True)
    if not glue.has_python_apt() and not has_respawned():
        interpreter = probe_interpreters_for_module(["/usr/bin/python3"], "apt_pkg")
        if interpreter:
            respawn_module(interpreter)
    answer = glue.plan(module.params, module.check_mode)
    if answer["failed"]:
        module.fail_json(**answer)
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
