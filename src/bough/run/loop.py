"""A run: the state of the loop, from asking for a trial to the result."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from bough.exceptions import Exhausted, ObjectiveError, StudyError, TimedOut, WorkerDied
from bough.run.executors import Evaluator, Job, Outcome, read_reward
from bough.run.progress import Interrupts
from bough.run.result import Evaluation, History, Result, best_trial
from bough.run.stopping import StopRule
from bough.searchers import Searcher
from bough.spaces.searcher import SpaceSearcher
from bough.studies.study import Study
from bough.studies.trials import Domain
from bough.trees import Path


class Unrecorded:
    """The trials of a run without a study: the part of `Study` that a run uses, in memory."""

    def __init__(self, searcher: Searcher | SpaceSearcher, sign: float) -> None:
        self.searcher = searcher
        self.sign = sign
        self.first_state = searcher.random_state or 0  # the seeds of trials derive from it
        self._asked = 0
        self.failed = 0  # the number of failed trials
        self._running: dict[int, Any] = {}  # candidates by trial
        self._without_value: list[Any] = []  # those that failed

    def ask(self) -> Job:
        """Return the next trial."""
        candidate = self.searcher.ask()
        id_ = self._asked
        self._running[id_] = candidate
        self._asked = id_ + 1
        return Job(id_, candidate)

    def tell(self, id_: int, value: float, *, noise: float | None) -> None:
        """Observe the value of a trial."""
        self.searcher.tell(self._running[id_], self.sign * value, noise=noise)
        del self._running[id_]

    def fail(self, id_: int, reason: str) -> None:
        """Note that a trial has no value."""
        self.searcher.fail(self._running[id_])
        self._without_value.append(self._running.pop(id_))
        self.failed += 1

    def close(self) -> None:
        """Forget the trials that failed or are still running."""
        for candidate in (*self._without_value, *self._running.values()):
            with suppress(Exception):  # the error that broke the search may break this too
                self.searcher.forget(candidate)


@dataclass
class SearchRun:
    """The evaluations so far, and those that are running."""

    trials: Study | Unrecorded
    closes: bool  # whether the trials are closed at the end
    domain: Domain
    interrupts: Interrupts
    catch: tuple[type[Exception], ...]
    retries: int
    search: Searcher | SpaceSearcher = field(init=False)
    running: dict[int, Job] = field(default_factory=dict, init=False)
    _evaluated: list[tuple[Any, float, float]] = field(default_factory=list, init=False)
    _compared: int = field(default=0, init=False)  # evaluations that `_best` is the best of
    _best: Evaluation | None = field(default=None, init=False)
    _begin: float = field(default_factory=perf_counter, init=False)

    def __post_init__(self) -> None:
        self.search = self.trials.searcher

    def fill(self, evaluator: Evaluator, budget: int | None) -> None:
        """Submit trials while there is room, within the budget; `Exhausted` if none is running."""
        while evaluator.has_room():
            if budget is not None and self._ended() + len(self.running) >= budget:
                return
            try:
                trial = self.trials.ask()
            except Exhausted:
                if not self.running:
                    raise
                return  # the values of running trials may change that
            except StudyError:
                raise
            except Exception as error:  # of the tree's functions, or the prior mean
                raise _failure(f"the search failed: {error!r}", ()) from error
            self._submit(evaluator, trial if type(trial) is Job else Job(trial.id, trial.candidate))

    def _ended(self) -> int:
        return self.search.observations + self.trials.failed

    def _submit(self, evaluator: Evaluator, job: Job) -> None:
        job.attempts += 1
        self.running[job.id] = job
        evaluator.submit(job)

    def settle(self, evaluator: Evaluator, outcome: Outcome) -> bool:
        """Observe the outcome of a job, or try it again; return whether its trial has ended."""
        job, returned, error = outcome
        if error is None:
            try:
                value, noise = read_reward(returned)
                self.trials.tell(job.id, value, noise=noise)
            except StudyError:
                raise
            except Exception as of_the_value:
                error = of_the_value
        if error is not None:
            caught = isinstance(error, self.catch)
            if (caught or isinstance(error, WorkerDied)) and job.attempts <= self.retries:
                self._submit(evaluator, job)
                return False
            if not caught and not isinstance(error, TimedOut):
                path, params = self.domain.place(job.candidate)
                where = f"path {path}" if params is None else f"params {params}"
                raise _failure(
                    f"the objective failed at {where}: {error!r}", path, params
                ) from error
            self.trials.fail(job.id, str(error) or repr(error))
        else:
            self._evaluated.append((job.candidate, value, perf_counter() - self._begin))
        del self.running[job.id]
        return True

    def stopped_by(self, budget: int | None, rules: Sequence[StopRule]) -> str | None:
        """Return the name of the budget or rule that ends the run, None if it continues."""
        if budget is not None and self._ended() >= budget:
            return "budget"
        self.interrupts.check()
        return self.first_stop(rules) if rules else None

    def first_stop(self, rules: Sequence[Any], name: str | None = None) -> str | None:
        """Return the name of the first rule that says stop."""
        try:
            self.interrupts.allowed = True
            for rule in rules:
                answer = rule(self.search)
                if isinstance(answer, str) and answer:
                    return answer
                if answer:
                    return name or getattr(rule, "__name__", repr(rule))
        finally:
            self.interrupts.allowed = False
        return None

    def best_observed(self) -> Evaluation | None:
        """Return the evaluation with the best value, of those before in the study too."""
        sign = self.trials.sign
        if self._compared == 0 and isinstance(self.trials, Study):
            self._best = best_trial(self.trials.trials, sign)
        for candidate, value, _ in self._evaluated[self._compared :]:
            if self._best is None or sign * value > sign * self._best.value:
                self._best = Evaluation(*self.domain.place(candidate), value)
        self._compared = len(self._evaluated)
        return self._best

    def leave(self) -> None:
        """End, and leave running trials."""
        if self.closes:
            self.trials.close()
        elif isinstance(self.trials, Study):
            self.trials.offer_again(self.running)
        self.running.clear()

    def result(self, stopped_by: str) -> Result:
        """End, and return the result."""
        self.leave()
        places = [self.domain.place(candidate) for candidate, _, _ in self._evaluated]
        history = History(
            [path for path, _ in places],
            np.array([value for _, value, _ in self._evaluated]),
            np.array([seconds for _, _, seconds in self._evaluated]),
            [params for _, params in places],
        )
        return Result.of(
            self.search,
            history,
            stopped_by,
            study=self.trials if isinstance(self.trials, Study) else None,
            direction="maximize" if self.trials.sign > 0 else "minimize",
            best_observed=self.best_observed(),
        )


def _failure(message: str, path: Path, params: Any = None) -> ObjectiveError:
    failure = ObjectiveError(message)
    failure.path = path
    failure.params = params
    return failure
