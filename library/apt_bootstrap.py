#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Module apt_bootstrap: the one package that is installed before anything is planned."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_bootstrap
short_description: Install python3-apt where it is missing
version_added: "0.1.0"
description:
  - Nothing can be planned without C(python3-apt), which minimal images lack. It is installed with C(apt-get), without
    recommended packages; lists are refreshed where they are missing or too old for it.
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
  platform: {platforms: debian}
options:
  files:
    description: Path in C(/etc/apt) -> its text after a repair to come, null where it goes. apt-get works with these.
    type: dict
    default: {}
  lock_timeout: {description: Seconds to wait for apt's and dpkg's locks., type: int, default: 60}
author:
  - halo-provision contributors (@halo-provision)
"""

EXAMPLES = r"""
- name: Install python3-apt, without which nothing can be planned
  apt_bootstrap:
"""

RETURN = r"""
before: {description: Whether python3-apt was there., returned: always, type: dict}
after: {description: Whether python3-apt is there., returned: always, type: dict}
findings: {description: Why it could not be installed., returned: always, type: list, elements: dict}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo.apt import glue


def main():
    """Install python3-apt, and answer."""
    module = AnsibleModule(argument_spec=glue.BOOTSTRAP_ARGUMENTS, supports_check_mode=True)
    answer = glue.bootstrap(module.params, module.check_mode)
    if answer["failed"]:
        module.fail_json(**answer)
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
