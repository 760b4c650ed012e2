"""The posterior density of the unknowns of a model, given the observations of a belief.

The marginal likelihood and its gradient cost one pass over the observations (`belief.likelihood`).
A fitted mean fits the observations better than the true one, which would bias variances, above all
that of the root. So it is integrated out (restricted maximum likelihood), and then set to its most
probable value.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief
from bough.belief.labeled_likelihood import LabeledEvidence
from bough.belief.likelihood import Evidence
from bough.belief.nodes import moderate
from bough.kernels import Geometric
from bough.learning.model import Model, Settings
from bough.means import Heuristic
from bough.trees import Path

Array = NDArray[np.float64]

#: Rewards smaller than this count as 0: a belief treats noise below 1e-50 as none.
SMALLEST = 1e-45


@dataclass
class Optimum:
    """The state of a maximization: theta, with its log density and gradient."""

    theta: Array
    density: float
    gradient: Array
    converged: bool = False


class LogPosterior:
    """The log posterior density of theta, up to a constant; `__call__` also returns its gradient.

    Parameters
    ----------
    model
        The model, with its prior.
    evidence
        The standardized observations: see `standardized`.
    """

    def __init__(self, model: Model, evidence: Evidence | LabeledEvidence) -> None:
        self.model = model
        self.evidence = evidence
        self.units = evidence.shift, evidence.scale
        priors = [slot.prior for slot in model.slots]
        self._center = np.array([math.log(p.median) if p else 0.0 for p in priors])
        self._precision = np.array([1.0 / p.sigma**2 if p else 0.0 for p in priors])
        kinds = [slot.kind for slot in model.slots]
        if isinstance(evidence, LabeledEvidence):
            evidence.decay_is_free = "decay" in [name for _, name in model.label_slots]
        self._has_variance = "variance" in kinds or "increment" in kinds
        self._scales = [i for i, kind in enumerate(kinds) if kind == "scale"]
        # The entries of the increments of each `Chi(None)`, without the root.
        profiles: dict[str, list[int]] = {}
        for i, slot in enumerate(model.slots):
            if slot.kind == "increment" and not slot.name.endswith("[0]"):
                profiles.setdefault(slot.name[: slot.name.index("increments")], []).append(i)
        self._profiles = [entries for entries in profiles.values() if len(entries) > 1]

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return the log posterior density and its gradient."""
        model = self.model
        now = model.settings(model.values(theta, *self.units))
        v, s2, (density, by_v, by_s2, by_mean, by_scale) = self._evaluate(now)
        gradients = model.gradients(now.kernel) / self.evidence.scale**2
        rest = [2.0 * s2 * by_s2] if model.noise is None else []
        if model.fits_mean:
            rest.append(by_mean)
        if isinstance(model.mean, Heuristic):
            rest.append(by_scale)
        by_labels = {}
        labels = 0.0
        if isinstance(self.evidence, LabeledEvidence):
            by_labels, labels = self.evidence.by_labels, self.evidence.label_variance
        prior, by_total = self._prior_of_variance(float(v[1:].sum()) + labels)
        density += prior
        by_v[1:] += by_total
        gradient = np.empty(len(theta))
        gradient[: model.kernel_size] = gradients @ by_v
        gradient[model.kernel_size :] = rest
        if isinstance(self.evidence, LabeledEvidence):
            by_variance = self.evidence.by_label_variance
            for i, name in model.label_slots:
                gradient[i] += by_labels[name] + by_total * by_variance[name]
        return density + self._add_prior(theta, gradient), gradient

    def _evaluate(self, now: Settings) -> tuple[Array, float, Any]:
        """Return standardized increments and noise variance, and the likelihood's derivatives."""
        shift, scale = self.units
        v = now.kernel.increments(self.model.depth) / scale**2
        s2 = (now.noise / scale) ** 2
        mean, factor = now.mean, 1.0
        if callable(mean):
            factor = mean.scale if isinstance(mean, Heuristic) else 1.0
            mean = mean(())
        mean = (mean - shift) / scale
        free = self.model.fits_mean
        if isinstance(self.evidence, LabeledEvidence):
            labels = now.kernel.label_model
            assert labels is not None  # the belief has labels
            found = self.evidence.likelihood(v, s2, mean, factor, labels, mean_is_free=free)
        else:
            found = self.evidence.likelihood(v, s2, mean, factor, mean_is_free=free)
        return v, s2, found

    def log_likelihood(self, now: Settings) -> float:
        """Return the log marginal likelihood of a kernel, noise and mean."""
        density = self._evaluate(now)[2][0]
        return self.in_units(density - self.evidence.restriction)

    def in_units(self, density: float) -> float:
        """Return the log density of the rewards, given that of the standardized ones."""
        # Constants are left out during maximization, so that units do not change any bit.
        return density - self.evidence.densities * math.log(self.evidence.scale)

    def at(self, theta: Array) -> Optimum:
        """Return theta with its log density and gradient."""
        return Optimum(theta, *self(theta))

    def clip(self, theta: Array) -> Array:
        """Return the nearest theta within the bounds."""
        return np.clip(theta, self.model.low, self.model.high)

    def _prior_of_variance(self, total: float) -> tuple[float, float]:
        """Return the log prior of the variance of a path, inverse gamma, and its slope."""
        prior = self.model.prior
        if not (self._has_variance and prior.worth > 0.0 and total > 0.0):
            return 0.0, 0.0
        slope = -0.5 * prior.worth * (1.0 - prior.variance / total) / total
        return -0.5 * prior.worth * (math.log(total) + prior.variance / total), slope

    def _add_prior(self, theta: Array, gradient: Array) -> float:
        """Return the log prior of all else, and add its gradient."""
        # Log-normal: shapes and noise.
        gap = theta - self._center
        pull = self._precision * gap
        density = -0.5 * float(pull @ gap)
        gradient -= pull
        for entries in self._profiles:
            density += self._add_smoothness(theta, entries, gradient)
        # Normal: the scale of a heuristic.
        for i in self._scales:
            excess = theta[i] - self.model.slots[i].start
            density -= 0.5 * excess**2 / self.model.prior.trust**2
            gradient[i] -= excess / self.model.prior.trust**2
        return density

    def _add_smoothness(self, theta: Array, entries: list[int], gradient: Array) -> float:
        """Add the log prior of free increments, which are expected to be nearly geometric."""
        x = theta[entries]
        steps = len(x) - 1
        ratio = self.model.prior.of("ratio", Geometric.hyperparameters["ratio"].prior)
        # The average slope of the logarithms has the prior of a geometric kernel's ratio,
        gap = (x[-1] - x[0]) / steps - math.log(ratio.median)
        pull = gap / ratio.sigma**2
        gradient[entries[-1]] -= pull / steps
        gradient[entries[0]] += pull / steps
        # and their second differences are small.
        bends = np.diff(x, 2)
        force = bends / self.model.prior.bend**2
        gradient[entries[:-2]] -= force
        gradient[entries[1:-1]] += 2.0 * force
        gradient[entries[2:]] -= force
        return -0.5 * float(pull * gap + force @ bends)


