"""The interface of every searcher, certificates, and checks that searchers share."""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bough._html import table
from bough._validation import listed, real, shown
from bough.belief.best_arm import Arm
from bough.belief.rng import SplitMix64
from bough.learning.learner import FitRecord, Learner
from bough.trees import Path, Tree

#: Rules of `best` that every searcher has.
RULES = ("lower", "mean", "observed")


@dataclass(frozen=True)
class Certificate:
    """Bounds of the incumbent and of all arms, which hold with probability 1 - delta.

    Attributes
    ----------
    path
        The arm with the highest lower confidence bound.
    lower, upper
        This bound, and the highest upper confidence bound of all arms, both within the known bounds
        of the reward. Without known bounds, `upper` is infinite if the number of arms is not known,
        and both are infinite as long as the scale of the rewards cannot be estimated.
    gap
        `upper - lower`: no arm is better than `path` by more than this.
    delta
        The failure probability of the bounds, for all plays together.
    conditional
        True if the kernel, the noise or the mean was fitted to the data: the bounds account for the
        uncertainty of their scale, and are conditional on the rest of the fit.
    """

    path: Path
    lower: float
    upper: float
    gap: float
    delta: float
    conditional: bool = False

    def _repr_html_(self) -> str:
        given = ", given the fitted hyperparameters" if self.conditional else ""
        return table(
            f"certificate, at confidence {1 - self.delta:g}{given}",
            [
                *self._place(),
                ("lower bound", f"{self.lower:.6g}"),
                ("upper bound", f"{self.upper:.6g}"),
                ("gap", f"{self.gap:.3g}"),
            ],
        )

    def _place(self) -> list[tuple[str, object]]:
        return [("path", " ".join(map(str, self.path)))]


class ExpectedBest:
    """The reward of the best arm of all, and the expected loss of the recommended one.

    By the belief as it was when this was made; computed on first access, in 5 to 100 ms.

    Parameters
    ----------
    draw
        A function that returns draws of the reward of the best arm, and of the recommended one.
    bounds
        The bounds of a reward.
    degrees_of_freedom
        The number of observations that the scale of the rewards was estimated from. Without bounds
        expectations exist for more than one, and a standard deviation for more than two.
    """

    def __init__(
        self,
        draw: Callable[[], tuple[NDArray[np.float64], NDArray[np.float64]]],
        bounds: tuple[float, float],
        degrees_of_freedom: float,
    ) -> None:
        self._draw = draw
        self._bounds = bounds
        self._freedom = math.inf if math.isfinite(bounds[1] - bounds[0]) else degrees_of_freedom

    @cached_property
    def _moments(self) -> tuple[float, float, float]:
        low, high = self._bounds
        if self._freedom <= 1.0:
            return high, math.nan, math.inf
        best, chosen = (np.clip(draws, low, high) for draws in self._draw())
        if not math.isfinite(best[0]):
            return math.inf, math.nan, math.inf
        std = float(best.std()) if self._freedom > 2.0 else math.inf
        return float(best.mean()), std, float((best - chosen).mean())

    @property
    def mean(self) -> float:
        """The expected reward of the best arm; infinite if it is not known to be finite."""
        return self._moments[0]

    @property
    def std(self) -> float:
        """The standard deviation of that reward; nan if its mean is not known."""
        return self._moments[1]

    @property
    def gap(self) -> float:
        """The expected reward of the best arm minus that of the recommended one."""
        return self._moments[2]

    def __repr__(self) -> str:
        return f"ExpectedBest(mean={self.mean!r}, std={self.std!r}, gap={self.gap!r})"


#: What is said if rewards contradict the given bounds of their means.
BOUNDS_ARE_WRONG = "measured values lie outside the given bounds, so the bounds are ignored"


def holding(
    bounds: tuple[float, float], lowest: float, highest: float, noise: float
) -> tuple[float, float]:
    """Return the given bounds of mean rewards; infinite ones if rewards contradict them.

    They do if one lies outside by more than six standard deviations of the noise.
    """
    slack = 6.0 * noise + 1e-9 * max(abs(lowest), abs(highest))
    if lowest > highest or (bounds[0] - slack <= lowest and highest <= bounds[1] + slack):
        return bounds
    return -math.inf, math.inf


class Resumable:
    """Methods by which a run reports outcomes to a searcher, and a study records and resumes it.

    When a study is resumed, it compares each recorded `ask` with that of the searcher. A searcher
    that draws random numbers from `self._random` and fits its hyperparameters by `self._learner`
    inherits the rest; one with another generator, or with its own fits, overrides these methods. A
    searcher without either needs no changes.
    """

    _random: Any = None
    _learner: Learner | None = None

    def prune(self: Any, candidate: Any, value: float, *, noise: float | None = None) -> None:
        """Record a reward that is predicted, since the evaluation was stopped before its end.

        By default it counts as any other observation.
        """
        self.tell(candidate, value, noise=noise)

    def tell_constrained(
        self: Any,
        candidate: Any,
        value: float | None,
        constraints: Sequence[float],
        *,
        noise: float | None = None,
    ) -> None:
        """Record the values of constraints: a candidate is feasible if all are at most 0.

        By default the reward of a feasible candidate is observed, and an infeasible one counts as
        failed.

        Parameters
        ----------
        candidate
            The path or the params, which need not come from `ask`.
        value
            The reward; None if it was not measured because a constraint is violated.
        constraints
            The values of the constraints.
        noise
            The standard deviation of the reward.
        """
        if value is not None and max(constraints) <= 0.0:
            self.tell(candidate, value, noise=noise)
        else:
            self.fail(candidate)

    @property
    def random_state(self) -> int | None:
        """The state of the random generator, a signed int of 64 bits; None if it has none."""
        if not isinstance(self._random, SplitMix64):
            return None
        state: int = self._random.state
        return state - 2**64 if state >= 2**63 else state

    @random_state.setter
    def random_state(self, state: int) -> None:
        if isinstance(self._random, SplitMix64):
            self._random = SplitMix64(state % 2**64)

    def fits(self, start: int = 0) -> list[dict[str, Any]]:
        """Return the fits of hyperparameters from number `start` on, as plain values for JSON."""
        learner = self._learner
        return [] if learner is None else [_plain_fit(learner, f) for f in learner.fits[start:]]

    def replay_fits(self, fits: Iterable[Mapping[str, Any]] | None) -> None:
        """Use these fits, each when a fit is due, instead of fitting; None: fit from now on.

        `tell` and `refit` raise `ValueError` if a fit does not match the observations.
        """
        if self._learner is not None:
            self._learner.recorded = None if fits is None else deque(map(_rebuilt_fit, fits))

    def refit(self) -> None:
        """Fit the hyperparameters to all observations now, if there are any to fit."""


