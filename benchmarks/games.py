"""Games: matches, chosen moves in solved positions, and the cost of a playout.

    python -m benchmarks.games tune        # settings of UCT, RAVE and GRAVE for each game
    python -m benchmarks.games matches     # at equal playouts, against the tuned settings
    python -m benchmarks.games transfers   # against the settings of Hex in other games
    python -m benchmarks.games cpu         # at equal CPU time, all through OpenSpiel
    python -m benchmarks.games positions   # regrets of chosen moves in solved positions
    python -m benchmarks.games boards      # with and without a kernel between boards
    python -m benchmarks.games shares      # with variances by likelihood against the constants
    python -m benchmarks.games speed       # microseconds per playout
    python -m benchmarks.games table       # writes games.md

Each adds missing runs to `games_runs.jsonl`, one line per match or per position. The constants of
`games.Player` were chosen on Connect Four and Hex with seeds from 1000 on; matches have seeds from
0 on and tuning from 10,000 on. Rules are compiled (`games_rules.pyx`), which needs Cython and a C
compiler, except those of Havannah, which are OpenSpiel's.
"""

import json
import math
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from benchmarks.games_likelihood import STEPS, most_likely
from benchmarks.games_positions import start
from benchmarks.intervals import interval
from bough import games, kernels
from bough.games.matches import wilson
from bough.games.players import SHARES
from bough.run.pools import cores

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
#: Games of a block of other matches, and of those of OpenSpiel's player in its slowest games.
SHORT = 50
SLOW = ("othello", "go(board_size=7)")
#: Playouts per decision of both players in matches with a kernel between boards.
FEW = 100
BOARD_KERNELS = {
    "linear": kernels.LinearFeatures(),
    "rbf": kernels.RBF(2.0),
}
#: Games that the constants have not seen and in which shares by likelihood are tried, and the
#: number of positions that they are taken from.
LEARNED = ("breakthrough(rows=6,columns=6)", "othello", "y(board_size=8)", "clobber")
SAMPLED = 12
#: Aims by game: the lower end of the interval against UCT and OpenSpiel's player; and that against
#: the better of RAVE and GRAVE, or, below 0.5, the score itself.
AIMS = {
    "connect_four": (0.5, 0.45),
    "hex(board_size=7)": (0.85, 0.5),
    "y(board_size=8)": (0.85, 0.45),
    "breakthrough(rows=6,columns=6)": (0.7, 0.55),
    "othello": (0.7, 0.55),
}
#: What follows the name of a player that has the settings of Hex in another game.
OF_HEX = " of Hex"
KNOBS = ("exploration", "equivalence", "bias", "reference")
#: Games on which constants were chosen.
HEX = "hex(board_size=7)"
CHOSEN_ON = ("connect_four", HEX)
#: Small games, solved by alpha-beta: that whose tuned settings they have, and moves before.
SOLVED = {
    "connect_four": ("connect_four", range(20, 29)),
    "hex(board_size=4)": ("hex(board_size=7)", range(2, 7)),
    "y(board_size=5)": ("y(board_size=8)", range(2, 7)),
}
#: Numbers of positions of each game, in blocks with a seed of their own.
POSITIONS = (130, 70, 200)
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

TUNING = "; ".join(", ".join(map(str, rounds)) for _, rounds in FAMILIES.values())

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

    def match(self, key: str, player: Any, opponent: Any, game: Any, count: int, seed: int) -> Row:
        """Return the row of a match of a player, which is played if it is missing."""

        def play() -> Row:
            position = start(game) if isinstance(game, str) else game
            found = games.match(
                player, opponent, position, count, seed=seed, workers=self.workers, progress=False
            )
            own, other = found.seconds_per_move
            return {
                "player": found.player, "opponent": found.opponent, "games": len(found.games),
                "won": found.wins, "drawn": found.draws, "lost": found.losses,
                "score": round(found.score, 4), "ms": [round(1e3 * own, 3), round(1e3 * other, 3)],
            }  # fmt: skip

        return self.row(key, play)

    def kind(self, kind: str) -> list[Row]:
        """Return the rows whose keys begin with a word."""
        return [row for key, row in self.rows.items() if key.split(":")[0] == kind]


