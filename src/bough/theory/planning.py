"""How deep to plan, and what the discounted kernel's bounds grow like.

With f a sum of discounted rewards, a = log_B(1/gamma) and depth D = log_B T, the exact information
gain grows like T^(1/(1+2a)), and the bound on the regret like T^(1 - a/(1+2a)), up to logarithms.
The paper prints T^(1-2a) and T^(1-a), which are wrong (erratum 39): for a > 1/2 the first says that
the gain vanishes. The same rates hold for every depth from log_B(T) / (1+2a) on.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bough._validation import above_zero, at_least_zero, whole
from bough.theory._problem import read_branching, read_plays
from bough.theory.peers import olop_rate


@dataclass(frozen=True)
class PlanningRates:
    """Exponents of T, up to logarithms, for the discounted kernel with depth log_B T.

    Attributes
    ----------
    a
        log_B(1/gamma).
    gain, regret
        Of the exact information gain, and of the cumulative regret bound that follows.
    paper_gain, paper_regret
        As printed: wrong (erratum 39).
    olop
        Of OLOP's cumulative regret T n^-min(a, 1/2), n = D T calls of the model, which is smaller:
        the claim that GPTS improves on it is not supported by this route (erratum 40).
    """

    a: float
    gain: float
    regret: float
    paper_gain: float
    paper_regret: float
    olop: float


def planning_rates(branching: int, discount: float) -> PlanningRates:
    """Return how gain and regret grow with the number of plays.

    >>> rates = planning_rates(branching=4, discount=0.7)
    >>> f"{rates.regret:.4f} {rates.paper_regret:.4f} {rates.olop:.4f}"
    '0.8301 0.7427 0.7427'
    """
    B, discount = read_branching(branching, least=2), _discount(discount)
    a = -math.log(discount) / math.log(B) + 0.0
    return PlanningRates(
        a, 1 / (1 + 2 * a), 1 - a / (1 + 2 * a), 1 - 2 * a, 1 - a, 1 - olop_rate(B, discount)
    )


def paper_depth(branching: int, plays: Any) -> int:
    """Return the paper's and OLOP's D(T), log_B T rounded up (erratum 41).

    >>> paper_depth(5, 125), paper_depth(5, 126)
    (3, 4)
    """
    B, T = read_branching(branching, least=2), read_plays(plays, 1)
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
    B, T = read_branching(branching, least=2), read_plays(plays, 1)
    discount = _discount(discount)
    growth = B / Fraction(discount) ** 2
    log_growth = math.log(B) - 2 * math.log(discount)
    depth = max(math.floor(math.log(T) / log_growth) - 1, 0)
    power = growth**depth
    while power < T:  # exact: rounding must not cost a level
        depth, power = depth + 1, power * growth
    return depth


def truncation_cost(discount: float, depth: int, reward: float = 1.0) -> float:
    """Return what stopping at depth D can cost: 2 reward gamma^D / (1 - gamma).

    For immediate rewards between -reward and reward; infinite for gamma = 1.

    >>> truncation_cost(0.5, depth=10)
    0.00390625
    """
    depth = whole(depth, "depth", least=0)
    reward, discount = at_least_zero(reward, "reward"), _discount(discount)
    if discount == 1.0:
        return math.inf if reward else 0.0
    return 2.0 * reward * discount**depth / (1.0 - discount)


def _discount(discount: Any) -> float:
    number = above_zero(discount, "discount")
    if number > 1:
        raise ValueError(f"discount must be between 0 and 1, got {discount!r}")
    return number
