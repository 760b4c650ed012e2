"""maximize and minimize: stop rules, results, failures and interrupts."""

import inspect
import itertools
import math
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import bough
from bough import (
    GPTS,
    Budget,
    Gap,
    IntervalWidth,
    Target,
    Tree,
    WallTime,
    kernels,
    maximize,
    minimize,
)
from bough.problems import Smooth
from bough.run.progress import Interrupts

TREE = Tree(3, 4)


def search(noise=0.1, **keywords):
    return GPTS(TREE, kernels.Linear(), noise, rng=0, **keywords)


def reward(path):
    return sum(path) / 8


def test_it_finds_the_best_path():
    result = maximize(reward, TREE, budget=200, searcher=search(noise=0.0))
    assert result.best.path == (2, 2, 2, 2)
    assert result.stopped_by == "exhausted"
    assert result.certificate.gap == 0.0
    assert len(result.history) == 81
    assert result.history.values.max() == 1.0
    assert np.all(np.diff(result.history.seconds) >= 0)
    assert "best path   (2, 2, 2, 2)" in repr(result)


@pytest.mark.parametrize(
    ("stop", "word"),
    [
        (Budget(7), "budget"),
        (WallTime(0.05), "seconds"),
        (Gap(5.0), "gap"),
        (IntervalWidth(1.0), "interval width"),
        (Target(0.7), "target"),
        ([Budget(1000), lambda s: s.observations >= 5], "<lambda>"),
        (lambda s: "enough" if s.observations >= 5 else None, "enough"),
    ],
)
def test_stop_rules(stop, word):
    result = maximize(reward, TREE, budget=20_000, searcher=search(), stop=stop)
    assert result.stopped_by == word
    assert len(result.history) > 0
    assert result.searcher.pending == ()


def test_stop_rules_hold_when_they_say_so():
    careful = search(select="arm", confidence=bough.Confidence(scale=1.0))
    result = maximize(reward, TREE, budget=20_000, searcher=careful, stop=Gap(1.0))
    assert result.stopped_by == "gap"
    assert result.certificate.gap <= 1.0
    result = maximize(reward, TREE, budget=20_000, searcher=search(), stop=IntervalWidth(0.5))
    assert result.best.upper - result.best.lower <= 0.5
    result = maximize(reward, TREE, budget=20_000, searcher=search(), stop=Target(0.9))
    assert result.best.mean >= 0.9


def test_the_result_of_minimize_is_about_the_values_themselves():
    def cost(path):
        return 3.0 - reward(path)

    tree = TREE
    high = maximize(reward, tree, budget=200, searcher=search())
    low = minimize(cost, tree, budget=200, searcher=search(mean=-3.0))
    assert low.best.path == high.best.path
    assert low.best.mean == pytest.approx(3.0 - high.best.mean)
    assert low.best.lower < low.best.mean < low.best.upper
    assert low.best.value == pytest.approx(3.0 - high.best.value)
    assert low.certificate.lower <= min(low.history.values)
    assert low.certificate.upper == pytest.approx(3.0 - high.certificate.lower)
    assert low.certificate.gap == pytest.approx(high.certificate.gap)
    assert low.history.values.min() > 0
    found = minimize(cost, tree, budget=5000, searcher=search(mean=-3.0), stop=Target(2.1))
    assert found.stopped_by == "target"
    assert found.best.mean <= 2.1
    with pytest.raises(bough.ObjectiveError) as caught:
        minimize(lambda path: 1 / 0, tree, budget=5, searcher=search())
    assert caught.value.result.best is None
    with pytest.raises(ValueError, match="pass a limit"):
        minimize(cost, tree)


def test_minimize_has_the_signature_of_maximize():
    assert inspect.signature(minimize) == inspect.signature(maximize)
    assert minimize.__name__ == "minimize"
    with pytest.raises(TypeError, match="missing a required argument: 'tree_or_space'"):
        minimize(reward)
    with pytest.raises(TypeError, match="unexpected keyword argument 'budgets'"):
        minimize(reward, TREE, budgets=3)


