"""Evaluators: calls of an objective in this process, on worker processes, or on any executor.

An evaluator has `has_room()`, `submit(job)`, `wait()`, which returns the outcome of some job as
soon as one ends, and `close()`, which leaves running jobs.
"""

import hashlib
import inspect
import math
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from bough._validation import above_zero, at_least_zero, real, whole
from bough.exceptions import PoolError, TimedOut, WorkerDied
from bough.run.progress import Interrupts
from bough.run.pruning import Reported, RunningTrial, Thresholds, takes_trial
from bough.studies.constraints import Outcome, read_constraints
from bough.studies.trials import Domain

#: Names of the exceptions by which pools that survive it (Dask, Ray) report that the worker of a
#: task has died; they need not be installed.
LOST = ("KilledWorker", "WorkerCrashedError", "NodeDiedError", "LostRemote", "FutureCancelledError")
#: The largest number of processes of our own.
MOST_WORKERS = 10_000
#: Seconds between two checks of Ctrl-C and of deadlines.
TICK = 0.1
#: Seconds between two checks of a worker that its search still runs.
WATCH = 1.0
#: Seconds between two queries of the number of workers of a cluster.
RECOUNT = 1.0


@dataclass(slots=True)
class Job:
    """An evaluation: trial, candidate, attempts, times, and what is known before."""

    id: int
    candidate: Any
    attempts: int = 0
    started: float = 0.0
    deadline: float = math.inf
    thresholds: Thresholds = ()
    constraints: tuple[float, ...] = ()  # the values of those that are known before
    reason: str | None = None  # why it has failed before it began, by its constraints


class Exited(RuntimeError):  # noqa: N818 - like WorkerDied
    """Raised for an objective that ended its worker process, such as by sys.exit."""


#: A job, with what it returned or the exception that it raised.
Ending = tuple[Job, Any, Exception | SystemExit | None]


class Task:
    """An objective and the arguments of its calls.

    The trial's id and seed are arguments of every call, so that no engine that caches calls takes
    two evaluations of one path for the same. The objective gets the seed if it has a parameter
    `seed`: the same for the same trial of the same search, wherever it runs. It gets a
    `RunningTrial` if it has two required parameters.
    """

    def __init__(
        self, objective: Callable[..., Any], domain: Domain, first_state: int, sign: float
    ) -> None:
        self.objective = objective
        self.domain = domain
        self.takes_trial = takes_trial(objective)
        self._first_state = first_state
        self._sign = sign
        self._seeded = _has_seed(objective)

    def arguments(self, job: Job) -> tuple[Any, ...]:
        """Return the arguments of `evaluate`."""
        return self.objective, self.domain.decode(job.candidate), *self._of(job), os.getpid()

    def call(self, job: Job) -> Any:
        """Call the objective in this process."""
        return _call(self.objective, self.domain.decode(job.candidate), *self._of(job))

    def _of(self, job: Job) -> tuple[int | RunningTrial, int | None]:
        """Return the trial of a job (its number if the objective does not take it) and the seed."""
        seed = trial_seed(self._first_state, job.id) if self._seeded else None
        if self.takes_trial:
            return RunningTrial(job.id, self._sign, job.thresholds), seed
        return job.id, seed


def _call(
    objective: Callable[..., Any], params: Any, trial: int | RunningTrial, seed: int | None
) -> Any:
    keywords = {} if seed is None else {"seed": seed}
    if not isinstance(trial, RunningTrial):
        return objective(params, **keywords)
    value = objective(params, trial, **keywords)
    return Reported(value, tuple(trial.reports), trial.pruned)


def evaluate(
    objective: Callable[..., Any],
    params: Any,
    trial: int | RunningTrial,
    seed: int | None,
    home: int,
) -> Any:
    """Call an objective, on an executor; `home` is the process of the search."""
    try:
        return _call(objective, params, trial, seed)
    except Exception as error:
        if os.getpid() == home or _can_travel(error):
            raise
        raise RuntimeError(f"{error!r}, an exception that pickle cannot send") from None


