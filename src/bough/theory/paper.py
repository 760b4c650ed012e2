"""The paper's bounds on the information gain, as printed and corrected.

Three of the printed forms are wrong, and each says so; they are here so that a reader can reproduce
the paper and see by how much. The numbers are those of the errata in docs/paper-checked.md. The paper
assumes kappa0 = 1; other kernels are rescaled to it, which does not change the information.

Notation: A is the constant with which eigenvalues are at most A / t for t > 1: N C_s q_s for the
Gaussian kernel, N B / ((B-1)(D+1)) for the linear one, N (B/gamma^2) / (B - gamma^2) (divided by
kappa0) for the discounted one. r = min(T, N).
"""

import functools
import math
from collections.abc import Callable

from bough import kernels
from bough._checks import whole
from bough.theory._logsums import log_product_gain
from bough.theory._problem import Problem, unscaled

FACTOR = 1 / (1 - math.exp(-1))  # Nemhauser's, for greedy maxima of submodular functions


class Bound:
    """A bound as a function of the number of plays. Subclasses say `__call__`."""

    def __init__(self, problem: Problem, split: int | None) -> None:
        if problem.branching < 2 or problem.depth < 1:
            raise ValueError(
                "the paper's bounds are for branching >= 2 and depth >= 1, got branching = "
                f"{problem.branching} and depth = {problem.depth}; method='exact' takes any tree"
            )
        self.problem = problem
        self.given = None if split is None else whole(split, "split", least=1)

    def __call__(self, plays: int) -> float:
        """Return the bound after so many plays."""
        raise NotImplementedError

    def split(self, plays: int) -> int | None:
        """Return T_*, if the bound splits the sum over eigenvalues."""
        return None

    def distinct(self, plays: int) -> float | None:
        """Return T', if the bound knows one."""
        return None


class PaperLinear(Bound):
    """bound3, (T/2) log(1 + T / sigma^2): holds, but loose (erratum 23)."""

    def __call__(self, plays: int) -> float:
        return plays / 2 * math.log1p(self.problem.signal * plays)


class CorrectedLinear(Bound):
    """(T/2) log(1 + kappa0 / sigma^2): the trace of a play is kappa0 (errata 22 and 23)."""

    def __call__(self, plays: int) -> float:
        return plays / 2 * math.log1p(self.problem.signal)


class PaperConstant(Bound):
    """bound1, (n/2) log(1 + n / sigma^2) with n the number of nodes: wrong (errata 6, 22, 24).

    It does not grow with T, but the gain does: like (N/2) log T. Use "corrected-constant".
    """

    def __call__(self, plays: int) -> float:
        B, D = self.problem.branching, self.problem.depth
        log_nodes = (D + 1) * math.log(B) + math.log1p(-math.exp(-(D + 1) * math.log(B)))
        log_nodes -= math.log(B - 1)
        if log_nodes > 700.0:
            return math.inf
        nodes = (B ** (D + 1) - 1) // (B - 1)
        return nodes / 2 * math.log1p(self.problem.signal * nodes)


class _Spectral(Bound):
    """A bound that uses lambda_t <= A / t."""

    discounted = False  # whether there is such a bound for the discounted kernel

    def __init__(self, problem: Problem, split: int | None) -> None:
        super().__init__(problem, split)
        self.log_A = problem.log_arms + _log_decay(problem, self.discounted)

    def log_eigenvalue(self, t: int) -> float:
        """Return the logarithm of the t-th largest eigenvalue."""
        B, i, power = self.problem.branching, self.problem.depth + 1, 1
        while power < t:
            i, power = i - 1, power * B
        u = self.problem.scaled[i - 1]
        return (math.log(u) if u > 0.0 else -math.inf) + (i - 1) * math.log(B)

    def log_slope(self, t: int) -> float:
        """Return log(1 / lambda_t + sigma^-2)."""
        a, b = -self.log_eigenvalue(t), math.log(self.problem.signal)
        return max(a, b) + math.log1p(math.exp(-abs(a - b)))


