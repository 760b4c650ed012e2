"""Evaluations on workers: bough's own pool of processes, or any pool that the user brings."""

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from queue import Empty, SimpleQueue
from typing import Any

from bough._validation import whole
from bough.exceptions import PoolError, TimedOut, WorkerDied
from bough.run.evaluation import Job, Outcome, Task, evaluate
from bough.run.interrupts import Interrupts

#: How pools that live on say that the worker of a task has died (Dask, Ray): by name, since they
#: need not be installed.
LOST = ("KilledWorker", "WorkerCrashedError", "NodeDiedError", "LostRemote", "FutureCancelledError")
#: Seconds after which Ctrl-C is heeded at the latest, and between two looks at deadlines.
TICK = 0.1
#: Seconds between two looks of a worker at whether its search still runs.
WATCH = 1.0
#: Seconds between two questions how many workers a cluster has.
RECOUNT = 1.0


class Pool:
    """The workers of an executor that the user brings: all that it needs is `submit`.

    Parameters
    ----------
    executor
        As in `concurrent.futures`.
    task
        What is evaluated.
    timeout
        Seconds that an evaluation may take. What takes longer is failed; nobody but the executor's
        owner could end it, so its worker counts as busy until it does.
    """

    def __init__(
        self, executor: Any, task: Task, timeout: float | None, interrupts: Interrupts
    ) -> None:
        self._executor = executor
        self._task = task
        self._timeout = timeout
        self._interrupts = interrupts
        self._count = workers_of(executor)
        self._running: dict[int, tuple[Job, Future[Any]]] = {}  # by trial
        self._deadlines: dict[int, float] = {}
        self._overdue: set[Future[Any]] = set()  # timed out, and still at it
        self._ended: SimpleQueue[tuple[Job, Future[Any] | None, Exception | None]] = SimpleQueue()

    def has_room(self) -> bool:
        """Return whether another job could run now."""
        self._overdue = {future for future in self._overdue if not future.done()}
        return len(self._running) + len(self._overdue) < self._count()

    def submit(self, job: Job) -> None:
        """Begin a job."""
        try:
            arguments = self._task.arguments(job)
        except Exception as error:  # of a function of the tree
            self._ended.put((job, None, error))
            return
        try:
            future = self._send(job, arguments)
        except (BrokenExecutor, RuntimeError) as error:
            raise self._broken(error) from error
        self._running[job.id] = job, future
        if self._timeout is not None:
            self._deadlines[job.id] = time.monotonic() + self._timeout
        future.add_done_callback(lambda ended: self._ended.put((job, ended, None)))

    def _send(self, job: Job, arguments: tuple[Any, ...]) -> "Future[Any]":
        future: Future[Any] = self._executor.submit(evaluate, *arguments)
        return future

    def wait(self) -> Outcome:
        """Return what came of some job, as soon as one ends or is overdue."""
        while True:
            if not self._running and self._overdue and self._ended.empty():
                raise PoolError(
                    f"all {len(self._overdue)} workers are at evaluations that have timed out; "
                    "only the owner of the pool can end them (bough's own can: executor=4)"
                )
            # Ctrl-C is looked for between two looks at the queue: raised in the middle of one, it
            # would lose what was just taken out.
            self._interrupts.check()
            try:
                job, future, error = self._ended.get(timeout=min(self._patience(), TICK))
            except Empty:
                outcome = self._unnoticed() or self._next_overdue()
                if outcome is not None:
                    return outcome
                continue
            if error is not None:
                return Outcome(job, None, error)
            if future is None:  # the worker is there now
                if job.id in self._running and self._timeout is not None:
                    self._deadlines[job.id] = time.monotonic() + self._timeout
                continue
            if self._running.get(job.id, (job, None))[1] is not future:
                continue  # it was given up before
            self._settled(job)
            return self._outcome(job, future)

    def _unnoticed(self) -> Outcome | None:
        """Return what came of a job whose notice was lost, as by Ctrl-C pressed twice."""
        for job, future in self._running.values():
            if future.done():
                self._settled(job)
                return self._outcome(job, future)
        return None

    def _outcome(self, job: Job, future: "Future[Any]") -> Outcome:
        """Read a future that is done."""
        try:
            return Outcome(job, future.result())
        except BrokenExecutor as error:
            return self._lost(job, error)
        except CancelledError as error:
            return Outcome(job, None, WorkerDied(f"the evaluation was cancelled: {error!r}"))
        except Exception as error:
            if type(error).__name__ in LOST:
                return Outcome(job, None, WorkerDied(f"its worker died ({type(error).__name__})"))
            return Outcome(job, None, error)
        except BaseException as error:  # of the worker, such as by sys.exit: not of this process
            return Outcome(job, None, RuntimeError(f"it raised {error!r}"))

    def _lost(self, job: Job, error: Exception) -> Outcome:
        raise self._broken(error) from error

    def _broken(self, error: Exception) -> PoolError:
        return PoolError(
            f"the executor cannot go on: {error!r}. Make a new one and run this again; with a "
            "study nothing that was told is lost"
        )

    def _patience(self) -> float:
        if not self._deadlines:
            return TICK
        return max(min(self._deadlines.values()) - time.monotonic(), 0.0) + 1e-3

    def _next_overdue(self) -> Outcome | None:
        now = time.monotonic()
        for id_, deadline in self._deadlines.items():
            if deadline <= now:
                job, future = self._running[id_]
                self._settled(job)
                self._end(job, future)
                return Outcome(job, None, TimedOut(f"it took longer than {self._timeout:g} s"))
        return None

    def _settled(self, job: Job) -> None:
        del self._running[job.id]
        self._deadlines.pop(job.id, None)

    def _end(self, job: Job, future: "Future[Any]") -> None:
        if not future.cancel():
            self._overdue.add(future)

    def close(self) -> None:
        """Leave what still runs; the executor is its owner's."""
        for _, future in self._running.values():
            future.cancel()


