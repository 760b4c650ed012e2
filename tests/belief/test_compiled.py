"""The compiled core is its source: same bits, same bounds, same generator."""

import copy
import doctest
import pickle
import sys

import numpy as np
import pytest
from strategies import Hill, Ragged, noise_of
from uncompiled import load

import bough
from bough import Belief, Float, Int, Space, Tree, kernels
from bough.belief.best_arm import BOUND
from bough.belief.likelihood import Evidence
from bough.belief.nodes import NODE
from bough.belief.rng import SplitMix64, child_hash, path_hashes, weighted_hashes
from bough.searchers.baselines.tallies import bernoulli_upper
from bough.spaces import cells

MODULES = [
    "bough." + name
    for name in (
        "belief.rng", "belief.nodes", "belief.effects", "belief.posterior", "belief.best_arm",
        "belief.labeled_arms", "belief.likelihood", "belief.belief", "spaces.cells",
    )
]  # fmt: skip


class Compiled:
    SplitMix64, Belief, Evidence = SplitMix64, Belief, Evidence
    child_hash, path_hashes = staticmethod(child_hash), staticmethod(path_hashes)
    weighted_hashes = staticmethod(weighted_hashes)
    cells = cells


@pytest.fixture(scope="module")
def source():
    """Return the same classes as plain Python."""
    kept = {name: sys.modules[name] for name in MODULES}
    try:
        for name in kept:
            load(name, keep=True)
        rng, nodes, *_, likelihood, belief, cells = (sys.modules[name] for name in MODULES)
    finally:
        sys.modules.update(kept)
    assert nodes.__file__.endswith(".py")
    assert belief.Nodes is nodes.Nodes

    class Source:
        SplitMix64, Belief, Evidence = rng.SplitMix64, belief.Belief, likelihood.Evidence
        child_hash, path_hashes = staticmethod(rng.child_hash), staticmethod(rng.path_hashes)
        weighted_hashes = staticmethod(rng.weighted_hashes)

    Source.cells = cells

    return Source


def bits(belief):
    return belief.nodes.tobytes() + belief.observations.tobytes()


def play(module, tree, kernel, noise, mean, arms, steps):
    """Return everything that a few hundred steps of all kinds give."""
    belief = module.Belief(tree, kernel, noise, mean=mean, arms=arms)
    rng = module.SplitMix64(7)
    seen = []
    tokens = []
    for t in range(1, steps):
        arm = belief.highest_upper(1.0 + 0.01 * t, rng=rng)
        seen.append((arm.path, arm.mean, arm.std, arm.upper, arm.value, arm.visits))
        y = noise_of(3, arm.path)
        if t % 5 == 0:
            tokens.append(belief.pend(arm.path))
        elif t % 7 == 0 and arm.path:
            belief.observe_step(arm.path[:1], y, noise=0.3)
        elif t % 11 == 0 and arm.path:
            steps = [y / (i + 1) for i in range(len(arm.path))]
            belief.observe_steps(arm.path, steps, noise=0.4)
        else:
            belief.observe(arm.path, y, noise=None if t % 3 else 0.5)
        if len(tokens) == 3:
            belief.settle(tokens.pop(0), 0.25)
            belief.forget(tokens.pop(0))
        if t % 10 == 0:
            lower, mean_arm = belief.highest_lower(2.0, rng=rng), belief.highest_mean(rng=rng)
            seen.append((lower.path, lower.lower, mean_arm.path, mean_arm.mean))
    seen.append(belief.log_likelihood())
    seen.append(belief.posterior([(), arm.path])[0].tolist())
    return seen, bits(belief)


CASES = {
    "leaves": (Tree(3, 4), kernels.Gaussian(2.0), 0.3, 0.5, "leaves", 150),
    "precise": (Tree(3, 4), kernels.Linear(), 1e-7, 0.5, "leaves", 60),
    "wide": (Tree(100, 2), kernels.Linear(), 0.3, 0.0, "leaves", 120),
    "labels": (
        Tree(3, 4),
        kernels.Labeled(kernels.Gaussian(2.0), labels=max, between=kernels.Same(0.3), decay=0.8),
        0.3,
        0.5,
        "leaves",
        80,
    ),
    "ragged nodes": (Tree(Ragged(3, 2), 5), kernels.Discounted(0.8), 0.3, Hill(1), "nodes", 100),
}


