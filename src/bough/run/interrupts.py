"""Ctrl-C, heeded where it does no harm."""

import signal
import threading
from types import FrameType


class Interrupts:
    """While the user's code runs Ctrl-C interrupts it; while a searcher learns it is put off.

    So no searcher is ever left half told, unless Ctrl-C is pressed twice. Elsewhere than in the
    main thread, or where the program has a handler of its own, nothing is changed.
    """

    def __init__(self) -> None:
        self.heeded = False  # the user's code is running
        self._waiting = False
        self._installed = False

    def __enter__(self) -> "Interrupts":
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)
            self._installed = True
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again = self._waiting
        # (Python ignores exceptions in some places, such as __del__: then `check` raises it again.)
        self._waiting = True
        if self.heeded or again:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise what was put off."""
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt

    def caught(self) -> None:
        """Go on after Ctrl-C as if it had not been pressed: the next one counts as the first."""
        self._waiting = False

    def __exit__(self, *exception: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