def test_rules_are_checked_when_every_evaluation_fails():
    def fail(path):
        raise RuntimeError

    result = maximize(fail, TREE, searcher=search(), stop=WallTime(0.05), catch=RuntimeError)
    assert result.stopped_by == "seconds"
    assert result.best is None
    result = maximize(fail, TREE, searcher=search(), stop=Budget(10), catch=RuntimeError)
    assert (result.stopped_by, result.searcher.pending) == ("budget", ())
    result = maximize(fail, TREE, searcher=search(), stop=lambda s: True, catch=RuntimeError)
    assert result.stopped_by == "<lambda>"
    result = maximize(fail, TREE, searcher=search(), budget=5, stop=Gap(1e9), catch=RuntimeError)
    assert result.stopped_by == "budget"


@pytest.mark.parametrize("keywords", [{"stop": lambda s: 1 / 0}, {"callbacks": [lambda s: 1 / 0]}])
def test_rules_and_callbacks_that_raise_lose_nothing(keywords):
    mine = search()
    with pytest.raises(ZeroDivisionError) as caught:
        maximize(reward, TREE, budget=9, searcher=mine, **keywords)
    assert len(caught.value.result.history) == 1
    assert mine.pending == ()


def test_interrupts_are_postponed_once():
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)  # here and now, whatever other threads there are
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()
        with pytest.raises(KeyboardInterrupt):
            interrupts._handle(2, None) or interrupts._handle(2, None)


def test_what_was_pending_before_stays_pending():
    mine = search()
    asked = [mine.ask() for _ in range(3)]
    result = maximize(reward, TREE, budget=3, searcher=mine)
    assert result.stopped_by == "budget"
    assert sorted(mine.pending) == sorted(asked)


def test_a_tree_that_breaks_keeps_the_result():
    broken = []

    def branching(path):
        if broken and path == (0, 0):
            raise RuntimeError("gone")
        return 2

    tree = Tree(branching, 3)
    mine = GPTS(tree, kernels.Linear(), 0.1, rng=0)

    def objective(path):
        if len(mine.belief) == 5:
            broken.append(1)
        return 1.0 - sum(path)

    with pytest.raises(bough.ObjectiveError, match="gone") as caught:
        maximize(objective, tree, budget=200, searcher=mine)
    assert caught.value.result.best is not None


SIGNALS = """
import os, signal, threading, time
from bough import GPTS, Tree, WallTime, kernels, maximize

def interrupt():
    while not len(search.belief):  # the search has begun, and handles the signal
        time.sleep(0.001)
    time.sleep(0.003 * k)
    os.kill(os.getpid(), signal.SIGINT)

for k in range(12):
    tree = Tree(3, 4)
    search = GPTS(tree, kernels.Linear(), 0.5, rng=k)
    thread = threading.Thread(target=interrupt)
    thread.start()
    result = maximize(lambda path: sum(path) / 8, tree, stop=WallTime(20), searcher=search)
    thread.join()
    assert result.stopped_by == "interrupt", result.stopped_by
    assert len(result.history) == search.observations == len(search.belief)
    assert search.pending == () and search.belief.pending == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    search.tell(search.ask(), 0.5)
print("whole")
"""


def test_signals_never_interrupt_an_observation():
    """The history is what was observed, whenever Ctrl-C comes, if the objective takes no time.

    In a process of its own: here a signal may hit a callback of the test runner.
    """
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout == "whole\n", done.stderr


def test_callbacks():
    seen = []
    result = maximize(
        reward,
        TREE,
        budget=50,
        searcher=search(),
        callbacks=[lambda s: seen.append(s.observations), lambda s: s.observations == 9],
    )
    assert result.stopped_by == "callback"
    assert seen == list(range(1, 10))


