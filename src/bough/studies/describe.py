"""Trees, kernels and options as plain JSON, and back: what a study's file says of its search."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bough import kernels
from bough.confidence import Confidence
from bough.kernels import Kernel
from bough.means import Heuristic
from bough.trees import Tree


class NotInFile(ValueError):  # noqa: N818 - what is missing, not what went wrong
    """Something is a function of the program, so no file can hold it."""


def describe(value: Any) -> Any:
    """Return a value as JSON can say it; of a function, its name.

    >>> describe(kernels.Gaussian(3.0))
    {'class': 'Gaussian', 'width': 3.0, 'variance': 1.0}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (tuple, list)):
        return [describe(item) for item in value]
    if isinstance(value, (Kernel, Confidence)) and dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {"class": type(value).__name__} | {
            field.name: describe(getattr(value, field.name)) for field in fields
        }
    if isinstance(value, Heuristic):
        return {"function": f"Heuristic of {name_of(value.function)}"}
    return {"function": name_of(value)}


def rebuild(description: Any, name: str) -> Any:
    """Return the value that was described; `NotInFile` if it was a function."""
    if isinstance(description, list):
        return tuple(rebuild(item, name) for item in description)
    if not isinstance(description, dict):
        return description
    if "float" in description:
        return float(description["float"])
    if "function" in description:
        raise NotInFile(f"{name} is {description['function']}, which the file cannot hold")
    parts = {key: rebuild(part, name) for key, part in description.items() if key != "class"}
    classes: dict[str, Any] = {"Confidence": Confidence, **kernels.registered()}
    found = classes.get(description["class"])
    if found is None:
        raise NotInFile(
            f"{name} is a {description['class']}, which is not defined: import the module that "
            "defines this kernel first"
        )
    return found(**parts)


def name_of(function: Any) -> str:
    """Say what can be said of a function or an object."""
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{kind.__module__}.{kind.__qualname__}"


def describe_tree(tree: Tree) -> dict[str, Any]:
    """Return a tree as JSON can say it."""
    branching: Any = {"function": name_of(tree._given)}
    labels: Any = tree.labels
    if tree.counts is not None:
        alike = len(set(tree.counts)) == 1 and (callable(labels) or _all_alike(labels))
        branching = describe(tree.counts[0] if alike else tree.counts)
        if alike and labels is not None and not callable(labels):
            labels = labels[0]
    elif labels is not None and not callable(labels):
        labels = labels[0]  # (with a function as branching there is one list for all depths)
    described = {"branching": branching, "depth": tree.depth, "labels": describe(labels)}
    return described | {"log_arms": tree._log_arms}


def _all_alike(labels: list[Any] | None) -> bool:
    return labels is None or all(row == labels[0] for row in labels)


def rebuild_tree(description: dict[str, Any]) -> Tree:
    """Return the tree that was described; `NotInFile` if it has functions."""
    return Tree(
        rebuild(description["branching"], "the tree's branching"),
        description["depth"],
        labels=rebuild(description["labels"], "the tree's labels"),
        log_arms=description["log_arms"],
    )


def describe_seed(rng: np.random.Generator | int | None) -> Any:
    """Return a seed as JSON can say it: an int, or the state of a generator; drawn if None."""
    if rng is None:
        return np.random.SeedSequence().entropy
    if isinstance(rng, np.random.Generator):
        return {"generator": _plain(rng.bit_generator.state)}
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        raise TypeError(f"rng must be None, an int or a numpy.random.Generator, got {rng!r}")
    if rng < 0:
        raise ValueError(f"rng must not be negative, got {rng}")
    return int(rng)


def rebuild_seed(description: Any) -> np.random.Generator | int:
    """Return the seed, or the generator as it was."""
    if not isinstance(description, dict):
        return int(description)
    state = description["generator"]
    kind: Callable[[], Any] = getattr(np.random, state["bit_generator"])
    bits = kind()
    bits.state = state
    return np.random.Generator(bits)


def _plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _plain(part) for key, part in state.items()}
    return state.tolist() if isinstance(state, (np.ndarray, np.generic)) else state


def fingerprint(specification: dict[str, Any]) -> str:
    """Return a short name of all that a study's file says of its search."""
    text = json.dumps(specification, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
