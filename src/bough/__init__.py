"""Find the best path through a tree far too large to enumerate, with few evaluations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bough import (
        baselines,
        generation,
        kernels,
        learning,
        means,
        planning,
        plotting,
        theory,
    )
    from bough.belief.belief import Belief
    from bough.belief.best_arm import Arm
    from bough.confidence import Confidence
    from bough.exceptions import Exhausted, ObjectiveError, PoolError, StudyError, WorkerDied
    from bough.generation import (
        Answer,
        GenerationResult,
        GenerativeSearch,
        agenerate,
        generate,
    )
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

#: Public names by module, but modules of this package: `__getattr__` imports them on first use.
_NAMES = {
    "bough.belief.belief": "Belief",
    "bough.belief.best_arm": "Arm",
    "bough.confidence": "Confidence",
    "bough.exceptions": "Exhausted ObjectiveError PoolError StudyError WorkerDied",
    "bough.generation": "Answer GenerationResult GenerativeSearch agenerate generate",
    "bough.run.maximize": "maximize minimize",
    "bough.run.pruning": "ProbabilityOfImprovement RunningTrial SuccessiveHalving",
    "bough.run.result": "Result",
    "bough.run.stopping": "Budget ExpectedGap Gap IntervalWidth Patience Target WallTime",
    "bough.searchers": "GPB GPTS UCT Certificate RandomSearch Searcher",
    "bough.spaces": "Choice Float Forest Int Space SpaceCertificate SpaceSearcher",
    "bough.studies.constraints": "Outcome",
    "bough.studies.study": "Study",
    "bough.studies.trials": "Trial",
    "bough.trees": "Tree",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name, or a module of this package, when it is first used."""
        if name in _MODULES:
            found = globals()[name] = getattr(import_module(_MODULES[name]), name)
            return found
        hint = ""
        if not name.startswith("_"):
            try:
                return import_module(f"bough.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"bough.{name}":
                    raise
            if hasattr(import_module("bough.baselines"), name):
                hint = f"; it is bough.baselines.{name}"
        raise AttributeError(f"module 'bough' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
