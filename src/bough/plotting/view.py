"""One view of a search for all figures, made from a result, a study, a plan or a searcher."""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief
from bough.belief.best_arm import Arm
from bough.learning.posterior import paths_of
from bough.planning import Plan
from bough.run.result import Evaluation, Result, best_trial
from bough.searchers import GPTS, Certificate, Searcher
from bough.searchers.base import negative_arm, negative_certificate
from bough.spaces import Forest, PartitionSearcher, Space
from bough.spaces.parameters import Parameter
from bough.spaces.partition import Cell, Partition
from bough.spaces.searcher import SpaceSearcher
from bough.studies.study import Study
from bough.studies.trials import Trial, best_completed
from bough.trees import Path, Tree

Array = NDArray[np.float64]

#: The first steps of a path count as parameters where a search has no others.
MOST_STEPS = 30
#: The entry of a trial that lacks a parameter. (None may be an option like any other.)
ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "ABSENT"})()


class Observation(NamedTuple):
    """One reward: its node, its parts, and the standard deviation of the noise of each."""

    path: Path
    values: list[float]
    noises: list[float]

    def give_to(self, belief: Belief) -> None:
        """Let another belief observe the reward."""
        if len(self.values) == 1:
            belief.observe(self.path, self.values[0], noise=self.noises[0])
        else:
            belief.observe_steps(self.path, self.values, noise=self.noises)


def observations(belief: Belief) -> list[Observation]:
    """Return the observations of a belief, one for each reward."""
    observed = belief.observations
    paths = paths_of(belief, observed["node"].tolist())
    values = observed["value"].tolist()
    noises = np.sqrt(observed["variance"]).tolist()
    # The steps of a reward are stored from the last one upward; only the first is of F.
    ends = (np.flatnonzero(observed["of_step"] == 0) + 1).tolist()
    begins = [0, *ends[:-1]]
    return [
        Observation(paths[begin] or (), values[begin:end][::-1], noises[begin:end][::-1])
        for begin, end in zip(begins, ends, strict=False)
    ]


@dataclass(frozen=True)
class ShownTree:
    """The tree that figures show, and the belief about it.

    On a plain tree there is no space. A forest has several partitions: the one that asks next is
    shown. A plan's belief has a scale: a value is `offset` plus `unit` times what the belief says.
    """

    tree: Tree | None = None
    belief: Belief | None = None  # None also before the first observation
    search: GPTS | Forest | None = None  # the searcher with this belief, if it is one of these
    space: Space | None = None
    partition: Partition | None = None  # of the space: what the tree stands for
    number: int = 0  # of the partition,
    partitions: int = 1  # out of this many
    unit: float = 1.0
    offset: float = 0.0

    @classmethod
    def of(cls, searcher: Any) -> "ShownTree":
        """Return the tree that is shown of a searcher, or of None."""
        if isinstance(searcher, Forest):
            if not searcher.observations:
                return cls(space=searcher.space)
            asking = searcher.asking
            return cls(asking.belief.tree, asking.belief, searcher, searcher.space,
                       asking.partition, searcher.turn, searcher.trees)  # fmt: skip
        space = None
        if isinstance(searcher, PartitionSearcher):
            space, searcher = searcher.space, searcher.search
        belief = getattr(searcher, "belief", None)
        return cls(
            getattr(searcher, "tree", None),
            belief if isinstance(belief, Belief) and len(belief) else None,
            searcher if isinstance(searcher, GPTS) else None,
            space,
            None if space is None else space.partition,
        )

    @property
    def forest(self) -> Forest | None:
        """The searcher, if it is a forest with observations."""
        return self.search if isinstance(self.search, Forest) else None

    @property
    def exact(self) -> bool:
        """Whether this is a forest whose values are known to have no noise."""
        return self.forest is not None and self.forest.trials.noisy is False

    def value(self, mean: Any) -> Any:
        """Return a mean of the belief in the units of the user."""
        return self.offset + self.unit * mean

    @property
    def suffix(self) -> str:
        """The end of labels, which names the partition if it is one of several."""
        several = f"; partition {self.number + 1} of {self.partitions}"
        return several if self.partitions > 1 else ""

    def names(self, parent: Sequence[int], step: Sequence[int]) -> list[str] | None:
        """Return the cell or option of each node, parents first; None on a plain tree."""
        if self.partition is None:
            return None
        names, cells = [""], [Cell(self.partition)]
        for above, taken in zip(parent[1:], step[1:], strict=True):
            cell = copy(cells[above])
            cell.ranges = dict(cell.ranges)
            slot = cell.slot  # which the children divide
            cell.enter(taken)
            name, parameter = self.partition.slots[slot].name, self.partition.slots[slot].parameter
            names.append(f"{name} {_range(parameter, *cell.ranges[slot])}")
            cells.append(cell)
        return names


