"""What is believed along a path, and what the kernel says of each depth."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bough.plotting.run import Array, Run
from bough.plotting.shown import of_partition
from bough.plotting.style import BLUE, GREY, ORANGE, axes, literal, rounded, say_empty
from bough.plotting.tree import explored_nodes, nodes_along
from bough.trees import Path

#: As many depths as can be written beside one another.
MOST_TICKS = 16


class Along(NamedTuple):
    """What is believed of the nodes on a path, from the root to its end.

    Attributes
    ----------
    path
        The path.
    mean, std
        Posterior mean and standard deviation at each node on it, one more than it has steps.
    prior
        The standard deviation before anything was told.
    visits
        Rewards told at the node or below.
    """

    path: Path
    mean: Array
    std: Array
    prior: Array
    visits: Array


def along_data(source: Any, path: Sequence[int] | None = None) -> Along:
    """Return what is believed along a path, by default the best one.

    >>> import bough
    >>> result = bough.maximize(sum, bough.Tree(2, 3), budget=8, rng=0)
    >>> data = along_data(result)
    >>> data.path == result.best.path, data.mean.shape
    (True, (4,))
    """
    run = Run.of(source)
    belief = run.belief
    if path is None:
        path = run.best_path or ()
    path = tuple(path)
    prefixes = [path[:i] for i in range(len(path) + 1)]
    visits = np.array(_visits(run, path))
    if belief is None:
        means = [
            np.mean([t.value for t in run.told_trials if t.path[: len(p)] == p] or [np.nan])
            for p in prefixes
        ]
        unknown = np.full(len(prefixes), np.nan)
        return Along(path, np.array(means), unknown, unknown, visits)
    mean, std = belief.posterior(prefixes)
    prior = np.sqrt(np.cumsum(belief.kernel.increments(belief.tree.depth)))[: len(prefixes)]
    unit = run.shown.unit
    return Along(path, 0.0 + run.sign * run.shown.value(mean), unit * std, unit * prior, visits)


def _visits(run: Run, path: Path) -> list[int]:
    """Return how many rewards were told at each node on a path, or below."""
    if run.shown.cover is not None:
        explored = explored_nodes(run)
        found: list[int] = explored.visits[nodes_along(explored, path)].tolist()
        return found + [0] * (len(path) + 1 - len(found))
    placed = [trial.path for trial in run.told_trials]
    return [sum(p[:i] == path[:i] for p in placed) for i in range(len(path) + 1)]


def along(source: Any, path: Sequence[int] | None = None, *, ax: Any = None) -> Any:
    """Draw mean and two standard deviations along a path; return the Axes."""
    run = Run.of(source)
    data = along_data(run, path)
    ax = axes(ax)
    if not len(run.told):
        return say_empty(ax, "nothing was told")
    depth = np.arange(len(data.mean))
    ax.plot(depth, data.mean, "o-", color=BLUE, markersize=4, label="mean")
    if np.isfinite(data.std).all():
        prior = 2 * data.prior
        ax.fill_between(depth, data.mean - prior, data.mean + prior, color=GREY, alpha=0.12,
                        linewidth=0, label="two standard deviations of the prior")  # fmt: skip
        ax.fill_between(depth, data.mean - 2 * data.std, data.mean + 2 * data.std, color=BLUE,
                        alpha=0.25, linewidth=0, label="two standard deviations now")  # fmt: skip
    steps = step_names(run, data.path)
    every = -(-len(steps) // MOST_TICKS)
    upright = max(map(len, steps)) > 8
    texts = [
        f"{i} {literal(step, 24)}" if upright else f"{i}\n{step}" for i, step in enumerate(steps)
    ]
    ax.set_xticks(depth[::every], texts[::every], fontsize="small", rotation=90 if upright else 0)
    ax.set_xlabel("depth and step" + of_partition(run.shown))
    ax.set_ylabel("reward")
    ax.legend(fontsize="small")
    return ax


def step_names(run: Run, path: Path) -> list[str]:
    """Return what the steps of a path are called, after an empty name for the root."""
    cells = run.shown.names(range(-1, len(path)), [-1, *path])
    if cells is not None:
        return cells
    if run.tree is not None and run.labels is not None:
        return ["", *map(str, run.decode(path))]
    return ["", *map(str, path)]


class Increments(NamedTuple):
    """What the kernel, given or learnt, says of each depth.

    Attributes
    ----------
    variance
        Variance that each depth adds, from the root (0) on.
    share
        The same as a share of the whole; zeros if there is none.
    noise
        Standard deviation of a reading.
    mean
        The prior mean at the root.
    kernel
        The kernel, as one would write it.
    learnt
        Whether any of it was learnt.
    """

    variance: Array
    share: Array
    noise: float
    mean: float
    kernel: str
    learnt: bool


def increments_data(source: Any) -> Increments | None:
    """Return what each depth adds; None for a searcher without a belief.

    >>> import bough
    >>> search = bough.GPTS(bough.Tree(2, 3), bough.kernels.Linear(), noise=0.1)
    >>> search.tell((0, 0, 0), 1.0)
    >>> increments_data(search).share.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    run = Run.of(source)
    belief = run.belief
    if belief is None:
        return None
    unit = run.shown.unit
    kernel = belief.kernel if unit == 1.0 else unit**2 * belief.kernel
    variance = kernel.increments(belief.tree.depth)
    total = float(variance.sum())
    share = variance / total if total > 0 else np.zeros(len(variance))
    learnt = bool(run.certificate is not None and run.certificate.conditional)
    mean = 0.0 + run.sign * run.shown.value(belief.center)
    return Increments(variance, share, unit * belief.noise, mean, repr(kernel), learnt)


def increments(source: Any, *, ax: Any = None) -> Any:
    """Draw the variance that each depth adds, and that of the noise; return the Axes."""
    data = increments_data(source)
    ax = axes(ax)
    if data is None:
        return say_empty(ax, "this searcher has no kernel, or was told nothing")
    ax.bar(np.arange(len(data.variance)), data.variance, color=BLUE, label="variance of the step")
    ax.axhline(data.noise**2, color=ORANGE, linestyle="--", label="variance of the noise")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("depth")
    ax.set_ylabel("variance")
    ax.set_title(("learnt: " if data.learnt else "") + rounded(data.kernel), fontsize="small")
    ax.legend(fontsize="small")
    return ax
