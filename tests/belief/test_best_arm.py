"""The exact choice against brute force over all that there is to choose from."""

import collections
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Hill, Ragged, noise_of

from bough import Belief, Confidence, Tree, kernels
from bough.belief.rng import SplitMix64


class Arms:
    """All arms, found without the belief's help: leaves, and one arm of unexplored children."""

    def __init__(self, belief):
        self.belief = belief
        self.v = belief.kernel.increments(belief.tree.depth)
        self.children = {(): set()}
        self.visited = set()

    def visit(self, path):
        for i in range(len(path) + 1):
            node = path[:i]
            if node not in self.visited:
                self.visited.add(node)
                if callable(self.belief.mean):
                    for k in range(int(min(self.belief.tree.children(node), 1000))):
                        self.add((*node, k))
            self.add(node)

    def add(self, node):
        self.children.setdefault(node, set())
        if node:
            self.children[node[:-1]].add(node[-1])

    def all(self):
        """Return nodes, and the variance that the arm at each adds to that of the node."""
        nodes, extra = [], []
        for node, explored in self.children.items():
            width = self.belief.tree.children(node)
            single = self.belief.arms == "nodes"
            if width == 0 or (single and node and node not in self.visited):
                nodes.append(node)
                extra.append(0.0)
            elif len(explored) < width:
                nodes.append(node)
                i = len(node) + 1
                extra.append(self.v[i] if single else self.v[i:].sum())
        return nodes, np.array(extra)


SETTINGS = {
    "linear": (Tree(5, 10), kernels.Linear(), 0.1),
    "gaussian": (Tree(2, 20), kernels.Gaussian(3.0), 0.3),
    "discounted": (Tree(4, 6), kernels.Discounted(0.7), 0.1),
    "geometric": (Tree(3, 8), kernels.Geometric(0.6, 2.0, 0.1), 1.0),
    "sum": (Tree(3, 5), kernels.Linear(0.1) + 2.0 * kernels.Gaussian(1.0), 0.2),
    "one child": (Tree(1, 7), kernels.Linear(), 0.5),
    "wide": (Tree(200, 3), kernels.Gaussian(2.0), 0.1),
    "very wide": (Tree(20_000, 2), kernels.Linear(), 0.1),
    "one level": (Tree(50, 1), kernels.Linear(), 0.2),
    "deep": (Tree(3, 60), kernels.Gaussian(6.0), 0.1),
    "one arm": (Tree(3, 0), kernels.Linear(), 0.1),
    "no noise": (Tree(3, 4), kernels.Linear(), 0.0),
    "no noise, wide": (Tree(60, 2), kernels.Gaussian(1.0), 0.0),
    "no variance": (Tree(3, 3), kernels.Linear(0.0), 0.1),
    "flat steps": (Tree(3, 4), kernels.Chi((1.0, 1.0, 0.5, 0.5, 0.0)), 0.0),
    "tiny": (Tree(4, 5), kernels.Linear(1e-16), 1e-9),
    "huge": (Tree(4, 5), kernels.Linear(1e16), 1e7),
    "ragged": (Tree(Ragged(4, 1), 7), kernels.Linear(), 0.2),
    "each depth": (Tree([7, 1, 3, 2], 4), kernels.Gaussian(1.5), 0.2),
    "open": (Tree(math.inf, 3), kernels.Gaussian(1.5), 0.2),
}


def check(belief, twin, arms, b, rng, scale):
    """Compare all three choices with brute force; return the arm to play."""
    nodes, extra = arms.all()
    m, observed_sd = belief.posterior(nodes)
    observed = np.sqrt(observed_sd**2 + extra)
    narrow = observed if twin is None else np.sqrt(twin.posterior(nodes)[1] ** 2 + extra)
    tolerance = 1e-9 * max(scale, np.abs(m).max())
    play = belief.highest_upper(b, rng=rng)
    lower, mean = belief.highest_lower(b, rng=rng), belief.highest_mean(rng=rng)
    for arm, sd, sign in ((play, narrow, 1), (lower, observed, -1), (mean, observed, 0)):
        value = arm.upper if sign > 0 else arm.lower if sign < 0 else arm.mean
        _, at_sd = (twin or belief if sign > 0 else belief).posterior([arm.path])
        node = arm.path
        while node not in arms.children:
            node = node[:-1]
        i = nodes.index(node)
        known_length = belief.tree.counts is not None or belief.arms == "nodes" or node == arm.path
        if known_length:
            assert value == pytest.approx((m + sign * b * sd).max(), rel=0, abs=tolerance)
            assert arm.std == pytest.approx(sd[i], rel=0, abs=tolerance)
        else:  # chosen for what it would be at full depth
            highest = (m + sign * b * sd).max()
            assert m[i] + sign * b * sd[i] == pytest.approx(highest, rel=0, abs=tolerance)
        assert len(arm.path) - len(node) <= (1 if belief.arms == "nodes" else belief.tree.depth)
        assert belief.tree.is_leaf(arm.path) or belief.arms == "nodes"
        if not callable(belief.mean):
            assert belief.posterior([arm.path])[0] == pytest.approx(arm.mean, rel=0, abs=tolerance)
            # (A standard deviation that is 0 is found as that of a difference.)
            assert arm.std == pytest.approx(at_sd[0], rel=0, abs=max(tolerance, 2e-8 * sd[i]))
        assert arm.mean == pytest.approx(m[i], rel=0, abs=tolerance)
    return play


