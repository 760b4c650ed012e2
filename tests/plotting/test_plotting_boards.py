"""The values of moves on the board."""

import numpy as np
import pytest

from bough import games, plotting

mpl = pytest.importorskip("matplotlib")
mpl.use("agg")


@pytest.fixture(autouse=True)
def _closed():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def decided(position, player=None):
    player = games.Player(60, rng=0) if player is None else player
    return player.choose(position), position


def after(name, *moves):
    pytest.importorskip("pyspiel")
    position = games.open_spiel(name)
    for move in moves:
        position.play(move)
    return position


def test_the_data():
    position = games.TicTacToe()
    position.play(4)
    decision, _ = decided(position)
    data = plotting.board_data(decision, position)
    assert len(data.cells) == 8
    known = {each.name: each for each in decision.moves}
    for (row, column), name, value, std in zip(
        data.cells.tolist(), data.names, data.value, data.std, strict=True
    ):
        assert name == str(3 * row + column)
        assert (value, std) == (known[name].value, known[name].std)
    assert data.names[data.best] == decision.name
    assert data.origin is None
    assert data.title.startswith(decision.name)


def test_several_moves_to_a_cell():
    """In Breakthrough up to three pieces can move to a cell: the best of them counts."""
    position = after("breakthrough(rows=6,columns=6)")
    decision, _ = decided(position)
    data = plotting.board_data(decision, position)
    assert len(data.cells) == 6 < len(decision.moves)
    assert data.origin is not None
    for (row, column), value in zip(data.cells.tolist(), data.value, strict=True):
        others = [
            each.value for each in decision.moves if data.grid.targets[each.move] == (row, column)
        ]
        assert value == max(others)


def test_players_without_deviations_and_with_a_single_move():
    decision, position = decided(games.TicTacToe(), games.UCT(30, rng=0))
    data = plotting.board_data(decision, position)
    assert np.isnan(data.std).all()
    assert "±" not in data.title
    only = plotting.board_data(*decided(games.TicTacToe(), games.RandomPlayer(rng=0)))
    assert only.value.shape == (0,)
    for player in (games.UCT(30, rng=0), games.RandomPlayer(rng=0), games.AlphaBeta()):
        plotting.board(*decided(games.TicTacToe(), player)).figure.canvas.draw()


def test_a_best_move_that_leads_to_no_cell():
    position = after("go(board_size=3)")
    decision, _ = decided(position)
    passing = next(each for each in decision.moves if each.name == "B PASS")
    decision = games.Decision(
        passing.move, passing.name, 0.0, 0.1, decision.moves, decision.playouts, 0.0, False
    )
    data = plotting.board_data(decision, position)
    assert data.best == -1
    assert data.title.startswith("B PASS")
    plotting.board(decision, position).figure.canvas.draw()


def test_a_position_without_a_board():
    class Words(games.TicTacToe):
        def __str__(self):
            return "nothing to see"

    with pytest.raises(ValueError, match="position must have a board of rows and columns"):
        plotting.board(*decided(Words()))


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("connect_four", (3, 3, 2)),
        ("hex(board_size=5)", (12, 7)),
        ("tic_tac_toe", (4,)),
        ("othello", ()),
        ("breakthrough(rows=6,columns=6)", ()),
        ("chess", ()),
        ("go(board_size=19)", (0,)),
    ],
)
def test_drawings(name, moves):
    with mpl.style.context("dark_background" if name == "connect_four" else "default"):
        decision, position = decided(after(name, *moves), games.Player(10, rng=0))
        ax = plotting.board(decision, position)
        ax.figure.canvas.draw()
        assert ax.get_title().startswith(decision.name)
        data = plotting.board_data(decision, position)
        corner = tuple(data.cells[data.best])
        height, width = ax.get_ylim()[0], ax.get_xlim()[1]
        assert corner[0] * 0.86 < height
        assert corner[1] < width
        texts = [text.get_text() for text in ax.texts]
        shown = f"{data.value[data.best]:+.2f}"
        assert shown in texts


def test_an_axes_of_ones_own():
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(1, 1))
    assert plotting.board(*decided(games.TicTacToe()), ax=axes) is axes
    texts = [text.get_text() for text in axes.texts]
    assert not any("±" in text for text in texts)  # too small to be read
