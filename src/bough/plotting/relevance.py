"""What a search of a space has learnt of its parameters: how much the cuts of each explain."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bough.plotting.run import Array, Run
from bough.plotting.style import BLUE, GREY, axes, literal, say_empty
from bough.spaces import Choice, Forest, Space


class Relevance(NamedTuple):
    """How relevant each parameter was learnt to be, the most relevant first.

    Attributes
    ----------
    names
        Of the parameters; where a name recurs, with the option that it belongs to.
    factors
        By how much a cut of the parameter varies more (as a variance) than one of the average
        parameter whose cell is as wide. Those that vary most are cut first, and most often.
    learnt
        Whether that was learnt. Until there are a few rewards choices have a head start, and all
        other parameters are alike.
    """

    names: list[str]
    factors: Array
    learnt: bool


def relevance_data(source: Any) -> Relevance | None:
    """Return what a forest has learnt of the parameters; None if there are none to learn of.

    It is one belief of all partitions, by which they are made anew from time to time: automatic
    relevance determination. `importance_data` looks at the values themselves instead.

    >>> import bough
    >>> space = bough.Space(x=bough.Float(0, 1), y=bough.Float(0, 1))
    >>> result = bough.maximize(lambda p: -((p["x"] - 0.3) ** 2), space, budget=60, rng=0)
    >>> data = relevance_data(result)
    >>> data.names, bool(data.factors[0] > 10 * data.factors[1])
    (['x', 'y'], True)
    """
    run = Run.of(source)
    forest = run.shown.forest
    if forest is None or not len(forest.priority):  # a space may be empty
        return None
    names = slot_names(forest.space)
    priority = forest.priority
    factors = np.exp(priority - priority.mean())
    order = np.argsort(-factors, kind="stable")
    learnt = not np.array_equal(priority, Forest(forest.space).priority)
    return Relevance([names[i] for i in order], factors[order], learnt)


def slot_names(space: Space) -> list[str]:
    """Return a name for each parameter of a space, no two alike.

    >>> from bough import Choice, Int, Space
    >>> slot_names(Space(kind=Choice({"a": Space(n=Int(1, 9)), "b": Space(n=Int(1, 5))})))
    ['kind', 'n (kind = a)', 'n (kind = b)']
    """
    names = [slot.name for slot in space.slots]
    full = list(names)

    def spell(slots: Sequence[int], within: str) -> None:
        for number in slots:
            slot = space.slots[number]
            if names.count(slot.name) > 1:
                full[number] = f"{slot.name} ({within})"
            for option, inner in enumerate(slot.inner):
                assert isinstance(slot.parameter, Choice)  # nothing else has options
                spell(inner, f"{slot.name} = {slot.parameter.options[option]}")

    spell(space.roots, "")
    return full


def relevance(source: Any, *, most: int = 20, ax: Any = None) -> Any:
    """Draw how relevant each parameter was learnt to be, the most relevant on top.

    Returns the Axes.
    """
    data = relevance_data(source)
    ax = axes(ax)
    if data is None:
        return say_empty(ax, "only a forest, which searches a space of parameters, learns this")
    names, factors = data.names[:most], data.factors[:most]
    rows = np.arange(len(names))
    ax.barh(rows, np.log10(factors), color=BLUE if data.learnt else GREY)
    ax.set_yticks(rows, [literal(name) for name in names])
    ax.invert_yaxis()
    ax.axvline(0.0, color=GREY, linewidth=0.8)
    ax.set_xlabel("variance of a cut beside that of the average parameter, log10")
    if not data.learnt:
        ax.set_title("nothing was learnt yet", fontsize="small", color=GREY)
    return ax
