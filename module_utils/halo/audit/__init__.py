"""What is wrong with a host's apt and dpkg before a run touches them, and where exactly.

Everything is read below a root directory; nothing is written, and the host's own apt cache is never opened. The checks
are pure functions over what :mod:`.sources`, :mod:`.lists`, :mod:`.stores` and :mod:`.preferences` have read.
python3-apt need not be there, since sources must be repaired before it can be installed.
"""

from __future__ import annotations