@pytest.mark.parametrize("name", CASES)
def test_the_source_gives_the_same_bits(source, name):
    fast, fast_nodes = play(Compiled, *CASES[name])
    slow, slow_nodes = play(source, *CASES[name])
    assert fast == slow  # floats compared bit for bit
    assert fast_nodes == slow_nodes


def place(module):
    """Return what points of a space, placed in its fixed partition, give."""
    model = bough.Choice({"a": Space(x=Float(0, 1), n=Int(1, 50, log=True)), "b": None})
    space = Space(model=model, y=Float(-1, 1))
    belief = module.Belief(space.tree, kernels.Geometric(0.8), 0.2, mean=0.1)
    index = module.cells.CellIndex(space.partition, belief)
    points = [space.point(space.decode(random_path(space.tree, i))) for i in range(30)]
    table = np.array([[np.nan if x is None else x for x in point] for point in points])
    values, noises = np.sin(np.arange(30.0)), np.where(np.arange(30) % 3, np.nan, 0.5)
    seen = []
    for i in range(0, 30, 6):
        depths = np.full(2, 4, dtype=np.int32)
        index.observe(table[i : i + 6], values[i : i + 6], noises[i : i + 6], depths)
        seen.append([index.posterior(k) for k in range(i + 6)])
        seen.append(index.best_played(1.0))
    seen += [index.paths(table).tolist()]
    seen += [found.tolist() for found in index.step_posteriors()]
    return seen, bits(belief)


def random_path(tree, seed):
    rng, path = np.random.default_rng(seed), ()
    while tree.children(path):
        path = (*path, int(rng.integers(tree.children(path))))
    return path


def test_the_source_places_points_with_the_same_bits(source):
    assert place(Compiled) == place(source)


def test_the_source_has_quadratics_with_the_same_bits(source):
    rng = np.random.default_rng(0)
    places, centre, radius = rng.random((20, 3)), rng.random(3), 0.1 + rng.random(3)
    for mixed in (False, True):
        fast, slow = (
            m.cells.quadratic_terms(places, centre, radius, mixed) for m in (Compiled, source)
        )
        assert fast.tobytes() == slow.tobytes()
    fast, slow = (m.cells.distances(places, centre, radius) for m in (Compiled, source))
    assert fast.tobytes() == slow.tobytes()
    assert fast == pytest.approx(np.abs((places - centre) / radius).max(axis=1))
    matrix = places.T @ places
    fast, slow = (m.cells.cholesky_solve(matrix, centre) for m in (Compiled, source))
    assert fast.tobytes() == slow.tobytes()
    assert fast == pytest.approx(np.linalg.solve(matrix, centre))
    assert cells.cholesky_solve(-matrix, centre) is None


def select(module, noise, branching):
    """Return the result of a hundred selections by upper confidence bound."""
    belief = module.Belief(Tree(branching, 3), kernels.Gaussian(1.5), noise, mean=0.25)
    rng = module.SplitMix64(7)
    paths, token = [], None
    for t in range(100):
        skips = noise == 0.0 and t > 0
        arm = (belief.highest_upper_unknown if skips else belief.highest_upper)(2.5, rng=rng)
        if arm is None:
            break
        path = arm.path
        paths.append(path)
        if t % 6 == 5:
            token = belief.pend(path)
        elif token is not None:
            belief.settle(token, noise_of(3, path))
            token = None
        else:
            belief.observe(path, noise_of(3, path))
    return paths, belief.best_value(), bits(belief)


@pytest.mark.parametrize(("noise", "branching"), [(0.3, 3), (0.0, 3), (0.3, 50)])
def test_the_source_selects_the_same_arms(source, noise, branching):
    fast = select(Compiled, noise, branching)
    slow = select(source, noise, branching)
    assert fast == slow


def fit(module):
    """Return likelihoods with their derivatives, and the nodes after a change of prior."""
    belief = module.Belief(Tree(3, 4), kernels.Gaussian(1.5), 0.3, mean=0.25)
    rng = module.SplitMix64(9)
    for t in range(60):
        path = tuple([rng.below(3) for _ in range(1 + rng.below(4))])
        y = noise_of(t, path)
        if t % 5 == 0:
            belief.observe_steps(path, [y / (i + 1) for i in range(len(path))])
        elif t % 7 == 0:
            belief.observe(path, y, noise=0.5, depth=4)
        else:
            belief.observe(path, y)
    belief.pend((0, 1, 2, 0))
    evidence = module.Evidence(belief, 0.1, 1.5)
    found = evidence.likelihood(kernels.Linear().increments(4), 0.2, 0.3, 1.0)
    belief.take_prior(kernels.Linear(), 0.4, 0.5, -1.0)
    return [np.asarray(x).tobytes() for x in found], bits(belief)