class PaperLog(_Spectral):
    """boundLog, for T <= N: wrong when A < 1 (erratum 26).

    log((1/lambda_T + sigma^-2) A e) T / (2 (1 - 1/e)) + D log B
    """

    def __call__(self, plays: int) -> float:
        if plays > self.problem.rank(plays):
            raise ValueError(
                f"the paper's sum of log-eigenvalues is for plays up to the number of arms, "
                f"{self.problem.arms}, got {plays}; method='corrected-log' takes more"
            )
        return FACTOR / 2 * plays * self.log_term(plays) + self.problem.log_arms

    def log_term(self, t: int) -> float:
        """Return log((1/lambda_t + sigma^-2) A e)."""
        return self.log_slope(t) + self.log_A + 1.0


class CorrectedLog(_Spectral):
    """1/2 [r log((1/lambda_r + sigma^-2) T) + log lambda_1 + (r-1) log A - log r!] (erratum 26)."""

    discounted = True

    def __call__(self, plays: int) -> float:
        rank = self.problem.rank(plays)
        total = rank * (self.log_slope(rank) + math.log(plays)) + self.log_eigenvalue(1)
        return (total + (rank - 1) * self.log_A - math.lgamma(rank + 1)) / 2


class PaperTail(PaperLog):
    """boundTail, A log(r / T_*) / (2 (1 - 1/e)): wrong (errata 25 and 28).

    Meant as a bound on I*(T) - I*(T_*); the factor m_t / sigma^2 got lost on the way.
    """

    def __call__(self, plays: int) -> float:
        return self.tail(plays, self.split(plays))

    def tail(self, plays: int, split: int) -> float:
        """Return what is printed for the eigenvalues after T_*."""
        rank = self.problem.rank(plays)
        if rank <= split:
            return 0.0
        log_ratio = math.log(rank) - math.log(split)
        return FACTOR / 2 * _exp(self.log_A + math.log(log_ratio))

    def split(self, plays: int) -> int:
        """Return T_*: the first at which moving one more eigenvalue to the head does not pay."""
        return self.given or _first_split(self)

    def distinct(self, plays: int) -> float | None:
        """Return the printed T' = (-1 + sqrt(1 + 4 A_s T / sigma^2)) / 2: wrong (erratum 30)."""
        kernel = unscaled(self.problem.kernel)
        if not isinstance(kernel, kernels.Gaussian) or kernel.width is None:
            return None
        rate = 1.0 / kernel.width / kernel.width
        fall = math.expm1(-self.problem.depth * rate)
        share = fall / (fall - self.problem.branching * math.exp(-rate) / 2)
        x = 4 * self.problem.signal * share * plays * _exp(self.log_A)
        return x / (1 + math.sqrt(1 + x)) / 2 if math.isfinite(x) else math.inf


class PaperFinal(PaperTail):
    """The final bound, boundLog(T_*) + boundTail: wrong (erratum 31, which inherits 28).

    It is constant for T > N, where the gain is not.
    """

    def __call__(self, plays: int) -> float:
        split = self.split(plays)
        head = min(plays, split, self.problem.rank(plays))
        return PaperLog.__call__(self, head) + self.tail(plays, split)


class CorrectedTail(_Spectral):
    """T A / (2 sigma^2 T_*): the eigenvalues after T_*, since m_t <= T / t (erratum 28)."""

    discounted = True

    def __call__(self, plays: int) -> float:
        return self.tail(plays, self.split(plays))

    def tail(self, plays: int, split: int) -> float:
        """Return the bound on 1/2 sum over t > T_* of log(1 + m_t lambda_t / sigma^2)."""
        if split >= self.problem.rank(plays):
            return 0.0  # there are none
        log = math.log(self.problem.signal) + math.log(plays) + self.log_A - math.log(split)
        return _exp(log) / 2

    def split(self, plays: int) -> int:
        """Return T_*, by default min(T, N): with T_* the head grows less than the tail falls."""
        return self.given or self.problem.rank(plays)

    def distinct(self, plays: int) -> float | None:
        """Return max(1, min(N, B sqrt((T-1) A / (sigma^2 (q-1))))) >= T' (erratum 30)."""
        kernel = unscaled(self.problem.kernel)
        if not isinstance(kernel, kernels.Gaussian) or kernel.width is None:
            return None
        B = self.problem.branching
        log_q = math.log(B) - 1.0 / kernel.width / kernel.width
        log = math.log(self.problem.signal) + self.log_A - math.log(math.expm1(log_q))
        most = B * math.sqrt(plays - 1) * _exp(log / 2)
        return max(1.0, min(_exp(self.problem.log_arms), most))


