"""Constraints: known before, or part of an outcome; on spaces and trees, and in every executor."""

import io
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from objectives import on_disc

import bough
from bough import ObjectiveError, Outcome
from bough.exceptions import Infeasible
from bough.report.snapshot import snapshot, trial_columns
from bough.run.executors import read_outcome
from bough.studies.constraints import MOST_TRIES, read_constraints

SPACE = bough.Space(x=bough.Float(-1, 1), y=bough.Float(-1, 1))
TREE = bough.Tree(6, 3)


def far(params):
    """Return the squared distance from a corner, which is infeasible."""
    return (params["x"] - 1) ** 2 + (params["y"] - 1) ** 2


def disc(params, radius=1.0):
    return params["x"] ** 2 + params["y"] ** 2 - radius**2


def on_tree(path):
    return Outcome(sum(path), constraints=[sum(path) - 9, path[0] - 4])


# ---------------------------------------------------------------------- outcomes


@given(st.lists(st.floats(-1e9, 1e9), max_size=5), st.floats(-1e9, 1e9))
def test_an_outcome_is_read_as_it_is_written(values, reward):
    for given_ in (values, tuple(values), np.array(values)):
        assert read_outcome(Outcome(reward, constraints=given_)) == (reward, None, tuple(values))
    assert read_outcome(Outcome(reward, 2.0, values)) == (reward, 2.0, tuple(values))


@pytest.mark.parametrize("one", [3, 3.0, np.float32(3), np.array(3.0), [3], np.array([3])])
def test_one_constraint_needs_no_list(one):
    assert read_constraints(one) == (3.0,)


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (Outcome(1.0, constraints=[math.nan]), ValueError, "constraints must be finite, got nan"),
        (Outcome(1.0, constraints=[True]), TypeError, "write the condition x <= 1 as x - 1"),
        (Outcome(1.0, constraints=False), TypeError, "constraints must be numbers"),
        (Outcome(1.0, constraints="ab"), TypeError, "constraints must be a sequence"),
        (Outcome(1.0, constraints=None), TypeError, "constraints must be a number or a sequence"),
        (Outcome(1.0, -1.0), ValueError, "the value's std must not be negative"),
        (Outcome(math.inf), ValueError, "the value must be finite"),
        ([1.0, 2.0], TypeError, "a list of 2; bough optimizes one objective"),
        ((1.0, 2.0, 3.0), TypeError, "a tuple of 3; bough optimizes one objective"),
        (np.array([1.0, 2.0]), TypeError, "NSGAIISampler"),
    ],
)
def test_a_wrong_outcome_is_refused(returned, error, message):
    with pytest.raises(error, match=message):
        read_outcome(returned)
    with pytest.raises(ObjectiveError, match="the objective failed at params"):
        bough.maximize(lambda p: returned, SPACE, budget=3, rng=0)
    result = bough.maximize(lambda p: returned, SPACE, budget=3, catch=error, rng=0)
    assert result.history.failed == 3
    assert result.best is None


def test_several_objectives_are_refused():
    with pytest.raises(
        TypeError, match="objective must be a function.*bough optimizes one objecti"
    ):
        bough.maximize([far, disc], SPACE, budget=3)


def test_the_number_of_constraints_does_not_change():
    calls = []

    def objective(params):
        calls.append(params)
        return Outcome(1.0, constraints=[-1.0] * (1 + (len(calls) > 2)))

    with pytest.raises(ObjectiveError, match="constraints must have 1 value, as those .* got 2"):
        bough.maximize(objective, SPACE, budget=9, rng=0)
    assert len(calls) == 3
    calls.clear()
    search = bough.Forest(SPACE, rng=0)
    result = bough.maximize(objective, SPACE, searcher=search, budget=6, catch=ValueError)
    assert [t.state for t in result.history.trials] == ["completed"] * 2 + ["failed"] * 4
    assert search.observations == 2
    assert not search.pending


# ---------------------------------------------------------------------- returned constraints


