"""One evaluation: how an objective is called, here or elsewhere, and what it may return."""

import hashlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from bough._validation import at_least_zero, real
from bough.run.interrupts import Interrupts
from bough.studies.trials import Domain


@dataclass(slots=True)
class Job:
    """An evaluation under way: of which trial, of what path or params, and for which time."""

    id: int
    candidate: Any
    attempts: int = 0


class Outcome(NamedTuple):
    """What came of a job: what the objective returned, or an error."""

    job: Job
    returned: Any = None
    error: Exception | None = None


class Task:
    """An objective with all that a call of it needs.

    The trial's id and seed are arguments of every call, so that no engine that remembers calls
    takes two plays of one path for the same. The objective gets the seed if it has a parameter
    `seed`: the same for the same trial of the same search, wherever and however often it runs.
    """

    def __init__(self, objective: Callable[..., Any], domain: Domain, first_state: int) -> None:
        if not callable(objective):
            raise TypeError(f"objective must be a function, got {objective!r}")
        self.objective = objective
        self.domain = domain
        self._first_state = first_state
        self._seeded = _has_seed(objective)

    def arguments(self, job: Job) -> tuple[Any, ...]:
        """Return what `evaluate` is called with."""
        seed = trial_seed(self._first_state, job.id) if self._seeded else None
        return self.objective, self.domain.decode(job.candidate), job.id, seed, os.getpid()


def evaluate(
    objective: Callable[..., Any], params: Any, trial: int, seed: int | None, home: int
) -> Any:
    """Call an objective; this is what runs in a worker, while its search is in process `home`."""
    try:
        return objective(params) if seed is None else objective(params, seed=seed)
    except Exception as error:
        if os.getpid() == home or _can_travel(error):
            raise
        raise RuntimeError(f"{error!r}, an exception that pickle cannot send") from None


def _can_travel(error: Exception) -> bool:
    """Return whether an exception can be sent to another process: else it would break the pool."""
    # Pools that can send any function (loky, Dask, Ray) send exceptions in the same way.
    sender = sys.modules.get("cloudpickle", pickle)
    try:
        return isinstance(pickle.loads(sender.dumps(error)), type(error))
    except Exception:
        return False


def trial_seed(first_state: int, trial: int) -> int:
    """Return the seed of a trial, of 32 bits, which every generator takes."""
    text = f"{first_state}:{trial}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big")


def _has_seed(objective: Callable[..., Any]) -> bool:
    try:
        parameter = inspect.signature(objective).parameters.get("seed")
    except (TypeError, ValueError):  # some built-in functions do not say
        return False
    return parameter is not None and parameter.kind in (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    )


def read_reward(returned: Any) -> tuple[float, float | None]:
    """Read what an objective returned: a value, or a value and its standard deviation."""
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise TypeError(
                "the objective must return a reward or (reward, std), "
                f"got a tuple of {len(returned)}"
            )
        std = at_least_zero(returned[1], "the reward's std")
        return real(returned[0], "the reward"), std
    return real(returned, "the reward"), None


class Evaluator(Protocol):
    """What runs jobs: here, one by one, or on the workers of a pool."""

    def has_room(self) -> bool:
        """Return whether another job could run now."""
        ...

    def submit(self, job: Job) -> None:
        """Begin a job."""
        ...

    def wait(self) -> Outcome:
        """Return what came of some job, as soon as one ends."""
        ...

    def close(self) -> None:
        """Leave what still runs."""
        ...


class Inline:
    """One evaluation at a time, in this very process."""

    def __init__(self, task: Task, interrupts: Interrupts) -> None:
        self._task = task
        self._interrupts = interrupts
        self._job: Job | None = None

    def has_room(self) -> bool:
        """Return whether nothing is under way."""
        return self._job is None

    def submit(self, job: Job) -> None:
        """Take a job, which `wait` will do."""
        self._job = job

    def wait(self) -> Outcome:
        """Do the job; Ctrl-C is heeded meanwhile."""
        job = self._job
        assert job is not None  # nobody waits for nothing
        self._job = None
        try:
            try:
                self._interrupts.heeded = True
                return Outcome(job, evaluate(*self._task.arguments(job)))
            finally:
                self._interrupts.heeded = False
        except Exception as error:
            return Outcome(job, None, error)

    def close(self) -> None:
        """Nothing is left."""
