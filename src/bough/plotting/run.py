"""A search in one form, wherever it comes from: a result, a study, or a searcher."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief
from bough.belief.best_arm import Arm
from bough.planning import Plan
from bough.planning.gaussian import GaussianPolicy
from bough.plotting.replay import observations
from bough.plotting.shown import Shown
from bough.run.result import Result
from bough.searchers import Certificate, Searcher
from bough.searchers.base import negative_arm, negative_certificate
from bough.spaces import Forest
from bough.spaces.searcher import SpaceSearcher
from bough.studies.study import Study
from bough.studies.trials import Trial
from bough.trees import Path, Tree

Array = NDArray[np.float64]

#: How many steps of a path count as parameters, where there are no others.
MOST_STEPS = 30


class _Absent:
    """What a trial has where it made no such choice: None may be an option like any other."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


@dataclass(frozen=True)
class Run:
    """What a search did and knows.

    Attributes
    ----------
    trials
        All of them; of a search without a study those that were told.
    searcher
        As it stands; None for a study that does not hold its searcher.
    direction
        `"maximize"` or `"minimize"`. The searcher sees negative values in the latter case.
    stopped_by
        What ended it, if that is known.
    study
        The study that it is recorded in, if there is one.
    plan
        The plan that it was made for, if it was.
    """

    trials: Sequence[Trial]
    searcher: Searcher | SpaceSearcher | None
    direction: str = "maximize"
    stopped_by: str | None = None
    study: Study | None = None
    plan: Plan | None = None

    @classmethod
    def of(cls, source: Any) -> "Run":
        """Return the run of a `Result`, a `Study`, a `planning.Plan`, or a searcher with a belief.

        (A `Forest` has beliefs, too. A `Run` is what it is.)

        >>> import bough
        >>> Run.of(bough.maximize(sum, bough.Tree(2, 3), budget=3, rng=0)).told.shape
        (3,)
        """
        if isinstance(source, Run):
            return source
        if isinstance(source, Result):
            if source.study is not None:
                return cls.of(source.study)._stopped(source.stopped_by)
            history = source.history
            rows = zip(
                history.paths,
                history.params,
                history.values.tolist(),
                history.seconds.tolist(),
                strict=True,
            )
            trials = [
                Trial(i, path, params, value, "told", seconds, seconds)
                for i, (path, params, value, seconds) in enumerate(rows)
            ]
            return cls(trials, source.searcher, source.direction, source.stopped_by)
        if isinstance(source, Study):
            searcher = source.searcher if source.replayed else None
            direction = source.specification["direction"]
            return cls(source.trials, searcher, direction, None, source)
        if isinstance(source, Plan):
            policy = source.policy
            trials = [
                Trial(i, play.path, None, policy.total(play), "told", float(i), float(i))
                for i, play in enumerate(policy.plays)
            ]
            return cls(trials, policy.searcher, "maximize", source.stopped_by, None, source)
        if isinstance(source, Forest):
            trials = [
                Trial(
                    i, source.space.partition.path(told.point), source.trials.params_of(told.point),
                    told.value, "told", float(i), float(i), told.noise,
                )
                for i, told in enumerate(source.trials.observations())
            ]  # fmt: skip
            return cls(trials, source)
        belief = getattr(source, "belief", None)
        if isinstance(source, Searcher) and isinstance(belief, Belief):
            trials = [
                Trial(i, told.path, None, sum(told.values), "told", float(i), float(i))
                for i, told in enumerate(observations(belief))
            ]
            return cls(trials, source)
        raise TypeError(
            "a figure is drawn of a bough.Result, a bough.Study, a plan or a searcher with a "
            f"belief, got {source!r}"
        )

    def _stopped(self, by: str) -> "Run":
        return Run(self.trials, self.searcher, self.direction, by, self.study)

    # ------------------------------------------------------------------ what is believed

    @property
    def sign(self) -> float:
        """What the searcher is told is so many times the value."""
        return -1.0 if self.direction == "minimize" else 1.0

    @property
    def tree(self) -> Tree | None:
        """What is searched, if that is known."""
        return getattr(self.searcher, "tree", None)

    @property
    def labels(self) -> Any:
        """What the tree calls its children, if it has names for them."""
        if self.plan is not None:
            numbered = self._actions == [str(i) for i in range(len(self._actions))]
            return None if numbered else [self._actions] * self.plan.depth
        return getattr(self.tree, "labels", None)

    @cached_property
    def _actions(self) -> list[str]:
        assert self.plan is not None  # there are actions
        return [str(a.tolist() if hasattr(a, "tolist") else a) for a in self.plan.available]

    def decode(self, path: Path) -> Any:
        """Return what a path stands for."""
        if self.plan is not None:
            return tuple(self._actions[step] for step in path)
        assert self.tree is not None  # whoever asks knows that it has names
        return self.tree.decode(path)

    @cached_property
    def shown(self) -> Shown:
        """The tree that figures show: that of the searcher, or a partition of its space."""
        shown = Shown.of(self.searcher)
        if self.plan is not None and isinstance(self.plan.policy, GaussianPolicy):
            policy = self.plan.policy
            return replace(shown, unit=policy.unit, offset=policy.offset)
        return shown

    @property
    def belief(self) -> Belief | None:
        """What is believed of that tree, if the searcher has a belief and was told something."""
        return self.shown.belief

    @property
    def best_path(self) -> Path | None:
        """Where the best arm is in that tree."""
        best = self.best
        return None if best is None else self.shown.path(best.path, best.params)

    @cached_property
    def best(self) -> Arm | None:
        """The best arm that was told; without a searcher the trial with the best value."""
        nan = float("nan")
        if self.plan is not None:
            visits = sum(trial.path == self.plan.path for trial in self.trials)
            bounds = nan, nan
            return Arm(self.plan.path, None, self.plan.value, self.plan.std, *bounds, None, visits)
        if self.searcher is not None and self.searcher.observations:
            arm = self.searcher.best()
            return negative_arm(arm) if self.sign < 0 else arm
        if not len(self.told):
            return None
        top = self.told_trials[int(np.argmax(self.sign * self.told))]
        value = float(top.value or 0.0)
        return Arm(top.path, self.params_of(top), value, nan, nan, nan, value, 1)

    @cached_property
    def certificate(self) -> Certificate | None:
        """How good the best is, and how good anything can be; None if the searcher cannot say."""
        if self.plan is not None:
            return self.plan.certificate
        if self.searcher is None or not self.searcher.observations:
            return None
        found = getattr(self.searcher, "certificate", None)
        return negative_certificate(found) if found is not None and self.sign < 0 else found

    # ------------------------------------------------------------------ what was told

    @cached_property
    def told_trials(self) -> list[Trial]:
        """The trials that have a value, in the order in which they were told."""
        told = [trial for trial in self.trials if trial.state == "told"]
        return sorted(told, key=lambda trial: trial.ended or 0.0)

    @cached_property
    def told(self) -> Array:
        """Their values."""
        return np.array([trial.value for trial in self.told_trials], dtype=float)

    # ------------------------------------------------------------------ what was chosen

    def params_of(self, trial: Trial) -> dict[str, Any] | None:
        """Return the parameters of a trial, if it is one of a space."""
        found = trial.params
        if found is None and self._decodes_to_names:
            assert self.tree is not None  # it decodes
            found = self.tree.decode(trial.path)
        return dict(found) if isinstance(found, Mapping) else None

    @cached_property
    def _decodes_to_names(self) -> bool:
        """Whether paths stand for parameters with names, as they do in a space."""
        if self.tree is None or not len(self.trials) or self.trials[0].params is not None:
            return False
        if self.plan is not None:
            return False
        return isinstance(self.tree.decode(self.trials[0].path), Mapping)

    def choices_of(self, trial: Trial) -> Mapping[str, Any]:
        """Return what a trial chose, by name: its parameters, or the steps of its path."""
        params = self.params_of(trial)
        return self._steps(trial.path) if params is None else params

    def _steps(self, path: Path) -> dict[str, Any]:
        path = path[:MOST_STEPS]
        labels: Sequence[Any] = path
        if self.tree is not None and self.labels is not None:
            labels = self.decode(path)
        return {f"step {i + 1}": label for i, label in enumerate(labels)}

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """What the told trials chose, a list for each name; ABSENT where one has no such choice.

        Names come in the order in which they were first met.
        """
        return columns_of([self.choices_of(trial) for trial in self.told_trials])

    @property
    def names_choices(self) -> bool:
        """Whether choices have names of their own, and not just numbers of steps."""
        if self.labels is not None:
            return True
        return len(self.trials) > 0 and self.params_of(self.trials[0]) is not None


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return a list for each name in any of the rows, in the order in which they are met.

    >>> columns_of([{"x": 1}, {"y": 2}])
    {'x': [1, ABSENT], 'y': [ABSENT, 2]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, ABSENT) for row in rows] for name in names}
