"""How far ahead to look."""

import math
from typing import Any

from bough._validation import whole
from bough.theory.depth import paper_depth, useful_depth

#: Steps beyond which less than this share of what counts is to come are not looked at.
LEAST_WEIGHT = 0.1
#: At least so many paths of full depth fit into a budget.
LEAST_PATHS = 5


def default_depth(actions: int, discount: float, budget: int) -> int:
    """Return how many steps to look ahead.

    The larger of the smallest useful depth for the budget (erratum 39 of the paper) and the
    horizon of the discount, log 0.1 / log discount; but at most a fifth of the budget.

    >>> default_depth(2, 0.95, budget=1000), default_depth(2, 0.95, budget=100)
    (45, 20)
    """
    horizon = budget
    if discount < 1.0:
        horizon = math.ceil(math.log(LEAST_WEIGHT) / math.log(discount))
    useful = useful_depth(actions, discount, budget) if actions > 1 else 1
    return max(min(max(useful, horizon), budget // LEAST_PATHS), 1)


def read_depth(depth: Any, actions: int, discount: float, budget: int) -> int:
    """Return the depth that was asked for: a number, "paper" for its D(T), or None for ours.

    >>> read_depth("paper", 2, 0.95, budget=100)
    5
    """
    if depth is None:
        return default_depth(actions, discount, budget)
    if isinstance(depth, str):
        if depth != "paper":
            raise ValueError(f'depth must be an int, "paper" or None, got {depth!r}')
        if actions < 2:
            return 1
        # T paths of D steps make up the budget; the depth is the paper's for so many paths.
        deep = 1
        while (deep + 1) * actions**deep < budget:
            deep += 1
        return max(paper_depth(actions, max(budget // deep, 1)), 1)
    return whole(depth, "depth", least=1)
