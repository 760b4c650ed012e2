"""Regrets on COCO's bbob and bbob-mixint functions: `python -m benchmarks.coco run|table`.

`run` minimizes every function with every optimizer, and adds each run to a file as it ends, so that
it can be interrupted; `table` prints the regrets of bough in units of those of the others.

    python -m benchmarks.coco run --functions development --optimizers bough,tpe,cmaes
    python -m benchmarks.coco table --functions held-out

A *problem* is a suite and a dimension. The regret is the best value seen less the optimum, at least
1e-8. The functions named DEVELOPMENT were used to choose between variants of bough; the others are
held out. Needs the package coco-experiment.
"""

import json
import math
import os
import pathlib
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import click
import numpy as np

from benchmarks.rivals import PLANNERS, RIVALS
from bough import Exhausted, Float, Forest, Int, Space
from bough.spaces.parameters import Parameter

FILE = pathlib.Path(__file__).parent / "coco_runs.jsonl"
PROBLEMS = {
    "2-D": ("bbob", 2),
    "5-D": ("bbob", 5),
    "mixed 5-D": ("bbob-mixint", 5),
    "mixed 10-D": ("bbob-mixint", 10),
}
OPTIMIZERS = ("bough", "tpe", "cmaes")
FUNCTIONS = range(1, 25)
#: At least one function of each of the five groups of the suite.
DEVELOPMENT = (2, 3, 6, 8, 11, 13, 17, 21)
#: The sphere and the linear slope: a local quadratic model solves them at once.
EASY = (1, 5)
#: Numbers of evaluations at which regrets are recorded.
CHECKPOINTS = (50, 100, 300, 1000)
LEAST_REGRET = 1e-8
BEST_PARAMETER_FILE = "._bbob_problem_best_parameter.txt"

Row = dict[str, Any]


# ---------------------------------------------------------------------- functions


def make_problem(problem: str, function: int, instance: int) -> tuple[Any, float]:
    """Return a function of COCO, and its minimum."""
    import cocoex

    suite_name, dimension = PROBLEMS[problem]
    chosen = f"dimensions:{dimension} function_indices:{function} instance_indices:{instance}"
    suite = cocoex.Suite(suite_name, "", chosen)
    before = pathlib.Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the only way to the optimum is a file in the working directory
        try:
            found = suite[0]
            found._best_parameter("print")
            optimum = np.loadtxt(BEST_PARAMETER_FILE)
        finally:
            os.chdir(before)
    return found, float(found(optimum))


def space_of(function: Any) -> Space:
    """Return the box of a function; its first parameters may be integers."""
    integers = function.number_of_integer_variables
    parameters: dict[str, Parameter] = {}
    for i in range(function.dimension):
        low, high = float(function.lower_bounds[i]), float(function.upper_bounds[i])
        parameters[f"x{i}"] = Int(round(low), round(high)) if i < integers else Float(low, high)
    return Space(**parameters)


# ---------------------------------------------------------------------- runs


def values_of(optimizer: str, function: Any, seed: int, evaluations: int) -> Iterator[float]:
    """Minimize a function, and yield each value."""
    space = space_of(function)
    if optimizer == "bough":
        search = Forest(space, rng=seed)
        for _ in range(evaluations):
            try:
                params = search.ask()
            except Exhausted:
                return
            value = float(function(list(params.values())))
            search.tell(params, -value)
            yield value
        return
    yield from RIVALS[optimizer](
        optimizer, lambda params: float(function(list(params.values()))), space, seed, evaluations
    )


def run_one(
    problem: str, function: int, instance: int, optimizer: str, evaluations: int, seed: int
) -> Row:
    """Return the regret after each number of evaluations."""
    objective, minimum = make_problem(problem, function, instance)
    regrets: dict[str, float] = {}
    begin = time.process_time()
    marks = [mark for mark in CHECKPOINTS if mark <= evaluations]
    # One that plans by the number of evaluations gets a run for each.
    for length in marks if optimizer in PLANNERS else [evaluations]:
        best = math.inf
        for t, value in enumerate(values_of(optimizer, objective, seed, length), 1):
            best = min(best, value)
            if t in marks:
                regrets.setdefault(str(t), max(best - minimum, LEAST_REGRET))
        for mark in marks:  # a space that is exhausted keeps its result
            if mark <= length:
                regrets.setdefault(str(mark), max(best - minimum, LEAST_REGRET))
    return {
        "problem": problem, "function": function, "instance": instance, "optimizer": optimizer,
        "seed": seed, "evaluations": evaluations, "regrets": regrets,
        "seconds": round(time.process_time() - begin, 3),
    }  # fmt: skip


def key(row: Row) -> tuple[Any, ...]:
    names = ("problem", "function", "instance", "optimizer", "seed")
    return tuple(row[name] for name in names)


