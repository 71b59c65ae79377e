"""Counts what a playbook really costs: every module that is sent to a host, a line a call.

Tasks are the wrong unit: ``copy`` runs two modules, a skipped task none.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: module_calls
type: aggregate
short_description: append every host and the module that it executes to a file
description: Appends to the file that the environment variable E(HALO_MODULE_CALLS) names.
requirements: [enabled in C(callbacks_enabled)]
"""

_execute_module = ActionBase._execute_module


def _counted(self: ActionBase, module_name: str | None = None, *args: Any, **kwargs: Any) -> Any:
    path = os.environ.get("HALO_MODULE_CALLS")
    if path:
        # Workers are forks of this process: O_APPEND keeps their lines whole.
        with Path(path).open("a", encoding="utf-8") as calls:
            host = self._templar.available_variables["inventory_hostname"]
            calls.write(f"{host} {module_name or self._task.action}\n")
    return _execute_module(self, module_name, *args, **kwargs)


class CallbackModule(CallbackBase):
    """Installs the counter; the callback's own events are not used."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "module_calls"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        ActionBase._execute_module = _counted
