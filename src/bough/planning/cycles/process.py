"""The Gaussian process of mean rewards over pairs of a state and an action, and its fit.

| symbol | name | meaning |
|---|---|---|
| f(i) | | mean reward of pair i: m + g(x_i) + e_i |
| m | | the same for all pairs, of standard deviation `unit` around the average reward |
| g | `smooth` | variance of a function of the features x_i with the kernel exp(-r^2 / 2), |
| l_k | `lengths` | where r^2 is the sum of (x_ik - x_jk)^2 / l_k^2 |
| e_i | `own` | variance of a term of pair i alone: what features do not say |
| y_i, n_i | `means`, `visits` | average of n_i rewards of pair i |
| s^2 | `noise` | variance of a reward around f(i) |

m + g = Phi w with w ~ N(0, I): g has the columns of a pivoted Cholesky factor of its kernel matrix,
as many as it takes to reproduce the matrix up to `TINY`. (At most `MOST_COLUMNS`: the variance that
is then missing is added to that of e_i.) Given w the pairs are independent, so that a posterior of
P pairs costs O(P c^2) for c columns, whatever the number of steps.
"""

import math
from dataclasses import dataclass

import numpy as np

from bough.planning.cycles.best_cycle import Floats, Ints

#: The relative error of the factor of the kernel matrix, and its number of columns.
TINY = 1e-8
MOST_COLUMNS = 300
#: The number of pairs that a fit looks at.
MOST_FITTED = 100
#: Medians and standard deviations (of logarithms) of the priors: variances as fractions of the
#: variance of all rewards, lengths as fractions of the range of the feature; and their bounds.
PRIORS = {"noise": (0.3, 2.0), "own": (0.1, 2.0), "smooth": (0.5, 1.5), "length": (0.5, 1.0)}
BOUNDS = {"noise": (1e-8, 2.0), "own": (1e-6, 5.0), "smooth": (1e-4, 10.0), "length": (0.02, 20.0)}


@dataclass(frozen=True)
class Hyperparameters:
    """The scale of the rewards, and the parameters in the table above, in their units."""

    center: float
    unit: float
    noise: float
    own: float
    smooth: float
    lengths: Floats


@dataclass(frozen=True)
class Tried:
    """The pairs that were tried: numbers, visits, average rewards and squared deviations."""

    pairs: Ints
    visits: Floats
    means: Floats
    squares: float


class Factor:
    """A factor Phi of the kernel matrix of g, of unit variance, which grows with the pairs."""

    def __init__(self, lengths: Floats) -> None:
        self._lengths = lengths
        self._points = np.empty((0, len(lengths)))
        self._pivots: list[int] = []
        self.columns = np.empty((0, 0))
        self.missing = np.empty(0)  # what the factor lacks of the variances

    def extend(self, rows: Floats) -> None:
        """Add the features of further pairs."""
        from scipy.linalg import solve_triangular

        rows = rows / self._lengths
        known = self.columns[self._pivots]
        columns = rbf(rows, self._points[self._pivots])
        if self._pivots:
            columns = solve_triangular(known, columns.T, lower=True, check_finite=False).T
        self._points = np.concatenate([self._points, rows])
        self.missing = np.concatenate([self.missing, 1.0 - (columns**2).sum(axis=1)])
        count = len(self._pivots)
        wide = np.zeros((len(self._points), MOST_COLUMNS))
        wide[:, :count] = np.concatenate([self.columns, columns])
        while count < MOST_COLUMNS and self.missing.max() > TINY:
            pivot = int(np.argmax(self.missing))
            column = rbf(self._points, self._points[[pivot]])[:, 0]
            column -= wide[:, :count] @ wide[pivot, :count]
            column /= math.sqrt(self.missing[pivot])
            wide[:, count] = column
            self.missing -= column**2
            self.missing[pivot] = 0.0
            self._pivots.append(pivot)
            count += 1
        self.columns = wide[:, :count].copy()
        np.maximum(self.missing, 0.0, out=self.missing)


def rbf(one: Floats, other: Floats) -> Floats:
    """Return exp(-r^2 / 2) for the distances r between the rows of two arrays."""
    squared = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2.0 * one @ other.T
    kernel: Floats = np.exp(-0.5 * np.maximum(squared, 0.0))
    return kernel


def posterior(
    fitted: Hyperparameters, factor: Factor | None, tried: Tried, pairs: int
) -> tuple[Floats, Floats]:
    """Return the posterior mean and standard deviation of the mean reward of every pair."""
    from scipy.linalg import cho_factor, cho_solve, solve_triangular

    phi = np.ones((pairs, 1))
    own = np.full(pairs, fitted.own)
    if factor is not None:
        phi = np.column_stack([phi, math.sqrt(fitted.smooth) * factor.columns])
        own += fitted.smooth * factor.missing
    at = tried.pairs
    y = (tried.means - fitted.center) / fitted.unit
    noise = fitted.noise / tried.visits
    spread = own[at] + noise
    weighted = phi[at] / spread[:, None]
    precision = np.eye(phi.shape[1]) + phi[at].T @ weighted
    lower = cho_factor(precision, lower=True, check_finite=False)
    weights = cho_solve(lower, weighted.T @ y, check_finite=False)
    mean = phi @ weights
    # What the pair itself says beyond the features: its own term, given w.
    share = own[at] / spread
    root = solve_triangular(lower[0], phi.T, lower=True, check_finite=False)
    variance = (root**2).sum(axis=0)
    mean[at] += share * (y - mean[at])
    variance[at] = (1.0 - share) ** 2 * variance[at] + share * noise
    untried = np.ones(pairs, dtype=bool)
    untried[at] = False
    variance[untried] += own[untried]
    return fitted.center + fitted.unit * mean, fitted.unit * np.sqrt(variance)


