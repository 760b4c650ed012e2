"""Specifications of studies: trees, kernels, options and seeds as plain JSON, and back."""

import copy
import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from bough import kernels
from bough._validation import interval, whole
from bough.confidence import Confidence
from bough.exceptions import StudyError
from bough.kernels import Kernel, LabelKernel
from bough.kernels.labels import registered_label_kernels
from bough.means import Heuristic
from bough.searchers import Searcher
from bough.searchers.registry import make_searcher
from bough.spaces import Space
from bough.spaces.searcher import SpaceSearcher
from bough.spaces.space import describe as describe_space
from bough.spaces.space import rebuild as rebuild_space
from bough.structures import STRUCTURES
from bough.studies.trials import Domain
from bough.trees import Tree

#: Errors of a description that is not what it should be. Lists in lists, and so on, exceed the
#: recursion limit.
INVALID = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
#: Before the names of kernels between labels, which may be those of other kernels.
LABEL_KERNEL = "labels."
#: The bit generators of NumPy. A file never chooses another function to be called.
BIT_GENERATORS: dict[str, Callable[[], Any]] = {
    "MT19937": np.random.MT19937,
    "PCG64": np.random.PCG64,
    "PCG64DXSM": np.random.PCG64DXSM,
    "Philox": np.random.Philox,
    "SFC64": np.random.SFC64,
}


class NotInFile(ValueError):  # noqa: N818 - a ValueError by its base class
    """Raised for a function of the program, which no file can hold."""


