"""Parameters: the importance of each, the values against one, and the relevance in a space."""

import math
import sys
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bough.plotting.beliefs import increments_data
from bough.plotting.style import BLUE, GRAY, ORANGE, axes, empty, literal
from bough.plotting.view import ABSENT, Array, SearchView
from bough.spaces import Forest, Space

#: Numbers with more distinct values than this are grouped into this many intervals.
INTERVALS = 8
#: Positive values that spread over more than this factor are drawn on a logarithmic scale.
WIDE = 100.0
#: Number of parts of the trials, each of which is left out once, and the half width of an interval
#: in standard errors (95 % of Student's distribution with 19 degrees of freedom).
PARTS = 20
WIDTH = 2.093
#: Sums of squares, relative to the largest one, that are rounding errors.
ROUNDING = 1e-24
TINY = sys.float_info.min
#: Number of parameters that are drawn.
MOST_BARS = 20


class Importance(NamedTuple):
    """The names of parameters or steps with their shares of the variance, the largest first.

    `low` and `high` are the ends of 95 % intervals of the shares; nan where the shares are those of
    a kernel.
    """

    names: list[str]
    shares: Array
    low: Array
    high: Array


class Slice(NamedTuple):
    """The values of all trials that have one parameter, against it."""

    name: str  #: of the parameter (`"step 3"` on a tree without names)
    at: Array  #: the parameter: a number, or an index into `categories`
    values: Array
    trials: list[int]  #: their ids
    categories: list[str] | None  #: None if the parameter is a number
    logarithmic: bool  #: whether the parameter is drawn on a logarithmic scale


def slice_data(source: Any, name: str | None = None) -> Slice:
    """Return the values against one parameter, by default the most important one.

    >>> import bough
    >>> tree = bough.Tree(2, 2, labels=["no", "yes"])
    >>> result = bough.maximize(lambda words: words.count("yes"), tree, budget=4, rng=0)
    >>> slice_data(result, "step 1").categories
    ['no', 'yes']
    """
    view = SearchView.of(source)
    if name is None:
        ranked = importance_data(view).names
        name = ranked[0] if ranked else ""
    if name not in view.columns:
        known = ", ".join(map(repr, view.columns)) or "none: no observations yet"
        raise ValueError(f"name must be one of the parameters ({known}), got {name!r}")
    column = view.columns[name]
    chosen = [i for i, value in enumerate(column) if value is not ABSENT]
    ids = [view.completed[i].id for i in chosen]
    at, categories = numbers_of([column[i] for i in chosen])
    wide = categories is None and len(at) > 0 and at.min() > 0 and at.max() > WIDE * at.min()
    return Slice(name, at, view.values[chosen], ids, categories, bool(wide))


def numbers_of(given: Sequence[Any]) -> tuple[Array, list[str] | None]:
    """Return values as numbers, and None; or as indices into sorted categories, and these."""
    kinds = {type(x) for x in given}
    if all(issubclass(kind, Real) and not issubclass(kind, bool | np.bool_) for kind in kinds):
        numbers = np.array(given, dtype=float)
        if np.isfinite(numbers).all():
            return numbers, None
    texts = [str(x) for x in given]
    index = {text: i for i, text in enumerate(sorted(set(texts)))}
    return np.array([index[text] for text in texts], dtype=float), list(index)


def importance_data(source: Any) -> Importance:
    """Return the share of the variance of the values that each parameter or step explains.

    On a tree it is the contribution of the step in addition to the steps before it, according to
    the kernel of the search: its increment divided by the sum of all increments and the variance of
    the noise. (Groups of trials would confound a step with those before it, since a search
    evaluates some prefixes far more often.)

    In a space, and for a searcher without a kernel, it is the adjusted R^2 (at least 0) of groups
    of trials that agree in the parameter, with numbers in eight intervals. The trials are those of
    the search, not a random sample. The difference between trials with and without a conditional
    parameter is attributed to the choice that it depends on, not to the parameter. The intervals
    are those of a jackknife that leaves out one of 20 parts of the trials at a time. With fewer
    than 20 trials with the parameter they are from 0 to 1.

    >>> import bough
    >>> result = bough.maximize(lambda path: path[1], bough.Tree(3, 2), budget=9, rng=0)
    >>> importance_data(result).names[0]
    'step 2'
    """
    view = SearchView.of(source)
    steps = increments_data(view) if view.shown.space is None else None
    if steps is None:
        found = {name: _explained(column, view.values) for name, column in view.columns.items()}
    else:
        variance = steps.variance[1:] + steps.effects[1:]  # that of the root is common to all paths
        shares = variance / max(float(variance.sum()) + steps.noise**2, TINY)
        unknown = math.nan, math.nan
        found = dict(zip(view.columns, ((share, *unknown) for share in shares), strict=False))
    ranked = sorted(found, key=lambda name: -found[name][0])  # stable
    table = np.array([found[name] for name in ranked], dtype=float).reshape(-1, 3)
    return Importance(ranked, *table.T)