def fit(tried: Tried, rows: Floats | None, start: Hyperparameters | None) -> Hyperparameters:
    """Return the hyperparameters of the highest posterior density (maximum a posteriori).

    Parameters
    ----------
    tried
        The pairs that were tried.
    rows
        Their features; None if there are none.
    start
        The hyperparameters of the last fit.
    """
    from scipy.optimize import minimize

    count = float(tried.visits.sum())
    center = float(tried.means @ tried.visits) / count
    total = tried.squares + float(tried.visits @ (tried.means - center) ** 2)
    unit = math.sqrt(total / count)
    if unit <= 1e-14 * abs(center):  # rounding errors
        # (Equal rewards only show the magnitude of rewards, not how they vary.)
        unit = abs(center) or 1.0
    names = ["noise", "own"]
    ranges = np.empty(0)
    if rows is not None:
        ranges = np.ptp(rows, axis=0)
        ranges[ranges == 0.0] = 1.0
        names += ["smooth", *["length"] * len(ranges)]
    chosen = np.linspace(0, len(tried.pairs) - 1, min(len(tried.pairs), MOST_FITTED)).astype(int)
    evidence = Evidence(
        tried.visits[chosen],
        (tried.means[chosen] - center) / unit,
        None if rows is None else rows[chosen] / ranges,
        tried.squares / unit**2,
        count - len(tried.pairs),
    )
    medians = np.log([PRIORS[name][0] for name in names])
    deviations = np.array([PRIORS[name][1] for name in names])

    def objective(logs: Floats) -> tuple[float, Floats]:
        value, gradient = evidence(logs)
        z = (logs - medians) / deviations
        return 0.5 * float(z @ z) - value, z / deviations - gradient

    starts = [medians]
    if start is not None:
        square = (start.unit / unit) ** 2
        values = [square * start.noise, square * start.own]
        if rows is not None:
            values += [square * start.smooth, *start.lengths / ranges]
        starts.append(np.log(values))
    bounds = np.log([BOUNDS[name] for name in names])
    found = min(
        (
            minimize(
                objective, np.clip(x, bounds[:, 0], bounds[:, 1]), jac=True, bounds=bounds,
                method="L-BFGS-B", options={"maxiter": 30},
            )
            for x in starts
        ),
        key=lambda result: float(result.fun),
    )  # fmt: skip
    best = np.exp(found.x)
    smooth, lengths = (0.0, np.empty(0)) if rows is None else (float(best[2]), best[3:] * ranges)
    return Hyperparameters(center, unit, float(best[0]), float(best[1]), smooth, lengths)


class Evidence:
    """The log marginal likelihood of rewards, a function of the logarithms of hyperparameters."""

    def __init__(
        self, visits: Floats, y: Floats, rows: Floats | None, squares: float, repeats: float
    ) -> None:
        self._visits = visits
        self._y = y
        self._squares = squares
        self._repeats = repeats
        self._apart = np.empty((0, len(y), len(y)))  # squared distances, by dimension
        if rows is not None:
            self._apart = (rows.T[:, :, None] - rows.T[:, None, :]) ** 2

    def __call__(self, logs: Floats) -> tuple[float, Floats]:
        """Return the value, up to a constant, and its gradient."""
        from scipy.linalg import cho_factor, cho_solve

        noise, own = np.exp(logs[:2])
        n = len(self._y)
        within = noise / self._visits
        matrix = np.ones((n, n))
        if len(logs) > 2:
            scaled = self._apart / np.exp(2.0 * logs[3:])[:, None, None]
            smooth = np.exp(logs[2] - 0.5 * scaled.sum(axis=0))
            matrix += smooth
        matrix[np.diag_indices(n)] += own + within
        lower = cho_factor(matrix, lower=True, check_finite=False)
        inverse = cho_solve(lower, np.eye(n), check_finite=False)
        alpha = inverse @ self._y
        value = -0.5 * float(self._y @ alpha) - float(np.log(lower[0].diagonal()).sum())
        value -= 0.5 * (self._repeats * logs[0] + self._squares / noise)
        slope = 0.5 * (np.outer(alpha, alpha) - inverse)
        diagonal = slope.diagonal()
        gradient = np.empty(len(logs))
        gradient[0] = diagonal @ within - 0.5 * (self._repeats - self._squares / noise)
        gradient[1] = own * diagonal.sum()
        if len(logs) > 2:
            slope = slope * smooth
            gradient[2] = slope.sum()
            gradient[3:] = np.einsum("ij,kij->k", slope, scaled)
        return value, gradient
