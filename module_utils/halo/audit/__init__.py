"""What is wrong with a host's apt and dpkg before a run touches them, and where exactly.

Everything is read below a root directory; nothing is written, and the host's own apt cache is never opened. The checks
are pure functions over what :mod:`.sources`, :mod:`.lists`, :mod:`.stores` and :mod:`.preferences` have read.
``apt_pkg`` (python3-apt) is imported by :mod:`.stanzas`, :mod:`.verdict` and whoever uses them.
"""

from __future__ import annotations