def run(tree, kernel, noise, *, steps, scale=1.0, mean=0.0, arms="leaves", value=None, batch=1):
    belief = Belief(tree, kernel, noise, mean=mean, arms=arms)
    known = Arms(belief)
    rng = SplitMix64(3)
    unit = math.sqrt(kernel.increments(tree.depth).sum() + noise**2)
    confidence = Confidence(scale=scale)
    observed, tokens = [], []
    for t in range(1, steps + 1):
        # Now and then another b altogether: the bounds are loose then, and must still hold.
        b = confidence.sqrt_beta(t, tree.log_arms or 10.0) if t % 29 else (t % 5) / 3
        twin = None
        if tokens:
            twin = Belief(tree, kernel, noise, mean=mean, arms=arms)
            for path, y in observed + [(path, 0.0) for _, path in tokens]:
                twin.observe(path, y, noise=max(noise, 1e-6 * unit))
        arm = check(belief, twin, known, b, rng, unit)
        path = arm.path
        reward = unit * noise_of(0, path) if value is None else value
        reward += noise * noise_of(1, t)
        if batch == 1:
            belief.observe(path, reward)
            known.visit(path)
            observed.append((path, reward))
            continue
        tokens.append((belief.pend(path), path))
        known.visit(path)
        if len(tokens) == batch:
            token, path = tokens.pop(t * 7 % batch)
            if t % 3:
                belief.settle(token, reward)
                observed.append((path, reward))
            else:
                belief.forget(token)
                # Its nodes stay, but are not visited any more unless by others.
                paths = [path for path, _ in observed] + [path for _, path in tokens]
                known.visited = {path[:i] for path in paths for i in range(len(path) + 1)}
    return belief


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
def test_choice_is_exact(name, scale):
    tree, kernel, noise = SETTINGS[name]
    if noise == 0:
        kernel_sd = math.sqrt(kernel.increments(tree.depth).sum())
        if name == "flat steps":
            # Steps without variance: arms below one node have one value.
            run(tree, kernel, noise, steps=60, scale=scale, value=kernel_sd)
            return
    run(tree, kernel, noise, steps=150, scale=scale)


@pytest.mark.parametrize("name", ["linear", "wide", "one level", "ragged", "huge", "open", "deep"])
def test_choice_is_exact_with_pending_arms(name):
    tree, kernel, noise = SETTINGS[name]
    run(tree, kernel, noise, steps=60, scale=0.5, batch=4)


@pytest.mark.parametrize("name", ["discounted", "one level", "ragged", "each depth", "one child"])
@pytest.mark.parametrize("arms", ["leaves", "nodes"])
def test_choice_is_exact_with_a_mean_that_is_a_function(name, arms):
    tree, kernel, noise = SETTINGS[name]
    run(tree, kernel, noise, steps=80, scale=0.5, mean=Hill(4), arms=arms)


@pytest.mark.parametrize("name", ["linear", "wide", "ragged", "open", "one arm", "gaussian"])
def test_choice_is_exact_over_nodes(name):
    tree, kernel, noise = SETTINGS[name]
    run(tree, kernel, noise, steps=150, scale=0.5, arms="nodes")
    run(tree, kernel, noise, steps=40, scale=0.5, arms="nodes", batch=3)


@pytest.mark.parametrize("name", ["linear", "one level", "wide", "gaussian"])
def test_choice_is_exact_when_all_is_tied(name):
    tree, kernel, _ = SETTINGS[name]
    run(tree, kernel, 0.0, steps=100, scale=0.3, value=0.0)
    run(tree, 0.0 * kernel, 0.1, steps=60, scale=0.3, value=0.0)


