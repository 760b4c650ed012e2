"""A quadratic that fits the rewards near a place, and where it is highest."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Quadratics of more parameters than this have no mixed terms.
MIXED = 10
#: How many of the nearest rewards are fitted, for each coefficient: exact ones, and noisy ones.
EXACT_SHARE, NOISY_SHARE = 2.0, 6.0
#: Keeps directions in which nothing was tried from being extrapolated.
RIDGE = 1e-9


@dataclass(frozen=True)
class Fit:
    """A quadratic around a centre, in steps of a radius."""

    centre: Array
    radius: Array
    coefficients: Array
    mixed: bool
    near: NDArray[np.intp]  # the rows that were fitted

    def __call__(self, places: Array) -> Array:
        """Return its values at some places, less those at no place in particular."""
        values: Array = _terms((places - self.centre) / self.radius, self.mixed) @ self.coefficients
        return values

    def top(self) -> Array | None:
        """Return where it is highest, if it has a top."""
        d = len(self.centre)
        hessian = np.diag(self.coefficients[d + 1 : 2 * d + 1])
        if self.mixed:
            i, j = _pairs(d)
            hessian[i, j] = hessian[j, i] = self.coefficients[2 * d + 1 :]
        try:
            np.linalg.cholesky(-hessian)
        except np.linalg.LinAlgError:
            return None
        step = np.linalg.solve(-hessian, self.coefficients[1 : d + 1])
        place: Array = self.centre + self.radius * step
        return place


def fit(places: Array, values: Array, centre: Array, radius: Array, noisy: bool) -> Fit | None:
    """Fit the nearest of some places by weighted least squares; None if there are too few."""
    d = len(centre)
    full = 1 + 2 * d + d * (d - 1) // 2
    mixed = d <= MIXED and len(places) >= 1.3 * full
    wanted = full if mixed else 1 + 2 * d
    if len(places) < wanted + 2:
        return None
    steps = (places - centre) / radius
    distance = np.abs(steps).max(axis=1)
    count = min(len(places), int((NOISY_SHARE if noisy else EXACT_SHARE) * wanted) + 2)
    near = np.argpartition(distance, count - 1)[:count]
    weights = 1.0 / (1.0 + distance[near] ** 2)
    terms = _terms(steps[near], mixed) * weights[:, None]
    y = values[near]
    shift = float(y.mean())
    gram = terms.T @ terms
    gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram)
    coefficients = np.linalg.solve(gram, terms.T @ (weights * (y - shift)))
    coefficients[0] += shift
    return Fit(centre, radius, coefficients, mixed, near)


@lru_cache(maxsize=16)
def _pairs(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of different parameters."""
    i, j = np.triu_indices(d, 1)
    return i, j


def _terms(s: Array, mixed: bool) -> Array:
    """Return the terms of a quadratic at some steps: 1, s, s^2/2, and products."""
    n, d = s.shape
    terms = np.empty((n, 1 + 2 * d + (d * (d - 1) // 2 if mixed else 0)))
    terms[:, 0] = 1.0
    terms[:, 1 : d + 1] = s
    terms[:, d + 1 : 2 * d + 1] = 0.5 * s * s
    if mixed:
        i, j = _pairs(d)
        terms[:, 2 * d + 1 :] = s[:, i] * s[:, j]
    return terms
