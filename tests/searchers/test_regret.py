"""What a run knows of its own regret, and of the information it has collected."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import some_path, trees

from bough import GPTS, Belief, Confidence, Tree, kernels

KERNEL = kernels.Gaussian(1.5)


@given(st.data())
@settings(deadline=None)
def test_information_gain_is_half_a_log_determinant(data):
    tree = data.draw(trees(most_children=4, most_depth=5), label="tree")
    belief = Belief(tree, KERNEL, 0.3)
    rows, noises = [], []
    for _ in range(data.draw(st.integers(0, 10), label="readings")):
        path = some_path(data, tree)
        nodes = [path[:i] for i in range(len(path) + 1)]
        noise = data.draw(st.sampled_from([0.3, 0.7]), label="noise")
        if data.draw(st.booleans(), label="step") and path:
            belief.observe_step(path, 0.5, noise=noise)
            nodes = [path]
        else:
            belief.observe(path, 0.5, noise=noise)
        rows.append(set(nodes))
        noises.append(noise)
    v = KERNEL.increments(tree.depth)
    K = np.array([[sum(v[len(n)] for n in a & b) for b in rows] for a in rows])
    K = K.reshape(len(rows), len(rows)) / np.outer(noises, noises)
    truth = 0.5 * np.linalg.slogdet(np.eye(len(rows)) + K)[1]
    assert belief.information_gain() == pytest.approx(truth, rel=1e-9, abs=1e-9)


def test_an_exact_reading_tells_without_end():
    search = GPTS(Tree(3, 2), KERNEL, 0.0, rng=0)
    assert search.information_gain == 0.0
    search.tell(search.ask(), 1.0)
    assert search.information_gain == math.inf


def drawn(tree, seed, noise):
    """Return the rewards of all arms of a function from the prior, and their noisy readings."""
    rng = np.random.default_rng(seed)
    paths = list(np.ndindex(*tree.counts))
    values = dict(zip(paths, Belief(tree, KERNEL, 1.0).sample(paths, 1, rng)[0], strict=True))
    return values, lambda path: values[path] + noise * rng.standard_normal()


@pytest.mark.parametrize("select", ["arm", "subtree"])
def test_the_regret_is_below_its_bound(select):
    """With four arms and delta = .3 more than a third may not exceed it; narrowed, many do."""
    tree, noise = Tree(2, 2), 0.5
    exceeded = narrowed = 0
    for seed in range(100):
        values, reward = drawn(tree, seed, noise)
        search = GPTS(
            tree, KERNEL, noise, select=select, confidence=Confidence(0.3, scale=1.0), rng=seed
        )
        search.track_regret()
        regret = 0.0
        worst = narrow = -math.inf
        for _ in range(30):
            path = search.ask()
            regret += max(values.values()) - values[path]
            search.tell(path, reward(path))
            worst = max(worst, regret - search.regret_bound)
            narrow = max(narrow, regret - search.regret_bound / 20)
        exceeded += worst > 0.0
        narrowed += narrow > 0.0
    assert exceeded <= 30
    assert narrowed > 30


def test_the_arm_rule_keeps_it_without_being_asked():
    tree, noise = Tree(3, 3), 0.3
    _, reward = drawn(tree, 1, noise)
    search = GPTS(tree, KERNEL, noise, select="arm", confidence=Confidence(scale=1.0), rng=0)
    belief = Belief(tree, KERNEL, noise)
    total = 0.0
    for t in range(1, 60):
        path = search.ask()
        b = Confidence().sqrt_beta(t, tree.log_arms)
        total += 2 * b * belief.posterior([path])[1][0]
        upper = belief.highest_upper(b).upper
        lower = belief.posterior([path])[0][0] - b * belief.posterior([path])[1][0]
        assert upper - lower == pytest.approx(2 * b * belief.posterior([path])[1][0], rel=1e-9)
        y = reward(path)
        search.tell(path, y)
        belief.observe(path, y)
        assert search.regret_bound == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_what_the_rule_left_out_counts_as_regret(noise):
    """Arms that are known, pending, told late or not asked for: the bound looks at all arms."""
    kernel = kernels.Chi.of_increments([0.0, 1.0, 1e-4])
    tree = Tree(20, 2)
    exceeded = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        paths = list(np.ndindex(20, 20))
        values = dict(zip(paths, Belief(tree, kernel, 1.0).sample(paths, 1, rng)[0], strict=True))
        search = GPTS(tree, kernel, noise, select="arm", confidence=Confidence(scale=1.0), rng=seed)
        regret = 0.0
        for t in range(150):
            path = search.ask()
            if t % 3 == 0:
                search.ask()  # stays pending
            for played in (path, (path[0], t % 20)) if t % 5 == 0 else (path,):
                try:
                    search.tell(played, values[played] + noise * rng.standard_normal())
                except ValueError:
                    continue
                regret += max(values.values()) - values[played]
        exceeded += regret > search.regret_bound
    assert exceeded <= 2


def test_an_arm_told_late_is_measured_by_what_is_known_then():
    kernel = kernels.Chi.of_increments([0.0, 1.0, 0.01])
    search = GPTS(Tree(2, 2), kernel, 0.1, select="arm", confidence=Confidence(scale=1.0), rng=0)
    path = search.ask()
    for _ in range(200):
        search.tell((path[0], 1 - path[1]), -3.0)
    before = search.regret_bound
    b = Confidence().sqrt_beta(201, search.tree.log_arms)
    arm = search.belief.posterior([path])
    ceiling = search.belief.highest_upper(b).upper
    search.tell(path, -3.0)
    gained = search.regret_bound - before
    assert gained == pytest.approx(ceiling - (arm[0][0] - b * arm[1][0]), rel=1e-9)
    assert gained > 4 * b * arm[1][0]


def test_what_cannot_be_said():
    with pytest.raises(ValueError, match="call track_regret"):
        _ = GPTS(Tree(3, 3), KERNEL, 0.3, rng=0).regret_bound
    with pytest.raises(ValueError, match="growth is 'deepening'"):
        GPTS(Tree(3, 3), KERNEL, 0.3, growth="deepening", rng=0).track_regret()
    search = GPTS(Tree(3, 3), KERNEL, 0.3, rng=0)
    search.tell((0, 0, 0), 1.0)
    with pytest.raises(ValueError, match="from the beginning"):
        search.track_regret()
    open_ended = GPTS(Tree(lambda path: 2, 3), KERNEL, 0.3, rng=0)
    open_ended.track_regret()
    open_ended.tell((0, 0, 0), 1.0)
    assert open_ended.regret_bound == math.inf


def test_a_refused_reward_costs_no_regret():
    search = GPTS(Tree(3, 3), KERNEL, 0.3, rng=0)
    search.track_regret()
    search.tell((0, 0, 0), 1.0)
    before = search.regret_bound
    with pytest.raises(ValueError, match="finite"):
        search.tell((0, 0, 0), math.nan)
    assert search.regret_bound == before
