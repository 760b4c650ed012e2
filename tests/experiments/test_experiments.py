"""Comparisons: measures, intervals, failures and bad input."""

import math
import re

import numpy as np
import pytest
from comparing import Broken, Four, Script, run_four

import bough
from bough.experiments import Comparison, TuningChoice, bootstrap, compare, runs
from bough.experiments.pages import regrets_page, seconds_page, summary_page
from bough.experiments.runs import Run, all_marks, report_marks, scored_marks


def test_regrets_by_hand():
    """Plays 0, 2, 1, 3, 2, 3 lose 4, 1, 3, 0, 1, 0; the last one is recommended."""
    (run,) = run_four(6).runs["four", "script"]
    assert run.marks == [1, 2, 3, 4, 5, 6]
    assert run.simple == [4.0, 1.0, 3.0, 0.0, 1.0, 0.0]
    assert run.cumulative == [4.0, 5.0, 8.0, 8.0, 9.0, 9.0]
    assert run.suboptimal == [1, 2, 3, 3, 4, 4]
    assert len(run.seconds) == 6
    assert run.seconds == sorted(run.seconds)
    assert run.seconds[0] > 0
    assert run.evaluations == 6


def test_measures_of_an_exhausted_searcher_stay_constant():
    (run,) = run_four(10).runs["four", "script"]
    assert run.marks == [1, 2, 3, 4, 5, 6, 8, 10]
    assert run.simple[-3:] == [0.0, 0.0, 0.0]
    assert run.cumulative[-3:] == [9.0, 9.0, 9.0]
    assert run.suboptimal[-3:] == [4, 4, 4]
    assert run.seconds[-3] == run.seconds[-1]
    assert run.evaluations == 6


