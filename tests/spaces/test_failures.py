"""Failed evaluations: the choice of the next point, recommendations, exhaustion, studies."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_spaces import BOX, bowl

import bough
from bough import Choice, Exhausted, Float, Forest, Int, Space, Study
from bough.spaces import PartitionSearcher
from bough.spaces.failures import FailureRisk
from bough.spaces.trials import TrialTable

FEW = Space(a=Int(1, 3), b=Choice(["x", "y"]))
MIXED = Space(kind=Choice({"a": Space(u=Float(0, 1), n=Int(1, 5)), "b": Space(u=Float(-2, 2))}))


def play(search, objective, count):
    """Ask and tell, or record a failure; return what was asked and the number of failures."""
    asked, failed = [], 0
    for _ in range(count):
        params = search.ask()
        asked.append(params)
        try:
            reward = objective(params)
        except ValueError:
            search.fail(params)
            failed += 1
        else:
            search.tell(params, reward)
    return asked, failed


def failing(fails, objective=bowl):
    """Return an objective that fails somewhere."""

    def evaluate(params):
        if fails(params):
            raise ValueError("failed")
        return objective(params)

    return evaluate


def right_side(params):
    """Fail next to the maximum."""
    return params["x"] > 0.35


# ---------------------------------------------------------------------- the next point


def test_few_evaluations_fail_if_the_best_points_border_on_failures():
    # The maximum among points that do not fail is -0.01. If failures were only pending, 58 % of
    # the evaluations would fail, and the best found would be -0.016 to -0.06.
    failed = []
    for seed in range(2):
        search = Forest(BOX, rng=seed)
        failed.append(play(search, failing(lambda params: params["x"] > 0.2), 60)[1])
        assert search.best().value > -0.013
    assert sum(failed) < 0.45 * 2 * 60


def test_failures_by_chance_do_no_harm():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        search = Forest(BOX, rng=seed)
        play(search, failing(lambda params, rng=rng: rng.random() < 0.1), 80)
        assert search.best().value > -1e-4


def test_an_option_that_always_fails_is_abandoned():
    def score(params):
        return params["u"] if params["kind"] == "b" else 10.0

    search = Forest(MIXED, rng=0)
    _, failed = play(search, failing(lambda params: params["kind"] == "a", score), 60)
    assert failed < 20
    assert search.best().value > 1.99


def test_failures_before_any_reward_are_spread_out():
    search = Forest(BOX, rng=0)
    asked, _ = play(search, failing(lambda params: True), 30)
    assert len({tuple(params.values()) for params in asked}) == 30
    quarters = {(params["x"] > 0, params["y"] > 2.5) for params in asked}
    assert len(quarters) == 4
    play(search, failing(right_side), 60)
    assert search.best().value > -1e-3


def test_the_failure_rate_of_points_at_risk_is_recorded():
    none = Forest(BOX, rng=0)._risk
    always = Forest(BOX, rng=0)
    play(always, failing(right_side), 60)
    chance = Forest(BOX, rng=0)
    rng = np.random.default_rng(0)
    play(chance, failing(lambda params: rng.random() < 0.1), 60)
    assert (none.at_risk, none.confirmed) == (0, 0)
    assert always._risk.confirmed > 0.6 * always._risk.at_risk
    assert chance._risk.confirmed < 0.4 * chance._risk.at_risk


POINTS = st.lists(
    st.tuples(
        st.one_of(
            st.tuples(st.just(0), st.floats(0, 1), st.integers(0, 4), st.none()),
            st.tuples(st.just(1), st.none(), st.none(), st.floats(0, 1)),
        ),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda item: item[0],
)


@given(POINTS, st.integers(0, 2**31))
def test_points_are_at_risk_if_the_nearest_one_with_the_same_choices_failed(known, seed):
    trials = TrialTable(MIXED, None)
    risk = FailureRisk(trials)
    places = {}
    for point, failed in known:
        if failed:
            trials.fail(point, 0.0)
        else:
            trials.observe(point, 1.0, None)
        kind, u, n, v = point
        places[point] = (v,) if kind else (u, (n + 0.5) / 5)
    rng = np.random.default_rng(seed)
    for kind in (0, 1):
        point = next((p for p, _ in known if p[0] == kind), None)
        tries = rng.random((6, 1 if kind else 2))
        if point is None:
            continue
        found = risk.are_at_risk(point, tries)
        for place, at_risk in zip(tries, found, strict=True):
            distances = {True: [math.inf], False: [math.inf]}
            for other, failed in known:
                if other[0] == kind:
                    distances[failed].append(math.dist(place, places[other]))
            bad, good = min(distances[True]), min(distances[False])
            if not math.isclose(bad, good, rel_tol=1e-9):
                assert at_risk == (bad < good)


# ---------------------------------------------------------------------- beliefs


@pytest.mark.parametrize("noise", [None, 0.0, 0.1])
def test_failures_do_not_change_beliefs_about_rewards(noise):
    search, twin = (Forest(BOX, noise=noise, rng=1) for _ in range(2))
    rng = np.random.default_rng(2)
    for i in range(24):
        params = {"x": rng.uniform(-1, 1), "y": rng.uniform(0, 5)}
        for forest in (search, twin):
            forest.tell(params, bowl(params))
        if i % 3 == 0:
            search.fail({"x": rng.uniform(-1, 1), "y": rng.uniform(0, 5)})
    assert search.observations == twin.observations == 24
    for rule in ("lower", "mean", "observed", None):
        assert search.best(rule) == twin.best(rule)
    assert search.certificate == twin.certificate
    assert search._learner.fits == twin._learner.fits
    assert (search.priority == twin.priority).all()
    assert search.pending == ()


def test_failures_are_poor_rewards_only_in_the_choice_of_points():
    search = Forest(BOX, rng=0)
    play(search, failing(right_side), 41)
    ensemble, trials = search._ensemble, search.trials
    ensemble.refit(search._rng)  # which replaces the partitions
    poor = float(np.quantile(trials.values, 0.25))
    rows = sorted(trials.failed.values())
    for turn in range(search.trees):
        honest = ensemble.belief(turn, search._rng)
        penalized = ensemble.belief(turn, search._rng, penalized=True)
        assert penalized.partition is honest.partition
        assert sorted(honest.belief.observations["value"]) == sorted(trials.values)
        values = penalized.belief.observations["value"]
        assert len(values) == search.observations + len(trials.failed)
        assert values[rows].tolist() == [poor] * len(rows)


def gpts_on(space, **rng):
    """Return GPTS on the fixed partition."""
    search = bough.GPTS(space.tree, kernel=bough.kernels.Linear(), noise=0.1, **rng)
    return PartitionSearcher(space, search)


@pytest.mark.parametrize("make", [Forest, gpts_on])
def test_a_failure_is_not_an_observation(make):
    search = make(BOX, rng=0)
    play(search, bowl, 10)
    before = search.best()
    params = search.ask()
    search.fail(params)
    assert (search.observations, search.best()) == (10, before)
    search.tell(params, 100.0)  # it succeeds later
    assert search.observations == 11
    assert search.best("observed").value == 100.0


def test_a_failure_of_an_observed_point_is_ignored():
    search, twin = (Forest(BOX, rng=0) for _ in range(2))
    for forest in (search, twin):
        play(forest, bowl, 30)
    search.fail(search.best().params)
    assert play(search, bowl, 20)[0] == play(twin, bowl, 20)[0]


def test_a_failure_is_dropped_when_its_point_is_observed():
    search = Forest(BOX, rng=0)
    play(search, failing(right_side), 30)
    failures = search.trials.failed
    params, failed = search.space.params(next(iter(failures))), len(failures)
    search.fail(params)  # again
    assert len(failures) == failed
    search.tell(params, 7.0)
    assert len(failures) == failed - 1
    penalized = search._ensemble.belief(0, search._rng, penalized=True)
    values = penalized.belief.observations["value"]
    assert (values == 7.0).sum() == 1
    assert len(values) == search.observations + len(failures)
    play(search, failing(right_side), 30)
    assert search.best("observed").value == 7.0


def test_a_search_continues_when_all_failures_were_observed_later():
    search = Forest(BOX, rng=0)
    params = search.ask()
    search.fail(params)
    play(search, bowl, 10)
    while not search._risk.penalized:
        play(search, bowl, 1)
    search.tell(params, bowl(params))
    play(search, bowl, 40)
    assert search.best().value > -1e-4


def test_invalid_params_change_nothing():
    search = Forest(BOX, rng=0)
    play(search, failing(right_side), 20)
    before = pickle.dumps(search.trials.failed)
    with pytest.raises(ValueError, match="x"):
        search.fail({"x": 3.0, "y": 1.0})
    assert pickle.dumps(search.trials.failed) == before


def test_a_pickled_search_continues_identically():
    search = Forest(MIXED, rng=0)
    objective = failing(lambda params: params["u"] > 0.6, lambda params: params["u"])
    play(search, objective, 25)
    twins = [pickle.loads(pickle.dumps(search)), copy.deepcopy(search)]
    asked = play(search, objective, 25)
    for twin in twins:
        assert play(twin, objective, 25) == asked


# ---------------------------------------------------------------------- exhaustion


@pytest.mark.parametrize("noise", [None, 0.0, 0.1])
def test_a_search_stops_when_all_points_have_failed(noise):
    search = Forest(FEW, noise=noise, rng=0)
    asked, _ = play(search, failing(lambda params: True), 6)
    assert len({tuple(params.values()) for params in asked}) == 6
    with pytest.raises(Exhausted, match=r"all 6 points .* 0 observations, or failed \(6\)"):
        search.ask()
    assert search.observations == 0


def test_a_search_stops_when_all_points_are_known_or_failed():
    def evaluate(params):
        if params["b"] == "y":
            raise ValueError("no")
        return params["a"]

    result = bough.maximize(evaluate, FEW, budget=100, catch=ValueError, retries=0, rng=0)
    assert result.stopped_by == "exhausted"
    assert result.best.params == {"a": 3, "b": "x"}
    assert (
        len(result.history) - result.history.failed == 4
    )  # the best one twice, to see whether there is noise
    nothing = bough.maximize(
        failing(lambda params: True), FEW, budget=100, catch=ValueError, retries=0, rng=0
    )
    assert (nothing.stopped_by, nothing.best) == ("exhausted", None)


def test_failed_points_are_not_asked_for_again_with_noise():
    search = Forest(FEW, noise=0.1, rng=0)
    objective = failing(lambda params: params["b"] == "y", lambda params: params["a"])
    asked, failed = play(search, objective, 25)
    assert failed == 3 < len([params for params in asked if params["b"] == "x"])
    many = [search.ask() for _ in range(8)]  # more than there are that succeed
    assert {params["b"] for params in many} == {"x"}


# ---------------------------------------------------------------------- studies


def test_a_study_with_failures_resumes_identically(tmp_path):
    def run(file, budget):
        return bough.maximize(
            failing(right_side),
            BOX,
            budget=budget,
            catch=ValueError,
            retries=0,
            study=file,
            rng=3,
        )

    whole = run(tmp_path / "whole.db", 45)
    for budget in (7, 26, 45):
        parts = run(tmp_path / "parts.db", budget)
    assert parts.study.failed == whole.study.failed > 5
    tried, again = ([t.params for t in result.study.trials] for result in (whole, parts))
    assert tried == again
    alone = bough.maximize(failing(right_side), BOX, budget=45, catch=ValueError, retries=0, rng=3)
    assert alone.history.params == [t.params for t in whole.study.trials]


def test_a_study_that_starts_over_keeps_failures(tmp_path, monkeypatch):
    file = tmp_path / "study.db"
    bough.maximize(
        failing(right_side), BOX, budget=26, catch=ValueError, retries=0, study=file, rng=3
    )
    with monkeypatch.context() as patch:
        patch.setattr(bough.Forest, "random_state", 0)  # another program
        with pytest.warns(UserWarning, match="another random state"):
            study = Study.open(file)
    with study:
        assert study.searcher.observations + study.failed == 26
        assert len(study.searcher.trials.failed) == study.failed > 0
        assert len(study.searcher._learner.fits) == 1
        trial = study.ask()
        study.fail(trial, "again")
    with Study.open(file) as study:  # unchanged
        assert len(study.searcher.trials.failed) == study.failed
