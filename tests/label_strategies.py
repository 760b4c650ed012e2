"""Random labels, kernels between them, and rewards that agree with both."""

import zlib
from dataclasses import dataclass
from typing import Any

import mpmath
from hypothesis import strategies as st
from oracle import LabelOracle
from strategies import Truth, coarse, noise_of

from bough import kernels


class LastStep:
    def __call__(self, path):
        return path[-1]


class DepthAndStep:
    def __call__(self, path):
        return len(path), path[-1]


class Few:
    """One of a few labels by chance, so that nodes of one path share them too."""

    def __call__(self, path):
        return "abc"[zlib.crc32(repr(path).encode()) % 3]


class Numbers:
    """Features that are small integers, some of them equal."""

    def __call__(self, path):
        return float(path[-1] % 4), float(len(path) % 2), 1.0


def squares(a, b):
    return sum((mpmath.mpf(x) - mpmath.mpf(y)) ** 2 for x, y in zip(a, b, strict=True))


def same(a, b):
    return 0.75 * (a == b)


def linear(a, b):
    return sum(0.5 * x * y for x, y in zip(a, b, strict=True))


def rbf(a, b):
    return mpmath.mpf(0.8) * mpmath.exp(-squares(a, b) / (2 * mpmath.mpf(1.5) ** 2))


def matern(a, b, nu):
    r = mpmath.sqrt(2 * mpmath.mpf(nu) * squares(a, b)) / mpmath.mpf(1.25)
    polynomial = {0.5: 1, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[nu]
    return mpmath.mpf(0.6) * polynomial * mpmath.exp(-r)


def common(a, b):
    """Compare paths of any length, positive definite since equal entries count."""
    return mpmath.mpf(2.0) ** sum(x == y for x, y in zip(a, b, strict=False)) / 8


def of_floats(k):
    return lambda a, b: float(k(a, b))


@dataclass(frozen=True)
class Case:
    """A kernel between labels, twice: as bough has it, and as a function for the oracle."""

    label: Any
    between: Any
    k: Any


CASES = {
    "same": Case(LastStep(), kernels.Same(0.75), same),
    "same, by depth": Case(DepthAndStep(), kernels.Same(0.75), same),
    "few": Case(Few(), kernels.Same(0.75), same),
    "linear": Case(Numbers(), kernels.LinearFeatures(0.5), linear),
    "rbf": Case(Numbers(), kernels.RBF(1.5, 0.8), rbf),
    "matern 1": Case(Numbers(), kernels.Matern(1.25, 0.5, 0.6), lambda a, b: matern(a, b, 0.5)),
    "matern 3": Case(Numbers(), kernels.Matern(1.25, 1.5, 0.6), lambda a, b: matern(a, b, 1.5)),
    "matern 5": Case(Numbers(), kernels.Matern(1.25, 2.5, 0.6), lambda a, b: matern(a, b, 2.5)),
}


def strengths(decay, depth):
    return [0.0] + [decay**d for d in range(depth)]


def effect(case, key, label):
    """Return the true effect of a label, so coarse that sums are exact."""
    if isinstance(case.between, kernels.LinearFeatures):
        return sum(coarse(noise_of(key, i)) * x for i, x in enumerate(label))
    return round(noise_of(key, label) * 2**16) / 2**16


class LabeledTruth(Truth):
    """A function from the prior with labels; exact readings of it never disagree."""

    def __init__(self, increments, mean, key, case, decay):
        super().__init__(increments, mean, key)
        self.case, self.decay = case, decay

    def step(self, path):
        found = super().step(path)
        if path:
            h = effect(self.case, self.key, self.case.label(path))
            found += self.decay ** (len(path) - 1) * h
        return found


cases = st.sampled_from(list(CASES)).map(CASES.__getitem__)
#: (Powers of 2, so that sums of exact readings are exact.)
decays = st.sampled_from([1.0, 1.0, 0.5])


def oracle_of(kernel, case, depth, mean, observations, *, exact=True):
    v = kernel.tree_kernel.increments(depth)
    s = strengths(kernel.decay, depth)
    return LabelOracle(v, mean, observations, case.label, case.k, s, exact=exact)
