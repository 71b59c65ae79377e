"""What halo-provision knows: pure Python, standard library only, no AnsibleModule.

Modules in ``library/`` and the command ``halo`` (``python -m halo``) are glue around this package.
It runs on the target's own Python, so it keeps to 3.9 syntax.
"""

from __future__ import annotations

__version__ = "0.1.0"