def test_labels_and_known_noise():
    tree = Tree(2, 3, labels=["left", "right"])
    calls = []

    def objective(names):
        calls.append(names)
        return names.count("right"), 0.5

    found = maximize(
        objective, tree, budget=20, searcher=GPTS(tree, kernels.Linear(9.0), 1.0, rng=0)
    )
    assert set(itertools.chain(*calls)) == {"left", "right"}
    assert found.searcher.belief.nodes["own_precision"].max() % 4.0 == pytest.approx(0.0, abs=1e-9)


def test_an_objective_that_raises():
    def objective(path):
        if path[0] == 2:
            raise ZeroDivisionError("no luck")
        return 1.0

    with pytest.raises(bough.ObjectiveError, match=r"failed at path \(2, .*no luck") as caught:
        maximize(objective, TREE, budget=500, searcher=search())
    assert caught.value.path[0] == 2
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    kept = caught.value.result
    assert len(kept.history) == kept.searcher.observations
    assert kept.searcher.pending == ()
    again = maximize(objective, TREE, budget=30, searcher=search(), catch=ZeroDivisionError)
    assert again.stopped_by == "budget"
    assert 0 < again.searcher.observations < 30  # those that failed count too
    failed = [trial for trial in again.history.trials if trial.state == "failed"]
    assert len(failed) == again.history.failed == 30 - again.searcher.observations
    assert {trial.reason for trial in failed} == {"ZeroDivisionError: no luck"}
    assert all(
        (path[0] == 2) == math.isnan(value)
        for path, value in zip(again.history.paths, again.history.values, strict=True)
    )
    assert again.searcher.pending == ()
    all_fail = maximize(
        lambda path: 1 / 0, TREE, budget=30, searcher=search(), catch=ZeroDivisionError
    )
    assert all_fail.best is None
    assert "after 30 evaluations, of which all failed (last: ZeroDivision" in repr(all_fail)


@pytest.mark.parametrize("value", [math.nan, "high", None, 1j, (1.0, 2.0, 3.0), (1.0, "x"), [1.0]])
def test_an_objective_that_returns_nonsense(value):
    with pytest.raises(bough.ObjectiveError, match="the objective failed at path"):
        maximize(lambda path: value, TREE, budget=5, searcher=search())


@pytest.mark.parametrize("value", [1, True, np.float32(2), np.array(3.0), (1.0, 0.5)])
def test_an_objective_that_returns_numbers_of_all_kinds(value):
    result = maximize(lambda path: value, TREE, budget=5, searcher=search())
    assert len(result.history) == 5


def test_interrupts_return_what_was_found():
    calls = [0]

    def objective(path):
        calls[0] += 1
        if calls[0] == 20:
            raise KeyboardInterrupt
        return reward(path)

    result = maximize(objective, TREE, budget=1000, searcher=search())
    assert result.stopped_by == "interrupt"
    assert len(result.history) == result.searcher.observations == 19
    assert result.searcher.pending == ()
    again = maximize(reward, TREE, budget=40, searcher=result.searcher)
    assert again.searcher.observations == 40