def _can_travel(error: Exception) -> bool:
    """Return whether an exception can be pickled; one that cannot would break the pool."""
    # Pools that can send any function (loky, Dask, Ray) send exceptions in the same way.
    sender = sys.modules.get("cloudpickle", pickle)
    try:
        return isinstance(pickle.loads(sender.dumps(error)), type(error))
    except Exception:
        return False


def trial_seed(first_state: int, trial: int) -> int:
    """Return the seed of a trial, of 32 bits, which every generator accepts."""
    text = f"{first_state}:{trial}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big")


def _has_seed(objective: Callable[..., Any]) -> bool:
    try:
        parameter = inspect.signature(objective).parameters.get("seed")
    except (TypeError, ValueError):  # some built-in functions do not say
        return False
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return parameter is not None and parameter.kind in named


#: What is said about several objectives.
ONE_OBJECTIVE = (
    "bough optimizes one objective: return a weighted sum, or one value with constraints on the "
    "others, bough.Outcome(value, constraints=[...]); for a Pareto front use another library, such "
    "as Optuna with its NSGAIISampler"
)


def read_outcome(returned: Any) -> tuple[float, float | None, tuple[float, ...]]:
    """Return the value that an objective returned, its standard deviation, and constraints."""
    if isinstance(returned, Outcome):
        std = returned.std
        value = real(returned.value, "the value")
        std = None if std is None else at_least_zero(std, "the value's std")
        return value, std, read_constraints(returned.constraints)
    several = isinstance(returned, list) or (isinstance(returned, np.ndarray) and returned.shape)
    if several or (isinstance(returned, tuple) and len(returned) != 2):
        raise TypeError(
            "the objective must return a value, (value, std) or a bough.Outcome, got a "
            f"{type(returned).__name__} of {len(returned)}; {ONE_OBJECTIVE}"
        )
    if isinstance(returned, tuple):
        std = at_least_zero(returned[1], "the value's std")
        return real(returned[0], "the value"), std, ()
    return real(returned, "the value"), None, ()


class Inline:
    """One evaluation at a time, in this process."""

    def __init__(self, task: Task, interrupts: Interrupts) -> None:
        self._task = task
        self._interrupts = interrupts
        self._job: Job | None = None

    def has_room(self) -> bool:
        """Return whether no job is submitted."""
        return self._job is None

    def submit(self, job: Job) -> None:
        """Accept a job, which `wait` evaluates."""
        self._job = job

    def wait(self) -> Ending:
        """Evaluate the job; Ctrl-C interrupts it."""
        job, self._job = self._job, None
        assert job is not None  # one was submitted
        try:
            self._interrupts.allowed = True
            return job, self._task.call(job), None
        except (Exception, SystemExit) as error:
            return job, None, error
        finally:
            self._interrupts.allowed = False

    def close(self) -> None:
        """Do nothing: no job is left running."""


