"""The useful depth of planning, and growth rates for the discounted kernel.

With f a sum of discounted rewards, a = log_B(1/gamma) and depth D = log_B T, the exact information
gain grows like T^(1/(1+2a)), and the bound on the regret like T^(1 - a/(1+2a)), up to logarithms
(erratum 39). The same rates hold for every depth from log_B(T) / (1+2a) on.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bough._validation import at_least_zero, whole
from bough.theory._setting import check_branching, check_discount, check_plays


@dataclass(frozen=True)
class PlanningRates:
    """Exponents of T, up to logarithms, for the discounted kernel with depth log_B T.

    Attributes
    ----------
    a
        log_B(1/gamma).
    gain
        The exponent of the exact information gain.
    regret
        The exponent of the bound on the cumulative regret. That of OLOP, 1 - `olop_rate`, is
        smaller (erratum 40).
    """

    a: float
    gain: float
    regret: float


def planning_rates(branching: int, discount: float) -> PlanningRates:
    """Return the growth rates of information gain and regret with the number of plays.

    >>> rates = planning_rates(branching=4, discount=0.7)
    >>> f"{rates.gain:.4f} {rates.regret:.4f}"
    '0.6603 0.8301'
    """
    B, discount = check_branching(branching, least=2), check_discount(discount)
    a = -math.log(discount) / math.log(B) + 0.0
    return PlanningRates(a, 1 / (1 + 2 * a), 1 - a / (1 + 2 * a))


def paper_depth(branching: int, plays: Any) -> int:
    """Return the paper's and OLOP's D(T), log_B T rounded up (erratum 41).

    >>> paper_depth(5, 125), paper_depth(5, 126)
    (3, 4)
    """
    B, T = check_branching(branching, least=2), check_plays(plays, 1)
    depth, power = 0, 1
    while power < T:  # integers: math.log(125, 5) is above 3
        depth, power = depth + 1, power * B
    return depth


def useful_depth(branching: int, discount: float, plays: Any) -> int:
    """Return the smallest depth with the full rate, log_B(T) / (1 + 2a) rounded up (erratum 39).

    That is the smallest D with (B / gamma^2)^D >= T.

    >>> useful_depth(5, 0.5, plays=10**6), paper_depth(5, 10**6)
    (5, 9)
    """
    B, T = check_branching(branching, least=2), check_plays(plays, 1)
    discount = check_discount(discount)
    growth = B / Fraction(discount) ** 2
    log_growth = math.log(B) - 2 * math.log(discount)
    depth = max(math.floor(math.log(T) / log_growth) - 1, 0)
    power = growth**depth
    while power < T:  # exact: rounding must not cost a level
        depth, power = depth + 1, power * growth
    return depth


def truncation_cost(discount: float, depth: int, reward: float = 1.0) -> float:
    """Return the most that stopping at depth D can cost: 2 reward gamma^D / (1 - gamma).

    For immediate rewards between -reward and reward; infinite for gamma = 1.

    >>> truncation_cost(0.5, depth=10)
    0.00390625
    """
    depth = whole(depth, "depth", least=0)
    reward, discount = at_least_zero(reward, "reward"), check_discount(discount)
    if discount == 1.0:
        return math.inf if reward else 0.0
    return 2.0 * reward * discount**depth / (1.0 - discount)
