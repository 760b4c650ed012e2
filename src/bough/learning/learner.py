"""Refits during a search: when they are due, from where they start, and their replay."""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough._validation import at_least_zero
from bough.belief.belief import Belief
from bough.belief.nodes import moderate
from bough.kernels import Geometric, Kernel
from bough.learning.fitting import lbfgs, newton
from bough.learning.model import WEAK, Mean, Model, Prior, Settings, is_free
from bough.learning.posterior import LogPosterior, Optimum, standardized
from bough.means import Cached, Heuristic
from bough.trees import Path

Array = NDArray[np.float64]

#: A refit is due when the observations have grown by this factor, before and after MANY of them.
GROWTH, LATER_GROWTH = 4 / 3, 2.0
MANY = 500
#: Up to this many observations a refit also starts from typical values, not only from the last fit.
FEW = 30
#: The change of the logarithm of the noise for another start, as long as repeated rewards agree.
LITTLE_NOISE = -4.0
#: Up to this many observations a fit with labels also starts from effects whose variance is less.
MANY_LABELED, FEW_EFFECTS = 100, -5.0
#: The cost of a Newton step grows with the number of parameters; above this number L-BFGS-B goes
#: first, and few Newton steps follow.
NEWTON_PARAMETERS = 8
NEWTON_STEPS = 6
#: A refit has converged when a Newton step changes no parameter by more than this share.
TOLERANCE = 1e-3
#: The standard deviation of the scale of a heuristic as long as all rewards are equal.
FULL_TRUST = 1e-3
#: A belief treats increments below this as 0.
VANISHED = 1e-99
#: The degrees of freedom below which nothing is said about a scale: two rewards may be nearly equal
#: by chance.
FEWEST = 4
#: Rewards count as exact if the probability that all repetitions agree by chance is below this.
COINCIDENCE = 1e-3
#: The relative difference that a likelihood may have on another machine.
ROUNDING = 1e-6


class FitRecord(NamedTuple):
    """The record of one refit: its values are in the order of the model's slots."""

    values: list[float]
    exact: bool
    likelihood: float


