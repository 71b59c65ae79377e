"""Repairing what the audit found: new contents of files, computed without touching anything, and dpkg's own repairs.

:mod:`.sources`, :mod:`.pins` and :mod:`.keys` compute; :mod:`.plan` puts it together and refuses what belongs to
something else; :mod:`.carry_out` writes, with a copy of every file outside apt's directories.
"""

from __future__ import annotations
