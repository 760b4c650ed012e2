"""Grids: boards as rows of cells, and the cells that moves lead to."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bough.games.rules import Move, Position, name_of

Cell = tuple[int, int]

#: A row of a board as text: perhaps a label, marks of one character, perhaps a label.
ROW = re.compile(r"(\s*)(\d*)\s*([^\d\s](?: ?[^\d\s])*)\s*(\d*)\s*")
#: Names of moves: a square (`a1`, `B a1`), two squares (`b6c5`, `b1-h1`), numbers of row and column
#: (`x(0,1)`), a column (`x3`), the number of a cell, and the notation of chess (`Nf3`).
SQUARE = re.compile(r"(?:[A-Z] )?([a-z])(\d+)")
SQUARES = re.compile(r"([a-z])(\d+)[-x]?([a-z])(\d+)\*?")
PAIR = re.compile(r"[a-z]?\(?(\d+),(\d+)\)?")
COLUMN = re.compile(r"[xo](\d+)")
NUMBER = re.compile(r"(\d+)")
CHESS = re.compile(r"(?:[KQRBN][a-h]?[1-8]?x?|[a-h]x)?([a-h])([1-8])(?:=[QRBN])?[+#]?")
FORMS = (SQUARE, SQUARES, PAIR, COLUMN, NUMBER, CHESS)
#: A position of chess in Forsyth-Edwards notation.
FEN = re.compile(r"((?:[rnbqkpRNBQKP1-8]{1,8}/){7}[rnbqkpRNBQKP1-8]{1,8}) [wb] .*")
#: Marks of empty cells, the first of them that a board has.
EMPTY = ".-+"


@dataclass(frozen=True)
class Grid:
    """A board as rows of cells."""

    marks: tuple[str, ...]  #: a string for each row, with a character for each cell
    kind: re.Pattern[str]  #: the form of the names of moves
    rows: tuple[str, ...]  #: names of the rows, empty where moves do not name them
    columns: tuple[str, ...]
    is_slanted: bool  #: whether each row is shifted by half a cell, as in Hex
    empty: str  #: the mark of empty cells
    targets: dict[Move, Cell]  #: where each legal move leads, of those that lead to a cell
    origins: dict[Move, Cell]  #: where it comes from, of those that move a piece

    def is_empty(self, cell: Cell) -> bool:
        """Return whether there is nothing on a cell."""
        return self.marks[cell[0]][cell[1]] == self.empty

    def text(self, style: Callable[[str, Cell], str] = lambda mark, cell: mark) -> str:
        """Return the board with names of rows and columns, by which moves are called.

        Parameters
        ----------
        style
            Function of a mark, as long as all others, and its cell.
        """
        width = len(str(len(self.marks) * len(self.columns) - 1)) if self.kind is NUMBER else 1
        width = max([width, *map(len, self.columns)])
        margin = max(map(len, self.rows))
        lines = []
        for row, marks in enumerate(self.marks):
            cells = [
                style(self._mark(mark, (row, column)).rjust(width), (row, column))
                for column, mark in enumerate(marks)
            ]
            shift = " " * (row * (width + 1) // 2 if self.is_slanted else 0)
            lines.append(f"{shift}{self.rows[row]:>{margin}} {' '.join(cells)}")
        names = f"{'':{margin}} {' '.join(name.rjust(width) for name in self.columns)}".rstrip()
        if self.kind is COLUMN:
            lines.append(names)
        elif names:
            lines.insert(0, names)
        return "\n".join(lines)

    def _mark(self, mark: str, cell: Cell) -> str:
        """Return the mark of a cell; the number of an empty one, if moves are numbers of cells."""
        if not self.is_empty(cell):
            return mark
        return str(cell[0] * len(self.columns) + cell[1]) if self.kind is NUMBER else "."


def grid_of(position: Position, kind: re.Pattern[str] | None = None) -> Grid | None:
    """Return the grid of a position, or None if it cannot be told from its text and its moves.

    Parameters
    ----------
    position
        The position, whose text is its board.
    kind
        The form of the names of moves, which a position without moves does not show.

    Examples
    --------
    >>> from bough.games import TicTacToe
    >>> position = TicTacToe()
    >>> position.play(4)
    >>> print(grid_of(position).text())
     0 1 2
     3 x 5
     6 7 8
    """
    board = _board(str(position))
    if board is None:
        return None
    names = {move: name_of(position, move) for move in position.moves()}
    grids = [_grid(board, form, names) for form in (FORMS if kind is None else (kind,))]
    best = max(grids, key=lambda grid: len(grid.targets))
    # Others lead to no cell, such as passing.
    return best if kind is not None or 2 * len(best.targets) > len(names) else None


@dataclass(frozen=True)
class _Board:
    """Equally long rows, and the names of rows and columns if the text has them."""

    marks: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    is_slanted: bool = False

    @property
    def empty(self) -> str:
        return next((mark for mark in EMPTY if mark in "".join(self.marks)), EMPTY[0])


def _board(text: str) -> _Board | None:
    """Return the longest series of equally long rows of a text."""
    fen = FEN.fullmatch(text)
    if fen is not None:
        marks = re.sub(r"\d", lambda digit: int(digit[0]) * ".", fen[1])
        return _Board(tuple(marks.split("/")), tuple("87654321"), tuple("abcdefgh"))
    series: list[list[tuple[str, str, int]]] = [[]]
    columns = ""
    for line in text.splitlines():
        match = ROW.fullmatch(line)
        marks = "" if match is None else match[3].replace(" ", "")
        if match is None or (marks[:2].lower() == "ab" and list(marks) == sorted(marks)):
            columns = marks.lower() or columns
            series.append([])
            continue
        if not series[-1] or len(series[-1][0][0]) != len(marks):
            series.append([])
        series[-1].append((marks, match[2], len(match[1])))
    found = max(series, key=len)
    rows = [row for _, row, _ in found]
    counted = [str(i + 1) for i in range(len(found))]
    if len(found) < 2 or (any(rows) and rows not in (counted, counted[::-1])):
        return None
    indents = [indent for _, _, indent in found]
    is_slanted = not any(rows) and indents == [indents[0] + i for i in range(len(found))]
    return _Board(tuple(marks for marks, _, _ in found), tuple(rows), tuple(columns), is_slanted)


def _grid(board: _Board, form: re.Pattern[str], names: dict[Move, str]) -> Grid:
    """Return the grid of a board whose moves have names of a form."""
    height, width = len(board.marks), len(board.marks[0])
    rows, columns = [""] * height, [""] * width
    if form in (SQUARE, SQUARES, CHESS):
        rows = list(board.rows) if any(board.rows) else [str(i + 1) for i in range(height)]
        columns = [chr(ord("a") + i) for i in range(width)]
        if len(board.columns) == width:
            columns = list(board.columns)
    elif form in (PAIR, COLUMN):
        columns = [str(i) for i in range(width)]
        rows = [str(i) for i in range(height)] if form is PAIR else rows

    def cells_of(match: re.Match[str]) -> list[Cell]:
        parts: Any = match.groups()
        if form in (SQUARE, SQUARES, CHESS):
            return [
                (rows.index(row), columns.index(column))
                for column, row in zip(parts[::2], parts[1::2], strict=True)
                if row in rows and column in columns
            ]
        numbers = [int(part) for part in parts]
        if form is COLUMN:
            place = slice(numbers[0], numbers[0] + 1)
            free = [i for i, marks in enumerate(board.marks) if marks[place] == board.empty]
            return [(i, numbers[0]) for i in free[-1:]]
        row, column = numbers if form is PAIR else divmod(numbers[0], width)
        return [(row, column)] if row < height and column < width else []

    matches = {move: match for move, name in names.items() if (match := form.fullmatch(name))}
    ends = {move: cells for move, match in matches.items() if (cells := cells_of(match))}
    targets = {move: cells[-1] for move, cells in ends.items()}
    origins = {move: cells[0] for move, cells in ends.items() if len(cells) > 1}
    return Grid(
        board.marks, form, tuple(rows), tuple(columns), board.is_slanted, board.empty, targets,
        origins,
    )  # fmt: skip
