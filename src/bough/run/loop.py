"""A run: the state of the loop, from asking for a trial to the result."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter, time
from typing import Any, NamedTuple

import numpy as np

from bough.exceptions import (
    Exhausted,
    Infeasible,
    ObjectiveError,
    StudyError,
    TimedOut,
    WorkerDied,
)
from bough.run.executors import Ending, Evaluator, Exited, Job, read_outcome
from bough.run.progress import Interrupts, trial_line
from bough.run.pruning import Curves, PruneRule, Reported
from bough.run.result import Evaluation, History, Result, best_trial
from bough.run.stopping import RunRule, StopRule
from bough.searchers import Searcher
from bough.spaces.searcher import SpaceSearcher
from bough.studies.constraints import KnownConstraints, check_count, is_feasible
from bough.studies.study import Study
from bough.studies.trials import Domain, Report, Trial
from bough.trees import Path


class Unrecorded:
    """The trials of a run without a study: the part of `Study` that a run uses, in memory."""

    def __init__(self, searcher: Searcher | SpaceSearcher, sign: float) -> None:
        self.searcher = searcher
        self.sign = sign
        self.first_state = searcher.random_state or 0  # the seeds of trials derive from it
        self._asked = 0
        self.failed = 0  # the number of failed trials,
        self.unobserved = 0  # and of those that the searcher observed nothing of
        self._running: dict[int, Any] = {}  # candidates by trial
        self._without_value: list[Any] = []  # those that failed
        self._constraints: int | None = None  # the number of constraints of each trial

    def ask(self, constraints: KnownConstraints | None = None) -> Job:
        """Return the next trial, which satisfies the constraints that are known."""
        candidate: Any = self.searcher.ask()
        values: tuple[float, ...] = ()
        reason = None
        if constraints is not None:
            candidate, values, reason = self._feasible(candidate, constraints)
        id_ = self._asked
        self._running[id_] = candidate
        self._asked = id_ + 1
        return Job(id_, candidate, constraints=values, reason=reason)

    def _feasible(
        self, candidate: Any, known: KnownConstraints
    ) -> tuple[Any, tuple[float, ...], str | None]:
        """Return the candidate, or the next that is feasible, and the values of constraints.

        Or one with the reason why its constraints failed.
        """
        while True:
            try:
                values = known.values(candidate)
            except ObjectiveError as error:
                if (reason := known.reason(error)) is not None:
                    return candidate, (), reason
                self.searcher.forget(candidate)
                raise
            if is_feasible(values):
                return candidate, values, None
            self.searcher.tell_constrained(candidate, None, values)
            self._without_value.append(candidate)
            known.check_tries()
            candidate = self.searcher.ask()

    def tell(
        self,
        id_: int,
        value: float,
        *,
        noise: float | None,
        reports: Sequence[Report] = (),
        constraints: tuple[float, ...] = (),
    ) -> None:
        """Observe the value of a trial."""
        candidate, reward = self._running[id_], self.sign * value
        count = check_count(constraints, self._constraints)
        if constraints:
            self.searcher.tell_constrained(candidate, reward, constraints, noise=noise)
        else:
            self.searcher.tell(candidate, reward, noise=noise)
        self._constraints = count
        del self._running[id_]
        if not is_feasible(constraints):
            self._without_value.append(candidate)
            self.unobserved += 1

    def prune(
        self,
        id_: int,
        reports: Sequence[Report],
        *,
        predicted: float | None,
        noise: float | None,
    ) -> None:
        """Observe the predicted value of a trial that was stopped, if there is one."""
        if predicted is None:
            self._end_without_value(id_)
        else:
            self.searcher.prune(self._running[id_], self.sign * predicted, noise=noise)
            del self._running[id_]

    def fail(self, id_: int, reason: str) -> None:
        """Note that a trial has no value."""
        self._end_without_value(id_)
        self.failed += 1

    def _end_without_value(self, id_: int) -> None:
        self.searcher.fail(self._running[id_])
        self._without_value.append(self._running.pop(id_))
        self.unobserved += 1

    def close(self) -> None:
        """Forget the trials that failed or are still running."""
        for candidate in (*self._without_value, *self._running.values()):
            with suppress(Exception):  # the error that broke the search may break this too
                self.searcher.forget(candidate)


class Ended(NamedTuple):
    """An evaluation that has ended: its value or the reason why there is none, and when."""

    job: Job
    value: float | None
    noise: float | None
    reason: str | None
    reports: tuple[Report, ...]
    constraints: tuple[float, ...]
    seconds: float  # since the run began


@dataclass
class SearchRun:
    """The evaluations so far, and those that are running."""

    trials: Study | Unrecorded
    closes: bool  # whether the trials are closed at the end
    domain: Domain
    interrupts: Interrupts
    catch: tuple[type[Exception], ...]
    retries: int | None  # None: one after the death of a worker, and none after an exception
    prune: PruneRule | None = None
    constraints: KnownConstraints | None = None
    search: Searcher | SpaceSearcher = field(init=False)
    before: int = field(init=False)  # the number of evaluations before this run,
    failed_before: int = field(init=False)  # and of those that failed
    curves: Curves = field(init=False)
    running: dict[int, Job] = field(default_factory=dict, init=False)
    _refused: Job | None = field(default=None, init=False)  # one whose constraints failed
    _ended: list["Ended"] = field(default_factory=list, init=False)
    _compared: int = field(default=0, init=False)  # evaluations that `_best` is the best of
    _best: Evaluation | None = field(default=None, init=False)
    _begin: float = field(default_factory=perf_counter, init=False)
    _began_at: float = field(default_factory=time, init=False)  # in seconds since 1970

    def __post_init__(self) -> None:
        self.search = self.trials.searcher
        self.before, self.failed_before = self.ended, self.trials.failed
        known = self.trials.trials if isinstance(self.trials, Study) else ()
        self.curves = Curves(self.trials.sign, known)

    def fill(self, evaluator: Evaluator, budget: int | None) -> None:
        """Submit trials while there is room, within the budget; `Exhausted` if none is running."""
        while evaluator.has_room():
            if budget is not None and self.ended + len(self.running) >= budget:
                return
            try:
                trial = self._ask()
            except (Exhausted, Infeasible):
                if not self.running:
                    raise
                return  # the values of running trials may change that
            if trial.reason is not None:
                trial.started = perf_counter() - self._begin
                self.running[trial.id] = trial
                self._refused = trial
                return
            self._submit(evaluator, trial)

    def _ask(self) -> Job:
        """Return the next trial as a job."""
        try:
            trial = self.trials.ask(self.constraints)
        except (Exhausted, Infeasible, ObjectiveError, StudyError):
            raise
        except Exception as error:  # of the tree's functions, or the prior mean
            raise _failure(f"the search failed: {error!r}", ()) from error
        if isinstance(trial, Job):
            return trial
        return Job(trial.id, trial.candidate, constraints=trial.constraints, reason=trial.reason)

    @property
    def ended(self) -> int:
        """The number of evaluations, failed or not, of this run and before."""
        return self.search.observations + self.trials.unobserved

    @property
    def infeasible(self) -> int:
        """The number of evaluations of this run that violate a constraint."""
        return sum(not is_feasible(ended.constraints) for ended in self._ended)

    def _submit(self, evaluator: Evaluator, job: Job) -> None:
        if not job.attempts:
            job.started = perf_counter() - self._begin
        job.attempts += 1
        job.thresholds = () if self.prune is None else self.prune.thresholds(self.curves)
        self.running[job.id] = job
        evaluator.submit(job)

    def settle_next(self, evaluator: Evaluator) -> bool:
        """Settle the next job that ends; return whether its trial has ended."""
        if self._refused is None:
            return self.settle(evaluator, evaluator.wait())
        job, self._refused = self._refused, None
        assert job.reason is not None
        self._fail(job, job.reason)
        return True

    def settle(self, evaluator: Evaluator, ending: Ending) -> bool:
        """Observe the outcome of a job, or try it again; return whether its trial has ended."""
        job, returned, error = ending
        seconds = perf_counter() - self._begin
        value = noise = None
        reports: tuple[Report, ...] = ()
        constraints: tuple[float, ...] = ()
        pruned = False
        failure = "the objective failed at"
        if isinstance(returned, Reported):
            returned, reports, pruned = returned
        if error is None:
            try:
                if pruned:
                    self._prune(job.id, reports)
                else:
                    value, noise, more = read_outcome(returned)
                    constraints = (*job.constraints, *more)
                    failure = f"the searcher refused the value {value!r} of"
                    self.trials.tell(
                        job.id, value, noise=noise, reports=reports, constraints=constraints
                    )
                if is_feasible(constraints):
                    self.curves.add(reports, value)
            except StudyError:
                raise
            except Exception as of_the_value:
                error = of_the_value
        if error is not None:
            caught, died = self._catches(error), isinstance(error, WorkerDied)
            retries = int(died) if self.retries is None else self.retries
            if (caught or died) and job.attempts <= retries:
                self._submit(evaluator, job)
                return False
            if not caught and not isinstance(error, TimedOut):
                if isinstance(error, SystemExit):
                    raise error
                path, params = self.domain.place(job.candidate)
                where = f"path {path}" if params is None else f"params {params}"
                raise _failure(f"{failure} {where}: {error!r}", path, params) from error
            self._fail(job, reason_of(error))
        else:
            self._ended.append(Ended(job, value, noise, None, reports, constraints, seconds))
            del self.running[job.id]
        return True

    def _fail(self, job: Job, reason: str) -> None:
        """Record that a trial failed."""
        self.trials.fail(job.id, reason)
        seconds = perf_counter() - self._begin
        self._ended.append(Ended(job, None, None, reason, (), (), seconds))
        del self.running[job.id]

    def _prune(self, id_: int, reports: tuple[Report, ...]) -> None:
        """Have the searcher observe the predicted value of a trial that was stopped."""
        bounds = getattr(self.search, "bounds", (-math.inf, math.inf))
        predicted, noise = self.curves.predict(reports, bounds)
        try:
            self.trials.prune(id_, reports, predicted=predicted, noise=noise)
        except StudyError:
            raise
        except ValueError:  # such as a training that diverged, whose value is too large
            self.trials.prune(id_, reports, predicted=None, noise=None)

    def _catches(self, error: BaseException) -> bool:
        """Return whether an exception makes one evaluation fail, and no more."""
        if isinstance(error, SystemExit):  # as from a pool, which cannot raise it here
            return isinstance(RuntimeError(), self.catch)
        return isinstance(error, self.catch)

    def stopped_by(self, budget: int | None, rules: Sequence[StopRule]) -> str | None:
        """Return the name of the budget or rule that ends the run, None if it continues."""
        if budget is not None and self.ended >= budget:
            return "budget"
        self.interrupts.check()
        return self.first_stop(rules) if rules else None

    def first_stop(self, rules: Sequence[Any], name: str | None = None) -> str | None:
        """Return the name of the first rule that says stop."""
        try:
            self.interrupts.allowed = True
            for rule in rules:
                answer = rule(self if isinstance(rule, RunRule) else self.search)
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
        for ended in self._ended[self._compared :]:
            value = ended.value
            if value is None or not is_feasible(ended.constraints):
                continue
            if self._best is None or sign * value > sign * self._best.value:
                self._best = Evaluation(*self.domain.place(ended.job.candidate), value)
        self._compared = len(self._ended)
        return self._best

    @property
    def failed(self) -> int:
        """The number of failed trials, of this run and before."""
        return self.trials.failed

    def last_line(self) -> str:
        """Return a line about the trial that ended last."""
        ended = self._ended[-1]
        seconds = ended.seconds - ended.job.started
        return trial_line(self._trial(ended), seconds, self.best_observed())

    def _trial(self, ended: "Ended") -> Trial:
        job, value, noise, reason, reports, constraints, seconds = ended
        if isinstance(self.trials, Study):
            return self.trials.trials[job.id]
        state: Any = "completed" if is_feasible(constraints) else "infeasible"
        if value is None:
            state = "pruned" if reason is None else "failed"
        return Trial(
            job.id,
            *self.domain.place(job.candidate),
            value,
            state,
            self._began_at + job.started,
            self._began_at + seconds,
            noise,
            reason,
            reports,
            constraints,
        )

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
        seconds = np.array([ended.seconds for ended in self._ended], dtype=float)
        history = History([self._trial(ended) for ended in self._ended], seconds)
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


def reason_of(error: BaseException) -> str:
    """Return the reason of a failure as it is recorded."""
    if isinstance(error, TimedOut | WorkerDied | Exited):
        return str(error)
    if isinstance(error, SystemExit):
        return f"it raised {error!r}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