def test_a_real_signal_in_the_middle_of_an_objective():
    calls = itertools.count()

    def objective(path):
        if next(calls) == 4:
            signal.raise_signal(signal.SIGINT)
            time.sleep(60)
        return reward(path)

    result = maximize(objective, TREE, budget=50, searcher=search())
    assert result.stopped_by == "interrupt"
    assert len(result.history) == 4


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({}, ValueError, "pass a limit"),
        ({"budget": 0}, ValueError, "budget must be at least 1"),
        ({"budget": -5}, ValueError, "budget must be at least 1"),
        ({"budget": 2.5}, TypeError, "budget must be an int"),
        ({"budget": 5, "searcher": "magic"}, ValueError, "searcher must be one of"),
        ({"budget": 5, "searcher": 7}, TypeError, "searcher must be a searcher"),
        ({"budget": 5, "searcher": lambda tree: 7}, TypeError, "searcher must be a searcher"),
        ({"budget": 5, "stop": "gap"}, TypeError, "stop must be a list of functions, got 'gap'"),
        ({"budget": 5, "stop": 0.1}, TypeError, "stop must be a list of functions, got 0.1"),
        ({"budget": 5, "stop": Gap}, TypeError, r"write Gap\(...\)"),
        ({"budget": 5, "stop": [3]}, TypeError, "got 3 in it"),
        ({"budget": 5, "callbacks": print}, TypeError, "callbacks must be a list"),
        ({"budget": 5, "catch": [RuntimeError]}, TypeError, "catch must be an exception class"),
        ({"budget": 5, "progress": "no"}, TypeError, "progress must be True, False, None or"),
        ({"budget": 5, "rng": 3}, ValueError, "constructor of your"),
        (
            {"budget": 5, "searcher": lambda tree: GPTS(Tree(2, 2), kernels.Linear(), 0.1)},
            ValueError,
            r"the searcher is for Tree\(2, 2\)",
        ),
        ({"budget": 9, "searcher": "uct", "stop": Gap(0.1)}, TypeError, "UCT has none"),
        ({"budget": 9, "searcher": "uct", "stop": IntervalWidth(1)}, TypeError, "UCT has none"),
        (
            {"budget": 5, "searcher": GPTS(Tree(2, 2), kernels.Linear(), 0.1)},
            ValueError,
            r"the searcher is for Tree\(2, 2\)",
        ),
    ],
)
def test_bad_arguments(keywords, error, message):
    if "searcher" not in keywords and "budget" in keywords:
        keywords = keywords | {"searcher": search()}
    with pytest.raises(error, match=message):
        maximize(reward, TREE, **keywords)
    with pytest.raises(TypeError, match="must be a bough.Tree"):
        maximize(reward, None, budget=3)
    with pytest.raises(TypeError, match="objective must be a function"):
        maximize(3, TREE, budget=3, catch=Exception)
    with pytest.raises(bough.ObjectiveError, match="std must not be negative"):
        maximize(lambda path: (0.0, -1.0), TREE, budget=3, searcher="uct")


def test_bad_stop_rules():
    for make, message in (
        (lambda: WallTime(0.0), "seconds must be above zero"),
        (lambda: Gap(-1.0), "eps must not be negative"),
        (lambda: IntervalWidth(math.nan), "eps must be finite"),
        (lambda: Target(math.inf), "value must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


def test_a_factory_and_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(bough.run.progress, "INTERVAL", 0.0)
    monkeypatch.setattr(bough.run.progress, "SHARE", math.inf)
    result = maximize(
        reward,
        TREE,
        budget=30,
        searcher=lambda tree: GPTS(tree, kernels.Linear(), 0.1, rng=1),
        progress=True,
    )
    assert result.stopped_by == "budget"
    shown = capsys.readouterr().err
    assert f"best observed {result.best_observed.value:.4g}" in shown
    mean, std = result.best_value
    assert f"expected best {mean:.4g} +- {std:.2g}" in shown
    assert f"expected loss {result.expected_gap:.2g}" in shown
    monkeypatch.setattr(bough.run.progress, "SHARE", 0.0)
    maximize(reward, TREE, budget=3, searcher=search(), progress=True)
    shown = capsys.readouterr().err
    assert "best observed" in shown
    assert "expected" not in shown
    maximize(reward, TREE, budget=3, searcher=search())
    assert capsys.readouterr().err == ""


def test_smooth_knows_its_best_path():
    for seed in range(3):
        problem = Smooth(3, 5, discount=0.9, seed=seed, noise=0.0)
        values = {p: problem.value(p) for p in itertools.product(range(3), repeat=5)}
        assert problem.optimum == max(values.values()) == values[problem.best_path]
        assert problem(problem.best_path) == problem.optimum
    assert Smooth(seed=1).optimum != Smooth(seed=2).optimum
    assert Smooth().tree.arms == 5**10
    # Steps have the variances that the kernel says, over seeds.
    v = Smooth(2, 3).kernel.increments(3)
    sample = np.array([Smooth(2, 3, seed=s).value((0, 1, 0)) for s in range(4000)])
    assert sample.mean() == pytest.approx(0.5, abs=0.02)
    assert sample.var() == pytest.approx(v.sum(), rel=0.1)
