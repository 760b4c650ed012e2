"""A step to the top of a quadratic that fits the rewards near the best point."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: How far from the best point one looks, at first, at least and at most; parameters range over 1.
RADIUS, LEAST, MOST = 0.2, 1e-7, 0.4
GROWTH = 1.6
#: So many places are tried for the top of the quadratic.
TRIALS = 128
#: Quadratics of more parameters than this have no mixed terms.
MIXED = 10
#: Nearest rewards that are fitted, for each coefficient.
SPARE = 2.0


class TrustRegion:
    """How far from the best point the quadratic is trusted: as far as it has proved right."""

    def __init__(self) -> None:
        self.radius = RADIUS

    def learn(self, better: bool, dimension: int) -> None:
        """Take note whether the last step was for the better."""
        shrink = 0.5 ** (1.0 / max(dimension, 2))
        self.radius = min(max(self.radius * (GROWTH if better else shrink), LEAST), MOST)

    @property
    def spent(self) -> bool:
        """Whether it is so small that there is nothing more to gain."""
        return self.radius <= LEAST


def propose(
    places: Array, values: Array, centre: Array, radius: float, numbers: np.random.Generator
) -> Array:
    """Return a place near the centre, inside of the unit cube, where rewards should be high."""
    dimension = len(centre)
    low = np.maximum(centre - radius, 0.0)
    high = np.minimum(centre + radius, 1.0)
    tries = numbers.uniform(low, high, (TRIALS, dimension))
    away = (places - centre) / radius
    distance = np.abs(away).max(axis=1) if dimension else np.zeros(len(places))
    wanted = _coefficients(dimension, True)
    if dimension > MIXED or len(places) < 1.3 * wanted:
        wanted = _coefficients(dimension, False)
        mixed = False
    else:
        mixed = True
    if len(places) < wanted + 2:
        return tries[0]
    count = min(len(places), max(int(SPARE * wanted), 8))
    near = np.argpartition(distance, count - 1)[:count]
    s = away[near]
    reach = max(float(distance[near].max()), 1.0)
    weights = 1.0 / (1.0 + distance[near] ** 2)
    terms = _terms(s, mixed)
    y = values[near]
    scale = float(np.ptp(y)) or 1.0
    left = terms * weights[:, None]
    gram = left.T @ left
    gram[np.diag_indices_from(gram)] += 1e-10 * np.trace(gram) / len(gram)
    coefficients = np.linalg.solve(gram, left.T @ (weights * (y - y.mean()) / scale))
    del reach
    steps = (tries - centre) / radius
    tries_values = _terms(steps, mixed) @ coefficients
    best = int(np.argmax(tries_values))
    top = tries[best]
    newton = _top(coefficients, dimension, mixed)
    if newton is not None:
        step = np.clip(centre + radius * np.clip(newton, -1.0, 1.0), low, high)
        value = _terms(((step - centre) / radius)[None, :], mixed) @ coefficients
        if value[0] >= tries_values[best]:
            top = step
    return top


def _coefficients(dimension: int, mixed: bool) -> int:
    return 1 + 2 * dimension + (dimension * (dimension - 1) // 2 if mixed else 0)


def _terms(s: Array, mixed: bool) -> Array:
    """Return the terms of a quadratic at some steps: 1, s, s^2/2, and products."""
    parts = [np.ones((len(s), 1)), s, 0.5 * s * s]
    if mixed:
        i, j = np.triu_indices(s.shape[1], 1)
        parts.append(s[:, i] * s[:, j])
    return np.concatenate(parts, axis=1)


def _top(coefficients: Array, dimension: int, mixed: bool) -> Array | None:
    """Return where a quadratic is highest; None if it has no top."""
    slope = coefficients[1 : dimension + 1]
    hessian = np.diag(coefficients[dimension + 1 : 2 * dimension + 1])
    if mixed:
        i, j = np.triu_indices(dimension, 1)
        hessian[i, j] = hessian[j, i] = coefficients[2 * dimension + 1 :]
    try:
        np.linalg.cholesky(-hessian)
    except np.linalg.LinAlgError:
        return None
    step: Array = np.linalg.solve(-hessian, slope)
    return step
