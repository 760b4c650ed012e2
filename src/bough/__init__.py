"""Find the best path through a tree far too large to enumerate, with few evaluations."""

from bough import kernels, learning, mean
from bough._choice import Arm
from bough.belief import Belief
from bough.confidence import Confidence
from bough.maximize import ObjectiveError, Result, maximize, minimize
from bough.searchers import (
    BAST,
    GPB,
    GPTS,
    HOO,
    KLOLOP,
    OLOP,
    UCB1,
    UCBAIR,
    UCT,
    BestFirst,
    Certificate,
    Exhausted,
    LinRel,
    RandomSearch,
    Searcher,
)
from bough.stopping import Budget, Gap, IntervalWidth, Target, WallTime
from bough.trees import Tree

__all__ = [
    "BAST",
    "GPB",
    "GPTS",
    "HOO",
    "KLOLOP",
    "OLOP",
    "UCB1",
    "UCBAIR",
    "UCT",
    "Arm",
    "Belief",
    "BestFirst",
    "Budget",
    "Certificate",
    "Confidence",
    "Exhausted",
    "Gap",
    "IntervalWidth",
    "LinRel",
    "ObjectiveError",
    "RandomSearch",
    "Result",
    "Searcher",
    "Target",
    "Tree",
    "WallTime",
    "kernels",
    "learning",
    "maximize",
    "mean",
    "minimize",
]

__version__ = "0.1.0"
