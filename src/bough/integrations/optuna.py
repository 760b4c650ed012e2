"""bough as a sampler of Optuna.

>>> import optuna
>>> from bough.integrations.optuna import GPTSSampler
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> study = optuna.create_study(sampler=GPTSSampler(seed=0))
>>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=30)
>>> study.best_value < 1e-3
True

The space is inferred from the parameters that trials have asked for, one after the other. A
parameter that all trials ask for is always active. A parameter that only some ask for is assumed to
depend on an earlier choice: the one whose value best predicts whether it is asked for. Inside the
space, choices are between the *numbers* of options, so that options may be anything that Optuna
accepts.
"""

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

try:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
except ImportError as error:
    raise ImportError("this needs Optuna: pip install 'bough[optuna]'") from error
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bough._validation import whole
from bough.belief.nodes import moderate
from bough.exceptions import Exhausted
from bough.spaces import Choice, Float, Forest, Int, Space
from bough.spaces.parameters import LARGEST_INT, Parameter

__all__ = ["GPTSSampler"]

#: An integer of at most this many values may decide on other parameters, as a number of layers.
FEW_VALUES = 32

Params = Mapping[str, Any]
Distributions = dict[str, BaseDistribution]


class GPTSSampler(BaseSampler):
    """Suggest parameters by Gaussian-process tree search on partitions of the space.

    Nothing has to be declared: parameters, and their dependence on choices, are inferred from the
    trials. A parameter that no trial has asked for before gets a random value. Pruned trials count
    with their last intermediate value; a trial without a value counts as a failure at its point.

    Parameters
    ----------
    seed
        The same seed gives the same suggestions, if trials end in the same order.
    """

    def __init__(self, *, seed: int | None = None) -> None:
        self._seed = np.random.default_rng(None if seed is None else whole(seed, "seed", least=0))
        self._random_sampler = RandomSampler(seed=int(self._seed.integers(2**31)))
        self._lock = threading.RLock()
        self._reset()

    def __getstate__(self) -> dict[str, Any]:
        """Return the random state: everything else is in the study."""
        return {"_seed": self._seed, "_random_sampler": self._random_sampler}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._reset()

    def _reset(self) -> None:
        """Drop everything that was read from a study."""
        self._storage: Callable[[], Any] = lambda: None
        self._study_id = -1
        self._distributions: Distributions = {}  # joined over all trials
        self._latest: Distributions = {}
        self._rows: dict[int, dict[str, Any]] = {}  # the params of finished trials
        self._values: dict[int, float] = {}
        self._running: list[FrozenTrial] = []
        self._seen = 0  # trials that were read
        self._space: Space | None = None
        self._forest: Forest | None = None
        self._new: list[int] = []  # finished trials that the forest does not know yet
        self._patterns: set[frozenset[str]] = set()  # the sets of names that trials asked for
        self._inferred_from = 0  # the number of trials when the space was last inferred
        self._pending: dict[int, dict[str, Any]] = {}  # by the number of the trial

    def reseed_rng(self) -> None:
        """Draw other random numbers than a copy of this sampler in another process."""
        with self._lock:
            self._seed = np.random.default_rng()
            self._random_sampler.reseed_rng()
            self._space = None

    # ------------------------------------------------------------------ Optuna's interface

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return all parameters that any trial has asked for."""
        with self._lock:
            if len(study.directions) > 1:
                return {}
            self._read_trials(study)
            return {name: d for name, d in self._latest.items() if not d.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the params that the forest asks for next."""
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._lock:
            self._read_trials(study)
            self._update_forest()
            params: dict[str, Any] = {}
            if self._forest is not None:
                with suppress(Exhausted):
                    params = self._forest.ask()
                    self._pending[trial.number] = params
            found: dict[str, Any] = {}
            for name, distribution in search_space.items():
                if name in params:
                    found[name] = _suggestion(distribution, params[name])
                elif not params or name not in self._distributions:
                    found[name] = self._sample_at_random(study, trial, name, distribution)
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
        with self._lock:
            params = self._pending.get(trial.number, {})
            if param_name in params:
                return _suggestion(param_distribution, params[param_name])
            return self._sample_at_random(study, trial, param_name, param_distribution)

    def _sample_at_random(self, study: Study, trial: FrozenTrial, name: str, among: Any) -> Any:
        return self._random_sampler.sample_independent(study, trial, name, among)

    # ------------------------------------------------------------------ trials

    def _read_trials(self, study: Study) -> None:
        """Read the trials that have begun or ended since the last call."""
        if self._storage() is not study._storage or self._study_id != study._study_id:
            self._reset()
            self._storage, self._study_id = weakref.ref(study._storage), study._study_id
        trials = study.get_trials(deepcopy=False)
        unread = [*(trials[before.number] for before in self._running), *trials[self._seen :]]
        self._running = []
        for trial in unread:
            if trial.state.is_finished():
                self._read_finished(study, trial)
            else:
                self._running.append(trial)
        self._seen = len(trials)

    def _read_finished(self, study: Study, trial: FrozenTrial) -> None:
        for name, distribution in trial.distributions.items():
            before = self._distributions.get(name)
            self._distributions[name] = _join(before, distribution)
            self._latest[name] = distribution
            if self._distributions[name] != before:
                self._space = None
        if trial.params:
            self._rows[trial.number] = _row(trial)
            self._new.append(trial.number)
        value = _value(trial)
        if value is not None:
            maximize = study.direction == StudyDirection.MAXIMIZE
            self._values[trial.number] = value if maximize else 0.0 - value

    def _update_forest(self) -> None:
        """Tell the forest about new trials; make another one if the space has changed."""
        if not self._rows:
            return
        if self._space is None or self._has_changed(self._space):
            self._inferred_from = len(self._rows)
            names = list(self._distributions)
            space = _infer_space(list(self._rows.values()), names, self._distributions)
            if space != self._space or self._forest is None:
                self._space = space
                self._forest = Forest(space, rng=int(self._seed.integers(2**31)))
                self._pending.clear()
                self._new = list(self._rows)
        forest, space = self._forest, self._space
        assert forest is not None
        for number in self._new:
            self._tell(forest, space, number)
        self._new.clear()
        for trial in self._running:
            if trial.number in self._pending:
                continue
            params = _params_in(space, _row(trial))
            if params is not None and params.keys() <= trial.params.keys():  # it has asked for all
                forest.pend(params)
                self._pending[trial.number] = params

    def _has_changed(self, space: Space) -> bool:
        """Return whether new trials ask for other parameters than the space has."""
        changed = False
        for number in self._new:
            row = self._rows[number]
            params = _params_in(space, row)
            if params is None or params.keys() != row.keys():
                # A known pattern is only reconsidered when there are many more trials.
                many_more = len(self._rows) >= 1.3 * self._inferred_from
                changed = changed or frozenset(row) not in self._patterns or many_more
            self._patterns.add(frozenset(row))
        return changed

    def _tell(self, forest: Forest, space: Space, number: int) -> None:
        pending = self._pending.pop(number, None)
        params, value = _params_in(space, self._rows[number]), self._values.get(number)
        if value is None and params is not None and pending is not None:
            # The parameters that a trial did not ask for before it failed are those suggested.
            asked = self._rows[number]
            params = pending if all(pending.get(k) == params.get(k) for k in asked) else params
        # (If the params are those suggested, `tell` settles the pending evaluation.)
        if pending is not None and pending != params:
            with suppress(ValueError):
                forest.forget(pending)
        if params is None:
            return
        if value is None:
            forest.fail(params)
        else:
            forest.tell(params, value)


