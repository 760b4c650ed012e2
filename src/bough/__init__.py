"""Find the best path through a tree far too large to enumerate, with few evaluations."""

from bough import kernels, learning, mean
from bough._choice import Arm
from bough.belief import Belief
from bough.confidence import Confidence
from bough.evaluation import WorkerDied
from bough.maximize import maximize, minimize
from bough.result import ObjectiveError, PoolError, Result
from bough.searchers import GPTS, UCT, Certificate, Exhausted, Searcher
from bough.stopping import Budget, Gap, IntervalWidth, Target, WallTime
from bough.study import Study, StudyError
from bough.trees import Tree
from bough.trials import Trial

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
    "PoolError",
    "Result",
    "Searcher",
    "Study",
    "StudyError",
    "Target",
    "Tree",
    "Trial",
    "WallTime",
    "WorkerDied",
    "kernels",
    "learning",
    "maximize",
    "mean",
    "minimize",
]

__version__ = "0.1.0"
