"""bough as a sampler of Optuna.

>>> import optuna
>>> from bough.integrations.optuna import GPTSSampler
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> study = optuna.create_study(sampler=GPTSSampler(seed=0))
>>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=30)
>>> study.best_value < 1e-3
True
"""

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

try:
    from optuna.distributions import BaseDistribution
except ImportError as error:
    raise ImportError("this needs Optuna: pip install 'bough[optuna]'") from error
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bough._validation import whole
from bough.belief.nodes import moderate
from bough.exceptions import Exhausted
from bough.integrations._asked import joined, params_in, row_of, space_of, suggestion
from bough.spaces import Forest, Space

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


class GPTSSampler(BaseSampler):
    """Suggest parameters by Gaussian-process tree search on a forest of partitions.

    Nothing has to be declared: the parameters that trials ask for, and which of them are asked for
    only after some choices, are found out as trials go on. A parameter that was never asked for
    before gets a random value. Pruned trials count with their last intermediate value; what has no
    value has failed, and says where not to look.

    Parameters
    ----------
    seed
        The same seed gives the same suggestions, if trials end in the same order.
    """

    def __init__(self, *, seed: int | None = None) -> None:
        self._seed = np.random.default_rng(None if seed is None else whole(seed, "seed", least=0))
        self._chance = RandomSampler(seed=int(self._seed.integers(2**31)))
        self._guard = threading.RLock()
        self._forget_study()

    def __getstate__(self) -> dict[str, Any]:
        """Return what goes into a file, or to another process: all else is in the study."""
        return {"_seed": self._seed, "_chance": self._chance}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._guard = threading.RLock()
        self._forget_study()

    def _forget_study(self) -> None:
        self._storage: Callable[[], Any] = lambda: None
        self._study_id = -1
        self._distributions: dict[str, BaseDistribution] = {}
        self._latest: dict[str, BaseDistribution] = {}
        self._rows: dict[int, dict[str, Any]] = {}  # the params of trials that have ended
        self._values: dict[int, float] = {}
        self._unfinished: set[int] = set()
        self._seen = 0  # how many trials were looked at
        self._space: Space | None = None
        self._forest: Forest | None = None
        self._new: list[int] = []  # ended, and not yet told
        self._patterns: set[frozenset[str]] = set()  # the names that trials have asked for
        self._structured = 0  # how many trials there were when the space was last found out
        self._suggested: dict[int, dict[str, Any]] = {}  # by the number of the trial
        self._elsewhere: dict[int, dict[str, Any]] = {}  # trials that other processes run

    def reseed_rng(self) -> None:
        """Draw other numbers from now on than a copy of this sampler in another process."""
        with self._guard:
            self._seed = np.random.default_rng()
            self._chance.reseed_rng()
            self._space = None

    # ------------------------------------------------------------------ what Optuna asks

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return all parameters that any trial has asked for."""
        with self._guard:
            if len(study.directions) > 1:
                return {}
            self._look(study)
            return {name: d for name, d in self._latest.items() if not d.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return what the forest asks for next."""
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._guard:
            self._look(study)
            self._learn()
            params: dict[str, Any] = {}
            if self._forest is not None:
                with suppress(Exhausted):
                    params = self._forest.ask()
                    self._suggested[trial.number] = params
            found: dict[str, Any] = {}
            for name, distribution in search_space.items():
                if name in params:
                    found[name] = suggestion(distribution, params[name])
                elif not params or name not in self._distributions:
                    found[name] = self._chance.sample_independent(study, trial, name, distribution)
            return found

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return a value for a parameter that is new, or has another range than before."""
        self._raise_error_if_multi_objective(study)
        with self._guard:
            params = self._suggested.get(trial.number, {})
            if param_name in params:
                return suggestion(param_distribution, params[param_name])
            return self._chance.sample_independent(study, trial, param_name, param_distribution)

    # ------------------------------------------------------------------ what has happened

    def _look(self, study: Study) -> None:
        """Take note of trials that have begun or ended since the last look."""
        if self._storage() is not study._storage or self._study_id != study._study_id:
            self._forget_study()
            self._storage, self._study_id = weakref.ref(study._storage), study._study_id
        trials = study.get_trials(deepcopy=False)
        for number in [*sorted(self._unfinished), *range(self._seen, len(trials))]:
            trial = trials[number]
            if trial.state not in FINISHED:
                self._unfinished.add(number)
                continue
            self._unfinished.discard(number)
            self._note(study, trial)
        self._seen = len(trials)
        self._running = [trials[number] for number in sorted(self._unfinished)]

    def _note(self, study: Study, trial: FrozenTrial) -> None:
        for name, distribution in trial.distributions.items():
            before = self._distributions.get(name)
            self._distributions[name] = joined(before, distribution)
            self._latest[name] = distribution
            if self._distributions[name] != before:
                self._space = None
        value = _value(trial)
        if trial.params:
            self._rows[trial.number] = row_of(trial)
            self._new.append(trial.number)
        if value is not None:
            maximize = study.direction == StudyDirection.MAXIMIZE
            self._values[trial.number] = value if maximize else 0.0 - value

    def _learn(self) -> None:
        """Tell the forest what it does not know yet; plant another if the space has changed."""
        if not self._rows:
            return
        if self._space is None or self._has_changed(self._space):
            self._structured = len(self._rows)
            space = space_of(list(self._rows.values()), self._distributions)
            if space != self._space or self._forest is None:
                self._space = space
                self._forest = Forest(space, rng=int(self._seed.integers(2**31)))
                self._suggested.clear()
                self._elsewhere.clear()
                self._new = list(self._rows)
        forest, space = self._forest, self._space
        assert forest is not None
        for number in self._new:
            self._tell(forest, space, number)
        self._new.clear()
        for trial in self._running:
            if trial.number in self._suggested or trial.number in self._elsewhere:
                continue
            params = params_in(space, row_of(trial))
            if params is not None and params.keys() <= trial.params.keys():  # it has asked for all
                forest.pend(params)
                self._elsewhere[trial.number] = params

    def _has_changed(self, space: Space) -> bool:
        """Return whether new trials ask for something else than the space says."""
        changed = False
        for number in self._new:
            names = frozenset(self._rows[number])
            if not _fits(space, self._rows[number]):
                # The same surprise again is only looked into when there is much more to go by.
                much_more = len(self._rows) >= 1.3 * self._structured
                changed = changed or names not in self._patterns or much_more
            self._patterns.add(names)
        return changed

    def _tell(self, forest: Forest, space: Space, number: int) -> None:
        pending = self._suggested.pop(number, None) or self._elsewhere.pop(number, None)
        params, value = params_in(space, self._rows[number]), self._values.get(number)
        if value is None and params is not None and pending is not None:
            # What it did not come to ask for, before it failed, is what was suggested for it.
            asked = self._rows[number]
            params = pending if all(pending.get(k) == params.get(k) for k in asked) else params
        # (What was suggested is told as that: the forest knows then what came of its own idea.)
        if pending is not None and pending != params:
            with suppress(ValueError):
                forest.forget(pending)
            pending = None
        if params is None:
            return
        if value is None:
            forest.fail(params)
        else:
            forest.tell(params, value)


def _fits(space: Space, row: dict[str, Any]) -> bool:
    """Return whether a trial has asked for what the space has, and nothing else."""
    params = params_in(space, row)
    return params is not None and params.keys() == row.keys()


def _value(trial: FrozenTrial) -> float | None:
    """Return what a trial is worth: of one that was pruned, the last intermediate value.

    What is not finite, or beyond what a forest takes, is worth nothing.
    """
    value: float | None = None
    if trial.state == TrialState.COMPLETE:
        value = trial.value
    elif trial.state == TrialState.PRUNED and trial.intermediate_values:
        value = trial.intermediate_values[max(trial.intermediate_values)]
    try:
        return None if value is None else moderate(value, "value")
    except ValueError:
        return None


__all__ = ["GPTSSampler"]
