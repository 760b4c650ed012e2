"""The actions of a Gymnasium space as a list, so that a path is a sequence of numbers."""

import itertools
import math
from typing import Any

import numpy as np

from bough._validation import whole

#: Values that a dimension of a Box is covered by, if nobody says how many.
VALUES = 5
#: More actions than this are refused: a tree whose every node has so many is hopeless.
MOST_ACTIONS = 10_000


def actions_of(space: Any, values: int = VALUES) -> list[Any]:
    """Return the actions of a space.

    Parameters
    ----------
    space
        Discrete, MultiDiscrete, MultiBinary, or a bounded Box. A Box is covered: each of its
        dimensions by evenly spaced values, both ends among them, so that no action is farther from
        one of these than half their distance; all combinations are actions.
    values
        How many values for each dimension of a Box.

    Examples
    --------
    >>> from gymnasium.spaces import Box, Discrete, MultiDiscrete
    >>> actions_of(Discrete(2, start=-1))
    [-1, 0]
    >>> [action.tolist() for action in actions_of(MultiDiscrete([1, 2]))]
    [[0, 0], [0, 1]]
    >>> [action.tolist() for action in actions_of(Box(-2, 2), values=3)]
    [[-2.0], [0.0], [2.0]]
    """
    values = whole(values, "values", least=1)
    kind = type(space).__name__
    if kind == "Discrete":
        # Some environments compare with `is`, or index tables: plain ints suit them all.
        return [int(space.start) + k for k in range(int(space.n))]
    if kind == "MultiDiscrete":
        starts, counts = np.ravel(space.start), np.ravel(space.nvec)
        ranges = [[int(s) + k for k in range(int(n))] for s, n in zip(starts, counts, strict=True)]
    elif kind == "MultiBinary":
        ranges = [[0, 1]] * int(np.prod(space.shape))
    elif kind == "Box":
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise ValueError(f"a Box of actions must be bounded to be covered, got {space}")
        ends = zip(np.ravel(space.low).tolist(), np.ravel(space.high).tolist(), strict=True)
        ranges = [_covering(low, high, values, space.dtype) for low, high in ends]
    else:
        raise TypeError(
            f"actions must be Discrete, MultiDiscrete, MultiBinary or a Box, got {space}; "
            "give a simulator of your own, whose actions may be anything"
        )
    count = math.prod(len(row) for row in ranges)
    if count > MOST_ACTIONS:
        raise ValueError(
            f"{space} makes {count} actions, and at most {MOST_ACTIONS} are planned for"
            + ("; give fewer values, simulator_of(env, values=2)" if kind == "Box" else "")
        )
    shape, dtype = space.shape, space.dtype
    return [np.array(row, dtype=dtype).reshape(shape) for row in itertools.product(*ranges)]


def _covering(low: float, high: float, values: int, dtype: Any) -> list[Any]:
    """Return evenly spaced values, in the type of a Box: of integers there may be fewer."""
    points = np.linspace(low, high, values) if values > 1 else np.array([(low + high) / 2])
    whole_numbers = np.issubdtype(dtype, np.integer)
    kept: list[Any] = np.unique(
        (np.rint(points) if whole_numbers else points).astype(dtype)
    ).tolist()
    return kept
