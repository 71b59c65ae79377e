"""The state of one keyring of apt: which keys it is to hold, where they come from, when they are fetched again.

:func:`plan` says what the file will be and changes nothing, so whoever plans with a key before it is on the host takes
``plan(request, now).after.data``; :func:`apply` writes it.
"""

from __future__ import annotations

from .files import Keyring
from .plan import Planned, apply, plan, plan_options
from .request import Request

__all__ = ["Keyring", "Planned", "Request", "apply", "plan", "plan_options"]
