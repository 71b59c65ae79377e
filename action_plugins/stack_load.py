# Copyright: halo-provision contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Choose the stack for a host, on the controller. ``library/stack_load.py`` documents it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ansible.module_utils
from ansible.plugins.action import ActionBase

# The setting module_utils tells ansible-core where to look when it packs a module for a host; it does not reach plugins
# on the controller. With its directory in the package's path the import below is the one that modules use.
_UTILS = str(Path(__file__).resolve().parent.parent / "module_utils")
if _UTILS not in ansible.module_utils.__path__:
    ansible.module_utils.__path__.append(_UTILS)

from ansible.module_utils.halo import findings, host, stack, stack_file  # noqa: E402

ARGUMENT_SPEC: dict[str, dict[str, Any]] = {
    "name": {"type": "str", "default": "auto"},
    "gfx": {"type": "str", "default": "auto"},
    "components": {"type": "list", "elements": "str", "default": ["runtime"]},
    "mirror": {"type": "str", "default": ""},
    "allow_any_host": {"type": "bool", "default": False},
    "allow_userspace_only": {"type": "bool", "default": False},
    "dir": {"type": "path", "required": True},
    "host": {"type": "dict", "required": True},
    "gpus": {"type": "list", "elements": "dict", "default": []},
}


class ActionModule(ActionBase):
    """The action; nothing is transferred to the host."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the stack and the findings, or fail with the findings."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(ARGUMENT_SPEC)
        found = host.check(args["host"], args["gpus"], args["allow_any_host"])
        chosen = None
        if not findings.errors(found):
            chosen, more = self._choose(args)
            found += more
        result.update(changed=False, findings=[finding.as_dict() for finding in found])
        if chosen is None:
            result.update(failed=True, msg=findings.text(findings.errors(found)))
        else:
            result["stack"] = chosen
        return result

    @staticmethod
    def _choose(args: dict[str, Any]) -> tuple[dict[str, Any] | None, list[findings.Finding]]:
        stacks, found = stack_file.load_all(Path(args["dir"]), args["name"])
        if findings.errors(found):
            return None, found
        request = stack.Request(
            stack=args["name"],
            gfx=args["gfx"],
            components=tuple(args["components"]),
            mirror=args["mirror"],
            userspace_only=args["allow_userspace_only"],
        )
        chosen, more = stack.resolve(stacks, args["host"], args["gpus"], request)
        return chosen, [*found, *more]
