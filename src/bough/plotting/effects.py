"""Effects of labels: the contribution of every choice to the reward of a path."""

from typing import Any, NamedTuple

import numpy as np

from bough._text import printable
from bough.belief.belief import Belief
from bough.plotting.style import BLUE, GRAY, axes, empty, literal
from bough.plotting.view import Array, SearchView

#: Half the width of the intervals, in standard deviations: 95 %.
DEVIATIONS = 1.96


class Effects(NamedTuple):
    """The posterior of the effects of labels, the best effect first.

    Each is relative to the average label of the same depths: rewards do not determine a constant
    that is added to the effects of all labels of a depth, so the effects themselves remain
    uncertain. If strengths vary with depth, effects are those at the first depth.
    """

    labels: list[str]
    mean: Array
    std: Array  #: posterior standard deviation
    visits: Array  #: number of evaluations with the label, times its occurrences on the path
    total: int  #: number of all labels observed; those with the largest effects are listed

    @property
    def low(self) -> Array:
        """The lower ends of 95 % intervals."""
        return self.mean - DEVIATIONS * self.std

    @property
    def high(self) -> Array:
        """The upper ends of 95 % intervals."""
        return self.mean + DEVIATIONS * self.std


def effects_data(source: Any, most: int = 20) -> Effects | None:
    """Return the effects of labels; None without observations, or without a kernel with labels.

    Parameters
    ----------
    source
        A `Result`, a `Study`, a searcher or a `Belief`.
    most
        The largest number of labels. If there are more, those with the largest effects, positive
        or negative.

    Examples
    --------
    >>> import bough
    >>> from bough import kernels
    >>> kernel = kernels.Labeled(kernels.Geometric(None), labels=lambda path: "abc"[path[-1]])
    >>> search = bough.GPTS(bough.Tree(3, 4), kernel, rng=0)
    >>> result = bough.maximize(sum, search.tree, searcher=search, budget=20)
    >>> effects_data(result).labels
    ['c', 'b', 'a']
    """
    if isinstance(source, Belief):
        belief, unit = (source if len(source) else None), 1.0
    else:
        view = SearchView.of(source)
        belief, unit = view.belief, view.sign * view.shown.unit
    if belief is None or belief.effects is None or belief.effects.model.of_leaves:
        return None
    labels, mean, std, visits = _compared(belief, belief.effects)
    kept = np.argsort(-np.abs(mean), kind="stable")[:most]
    kept = kept[np.argsort(-mean[kept], kind="stable")]
    return Effects(
        [label_text(labels[i]) for i in kept],
        0.0 + unit * mean[kept],
        abs(unit) * std[kept],
        visits[kept],
        len(labels),
    )


def _compared(belief: Belief, effects: Any) -> tuple[list[Any], Array, Array, Array]:
    """Return the labels observed, mean and deviation of their effects beside others, and visits."""
    z, C = effects.posterior
    number, nodes = effects.labels_of_nodes, belief.nodes
    has = number >= 0
    visits = np.bincount(number[has], nodes["visits"][has], minlength=len(effects.keys))
    seen = np.flatnonzero(visits)
    group = _groups(number[has], nodes["depth"][has])
    psi = np.array(effects.coordinates)
    for first in set(group[seen].tolist()):
        members = seen[group[seen] == first]
        if len(members) > 1:  # the effect of a single label is compared with nothing
            psi[members] -= psi[members].mean(axis=0)
    psi = psi[seen]
    std = np.sqrt(np.maximum(np.einsum("ij,ij->i", psi @ C, psi), 0.0))
    return [effects.keys[i] for i in seen], psi @ z, std, visits[seen].astype(int)


def _groups(labels: Any, depths: Any) -> Any:
    """Return a number for each label: the same for labels that occur at a common depth.

    >>> _groups(np.array([0, 1, 2, 1]), np.array([1, 1, 2, 3])).tolist()
    [0, 0, 2]
    """
    group = np.arange(labels.max(initial=-1) + 1)
    for depth in np.unique(depths):
        joined = np.unique(group[labels[depths == depth]])
        group[np.isin(group, joined)] = joined[0]
    return group


def label_text(label: Any) -> str:
    """Return a label as text, with rounded numbers.

    >>> label_text(("C", 7)), label_text((0.123456, 1.0))
    ('C 7', '0.123 1')
    """
    if isinstance(label, tuple) and label:
        return " ".join(map(label_text, label))
    return f"{label:.3g}" if isinstance(label, float) else printable(label)


def effects(source: Any, most: int = 20, *, ax: Any = None) -> Any:
    """Draw the effects of labels with 95 % intervals, the best on top; return the Axes."""
    data = effects_data(source, most)
    ax = axes(ax)
    if data is None:
        return empty(ax, "no observations yet, or a kernel without labels")
    rows = np.arange(len(data.labels))
    certain = (data.low > 0.0) | (data.high < 0.0)
    for chosen, color, meaning in (
        (certain, BLUE, "95 % interval"),
        (~certain, GRAY, "95 % interval that contains 0"),
    ):
        if chosen.any():
            ax.errorbar(
                data.mean[chosen], rows[chosen], xerr=DEVIATIONS * data.std[chosen], fmt="o",
                color=color, markersize=4, capsize=2, label=meaning,
            )  # fmt: skip
    ax.axvline(0.0, color=GRAY, linewidth=0.8)
    ax.set_yticks(rows, [literal(name) for name in data.labels])
    ax.invert_yaxis()
    ax.set_xlabel("effect on the value, relative to the average label of the same depths")
    if data.total > len(rows):
        ax.set_title(f"the {len(rows)} largest effects of {data.total:,}", fontsize="small")
    ax.legend(fontsize="small")
    return ax
