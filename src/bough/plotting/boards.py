"""The evaluation of moves on the board."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bough.plotting.style import COLORS, GRAY, ORANGE, axes, literal
from bough.plotting.view import Array

if TYPE_CHECKING:
    from bough.games import Decision, Position
    from bough.games.grids import Grid

#: Marks of the stones that are dark; those of the other player are light.
DARK, LIGHT = "xXb@", "oOw"
#: Faces and edges of stones, which differ from a light and from a dark ground.
STONES = {"dark": ("#1c2430", "#8a94a3"), "light": ("#ffffff", "#5a6675")}
#: The width of a cell in points in which a value can be read.
READABLE = 26.0


class BoardValues(NamedTuple):
    """The evaluation of moves, by cells of the board.

    If several moves lead to a cell, it has the value of the best of them.
    """

    grid: "Grid"  #: the board: marks, names of rows and columns
    cells: Array  #: row and column of each cell that a move leads to
    names: list[str]  #: of the moves
    value: Array  #: expected result for the player to move
    std: Array  #: its standard deviation; nan without one
    best: int  #: the index of the best move, -1 if it leads to no cell
    origin: tuple[int, int] | None  #: the cell from which the best move moves a piece
    title: str  #: the best move with its value


def board_data(decision: "Decision", position: "Position") -> BoardValues:
    """Return the evaluation of moves by cells of the board.

    Parameters
    ----------
    decision
        The decision of a player in the position.
    position
        The position: one of OpenSpiel, or any whose text is a board of marks and whose moves are
        called by squares, numbers of rows and columns, columns, or numbers of cells.

    Examples
    --------
    >>> from bough import games
    >>> position = games.TicTacToe()
    >>> data = board_data(games.Player(50, rng=0).choose(position), position)
    >>> data.cells.shape, data.names[data.best] == data.title.split()[0]
    ((9, 2), True)
    """
    from bough.games.grids import grid_of

    grid = grid_of(position)
    if grid is None:
        raise ValueError(
            f"position must have a board of rows and columns as its text, got {position!r}"
        )
    at: dict[tuple[int, int], Any] = {}
    for each in decision.moves:  # the best first
        if each.move in grid.targets and each.visits + np.isfinite(each.std):
            at.setdefault(grid.targets[each.move], each)
    known = list(at.values())
    best = next((i for i, each in enumerate(known) if each.move == decision.move), -1)
    spread = f" ± {decision.std:.2f}" if decision.std > 0.0 else ""
    proven = ", proven" if decision.is_proven else ""
    return BoardValues(
        grid,
        np.array(list(at), dtype=int).reshape(-1, 2),
        [each.name for each in known],
        np.array([each.value for each in known]),
        np.array([each.std for each in known]),
        best,
        grid.origins.get(decision.move),
        f"{decision.name}  {decision.value:+.2f}{spread}{proven}",
    )


def board(decision: "Decision", position: "Position", *, ax: Any = None) -> Any:
    """Draw the values of moves with their standard deviations on the board; return the Axes.

    Color and the upper number of a cell: the expected result for the player to move, from -1 to 1;
    the lower number: its standard deviation. The best move is outlined.
    """
    data = board_data(decision, position)
    grid = data.grid
    rows, columns = len(grid.marks), len(grid.marks[0])
    wide = columns + (rows - 1) / 2.0 * grid.is_slanted
    unit = min(max(0.62, 2.4 / rows), 9.0 / wide)  # inches
    ax = axes(ax, (unit * wide + 1.9, unit * rows * _height(grid) + 0.9))
    figure = ax.get_figure()
    ax.set_aspect("equal")
    ax.set_xlim(-0.62, wide - 0.38)
    ax.set_ylim((rows - 1) * _height(grid) + 0.65, -0.65)
    size = ax.get_window_extent().width / figure.dpi * 72.0 / (wide + 0.24)
    _draw_cells(ax, data, size)
    _draw_stones(ax, grid, size)
    _draw_best(ax, data)
    _name_cells(ax, grid)
    ax.set_title(literal(data.title), fontsize="medium", pad=8.0)
    return ax


def _height(grid: "Grid") -> float:
    """Return the distance of two rows."""
    return 0.75**0.5 if grid.is_slanted else 1.0


def _place(grid: "Grid", row: float, column: float) -> tuple[float, float]:
    """Return the middle of a cell."""
    return column + 0.5 * row * grid.is_slanted, row * _height(grid)


def _shape(grid: "Grid", row: int, column: int, **style: Any) -> Any:
    """Return the outline of a cell: a hexagon on a slanted board, else a square."""
    from matplotlib.patches import RegularPolygon

    corners, radius, turn = (6, 3.0**-0.5, 0.0) if grid.is_slanted else (4, 0.5**0.5, np.pi / 4)
    return RegularPolygon(_place(grid, row, column), corners, radius=radius, orientation=turn,
                          **style)  # fmt: skip


def _draw_cells(ax: Any, data: BoardValues, size: float) -> None:
    """Draw all cells, those of moves with colors and numbers."""
    import matplotlib as mpl

    grid = data.grid
    for row, marks in enumerate(grid.marks):
        for column in range(len(marks)):
            ax.add_patch(_shape(grid, row, column, facecolor="none", edgecolor=GRAY, lw=0.6))
    if not len(data.value):
        return
    low, high = float(data.value.min()), float(data.value.max())
    if high - low < 0.1:  # almost equal values are not told apart
        low, high = (low + high) / 2.0 - 0.05, (low + high) / 2.0 + 0.05
    colors = mpl.cm.ScalarMappable(mpl.colors.Normalize(low, high), mpl.colormaps[COLORS])
    for (row, column), value, std in zip(data.cells.tolist(), data.value, data.std, strict=True):
        color = colors.to_rgba(value)
        ax.add_patch(_shape(grid, row, column, facecolor=color, edgecolor=GRAY, lw=0.6))
        if size < READABLE or not grid.is_empty((row, column)):
            continue
        x, y = _place(grid, row, column)
        ink = "black" if np.dot(color[:3], (0.299, 0.587, 0.114)) > 0.5 else "white"
        has_std = std > 0.0
        ax.text(x, y - 0.12 * has_std, f"{value:+.2f}", ha="center", va="center", color=ink,
                fontsize=0.24 * size, zorder=4)  # fmt: skip
        if has_std:
            ax.text(x, y + 0.2, f"±{std:.2f}", ha="center", va="center", color=ink,
                    fontsize=0.19 * size, zorder=4)  # fmt: skip
    ax.get_figure().colorbar(colors, ax=ax, label="value for the player to move", shrink=0.8)


def _draw_stones(ax: Any, grid: "Grid", size: float) -> None:
    from matplotlib.patches import Circle

    has_stones = set("".join(grid.marks)) <= {*DARK, *LIGHT, grid.empty}
    for row, marks in enumerate(grid.marks):
        for column, mark in enumerate(marks):
            place = _place(grid, row, column)
            kind = "dark" if mark in DARK else "light"
            if grid.is_empty((row, column)):
                continue
            if has_stones:
                face, edge = STONES[kind]
                ax.add_patch(Circle(place, 0.36, facecolor=face, edgecolor=edge, lw=1.2, zorder=3))
            else:
                ax.text(*place, literal(mark), ha="center", va="center", fontsize=0.45 * size,
                        zorder=3)  # fmt: skip


def _draw_best(ax: Any, data: BoardValues) -> None:
    """Outline the best move, with an arrow from where a piece is moved."""
    if data.best < 0:
        return
    row, column = data.cells[data.best].tolist()
    ax.add_patch(_shape(data.grid, row, column, facecolor="none", edgecolor=ORANGE, lw=2.5,
                        zorder=5))  # fmt: skip
    if data.origin is not None:
        begin, end = (np.array(_place(data.grid, *cell)) for cell in (data.origin, (row, column)))
        end -= 0.5 * (end - begin) / np.abs(end - begin).max()  # the number stays readable
        ax.annotate("", end, begin, zorder=6,
                    arrowprops={"arrowstyle": "-|>", "color": ORANGE, "lw": 2.0})  # fmt: skip


def _name_cells(ax: Any, grid: "Grid") -> None:
    """Name rows and columns as moves do."""
    below = not grid.is_slanted
    last = len(grid.marks) - 1
    xs = [_place(grid, last if below else 0, column)[0] for column in range(len(grid.columns))]
    ax.set_xticks(xs, grid.columns)
    ax.set_yticks([_place(grid, row, 0)[1] for row in range(last + 1)], grid.rows)
    ax.tick_params(length=0, top=False, labeltop=not below, bottom=False, labelbottom=below)
    ax.spines[:].set_visible(False)
