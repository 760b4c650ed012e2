"""Find the best path through a tree far too large to enumerate, with few evaluations."""

from bough import kernels, learning, mean, theory
from bough._choice import Arm
from bough.belief import Belief
from bough.confidence import Confidence
from bough.maximize import ObjectiveError, Result, maximize, minimize
from bough.searchers import GPTS, UCT, Certificate, Exhausted, Searcher
from bough.stopping import Budget, Gap, IntervalWidth, Target, WallTime
from bough.trees import Tree

__all__ = [
    "GPTS",
    "UCT",
    "Arm",
    "Belief",
    "Budget",
    "Certificate",
    "Confidence",
    "Exhausted",
    "Gap",
    "IntervalWidth",
    "ObjectiveError",
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
    "theory",
]

__version__ = "0.1.0"
