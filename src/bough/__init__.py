"""Find the best path through a tree far too large to enumerate, with few evaluations."""

from typing import TYPE_CHECKING, Any

from bough import kernels, learning, mean
from bough._choice import Arm
from bough.belief import Belief
from bough.confidence import Confidence
from bough.evaluation import WorkerDied
from bough.maximize import maximize, minimize
from bough.result import ObjectiveError, PoolError, Result
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
    Forest,
    LinRel,
    RandomSearch,
    Searcher,
    SpaceCertificate,
    SpaceSearcher,
)
from bough.spaces import Choice, Float, Int, Space
from bough.stopping import Budget, Gap, IntervalWidth, Target, WallTime
from bough.study import Study, StudyError
from bough.trees import Tree
from bough.trials import Trial

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
    "Choice",
    "Confidence",
    "Exhausted",
    "Float",
    "Forest",
    "Gap",
    "Int",
    "IntervalWidth",
    "LinRel",
    "ObjectiveError",
    "PoolError",
    "RandomSearch",
    "Result",
    "Searcher",
    "Space",
    "SpaceCertificate",
    "SpaceSearcher",
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
    "planning",
    "plotting",
    "theory",
]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bough import planning, plotting, theory


def __getattr__(name: str) -> Any:
    """Import planning, plotting and theory when they are first used: no search needs them."""
    if name in ("planning", "plotting", "theory"):
        import importlib

        return importlib.import_module(f"bough.{name}")
    raise AttributeError(f"module 'bough' has no attribute {name!r}")
