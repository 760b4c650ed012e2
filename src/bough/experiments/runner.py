"""Jobs on all cores, with a bar, and nothing that is finished ever lost."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from bough.experiments.entrants import Entrant
from bough.experiments.jobs import Job, Run, play
from bough.experiments.store import Store

#: A job, what makes its problem, and its searcher.
Task = tuple[Job, Callable[..., Any], Entrant]
#: Libraries of linear algebra start as many threads as there are cores; so does the pool.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_all(
    tasks: Sequence[Task], store: Store, *, workers: int, progress: bool | None, title: str
) -> dict[Job, str]:
    """Run the jobs that are not in the store yet, and put them there.

    Returns
    -------
    failures
        Jobs that raised, and what they raised. The others go on.
    """
    left = [task for task in tasks if task[0] not in store]
    failures: dict[Job, str] = {}
    with _bar(progress, title, len(tasks), len(tasks) - len(left)) as advance:
        results = _in_turn(left) if workers == 1 or len(left) <= 1 else _in_pool(left, workers)
        for job, result in results:
            if isinstance(result, Run):
                store.add(job, result)
            else:
                failures[job] = result
            advance()
    return failures


def _attempt(task: Task) -> Run | str:
    try:
        return play(*task)
    except Exception as error:  # of a searcher or problem of anybody's: the others go on
        return f"{type(error).__name__}: {error}"


def _in_turn(tasks: Sequence[Task]) -> Iterator[tuple[Job, Run | str]]:
    for task in tasks:
        yield task[0], _attempt(task)


def _in_pool(tasks: Sequence[Task], workers: int) -> Iterator[tuple[Job, Run | str]]:
    """Run tasks in processes of their own; on the way out, also by Ctrl-C, none is left."""
    try:
        pickle.dumps([(make, entrant) for _, make, entrant in tasks])
    except Exception as error:
        raise TypeError(
            "problems and searchers of your own must be functions at the top of a module to run "
            f"in several processes ({error}); use workers=1, or move them there"
        ) from None
    before = set(multiprocessing.active_children())
    with _one_thread_each():
        pool = ProcessPoolExecutor(
            min(workers, len(tasks)),
            # Not by fork, which copies the locks of other threads as they happen to be.
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_follow_parent,
        )
        try:
            with _interrupts_held_back():  # the processes start at the first task
                futures = {pool.submit(_attempt, task): task[0] for task in tasks}
            for future in as_completed(futures):
                yield futures.pop(future), future.result()
            pool.shutdown()
        except BrokenExecutor as error:
            raise RuntimeError(
                "a process of the comparison was ended from outside (out of memory?); what is "
                "finished is kept, run it again to go on"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - before:
                child.terminate()


def _follow_parent() -> None:
    """Leave Ctrl-C to the process that started this one, and end when it ends, even if killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Put off Ctrl-C here; processes that are started now never see it, not even at first."""
    if not hasattr(signal, "pthread_sigmask"):  # not POSIX
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that are started now use one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _bar(
    progress: bool | None, title: str, total: int, done: int
) -> Iterator[Callable[[], object]]:
    """Show how many jobs are done; `progress` is True, False, or None for a bar on a terminal."""
    if not (sys.stderr.isatty() if progress is None else progress) or done == total:
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(
        total=total, initial=done, desc=title, unit="run", file=sys.stderr, dynamic_ncols=True
    ) as bar:
        yield bar.update
