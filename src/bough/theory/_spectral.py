"""What the paper's bounds on the information gain have in common, printed or corrected.

Notation: A is the constant with which eigenvalues are at most A / t for t > 1: N C_s q_s for the
Gaussian kernel, N B / ((B-1)(D+1)) for the linear one, N (B/gamma^2) / (B - gamma^2) (divided by
kappa0) for the discounted one. r = min(T, N). The paper assumes kappa0 = 1; other kernels are
rescaled to it, which does not change the information.
"""

import math
from abc import ABC, abstractmethod

from bough import kernels
from bough._validation import whole
from bough.theory._problem import Problem, unscaled
from bough.theory.decay import constants


def refuse_small_trees(problem: Problem) -> None:
    """Say so if the tree is none that the paper speaks of."""
    if problem.branching < 2 or problem.depth < 1:
        raise ValueError(
            "the paper's bounds are for branching >= 2 and depth >= 1, got branching = "
            f"{problem.branching} and depth = {problem.depth}; method='exact' or 'best' takes any "
            "tree"
        )


class Bound(ABC):
    """A bound as a function of the number of plays. Subclasses say `_value`."""

    def __init__(self, problem: Problem, split: int | None) -> None:
        refuse_small_trees(problem)
        self.problem = problem
        self.given = None if split is None else whole(split, "split", least=1)

    def __call__(self, plays: int) -> float:
        """Return the bound after so many plays."""
        return self._value(plays)

    @abstractmethod
    def _value(self, plays: int) -> float: ...

    def split(self, plays: int) -> int | None:
        """Return T_*, if the bound splits the sum over eigenvalues."""
        return None

    def distinct(self, plays: int) -> float | None:
        """Return T', if the bound knows one."""
        return None


class Spectral(Bound):
    """A bound that uses lambda_t <= A / t."""

    discounted = False  # whether there is such a bound for the discounted kernel

    def __init__(self, problem: Problem, split: int | None) -> None:
        super().__init__(problem, split)
        self.log_A = problem.log_arms + log_decay(problem, self.discounted)

    def log_eigenvalue(self, t: int) -> float:
        """Return the logarithm of the t-th largest eigenvalue."""
        B, i, power = self.problem.branching, self.problem.depth + 1, 1
        while power < t:
            i, power = i - 1, power * B
        return self.log_level(i)

    def log_level(self, i: int) -> float:
        """Return log lambda_i."""
        return self.problem.eigenvalues[i - 1].log()

    def log_slope(self, log_eigenvalue: float) -> float:
        """Return log(1 / lambda + sigma^-2)."""
        a, b = -log_eigenvalue, math.log(self.problem.signal)
        return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def log_decay(problem: Problem, discounted: bool) -> float:
    """Return log(A / N)."""
    B, D = problem.branching, problem.depth
    kernel = unscaled(problem.kernel)
    if problem.variance == 0.0:
        raise ValueError("the paper's bounds need a kernel with some variance, got none")
    if isinstance(kernel, kernels.Linear | kernels.Gaussian):
        product = constants(kernel, B, D).product
        if product is None:
            raise ValueError(
                f"the paper's bounds need a width above 1/sqrt(log B) = {math.log(B) ** -0.5:.4g}, "
                f"got {kernel!r} (not above 1/log B, as the paper prints: erratum 27)"
            )
        return math.log(product)
    if discounted and isinstance(kernel, kernels.Discounted) and kernel.discount:
        unit = problem.steps[1]  # of the first step, in units of kappa0
        log_fall = -2 * math.log(kernel.discount)
        return math.log(unit) + log_fall - math.log1p(-(kernel.discount**2) / B)
    known = "Linear, Gaussian and Discounted" if discounted else "Linear and Gaussian"
    raise ValueError(
        f"this bound is for {known} kernels, got {problem.kernel!r}; method='exact' takes any"
    )


def exp(x: float) -> float:
    """Return e^x, infinite if it is."""
    return math.exp(x) if x < 709.0 else math.inf


def softplus(x: float) -> float:
    """Return log(1 + e^x)."""
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))
