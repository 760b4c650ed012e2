"""Single runs of a comparison: their measures, their execution on all cores, their storage."""

import hashlib
import json
import math
import multiprocessing
import os
import pathlib
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from time import perf_counter
from typing import Any

from bough import __version__
from bough.exceptions import Exhausted, StudyError
from bough.experiments.competitors import Competitor, Constants
from bough.problems import Problem
from bough.studies.files import WriteLock
from bough.trees import Path

#: The measures of a run, and their names in tables and figures.
MEASURES = {
    "simple": "simple regret",
    "cumulative": "cumulative regret",
    "suboptimal": "plays of sub-optimal arms",
}
#: Regrets of less than this, relative to the optimum, are rounding errors.
TOLERANCE = 1e-12
#: The beginning of every line of a file of finished runs.
BEGINNING = b'{"job": '
#: The number of marks, the numbers of evaluations at which a run is measured, in each decade.
_PER_DECADE = 10
#: Parts of bough that no run depends on.
_INDEPENDENT = ("cli", "experiments", "integrations", "theory")
#: Libraries of linear algebra start as many threads as there are cores; so does the pool.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
                f"{problem.name} says that its optimum is {optimum!r}, but path {path} is "
                f"worth {optimum - loss!r}"
            )
        return loss if loss > rounding else 0.0

    return regret


# ------------------------------------------------------------------------- finished runs


class RunStore:
    """The finished runs in a file of JSON lines, or of this process only if there is no file.

    A line that is incomplete, since the process was killed while it wrote, is cut off when the file
    is opened the next time, and its run is repeated. One process writes at a time.
    """

    def __init__(self, path: pathlib.Path | None) -> None:
        self._runs: dict[str, Run] = {}
        self._path = path
        if path is None:
            return
        if not path.parent.is_dir():
            raise StudyError(f"{path} cannot be created: there is no folder {path.parent}")
        self._lock = WriteLock(path)
        try:
            if path.exists():
                self._read(path)
        except BaseException:
            self.close()
            raise

    def _read(self, path: pathlib.Path) -> None:
        content = path.read_bytes()
        whole, newline, rest = content.rpartition(b"\n")
        complete = whole + newline
        if not (rest.startswith(BEGINNING) or BEGINNING.startswith(rest)):
            raise StudyError(f"{path} is not a file of finished runs; choose another name")
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                record = json.loads(line)
                self._runs[record["job"]] = Run(**record["run"])
            except (ValueError, TypeError, KeyError) as error:
                raise StudyError(
                    f"line {number} of {path} is not a finished run ({error!r}); delete the line, "
                    "or choose another name"
                ) from None
        if rest:
            os.truncate(path, len(complete))

    def __contains__(self, job: Job) -> bool:
        return job.key in self._runs

    def __getitem__(self, job: Job) -> Run:
        return self._runs[job.key]

    def add(self, job: Job, run: Run) -> None:
        """Store a finished run."""
        self._runs[job.key] = run
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"job": job.key, "run": asdict(run)}) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def close(self) -> None:
        """Let another process write to the file."""
        if self._path is not None:
            self._lock.release()


# ------------------------------------------------------------------------------ all runs

#: A job, the function that makes its problem, and its searcher.
Task = tuple[Job, Callable[..., Problem], Competitor]


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(
    tasks: Sequence[Task], store: RunStore, *, workers: int, progress: bool | None, title: str
) -> dict[Job, str]:
    """Run the jobs that are not in the store yet, and store their results.

    A job that raises an exception does not stop the others; return these, with their messages.
    """
    from tqdm import tqdm

    left = [task for task in tasks if task[0] not in store]
    in_turn = workers == 1 or len(left) <= 1
    results = ((t[0], _attempt(t)) for t in left) if in_turn else _in_pool(left, workers)
    hidden = True if not left else None if progress is None else not progress
    failures: dict[Job, str] = {}
    for job, result in tqdm(
        results, title, len(tasks), initial=len(tasks) - len(left), unit="run", disable=hidden,
        file=sys.stderr, dynamic_ncols=True,
    ):  # fmt: skip
        if isinstance(result, Run):
            store.add(job, result)
        else:
            failures[job] = result
    return failures


def _attempt(task: Task) -> Run | str:
    try:
        return play(*task)
    except Exception as error:  # any searcher or problem may fail: the others continue
        return f"{type(error).__name__}: {error}"


def _in_pool(tasks: Sequence[Task], workers: int) -> Iterator[tuple[Job, Run | str]]:
    """Run tasks in processes of their own, all of which end with this function, also on Ctrl-C."""
    try:
        pickle.dumps([(make, competitor) for _, make, competitor in tasks])
    except Exception as error:
        raise TypeError(
            "problems and searchers of your own must be functions at the top of a module to run "
            f"in several processes ({error}); use workers=1, or move them there"
        ) from None
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(workers, len(tasks)),
        # Not by fork, which copies the locks of other threads as they happen to be.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_follow_parent,
    )
    try:
        with _inherited():  # all processes start at the first task
            futures = {pool.submit(_attempt, task): task[0] for task in tasks}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
        pool.shutdown()
    except BrokenExecutor as error:
        raise RuntimeError(
            "a process of the comparison was ended from outside (out of memory?); finished "
            "runs are stored, so repeat the command to resume"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()


def _follow_parent() -> None:
    """End this process when its parent ends, even if it is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # this is a worker

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def _inherited() -> Iterator[None]:
    """Block Ctrl-C and limit linear algebra to one thread, both of which new processes inherit."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    environment = dict(os.environ)
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name in _THREADS:
            del os.environ[name]
        os.environ.update(environment)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
