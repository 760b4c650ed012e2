"""Costs of the loop: `python -m benchmarks.loop [--plays 1e6] [--rounds 5]`.

CPU time of an evaluation: of the bare loop of `ask` and `tell`, and what `maximize`, the progress
bar, fitted hyperparameters and a study add to it. Times depend on the machine; compare ratios
within a run only.
"""

import argparse
import contextlib
import gc
import os
import pathlib
import tempfile
import time

import bough
from benchmarks.timing import Stopwatch, fast_reward, last_fifths, plays, timed
from bough.problems import Smooth

BUDGET = 10_000
MARKS = (1_000, 10_000, 100_000, 1_000_000)

#: Each row: its title, the function that runs it, and the row that it is compared with.
ROWS = (
    ("reward of `smooth` alone", "reward", None),
    ("`UCT`, bare loop", "uct", None),
    ("`GPTS`, bare loop", "bare", "uct"),
    ("... in `maximize`", "maximize", "bare"),
    ("... with a progress bar", "bar", "maximize"),
    ("... with a study (process)", "study", "maximize"),
    ("`GPTS` fitted, bare loop", "fitted", "bare"),
    ("... in `maximize`", "fitted_maximize", "fitted"),
)


def known(problem):
    """Return a search with the prior of the problem."""
    return bough.GPTS(problem.tree, problem.kernel, problem.noise, mean=problem.mean, rng=0)


def run(name, folder):
    """Evaluate `BUDGET` paths of `smooth` in some way, and return the CPU seconds of it."""
    problem = Smooth()
    tree = problem.tree
    given = {"budget": BUDGET, "progress": False}
    if name == "reward":
        paths = [bough.RandomSearch(tree, rng=i).ask() for i in range(BUDGET)]
        return timed(lambda: [problem(path) for path in paths], time.process_time)[0]
    if name in ("uct", "bare", "fitted"):
        make = {"uct": lambda: bough.UCT(tree, rng=0), "bare": lambda: known(problem)}
        search = make.get(name, lambda: bough.GPTS(tree, rng=0))()

        def loop():
            for _ in range(BUDGET):
                path = search.ask()
                search.tell(path, problem(path))

        return timed(loop, time.process_time)[0]
    if name == "study":
        file = folder / f"{time.monotonic_ns()}.db"
        options = {"kernel": problem.kernel, "noise": problem.noise, "mean": problem.mean}
        given["study"] = bough.Study.create(file, tree, rng=0, durability="process", **options)
    else:
        fitted = name.startswith("fitted")
        given["searcher"] = bough.GPTS(tree, rng=0) if fitted else known(problem)
        given["progress"] = name == "bar"
    with open(os.devnull, "w") as quiet, contextlib.redirect_stderr(quiet):
        return timed(lambda: bough.maximize(problem, tree, **given), time.process_time)[0]


def show_loop(rounds):
    """Print microseconds of CPU per evaluation, the least of some rounds that alternate."""
    least = dict.fromkeys((name for _, name, _ in ROWS), float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name in least:
                gc.collect()
                least[name] = min(least[name], run(name, pathlib.Path(folder)) / BUDGET * 1e6)
    print(f"Microseconds of CPU per evaluation, {BUDGET:,} plays of smooth, least of {rounds}")
    print(f"{'':28}{'us':>8}{'more':>8}{'ratio to the bare loop, to UCT':>34}")
    for title, name, reference in ROWS:
        more = "" if reference is None else f"{least[name] - least[reference]:+.1f}"
        ratios = [least[name] / least["bare"], least[name] / least["uct"]]
        cells = "".join(f"{ratio:>17.2f}" for ratio in ratios)
        print(f"{title:28}{least[name]:>8.1f}{more:>8}{cells}")


def show_plays(most, rounds):
    """Print microseconds of `ask` and `tell` beside those of UCT, up to a number of plays."""
    problem = Smooth()
    makes = {
        "UCT": lambda: bough.UCT(problem.tree, rng=0),
        "GPTS": lambda: known(problem),
        "GPTS fitted": lambda: bough.GPTS(problem.tree, rng=0),
    }
    marks = [mark for mark in MARKS if mark <= most]
    found = {name: {} for name in makes}
    for mark in marks:  # few rounds of many plays
        for _ in range(max(1, min(rounds, 1_000_000 // mark))):
            for name, make in makes.items():
                watch = Stopwatch()
                playing = plays(make(), fast_reward(problem.kernel, problem.tree.depth), watch)
                gc.collect()
                [(_, cost, _)] = last_fifths(playing, watch, [mark])
                found[name][mark] = min(cost, found[name].get(mark, cost))
    print("\nMicroseconds of ask + tell over the last fifth of the plays, and ratio to UCT")
    print(f"{'':28}" + "".join(f"{mark:>16,}" for mark in marks))
    for name, costs in found.items():
        cells = [f"{costs[mark]:.2f} ({costs[mark] / found['UCT'][mark]:.2f})" for mark in marks]
        print(f"{name:28}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plays", type=float, default=1e6)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    show_loop(options.rounds)
    show_plays(int(options.plays), options.rounds)