class CorrectedFinal(CorrectedTail):
    """What the final bound should be (erratum 31), valid for every T_*.

    1/2 [log(1 + T lambda_1 / sigma^2) + sum_{t=2..T_*} log(1 + T A / (sigma^2 t^2))]
    + T A / (2 sigma^2 T_*).

    Since log(1 + z) <= z it falls with T_*, so the best T_* is min(T, N), where no tail is left.
    """

    def __call__(self, plays: int) -> float:
        split = min(self.split(plays), self.problem.rank(plays))
        log_scale = math.log(self.problem.signal) + math.log(plays)
        first = _softplus(log_scale + self.log_eigenvalue(1))
        head = log_product_gain(log_scale + self.log_A, split)
        return (first + head) / 2 + self.tail(plays, split)


METHODS: dict[str, Callable[[Problem, int | None], Bound]] = {
    "paper-linear": PaperLinear,
    "paper-constant": PaperConstant,
    "paper-log": PaperLog,
    "paper-tail": PaperTail,
    "paper-final": PaperFinal,
    "corrected-linear": CorrectedLinear,
    "corrected-log": CorrectedLog,
    "corrected-tail": CorrectedTail,
    "corrected-final": CorrectedFinal,
}


def _log_decay(problem: Problem, discounted: bool) -> float:
    """Return log(A / N)."""
    B, D = problem.branching, problem.depth
    kernel = unscaled(problem.kernel)
    if problem.variance == 0.0:
        raise ValueError("the paper's bounds need a kernel with some variance, got none")
    if isinstance(kernel, kernels.Linear):
        return math.log(B) - math.log((B - 1) * (D + 1))
    if isinstance(kernel, kernels.Gaussian) and kernel.width is not None:
        rate = 1.0 / kernel.width / kernel.width
        log_q = math.log(B) - rate
        if log_q <= 0.0:
            raise ValueError(
                f"the paper's bounds need a width above 1/sqrt(log B) = {math.log(B) ** -0.5:.4g}, "
                f"got {kernel.width:g} (not above 1/log B, as the paper prints: erratum 27)"
            )
        return math.log(-math.expm1(-rate)) - math.log(-math.expm1(-log_q))
    if discounted and isinstance(kernel, kernels.Discounted) and kernel.discount:
        square = kernel.discount**2
        unit = problem.steps[1]  # of the first step, in units of kappa0
        return math.log(unit) - math.log(square) - math.log1p(-square / B)
    known = "Linear, Gaussian and Discounted" if discounted else "Linear and Gaussian"
    raise ValueError(
        f"this bound is for {known} kernels, got {problem.kernel!r}; method='exact' takes any"
    )


def _first_split(bound: PaperLog) -> int:
    """Return the first t <= N with L_{t+1} (t+1) - L_t t >= A log((t+1)/t), L_t = `log_term`.

    L_t is constant on a level B^i < t <= B^(i+1), so on each the left side is constant and the right
    side falls: bisection within a level, and one look at where the next one begins.
    """
    B, N = bound.problem.branching, bound.problem.arms
    low, high = 1, 1  # the first and the last t of a level
    while True:
        term = bound.log_term(high)
        if low < high and _paid(term, bound.log_A, high - 1):
            return _first(low, high - 1, functools.partial(_paid, term, bound.log_A))
        if high == N:
            return N
        beyond = bound.log_term(high + 1)
        cost = beyond * (high + 1) - term * high if high < 10**300 else math.inf
        if cost >= _exp(bound.log_A) * math.log1p(1 / high):
            return high
        low, high = high + 1, high * B


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


def _exp(x: float) -> float:
    return math.exp(x) if x < 709.0 else math.inf


def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))
