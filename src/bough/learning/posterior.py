"""How probable parameters are, given what was told.

A mean that is learnt fits the data better than the true one does, which would make variances seem
smaller than they are, that of the root above all. So it is integrated out (restricted maximum
likelihood), and then taken where it is the most probable.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.likelihood import Evidence
from bough.learning.model import Model, Settings
from bough.learning.prior import Prior
from bough.learning.templates import free_slopes
from bough.means import Heuristic

Array = NDArray[np.float64]


@dataclass
class Found:
    """Where an optimiser has got to."""

    theta: Array
    density: float
    gradient: Array
    iterations: int = 0
    converged: bool = False


class Posterior:
    """The log posterior density of the parameters of a model, given what was told."""

    def __init__(self, model: Model, evidence: Evidence, prior: Prior) -> None:
        self.model = model
        self.evidence = evidence
        self.prior = prior
        self.low, self.high = model.bounds(prior)
        self.evaluations = 0
        self._likelihood = -math.inf  # of the last evaluation
        guesses = [prior.guess(slot.kind) for slot in model.slots]
        known = [
            slot.kind not in ("mean", "factor", "variance", "increment") for slot in model.slots
        ]
        self._typical = np.array([math.log(g.typical) for g in guesses])
        self._tight = np.array([k / g.spread**2 for k, g in zip(known, guesses, strict=True)])
        kinds = [slot.kind for slot in model.slots]
        self._has_variance = "variance" in kinds or "increment" in kinds
        self._factors = [i for i, kind in enumerate(kinds) if kind == "factor"]
        # The places of each free profile, without the root.
        profiles: dict[str, list[int]] = {}
        for i, slot in enumerate(model.slots):
            if slot.kind == "increment" and not slot.name.endswith("[0]"):
                profiles.setdefault(slot.name[: slot.name.index("increments")], []).append(i)
        self._profiles = [places for places in profiles.values() if len(places) > 1]

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return the log posterior density and its gradient."""
        self.evaluations += 1
        model, scale = self.model, self.evidence.scale
        now = model.settings(theta, self.evidence.shift, scale)
        v, s2, (density, by_v, by_s2, by_mean, by_factor) = self._evaluate(now)
        self._likelihood = density - self.evidence.restriction
        size = model.kernel_size
        rows = free_slopes(model.template, now.kernel, model.depth, model.first)
        slopes = np.array(rows).reshape(size, model.depth + 1) / scale**2
        gradient = np.empty(len(theta))
        gradient[:size] = slopes @ by_v
        rest = [2.0 * s2 * by_s2] if model.noise is None else []
        if model.first:
            rest.append(by_mean)
        if isinstance(model.mean, Heuristic):
            rest.append(by_factor)
        gradient[size:] = rest
        return self._add_prior(theta, v, slopes, density, gradient)

    def _evaluate(self, now: Settings) -> tuple[Array, float, Any]:
        """Return increments and noise in the units of learning, and the likelihood with slopes."""
        shift, scale = self.evidence.shift, self.evidence.scale
        v = now.kernel.increments(self.model.depth) / scale**2
        s2 = (now.noise / scale) ** 2
        mean, factor = now.mean, 1.0
        if callable(mean):
            factor = mean.scale if isinstance(mean, Heuristic) else 1.0
            mean = mean(())
        found = self.evidence.likelihood(
            v, s2, (mean - shift) / scale, factor, mean_is_free=bool(self.model.first)
        )
        return v, s2, found

    def likelihood_of(self, now: Settings) -> float:
        """Return the log likelihood of some settings, in the units of the user."""
        density = self._evaluate(now)[2][0]
        return self.in_units(density - self.evidence.restriction)

    @property
    def likelihood(self) -> float:
        """The log likelihood of the last evaluation, in the units of the user."""
        return self.in_units(self._likelihood)

    def in_units(self, density: float) -> float:
        """Return a log density in the units of the user."""
        # (The units are left out while one looks for the highest, so that they change no bit.)
        return density - self.evidence.densities * math.log(self.evidence.scale)

    def found(self, theta: Array, iterations: int = 0) -> Found:
        """Return theta with its density and gradient."""
        return Found(theta, *self(theta), iterations)

    def _add_prior(
        self, theta: Array, v: Array, slopes: Array, density: float, gradient: Array
    ) -> tuple[float, Array]:
        prior = self.prior
        off = self._tight * (theta - self._typical)
        density -= 0.5 * float(off @ (theta - self._typical))
        gradient -= off
        total = float(v[1:].sum())
        if self._has_variance and prior.worth > 0.0 and total > 0.0:
            density -= 0.5 * prior.worth * (math.log(total) + prior.variance / total)
            by_total = -0.5 * prior.worth * (1.0 - prior.variance / total) / total
            gradient[: len(slopes)] += by_total * slopes[:, 1:].sum(axis=1)
        for places in self._profiles:
            density += self._add_smoothness(theta, places, gradient)
        for i in self._factors:
            gap = theta[i] - self.model.expected_factor
            density -= 0.5 * gap**2 / prior.trust**2
            gradient[i] -= gap / prior.trust**2
        return density, gradient

    def _add_smoothness(self, theta: Array, places: list[int], gradient: Array) -> float:
        """Add what is expected of a free profile: it is much like a geometric kernel."""
        x = theta[places]
        steps = len(x) - 1
        guess = self.prior.ratio
        # The average slope of the logarithms is that of a geometric kernel ...
        gap = (x[-1] - x[0]) / steps - math.log(guess.typical)
        off = gap / guess.spread**2
        gradient[places[-1]] -= off / steps
        gradient[places[0]] += off / steps
        # ... and they turn little.
        turns = np.diff(x, 2)
        force = turns / self.prior.bend**2
        gradient[places[:-2]] -= force
        gradient[places[1:-1]] += 2.0 * force
        gradient[places[2:]] -= force
        return -0.5 * float(off * gap + force @ turns)
