"""Stop rules: functions of a searcher that return the reason to stop, or nothing."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bough._validation import above_zero, at_least_zero, real, whole

#: Called with the searcher after every evaluation; a true value stops the search, and a string
#: becomes `result.stopped_by`.
StopRule = Callable[[Any], object]


def need_certificate(rule: object, searcher: Any) -> None:
    """Refuse a rule for a searcher without certificates."""
    if not hasattr(type(searcher), "certificate"):
        raise TypeError(
            f"{rule!r} needs a searcher with certificates, such as GPTS; "
            f"{type(searcher).__name__} has none"
        )


@dataclass(frozen=True)
class Budget:
    """Stop after a number of evaluations (including failed ones, if `maximize` counts them)."""

    evaluations: int

    def __post_init__(self) -> None:
        whole(self.evaluations, "budget", least=1)

    def __call__(self, searcher: Any) -> object:
        """Return "budget" when it is used up."""
        return "budget" if searcher.observations >= self.evaluations else None


@dataclass
class WallTime:
    """Stop a number of seconds after the start of the search."""

    seconds: float
    _until: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        above_zero(self.seconds, "seconds")

    def start(self) -> None:
        """Start the clock."""
        self._until = time.monotonic() + self.seconds

    def __call__(self, searcher: Any) -> object:
        """Return "seconds" when they are over."""
        if self._until is None:
            self.start()
        return "seconds" if time.monotonic() >= (self._until or 0.0) else None


@dataclass(frozen=True)
class Gap:
    """Stop when the gap of the certificate is at most eps: no arm is better by more than eps."""

    eps: float

    def __post_init__(self) -> None:
        at_least_zero(self.eps, "eps")

    def __call__(self, searcher: Any) -> object:
        """Return "gap" when it is small enough."""
        need_certificate(self, searcher)
        done = searcher.observations and searcher.certificate.gap <= self.eps
        return "gap" if done else None


@dataclass(frozen=True)
class IntervalWidth:
    """Stop when the confidence interval of the best arm is at most eps wide (the paper's rule)."""

    eps: float

    def __post_init__(self) -> None:
        at_least_zero(self.eps, "eps")

    def __call__(self, searcher: Any) -> object:
        """Return "interval width" when it is small enough."""
        need_certificate(self, searcher)
        if not searcher.observations:
            return None
        best = searcher.best()
        return "interval width" if best.upper - best.lower <= self.eps else None


#: The least number of observations at which the first look at an expected gap may stop a search.
FEW = 20


@dataclass
class ExpectedGap:
    """Stop when the expected gap is at most eps: the expected loss of the recommended arm.

    That is the expected reward of the best arm of all minus that of the recommended one. It takes 5
    to 100 ms, so it is computed after each of the first 40 evaluations, and then whenever their
    number has grown by 5 %. It must remain at most eps while the number of evaluations grows by a
    third (unless it is small when first computed, as in a resumed study), since the first small one
    of many estimates is biased.
    """

    eps: float
    #: The number of observations at the next look, and that since which the gap was small.
    _next: int = field(default=0, repr=False, compare=False)
    _since: int | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        at_least_zero(self.eps, "eps")

    def start(self) -> None:
        """Forget all looks."""
        self._next, self._since = 0, None

    def __call__(self, searcher: Any) -> object:
        """Return "expected gap" when it is small enough."""
        if not hasattr(type(searcher), "expected_gap"):
            raise TypeError(
                f"{self!r} needs a searcher with an expected gap, such as GPTS; "
                f"{type(searcher).__name__} has none"
            )
        count = searcher.observations
        if count < self._next // 2:  # another search
            self.start()
        is_first = self._next == 0 and count >= FEW
        if not count or count < self._next:
            return None
        self._next = count + max(count // 20, 1)
        if searcher.expected_gap() > self.eps:
            self._since = None
            return None
        self._since = self._since or count
        return "expected gap" if is_first or 3 * count >= 4 * self._since else None


@dataclass(frozen=True)
class Target:
    """Stop when the best arm's mean reaches a value."""

    value: float

    def __post_init__(self) -> None:
        real(self.value, "value")

    def __call__(self, searcher: Any) -> object:
        """Return "target" when it is reached."""
        done = searcher.observations and searcher.best().mean >= self.value
        return "target" if done else None


class RunRule:
    """A rule that `maximize` and `minimize` call with the run, instead of the searcher."""


@dataclass
class Patience(RunRule):
    """Stop after a number of evaluations in a row without a better measured value.

    Failed evaluations count, too. Evaluations before this run do not.

    >>> import bough
    >>> space = bough.Space(x=bough.Float(-1, 1))
    >>> result = bough.minimize(lambda p: abs(p["x"]), space, stop=bough.Patience(10), rng=0)
    >>> result.stopped_by, bool(min(result.history.values[-10:]) >= result.best_observed.value)
    ('patience', True)
    """

    evaluations: int
    #: The best value so far, and the number of evaluations after which it was measured.
    _best: float | None = field(default=None, repr=False, compare=False)
    _at: int | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole(self.evaluations, "evaluations", least=1)

    def start(self) -> None:
        """Forget all evaluations."""
        self._best = self._at = None

    def __call__(self, run: Any) -> object:
        """Return "patience" when it is over."""
        found = run.best_observed()
        best = None if found is None else found.value
        if self._at is None:  # the first evaluation of this run, or none yet
            self._at = run.before
        if best != self._best:
            self._best, self._at = best, run.ended
        return "patience" if run.ended - self._at >= self.evaluations else None


@dataclass(frozen=True)
class AllFailed(RunRule):
    """Stop when all of the first evaluations of a run have failed, which no search can mend."""

    evaluations: int

    def __call__(self, run: Any) -> object:
        """Return "failures" when they have."""
        ended, failed = run.ended - run.before, run.failed - run.failed_before
        return "failures" if failed == ended >= self.evaluations else None
