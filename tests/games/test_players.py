"""Players: decisions, proven values, kept trees, bad arguments."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_games import KeyedGame, RandomGame, random_game

from bough import games

SEEDS = st.integers(0, 10**6)
TREES = [games.Player, games.UCT, games.RAVE, games.GRAVE]


def own_values(game):
    """Return the value of each move by minimax, for the player to move."""
    sign = 1.0 if game.player == 0 else -1.0
    targets = game.rules.targets[game.number]
    return {move: sign * game.rules.value(target) for move, target in targets.items()}


# ---------------------------------------------------------------------- decisions


@given(SEEDS, st.sampled_from(TREES), st.integers(1, 150))
def test_decisions_are_consistent(seed, player, playouts):
    game = random_game(seed, KeyedGame, size=14)
    decision = player(playouts, rng=seed).choose(game)
    assert game.path == []
    true = own_values(game)
    moves = {each.move: each for each in decision.moves}
    assert len(decision.moves) == len(true)
    assert moves.keys() == true.keys()
    best = decision.moves[0]
    assert (decision.move, decision.value, decision.name) == (best.move, best.value, best.name)
    assert sum(each.probability for each in decision.moves) == pytest.approx(1.0)
    assert all(-1.0 <= each.value <= 1.0 for each in decision.moves)
    assert sum(each.visits for each in decision.moves) <= decision.playouts
    for each in decision.moves:
        assert each.name == str(each.move)
        if each.is_proven:
            assert (each.value, each.std) == (pytest.approx(true[each.move]), 0.0)
    if decision.is_proven:
        assert decision.value == pytest.approx(max(true.values()))
        assert true[decision.move] == max(true.values())
    if best.is_proven and best.value == -1.0:  # only if nothing else is left
        assert all(each.is_proven and each.value == -1.0 for each in decision.moves)
    for each in decision.moves:
        if each.is_proven and each.value == 1.0:
            assert decision.value == 1.0
            assert decision.is_proven
    if player is games.Player:
        values = [each.value for each in decision.moves]
        assert values == sorted(values, reverse=True)
    assert str(decision).count("\n") == len(true)


@given(SEEDS)
def test_small_games_are_played_without_a_mistake(seed):
    game = random_game(seed, KeyedGame, size=8, widest=3)
    true = own_values(game)
    for player in TREES:
        decision = player(3000, rng=0).choose(game)
        assert decision.is_proven
        assert true[decision.move] == max(true.values())


class Weighted(RandomGame):
    """One player moves once; the results are given."""

    def __init__(self, results):
        self.results, self.path, self.number = results, [], 0

    player = 0

    def moves(self):
        return range(len(self.results))

    def play(self, move):
        self.path.append(move)

    def result(self):
        return self.results[self.path[0]] if self.path else None

    def label(self, move):
        return move

    def copy(self):
        other = Weighted(self.results)
        other.path = list(self.path)
        return other


def test_a_win_ends_the_search():
    decision = games.Player(1000, rng=0).choose(Weighted([0.0, -1.0, 1.0, 0.5]))
    assert (decision.move, decision.value, decision.std) == (2, 1.0, 0.0)
    assert decision.playouts < 20
    assert decision.moves[0].probability > 0.9


def test_equal_moves_share_the_probability():
    decision = games.Player(100, rng=0).choose(Weighted([0.5, 0.5, -0.5]))
    assert decision.is_proven
    assert [each.probability for each in decision.moves] == [0.5, 0.5, 0.0]


def test_proven_losses_rank_last_and_proven_wins_first():
    player = games.Player(20, rng=0)
    game = games.TicTacToe()
    player.choose(game)
    tree = player._tree
    bounds = np.array(
        [(-1.0, -1.0), (-1.0, 1.0), (-1.0, 1.0)], dtype=[("low", float), ("high", float)]
    )

    class Tree:
        is_settled = False

        def children(self):
            return [0, 1, 2], np.rec.fromarrays(
                [bounds["low"], bounds["high"], [1, 1, 1]], names="low,high,visits"
            )

        def values(self):
            return np.array([-1.0, -1.3, -1.2]), np.zeros(3), np.full(3, 0.1), 0.1

    player._tree = Tree()
    decision = player._decide(game, 3, 0.0)
    assert decision.moves[-1].move == 0
    assert [each.value for each in decision.moves] == [-1.0] * 3
    player._tree = tree


# ---------------------------------------------------------------------- tic-tac-toe


def reachable():
    """Return all positions of tic-tac-toe in which the game goes on, one for each board."""
    found, left = {}, [games.TicTacToe()]
    while left:
        position = left.pop()
        if position.result() is None and position.key() not in found:
            found[position.key()] = position
            for move in position.moves():
                after = position.copy()
                after.play(move)
                left.append(after)
    return [found[key] for key in sorted(found)]


def check_tic_tac_toe(positions):
    oracle = games.AlphaBeta()
    for position in positions:
        decision = games.Player(1600, rng=0).choose(position)
        true = oracle.values(position)
        assert true[decision.move] == max(true.values()), str(position)
        if decision.is_proven:
            assert decision.value == max(true.values())


def test_tic_tac_toe_is_played_without_a_mistake():
    positions = reachable()
    assert len(positions) == 4520
    check_tic_tac_toe(positions[::45])


@pytest.mark.thorough
def test_tic_tac_toe_is_played_without_a_mistake_from_everywhere():
    check_tic_tac_toe(reachable())


# ---------------------------------------------------------------------- kept trees


def visits(decision):
    return sum(each.visits for each in decision.moves)


@pytest.mark.parametrize("player", TREES)
def test_the_tree_is_kept(player):
    made, game = player(100, rng=0), games.TicTacToe()
    first = made.choose(game)
    again = made.think(game, playouts=50)
    assert again.playouts == 50
    assert visits(again) == visits(first) + 50
    most = max(again.moves, key=lambda each: each.visits)
    game.play(most.move)
    after = made.think(game, playouts=1)
    assert visits(after) == most.visits  # all but the first, which made the node, and one more
    reply = max(after.moves, key=lambda each: each.visits)
    game.play(reply.move)
    assert made.think(game, playouts=1).playouts >= 1
    fresh = player(100, rng=0, keep=False)
    fresh.choose(game)
    assert visits(fresh.think(game, playouts=30)) <= 30


@pytest.mark.parametrize("player", TREES)
def test_another_history_begins_again(player):
    made, game = player(100, rng=0), games.TicTacToe()
    game.play(0)
    made.choose(game)
    other = games.TicTacToe()
    other.play(4)
    assert visits(made.think(other, playouts=40)) <= 40
    assert {each.move for each in made.choose(games.TicTacToe()).moves} == set(range(9))


@pytest.mark.parametrize("player", TREES)
def test_another_game_with_the_same_history_begins_again(player):
    made = player(60, rng=0)
    for seed in range(6):
        game = random_game(seed, KeyedGame, size=12)
        decision = made.choose(game)
        assert {each.move for each in decision.moves} == set(game.moves())
        alone = player(60, rng=0).choose(game)
        assert visits(decision) <= max(60, alone.playouts)
    decision = made.choose(games.TicTacToe())
    assert {each.move for each in decision.moves} == set(range(9))


def test_positions_without_a_history():
    game = random_game(5, RandomGame, size=16)
    player = games.Player(60, rng=0)
    assert visits(player.choose(game)) <= visits(player.choose(game)) + 60
    assert player.think(game, playouts=20).playouts <= 20


@given(SEEDS)
def test_whole_games_with_a_kept_tree(seed):
    game = random_game(seed, KeyedGame, size=20)
    players = [games.Player(30, rng=seed), games.GRAVE(30, rng=seed)]
    while game.result() is None:
        decision = players[game.player].choose(game)
        assert decision.move in game.moves()
        game.play(decision.move)


def test_effects_are_carried_to_the_next_game():
    first = games.Player(200, rng=0)
    first.choose(games.TicTacToe())
    assert set(first.effects) == {(player, cell) for player in (0, 1) for cell in range(9)}
    second = games.Player(200, rng=0, prior=first.effects)
    second.choose(games.TicTacToe())
    for pair, (_, variance) in second.effects.items():
        assert variance < first.effects[pair][1]


def test_seeds_are_reproducible():
    for player in TREES:
        tables = [player(80, rng=3).choose(games.TicTacToe()).moves for _ in range(2)]
        assert str(tables[0]) == str(tables[1])
    assert games.Player(80, rng=3).with_seed(4) == games.Player(80, rng=4)


# ---------------------------------------------------------------------- failures


class Interrupted(games.TicTacToe):
    """Tic-tac-toe in which someone presses Ctrl-C."""

    left = math.inf

    def play(self, move):
        Interrupted.left -= 1
        if Interrupted.left < 0:
            raise KeyboardInterrupt
        super().play(move)


@pytest.mark.parametrize("player", TREES)
@pytest.mark.parametrize("calls", [0, 3, 55, 56, 57, 200, 201, 202, 350])
def test_ctrl_c_leaves_a_player_as_good_as_before(player, calls):
    game, made = Interrupted(), player(60, rng=0)
    Interrupted.left = calls
    with pytest.raises(KeyboardInterrupt):
        made.choose(game)
    Interrupted.left = math.inf
    decision = made.think(game, playouts=200)
    assert len(decision.moves) == 9
    assert decision.playouts == 200
    assert decision.value == pytest.approx(games.Player(200, rng=1).choose(game).value, abs=0.4)


def test_copies_that_share_their_state():
    class Same(games.TicTacToe):
        def copy(self):
            return self

    class Shallow(games.TicTacToe):
        def copy(self):
            other = type(self)()
            other._cells, other._moves = self._cells, self._moves
            return other

    game = Same()
    for player in (*TREES, games.AlphaBeta, games.RandomPlayer):
        with pytest.raises(ValueError, match=r"copy\(\) must return an independent copy"):
            player().choose(game)
        assert game.history() == []
    for player in TREES:
        with pytest.raises(ValueError, match=r"copy\(\) must return an independent copy"):
            player().choose(Shallow())


def test_games_that_are_over():
    game = games.TicTacToe()
    for move in (0, 3, 1, 4, 2):
        game.play(move)
    for player in (*TREES, games.AlphaBeta, games.RandomPlayer):
        with pytest.raises(ValueError, match="the game is over"):
            player().choose(game)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"playouts": 0}, "playouts must be at least 1, got 0"),
        ({"playouts": 1.5}, "playouts must be an int"),
        ({"seconds": -1}, "seconds must be above zero, got -1"),
        ({"rng": -1}, "rng must not be negative"),
        ({"rng": "a"}, "rng must be None"),
        ({"exploration": -1}, "exploration must not be negative"),
        ({"shares": (0.1, 0.2)}, "shares must be three numbers"),
        ({"shares": 0.1}, "shares must be a sequence"),
        ({"shares": (0.0, 0.2, 0.1)}, r"shares\[0\] must be above zero"),
        ({"shares": (0.1, 0.2, -1)}, r"shares\[2\] must not be negative"),
        ({"prior": [1]}, "prior must map"),
        ({"prior": {"a": (0, 1)}}, "keys of prior must be"),
        ({"prior": {(2, "a"): (0, 1)}}, "keys of prior must be"),
        ({"prior": {(0, "a"): 1.0}}, "must be \\(mean, variance\\), got 1.0"),
        ({"prior": {(0, "a"): (0, -1)}}, "variance of prior.* must not be negative"),
        ({"prior": {(0, "a"): (math.nan, 1)}}, "mean of prior.* must be finite"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        games.Player(**arguments)


def test_wrong_arguments_of_others():
    for player, arguments in (
        (games.RAVE, {"equivalence": 0}), (games.RAVE, {"bias": -1}),
        (games.UCT, {"exploration": -1}), (games.GRAVE, {"reference": -1}),
        (games.OpenSpielMCTS, {"playouts": 0}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(arguments))):
            player(**arguments)
    player = games.Player(20, rng=0)
    for arguments in ({"playouts": 0}, {"seconds": 0}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            player.think(games.TicTacToe(), **arguments)
    with pytest.raises(TypeError, match="is not a position: it has no player, moves"):
        player.choose(3)
    with pytest.raises(TypeError, match=r"such as TicTacToe\(\), got its class"):
        player.choose(games.TicTacToe)


def test_a_proven_win_is_the_best_move_for_certain():
    position = games.TicTacToe()
    for move in (4, 1):
        position.play(move)
    decision = games.Player(200, rng=0).choose(position)
    assert decision.is_proven
    won = [each for each in decision.moves if each.is_proven and each.value == 1.0]
    assert sum(each.probability for each in won) == pytest.approx(1.0)
