"""Optimizers on spaces: `python -m benchmarks.optimise [run|tables|speed]`.

`run` minimizes every problem with every optimizer and seed, and adds each run to a file as it
ends, so that it can be interrupted; `tables` prints the regrets in the file; `speed` measures
milliseconds per trial. The default is all three.

    python -m benchmarks.optimise run --optimisers bough,tpe --seeds 20 --evaluations 1000

The optimizers are bough, `bough hoo`, Optuna's tpe (multivariate, and grouped on conditional
problems), cmaes, random and gp (which needs torch), and `pyxab hoo` (which needs PyXAB, and only
searches boxes). Bough recommends the best point by its posterior; the others recommend the point
with the best value. The regret is that of the recommended point, without noise.
"""

import argparse
import json
import pathlib
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from benchmarks.optimise_problems import CONDITIONAL, Params, Problem, all_problems, measured
from bough import Choice, Exhausted, Float, Int, Space

FILE = pathlib.Path(__file__).parent / "optimise_runs.jsonl"
OPTIMISERS = ("bough", "tpe", "cmaes", "random", "bough hoo")
#: Numbers of evaluations at which regrets are recorded.
CHECKPOINTS = (50, 100, 300, 1000)
#: Numbers of trials at which the time of one is measured, and the number of those timed.
SIZES = (100, 1_000, 10_000)
TIMED = 10


# ---------------------------------------------------------------------- optimizers


class Optimiser(Protocol):
    """An optimizer that minimizes."""

    def ask(self) -> Params: ...

    def tell(self, params: Params, value: float) -> None: ...

    def best(self) -> Params: ...


class Bough:
    """A searcher of bough."""

    def __init__(self, problem: Problem, seed: int, searcher: str = "gpts") -> None:
        from bough.searchers.registry import make_searcher

        self.search = make_searcher(searcher, problem.space, seed)

    def ask(self) -> Params:
        return self.search.ask()

    def tell(self, params: Params, value: float) -> None:
        self.search.tell(params, 0.0 - value)

    def best(self) -> Params:
        return self.search.best().params


class BestSeen:
    """An optimizer that recommends the params with the best value."""

    _best: tuple[float, Params] | None = None

    def tell(self, params: Params, value: float) -> None:
        if self._best is None or value < self._best[0]:
            self._best = value, params

    def best(self) -> Params:
        assert self._best is not None
        return self._best[1]


class Optuna(BestSeen):
    """A sampler of Optuna."""

    def __init__(self, problem: Problem, seed: int, kind: str) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        conditional = any(
            isinstance(p, Choice) and any(s.parameters for s in p.spaces)
            for p in problem.space.parameters.values()
        )
        make: dict[str, Callable[[], Any]] = {
            "tpe": lambda: optuna.samplers.TPESampler(
                multivariate=True, group=conditional, seed=seed
            ),
            "cmaes": lambda: optuna.samplers.CmaEsSampler(
                seed=seed, warn_independent_sampling=False
            ),
            "random": lambda: optuna.samplers.RandomSampler(seed=seed),
            "gp": lambda: optuna.samplers.GPSampler(seed=seed),
        }
        self._study = optuna.create_study(sampler=make[kind]())
        self._space = problem.space
        self._trial: Any = None

    def ask(self) -> Params:
        self._trial = self._study.ask()
        params: Params = {}
        suggest(self._trial, self._space, params)
        return params

    def tell(self, params: Params, value: float) -> None:
        self._study.tell(self._trial, value)
        super().tell(params, value)


def suggest(trial: Any, space: Space, params: Params, prefix: str = "") -> None:
    """Ask an Optuna trial for params of a space.

    Names of the parameters of an option are made unique: in Optuna a name has one range.
    """
    for name, parameter in space.parameters.items():
        full = prefix + name
        if isinstance(parameter, Float):
            params[name] = trial.suggest_float(
                full, parameter.low, parameter.high, log=parameter.log, step=parameter.step
            )
        elif isinstance(parameter, Int):
            params[name] = trial.suggest_int(
                full, parameter.low, parameter.high, log=parameter.log, step=parameter.step
            )
        else:
            option = trial.suggest_categorical(full, parameter.options)
            params[name] = option
            inner = parameter.spaces[parameter.options.index(option)]
            suggest(trial, inner, params, f"{full}.{option}.")


class PyXAB(BestSeen):
    """HOO of PyXAB, on boxes.

    Its bounds are for rewards with a range of 1, so values are divided by the range of those at
    random points, which its users would have to guess.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        import random

        from PyXAB.algos.HOO import T_HOO
        from PyXAB.partition.BinaryPartition import BinaryPartition

        random.seed(seed)  # it uses the global generators
        np.random.seed(seed)  # noqa: NPY002
        self._names = list(problem.space.parameters)
        box = [[p.low, p.high] for p in problem.space.parameters.values()]  # type: ignore[union-attr]
        self._algorithm = T_HOO(rounds=1000, domain=box, partition=BinaryPartition)
        places = np.random.default_rng(seed).uniform(*np.transpose(box), size=(1000, len(box)))
        values = [problem.function(dict(zip(self._names, x, strict=True))) for x in places]
        self._range = max(values) - min(values)
        self._time = 0

    def ask(self) -> Params:
        self._time += 1
        point = self._algorithm.pull(self._time)
        return {name: float(x) for name, x in zip(self._names, point, strict=True)}

    def tell(self, params: Params, value: float) -> None:
        self._algorithm.receive_reward(self._time, -value / self._range)
        super().tell(params, value)


def make_optimiser(name: str, problem: Problem, seed: int) -> Optimiser:
    if name in ("tpe", "cmaes", "random", "gp"):
        return Optuna(problem, seed, name)
    if name == "pyxab hoo":
        return PyXAB(problem, seed)
    return Bough(problem, seed, {"bough": "gpts", "bough hoo": "hoo"}[name])


def prefilled(
    name: str, problem: Problem, objective: Callable[[Params], float], size: int
) -> Optimiser:
    """Return an optimizer of Optuna with `size` random results."""
    source, target = Optuna(problem, 0, "random"), Optuna(problem, 0, name)
    for _ in range(size):
        params = source.ask()
        source.tell(params, objective(params))
    target._study.add_trials(source._study.get_trials(deepcopy=False))
    return target


# ---------------------------------------------------------------------- runs


def run(problem: Problem, optimiser: str, seed: int, evaluations: int) -> dict[str, Any]:
    """Return the regret of the recommendation after each number of evaluations."""
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
    """Make all runs that are not in the file yet, and add each when it ends."""
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


# ---------------------------------------------------------------------- regrets


def regrets(rows: list[dict[str, Any]]) -> dict[tuple[str, str, int], list[float]]:
    """Return the regrets of all seeds, by problem, optimiser and evaluations.

    A run that has exhausted a space keeps its result.
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
    """Return a table for each number of evaluations, with a count of wins and ties against TPE."""
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
            f"The mean regret of bough is at most that of TPE on {len(ahead)} of {len(both)} "
            f"problems, and on {sum(name in ahead for name in conditional)} of "
            f"{sum(name in both for name in conditional)} conditional ones.",
            "",
        ]
    return "\n".join(lines)


# ---------------------------------------------------------------------- speed


def milliseconds(problem: Problem, name: str, size: int) -> float:
    """Return the CPU time of one trial when there are `size` of them.

    That of bough is the mean over the second half of a run of this size, fits included; of the
    others a few trials are timed, after random results were added.
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
    """Return a table of milliseconds per trial, with the ratio to bough."""
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