def _range(parameter: Parameter, low: Any, high: Any) -> str:
    """Return the values of a cell as text."""
    if parameter.count is not None:
        first, last = (str(parameter.value(i)) for i in (int(low), int(high - 1)))
        return f"= {first}" if first == last else f"{first} to {last}"
    begin, end = parameter.value(low), parameter.value(high)
    largest = max(abs(begin), abs(end))
    for digits in range(3, 17):  # enough to round by at most 2 % of the width
        if end - begin > 2.5 * 10.0 ** (2 - digits) * largest:
            break
    return f"{begin:.{digits}g} to {end:.{digits}g}"


@dataclass(frozen=True)
class SearchView:
    """The trials of a search and its searcher.

    Without a result or a study, `trials` are those with a value. A study may not hold the searcher,
    which is None then. When minimizing, the searcher has the negated values.
    """

    trials: Sequence[Trial]
    searcher: Searcher | SpaceSearcher | None
    direction: str = "maximize"
    stopped_by: str | None = None
    study: Study | None = None
    plan: Plan | None = None

    @classmethod
    def of(cls, source: Any) -> "SearchView":
        """Return the view of a `Result`, `Study`, `planning.Plan`, or searcher with a belief.

        >>> import bough
        >>> SearchView.of(bough.maximize(sum, bough.Tree(2, 3), budget=3, rng=0)).values.shape
        (3,)
        """
        if isinstance(source, SearchView):
            return source
        if isinstance(source, Result) and source.study is not None:
            return replace(cls.of(source.study), stopped_by=source.stopped_by)
        if isinstance(source, Result):
            trials = [trial._replace(id=i) for i, trial in enumerate(source.history.trials)]
            return cls(trials, source.searcher, source.direction, source.stopped_by)
        if isinstance(source, Study):
            searcher = source.searcher if source.replayed else None
            return cls(source.trials, searcher, source.specification["direction"], study=source)
        if isinstance(source, Plan):
            policy, searcher = source.policy, source.searcher  # (a plan on the graph has none)
            trials = _trials((play.path, None, policy.total(play)) for play in policy.playouts)
            return cls(trials, searcher, stopped_by=source.stopped_by, plan=source)
        if isinstance(source, Forest):
            path, params = source.space.partition.path, source.trials.params_of
            found = source.trials.observations()
            trials = _trials((path(x.point), params(x.point), x.value, x.noise) for x in found)
            return cls(trials, source)
        belief = getattr(source, "belief", None)
        if isinstance(source, Searcher) and isinstance(belief, Belief):
            return cls(_trials((o.path, None, sum(o.values)) for o in observations(belief)), source)
        raise TypeError(
            "source must be a bough.Result, a bough.Study, a plan or a searcher with a belief, "
            f"got {source!r}"
        )

    # ------------------------------------------------------------------ the belief

    @property
    def sign(self) -> float:
        """The factor between a value and the reward that the searcher sees."""
        return -1.0 if self.direction == "minimize" else 1.0

    @property
    def tree(self) -> Tree | None:
        """The tree that is searched, if it is known."""
        return getattr(self.searcher, "tree", None)

    @cached_property
    def labels(self) -> Any:
        """The labels of the tree, or the names of the actions of a plan, if there are any."""
        if self.plan is None:
            return getattr(self.tree, "labels", None)
        actions = [str(a.tolist() if hasattr(a, "tolist") else a) for a in self.plan.available]
        numbered = actions == [str(i) for i in range(len(actions))]
        return None if numbered else [actions] * self.plan.depth

    def label(self, path: Path) -> Any:
        """Return the label of the last step of a path."""
        return self.labels(path) if callable(self.labels) else self.labels[len(path) - 1][path[-1]]

    def decode(self, path: Path) -> tuple[Any, ...]:
        """Return the labels of the steps of a path; the steps if there are none."""
        if self.labels is None:
            return path
        return tuple(self.label(path[: i + 1]) for i in range(len(path)))

    def names(self, parent: Sequence[int], step: Sequence[int]) -> list[str] | None:
        """Return the names of nodes, given their parents and steps; None if there are none.

        Nodes come after their parents; the first is the root, whose name is empty.
        """
        cells = self.shown.names(parent, step)
        if cells is not None or self.labels is None:
            return cells
        paths: list[Path] = [()]
        for above, taken in zip(parent[1:], step[1:], strict=True):
            paths.append((*paths[above], taken))
        return ["", *(str(self.label(path)) for path in paths[1:])]

    @cached_property
    def shown(self) -> ShownTree:
        """The tree that figures show: that of the searcher, or a partition of its space."""
        shown = ShownTree.of(self.searcher)
        if self.plan is None:
            return shown
        return replace(shown, unit=self.plan.policy.unit, offset=self.plan.policy.offset)

    @property
    def belief(self) -> Belief | None:
        """The belief about that tree, if the searcher has one and there are observations."""
        return self.shown.belief

    @property
    def has_node_means(self) -> bool:
        """Whether the belief has a mean for every node, and not only for complete paths."""
        model = None if self.belief is None else self.belief.kernel.label_model
        return self.belief is not None and (model is None or not model.of_leaves)

    def posterior(self, paths: Sequence[Path]) -> tuple[Array, Array]:
        """Return mean and standard deviation at nodes, as values of the user."""
        assert self.belief is not None  # the caller checks it
        mean, std = self.belief.posterior(paths)
        return 0.0 + self.sign * self.shown.value(mean), self.shown.unit * std

    def prior_std(self, paths: Sequence[Path]) -> Array:
        """Return the prior standard deviation at nodes."""
        belief = self.belief
        assert belief is not None  # the caller checks it
        variance = np.cumsum(belief.kernel.increments(belief.tree.depth))[[len(p) for p in paths]]
        model = belief.kernel.label_model
        if model is not None:
            ends = [belief.tree.is_leaf(path) for path in paths]
            variance = variance + model.variances(paths, ends, belief.tree.depth)
        return self.shown.unit * np.sqrt(variance)

    @cached_property
    def paths(self) -> list[Path]:
        """The path of each observation in that tree."""
        if self.belief is None or self.plan is not None:  # a plan observes each step of a play
            return [trial.path for trial in self.completed]
        return [observed.path for observed in observations(self.belief)]

    @property
    def best_path(self) -> Path | None:
        """The path of the best arm in that tree, as far as nodes exist in a partition."""
        best, forest = self.best, self.shown.forest
        if best is None:
            return None
        if forest is None or best.params is None:
            return best.path
        path = forest.asking.partition.path(forest.space.point(best.params))
        return path[: forest.asking.belief.explored_steps(path)]

    @cached_property
    def best(self) -> Arm | None:
        """The arm that the searcher recommends; without a searcher the best observed one."""
        nan = float("nan")
        if self.plan is not None:
            visits = sum(trial.path == self.plan.path for trial in self.trials)
            bounds = nan, nan
            return Arm(self.plan.path, None, self.plan.value, self.plan.std, *bounds, None, visits)
        if self.searcher is not None and self.searcher.observations:
            arm = best_completed(self.searcher, self.trials, self.sign)
            return negative_arm(arm) if arm is not None and self.sign < 0 else arm
        if not len(self.values):
            return None
        top = self.completed[int(np.argmax(self.sign * self.values))]
        value = float(top.value or 0.0)
        return Arm(top.path, top.params, value, nan, nan, nan, value, 1)

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate; None if the searcher has none."""
        if self.plan is not None:
            return self.plan.certificate
        if self.searcher is None or not self.searcher.observations:
            return None
        found = getattr(self.searcher, "certificate", None)
        return negative_certificate(found) if found is not None and self.sign < 0 else found

    @cached_property
    def expected_best(self) -> tuple[float, float, float] | None:
        """Mean and standard deviation of the best of all, and the expected gap; None if unknown."""
        expect = getattr(self.searcher, "expected_best", None)
        if expect is None or self.plan is not None or not self.searcher.observations:  # type: ignore[union-attr]
            return None
        found = expect()
        known = math.isfinite(found.mean) and math.isfinite(found.std)
        return (0.0 + self.sign * found.mean, found.std, found.gap) if known else None

    @cached_property
    def best_observed(self) -> Evaluation | None:
        """The trial with the best value."""
        return best_trial(self.completed, self.sign)

    @property
    def misfit(self) -> str | None:
        """A sentence that says why the model does not fit; None if nothing is known against it."""
        return getattr(self.searcher, "misfit", None)

    @property
    def bounds(self) -> tuple[float, float]:
        """The known bounds of a value."""
        low, high = (-math.inf, math.inf) if self.shown.search is None else self.shown.search.bounds
        return (0.0 - high, 0.0 - low) if self.sign < 0 else (low, high)

    # ------------------------------------------------------------------ the trials

    @cached_property
    def completed(self) -> list[Trial]:
        """The trials that have a value, in the order in which they ended."""
        completed = [trial for trial in self.trials if trial.state == "completed"]
        return sorted(completed, key=lambda trial: trial.ended or 0.0)

    @cached_property
    def values(self) -> Array:
        """The values of those trials."""
        return np.array([trial.value for trial in self.completed], dtype=float)

    @property
    def best_values(self) -> Array:
        """The best value up to each of them."""
        return self.sign * np.maximum.accumulate(self.sign * self.values)

    def choices_of(self, trial: Trial) -> Mapping[str, Any]:
        """Return the parameters of a trial by name, or the steps of its path."""
        if trial.params is not None:
            return dict(trial.params)
        labels = self.decode(trial.path[:MOST_STEPS])
        return {f"step {i + 1}": label for i, label in enumerate(labels)}

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """The choices of the completed trials, a list for each name, with ABSENT for none."""
        return columns_of([self.choices_of(trial) for trial in self.completed])

    @property
    def has_named_choices(self) -> bool:
        """Whether choices have names or labels, and not only numbers of steps."""
        if self.labels is not None:
            return True
        return len(self.trials) > 0 and self.trials[0].params is not None


def _trials(rows: Iterable[tuple[Any, ...]]) -> list[Trial]:
    """Return completed trials, given path, params, value and perhaps noise of each."""
    return [
        Trial(i, path, params, value, "completed", float(i), float(i), *noise)
        for i, (path, params, value, *noise) in enumerate(rows)
    ]


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return a list for each name in any of the rows, in the order of their first occurrence.

    >>> columns_of([{"x": 1}, {"y": 2}])
    {'x': [1, ABSENT], 'y': [ABSENT, 2]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, ABSENT) for row in rows] for name in names}
