"""Small spaces and objectives, random spaces, partitions and paths."""

import math

import numpy as np
from hypothesis import strategies as st

from bough import Choice, Exhausted, Float, Int, Space
from bough.spaces.partition import Partition

BOX = Space(x=Float(-1, 1), y=Float(0, 5))
MIXED = Space(
    kind=Choice({"a": Space(u=Float(0, 1), n=Int(1, 50, log=True)), "b": Space(u=Float(-2, 2))}),
    scale=Choice([True, False]),
)


def bowl(params):
    """Return a reward with its maximum 0 at (0.3, 2)."""
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


# ---------------------------------------------------------------------- random spaces


def parameters():
    bounds = st.tuples(st.integers(-50, 50), st.integers(0, 60))
    return st.one_of(
        bounds.map(lambda b: Int(b[0], b[0] + b[1])),
        bounds.map(lambda b: Int(abs(b[0]) + 1, abs(b[0]) + 1 + b[1] ** 3, log=True)),
        st.tuples(bounds, st.integers(1, 7)).map(
            lambda b: Int(b[0][0], b[0][0] + b[0][1], step=b[1])
        ),
        bounds.map(lambda b: Float(b[0], b[0] + b[1])),
        bounds.map(lambda b: Float(2.0 ** (b[0] / 5), 2.0 ** ((b[0] + b[1]) / 5), log=True)),
        st.tuples(bounds, st.sampled_from([0.1, 0.25, 3.0])).map(
            lambda b: Float(b[0][0], b[0][0] + b[0][1], step=b[1])
        ),
        st.integers(1, 40).map(lambda n: Choice(range(n))),
    )


@st.composite
def spaces(draw, depth=2, prefix=""):
    """Draw nested spaces; names differ where both may be active."""
    found = {}
    for i in range(draw(st.integers(0, 3))):
        name = f"{prefix}{i}"
        if depth and draw(st.booleans()):
            options = draw(st.integers(1, 3))
            inner = {j: draw(spaces(depth - 1, f"{name} ")) for j in range(options)}
            found[name] = Choice(inner)
        else:
            found[name] = draw(parameters())
    return Space(**found)


def random_partition(space, rng):
    """Return a partition with random priorities and shares."""
    slots = len(space.slots)
    return Partition(
        space.slots,
        space.roots,
        levels=9,
        priority=rng.standard_normal(slots).tolist(),
        shares=rng.uniform(0.3, 0.7, (slots, 40)).tolist(),
    )


def random_path(tree, rng):
    path = ()
    while (count := tree.children(path)) > 0:
        path = (*path, int(rng.integers(int(count))))
    return path
