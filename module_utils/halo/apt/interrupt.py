"""SIGTERM as an ordinary end of the program, at a moment that suits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType


class Interrupt:
    """Turns SIGTERM and SIGHUP into ``SystemExit``, so that every ``finally`` runs and nothing is left behind.

    While :meth:`deferred` is active the signal is only noted: apt's callbacks must not raise, and dpkg must finish.
    """

    def __init__(self) -> None:
        self.pending = False
        self._deferred = 0
        self._signals = (signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> Interrupt:
        # Handlers can be set in the main thread alone; elsewhere somebody else sees to signals.
        if threading.current_thread() is threading.main_thread():
            self._before = [signal.signal(number, self._handle) for number in self._signals]
        else:
            self._before = []
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in zip(self._signals, self._before):
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.pending = True
        if not self._deferred:
            raise SystemExit(128 + number)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Note a signal and end the program when the block is done, not within it."""
        self._deferred += 1
        try:
            yield
        finally:
            self._deferred -= 1
        if self.pending and not self._deferred:
            raise SystemExit(128 + signal.SIGTERM)
