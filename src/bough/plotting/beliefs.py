"""The belief along the best path, and the kernel at each depth."""

import textwrap
from typing import Any, NamedTuple

import numpy as np

from bough.belief.belief import Belief
from bough.plotting.style import BLUE, GRAY, GREEN, ORANGE, axes, empty, labeled, literal, rounded
from bough.plotting.view import Array, SearchView
from bough.trees import Path

#: Number of depths that fit on an axis with their names.
MOST_TICKS = 16


class Along(NamedTuple):
    """The belief at the nodes of a path, from the root to its end."""

    path: Path
    mean: Array  #: posterior mean
    std: Array  #: posterior standard deviation
    prior: Array  #: prior standard deviation
    visits: Array  #: number of observations at the node or below


def along_data(source: Any) -> Along:
    """Return the belief along the best path.

    >>> import bough
    >>> result = bough.maximize(sum, bough.Tree(2, 3), budget=8, rng=0)
    >>> data = along_data(result)
    >>> data.path == result.best.path, data.mean.shape
    (True, (4,))
    """
    view = SearchView.of(source)
    path = view.best_path or ()
    prefixes = [path[:i] for i in range(len(path) + 1)]
    visits = np.array([sum(p[: len(q)] == q for p in view.paths) for q in prefixes])
    if not view.has_node_means:
        means = [
            np.mean([t.value for t in view.completed if t.path[: len(p)] == p] or [np.nan])
            for p in prefixes
        ]
        unknown = np.full(len(prefixes), np.nan)
        return Along(path, np.array(means), unknown, unknown, visits)
    return Along(path, *view.posterior(prefixes), view.prior_std(prefixes), visits)


def along(source: Any, *, ax: Any = None) -> Any:
    """Draw mean and two standard deviations along the best path; return the Axes."""
    view = SearchView.of(source)
    data = along_data(view)
    ax = axes(ax)
    if not len(view.values):
        return empty(ax)
    depth = np.arange(len(data.mean))
    ax.plot(depth, data.mean, "o-", color=BLUE, markersize=4, label="mean")
    if np.isfinite(data.std).all():
        for std, color, alpha, when in (
            (data.prior, GRAY, 0.12, "prior"),
            (data.std, BLUE, 0.25, "posterior"),
        ):
            low, high = (np.clip(data.mean + way * std, *view.bounds) for way in (-2.0, 2.0))
            ax.fill_between(depth, low, high, color=color, alpha=alpha, linewidth=0,
                            label=f"two {when} standard deviations")  # fmt: skip
    steps = step_names(view, data.path)
    every = -(-len(steps) // MOST_TICKS)
    upright = max(map(len, steps)) > 8
    texts = [
        f"{i} {literal(step, 24)}" if upright else f"{i}\n{step}" for i, step in enumerate(steps)
    ]
    ax.set_xticks(depth[::every], texts[::every], fontsize="small", rotation=90 if upright else 0)
    return labeled(ax, "depth and step" + view.shown.suffix, "mean")


def step_names(view: SearchView, path: Path) -> list[str]:
    """Return the names of the steps of a path, after an empty name for the root."""
    names = view.names(range(-1, len(path)), [-1, *path])
    return ["", *map(str, path)] if names is None else names


class Increments(NamedTuple):
    """The kernel, noise and mean of a belief."""

    variance: Array  #: what each depth adds, from the root (0) on; without effects of labels
    effects: Array  #: average variance of the effect of a label at each depth, 0 without labels
    noise: float
    mean: float
    kernel: str  #: as Python writes it
    fitted: bool  #: whether any of them was fitted


def increments_data(source: Any) -> Increments | None:
    """Return the variance that each depth adds; None for a searcher without a belief.

    >>> import bough
    >>> search = bough.GPTS(bough.Tree(2, 3), bough.kernels.Linear(), noise=0.1)
    >>> search.tell((0, 0, 0), 1.0)
    >>> increments_data(search).variance.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    view = SearchView.of(source)
    belief = view.belief
    if belief is None:
        return None
    unit = view.shown.unit
    kernel = belief.kernel if unit == 1.0 else unit**2 * belief.kernel
    variance = kernel.increments(belief.tree.depth)
    fitted = bool(view.certificate is not None and view.certificate.conditional)
    mean = 0.0 + view.sign * view.shown.value(belief.center)
    effects = unit**2 * _effects(belief)
    return Increments(variance, effects, unit * belief.noise, mean, repr(kernel), fitted)


def _effects(belief: Belief) -> Array:
    """Return the average variance of the effects of the labels known, at each depth."""
    if belief.effects is None or not len(belief.effects.keys):
        return np.zeros(belief.tree.depth + 1)
    model = belief.effects.model
    average = np.mean([model.between.matrix([key])[0, 0] for key in belief.effects.keys])
    if model.of_leaves:
        return np.append(np.zeros(belief.tree.depth), average)
    found: Array = average * model.strengths(belief.tree.depth) ** 2
    return found


def increments(source: Any, *, ax: Any = None) -> Any:
    """Draw the variance that each depth adds, and that of the noise; return the Axes."""
    data = increments_data(source)
    ax = axes(ax)
    if data is None:
        return empty(ax, "no observations yet, or a searcher without a kernel")
    depth = np.arange(len(data.variance))
    ax.bar(depth, data.variance, color=BLUE, label="variance of the step")
    if data.effects.any():
        ax.bar(depth, data.effects, bottom=data.variance, color=GREEN, label="variance of labels")
    ax.axhline(data.noise**2, color=ORANGE, linestyle="--", label="variance of the noise")
    ax.xaxis.get_major_locator().set_params(integer=True)
    title = ("fitted: " if data.fitted else "") + rounded(data.kernel)
    ax.set_title(
        "\n".join(literal(line, 80) for line in textwrap.wrap(title, 70)), fontsize="small"
    )
    return labeled(ax, "depth", "variance")
