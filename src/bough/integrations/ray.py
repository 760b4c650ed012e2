"""An executor for evaluations on a Ray cluster."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from bough._validation import whole


class RayExecutor:
    """An executor for `maximize(executor=...)` that runs Ray tasks.

    Parameters
    ----------
    max_workers
        The number of evaluations that run at once; by default the number of CPUs of the cluster.
    options
        Options of `ray.remote`, such as `num_cpus=4` or `num_gpus=1` of each evaluation.

    Examples
    --------
    ::

        import ray
        from bough.integrations.ray import RayExecutor

        ray.init(address="auto")
        result = bough.maximize(objective, tree, budget=1000, executor=RayExecutor())
    """

    def __init__(self, max_workers: int | None = None, **options: Any) -> None:
        try:
            import ray
        except ImportError as error:
            raise ImportError("RayExecutor needs Ray: pip install ray") from error
        if not ray.is_initialized():
            raise ValueError("connect to a cluster first: ray.init(), or ray.init(address=...)")
        if max_workers is None:
            max_workers = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self.max_workers = whole(max_workers, "max_workers", least=1)
        # bough itself handles workers that die: it knows which evaluations may be retried.
        self._call = ray.remote(max_retries=0, **options)(_call)
        self._put = ray.put
        self._known: dict[int, Any] = {}  # functions that the cluster already has

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Call a function on a worker of the cluster."""
        parts = [self._shared(part) if callable(part) else part for part in arguments]
        future: Future[Any] = self._call.remote(function, *parts).future()
        return future

    def _shared(self, function: Callable[..., Any]) -> Any:
        """Return a reference to a function, which is sent to the cluster once."""
        if id(function) not in self._known:
            self._known[id(function)] = (function, self._put(function))
        return self._known[id(function)][1]


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)
