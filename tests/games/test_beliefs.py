"""The belief about a game against dense algebra on the list of all playouts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_games import RandomGame, UnlabeledGame, random_game
from scipy.integrate import quad
from scipy.stats import norm
from slow_trees import SlowBelief, clark, conditioned, numbers_of

from bough import games
from bough.belief.rng import SplitMix64
from bough.games.beliefs import BeliefTree, moments_of_best

SHARES = (0.2, 0.6, 0.2)
CLOSE = 1e-9


def both(game, seed, exploration=1.7, shares=SHARES, prior=None):
    tree = BeliefTree(SplitMix64(seed), exploration, shares, prior)
    return tree, SlowBelief(game, SplitMix64(seed), exploration, shares, prior)


def path_of(position):
    return position.path if isinstance(position, RandomGame) else position.history()


def simulate(tree, slow):
    """Play a playout, and let the slow tree check each choice of it."""
    position = slow.game.copy()
    before = len(path_of(position))
    tree.simulate(position)
    slow.simulate(path_of(position)[before:])
    assert tree.rng.state == slow.rng.state


def random_play(tree, number):
    """Return posterior mean and variance of F at a node by the messages."""
    records, path = tree.nodes.records, []
    while number >= 0:
        path.append(number)
        number = records["parent"][number]
    m, variance = 0.0, 0.0
    for n in reversed(path):
        g = records["g"][n]
        m, variance = g * m + records["offset"][n], g * g * variance + records["spread"][n]
    return m, variance


def check_nodes(tree, slow):
    """Compare everything that is known of all nodes."""
    numbers = numbers_of(tree)
    nodes = list(numbers)
    assert len(nodes) == tree.used == len(tree.nodes.records)
    for node, (mean, variance) in zip(nodes, slow.posterior(nodes), strict=True):
        record = tree.records[numbers[node]]
        assert random_play(tree, numbers[node]) == pytest.approx((mean, variance), abs=CLOSE)
        step = tree.nodes.records[numbers[node]]
        assert (step["mu"], step["v"]) == pytest.approx(slow.steps[node], abs=CLOSE)
        through = slow.through(node)
        assert record["visits"] == len(through)
        assert record["total"] == pytest.approx(sum(p.result for p in through), abs=CLOSE)
        assert (record["low"], record["high"]) == slow.bounds(node)


def check_values(tree, slow):
    """Compare the values of the moves at the root."""
    mean, slope, std, spread = tree.values()
    moves, _ = tree.children()
    slow.scores(())
    m, variance = slow.posterior([()])[0]
    assert spread == pytest.approx(variance**0.5, abs=CLOSE)
    for i, move in enumerate(moves):
        here, there = (slow.value_given((move,), x) for x in (m, m + 1.0))
        assert (mean[i], std[i] ** 2) == pytest.approx(here, abs=1e-8)
        assert slope[i] == pytest.approx(there[0] - here[0], abs=1e-8)


def check_effects(tree, slow):
    """Compare the effects at the root, given all playouts in which a label was seen."""
    found = tree.effects()
    table = slow.table(())
    labels = {pair for p in table for pair in zip(p.players, p.labels, strict=True)}
    assert set(found) == labels
    for player, label in labels:
        seen = slow.with_move(table, (), player, label)
        slowly = conditioned(*slow.effect((), player, label), seen, slow.mean(()))
        assert found[player, label] == pytest.approx(slowly, abs=CLOSE)


def go_on(tree, slow, playouts):
    """Simulate, and compare everything after every playout."""
    for _ in range(playouts):
        if tree.is_settled:
            break
        simulate(tree, slow)
        check_nodes(tree, slow)
    if tree.is_expanded:
        check_values(tree, slow)
        check_nodes(tree, slow)
        check_effects(tree, slow)


def check(game, seed, playouts, **settings):
    tree, slow = both(game, seed, **settings)
    go_on(tree, slow, playouts)
    return tree, slow


@given(st.integers(0, 10**6), st.integers(9, 30))
def test_the_belief_is_its_definition_on_random_games(seed, playouts):
    check(random_game(seed), seed, playouts)


@given(st.integers(0, 10**6))
def test_the_belief_is_its_definition_on_games_that_are_never_proven(seed):
    check(random_game(seed, size=14, widest=3), seed, 20, exploration=0.4, shares=(0.3, 0.2, 0.05))


@given(st.integers(0, 10**6), st.integers(9, 25))
def test_labels_that_no_playout_has_seen_begin_with_their_prior(seed, playouts):
    check(random_game(seed, UnlabeledGame), seed, playouts)


@given(st.integers(0, 10**6), st.integers(0, 2))
def test_the_belief_takes_effects_of_another_game(seed, label):
    prior = {(0, "abc"[label]): (0.3, 0.05), (1, "h"): (0.1, 0.0), (1, "a"): (-0.2, 0.4)}
    check(random_game(seed, labels=8), seed, 18, prior=prior)


def test_the_belief_is_its_definition_on_tic_tac_toe():
    tree, slow = both(games.TicTacToe(), 1)
    for i in range(60):
        simulate(tree, slow)
        if i % 20 == 19:
            check_nodes(tree, slow)
            check_values(tree, slow)


# ---------------------------------------------------------------------- another root


@given(st.data(), st.integers(0, 10**6), st.sampled_from([RandomGame, UnlabeledGame]))
def test_a_kept_tree_is_its_definition(data, seed, kind):
    tree, slow = check(random_game(seed, kind, size=12), seed, 22)
    for _ in range(2):
        numbers = numbers_of(tree)
        nodes = [n for n in numbers if n and slow.through(n) and slow.position(n).result() is None]
        if not nodes:
            return
        root = data.draw(st.sampled_from(nodes))
        below = {n: n[len(root) :] for n in numbers if n[: len(root)] == root}
        before = {below[n]: random_play(tree, numbers[n]) for n in below}
        tree.make_root(numbers[root])
        slow = slow.below(root)
        after = numbers_of(tree)
        assert after.keys() == before.keys()
        for node, known in before.items():
            assert random_play(tree, after[node]) == pytest.approx(known, abs=CLOSE)
        check_nodes(tree, slow)
        if data.draw(st.booleans()):
            go_on(tree, slow, 10)


# ---------------------------------------------------------------------- values without playouts


def highest(b, power):
    """Return a moment of the highest of b standard normal variables, by integration."""
    density = lambda x: b * norm.pdf(x) * norm.cdf(x) ** (b - 1) * x**power  # noqa: E731
    return quad(density, -9.0, 9.0, limit=200, epsabs=1e-12)[0]


@pytest.mark.parametrize("b", [1, 2, 3, 5, 10, 30, 100, 361, 4096])
def test_moments_of_the_best(b):
    kappa, rho = moments_of_best(b)
    mean = highest(b, 1)
    assert kappa == pytest.approx(mean, abs=1e-5)
    assert rho == pytest.approx(highest(b, 2) - mean**2, abs=1e-5)


@pytest.mark.parametrize("b", range(2, 7))
def test_the_value_of_a_new_node_does_not_jump_when_it_is_expanded(b):
    kappa, rho = moments_of_best(b)
    u = 0.07
    delta, W = kappa * (u / (1 - rho)) ** 0.5 / 2, u * rho / (1 - rho)
    # To the player its children are worth -delta each on average, with the variance u + W.
    assert -delta + kappa * (u + W) ** 0.5 == pytest.approx(delta)
    assert rho * (u + W) == pytest.approx(W)
    # The tree has Clark's moments of the highest, which are close to these.
    best = child = (-delta, 1.0, u + W)
    for _ in range(b - 1):
        best = clark(best, child)
    assert best == pytest.approx((delta, 1.0, W), rel=0.08)
