"""`bough play`: games in the terminal, and matches."""

import json
import os
import pty
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from bough import games
from bough.cli import dialogue, main
from bough.games import matches

#: A game whose moves have long names, one that a player may move twice, and wrong ones.
PROGRAM = """
from bough.games import TicTacToe


class Words(TicTacToe):
    def name(self, move):
        return f"cell {'abc'[move // 3]}{move % 3}"


class Pile:
    \"\"\"Take the last of five stones; who takes the first one moves again.\"\"\"

    def __init__(self, left=5, player=0):
        self.left, self.player = left, player

    def moves(self):
        return [1, 2][: self.left]

    def play(self, move):
        self.left -= move
        if self.left != 4 and self.left > 0:
            self.player = 1 - self.player

    def result(self):
        return (1.0 - 2.0 * self.player) if self.left <= 0 else None

    def copy(self):
        return Pile(self.left, self.player)

    def __str__(self):
        return f"{self.left} stones"


class Silent(Pile):
    __str__ = object.__str__

    def copy(self):
        return Silent(self.left, self.player)


def over():
    position = Pile()
    position.left = 0
    return position


def broken():
    raise RuntimeError("no board")
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return str(file)


def play(*words, text=""):
    return CliRunner().invoke(main, ["play", *map(str, words)], input=text)


def in_game(program, *words, text, name="TicTacToe"):
    return play(f"{program}:{name}", "--playouts", 50, "--seed", 0, *words, text=text)


def in_match(program, *words, name="TicTacToe"):
    limits = ("--against", "random", "--playouts", 10, "--workers", 1)
    return play(f"{program}:{name}", *limits, *words)


# ---------------------------------------------------------------------- a person


def test_a_whole_game(program):
    answer = in_game(program, text="".join(f"{cell}\n" for cell in range(9)) * 2)
    assert answer.exit_code == 0, answer.output
    assert "You are x and move first; o is Player(playouts=50)." in answer.output
    assert " 0 1 2\n" in answer.output  # empty cells have the names of the moves
    assert "+- " in answer.output
    assert "●" in answer.output
    assert "The player moves " in answer.output
    assert "You have lost, after" in answer.output


def test_a_position_without_a_text_is_shown_by_its_moves(program):
    answer = in_game(program, text="1\n2\n2\n", name="Silent")
    assert answer.exit_code == 0, answer.output
    assert "\n  moves so far: none\n" in answer.output
    assert "\n  moves so far: 1\n" in answer.output
    assert "object at" not in answer.output


def test_json_is_alone_on_standard_output(program):
    words = ("--second", "--no-hints", "--json")
    answer = in_game(program, *words, text="".join(f"{cell}\n" for cell in range(9)) * 2)
    facts = json.loads(answer.stdout)
    assert facts["game"] == f"{program}:TicTacToe"
    assert facts["player"] == "Player(playouts=50)"
    assert facts["ended_by"] == "result"
    assert facts["result"] == -1.0
    assert 5 <= len(facts["moves"]) <= 9
    assert "You have lost" in answer.stderr
    assert "playouts\n" not in answer.stderr  # no evaluation


def test_moves_hints_undo_and_help(program):
    text = "help\nmoves\nundo\n4\nundo\nhint\nquit\n"
    answer = in_game(program, text=text)
    assert answer.exit_code == 0
    assert "take back your last move" in answer.output
    assert "#1 0  #2 1" in answer.output
    assert "You have no move to take back." in answer.output
    assert "The game ends undecided after 0 moves (quit)." in answer.output
    tables = answer.output.split("  move  value")[1:]
    assert len(tables) == 4  # at the beginning, after the move, its undoing, and the hint
    assert ["and 1 more" in table for table in tables] == [True, False, True, False]


def test_undo_when_the_player_has_the_first_move(program):
    answer = in_game(program, "--second", "--json", text="undo\nmoves\n#1\nundo\nquit\n")
    assert "no move to take back" in answer.stderr
    assert len(json.loads(answer.stdout)["moves"]) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9", "'9' is not a legal move"),
        ("a", "'a' is not a legal move"),
        ("cell", "'cell' may be cell a0, cell a1"),
        ("cell", "or 1 more."),
        ("cell a", "'cell a' may be cell a0, cell a1, cell a2."),
        ("#10", "'#10' is not a legal move"),
        ("#0", "'#0' is not a legal move"),
        ("\x1b[2J", r"\x1b[2J"),
    ],
)
def test_texts_that_are_not_a_move(program, text, expected):
    answer = in_game(program, "--no-hints", "--json", text=f"{text}\n", name="Words")
    assert answer.exit_code == 0
    assert expected in answer.stderr
    assert "\x1b[2J" not in answer.output
    assert json.loads(answer.stdout)["moves"] == []


@pytest.mark.parametrize("text", ["cell b1", "CELL B1", "b1", "cell  b 1", "#5"])
def test_texts_that_are_a_move(program, text):
    answer = in_game(program, "--json", text=f"{text}\n", name="Words")
    assert json.loads(answer.stdout)["moves"][0] == "cell b1"


def test_the_end_of_the_input_ends_the_game(program):
    answer = in_game(program, "--json", text="4\n")
    assert answer.exit_code == 0
    facts = json.loads(answer.stdout)
    assert facts["ended_by"] == "end of input"
    assert facts["result"] is None
    assert len(facts["moves"]) == 2


def test_ctrl_c_in_a_game(program, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(dialogue.Dialogue, "_read", interrupted)
    answer = in_game(program, text="")
    assert answer.exit_code == 130
    assert answer.stderr == "interrupted\n"


@pytest.mark.parametrize("player", ["uct", "rave", "grave", "alphabeta", "random"])
def test_every_player_can_be_the_opponent(program, player):
    text = "hint\n" + "".join(f"{cell}\n" for cell in range(9)) * 2
    answer = in_game(program, "--player", player, text=text)
    assert answer.exit_code == 0, answer.output
    assert "after" in answer.output.splitlines()[-1]
    evaluates = player not in ("alphabeta", "random")
    assert ("evaluates no moves but its own" in answer.output) != evaluates


def test_a_player_that_moves_twice(program):
    answer = in_game(program, "--json", text="1\n" * 5, name="Pile")
    assert json.loads(answer.stdout)["result"] is not None
    assert "5 stones" in answer.stderr


def test_only_ascii_where_nothing_else_can_be_printed(program):
    runner = CliRunner(charset="ascii")
    answer = runner.invoke(main, ["play", f"{program}:TicTacToe", "--playouts", "50"], input="4\n")
    assert answer.exit_code == 0
    assert "----" in answer.output


def test_names_that_are_too_long_are_cut(monkeypatch):
    rows = tuple(
        games.MoveValue(i, 30 * letter, 0.1, 0.2, 10, 0.5, False) for i, letter in enumerate("ab")
    )
    decision = games.Decision(0, rows[0].name, 0.1, 0.2, rows, 20, 0.1, False)
    for columns in (40, 80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = dialogue.evaluation(decision, 8, sys.stderr).splitlines()
        plain = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in lines]
        assert len({len(line) for line in plain}) == 1
        assert len(plain[0]) < max(columns, 80)


# ---------------------------------------------------------------------- a terminal


def test_a_real_terminal(program):
    """Moves by keyboard, the last one in bold, and Ctrl-C."""
    script = "import sys; from bough.cli import main; sys.argv[0] = 'bough'; main()"
    words = ["play", f"{program}:TicTacToe", "--playouts", "20", "--seed", "0"]
    ours, theirs = pty.openpty()
    game = subprocess.Popen(
        [sys.executable, "-c", script, *words], stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, env=os.environ | {"COLUMNS": "80"},
    )  # fmt: skip
    os.close(theirs)

    def read_to(end):
        text = ""
        while end not in text:
            text += os.read(ours, 1000).decode(errors="replace")
        return text

    try:
        assert "o is Player" in read_to("your move: ")
        os.write(ours, b"4\n")
        assert "\x1b[1mo\x1b[0m" in read_to("your move: ")
        game.send_signal(signal.SIGINT)
        assert "Traceback" not in read_to("interrupted")
        assert game.wait() == 130
    finally:
        game.kill()
        game.wait()
        os.close(ours)


# ---------------------------------------------------------------------- matches


def test_a_match_and_its_json(program):
    answer = in_match(program, "--games", 6)
    assert answer.exit_code == 0, answer.output
    for word in ("against RandomPlayer()", "score", "Elo", "per move", "6 games"):
        assert word in answer.output
    facts = json.loads(in_match(program, "--games", 6, "--json").stdout)
    assert facts["games"] == facts["wins"] + facts["draws"] + facts["losses"] == 6
    assert facts["interval"][0] <= facts["score"] <= facts["interval"][1]
    assert facts["left"] == 0
    assert len(facts["seconds_per_move"]) == 2
    assert len(facts["elo"]) == 3


def test_a_match_of_one_game_without_draws_has_no_elo(program):
    text = in_match(program, "--games", 1, "--json", name="Pile").stdout
    facts = json.loads(text, parse_constant=pytest.fail)
    assert facts["score"] in (0.0, 1.0)
    assert facts["elo"][0] is None


def test_a_match_resumes_and_has_a_page(program, tmp_path, monkeypatch):
    file, page = tmp_path / "games.jsonl", tmp_path / "match.html"
    words = ("--games", 4, "--study", file, "--json")
    first = json.loads(in_match(program, *words).stdout)
    assert len(file.read_text().splitlines()) == 4

    def nothing(job):
        raise AssertionError("this game is in the file")

    monkeypatch.setattr(matches, "play_game", nothing)
    again = in_match(program, *words, "--report", page)
    assert json.loads(again.stdout) == first
    assert page.read_text().count('<details class="game') == 4


def test_ctrl_c_in_a_match(program, tmp_path, monkeypatch):
    real, file, page = matches.play_game, tmp_path / "games.jsonl", tmp_path / "match.html"

    def interrupted(job):
        if job.number == 2:
            raise KeyboardInterrupt
        return real(job)

    words = ("--games", 4, "--study", file, "--report", page)
    monkeypatch.setattr(matches, "play_game", interrupted)
    answer = in_match(program, *words)
    assert answer.exit_code == 130
    assert "2 games" in answer.stdout
    assert f"after 2 of 4 games; run the same command again to resume {file}" in answer.stderr
    assert "The match was interrupted." in page.read_text()
    monkeypatch.setattr(matches, "play_game", real)
    assert json.loads(in_match(program, *words, "--json").stdout)["games"] == 4


def test_ctrl_c_before_the_first_game_ends(program, tmp_path, monkeypatch):
    def interrupted(job):
        raise KeyboardInterrupt

    monkeypatch.setattr(matches, "play_game", interrupted)
    page = tmp_path / "match.html"
    answer = in_match(program, "--report", page)
    assert answer.exit_code == 130
    assert "no game has ended" in answer.stdout
    assert "interrupted after 0 of 200 games\n" in answer.stderr
    assert not page.exists()
    facts = json.loads(in_match(program, "--json").stdout)
    assert (facts["games"], facts["left"]) == (0, 200)


def test_a_match_on_two_processes(program):
    words = ("--against", "uct", "--games", 4, "--playouts", 5, "--opponent-playouts", 9, "--json")
    one = json.loads(play(f"{program}:TicTacToe", *words, "--workers", 1).stdout)
    two = json.loads(play(f"{program}:TicTacToe", *words, "--workers", 2).stdout)
    assert one["opponent"] == "UCT(playouts=9)"
    del one["seconds_per_move"], two["seconds_per_move"]
    assert one == two


def test_limits_by_time(program):
    facts = json.loads(
        in_match(
            program, "--games", 2, "--against", "alphabeta", "--seconds", 0.01, "--json"
        ).stdout
    )
    assert facts["player"] == "Player(playouts=10, seconds=0.01)"
    assert facts["opponent"] == "AlphaBeta(seconds=0.01, nodes=10)"


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["{}:Nothing"], 2, "has no function Nothing"),
        (["{}:"], 2, "is not the name of a game, nor FILE.py:NAME"),
        (["{}"], 2, "is not the name of a game, nor FILE.py:NAME"),
        (["nowhere.py:f"], 2, "there is no file nowhere.py"),
        (["{}:broken"], 2, "no board"),
        (["{}:over"], 2, "the game is over"),
        (["json:dumps"], 2, "missing 1 required positional argument"),
        (["collections:OrderedDict"], 2, "is not a position: it has no player"),
        (["{}:Pile", "--player", "openspiel"], 2, "plays games of OpenSpiel only"),
        (["{}:Pile", "--player", "nobody"], 2, "is not one of 'alphabeta', 'bough'"),
        (["{}:Pile", "--playouts", "-1"], 2, "Invalid value for '--playouts'"),
        (["{}:Pile", "--seconds", "0"], 2, "Invalid value for '--seconds'"),
        (["{}:Pile", "--games", "5"], 2, "--games needs --against"),
        (["{}:Pile", "--report", "page.html"], 2, "--report needs --against"),
        (["{}:Pile", "--against", "uct", "--games", "0"], 2, "Invalid value for '--games'"),
        (["{}:Pile", "--against", "uct", "--opening", "-1"], 2, "Invalid value for '--opening'"),
        (["{}:Pile", "--against", "uct", "--second"], 2, "--first/--second is for a game against"),
        (["{}:Pile", "--against", "uct", "--no-hints"], 2, "--hints is for a game against you"),
        (["{}:Pile", "--against", "uct", "--report", "no/page.html"], 1, "there is no folder no"),
        (["{}:Pile", "--against", "uct", "--study", "{}"], 1, "is not a finished game"),
        (["{}:Pile", "--against", "uct", "--study", "a", "--report", "a"], 2, "the same file"),
    ],
)
def test_wrong_arguments(program, words, code, message):
    answer = play(*[word.format(program) for word in words])
    assert answer.exit_code == code, answer.output
    assert message in answer.stderr
    assert "Traceback" not in answer.output


def test_without_open_spiel(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    answer = play("connect_four")
    assert answer.exit_code == 1
    assert "pip install 'bough[games]'" in answer.stderr
    answer = play("tic_tac_toe", "--json", text="4\n")
    assert json.loads(answer.stdout)["moves"][0] == "4"


# ---------------------------------------------------------------------- OpenSpiel


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("conect_four", "has no game 'conect_four'; did you mean connect_four"),
        ("kuhn_poker", "has chance nodes"),
        ("phantom_ttt", "hides information"),
        ("matching_pennies_3p", "has 3 players"),
        ("hex(board_size=x)", "cannot be loaded"),
        ("hex(size=3)", "Unknown parameter 'size'"),
    ],
)
def test_games_that_cannot_be_played(game, message):
    pytest.importorskip("pyspiel")
    for words in ([game], [game, "--against", "uct"]):
        answer = play(*words)
        assert answer.exit_code == 2
        assert message in answer.stderr
        assert len(answer.stderr.strip().splitlines()[-1]) > len("Error: ")


@pytest.mark.parametrize(
    ("game", "text", "shown"),
    [
        ("connect_four", "3", " 0 1 2 3 4 5 6\n"),
        ("hex(board_size=3)", "b2", "    a b c\n"),
        ("tic_tac_toe", "1,1", "    0 1 2\n"),
        ("othello", "d3", "    a b c d e f g h\n"),
        ("breakthrough(rows=6,columns=6)", "a5b4", "  6 b b b b b b\n"),
        ("go(board_size=5)", "c3", "    a b c d e\n"),
        ("chess", "Nf3", "  8 r n b q k b n r\n"),
    ],
)
def test_games_of_open_spiel(game, text, shown):
    pytest.importorskip("pyspiel")
    words = (game, "--playouts", 5, "--seed", 0, "--no-hints", "--json")
    answer = play(*words, text=f"{text}\n")
    assert answer.exit_code == 0, answer.output
    assert shown in answer.stderr
    assert len(json.loads(answer.stdout)["moves"]) == 2


def test_an_ambiguous_column_is_not_guessed():
    """A number is a column, not the number of a move, also where the column is full."""
    pytest.importorskip("pyspiel")
    text = "\n".join(["x0"] * 4 + ["0", "#1"])
    answer = play("connect_four(rows=2)", "--playouts", 5, "--seed", 0, "--json", text=text)
    assert "'0' is not a legal move" in answer.stderr


def test_the_limits_of_open_spiel(program):
    pytest.importorskip("pyspiel")
    words = ("tic_tac_toe", "--against", "openspiel", "--games", 2, "--workers", 1, "--json")
    refused = play(*words, "--seconds", 1)
    assert refused.exit_code == 2
    assert "is limited by playouts" in refused.stderr
    facts = json.loads(play(*words, "--playouts", 5, "--opponent-playouts", 3).stdout)
    assert facts["opponent"] == "OpenSpielMCTS(playouts=3)"
