#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: apt_keyring
short_description: Keep one keyring of apt, and fetch its keys again before they expire
version_added: "0.1.0"
description:
  - Keeps one file with the public keys that have the wanted primary fingerprints, and no other keys.
  - Keys in any form (armoured, binary, binary followed by an armoured copy) become one binary keyring, which is
    written in one step, with mode 0644. Neither gpg nor any package is needed.
  - Sources are opened only where a wanted key is absent, revoked, expired, or expires within O(refresh_days).
    They are tried in the order O(content), O(src), O(urls), until every wanted key is there and lasts.
  - A key that cannot be fetched again stays as long as it has not expired, with a warning among the findings.
  - apt verifies signatures, not this module. The fingerprint proves the key; expiry is what it says about itself.
author:
  - halo-provision contributors (@halo-provision)
extends_documentation_fragment:
  - action_common_attributes
attributes:
  check_mode:
    support: full
    details: Sources are opened in check mode as well; nothing is written.
  diff_mode:
    support: full
  platform:
    platforms: debian
options:
  path:
    description: The keyring. Absolute, ending in V(.gpg), not in C(trusted.gpg.d). Missing directories are made.
    type: str
    required: true
  fingerprints:
    description: Whole primary fingerprints of the wanted keys, 40 or 64 hexadecimal digits. Required unless absent.
    type: list
    elements: str
    default: []
  content:
    description: An armoured key. One of O(content), O(src) and O(urls) is required with O(state=present).
    type: str
  src:
    description: A file on the host that holds the keys.
    type: str
  urls:
    description:
      - URLs of the keys, C(http:), C(https:) or C(file:). User and password may be in the URL.
      - Proxies and certificates are those of the environment, C(https_proxy), C(no_proxy), C(SSL_CERT_FILE).
    type: list
    elements: str
    default: []
  refresh_days:
    description: How many days before it expires a key is fetched again.
    type: int
    default: 30
  timeout:
    description: How many seconds one URL may take.
    type: int
    default: 30
  state:
    description: Whether the file is to exist.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Keep the key of an archive
  apt_keyring:
    path: /etc/apt/keyrings/example.gpg
    fingerprints: ["0123 4567 89AB CDEF 0123  4567 89AB CDEF 0123 4567"]
    urls: [https://mirror.example.org/key.gpg, https://archive.example.org/key.gpg]
  environment:
    https_proxy: http://proxy.example.org:3128

- name: Keep a key that the controller has
  apt_keyring:
    path: /etc/apt/keyrings/example.gpg
    fingerprints: [0123456789ABCDEF0123456789ABCDEF01234567]
    content: "{{ lookup('ansible.builtin.file', 'example.asc') }}"
"""

RETURN = r"""
path:
  description: The keyring.
  returned: always
  type: str
before:
  description: >-
    What the file held. C(exists), C(mode), C(problem) if unreadable, C(foreign) fingerprints, the first C(expires),
    C(keys) with C(fingerprint), C(created), C(expires) (null for never), C(revoked), C(user_ids), C(subkeys).
  returned: always
  type: dict
after:
  description: The same of what it holds now, or will hold in check mode.
  returned: always
  type: dict
keyring:
  description: What the file holds now or will hold, in Base64, for planning with keys that are not on the host yet.
  returned: success
  type: str
findings:
  description: What came, was refreshed, expires, does not fit, or failed.
  returned: always
  type: list
  elements: dict
"""

import base64
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.halo import findings, keyring


def main() -> None:
    """Run the module."""
    spec = {
        "path": {"type": "str", "required": True},
        "fingerprints": {"type": "list", "elements": "str", "default": []},
        "content": {"type": "str"},
        "src": {"type": "str"},
        "urls": {"type": "list", "elements": "str", "default": []},
        "refresh_days": {"type": "int", "default": 30},
        "timeout": {"type": "int", "default": 30},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    options = {key: value for key, value in module.params.items() if key != "state"}
    present, write = module.params["state"] == "present", not module.check_mode
    planned = keyring.plan_options(options, present, int(time.time()), write=write)
    found = [*planned.findings, *(keyring.apply(planned) if write and planned.changed else [])]
    failed = bool(findings.errors(found))
    path, before, after = str(planned.path), planned.before, planned.before if failed else planned.after
    answer = {"path": path, "before": before.as_dict(), "after": after.as_dict()}
    answer["findings"] = [finding.as_dict() for finding in findings.worst_first(found)]
    if failed:
        module.fail_json(msg=findings.text(found), **answer)
    module.exit_json(
        changed=planned.changed,
        diff={"before": before.text(), "after": after.text(), "before_header": path, "after_header": path},
        keyring=base64.b64encode(after.data or b"").decode("ascii"),
        **answer,
    )


if __name__ == "__main__":
    main()
