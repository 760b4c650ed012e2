"""Which parameters matter, and how the values depend on one of them."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bough.plotting.run import ABSENT, Array, Run
from bough.plotting.style import BLUE, GREY, ORANGE, axes, literal, say_empty

#: A number with more different values than this is cut into so many intervals of equal counts.
INTERVALS = 8
#: A parameter whose positive values spread over more than this factor is drawn on a log scale.
WIDE = 100.0


class Importance(NamedTuple):
    """Which parameters matter: each name with its share, the largest first."""

    names: list[str]
    shares: Array


class Slice(NamedTuple):
    """All values against one parameter.

    Attributes
    ----------
    name
        Of the parameter (`"step 3"` on a tree without names).
    at
        Its value in each trial that has one, as a number: for names their place in `categories`.
    values
        What those trials were told.
    trials
        Their ids.
    categories
        The names; None if it is a number.
    logarithmic
        Whether to draw it on a logarithmic scale.
    """

    name: str
    at: Array
    values: Array
    trials: list[int]
    categories: list[str] | None
    logarithmic: bool


def slice_data(source: Any, name: str | None = None) -> Slice:
    """Return the values against one parameter, by default that which matters most.

    >>> import bough
    >>> tree = bough.Tree(2, 2, labels=["no", "yes"])
    >>> result = bough.maximize(lambda words: words.count("yes"), tree, budget=4, rng=0)
    >>> slice_data(result, "step 1").categories
    ['no', 'yes']
    """
    run = Run.of(source)
    if name is None:
        ranked = importance_data(run).names
        name = ranked[0] if ranked else ""
    if name not in run.columns:
        known = ", ".join(map(repr, run.columns)) or "none: nothing was told"
        raise ValueError(f"name must be one of the parameters ({known}), got {name!r}")
    column = run.columns[name]
    chosen = [i for i, value in enumerate(column) if value is not ABSENT]
    values = run.told[chosen]
    ids = [run.told_trials[i].id for i in chosen]
    given = [column[i] for i in chosen]
    at, categories = numbers_of(given)
    wide = categories is None and len(at) > 0 and at.min() > 0 and at.max() > WIDE * at.min()
    return Slice(name, at, values, ids, categories, bool(wide))


def numbers_of(given: Sequence[Any]) -> tuple[Array, list[str] | None]:
    """Return values as numbers; those that are none by their place in the list of all."""
    kinds = {type(x) for x in given}
    if all(issubclass(kind, Real) and not issubclass(kind, bool | np.bool_) for kind in kinds):
        numbers = np.array(given, dtype=float)
        if np.isfinite(numbers).all():
            return numbers, None
    texts = [str(x) for x in given]
    place = {text: i for i, text in enumerate(sorted(set(texts)))}
    return np.array([place[text] for text in texts], dtype=float), list(place)


def importance_data(source: Any) -> Importance:
    """Return how much of the variance of the values each parameter explains by itself.

    It is the share of the variance between groups of trials that agree in the parameter (numbers in
    eight intervals), less what chance would explain (the adjusted R^2), and at least 0. Trials are
    where the search went, not a random sample: it says what made a difference there. A parameter
    that some trials do not have explains nothing of what they differ from the others in: that is
    the work of the choice on which it depends.

    >>> import bough
    >>> result = bough.maximize(lambda path: path[1], bough.Tree(3, 2), budget=9, rng=0)
    >>> importance_data(result).names[0]
    'step 2'
    """
    run = Run.of(source)
    shares = {name: _explained(column, run.told) for name, column in run.columns.items()}
    ranked = sorted(shares, key=lambda name: -shares[name])  # equal ones in their order
    return Importance(ranked, np.array([shares[name] for name in ranked]))


def _explained(column: Sequence[Any], values: Array) -> float:
    has = np.array([value is not ABSENT for value in column], dtype=bool)
    at, categories = numbers_of([value for value in column if value is not ABSENT])
    if categories is None and len(np.unique(at)) > INTERVALS:
        edges = np.unique(np.quantile(at, np.arange(1, INTERVALS) / INTERVALS))
        at = np.searchsorted(edges, at, side="right").astype(float)
    groups = np.unique(at, return_inverse=True)[1]
    all_together, values = _squares(values), values[has]
    total = _squares(values)
    count, kinds = len(values), int(groups.max(initial=-1)) + 1
    if kinds < 2 or count <= kinds or total <= 0.0 or not math.isfinite(all_together):
        return 0.0
    means = np.bincount(groups, values) / np.bincount(groups)
    within = float(((values - means[groups]) ** 2).sum())
    explained = max(0.0, 1.0 - (within / (count - kinds)) / (total / (count - 1)))
    return explained * (total / all_together)


def _squares(values: Array) -> float:
    """Return the sum of the squares of what values differ from their mean by."""
    return float(((values - values.mean()) ** 2).sum()) if len(values) else 0.0


def importance(source: Any, *, most: int = 20, ax: Any = None) -> Any:
    """Draw which parameters matter, the most important on top; return the Axes."""
    data = importance_data(source)
    ax = axes(ax)
    if not data.names:
        return say_empty(ax, "nothing was told")
    names, shares = data.names[:most], data.shares[:most]
    ax.barh(np.arange(len(names)), shares, color=BLUE)
    ax.set_yticks(np.arange(len(names)), [literal(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("share of the variance of the values that it explains by itself")
    return ax


def slice_of(source: Any, name: str | None = None, *, ax: Any = None) -> Any:
    """Draw all values against one parameter, by default the most important; return the Axes."""
    run = Run.of(source)
    ax = axes(ax)
    if not run.columns:
        return say_empty(ax, "nothing was told")
    data = slice_data(run, name)
    dense = len(data.at) > 2000
    ax.plot(data.at, data.values, ".", color=GREY, alpha=0.2 if dense else 0.6, rasterized=dense)
    best = int(np.argmax(run.sign * data.values)) if len(data.values) else None
    if best is not None:
        ax.plot(data.at[best], data.values[best], "o", color=ORANGE, label="best value")
        ax.legend(fontsize="small")
    if data.categories is not None:
        texts = [literal(name) for name in data.categories]
        crowded = sum(map(len, texts)) > 60
        ax.set_xticks(np.arange(len(texts)), texts, rotation=90 if crowded else 0)
    if data.logarithmic:
        ax.set_xscale("log")
    ax.set_xlabel(literal(data.name))
    ax.set_ylabel("value")
    return ax
