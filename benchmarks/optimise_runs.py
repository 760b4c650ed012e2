"""One run of one optimiser on one problem, and all of them, kept in a file as they end."""

import json
import pathlib
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.optimise_problems import Problem, all_problems, measured
from benchmarks.optimise_rivals import make_optimiser
from bough import Exhausted

CHECKPOINTS = (50, 100, 300, 1000)


def run(problem: Problem, optimiser: str, seed: int, evaluations: int) -> dict[str, Any]:
    """Return the regret of what is recommended after each number of evaluations."""
    search = make_optimiser(optimiser, problem, seed)
    objective = measured(problem, np.random.default_rng(1000 + seed))
    regrets: dict[str, float] = {}
    begin = time.perf_counter()
    for t in range(1, evaluations + 1):
        try:
            params = search.ask()
        except Exhausted:
            break
        search.tell(params, objective(params))
        if t in CHECKPOINTS:
            regrets[str(t)] = max(problem.function(search.best()) - problem.minimum, 0.0)
    return {
        "problem": problem.name, "optimiser": optimiser, "seed": seed,
        "evaluations": evaluations, "regrets": regrets,
        "seconds": round(time.perf_counter() - begin, 3),
    }  # fmt: skip


def key(row: dict[str, Any]) -> tuple[str, str, int, int]:
    return row["problem"], row["optimiser"], row["seed"], row["evaluations"]


def load(file: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def run_all(
    file: pathlib.Path,
    problems: Iterable[str],
    optimisers: Iterable[str],
    seeds: Iterable[int],
    evaluations: int,
) -> None:
    """Do all runs that are not in the file yet, and add each when it ends."""
    done = {key(row) for row in load(file)}
    known = all_problems()
    file.parent.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for optimiser in optimisers:
            for name in problems:
                if (name, optimiser, seed, evaluations) in done:
                    continue
                row = run(known[name], optimiser, seed, evaluations)
                with file.open("a") as out:
                    out.write(json.dumps(row) + "\n")
