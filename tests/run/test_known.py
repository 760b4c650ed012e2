"""What a result says of the best: expected best, expected gap, best observed, bounds, warnings."""

import itertools
import json
import math
import pickle

import numpy as np
import pytest

import bough
from bough import (
    GPTS,
    ExpectedGap,
    Float,
    Forest,
    Gap,
    Space,
    Study,
    Tree,
    kernels,
    maximize,
    minimize,
)
from bough.problems import named
from bough.run.render import result_facts

TREE = Tree(4, 5)
SPACE = Space(x=Float(0, 1), y=Float(0, 1))


class Noisy:
    """Rewards with noise, those of a path the same whichever way round they are asked for."""

    def __init__(self, sign=1.0, seed=0):
        self.sign, self.rng = sign, np.random.default_rng(seed)

    def __call__(self, path):
        return self.sign * (sum(path) / 15 + 0.2 * self.rng.standard_normal())


@pytest.mark.parametrize("learned", [True, False])
def test_maximize_and_minimize_say_the_same(learned):
    def searcher(tree):
        return GPTS(tree, rng=0) if learned else GPTS(tree, kernels.Linear(), 0.2, rng=0)

    up = maximize(Noisy(), TREE, budget=60, searcher=searcher)
    down = minimize(Noisy(-1.0), TREE, budget=60, searcher=searcher)
    assert up.expected_gap == down.expected_gap >= 0.0
    assert up.best_value == (-down.best_value[0], down.best_value[1])
    assert (up.best_value, up.expected_gap) == (
        up.searcher.best_value(),
        up.searcher.expected_gap(),
    )
    assert up.best_observed.value == -down.best_observed.value == max(up.history.values)
    at = int(np.argmax(up.history.values))
    assert up.best_observed.path == up.history.paths[at]


def test_the_expected_gap_is_the_difference_of_the_means():
    """The mean of the best minus that of the recommended arm, up to the error of 256 draws."""
    result = maximize(Noisy(), TREE, budget=80, searcher=GPTS(TREE, kernels.Linear(), 0.2, rng=0))
    mean, std = result.best_value
    difference = mean - result.best.mean
    assert abs(result.expected_gap - difference) < 5 * (std + result.best.std) / 16


def test_a_result_stays_as_it_was_when_the_search_continues():
    search = GPTS(TREE, rng=0)
    first = maximize(Noisy(), TREE, budget=30, searcher=search)
    twin = maximize(Noisy(), TREE, budget=30, searcher=GPTS(TREE, rng=0))
    then = maximize(Noisy(seed=1), TREE, budget=200, searcher=search)
    assert first.best_value == twin.best_value != then.best_value
    assert first.expected_gap == twin.expected_gap
    assert pickle.loads(pickle.dumps(first)).best_value == first.best_value


def test_searchers_without_an_estimate():
    for result in (
        maximize(sum, TREE, budget=5, searcher="uct", rng=0),
        maximize(lambda params: params["x"], SPACE, budget=5, rng=0),
    ):
        assert result.best_value is None
        assert result.expected_gap is None
        assert result.best_observed.value == max(result.history.values)
        assert "expected_gap" not in result_facts(result)
    assert result.best_observed.params["x"] == result.best_observed.value


@pytest.mark.parametrize("budget", [1, 2, 3, 4])
@pytest.mark.parametrize("bounds", [None, (0, 1), (None, 1), (0, None)])
def test_the_first_results_can_be_shown(budget, bounds):
    result = maximize(Noisy(), TREE, budget=budget, bounds=bounds, rng=0)
    assert "nan" not in repr(result)
    assert " inf" not in repr(result)
    json.dumps(result_facts(result), allow_nan=False)
    assert result.expected_gap >= 0.0
    if bounds == (0, 1):
        assert 0.0 <= result.best_value[0] <= 1.0
        assert 0.0 <= result.certificate.gap <= 1.0
    elif budget < 3:  # the scale of the rewards is not known, so that there is no expectation
        assert result.expected_gap == math.inf


