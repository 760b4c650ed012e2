"""Games of two players: a player whose belief is a Gaussian process, and its rivals."""

from bough.games.alphabeta import AlphaBeta
from bough.games.boards import TicTacToe
from bough.games.matches import MatchGame, MatchResult, match
from bough.games.players import (
    GRAVE,
    PLAYERS,
    RAVE,
    UCT,
    Decision,
    GamePlayer,
    MoveValue,
    OpenSpielMCTS,
    Player,
    RandomPlayer,
)
from bough.games.rules import OpenSpielPosition, Position, open_spiel

__all__ = [
    "GRAVE",
    "PLAYERS",
    "RAVE",
    "UCT",
    "AlphaBeta",
    "Decision",
    "GamePlayer",
    "MatchGame",
    "MatchResult",
    "MoveValue",
    "OpenSpielMCTS",
    "OpenSpielPosition",
    "Player",
    "Position",
    "RandomPlayer",
    "TicTacToe",
    "match",
    "open_spiel",
]
