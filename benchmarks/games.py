"""Games: matches, chosen moves in solved positions, and the cost of a playout.

    python -m benchmarks.games tune        # settings of UCT, RAVE and GRAVE for each game
    python -m benchmarks.games matches     # at equal playouts, against the tuned settings
    python -m benchmarks.games cpu         # at equal processor time, all through OpenSpiel
    python -m benchmarks.games positions   # regrets of chosen moves in solved positions
    python -m benchmarks.games boards      # with and without a kernel between boards
    python -m benchmarks.games speed       # microseconds per playout
    python -m benchmarks.games table       # writes games.md

Each adds what is missing to `games_runs.jsonl`, one line for each match or each position. The
constants of `games.Player` were chosen on Connect Four and Hex with seeds from 1000 on; matches
have seeds from 0 on and tuning from 10,000 on. Rules are compiled (`games_rules.pyx`), which needs
Cython and a C compiler, but for Havannah, whose rules are OpenSpiel's.
"""

import functools
import json
import pathlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np

from benchmarks.games_positions import start
from benchmarks.intervals import interval
from bough import games
from bough.games.matches import wilson
from bough.run.pools import cores, in_processes

FILE = pathlib.Path(__file__).parent / "games_runs.jsonl"
PAGE = pathlib.Path(__file__).parent / "games.md"

#: Number of games of a match by game.
MATCHES = {
    "connect_four": 400,
    "hex(board_size=7)": 400,
    "y(board_size=8)": 400,
    "breakthrough(rows=6,columns=6)": 400,
    "othello": 400,
    "clobber": 400,
    "havannah(board_size=4)": 400,
    "go(board_size=7)": 100,
}
#: Playouts per decision in matches, and games of a match in a row of the file.
PLAYOUTS = 400
BLOCK = 100
#: Games on which constants were chosen.
CHOSEN_ON = ("connect_four", "hex(board_size=7)")
#: Games of which a quarter is played in a match, and half for tuning.
SLOW = ("go(board_size=7)",)
#: Small games, solved by alpha-beta: that whose tuned settings they have, and moves before.
SOLVED = {
    "connect_four": ("connect_four", range(14, 25)),
    "hex(board_size=4)": ("hex(board_size=7)", range(7)),
    "y(board_size=5)": ("y(board_size=8)", range(7)),
}
POSITIONS = 400
MARKS = (100, 400, 1600)

#: The opponent of all settings, whose constants do not depend on those that were chosen later.
YARDSTICK = games.Player(100, shares=(0.2, 0.6, 0.2))
UCTS = [games.UCT(100, exploration=c) for c in (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0)]
RAVES = [
    *(
        games.RAVE(100, exploration=c, equivalence=k)
        for c in (0.0, 0.1, 0.4)
        for k in (300.0, 1000.0, 3000.0)
    ),
    *(games.RAVE(100, exploration=0.0, bias=b) for b in (0.03, 0.1)),
]
GRAVES = [
    *(games.GRAVE(100, reference=n, bias=b) for n in (20, 50, 100) for b in (0.01, 0.05, 0.2)),
    games.GRAVE(100, exploration=0.2),
    games.GRAVE(100, bias=None),
]
#: Settings by family, and the numbers of games of the rounds of successive halving.
FAMILIES: dict[str, tuple[Sequence[Any], Sequence[int]]] = {
    "UCT": (UCTS, (8, 16, 32)),
    "RAVE": (RAVES, (12, 20, 40)),
    "GRAVE": (GRAVES, (12, 20, 40)),
}

Row = dict[str, Any]


class Runs:
    """A file of rows, each with a key."""

    def __init__(self, file: pathlib.Path, workers: int) -> None:
        self.workers = workers
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self.rows: dict[str, Row] = {row["key"]: row for row in map(json.loads, lines)}

    def row(self, key: str, make: Callable[[], Row]) -> Row:
        """Return the row of a key, which is made if it is missing."""
        if key not in self.rows:
            self.rows[key] = {"key": key, **make()}
            with self._file.open("a") as stream:
                stream.write(json.dumps(self.rows[key]) + "\n")
            click.echo(f"{key}: {self.rows[key].get('score', '')}")
        return self.rows[key]

    def kind(self, kind: str) -> list[Row]:
        """Return the rows whose keys begin with a word."""
        return [row for key, row in self.rows.items() if key.split(":")[0] == kind]


