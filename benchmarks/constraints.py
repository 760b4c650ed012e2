"""Constrained problems: the best feasible value of bough, Optuna's TPE and random search.

    python -m benchmarks.constraints                     # all problems, 10 seeds
    python -m benchmarks.constraints --problems g06,g24 --seeds 3 --searchers bough
    python -m benchmarks.constraints --known             # constraints known before the evaluation

A cell of the table is the median over the seeds of the regret, the best feasible value minus the
optimum, and in brackets the number of runs without a feasible value. The constants of the searcher
were chosen on `gardner` and `disc`.
"""

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import bough

Params = dict[str, Any]
#: The numbers of evaluations after which regrets are shown.
STAGES = (50, 100, 200)


class Problem(NamedTuple):
    """A function to minimize, its constraints (feasible if all are at most 0), and its minimum."""

    space: bough.Space
    loss: Callable[[Params], float]
    constraints: Callable[[Params], list[float]]
    minimum: float


def numbers(**ranges: tuple[float, float]) -> bough.Space:
    """Return a space of real numbers."""
    return bough.Space(**{name: bough.Float(*ends) for name, ends in ranges.items()})


def gardner() -> Problem:
    """Return the first simulation of Gardner et al. (2014), with a tighter constraint."""

    def loss(p: Params) -> float:
        return math.cos(2 * p["x"]) * math.cos(p["y"]) + math.sin(p["x"])

    def constraints(p: Params) -> list[float]:
        return [math.cos(p["x"]) * math.cos(p["y"]) - math.sin(p["x"]) * math.sin(p["y"]) + 0.5]

    return Problem(numbers(x=(0, 6), y=(0, 6)), loss, constraints, -1.8887513614507)


def disc() -> Problem:
    """Return Rosenbrock's function on a disc: the minimum is on its edge."""

    def loss(p: Params) -> float:
        return (1 - p["x"]) ** 2 + 100 * (p["y"] - p["x"] ** 2) ** 2

    def constraints(p: Params) -> list[float]:
        return [p["x"] ** 2 + p["y"] ** 2 - 2.0]

    return Problem(numbers(x=(-1.5, 1.5), y=(-1.5, 1.5)), loss, constraints, 0.0)


def g04() -> Problem:
    """Return G04: five numbers, six constraints, 27 % feasible."""
    space = numbers(a=(78, 102), b=(33, 45), c=(27, 45), d=(27, 45), e=(27, 45))

    def loss(p: Params) -> float:
        a, _, c, _, e = p.values()
        return 5.3578547 * c * c + 0.8356891 * a * e + 37.293239 * a - 40792.141

    def constraints(p: Params) -> list[float]:
        a, b, c, d, e = p.values()
        u = 85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e
        v = 80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c * c
        w = 9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d
        return [u - 92, -u, v - 110, 90 - v, w - 25, 20 - w]

    return Problem(space, loss, constraints, -30665.538672)


def g06() -> Problem:
    """Return G06: a thin crescent, 0.0066 % of the square."""

    def loss(p: Params) -> float:
        return (p["x"] - 10) ** 3 + (p["y"] - 20) ** 3

    def constraints(p: Params) -> list[float]:
        x, y = p["x"], p["y"]
        return [100 - (x - 5) ** 2 - (y - 5) ** 2, (x - 6) ** 2 + (y - 5) ** 2 - 82.81]

    return Problem(numbers(x=(13, 100), y=(0, 100)), loss, constraints, -6961.813876)


def g08() -> Problem:
    """Return G08: several local minima, 0.86 % feasible."""

    def loss(p: Params) -> float:
        x, y = p["x"], p["y"]
        return -(math.sin(2 * math.pi * x) ** 3) * math.sin(2 * math.pi * y) / (x**3 * (x + y))

    def constraints(p: Params) -> list[float]:
        return [p["x"] ** 2 - p["y"] + 1, 1 - p["x"] + (p["y"] - 4) ** 2]

    return Problem(numbers(x=(1e-3, 10), y=(0, 10)), loss, constraints, -0.095825041)


