"""Constraints: outcomes with their values, functions that are known before, and their checks.

A trial is feasible if all values of its constraints are at most 0.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bough._validation import listed
from bough.belief.nodes import moderate
from bough.exceptions import Infeasible, ObjectiveError
from bough.studies.trials import Domain

#: The number of candidates in a row that may violate constraints before a search gives up.
MOST_TRIES = 1000

Values = tuple[float, ...]


@dataclass(frozen=True)
class Outcome:
    """The value of an evaluation with its constraints, for an objective to return.

    Parameters
    ----------
    value : float
        The value.
    std : float, optional
        The standard deviation of the value.
    constraints : float or sequence of float
        The values of the constraints: the evaluation is feasible if all are at most 0.

    Examples
    --------
    >>> import bough
    >>> def area(params):
    ...     width, height = params["width"], params["height"]
    ...     return bough.Outcome(width * height, constraints=[width + height - 1])
    >>> space = bough.Space(width=bough.Float(0, 1), height=bough.Float(0, 1))
    >>> result = bough.maximize(area, space, budget=60, rng=0)
    >>> round(result.best.value, 3), result.history.infeasible > 0
    (0.25, True)
    """

    value: float
    std: float | None = None
    constraints: float | Sequence[float] = ()


def read_constraints(given: Any, name: str = "constraints") -> Values:
    """Return the values of constraints, a number or a sequence of numbers, or refuse them."""
    if given is None:
        raise TypeError(f"{name} must be a number or a sequence of numbers, got None")
    if isinstance(given, np.ndarray):
        given = given.tolist()
    one = not isinstance(given, (Sequence, str, bytes)) and hasattr(given, "__float__")
    values = [given] if one else listed(given, name)
    for value in values:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError(
                f"{name} must be numbers, feasible if all are at most 0, got {given!r}; write the "
                "condition x <= 1 as x - 1"
            )
    return tuple(moderate(value, name) for value in values)


def is_feasible(constraints: Sequence[float]) -> bool:
    """Return whether all values of constraints are at most 0."""
    return all(value <= 0.0 for value in constraints)


def check_count(constraints: Values, before: int | None) -> int | None:
    """Return the number of constraints of each trial; refuse another one than before, if any."""
    if before is not None and len(constraints) != before:
        advice = ": give their function again, or return them in a bough.Outcome"
        raise ValueError(
            f"constraints must have {before} value{'' if before == 1 else 's'}, as those of the "
            f"trials before, got {len(constraints)}"
            + (f": {list(constraints)!r}" if constraints else advice)
        )
    return len(constraints) or before


class KnownConstraints:
    """Constraints that are known before an evaluation: a cheap function of params or a path.

    The objective is not evaluated where they are violated, and another candidate is asked for.

    Parameters
    ----------
    function
        The function: returns a number or a sequence of numbers, feasible if all are at most 0.
    domain
        The tree or space.
    catch
        Exceptions of the function that only make one trial fail.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        domain: Domain,
        catch: tuple[type[Exception], ...] = (),
    ) -> None:
        if not callable(function):
            raise TypeError(
                "constraints must be a function of the params, or of the path, that returns "
                f"numbers, feasible if all are at most 0; got {function!r}"
            )
        self._function = function
        self._domain = domain
        self._catch = catch
        self._count: int | None = None
        self._tries = 0  # candidates in a row that were not feasible
        self._smallest = math.inf  # of the largest violations of each of them

    def values(self, candidate: Any) -> Values:
        """Return the values of the constraints at a path or params."""
        try:
            values = read_constraints(self._function(self._domain.decode(candidate)))
            if not values:
                raise ValueError("constraints must have one value or more, got none")
            self._count = check_count(values, self._count)
        except Exception as error:
            path, params = self._domain.place(candidate)
            where = f"path {path}" if params is None else f"params {params}"
            failure = ObjectiveError(f"the constraints failed at {where}: {error!r}")
            failure.path, failure.params = path, params
            raise failure from error
        if is_feasible(values):
            self._tries, self._smallest = 0, math.inf
        else:
            self._tries += 1
            self._smallest = min(self._smallest, max(values))
        return values

    def reason(self, error: ObjectiveError) -> str | None:
        """Return the reason why one trial fails by an error of `values`; None if a run ends."""
        cause = error.__cause__
        if not isinstance(cause, self._catch):
            return None
        return f"constraints: {type(cause).__name__}: {cause}"

    def check_tries(self) -> None:
        """Raise `Infeasible` if too many candidates in a row were not feasible."""
        tries, smallest = self._tries, self._smallest
        if tries >= MOST_TRIES:
            self._tries, self._smallest = 0, math.inf
            raise Infeasible(
                f"constraints: none of {tries:,} candidates in a row is feasible; a constraint is "
                f"violated by {smallest:.6g} or more in each. Are values at most 0 where they hold?"
            )