class Pool:
    """The workers of an executor: one of the user, which needs a method `submit`, or `Workers`.

    An evaluation that takes longer than `timeout` seconds fails. In an executor of the user, only
    its owner could end it, so its worker counts as busy until it ends.
    """

    def __init__(
        self, executor: Any, task: Task, timeout: float | None, interrupts: Interrupts
    ) -> None:
        self._executor = executor
        self._own = isinstance(executor, Workers)
        self._task = task
        self._timeout = timeout
        self._interrupts = interrupts
        self._workers = 0  # counted again from time to time, since a cluster may grow and shrink
        self._recount = 0.0
        self._running: dict[int, tuple[Job, Future[Any]]] = {}  # by trial
        self._overdue: set[Future[Any]] = set()  # timed out, and still running
        self._wake = threading.Event()  # set whenever there may be an outcome

    def has_room(self) -> bool:
        """Return whether another job could run now."""
        now = time.monotonic()
        if now >= self._recount:
            self._workers, self._recount = workers_of(self._executor), now + RECOUNT
        self._overdue = {future for future in self._overdue if not future.done()}
        return len(self._running) + len(self._overdue) < self._workers

    def submit(self, job: Job) -> None:
        """Begin a job."""
        job.deadline = math.inf
        future: Future[Any] = Future()
        try:
            arguments = self._task.arguments(job)
        except Exception as error:  # of a function of the tree
            future.set_exception(error)
        else:
            try:
                future = self._executor.submit(evaluate, *arguments)
            except RuntimeError as error:  # such as a BrokenExecutor
                raise _broken(error) from error
        self._running[job.id] = job, future
        future.add_done_callback(lambda _: self._wake.set())

    def wait(self) -> Ending:
        """Return the outcome of some job, as soon as one ends or is overdue."""
        while True:
            self._interrupts.check()
            outcome = self._next_outcome()
            if outcome is not None:
                return outcome
            if not self._running and self._overdue:
                raise PoolError(
                    f"all {len(self._overdue)} workers run evaluations that have timed out; "
                    "only the owner of the pool can end them (bough's own can: executor=4)"
                )
            deadline = min((job.deadline for job, _ in self._running.values()), default=math.inf)
            self._wake.wait(min(max(deadline - time.monotonic(), 0.0) + 1e-3, TICK))
            self._wake.clear()

    def _next_outcome(self) -> Ending | None:
        for job, future in self._running.values():
            if future.done():
                del self._running[job.id]
                return self._outcome(job, future)
        if self._timeout is None:
            return None
        now = time.monotonic()
        for job, future in self._running.values():
            if job.deadline == math.inf and (not self._own or self._executor.is_ready(future)):
                job.deadline = now + self._timeout
            if job.deadline <= now:
                del self._running[job.id]
                if self._own:
                    self._executor.end(future)
                elif not future.cancel():
                    self._overdue.add(future)
                return job, None, TimedOut(f"it took longer than {self._timeout:g} s")
        return None

    def _outcome(self, job: Job, future: "Future[Any]") -> Ending:
        """Return the outcome of a future that is done."""
        if self._own and future.exception() is not None:
            self._executor.check(future)
        try:
            return job, future.result(), None
        except BrokenExecutor as error:
            if not self._own:
                raise _broken(error) from error
            said = str(error).strip().partition("\n")[0]
            died = WorkerDied(f"its worker died ({type(error).__name__}: {said})")
            return job, None, died
        except CancelledError as error:
            return job, None, WorkerDied(f"the evaluation was cancelled: {error!r}")
        except Exception as error:
            if type(error).__name__ in LOST:
                return job, None, WorkerDied(f"its worker died ({type(error).__name__})")
            return job, None, error
        except BaseException as error:  # of the worker, such as by sys.exit: not of this process
            return job, None, Exited(f"it raised {error!r}")

    def close(self) -> None:
        """End workers of our own; in an executor of the user, cancel jobs that have not begun."""
        if self._own:
            self._executor.close()
        else:
            for _, future in self._running.values():
                future.cancel()


def _broken(error: Exception) -> PoolError:
    return PoolError(
        f"the executor cannot continue: {error!r}. Make a new one and run this again; with a "
        "study no observation is lost"
    )


