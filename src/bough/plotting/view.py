"""One view of a search for all figures, made from a result, a study, a plan or a searcher."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief
from bough.belief.best_arm import Arm
from bough.planning import Plan
from bough.plotting.history import observations
from bough.plotting.shown import ShownTree
from bough.run.result import Result
from bough.searchers import Certificate, Searcher
from bough.searchers.base import negative_arm, negative_certificate
from bough.spaces import Forest
from bough.spaces.searcher import SpaceSearcher
from bough.studies.study import Study
from bough.studies.trials import Trial
from bough.trees import Path, Tree

Array = NDArray[np.float64]

#: The first steps of a path count as parameters where a search has no others.
MOST_STEPS = 30
#: The entry of a trial that lacks a parameter. (None may be an option like any other.)
ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "ABSENT"})()


@dataclass(frozen=True)
class SearchView:
    """The trials of a search and its searcher.

    Attributes
    ----------
    trials
        All trials; those with a value for a search without a study.
    searcher
        The searcher as it is now; None for a study that does not hold it.
    direction
        `"maximize"` or `"minimize"`. When minimizing, the searcher sees negated values.
    stopped_by
        The reason why the search stopped, if it is known.
    study
        The study of the search, if there is one.
    plan
        The plan that the search was made for, if there is one.
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
            history = source.history
            rows = zip(
                history.paths,
                history.params,
                history.values.tolist(),
                history.seconds.tolist(),
                strict=True,
            )
            trials = [
                Trial(i, path, params, value, "completed", seconds, seconds)
                for i, (path, params, value, seconds) in enumerate(rows)
            ]
            return cls(trials, source.searcher, source.direction, source.stopped_by)
        if isinstance(source, Study):
            searcher = source.searcher if source.replayed else None
            return cls(source.trials, searcher, source.specification["direction"], study=source)
        if isinstance(source, Plan):
            policy = source.policy
            trials = [
                Trial(i, play.path, None, policy.total(play), "completed", float(i), float(i))
                for i, play in enumerate(policy.playouts)
            ]
            return cls(trials, policy.searcher, stopped_by=source.stopped_by, plan=source)
        if isinstance(source, Forest):
            trials = [
                Trial(
                    i, source.space.partition.path(seen.point), source.trials.params_of(seen.point),
                    seen.value, "completed", float(i), float(i), seen.noise,
                )
                for i, seen in enumerate(source.trials.observations())
            ]  # fmt: skip
            return cls(trials, source)
        belief = getattr(source, "belief", None)
        if isinstance(source, Searcher) and isinstance(belief, Belief):
            trials = [
                Trial(i, observed.path, None, sum(observed.values), "completed", float(i), float(i))
                for i, observed in enumerate(observations(belief))
            ]
            return cls(trials, source)
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

    @property
    def labels(self) -> Any:
        """The labels of the tree, or the names of the actions of a plan, if there are any."""
        if self.plan is not None:
            numbered = self._actions == [str(i) for i in range(len(self._actions))]
            return None if numbered else [self._actions] * self.plan.depth
        return getattr(self.tree, "labels", None)

    @cached_property
    def _actions(self) -> list[str]:
        assert self.plan is not None  # only a plan has actions
        return [str(a.tolist() if hasattr(a, "tolist") else a) for a in self.plan.available]

    def decode(self, path: Path) -> Any:
        """Return the labels of the steps of a path."""
        if self.plan is not None:
            return tuple(self._actions[step] for step in path)
        assert self.tree is not None  # a tree with labels is known
        return self.tree.decode(path)

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

    @cached_property
    def paths(self) -> list[Path]:
        """The path of each observation in that tree."""
        if self.belief is None or self.plan is not None:  # a plan observes each step of a play
            return [trial.path for trial in self.completed]
        return [observed.path for observed in observations(self.belief)]

    @property
    def best_path(self) -> Path | None:
        """The path of the best arm in that tree."""
        best = self.best
        return None if best is None else self.shown.path(best.path, best.params)

    @cached_property
    def best(self) -> Arm | None:
        """The arm that the searcher recommends; without a searcher the best observed one."""
        nan = float("nan")
        if self.plan is not None:
            visits = sum(trial.path == self.plan.path for trial in self.trials)
            bounds = nan, nan
            return Arm(self.plan.path, None, self.plan.value, self.plan.std, *bounds, None, visits)
        if self.searcher is not None and self.searcher.observations:
            arm = self.searcher.best()
            return negative_arm(arm) if self.sign < 0 else arm
        if not len(self.values):
            return None
        top = self.completed[int(np.argmax(self.sign * self.values))]
        value = float(top.value or 0.0)
        return Arm(top.path, self.params_of(top), value, nan, nan, nan, value, 1)

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate; None if the searcher has none."""
        if self.plan is not None:
            return self.plan.certificate
        if self.searcher is None or not self.searcher.observations:
            return None
        found = getattr(self.searcher, "certificate", None)
        return negative_certificate(found) if found is not None and self.sign < 0 else found

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

    def params_of(self, trial: Trial) -> dict[str, Any] | None:
        """Return the parameters of a trial; None on a plain tree."""
        params = trial.params
        if params is None and self._decodes_to_params:
            assert self.tree is not None  # it decodes paths
            params = self.tree.decode(trial.path)
        return dict(params) if isinstance(params, Mapping) else None

    @cached_property
    def _decodes_to_params(self) -> bool:
        """Whether the tree decodes paths to parameters with names."""
        if self.tree is None or self.plan is not None:
            return False
        if not len(self.trials) or self.trials[0].params is not None:
            return False
        return isinstance(self.tree.decode(self.trials[0].path), Mapping)

    def choices_of(self, trial: Trial) -> Mapping[str, Any]:
        """Return the parameters of a trial by name, or the steps of its path."""
        params = self.params_of(trial)
        if params is not None:
            return params
        path = trial.path[:MOST_STEPS]
        named = self.tree is not None and self.labels is not None
        labels: Sequence[Any] = self.decode(path) if named else path
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
        return len(self.trials) > 0 and self.params_of(self.trials[0]) is not None


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return a list for each name in any of the rows, in the order of their first occurrence.

    >>> columns_of([{"x": 1}, {"y": 2}])
    {'x': [1, ABSENT], 'y': [ABSENT, 2]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, ABSENT) for row in rows] for name in names}
