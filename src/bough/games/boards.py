"""Small games: positions without further packages, and examples of the protocol."""

from typing import Self

#: The lines of three cells of tic-tac-toe.
LINES = (
    (0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6),
)  # fmt: skip


class TicTacToe:
    """Tic-tac-toe: three in a row. Moves are the cells 0 to 8, row by row."""

    def __init__(self) -> None:
        self._cells = [-1] * 9
        self._moves: list[int] = []

    @property
    def player(self) -> int:
        """The player to move."""
        return len(self._moves) % 2

    def moves(self) -> list[int]:
        """Return the empty cells."""
        return [cell for cell in range(9) if self._cells[cell] < 0]

    def play(self, move: int) -> None:
        """Mark a cell."""
        if move not in range(9) or self._cells[move] >= 0:
            raise ValueError(f"move must be an empty cell, one of {self.moves()}, got {move!r}")
        self._cells[move] = self.player
        self._moves.append(move)

    def result(self) -> float | None:
        """Return 1 if the first player has won, -1 if the second has, 0 for a draw."""
        for a, b, c in LINES:
            if self._cells[a] == self._cells[b] == self._cells[c] >= 0:
                return 1.0 - 2.0 * self._cells[a]
        return 0.0 if len(self._moves) == 9 else None

    def copy(self) -> Self:
        """Return an independent copy."""
        other = type(self)()
        other._cells = list(self._cells)
        other._moves = list(self._moves)
        return other

    def history(self) -> list[int]:
        """Return the moves so far."""
        return list(self._moves)

    def key(self) -> tuple[int, ...]:
        """Return the board."""
        return tuple(self._cells)

    def __str__(self) -> str:
        marks = [".xo"[cell + 1] for cell in self._cells]
        return "\n".join(" ".join(marks[i : i + 3]) for i in (0, 3, 6))
