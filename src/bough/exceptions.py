"""Exceptions that bough raises, beside `ValueError` and `TypeError` for invalid arguments."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bough.run.result import Result
    from bough.trees import Path


class Exhausted(Exception):  # noqa: N818 - the end of a search, not an error
    """Raised by `ask` when no evaluation could add information."""


class Infeasible(ValueError):  # noqa: N818 - a ValueError by its base class
    """Raised when no candidate satisfies the constraints; `result` holds all evaluations so far."""

    result: "Result"


class Contradiction(ValueError):  # noqa: N818 - a ValueError by its base class
    """Raised for an exact observation that differs from a value that is already known exactly."""


class ObjectiveError(Exception):
    """Raised by `maximize` when the objective, or a function of the tree, raised an exception.

    Attributes
    ----------
    path, params
        The path that was being evaluated; in a space, its parameters.
    result : Result
        The result of all evaluations before it.
    """

    path: "Path"
    params: Any = None
    result: "Result"


class PoolError(RuntimeError):
    """Raised when the executor cannot continue; `result` holds all evaluations before that."""

    result: "Result"


class WorkerDied(RuntimeError):  # noqa: N818 - the name that pools of processes use
    """Raised when the process that evaluated a path was killed, ran out of memory or crashed."""


class TimedOut(Exception):  # noqa: N818 - not a TimeoutError, which is an OSError
    """Raised when an evaluation took longer than `timeout`."""


class StudyError(ValueError):
    """Raised when a study file cannot be used as requested."""


class Locked(StudyError):  # noqa: N818 - a ValueError by its base class
    """Raised when another process is writing to the study, or has locked its file."""


class Unfaithful(ValueError):  # noqa: N818 - a ValueError by its base class
    """Raised for an environment that cannot be copied and was not recorded."""


class NotDeterministic(ValueError):  # noqa: N818 - a ValueError by its base class
    """Raised if the same step leads to another state than before."""


class NotCommunicating(ValueError):  # noqa: N818 - a ValueError by its base class
    """Raised when states that were visited can never be reached again."""
