#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_pin
short_description: Keep one file of apt preferences
version_added: "0.1.0"
description:
  - Writes the pins that one role owns into one file below C(/etc/apt/preferences.d), or removes the file.
  - The file is replaced in one step, so that apt never reads half of it.
  - A file of that name that this project did not make is not touched.
  - apt is not called and its cache is not opened.
author:
  - halo-provision contributors (@halo-provision)
extends_documentation_fragment:
  - action_common_attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  platform:
    platforms: debian
options:
  file:
    description:
      - The name of the file, without C(.pref). Letters, digits, C(-) and C(_); apt skips files of other names.
    type: str
    required: true
  pins:
    description:
      - What the file is to hold, in this order. apt takes the first that matches a version.
      - Required with O(state=present).
      - C(packages), a list of package names or globs.
      - C(priority), an integer up to 1000 and not 0; above that apt would downgrade.
      - Either C(version), an exact version, a prefix such as V(1:17.*), or V(installed) for the version
        that is on the host; or C(release), such as V(o=Debian,n=trixie).
      - C(fallback), with C(version=installed), the version for packages that the host does not have.
      - C(file), which must be O(file) if it is given.
    type: list
    elements: dict
    default: []
  state:
    description:
      - Whether the file is to exist.
    type: str
    choices: [present, absent]
    default: present
  root:
    description:
      - The directory that is taken for C(/).
    type: path
    default: /
"""

EXAMPLES = r"""
- name: Hold the compiler to its major
  apt_pin:
    file: halo-toolchain_pin
    pins:
      - packages: [clang-17]
        version: "1:17.*"
        priority: 990

- name: Hold ROCm to what is installed
  apt_pin:
    file: halo-rocm_runtime
    pins:
      - packages: ["rocm*", hipcc]
        version: installed
        priority: 995

- name: Give the packages free again
  apt_pin:
    file: halo-rocm_runtime
    state: absent
"""

RETURN = r"""
path:
  description: The preferences file.
  returned: always
  type: str
  sample: /etc/apt/preferences.d/halo-toolchain_pin.pref
before:
  description: The text of the file before; empty where there was none.
  returned: always
  type: str
after:
  description: The text of the file afterwards, or as it would be in check mode.
  returned: always
  type: str
findings:
  description: What is wrong with the pins or with the file.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo import findings, pin


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "file": {"type": "str", "required": True},
            "pins": {"type": "list", "elements": "dict", "default": []},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    options = module.params
    try:
        planned = pin.plan(options["file"], options["pins"], options["state"] == "present", options["root"])
        if planned.findings:
            found = [finding.as_dict() for finding in planned.findings]
            module.fail_json(msg=findings.text(planned.findings), findings=found)
        if planned.changed and not module.check_mode:
            pin.apply(planned)
    except OSError as error:
        module.fail_json(msg=f"cannot keep the preferences file {options['file']}: {error}", findings=[])
    path, before, after = str(planned.path), planned.before or "", planned.after or ""
    module.exit_json(
        changed=planned.changed,
        path=path,
        before=before,
        after=after,
        diff={"before": before, "after": after, "before_header": path, "after_header": path},
        findings=[],
    )


if __name__ == "__main__":
    main()
