"""Whether two states are the same, whatever they are made of."""

import types
from collections import deque
from typing import Any

import numpy as np

from bough.planning.randomness import GENERATORS


def equal_states(one: Any, other: Any) -> bool:
    """Compare two states: numbers, arrays, containers, and objects by all that they hold.

    Equal is what a deep copy would be equal to, bit for bit; NaN equals NaN. Random generators are
    not compared: what they will draw is not part of a state that a planner may know.
    """
    return _equal(one, other, {})


def _equal(one: Any, other: Any, begun: dict[tuple[int, int], Any]) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _equal_arrays(one, other, begun)
    if isinstance(one, (int, float, complex, str, bytes, np.generic)):
        return _equal_values(one, other)
    if isinstance(one, GENERATORS):
        return isinstance(other, GENERATORS)
    pair = id(one), id(other)
    if pair in begun:  # things that hold one another: whether they differ is being found out
        return True
    begun[pair] = one, other  # (alive, or others might get their ids)
    if isinstance(one, (tuple, list, deque)):
        if not isinstance(other, (tuple, list, deque)) or len(one) != len(other):
            return False
        return all(_equal(a, b, begun) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        if not isinstance(other, dict) or one.keys() != other.keys():
            return False
        return all(_equal(one[key], other[key], begun) for key in one)
    if type(one) is not type(other):
        return False
    if isinstance(one, (set, frozenset, types.FunctionType, type)):
        return bool(one == other)
    if isinstance(one, types.MethodType):
        return one.__func__ is other.__func__ and _equal(one.__self__, other.__self__, begun)
    return _equal_objects(one, other, begun)


def _equal_values(one: Any, other: Any) -> bool:
    same = one == other or (one != one and other != other)
    return bool(same)


def _equal_arrays(one: Any, other: Any, begun: dict[tuple[int, int], Any]) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.hasobject or other.dtype.hasobject:
        return one.shape == other.shape and _equal(one.tolist(), other.tolist(), begun)
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc" and other.dtype.kind in "fc")


def _equal_objects(one: Any, other: Any, begun: dict[tuple[int, int], Any]) -> bool:
    """Compare what a copy would be made of; what does not say that is not known to be equal."""
    try:
        parts, others = one.__reduce_ex__(4), other.__reduce_ex__(4)
    except Exception:  # whatever an object raises that cannot be pickled
        return False
    if isinstance(parts, str) or isinstance(others, str):
        return bool(parts == others)
    lists = [[list(x) if hasattr(x, "__next__") else x for x in rest] for rest in (parts, others)]
    return _equal(lists[0], lists[1], begun)