def test_observed_steps_move_the_choice():
    tree, kernel = Tree(3, 4), kernels.Discounted(0.8)
    belief = Belief(tree, kernel, 0.1)
    arms = Arms(belief)
    for t in range(100):
        path = check(belief, None, arms, 1.0, SplitMix64(t), 1.0).path
        arms.visit(path)
        for i in range(1, len(path) + 1):
            belief.observe_step(path[:i], noise_of(5, path[:i]), noise=0.1 * (t % 3))


def test_the_first_arm_is_any_arm():
    counts = collections.Counter(
        Belief(Tree(3, 2), kernels.Linear(), 0.1).highest_upper(1.0, rng=seed).path
        for seed in range(1800)
    )
    assert len(counts) == 9
    # 200 each; five standard deviations are 67
    assert all(133 < count < 267 for count in counts.values())
    generator = np.random.default_rng(3)
    some = {Belief(Tree(9, 1), kernels.Linear(), 0.1).highest_mean(rng=generator).path
            for _ in range(60)}  # fmt: skip
    assert len(some) == 9


def test_unexplored_children_are_equally_likely():
    """With one, half and all but two children explored: three ways of drawing."""
    for explored in (1, 3, 4):
        belief = Belief(Tree(6, 1), kernels.Linear(), 0.1)
        for k in range(explored):
            belief.observe((k,), -9.0)
        counts = collections.Counter(
            belief.highest_mean(rng=SplitMix64(s)).path[0] for s in range(1200)
        )
        assert sorted(counts) == list(range(explored, 6))
        expected = 1200 / (6 - explored)
        assert all(abs(c - expected) < 5 * math.sqrt(expected) for c in counts.values())


def test_ties_between_explored_arms_go_either_way():
    belief = Belief(Tree(2, 2), kernels.Linear(), 0.1)
    for path in ((0, 0), (0, 1), (1, 0), (1, 1)):
        belief.observe(path, 1.0)
    counts = collections.Counter(
        belief.highest_upper(1.0, rng=SplitMix64(seed)).path for seed in range(800)
    )
    assert len(counts) == 4
    assert all(100 < count < 300 for count in counts.values())
    assert belief.highest_upper(1.0).path == (0, 0)


def test_without_an_rng_the_lowest_index_is_taken():
    belief = Belief(Tree(200, 3), kernels.Linear(), 0.1)
    assert belief.highest_upper(1.0).path == (0, 0, 0)
    for k in (0, 2, 1):
        belief.observe((k, 0, 0), -5.0)
    assert belief.highest_upper(1.0).path == (3, 0, 0)
    one = Belief(Tree(70, 1), kernels.Linear(), 0.1)
    for k in reversed(range(70)):
        one.observe((k,), 0.0)
    assert one.highest_mean().path == (0,)


def all_leaves(tree, path=()):
    width = tree.children(path)
    below = [leaf for k in range(width) for leaf in all_leaves(tree, (*path, k))]
    return below if width else [path]


@given(st.integers(0, 999), st.integers(1, 3), st.integers(0, 4), st.floats(0.1, 3.0), st.data())
def test_ragged_trees_have_bounds_that_are_exact_once_explored(key, most, depth, b, data):
    tree = Tree(Ragged(most, key), depth)
    leaves = all_leaves(tree)
    belief = Belief(tree, kernels.Linear(), 0.2)
    order = data.draw(st.permutations(leaves))[:20]
    for count in range(len(order) + 1):
        m, sd = belief.posterior(leaves)
        high, low = (m + b * sd).max(), (m - b * sd).max()
        upper, lower = belief.highest_upper(b), belief.highest_lower(b)
        for arm in (upper, lower):  # its numbers are those of its own length
            at = leaves.index(arm.path)
            bounds = m[at] - b * sd[at], m[at] + b * sd[at]
            assert (arm.lower, arm.upper) == pytest.approx(bounds, abs=1e-7)
        bound = belief.upper_bound(b)
        assert upper.upper <= high + 1e-9 <= bound + 2e-9
        assert lower.lower <= low + 1e-9
        if belief.explored_steps(upper.path) == len(upper.path):
            assert upper.upper == pytest.approx(high, abs=1e-9)
            assert bound == pytest.approx(high, abs=1e-9)
        if count == len(leaves):  # all lengths are known
            assert upper.upper == pytest.approx(high, abs=1e-9)
            assert lower.lower == pytest.approx(low, abs=1e-9)
        if count < len(order):
            belief.observe(order[count], noise_of(key, order[count]))
