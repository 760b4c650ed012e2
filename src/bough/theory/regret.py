"""Regret bounds for a problem of your own, and how many plays they ask for.

With probability at least 1 - delta, for all T at once, the paper's rule (`GPTS(select="arm")` with
`Confidence(delta, scale=1)`) on rewards drawn from the prior has cumulative regret R_T at most each
of these; `bough.theory._regret_forms` says why.
"""

import math
from typing import Any, Literal, overload

import numpy as np

from bough._validation import above_zero, at_least_zero, real
from bough.confidence import Confidence
from bough.kernels import Kernel
from bough.theory import gain as gains
from bough.theory._problem import (
    MOST_PLAYS,
    Array,
    Problem,
    for_each,
    named,
    read_plays,
    read_problem,
)
from bough.theory._regret_forms import METHODS, Terms
from bough.theory._spectral import refuse_small_trees

NAMES = (*METHODS, "best", "paper", "agnostic")


class _Bounds:
    """All regret bounds of one problem."""

    def __init__(self, problem: Problem, delta: float, gain: str, norm: float | None) -> None:
        self.problem = problem
        self.confidence = Confidence(delta)
        if not isinstance(gain, str):
            raise TypeError(f"gain must be a method of information_gain by its name, got {gain!r}")
        self.gain_name = named(gain, "gain", gains.NAMES)
        if gain.endswith("-tail"):
            raise ValueError(
                f"gain must bound the whole information gain; {gain!r} is a part of it"
            )
        self.norm = None if norm is None else at_least_zero(norm, "norm")
        self._gain = (
            gains.SPECTRAL[gain](problem, None)
            if gain in gains.SPECTRAL
            else lambda plays: gains.METHODS[gain](problem, plays)
        )

    def terms(self, plays: int) -> Terms:
        gained = self._gain(plays) if self.problem.variance > 0.0 else 0.0
        # Some printed bounds on the information are negative, where they are wrong.
        return Terms(self.problem, plays, self.confidence, max(gained, 0.0))

    def table(self, plays: int) -> dict[str, float]:
        """Return the valid bounds, the best of them, and the agnostic one if there is a norm."""
        if self.problem.variance == 0.0:
            bounds = dict.fromkeys((*METHODS, "best"), 0.0)
        else:
            terms = self.terms(plays)
            bounds = {name: method(terms) for name, method in METHODS.items()}
            bounds["best"] = min(bounds.values())
        if self.norm is not None:
            bounds["agnostic"] = self.agnostic(plays)
        return bounds

    def names(self) -> list[str]:
        """Return the names of the table."""
        return [*METHODS, "best"] + (["agnostic"] if self.norm is not None else [])

    def one(self, method: str, plays: int) -> float:
        if method == "agnostic":
            return self.agnostic(plays)
        if method == "paper":
            refuse_small_trees(self.problem)
        if self.problem.variance == 0.0:
            return 0.0
        if method == "best":
            return self.table(plays)["best"]
        if method == "paper":
            return self.printed(plays)
        return METHODS[method](self.terms(plays))

    def printed(self, plays: int) -> float:
        """Return Theorem 1 as the paper prints it, which holds for kappa0 <= 1 only (erratum 3)."""
        terms = self.terms(plays)
        precision = 1 / self.problem.noise / self.problem.noise
        ratio = 8 / math.log1p(precision) if precision > 0.0 else math.inf
        return terms.last * math.sqrt(ratio * plays) * math.sqrt(terms.gain)

    def given_norm(self) -> float:
        """Return the norm, or say that it is missing."""
        if self.norm is None:
            raise ValueError(
                "method 'agnostic' needs norm: an upper bound on the norm of the reward function "
                "in the kernel's Hilbert space"
            )
        return self.norm

    def agnostic(self, plays: int) -> float:
        """Return the bound for functions of bounded norm (Srinivas et al., their Theorem 3)."""
        norm = self.given_norm()
        if self.problem.variance == 0.0:
            return 0.0
        terms = self.terms(plays)
        log = math.log(plays) - math.log(self.confidence.delta)
        # sqrt(beta), without the square of a norm, which may overflow
        sqrt_beta = math.hypot(math.sqrt(2) * norm, math.sqrt(300 * terms.gain * log**3))
        return math.sqrt(8 * terms.ratio * plays) * sqrt_beta * math.sqrt(terms.gain)


