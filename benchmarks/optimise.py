"""Optimisers on spaces: `python -m benchmarks.optimise [run|tables|speed]`.

`run` minimises every problem with every optimiser and seed, and adds each run to a file as it
ends, so that it can be interrupted; `tables` prints the regrets in the file; `speed` measures
milliseconds a trial. Without a word it does all three.

    python -m benchmarks.optimise run --optimisers bough,tpe --seeds 20 --evaluations 1000

The optimisers are bough, `bough hoo`, Optuna's tpe (multivariate, and grouped on conditional
problems), cmaes, random and gp (which needs torch), and `pyxab hoo` (which needs PyXAB, and does
boxes only). Bough recommends what its model believes to be the best point; the others have no such
thing, so it is the best value that was seen. The regret is that of the recommended point, without
noise.
"""

import argparse
import pathlib
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.optimise_problems import CONDITIONAL, Problem, all_problems, measured
from benchmarks.optimise_rivals import make_optimiser, prefilled
from benchmarks.optimise_runs import CHECKPOINTS, load, run_all

FILE = pathlib.Path(__file__).parent / "optimise_runs.jsonl"
OPTIMISERS = ("bough", "tpe", "cmaes", "random", "bough hoo")
#: Trials at which the time of one is measured, and of how many the mean is taken.
SIZES = (100, 1_000, 10_000)
TIMED = 10


# ---------------------------------------------------------------------- regrets


def regrets(rows: list[dict[str, Any]]) -> dict[tuple[str, str, int], list[float]]:
    """Return the regrets of all seeds, by problem, optimiser and evaluations.

    A run that has exhausted a space keeps what it has found.
    """
    by_seed: dict[tuple[str, str, int], dict[int, float]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: row["evaluations"]):
        for mark, regret in row["regrets"].items():
            by_seed[row["problem"], row["optimiser"], int(mark)][row["seed"]] = regret
    return {key: list(found.values()) for key, found in by_seed.items()}


def interval(values: list[float]) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of the mean."""
    rng = np.random.default_rng(0)
    means = rng.choice(values, (2_000, len(values))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def cell(values: list[float]) -> str:
    if not values:
        return ""
    low, high = interval(values)
    return f"{np.mean(values):.2g} [{low:.2g}, {high:.2g}] ({len(values)})"


def tables(file: pathlib.Path) -> str:
    """Return a table for each number of evaluations, and how often bough is at or ahead of TPE."""
    found = regrets(load(file))
    optimisers = [o for o in OPTIMISERS if any(key[1] == o for key in found)]
    optimisers += sorted({key[1] for key in found} - set(optimisers))
    lines = []
    for mark in CHECKPOINTS:
        ahead, both = [], []
        lines += [f"### {mark:,} evaluations", ""]
        lines.append("| problem | " + " | ".join(optimisers) + " |")
        lines.append("|---" * (len(optimisers) + 1) + "|")
        for name in all_problems():
            cells = [found.get((name, optimiser, mark), []) for optimiser in optimisers]
            lines.append(f"| {name} | " + " | ".join(map(cell, cells)) + " |")
            ours, tpe = found.get((name, "bough", mark)), found.get((name, "tpe", mark))
            if ours and tpe:
                both.append(name)
                if np.mean(ours) <= np.mean(tpe):
                    ahead.append(name)
        conditional = [problem.name for problem in CONDITIONAL]
        lines += [
            "",
            f"bough is at or ahead of TPE on {len(ahead)} of {len(both)} problems, "
            f"{sum(name in ahead for name in conditional)} of "
            f"{sum(name in both for name in conditional)} conditional ones.",
            "",
        ]
    return "\n".join(lines)


# ---------------------------------------------------------------------- speed


def milliseconds(problem: Problem, name: str, size: int) -> float:
    """Return the processor time of one trial when there are so many.

    Ours is the mean over the second half of a run of that many trials, with all that is done now
    and then; of the others a few trials are timed, after random results were added.
    """
    objective = measured(problem, np.random.default_rng(0))
    if name.startswith("bough"):
        search = make_optimiser(name, problem, 0)
        spent = 0.0
        for t in range(size):
            begin = time.process_time()
            params = search.ask()
            asked = time.process_time()
            value = objective(params)
            told = time.process_time()
            search.tell(params, value)
            if t >= size // 2:
                spent += asked - begin + time.process_time() - told
        return 1e3 * spent / (size - size // 2)
    search = prefilled(name, problem, objective, size)
    begin = time.process_time()
    for _ in range(TIMED):
        params = search.ask()
        search.tell(params, objective(params))
    return 1e3 * (time.process_time() - begin) / TIMED


def speed(optimisers: list[str]) -> str:
    """Return a table of milliseconds a trial, with ratios to ours."""
    lines = ["| problem | trials | " + " | ".join(optimisers) + " | tpe / bough |"]
    lines.append("|---" * (len(optimisers) + 3) + "|")
    problems = all_problems()
    for name in ("branin", "hartmann6", "pipeline"):
        for size in SIZES:
            found: dict[str, float] = {}
            for optimiser in optimisers:
                found[optimiser] = milliseconds(problems[name], optimiser, size)
            ratio = found["tpe"] / found["bough"] if {"tpe", "bough"} <= found.keys() else np.nan
            cells = " | ".join(f"{found[optimiser]:.2f}" for optimiser in optimisers)
            lines.append(f"| {name} | {size:,} | {cells} | {ratio:.0f} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", choices=("run", "tables", "speed"))
    parser.add_argument("--optimisers", default=",".join(OPTIMISERS))
    parser.add_argument("--problems", default=",".join(all_problems()))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--file", type=pathlib.Path, default=FILE)
    given = parser.parse_args()
    optimisers = given.optimisers.split(",")
    steps: dict[str, Callable[[], str | None]] = {
        "run": lambda: run_all(
            given.file,
            given.problems.split(","),
            optimisers,
            range(given.seeds),
            given.evaluations,
        ),
        "tables": lambda: tables(given.file),
        "speed": lambda: speed([o for o in optimisers if o != "bough hoo"]),
    }
    for name, step in steps.items():
        if given.what in (None, name):
            print(step() or "")


if __name__ == "__main__":
    main()
