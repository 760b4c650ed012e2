"""Kernel, noise and mean, learnt from what was told by maximum likelihood.

One likelihood with its gradient is a pass over all that was told (`_evidence.py`), so a fit of ten
thousand observations takes a fraction of a second. Weak priors keep few data from saying too much:
see `Prior`.
"""

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough import kernels
from bough._checks import at_least_zero, real
from bough._evidence import Evidence
from bough._parameters import (
    FLAT,
    WEAK,
    Found,
    Guess,
    Mean,
    Model,
    Posterior,
    Prior,
    template_of,
)
from bough.belief import Belief
from bough.kernels import Kernel
from bough.mean import Heuristic
from bough.trees import Path

__all__ = ["FAMILIES", "FLAT", "WEAK", "Fit", "Guess", "Parameter", "Prior", "Report", "choose", "fit"]

Array = NDArray[np.float64]

#: What `choose` chooses from.
FAMILIES = (kernels.Linear, kernels.Gaussian, kernels.Discounted, kernels.Geometric, kernels.Chi)
#: A parameter this close to the end of its range (of its logarithm) is at a bound.
AT_BOUND = 1e-6
#: Newton steps are shorter than this (of a logarithm, or of the rewards' deviation) ...
LONGEST_STEP = 1.0
#: ... and the last of them shorter than this.
CONVERGED = 1e-9
#: A noise whose logarithm has a larger error than this is looked at in places so far apart.
VAGUE = 0.2
APART_PLACES = 0.5
PLACES = 12
#: Second derivatives are differences of gradients over this.
APART = 1e-4


@dataclass(frozen=True)
class Parameter:
    """A parameter that was learnt."""

    value: float
    error: float  #: standard error: the second derivative of the log posterior; nan at a bound
    at_bound: bool

    def __str__(self) -> str:
        error = "at a bound" if self.at_bound else f"+- {self.error:.2g}"
        return f"{self.value:.6g} {error}"


@dataclass(frozen=True)
class Report:
    """What a fit found.

    Attributes
    ----------
    kernel, noise, mean
        What the new belief has.
    parameters
        Those that were learnt, by name, with standard errors.
    before, likelihood
        The log likelihood with what the belief had before, and with what was found.
    posterior
        The log likelihood found, plus the log prior density up to a constant.
    observations
        How many there were.
    iterations, evaluations
        Of the optimiser, and of the likelihood.
    converged
        Whether nothing better is near.
    """

    kernel: Kernel
    noise: float
    mean: Mean
    parameters: dict[str, Parameter]
    before: float
    likelihood: float
    posterior: float
    observations: int
    iterations: int
    evaluations: int
    converged: bool

    @property
    def bic(self) -> float:
        """Bayes' information criterion: the lower, the better."""
        return len(self.parameters) * math.log(self.observations) - 2.0 * self.likelihood

    def __str__(self) -> str:
        lines = [f"{type(self.kernel).__name__}, {self.observations} observations"]
        width = max(map(len, self.parameters), default=0)
        lines += [f"  {name:{width}}  {value}" for name, value in self.parameters.items()]
        lines.append(
            f"  log likelihood {self.likelihood:.6g} (before {self.before:.6g}), BIC {self.bic:.6g}"
        )
        if not self.converged:
            lines.append("  not converged")
        return "\n".join(lines)


class Fit(NamedTuple):
    """A new belief with what was learnt, and how it was found."""

    belief: Belief
    report: Report