def _explained(column: Sequence[Any], values: Array) -> tuple[float, float, float]:
    """Return the share of the variance that a parameter explains, and its interval."""
    has = np.array([value is not ABSENT for value in column], dtype=bool)
    at, categories = numbers_of([value for value in column if value is not ABSENT])
    if categories is None and len(np.unique(at)) > INTERVALS:
        edges = np.unique(np.quantile(at, np.arange(1, INTERVALS) / INTERVALS))
        at = np.searchsorted(edges, at, side="right").astype(float)
    kinds, present = np.unique(at, return_inverse=True)
    groups = np.full(len(values), len(kinds))  # the last one is of trials without the parameter
    groups[has] = present
    with np.errstate(over="ignore", invalid="ignore"):
        centered = values - values.mean()
        scale = float(np.abs(centered).max(initial=0.0))
    if scale == 0.0 or not math.isfinite(scale):
        return 0.0, 0.0, 1.0 if has.sum() < PARTS else 0.0
    centered /= scale
    count = min(PARTS, len(values))
    part = np.random.default_rng(0).permutation(len(values)) % count
    shape = count, len(kinds) + 1
    cell = part * shape[1] + groups
    sums = np.array([
        np.bincount(cell, centered**power, math.prod(shape)).reshape(shape) for power in (0, 1, 2)
    ])  # fmt: skip
    share = float(_adjusted(sums.sum(axis=1)))
    if has.sum() < PARTS:
        return max(share, 0.0), 0.0, 1.0
    without = _adjusted(sums.sum(axis=1, keepdims=True) - sums)
    std = math.sqrt((count - 1) / count * float(((without - without.mean()) ** 2).sum()))
    low, high = share - WIDTH * std, share + WIDTH * std
    return max(share, 0.0), min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def _adjusted(sums: Array) -> Array:
    """Return the adjusted R^2 of groups times their share of the variance of all values.

    `sums` has the numbers, sums and sums of squares of the values (first axis) in groups (last
    axis), of which the last one does not count as a group.
    """
    number, total, squares = (part.sum(axis=-1) for part in sums[..., :-1])
    kinds = (sums[0, ..., :-1] > 0.5).sum(axis=-1)
    in_groups = (sums[1, ..., :-1] ** 2 / np.maximum(sums[0, ..., :-1], 1.0)).sum(axis=-1)
    among = squares - total**2 / np.maximum(number, 1.0)
    within = np.maximum(squares - in_groups, 0.0)
    whole = sums.sum(axis=-1)
    overall = whole[2] - whole[1] ** 2 / np.maximum(whole[0], 1.0)
    known = (kinds >= 2) & (number > kinds) & (among > ROUNDING) & (overall > ROUNDING)
    freedom = (number - 1) / np.where(known, number - kinds, 1.0)
    explained = among - within * freedom
    return np.where(known, explained / np.where(known, overall, 1.0), 0.0)


def importance(source: Any, *, ax: Any = None) -> Any:
    """Draw the importance of the parameters, the most important on top; return the Axes."""
    data = importance_data(source)
    ax = axes(ax)
    if not data.names:
        return empty(ax)
    _bars(ax, data.names, data.shares)
    rows = np.arange(min(len(data.names), MOST_BARS))
    ends = np.maximum([data.shares - data.low, data.high - data.shares], 0.0)[:, : len(rows)]
    if np.isfinite(ends).any():
        ax.errorbar(data.shares[: len(rows)], rows, xerr=ends, fmt="none", ecolor=GRAY, capsize=2)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("importance: share of the variance of the values")
    return ax


