"""The Optuna sampler: Optuna's own conformance tests, unmodified, and more."""

import gc
import math
import pickle

import pytest

optuna = pytest.importorskip("optuna")

from optuna.testing.pytest_samplers import (  # noqa: E402 - after the check that it is installed
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from bough import Forest  # noqa: E402
from bough.integrations.optuna import GPTSSampler  # noqa: E402
from bough.spaces.trust_regions import TrustRegion  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestConformance(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: GPTSSampler(seed=0)


def conditional(trial):
    model = trial.suggest_categorical("model", ["svm", "forest"])
    scale = trial.suggest_categorical("scale", [True, False])
    if model == "svm":
        value = math.log(trial.suggest_float("C", 1e-3, 1e3, log=True)) ** 2 / 10
        if trial.suggest_categorical("kernel", ["rbf", "linear"]) == "rbf":
            value += (trial.suggest_float("gamma", 0, 1) - 0.3) ** 2
        else:
            value += 0.2
    else:
        value = 0.3 + abs(trial.suggest_int("trees", 10, 99) - 40) / 100
    return value + 0.1 * scale


def layers(trial):
    count = trial.suggest_int("layers", 1, 3)
    return sum((trial.suggest_float(f"width{i}", 0, 1) - 0.5) ** 2 for i in range(count)) - count


def study_of(objective, trials, seed=0, **options):
    study = optuna.create_study(sampler=GPTSSampler(seed=seed), **options)
    study.optimize(objective, n_trials=trials)
    return study


def test_the_forest_learns_from_its_own_suggestions(monkeypatch):
    outcomes = []
    monkeypatch.setattr(TrustRegion, "resize", lambda self, success: outcomes.append(success))
    study_of(hill, 60)
    assert len(outcomes) > 20
    assert any(outcomes)


def hill(trial):
    return sum((trial.suggest_float(f"x{i}", -1, 1) - 0.3) ** 2 for i in range(2))


def test_the_conditional_space_is_inferred():
    sampler = study_of(conditional, 40).sampler
    space = sampler._space
    assert list(space.parameters) == ["model", "scale"]
    svm, forest = space.parameters["model"].spaces
    assert list(svm.parameters) == ["C", "kernel"]
    assert list(svm.parameters["kernel"].spaces[0].parameters) == ["gamma"]
    assert list(forest.parameters) == ["trees"]


def test_an_integer_may_decide():
    study = study_of(layers, 40)
    space = study.sampler._space
    sizes = [len(inner.parameters) for inner in space.parameters["layers"].spaces]
    assert sizes in ([0, 1, 2], [1, 2, 3])  # the first width is always there
    assert study.best_params["layers"] == 3
    assert study.best_value < -2.95


def test_parameters_that_depend_on_a_real_number_are_always_active():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        return x + (trial.suggest_float("y", 0, 1) if x > 0.5 else 0.0)

    study = study_of(objective, 40)
    assert list(study.sampler._space.parameters) == ["x", "y"]
    assert study.best_value < 0.05


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.thorough) for s in (1, 2))]
)
def test_it_finds_the_right_options(seed):
    study = study_of(conditional, 120, seed)  # (a third of all seeds need more than 80)
    assert study.best_params["model"] == "svm"
    assert study.best_params["scale"] is False
    assert study.best_value < 1e-6


def test_maximize():
    study = study_of(
        lambda t: -((t.suggest_float("x", -1, 1) - 0.3) ** 2), 30, direction="maximize"
    )
    assert study.best_value > -1e-4


def test_the_same_seed_gives_the_same_trials():
    runs = [[t.params for t in study_of(conditional, 30, 5).trials] for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0] != [t.params for t in study_of(conditional, 30, 6).trials]