def fit(
    belief: Belief,
    family: type[Kernel] | Kernel,
    *,
    noise: float | None = None,
    mean: Mean | None = None,
    prior: Prior = WEAK,
) -> Fit:
    """Learn kernel, noise and mean from what was told to a belief.

    Parameters
    ----------
    belief
        It stays as it is.
    family
        A class of kernels (Linear, Gaussian, Discounted, Geometric, or Chi for one free increment
        a depth), or a kernel with None for what is to be learnt: `Gaussian(None, variance=1.0)`.
    noise
        If it is known. Readings that came with a noise of their own keep it in any case.
    mean
        If it is known. By default it is learnt: a constant; or scale and offset, if the belief has a
        `bough.mean.Heuristic`. (Any other function of the belief stays as it is.)
    prior
        `FLAT` for plain maximum likelihood.

    Returns
    -------
    belief, report
        A new belief with all that was told to the old one, pending evaluations too.

    Examples
    --------
    >>> import bough, numpy as np
    >>> from bough import kernels, learning
    >>> tree = bough.Tree(3, 6)
    >>> truth = bough.Belief(tree, kernels.Gaussian(2.0), noise=0.1)
    >>> rng = np.random.default_rng(0)
    >>> paths = [tuple(path) for path in rng.integers(3, size=(300, 6)).tolist()]
    >>> belief = bough.Belief(tree, kernels.Linear(), noise=1.0)
    >>> for path, value in zip(paths, truth.sample(paths, 1, rng)[0]):
    ...     belief.observe(path, value + 0.1 * rng.standard_normal())
    >>> belief, report = learning.fit(belief, kernels.Gaussian)
    >>> 1.5 < report.parameters["width"].value < 2.5, 0.05 < belief.noise < 0.2
    (True, True)
    """
    model, evidence = _prepare(belief, family, noise, mean)
    return _finish(belief, _fitted(belief, model, evidence, _checked(prior)))


def choose(
    belief: Belief,
    families: Iterable[type[Kernel] | Kernel] = FAMILIES,
    *,
    noise: float | None = None,
    mean: Mean | None = None,
    prior: Prior = WEAK,
) -> tuple[Fit, list[Report]]:
    """Learn the best of some families of kernels, by Bayes' information criterion.

    What was told is gathered once for all of them.

    Returns
    -------
    fit, reports
        That of the best family, as `fit` gives it; and the reports of all, the best first.
    """
    prior = _checked(prior)
    reports = []
    evidence = None
    for family in families:
        model, evidence = _prepare(belief, family, noise, mean, evidence)
        reports.append(_fitted(belief, model, evidence, prior))
    if not reports:
        raise ValueError("families is empty: give at least one, such as kernels.Gaussian")
    reports.sort(key=lambda report: report.bic)
    return _finish(belief, reports[0]), reports


def _checked(prior: Any) -> Prior:
    if not isinstance(prior, Prior):
        raise TypeError(f"prior must be a learning.Prior (WEAK, or FLAT for none), got {prior!r}")
    return prior


def _prepare(
    belief: Belief, family: Any, noise: Any, mean: Any, evidence: Evidence | None = None
) -> tuple[Model, Evidence]:
    if not isinstance(belief, Belief):
        raise TypeError(f"belief must be a bough.Belief, got {belief!r}")
    if len(belief) == 0:
        raise ValueError("nothing was told to this belief yet, so there is nothing to learn from")
    template = template_of(family)
    noise = None if noise is None else at_least_zero(noise, "noise")
    if mean is None and callable(belief.mean):
        mean = belief.mean
    elif mean is not None and not callable(mean):
        mean = real(mean, "mean")
    model = Model(template, noise, mean, belief.tree.depth)
    return model, gathered(belief, mean) if evidence is None else evidence


def _finish(belief: Belief, report: Report) -> Fit:
    new = copy.copy(belief)
    new.take_prior(report.kernel, report.noise, report.mean, report.likelihood)
    return Fit(new, report)


def gathered(belief: Belief, mean: Any) -> Evidence:
    """Return what was told, ready for likelihoods under a mean."""
    evidence = Evidence(belief, *units(belief))
    if callable(mean):
        height = mean.height if isinstance(mean, Heuristic) else mean
        paths = paths_of(belief, evidence.node)
        heights = [0.0 if path is None else height(path) for path in paths]
        evidence.set_heights(np.array(heights))
    return evidence


def units(belief: Belief) -> tuple[float, float]:
    """Return mean and standard deviation of the rewards; if they are all alike, their size."""
    readings, nodes = belief.readings, belief.nodes
    steps = (readings["kind"] & 1) == 1
    if steps.any():  # rewards were told in parts: their sums are kept where the paths end
        nodes = nodes[nodes["count"] > 0]
        values, weights = nodes["average"], nodes["count"].astype(float)
    else:
        values, weights = readings["value"], None
    if len(values) == 0:  # single steps only
        return 0.0, float(np.abs(readings["value"]).max()) or 1.0
    shift = float(np.average(values, weights=weights))
    scale = math.sqrt(float(np.average((values - shift) ** 2, weights=weights)))
    # Differences that are only rounding are none.
    size = float(np.abs(values).max())
    return shift, scale if scale > 1e-13 * size else size or 1.0


