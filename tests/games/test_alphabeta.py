"""Alpha-beta search against exhaustive minimax."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_games import KeyedGame, RandomGame, random_game

from bough import games

SEEDS = st.integers(0, 10**6)
KINDS = st.sampled_from([RandomGame, KeyedGame])


def minimax(position):
    """Return the values of all moves for the player to move."""
    sign = 1.0 if position.player == 0 else -1.0
    targets = position.rules.targets[position.number]
    return {move: sign * position.rules.value(target) for move, target in targets.items()}


def estimate_of(seed):
    """Return a function that estimates positions, often as won or lost, and often wrongly."""

    def estimate(position):
        draw = random.Random(f"{seed} {position.number}")
        return draw.choice([-1.0, 1.0, 0.0, draw.uniform(-1, 1)])

    return estimate


def limited(position, depth, estimate):
    """Return the value for the first player by minimax of limited depth."""
    if position.result() is not None:
        return position.result()
    if depth == 0:
        return estimate(position)
    values = []
    for move in position.moves():
        after = position.copy()
        after.play(move)
        values.append(limited(after, depth - 1, estimate))
    return (max, min)[position.player](values)


@given(SEEDS, KINDS)
def test_positions_are_solved(seed, kind):
    game = random_game(seed, kind, size=14)
    true = minimax(game)
    decision = games.AlphaBeta().choose(game)
    assert decision.is_proven
    assert decision.value == max(true.values()) == true[decision.move]
    assert games.AlphaBeta().values(game) == true
    assert {each.move for each in decision.moves} == set(true)
    for each in decision.moves[1:]:
        if decision.value < 1.0:  # a win is proven without a look at other moves
            assert each.value >= true[each.move]
        assert math.isnan(each.std)
        assert not each.is_proven


@given(SEEDS, st.integers(1, 6), st.none() | st.integers(1, 60), st.booleans())
def test_what_is_proven_within_limits_is_true(seed, depth, nodes, estimates):
    game = random_game(seed, KeyedGame, size=16, widest=3)
    evaluate = estimate_of(seed) if estimates else None
    decision = games.AlphaBeta(depth, nodes=nodes, evaluate=evaluate).choose(game)
    true = minimax(game)
    assert decision.move in true
    if decision.is_proven:
        assert decision.value == max(true.values()) == true[decision.move]


@given(SEEDS, st.integers(1, 5))
def test_without_transpositions_the_value_is_that_of_limited_minimax(seed, depth):
    game = random_game(seed, size=16, widest=3)
    estimate = estimate_of(seed)
    decision = games.AlphaBeta(depth, evaluate=estimate).choose(game)
    sign = 1.0 if game.player == 0 else -1.0
    if decision.is_proven:  # perhaps before that depth
        assert decision.value == max(minimax(game).values())
    else:
        assert decision.value == sign * limited(game, depth, estimate)


@pytest.mark.thorough
def test_many_games_are_solved():
    for seed in range(10_000):
        game = random_game(seed, (RandomGame, KeyedGame)[seed % 2], size=18, widest=3)
        true = minimax(game)
        evaluate = estimate_of(seed) if seed % 3 else None
        decision = games.AlphaBeta(evaluate=evaluate).choose(game)
        assert decision.is_proven
        assert decision.value == max(true.values()) == true[decision.move], seed
        assert games.AlphaBeta().values(game) == true, seed


def test_the_limit_of_positions():
    game = games.TicTacToe()
    for nodes in (1, 2, 10, 300):
        decision = games.AlphaBeta(nodes=nodes).choose(game)
        assert decision.playouts <= nodes + 1
        assert not decision.is_proven
        assert decision.move in game.moves()


def test_estimates_out_of_range_are_refused():
    for wrong, error in ((1.5, ValueError), (math.nan, ValueError), ("good", TypeError)):
        player = games.AlphaBeta(1, evaluate=lambda position: wrong)  # noqa: B023
        with pytest.raises(error, match=r"evaluate\(position\) must be"):
            player.choose(games.TicTacToe())


def test_wrong_arguments():
    for arguments, name in (
        ({"depth": 0}, "depth"), ({"seconds": -1}, "seconds"), ({"nodes": 0}, "nodes"),
        ({"depth": 1.5}, "depth"), ({"evaluate": 3}, "evaluate"),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=name):
            games.AlphaBeta(**arguments)


def test_equal_positions_are_searched_once():
    keyed, plain = games.AlphaBeta(5), games.AlphaBeta(5)

    class Plain(games.TicTacToe):
        key = None

        def __getattribute__(self, name):
            if name == "key":
                raise AttributeError(name)
            return super().__getattribute__(name)

    few, many = keyed.choose(games.TicTacToe()), plain.choose(Plain())
    assert few.playouts < many.playouts
    assert few.value == many.value