def test_pruned_and_failed_trials():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.report(x, 0)
        if trial.number % 3 == 1:
            raise optuna.TrialPruned
        if trial.number % 3 == 2:
            raise RuntimeError("no")
        return x

    study = optuna.create_study(sampler=GPTSSampler(seed=0))
    study.optimize(objective, n_trials=30, catch=RuntimeError)
    study.sampler.infer_relative_search_space(study, None)
    assert study.sampler._values.keys() == {n for n in range(30) if n % 3 < 2}
    assert study.best_value < 0.01


def test_values_that_are_not_finite():
    study = study_of(lambda t: math.inf if t.suggest_float("x", 0, 1) > 0.5 else t.params["x"], 30)
    assert study.best_value < 0.1


def test_many_threads():
    study = optuna.create_study(sampler=GPTSSampler(seed=0))
    study.optimize(conditional, n_trials=32, n_jobs=4)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 32
    trial = study.ask()  # which tells the forest about all finished trials
    trial.suggest_categorical("model", ["svm", "forest"])
    forest = study.sampler._forest
    assert forest.observations == 32
    assert len(forest.pending) == 1


def test_trials_of_other_processes_are_pending():
    study = study_of(conditional, 20)
    other = optuna.load_study(study_name=study.study_name, storage=study._storage)
    other.sampler = GPTSSampler(seed=1)
    trial = other.ask()
    conditional(trial)
    ours = study.ask()
    conditional(ours)
    forest = study.sampler._forest
    assert len(forest.pending) == 2  # theirs, and ours
    other.tell(trial, 0.5)
    study.ask().suggest_categorical("model", ["svm", "forest"])
    assert forest.observations == 21


def test_a_range_that_shrinks_keeps_the_suggestion_inside():
    study = study_of(lambda t: t.suggest_float("x", 0, 1) ** 2, 20)
    for _ in range(10):
        trial = study.ask()
        x = trial.suggest_float("x", 0.5, 0.75, step=0.25)
        assert x in (0.5, 0.75)
        study.tell(trial, x)


def test_one_sampler_for_two_studies():
    sampler = GPTSSampler(seed=0)
    for objective in (conditional, layers):
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=15)
        assert len(study.trials) == 15


def test_enqueued_and_added_trials_are_known_results():
    study = optuna.create_study(sampler=GPTSSampler(seed=0))
    study.enqueue_trial({"x": 0.125})
    study.optimize(lambda t: abs(t.suggest_float("x", 0, 1) - 0.125), n_trials=10)
    assert study.trials[0].params == {"x": 0.125}
    assert study.sampler._rows[0] == {"x": 0.125}


def test_an_exhausted_space_is_sampled_at_random():
    study = study_of(lambda t: float(t.suggest_int("n", 1, 3)), 20)
    assert len(study.trials) == 20
    assert study.best_value == 1.0


def test_options_one_and_true_are_not_the_same():
    study = study_of(lambda t: float(t.suggest_categorical("a", [True, 1.0, "1", None]) == "1"), 12)
    assert len(study.trials) == 12


@pytest.mark.parametrize(
    "suggest",
    [
        lambda t: t.suggest_int("n", -5, 2**60),
        lambda t: t.suggest_int("n", 1, 2**62, log=True),
        lambda t: t.suggest_int("n", 0, 2**70, step=2**50),
        lambda t: math.log(t.suggest_float("x", 1e-300, 1e300, log=True)),
        lambda t: t.suggest_float("x", 0.1, 1.1, step=1e-11),
        lambda t: t.suggest_float("x", 1, 2, step=1e-17),
        lambda t: len(t.suggest_categorical("c", ["a", "a", "bb"])),
    ],
)
def test_ranges_and_options_that_only_optuna_accepts(suggest):
    study = study_of(lambda t: float(suggest(t)), 20)
    assert all(trial.state.name == "COMPLETE" for trial in study.trials)
    assert study.sampler._forest.observations == 19  # all but the last one


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_options_that_are_objects_with_equal_representations():
    class Thing:
        def __repr__(self):
            return "a thing"

    things = [Thing(), Thing()]
    study = study_of(lambda t: float(t.suggest_categorical("thing", things) is things[0]), 8)
    trials = study.get_trials(deepcopy=False)
    assert {things.index(t.params["thing"]) for t in trials} == {0, 1}