def test_the_source_of_the_likelihood_gives_the_same_bits(source):
    assert fit(Compiled) == fit(source)


def test_splitmix_is_the_published_generator(source):
    """The first outputs for seed 1234567, as the authors of the generator give them."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    rng = source.SplitMix64(1234567)
    assert [rng.draw() for _ in published] == published


def test_hashes_of_paths(source):
    """The hash of a child is the draw that follows `step` skipped ones, exact as a fraction."""
    for seed in (0, 5, 2**64 - 1):
        path, expected = (0, 3, 2**31 - 2, 1), []
        state = seed
        for step in path:
            skipped = (state + step * 0x9E3779B97F4A7C15) % 2**64
            state = source.SplitMix64(skipped).draw()
            expected.append(state / 2**64)
        weights = [0.7, 0.1, 0.3, 1e-3]
        total = 0.0
        for weight, number in zip(weights, expected, strict=True):
            total += weight * number
        for module in (Compiled, source):
            assert module.weighted_hashes(seed, path, weights) == total
            assert module.path_hashes(seed, path) == expected
            assert module.child_hash(seed, 0) / 2**64 == expected[0]


@pytest.mark.parametrize("described", [bernoulli_upper])
def test_examples_in_the_compiled_docstrings(described):
    """Pytest collects no doctests from a compiled module."""
    names = {"bernoulli_upper": bernoulli_upper}
    name = described.__name__
    test = doctest.DocTestParser().get_doctest(described.__doc__, names, name, None, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_records_fill_cache_lines():
    assert NODE.itemsize == 128
    assert BOUND.itemsize == 64
    belief = Belief(Tree(2, 2), kernels.Linear(), 0.1)
    assert belief.nodes.ctypes.data % 64 == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_go_on_alike(copied):
    belief = Belief(Tree(4, 5), kernels.Gaussian(2.0), 0.2, mean=1.0)
    rng = SplitMix64(5)
    for t in range(50):
        belief.observe(belief.highest_upper(2.0, rng=rng).path, noise_of(1, t))
    token = belief.pend((0, 0, 0, 0, 0))
    other = copied(belief)
    other_rng = copied(rng)
    for t in range(50):
        one, two = belief.highest_upper(2.0, rng=rng), other.highest_upper(2.0, rng=other_rng)
        assert one == two
        assert hash(one) == hash(two)
        belief.observe(one.path, noise_of(2, t))
        other.observe(two.path, noise_of(2, t))
    belief.settle(token, 3.0)
    other.settle(token, 3.0)
    assert belief.log_likelihood() == other.log_likelihood()
    assert belief.nodes.tobytes() == other.nodes.tobytes()
    assert repr(belief) == repr(other)


def test_the_view_of_the_nodes_is_read_only():
    belief = Belief(Tree(2, 2), kernels.Linear(), 0.1)
    belief.observe((0, 1), 1.0)
    nodes = belief.nodes
    assert len(nodes) == 3
    assert nodes["depth"].tolist() == [0, 1, 2]
    assert nodes["parent"].tolist() == [-1, 0, 1]
    with pytest.raises(ValueError, match="read-only"):
        nodes["g"][0] = 0.5


def test_an_arm_cannot_be_changed():
    arm = Belief(Tree(2, 2), kernels.Linear(), 0.1).highest_mean()
    with pytest.raises(AttributeError):
        arm.mean = 3.0
    assert "path=(0, 0)" in repr(arm)
    assert pickle.loads(pickle.dumps(arm)) == arm
    assert arm != "arm"


def test_a_very_deep_tree():
    tree = Tree(2, 20_000)
    belief = Belief(tree, kernels.Linear(), 0.1)
    for t in range(5):
        belief.observe(belief.highest_upper(1.0, rng=t).path, 0.1 * t)
    assert len(belief) == 5
    assert bough.Tree(10, 400).log_arms == pytest.approx(400 * np.log(10))