class OwnPool(Pool):
    """So many processes of our own, each in a pool of one: so one can be killed, or die, alone."""

    def __init__(
        self, workers: int, task: Task, timeout: float | None, interrupts: Interrupts
    ) -> None:
        super().__init__(_Counted(workers), task, timeout, interrupts)
        self._idle = [_Worker(task) for _ in range(workers)]
        self._busy: dict[int, _Worker] = {}  # by trial

    def submit(self, job: Job) -> None:
        """Begin a job; its time is counted from when its process has the objective."""
        super().submit(job)
        if self._deadlines.pop(job.id, None) is not None:
            ready = self._busy[job.id].ready
            ready.add_done_callback(lambda _: self._ended.put((job, None, None)))

    def _send(self, job: Job, arguments: tuple[Any, ...]) -> "Future[Any]":
        worker = self._idle.pop()
        try:
            future = worker.submit(evaluate, *arguments)
        except BrokenExecutor:  # it died while it had nothing to do
            worker.kill()
            worker = _Worker(self._task)
            future = worker.submit(evaluate, *arguments)
        self._busy[job.id] = worker
        return future

    def _outcome(self, job: Job, future: "Future[Any]") -> Outcome:
        outcome = super()._outcome(job, future)
        if job.id in self._busy:  # else its worker was replaced
            self._idle.append(self._busy.pop(job.id))
        return outcome

    def _lost(self, job: Job, error: Exception) -> Outcome:
        self._replace(job)
        said = str(error).strip().partition("\n")[0]
        return Outcome(job, None, WorkerDied(f"its worker died ({type(error).__name__}: {said})"))

    def _end(self, job: Job, future: "Future[Any]") -> None:
        self._replace(job)

    def _replace(self, job: Job) -> None:
        self._busy.pop(job.id).kill()
        self._idle.append(_Worker(self._task))

    def close(self) -> None:
        """End all workers, whatever they are at."""
        for worker in (*self._idle, *self._busy.values()):
            worker.kill()


class _Worker:
    """One process: of loky if it is installed, since that can send it any function."""

    def __init__(self, task: Task) -> None:
        try:
            from loky import ProcessPoolExecutor
        except ImportError:
            from concurrent.futures import ProcessPoolExecutor
        self._executor: Any = ProcessPoolExecutor(1, initializer=_follow, initargs=(os.getpid(),))
        # So that it starts now, and imports what the objective needs: that is not timed.
        self.ready: Future[None] = self._executor.submit(_take, task.objective)

    def submit(self, function: Any, *arguments: Any) -> "Future[Any]":
        """Have it call a function."""
        future: Future[Any] = self._executor.submit(function, *arguments)
        return future

    def kill(self) -> None:
        """End the process, whatever it is at."""
        if _is_loky(self._executor):
            self._executor.shutdown(wait=True, kill_workers=True)  # and what it has started
            return
        for process in list((self._executor._processes or {}).values()):
            process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)


def _is_loky(executor: Any) -> bool:
    return type(executor).__module__.startswith("loky.")


def _follow(home: int) -> None:
    """Leave Ctrl-C to the process that started this one, and end when it ends, even if killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()  # (perhaps a server that forks processes for it)

    def watch() -> None:
        while os.getppid() == parent and (parent != 1 or home == 1):
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _take(objective: Any) -> None:
    """Have an objective, and do nothing with it."""


class _Counted:
    """Says how many workers there are."""

    def __init__(self, workers: int) -> None:
        self.max_workers = workers


def workers_of(executor: Any) -> Callable[[], int]:
    """Return a function that says how many evaluations an executor runs at once."""
    client = getattr(executor, "_client", None)
    if hasattr(client, "nthreads") and not hasattr(executor, "max_workers"):
        return _Cluster(client)
    for name in ("max_workers", "_max_workers", "num_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count >= 1:
            return lambda: int(getattr(executor, name))
    raise TypeError(
        f"executor: cannot tell how many evaluations {executor!r} runs at once; "
        "give it an attribute max_workers that says so"
    )


class _Cluster:
    """Counts the threads of a Dask cluster, which may grow and shrink."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._known = 1
        self._until = 0.0

    def __call__(self) -> int:
        now = time.monotonic()
        if now >= self._until:
            self._until = now + RECOUNT
            self._known = max(sum(self._client.nthreads().values()), 1)
        return self._known


def check_executor(executor: Any) -> None:
    """Refuse what is neither a number of workers nor an executor."""
    if isinstance(executor, type):
        raise TypeError(f"executor must be an executor, not its class: write {executor.__name__}()")
    if hasattr(executor, "submit"):
        workers_of(executor)
    elif isinstance(executor, bool) or not hasattr(executor, "__index__"):
        raise TypeError(
            "executor must be a number of workers, or have a method submit as in "
            f"concurrent.futures, got {executor!r}"
        )
    else:
        whole(executor, "executor", least=1)


def make_pool(executor: Any, task: Task, timeout: float | None, interrupts: Interrupts) -> Pool:
    """Return the pool that `maximize` was asked for: of own workers, or of an executor."""
    kind = Pool if hasattr(executor, "submit") else OwnPool
    return kind(executor, task, timeout, interrupts)
