"""Problems with known optima, to measure searchers on."""

from bough.problems.base import Problem
from bough.problems.covering import Covering
from bough.problems.discounted import DiscountedBandits
from bough.problems.drawn import Drawn
from bough.problems.functions import Function
from bough.problems.names import BY_NAME, kind_of, named
from bough.problems.needle import Needle
from bough.problems.rough import Rough
from bough.problems.sequences import HiddenScore
from bough.problems.smooth import Smooth
from bough.problems.trap import Trap

__all__ = [
    "BY_NAME",
    "Covering",
    "DiscountedBandits",
    "Drawn",
    "Function",
    "HiddenScore",
    "Needle",
    "Problem",
    "Rough",
    "Smooth",
    "Trap",
    "kind_of",
    "named",
]