class Learner:
    """The unknown hyperparameters of a search, and the schedule of their refits.

    A refit costs O(nodes). It is due each time the observations have grown by a third (from 500 on:
    have doubled), so that refits cost O(depth) for each observation, like the observation itself.

    Parameters are those of `Model`; without a kernel it is a geometric one.

    Attributes
    ----------
    fits
        The records of all refits so far.
    recorded
        During a replay, the records of refits to be taken instead of new fits; otherwise None.
    fits_noise
        Whether the noise is unknown.
    exact
        Whether the rewards turned out to have no noise.
    watching
        Whether they still may: no repeated evaluation has differed yet.
    """

    def __init__(
        self,
        kernel: Kernel | None,
        noise: float | None,
        mean: Mean | None,
        depth: int,
        prior: Prior = WEAK,
    ) -> None:
        # A geometric kernel resembles all others: Linear and Discounted are special cases, and so
        # is Gaussian except for the root, whose part the fitted mean plays.
        kernel = Geometric.template() if kernel is None else kernel
        self.model = Model(kernel, noise, mean, depth, prior)
        self.exact_model = self.model
        if noise is None:
            self.exact_model = Model(kernel, 0.0, mean, depth, prior)
        self.fits_noise = noise is None
        self.exact = False
        self.watching = noise is None
        self.agreements = 0  # repeated evaluations that gave the same reward
        self.values: list[float] | None = None  # of the last fit
        self.only_zeros = True
        self.next = 1  # the number of observations at which the next refit is due
        self.fits: list[FitRecord] = []
        self.recorded: deque[FitRecord] | None = None

    @classmethod
    def of(cls, depth: int, kernel: Any, noise: Any, mean: Any) -> "Learner | None":
        """Return the learner of a search with these arguments; None if nothing is unknown."""
        if kernel is not None and not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a kernel such as Gaussian(3.0), got {kernel!r}")
        unknown = kernel is None or noise is None or is_free(kernel)
        if not unknown and not isinstance(mean, Heuristic):
            return None
        noise = None if noise is None else moderate(at_least_zero(noise, "noise"), "noise")
        if callable(mean):
            mean = mean if isinstance(mean, Heuristic) else Cached(mean)
        elif mean is not None:
            mean = moderate(mean, "mean")
        return cls(kernel, noise, mean, depth)

    def first(self) -> Settings:
        """Return the kernel, noise and mean before any observation."""
        settings = self.model.settings(self.model.values(self.model.start, 0.0, 1.0))
        mean = self.model.mean
        return replace(settings, mean=mean) if isinstance(mean, Heuristic) else settings

    # ------------------------------------------------------------------ schedule

    def is_due(self, observations: int) -> bool:
        """Return whether a refit is due."""
        return observations >= self.next if self.recorded is None else bool(self.recorded)

    def note(self, rewards: Iterable[float]) -> None:
        """Have a refit after the first reward that is not 0, which shows the units of rewards."""
        if self.only_zeros and any(rewards):
            self.only_zeros = False
            self.next = 0

    def watch(self, belief: Belief, node: Path, value: float) -> None:
        """Have a refit once repeated evaluations show that there is no noise.

        Then the search need not find out by playing an arm again and again.
        """
        arm = belief.arm(node)
        if arm.visits < 2:
            return
        if arm.value != value:
            self.watching = False
            return
        self.agreements += 1
        is_power_of_two = self.agreements & (self.agreements - 1) == 0
        if (self.agreements <= 8 or is_power_of_two) and looks_exact(belief):
            self.next = len(belief)

    def learn(self, belief: Belief) -> None:
        """Refit, and change the prior of a belief accordingly."""
        if self.watching and looks_exact(belief):
            self.watching = False
            self.exact = self._may_be_exact(belief)
            self.values = None
        self._fit(belief)
        count = len(belief)
        growth = GROWTH if count < MANY else LATER_GROWTH
        self.next = max(count + 1, math.ceil(growth * count))

    def doubt(self, belief: Belief) -> None:
        """Refit with noise: rewards that looked exact are not."""
        self.exact = self.watching = False
        self.values = None
        self._fit(belief)
        self.next = len(belief) + 1

    # ------------------------------------------------------------------ fits

    def _fit(self, belief: Belief) -> None:
        fit = self._recalled(belief) if self.recorded else self._found(belief)
        self.exact, self.values = fit.exact, fit.values
        now = self._model().settings(fit.values)
        belief.take_prior(now.kernel, now.noise, now.mean, fit.likelihood)
        self.fits.append(fit)

    def _model(self) -> Model:
        return self.exact_model if self.exact else self.model

    def _may_be_exact(self, belief: Belief) -> bool:
        """Return whether the observations are possible without noise under the given kernel."""
        posterior = LogPosterior(self.exact_model, standardized(belief, self.model.mean))
        return posterior(self.exact_model.start)[0] > -math.inf

    def _found(self, belief: Belief) -> FitRecord:
        """Return a new fit."""
        model = self._model()
        if isinstance(model.mean, Heuristic) and np.ptp(belief.observations["value"]) == 0.0:
            # Equal rewards, such as a penalty for every path that misses a goal, do not show that
            # the heuristic is wrong about the others.
            prior = replace(model.prior, trust=FULL_TRUST)
            model = Model(model.template, model.noise, model.mean, model.depth, prior)
        posterior = LogPosterior(model, standardized(belief, model.mean))
        starts = [] if self.values is None else [model.theta(self.values, *posterior.units)]
        if not starts or len(belief) <= FEW:
            starts.append(model.start)
        if self.watching and self.agreements and not self.exact:
            # Outliers look like noise, repeated rewards do not: there may be two maxima.
            starts.append(model.start.copy())
            starts[-1][model.kernel_size] += LITTLE_NOISE
        if model.label_slots and len(belief) <= MANY_LABELED:
            # What labels explain the tree may explain too: there may be two maxima.
            starts.append(model.start.copy())
            starts[-1][[i for i, name in model.label_slots if name == "variance"]] += FEW_EFFECTS
        best = max((_ascend(posterior, x) for x in starts), key=lambda optimum: optimum.density)
        values = model.values(best.theta, *posterior.units)
        now = model.settings(values)
        if self.exact and (now.kernel.increments(model.depth)[1:] <= VANISHED).any():
            # Without noise a step of no variance would make arms known that were never played.
            self.exact = False
            self.values = None
            return self._found(belief)
        return FitRecord(values, self.exact, posterior.log_likelihood(now))

    def _recalled(self, belief: Belief) -> FitRecord:
        """Return the next recorded fit, after checking that it belongs to these observations.

        On another machine the optimizer might end at slightly different values.
        """
        assert self.recorded  # not empty
        fit = self.recorded.popleft()
        self.exact = fit.exact
        model = self._model()
        if len(fit.values) != len(model.slots):
            raise ValueError(f"the recorded fit {fit} does not match the searcher's model")
        posterior = LogPosterior(model, standardized(belief, model.mean))
        likelihood = posterior.log_likelihood(model.settings(fit.values))
        if not math.isclose(likelihood, fit.likelihood, rel_tol=ROUNDING, abs_tol=ROUNDING):
            raise ValueError(f"the recorded fit {fit} has the log likelihood {likelihood!r} now")
        return fit