@pytest.mark.parametrize("seed", range(3))
def test_the_best_is_feasible_and_near_the_optimum(seed):
    result = bough.minimize(on_disc, SPACE, budget=80, rng=seed)
    trials = result.history.trials
    assert 0 < result.history.infeasible == sum(t.state == "infeasible" for t in trials)
    assert result.searcher.observations == 80 - result.history.infeasible
    feasible = [t.value for t in trials if max(t.constraints) <= 0]
    assert result.best_observed.value == result.best.value == min(feasible)
    assert result.best.value - (math.sqrt(2) - 1) ** 2 < 1e-3
    assert min(result.history.values) < result.best.value  # of an infeasible trial


@given(st.integers(0, 2**31), st.sampled_from(["gpts", "random", "uct"]), st.booleans())
def test_an_infeasible_path_is_never_the_best(seed, searcher, known):
    def constraints(path):
        return [sum(path) - 5.0, path[-1] - 2.0]

    def objective(path):
        assert not known or max(constraints(path)) <= 0
        return Outcome(float(sum(path)), constraints=() if known else constraints(path))

    result = bough.maximize(
        objective, TREE, searcher=searcher, budget=25, rng=seed,
        constraints=constraints if known else None,
    )  # fmt: skip
    feasible = [t for t in result.history.trials if max(t.constraints) <= 0]
    assert all((t.state == "completed") == (t in feasible) for t in result.history.trials)
    assert result.searcher.observations == len(feasible)
    if feasible:
        assert max(constraints(result.best.path)) <= 0
        assert result.best_observed.value == max(t.value for t in feasible)
    else:
        assert result.best is None
        assert "no trial is feasible" in repr(result)


def test_rules_and_progress_respect_constraints():
    shown = io.StringIO()
    with redirect_stderr(shown):
        result = bough.minimize(
            on_disc, SPACE, budget=60, stop=bough.Target(0.18), progress="log", rng=0
        )
    assert result.stopped_by == "target"
    assert result.best.value <= 0.18
    lines = shown.getvalue().splitlines()
    infeasible = [t for t in result.history.trials if t.state == "infeasible"]
    marked = [line for line in lines if "infeasible by" in line]
    assert len(marked) == len(infeasible) > 0
    assert f"infeasible by {infeasible[0].constraints[0]:.6g}" in marked[0]
    assert lines[-1].endswith(f"; best {result.best_observed.value:.6g}")
    assert f"of which {len(infeasible)} infeasible" in repr(result)
    with redirect_stderr(io.StringIO()) as shown:
        bough.minimize(on_disc, SPACE, budget=30, progress=True, rng=0)
    assert "infeasible" in shown.getvalue()


def test_if_nothing_is_feasible_the_violation_is_minimized():
    def objective(params):
        return Outcome(0.0, constraints=[1.5 + disc(params), -1.0])

    result = bough.maximize(objective, SPACE, budget=60, rng=0)
    assert result.best is None
    assert result.best_observed is None
    assert result.history.infeasible == 60
    assert result.searcher.observations == 0
    assert min(t.constraints[0] for t in result.history.trials) < 0.5 + 1e-6
    assert "no trial is feasible; the smallest violation is" in repr(result)


def test_infeasible_trials_are_no_failures_for_a_rule():
    from bough.run.stopping import AllFailed

    def objective(params):
        return Outcome(0.0, constraints=1.0)

    result = bough.maximize(objective, SPACE, budget=20, stop=AllFailed(5), rng=0)
    assert result.stopped_by == "budget"


