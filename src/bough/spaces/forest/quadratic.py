"""A quadratic that fits the rewards near a place, and where it is highest."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bough.spaces.forest._quadratic import distances, solve, terms

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
        """Return its values at some places."""
        values: Array = terms(places, self.centre, self.radius, self.mixed) @ self.coefficients
        return values

    def top(self) -> Array | None:
        """Return where it is highest, if it has a top."""
        d = len(self.centre)
        curvature = np.diag(-self.coefficients[d + 1 : 2 * d + 1])
        if self.mixed:
            i, j = _pairs(d)
            curvature[i, j] = curvature[j, i] = -self.coefficients[2 * d + 1 :]
        step = solve(curvature, self.coefficients[1 : d + 1])
        return None if step is None else self.centre + self.radius * step


def fit(places: Array, values: Array, centre: Array, radius: Array, noisy: bool) -> Fit | None:
    """Fit the nearest of some places by weighted least squares; None if there are too few."""
    d = len(centre)
    full = 1 + 2 * d + d * (d - 1) // 2
    mixed = d <= MIXED and len(places) >= 1.3 * full
    wanted = full if mixed else 1 + 2 * d
    if len(places) < wanted + 2:
        return None
    distance = distances(places, centre, radius)
    count = min(len(places), int((NOISY_SHARE if noisy else EXACT_SHARE) * wanted) + 2)
    near = distance.argpartition(count - 1)[:count]
    weights = 1.0 / (1.0 + distance[near] ** 2)
    weighted = terms(places[near], centre, radius, mixed) * weights[:, None]
    y = values[near]
    shift = y.sum() / count
    gram = weighted.T @ weighted
    gram.flat[:: wanted + 1] += RIDGE * gram.trace()
    coefficients = solve(gram, weighted.T @ (weights * (y - shift)))
    if coefficients is None:  # rounding: the places are nearly all the same
        return None
    coefficients[0] += shift
    return Fit(centre, radius, coefficients, mixed, near)


@lru_cache(maxsize=16)
def _pairs(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of different parameters."""
    i, j = np.triu_indices(d, 1)
    return i, j
