"""Minimization problems on spaces, with known minima: functions on boxes, conditional spaces."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bough import Choice, Float, Int, Space
from bough.problems import functions

Params = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """A function of params to minimize, its minimum, and the noise of its values."""

    name: str
    space: Space
    function: Callable[[Params], float]
    minimum: float
    noise: float = 0.0

    def noisy(self, noise: float) -> "Problem":
        return Problem(self.name + " noisy", self.space, self.function, self.minimum, noise)


def of_function(function: functions.Function, name: str) -> Problem:
    names = [f"x{i}" for i in range(len(function.box))]
    space = Space(**{n: Float(*ends) for n, ends in zip(names, function.box, strict=True)})
    # The minimum to all digits; the literature gives six.
    minimum = min(function.minimum, *(function(*place) for place in function.where))
    return Problem(name, space, lambda p: function(*(p[n] for n in names)), minimum)


def switch(p: Params) -> float:
    """Three different functions behind one choice; the best is the hardest to find."""
    if p["kind"] == "line":
        return 0.4 + 3 * abs(p["x"] - 0.7)
    if p["kind"] == "branin":
        return 0.2 + (functions.BRANIN(p["x"], p["y"]) - 0.3978873577297381) / 20
    return functions.HARTMANN3(p["x"], p["y"], p["z"]) + 3.862779786949336


SWITCH = Problem(
    "switch",
    Space(
        kind=Choice(
            {
                "line": Space(x=Float(0, 1)),
                "branin": Space(x=Float(-5, 10), y=Float(0, 15)),
                "hartmann": Space(x=Float(0, 1), y=Float(0, 1), z=Float(0, 1)),
            }
        )
    ),
    switch,
    0.0,
)


def layers(p: Params) -> float:
    """Like the loss of a network: more layers are better if their widths and the rate fit."""
    count = p["layers"]
    loss = 0.3 / count
    rate = math.log10(p["rate"])
    widths = [math.log2(p[f"width{i}"]) for i in range(count)]
    for i, width in enumerate(widths):
        loss += 0.04 * (width - (8 - i)) ** 2 / count
    loss += 0.15 * (rate + 2.5 + 0.1 * (sum(widths) / count - 7)) ** 2
    if p["optimiser"] == "sgd":
        loss += 0.05 + (p["momentum"] - 0.9) ** 2
    else:
        loss += 0.02 * (math.log10(p["decay"]) + 4) ** 2
    return loss - _LAYERS_BEST


#: Four layers of 256, 128, 64 and 32 units, with the rate that fits them, and the second optimiser.
_LAYERS_BEST = 0.075
LAYERS = Problem(
    "layers",
    Space(
        layers=Choice(
            {
                n: Space(**{f"width{i}": Int(8, 1024, log=True) for i in range(n)})
                for n in (1, 2, 3, 4)
            }
        ),
        rate=Float(1e-5, 1e-1, log=True),
        optimiser=Choice(
            {
                "sgd": Space(momentum=Float(0, 0.99)),
                "adam": Space(decay=Float(1e-7, 1e-1, log=True)),
            }
        ),
    ),
    layers,
    0.0,
)


def pipeline(p: Params) -> float:
    """Like the error of a pipeline: choices within choices, which depend on each other."""
    error = 0.0
    if p["reduce"] == "pca":
        error += 0.02 + 0.0002 * (p["components"] - 20) ** 2
    elif p["reduce"] == "select":
        error += 0.2 * (p["share"] - 0.4) ** 2
    else:
        error += 0.05
    if p["model"] == "svm":
        c = math.log10(p["C"])
        if p["kernel"] == "rbf":
            gamma = math.log10(p["gamma"])
            error += 0.05 * (c - 1) ** 2 + 0.08 * (gamma + 2 + 0.5 * (c - 1)) ** 2
        elif p["kernel"] == "poly":
            error += 0.06 + 0.03 * (p["degree"] - 3) ** 2 + 0.05 * c**2
        else:
            error += 0.1 + 0.02 * (c + 1) ** 2
    elif p["model"] == "forest":
        error += 0.04 + 0.02 * (3 - math.log10(p["trees"])) ** 2 + 0.001 * (p["depth"] - 12) ** 2
    else:
        error += 0.08 + 0.03 * (math.log10(p["C"]) - 0.5) ** 2
    return error


PIPELINE = Problem(
    "pipeline",
    Space(
        reduce=Choice(
            {
                "none": None,
                "pca": Space(components=Int(2, 64)),
                "select": Space(share=Float(0.05, 1.0)),
            }
        ),
        model=Choice(
            {
                "svm": Space(
                    C=Float(1e-3, 1e3, log=True),
                    kernel=Choice(
                        {
                            "linear": None,
                            "poly": Space(degree=Int(2, 6)),
                            "rbf": Space(gamma=Float(1e-5, 1e1, log=True)),
                        }
                    ),
                ),
                "forest": Space(trees=Int(10, 1000, log=True), depth=Int(2, 32)),
                "logistic": Space(C=Float(1e-3, 1e3, log=True)),
            }
        ),
    ),
    pipeline,
    0.0,
)

FUNCTIONS = {
    "branin": functions.BRANIN,
    "himmelblau": functions.HIMMELBLAU,
    "hartmann3": functions.HARTMANN3,
    "hartmann6": functions.HARTMANN6,
    "rastrigin2": functions.rastrigin(2),
    "rastrigin4": functions.rastrigin(4),
    "ackley4": functions.ackley(4),
    "levy6": functions.levy(6),
    "rosenbrock4": functions.rosenbrock(4),
}
CONDITIONAL = [SWITCH, LAYERS, PIPELINE]


def all_problems() -> dict[str, Problem]:
    exact = [of_function(function, name) for name, function in FUNCTIONS.items()]
    noisy = [p.noisy(f.noise) for p, f in zip(exact, FUNCTIONS.values(), strict=True)]
    return {problem.name: problem for problem in [*exact, *noisy, *CONDITIONAL]}


def measured(problem: Problem, rng: np.random.Generator) -> Callable[[Params], float]:
    """Return the function with noise."""

    def objective(params: Params) -> float:
        value = problem.function(params)
        return value + problem.noise * rng.standard_normal() if problem.noise else value

    return objective