def test_seconds_are_those_of_ask_and_tell(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(runs, "perf_counter", lambda: clock[0])

    class Slow(Script):
        def ask(self):
            clock[0] += 1.0
            return super().ask()

        def tell(self, path, value=None, **keywords):
            clock[0] += 2.0
            super().tell(path, value, **keywords)

        def best(self, rule=None):
            clock[0] += 50.0
            return super().best(rule)

    class Costly(Four):
        def __call__(self, path):
            clock[0] += 100.0
            return super().__call__(path)

    found = compare({"four": Costly}, {"slow": Slow}, budget=4, seeds=1, workers=1)
    (run,) = found.runs["four", "slow"]
    assert run.seconds == [3.0, 6.0, 9.0, 12.0]  # without rewards and recommendations
    assert found.microseconds()["four", "slow"] == pytest.approx(3e6)


def test_marks():
    assert report_marks(1) == [1]
    assert report_marks(3000) == [10, 30, 100, 300, 1000, 3000]
    for budget in (1, 2, 9, 10, 11, 2999, 3000, 10_000):
        marks = all_marks(budget)
        assert marks == sorted(set(marks))
        assert (marks[0], marks[-1]) == (1, budget)
        assert set(report_marks(budget)) <= set(marks)
        assert scored_marks(budget)[-1] == budget


def three_runs():
    """Return three seeds of one searcher, the last one on a machine that was held up."""
    runs = [
        Run([1, 2, 3], [9.0, 5.0, 1.0], [9.0, 14.0, 15.0], [1, 2, 3], [0.05, 0.2, 0.5], 3),
        Run([1, 2, 3], [7.0, 3.0, 2.0], [7.0, 10.0, 12.0], [1, 2, 3], [0.02, 0.09, 0.35], 3),
        Run([1, 2, 3], [8.0, 4.0, 3.0], [8.0, 12.0, 15.0], [1, 2, 3], [7.0, 7.1, 7.2], 3),
    ]
    pair = ("p", "s")
    choices = {pair: TuningChoice((), ((),), ())}
    return Comparison(("p",), ("s",), 3, False, range(3), range(9, 12), {pair: runs}, choices)


def test_means_against_seconds_by_hand():
    """The median run has made 1, 2, 3 plays after 0.05, 0.2, 0.5 s: at 0.1 s one, at 0.3 s two."""
    found = three_runs()
    (curve,) = found.by_seconds()
    assert curve.at.tolist() == [0.05, 0.2, 0.5]
    assert curve.measures["simple"].mean.tolist() == [8.0, 4.0, 2.0]
    page = seconds_page(found)
    assert "| searcher | 0.1 s | 0.3 s |" in page
    assert re.search(r"\| s \| 8 \[[^|]*\] \| 4 \[[^|]*\] \|", page)
    (curve,) = found.by_evaluations()
    assert curve.measures["cumulative"].mean.tolist() == [8.0, 12.0, 14.0]


def test_differences_are_taken_seed_by_seed():
    """Seeds differ by much, the searchers by 1 each time, so it is clear which is better."""
    found = three_runs()
    for name, shift in (("better", -1.0), ("worse", 1.0), ("same", 0.0)):
        found.runs["p", name] = [
            Run(r.marks, [x + shift for x in r.simple], r.cumulative, r.suboptimal, r.seconds, 3)
            for r in found.runs["p", "s"]
        ]
        found.choices["p", name] = TuningChoice((), ((),), ())
    found = Comparison(
        ("p",), ("s", "better", "worse", "same"), 3, False, found.seeds, found.tuning_seeds,
        found.runs, found.choices,
    )  # fmt: skip
    mean, low, high = found.difference("p", "s", "better")
    assert mean.tolist() == low.tolist() == high.tolist() == [1.0, 1.0, 1.0]
    page = summary_page(found, "bough compare p")
    assert "After 3 plays, over 3 seeds." in page
    assert "    bough compare p\n" in page
    simple = page[page.index("## Simple regret: s against each") :]
    assert "| better | 0 | 0 | 1 |\n| worse | 1 | 0 | 0 |\n| same | 0 | 1 | 0 |" in simple
    assert "Cases in which s is behind:\n\n- p: better, by 1 [1, 1] after 3 plays\n" in simple
    assert "s is never behind." in simple[simple.index("## Cumulative regret") :]


def test_bootstrap_intervals_cover():
    """Of 1,000 means of 50 normal or exponential draws, about 95 % lie in their intervals."""
    rng = np.random.default_rng(1)
    for draws in (rng.normal(2.0, 1.0, (50, 1000)), rng.exponential(2.0, (50, 1000))):
        mean, low, high = bootstrap(draws)
        assert mean == pytest.approx(draws.mean(axis=0))
        covered = np.mean((low <= 2.0) & (high >= 2.0))
        assert 0.92 < covered < 0.965
        expected = 2 * 1.96 * draws.std(axis=0) / math.sqrt(50)
        assert np.mean(high - low) == pytest.approx(expected.mean(), rel=0.05)
        assert 0.005 < np.mean(low > 2.0) < 0.05
        assert 0.005 < np.mean(high < 2.0) < 0.05
    same = bootstrap(np.full((4, 1), 0.1))
    assert same.low == same.high == same.mean
    assert np.isnan(bootstrap(np.ones((1, 3))).low).all()


# ---------------------------------------------------------------- failures and bad input


def test_failures_are_reported_and_do_not_stop_the_others():
    found = compare(
        {"four": Four}, {"broken": Broken, "script": Script}, budget=3, seeds=2, workers=1
    )
    assert found.failures == {("four", "broken"): "ZeroDivisionError: no path today"}
    assert list(found.runs) == [("four", "script")]
    assert "- broken on four: ZeroDivisionError: no path today" in regrets_page(found)
    found = compare(["smooth:2:3", "trap:depth=3"], ["gpts-known"], budget=3, seeds=1, workers=1)
    assert list(found.runs) == [("smooth:2:3", "gpts-known")]
    assert "not drawn from a prior" in found.failures["trap:depth=3", "gpts-known"]


def test_a_wrong_optimum_is_reported():
    class Wrong(Four):
        def _solve(self):
            return 3.0, (2,)

    found = compare({"wrong": Wrong}, {"script": Script}, budget=6, seeds=1, workers=1)
    assert "is given as 3.0, but path (3,) has the value 4.0" in str(found.failures)


@pytest.mark.parametrize(
    ("problems", "searchers", "keywords", "message"),
    [
        (["smoth"], ["uct"], {}, "no problem 'smoth'.*smooth.*trap"),
        (["trap"], ["utc"], {}, "no searcher 'utc' .did you mean 'uct'.*gpts.*uct"),
        (["trap"], ["uct:explore=1"], {}, "uct has no constant 'explore'; it has exploration"),
        (["trap"], ["uct:0.4"], {}, "write its constants as NAME=VALUE"),
        (["trap"], ["uct:exploration=-1"], {}, "runs on none.*exploration must not be negative"),
        (["trap"], ["gpts-known"], {}, "runs on none of the problems: trap is not drawn"),
        (["trap", "trap"], ["uct"], {}, "problems has 'trap' twice"),
        ([], ["uct"], {}, "problems must not be empty"),
        (["trap"], ["uct"], {"budget": 0}, "budget must be at least 1"),
        (["trap"], ["uct"], {"seeds": 0}, "seeds must be at least 1"),
        (["trap"], ["uct"], {"seed": -1}, "seed must be at least 0"),
        (["trap"], ["uct"], {"grids": {"uct": {"c": (1,)}}}, "uct has no constant 'c'"),
    ],
)
def test_bad_input(problems, searchers, keywords, message):
    with pytest.raises(ValueError, match=message):
        compare(problems, searchers, **{"budget": 5, "workers": 1, **keywords})


def test_bad_types():
    with pytest.raises(TypeError, match="problems must be a list of names"):
        compare("trap", ["uct"], budget=5)
    with pytest.raises(TypeError, match="to pass functions, use a dict"):
        compare(["trap"], [bough.UCT], budget=5)
    with pytest.raises(TypeError, match="'mine' must be a function of the tree"):
        compare(["trap"], {"mine": 3}, budget=5)
    with pytest.raises(TypeError, match="'mine' has no 'optimum'|'mine' has no 'tree'"):
        compare({"mine": lambda seed: 3}, ["uct"], budget=5)
    with pytest.raises(TypeError, match="functions at the top of a module"):
        compare(
            {"four": lambda seed: Four()}, {"s": lambda tree: Script(tree)}, budget=5, workers=2
        )
