"""The largest information gain of T plays, and upper bounds on it.

I*(T) is the maximum, over all multisets of T arms, of the information that noisy rewards there give
about the reward function, in nats. Regret bounds grow with it. `exact` computes it in O(D); the
other methods are upper bounds.

Notation: B children, depth D, N = B^D arms, T plays, c_k the variance that depth k adds, sigma the
noise, lambda_i the eigenvalues of the kernel matrix of all arms and nu_i their multiplicities. In
the code the variance of an arm is 1 and sigma^-2 is `signal` (see `bough.theory._setting`).

Greedy picks of eigenvectors: after m picks of an eigenvector with eigenvalue lambda its posterior
variance is sigma^2 / (rho + m), rho = sigma^2 / lambda, and one more pick gains
1/2 log(1 + 1/(rho + m)). So the greedy picks are the T smallest elements of the multiset
{rho_i + k : k >= 0}, nu_i copies of each (errata 4 and 29). With rho = whole + part, the number of
keys of a class below any whole number is an integer, and the picks are found with integers alone,
whatever the size of N.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bough.kernels import Kernel
from bough.theory._decimals import (
    CONTEXT,
    decimal_eigenvalues,
    decimal_increments,
    log1p,
    multiplicities,
    scaled_eigenvalues,
)
from bough.theory._setting import (
    Setting,
    check_all_plays,
    check_choice,
    check_plays,
    check_setting,
    shaped,
)
from bough.theory.labels import Structure, classes_of

#: A smaller sigma^2 / lambda counts as 0; these are ordered by their eigenvalues.
TINY = 1e-300
#: More keys than the most plays that are allowed lie below a key as large as this.
HUGE = 1e300


def exact(setting: Setting, plays: int) -> float:
    """Return I*(T): the plays are spread as evenly as possible at every node.

    For a subtree, S is the precision with which its plays determine an offset that all its arms
    share, L is log det of its plays. An offset of variance c on top makes L + log(1 + cS) and
    S / (1 + cS); siblings add. By induction the even split maximizes L and S at once (proof:
    docs/paper-checked.md), so at each depth only two kinds of node occur: with T // B^k plays, and
    with one more.
    """
    B, D, steps = setting.branching, setting.depth, setting.steps
    counts = [plays]
    for _ in range(D):
        counts.append(counts[-1] // B)
    # Pairs: the values of a node with counts[k] plays, and of one with counts[k] + 1.
    logs = [0.0, 0.0]
    sums = [counts[D] * setting.signal, (counts[D] + 1) * setting.signal]
    for k in range(D, -1, -1):
        if k < D:
            few = counts[k + 1]
            split = [divmod(counts[k] + extra, B) for extra in (0, 1)]
            more = [B if each > few else rest for each, rest in split]  # children with few + 1
            logs = [(B - m) * logs[0] + m * logs[1] for m in more]
            sums = [(B - m) * sums[0] + m * sums[1] for m in more]
        logs = [L + math.log1p(steps[k] * S) for L, S in zip(logs, sums, strict=True)]
        sums = [S / (1.0 + steps[k] * S) for S in sums]
    return logs[0] / 2


@dataclass(frozen=True)
class Count:
    """The picks of a class of eigenvectors with the same eigenvalue.

    Attributes
    ----------
    multiplicity
        The number of eigenvectors in the class.
    picks, extra
        All are picked `picks` times, and `extra` of them once more.
    """

    multiplicity: int
    picks: int
    extra: int = 0

    @property
    def distinct(self) -> int:
        """The number of eigenvectors that are picked at all."""
        return self.multiplicity if self.picks else self.extra


@dataclass(frozen=True)
class _Class:
    """The eigenvectors of one positive eigenvalue."""

    index: int  # i of lambda_i
    multiplicity: int
    ratio: Decimal  # lambda_i / sigma^2
    rho: float  # its inverse, 0.0 if not above TINY


def _classes(setting: Setting) -> list[_Class]:
    """Return the classes of positive eigenvalues, the largest first."""
    if isinstance(setting.kernel, Structure):
        unit = Decimal(setting.variance)
        known = classes_of(setting.kernel, setting.branching, setting.depth)
        eigenvalues = [CONTEXT.divide(value, unit) for value, _ in known] if unit else []
        counts = tuple(count for _, count in known)
    else:
        steps = decimal_increments(setting.kernel, setting.steps, setting.variance)
        eigenvalues = decimal_eigenvalues(steps, setting.branching)
        counts = multiplicities(setting.branching, setting.depth)
    classes: list[_Class] = []
    for i in range(len(eigenvalues), 0, -1):
        ratio = CONTEXT.multiply(eigenvalues[i - 1], Decimal(setting.signal))
        if counts[i - 1] == 0 or ratio == 0:
            continue
        rho = float(CONTEXT.divide(1, ratio))
        if rho < HUGE:
            rho = rho if rho > TINY else 0.0
            if classes:  # rounding may put nearly equal eigenvalues in the wrong order
                rho = max(rho, classes[-1].rho)
            classes.append(_Class(i, counts[i - 1], ratio, rho))
    return classes


def _greedy_picks(setting: Setting, plays: int) -> list[tuple[_Class, int, int]]:
    """Return the classes, with m and the number of those picked m + 1 times."""
    classes = _classes(setting)
    if not classes or plays == 0:
        return []
    wholes = [math.floor(group.rho) for group in classes]
    # Below a whole number h a class has max(0, h - whole) keys for each of its members: take the
    # largest h with at most T keys below it. The classes come in the order of their keys.
    members = weighted = 0
    h = wholes[0]
    for j, group in enumerate(classes):
        members += group.multiplicity
        weighted += group.multiplicity * wholes[j]
        h = (plays + weighted) // members
        if j + 1 == len(classes) or h <= wholes[j + 1]:
            break
    picks = [max(0, h - whole) for whole in wholes]
    left = plays - sum(g.multiplicity * m for g, m in zip(classes, picks, strict=True))
    extra = [0] * len(classes)
    # In [h, h + 1) each class has one key per member. Of equal keys the one of the smaller index i
    # goes first, unless they are equal because they underflowed.
    order = [
        (group.rho - wholes[j], group.index if group.rho else -group.index, j)
        for j, group in enumerate(classes)
        if wholes[j] <= h
    ]
    for _, _, j in sorted(order):
        extra[j] = min(left, classes[j].multiplicity)
        left -= extra[j]
        if left == 0:
            break
    return list(zip(classes, picks, extra, strict=True))


def greedy(setting: Setting, plays: int) -> float:
    """Return I_g(T): the plays are eigenvectors of the kernel matrix, picked greedily."""
    total = 0.0
    for group, picks, extra in _greedy_picks(setting, plays):
        if picks:
            total += (group.multiplicity - extra) * log1p(CONTEXT.multiply(group.ratio, picks))
        if extra:
            total += extra * log1p(CONTEXT.multiply(group.ratio, picks + 1))
    return total / 2


def waterfilling(setting: Setting, plays: int) -> float:
    """Return I_wf(T): the most that T weight vectors of norm 1 can give.

    The min(T, N) largest eigenvalues are filled up to a common level: 1/2 sum n_i log(level /
    rho_i).
    """
    classes = _classes(setting)
    if not classes or plays == 0:
        return 0.0
    left = setting.rank(plays)
    active: list[tuple[_Class, int]] = []
    members, below, last = 0, 0.0, classes[0].rho
    for group in classes:
        size = min(left, group.multiplicity)
        # Differences of rho, not the level itself: all rho may be far above what the plays add.
        deeper = below + members * (last - group.rho)
        if size == 0 or plays + deeper <= 0.0:
            break
        active.append((group, size))
        members, below, last = members + size, deeper, group.rho
        left -= size
    height = (plays + below) / members  # of the level above the last class
    total = 0.0
    for group, size in active:
        weight = height + (last - group.rho)
        total += size * log1p(CONTEXT.multiply(group.ratio, Decimal(weight)))
    return total / 2


def uniform(setting: Setting, plays: int) -> float:
    """Return 1/2 sum nu_i log(1 + lambda_i T / (N sigma^2)): plays may be split into fractions.

    An upper bound for every T, equal to I*(T) when N divides T.
    """
    B, signal = setting.branching, setting.signal
    if setting.structure is not None:
        return _uniform_by_classes(setting, plays)
    scaled = [float(u) for u in scaled_eigenvalues(list(map(Decimal, setting.steps)), B)]
    total = math.log1p(signal * scaled[-1] * plays)
    power = 1
    for u in reversed(scaled[:-1]):
        power *= B
        # lambda_i T / (N sigma^2), and nu_i times it: the second is finite whatever N is.
        each = signal * u * (plays / power)
        ratio = math.log1p(each) / each if each > 0.0 else 1.0
        total += (B - 1) / B * signal * u * plays * ratio
    return total / 2


def _uniform_by_classes(setting: Setting, plays: int) -> float:
    share = CONTEXT.divide(Decimal(plays), Decimal(setting.branching**setting.depth))
    total = Decimal(0)
    for group in _classes(setting):
        each = CONTEXT.multiply(group.ratio, share)
        # log(1 + x) = x to all digits where x may underflow
        log = Decimal(log1p(each)) if each.adjusted() > -30 else each
        total = CONTEXT.add(total, CONTEXT.multiply(Decimal(group.multiplicity), log))
    return float(total) / 2


def least(setting: Setting, plays: int) -> float:
    """Return I*(T) where it is known, and the least upper bound on it elsewhere."""
    return min(METHODS[name](setting, plays) for name in _valid_methods(setting))


def _valid_methods(setting: Setting) -> tuple[str, ...]:
    structure = setting.structure
    if structure is None:
        return ("exact",)
    with_uniform = structure.symmetric(setting.branching)
    return ("greedy", "uniform", "hadamard") if with_uniform else ("greedy", "hadamard")


def check_method(method: Any, name: str, setting: Setting) -> Callable[[Setting, int], float]:
    """Return the function of a method, which must hold for the kernel."""
    if method is None:
        return least
    check_choice(method, name, tuple(METHODS))
    if setting.structure is not None and method not in (*_valid_methods(setting), "waterfilling"):
        raise ValueError(
            f"{name} {method!r} does not hold for {type(setting.kernel).__name__} with these "
            f"arguments; leave it out, or pass one of {', '.join(_valid_methods(setting))}, "
            "waterfilling"
        )
    return METHODS[method]


def hadamard(setting: Setting, plays: int) -> float:
    """Return (r/2) log(1 + kappa0 T / (r sigma^2)), r = min(T, N): any kernel of that variance."""
    rank = setting.rank(plays)
    return rank / 2 * math.log1p(setting.signal * (plays / rank)) if plays else 0.0


METHODS: dict[str, Callable[[Setting, int], float]] = {
    "exact": exact,
    "greedy": greedy,
    "waterfilling": waterfilling,
    "uniform": uniform,
    "hadamard": hadamard,
}


def information_gain(
    kernel: Kernel | Structure,
    branching: int,
    depth: int,
    noise: float,
    plays: Any,
    method: str | None = None,
) -> Any:
    """Return the largest information gain of T plays, or an upper bound on it, in nats.

    Parameters
    ----------
    kernel, branching, depth
        The prior, as for `spectrum`, and the tree, which has branching^depth arms.
    noise : float
        The standard deviation of a reward, above zero.
    plays : int or array of int
        T, up to 10^100; a whole float such as 1e9 is converted.
    method : str, optional
        `"exact"`: I*(T) itself, in O(depth), for kernels of common prefixes. Upper bounds on it:
        `"greedy"` (over eigenvectors of the kernel matrix), `"waterfilling"` (over all weight
        vectors of norm 1), `"uniform"` (equal to I* when N divides T; where all arms are alike),
        `"hadamard"` (any kernel of the same variance). Always exact <= greedy <= waterfilling <=
        greedy / (1 - 1/e), and exact <= the others. By default `"exact"`, and the least of the
        bounds for kernels with labels.

    Returns
    -------
    float, or an array in the shape of `plays`

    Examples
    --------
    >>> from bough.kernels import Gaussian
    >>> round(information_gain(Gaussian(5.0), 200, 10, noise=1.0, plays=1e9))
    114875312
    >>> round(information_gain(Gaussian(5.0), 200, 10, noise=1.0, plays=1e9, method="greedy"))
    14179295307
    """
    setting = check_setting(kernel, branching, depth, noise)
    compute = check_method(method, "method", setting)
    counts, shape = check_all_plays(plays, 0)
    return shaped([compute(setting, n) for n in counts], shape)


def greedy_counts(
    kernel: Kernel, branching: int, depth: int, noise: float, plays: int
) -> tuple[Count, ...]:
    """Return the picks m_t of the greedy gain, one `Count` for each of lambda_1 .. lambda_{D+1}.

    The parameters are those of `information_gain`. Which of several equal keys is picked first is
    arbitrary.

    >>> from bough.kernels import Gaussian
    >>> counts = greedy_counts(Gaussian(2.0), 2, 3, noise=1.0, plays=5)
    >>> [(count.multiplicity, count.picks, count.extra) for count in counts]
    [(4, 0, 0), (2, 0, 2), (1, 1, 0), (1, 1, 1)]
    """
    setting = check_setting(kernel, branching, depth, noise)
    if isinstance(setting.kernel, Structure):
        numbers = tuple(n for _, n in classes_of(setting.kernel, branching, depth))
    else:
        numbers = multiplicities(branching, depth)
    counts = [Count(number, 0) for number in numbers]
    for group, picks, extra in _greedy_picks(setting, check_plays(plays)):
        counts[group.index - 1] = Count(group.multiplicity, picks, extra)
    return tuple(counts)
