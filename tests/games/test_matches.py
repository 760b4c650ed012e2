"""Matches: pairs of games, files, workers, intervals."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from bough import games
from bough.exceptions import StudyError
from bough.games.matches import wilson


def played(result):
    """Return what does not depend on the clock."""
    return [dataclasses.replace(game, seconds=[]) for game in result.games]


def play(player=None, opponent=None, game=None, number=8, **settings):
    return games.match(
        player or games.Player(20), opponent or games.RandomPlayer(), game or games.TicTacToe(),
        number, progress=False, **{"workers": 1, **settings},
    )  # fmt: skip


@dataclasses.dataclass
class Recorder(games.RandomPlayer):
    """A random player that notes the positions it was asked for, and may be interrupted."""

    seen = []  # noqa: RUF012
    left = math.inf

    def choose(self, game):
        Recorder.left -= 1
        if Recorder.left < 0:
            raise KeyboardInterrupt
        Recorder.seen.append((self.rng, len(game.history()), game.player))
        return super().choose(game)


@pytest.fixture(autouse=True)
def forget():
    Recorder.seen, Recorder.left = [], math.inf


def test_each_opening_is_played_with_both_colors():
    for opening in (0, 1, 2, 3):
        result = play(number=12, opening=opening)
        assert [game.is_first for game in result.games] == [True, False] * 6
        openings = [tuple(game.moves[: game.opening]) for game in result.games]
        assert openings[::2] == openings[1::2]
        assert all(len(each) == opening for each in openings)
        assert len(set(openings)) > 1 or opening == 0
        for game in result.games:
            chosen = len(game.moves) - game.opening
            assert sum(game.decisions) == chosen == len(game.values)
            own = sum((i % 2 == 0) == game.is_first for i in range(opening, len(game.moves)))
            assert game.decisions[0] == own


def test_moves_and_results_are_those_of_the_game():
    for game in play(number=12).games:
        position = games.TicTacToe()
        for move in game.moves:
            assert position.result() is None
            position.play(int(move))
        assert position.result() == (game.result if game.is_first else -game.result)


def test_players_get_another_seed_in_every_game():
    play(Recorder(), number=6)
    first = [seed for seed, moves, _ in Recorder.seen if moves < 4]
    assert len(set(first)) == 6
    assert {player for _, _, player in Recorder.seen} == {0, 1}


def test_matches_are_reproducible():
    assert played(play(seed=3)) == played(play(seed=3))
    assert played(play(seed=3)) != played(play(seed=4))
    assert played(play(seed=3, number=4)) == played(play(seed=3))[:4]


def test_workers_do_not_matter():
    assert played(play(workers=2, number=4)) == played(play(number=4))


def test_openspiel_in_several_processes():
    pytest.importorskip("pyspiel")
    result = play(game="hex(board_size=3)", number=3, workers=2)
    assert result.game.startswith("hex(board_size=3")
    assert played(result) == played(play(game="hex(board_size=3)", number=3))


def test_a_match_resumes_from_its_file(tmp_path):
    file = tmp_path / "match.jsonl"
    player, opponent = Recorder(), games.RandomPlayer()
    few = play(player, opponent, number=4, file=file)
    asked = len(Recorder.seen)
    again = play(player, opponent, number=4, file=file)
    assert len(Recorder.seen) == asked
    assert again.games == few.games
    more = play(player, opponent, number=10, file=file)
    assert more.games[:4] == few.games
    assert played(more) == played(play(player, opponent, number=10))
    other = play(player, opponent, number=4, file=file, seed=1)  # another match in the same file
    assert played(other) == played(play(player, opponent, number=4, seed=1))


def test_ctrl_c_keeps_finished_games(tmp_path):
    file = tmp_path / "match.jsonl"
    player, opponent = Recorder(), games.RandomPlayer()
    whole = play(player, opponent, number=10)
    Recorder.left = sum(game.decisions[0] for game in whole.games[:4]) + 1
    result = play(player, opponent, number=10, file=file)
    assert result.interrupted
    assert played(result) == played(whole)[:4]
    Recorder.left = math.inf
    resumed = play(player, opponent, number=10, file=file)
    assert not resumed.interrupted
    assert played(resumed) == played(whole)
    Recorder.left = 0
    nothing = play(player, opponent, number=2)
    assert nothing.games == ()
    assert "no game has ended" in str(nothing)
    assert nothing.interval == (0.0, 1.0)
    assert math.isnan(nothing.score)
    assert math.isnan(nothing.elo[0])


def test_an_exception_of_a_player_keeps_finished_games(tmp_path):
    @dataclasses.dataclass
    class Failing(games.RandomPlayer):
        def choose(self, game):
            if len(seen := list(game.history())) == 4 and 0 in seen:
                raise RuntimeError("out of order")
            return super().choose(game)

    file = tmp_path / "match.jsonl"
    with pytest.raises(RuntimeError, match="out of order"):
        play(Failing(), number=40, file=file)
    lines = file.read_bytes().count(b"\n")
    with pytest.raises(RuntimeError, match="out of order"):
        play(Failing(), number=40, file=file)
    assert file.read_bytes().count(b"\n") == lines


def test_damaged_files(tmp_path):
    file = tmp_path / "match.jsonl"
    expected = played(play(file=file, number=6))
    content = file.read_bytes()
    file.write_bytes(content[:-20])  # killed while it wrote
    assert played(play(file=file, number=6)) == expected
    lines = content.splitlines(keepends=True)
    for wrong in (b"{}\n", b"nonsense\n", lines[0][:40] + b"\n"):
        file.write_bytes(lines[0] + wrong + lines[1])
        with pytest.raises(StudyError, match=r"line 2 of .*match.jsonl is not a finished game"):
            play(file=file, number=6)
        assert file.read_bytes() == lines[0] + wrong + lines[1]
    file.write_bytes(b"a letter to a friend")
    with pytest.raises(StudyError, match="is not a file of finished games"):
        play(file=file)
    assert file.read_bytes() == b"a letter to a friend"
    with pytest.raises(StudyError, match="there is no folder"):
        play(file=tmp_path / "nowhere" / "match.jsonl")


def test_a_match_begins_from_its_position():
    start = games.TicTacToe()
    for move in (4, 0, 8):
        start.play(move)
    result = play(game=start, opening=1, number=4)
    assert result.game == "TicTacToe after 4 0 8"
    assert start.history() == [4, 0, 8]
    for game in result.games:
        assert not {"4", "0", "8"} & set(game.moves)


def test_openings_never_end_the_game():
    result = play(game="nim(pile_sizes=2;1)" if _has_openspiel() else None, opening=50, number=4)
    for game in result.games:
        assert len(game.moves) > game.opening


def _has_openspiel():
    try:
        import pyspiel  # noqa: F401
    except ImportError:
        return False
    return True


# ---------------------------------------------------------------------- statistics


def slow_interval(score, n):
    """Return the scores p from which a score is 1.96 standard deviations of sqrt(p(1-p)/n) away."""
    z = norm.ppf(0.975)

    def away(p):
        return (score - p) ** 2 * n - z * z * p * (1 - p)

    low = brentq(away, 0.0, score, xtol=1e-14) if score > 0 else 0.0
    high = brentq(away, score, 1.0, xtol=1e-14) if score < 1 else 1.0
    return low, high


@given(st.integers(1, 500), st.floats(0.0, 1.0))
def test_the_interval_is_that_of_wilson(n, share):
    score = round(share * 2 * n) / (2 * n)
    low, high = wilson(score, n)
    if score in (0.0, 1.0):  # where the equation has a root at the score itself
        z2 = norm.ppf(0.975) ** 2
        assert (low, high) == pytest.approx(
            (0.0, z2 / (n + z2)) if score == 0.0 else (n / (n + z2), 1.0)
        )
    else:
        assert (low, high) == pytest.approx(slow_interval(score, n), abs=1e-9)


def match_of(results):
    [game] = play(number=1).games
    found = [
        dataclasses.replace(game, result=result, seconds=[1.0, 3.0], decisions=[2, 4])
        for result in results
    ]
    return games.MatchResult("a", "b", "c", tuple(found))


def test_statistics_of_a_match():
    result = match_of([1.0] * 6 + [0.0] * 2 + [-1.0] * 2)
    assert (result.wins, result.draws, result.losses) == (6, 2, 2)
    assert result.score == pytest.approx(0.7)
    assert result.interval == pytest.approx((0.3968, 0.8922), abs=5e-5)  # tabulated for 7 of 10
    assert result.elo[0] == pytest.approx(147.19, abs=0.01)
    for elo, score in zip(result.elo, (result.score, *result.interval), strict=True):
        assert 1 / (1 + 10 ** (-elo / 400)) == pytest.approx(score)
    assert result.seconds_per_move == (0.5, 0.75)
    assert "score     0.700 (0.397 to 0.892" in str(result)
    assert match_of([1.0]).elo[0] == math.inf
    assert match_of([-1.0]).elo[0] == -math.inf
    assert "Elo       +inf" in str(match_of([1.0]))


def test_games_as_a_table():
    pandas = pytest.importorskip("pandas")
    table = play(number=2).to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert len(table) == 2


def test_values_are_those_of_the_player():
    result = play(games.AlphaBeta(), games.RandomPlayer(), number=6)
    for game in result.games:
        own = game.values[0 if (game.opening % 2 == 0) == game.is_first else 1 :: 2]
        assert all(value is not None and value <= game.result for value in own)
        assert result.losses == 0 or any(value == -1.0 for value in own)
        others = game.values[1 if (game.opening % 2 == 0) == game.is_first else 0 :: 2]
        assert all(value is None for value in others)


def test_wrong_arguments():
    for settings, message in (
        ({"number": 0}, "games must be at least 1"),
        ({"opening": -1}, "opening must be at least 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"workers": 0}, "workers must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            play(**settings)
    with pytest.raises(TypeError, match=r"player must be a player, such as games.Player"):
        play("uct")
    with pytest.raises(TypeError, match="opponent must be a player"):
        games.match(games.Player(5), 3, games.TicTacToe())
    over = games.TicTacToe()
    for move in (0, 3, 1, 4, 2):
        over.play(move)
    with pytest.raises(ValueError, match="the game is over"):
        play(game=over)


def test_settings_name_the_player():
    assert games.Player().settings == "Player(playouts=400)"
    assert games.Player(seconds=0.5, rng=3).settings == "Player(seconds=0.5)"
    assert games.GRAVE(50, reference=9).settings == "GRAVE(playouts=50, reference=9)"
    assert games.AlphaBeta(3, evaluate=np.sum).settings == "AlphaBeta(depth=3, evaluate=sum)"