def points(player: Any, opponent: Any, position: Any, count: int, seed: int, workers: int) -> Row:
    """Play a match, and return what the table shows of it."""
    found = games.match(
        player, opponent, position, count, seed=seed, workers=workers, progress=False
    )
    own, other = found.seconds_per_move
    return {
        "player": found.player, "opponent": found.opponent, "games": len(found.games),
        "won": found.wins, "drawn": found.draws, "lost": found.losses,
        "score": round(found.score, 4), "ms": [round(1e3 * own, 3), round(1e3 * other, 3)],
    }  # fmt: skip


# ---------------------------------------------------------------------- tuning


def tune(runs: Runs, game: str, family: str) -> Any:
    """Return the setting of a family that scores best, by successive halving."""
    settings, rounds = FAMILIES[family]
    if game in SLOW:
        rounds = [count // 2 for count in rounds]
    left = list(settings)
    for number, count in enumerate(rounds):
        scored = [
            (
                runs.row(
                    f"tune:{game}:{each.settings}:{number}",
                    lambda: points(
                        each, YARDSTICK, start(game), count, 10_000 + number, runs.workers
                    ),  # noqa: B023
                )["score"],
                each,
            )
            for each in left
        ]
        scored.sort(key=lambda pair: -pair[0])
        left = [each for _, each in scored[: (len(scored) + 1) // 2]]
    return left[0]


# ---------------------------------------------------------------------- matches


def opponents(runs: Runs, game: str, playouts: int) -> dict[str, Any]:
    """Return the opponents in a game, with their tuned settings."""
    tuned = {family: replace(tune(runs, game, family), playouts=playouts) for family in FAMILIES}
    return {
        **tuned,
        "OpenSpiel": games.OpenSpielMCTS(playouts, exploration=tuned["UCT"].exploration),
    }


def play_matches(
    runs: Runs, names: Iterable[str], families: Sequence[str], blocks: Iterable[int]
) -> None:
    """Play the matches at equal playouts, in blocks of games with a seed of their own."""
    for block in blocks:
        for game in names:
            if block * BLOCK >= MATCHES[game]:
                continue
            for family, opponent in opponents(runs, game, PLAYOUTS).items():
                if family in families:
                    runs.row(
                        f"match:{game}:{family}:{block}",
                        lambda: points(  # noqa: B023
                            games.Player(PLAYOUTS),
                            opponent,
                            start(game),
                            BLOCK,
                            block,
                            runs.workers,  # noqa: B023
                        ),
                    )


def play_equal_time(runs: Runs, names: Iterable[str]) -> None:
    """Play matches in which all players spend the same processor time per move.

    Everything runs through OpenSpiel from Python. The opponent makes 400 playouts, and bough as
    many as take as long, by the processor time of a short match before.
    """
    for game in names:
        position = games.open_spiel(game)
        for family, opponent in opponents(runs, game, 400).items():
            if family == "OpenSpiel":
                continue

            def make(opponent: Any = opponent, position: Any = position) -> Row:
                playouts = 400
                for _ in range(2):
                    own, other = points(
                        games.Player(playouts), opponent, position, 8, 20_000, runs.workers
                    )["ms"]
                    playouts = max(round(playouts * other / own), 20)
                return points(games.Player(playouts), opponent, position, 200, 1, runs.workers)

            runs.row(f"cpu:{game}:{family}", make)


# ---------------------------------------------------------------------- solved positions


@functools.cache
def solved(game: str) -> list[tuple[list[int], dict[int, float]]]:
    """Return positions in which the choice matters, with the exact values of their moves."""
    _, plies = SOLVED[game]
    rng = np.random.default_rng(0)
    found: list[tuple[list[int], dict[int, float]]] = []
    seen = set()
    while len(found) < POSITIONS:
        position: Any = start(game)
        for _ in range(int(rng.choice(plies))):
            if position.result() is None:
                position.play(int(rng.choice(position.moves())))
        moves = position.history()
        if position.result() is not None or tuple(moves) in seen:
            continue
        seen.add(tuple(moves))
        values = games.AlphaBeta().values(position)
        if len(set(values.values())) > 1:
            found.append((moves, values))
    return found


def regrets(job: tuple[str, Any]) -> list[float]:
    """Return the loss of the chosen move in each of the solved positions."""
    game, player = job
    lost = []
    for number, (moves, values) in enumerate(solved(game)):
        choice = player.with_seed(number).choose(start(game, moves))
        lost.append(max(values.values()) - values[choice.move])
    return lost


def play_positions(runs: Runs) -> None:
    """Choose moves in solved positions with all players and numbers of playouts."""
    for game, (like, _) in SOLVED.items():
        for playouts in MARKS:
            players = {"bough": games.Player(playouts), **opponents(runs, like, playouts)}
            for family, player in players.items():
                if family != "OpenSpiel":
                    runs.row(
                        f"positions:{game}:{family}:{playouts}",
                        lambda: _summary(regrets((game, player))),  # noqa: B023
                    )


def _summary(lost: Sequence[float]) -> Row:
    mean, low, high = interval(lost)
    return {"score": round(mean, 4), "low": round(low, 4), "high": round(high, 4)}


def mistakes(playouts: int, games_played: int) -> int:
    """Return how often bough gives away a result of tic-tac-toe against a random opponent."""
    wrong = 0
    for seed in range(games_played):
        rng = np.random.default_rng(seed)
        player = games.Player(playouts, rng=seed)
        position = games.TicTacToe()
        while position.result() is None:
            if position.player == seed % 2:
                values = games.AlphaBeta().values(position)
                move = player.choose(position).move
                wrong += values[move] < max(values.values())
            else:
                move = int(rng.choice(position.moves()))
            position.play(move)
    return wrong


# ---------------------------------------------------------------------- speed


def speed(runs: Runs, name: str) -> Row:
    """Return microseconds per playout in the first ten moves of a game."""
    players = {"bough": games.Player(400), **opponents(runs, name, 400)}
    found: Row = {}
    for label, position in (("compiled", start(name)), ("OpenSpiel", games.open_spiel(name))):
        for family, player in players.items():
            if family == "OpenSpiel" or type(position) is type(start("clobber")) != (
                label == "OpenSpiel"
            ):
                continue
            at, chosen, done = position.copy(), player.with_seed(0), 0
            begin = time.process_time()
            while at.result() is None and done < 4000:
                decision = chosen.choose(at)
                done += decision.playouts
                at.play(decision.move)
            found[f"{family}, {label}"] = round(
                (time.process_time() - begin) / max(done, 1) * 1e6, 1
            )
    return found


# ---------------------------------------------------------------------- command


@click.group()
@click.option("--file", type=click.Path(path_type=pathlib.Path), default=FILE, help="File of runs.")
@click.option("--workers", type=int, default=None, help="Number of processes.")
@click.pass_context
def main(context: click.Context, file: pathlib.Path, workers: int | None) -> None:
    """Matches and regrets of players of games."""
    context.obj = Runs(file, cores() if workers is None else workers)


only = click.option("--only", default="", help="Games whose names contain one of these words.")


def _chosen(only: str) -> list[str]:
    words = only.split(";")
    return [game for game in MATCHES if any(word.strip() in game for word in words)]


@main.command("tune")
@only
@click.pass_obj
def tune_command(runs: Runs, only: str) -> None:
    """Settings of the baselines, by successive halving at 100 playouts."""
    for game in _chosen(only):
        for family in FAMILIES:
            click.echo(f"{game}: {tune(runs, game, family).settings}")


@main.command("matches")
@only
@click.option("--against", default="UCT,OpenSpiel,RAVE,GRAVE", show_default=True)
@click.option("--blocks", type=int, default=4, help="Hundreds of games of a match.")
@click.pass_obj
def matches_command(runs: Runs, only: str, against: str, blocks: int) -> None:
    """Matches at equal playouts."""
    play_matches(runs, _chosen(only), against.split(","), range(blocks))


@main.command("cpu")
@only
@click.pass_obj
def cpu_command(runs: Runs, only: str) -> None:
    """Matches at equal processor time, through OpenSpiel."""
    play_equal_time(runs, _chosen(only))


@main.command("positions")
@click.pass_obj
def positions_command(runs: Runs) -> None:
    """Regrets in solved positions, and mistakes in tic-tac-toe."""
    play_positions(runs)
    runs.row("tic-tac-toe", lambda: {"score": mistakes(1600, 100)})


@main.command("speed")
@only
@click.pass_obj
def speed_command(runs: Runs, only: str) -> None:
    """Microseconds per playout."""
    for game in _chosen(only):
        runs.row(f"speed:{game}", lambda: speed(runs, game))  # noqa: B023


if __name__ == "__main__":
    main()
