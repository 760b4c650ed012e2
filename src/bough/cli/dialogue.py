"""A game of a person against a player: boards, evaluations and moves as text."""

import math
import re
import shutil
import sys
import textwrap
from typing import Any

import click

from bough._text import printable
from bough.cli.shell import echo
from bough.games.grids import Cell, Grid, grid_of
from bough.games.players import Decision, GamePlayer, MoveValue, TreePlayer
from bough.games.rules import Move, Position, name_of

HELP = """\
Enter a move by its name, by a part of the name that no other move has, or by its number, #1.

  moves   all legal moves with their numbers
  hint    further playouts, and the evaluation of all moves
  undo    take back your last move and the answer to it
  quit    end the game

Values are expected results for the player to move: +1 a win, 0 a draw, -1 a loss. A bar shows a
value and two standard deviations around it; "best" is the probability that no move is better."""
#: What a player must know beyond the board, by the name of the game.
GOALS = {
    "breakthrough": "Reach the opposite side: b moves down, w moves up, both capture diagonally.",
    "connect_four": "Four in a row. Moves are columns.",
    "hex": "x connects the upper and the lower edge, o the left and the right one.",
    "othello": "Enclose discs to turn them; most discs win.",
    "tic_tac_toe": "Three in a row.",
}
#: A position and its result, by a proven value.
PROVEN = {-1.0: ("lost", "loss"), 0.0: ("drawn", "draw"), 1.0: ("won", "win")}
#: Rows of an evaluation without a hint, and moves that are listed.
MOST_ROWS, MOST_LISTED = 8, 40
#: Columns of a terminal in which long names are cut, and of bars.
MOST_NAME, BARS = 18, range(11, 42)
#: A track, its middle, an interval, a value, a share; and the same where there is only ASCII.
DRAWN, ASCII = "\u2500\u253c\u2501\u25cf\u2588", "-+=o#"


