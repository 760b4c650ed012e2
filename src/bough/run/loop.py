"""A search under way: what is candidate, evaluated and told, and what is left when it ends."""

from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from bough.exceptions import Exhausted, ObjectiveError, StudyError, TimedOut, WorkerDied
from bough.run.evaluation import Evaluator, Job, Outcome, read_reward
from bough.run.interrupts import Interrupts
from bough.run.result import History, Result
from bough.run.stopping import StopRule
from bough.searchers import Searcher
from bough.searchers.base import negative_arm, negative_certificate
from bough.spaces.searcher import SpaceSearcher
from bough.studies.study import Study
from bough.studies.trials import Domain
from bough.trees import Path


class Book(Protocol):
    """Where trials come from and go to: a searcher alone, or a study."""

    search: Searcher | SpaceSearcher
    first_state: int

    @property
    def study(self) -> Study | None:
        """The study, if there is one."""
        ...

    @property
    def failed(self) -> int:
        """How many trials have failed."""
        ...

    def ask(self) -> Job:
        """Return the next trial."""
        ...

    def tell(self, job: Job, value: float, noise: float | None) -> None:
        """Take in its value, in the user's sign."""
        ...

    def fail(self, job: Job, reason: str) -> None:
        """Note that it has none."""
        ...

    def leave(self, jobs: Sequence[Job]) -> None:
        """End, while some jobs are under way."""
        ...


class InMemory:
    """A searcher that nobody writes down."""

    study = None

    def __init__(self, search: Searcher | SpaceSearcher, sign: float) -> None:
        self.search = search
        self.first_state = search.random_state or 0
        self.failed = 0
        self._sign = sign
        self._number = 0
        self._without_value: list[Any] = []

    def ask(self) -> Job:
        """Return the next trial."""
        job = Job(self._number, self.search.ask())
        self._number += 1
        return job

    def tell(self, job: Job, value: float, noise: float | None) -> None:
        """Take in its value."""
        self.search.tell(job.candidate, self._sign * value, noise=noise)

    def fail(self, job: Job, reason: str) -> None:
        """Note that it has none."""
        self.failed += 1
        self.search.fail(job.candidate)
        self._without_value.append(job.candidate)

    def leave(self, jobs: Sequence[Job]) -> None:
        """Forget what was asked for here and is still pending: it will not come."""
        for candidate in (*self._without_value, *(job.candidate for job in jobs)):
            with suppress(Exception):  # what broke the search may break this too
                self.search.forget(candidate)


class Recorded:
    """A study, in which trials that are under way stay so, to be offered again."""

    def __init__(self, study: Study, *, ours: bool) -> None:
        self.study: Study | None = study
        self.search = study.searcher
        self.first_state = study.first_state
        self._study = study
        self._ours = ours

    @property
    def failed(self) -> int:
        """How many trials have failed, in earlier runs too."""
        return self._study.failed

    def ask(self) -> Job:
        """Return the next trial."""
        trial = self._study.ask()
        return Job(trial.id, self._study.domain.candidate(trial))

    def tell(self, job: Job, value: float, noise: float | None) -> None:
        """Record its value."""
        self._study.tell(job.id, value, noise=noise)

    def fail(self, job: Job, reason: str) -> None:
        """Record that it has none."""
        self._study.fail(job.id, reason)

    def leave(self, jobs: Sequence[Job]) -> None:
        """Close the study if it was opened here."""
        if self._ours:
            self._study.close()
        else:
            self._study.offer_again(job.id for job in jobs)