def paths_of(belief: Belief, numbers: Iterable[int]) -> list[Path | None]:
    """Return the paths of nodes given by number; None for -1."""
    nodes = belief.nodes
    parent, index = nodes["parent"].tolist(), nodes["index"].tolist()
    group = (nodes["count"] < 0).tolist()
    known: dict[int, Path] = {0: ()}
    found: list[Path | None] = []
    for number in numbers:
        if number < 0:
            found.append(None)
            continue
        way = []
        n = number
        while n not in known:
            if not group[n]:
                way.append(n)
            n = parent[n]
        path = known[n]
        for n in reversed(way):
            path = (*path, index[n])
            known[n] = path
        found.append(path)
    return found


# ---------------------------------------------------------------------- the optimiser


def _fitted(belief: Belief, model: Model, evidence: Evidence, prior: Prior) -> Report:
    """Learn from scratch: of several starts, the best."""
    posterior = Posterior(model, evidence, prior)
    start = model.typical(prior)
    starts = [start]
    for i, slot in enumerate(model.slots):
        if slot.kind == "noise":  # both explanations of what differs: much noise, and none
            starts += [_moved(start, i, 2.0), _moved(start, i, -2.0)]
    best = max((climb(posterior, x) for x in starts), key=lambda found: found.density)
    return report_of(belief, posterior, polish(posterior, best))


def _moved(theta: Array, i: int, by: float) -> Array:
    theta = theta.copy()
    theta[i] += by
    return theta


def climb(posterior: Posterior, start: Array) -> Found:
    """Go up from a start, by L-BFGS-B."""
    start = np.clip(start, posterior.low, posterior.high)
    if len(start) == 0:
        return posterior.found(start)
    from scipy.optimize import minimize  # it takes a while to import

    def descent(theta: Array) -> tuple[float, Array]:
        density, gradient = posterior(theta)
        return -density, -gradient

    found = minimize(
        descent,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(posterior.low, posterior.high, strict=True)),
        options={"maxiter": 200},
    )
    return Found(found.x, -float(found.fun), -found.jac, int(found.nit))


def polish(posterior: Posterior, found: Found, most: int = 20) -> Found:
    """Go on to the very top, by Newton's method on differences of exact gradients.

    Function values differ too little near the top for L-BFGS-B to find it to many digits.
    """
    for _ in range(most):
        free = _inside(posterior, found)
        if not free.any():
            found.converged = True
            break
        found.curvature = _curvature(posterior, found, free)
        step = np.zeros(len(found.theta))
        step[free] = _uphill(found.curvature, found.gradient[free])
        length = float(np.abs(step).max())
        if length < CONVERGED:
            found.converged = True
            break
        better = _line(posterior, found, step * min(1.0, LONGEST_STEP / length))
        if better is None:
            found.converged = length < 1e-6
            break
        found = better
    return found


def _inside(posterior: Posterior, found: Found) -> NDArray[np.bool_]:
    """Return which parameters are free to move: not at a bound that they are pushed against."""
    low = (found.theta <= posterior.low + AT_BOUND) & (found.gradient <= 0.0)
    high = (found.theta >= posterior.high - AT_BOUND) & (found.gradient >= 0.0)
    return ~(low | high)


def _curvature(posterior: Posterior, found: Found, free: NDArray[np.bool_]) -> Array:
    rows = []
    for i in np.flatnonzero(free):
        # Inwards, where a bound is near.
        apart = APART if found.theta[i] + APART <= posterior.high[i] else -APART
        _, gradient = posterior(_moved(found.theta, i, apart))
        rows.append((found.gradient - gradient)[free] / apart)
    H = np.array(rows)
    return (H + H.T) / 2


