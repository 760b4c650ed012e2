"""`maximize` and `minimize` over spaces."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

import bough
from bough import Choice, Float, Int, ObjectiveError, Space

SPACE = Space(
    model=Choice({"svm": Space(C=Float(1e-3, 1e3, log=True)), "forest": Space(n=Int(10, 99))}),
    scale=Choice([True, False]),
)


def loss(params):
    if params["model"] == "svm":
        return math.log(params["C"]) ** 2 / 10 + 0.1 * params["scale"]
    return 0.3 + abs(params["n"] - 40) / 100


def test_minimize_over_a_space():
    result = bough.minimize(loss, SPACE, budget=80, rng=0)
    assert result.stopped_by == "budget"
    best = result.best
    assert (best.params["model"], best.params["scale"]) == ("svm", False)
    assert best.mean == loss(best.params) < 1e-3
    assert best.path == SPACE.encode(best.params)
    assert result.certificate.upper == best.mean
    assert len(result.history) == len(result.history.params) == 80
    assert result.history.params[3] == SPACE.params(SPACE.point(result.history.params[3]))
    assert [loss(p) for p in result.history.params] == result.history.values.tolist()
    text = repr(result)
    assert "best params {'model': 'svm'" in text
    assert "of 8, to its resolution" in text


def test_maximize_is_minimize_of_the_negative():
    up = bough.maximize(lambda p: -loss(p), SPACE, budget=40, rng=3)
    down = bough.minimize(loss, SPACE, budget=40, rng=3)
    assert up.history.params == down.history.params
    assert up.best.mean == -down.best.mean


def test_other_searchers_use_the_fixed_partition():
    for searcher in ("hoo", "uct", "random", lambda space: bough.Forest(space, rng=0)):
        rng = 0 if isinstance(searcher, str) else None
        result = bough.minimize(loss, SPACE, budget=40, searcher=searcher, rng=rng)
        assert len(result.history) == 40
        assert loss(result.best.params) < 2.0


def test_a_searcher_with_observations():
    search = bough.Forest(SPACE, rng=0)
    search.tell({"model": "svm", "C": 1.0, "scale": False}, 0.0)
    result = bough.minimize(loss, SPACE, budget=30, searcher=search)
    assert len(result.history) == 29
    assert result.best.params == {"model": "svm", "C": 1.0, "scale": False}


def test_it_stops_when_the_space_is_exhausted():
    space = Space(a=Int(1, 3), b=Choice(["x", "y"]))
    result = bough.maximize(lambda p: p["a"] + (p["b"] == "y"), space, budget=50, rng=0)
    assert result.stopped_by == "exhausted"
    assert result.best.params == {"a": 3, "b": "y"}
    assert len(result.history) == 7  # all six points, and one of them again


def test_an_objective_may_modify_its_params():
    def objective(params):
        return params.pop("x")

    result = bough.maximize(objective, Space(x=Float(0, 1)), budget=10, rng=0)
    assert all(params.keys() == {"x"} for params in result.history.params)


def test_noise_of_each_evaluation():
    result = bough.maximize(lambda p: (p["x"], 0.1), Space(x=Float(0, 1)), budget=30, rng=0)
    assert result.best.params["x"] > 0.7
    assert result.best.std > 0.0


def test_a_target_stops_the_search():
    result = bough.minimize(loss, SPACE, budget=300, stop=bough.Target(0.05), rng=0)
    assert result.stopped_by == "target"
    assert result.best.mean <= 0.05


def test_an_objective_that_fails():
    with pytest.raises(ObjectiveError, match="failed at params {'model'") as caught:
        bough.minimize(lambda p: 1 / 0, SPACE, budget=5, rng=0)
    assert caught.value.params.keys() >= {"model", "scale"}
    assert caught.value.path == SPACE.encode(caught.value.params)
    failing = bough.minimize(
        lambda p: loss(p) if p["model"] == "svm" else 1 / 0,
        SPACE, budget=30, catch=ZeroDivisionError, rng=0,
    )  # fmt: skip
    assert failing.best.params["model"] == "svm"


def test_workers():
    with ThreadPoolExecutor(2) as pool:
        result = bough.minimize(loss, SPACE, budget=24, executor=pool, rng=0)
    assert len(result.history) == 24
    assert result.searcher.pending == ()


def test_invalid_spaces_and_searchers():
    with pytest.raises(TypeError, match=r"second argument must be a bough.Tree or a bough.Space"):
        bough.maximize(loss, {"x": (0, 1)}, budget=5)
    other = bough.Forest(Space(x=Float(0, 1)))
    with pytest.raises(ValueError, match="the searcher is for Space"):
        bough.maximize(loss, SPACE, budget=5, searcher=other)
    with pytest.raises(ValueError, match="searcher must be one of"):
        bough.maximize(loss, SPACE, budget=5, searcher="optuna")
