"""Matches: two players, the same openings with both colors, on all cores, resumable."""

import dataclasses
import json
import math
import pathlib
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from bough import __version__
from bough._validation import whole
from bough.belief.rng import SplitMix64
from bough.games.players import GamePlayer
from bough.games.rules import Position, check_open, name_of, position_of
from bough.run.pools import cores, in_processes
from bough.studies.records import RecordFile

#: The quantile of the normal distribution for intervals of 95 %.
QUANTILE = 1.959963984540054
#: Attempts to draw an opening after which the game goes on.
ATTEMPTS = 100


@dataclass(frozen=True)
class MatchGame:
    """A game of a match. Results and values are for the player of the match, not the opponent."""

    moves: list[str]  #: all moves by their names
    own: list[bool]  #: whether the player made each move, those of the opening included
    opening: int  #: the number of moves that were drawn at random
    is_first: bool  #: whether the player had the first move of the game
    result: float  #: from -1 to 1
    values: list[float | None]  #: after each move but those of the opening, by its player
    seconds: list[float]  #: CPU time of the player and of the opponent
    decisions: list[int]  #: the number of moves that each of them chose


@dataclass(frozen=True)
class MatchResult:
    """The games of a match, with the score and other statistics."""

    player: str
    opponent: str
    game: str
    games: tuple[MatchGame, ...]
    interrupted: bool = False

    @property
    def score(self) -> float:
        """The player's share of the points: 1 for a win, 0.5 for a draw."""
        return _mean([(1.0 + game.result) / 2.0 for game in self.games])

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the expected score (Wilson's interval)."""
        return wilson(self.score, len(self.games))

    @property
    def elo(self) -> tuple[float, float, float]:
        """The difference in Elo rating, and its 95 % confidence interval."""
        low, high = self.interval
        return _elo(self.score), _elo(low), _elo(high)

    @property
    def wins(self) -> int:
        """The number of games that the player won."""
        return sum(game.result > 0 for game in self.games)

    @property
    def losses(self) -> int:
        """The number of games that the player lost."""
        return sum(game.result < 0 for game in self.games)

    @property
    def draws(self) -> int:
        """The number of games without a winner."""
        return len(self.games) - self.wins - self.losses

    @property
    def seconds_per_move(self) -> tuple[float, float]:
        """CPU time per move of the player and of the opponent."""
        player, opponent = (
            sum(game.seconds[side] for game in self.games)
            / max(sum(game.decisions[side] for game in self.games), 1)
            for side in (0, 1)
        )
        return player, opponent

    def to_pandas(self) -> Any:
        """Return the games as a table."""
        import pandas

        return pandas.DataFrame([dataclasses.asdict(game) for game in self.games])

    def __str__(self) -> str:
        if not self.games:
            return f"{self.player} against {self.opponent}, {self.game}: no game has ended"
        low, high = self.interval
        elo, least, most = self.elo
        own, others = (1000.0 * seconds for seconds in self.seconds_per_move)
        return "\n".join(
            [
                f"{self.player} against {self.opponent}, {self.game}, {len(self.games)} games",
                "",
                f"  score     {self.score:.3f} ({low:.3f} to {high:.3f} at confidence 0.95)",
                f"  games     {self.wins} won, {self.draws} drawn, {self.losses} lost",
                f"  Elo       {elo:+.0f} ({least:+.0f} to {most:+.0f})",
                f"  per move  {own:.3g} ms, opponent {others:.3g} ms",
            ]
        )


@dataclass(frozen=True)
class GameJob:
    """One game of a match: everything that its result depends on."""

    player: GamePlayer
    opponent: GamePlayer
    game: Any
    number: int  # games 2 i and 2 i + 1 have the same opening
    opening: int
    seed: int

    @property
    def key(self) -> str:
        """The identifier of the game in a file of finished games."""
        facts = {
            "player": self.player.settings, "opponent": self.opponent.settings,
            "game": _described(position_of(self.game)), "number": self.number,
            "opening": self.opening, "seed": self.seed, "bough": __version__,
        }  # fmt: skip
        return json.dumps(facts, sort_keys=True)


def play_game(job: GameJob) -> MatchGame:
    """Play a game of a match."""
    drawn = np.random.default_rng([job.seed, job.number // 2])
    seeds = drawn.integers(2**62, size=3).tolist()
    position = position_of(job.game)
    opening = _opening(position, job.opening, SplitMix64(seeds[0]))
    own = job.number % 2  # which of the players of the game the player of the match is
    owns, moves = [], []
    for move in opening:
        owns.append(position.player == own)
        moves.append(_play(position, move))
    # Both games of a pair have other seeds, or two deterministic players would repeat themselves.
    players = [job.player.with_seed(seeds[1] + own), job.opponent.with_seed(seeds[2] + own)]
    values: list[float | None] = []
    seconds, decisions = [0.0, 0.0], [0, 0]
    while (result := position.result()) is None:
        side = int(position.player != own)
        begin = process_time()
        decision = players[side].choose(position)
        seconds[side] += process_time() - begin
        decisions[side] += 1
        value = -decision.value if side else decision.value
        values.append(value if math.isfinite(value) else None)
        owns.append(not side)
        moves.append(_play(position, decision.move))
    result = -result if own else result
    return MatchGame(moves, owns, len(opening), not own, result, values, seconds, decisions)


def match(
    player: GamePlayer,
    opponent: GamePlayer,
    game: Any,
    games: int = 200,
    *,
    opening: int = 2,
    seed: int = 0,
    workers: int | None = None,
    file: str | pathlib.Path | None = None,
    progress: bool | None = None,
) -> MatchResult:
    """Play a match: each opening twice, with colors swapped.

    Parameters
    ----------
    player, opponent : GamePlayer
        The players; in every game both start with a new seed and without a tree.
    game : str, pyspiel.State or Position
        The game: a name of OpenSpiel, or the position from which all games begin.
    games : int
        Number of games.
    opening : int
        Number of random moves with which a game begins. Games 2 i and 2 i + 1 begin with the same
        moves.
    seed : int
        Seed of the openings and of the players.
    workers : int, optional
        Number of processes; by default one for each core.
    file : str or path, optional
        File of the finished games, which is created or resumed.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.

    Examples
    --------
    >>> from bough import games
    >>> found = games.match(
    ...     games.Player(50), games.RandomPlayer(), games.TicTacToe(), games=4, workers=1
    ... )
    >>> found.losses, len(found.games)
    (0, 4)
    """
    from tqdm import tqdm

    for name, each in (("player", player), ("opponent", opponent)):
        if not isinstance(each, GamePlayer):
            raise TypeError(f"{name} must be a player, such as games.Player(400), got {each!r}")
    games = whole(games, "games", least=1)
    opening = whole(opening, "opening", least=0)
    seed = whole(seed, "seed", least=0, most=2**63)
    workers = cores() if workers is None else whole(workers, "workers", least=1)
    position = position_of(game)
    check_open(position)
    player, opponent = player.with_seed(0), opponent.with_seed(0)
    jobs = [GameJob(player, opponent, position, number, opening, seed) for number in range(games)]
    keys = [job.key for job in jobs]
    interrupted = False
    with closing(RecordFile(None if file is None else pathlib.Path(file), MatchGame, "game")) as (
        store
    ):
        left = [job for job, key in zip(jobs, keys, strict=True) if key not in store]
        hidden = True if not left else None if progress is None else not progress
        bar = tqdm(
            total=games, initial=games - len(left), unit="game", disable=hidden, file=sys.stderr,
            dynamic_ncols=True,
        )  # fmt: skip
        with bar, closing(in_processes(play_game, left, workers)) as finished:
            try:
                for job, record in finished:
                    store.add(keys[job.number], record)
                    ended = [store[key] for key in keys if key in store]
                    score = _mean([(1.0 + each.result) / 2.0 for each in ended])
                    bar.set_postfix_str(f"score {score:.3f}", refresh=False)
                    bar.update(1)
            except KeyboardInterrupt:
                interrupted = True
        ended = [store[key] for key in keys if key in store]
    return MatchResult(
        player.settings, opponent.settings, _described(position), tuple(ended), interrupted
    )


def wilson(score: float, games: int) -> tuple[float, float]:
    """Return bounds of the expected score at confidence 0.95 (Wilson 1927).

    Draws and the second game of an opening only make the true interval smaller.
    """
    if games == 0:
        return 0.0, 1.0
    share = QUANTILE**2 / games
    center = (score + share / 2.0) / (1.0 + share)
    half = math.sqrt(share * (score * (1.0 - score) + share / 4.0)) / (1.0 + share)
    return max(center - half, 0.0), min(center + half, 1.0)


def _opening(position: Position, length: int, rng: SplitMix64) -> list[Any]:
    """Return random moves after which the game is not over."""
    for attempt in range(ATTEMPTS):
        after = position.copy()
        chosen: list[Any] = []
        # (Where every game of this length is over, openings become shorter.)
        while len(chosen) < length - attempt * length // ATTEMPTS and after.result() is None:
            moves = list(after.moves())
            chosen.append(moves[rng.below(len(moves))])
            after.play(chosen[-1])
        if after.result() is None:
            return chosen
    return []


def _play(position: Position, move: Any) -> str:
    """Make a move, and return its name."""
    name = name_of(position, move)
    position.play(move)
    return name


def _described(position: Position) -> str:
    """Return the name of a game, and the moves that led to a position of it."""
    describe = getattr(position, "game", None)
    name = type(position).__name__ if describe is None else str(describe)
    history = list(position.history()) if hasattr(position, "history") else []
    return f"{name} after {' '.join(map(str, history))}" if history else name


def _elo(score: float) -> float:
    if score in (0.0, 1.0):
        return math.copysign(math.inf, score - 0.5)
    return 400.0 * math.log10(score / (1.0 - score))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
