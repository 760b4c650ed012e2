"""Problems with known optima, to measure searchers on."""

from bough.problems.base import Problem
from bough.problems.functions import Function, Partitioned
from bough.problems.names import BY_NAME, kind_of, named
from bough.problems.ragged import Expression, Route
from bough.problems.trees import (
    DiscountedBandits,
    Drawn,
    HiddenScore,
    Needle,
    Rough,
    Smooth,
    Trap,
)

__all__ = [
    "BY_NAME",
    "DiscountedBandits",
    "Drawn",
    "Expression",
    "Function",
    "HiddenScore",
    "Needle",
    "Partitioned",
    "Problem",
    "Rough",
    "Route",
    "Smooth",
    "Trap",
    "kind_of",
    "named",
]
