"""Progress: bars on terminals and in notebooks, lines elsewhere."""

import sys
from types import SimpleNamespace

import pytest

import bough
import bough.run.progress
from bough import GPTS, UCT, Tree, kernels, maximize
from bough.run.progress import Bar

TREE = Tree(2, 4)


class Clock:
    """A clock that moves by a number of seconds at each look."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def run(best=None, failed=0, infeasible=0):
    value = None if best is None else SimpleNamespace(value=best)
    return SimpleNamespace(best_observed=lambda: value, failed=failed, infeasible=infeasible)


def test_lines_every_ten_seconds(capsys):
    """Where stderr is no terminal, as under pytest."""
    search = UCT(TREE, rng=0)
    with Bar(None, 30, done=2, run=run(0.5, failed=1), clock=Clock(3.0)) as bar:
        for _ in range(9):
            bar.update(search)
    assert capsys.readouterr().err.splitlines() == [
        "6 of 30 plays after 12 s, best observed 0.5, 1 failed",
        "10 of 30 plays after 24 s, best observed 0.5, 1 failed",
    ]


def test_lines_of_a_search_without_an_end_and_of_other_units(capsys):
    with Bar(None, None, unit="episode", clock=Clock(10.0)) as bar:
        bar.count("return 1")
        bar.count("return 2")
    assert capsys.readouterr().err.splitlines() == [
        "1 episode after 10 s, return 1",
        "2 episodes after 20 s, return 2",
    ]


def test_lines_have_the_expected_best(capsys, monkeypatch):
    monkeypatch.setattr(bough.run.progress, "SHARE", 10.0)
    search = GPTS(TREE, kernels.Linear(), 0.1, rng=0)
    for _ in range(5):
        path = search.ask()
        search.tell(path, float(sum(path)))
    with Bar(None, 10, run=run(2.0), clock=Clock(10.0)) as bar:
        bar.update(search)
    line = capsys.readouterr().err
    expected = search.expected_best()
    assert f"expected best {expected.mean:.4g} +- {expected.std:.2g}" in line
    assert f"expected loss {expected.gap:.2g}" in line


@pytest.mark.parametrize("progress", [False, None])
def test_short_searches_are_silent(capsys, progress):
    with Bar(progress, 100, run=run(0.5), clock=Clock(0.01)) as bar:
        for _ in range(100):
            bar.update(UCT(TREE, rng=0))
    assert capsys.readouterr().err == ""


def test_no_lines_unless_asked(capsys):
    with Bar(False, 100, run=run(0.5), clock=Clock(20.0)) as bar:
        bar.update(UCT(TREE, rng=0))
        bar.count("return 1")
    assert capsys.readouterr().err == ""


def test_a_bar_in_a_notebook(capsys, monkeypatch):
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    maximize(sum, TREE, budget=3, searcher=UCT(TREE, rng=0))
    assert "3/3" in capsys.readouterr().err


def test_the_default_is_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    maximize(sum, TREE, budget=3, searcher=UCT(TREE, rng=0))
    assert "3/3" in capsys.readouterr().err
