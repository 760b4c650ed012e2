"""Games: the protocol of a position, and positions of OpenSpiel."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bough._validation import whole
from bough.games.tree import no_moves

#: A move: anything hashable.
Move = Hashable


@runtime_checkable
class Position(Protocol):
    """A position of a game of two players with perfect information.

    The players are 0 and 1; what one wins the other loses. A player who cannot move needs a move
    that passes.

    Further methods are used where a class has them:

    - `label(move)`: the label that the move shares with similar moves in other positions, such as
      its square; by default the move itself.
    - `history()`: the sequence of the moves played so far. It lets a player reuse its tree for the
      next move.
    - `key()`: a hashable that equal positions share, for transposition tables.
    - `features()`: a vector that describes the position.
    - `playout(below)`: plays at random to the end, where `below(n)` returns a random number from
      0 to n - 1, and returns the moves as pairs of player and label. An optional, faster
      alternative to playouts by the other methods.
    - `name(move)`: the move in the notation of the game; by default `str(move)`.
    """

    @property
    def player(self) -> int:
        """The player to move, 0 or 1."""

    def moves(self) -> Sequence[Move]:
        """Return the legal moves."""

    def play(self, move: Any) -> None:
        """Make a move, which changes the position."""

    def result(self) -> float | None:
        """Return the result for player 0, from -1 to 1, or None if the game has not ended."""

    def copy(self) -> "Position":
        """Return an independent copy."""


class OpenSpielPosition:
    """A position of a game of OpenSpiel; moves are its action numbers."""

    __slots__ = ("_largest", "state")

    def __init__(self, state: Any, largest: float) -> None:
        self.state = state  #: the state of OpenSpiel
        self._largest = largest

    @property
    def player(self) -> int:
        """The player to move."""
        player: int = self.state.current_player()
        return player

    @property
    def game(self) -> str:
        """The name of the game, with its parameters."""
        return str(self.state.get_game())

    def moves(self) -> list[int]:
        """Return the legal actions."""
        actions: list[int] = self.state.legal_actions()
        return actions

    def play(self, move: int) -> None:
        """Apply an action."""
        self.state.apply_action(move)

    def result(self) -> float | None:
        """Return the return of player 0, in units of the largest possible one."""
        state = self.state
        return state.player_return(0) / self._largest if state.is_terminal() else None

    def copy(self) -> "OpenSpielPosition":
        """Return an independent copy."""
        return OpenSpielPosition(self.state.clone(), self._largest)

    def playout(self, below: Callable[[int], int]) -> list[tuple[int, int]]:
        """Play at random to the end, and return the players and their actions."""
        state = self.state
        legal_actions, apply_action = state.legal_actions, state.apply_action
        current_player = state.current_player
        played = []
        player = current_player()
        while player >= 0:
            actions = legal_actions()
            action = actions[below(len(actions))]
            played.append((player, action))
            apply_action(action)
            player = current_player()
        return played

    def history(self) -> list[int]:
        """Return the actions from the start of the game."""
        actions: list[int] = self.state.history()
        return actions

    def key(self) -> tuple[str, tuple[int, ...]]:
        """Return the text of the board, the player to move, and the legal moves.

        The text of some games lacks a part of the position, such as the piece that was chosen, or a
        move that a rule against repetition forbids. What such a rule forbids later is not in the
        key: alpha-beta is not exact in games that have one, such as Go.
        """
        state = self.state
        return f"{state.current_player()} {state}", tuple(state.legal_actions())

    def features(self) -> NDArray[np.float64]:
        """Return the observation tensor of player 0."""
        return np.array(self.state.observation_tensor(0), dtype=np.float64)

    def name(self, move: int) -> str:
        """Return how OpenSpiel writes the action."""
        text: str = self.state.action_to_string(self.state.current_player(), move)
        return text

    def __str__(self) -> str:
        return str(self.state)

    def __repr__(self) -> str:
        return f"<position of {self.state.get_game()} after {len(self.history())} moves>"


def open_spiel(game: Any) -> OpenSpielPosition:
    """Return a position of a game of OpenSpiel.

    Parameters
    ----------
    game : str, pyspiel.Game or pyspiel.State
        A name, perhaps with parameters, such as ``"hex(board_size=7)"``; a game; or a state, which
        is copied.

    Raises
    ------
    ValueError
        If the game is not a two-player zero-sum game with perfect information and without chance.
    """
    try:
        import pyspiel
    except ImportError:
        raise ImportError(
            "games of OpenSpiel need the package open_spiel: pip install 'bough[games]'"
        ) from None
    if isinstance(game, str):
        game = _load(pyspiel, game)
    state = game if isinstance(game, pyspiel.State) else None
    if state is not None:
        game = state.get_game()
    if not isinstance(game, pyspiel.Game):
        raise TypeError(f"game must be a name, a pyspiel.Game or a pyspiel.State, got {game!r}")
    _check(game, pyspiel.GameType)
    state = game.new_initial_state() if state is None else state.clone()
    if state.is_chance_node():
        raise ValueError(f"{game} has chance nodes, which bough.games does not support")
    largest = max(abs(game.max_utility()), abs(game.min_utility()))
    return OpenSpielPosition(state, largest)


def _load(pyspiel: Any, name: str) -> Any:
    """Return the game of a name, perhaps with parameters."""
    short = name.split("(")[0].strip()
    known = pyspiel.registered_names()
    if short not in known:
        from difflib import get_close_matches

        close = get_close_matches(short, known, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise ValueError(f"OpenSpiel has no game {short!r}{hint}")
    try:
        return pyspiel.load_game(name)
    except (pyspiel.SpielError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise ValueError(f"game {name!r} cannot be loaded: {reason}") from None


def _check(game: Any, types: Any) -> None:
    """Refuse games that the model does not cover."""
    kind = game.get_type()
    problem = None
    if game.num_players() != 2:
        problem = f"has {game.num_players()} players"
    elif kind.dynamics != types.Dynamics.SEQUENTIAL:
        problem = "lets players move at the same time"
    elif kind.chance_mode != types.ChanceMode.DETERMINISTIC:
        problem = "has chance nodes"
    elif kind.information != types.Information.PERFECT_INFORMATION:
        problem = "hides information"
    elif kind.utility != types.Utility.ZERO_SUM:
        problem = "is not zero-sum"
    if problem is not None:
        raise ValueError(
            f"{kind.short_name} {problem}: bough.games plays two-player zero-sum games with "
            "perfect information and without chance"
        )


def position_of(game: Any) -> Position:
    """Return a copy of a position; names and states of OpenSpiel are taken, too."""
    # (Games of OpenSpiel that are written in Python inherit from classes of pyspiel.)
    if isinstance(game, str) or any(
        each.__module__.startswith("pyspiel") for each in type(game).__mro__
    ):
        return open_spiel(game)
    if isinstance(game, type) and hasattr(game, "moves"):
        raise TypeError(f"game must be a position, such as {game.__name__}(), got its class")
    missing = [
        name for name in ("player", "moves", "play", "result", "copy") if not hasattr(game, name)
    ]
    if missing:
        raise TypeError(
            f"{game!r} is not a position: it has no {', '.join(missing)} (see "
            "bough.games.Position; for OpenSpiel give a name or a pyspiel.State)"
        )
    copy: Position = game.copy()
    if copy is game:
        raise ValueError("copy() must return an independent copy, not the position itself")
    return copy


def check_open(position: Position) -> None:
    """Refuse a position in which the game is over, or no one can move."""
    if position.result() is not None:
        raise ValueError("the game is over: there is no move to choose")
    whole(position.player, "player", least=0, most=1)
    if len(position.moves()) == 0:
        raise no_moves()


def name_of(position: Position, move: Move) -> str:
    """Return the text by which people call a move."""
    name = getattr(position, "name", None)
    return str(move) if name is None else str(name(move))