@overload
def regret_bound(
    kernel: Kernel, branching: int, depth: int, noise: float, plays: Any, delta: float = 0.05,
    method: str = "best", *, gain: str = "exact", norm: float | None = None,
    breakdown: Literal[False] = False,
) -> Any: ...  # fmt: skip
@overload
def regret_bound(
    kernel: Kernel, branching: int, depth: int, noise: float, plays: Any, delta: float = 0.05,
    method: str = "best", *, gain: str = "exact", norm: float | None = None,
    breakdown: Literal[True],
) -> dict[str, Any]: ...  # fmt: skip
def regret_bound(
    kernel: Kernel,
    branching: int,
    depth: int,
    noise: float,
    plays: Any,
    delta: float = 0.05,
    method: str = "best",
    *,
    gain: str = "exact",
    norm: float | None = None,
    breakdown: bool = False,
) -> "float | Array | dict[str, Any]":
    """Return a bound on the cumulative regret, which holds with probability 1 - delta.

    Parameters
    ----------
    kernel, branching, depth, noise, plays
        As for `information_gain`; plays from 1.
    delta
        The probability with which the bounds may fail; the same that the searcher was given.
    method
        `"theorem"`: Theorem 1 of Srinivas et al. for any kappa0 (erratum 3). `"sum-beta"`: with
        each play's own beta. `"envelope"`: never above `"theorem"` and `"trivial"`.
        `"uncapped-envelope"`, `"weighted-envelope"`, `"trivial"`. `"best"`: the least of all these.
        `"agnostic"`: for any reward function whose norm in the kernel's Hilbert space is at most
        `norm`, and noise that is any martingale difference bounded by `noise` (their Theorem 3, for
        the searcher that uses its beta). `"paper"`: Theorem 1 as printed, which holds for
        kappa0 <= 1 only, and for branching >= 2 and depth >= 1.
    gain
        The method of `information_gain` to use; `"paper-greedy"` for what the paper would use.
    norm
        For `"agnostic"`.
    breakdown
        Return all valid bounds by name, `"agnostic"` among them if there is a norm.

    Examples
    --------
    >>> from bough.kernels import Gaussian
    >>> f"{regret_bound(Gaussian(100.0), 200, 10, noise=0.1, plays=1e9):.4e}"
    '7.7576e+08'
    >>> table = regret_bound(Gaussian(3.0), 10, 6, 0.3, plays=1000, breakdown=True)
    >>> min(table, key=table.get)
    'envelope'
    """
    bounds = _Bounds(read_problem(kernel, branching, depth, noise), delta, gain, norm)
    method = named(method, "method", NAMES)
    if breakdown:
        if method == "agnostic":
            bounds.given_norm()  # or else it would be missing from the table
        tables: list[dict[str, float]] = []

        def row(n: int) -> float:
            tables.append(bounds.table(n))
            return 0.0

        shape = np.shape(for_each(plays, 1, row))
        if not shape:
            return dict(tables[0])
        return {
            name: np.array([table[name] for table in tables]).reshape(shape)
            for name in bounds.names()
        }
    return for_each(plays, 1, lambda n: bounds.one(method, n))


def simple_regret_bound(
    kernel: Kernel,
    branching: int,
    depth: int,
    noise: float,
    plays: Any,
    delta: float = 0.05,
    method: str = "best",
    *,
    gain: str = "exact",
    norm: float | None = None,
) -> Any:
    """Return a bound on f* - max f(x_t), the regret of the best arm played: R_T / T.

    The parameters are those of `regret_bound`.

    >>> from bough.kernels import Linear
    >>> round(simple_regret_bound(Linear(), 2, 3, noise=0.1, plays=10**6), 4)
    0.018
    """
    bounds = _Bounds(read_problem(kernel, branching, depth, noise), delta, gain, norm)
    method = named(method, "method", NAMES)
    return for_each(plays, 1, lambda n: bounds.one(method, n) / n)


def empirical_regret_bounds(
    kernel: Kernel,
    branching: int,
    depth: int,
    noise: float,
    plays: int,
    delta: float = 0.05,
    method: str = "best",
    *,
    noise_delta: float = 0.05,
    gain: str = "exact",
    norm: float | None = None,
) -> tuple[float, float]:
    """Return how far f* can be above and below the highest reward seen.

    f* - y_best <= R_T / T + sigma sqrt(2 log(1/d) / T) with probability 1 - delta - d, and y_best -
    f* <= sigma sqrt(2 log(T/d)) with probability 1 - d, d = `noise_delta`. The second grows with T:
    there is no two-sided bound that falls, as the paper says (erratum 42).

    >>> from bough.kernels import Linear
    >>> above, below = empirical_regret_bounds(Linear(), 2, 3, noise=0.1, plays=10**6)
    >>> f"{above:.4f} {below:.4f}"
    '0.0183 0.5798'
    """
    if not 0 < real(noise_delta, "noise_delta") < 1:
        raise ValueError(f"noise_delta must be between 0 and 1, got {noise_delta!r}")
    plays = read_plays(plays, 1)
    simple = simple_regret_bound(
        kernel, branching, depth, noise, plays, delta, method, gain=gain, norm=norm
    )
    log = -math.log(noise_delta)
    above = simple + noise * math.sqrt(2 * log / plays)
    return above, noise * math.sqrt(2 * (math.log(plays) + log))


def plays_needed(
    kernel: Kernel,
    branching: int,
    depth: int,
    noise: float,
    regret: float,
    delta: float = 0.05,
    method: str = "best",
    *,
    gain: str = "exact",
    norm: float | None = None,
) -> int:
    """Return after how many plays the bound promises an average regret of at most `regret`.

    The other parameters are those of `regret_bound`.

    One play fewer does not promise it, nor does any smaller power of two: the bound on the average
    may rise a little before it falls.

    Raises
    ------
    ValueError
        If 10^100 plays do not suffice.

    Examples
    --------
    >>> from bough.kernels import Gaussian
    >>> plays_needed(Gaussian(3.0), 5, 10, noise=0.1, regret=0.1)
    61471696038
    """
    bounds = _Bounds(read_problem(kernel, branching, depth, noise), delta, gain, norm)
    method = named(method, "method", NAMES)
    target = above_zero(regret, "regret")
    few, many = 0, 1
    while bounds.one(method, many) / many > target:
        few, many = many, many * 2
        if many > MOST_PLAYS:
            raise ValueError(
                f"regret must be larger than {target:g}: the bound does not promise it within "
                "10^100 plays of this tree"
            )
    while many - few > 1:
        middle = (few + many) // 2
        if bounds.one(method, middle) / middle > target:
            few = middle
        else:
            many = middle
    return many
