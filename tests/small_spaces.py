"""Small spaces, and what to search there."""

import math

import numpy as np

from bough import Choice, Exhausted, Float, Int, Space

BOX = Space(x=Float(-1, 1), y=Float(0, 5))
MIXED = Space(
    kind=Choice({"a": Space(u=Float(0, 1), n=Int(1, 50, log=True)), "b": Space(u=Float(-2, 2))}),
    scale=Choice([True, False]),
)


def bowl(params):
    """Return a reward that is highest at (0.3, 2)."""
    return -((params["x"] - 0.3) ** 2) - (params["y"] - 2) ** 2 / 10


def mixed(params):
    if params["kind"] == "a":
        value = -((params["u"] - 0.5) ** 2) - (math.log(params["n"]) - 2) ** 2 / 10
    else:
        value = -0.1 - params["u"] ** 2
    return value - 0.2 * params["scale"]


def play(search, objective, count):
    asked = []
    for _ in range(count):
        try:
            params = search.ask()
        except Exhausted:
            break
        asked.append(params)
        search.tell(params, objective(params))
    return asked


def noisy(objective, seed, noise=0.05):
    rng = np.random.default_rng(seed)
    return lambda params: objective(params) + noise * rng.standard_normal()
