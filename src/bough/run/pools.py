"""Pools: independent jobs on all cores, in processes that end with their parent."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, TypeVar

#: Libraries of linear algebra start as many threads as there are cores; so does the pool.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

#: Needed by jobs that use functions or classes of the script that runs.
_GUARD = (
    "the script cannot be imported by worker processes: put its calls below "
    '`if __name__ == "__main__":`, or use workers=1'
)

Job = TypeVar("Job")
Found = TypeVar("Found")


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_processes(
    function: Callable[[Job], Found], jobs: Sequence[Job], workers: int
) -> Generator[tuple[Job, Found], None, None]:
    """Yield jobs with what a function returns for them, as they end.

    With one worker they run in this process. All processes end with this generator, also on Ctrl-C.
    They import the script that runs only if the jobs need it, so that a script whose calls are
    not below `if __name__ == "__main__":` is not run once more by each of them.
    """
    if workers == 1 or len(jobs) <= 1:
        yield from ((job, function(job)) for job in jobs)
        return
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError(_GUARD)  # the script is being imported by such a process
    try:
        imports_script = b"__main__" in pickle.dumps((function, jobs))
    except Exception as error:
        raise TypeError(
            "what runs in several processes must be made by functions at the top of a module "
            f"({error}); use workers=1, or move them there"
        ) from None
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(workers, len(jobs)),
        # Not by fork, which copies the locks of other threads as they happen to be.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_follow_parent,
    )
    try:
        with _inherited(imports_script):  # all processes start at the first job
            futures: dict[Any, Job] = {pool.submit(function, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
        pool.shutdown()
    except BrokenExecutor as error:
        raise RuntimeError(
            "a worker process was killed (out of memory?); finished results are in the file, if "
            "there is one: repeat the command to resume"
            f"{f'. Or {_GUARD}' if imports_script else ''}"
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
def _inherited(imports_script: bool) -> Iterator[None]:
    """Set up what new processes inherit.

    Ctrl-C is blocked, linear algebra has one thread, and the script that runs is imported only
    if asked for.
    """
    script = vars(sys.modules["__main__"])
    names = {name: script[name] for name in script.keys() & {"__file__", "__spec__"}}
    environment = dict(os.environ)
    masked = hasattr(signal, "pthread_sigmask")  # not on Windows
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masked else None
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    if not imports_script:
        script.pop("__file__", None)
        script["__spec__"] = None
    try:
        yield
    finally:
        script.update(names)
        for name in _THREADS:
            del os.environ[name]
        os.environ.update(environment)
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
