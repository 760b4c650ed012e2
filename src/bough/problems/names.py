"""Problems by name, with parameters: `trap`, `drawn:gaussian:3`, `smooth:20:5:noise=0.3`."""

import difflib
from collections.abc import Callable
from functools import partial
from typing import Any

from bough import kernels
from bough._text import parameters
from bough.problems.base import Problem
from bough.problems.covering import Covering
from bough.problems.discounted import DiscountedBandits
from bough.problems.drawn import drawn_from
from bough.problems.functions import BRANIN, HARTMANN6, HIMMELBLAU, Function, ackley, rastrigin
from bough.problems.needle import Needle
from bough.problems.rough import Rough
from bough.problems.sequences import HiddenScore
from bough.problems.smooth import Smooth
from bough.problems.trap import Trap


def _cover(
    function: Callable[[int], Function],
    *,
    cuts: int,
    parts: int,
    dimension: int = 2,
    noise: float | None = None,
    noisy: bool = False,
    seed: int = 0,
) -> Covering:
    """Cover the box of a function; the noise of its noisy version is that of the function."""
    cut = function(dimension)
    if noise is None:
        noise = cut.noise if noisy else 0.0
    problem = Covering(cut, cuts, parts, noise=noise, seed=seed)
    problem.name = f"noisy-{cut.name}" if noisy else cut.name
    return problem


def _coverings() -> dict[str, Callable[..., Problem]]:
    """Return the test functions and their noisy versions, with coverings of a useful size.

    Those with a minimum in the middle of their box are cut into three: cut into two, it would lie
    on the border of cells for ever.
    """
    usual: list[tuple[Callable[[int], Function], int, int]] = [
        (lambda _: BRANIN, 8, 2),
        (lambda _: HIMMELBLAU, 8, 2),
        (lambda _: HARTMANN6, 3, 2),
        (rastrigin, 5, 3),
        (ackley, 5, 3),
    ]
    makers: dict[str, Callable[..., Problem]] = {}
    for function, cuts, parts in usual:
        name = function(2).name
        makers[name] = partial(_cover, function, cuts=cuts, parts=parts)
        makers[f"noisy-{name}"] = partial(_cover, function, cuts=cuts, parts=parts, noisy=True)
    return makers


def _drawn() -> dict[str, Callable[..., Problem]]:
    """Return the problems drawn from the prior of each registered kernel."""
    return {f"drawn:{name}": drawn_from(family) for name, family in kernels.named().items()}


#: What is known by name: functions of `seed` and `noise`, and of what `named` passes on.
BY_NAME: dict[str, Callable[..., Problem]] = {
    "smooth": Smooth,
    "rough": Rough,
    "trap": Trap,
    "needle": Needle,
    "sequence": HiddenScore,
    "discounted:bernoulli": partial(DiscountedBandits, rewards="bernoulli"),
    "discounted:uniform": partial(DiscountedBandits, rewards="uniform"),
    **_drawn(),
    **_coverings(),
}


def kind_of(text: str) -> str | None:
    """Return the name that a text begins with, None if bough has no such problem.

    >>> kind_of("drawn:gaussian:3:depth=5"), kind_of("mine.py:total")
    ('drawn:gaussian', None)
    """
    names = BY_NAME | _drawn()  # kernels may have been registered since
    return max((n for n in names if text == n or text.startswith(n + ":")), key=len, default=None)


def named(text: str, *, seed: int = 0, **given: Any) -> Problem:
    """Make a problem by its name, followed by parameters if it has any, with colons between.

    What stands alone is a parameter by position (of the kernel, for `drawn:...`), `key=value` one
    by its name.

    >>> named("drawn:gaussian:3:depth=5", seed=1).kernel
    Gaussian(width=3, variance=1.0)
    >>> named("smooth:20:5:noise=0.3", seed=1)
    Smooth(Tree(20, 5), noise=0.3, seed=1)
    """
    name = kind_of(text)
    if name is None:
        near = difflib.get_close_matches(text.split(":")[0], BY_NAME, n=1)
        raise ValueError(
            f"there is no problem {text!r}"
            + (f" (did you mean {near[0]!r}?)" if near else "")
            + f"; there are {', '.join(sorted(BY_NAME))}"
        )
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
