"""The planning benchmark: its own environments, resumed runs, and comparisons."""

import json
import pathlib

import pytest

pytest.importorskip("gymnasium")

from benchmarks import planning as benchmark
from benchmarks.planning_table import Results, interval
from benchmarks.planning_tasks import TASKS, EightPuzzle, Inventory
from bough import planning


def task(name):
    return next(task for task in TASKS if task.name == name)


@pytest.mark.parametrize(("make", "deterministic"), [(EightPuzzle, True), (Inventory, False)])
def test_own_environments_are_simulated_on_copies(make, deterministic):
    env = make()
    start, _ = env.reset(seed=3)
    assert env.observation_space.contains(start)
    simulator = planning.simulator_of(env)
    assert (simulator.how, simulator.deterministic) == ("deep copies", deterministic)
    assert make().reset(seed=3)[0] == start


@pytest.mark.parametrize(
    "name", [t.name for t in TASKS if not t.name.startswith(("MiniGrid", "Lunar", "highway"))]
)
def test_tasks_know_whether_they_are_deterministic(name):
    simulator = planning.simulator_of(task(name).make())
    assert simulator.deterministic == task(name).deterministic


def test_eight_puzzle():
    env = EightPuzzle()
    env.reset(seed=0)
    env.board = (1, 2, 3, 4, 5, 6, 7, 0, 8)
    assert env.step(2) == (env.board, -1.0, False, False, {})  # down: leaves the board
    assert env.board == (1, 2, 3, 4, 5, 6, 7, 0, 8)
    assert env.step(1) == (EightPuzzle.solved, -1.0, True, False, {})
    assert all(env.reset(seed=seed)[0] != EightPuzzle.solved for seed in range(50))


def test_inventory():
    env = Inventory()
    env.reset(seed=0)
    ended, days = False, 0
    while not ended:
        env.stock = 20
        stock, reward, _, ended, _ = env.step(0)
        assert reward == pytest.approx(3.0 * (20 - stock) - 0.2 * stock)
        days += 1
    assert days == 100
    env.reset(seed=0)
    env.stock = 0
    assert env.step(2)[:2] == (8, -8.0)  # demand that is not met is lost


def test_a_run_resumes_and_repeats_what_failed(tmp_path: pathlib.Path, monkeypatch):
    file = tmp_path / "episodes.jsonl"
    jobs = benchmark.jobs_of([task("FrozenLake")], ["UCT", "random"], first_seed=1000, seeds=1)
    assert len(jobs) == 4
    monkeypatch.setitem(benchmark.COMPETITORS, "random", {"searcher": "none"})
    benchmark.run(jobs, file)
    failed = [row for row in benchmark.load(file).values() if "error" in row]
    assert len(failed) == 2
    assert "'none' is not a searcher" in failed[0]["error"]
    monkeypatch.undo()
    benchmark.run(jobs, file)
    benchmark.run(jobs, file)
    assert len(file.read_text().splitlines()) == 6
    assert not any("error" in row for row in benchmark.load(file).values())


def test_best_first_runs_on_deterministic_tasks_only():
    names = [t.name for t in TASKS]
    found = benchmark.jobs_of(TASKS, ["best-first"], first_seed=0, seeds=1)
    assert {job[0] for job in found} == {name for name in names if task(name).deterministic}


def rows(competitor, totals, budget=100):
    shared = {"task": "FrozenLake", "competitor": competitor, "budget": budget}
    costs = {"planning": 1.0, "seconds": 1.0, "decisions": 10}
    return [{**shared, **costs, "seed": k, "total": t} for k, t in enumerate(totals)]


def test_comparisons_are_paired():
    """The difference is the same in each seed, although the intervals of the means overlap."""
    ours, theirs = [0.0, 10.0, 20.0, 30.0], [1.0, 11.0, 21.0, 31.0]
    results = Results(json.loads(json.dumps(rows("GPTS", ours) + rows("UCT", theirs))))
    assert interval(ours)[2] > interval(theirs)[1]
    text = results.summary()
    assert "not significantly different in 0 of 1 cells (better in 0), worse in 1" in text
    assert "\n- FrozenLake 100, UCT: -1 (-1 to -1)" in text
    assert "**16 (" in results.table()
    assert "| 0.1 (1) | 0.1 (1) |" in results.costs()


def test_equal_returns_are_level_and_larger_budgets_may_be_worse():
    some = rows("GPTS", [1.0, 2.0]) + rows("GPTS from nothing", [1.0, 2.0])
    text = Results([*some, *rows("GPTS", [0.0, 1.5], budget=300)]).summary()
    assert (
        "GPTS compared with GPTS from nothing: better or not significantly different in 1 of 1 "
        "cells (better in 0)" in text
    )
    assert "| FrozenLake | -0.75 (-1 to -0.5) | yes |" in text