# ---------------------------------------------------------------------- observations


def standardized(belief: Belief, mean: Any) -> Evidence | LabeledEvidence:
    """Return the standardized observations of a belief, for likelihoods under a prior mean."""
    kind = Evidence if belief.effects is None else LabeledEvidence
    evidence: Evidence | LabeledEvidence = kind(belief, *location_and_scale(belief))
    if callable(mean):
        height = mean.height if isinstance(mean, Heuristic) else mean
        paths = paths_of(belief, evidence.node)
        heights = [
            0.0 if path is None else moderate(height(path), f"mean({path})") for path in paths
        ]
        evidence.set_heights(np.array(heights))
    return evidence


def location_and_scale(belief: Belief) -> tuple[float, float]:
    """Return mean and standard deviation of the rewards; if all are equal, their size."""
    observed, nodes = belief.observations, belief.nodes
    values, weights = observed["value"], None
    size = float(np.abs(values).max())
    if observed["of_step"].any():
        # Rewards observed step by step: nodes hold their sums, where the paths end.
        nodes = nodes[nodes["count"] > 0]
        values, weights = nodes["average"], nodes["count"].astype(float)
    shift = scale = 0.0
    if len(values):
        shift = float(np.average(values, weights=weights))
        scale = math.sqrt(float(np.average((values - shift) ** 2, weights=weights)))
    # Differences that are only rounding are none.
    scale = scale if scale > 1e-13 * size else size
    return shift, scale if scale > SMALLEST else 1.0


def paths_of(belief: Belief, numbers: Iterable[int]) -> list[Path | None]:
    """Return the paths of nodes given by number; None for -1."""
    return [None if n < 0 else tuple(belief.node_array.path_to(n)) for n in numbers]
