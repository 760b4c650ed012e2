"""Up to the most probable parameters, and how far around them one may be."""

import math

import numpy as np
from numpy.typing import NDArray

from bough.learning.posterior import Found, Posterior

Array = NDArray[np.float64]

#: A parameter this close to the end of its range is at a bound.
AT_BOUND = 1e-6
#: No Newton step is longer than this (of a logarithm, or of the rewards' deviation) ...
LONGEST_STEP = 1.0
#: ... and the last one is shorter than this.
CONVERGED = 1e-9
#: Second derivatives are differences of gradients over this.
APART = 1e-4
#: A noise whose logarithm has a larger error than this is looked at in so many places each way, so
#: far apart.
VAGUE = 0.2
PLACES = 12
BETWEEN_PLACES = 0.5


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


def polish(posterior: Posterior, found: Found, held: int | None = None, most: int = 30) -> Found:
    """Go on to the very top, by Newton's method on differences of exact gradients.

    Function values differ too little near the top for L-BFGS-B to find it to many digits. One
    parameter may be held where it is.
    """
    last = np.zeros(len(found.theta), dtype=bool)
    curvature = None
    for _ in range(most):
        free = inside(posterior, found, held)
        if not free.any():
            found.converged = True
            break
        if curvature is None or not np.array_equal(free, last):
            curvature = curvature_at(posterior, found, free)
            last = free
        step = np.zeros(len(found.theta))
        step[free] = _uphill(curvature, found.gradient[free])
        length = float(np.abs(step).max())
        if length < CONVERGED:
            found.converged = True
            break
        better = _along(posterior, found, step * min(1.0, LONGEST_STEP / length), held)
        if better is None:  # the rest is rounding, or there is no way up
            gain = float(step @ found.gradient)
            found.converged = length < AT_BOUND or gain < 1e-9 * max(1.0, abs(found.density))
            break
        if _slope(posterior, better, held) > 0.1 * _slope(posterior, found, held):
            curvature = None  # take it anew
        found = better
    return found


def inside(posterior: Posterior, found: Found, held: int | None = None) -> NDArray[np.bool_]:
    """Return which parameters are free to move: not held, nor pushed against a bound."""
    low = (found.theta <= posterior.low + AT_BOUND) & (found.gradient <= 0.0)
    high = (found.theta >= posterior.high - AT_BOUND) & (found.gradient >= 0.0)
    free: NDArray[np.bool_] = ~(low | high)
    if held is not None:
        free[held] = False
    return free


def curvature_at(posterior: Posterior, found: Found, free: NDArray[np.bool_]) -> Array:
    """Return the negative second derivatives by those parameters that are free."""
    rows = []
    for i in np.flatnonzero(free).tolist():
        # Inwards, where a bound is near.
        apart = APART if found.theta[i] + APART <= posterior.high[i] else -APART
        theta = found.theta.copy()
        theta[i] += apart
        rows.append((found.gradient - posterior(theta)[1])[free] / apart)
    H = np.array(rows).reshape(len(rows), len(rows))
    return (H + H.T) / 2


def _uphill(curvature: Array, gradient: Array) -> Array:
    """Return the Newton step, where directions that curve upwards are taken for their opposite."""
    values, vectors = np.linalg.eigh(curvature)
    size = np.maximum(np.abs(values), 1e-8 * max(1.0, float(np.abs(values).max())))
    step: Array = vectors @ ((vectors.T @ gradient) / size)
    return step


def _along(posterior: Posterior, found: Found, step: Array, held: int | None) -> Found | None:
    """Return something better along a step; None if rounding hides it."""
    rounding = 1e-12 * max(1.0, abs(found.density))
    for halved in range(12):
        theta = np.clip(found.theta + step / 2**halved, posterior.low, posterior.high)
        better = posterior.found(theta, found.iterations + 1)
        gain = better.density - found.density
        if gain > rounding:
            return better
        if gain >= -rounding:  # as high, so far as can be told: what counts is the slope
            flatter = _slope(posterior, better, held) < _slope(posterior, found, held)
            return better if flatter else None
    return None


def _slope(posterior: Posterior, found: Found, held: int | None) -> float:
    free = inside(posterior, found, held)
    return float(np.abs(found.gradient[free]).max()) if free.any() else 0.0


# ---------------------------------------------------------------------- standard errors


def errors_at(posterior: Posterior, top: Found) -> Array:
    """Return the standard error of each parameter; nan for those at a bound."""
    errors = np.full(len(top.theta), math.nan)
    free = inside(posterior, top)
    errors[free] = np.sqrt(np.diag(_inverse(curvature_at(posterior, top, free))))
    for i, slot in enumerate(posterior.model.slots):
        if slot.kind == "noise" and errors[i] > VAGUE:
            errors[free] = _errors_over(posterior, top, i)[free]
    return errors


def _errors_over(posterior: Posterior, top: Found, vague: int) -> Array:
    """Return the errors of all parameters, where one of them is vague and others depend on it.

    Near 0 a noise changes nothing, and so its curvature does not tell how large it may be, nor what
    the others would be then. So it is taken at many places; at each the others are normal about
    what is then the most probable.
    """
    squares = []
    weights = []
    for direction in (1, -1):
        found = top
        for j in range(direction < 0, PLACES + 1):
            theta = found.theta.copy()
            theta[vague] = top.theta[vague] + direction * j * BETWEEN_PLACES
            if not posterior.low[vague] <= theta[vague] <= posterior.high[vague]:
                break
            found = polish(posterior, posterior.found(theta), vague)
            free = inside(posterior, found, vague)
            inverse = _inverse(curvature_at(posterior, found, free))
            square = (found.theta - top.theta) ** 2
            square[free] += np.diag(inverse)
            squares.append(square)
            weights.append(found.density + 0.5 * float(np.linalg.slogdet(inverse)[1]))
            if weights[-1] < max(weights) - 8.0:
                break
    chances = np.exp(np.array(weights) - max(weights))
    errors: Array = np.sqrt(chances @ np.array(squares) / chances.sum())
    return errors


def _inverse(curvature: Array) -> Array:
    values, vectors = np.linalg.eigh(curvature)
    inverse: Array = vectors / np.maximum(values, 1e-12) @ vectors.T
    return inverse