def _bars(ax: Any, names: Sequence[str], lengths: Array, color: str = BLUE) -> None:
    """Draw horizontal bars with names, the first on top."""
    rows = np.arange(min(len(names), MOST_BARS))
    ax.barh(rows, lengths[:MOST_BARS], color=color)
    ax.set_yticks(rows, [literal(name) for name in names[:MOST_BARS]])
    ax.invert_yaxis()


def slice_of(source: Any, name: str | None = None, *, ax: Any = None) -> Any:
    """Draw all values against one parameter, by default the most important; return the Axes."""
    view = SearchView.of(source)
    ax = axes(ax)
    if not view.columns:
        return empty(ax)
    data = slice_data(view, name)
    dense = len(data.at) > 2000
    ax.plot(data.at, data.values, ".", color=GRAY, alpha=0.2 if dense else 0.6, rasterized=dense)
    if len(data.values):
        best = int(np.argmax(view.sign * data.values))
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


# ---------------------------------------------------------------------- relevance


class Relevance(NamedTuple):
    """The relevance of the parameters of a space, the most relevant first.

    A factor is the variance of a cut of the parameter over that of the average parameter, in cells
    of the same width: parameters with a large one are cut first, and most often. It describes the
    partitions of the search; `importance_data` has the importance of a parameter. Until factors are
    fitted, choices have a larger factor, and all other parameters the same one.
    """

    names: list[str]  #: a name that recurs is followed by the option it belongs to
    factors: Array
    fitted: bool


def relevance_data(source: Any) -> Relevance | None:
    """Return the relevance of the parameters in a forest; None if there are no parameters.

    All partitions are made with these factors (automatic relevance determination).
    `importance_data` is computed from the values instead.

    >>> import bough
    >>> space = bough.Space(x=bough.Float(0, 1), y=bough.Float(0, 1))
    >>> result = bough.maximize(lambda p: -((p["x"] - 0.3) ** 2), space, budget=60, rng=0)
    >>> data = relevance_data(result)
    >>> data.names, bool(data.factors[0] > 10 * data.factors[1])
    (['x', 'y'], True)
    """
    forest = SearchView.of(source).shown.forest
    if forest is None or not len(forest.priority):  # a space may be empty
        return None
    names = slot_names(forest.space)
    priority = forest.priority
    factors = np.exp(priority - priority.mean())
    order = np.argsort(-factors, kind="stable")
    fitted = not np.array_equal(priority, Forest(forest.space).priority)
    return Relevance([names[i] for i in order], factors[order], fitted)


def slot_names(space: Space) -> list[str]:
    """Return a unique name for each parameter of a space.

    >>> from bough import Choice, Int, Space
    >>> slot_names(Space(kind=Choice({"a": Space(n=Int(1, 9)), "b": Space(n=Int(1, 5))})))
    ['kind', 'n (kind = a)', 'n (kind = b)']
    """
    names = [slot.name for slot in space.slots]
    within = [""] * len(names)
    for slot in space.slots:
        for option, inner in enumerate(slot.inner):
            for number in inner:
                within[number] = f"{slot.name} = {slot.parameter.value(option)}"
    return [
        f"{name} ({option})" if names.count(name) > 1 else name
        for name, option in zip(names, within, strict=True)
    ]


def relevance(source: Any, *, ax: Any = None) -> Any:
    """Draw the relevance of the parameters of a forest, the highest on top; return the Axes."""
    data = relevance_data(source)
    ax = axes(ax)
    if data is None:
        return empty(ax, "only a forest, which searches a space, has relevances")
    _bars(ax, data.names, np.log10(data.factors), BLUE if data.fitted else GRAY)
    ax.axvline(0.0, color=GRAY, linewidth=0.8)
    ax.set_xlabel("relevance: log10 of the variance of a cut / that of an average cut")
    if not data.fitted:
        ax.set_title("not fitted yet", fontsize="small", color=GRAY)
    return ax