def _value(trial: FrozenTrial) -> float | None:
    """Return the value of a trial; of one that was pruned, the last intermediate value.

    Values that are not finite, or too large for a forest, count as none.
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


def _row(trial: FrozenTrial) -> dict[str, Any]:
    """Return the params of a trial; for choices, the number of the option."""
    row = dict(trial.params)
    for name, distribution in trial.distributions.items():
        if isinstance(distribution, CategoricalDistribution):
            row[name] = int(distribution.to_internal_repr(row[name]))
    return row


# ---------------------------------------------------------------------- inferring the space


def _infer_space(rows: list[Params], names: list[str], distributions: Distributions) -> Space:
    """Return the space of trials that have asked for these params, in this order."""
    always = [name for name in names if rows and all(name in row for row in rows)]
    deciders = [name for name in always if _options(distributions[name])]
    dependent: dict[str, list[str]] = {}
    for name in names:
        if name in always or not any(name in row for row in rows):
            continue
        decider = _decider(name, rows, deciders)
        if decider is None:
            always.append(name)  # chance or a real number decides: it is always in the space
        else:
            dependent.setdefault(decider, []).append(name)
    parameters: dict[str, Parameter] = {}
    for name in always:
        distribution = distributions[name]
        if name not in dependent:
            parameters[name] = _parameter(distribution)
            continue
        options = _options(distribution) or ()
        inner = [
            _infer_space([r for r in rows if r[name] == value], dependent[name], distributions)
            for value in options
        ]
        parameters[name] = Choice.with_spaces(options, inner)
    return Space(**parameters)


def _decider(name: str, rows: list[Params], deciders: list[str]) -> str | None:
    """Return the choice whose value best predicts whether a parameter is asked for."""
    best, found = 0.0, None
    for decider in deciders:
        with_it = {row[decider] for row in rows if name in row}
        without = [row for row in rows if row[decider] not in with_it]
        predicted = len(without) / sum(name not in row for row in rows)
        if predicted > 0.0 and predicted >= best:  # the last one among equals
            best, found = predicted, decider
    return found


def _options(distribution: Any) -> Sequence[int] | None:
    """Return the options of what may decide: numbers of categories, or a few integers."""
    if isinstance(distribution, CategoricalDistribution):
        return range(len(distribution.choices))
    if not isinstance(distribution, IntDistribution):
        return None
    low, high, step = distribution.low, distribution.high, distribution.step
    return range(low, high + 1, step) if (high - low) // step < FEW_VALUES else None


def _parameter(distribution: Any) -> Parameter:
    """Return the parameter of a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return Choice(range(len(distribution.choices)))
    low, high, log = distribution.low, distribution.high, distribution.log
    if isinstance(distribution, IntDistribution):
        if max(abs(low), abs(high)) <= LARGEST_INT:
            return Int(low, high, log=log, step=distribution.step)
        return Float(low, high, log=log)  # rounded in `_suggestion`
    assert isinstance(distribution, FloatDistribution)  # there are no others
    try:
        return Float(low, high, log=log, step=distribution.step)
    except ValueError:  # floats are too coarse for the step, or the scale
        return Float(low, high)


