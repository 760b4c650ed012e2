"""Single runs of a comparison: their measures, their execution on all cores, their storage."""

import hashlib
import json
import math
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from time import perf_counter
from typing import Any

from bough import __version__
from bough.exceptions import Exhausted
from bough.experiments.competitors import Competitor, Constants
from bough.problems import Problem
from bough.run.pools import in_processes
from bough.run.progress import Bar
from bough.studies.records import RecordFile
from bough.trees import Path

#: The measures of a run, and their names in tables and figures.
MEASURES = {
    "simple": "simple regret",
    "cumulative": "cumulative regret",
    "suboptimal": "plays of sub-optimal arms",
}
#: Regrets of less than this, relative to the optimum, are rounding errors.
TOLERANCE = 1e-12
#: The number of marks, the numbers of evaluations at which a run is measured, in each decade.
_PER_DECADE = 10
#: Parts of bough that no run depends on.
_INDEPENDENT = ("cli", "experiments", "integrations", "theory")


@dataclass(frozen=True)
class Job:
    """The settings of a run; equal jobs give equal regrets."""

    problem: str
    searcher: str
    constants: Constants
    seed: int
    budget: int
    steps: bool

    @property
    def key(self) -> str:
        """The identifier of the run in a file of finished runs."""
        facts = {**asdict(self), "bough": __version__, "code": code_digest()}
        return json.dumps(facts, sort_keys=True, default=repr)


@cache
def code_digest() -> str:
    """Return a digest of the code that runs depend on: runs of other code are not reused."""
    digest = hashlib.sha256()
    here = pathlib.Path(__file__)
    package = here.parent.parent
    for file in sorted(package.rglob("*")):
        relevant = file.relative_to(package).parts[0] not in _INDEPENDENT or file == here
        if file.suffix in (".py", ".so", ".pyd") and relevant:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Run:
    """The measures of a job, at each of the numbers of evaluations in `marks`."""

    marks: list[int]
    simple: list[float]  #: regret of the recommended path, `best()`
    cumulative: list[float]  #: sum of the regrets of all plays so far
    suboptimal: list[int]  #: number of plays so far of paths worth less than the best one
    seconds: list[float]  #: spent in `ask` and `tell` so far, without rewards and `best`
    evaluations: int  #: in all: fewer than the budget if the searcher was exhausted


def report_marks(budget: int) -> list[int]:
    """Return the numbers of evaluations that tables show.

    >>> report_marks(5000)
    [10, 30, 100, 300, 1000, 3000, 5000]
    """
    decades = range(1, len(str(budget)) + 1)
    marks = {first * 10**k for k in decades for first in (1, 3)} | {budget}
    return sorted(mark for mark in marks if mark <= budget)


def scored_marks(budget: int) -> list[int]:
    """Return the numbers of evaluations by which searchers are scored, without the first ones.

    >>> scored_marks(3000)
    [100, 300, 1000, 3000]
    """
    return [mark for mark in report_marks(budget) if 30 * mark >= budget]


def all_marks(budget: int) -> list[int]:
    """Return the numbers of evaluations at which a run is measured: ten in each decade."""
    count = math.floor(_PER_DECADE * math.log10(budget)) + 1
    marks = {round(10 ** (k / _PER_DECADE)) for k in range(count)}
    return sorted(mark for mark in marks | set(report_marks(budget)) if mark <= budget)


# ------------------------------------------------------------------------------- one run


def play(job: Job, make_problem: Callable[..., Any], competitor: Competitor) -> Run:
    """Run a job."""
    problem = make_problem(seed=job.seed)
    search = competitor.make(problem, job.constants, job.budget, job.seed)
    regret = _regrets(problem)
    with_steps = job.steps and hasattr(problem, "steps")
    run = Run(all_marks(job.budget), [], [], [], [], 0)
    cumulative, suboptimal, spent, evaluations = 0.0, 0, 0.0, 0

    def measure() -> None:
        run.simple.append(regret(search.best().path))
        run.cumulative.append(cumulative)
        run.suboptimal.append(suboptimal)
        run.seconds.append(spent)

    while evaluations < job.budget:
        begin = perf_counter()
        try:
            path = search.ask()
        except Exhausted:
            while len(run.simple) < len(run.marks):
                measure()
            break
        asked = perf_counter()
        reward = {"steps": problem.steps(path)} if with_steps else {"value": problem(path)}
        known = perf_counter()
        search.tell(path, **reward)
        spent += perf_counter() - known + asked - begin
        loss = regret(path)
        cumulative += loss
        suboptimal += loss > 0
        evaluations += 1
        if evaluations == run.marks[len(run.simple)]:
            measure()
    return replace(run, evaluations=evaluations)


def _regrets(problem: Problem) -> Callable[[Path], float]:
    """Return the function that maps a path to its regret; values are cached."""
    optimum = problem.optimum
    rounding = TOLERANCE * max(1.0, abs(optimum))

    @cache
    def regret(path: Path) -> float:
        loss = optimum - problem.value(path)
        if loss < -rounding:
            raise ValueError(
                f"the optimum of {problem.name} is given as {optimum!r}, but path {path} has the "
                f"value {optimum - loss!r}"
            )
        return loss if loss > rounding else 0.0

    return regret


# ------------------------------------------------------------------------------ all runs

#: A job, the function that makes its problem, and its searcher.
Task = tuple[Job, Callable[..., Problem], Competitor]


def run_all(
    tasks: Sequence[Task],
    store: RecordFile[Run],
    *,
    workers: int,
    progress: bool | None,
    title: str,
) -> dict[Job, str]:
    """Run the jobs that are not in the store yet, and store their results.

    A job that raises an exception does not stop the others; return these, with their messages.
    """
    left = [task for task in tasks if task[0].key not in store]
    failures: dict[Job, str] = {}
    count = len(tasks)
    with Bar(progress if left else False, count, count - len(left), unit="run") as bar:
        for (job, _, _), result in in_processes(_attempt, left, workers):
            if isinstance(result, Run):
                store.add(job.key, result)
            else:
                failures[job] = result
            bar.count(title)
    return failures


def _attempt(task: Task) -> Run | str:
    try:
        return play(*task)
    except Exception as error:  # any searcher or problem may fail: the others continue
        return f"{type(error).__name__}: {error}"
