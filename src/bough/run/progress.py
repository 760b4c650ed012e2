"""A bar that shows best, bound and gap, the way a MIP solver does."""

import sys
from time import monotonic
from typing import Any

#: Seconds between two looks at the certificate, which costs more than an evaluation of nothing.
INTERVAL = 0.2


class Bar:
    """A tqdm bar, or nothing: `progress` is True, False, or None for a bar on a terminal."""

    def __init__(
        self,
        progress: bool | None,
        total: int | None,
        done: int = 0,
        sign: float = 1.0,
        unit: str = "play",
    ) -> None:
        if progress not in (None, True, False):
            raise TypeError(f"progress must be True, False or None, got {progress!r}")
        if progress is None:
            progress = sys.stderr.isatty()
        self._sign = sign  # of the user's values as the searcher sees them
        self._bar: Any = None
        self._next = 0.0
        self._waiting = 0
        if progress:
            from tqdm import tqdm

            self._bar = tqdm(
                total=total, initial=done, unit=unit, file=sys.stderr, dynamic_ncols=True
            )

    def __enter__(self) -> "Bar":
        return self

    def update(self, search: Any) -> None:
        """Note one more evaluation."""
        if self._bar is None:
            return
        self._waiting += 1
        now = monotonic()
        if now >= self._next:
            self._next = now + INTERVAL
            self._show(search)

    def count(self, text: str) -> None:
        """Note that one more is done, and show what came of it."""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(1)

    def say(self, message: str) -> None:
        """Print a line where the bar is."""
        if self._bar is None:
            print(message, file=sys.stderr)
        else:
            self._bar.write(message, file=sys.stderr)

    def _show(self, search: Any) -> None:
        if search.observations:
            best = search.best()
            text = f"best {self._sign * best.mean:.4g}"
            certificate = getattr(search, "certificate", None)
            if certificate is not None:
                text += f"  bound {self._sign * certificate.upper:.4g}  gap {certificate.gap:.3g}"
            self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(self._waiting)
        self._waiting = 0

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.update(self._waiting)
            self._bar.close()
