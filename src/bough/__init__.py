"""Find the best path through a tree far too large to enumerate, with few evaluations."""

from typing import TYPE_CHECKING, Any

from bough import baselines, kernels, learning, means
from bough.belief.belief import Belief
from bough.belief.best_arm import Arm
from bough.confidence import Confidence
from bough.exceptions import Exhausted, ObjectiveError, PoolError, StudyError, WorkerDied
from bough.run.maximize import maximize, minimize
from bough.run.pruning import ProbabilityOfImprovement, RunningTrial, SuccessiveHalving
from bough.run.result import Result
from bough.run.stopping import (
    Budget,
    ExpectedGap,
    Gap,
    IntervalWidth,
    Patience,
    Target,
    WallTime,
)
from bough.searchers import GPB, GPTS, UCT, Certificate, RandomSearch, Searcher
from bough.spaces import Choice, Float, Forest, Int, Space, SpaceCertificate, SpaceSearcher
from bough.studies.constraints import Outcome
from bough.studies.study import Study
from bough.studies.trials import Trial
from bough.trees import Tree

__all__ = [
    "GPB",
    "GPTS",
    "UCT",
    "Arm",
    "Belief",
    "Budget",
    "Certificate",
    "Choice",
    "Confidence",
    "Exhausted",
    "ExpectedGap",
    "Float",
    "Forest",
    "Gap",
    "Int",
    "IntervalWidth",
    "ObjectiveError",
    "Outcome",
    "Patience",
    "PoolError",
    "ProbabilityOfImprovement",
    "RandomSearch",
    "Result",
    "RunningTrial",
    "Searcher",
    "Space",
    "SpaceCertificate",
    "SpaceSearcher",
    "Study",
    "StudyError",
    "SuccessiveHalving",
    "Target",
    "Tree",
    "Trial",
    "WallTime",
    "WorkerDied",
    "baselines",
    "kernels",
    "learning",
    "maximize",
    "means",
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
    hint = f"; it is bough.baselines.{name}" if hasattr(baselines, name) else ""
    raise AttributeError(f"module 'bough' has no attribute {name!r}{hint}")