def describe(value: Any) -> Any:
    """Return a value in a form that JSON can hold; of a function, its name.

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
    if isinstance(value, (Kernel, LabelKernel, Confidence)) and dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        prefix = LABEL_KERNEL if isinstance(value, LabelKernel) else ""
        return {"class": prefix + type(value).__name__} | {
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
    if "function" in description and "class" not in description:
        raise NotInFile(f"{name} is {description['function']}, which the file cannot hold")
    parts = {key: rebuild(part, name) for key, part in description.items() if key != "class"}
    classes: dict[str, Any] = {
        "Confidence": Confidence,
        **kernels.registered(),
        **{LABEL_KERNEL + name: kind for name, kind in registered_label_kernels().items()},
    }
    found = classes.get(description["class"])
    if found is None:
        raise NotInFile(
            f"{name} is a {description['class']}, which is not defined: import the module that "
            "defines this kernel first"
        )
    return found(**parts)


def name_of(function: Any) -> str:
    """Return the name of a function, or of the class of an object."""
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{kind.__module__}.{kind.__qualname__}"


def describe_tree(tree: Tree) -> dict[str, Any]:
    """Return a tree in a form that JSON can hold."""
    if tree.structure is not None:
        parts = {
            field.name: describe(getattr(tree.structure, field.name))
            for field in dataclasses.fields(tree.structure)  # type: ignore[arg-type]
        }
        return {"structure": tree.structure.kind} | parts
    branching: Any = {"function": name_of(tree._given)}
    labels: Any = tree.labels
    listed = labels is not None and not callable(labels)
    alike = True  # all depths: with a function as branching there is one list of labels
    if tree.counts is not None:
        alike = len(set(tree.counts)) == 1 and not (listed and any(r != labels[0] for r in labels))
        branching = describe(tree.counts[0] if alike else tree.counts)
    if alike and listed:
        labels = labels[0]
    described = {"branching": branching, "depth": tree.depth, "labels": describe(labels)}
    return described | {"log_arms": tree._log_arms}


def rebuild_tree(description: dict[str, Any]) -> Tree:
    """Return the tree that was described; `NotInFile` if it has functions."""
    if "structure" in description:
        parts = {
            name: rebuild(part, f"the tree's {name}")
            for name, part in description.items()
            if name != "structure"
        }
        return Tree.of(STRUCTURES[description["structure"]](**parts))
    return Tree(
        rebuild(description["branching"], "the tree's branching"),
        description["depth"],
        labels=rebuild(description["labels"], "the tree's labels"),
        log_arms=description["log_arms"],
    )


def describe_seed(rng: np.random.Generator | int | None) -> Any:
    """Return a seed for JSON: an int, or the state of a generator; drawn if None."""
    if rng is None:
        return np.random.SeedSequence().entropy
    if isinstance(rng, np.random.Generator):
        kind = type(rng.bit_generator).__name__
        if kind not in BIT_GENERATORS:
            raise TypeError(
                f"rng must have a bit generator that a file can name ({', '.join(BIT_GENERATORS)}),"
                f" got {kind}"
            )
        state = json.dumps(rng.bit_generator.state, default=lambda array: array.tolist())
        return {"generator": json.loads(state)}
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        raise TypeError(f"rng must be None, an int or a numpy.random.Generator, got {rng!r}")
    if rng < 0:
        raise ValueError(f"rng must not be negative, got {rng}")
    return int(rng)


def rebuild_seed(description: Any) -> np.random.Generator | int:
    """Return the seed, or the generator as it was."""
    if not isinstance(description, dict):
        return whole(description, "the seed", least=0)
    state = description["generator"]
    name = state["bit_generator"]
    if name not in BIT_GENERATORS:
        raise ValueError(f"its bit generator must be one of {sorted(BIT_GENERATORS)}, got {name!r}")
    bits = BIT_GENERATORS[name]()
    bits.state = state
    return np.random.Generator(bits)


def fingerprint(specification: dict[str, Any]) -> str:
    """Return a short digest of a specification."""
    text = json.dumps(specification, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# ---------------------------------------------------------------------- specifications


def check_specification(specification: Any) -> dict[str, Any]:
    """Return a specification from a file; raise one of `INVALID` if it cannot be one."""
    if "generation" in specification:
        return _check_generation(specification)
    domains = [specification[kind] for kind in ("tree", "space") if kind in specification]
    if len(domains) != 1 or not isinstance(domains[0], dict):
        raise ValueError("its specification must have a tree or a space")
    if specification["direction"] not in ("maximize", "minimize"):
        raise ValueError(f"its direction is {specification['direction']!r}")
    if not isinstance(specification["searcher"], (str, dict)):
        raise TypeError(f"its searcher is {specification['searcher']!r}")
    if not isinstance(specification["options"], dict):
        raise TypeError(f"its options are {specification['options']!r}")
    if not isinstance(specification["about"], (str, type(None))):
        raise TypeError(f"it is about {specification['about']!r}")
    if specification["begin"] is not None:
        whole(specification["begin"], "its first state", least=-(2**63), most=2**63 - 1)
    if specification["seed"] is not None:
        rebuild_seed(specification["seed"])
    json.dumps(specification, allow_nan=True)  # it is not nested too deeply
    return specification  # type: ignore[no-any-return]


def _check_generation(specification: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(specification["generation"], dict):
        raise TypeError(f"its arguments are {specification['generation']!r}")
    for name in ("key", "codec", "about"):
        if not isinstance(specification[name], (str, type(None))):
            raise TypeError(f"its {name} is {specification[name]!r}")
    rebuild_seed(specification["seed"])
    return specification


def not_valid(file: FilePath, error: BaseException) -> StudyError:
    """Return the error of a file that is intact, and whose content cannot be that of a study."""
    said = "it is nested too deeply" if isinstance(error, RecursionError) else repr(error)
    return StudyError(f"{file} is not a valid study: {said[:500]}")


def specify(
    tree_or_space: Tree | Space, searcher: Any, rng: Any, direction: str, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the specification of a study; of functions, their names."""
    made = callable(searcher) or isinstance(searcher, (Searcher, SpaceSearcher))
    return _describe_domain(tree_or_space) | {
        "searcher": describe(searcher),
        "options": {name: describe(option) for name, option in options.items()},
        "direction": direction,
        "seed": None if made else describe_seed(rng),
    }


def _describe_domain(domain: Tree | Space) -> dict[str, Any]:
    if isinstance(domain, Space):
        return {"space": describe_space(domain, plain=False)}
    return {"tree": describe_tree(domain)}


def sign_of(specification: dict[str, Any]) -> float:
    """Return the factor of values before a searcher, which maximizes, observes them."""
    return -1.0 if specification["direction"] == "minimize" else 1.0


def in_sign(options: dict[str, Any], direction: str) -> dict[str, Any]:
    """Return the options of a searcher: bounds of values become those of rewards.

    >>> in_sign({"bounds": (0.0, None), "noise": 0.1}, "minimize")
    {'bounds': (-inf, 0.0), 'noise': 0.1}
    """
    if direction == "maximize" or options.get("bounds") is None:
        return options
    low, high = interval(options["bounds"], "bounds")
    return options | {"bounds": (0.0 - high, 0.0 - low)}


def check_new(search: Any) -> Any:
    """Refuse a searcher with observations, which would not be in the record."""
    if search.observations or search.pending:
        raise ValueError(
            f"searcher must be a new one, since the study records all observations; {search!r} "
            f"has {search.observations} observations and {len(search.pending)} pending"
        )
    return search


