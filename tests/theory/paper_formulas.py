"""The paper's bounds, as printed and corrected, written out with many digits.

`printed_...` are formulas of the paper, several of which are wrong; `corrected_...` are what they
should be. Numbers are those of the errata in docs/paper-checked.md. Nothing here uses bough.theory.

Notation: A is the constant with which the t-th largest eigenvalue is at most A / t for t > 1: for
variance 1, N C_s q_s for the Gaussian kernel, N B / ((B-1)(D+1)) for the linear one,
N (B/gamma^2) / (B - gamma^2) for the discounted one. r = min(T, N), s2 = sigma^2.
"""

import itertools
import math

import mpmath
import theory_oracle as oracle
from mpmath import mpf

from bough import kernels

FACTOR = 1 / (1 - math.exp(-1))  # Nemhauser's, for greedy maxima of submodular functions


def gaussian_constants(width, B):
    """Return q_s = B exp(-1/s^2) and C_s = (1 - q_s/B) / (q_s - 1)."""
    q = B * mpmath.exp(-1 / mpf(width) ** 2)
    return q, (1 - q / B) / (q - 1)


def decay(kernel, B, D):
    """Return A."""
    N = mpf(B) ** D
    if isinstance(kernel, kernels.Linear):
        return kernel.variance * N * B / ((B - 1) * (D + 1))
    if isinstance(kernel, kernels.Gaussian):
        q, C = gaussian_constants(kernel.width, B)
        return kernel.variance * N * C * q
    gamma2 = mpf(kernel.discount) ** 2
    return kernel.variance * N * (B / gamma2) / (B - gamma2)


def eigenvalue(kernel, B, D, t):
    """Return the t-th largest eigenvalue."""
    left = t
    for value, multiplicity in reversed(oracle.eigenvalues(kernel, B, D)):
        left -= multiplicity
        if left <= 0:
            return value
    raise ValueError(t)


# ------------------------------------------------------------------------------- as printed


def printed_linear(noise, T):
    """bound3: holds, but loose (erratum 23)."""
    return mpf(T) / 2 * mpmath.log1p(T / mpf(noise) ** 2)


def printed_constant(B, D, noise):
    """bound1, with n the number of nodes: wrong (errata 6, 22, 24)."""
    nodes = (B ** (D + 1) - 1) // (B - 1)
    return mpf(nodes) / 2 * mpmath.log1p(nodes / mpf(noise) ** 2)


def printed_log(kernel, B, D, noise, T):
    """boundLog, for T <= N: wrong when A < 1 (erratum 26)."""
    slope = 1 / eigenvalue(kernel, B, D, T) + 1 / mpf(noise) ** 2
    log = mpmath.log(slope * decay(kernel, B, D) * mpmath.e)
    return log * T * FACTOR / 2 + D * mpmath.log(B)


def printed_tail(kernel, B, D, T, split):
    """boundTail: wrong (errata 25 and 28), the factor m_t / sigma^2 got lost."""
    rank = min(T, B**D)
    return decay(kernel, B, D) * mpmath.log(mpf(rank) / split) * FACTOR / 2 if rank > split else 0


def split_costs(kernel, B, D, noise):
    """Return L_t t - A log t for t = 1 .. N, which the paper minimizes to choose T_*."""
    A, costs = decay(kernel, B, D), []
    for value, multiplicity in reversed(oracle.eigenvalues(kernel, B, D)):
        log = mpmath.log((1 / value + 1 / mpf(noise) ** 2) * A * mpmath.e)
        first = len(costs) + 1
        costs += [log * t - A * mpmath.log(t) for t in range(first, first + multiplicity)]
    return costs


def first_split(costs):
    """Return the first T_* that the paper's criterion accepts, a local minimum."""
    rises = (t for t, (a, b) in enumerate(itertools.pairwise(costs), 1) if b >= a)
    return next(rises, len(costs))


def best_split(costs):
    """Return the T_* of the global minimum."""
    return 1 + costs.index(min(costs))


def printed_final(kernel, B, D, noise, T):
    """The final bound, boundLog(T_*) + boundTail: wrong (erratum 31)."""
    split = best_split(split_costs(kernel, B, D, noise))
    head = min(T, split)
    return printed_log(kernel, B, D, noise, head) + printed_tail(kernel, B, D, T, split)