def test_penalties_count_as_failures():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        return 1.7e308 if x > 0.5 else x

    study = study_of(objective, 30)
    assert study.best_value < 0.01


def test_failures_are_avoided_after_a_restart():
    def objective(trial):
        if trial.suggest_int("n", 1, 4) != 2:
            raise ValueError("no")
        return 1.0

    study = optuna.create_study(sampler=GPTSSampler(seed=0))
    for n in (1, 3, 4):
        study.enqueue_trial({"n": n})
    study.optimize(objective, n_trials=3, catch=ValueError)
    study.sampler = GPTSSampler(seed=1)
    study.optimize(objective, n_trials=1, catch=ValueError)
    assert study.trials[-1].params == {"n": 2}


def test_failed_trials_and_pruned_trials_without_a_value_are_failures():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if x > 0.7:
            raise optuna.TrialPruned if trial.number % 2 else ValueError
        return -x

    study = optuna.create_study(sampler=GPTSSampler(seed=0))
    study.optimize(objective, n_trials=60, catch=ValueError)
    study.sampler.sample_relative(study, study.trials[-1], study.trials[-1].distributions)
    forest, finished = study.sampler._forest, [t for t in study.trials if t.value is not None]
    assert forest.observations == len(finished) > 40
    assert len(forest.trials.failed) == 60 - len(finished) > 0
    assert study.best_value < -0.69
    assert len(forest.pending) == 1  # what was asked for just now


def test_a_failure_is_recorded_at_the_suggested_point():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if x > 0.5:
            raise optuna.TrialPruned
        return (x - 0.5) ** 2 + (trial.suggest_float("y", 0, 1) - 0.9) ** 2

    study = optuna.create_study(sampler=GPTSSampler(seed=0))
    study.optimize(objective, n_trials=40)
    suggested = {}
    ask = Forest.ask
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Forest, "ask", lambda self: suggested.setdefault(len(suggested), ask(self)))
        study.optimize(objective, n_trials=20)
    sampler = study.sampler
    sampler.sample_relative(study, study.trials[-1], study.trials[-1].distributions)
    space = sampler._forest.space
    failed = {k: p for k, p in suggested.items() if study.trials[40 + k].value is None}
    assert failed
    assert all(space.point(params) in sampler._forest.trials.failed for params in failed.values())


@pytest.mark.filterwarnings("ignore:Fixed parameter")
def test_enqueued_values_outside_the_range_are_not_told():
    study = optuna.create_study(sampler=GPTSSampler(seed=0))
    study.enqueue_trial({"x": 5.0})
    study.optimize(lambda t: -t.suggest_float("x", 0, 1), n_trials=10)
    assert study.trials[0].params == {"x": 5.0}
    forest = study.sampler._forest
    assert forest.observations == 8  # not the first one, and not yet the last
    assert forest.best().value >= 0.0


def test_a_sampler_can_be_pickled():
    study = study_of(layers, 20)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(layers, n_trials=20)
    assert study.sampler._forest.observations == 39  # the first twenty too; not yet the last one
    assert study.best_value < -2.9


def test_a_new_study_is_not_confused_with_a_deleted_one():
    sampler = GPTSSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(conditional, n_trials=5)
    gone = id(study._storage)
    del study
    gc.collect()
    others = [optuna.create_study(sampler=sampler) for _ in range(200)]
    for study in [s for s in others if id(s._storage) == gone] or others[:1]:
        study.optimize(layers, n_trials=3)
        assert set(sampler._rows) == {0, 1}


def test_bad_seeds():
    with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
        GPTSSampler(seed=-1)
