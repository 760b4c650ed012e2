"""Problems by name, with parameters: `trap`, `drawn:gaussian:3`, `smooth:20:5:noise=0.3`."""

import difflib
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from bough import kernels
from bough._text import parameters
from bough.problems import functions, ragged, trees
from bough.problems.base import Problem
from bough.problems.functions import Function, Partitioned


def _partitioned(
    function: Callable[[int], Function],
    *,
    cuts: int,
    parts: int,
    dimension: int = 2,
    noise: float = 0.0,
    seed: int = 0,
) -> Partitioned:
    """Partition the box of a function of a dimension."""
    return Partitioned(function(dimension), cuts, parts, noise=noise, seed=seed)


def _test_functions() -> dict[str, Callable[..., Problem]]:
    """Return the test functions and their noisy versions, with partitions of a useful size.

    Functions with a minimum in the middle of their box are cut into three parts: cut into two, the
    minimum would stay on the border of cells.
    """
    usual: list[tuple[Callable[[int], Function], int, int]] = [
        (lambda _: functions.BRANIN, 8, 2),
        (lambda _: functions.HIMMELBLAU, 8, 2),
        (lambda _: functions.HARTMANN6, 3, 2),
        (functions.rastrigin, 5, 3),
        (functions.ackley, 5, 3),
    ]
    makers: dict[str, Callable[..., Problem]] = {}
    for function, cuts, parts in usual:
        name, noise = function(2).name, function(2).noise
        make = partial(_partitioned, function, cuts=cuts, parts=parts)
        makers[name], makers[f"noisy-{name}"] = make, partial(make, noise=noise)
    return makers


def _drawn() -> dict[str, Callable[..., Problem]]:
    """Return the problems drawn from the prior of each registered kernel."""
    return {f"drawn:{name}": trees.drawn_from(family) for name, family in kernels.named().items()}


#: Problems by name: functions of `seed`, `noise` and the parameters that `named` passes on.
BY_NAME: dict[str, Callable[..., Problem]] = {
    "smooth": trees.Smooth,
    "rough": trees.Rough,
    "trap": trees.Trap,
    "needle": trees.Needle,
    "sequence": trees.HiddenScore,
    "route": ragged.Route,
    "expression": ragged.Expression,
    "discounted:bernoulli": partial(trees.DiscountedBandits, rewards="bernoulli"),
    "discounted:uniform": partial(trees.DiscountedBandits, rewards="uniform"),
    **_drawn(),
    **_test_functions(),
}


def kind_of(text: str) -> str | None:
    """Return the name of a problem that a text begins with, or None.

    >>> kind_of("drawn:gaussian:3:depth=5"), kind_of("mine.py:total")
    ('drawn:gaussian', None)
    """
    names = BY_NAME | _drawn()  # kernels may have been registered since
    return max((n for n in names if text == n or text.startswith(n + ":")), key=len, default=None)


def named(text: str, *, seed: int = 0, **given: Any) -> Problem:
    """Make a problem by its name, followed by parameters separated by colons.

    A parameter is positional (for the kernel, in `drawn:...`) or `key=value`.

    >>> named("drawn:gaussian:3:depth=5", seed=1).kernel
    Gaussian(width=3, variance=1.0)
    >>> named("smooth:20:5:noise=0.3", seed=1)
    Smooth(Tree(20, 5), noise=0.3, seed=1)
    """
    if not isinstance(text, str):
        raise TypeError(f"the name of a problem must be a text such as 'smooth', got {text!r}")
    name = kind_of(text)
    if name is None:
        raise ValueError(unknown_name("problem", text, text.split(":")[0], BY_NAME))
    places, keywords = parameters(text[len(name) + 1 :])
    for key in (*given, "seed"):
        if key in keywords:
            raise ValueError(f"problem {text!r}: {key} is given apart from the name; leave it out")
    try:
        problem = (BY_NAME | _drawn())[name](*places, seed=seed, **keywords, **given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"problem {text!r}: {error}") from None
    problem.name = text
    return problem


def unknown_name(kind: str, text: str, name: str, known: Collection[str]) -> str:
    """Return the message about a text whose name is not known, with the nearest of those known."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"there is no {kind} {text!r}{hint}; there are {', '.join(sorted(known))}"