def load(file: pathlib.Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


# ---------------------------------------------------------------------- tables


class Ratios:
    """Regrets of one optimizer in units of those of another, by function."""

    def __init__(self, rows: Iterable[Row], functions: Iterable[int]) -> None:
        wanted = set(functions)
        # (The longest run of a function counts.)
        found: dict[tuple[str, str, int, int], dict[tuple[int, int], float]] = defaultdict(dict)
        for row in sorted(rows, key=lambda row: int(row["evaluations"])):
            if row["function"] in wanted:
                for mark, regret in row["regrets"].items():
                    cell = row["optimizer"], row["problem"], row["function"], int(mark)
                    found[cell][row["instance"], row["seed"]] = math.log(regret)
        self._found = found
        self._functions = sorted(wanted)

    def of(self, problem: str, mark: int, rival: str, ours: str = "bough") -> dict[int, float]:
        """Return the logarithm of the ratio of geometric means, by function."""
        ratios: dict[int, float] = {}
        for function in self._functions:
            one, other = (self._found.get((o, problem, function, mark), {}) for o in (ours, rival))
            both = {instance for instance, _ in one} & {instance for instance, _ in other}
            if both:
                means = [
                    np.mean([np.mean([v for (i, _), v in run.items() if i == j]) for j in both])
                    for run in (one, other)
                ]
                ratios[function] = float(means[0] - means[1])
        return ratios


def interval(values: list[float]) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of the geometric mean, over functions."""
    rng = np.random.default_rng(0)
    means = rng.choice(values, (4_000, len(values))).mean(axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return float(low), float(high)


def make_table(rows: list[Row], functions: Iterable[int]) -> str:
    ratios = Ratios(rows, functions)
    lines = [
        "| problem | rival | evaluations | ratio | 95 % | without f1, f5 | ahead | worst |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for problem in PROBLEMS:
        for rival in RIVALS:
            for mark in CHECKPOINTS:
                found = ratios.of(problem, mark, rival)
                if not found:
                    continue
                logs = list(found.values())
                hard = [value for function, value in found.items() if function not in EASY]
                low, high = interval(logs)
                ahead = sum(value < 0.0 for value in logs)
                worst = max(found, key=lambda function: found[function])
                lines.append(
                    f"| {problem} | {rival} | {mark:,} | {np.exp(np.mean(logs)):.2f} "
                    f"| {low:.2f} to {high:.2f} | {np.exp(np.mean(hard)):.2f} "
                    f"| {ahead} of {len(logs)} | f{worst}: {math.exp(found[worst]):.3g} |"
                )
    return "\n".join(lines)


# ---------------------------------------------------------------------- the command


def numbers(text: str) -> list[int]:
    """Return the numbers of functions: `development`, `held-out`, `all`, or `1,5,10`."""
    groups = {
        "all": list(FUNCTIONS),
        "development": list(DEVELOPMENT),
        "held-out": [f for f in FUNCTIONS if f not in DEVELOPMENT],
    }
    return groups.get(text) or [int(part) for part in text.split(",")]


functions_option = click.option(
    "--functions", default="all", show_default=True, callback=lambda _, __, text: numbers(text),
    help="development, held-out, all, or numbers.",
)  # fmt: skip
file_option = click.option(
    "--file", type=click.Path(dir_okay=False, path_type=pathlib.Path), default=FILE,
    help="The runs, one JSON object in each line.",
)  # fmt: skip


@click.group(help=__doc__.split("\n")[0])
def main() -> None:
    pass


@main.command(help="Minimize functions, unless the file has the run.")
@functions_option
@file_option
@click.option("--problems", default=",".join(PROBLEMS), show_default=True)
@click.option("--optimizers", default=",".join(OPTIMIZERS), show_default=True)
@click.option("--instances", type=click.IntRange(1), default=5, show_default=True)
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True)
@click.option("--evaluations", type=click.IntRange(1), default=300, show_default=True)
def run(
    functions: list[int], file: pathlib.Path, problems: str, optimizers: str, instances: int,
    seeds: int, evaluations: int,
) -> None:  # fmt: skip
    done = {key(row): row["evaluations"] for row in load(file)}
    for seed in range(seeds):
        for instance in range(1, instances + 1):
            for problem in problems.split(","):
                for optimizer in optimizers.split(","):
                    for function in functions:
                        cell = problem, function, instance, optimizer, seed
                        if done.get(cell, 0) >= evaluations:
                            continue
                        row = run_one(*cell[:4], evaluations, seed)
                        with file.open("a") as out:
                            out.write(json.dumps(row) + "\n")


@main.command(help="Print regrets of bough in units of those of the others.")
@functions_option
@file_option
def table(functions: list[int], file: pathlib.Path) -> None:
    click.echo(make_table(load(file), functions))


if __name__ == "__main__":
    main()
