"""Boards as rows of cells."""

import random

import pytest

from bough import games
from bough.games.grids import COLUMN, NUMBER, grid_of


def test_cells_that_moves_are_called_by():
    position = games.TicTacToe()
    position.play(4)
    grid = grid_of(position)
    assert grid.kind is NUMBER
    assert grid.targets == {i: divmod(i, 3) for i in range(9) if i != 4}
    assert grid.origins == {}
    assert not grid.is_empty((1, 1))
    assert grid.text() == " 0 1 2\n 3 x 5\n 6 7 8"
    assert grid.text(lambda mark, cell: "#" if cell == (1, 1) else mark).split()[4] == "#"


def test_a_position_without_moves_keeps_its_form():
    position = games.TicTacToe()
    for move in (0, 1, 3, 4, 6):
        position.play(move)
    assert position.result() == 1.0
    assert grid_of(position, NUMBER).text().split() == list("xo2xo5x78")


def test_texts_without_a_board():
    class Words(games.TicTacToe):
        def __str__(self):
            return self.words

        def name(self, move):
            return f"take {move}"

    position = Words()
    for position.words in ("", "one line", "a b\nc d\ne f", "1 2 3\n4 5 6", "...\n...\n..."):
        assert grid_of(position) is None


def of_open_spiel(name, count):
    pytest.importorskip("pyspiel")
    position = games.open_spiel(name)
    draw = random.Random(0)
    for _ in range(count):
        position.play(draw.choice(position.moves()))
    return position


@pytest.mark.parametrize(
    "name",
    [
        "connect_four", "connect_four(rows=4,columns=5)", "hex(board_size=5)",
        "hex(num_cols=4,num_rows=3)", "tic_tac_toe", "gomoku(size=6)", "othello",
        "go(board_size=9)", "breakthrough(rows=6,columns=6)", "clobber", "checkers",
        "lines_of_action", "chess",
    ],
)  # fmt: skip
def test_moves_change_their_cells(name):
    """The mark of the cell that a move leads to is another one afterwards."""
    for count in (0, 5):
        position = of_open_spiel(name, count)
        grid = grid_of(position)
        assert len(grid.targets) >= len(position.moves()) - 1  # passing leads nowhere
        for move, (row, column) in grid.targets.items():
            after = position.copy()
            after.play(move)
            if after.result() is not None:
                continue
            marks = grid_of(after, grid.kind).marks
            assert marks[row][column] != grid.marks[row][column]
            if move in grid.origins:
                row, column = grid.origins[move]
                assert marks[row][column] != grid.marks[row][column]


@pytest.mark.parametrize(
    "name", ["y(board_size=4)", "havannah(board_size=4)", "nim", "pentago", "ultimate_tic_tac_toe"]
)
def test_other_boards_are_left_as_they_are(name):
    assert grid_of(of_open_spiel(name, 2)) is None


def test_names_of_rows_and_columns():
    grid = grid_of(of_open_spiel("connect_four", 0))
    assert grid.kind is COLUMN
    assert grid.text().splitlines()[-1].split() == list("0123456")
    go = grid_of(of_open_spiel("go(board_size=9)", 0))
    assert "".join(go.columns) == "abcdefghj"  # without i
    assert go.rows[0] == "9"
    hexagons = grid_of(of_open_spiel("hex(board_size=3)", 0))
    assert hexagons.is_slanted
    assert hexagons.text() == "  a b c\n1 . . .\n 2 . . .\n  3 . . ."