def g24() -> Problem:
    """Return G24: two parts that are not connected."""

    def constraints(p: Params) -> list[float]:
        x, y = p["x"], p["y"]
        first = -2 * x**4 + 8 * x**3 - 8 * x**2 + y - 2
        return [first, -4 * x**4 + 32 * x**3 - 88 * x**2 + 96 * x + y - 36]

    space = numbers(x=(0, 3), y=(0, 4))
    return Problem(space, lambda p: -p["x"] - p["y"], constraints, -5.508013272)


def vessel() -> Problem:
    """Return the design of a pressure vessel, with two thicknesses that are integers."""
    space = bough.Space(
        shell=bough.Int(1, 99), head=bough.Int(1, 99),
        radius=bough.Float(10, 200), length=bough.Float(10, 200),
    )  # fmt: skip

    def loss(p: Params) -> float:
        s, h, r, x = 0.0625 * p["shell"], 0.0625 * p["head"], p["radius"], p["length"]
        return 0.6224 * s * r * x + 1.7781 * h * r**2 + 3.1661 * s**2 * x + 19.84 * s**2 * r

    def constraints(p: Params) -> list[float]:
        s, h, r, x = 0.0625 * p["shell"], 0.0625 * p["head"], p["radius"], p["length"]
        volume = math.pi * r**2 * x + 4 / 3 * math.pi * r**3
        return [0.0193 * r - s, 0.00954 * r - h, 1 - volume / 1296000]

    return Problem(space, loss, constraints, 6059.714335)


def spring() -> Problem:
    """Return the design of a tension spring."""
    space = numbers(wire=(0.05, 2), coil=(0.25, 1.3), turns=(2, 15))

    def loss(p: Params) -> float:
        return (p["turns"] + 2) * p["coil"] * p["wire"] ** 2

    def constraints(p: Params) -> list[float]:
        w, c, n = p["wire"], p["coil"], p["turns"]
        shear = (4 * c**2 - w * c) / (12566 * (c * w**3 - w**4)) + 1 / (5108 * w**2) - 1
        return [
            1 - c**3 * n / (71785 * w**4),
            shear,
            1 - 140.45 * w / (c**2 * n),
            (c + w) / 1.5 - 1,
        ]

    return Problem(space, loss, constraints, 0.012665233)


def reducer() -> Problem:
    """Return the design of a speed reducer: seven parameters, 11 constraints."""
    space = bough.Space(
        width=bough.Float(2.6, 3.6), module=bough.Float(0.7, 0.8), teeth=bough.Int(17, 28),
        first=bough.Float(7.3, 8.3), second=bough.Float(7.3, 8.3),
        thin=bough.Float(2.9, 3.9), thick=bough.Float(5.0, 5.5),
    )  # fmt: skip

    def loss(p: Params) -> float:
        b, m, z, u, v, d, e = p.values()
        return (
            0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
            - 1.508 * b * (d**2 + e**2)
            + 7.4777 * (d**3 + e**3)
            + 0.7854 * (u * d**2 + v * e**2)
        )

    def constraints(p: Params) -> list[float]:
        b, m, z, u, v, d, e = p.values()
        return [
            27 / (b * m**2 * z) - 1,
            397.5 / (b * m**2 * z**2) - 1,
            1.93 * u**3 / (m * z * d**4) - 1,
            1.93 * v**3 / (m * z * e**4) - 1,
            math.sqrt((745 * u / (m * z)) ** 2 + 16.9e6) / (110 * d**3) - 1,
            math.sqrt((745 * v / (m * z)) ** 2 + 157.5e6) / (85 * e**3) - 1,
            m * z / 40 - 1,
            5 * m / b - 1,
            b / (12 * m) - 1,
            (1.5 * d + 1.9) / u - 1,
            (1.1 * e + 1.9) / v - 1,
        ]

    return Problem(space, loss, constraints, 2994.471066)


