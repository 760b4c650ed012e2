"""Progress, as a bar or in lines, with the best so far; and Ctrl-C, handled where it is safe."""

import math
import signal
import sys
import threading
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import Any

from bough._text import brief, listed
from bough.studies.trials import Trial

#: Seconds between two updates of the bar: a certificate costs more than a trivial evaluation.
INTERVAL = 0.2
#: Seconds between two lines where there is neither a terminal nor a notebook.
LOG_INTERVAL = 10.0
#: The share of the time that may be spent on the expected best, and the seconds it takes at first.
SHARE, COST = 0.05, 0.1


class Bar:
    """A tqdm bar, a line every ten seconds, a line for every trial, or nothing.

    Parameters
    ----------
    progress
        True: a bar. None: a bar on a terminal and in a notebook, elsewhere a line every ten
        seconds. `"log"`: a line for every trial. False: nothing.
    total, done
        The number of units, None if it is not known, and those done before.
    sign
        The factor of values before the searcher observes them.
    unit
        The name of a unit.
    run
        An object with the best evaluation so far, a line about the last one, and the failures.
    clock
        A function that returns the time in seconds.
    """

    def __init__(
        self,
        progress: bool | str | None,
        total: int | None,
        done: int = 0,
        sign: float = 1.0,
        unit: str = "play",
        run: Any = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if progress not in (None, True, False, "log"):
            raise TypeError(f'progress must be True, False, None or "log", got {progress!r}')
        self._log = progress == "log"
        if self._log:
            progress = False
        has_bar = (sys.stderr.isatty() or _in_notebook()) if progress is None else bool(progress)
        self._sign = sign
        self._run = run
        self._clock = clock
        self._begin = clock()
        self._spent = 0.0  # seconds on the expected best,
        self._cost = COST  # those of the next time, as far as is known,
        self._expected = ""  # and what it was
        self._bar: Any = None
        self._search: Any = None  # the last one that was shown
        self._next = 0.0
        self._waiting = 0
        self._total, self._done, self._unit = total, done, unit
        self._lines = progress is None and not has_bar
        self._next_line = self._begin + LOG_INTERVAL
        if has_bar:
            from tqdm.auto import tqdm

            self._bar = tqdm(
                total=total, initial=done, unit=unit, file=sys.stderr, dynamic_ncols=True
            )

    def __enter__(self) -> "Bar":
        return self

    def update(self, search: Any) -> None:
        """Count one more evaluation of a searcher."""
        if self._log:
            self.say(self._run.last_line())
        if self._lines:
            self._count(lambda: self._status(search))
        if self._bar is None:
            return
        self._waiting += 1
        self._search = search
        now = self._clock()
        if now >= self._next:
            self._next = now + INTERVAL
            self._show(search)

    def count(self, text: str) -> None:
        """Count one more unit, and show a text."""
        if self._lines:
            self._count(lambda: text)
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(1)

    def say(self, message: str) -> None:
        """Print a line above the bar."""
        if self._bar is None:
            print(message, file=sys.stderr)
        else:
            self._bar.write(message, file=sys.stderr)

    def _count(self, status: Callable[[], str]) -> None:
        """Count one more unit; print a line if the last one is ten seconds old."""
        self._done += 1
        now = self._clock()
        if now < self._next_line:
            return
        self._next_line = now + LOG_INTERVAL
        of = "" if self._total is None else f" of {self._total:,}"
        plural = "" if self._done == (self._total or self._done) == 1 else "s"
        line = f"{self._done:,}{of} {self._unit}{plural} after {now - self._begin:.0f} s"
        text = status()
        self.say(f"{line}, {text}" if text else line)

    def _show(self, search: Any) -> None:
        text = self._status(search)
        if text:
            self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(self._waiting)
        self._waiting = 0

    def _status(self, search: Any) -> str:
        """Return the best so far, what is expected of the best of all, and failures."""
        best = None if self._run is None else self._run.best_observed()
        parts = []
        if best is not None:
            if search.observations and hasattr(search, "expected_best"):
                self._update_expected(search)
            parts.append(f"best observed {best.value:.4g}{self._expected}")
        if self._run is not None and self._run.infeasible:
            parts.append(f"{self._run.infeasible} infeasible")
        if self._run is not None and self._run.failed:
            parts.append(f"{self._run.failed} failed")
        return ", ".join(parts)

    def _update_expected(self, search: Any) -> None:
        """Compute the expected best again, unless that would take too much of the time."""
        begin = self._clock()
        if self._spent + self._cost > SHARE * (begin - self._begin):
            return
        expected = search.expected_best()
        if math.isfinite(expected.mean) and math.isfinite(expected.std):
            mean, std = self._sign * expected.mean, expected.std
            loss = f"expected loss {expected.gap:.2g}"
            self._expected = f", expected best {mean:.4g} +- {std:.2g}, {loss}"
        self._cost = self._clock() - begin
        self._spent += self._cost

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            if self._search is not None:
                self._show(self._search)
            self._bar.close()


def _in_notebook() -> bool:
    """Return whether this runs in a Jupyter kernel, which shows bars of `tqdm.auto`."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def trial_line(trial: Trial, seconds: float, best: Any) -> str:
    """Return one line about a trial that has ended, and the best measured value so far.

    `seconds` is how long it took in this run: an earlier one may have left it.
    """
    where = listed(trial.params) if trial.params is not None else " ".join(map(str, trial.path))
    if trial.state == "pruned":
        step, value = trial.reports[-1]
        outcome = f"pruned after step {step:g} with value {value:.6g}"
    elif trial.value is None:
        outcome = f"failed ({brief(trial.reason)})"
    else:
        outcome = f"value {trial.value:.6g}"
    if trial.state == "infeasible":
        outcome += f", infeasible by {max(trial.constraints):.6g},"
    line = f"trial {trial.id}: {outcome} in {seconds:.3g} s at {where}"
    return line if best is None else f"{line}; best {best.value:.6g}"


class Interrupts:
    """A handler of Ctrl-C that interrupts the user's code at once, and a searcher never.

    So no searcher is left with half an observation, unless Ctrl-C is pressed twice. Outside of the
    main thread, or where the program has a handler of its own, nothing is changed.
    """

    def __init__(self) -> None:
        self.allowed = False  # whether the user's code is running
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
        if self.allowed or again:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise an interrupt that was postponed."""
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt

    def caught(self) -> None:
        """Continue after Ctrl-C: the next one counts as the first."""
        self._waiting = False

    def __exit__(self, *exception: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