class Dialogue:
    """A game of a person against a player.

    Parameters
    ----------
    position
        The start of the game.
    player
        The opponent.
    plays_first
        Whether the person has the first move.
    hints
        Whether moves of the person are evaluated, by players that can.
    err
        Whether to print on standard error.
    """

    def __init__(
        self, position: Position, player: GamePlayer, *, plays_first: bool, hints: bool, err: bool
    ) -> None:
        self._player = player
        self._you = position.player if plays_first else 1 - position.player
        self._hints = hints
        self._err = err
        grid = grid_of(position)
        self._kind = None if grid is None else grid.kind
        self._positions = [position]
        self._moves: list[tuple[Move, str]] = []

    @property
    def _position(self) -> Position:
        return self._positions[-1]

    def run(self) -> dict[str, Any]:
        """Play until the game is over or the person ends it, and return the facts about it."""
        self._introduce()
        ended_by = None
        result = self._position.result()
        while ended_by is None and result is None:
            if self._position.player == self._you:
                ended_by = self._ask()
            else:
                self._answer()
            result = self._position.result()
        if result is not None:
            ended_by = "result"
            result = result if self._you == 0 else -result
            self._say(f"\n{self._board()}\n")
            won = "You have won" if result > 0 else "You have lost"
            ended = won if result else "The game is drawn"
            self._say(_bold(ended) + f", after {_count(len(self._moves), 'move')}.")
        else:
            count = _count(len(self._moves), "move")
            self._say(f"The game ends undecided after {count} ({ended_by}).")
        return {
            "player": self._player.settings,
            "moves": [name for _, name in self._moves],
            "result": result,
            "ended_by": ended_by,
        }

    def _say(self, text: str = "", *, nl: bool = True) -> None:
        echo(text, err=self._err, nl=nl)

    # ------------------------------------------------------------------ what is shown

    def _introduce(self) -> None:
        game = str(getattr(self._position, "game", type(self._position).__name__))
        order = "first" if self._position.player == self._you else "second"
        marks = self._marks()
        own = f"are {marks[self._you]} and " if marks else ""
        other = marks.get(1 - self._you, "your opponent")
        goal = GOALS.get(game.partition("(")[0])
        lines = [_bold(printable(game)), *([] if goal is None else [goal])]
        lines.append(f"You {own}move {order}; {other} is {self._player.settings}.")
        self._say("\n".join([*lines, "help lists what can be typed."]))

    def _marks(self) -> dict[int, str]:
        """Return the marks of both players, if their first moves tell."""
        found: dict[int, str] = {}
        position = self._position.copy()
        for _ in range(2):
            grid = grid_of(position, self._kind) if self._kind else None
            if grid is None or not grid.targets:
                return {}
            move, (row, column) = next(iter(grid.targets.items()))
            mover = position.player
            position.play(move)
            after = grid_of(position, self._kind)
            if after is None or position.result() is not None:
                return {}
            found[mover] = after.marks[row][column]
        return found if len(set(found.values())) == 2 else {}

    def _board(self) -> str:
        """Return the board, with the last move in bold."""
        grid = self._grid(self._position)
        if grid is None and not _has_text(self._position):
            moves = ", ".join(printable(name) for _, name in self._moves)
            text = f"moves so far: {moves or 'none'}"
        elif grid is None:
            text = str(self._position).rstrip()
        else:
            last = self._last_cell()
            text = grid.text(lambda mark, cell: _bold(mark) if cell == last else mark)
        return textwrap.indent(text, "  ")

    def _grid(self, position: Position) -> Grid | None:
        return None if self._kind is None else grid_of(position, self._kind)

    def _last_cell(self) -> Cell | None:
        before = self._grid(self._positions[-2]) if self._moves else None
        return None if before is None else before.targets.get(self._moves[-1][0])

    def _show_moves(self, names: dict[Move, str]) -> None:
        """List legal moves with their numbers."""
        listed = "  ".join(
            f"#{i}\u00a0{printable(name)}" for i, name in enumerate(names.values(), 1)
        )
        lines = textwrap.wrap(listed, _columns() - 3, break_on_hyphens=False)
        self._say("\n".join(f"  {line}" for line in lines).replace("\u00a0", " "))

    def _evaluate(self, player: TreePlayer, most: int) -> None:
        """Show a player's evaluation of moves."""
        decision = player.think(self._position)
        self._say(evaluation(decision, most, sys.stderr if self._err else sys.stdout))

    # ------------------------------------------------------------------ moves

    def _answer(self) -> None:
        """Let the player move."""
        decision = self._player.choose(self._position)
        about = ""
        if decision.is_proven and decision.value in PROVEN:
            about = f": a proven {PROVEN[decision.value][1]}"
        elif not math.isnan(decision.value):
            about = f": value {value_text(decision)} for it"
        if decision.playouts:
            about += f" ({_count(decision.playouts, 'playout')}, {decision.seconds:.2f} s)"
        self._say(f"\nThe player moves {_bold(printable(decision.name))}{about}")
        self._play(decision.move, decision.name)

    def _play(self, move: Move, name: str) -> None:
        position = self._position.copy()
        position.play(move)
        self._positions.append(position)
        self._moves.append((move, name))

    def _ask(self) -> str | None:
        """Let the person move, and return why the game ends if it does."""
        names = {move: name_of(self._position, move) for move in self._position.moves()}
        self._say(f"\n{self._board()}\n")
        if isinstance(self._player, TreePlayer) and self._hints:
            self._evaluate(self._player, MOST_ROWS)
        elif len(names) <= MOST_LISTED:
            self._show_moves(names)
        while True:
            try:
                text = self._read()
            except EOFError:
                self._say()
                return "end of input"
            except KeyboardInterrupt:
                self._say()
                raise
            found = find_moves(names, text, exact=True)
            word = text.lower()
            if not found and (word == "quit" or (word == "undo" and self._undo())):
                return "quit" if word == "quit" else None
            if not found and self._inform(word, names):
                continue
            found = found or find_moves(names, text)
            if len(found) == 1:
                self._play(found[0], names[found[0]])
                return None
            if text:
                self._say(_refusal(text, [names[move] for move in found]))

    def _inform(self, word: str, names: dict[Move, str]) -> bool:
        """Show what a word asks for, and return whether it asks for anything."""
        if word == "help":
            self._say(HELP)
        elif word == "moves":
            self._show_moves(names)
        elif word == "undo":
            self._say("You have no move to take back.")
        elif word == "hint" and isinstance(self._player, TreePlayer):
            self._evaluate(self._player, len(names))
        elif word == "hint":
            self._say(f"{self._player.settings} evaluates no moves but its own.")
        else:
            return False
        return True

    def _read(self) -> str:
        self._say("your move: ", nl=False)
        text = input()
        if not sys.stdin.isatty():
            self._say(printable(text))
        return text.strip()

    def _undo(self) -> bool:
        """Go back to the last position in which the person has moved, if there is one."""
        places = [
            i for i, position in enumerate(self._positions[:-1]) if position.player == self._you
        ]
        if not places:
            return False
        del self._positions[places[-1] + 1 :], self._moves[places[-1] :]
        return True


def _has_text(position: Position) -> bool:
    """Return whether the text of a position is more than its address."""
    kind = type(position)
    return kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__


