"""Information gain by eigenvectors: greedy picks, and the real water-filling.

After m picks of an eigenvector with eigenvalue lambda its posterior variance is sigma^2 / (rho +
m), rho = sigma^2 / lambda, and one more pick gains 1/2 log(1 + 1/(rho + m)). So the greedy picks
are the T smallest elements of the multiset {rho_i + k : k >= 0}, nu_i copies of each (errata 4 and
29). Written as rho = whole + part, a class has whole-number many keys below any whole number, and
the picks are found with integers alone, whatever the size of N.
"""

import math
from dataclasses import dataclass

from bough.theory._problem import Problem, power
from bough.theory._wide import Wide

#: A smaller sigma^2 / lambda counts as 0; these go by the order of the eigenvalues.
TINY = 1e-300
#: Before keys as large as this come more than the most plays that there can be.
HUGE = 1e300


@dataclass(frozen=True)
class Count:
    """How often the members of a class are picked: `extra` of them once more than the rest."""

    multiplicity: int
    picks: int
    extra: int = 0

    @property
    def distinct(self) -> int:
        """How many members are picked at all."""
        return self.multiplicity if self.picks else self.extra


@dataclass(frozen=True)
class _Class:
    index: int  # i of lambda_i
    multiplicity: int
    ratio: Wide  # lambda_i / sigma^2
    rho: float  # its inverse, 0.0 if not above TINY


def _classes(problem: Problem) -> list[_Class]:
    """Return the classes of positive eigenvalues, the largest first."""
    B = problem.branching
    classes: list[_Class] = []
    multiplicity = 1
    for i in range(problem.depth + 1, 0, -1):
        ratio = problem.eigenvalues[i - 1].times(problem.signal)
        if multiplicity > 0 and ratio.mantissa > 0.0:
            rho = float(ratio.inverse())
            if rho < HUGE:
                rho = rho if rho > TINY else 0.0
                if classes:  # all but equal eigenvalues may come out in the wrong order
                    rho = max(rho, classes[-1].rho)
                classes.append(_Class(i, multiplicity, ratio, rho))
        multiplicity = B - 1 if i == problem.depth + 1 else multiplicity * B
    return classes


def allocation(problem: Problem, plays: int) -> tuple[Count, ...]:
    """Return the greedy counts m_t, one `Count` for each of the D + 1 eigenvalues, increasing."""
    counts = [Count(_multiplicity(problem, i), 0) for i in range(1, problem.depth + 2)]
    for group, picks, extra in _greedy(problem, plays):
        counts[group.index - 1] = Count(group.multiplicity, picks, extra)
    return tuple(counts)


def _multiplicity(problem: Problem, i: int) -> int:
    if i == problem.depth + 1:
        return 1
    return (problem.branching - 1) * power(problem.branching, problem.depth - i)


def _greedy(problem: Problem, plays: int) -> list[tuple[_Class, int, int]]:
    """Return the classes that are picked, with m and how many are picked m + 1 times."""
    classes = _classes(problem)
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
    # In [h, h + 1) each class has one key a member. Of equal keys the one of the smaller index i
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
    return [
        (group, m, e) for group, m, e in zip(classes, picks, extra, strict=True) if m > 0 or e > 0
    ]


def greedy(problem: Problem, plays: int) -> float:
    """Return I_g(T): the plays are eigenvectors of the kernel matrix, each the best at its time."""
    total = 0.0
    for group, picks, extra in _greedy(problem, plays):
        if picks:
            gain = group.ratio.times(picks).log1p()
            total += (group.multiplicity - extra) * gain
        if extra:
            total += extra * group.ratio.times(picks + 1).log1p()
    return total / 2


def waterfilling(problem: Problem, plays: int) -> float:
    """Return I_wf(T): the most that T weight vectors of norm 1 can give.

    The min(T, N) largest eigenvalues are filled up to a common level: 1/2 sum n_i log(level /
    rho_i).
    """
    classes = _classes(problem)
    if not classes or plays == 0:
        return 0.0
    left = problem.rank(plays)
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
        total += size * group.ratio.times(weight).log1p()
    return total / 2