def _ascend(posterior: LogPosterior, start: Array) -> Optimum:
    """Maximize the density from a start, by Newton's method if that is cheap and succeeds."""
    if posterior.model.label_slots:  # a likelihood costs more than with the tree alone
        return lbfgs(posterior, start)
    if len(start) <= NEWTON_PARAMETERS:
        optimum = newton(posterior, posterior.at(posterior.clip(start)), tolerance=TOLERANCE)
        if optimum.converged:
            return optimum
        start = optimum.theta
    optimum = lbfgs(posterior, start)
    return newton(posterior, optimum, max_steps=NEWTON_STEPS, tolerance=TOLERANCE)


def largest_scale(observations: float, probability: float) -> float:
    """Return the factor by which a scale may exceed its estimate, except with a probability.

    If a kernel, a noise and a mean are known up to a common scale, and rewards have a normal
    distribution, then n times the estimated variance over the true one has a chi-square
    distribution with n degrees of freedom; its quantile is that of Wilson and Hilferty (1931).
    Infinite if there are hardly any observations.

    >>> [round(largest_scale(n, 0.025), 2) for n in (3, 4, 9, 29, 99)]
    [inf, 2.98, 1.83, 1.34, 1.16]
    """
    if observations < FEWEST:
        return math.inf
    variance = 2.0 / (9.0 * observations)
    z = NormalDist().inv_cdf(probability)
    return float((1.0 - variance + z * math.sqrt(variance)) ** -1.5)


def looks_exact(belief: Belief) -> bool:
    """Return whether repeated evaluations always gave the same reward, and not by chance.

    If no two arms have the same reward, chance agreement is improbable. Otherwise rewards are
    discrete, and agree by chance as often as the most common of them occurs. From only two values
    nothing is concluded: an arm that nearly always wins looks like one that always does.
    """
    observed, depth = belief.observations, belief.nodes["depth"]
    common = observed["own_noise"] == 0
    at_nodes = observed[common & (observed["ends"] == depth[observed["node"]])]
    what = 2 * at_nodes["node"].astype(np.int64) + at_nodes["of_step"]
    order = np.argsort(what, kind="stable")
    what, value = what[order], at_nodes["value"][order]
    again = what[1:] == what[:-1]
    agreements = int(again.sum())
    if agreements == 0 or not (value[1:] == value[:-1])[again].all():
        return False
    different = value[np.append(True, ~again)]
    values = np.unique(different)
    if len(values) == len(different):
        pairs = len(different) * (len(different) - 1) / 2
        chance = 1.0 / (1.0 + pairs)
    elif len(values) > 2:
        _, counts = np.unique(value, return_counts=True)
        chance = (1.0 + int(counts.max())) / (1.0 + len(value))
    else:
        return False
    return agreements * math.log(chance) <= math.log(COINCIDENCE)
