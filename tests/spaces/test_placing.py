"""Points in the cells of a covering, against the covering itself and the belief's own methods."""

import math
import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_spaces import random_covering, random_path, spaces

from bough import Belief, Choice, Float, Int, Space
from bough.belief.rng import SplitMix64
from bough.kernels import Geometric
from bough.learning.data import paths_of
from bough.spaces.covering import CoveringTree
from bough.spaces.forest.cover import NOWHERE, depths_apart
from bough.spaces.forest.placing import Placing
from bough.spaces.forest.relevance import real_parents

FINER = 3
MIXED = Space(
    kind=Choice({"a": Space(u=Float(0, 1), n=Int(1, 50, log=True)), "b": Space(u=Float(-2, 2))}),
    many=Choice(range(100)),
    scale=Float(0, 1, step=0.1),
)


def placed(space, rng, count=40):
    """Return a covering at random, the way into its belief, and points as a table."""
    slots = len(space._slots)
    covering = random_covering(space, rng)
    tree = CoveringTree(covering, log_arms=1.0 + space.log_cells)
    belief = Belief(tree, Geometric(0.8), noise=0.1)
    points = [space.point(space.decode(random_path(space.tree, rng))) for _ in range(count)]
    table = np.array([[math.nan if x is None else float(x) for x in point] for point in points])
    return Placing(covering, belief, FINER), points, table.reshape(count, slots)


def tell(placing, table, rng):
    """Tell rewards, some with a noise of their own, and return them."""
    values = rng.standard_normal(len(table))
    noises = np.where(rng.random(len(table)) < 0.3, 0.5, np.nan)
    placing.tell(table, values, noises, NOWHERE)
    return values, noises


@settings(max_examples=40)
@given(spaces(), st.integers(0, 2**32 - 1))
def test_paths_are_those_of_the_covering(space, seed):
    placing, points, table = placed(space, np.random.default_rng(seed))
    steps = placing.paths(table)
    for point, row, place in zip(points, steps.tolist(), table, strict=True):
        path, counts = placing.covering.path_and_counts(point)
        assert tuple(k for k in row if k >= 0) == path
        assert placing.path(place) == (path, [*counts, 0])
        assert [placing.covering(path[:i]) for i in range(len(path))] == counts


@settings(max_examples=40)
@given(st.integers(0, 30), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_depths_apart(count, length, seed):
    paths = np.random.default_rng(seed).integers(-1, 2, (count, length)).astype(np.int32)
    shared = depths_apart(paths)
    for i in range(count):
        others = [int(np.cumprod(paths[i] == paths[j]).sum()) for j in range(count) if j != i]
        assert shared[i] == max(others, default=0)


@settings(max_examples=20)
@given(spaces(), st.integers(0, 2**32 - 1))
def test_telling_points_is_observing_their_nodes(space, seed):
    rng = np.random.default_rng(seed)
    placing, points, table = placed(space, rng)
    values, noises = tell(placing, table, rng)
    old = placing.belief
    belief = Belief(old.tree, old.kernel, old.noise)
    for point, value, noise in zip(points, values.tolist(), noises.tolist(), strict=True):
        path = placing.covering.path(point)
        node = path[: belief.observed_steps(path) + FINER]
        belief.observe(node, value, noise=None if noise != noise else noise, depth=len(path))
    assert np.ascontiguousarray(belief.nodes).tobytes() == np.ascontiguousarray(old.nodes).tobytes()
    assert belief.observations.tobytes() == old.observations.tobytes()


def test_the_highest_cell_is_the_largest_of_which_nothing_is_known():
    rng = np.random.default_rng(0)
    placing, _, table = placed(MIXED, rng)
    tell(placing, table, rng)
    for seed in range(20):
        # A search leaves bounds behind, so that the next one draws less: each has its own belief.
        belief, again = (
            pickle.loads(pickle.dumps(placing.belief)),
            pickle.loads(pickle.dumps(placing)),
        )
        arm = belief.highest_upper(1.0, rng=seed)
        walk = placing.covering.cell(arm.path[: belief.explored_steps(arm.path) + 1])
        assert again.highest(1.0, SplitMix64(seed)) == (walk.cells, walk.chosen)


def test_the_slot_of_a_node_is_what_its_step_cuts():
    rng = np.random.default_rng(1)
    placing, _, table = placed(MIXED, rng, 200)
    tell(placing, table, rng)
    belief = placing.belief
    slots, parents = placing.slots(), real_parents(belief)
    group = belief.nodes["count"] < 0
    assert group.any()  # the choice of many options
    assert slots[0] == -1
    assert (slots[group] == -1).all()
    paths = paths_of(belief, range(len(belief.nodes)))
    for n in np.flatnonzero(~group)[1:].tolist():
        before, after = (placing.covering.cell(path) for path in (paths[n][:-1], paths[n]))
        assert paths[parents[n]] == paths[n][:-1]
        changed = {i for i in after.cells if after.cells[i] != before.cells.get(i)}
        changed |= after.chosen.keys() - before.chosen.keys()
        assert changed <= {slots[n]}  # (a cell of one value is not changed by a cut)


def test_saved_and_reloaded():
    rng = np.random.default_rng(2)
    placing, _, table = placed(MIXED, rng)
    tell(placing, table, rng)
    again = pickle.loads(pickle.dumps(placing))
    assert len(again.belief) == 40
    assert again.posterior(7) == placing.posterior(7)
    assert again.highest(1.0, 3) == placing.highest(1.0, 3)
    assert (again.paths(table) == placing.paths(table)).all()
