"""Pruning: reports of running trials, and rules that stop trials which fall behind.

A rule turns the learning curves of the trials that have ended into thresholds: pairs of a step and
the lowest value there with which a trial continues. A trial takes the thresholds along when it
begins. So it needs no connection to the search, runs on any executor, and is compared with the
trials that had ended when it began. All values but those of `RunningTrial` and `Curves.predict` are
rewards: the negative of values that are minimized.
"""

import inspect
import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough._validation import above_zero, between_zero_and_one, clipped, whole
from bough.studies.trials import Report, Trial, next_report

Array = NDArray[np.float64]
#: Steps in increasing order, each with the lowest reward with which a trial continues.
Thresholds = Sequence[tuple[float, float]]


class RunningTrial:
    """The trial that is being evaluated, the second argument of an objective with two arguments.

    Attributes
    ----------
    id
        The number of the trial.
    reports
        The pairs of a step and a value reported so far.
    """

    def __init__(self, id_: int, sign: float = 1.0, thresholds: Thresholds = ()) -> None:
        self.id = id_
        self.reports: list[Report] = []
        self.pruned = False  # whether the objective was asked to stop
        self._sign = sign
        self._thresholds = thresholds
        self._is_behind = False

    def report(self, step: float, value: float) -> None:
        """Report an intermediate value.

        Parameters
        ----------
        step
            The effort so far, such as the number of epochs: positive, and larger in each report.
        value
            The value after this step, on the scale of the final one.
        """
        step, value = next_report(self.reports, step, value)
        before = self.reports[-1][0] if self.reports else 0
        self.reports.append((step, value))
        reached = bisect_right(self._thresholds, step, key=itemgetter(0))
        if reached > bisect_right(self._thresholds, before, key=itemgetter(0)):  # another one
            self._is_behind |= self._sign * value < self._thresholds[reached - 1][1]

    def should_stop(self) -> bool:
        """Return whether to stop. If so, return from the objective: the trial is pruned."""
        self.pruned |= self._is_behind
        return self._is_behind


class Reported(NamedTuple):
    """The value that an objective returned, its reports, and whether it was asked to stop."""

    value: Any
    reports: tuple[Report, ...]
    pruned: bool


def takes_trial(objective: Callable[..., Any]) -> bool:
    """Return whether an objective has two required positional parameters (`seed` is none).

    >>> takes_trial(lambda params, trial: 0.0), takes_trial(lambda params, seed: 0.0)
    (True, False)
    """
    try:
        parameters = inspect.signature(objective).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not say
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return sum(p.name != "seed" or p.kind is p.POSITIONAL_ONLY for p in required) == 2


class Curve(NamedTuple):
    """The learning curve of a trial that has ended: its rewards by step, and the final one."""

    steps: Array
    rewards: Array
    final: float | None  # None if the trial was pruned

    def first_from(self, step: float) -> float | None:
        """Return the first reward at or after a step."""
        i = int(self.steps.searchsorted(step))
        return None if i == len(self.steps) else float(self.rewards[i])


class Curves:
    """The learning curves of the trials that have ended with reports."""

    def __init__(self, sign: float, trials: Iterable[Trial] = ()) -> None:
        self._sign = sign
        self.ended: list[Curve] = []
        self.best = -math.inf  # the highest final reward, also of trials without reports
        for trial in trials:
            if trial.state in ("completed", "pruned"):
                self.add(trial.reports, trial.value)

    def add(self, reports: Sequence[Report], value: float | None) -> None:
        """Add the curve of a trial, and its value unless it was pruned."""
        final = None if value is None else self._sign * value
        if final is not None:
            self.best = max(self.best, final)
        if reports:
            steps, rewards = np.array(reports, dtype=float).T
            self.ended.append(Curve(steps, self._sign * rewards, final))

    @property
    def completed(self) -> list[Curve]:
        """The curves of the trials that were not pruned."""
        return [curve for curve in self.ended if curve.final is not None]

    @property
    def longest(self) -> float:
        """The last step of the longest completed trial."""
        return max((float(curve.steps[-1]) for curve in self.completed), default=0.0)

    def gains(self, steps: Array) -> Array:
        """Return how much each completed trial gained from each step to its end.

        A row for each trial and a column for each step, each column in increasing order, NaN where
        a trial had not reported.
        """
        rows = [np.empty((0, len(steps)))]
        for curve in self.completed:
            at = curve.steps.searchsorted(steps, side="right") - 1
            known = np.where(at < 0, math.nan, curve.rewards[at])
            rows.append(np.array([curve.final]) - known[np.newaxis])
        return np.sort(np.concatenate(rows), axis=0)

    def predict(
        self, reports: Sequence[Report], bounds: tuple[float, float] = (-math.inf, math.inf)
    ) -> tuple[float | None, float | None]:
        """Return the predicted final value of a trial with these reports, and its deviation.

        It is the last reported value, plus what completed trials gained from that step to their end
        on average, within the bounds of rewards, and worse than the best value of all: a trial that
        was not completed is not to be recommended. The deviation is that of the gains, or the gain
        itself if there is only one; None if it is 0. Both are None if no completed trial has a
        report up to this step.
        """
        step, value = reports[-1]
        mean, std, count = (float(each[0]) for each in _moments(self.gains(np.array([step]))))
        if not count:
            return None, None
        reward = clipped(self._sign * value + mean, bounds)
        reward = min(reward, math.nextafter(self.best, -math.inf))
        return self._sign * reward, (abs(mean) if count == 1 else std) or None