def _join(old: BaseDistribution | None, new: BaseDistribution) -> BaseDistribution:
    """Return a distribution with the values of both: ranges may change between trials."""
    if old is None or isinstance(new, CategoricalDistribution) or old == new:
        return new
    assert isinstance(old, (FloatDistribution, IntDistribution))  # a kind does not change
    low, high = min(old.low, new.low), max(old.high, new.high)  # type: ignore[attr-defined]
    if isinstance(new, IntDistribution):
        aligned = old.step == new.step and (old.low - new.low) % new.step == 0
        # (high may lie beside the grid, which is only that of the inferred space)
        return IntDistribution(int(low), int(high), log=new.log, step=new.step if aligned else 1)
    assert isinstance(new, FloatDistribution)
    same = old.step == new.step and old.low == new.low
    return FloatDistribution(low, high, log=new.log, step=new.step if same else None)


def _params_in(space: Space, row: Params) -> dict[str, Any] | None:
    """Return the params of a trial in the space; None if they do not fit.

    (Enqueued values may be outside of the range.) A parameter of the space that the trial did not
    ask for gets the value in the middle.
    """
    found: dict[str, Any] = {}
    active = list(space.roots)
    for number in active:  # (the list grows)
        slot = space.slots[number]
        count = slot.parameter.count
        position = 0.5 if count is None else (count - 1) // 2
        found[slot.name] = row.get(slot.name, slot.parameter.value(position))
        if slot.name in row:
            try:
                position = slot.parameter.position(row[slot.name], slot.name)
            except ValueError:
                return None
        if slot.inner:
            active.extend(slot.inner[int(position)])
    return found


def _suggestion(distribution: Any, value: Any) -> Any:
    """Return the nearest value that a trial may get to a value of the space."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[value]
    low, high, step = distribution.low, distribution.high, distribution.step
    value = min(max(value, low), high)
    if isinstance(distribution, IntDistribution):
        return min(low + round((value - low) / step) * step, high)
    grid = _parameter(distribution)
    if grid.count is not None:
        value = grid.value(min(round((value - low) / (step or 1.0)), grid.count - 1))
    return float(value)
