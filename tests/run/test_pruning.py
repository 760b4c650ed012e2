"""Pruning: rules against slow oracles, trials in every executor, and what a result shows."""

import functools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from objectives import curve
from scipy import stats

import bough
from bough import ProbabilityOfImprovement, SuccessiveHalving
from bough.report.snapshot import snapshot, trial_columns
from bough.run.pruning import Curves, RunningTrial, takes_trial

SPACE = bough.Space(x=bough.Float(0, 1), y=bough.Float(0, 1))
TREE = bough.Tree(5, 2)
RULES = [SuccessiveHalving(), SuccessiveHalving(2, 2), ProbabilityOfImprovement(0.05, 3)]
rules = pytest.mark.parametrize("rule", RULES, ids=repr)


def played(result):
    return [
        (trial.params, trial.path, trial.value, trial.state, trial.reports)
        for trial in result.history.trials
    ]


# ---------------------------------------------------------------------- objectives with a trial


class Objective:
    def __call__(self, params, trial):
        return 0.0

    def method(self, params, trial):
        return 0.0


def with_data(data, params, trial, *, verbose=False):
    return 0.0


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (lambda params: 0.0, False),
        (lambda params, trial: 0.0, True),
        (lambda params, anything, /: 0.0, True),
        (lambda params, trial, seed: 0.0, True),
        (lambda params, trial, *, seed: 0.0, True),
        (lambda params, seed: 0.0, False),
        (lambda params, trial=None: 0.0, False),
        (lambda params, *more: 0.0, False),
        (lambda *arguments: 0.0, False),
        (lambda params, *, option=1: 0.0, False),
        (lambda a, b, c: 0.0, False),
        (functools.partial(with_data, None), True),
        (functools.partial(with_data, None, verbose=True), True),
        (functools.partial(with_data, None, None), False),
        (Objective(), True),
        (Objective().method, True),
        (max, False),  # its signature is not known
        (sum, False),
    ],
)
def test_two_required_parameters(objective, expected):
    assert takes_trial(objective) is expected


def test_reports_are_recorded_without_a_rule():
    asked = []

    def objective(params, trial, seed):
        asked.append((trial.id, seed))
        for step in (1, np.int64(2), np.array(4.5)):
            trial.report(step, np.float64(params["x"] + step))
            assert not trial.should_stop()
        return params["x"]

    result = bough.minimize(objective, SPACE, budget=5, rng=0)
    assert [id_ for id_, _ in asked] == [0, 1, 2, 3, 4]
    assert len({seed for _, seed in asked}) == 5
    for trial in result.history.trials:
        assert trial.state == "completed"
        assert [step for step, _ in trial.reports] == [1, 2, 4.5]
        assert [type(step) for step, _ in trial.reports] == [int, int, float]
    assert (result.history.pruned, result.history.steps) == (0, 22.5)


@pytest.mark.parametrize(
    ("step", "value", "error", "message"),
    [
        (0, 1.0, ValueError, "step must be above zero, got 0"),
        (-1, 1.0, ValueError, "step must be above zero, got -1"),
        (2, 1.0, ValueError, "step must be above 2, the last one, got 2"),
        (math.nan, 1.0, ValueError, "step must be finite"),
        (math.inf, 1.0, ValueError, "step must be finite"),
        ("3", 1.0, TypeError, "step must be one real number"),
        (3, math.nan, ValueError, "value must be finite"),
        (3, None, TypeError, "value must be one real number"),
    ],
)
def test_bad_reports_change_nothing(step, value, error, message):
    trial = RunningTrial(0, 1.0, [(3, 2.0)])
    trial.report(2, 1.0)
    with pytest.raises(error, match=message):
        trial.report(step, value)
    assert trial.reports == [(2, 1.0)]
    assert not trial.should_stop()
    trial.report(3, 1.0)
    assert trial.should_stop()


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"prune": "halving"}, TypeError, "prune must be a rule such as .* got 'halving'"),
        ({"prune": SuccessiveHalving}, TypeError, r"write SuccessiveHalving\(\)"),
    ],
)
def test_bad_rules(keywords, error, message):
    with pytest.raises(error, match=message):
        bough.minimize(curve, SPACE, budget=3, **keywords)