def test_tables_and_the_report_have_constraints(tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("plotly")
    result = bough.minimize(on_disc, SPACE, budget=40, rng=0)
    table = result.history.to_pandas()
    assert (table["state"].eq("infeasible") == table["constraints_0"].gt(0)).all()
    assert table["value"].notna().all()
    facts, columns = snapshot(result), trial_columns(result)
    assert facts["summary"]["trials"]["infeasible"] == result.history.infeasible
    assert columns["state"].count("i") == result.history.infeasible
    assert facts["summary"]["observed"]["value"] == result.best_observed.value
    result.report(tmp_path / "page.html")
    from bough import plotting

    data = plotting.convergence_data(result)
    assert min(data.best) == result.best_observed.value


def test_noisy_values_on_a_disc():
    def objective(params, seed):
        noise = 0.05 * np.random.default_rng(seed).standard_normal()
        return Outcome(far(params) + noise, constraints=[disc(params)])

    result = bough.minimize(objective, SPACE, budget=120, rng=1)
    assert disc(result.best.params) <= 0
    assert far(result.best.params) < 0.3


# ---------------------------------------------------------------------- executors


@pytest.mark.parametrize("executor", [2, ThreadPoolExecutor(3)], ids=["processes", "threads"])
def test_constraints_come_back_from_any_executor(executor):
    result = bough.minimize(on_disc, SPACE, budget=20, executor=executor, rng=0)
    assert all(t.constraints == (disc(t.params),) for t in result.history.trials)
    assert disc(result.best.params) <= 0
    result = bough.minimize(far, SPACE, budget=20, executor=executor, constraints=disc, rng=0)
    assert len(result.history) == 20
    assert all(t.constraints == (disc(t.params),) <= (0.0,) for t in result.history.trials)


def test_both_kinds_are_joined():
    def objective(params):
        return Outcome(far(params), constraints=[params["x"] - 0.5, -1.0])

    result = bough.minimize(objective, SPACE, budget=50, constraints=disc, rng=0)
    for trial in result.history.trials:
        assert trial.constraints == (disc(trial.params), trial.params["x"] - 0.5, -1.0)
        assert trial.constraints[0] <= 0
    assert result.history.infeasible > 0
    assert result.best.params["x"] <= 0.5


# ---------------------------------------------------------------------- constraints known before


@pytest.mark.parametrize("seed", range(3))
def test_one_percent_of_a_space_is_searched(seed):
    radius = math.sqrt(0.04 / math.pi)
    result = bough.minimize(far, SPACE, budget=40, constraints=lambda p: disc(p, radius), rng=seed)
    assert len(result.history) == 40
    assert result.history.infeasible == 0
    assert all(disc(p, radius) <= 0 for p in result.history.params)
    assert result.best.value - (math.sqrt(2) - radius) ** 2 < 1e-3


def test_one_percent_of_a_tree_is_searched():
    tree = bough.Tree(10, 4)
    result = bough.maximize(
        lambda path: sum(path), tree, budget=40, constraints=lambda path: sum(path) - 7, rng=0
    )
    assert len(result.history) == 40
    assert max(result.history.values) <= 7
    assert result.searcher.pending == ()  # rejected paths are forgotten at the end


def test_a_search_ends_if_nothing_is_feasible():
    def constraints(params):
        return [0.25 + disc(params, 0.0), -1.0]

    with pytest.raises(Infeasible, match=f"none of {MOST_TRIES:,} candidates.*violated by 0.25"):
        bough.minimize(far, SPACE, budget=10, constraints=constraints, rng=0)
    with pytest.raises(Infeasible, match="violated by 3 or more"):
        bough.maximize(sum, bough.Tree(9, 9), budget=10, constraints=lambda path: 3.0, rng=0)


def test_a_search_ends_when_all_feasible_points_are_known():
    space = bough.Space(a=bough.Int(1, 9), b=bough.Choice(["x", "y"]))
    seen = []

    def objective(params):
        seen.append(tuple(params.values()))
        return params["a"]

    result = bough.maximize(
        objective, space, budget=100, noise=0.0, constraints=lambda p: p["a"] - 3, rng=0
    )
    assert sorted(seen) == [(a, b) for a in (1, 2, 3) for b in "xy"]
    assert result.stopped_by == "exhausted"
    assert result.best.value == 3


def test_wrong_constraints_are_refused_and_change_nothing():
    with pytest.raises(TypeError, match="constraints must be a function of the params.*got 3"):
        bough.minimize(far, SPACE, budget=3, constraints=3)

    def fails(params):
        raise KeyError("z")

    cases = [
        (fails, "KeyError"),
        (lambda p: math.nan, "constraints must be finite, got nan"),
        (lambda p: [], "constraints must have one value or more"),
        (lambda p: None, "constraints must be a number or a sequence of numbers, got None"),
        (lambda p: p["x"] < 0, "write the condition"),
    ]
    for constraints, message in cases:
        search = bough.Forest(SPACE, rng=0)
        with pytest.raises(ObjectiveError, match="the constraints failed at params.*") as error:
            bough.minimize(far, SPACE, budget=3, searcher=search, constraints=constraints)
        assert message in str(error.value)
        assert set(error.value.params) == {"x", "y"}
        assert len(error.value.result.history) == 0
        assert search.observations == 0
        assert search.pending == ()


def test_the_argument_may_be_changed_by_the_function():
    def constraints(params):
        return [params.pop("x") - 2.0]

    result = bough.minimize(far, SPACE, budget=5, constraints=constraints, rng=0)
    assert all(set(params) == {"x", "y"} for params in result.history.params)


@given(st.integers(0, 2**31))
def test_constraints_that_always_hold_change_no_path(seed):
    plain = bough.maximize(sum, TREE, budget=15, rng=seed)
    known = bough.maximize(sum, TREE, budget=15, constraints=lambda path: -1.0, rng=seed)
    assert plain.history.paths == known.history.paths


@pytest.mark.parametrize("domain", [bough.Space(a=bough.Int(1, 4)), bough.Tree(2, 2)])
def test_finite_domains_without_a_feasible_candidate(domain):
    with pytest.raises(Infeasible, match="feasible"):
        bough.maximize(lambda given: 1.0, domain, budget=100, constraints=lambda given: 1.0, rng=0)


# ---------------------------------------------------------------------- constraints that fail


def fails_on_the_left(params):
    if params["x"] < 0:
        raise ZeroDivisionError("x is negative")
    return params["y"]


@pytest.mark.parametrize("executor", [None, 2])
@pytest.mark.parametrize("recorded", [False, True])
def test_failures_of_constraints_are_caught(tmp_path, executor, recorded):
    file = tmp_path / "run.db" if recorded else None
    result = bough.minimize(
        far, SPACE, budget=30, constraints=fails_on_the_left, catch=ArithmeticError, rng=0,
        executor=executor, study=file, retries=2,
    )  # fmt: skip
    trials = result.history.trials
    assert len(trials) == 30 == result.searcher.observations + result.history.failed
    assert 0 < result.history.failed == sum(t.params["x"] < 0 for t in trials)
    for trial in trials:
        failed = trial.state == "failed"
        assert failed == (trial.params["x"] < 0)
        assert (trial.reason == "constraints: ZeroDivisionError: x is negative") == failed
    if recorded:
        again = bough.minimize(
            far, SPACE, budget=35, constraints=fails_on_the_left, catch=ArithmeticError, study=file
        )
        assert len(again.history) == 5
        assert bough.Study.look(file).trials.count("running") == 0


def test_constraints_that_always_fail_end_a_run():
    def constraints(params):
        raise OSError("no table")

    rule = bough.run.stopping.AllFailed(4)
    result = bough.minimize(far, SPACE, stop=rule, constraints=constraints, catch=OSError, rng=0)
    assert result.stopped_by == "failures"
    assert result.history.failed == 4
    with pytest.raises(ObjectiveError, match="the constraints failed"):
        bough.minimize(far, SPACE, budget=9, constraints=constraints, catch=ValueError, rng=0)


def test_an_enqueued_trial_that_is_infeasible_is_in_the_history(tmp_path):
    with bough.Study.create(tmp_path / "run.db", SPACE, rng=0) as study:
        for x in (0.9, 1.0, 0.1):
            study.enqueue({"x": x, "y": x})
        result = bough.maximize(far, SPACE, study=study, budget=4, constraints=disc)
    states = [trial.state for trial in result.history.trials]
    assert states == ["failed", "failed", "completed", "completed"]
    assert "it violates the constraints" in result.history.trials[0].reason


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (lambda p: 1e300, "the constraints failed .*between -1e.50 and 1e.50, .*use larger units"),
        (lambda p: None, "constraints must be a number or a sequence of numbers, got None"),
    ],
)
def test_messages_about_wrong_constraints(constraints, message):
    with pytest.raises(ObjectiveError, match=message):
        bough.minimize(far, SPACE, budget=3, constraints=constraints, rng=0)