def _uphill(curvature: Array, gradient: Array) -> Array:
    """Return the Newton step, where directions that curve upwards are taken for their opposite."""
    values, vectors = np.linalg.eigh(curvature)
    size = np.maximum(np.abs(values), 1e-8 * max(1.0, float(np.abs(values).max())))
    step: Array = vectors @ ((vectors.T @ gradient) / size)
    return step


def _line(posterior: Posterior, found: Found, step: Array) -> Found | None:
    """Return something better along a step; None if rounding hides it."""
    slack = 1e-12 * max(1.0, abs(found.density))
    for halved in range(12):
        theta = np.clip(found.theta + step / 2**halved, posterior.low, posterior.high)
        density, gradient = posterior(theta)
        if density >= found.density - slack:
            if density <= found.density + slack and _size(posterior, theta, gradient) > _size(
                posterior, found.theta, found.gradient
            ):
                return None
            return Found(theta, density, gradient, found.iterations + 1)
    return None


def _size(posterior: Posterior, theta: Array, gradient: Array) -> float:
    free = _inside(posterior, Found(theta, 0.0, gradient, 0))
    return float(np.abs(gradient[free]).max()) if free.any() else 0.0


def _inverse(curvature: Array) -> Array:
    values, vectors = np.linalg.eigh(curvature)
    inverse: Array = vectors / np.maximum(values, 1e-12) @ vectors.T
    return inverse


def _errors_over(posterior: Posterior, top: Found, i: int) -> Array:
    """Return the errors of all parameters, where one of them is vague and others depend on it.

    One curvature at the top does not tell them then. So the vague one is taken at many places; at
    each the others are normal about their best.
    """
    errors = []
    weights = []
    low, high = posterior.low.copy(), posterior.high.copy()
    for direction in (1.0, -1.0):
        found = top
        for j in range(0 if direction > 0 else 1, PLACES + 1):
            place = top.theta[i] + direction * j * APART_PLACES
            if not low[i] <= place <= high[i]:
                break
            posterior.low[i] = posterior.high[i] = place
            start = found.theta.copy()
            start[i] = place
            density, gradient = posterior(start)
            found = polish(posterior, Found(start, density, gradient, 0))
            posterior.low[i], posterior.high[i] = low[i], high[i]
            free = np.ones(len(start), dtype=bool)
            free[i] = False
            weight = found.density - top.density
            spread = (found.theta - top.theta) ** 2
            if found.curvature is not None:
                inside = _inside(posterior, found) & free
                inverse = _inverse(found.curvature)
                if len(inverse) == inside.sum():
                    spread[inside] += np.diag(inverse)
                    weight += 0.5 * float(np.linalg.slogdet(inverse)[1])
            errors.append(spread)
            weights.append(weight)
            if weight < max(weights) - 8.0:
                break
    chance = np.exp(np.array(weights) - max(weights))
    return np.sqrt(chance @ np.array(errors) / chance.sum())


def report_of(belief: Belief, posterior: Posterior, found: Found) -> Report:
    """Return what was found, in the units of the user."""
    model, evidence = posterior.model, posterior.evidence
    shift, scale = evidence.shift, evidence.scale
    density, _ = posterior(found.theta)
    likelihood = posterior.likelihood
    settings = model.settings(found.theta, shift, scale)
    values = model.natural(found.theta, shift, scale)
    errors = np.full(len(values), math.nan)
    free = _inside(posterior, found)
    if found.curvature is not None and len(found.curvature) == free.sum():
        errors[free] = np.sqrt(np.diag(_inverse(found.curvature)))
        noise = [i for i, slot in enumerate(model.slots) if slot.kind == "noise" and free[i]]
        if noise and errors[noise[0]] > VAGUE:
            errors = _errors_over(posterior, found, noise[0])
        errors *= np.abs(model.slope(found.theta, values, scale))
    parameters = {
        slot.name: Parameter(value, float(error), not inside)
        for slot, value, error, inside in zip(
            model.slots, values, errors, free.tolist(), strict=True
        )
    }
    return Report(
        settings.kernel, settings.noise, settings.mean, parameters,
        belief.log_likelihood(), likelihood, density, evidence.observations,
        found.iterations, posterior.evaluations, found.converged,
    )  # fmt: skip