# ---------------------------------------------------------------------- tuning


def tune(runs: Runs, game: str, family: str) -> Any:
    """Return the setting of a family that scores best, by successive halving."""
    settings, rounds = FAMILIES[family]
    left = list(settings)
    for number, count in enumerate(rounds):
        keys = [f"tune:{game}:{each.settings}:{number}" for each in left]
        seed = 10_000 + number
        scored = [
            (runs.match(key, each, YARDSTICK, game, count, seed)["score"], each)
            for key, each in zip(keys, left, strict=True)
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
            for family, opponent in opponents(runs, game, PLAYOUTS).items():
                count = SHORT if family == "OpenSpiel" and game in SLOW else BLOCK
                if family in families and block * count < MATCHES[game]:
                    player = games.Player(PLAYOUTS)
                    runs.match(
                        f"match:{game}:{family}:{block}", player, opponent, game, count, block
                    )


def rivals(runs: Runs, game: str) -> "dict[str, Score]":
    """Return the scores against RAVE and GRAVE, with their own settings and with those of Hex."""
    scores = {
        f"{family}{of}": Score.of(runs, f"{kind}:{game}:{family}")
        for kind, of in (("match", ""), ("transfer", OF_HEX))
        for family in ("RAVE", "GRAVE")
    }
    return {name: score for name, score in scores.items() if score.games}


def best_rival(runs: Runs, game: str) -> str:
    """Return the one of these with the better score against bough at equal playouts."""
    scores = rivals(runs, game)
    return min(scores, key=lambda name: scores[name].mean, default="RAVE")


def play_equal_time(runs: Runs, names: Iterable[str], blocks: Iterable[int]) -> None:
    """Play matches in which both players spend the same processor time per move.

    Everything runs through OpenSpiel from Python. The opponent makes 400 playouts, and bough as
    many as take as long, by the processor time of two short matches before.
    """
    for block in blocks:
        for game in names:
            family = best_rival(runs, game)
            like = HEX if family.endswith(OF_HEX) else game
            opponent = opponents(runs, like, PLAYOUTS)[family.removesuffix(OF_HEX)]
            position = games.open_spiel(game)
            playouts = PLAYOUTS
            for trial in range(2):
                own, other = runs.match(
                    f"calibration:{game}:{family}:{trial}", games.Player(playouts), opponent,
                    position, 8, 20_000 + trial,
                )["ms"]  # fmt: skip
                playouts = max(round(playouts * other / own), 20)
            player = games.Player(playouts)
            runs.match(f"cpu:{game}:{family}:{block}", player, opponent, position, SHORT, block)


def play_boards(runs: Runs, names: Iterable[str], kinds: Iterable[str], blocks: int) -> None:
    """Play matches between a player with a kernel between boards and one without."""
    for game in names:
        for kind in kinds:
            kernel = BOARD_KERNELS[kind]
            for block in range(blocks):
                runs.match(
                    f"boards:{game}:{kind}:{block}", games.Player(FEW, board_kernel=kernel),
                    games.Player(FEW), game, SHORT, 30_000 + block,
                )  # fmt: skip


def play_transfers(runs: Runs, names: Iterable[str], blocks: Iterable[int]) -> None:
    """Play against RAVE and GRAVE with the settings that tuning chose for Hex."""
    for block in blocks:
        for game in names:
            own = opponents(runs, game, PLAYOUTS)
            for family in ("RAVE", "GRAVE"):
                opponent = opponents(runs, HEX, PLAYOUTS)[family]
                if opponent != own[family]:
                    runs.match(
                        f"transfer:{game}:{family}:{block}", games.Player(PLAYOUTS), opponent,
                        game, SHORT, block,
                    )  # fmt: skip


def shares(runs: Runs, game: str) -> tuple[tuple[float, float, float], Row]:
    """Return the shares of the highest likelihood, v being that of the player, and their row."""
    row = runs.row(f"likelihood:{game}", lambda: most_likely(game, SAMPLED, PLAYOUTS))
    return (SHARES[0], row["v_label"], row["q"]), row


def play_shares(runs: Runs, names: Iterable[str], blocks: Iterable[int]) -> None:
    """Play matches between a player with shares by likelihood and one with the constants."""
    for block in blocks:
        for game in names:
            found, _ = shares(runs, game)
            if found != SHARES and game in LEARNED:
                runs.match(
                    f"shares:{game}:{block}", games.Player(PLAYOUTS, shares=found),
                    games.Player(PLAYOUTS), game, BLOCK, 40_000 + block,
                )  # fmt: skip


# ---------------------------------------------------------------------- solved positions


def solved(runs: Runs, game: str, block: int) -> list[tuple[list[int], dict[int, float]]]:
    """Return positions in which the choice matters, with the exact values of their moves."""

    def solve() -> Row:
        _, plies = SOLVED[game]
        rng = np.random.default_rng(block)
        found: list[Any] = []
        seen = {tuple(moves) for each in range(block) for moves, _ in solved(runs, game, each)}
        while len(found) < POSITIONS[block]:
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
                found.append([moves, list(values.items())])
        return {"positions": found}

    rows = runs.row(f"solved:{game}:{block}", solve)["positions"]
    return [(moves, dict(map(tuple, values))) for moves, values in rows]


def play_positions(runs: Runs, playouts: int, block: int) -> None:
    """Choose moves in solved positions with all players."""
    for game, (like, _) in SOLVED.items():
        players = {"bough": games.Player(playouts), **opponents(runs, like, playouts)}
        for family in ("bough", *FAMILIES):

            def choose(player: Any = players[family], game: str = game) -> Row:
                lost = []
                for number, (moves, values) in enumerate(solved(runs, game, block)):
                    choice = player.with_seed(number).choose(start(game, moves))
                    lost.append(max(values.values()) - values[choice.move])
                return {"score": round(float(np.mean(lost)), 4), "lost": lost}

            runs.row(f"positions:{game}:{family}:{playouts}:{block}", choose)


def regrets(runs: Runs, game: str, playouts: int) -> dict[str, NDArray[np.float64]]:
    """Return the regrets of all players, in the blocks that all of them have."""
    lost: dict[str, list[float]] = {family: [] for family in ("bough", *FAMILIES)}
    for block in range(len(POSITIONS)):
        rows = {
            family: runs.rows.get(f"positions:{game}:{family}:{playouts}:{block}")
            for family in lost
        }
        if all(rows.values()):
            for family, row in rows.items():
                lost[family] += row["lost"] if row else []
    return {family: np.array(each) for family, each in lost.items() if each}


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
    """Return microseconds per playout in the first moves of a game, all players in turn."""
    tuned = opponents(runs, name, PLAYOUTS)
    del tuned["OpenSpiel"]
    rules = {"compiled": start(name), "OpenSpiel": games.open_spiel(name)}
    found: Row = {}
    for label, position in rules.items():
        if label == "compiled" and isinstance(position, games.OpenSpielPosition):
            continue
        for family, player in {"bough": games.Player(PLAYOUTS), **tuned}.items():
            at, chosen, done = position.copy(), player.with_seed(0), 0
            begin = time.process_time()
            while at.result() is None and done < 10 * PLAYOUTS:
                decision = chosen.choose(at)
                done += decision.playouts
                at.play(decision.move)
            spent = time.process_time() - begin
            found[f"{family}, {label}"] = round(spent / max(done, 1) * 1e6, 1)
    return found


# ---------------------------------------------------------------------- the page


@dataclass(frozen=True)
class Score:
    """The score of bough in all games of some matches."""

    games: int
    won: int
    drawn: int
    ms: tuple[float, float]

    @classmethod
    def of(cls, runs: Runs, prefix: str) -> "Score":
        """Return the score in the rows whose keys begin with a prefix and a colon."""
        rows = [row for key, row in runs.rows.items() if key.startswith(f"{prefix}:")]
        own, other = (
            float(np.mean([row["ms"][side] for row in rows])) if rows else math.nan
            for side in (0, 1)
        )
        count, won, drawn = (sum(row[name] for row in rows) for name in ("games", "won", "drawn"))
        return cls(count, won, drawn, (own, other))

    @property
    def mean(self) -> float:
        """The share of the points."""
        return (self.won + 0.5 * self.drawn) / self.games if self.games else math.nan

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return wilson(self.mean, self.games)[0] if self.games else math.nan

    def __str__(self) -> str:
        if not self.games:
            return "-"
        low, high = wilson(self.mean, self.games)
        return f"{self.mean:.3f} ({low:.3f} to {high:.3f}), {self.games}"


def match_lines(runs: Runs) -> Iterator[str]:
    """Yield the table of matches at equal playouts."""
    families = ("UCT", "OpenSpiel", "RAVE", "GRAVE")
    yield f"| game | {' | '.join(families)} |"
    yield f"|---|{'---|' * len(families)}"
    for game in MATCHES:
        mark = " (development)" if game in CHOSEN_ON else ""
        scores = [str(Score.of(runs, f"match:{game}:{family}")) for family in families]
        yield f"| {game}{mark} | {' | '.join(scores)} |"


def transfer_lines(runs: Runs) -> Iterator[str]:
    """Yield the table of matches against the settings of Hex."""
    yield "| game | RAVE | GRAVE |"
    yield "|---|---|---|"
    for game in MATCHES:
        scores = [Score.of(runs, f"transfer:{game}:{family}") for family in ("RAVE", "GRAVE")]
        if any(score.games for score in scores):
            yield f"| {game} | {' | '.join(map(str, scores))} |"


def aim_lines(runs: Runs) -> Iterator[str]:
    """Yield the table of aims beside what was measured."""
    yield "| game | opponent | aim | measured | |"
    yield "|---|---|---|---|---|"
    for game, (least, other) in AIMS.items():
        for family in ("UCT", "OpenSpiel"):
            score = Score.of(runs, f"match:{game}:{family}")
            yield _aim(game, family, f"> {least:.2f}", score, score.low > least)
        family = best_rival(runs, game)
        score = rivals(runs, game).get(family, score)
        if other < 0.5:
            yield _aim(game, family, f"score >= {other:.2f}", score, score.mean >= other)
        else:
            yield _aim(game, family, f"> {other:.2f}", score, score.low > other)


def _aim(game: str, family: str, aim: str, score: Score, met: bool) -> str:
    verdict = "not measured" if not score.games else "met" if met else "**missed**"
    return f"| {game} | {family} | {aim} | {score} | {verdict} |"


def setting_lines(runs: Runs) -> Iterator[str]:
    """Yield the table of the settings that tuning chose."""
    yield "| game | " + " | ".join(FAMILIES) + " |"
    yield "|---|" + "---|" * len(FAMILIES)
    for game in MATCHES:
        if any(key.startswith(f"match:{game}:") for key in runs.rows):
            chosen = [_short(tune(runs, game, family)) for family in FAMILIES]
            yield f"| {game} | {' | '.join(chosen)} |"


def _short(player: Any) -> str:
    """Return the settings of a player without its name and its playouts."""
    names = [each.name for each in fields(player) if each.name in KNOBS]
    return ", ".join(
        f"{name} {getattr(player, name):g}" for name in names if _matters(player, name)
    )


def _matters(player: Any, name: str) -> bool:
    bias = getattr(player, "bias", None)
    return bias is None if name == "equivalence" else getattr(player, name) is not None


def position_lines(runs: Runs) -> Iterator[str]:
    """Yield the table of regrets, with that of RAVE less that of bough."""
    yield "| positions | playouts | bough | UCT | RAVE | GRAVE | RAVE less bough |"
    yield "|---|---|---|---|---|---|---|"
    for game in SOLVED:
        for playouts in MARKS:
            lost = regrets(runs, game, playouts)
            if lost:
                mean, low, high = interval(lost["RAVE"] - lost["bough"])
                yield (
                    f"| {len(lost['bough'])} of {game} | {playouts:,} | "
                    f"{' | '.join(map(_regret, lost.values()))} | "
                    f"{mean:+.3f} ({low:+.3f} to {high:+.3f}) |"
                )


def position_summary(runs: Runs) -> str:
    """Return whether the aims in solved positions are met."""
    cells = [
        lost for game in SOLVED for playouts in MARKS if (lost := regrets(runs, game, playouts))
    ]
    below = sum(lost["bough"].mean() < lost["UCT"].mean() for lost in cells)
    not_above = sum(interval(lost["RAVE"] - lost["bough"])[2] >= 0.0 for lost in cells)
    return (
        f"Aims: a mean below that of UCT, met in {below} of {len(cells)} cells; a mean not "
        f"significantly above that of RAVE, met in {not_above} of {len(cells)}."
    )


def _regret(lost: NDArray[np.float64]) -> str:
    mean, low, high = interval(lost)
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def time_lines(runs: Runs) -> Iterator[str]:
    """Yield the table of matches at equal processor time."""
    yield "| game | opponent | playouts of bough | of the opponent | ms per move | score, games |"
    yield "|---|---|---|---|---|---|"
    for game in MATCHES:
        for family, score in equal_time(runs, game).items():
            made = runs.rows[f"cpu:{game}:{family}:0"]["player"].split("=")[-1].rstrip(")")
            yield (
                f"| {game} | {family} | {made} | {PLAYOUTS} | {score.ms[0]:.1f}, {score.ms[1]:.1f} "
                f"| {score} |"
            )


def equal_time(runs: Runs, game: str) -> dict[str, Score]:
    """Return the scores at equal processor time by opponent."""
    keys = [row["key"].split(":") for row in runs.kind("cpu")]
    families = dict.fromkeys(family for _, each, family, _ in keys if each == game)
    return {family: Score.of(runs, f"cpu:{game}:{family}") for family in families}


def equal_time_summary(runs: Runs) -> str:
    """Return in how many games the aim at equal CPU time is met."""
    scores = [scores for game in MATCHES if (scores := equal_time(runs, game))]
    reached = sum(all(score.mean > 0.6 for score in each.values()) for each in scores)
    verdict = "met" if 2 * reached > len(scores) else "**missed**"
    return (
        f"Aim: a score above 0.60 in most games. It is met in {reached} of {len(scores)}: "
        f"{verdict}."
    )


def board_lines(runs: Runs) -> Iterator[str]:
    """Yield the table of matches with and without a kernel between boards."""
    yield "| game | kernel | score of the player with it, games | ms per move with it, without |"
    yield "|---|---|---|---|"
    for pair in dict.fromkeys(row["key"].rsplit(":", 1)[0] for row in runs.kind("boards")):
        _, game, kind = pair.split(":")
        score = Score.of(runs, pair)
        mark = " (development)" if game in CHOSEN_ON else ""
        yield (
            f"| {game}{mark} | `{BOARD_KERNELS[kind]!r}` | {score} | "
            f"{score.ms[0]:.1f}, {score.ms[1]:.1f} |"
        )


def share_lines(runs: Runs) -> Iterator[str]:
    """Yield the table of shares by likelihood, and of matches against the constants."""
    yield "| game | v_label, q | log-likelihood gained | score against the constants, games |"
    yield "|---|---|---|---|"
    for row in runs.kind("likelihood"):
        game = row["key"].split(":")[1]
        mark = " (chosen on)" if game in CHOSEN_ON else ""
        score = Score.of(runs, f"shares:{game}")
        yield f"| {game}{mark} | {row['v_label']:g}, {row['q']:g} | {row['gain']:.1f} | {score} |"


def _flat(runs: Runs) -> float:
    """Return by how much the log-likelihood of v differs at most between the first five values."""
    rows = [row["steps"][:5] for row in runs.kind("likelihood")]
    return max((max(steps) - min(steps) for steps in rows), default=math.nan)


def _held_out(runs: Runs) -> Score:
    rows = [row for row in runs.kind("shares") if row["key"].split(":")[1] in LEARNED]
    count, won, drawn = (sum(row[name] for row in rows) for name in ("games", "won", "drawn"))
    return Score(count, won, drawn, (math.nan, math.nan))


def speed_lines(runs: Runs) -> Iterator[str]:
    """Yield the table of the cost of a playout."""
    yield "| game | rules | bough | UCT | RAVE | GRAVE | bough / RAVE |"
    yield "|---|---|---|---|---|---|---|"
    for row in runs.kind("speed"):
        game = row["key"].split(":")[1]
        for label in ("compiled", "OpenSpiel"):
            if f"bough, {label}" in row:
                cells = [row[f"{family}, {label}"] for family in ("bough", *FAMILIES)]
                yield (
                    f"| {game} | {label} | {' | '.join(map(str, cells))} | "
                    f"{cells[0] / cells[2]:.1f} |"
                )


def page(runs: Runs) -> str:
    """Return the page of all tables."""
    missing = [game for game in MATCHES if not Score.of(runs, f"match:{game}:RAVE").games]
    plies = [
        f"{game.split('(')[0]} {after[0]} to {after[-1]}" for game, (_, after) in SOLVED.items()
    ]
    wrong = runs.rows.get("tic-tac-toe", {}).get("score")
    lines = [
        "# Games",
        "",
        "Scores of `games.Player` (1 for a win, 0.5 for a draw), with 95 % Wilson intervals and",
        "numbers of games. Each opening of two random moves is played twice, with colors swapped.",
        f"The constants of `Player` were chosen on {' and '.join(CHOSEN_ON)},",
        "with other seeds, and frozen. For each game, UCT, RAVE and GRAVE have the best of 8, 11",
        "and 11 settings, chosen by successive halving at 100 playouts against",
        f"`{YARDSTICK.settings}`. Games per setting in each round: {TUNING}.",
        "OpenSpiel's `MCTSBot` has the exploration of UCT. `python -m benchmarks.games table`",
        "writes this file.",
        "",
        f"## Matches at equal playouts, {PLAYOUTS} per decision",
        "",
        *match_lines(runs),
    ]
    if missing:
        lines += ["", f"Not measured: {', '.join(missing)}."]
    lines += [
        "",
        "Aims for the lower end of the interval, or for the score, against UCT, OpenSpiel's",
        "player and the best of RAVE and GRAVE, with settings of their own or those of Hex:",
        "",
        *aim_lines(runs),
        "",
        "If the interval contains the aim, the result is inconclusive. The plan was 400 games per",
        "match (100 in Go), 400 positions of each game, and equal time in all games; the tables",
        "have the numbers that were played.",
        "",
        "The settings of the opponents:",
        "",
        *setting_lines(runs),
        "",
        "The best settings with 100 playouts need not be the best with 400. Scores against RAVE",
        f"and GRAVE with the settings of Hex, where they differ, {PLAYOUTS} playouts per decision:",
        "",
        *transfer_lines(runs),
        "",
        "## Solved positions",
        "",
        "Mean regret of the chosen move, where results are +1, 0 or -1, with 95 % bootstrap",
        "intervals, in positions whose moves differ in value, solved by `games.AlphaBeta`.",
        "Numbers of random moves before the position:",
        f"{', '.join(plies)}.",
        "",
        *position_lines(runs),
        "",
        position_summary(runs),
    ]
    if wrong is not None:
        lines += ["", f"Tic-tac-toe, 1,600 playouts: {wrong} mistakes in 100 games."]
    lines += [
        "",
        "## Matches at equal CPU time",
        "",
        "Matches against the best of RAVE and GRAVE, as above, with all games played through",
        f"OpenSpiel from Python. The opponent makes {PLAYOUTS} playouts, bough the number that",
        "takes the same time, as measured in 16 earlier games.",
        "",
        *time_lines(runs),
        "",
        equal_time_summary(runs),
        "",
        "## A kernel between boards",
        "",
        f"The player with `board_kernel` against the player without, both with {FEW} playouts. The",
        "features are the cells with stones of the first and of the second player.",
        "",
        *board_lines(runs),
        "",
        "## Variances by likelihood, tried without gain",
        "",
        "Scores of the player with the v_label and q of the highest likelihood in each game,",
        f"against the player with the default constants, {SHARES[1]:g} and {SHARES[2]:g} (in units",
        f"of 1/L), both with {PLAYOUTS} playouts. The likelihood is that of the tables of",
        f"{SAMPLED} positions (`benchmarks/games_likelihood.py`); the gain is that of the",
        "log-likelihood per position, which hardly depends on v: it changes by at most",
        f"{_flat(runs):.1f} from {STEPS[0]:g} to {STEPS[4]:g}.",
        "",
        *share_lines(runs),
        "",
        f"All held-out games together: {_held_out(runs)}.",
        "",
        "## Microseconds per playout",
        "",
        "CPU time in the first moves of a game, for all players one after the other.",
        "",
        *speed_lines(runs),
        "",
    ]
    return "\n".join(lines)


# ---------------------------------------------------------------------- command


@click.group()
@click.option("--file", type=click.Path(path_type=pathlib.Path), default=FILE, help="File of runs.")
@click.option("--workers", type=int, default=None, help="Number of processes.")
@click.pass_context
def main(context: click.Context, file: pathlib.Path, workers: int | None) -> None:
    """Measure players of games."""
    context.obj = Runs(file, cores() if workers is None else workers)


only = click.option("--only", default="", help="Games whose names contain one of these words.")


def _chosen(only: str) -> list[str]:
    words = only.split(";")
    return [game for game in MATCHES if any(word.strip() in game for word in words)]


@main.command("tune")
@only
@click.pass_obj
def tune_command(runs: Runs, only: str) -> None:
    """Choose settings of the baselines, by successive halving at 100 playouts."""
    for game in _chosen(only):
        for family in FAMILIES:
            click.echo(f"{game}: {tune(runs, game, family).settings}")


@main.command("matches")
@only
@click.option("--against", default="UCT,OpenSpiel,RAVE,GRAVE", show_default=True)
@click.option("--blocks", type=int, default=4, help="Hundreds of games of a match.")
@click.pass_obj
def matches_command(runs: Runs, only: str, against: str, blocks: int) -> None:
    """Play matches at equal playouts."""
    play_matches(runs, _chosen(only), against.split(","), range(blocks))


@main.command("transfers")
@only
@click.option("--blocks", type=int, default=2, help="Number of blocks of 50 games.")
@click.pass_obj
def transfers_command(runs: Runs, only: str, blocks: int) -> None:
    """Play against RAVE and GRAVE with the settings of Hex."""
    play_transfers(runs, _chosen(only), range(blocks))


@main.command("cpu")
@only
@click.option("--blocks", type=int, default=1, help="Number of blocks of 50 games.")
@click.pass_obj
def cpu_command(runs: Runs, only: str, blocks: int) -> None:
    """Play matches at equal processor time, through OpenSpiel."""
    play_equal_time(runs, _chosen(only), range(blocks))


@main.command("boards")
@click.option("--only", default="go(board_size=7)", help="Games, separated by semicolons.")
@click.option("--kinds", default="linear", help="Kernels, separated by commas.")
@click.option("--blocks", type=int, default=2, help="Number of blocks of 50 games.")
@click.pass_obj
def boards_command(runs: Runs, only: str, kinds: str, blocks: int) -> None:
    """Play with a kernel between boards against the same player without it."""
    play_boards(runs, only.split(";"), kinds.split(","), blocks)


@main.command("shares")
@click.option("--blocks", type=int, default=2, help="Hundreds of games of a match.")
@click.pass_obj
def shares_command(runs: Runs, blocks: int) -> None:
    """Play with variances of the highest likelihood against the constants."""
    play_shares(runs, [*CHOSEN_ON, *LEARNED], range(blocks))


@main.command("positions")
@click.option("--playouts", type=int, multiple=True, default=MARKS, help="Playouts per decision.")
@click.option("--blocks", type=int, default=len(POSITIONS), help="Number of blocks of positions.")
@click.pass_obj
def positions_command(runs: Runs, playouts: tuple[int, ...], blocks: int) -> None:
    """Measure regrets in solved positions, and mistakes in tic-tac-toe."""
    for block in range(blocks):
        for count in playouts:
            play_positions(runs, count, block)
    runs.row("tic-tac-toe", lambda: {"score": mistakes(1600, 100)})


@main.command("speed")
@only
@click.pass_obj
def speed_command(runs: Runs, only: str) -> None:
    """Measure microseconds per playout."""
    for game in _chosen(only):
        runs.row(f"speed:{game}", lambda: speed(runs, game))  # noqa: B023


@main.command("table")
@click.option("--target", type=click.Path(path_type=pathlib.Path), default=PAGE, help="The page.")
@click.pass_obj
def table_command(runs: Runs, target: pathlib.Path) -> None:
    """Write the tables, and print them."""
    text = page(runs)
    target.write_text(text)
    click.echo(text)


if __name__ == "__main__":
    main()
