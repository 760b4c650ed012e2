"""The paper's bounds on the information gain, as printed.

Some are wrong, and each says so; they are here so that a reader can reproduce the paper and see by
how much. The numbers are those of the errata in docs/paper-checked.md. What they should be is in
`bough.theory.corrected`, the notation in `bough.theory._spectral`.
"""

import functools
import math
from collections.abc import Callable, Iterator

from bough import kernels
from bough.theory._increments import rate
from bough.theory._problem import Problem, unscaled
from bough.theory._spectral import Bound, Spectral, exp

FACTOR = 1 / (1 - math.exp(-1))  # Nemhauser's, for greedy maxima of submodular functions


class PaperLinear(Bound):
    """bound3, (T/2) log(1 + T / sigma^2): holds, but loose (erratum 23)."""

    def _value(self, plays: int) -> float:
        return plays / 2 * math.log1p(self.problem.signal * plays)


class PaperConstant(Bound):
    """bound1, (n/2) log(1 + n / sigma^2) with n the number of nodes: wrong (errata 6, 22, 24).

    It does not grow with T, but the gain does: like (N/2) log T. Use "corrected-constant".
    """

    def _value(self, plays: int) -> float:
        B = self.problem.branching
        if self.problem.log_arms > 690.0:
            return math.inf
        nodes: int = (self.problem.arms * B - 1) // (B - 1)
        return nodes / 2 * math.log1p(self.problem.signal * nodes)


class PaperLog(Spectral):
    """boundLog, for T <= N: wrong when A < 1 (erratum 26).

    log((1/lambda_T + sigma^-2) A e) T / (2 (1 - 1/e)) + D log B
    """

    def _value(self, plays: int) -> float:
        if plays > self.problem.rank(plays):
            raise ValueError(
                f"the paper's sum of log-eigenvalues is for plays up to the number of arms, "
                f"{self.problem.arms}, got {plays}; method='corrected-log' takes more"
            )
        term = self.log_term(self.log_eigenvalue(plays))
        return FACTOR / 2 * plays * term + self.problem.log_arms

    def log_term(self, log_eigenvalue: float) -> float:
        """Return log((1/lambda + sigma^-2) A e)."""
        return self.log_slope(log_eigenvalue) + self.log_A + 1.0


class PaperTail(PaperLog):
    """boundTail, A log(r / T_*) / (2 (1 - 1/e)): wrong (errata 25 and 28).

    Meant as a bound on I*(T) - I*(T_*); the factor m_t / sigma^2 got lost on the way.
    """

    def _value(self, plays: int) -> float:
        return self.tail(plays, self.split(plays))

    def tail(self, plays: int, split: int) -> float:
        """Return what is printed for the eigenvalues after T_*."""
        rank = self.problem.rank(plays)
        if rank <= split:
            return 0.0
        log_ratio = math.log(rank) - math.log(split)
        return FACTOR / 2 * exp(self.log_A + math.log(log_ratio))

    def split(self, plays: int) -> int:
        """Return T_*, the optimal one; the paper's criterion may stop earlier (erratum 31)."""
        return self.given or best_split(self)

    def distinct(self, plays: int) -> float | None:
        """Return the printed T' = (-1 + sqrt(1 + 4 A_s T / sigma^2)) / 2: wrong (erratum 30)."""
        kernel = unscaled(self.problem.kernel)
        if not isinstance(kernel, kernels.Gaussian):
            return None
        fall = math.expm1(-self.problem.depth * rate(kernel))
        share = fall / (fall - self.problem.branching * math.exp(-rate(kernel)) / 2)
        x = 4 * self.problem.signal * share * plays * exp(self.log_A)
        return x / (1 + math.sqrt(1 + x)) / 2 if math.isfinite(x) else math.inf


class PaperFinal(PaperTail):
    """The final bound, boundLog(T_*) + boundTail: wrong (erratum 31, which inherits 28).

    It is constant for T > N, where the gain is not. T_* is the best one, `best_split`, and not the
    first that the paper's criterion accepts, `first_split`, which may give a larger bound.
    """

    def _value(self, plays: int) -> float:
        split = self.split(plays)
        head = min(plays, split, self.problem.rank(plays))
        return PaperLog._value(self, head) + self.tail(plays, split)


METHODS: dict[str, Callable[[Problem, int | None], Bound]] = {
    "paper-linear": PaperLinear,
    "paper-constant": PaperConstant,
    "paper-log": PaperLog,
    "paper-tail": PaperTail,
    "paper-final": PaperFinal,
}


def _levels(bound: PaperLog) -> Iterator[tuple[int, int, float]]:
    """Yield the first and last t of each level of equal eigenvalues, and its `log_term`."""
    low, high = 1, 1
    for i in range(bound.problem.depth + 1, 0, -1):
        yield low, high, bound.log_term(bound.log_level(i))
        low, high = high + 1, high * bound.problem.branching


def best_split(bound: PaperLog) -> int:
    """Return the T_* <= N with the least L_t t - A log t, where L_t is `log_term`.

    L_t is constant on a level, so on each the function is convex: one candidate a level.
    """
    best, least = 1, math.inf
    for low, high, term in _levels(bound):
        t = high
        if low < high and _paid(term, bound.log_A, low):
            t = low
        elif low < high and _paid(term, bound.log_A, high - 1):
            t = _first(low, high - 1, functools.partial(_paid, term, bound.log_A))
        value = term * exp(math.log(t) - bound.log_A) - math.log(t)  # divided by A
        if value < least:
            best, least = t, value
    return best


def first_split(bound: PaperLog) -> int:
    """Return the first T_* that the paper's criterion accepts, which may be a local minimum.

    No bound uses it: it is for comparison with `best_split` (erratum 31).
    """
    before = (1, math.nan)
    for low, high, term in _levels(bound):
        if low > 1:
            last, term_before = before
            cost = term * low - term_before * last if low < 10**300 else math.inf
            if cost >= exp(bound.log_A) * math.log1p(1 / last):
                return last
        if low < high and _paid(term, bound.log_A, high - 1):
            return _first(low, high - 1, functools.partial(_paid, term, bound.log_A))
        before = (high, term)
    return before[0]


def _paid(term: float, log_A: float, t: int) -> bool:
    """Return whether term >= A log(1 + 1/t)."""
    log_rise = -math.log(t) if t > 10**9 else math.log(math.log1p(1 / t))
    return term > 0.0 and math.log(term) >= log_A + log_rise


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first t at which it holds, given that it goes on holding, and does at `high`."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