def test_infinitely_many_children():
    tree = Tree(math.inf, 3)
    result = maximize(lambda path: sum(path) % 7, tree, budget=20, rng=0)
    assert result.expected_gap == math.inf
    assert "expected " not in repr(result)
    result = maximize(lambda path: sum(path) % 7, tree, budget=20, bounds=(0, 7), rng=0)
    assert result.best_value == (7.0, 0.0)
    assert 0.0 <= result.expected_gap <= 7.0
    assert result.certificate.upper == 7.0


# ---------------------------------------------------------------------- ExpectedGap


def test_expected_gap_stops():
    stop = ExpectedGap(0.05)
    paths = []
    for optimize, sign in ((maximize, 1.0), (minimize, -1.0)):
        problem = named("drawn:linear", seed=0)

        def value(path, problem=problem, sign=sign):
            return sign * problem(path)

        result = optimize(value, problem.tree, budget=3000, stop=stop, rng=0)
        assert result.stopped_by == "expected gap"
        assert result.expected_gap <= 0.05
        paths.append(result.history.paths)
    assert paths[0] == paths[1]  # with the same rule


class Gaps:
    """A searcher with a given expected gap after each observation."""

    def __init__(self, gaps):
        self.gaps = gaps
        self.observations = 0
        self.looks = []

    def expected_gap(self):
        self.looks.append(self.observations)
        return self.gaps[self.observations - 1]


def stops_at(rule, search):
    """Return the number of observations at which a rule stops a search."""
    assert rule(search) is None  # nothing is known
    for count in range(1, len(search.gaps) + 1):
        search.observations = count
        if rule(search) == "expected gap":
            return search.observations
    return None


def test_expected_gap_is_computed_when_observations_have_grown():
    search = Gaps([1.0] * 1000)
    assert stops_at(ExpectedGap(0.5), search) is None
    assert search.looks[:40] == list(range(1, 41))
    assert all(1.02 < b / a < 1.06 for a, b in itertools.pairwise(search.looks[40:]))


def test_expected_gap_must_stay_small():
    assert stops_at(ExpectedGap(0.5), Gaps([1.0] * 29 + [0.1] * 30)) == 40
    assert stops_at(ExpectedGap(0.5), Gaps([1.0] * 29 + [0.1, 0.6] + [0.5] * 30)) == 44
    assert stops_at(ExpectedGap(0.5), Gaps([1.0, 0.1, 1.0, 0.1, 1.0] * 9)) is None
    rule, search = ExpectedGap(0.5), Gaps([0.5] * 100)
    search.observations = 60
    assert rule(search) == "expected gap"  # at the first look, of a search that is resumed


def test_expected_gap_refuses():
    with pytest.raises(TypeError, match=r"ExpectedGap\(eps=0.1\) needs a searcher with"):
        maximize(sum, TREE, budget=3, stop=ExpectedGap(0.1), searcher="uct", rng=0)
    with pytest.raises(ValueError, match="eps must not be negative, got -1"):
        ExpectedGap(-1)


# ---------------------------------------------------------------------- bounds


def test_bounds_are_respected():
    def reward(path):
        return min(max(sum(path) / 15, 0.0), 1.0)

    for noise in (None, 0.3):
        search = GPTS(TREE, noise=noise, bounds=(0, 1), rng=0)
        free = GPTS(TREE, noise=noise, rng=0)
        for _ in range(40):
            path = search.ask()
            assert path == free.ask()  # bounds do not change the choice
            for s in (search, free):
                s.tell(path, reward(path))
            found, all_ = search.certificate, free.certificate
            assert (found.lower, found.upper) == (max(all_.lower, 0), min(all_.upper, 1))
            assert found.gap == found.upper - found.lower
            assert 0.0 <= search.best().lower <= search.best().upper <= 1.0
            assert 0.0 <= search.best_value()[0] <= 1.0
            assert 0.0 <= search.expected_gap() <= 1.0


def test_bounds_of_values_to_minimize():
    result = minimize(lambda path: sum(path) / 15, TREE, budget=10, bounds=(0, None), rng=0)
    assert result.searcher.bounds == (-math.inf, 0.0)
    assert result.certificate.lower == 0.0
    assert result.best_value[0] >= 0.0
    space = minimize(lambda p: p["x"], SPACE, budget=10, bounds=(0, 1), rng=0)
    assert space.searcher.bounds == (-1.0, 0.0)
    assert 0.0 <= space.certificate.lower <= space.certificate.upper <= 1.0
    assert space.certificate.gap <= 1.0


