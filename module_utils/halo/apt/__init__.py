"""Planning and executing what roles want from apt.

The pure parts (:mod:`.bootstrap`, :mod:`.dpkgdb`, :mod:`.locks`, :mod:`.pinned`, :mod:`.preferences`, :mod:`.refusals`,
:mod:`.versions`, :mod:`.wishes`, :mod:`.model`) need Python alone. The others import ``apt_pkg`` (python3-apt) when
they are loaded, so whoever imports them sees to it that it is there.
"""

from __future__ import annotations
