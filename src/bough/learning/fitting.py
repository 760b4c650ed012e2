"""Fits of hyperparameters to the observations of a belief, by maximum a posteriori estimation.

Newton's method, on finite differences of exact gradients, finds the maximum of the posterior
density to many digits and yields standard errors. L-BFGS-B goes first where that may fail or is
costly.
"""

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough import kernels
from bough._validation import at_least_zero, real
from bough.belief.belief import Belief
from bough.exceptions import Contradiction
from bough.kernels import Kernel
from bough.learning.model import WEAK, Mean, Model, Prior, template_of
from bough.learning.posterior import LogPosterior, Optimum, standardized

Array = NDArray[np.float64]

#: A parameter this close to the end of its interval is at a bound.
AT_BOUND = 1e-6
#: The longest Newton step, in any entry of theta, and the length below which it has converged.
LONGEST_STEP = 1.0
CONVERGED = 1e-9
#: Second derivatives are computed again after a step that leaves more than this of the slope.
OUT_OF_DATE = 0.3
#: The distance of gradients whose difference gives second derivatives.
DIFFERENCE = 1e-4
#: If the standard error of the log noise is above this, standard errors are computed by integrating
#: over the noise, on a grid of this many points each way, at this distance.
VAGUE = 0.2
GRID_POINTS = 12
GRID_SPACING = 0.5


class Fit(NamedTuple):
    """A belief with fitted hyperparameters, and the report of the fit."""

    belief: Belief
    report: "Report"


class Chosen(NamedTuple):
    """The fit of the best family, and the reports of all, the best first."""

    belief: Belief
    report: "Report"
    reports: "list[Report]"


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter.

    `error` is the standard error (nan at a bound), `low` and `high` are two of them to either side
    of the value, on a logarithmic scale for positive parameters. `at_bound` means that the data
    favor values beyond the interval of the fit. (Where the data hardly distinguish deep increments
    from noise, as 2,000 random paths of 5^10 do, the prior decides: the interval then covers the
    truth in 91 to 100 of 100 cases.)
    """

    value: float
    error: float
    low: float
    high: float
    at_bound: bool

    def __str__(self) -> str:
        if self.at_bound:
            return f"{self.value:.6g} (at a bound)"
        return f"{self.value:.6g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True)
class Report:
    """The result of a fit.

    Attributes
    ----------
    kernel, noise, mean
        Those of the fitted belief.
    parameters
        The fitted parameters by name, with standard errors.
    before, likelihood
        The log marginal likelihood before and after the fit.
    posterior
        The maximized log density: the log marginal likelihood, with a fitted mean integrated out,
        plus the log prior density up to a constant.
    """

    kernel: Kernel
    noise: float
    mean: Mean
    parameters: dict[str, Parameter]
    before: float
    likelihood: float
    posterior: float
    observations: int
    converged: bool

    @property
    def bic(self) -> float:
        """The Bayesian information criterion; lower is better."""
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


def fit(
    belief: Belief,
    family: type[Kernel] | Kernel,
    *,
    noise: float | None = None,
    mean: Mean | None = None,
    prior: Prior = WEAK,
) -> Fit:
    """Fit kernel, noise and mean to the observations of a belief.

    Parameters
    ----------
    belief
        The belief, which is not modified.
    family
        A class of kernels, or a kernel with None for the hyperparameters to fit, such as
        `Gaussian(None, variance=1.0)`. `Chi` has one free increment for each depth.
    noise
        The noise if it is known. Observations with their own noise always keep it.
    mean
        The prior mean if it is known. By default a constant is fitted; or scale and offset, if the
        belief has a `bough.means.Heuristic`. Any other function of the belief is kept.
    prior
        The prior of the hyperparameters; `FLAT` for maximum marginal likelihood.

    Returns
    -------
    belief, report
        A new belief with the observations and pending evaluations of the old one, and a `Report`.

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
    posterior = _posterior(belief, family, noise, mean, prior)
    report = _report(belief, posterior, _maximum(posterior))
    new = copy.copy(belief)
    new.take_prior(report.kernel, report.noise, report.mean, report.likelihood)
    return Fit(new, report)


def choose(
    belief: Belief,
    families: type[Kernel] | Kernel | Iterable[type[Kernel] | Kernel] | None = None,
    *,
    noise: float | None = None,
    mean: Mean | None = None,
    prior: Prior = WEAK,
) -> Chosen:
    """Fit several families of kernels, and choose one by the Bayesian information criterion.

    Parameters
    ----------
    belief, noise, mean, prior
        As for `fit`.
    families
        The families, as for `fit`; by default all registered kernels with hyperparameters, and
        `Chi`.

    Returns
    -------
    belief, report, reports
        Those of the best family, as from `fit`; and the reports of all, the best first.
    """
    if families is None:
        families = [*kernels.named().values(), kernels.Chi]
    families = [families] if isinstance(families, type | Kernel) else list(families)
    if not families:
        raise ValueError("families is empty: pass at least one, such as kernels.Gaussian")
    fits = [fit(belief, family, noise=noise, mean=mean, prior=prior) for family in families]
    fits.sort(key=lambda one: one.report.bic)
    return Chosen(*fits[0], [one.report for one in fits])