def _moments(gains: Array) -> tuple[Array, Array, Array]:
    """Return mean, predictive deviation and number of the gains in each column."""
    count = (~np.isnan(gains)).sum(axis=0)
    mean = np.nansum(gains, axis=0) / np.maximum(count, 1)
    squares = np.nansum((gains - mean) ** 2, axis=0)
    variance = squares / np.maximum(count - 1, 1) * (1.0 + 1.0 / np.maximum(count, 1))
    return mean, np.sqrt(variance), count.astype(float)


class PruneRule(ABC):
    """A rule that stops unpromising trials, for the argument `prune` of `maximize`."""

    @abstractmethod
    def thresholds(self, curves: Curves) -> Thresholds:
        """Return the thresholds of the next trial, given the curves of those that have ended.

        The last threshold lets all trials continue that have as many steps as the longest completed
        one.
        """


@dataclass(frozen=True)
class SuccessiveHalving(PruneRule):
    """Continue with the best share of trials at each of a geometric series of steps.

    The steps, called rungs, are `min_steps` times the powers of `reduction_factor`. A trial that
    reaches a rung continues if it is among the best 1 / `reduction_factor` of the trials that have
    reached it, or the best of all if they are few. Trials do not wait for each other: this is
    asynchronous successive halving (ASHA, Li et al. 2020). No trial is stopped at the last step of
    the longest completed trial, or later.

    Parameters
    ----------
    min_steps : float
        The first rung.
    reduction_factor : int
        The ratio of a rung to the one before, at least 2.

    Examples
    --------
    >>> import bough
    >>> def loss(params, trial):
    ...     for epoch in range(1, 28):
    ...         value = (params["x"] - 0.5) ** 2 + 1 / epoch
    ...         trial.report(epoch, value)
    ...         if trial.should_stop():
    ...             break
    ...     return value
    >>> space = bough.Space(x=bough.Float(0, 1))
    >>> result = bough.minimize(loss, space, budget=30, prune=bough.SuccessiveHalving(), rng=0)
    >>> result.history.pruned > 10, result.history.steps < 30 * 27
    (True, True)
    """

    min_steps: float = 1
    reduction_factor: int = 3

    def __post_init__(self) -> None:
        above_zero(self.min_steps, "min_steps")
        whole(self.reduction_factor, "reduction_factor", least=2)

    def thresholds(self, curves: Curves) -> Thresholds:
        """Return the rungs with the lowest reward of those that would continue there."""
        found = []
        rung, longest = float(self.min_steps), curves.longest
        while rung < longest:
            reached = [curve.first_from(rung) for curve in curves.ended]
            rewards = sorted(reward for reward in reached if reward is not None)
            continuing = max((len(rewards) + 1) // self.reduction_factor, 1)
            found.append((rung, rewards[-continuing]))
            rung *= self.reduction_factor
        return [*found, (longest, -math.inf)]


@dataclass(frozen=True)
class ProbabilityOfImprovement(PruneRule):
    """Stop a trial that is unlikely to become the best.

    The final value of a trial is its value at a step plus a gain, and the gains of the completed
    trials from that step to their end are draws from one normal distribution of unknown mean and
    variance. So the posterior of the final value is a Student t distribution. The trial is stopped
    when the probability that it exceeds the best value so far is below `threshold`.

    Parameters
    ----------
    threshold : float
        The probability of improvement below which a trial is stopped.
    min_trials : int
        The number of completed trials before any is stopped, at least 2.
    """

    threshold: float = 0.01
    min_trials: int = 5

    def __post_init__(self) -> None:
        between_zero_and_one(self.threshold, "threshold")
        whole(self.min_trials, "min_trials", least=2)

    def thresholds(self, curves: Curves) -> Thresholds:
        """Return the reported steps with the reward at which an improvement is just probable."""
        completed = curves.completed
        if len(completed) < self.min_trials:
            return ()
        from scipy.special import stdtrit

        steps = np.unique(np.concatenate([curve.steps for curve in completed]))
        steps = steps[steps < curves.longest]
        mean, std, count = _moments(curves.gains(steps))
        enough = count >= self.min_trials
        quantile = stdtrit(np.maximum(count - 1.0, 1.0), 1.0 - self.threshold)
        least = curves.best - mean - quantile * std
        found = zip(steps[enough].tolist(), least[enough].tolist(), strict=True)
        return [*found, (curves.longest, -math.inf)]
