#!/usr/bin/python
# GNU General Public License v3.0+ (see LICENSE)

from __future__ import annotations

DOCUMENTATION = r"""
module: cxx_proof
short_description: Prove that the pinned clang makes C++ programs that run
version_added: "0.1.0"
description:
  - Compiles a shared library and an executable against libstdc++ and against the pinned libc++, and runs it. It
    uses mathematics, strings, threads, files, and an exception that crosses the library's border.
  - Compares what it computes, the major of the headers that were used, and the shared objects that were loaded, because
    clang takes another major's headers without a word.
  - Nothing is inherited from the environment, C(LD_LIBRARY_PATH) and C(CPATH) least of all.
  - A proof is skipped while nothing that it rests on has changed, which is the compiler, any installed package, the
    unpacked libc++ and the loader's configuration. A proof that failed is always repeated.
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
  compiler:
    description: The pinned clang++.
    type: path
    required: true
  packages:
    description:
      - The packages of the toolchain. The C(libstdc++-N-dev) among them says which major the headers must be.
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
  libcxx_major:
    description: The major of the pinned libc++. Without it only libstdc++ is proved.
    type: int
  libcxx_mode:
    description: V(sysroot) for a libc++ that is unpacked below O(libcxx_prefix), V(system) for one that apt installed.
    type: str
    choices: [sysroot, system]
    default: sysroot
  libcxx_prefix:
    description: Where C(clang.cfg) and the unpacked libc++ lie. By default C(/opt/halo/toolchain/libc++-N).
    type: path
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
- name: Prove the toolchain
  cxx_proof:
    compiler: /usr/bin/clang++-17
    packages:
      - {name: clang-17, version: "1:17.*"}
      - {name: libstdc++-14-dev, version: "14.*"}
    libcxx_major: 17

- name: Prove it against the libc++ that apt installed, whatever is on record
  cxx_proof:
    compiler: /usr/bin/clang++-17
    libcxx_major: 17
    libcxx_mode: system
    force: true
"""

RETURN = r"""
before:
  description: Each proof with its record as it was found, or null.
  returned: always
  type: dict
  sample: {"libc++": {"inputs": "9f86d0...", "proved": "2026-11-30T20:00:00+00:00", "evidence": "..."}}
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
from ansible.module_utils.halo.proof import cxx, ledger, packages


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "compiler": {"type": "path", "required": True},
            "packages": packages.ARGUMENT,
            "libcxx_major": {"type": "int"},
            "libcxx_mode": {"type": "str", "choices": ["sysroot", "system"], "default": "sysroot"},
            "libcxx_prefix": {"type": "path"},
            "records": {"type": "path", "default": "/var/lib/halo/proofs"},
            "force": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    options = module.params
    libraries = [cxx.libstdcxx(package["name"] for package in options["packages"])]
    if major := options["libcxx_major"]:
        prefix = Path(options["libcxx_prefix"] or f"/opt/halo/toolchain/libc++-{major}")
        libraries.append(cxx.libcxx(major, options["libcxx_mode"], prefix))
    proofs = ledger.Ledger(options["records"], options["force"], module.check_mode)
    try:
        cxx.prove(Path(options["compiler"]), libraries, options["packages"], proofs, module.tmpdir)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"cannot prove the C++ compiler: {error}", findings=[])
    if findings.errors(proofs.findings):
        module.fail_json(msg=findings.text(proofs.findings), **proofs.result())
    module.exit_json(**proofs.result())


if __name__ == "__main__":
    main()