def _posterior(belief: Any, family: Any, noise: Any, mean: Any, prior: Any) -> LogPosterior:
    """Check the arguments of a fit, and return the density to be maximized."""
    if not isinstance(belief, Belief):
        raise TypeError(f"belief must be a bough.Belief, got {belief!r}")
    if not isinstance(prior, Prior):
        raise TypeError(f"prior must be a learning.Prior (WEAK, or FLAT for none), got {prior!r}")
    if len(belief) == 0:
        raise ValueError("no observations yet: call observe() before fitting")
    template = template_of(family)
    noise = None if noise is None else at_least_zero(noise, "noise")
    if mean is None and callable(belief.mean):
        mean = belief.mean
    elif mean is not None and not callable(mean):
        mean = real(mean, "mean")
    model = Model(template, noise, mean, belief.tree.depth, prior)
    return LogPosterior(model, standardized(belief, mean))


def _report(belief: Belief, posterior: LogPosterior, optimum: Optimum) -> Report:
    """Return the report of a fit, in the units of the rewards."""
    model, units = posterior.model, posterior.units
    density, _ = posterior(optimum.theta)
    values = model.values(optimum.theta, *units)
    settings = model.settings(values)
    likelihood = posterior.log_likelihood(settings)
    free = interior(posterior, optimum)
    errors = standard_errors(posterior, optimum)
    lows = model.values(np.maximum(optimum.theta - 2.0 * errors, model.low), *units)
    highs = model.values(np.minimum(optimum.theta + 2.0 * errors, model.high), *units)
    parameters = {}
    for i, slot in enumerate(model.slots):
        error = slot.derivative(values[i], posterior.evidence.scale) * float(errors[i])
        parameters[slot.name] = Parameter(values[i], error, lows[i], highs[i], not free[i])
    return Report(
        settings.kernel, settings.noise, settings.mean, parameters,
        belief.log_likelihood(), likelihood, posterior.in_units(density),
        posterior.evidence.observations, optimum.converged,
    )  # fmt: skip


# ---------------------------------------------------------------------- maximization


def _maximum(posterior: LogPosterior) -> Optimum:
    """Return the maximum of the posterior density: the highest found from several starts."""
    start = posterior.model.start
    if posterior(posterior.clip(start))[0] == -math.inf:
        raise Contradiction(
            "the observations contradict each other if noise is 0 and the kernel is as given: "
            "leave out noise, so that it is fitted, or pass noise > 0"
        )
    starts = [start]
    for i, slot in enumerate(posterior.model.slots):
        if slot.kind == "noise":  # both explanations of differences: much noise, and little
            for shift in (2.0, -2.0):
                starts.append(start.copy())
                starts[-1][i] += shift
    best = max((lbfgs(posterior, x) for x in starts), key=lambda optimum: optimum.density)
    return newton(posterior, best)


def lbfgs(posterior: LogPosterior, start: Array) -> Optimum:
    """Maximize the posterior density from a start by L-BFGS-B."""
    start = posterior.clip(start)
    if len(start) == 0:
        return posterior.at(start)
    from scipy.optimize import minimize  # slow to import

    def negative(theta: Array) -> tuple[float, Array]:
        density, gradient = posterior(theta)
        return -density, -gradient

    found = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(posterior.model.low, posterior.model.high, strict=True)),
        options={"maxiter": 200},
    )
    return Optimum(found.x, -float(found.fun), -found.jac)


def newton(
    posterior: LogPosterior,
    optimum: Optimum,
    held: int | None = None,
    *,
    max_steps: int = 30,
    tolerance: float = CONVERGED,
) -> Optimum:
    """Maximize the posterior density from a point near the maximum by Newton's method.

    Values of the density differ too little there for L-BFGS-B to reach many digits. The parameter
    of index `held` is held fixed. It has converged when no entry of a step exceeds the tolerance.
    """
    last = np.zeros(len(optimum.theta), dtype=bool)
    hessian = None
    for _ in range(max_steps):
        free = interior(posterior, optimum, held)
        if not free.any():
            optimum.converged = True
            break
        if hessian is None or not np.array_equal(free, last):
            hessian = negative_hessian(posterior, optimum, free)
            last = free
        step = np.zeros(len(optimum.theta))
        step[free] = _newton_step(hessian, optimum.gradient[free])
        length = float(np.abs(step).max())
        if length < tolerance:
            optimum.converged = True
            break
        better = _line_search(posterior, optimum, step * min(1.0, LONGEST_STEP / length), held)
        if better is None:  # only rounding is left, or no ascent is possible
            gain = float(step @ optimum.gradient)
            optimum.converged = length < AT_BOUND or gain < 1e-9 * max(1.0, abs(optimum.density))
            break
        if _steepness(posterior, better, held) > OUT_OF_DATE * _steepness(posterior, optimum, held):
            hessian = None
        optimum = better
    return optimum