def find_moves(names: dict[Move, str], text: str, *, exact: bool = False) -> list[Move]:
    """Return the moves that a text may mean.

    >>> names = {0: "a1", 1: "b1", 2: "b2"}
    >>> find_moves(names, "B1"), find_moves(names, "b"), find_moves(names, "2")
    ([1], [1, 2], [2])
    >>> find_moves(names, "#3"), find_moves(names, "c")
    ([2], [])
    """
    exactly = [move for move, name in names.items() if name == text]
    if exactly or exact:
        return exactly
    if re.fullmatch(r"#\d{1,6}", text):
        return [move for i, move in enumerate(names, 1) if i == int(text[1:])]
    words = _words(text)
    if not words:
        return []
    same = [move for move, name in names.items() if name.lower() == text.lower()]
    equal = [move for move, name in names.items() if _words(name) == words]
    count = len(words)
    partial = [
        move
        for move, name in names.items()
        if words in (_words(name)[:count], _words(name)[-count:])
    ]
    return same or equal or partial


def _words(text: str) -> list[str]:
    """Return the words and numbers of a text."""
    return re.findall(r"[a-z]+|\d+", text.lower())


def _refusal(text: str, names: list[str]) -> str:
    """Return why a text is not a move."""
    if not names:
        return f"'{printable(text)}' is not a legal move: moves lists them, help says more."
    more = f" or {len(names) - MOST_ROWS} more" if len(names) > MOST_ROWS else ""
    listed = ", ".join(map(printable, names[:MOST_ROWS]))
    return f"'{printable(text)}' may be {listed}{more}."


# ---------------------------------------------------------------------- evaluations


def evaluation(decision: Decision, most: int, stream: Any) -> str:
    """Return a table of moves with bars, the best first."""
    rows = decision.moves[:most]
    drawn = _encodable(DRAWN, ASCII, stream)
    has_std = any(math.isfinite(each.std) and not each.is_proven for each in decision.moves)
    names = [_cut(printable(each.name)) for each in rows]
    texts = [value_text(each) for each in rows]
    left = [max(map(len, column)) for column in ([*names, "move"], [*texts, "value"])]
    right = (15 if has_std else 0) + 10
    width = min(max(_columns() - 1 - sum(left) - 6 - right, BARS[0]), BARS[-1]) // 2 * 2 - 1
    scale = f"-1{'0':>{width // 2 - 1}}{'+1':>{width // 2}}"
    best = f"  {'best':<13}" if has_std else ""
    lines = [f"  {'move':{left[0]}}  {'value':{left[1]}}  {scale}{best}  playouts"]
    for each, name, text in zip(rows, names, texts, strict=True):
        share = f"  {each.probability:4.0%} {_share(each.probability, drawn):8}" if has_std else ""
        lines.append(
            f"  {_bold(f'{name:{left[0]}}')}  {text:{left[1]}}  "
            f"{_bar(each, width, drawn)}{share}  {each.visits:8,}"
        )
    hidden = len(decision.moves) - len(rows)
    if hidden:
        lines.append(f"  and {hidden} more: hint shows all")
    return "\n".join(lines)


def value_text(known: MoveValue | Decision) -> str:
    """Return a value with its standard deviation.

    >>> value_text(Decision(0, "a", 0.25, 0.125, (), 9, 0.0, False))
    '+0.25 +- 0.12'
    """
    if known.is_proven and known.value in PROVEN:
        return PROVEN[known.value][0]
    if isinstance(known, MoveValue) and not known.visits and not math.isfinite(known.std):
        return "-"
    return f"{known.value:+.2f}" + (f" +- {known.std:.2f}" if math.isfinite(known.std) else "")


def _bar(known: MoveValue, width: int, drawn: str) -> str:
    """Return a value, and two standard deviations around it, on a line from -1 to 1."""
    track, middle, within, mark, _ = list(drawn)

    def place(value: float) -> int:
        return round((min(max(value, -1.0), 1.0) + 1.0) / 2.0 * (width - 1))

    cells = list(track * width)
    cells[width // 2] = middle
    if value_text(known) == "-":
        return "".join(cells)
    if math.isfinite(known.std):
        for i in range(place(known.value - 2 * known.std), place(known.value + 2 * known.std) + 1):
            cells[i] = within
    cells[place(known.value)] = mark
    return "".join(cells)


def _share(share: float, drawn: str) -> str:
    return drawn[-1] * round(8 * share)


def _encodable(text: str, otherwise: str, stream: Any) -> str:
    """Return a text, or another one if a stream cannot print it."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return otherwise
    return text


def _cut(name: str) -> str:
    return name if len(name) <= MOST_NAME else name[: MOST_NAME - 2] + ".."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _bold(text: str) -> str:
    return click.style(text, bold=True)


def _columns() -> int:
    return max(shutil.get_terminal_size().columns, 40)