PROBLEMS = {f.__name__: f for f in (gardner, disc, g04, g06, g08, g24, vessel, spring, reducer)}


def run_bough(problem: Problem, budget: int, seed: int, known: bool) -> list[float]:
    """Return the value of each trial of `minimize`, infinite where it is not feasible."""

    def objective(params: Params) -> bough.Outcome:
        return bough.Outcome(problem.loss(params), constraints=problem.constraints(params))

    if known:
        result = bough.minimize(
            problem.loss, problem.space, budget=budget, constraints=problem.constraints, rng=seed
        )
    else:
        result = bough.minimize(objective, problem.space, budget=budget, rng=seed)
    trials = result.history.trials
    return [t.value if t.state == "completed" else math.inf for t in trials]


def run_optuna(problem: Problem, budget: int, seed: int, known: bool) -> list[float]:
    """Return the value of each trial of TPE, infinite where it is not feasible.

    TPE has no constraints that are known before: such trials count.
    """
    import optuna

    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    values: list[float] = []

    def objective(trial: Any) -> float:
        params: Params = {}
        for slot in problem.space.slots:
            suggest = trial.suggest_int if slot.parameter.count else trial.suggest_float
            params[slot.name] = suggest(slot.name, slot.parameter.low, slot.parameter.high)
        found = problem.constraints(params)
        trial.set_user_attr("constraints", found)
        values.append(problem.loss(params) if max(found) <= 0 else math.inf)
        return problem.loss(params)

    sampler = optuna.samplers.TPESampler(
        seed=seed, constraints_func=lambda trial: trial.user_attrs["constraints"]
    )
    optuna.create_study(sampler=sampler).optimize(objective, n_trials=budget)
    return values


def run_random(problem: Problem, budget: int, seed: int, known: bool) -> list[float]:
    """Return the value of random points, infinite where it is not feasible."""
    rng = np.random.default_rng(seed)
    values: list[float] = []
    while len(values) < budget:
        params = problem.space.params(problem.space.random_point(rng))
        feasible = max(problem.constraints(params)) <= 0
        if feasible or not known:
            values.append(problem.loss(params) if feasible else math.inf)
    return values


SEARCHERS = {"bough": run_bough, "tpe": run_optuna, "random": run_random}


def run(searcher: str, name: str, seed: int, budget: int, known: bool) -> tuple[list[float], float]:
    """Return the regrets of a run after each of its stages, and its seconds."""
    problem, begin = PROBLEMS[name](), time.perf_counter()
    values = SEARCHERS[searcher](problem, budget, seed, known)
    regrets = [min(values[:stage], default=math.inf) - problem.minimum for stage in STAGES]
    return regrets, time.perf_counter() - begin


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--searchers", default=",".join(SEARCHERS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", type=int, default=max(STAGES))
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    head = " | ".join(f"after {stage}" for stage in STAGES)
    print(f"| problem | searcher | {head} | ms a trial |\n|---|---|" + "---|" * 4)
    with ProcessPoolExecutor(given.jobs) as pool:
        for name in given.problems.split(","):
            for searcher in given.searchers.split(","):
                seeds = range(given.first_seed, given.first_seed + given.seeds)
                jobs = [
                    pool.submit(run, searcher, name, seed, given.budget, given.known)
                    for seed in seeds
                ]
                regrets, seconds = zip(*(job.result() for job in jobs), strict=True)
                cells = []
                for column in np.array(regrets).T:
                    without = int(np.isinf(column).sum())
                    cells.append(f"{np.median(column):.2g}" + (f" ({without})" if without else ""))
                ms = 1e3 * np.median(seconds) / given.budget
                print(f"| {name} | {searcher} | {' | '.join(cells)} | {ms:.1f} |")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