def test_gap_stops_with_bounds():
    result = maximize(lambda path: 1.0 if path[0] else 0.5, TREE, budget=400, stop=Gap(0.01),
                      bounds=(0, 1), rng=0)  # fmt: skip
    assert result.stopped_by == "gap"
    assert len(result.history) < 100


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_study_keeps_bounds(tmp_path, direction):
    optimize = maximize if direction == "maximize" else minimize
    file = tmp_path / "run.db"
    first = optimize(sum, TREE, budget=5, bounds=(0, 15), study=file, rng=0)
    then = optimize(sum, TREE, budget=9, study=file)
    again = optimize(sum, TREE, budget=9, bounds=(0.0, 15.0), study=file)
    expected = (0.0, 15.0) if direction == "maximize" else (-15.0, 0.0)
    for result in (first, then, again):
        assert result.searcher.bounds == expected
        assert 0.0 <= result.certificate.lower <= result.certificate.upper <= 15.0
    with pytest.raises(bough.StudyError, match="bounds"):
        optimize(sum, TREE, budget=12, bounds=(0, 10), study=file)
    made = Study.create(tmp_path / "made.db", SPACE, direction=direction, bounds=(0, 15), rng=0)
    with made:
        assert made.searcher.bounds == expected
        with pytest.raises(ValueError, match="bounds: the study has its own options"):
            optimize(lambda p: p["x"], SPACE, budget=2, bounds=(0, 15), study=made)
    with Study.open(tmp_path / "made.db") as study:
        assert study.searcher.bounds == expected


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (1, r"bounds must be a pair \(low, high\), got 1"),
        ("01", "bounds must be a sequence, got '01'"),
        ((0, 1, 2), "bounds must be a pair"),
        ((1, 0), r"bounds must be \(low, high\) with low below high, got \(1, 0\)"),
        ((1, 1), "low below high"),
        ((math.inf, None), "bounds must be finite, got inf"),
        ((None, math.nan), "bounds must be finite, got nan"),
        ((None, "1"), "bounds must be one real number, got '1'"),
    ],
)
def test_invalid_bounds(bounds, message):
    for make in (
        lambda: GPTS(TREE, bounds=bounds),
        lambda: Forest(SPACE, bounds=bounds),
        lambda: maximize(sum, TREE, budget=3, bounds=bounds),
        lambda: minimize(sum, TREE, budget=3, bounds=bounds),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            make()


def test_bounds_are_for_a_searcher_that_is_made_here():
    for searcher in ("uct", GPTS(TREE, rng=0), lambda tree: GPTS(tree)):
        with pytest.raises(ValueError, match='bounds is only for the default searcher and "gpts"'):
            maximize(sum, TREE, budget=3, bounds=(0, 1), searcher=searcher)
    assert maximize(sum, TREE, budget=3, bounds=(0, 15), searcher="gpts").certificate.upper <= 15.0


# ---------------------------------------------------------------------- studies and warnings


def test_the_best_observed_is_that_of_the_study(tmp_path):
    file = tmp_path / "run.db"
    first = maximize(Noisy(), TREE, budget=50, study=file, rng=0)
    then = maximize(Noisy(seed=1), TREE, budget=51, study=file)
    assert len(then.history) == 1
    assert then.best_observed.value >= first.best_observed.value
    nothing = maximize(Noisy(), TREE, budget=51, study=file)
    assert nothing.best_observed == then.best_observed
    assert nothing.best_value == then.best_value


class Misfit(GPTS):
    misfit = "the model predicts no better than one of independent paths"


def test_a_misfit_is_a_warning():
    result = maximize(sum, TREE, budget=5, searcher=Misfit(TREE, rng=0))
    assert repr(result).splitlines()[-1] == f"warning: {Misfit.misfit}"
    assert result_facts(result)["warning"] == Misfit.misfit
    plain = maximize(sum, TREE, budget=5, rng=0)
    assert plain.misfit is None
    assert "warning" not in repr(plain)
