"""One run of one searcher on one problem: what is measured, and when."""

import hashlib
import json
import math
import pathlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from time import perf_counter
from typing import Any

from bough import __version__
from bough.exceptions import Exhausted
from bough.experiments.entrants import Entrant
from bough.experiments.grids import Constants
from bough.problems import Problem
from bough.trees import Path

#: What is measured, and what it is called in tables and figures.
MEASURES = {
    "simple": "simple regret",
    "cumulative": "cumulative regret",
    "suboptimal": "plays of sub-optimal arms",
}
#: Regrets of less than this, relative to the optimum, are rounding.
TOLERANCE = 1e-12
#: Numbers of evaluations at which is measured, in each decade.
_PER_DECADE = 10
#: Parts of bough that no run depends on.
_NOT_PLAYING = ("cli.py", "experiments", "integrations", "theory")
#: Evaluations of a rehearsal, and the searchers that had one in this process.
_REHEARSAL = 100
_rehearsed: set[str] = set()


@dataclass(frozen=True)
class Job:
    """What is to be run; equal jobs give equal regrets."""

    problem: str
    searcher: str
    constants: Constants
    seed: int
    budget: int
    steps: bool

    @property
    def key(self) -> str:
        """What it is known by in a file of finished runs."""
        facts = {**asdict(self), "bough": __version__, "code": code_digest()}
        return json.dumps(facts, sort_keys=True, default=repr)


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Return a digest of the code that a run depends on: what other code gave is run again."""
    digest = hashlib.sha256()
    here = pathlib.Path(__file__)
    package = here.parent.parent
    for file in sorted(package.rglob("*")):
        part = file.relative_to(package).parts[0]
        plays = part not in _NOT_PLAYING or file == here
        if file.suffix in (".py", ".so", ".pyd") and plays:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Run:
    """What was measured in a job.

    Attributes
    ----------
    marks
        Numbers of evaluations.
    simple
        At each of them: how much less than the best path the recommended one, `best()`, is worth.
    cumulative
        The sum over all plays so far of how much less than the best path each is worth.
    suboptimal
        How many plays so far were of paths worth less than the best one.
    seconds
        Seconds spent in `ask` and `tell` so far, rewards and `best` not counted.
    evaluations
        How many there were: fewer than the budget if the searcher had nothing left to learn. It
        then plays no more, and its measures stay as they are.
    """

    marks: list[int]
    simple: list[float]
    cumulative: list[float]
    suboptimal: list[int]
    seconds: list[float]
    evaluations: int

    @property
    def exhausted(self) -> bool:
        """Whether the searcher had nothing left to learn before the budget was spent."""
        return self.evaluations < self.marks[-1]


def report_marks(budget: int) -> list[int]:
    """Return the numbers of evaluations that tables show.

    >>> report_marks(5000)
    [10, 30, 100, 300, 1000, 3000, 5000]
    """
    decades = range(1, len(str(budget)) + 1)
    marks = {first * 10**k for k in decades for first in (1, 3)} | {budget}
    return sorted(mark for mark in marks if mark <= budget)


def judged_marks(budget: int) -> list[int]:
    """Return those of them by which searchers are judged: at first all are equally lost.

    >>> judged_marks(3000)
    [100, 300, 1000, 3000]
    """
    return [mark for mark in report_marks(budget) if 30 * mark >= budget]


def all_marks(budget: int) -> list[int]:
    """Return the numbers of evaluations at which a run is measured: ten in each decade."""
    count = math.floor(_PER_DECADE * math.log10(budget)) + 1
    marks = {round(10 ** (k / _PER_DECADE)) for k in range(count)}
    return sorted(mark for mark in marks | set(report_marks(budget)) if mark <= budget)


def play(job: Job, make_problem: Callable[..., Any], entrant: Entrant) -> Run:
    """Run a job; the first one of a searcher in this process is rehearsed.

    So what happens once a process, such as imports and tables that are kept, is not timed.
    """
    if entrant.name not in _rehearsed:
        _rehearsed.add(entrant.name)
        _play(replace(job, budget=min(job.budget, _REHEARSAL)), make_problem, entrant)
    return _play(job, make_problem, entrant)


def _play(job: Job, make_problem: Callable[..., Any], entrant: Entrant) -> Run:
    problem: Problem = make_problem(seed=job.seed)
    search = entrant.make(problem, job.constants, job.budget, job.seed)
    gap = _gaps(problem)
    marks = all_marks(job.budget)
    told_steps = job.steps and hasattr(problem, "steps")
    simple: list[float] = []
    cumulatives: list[float] = []
    suboptimals: list[int] = []
    seconds: list[float] = []
    evaluations = 0

    def measure() -> None:
        simple.append(gap(search.best().path))
        cumulatives.append(cumulative)
        suboptimals.append(suboptimal)
        seconds.append(spent)

    cumulative, suboptimal, spent = 0.0, 0, 0.0
    while evaluations < job.budget:
        begin = perf_counter()
        try:
            path = search.ask()
        except Exhausted:
            while len(simple) < len(marks):
                measure()
            break
        asked = perf_counter()
        if told_steps:
            rewards = problem.steps(path)  # type: ignore[attr-defined]
            known = perf_counter()
            search.tell(path, steps=rewards)
        else:
            reward = problem(path)
            known = perf_counter()
            search.tell(path, reward)
        spent += perf_counter() - known + asked - begin
        loss = gap(path)
        cumulative += loss
        suboptimal += loss > 0
        evaluations += 1
        if evaluations == marks[len(simple)]:
            measure()
    return Run(marks, simple, cumulatives, suboptimals, seconds, evaluations)


def _gaps(problem: Problem) -> Callable[[Path], float]:
    """Return how much less than the best path a path is worth, remembered path by path."""
    optimum = problem.optimum
    rounding = TOLERANCE * max(1.0, abs(optimum))
    known: dict[Path, float] = {}

    def gap(path: Path) -> float:
        if path not in known:
            loss = optimum - problem.value(path)
            if loss < -rounding:
                raise ValueError(
                    f"{problem.name} says that its optimum is {optimum!r}, but path {path} is "
                    f"worth {optimum - loss!r}"
                )
            known[path] = loss if loss > rounding else 0.0
        return known[path]

    return gap
