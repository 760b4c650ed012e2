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
    "Answer",
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
    "GenerationResult",
    "GenerativeSearch",
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
    "agenerate",
    "baselines",
    "generate",
    "generation",
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
    from bough import generation, planning, plotting, theory
    from bough.generation import (
        Answer,
        GenerationResult,
        GenerativeSearch,
        agenerate,
        generate,
    )

#: Names of `bough.generation` that are public here too.
_OF_GENERATION = ("Answer", "GenerationResult", "GenerativeSearch", "agenerate", "generate")


def __getattr__(name: str) -> Any:
    """Import what no search of a tree or space needs when it is first used."""
    import importlib

    if name in ("generation", "planning", "plotting", "theory"):
        return importlib.import_module(f"bough.{name}")
    if name in _OF_GENERATION:
        return getattr(importlib.import_module("bough.generation"), name)
    hint = f"; it is bough.baselines.{name}" if hasattr(baselines, name) else ""
    raise AttributeError(f"module 'bough' has no attribute {name!r}{hint}")
