"""Sums of logarithms over very many terms, and Dawson's function."""

import functools
import math

import numpy as np

#: So many terms are added one by one; the rest by Euler and Maclaurin's formula.
BY_HAND = 64


def log_product_gain(log_x: float, last: int) -> float:
    """Return the sum of log(1 + x / t^2) over t = 2 .. last, for x = exp(log_x).

    >>> round(log_product_gain(0.0, 3), 12) == round(math.log(5 / 4 * 10 / 9), 12)
    True
    """
    if last < 2:
        return 0.0
    if log_x > 700.0:  # then x / t^2 is above 1e100 for every t that there can be
        return (last - 1) * log_x - 2.0 * math.lgamma(last + 1)
    x = math.exp(log_x)
    t = np.arange(2.0, min(last, BY_HAND) + 1.0)
    total = math.fsum(np.log1p(x / t**2).tolist())
    if last <= BY_HAND:
        return total
    first, last_term = float(BY_HAND), float(last)
    root = math.sqrt(x)
    # The sum of f(t) over first < t <= last: the integral of f, and corrections at both ends.
    total += last_term * math.log1p(x / last_term**2) - first * math.log1p(x / first**2)
    total += 2.0 * root * math.atan2((last_term - first) * root, x + first * last_term)
    for end, sign in ((last_term, 1.0), (first, -1.0)):
        s = x / end**2  # f' and f''', written so that nothing cancels or overflows
        total += sign * math.log1p(s) / 2
        total += sign * (-2.0 * s / (1.0 + s)) / end / 12
        third = -(24.0 * s + 12.0 * s**2 + 4.0 * s**3) / (1.0 + s) ** 3 if s < 1e100 else -4.0
        total -= sign * third / end**3 / 720
    return total


@functools.lru_cache(maxsize=16)  # that of beta_1 is asked for again and again
def dawson(x: float) -> float:
    """Return Dawson's function, exp(-x^2) times the integral of exp(s^2) from 0 to x, for x > 0.

    >>> round(dawson(1.0), 12)
    0.538079506913
    """
    if x > 12.0:
        term = total = 1.0
        for k in range(1, 30):  # asymptotic: the terms fall until k = x^2
            term *= (2 * k - 1) / (2.0 * x * x)
            total += term
        return total / (2.0 * x)
    # Rybicki: a sum over odd n whose error is exp(-(pi / 2h)^2), 1e-26 here.
    h = 0.2
    n = np.arange(1.0, 200.0, 2.0)
    pairs = (np.exp(-((x - n * h) ** 2)) - np.exp(-((x + n * h) ** 2))) / n
    return float(pairs.sum()) / math.sqrt(math.pi)