def _plain_fit(learner: Learner, fit: FitRecord) -> dict[str, Any]:
    slots = (learner.exact_model if fit.exact else learner.model).slots
    values = {slot.name: value for slot, value in zip(slots, fit.values, strict=True)}
    return {"values": values, "exact": fit.exact, "likelihood": fit.likelihood}


def _rebuilt_fit(plain: Mapping[str, Any]) -> FitRecord:
    return FitRecord(list(plain["values"].values()), plain["exact"], plain["likelihood"])


class Searcher(Resumable, ABC):
    """A policy that chooses which path to evaluate next.

    `ask` may be called again before `tell`, and `tell` for paths that `ask` did not return.
    `bough.testing.SearcherConformance` has tests of the properties of all searchers.
    """

    #: Whether the constructor needs the number of plays, as `plays`.
    needs_plays: ClassVar[bool] = False
    tree: Tree

    @abstractmethod
    def ask(self) -> Path:
        """Return the next path to evaluate; raise `Exhausted` if none is left."""

    @abstractmethod
    def tell(
        self,
        path: Sequence[int],
        value: float | None = None,
        *,
        noise: float | None = None,
        steps: Sequence[float] | None = None,
    ) -> None:
        """Record a reward of a path, which need not come from `ask`, as a further observation.

        Parameters
        ----------
        path
            A complete path.
        value
            The reward.
        noise
            The standard deviation of this reward, if the searcher models noise.
        steps
            The rewards of the single steps, instead of `value`, which is their sum.
        """

    @abstractmethod
    def forget(self, path: Sequence[int]) -> None:
        """Drop a pending evaluation of the path, the oldest if there are several."""

    def fail(self, path: Sequence[int]) -> None:
        """Record that evaluating the path failed, which is not an observation.

        By default the evaluation stays pending, so that the search continues elsewhere.
        """
        self.tree.walk(path)

    @abstractmethod
    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were played.

        Parameters
        ----------
        rule
            `"lower"`: the highest mean minus one standard deviation. `"mean"`: the highest mean.
            `"observed"`: the highest single reward. The default depends on the searcher.
        """

    @property
    @abstractmethod
    def observations(self) -> int:
        """The number of rewards observed."""

    @property
    @abstractmethod
    def pending(self) -> tuple[Path, ...]:
        """The paths returned by `ask` and not yet observed or forgotten, the oldest first."""

    def best_action(self, rule: str | None = None) -> int:
        """Return the first step of the best arm."""
        path = self.best(rule).path
        if not path:
            raise ValueError("the best path is that of the root: it has no actions")
        return path[0]


def new_generator(rng: np.random.Generator | int | None) -> SplitMix64:
    """Return a new `SplitMix64`, seeded by a seed or a NumPy generator."""
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise type(error)(
            "rng must be a seed, an int of at least 0, or a numpy.random.Generator, "
            f"got {shown(rng)}"
        ) from None
    return SplitMix64(generator.integers(2**64, dtype=np.uint64))


def check_rule(rule: str | None, rules: Sequence[str] = RULES) -> None:
    """Raise unless the argument is None or a rule of `best`."""
    if rule is not None and rule not in rules:
        raise ValueError(f"rule must be one of {', '.join(rules)}, got {rule!r}")


def reward_of(value: float | None, steps: Sequence[float] | None, length: int) -> float:
    """Return the reward passed to `tell`: the value, or the sum of the steps."""
    if (value is None) == (steps is None):
        raise ValueError("tell takes the value of the reward, or the steps that sum up to it")
    if steps is None:
        return real(value, "value")
    return math.fsum(read_steps(steps, length))


def read_steps(steps: Sequence[float], length: int) -> list[float]:
    """Return the rewards of the single steps along a path, checked."""
    rewards = [real(r, f"steps[{i}]") for i, r in enumerate(listed(steps, "steps"))]
    if len(rewards) != length:
        raise ValueError(f"steps has {len(rewards)} rewards for a path of {length} steps")
    return rewards


def negative_arm(arm: Arm) -> Arm:
    """Return an arm with its reward negated (as 0 - x, so that 0 does not become -0)."""
    value = None if arm.value is None else 0.0 - arm.value
    bounds = 0.0 - arm.upper, 0.0 - arm.lower
    return Arm(arm.path, arm.params, 0.0 - arm.mean, arm.std, *bounds, value, arm.visits)


def negative_certificate(certificate: Certificate) -> Certificate:
    """Return a certificate with its bounds negated."""
    return replace(certificate, lower=0.0 - certificate.upper, upper=0.0 - certificate.lower)