class Workers:
    """Processes of our own, each in a pool of one, so that one can be killed, or die, alone."""

    def __init__(self, count: int, objective: Callable[..., Any]) -> None:
        self.max_workers = count
        self._objective = objective
        self._workers: dict[Future[Any], _Worker] = {}  # by the last job of each
        #: By all jobs: one may be done, and its worker have another, before its outcome is read.
        self._began: WeakKeyDictionary[Future[Any], _Worker] = WeakKeyDictionary()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Begin a call on an idle worker, or on a new one."""
        for future in [future for future in self._workers if future.done()]:
            worker = self._workers.pop(future)
            try:
                begun = worker.executor.submit(function, *arguments)
                break
            except BrokenExecutor:  # it has died
                worker.kill()
        else:
            worker = _Worker(self._objective)
            begun = worker.executor.submit(function, *arguments)
        self._workers[begun] = self._began[begun] = worker
        return begun  # type: ignore[no-any-return]

    def is_ready(self, future: "Future[Any]") -> bool:
        """Return whether the process of a call has imported the objective."""
        return self._workers[future].ready.done()

    def check(self, future: "Future[Any]") -> None:
        """Raise if the process of a call could not begin with any call."""
        worker = self._began[future]
        error = worker.ready.exception() if worker.ready.done() else None
        # With loky a process dies at the beginning only by chance, such as for want of memory.
        if error is None or (isinstance(error, BrokenExecutor) and worker.is_loky):
            return
        if worker.is_loky:
            raise PoolError(
                "the objective cannot be sent to worker processes, or cannot be imported there: "
                f"{error!r}"
            ) from error
        raise PoolError(
            "worker processes cannot import the objective. Install loky, which can send any "
            "function of a notebook or script: pip install 'bough[parallel]'. Without it the "
            "objective must be a function at the top of a module, or of a script whose calls are "
            f'below `if __name__ == "__main__":` ({error!r})'
        ) from error

    def end(self, future: "Future[Any]") -> None:
        """Kill the process of a call."""
        self._workers.pop(future).kill()

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers.values():
            worker.kill()


class _Worker:
    """One process: of loky if it is installed, which can send any function to it."""

    def __init__(self, objective: Callable[..., Any]) -> None:
        try:
            from loky import ProcessPoolExecutor

            self.is_loky = True
        except ImportError:
            from concurrent.futures import ProcessPoolExecutor

            self.is_loky = False
        self.executor: Any = ProcessPoolExecutor(1, initializer=_follow, initargs=(os.getpid(),))
        # It starts now, and imports the modules of the objective, which is not timed.
        self.ready: Future[bool] = self.executor.submit(callable, objective)

    def kill(self) -> None:
        """End the process."""
        if self.is_loky:
            self.executor.shutdown(wait=True, kill_workers=True)  # and what it has started
            return
        for process in list((self.executor._processes or {}).values()):
            process.kill()
        self.executor.shutdown(wait=True, cancel_futures=True)


def _follow(home: int) -> None:
    """Ignore Ctrl-C, which the search handles, and end when the search ends, even if killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()  # (perhaps a server that forks processes for it)

    def watch() -> None:
        while os.getppid() == parent and (parent != 1 or home == 1):
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def workers_of(executor: Any) -> int:
    """Return the number of workers of an executor; of a Dask cluster, its threads now."""
    client: Any = getattr(executor, "_client", None)
    if hasattr(client, "nthreads") and not hasattr(executor, "max_workers"):
        return max(int(sum(client.nthreads().values())), 1)
    for name in ("max_workers", "_max_workers", "num_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count >= 1:
            return count
    raise TypeError(
        f"executor: the number of workers of {executor!r} is not known; "
        "give it an attribute max_workers"
    )


Evaluator = Inline | Pool


def check_executor(executor: Any, timeout: float | None) -> None:
    """Refuse anything but a number of workers or an executor, and a timeout without any."""
    if timeout is not None:
        above_zero(timeout, "timeout")
    if executor is None:
        if timeout is not None:
            raise ValueError(
                "timeout needs a worker that can be ended: this process cannot end an evaluation "
                "of its own; write executor=1 for a sequential run with a timeout"
            )
    elif isinstance(executor, type):
        raise TypeError(f"executor must be an executor, not its class: write {executor.__name__}()")
    elif hasattr(executor, "submit"):
        workers_of(executor)
    elif isinstance(executor, bool) or not hasattr(executor, "__index__"):
        raise TypeError(
            "executor must be a number of workers, or have a method submit as in "
            f"concurrent.futures, got {executor!r}"
        )
    else:
        whole(executor, "executor", least=1, most=MOST_WORKERS)


def make_evaluator(
    executor: Any, task: Task, timeout: float | None, interrupts: Interrupts
) -> Evaluator:
    """Return the evaluator for the argument `executor` of `maximize`."""
    if executor is None:
        return Inline(task, interrupts)
    if not hasattr(executor, "submit"):
        executor = Workers(executor, task.objective)
    return Pool(executor, task, timeout, interrupts)