def interior(
    posterior: LogPosterior, optimum: Optimum, held: int | None = None
) -> NDArray[np.bool_]:
    """Return which parameters are free to move: not held, nor pushed against a bound."""
    model = posterior.model
    low = (optimum.theta <= model.low + AT_BOUND) & (optimum.gradient <= 0.0)
    high = (optimum.theta >= model.high - AT_BOUND) & (optimum.gradient >= 0.0)
    free: NDArray[np.bool_] = ~(low | high)
    if held is not None:
        free[held] = False
    return free


def negative_hessian(posterior: LogPosterior, optimum: Optimum, free: NDArray[np.bool_]) -> Array:
    """Return the negative second derivatives by the free parameters."""
    rows = []
    for i in np.flatnonzero(free).tolist():
        h = DIFFERENCE if optimum.theta[i] + DIFFERENCE <= posterior.model.high[i] else -DIFFERENCE
        theta = optimum.theta.copy()
        theta[i] += h
        rows.append((optimum.gradient - posterior(theta)[1])[free] / h)
    H = np.array(rows).reshape(len(rows), len(rows))
    return (H + H.T) / 2


def _newton_step(hessian: Array, gradient: Array) -> Array:
    """Return the Newton step; along directions of the wrong curvature, with its sign reversed."""
    values, vectors = np.linalg.eigh(hessian)
    size = np.maximum(np.abs(values), 1e-8 * max(1.0, float(np.abs(values).max())))
    step: Array = vectors @ ((vectors.T @ gradient) / size)
    return step


def _line_search(
    posterior: LogPosterior, optimum: Optimum, step: Array, held: int | None
) -> Optimum | None:
    """Return a better point along a step, halving it; None if rounding hides any."""
    rounding = 1e-12 * max(1.0, abs(optimum.density))
    for halvings in range(12):
        theta = posterior.clip(optimum.theta + step / 2**halvings)
        better = posterior.at(theta)
        gain = better.density - optimum.density
        if gain > rounding:
            return better
        if gain >= -rounding:  # equally high up to rounding: the gradient decides
            flatter = _steepness(posterior, better, held) < _steepness(posterior, optimum, held)
            return better if flatter else None
    return None


def _steepness(posterior: LogPosterior, optimum: Optimum, held: int | None) -> float:
    """Return the largest derivative by a free parameter."""
    free = interior(posterior, optimum, held)
    return float(np.abs(optimum.gradient[free]).max()) if free.any() else 0.0


# ---------------------------------------------------------------------- standard errors


def standard_errors(posterior: LogPosterior, optimum: Optimum) -> Array:
    """Return the standard error of each entry of theta; nan for those at a bound."""
    errors = np.full(len(optimum.theta), math.nan)
    free = interior(posterior, optimum)
    errors[free] = np.sqrt(np.diag(_inverse(negative_hessian(posterior, optimum, free))))
    for i, slot in enumerate(posterior.model.slots):
        if slot.kind == "noise" and errors[i] > VAGUE:
            errors[free] = _integrated_errors(posterior, optimum, i)[free]
    return errors


def _integrated_errors(posterior: LogPosterior, optimum: Optimum, vague: int) -> Array:
    """Return the standard errors of all parameters, integrated over a vague one.

    Near 0 a noise changes nothing, so its curvature does not show how large it may be, nor what the
    others would be then. So it takes the values of a grid; at each the others are normal about
    their most probable values.
    """
    low, high = posterior.model.low[vague], posterior.model.high[vague]
    squares = []
    weights = []
    for direction in (1, -1):
        near = optimum
        for j in range(direction < 0, GRID_POINTS + 1):
            theta = near.theta.copy()
            theta[vague] = optimum.theta[vague] + direction * j * GRID_SPACING
            if not low <= theta[vague] <= high:
                break
            near = newton(posterior, posterior.at(theta), vague)
            free = interior(posterior, near, vague)
            inverse = _inverse(negative_hessian(posterior, near, free))
            square = (near.theta - optimum.theta) ** 2
            square[free] += np.diag(inverse)
            squares.append(square)
            weights.append(near.density + 0.5 * float(np.linalg.slogdet(inverse)[1]))
            if weights[-1] < max(weights) - 8.0:
                break
    densities = np.exp(np.array(weights) - max(weights))
    errors: Array = np.sqrt(densities @ np.array(squares) / densities.sum())
    return errors


def _inverse(hessian: Array) -> Array:
    values, vectors = np.linalg.eigh(hessian)
    inverse: Array = vectors / np.maximum(values, 1e-12) @ vectors.T
    return inverse