def printed_distinct(width, B, D, noise, T):
    """The number T' of distinct eigenvectors: wrong (erratum 30)."""
    fall = mpmath.expm1(-D / mpf(width) ** 2)
    q, _ = gaussian_constants(width, B)
    A = decay(kernels.Gaussian(width), B, D) * fall / (fall - q / 2)
    return (-1 + mpmath.sqrt(1 + 4 * A * T / mpf(noise) ** 2)) / 2


def printed_theorem(noise, T, sqrt_beta, gain):
    """Theorem 1, without kappa0: holds for kappa0 <= 1 only (erratum 3)."""
    return sqrt_beta * math.sqrt(8 / math.log1p(1 / noise**2) * T * gain)


# -------------------------------------------------------------------------------- corrected


def corrected_linear(variance, noise, T):
    """(T/2) log(1 + kappa0 / sigma^2) (errata 22 and 23)."""
    return mpf(T) / 2 * mpmath.log1p(mpf(variance) / mpf(noise) ** 2)


def corrected_log(kernel, B, D, noise, T):
    """1/2 [r log((1/lambda_r + sigma^-2) T) + log lambda_1 + (r-1) log A - log r!] (26)."""
    rank = min(T, B**D)
    slope = 1 / eigenvalue(kernel, B, D, rank) + 1 / mpf(noise) ** 2
    total = rank * mpmath.log(slope * T) + mpmath.log(eigenvalue(kernel, B, D, 1))
    total += (rank - 1) * mpmath.log(decay(kernel, B, D)) - mpmath.loggamma(rank + 1)
    return total / 2


def corrected_tail(kernel, B, D, noise, T, split):
    """T A / (2 sigma^2 T_*), since m_t <= T / t (erratum 28)."""
    if split >= min(T, B**D):
        return mpf(0)
    return T * decay(kernel, B, D) / (2 * mpf(noise) ** 2 * split)


def corrected_final(kernel, B, D, noise, T, split=None):
    """The final bound, valid for every T_*; the best one is min(T, N) (erratum 31)."""
    split = min(split or T, T, B**D)
    signal = T / mpf(noise) ** 2
    head = mpmath.log1p(signal * eigenvalue(kernel, B, D, 1))
    if split > 1:  # the sum of log(1 + signal A / t^2) over t = 2 .. split
        y = mpmath.sqrt(signal * decay(kernel, B, D)) * 1j
        gamma = mpmath.loggamma
        head += 2 * mpmath.re(gamma(split + 1 + y) - gamma(2 + y)) - 2 * gamma(split + 1)
    return head / 2 + corrected_tail(kernel, B, D, noise, T, split)


def corrected_distinct(width, B, D, noise, T):
    """max(1, min(T, N, B sqrt((T-1) A / (sigma^2 (q-1))))) >= T' (erratum 30)."""
    q, _ = gaussian_constants(width, B)
    A = decay(kernels.Gaussian(width), B, D)
    return max(1, min(T, B**D, B * mpmath.sqrt((T - 1) * A / (mpf(noise) ** 2 * (q - 1)))))


def corrected_box(kernel, B, D, t):
    """Return the bounds on the t-th largest eigenvalue; for Gaussian kernels with t > 1.

    Linear: as printed (erratum 14). Gaussian: as printed for q > 1; for q <= 1, where that is
    wrong, the inequality before it (17, 18). Discounted: corrected (38).
    """
    N, t, v = mpf(B) ** D, mpf(t), mpf(kernel.variance)
    if isinstance(kernel, kernels.Linear):
        scale = v / ((B - 1) * (D + 1))
        return scale * (N - t) / t, scale * (N * B - t) / t
    if isinstance(kernel, kernels.Gaussian):
        rate = 1 / mpf(kernel.width) ** 2
        q, C = gaussian_constants(kernel.width, B)
        if q > 1:
            return v * C * (N * mpmath.exp(-D * rate) - t) / t, v * C * (N * q - t) / t
        levels = mpmath.log(N / t) / mpmath.log(B)
        return tuple(v * C * (q**j - 1) for j in (levels, levels + 1))
    gamma2 = mpf(kernel.discount) ** 2
    power = t ** (-1 + mpmath.log(gamma2) / mpmath.log(B))
    return tuple(v * (N * x * power - gamma2**D) / (B - gamma2) for x in (1, B / gamma2))
