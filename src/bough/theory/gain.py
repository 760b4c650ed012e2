"""The largest information that T plays can give, and upper bounds on it.

I*(T) is the maximum, over all multisets of T arms, of the information that noisy rewards there give
about the reward function, in nats. It is what regret bounds grow with. `exact` computes it in O(D);
the other methods are upper bounds, among them the paper's, as printed and corrected.

Notation: B children, depth D, N = B^D arms, T plays, c_k the variance that depth k adds, sigma the
noise, lambda_i the eigenvalues of the kernel matrix of all arms and nu_i their multiplicities.
Inside, the variance of a path is 1 and sigma^-2 is `signal`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, overload

from bough.kernels import Kernel
from bough.theory import corrected, greedy, paper
from bough.theory._problem import (
    Array,
    Problem,
    for_each,
    named,
    read_problem,
    scaled_eigenvalues,
)
from bough.theory._spectral import refuse_small_trees
from bough.theory.greedy import Count


@dataclass(frozen=True)
class Gain:
    """An information gain with what led to it.

    Attributes
    ----------
    value
        The gain, in nats.
    method
        How it was computed.
    split
        T_*, where the sum over eigenvalues is split in two (the paper's last bounds only).
    distinct
        T': how many different eigenvectors (or, for `exact`, arms) are picked; for the paper's
        bounds the value or bound of T' that belongs to them. None where there is none.
    counts
        m_t, how often they are picked, by class of eigenvectors with the same eigenvalue.
    """

    value: float
    method: str
    split: int | None = None
    distinct: float | None = None
    counts: tuple[Count, ...] = ()


def exact(problem: Problem, plays: int) -> float:
    """Return I*(T) itself: the plays are spread as evenly as possible at every node.

    For a subtree, S is what its plays tell about an offset that all its arms share, L is log det of
    its plays. An offset of variance c on top makes L + log(1 + cS) and S / (1 + cS); siblings add.
    By induction the even split maximises L and S at once (proof: docs/paper-checked.md), so at each
    depth only two kinds of node occur: with T // B^k plays, and with one more.
    """
    B, steps = problem.branching, problem.steps
    counts = [plays]
    for _ in range(problem.depth):
        counts.append(counts[-1] // B)
    few = counts[-1]
    logs = (0.0, 0.0)
    sums = (few * problem.signal, (few + 1) * problem.signal)
    for k in range(problem.depth, -1, -1):
        if k < problem.depth:
            few = counts[k + 1]
            split = [divmod(counts[k] + extra, B) for extra in (0, 1)]
            # How many of the B children get one play more than `few`.
            more = [B if each > few else rest for each, rest in split]
            logs = (
                (B - more[0]) * logs[0] + more[0] * logs[1],
                (B - more[1]) * logs[0] + more[1] * logs[1],
            )
            sums = (
                (B - more[0]) * sums[0] + more[0] * sums[1],
                (B - more[1]) * sums[0] + more[1] * sums[1],
            )
        step = steps[k]
        logs = (logs[0] + math.log1p(step * sums[0]), logs[1] + math.log1p(step * sums[1]))
        sums = (sums[0] / (1.0 + step * sums[0]), sums[1] / (1.0 + step * sums[1]))
    return logs[0] / 2


def _uniform(steps: tuple[float, ...], branching: int, signal: float, plays: int) -> float:
    scaled = scaled_eigenvalues(steps, branching)
    total = math.log1p(signal * scaled[-1] * plays)
    share = (branching - 1) / branching
    power = 1
    for u in reversed(scaled[:-1]):
        power *= branching
        # lambda_i T / (N sigma^2), and nu_i times it: the second is finite whatever N is.
        each = signal * u * (plays / power)
        ratio = math.log1p(each) / each if each > 0.0 else 1.0
        total += share * signal * u * plays * ratio
    return total / 2


def uniform(problem: Problem, plays: int) -> float:
    """Return 1/2 sum nu_i log(1 + lambda_i T / (N sigma^2)): plays may be split into fractions.

    An upper bound for every T, equal to I*(T) when N divides T.
    """
    return _uniform(problem.steps, problem.branching, problem.signal, plays)


def level(problem: Problem, plays: int) -> float:
    """Return `uniform` on the tree cut at depth k = min(D, ceil(log_B T)).

    An upper bound for every T, equal to I*(T) at T = B^k.
    """
    k, power = 0, 1
    while k < problem.depth and power < plays:
        k, power = k + 1, power * problem.branching
    cut = (*problem.steps[:k], math.fsum(problem.steps[k:]))
    return _uniform(cut, problem.branching, problem.signal, plays)


def hadamard(problem: Problem, plays: int) -> float:
    """Return (r/2) log(1 + kappa0 T / (r sigma^2)), r = min(T, N): any kernel of that variance."""
    rank = problem.rank(plays)
    return rank / 2 * math.log1p(problem.signal * (plays / rank)) if plays else 0.0


def paper_greedy(problem: Problem, plays: int) -> float:
    """Return I_g(T) / (1 - 1/e), as printed (gammaT): holds, but the factor can go (erratum 5)."""
    refuse_small_trees(problem)
    return paper.FACTOR * greedy.greedy(problem, plays)


METHODS: dict[str, Callable[[Problem, int], float]] = {
    "exact": exact,
    "greedy": greedy.greedy,
    "waterfilling": greedy.waterfilling,
    "uniform": uniform,
    "level": level,
    "hadamard": hadamard,
    "paper-greedy": paper_greedy,
    "corrected-constant": hadamard,
}
#: Those that are made for a problem once, and then know T_* and T' as well.
SPECTRAL = {**paper.METHODS, **corrected.METHODS}
NAMES = (*METHODS, *SPECTRAL)


@overload
def information_gain(
    kernel: Kernel, branching: int, depth: int, noise: float, plays: Any,
    method: str = "exact", *, split: int | None = None, details: Literal[False] = False,
) -> Any: ...  # fmt: skip
@overload
def information_gain(
    kernel: Kernel, branching: int, depth: int, noise: float, plays: Any,
    method: str = "exact", *, split: int | None = None, details: Literal[True],
) -> Gain: ...  # fmt: skip
def information_gain(
    kernel: Kernel,
    branching: int,
    depth: int,
    noise: float,
    plays: Any,
    method: str = "exact",
    *,
    split: int | None = None,
    details: bool = False,
) -> "float | Array | Gain":
    """Return the largest information that so many plays can give, or a bound on it, in nats.

    Parameters
    ----------
    kernel, branching, depth
        The prior and the tree, which has branching^depth arms.
    noise
        Standard deviation of a reward, above zero.
    plays
        T, an int (or a whole float such as 1e9) up to 10^100; or an array of them.
    method
        `"exact"`: I*(T) itself, in O(depth). Upper bounds on it: `"greedy"` (over eigenvectors of
        the kernel matrix), `"waterfilling"` (over all weight vectors of norm 1), `"uniform"` (equal
        to I* when N divides T), `"level"` (equal to I* when T is a power of B), `"hadamard"` (any
        kernel). Always exact <= greedy <= waterfilling <= greedy / (1 - 1/e), and exact <= the
        others. The paper's bounds as printed, some of which are wrong: `"paper-greedy"` (gammaT,
        valid, erratum 5), `"paper-linear"` (bound3), `"paper-constant"` (bound1), `"paper-log"`,
        `"paper-tail"`, `"paper-final"`, and what they should be: `"corrected-linear"`,
        `"corrected-constant"` (which is `"hadamard"`), `"corrected-log"`, `"corrected-tail"`,
        `"corrected-final"`. See `bough.theory.paper` and `bough.theory.corrected`. What is printed
        is for branching >= 2 and depth >= 1.
    split
        T_* for the tail and final bounds; by default the best.
    details
        Return a `Gain` with T_*, T' and the counts m_t (for one number of plays).

    Examples
    --------
    >>> from bough.kernels import Gaussian
    >>> round(information_gain(Gaussian(5.0), 200, 10, noise=1.0, plays=1e9))
    114875312
    >>> round(information_gain(Gaussian(5.0), 200, 10, noise=1.0, plays=1e9, method="greedy"))
    14179295307
    """
    problem = read_problem(kernel, branching, depth, noise)
    method = named(method, "method", NAMES)
    if split is not None and not method.endswith(("-tail", "-final")):
        raise ValueError(f"split is T_* of the tail and final bounds; {method!r} has none")
    if method in SPECTRAL:
        bound = SPECTRAL[method](problem, split)
        if details:
            return _one(
                plays, 1, lambda n: Gain(bound(n), method, bound.split(n), bound.distinct(n))
            )
        return for_each(plays, 1, bound)
    compute = METHODS[method]
    if details:
        return _one(plays, 0, lambda n: _detailed(problem, n, method, compute(problem, n)))
    return for_each(plays, 0, lambda n: compute(problem, n))


def _one(plays: Any, least: int, make: Callable[[int], Gain]) -> Gain:
    found: list[Gain] = []

    def keep(n: int) -> float:
        found.append(make(n))
        return found[-1].value

    for_each(plays, least, keep)
    if len(found) != 1:
        raise ValueError(f"details are for one number of plays, got {len(found)}")
    return found[0]


def _detailed(problem: Problem, plays: int, method: str, value: float) -> Gain:
    counts: tuple[Count, ...]
    if method == "exact":
        counts = (Count(problem.arms, *divmod(plays, problem.arms)),)
    elif method in ("greedy", "paper-greedy"):
        counts = greedy.allocation(problem, plays)
    else:
        return Gain(value, method)
    return Gain(value, method, None, sum(c.distinct for c in counts), counts)


__all__ = ["Gain", "information_gain"]
