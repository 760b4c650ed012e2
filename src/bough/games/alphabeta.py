"""Alpha-beta search with iterative deepening and a transposition table."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bough._validation import above_zero, real, whole
from bough.games.players import Decision, GamePlayer, MoveValue
from bough.games.rules import Move, Position, check_open, name_of, position_of
from bough.games.tree import checked, is_second, no_moves

EXACT, LOWER, UPPER = range(3)


class _LimitError(Exception):
    """The limit of nodes or time was reached."""


@dataclass
class AlphaBeta(GamePlayer):
    """Alpha-beta search (Knuth and Moore 1975) with iterative deepening.

    Equal positions are searched once if they have a `key()`, which must contain everything that the
    rest of the game depends on.

    Parameters
    ----------
    depth : int, optional
        Maximum depth. Without any limit, positions are solved.
    seconds : float, optional
        Seconds per decision.
    nodes : int, optional
        Positions per decision.
    evaluate : function, optional
        Estimate of the value for player 0 of a position at the maximum depth, from -1 to 1; 0 by
        default.

    Examples
    --------
    >>> from bough import games
    >>> decision = games.AlphaBeta().choose(games.TicTacToe())
    >>> decision.value, decision.is_proven
    (0.0, True)
    """

    depth: int | None = None
    seconds: float | None = None
    nodes: int | None = field(default=None, kw_only=True)
    evaluate: Callable[[Any], float] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.depth is not None:
            self.depth = whole(self.depth, "depth", least=1)
        if self.seconds is not None:
            self.seconds = above_zero(self.seconds, "seconds")
        if self.nodes is not None:
            self.nodes = whole(self.nodes, "nodes", least=1)
        if self.evaluate is not None and not callable(self.evaluate):
            raise TypeError(f"evaluate must be a function of a position, got {self.evaluate!r}")

    def with_seed(self, seed: int) -> "AlphaBeta":
        """Return a player with the same settings."""
        return AlphaBeta(self.depth, self.seconds, nodes=self.nodes, evaluate=self.evaluate)

    def choose(self, game: Any) -> Decision:
        """Choose a move in a position, which is not changed."""
        position = position_of(game)
        check_open(position)
        begin = time.perf_counter()
        search = _Search(
            self.evaluate,
            math.inf if self.seconds is None else begin + self.seconds,
            math.inf if self.nodes is None else self.nodes,
        )
        moves = list(position.moves())
        found = [(move, 0.0) for move in moves]
        proven = False
        depth = 0
        try:
            while not proven and (self.depth is None or depth < self.depth):
                depth += 1
                search.is_exact = True
                order = [move for move, _ in found]
                found = search.root(position, order, depth)
                proven = search.is_exact
        except _LimitError:
            pass
        best, value = found[0]
        table = tuple(
            MoveValue(
                move, name_of(position, move), score, math.nan if i or not proven else 0.0, 0,
                float(i == 0), proven and i == 0,
            )
            for i, (move, score) in enumerate(found)
        )  # fmt: skip
        return Decision(
            best, table[0].name, value, 0.0 if proven else math.nan, table, search.visited,
            time.perf_counter() - begin, proven,
        )  # fmt: skip

    def values(self, game: Any) -> dict[Move, float]:
        """Return the proven value of each move for the player to move."""
        position = position_of(game)
        check_open(position)
        search = _Search(None, math.inf, math.inf)
        found: dict[Move, float] = {}
        for move in position.moves():
            after = position.copy()
            after.play(move)
            depth = 0
            while True:
                depth += 1
                search.is_exact = True
                value = search.value(after, -1.0, 1.0, depth)
                if search.is_exact:
                    break
            found[move] = value if position.player == 0 else -value
        return found


class _Search:
    """One search: values for player 0, by the negamax-free form of alpha-beta."""

    def __init__(
        self, evaluate: Callable[[Any], float] | None, deadline: float, most: float
    ) -> None:
        self._evaluate = evaluate
        self._deadline = deadline
        self._most = most
        self.visited = 0
        self.is_exact = True  # whether nothing was cut off by the depth
        #: By key: depth, kind of bound, value, best move, whether nothing was cut off.
        self._table: dict[Any, tuple[float, int, float, Any, bool]] = {}

    def root(self, position: Position, moves: list[Move], depth: int) -> list[tuple[Move, float]]:
        """Return the moves with their values for the player to move, the best first.

        Values of other moves are upper bounds at this depth, or nan where a win was found before.
        """
        sign = 1.0 if position.player == 0 else -1.0
        alpha = -1.0
        found: list[tuple[Move, float]] = []
        best = -math.inf
        exact = True
        for move in moves:
            after = position.copy()
            after.play(move)
            self.is_exact = True
            if sign > 0:
                value = self.value(after, alpha, 1.0, depth - 1)
            else:
                value = -self.value(after, -1.0, -alpha, depth - 1)
            exact &= self.is_exact
            found.append((move, value))
            if value > best:
                best = value
                alpha = max(alpha, value)
                if value >= 1.0:  # no move is better, and the window would be empty
                    exact = self.is_exact
                    break
        rest = [(move, math.nan) for move in moves[len(found) :]]
        self.is_exact = exact
        top = max(range(len(found)), key=lambda i: found[i][1])
        first = found.pop(top)
        return [first, *sorted(found, key=lambda each: -each[1]), *rest]

    def _estimate(self, position: Position) -> float:
        """Return the estimate of a position that is not looked into."""
        assert self._evaluate is not None
        value = real(self._evaluate(position), "evaluate(position)")
        if not -1.0 <= value <= 1.0:
            raise ValueError(f"evaluate(position) must be between -1 and 1, got {value!r}")
        return value

    def value(self, position: Position, alpha: float, beta: float, depth: int) -> float:
        """Return the value for player 0, or a bound of it outside alpha to beta."""
        result = position.result()
        if result is not None:
            return checked(result)
        self.visited += 1
        if self.visited > self._most or (
            self.visited % 256 == 0 and time.perf_counter() > self._deadline
        ):
            raise _LimitError
        if depth <= 0:
            self.is_exact = False
            return 0.0 if self._evaluate is None else self._estimate(position)
        key_of = getattr(position, "key", None)
        key = None if key_of is None else (key_of(), position.player)
        first = None
        if key is not None and key in self._table:
            known_depth, kind, value, first, exact = self._table[key]
            if exact or known_depth >= depth:
                usable = (
                    kind == EXACT
                    or (kind == LOWER and value >= beta)
                    or (kind == UPPER and value <= alpha)
                )
                if usable:
                    self.is_exact &= exact
                    return value
        moves = list(position.moves())
        if not moves:
            raise no_moves()
        if first is not None:
            moves.sort(key=lambda move: move != first)
        before, self.is_exact = self.is_exact, True
        maximizes = not is_second(position.player)
        best = -math.inf if maximizes else math.inf
        chosen = moves[0]
        low, high = alpha, beta
        decided = False  # by a value that no depth changes
        for move in moves:
            after = position.copy()
            after.play(move)
            others, self.is_exact = self.is_exact, True
            value = self.value(after, low, high, depth - 1)
            exact = self.is_exact
            self.is_exact &= others
            if value > best if maximizes else value < best:
                best, chosen = value, move
            if maximizes:
                low = max(low, best)
            else:
                high = min(high, best)
            if low >= high:
                decided = exact
                break
        exact = self.is_exact or (decided and low >= high)
        if key is not None:
            kind = LOWER if best >= beta else UPPER if best <= alpha else EXACT
            self._table[key] = (depth, kind, best, chosen, exact)
        self.is_exact = before and exact
        return best
