"""Positions of OpenSpiel, and what is refused."""

import pickle

import numpy as np
import pytest
from random_games import below

from bough import games
from bough.belief.rng import SplitMix64
from bough.games.rules import position_of

pyspiel = pytest.importorskip("pyspiel")

SAMPLE = (
    "amazons", "breakthrough", "chess", "connect_four", "hex(board_size=5)", "mancala", "othello",
    "y(board_size=5)",
)  # fmt: skip


def names():
    """Return all games of OpenSpiel that are within the rules and load without parameters."""
    kind = pyspiel.GameType
    return [
        game.short_name
        for game in pyspiel.registered_games()
        if game.default_loadable
        and game.min_num_players <= 2 <= game.max_num_players
        and game.dynamics == kind.Dynamics.SEQUENTIAL
        and game.chance_mode == kind.ChanceMode.DETERMINISTIC
        and game.information == kind.Information.PERFECT_INFORMATION
        and game.utility == kind.Utility.ZERO_SUM
        and pyspiel.load_game(game.short_name).num_players() == 2
    ]


def check_protocol(name):
    """Compare a position with the state of OpenSpiel, through three playouts of two kinds."""
    start = games.open_spiel(name)
    assert isinstance(start, games.Position)
    largest = max(start.state.get_game().max_utility(), -start.state.get_game().min_utility())
    for seed in range(3):
        fast, slow = start.copy(), start.copy()
        played = fast.playout(below(seed))
        state, rng, steps = slow.state, SplitMix64(seed), []
        while slow.result() is None:
            assert slow.player == state.current_player()
            assert slow.moves() == state.legal_actions()
            move = slow.moves()[rng.below(len(slow.moves()))]
            assert slow.name(move) == state.action_to_string(state.current_player(), move)
            steps.append((slow.player, move))
            slow.play(move)
        assert played == steps
        assert fast.history() == slow.history() == [move for _, move in steps]
        assert fast.result() == slow.result() == state.returns()[0] / largest
        assert -1.0 <= fast.result() <= 1.0
    assert start.history() == []
    assert start.game.startswith(name.split("(")[0])


@pytest.mark.parametrize("name", SAMPLE)
def test_games_of_openspiel(name):
    check_protocol(name)
    player = games.Player(2, rng=0)
    decision = player.think(name, playouts=2)
    assert decision.move in games.open_spiel(name).moves()
    assert len(decision.moves) == len(games.open_spiel(name).moves())


@pytest.mark.thorough
def test_all_games_of_openspiel():
    assert len(names()) > 25
    for name in names():
        check_protocol(name)
        decision = games.Player(20, rng=0).choose(name)
        assert decision.move in games.open_spiel(name).moves(), name


def test_a_won_game_is_worth_one():
    for name in ("connect_four", "oware", "hex(board_size=3)", "mancala"):
        rng = SplitMix64(1)
        results = set()
        for _ in range(20):
            position = games.open_spiel(name)
            position.playout(rng.below)
            results.add(abs(position.result()))
        assert max(results) == 1.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("backgammon", "has chance nodes"),
        ("kuhn_poker", "has chance nodes"),
        ("phantom_ttt", "hides information"),
        ("matrix_rps", "lets players move at the same time"),
        ("chinese_checkers(players=3)", "has 3 players"),
        ("tiny_hanabi", "has"),
        ("conect_four", "did you mean connect_four"),
        ("qqqqqq", "OpenSpiel has no game 'qqqqqq'$"),
        ("hex(board_sise=5)", "cannot be loaded"),
    ],
)
def test_games_that_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        games.open_spiel(name)
    with pytest.raises(ValueError, match=message):
        games.Player(5).choose(name)


def test_what_is_no_game():
    for wrong in (3, None, [1], object()):
        with pytest.raises(TypeError, match="game must be a name, a pyspiel.Game or"):
            games.open_spiel(wrong)
    with pytest.raises(TypeError, match="is not a position"):
        position_of(None)