def check_domain(file: FilePath, specification: dict[str, Any], given: Any) -> Tree | Space:
    """Return the tree or space of a study; refuse another one."""
    kind = "space" if "space" in specification else "tree"
    if "generation" in specification:
        raise StudyError(
            f"{file} is a study of generated answers: use bough.generation.GenerationStudy.open"
        )
    recorded = specification[kind]
    if given is None:
        if '{"object": ' in json.dumps(recorded):
            raise StudyError(f"{file} cannot hold options that are objects: open it with tree=...")
        try:
            return rebuild_space(recorded) if kind == "space" else rebuild_tree(recorded)
        except NotInFile as error:
            raise StudyError(f"{error}: open {file} with tree=...") from None
        except INVALID as error:
            raise not_valid(file, error) from error
    Domain(given, "tree")
    ((other, described),) = _describe_domain(given).items()
    if other != kind:
        raise StudyError(f"{file} is a study of a {kind}, not of a {other}")
    for part in {**recorded, **described}:
        was, now = recorded.get(part), described.get(part)
        if was != now:
            difference = f"its {part} is {was}, not {now}"
            if kind == "space" and (was is None or now is None):
                having = "the given one" if was is None else "the study"
                difference = f"only {having} has a parameter {part!r}"
            raise StudyError(f"{file} is a study of another {kind}: {difference}")
    if kind == "space" and list(described) != list(recorded):
        raise StudyError(
            f"{file} is a study of another space: its parameters come in another order, "
            f"{list(recorded)}"
        )
    return given  # type: ignore[no-any-return]


def searcher_factory(
    file: FilePath,
    specification: dict[str, Any],
    domain: Tree | Space,
    searcher: Any,
    options: dict[str, Any],
) -> tuple[Callable[[], Any] | None, list[str]]:
    """Return a function that makes the searcher of a study as it was when the study began.

    It is None if the file cannot hold the searcher and it was not given again. Also return the
    recorded options that the searcher no longer has; their defaults are used.
    """
    recorded, was = specification["options"], specification["searcher"]
    if recorded.get("bounds") is not None:
        try:
            bounds = interval(rebuild(recorded["bounds"], "bounds"), "bounds")
        except INVALID as error:
            raise not_valid(file, error) from error
        recorded = recorded | {"bounds": describe(bounds)}
    if options.get("bounds") is not None:
        options = options | {"bounds": interval(options["bounds"], "bounds")}
    if searcher is not None and describe(searcher) != was:
        raise StudyError(f"{file} is a study by {was}, not by {describe(searcher)}")
    for name, option in options.items():
        if option is not None and name not in recorded:
            raise StudyError(
                f"{file} is a study without the option {name}; it has {recorded or 'none'}"
            )
        if describe(option) != recorded.get(name):
            raise StudyError(
                f"{file} is a study with {name}={recorded.get(name)}, not {describe(option)}"
            )
    if isinstance(was, dict):
        if searcher is None:
            return None, []
        return lambda: _make_given(searcher, domain, specification["begin"]), []
    try:
        parts = {
            name: rebuild(option, name) for name, option in recorded.items() if name not in options
        }
    except NotInFile:
        return None, []
    except INVALID as error:
        raise not_valid(file, error) from error
    parts |= {name: option for name, option in options.items() if name in recorded}
    parts = in_sign(parts, specification["direction"])

    def make() -> Any:
        return make_searcher(was, domain, rebuild_seed(specification["seed"]), parts)

    dropped: list[str] = []
    while True:
        try:
            make()
            return make, dropped
        except INVALID as error:
            refused = re.search(r"unexpected keyword argument '(\w+)'|^(\w+) must be", str(error))
            refusal = "" if refused is None else refused[1] or refused[2]
            if refused is None or refusal not in parts:
                raise not_valid(file, error) from error
            option = parts.pop(refusal)
            dropped.append(refusal if refused[1] else f"{refusal}={option!r}")


def _make_given(given: Any, domain: Tree | Space, begin: int | None) -> Any:
    """Return a searcher that was given, or is made by a function; in the state `begin`."""
    if isinstance(given, (Searcher, SpaceSearcher)):
        search = copy.deepcopy(check_new(given))
    else:
        search = check_new(make_searcher(given, domain, None))
    if begin is not None:  # so a program whose seed is drawn can be resumed too
        search.random_state = begin
    return search