def test_a_rule_needs_an_objective_with_a_trial(tmp_path):
    with pytest.raises(ValueError, match=r"prune needs an objective with two required parameters"):
        bough.minimize(
            lambda params: 0.0, SPACE, budget=3, prune=RULES[0], study=tmp_path / "run.db"
        )
    assert not (tmp_path / "run.db").exists()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SuccessiveHalving(0), ValueError, "min_steps must be above zero, got 0"),
        (lambda: SuccessiveHalving("1"), TypeError, "min_steps must be one real number"),
        (lambda: SuccessiveHalving(1, 1), ValueError, "reduction_factor must be at least 2, got 1"),
        (lambda: SuccessiveHalving(1, 2.5), TypeError, "reduction_factor must be an int, got 2.5"),
        (lambda: ProbabilityOfImprovement(0.0), ValueError, "threshold must be between 0 and 1"),
        (lambda: ProbabilityOfImprovement(1.0), ValueError, "threshold must be between 0 and 1"),
        (lambda: ProbabilityOfImprovement(0.1, 1), ValueError, "min_trials must be at least 2"),
    ],
)
def test_bad_options_of_rules(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_failures_after_reports(tmp_path):
    seen = []

    def objective(params, trial):
        seen.append(trial)
        trial.report(1, 0.5)
        raise RuntimeError("no")

    result = bough.minimize(objective, SPACE, budget=2, catch=RuntimeError, retries=1, rng=0)
    assert len(set(map(id, seen))) == 4  # each attempt has its own
    assert [(t.state, t.reports) for t in result.history.trials] == [("failed", ())] * 2


@pytest.mark.parametrize("domain", [SPACE, TREE], ids=["space", "tree"])
@pytest.mark.parametrize("recorded", [False, True])
def test_values_that_are_too_large_for_the_searcher(domain, recorded, tmp_path):
    def diverging(params, trial):
        for step in range(1, 10):
            value = 1e300 if trial.id % 3 == 1 else curve(params, RunningTrial(0)) + 1 / step
            trial.report(step, value)
            if trial.should_stop():
                break
        return value

    study = tmp_path / "run.db" if recorded else None
    for budget in (9, 15):
        result = bough.minimize(
            diverging, domain, budget=budget, prune=RULES[0], rng=0, study=study
        )
    pruned = [t for t in result.history.trials if t.reports[0][1] == 1e300]
    assert {trial.state for trial in pruned} == {"pruned"}
    assert result.best.value < 10


def test_an_objective_that_reports_nothing_is_not_stopped():
    result = bough.minimize(
        lambda params, trial: params["x"] + trial.should_stop(), SPACE, budget=9, prune=RULES[0]
    )
    assert result.history.pruned == 0


# ---------------------------------------------------------------------- rules against oracles

values = st.integers(-8, 8).map(float)  # with ties


@st.composite
def histories(draw):
    """Curves of ended trials: each has a report at every step up to its last one."""
    found = []
    for _ in range(draw(st.integers(0, 12))):
        stride = draw(st.integers(1, 3))
        curve = draw(st.lists(values, min_size=1, max_size=12))
        reports = tuple((stride * (i + 1), value) for i, value in enumerate(curve))
        found.append((reports, draw(st.one_of(st.none(), values))))
    return found


def curves_of(history, sign):
    curves = Curves(sign)
    for reports, final in history:
        curves.add(reports, final)
    return curves


def gains_from(step, history, sign):
    """Return what completed trials gained from their last report up to a step to their end."""
    return [
        sign * (final - [value for at, value in reports if at <= step][-1])
        for reports, final in history
        if final is not None and reports[0][0] <= step
    ]


def decisions(rule, history, sign, reports):
    """Return whether to stop after each report of a new trial."""
    trial = RunningTrial(0, sign, rule.thresholds(curves_of(history, sign)))
    stops = []
    for step, value in reports:
        trial.report(step, value)
        stops.append(trial.should_stop())
    return stops


@given(histories(), st.lists(values, min_size=1, max_size=30), st.sampled_from([1.0, -1.0]))
def test_successive_halving_keeps_the_best_share(history, curve, sign):
    rule = SuccessiveHalving(2, 3)
    longest = max((r[-1][0] for r, final in history if final is not None), default=0)
    expected, stopped = [], False
    for step, value in enumerate(curve, 1):
        if step in (2, 6, 18) and step < longest:  # a rung
            others = [next((v for at, v in r if at >= step), None) for r, _ in history]
            ranked = sorted([*(v for v in others if v is not None), value], reverse=sign > 0)
            stopped |= ranked.index(value) >= max(len(ranked) // 3, 1)
        expected.append(stopped)
    assert decisions(rule, history, sign, list(enumerate(curve, 1))) == expected


@given(histories(), st.lists(values, min_size=1, max_size=30), st.sampled_from([1.0, -1.0]))
def test_probability_of_improvement(history, curve, sign):
    rule = ProbabilityOfImprovement(0.1, 3)
    done = [(r, final) for r, final in history if final is not None]
    longest = max((r[-1][0] for r, _ in done), default=0)
    best = max((sign * final for _, final in done), default=0.0)
    reported = {at for r, _ in done for at, _ in r}
    stops = decisions(rule, history, sign, list(enumerate(curve, 1)))
    for step, value in enumerate(curve, 1):
        if stops[step - 1]:  # from here on it is said to stop
            break
        gains = gains_from(step, done, sign)
        if step not in reported or step >= longest or len(gains) < 3:
            continue
        mean, std = np.mean(gains), np.std(gains, ddof=1) * math.sqrt(1 + 1 / len(gains))
        margin = sign * value + mean - best
        if std > 0:
            assert stats.t.sf(-margin / std, len(gains) - 1) >= 0.1 - 1e-9
        else:
            assert margin >= -1e-9
    else:
        return
    gains = gains_from(step, done, sign)
    assert len(gains) >= 3
    assert step < longest
    mean, std = np.mean(gains), np.std(gains, ddof=1) * math.sqrt(1 + 1 / len(gains))
    margin = sign * value + mean - best
    assert margin < 1e-9
    assert std == 0 or stats.t.sf(-margin / std, len(gains) - 1) <= 0.1 + 1e-9


@given(histories(), st.randoms(use_true_random=False), st.sampled_from(RULES))
def test_the_order_of_trials_does_not_matter(history, random, rule):
    shuffled = list(history)
    random.shuffle(shuffled)
    assert rule.thresholds(curves_of(history, 1.0)) == rule.thresholds(curves_of(shuffled, 1.0))
    reports = ((1, 0.1), (3, 0.7))
    assert curves_of(history, 1.0).predict(reports) == curves_of(shuffled, 1.0).predict(reports)


@given(histories(), st.lists(values, min_size=1, max_size=20), st.sampled_from([1.0, -1.0]))
def test_predictions_are_worse_than_the_best(history, curve, sign):
    curves = curves_of(history, sign)
    predicted, noise = curves.predict(list(enumerate(curve, 1)))
    gains = gains_from(len(curve), history, sign)
    if not gains:
        assert (predicted, noise) == (None, None)
        return
    assert sign * predicted < curves.best
    expected = sign * curve[-1] + np.mean(gains)
    assert math.isclose(sign * predicted, min(expected, curves.best), rel_tol=1e-9, abs_tol=1e-9)
    assert noise is None or noise > 0


def test_the_best_may_have_no_reports():
    history = [(((1, 5.0), (2, 6.0)), 6.0)] * 3
    rule = ProbabilityOfImprovement(0.1, 3)
    assert decisions(rule, history, 1.0, [(1, 6.0)]) == [False]  # it may end at 7
    assert decisions(rule, [*history, ((), 8.0)], 1.0, [(1, 6.0)]) == [True]
    assert curves_of([*history, ((), 8.0)], 1.0).predict([(1, 6.5)]) == (7.5, None)


def test_predictions_respect_bounds():
    curves = curves_of([(((1, 5.0), (2, 1.0)), 1.0)], -1.0)  # a loss that falls by 4
    assert curves.predict([(1, 5.5)]) == (1.5, 4.0)
    assert curves.predict([(1, 9.0)], (-2.0, 0.0)) == (2.0, 4.0)
    assert curves.predict([(1, 0.0)], (-2.0, 0.0))[0] == math.nextafter(1.0, 2.0)
    result = bough.minimize(curve, SPACE, budget=20, prune=RULES[0], bounds=(0, 0.5), rng=0)
    assert result.history.pruned
    assert result.misfit is None or max(result.history.values) > 0.5


def test_one_completed_trial_stops_the_next_that_is_worse():
    """Rungs of one factor, with trials that report at other steps."""
    history = [(((1, 5.0), (10, 6.0), (100, 9.0)), 9.0)]
    rule = SuccessiveHalving()
    assert rule.thresholds(curves_of(history, 1.0)) == [
        (1.0, 5.0), (3.0, 6.0), (9.0, 6.0), (27.0, 9.0), (81.0, 9.0), (100.0, -math.inf)
    ]  # fmt: skip
    assert decisions(rule, history, 1.0, [(50, 8.0)]) == [True]
    assert decisions(rule, history, 1.0, [(10, 6.0), (20, 0.0), (50, 9.0)]) == [False] * 3
    assert decisions(rule, history, 1.0, [(99, 8.0), (100, 8.0)]) == [True, True]
    assert decisions(rule, history, 1.0, [(100, 8.0)]) == [False]  # it is as long as the longest
    assert decisions(rule, [], 1.0, [(1, 0.0)]) == [False]


# ---------------------------------------------------------------------- runs


@rules
@pytest.mark.parametrize("domain", [SPACE, TREE], ids=["space", "tree"])
def test_runs_are_shorter_and_repeatable(rule, domain):
    first, second = (bough.minimize(curve, domain, budget=24, prune=rule, rng=3) for _ in range(2))
    assert played(first) == played(second)
    history = first.history
    assert 0 < history.pruned < len(history) == 24
    assert history.steps == sum(trial.steps for trial in history.trials) < 24 * 27
    for trial, value in zip(history.trials, history.values, strict=True):
        assert (trial.value is None) == np.isnan(value) == (trial.state == "pruned")
        assert trial.state == "pruned" or trial.steps == 27
    # What is shown as the best is measured.
    completed = {(t.path, t.value) for t in history.trials if t.state == "completed"}
    assert (first.best.path, first.best.value) in completed
    assert first.best_observed.value == min(value for _, value in completed)
    assert "pruned" in repr(first)


@rules
def test_maximizing_the_negative_is_the_same(rule):
    class Mirror:
        def __init__(self, trial):
            self.trial = trial

        def report(self, step, value):
            self.trial.report(step, -value)

        def should_stop(self):
            return self.trial.should_stop()

    low = bough.minimize(curve, SPACE, budget=24, prune=rule, rng=1)
    high = bough.maximize(
        lambda params, trial: -curve(params, Mirror(trial)), SPACE, budget=24, prune=rule, rng=1
    )
    assert low.history.params == high.history.params
    assert [t.state for t in low.history.trials] == [t.state for t in high.history.trials]


@rules
def test_values_scaled_by_a_power_of_two_give_the_same_plays(rule):
    def scaled(path, trial):
        class Scaled:
            should_stop = trial.should_stop

            def report(self, step, value):
                trial.report(step, 1024.0 * value)

        return 1024.0 * curve(path, Scaled())

    one = bough.minimize(curve, TREE, budget=20, prune=rule, rng=2)
    other = bough.minimize(scaled, TREE, budget=20, prune=rule, rng=2)
    assert one.history.paths == other.history.paths
    assert [t.state for t in one.history.trials] == [t.state for t in other.history.trials]


@pytest.mark.parametrize("searcher", ["gpts", "uct", "random", "hoo", "gpb"])
def test_searchers_of_trees(searcher):
    for seed in range(3):
        result = bough.minimize(curve, TREE, budget=20, prune=RULES[0], searcher=searcher, rng=seed)
        completed = {t.path for t in result.history.trials if t.state == "completed"}
        assert result.history.pruned
        assert result.best.path in completed


def test_a_search_of_a_space_with_noise():
    def noisy(params, trial, seed):
        errors = np.random.default_rng(seed)
        for step in range(1, 10):
            value = params["x"] + params["y"] + 1 / step + 0.05 * errors.standard_normal()
            trial.report(step, value)
            if trial.should_stop():
                return value
        return value

    for seed in range(3):
        result = bough.minimize(noisy, SPACE, budget=50, prune=SuccessiveHalving(), rng=seed)
        values = [t.value for t in result.history.trials if t.params == result.best.params]
        completed = [value for value in values if value is not None]
        assert completed
        assert (result.best.visits, result.best.value) == (
            len(completed), pytest.approx(np.mean(completed))
        )  # fmt: skip


@rules
def test_one_worker_is_the_sequential_search(rule):
    alone = bough.minimize(curve, SPACE, budget=16, prune=rule, rng=0)
    with ThreadPoolExecutor(1) as threads:
        by_thread = bough.minimize(curve, SPACE, budget=16, prune=rule, rng=0, executor=threads)
    assert played(by_thread) == played(alone)


def test_one_process_is_the_sequential_search():
    alone = bough.minimize(curve, SPACE, budget=12, prune=RULES[0], rng=0)
    by_process = bough.minimize(curve, SPACE, budget=12, prune=RULES[0], rng=0, executor=1)
    assert played(by_process) == played(alone)


def test_several_workers():
    with ThreadPoolExecutor(4) as threads:
        result = bough.minimize(curve, SPACE, budget=40, prune=RULES[0], rng=0, executor=threads)
    assert len(result.history) == 40
    assert result.history.pruned > 10
    assert all(trial.reports for trial in result.history.trials)


def test_figures_tables_and_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    study = tmp_path / "run.db"
    result = bough.minimize(curve, SPACE, budget=20, prune=RULES[0], rng=0, study=study)
    pruned = result.history.pruned
    table = result.history.to_pandas()
    assert (table["state"] == "pruned").sum() == table["value"].isna().sum() == pruned
    assert table["steps"].sum() == result.history.steps
    assert table["last_report"].notna().all()
    for kind in ("convergence", "importance", "slice"):
        assert result.plot(kind) is not None
    page = snapshot(result)
    assert page["summary"]["trials"]["pruned"] == pruned
    assert page["summary"]["best"]["value"] == result.best.value
    assert trial_columns(result)["state"].count("p") == pruned


def test_the_log_says_what_was_pruned(capsys):
    bough.minimize(curve, SPACE, budget=8, prune=RULES[0], rng=0, progress="log")
    lines = capsys.readouterr().err.splitlines()
    assert any(": pruned after step 1 with value" in line for line in lines)