def test_states_are_copied():
    state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    state.apply_action(4)
    position = games.open_spiel(state)
    position.play(0)
    assert state.history() == [4]
    assert position.history() == [4, 0]
    decision = games.Player(20, rng=0).choose(state)
    assert decision.move in state.legal_actions()
    assert state.history() == [4]
    game = games.open_spiel(state.get_game())
    assert game.history() == []
    assert repr(position) == "<position of tic_tac_toe() after 2 moves>"
    assert str(position) == str(position.state)


def test_states_that_are_terminal():
    state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    for move in (0, 3, 1, 4, 2):
        state.apply_action(move)
    position = games.open_spiel(state)
    assert position.result() == 1.0
    with pytest.raises(ValueError, match="the game is over"):
        games.Player(5).choose(state)


def test_positions_are_pickled():
    position = games.open_spiel("connect_four")
    position.play(3)
    other = pickle.loads(pickle.dumps(position))
    assert other.history() == [3]
    other.play(2)
    assert position.history() == [3]


def test_features_are_the_observation_of_the_first_player():
    position = games.open_spiel("tic_tac_toe")
    position.play(4)
    features = position.features()
    assert features.dtype == np.float64
    assert features.tolist() == list(position.state.observation_tensor(0))


def test_keys_tell_the_player_to_move():
    first, second = games.open_spiel("tic_tac_toe"), games.open_spiel("tic_tac_toe")
    for one, other in ((0, 4), (1, 1), (4, 0)):
        first.play(one)
        second.play(other)
    assert first.key() == second.key()
    assert first.key() != games.open_spiel("tic_tac_toe").key()


def test_positions_with_equal_keys_have_equal_moves():
    start = games.open_spiel("go(board_size=3)")
    moves, boards = {}, {}
    for seed in range(1500):
        position, rng = start.copy(), SplitMix64(seed)
        while position.result() is None and len(position.history()) < 20:
            legal = position.moves()
            assert moves.setdefault(position.key(), legal) == legal
            boards.setdefault(f"{position.player} {position}", set()).add(tuple(legal))
            position.play(legal[rng.below(len(legal))])
    assert max(map(len, boards.values())) > 1  # the text alone does not tell what ko forbids


def test_the_board_of_bough_has_the_rules_of_openspiel():
    for seed in range(20):
        rng, ours, theirs = SplitMix64(seed), games.TicTacToe(), games.open_spiel("tic_tac_toe")
        while ours.result() is None:
            assert theirs.result() is None
            assert (ours.player, ours.moves()) == (theirs.player, theirs.moves())
            move = ours.moves()[rng.below(len(ours.moves()))]
            ours.play(move)
            theirs.play(move)
        assert ours.result() == theirs.result()
    for wrong in (9, -1, "a", ours.history()[0]):
        with pytest.raises(ValueError, match="move must be an empty cell"):
            ours.play(wrong)


def test_games_of_openspiel_that_are_written_in_python():
    pytest.importorskip("open_spiel.python.games.tic_tac_toe")
    state = pyspiel.load_game("python_tic_tac_toe").new_initial_state()
    assert games.Player(20, rng=0).choose(state).move in state.legal_actions()


def test_the_player_of_openspiel():
    decision = games.OpenSpielMCTS(50, rng=0).choose("tic_tac_toe")
    assert decision.move in range(9)
    again = games.OpenSpielMCTS(50, rng=0).choose("tic_tac_toe")
    assert (again.move, again.playouts) == (decision.move, 50)
    with pytest.raises(TypeError, match="OpenSpiel's games only"):
        games.OpenSpielMCTS(50).choose(games.TicTacToe())


def test_alphabeta_solves_games_of_openspiel():
    assert games.AlphaBeta().choose("tic_tac_toe").value == 0.0
    position = games.open_spiel("hex(board_size=3)")
    assert games.AlphaBeta().choose(position).value == 1.0
    assert set(games.AlphaBeta().values("nim(pile_sizes=1;2)").values()) == {-1.0, 1.0}
