"""The compiled index of cells, compared with the partition and the methods of the belief."""

import math
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from small_spaces import random_partition, random_path, spaces

from bough import Belief, Choice, Float, Int, Space
from bough.kernels import Geometric
from bough.learning.posterior import paths_of
from bough.spaces.cells import FINER, CellIndex
from bough.spaces.ensemble import shared_steps

MIXED = Space(
    kind=Choice({"a": Space(u=Float(0, 1), n=Int(1, 50, log=True)), "b": Space(u=Float(-2, 2))}),
    many=Choice(range(100)),
    scale=Float(0, 1, step=0.1),
)


def random_cells(space, rng, count=40):
    """Return the index of a random partition, and random points, also as an array."""
    slots = len(space.slots)
    partition = random_partition(space, rng)
    belief = Belief(partition.tree(1.0 + space.log_cells), Geometric(0.8), noise=0.1)
    points = [space.point(space.decode(random_path(space.tree, rng))) for _ in range(count)]
    table = np.array([[math.nan if x is None else float(x) for x in point] for point in points])
    return CellIndex(partition, belief), points, table.reshape(count, slots)


def observe(cells, table, rng):
    """Observe random rewards, some with a noise of their own, and return them."""
    values = rng.standard_normal(len(table))
    noises = np.where(rng.random(len(table)) < 0.3, 0.5, np.nan)
    cells.observe(table, values, noises, np.zeros(0, dtype=np.int32))
    return values, noises


@given(spaces(), st.integers(0, 2**32 - 1))
def test_paths_are_those_of_the_partition(space, seed):
    cells, points, table = random_cells(space, np.random.default_rng(seed), 8)
    steps = cells.paths(table)
    for point, row in zip(points, steps.tolist(), strict=True):
        assert tuple(k for k in row if k >= 0) == cells.partition.path(point)


@given(st.integers(0, 30), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_shared_steps(count, length, seed):
    paths = np.random.default_rng(seed).integers(-1, 2, (count, length)).astype(np.int32)
    shared = shared_steps(paths)
    for i in range(count):
        others = [int(np.cumprod(paths[i] == paths[j]).sum()) for j in range(count) if j != i]
        assert shared[i] == max(others, default=0)


@given(spaces(), st.integers(0, 2**32 - 1))
def test_observing_points_is_observing_their_nodes(space, seed):
    rng = np.random.default_rng(seed)
    cells, points, table = random_cells(space, rng, 12)
    values, noises = observe(cells, table, rng)
    old = cells.belief
    belief = Belief(old.tree, old.kernel, old.noise)
    for point, value, noise in zip(points, values.tolist(), noises.tolist(), strict=True):
        path = cells.partition.path(point)
        node = path[: belief.observed_steps(path) + FINER]
        belief.observe(node, value, noise=None if noise != noise else noise, depth=len(path))
    assert np.ascontiguousarray(belief.nodes).tobytes() == np.ascontiguousarray(old.nodes).tobytes()
    assert belief.observations.tobytes() == old.observations.tobytes()


def test_slots_of_nodes_are_those_that_their_steps_cut():
    rng = np.random.default_rng(1)
    cells, _, table = random_cells(MIXED, rng, 200)
    observe(cells, table, rng)
    belief = cells.belief
    slots, _, _ = cells.step_posteriors()
    group = belief.nodes["count"] < 0
    assert group.any()  # the choice of many options
    assert slots[0] == -1
    assert (slots[group] == -1).all()
    paths = paths_of(belief, range(len(belief.nodes)))
    for n in np.flatnonzero(~group)[1:].tolist():
        before, after = (cells.partition.cell(path) for path in (paths[n][:-1], paths[n]))
        changed = {i for i in after.ranges if after.ranges[i] != before.ranges.get(i)}
        assert changed <= {slots[n]}  # (a cut does not change a cell of one value)


def test_pickle():
    rng = np.random.default_rng(2)
    cells, _, table = random_cells(MIXED, rng)
    observe(cells, table, rng)
    again = pickle.loads(pickle.dumps(cells))
    assert len(again.belief) == 40
    assert again.posterior(7) == cells.posterior(7)
    assert again.best_played(1.0) == cells.best_played(1.0)
    assert (again.paths(table) == cells.paths(table)).all()