class Run:
    """What has happened so far, and what is under way."""

    def __init__(
        self,
        book: Book,
        domain: Domain,
        sign: float,
        interrupts: Interrupts,
        catch: tuple[type[Exception], ...],
        retries: int,
    ) -> None:
        self.book = book
        self.search = book.search
        self.domain = domain
        self.sign = sign
        self.interrupts = interrupts
        self.under_way: dict[int, Job] = {}
        self._catch = catch
        self._retries = retries
        self._evaluated: list[Any] = []
        self._values: list[float] = []
        self._seconds: list[float] = []
        self._begin = perf_counter()

    def fill(self, evaluator: Evaluator, budget: int | None) -> None:
        """Start what can run now, within the budget; raise `Exhausted` if nothing is under way."""
        while evaluator.has_room() and (budget is None or self._started() < budget):
            try:
                job = self.book.ask()
            except Exhausted:
                if not self.under_way:
                    raise
                return  # what is under way may teach otherwise
            except StudyError:
                raise
            except Exception as error:  # of the tree's functions, or the prior mean
                raise _failure(f"the search failed: {error!r}", ()) from error
            self._submit(evaluator, job)

    def _started(self) -> int:
        return self._spent() + len(self.under_way)

    def _spent(self) -> int:
        return self.search.observations + self.book.failed

    def _submit(self, evaluator: Evaluator, job: Job) -> None:
        job.attempts += 1
        self.under_way[job.id] = job
        evaluator.submit(job)

    def settle(self, evaluator: Evaluator, outcome: Outcome) -> bool:
        """Tell what came of a job, or try it again; return whether its trial has ended."""
        job, error = outcome.job, outcome.error
        if error is None:
            try:
                value, noise = read_reward(outcome.returned)
                self.book.tell(job, value, noise)
            except StudyError:
                raise
            except Exception as of_the_value:
                error = of_the_value
        if error is not None:
            caught = isinstance(error, self._catch)
            if (caught or isinstance(error, WorkerDied)) and job.attempts <= self._retries:
                self._submit(evaluator, job)
                return False
            if not caught and not isinstance(error, TimedOut):
                domain, candidate = self.domain, job.candidate
                message = f"the objective failed at {domain.describe(candidate)}: {error!r}"
                raise _failure(message, domain.path(candidate), domain.params(candidate)) from error
            self.book.fail(job, str(error) or repr(error))
        else:
            self._evaluated.append(job.candidate)
            self._values.append(value)
            self._seconds.append(perf_counter() - self._begin)
        del self.under_way[job.id]
        return True

    def stopped_by(self, budget: int | None, rules: Sequence[StopRule]) -> str | None:
        """Return what says that it is enough."""
        if budget is not None and self._spent() >= budget:
            return "budget"
        return self.word(rules)

    def word(self, rules: Sequence[Any], name: str | None = None) -> str | None:
        """Return the word of the first rule that has one."""
        self.interrupts.check()
        try:
            self.interrupts.heeded = True
            for rule in rules:
                word = rule(self.search)
                if isinstance(word, str) and word:
                    return word
                if word:
                    return name or getattr(rule, "__name__", repr(rule))
        finally:
            self.interrupts.heeded = False
        return None

    def leave(self) -> None:
        """End, whatever is under way."""
        self.book.leave(list(self.under_way.values()))
        self.under_way.clear()

    def result(self, stopped_by: str) -> Result:
        """Return what was found, and leave what is under way."""
        self.leave()
        told = self.search.observations > 0
        certificate = getattr(self.search, "certificate", None) if told else None
        history = History(
            [self.domain.path(candidate) for candidate in self._evaluated],
            np.array(self._values),
            np.array(self._seconds),
            [self.domain.params(candidate) for candidate in self._evaluated],
        )
        best = self.search.best() if told else None
        if self.sign < 0:
            best = None if best is None else negative_arm(best)
            certificate = None if certificate is None else negative_certificate(certificate)
        direction = "maximize" if self.sign > 0 else "minimize"
        study = self.book.study
        return Result(best, certificate, history, stopped_by, self.search, study, direction)


def _failure(message: str, path: Path, params: Any = None) -> ObjectiveError:
    failure = ObjectiveError(message)
    failure.path = path
    failure.params = params
    return failure
