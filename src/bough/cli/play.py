"""`bough play`: a game against a player in the terminal, or a match of two players."""

import importlib.util
import pathlib
import re
import sys
from typing import Any

import click
from click.core import ParameterSource

from bough.cli.dialogue import Dialogue
from bough.cli.options import json_option, shared
from bough.cli.shell import (
    COUNT,
    INTERRUPTED,
    NEW_FILE,
    echo,
    function_of,
    load_module,
    print_facts,
)
from bough.games import PLAYERS, AlphaBeta, GamePlayer, MatchResult, Position, TicTacToe, match
from bough.games.rules import OpenSpielPosition, check_open, open_spiel, position_of
from bough.report.games import write_match
from bough.report.page import check_folder
from bough.run.render import finite

NAMES = click.Choice(sorted([*PLAYERS, "alphabeta"]))
#: Options of a match only, and those of a game against a person only.
OF_MATCHES = ("opponent_playouts", "games", "opening", "workers", "study", "report")
OF_DIALOGUES = ("first", "hints")


@click.command("play")
@click.argument("game")
@click.option(
    "--player",
    type=NAMES,
    default="bough",
    help="Your opponent, or the player whose score a match measures.",
)
@click.option("--against", type=NAMES, help="Opponent in a match, instead of you.")
@click.option(
    "--playouts",
    type=COUNT,
    help="Playouts per decision; positions for alphabeta.  [default: 400 without --seconds]",
)
@shared("--seconds", note=", of a decision")
@click.option("--first/--second", default=True, help="Whether you move first.")
@click.option("--hints/--no-hints", default=True, help="The player's evaluation of your moves.")
@click.option("--games", type=COUNT, default=200, help="Number of games of a match.")
@click.option(
    "--opponent-playouts",
    type=COUNT,
    help="Playouts per decision of the opponent.  [default: the limits of the player]",
)
@click.option(
    "--opening",
    type=click.IntRange(min=0),
    default=2,
    help="Number of random moves with which games of a match begin, each opening with both colors.",
)
@shared("--workers", note=" of a match", otherwise="one for each core")
@shared("--seed", otherwise="0 for a match, otherwise drawn")
@shared("--study", note=", of finished games", type=NEW_FILE)
@click.option("--report", type=NEW_FILE, help="HTML file for the page of a match.")
@json_option
def command(
    game: str,
    player: str,
    against: str | None,
    playouts: int | None,
    seconds: float | None,
    opponent_playouts: int | None,
    seed: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Play GAME against a player, or let two players play a match.

    \b
    bough play connect_four
    bough play "hex(board_size=7)" --second --seconds 2
    bough play othello --player rave --no-hints
    bough play mine.py:Game
    bough play connect_four --against uct --games 200 --study games.jsonl --report match.html
    bough play breakthrough --against rave --seconds 0.05

    GAME is a game of OpenSpiel with two players, perfect information and no chance, or
    FILE.py:NAME, a class or function that returns a position, as bough.games.Position describes it.
    Enter a move by its name, by a part of the name that no other move has, or by its number. In a
    match both players have the same limits unless the opponent has --opponent-playouts.
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    source_of = click.get_current_context().get_parameter_source
    for name in OF_DIALOGUES if against is not None else OF_MATCHES:
        if source_of(name) is ParameterSource.COMMANDLINE:
            use = "is for a game against you" if against is not None else "needs --against"
            option = "--first/--second" if name == "first" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} {use}.")
    position = _position(game)
    if playouts is None and seconds is None:
        playouts = 400
    own = _player(player, position, playouts, seconds, seed)
    if against is None:
        facts = Dialogue(
            position, own, plays_first=options["first"], hints=options["hints"], err=as_json
        ).run()
        if as_json:
            print_facts({"game": game, **facts}, "", as_json=True)
        return
    if opponent_playouts is not None:
        playouts, seconds = opponent_playouts, None
    _play_match(
        position, own, _player(against, position, playouts, seconds, seed), options["games"],
        opening=options["opening"], seed=seed or 0, workers=options["workers"],
        study=options["study"], report=options["report"], as_json=as_json,
    )  # fmt: skip


def _position(text: str) -> Position:
    """Return the position at the start of a game."""
    own = re.fullmatch(r"(.+\.py|[\w.]+):(\w+)", text)
    try:
        if own is not None:
            make: Any = function_of(load_module(own[1]), own[1], own[2])
            position = position_of(make())
        elif text == "tic_tac_toe" and importlib.util.find_spec("pyspiel") is None:
            position = TicTacToe()
        elif ":" in text or text.endswith(".py"):
            raise click.UsageError(f"{text!r} is not the name of a game, nor FILE.py:NAME.")
        else:
            position = open_spiel(text)
        check_open(position)
    except (click.UsageError, ImportError):
        raise
    except Exception as error:  # anything that a game of the user, or OpenSpiel, may raise
        where = f"{text}: " if own is not None or not isinstance(error, ValueError) else ""
        raise click.UsageError(f"{where}{str(error) or repr(error)}") from error
    return position


def _player(
    name: str, position: Position, playouts: int | None, seconds: float | None, seed: int | None
) -> GamePlayer:
    """Return a player with its limits of a decision."""
    if name == "alphabeta":
        return AlphaBeta(seconds=seconds, nodes=playouts)
    if name == "random":
        return PLAYERS[name](rng=seed)
    if name != "openspiel":
        return PLAYERS[name](playouts, seconds, rng=seed)
    if not isinstance(position, OpenSpielPosition):
        raise click.UsageError("the player openspiel plays games of OpenSpiel only.")
    if seconds is not None:
        raise click.UsageError("the player openspiel is limited by playouts, not by --seconds.")
    return PLAYERS[name](playouts, rng=seed)


# ---------------------------------------------------------------------- matches


def _play_match(
    position: Position,
    player: GamePlayer,
    opponent: GamePlayer,
    games: int,
    *,
    opening: int,
    seed: int,
    workers: int | None,
    study: pathlib.Path | None,
    report: pathlib.Path | None,
    as_json: bool,
) -> None:
    """Play a match, print its result, and write its page."""
    if report is not None:
        check_folder(report)
        if study is not None and report.resolve() == study.resolve():
            raise click.UsageError("--report and --study must not be the same file.")
    result = match(
        player, opponent, position, games, opening=opening, seed=seed, workers=workers,
        file=study, progress=False if as_json else None,
    )  # fmt: skip
    text = str(result)
    if report is not None and result.games:
        write_match(result, report)
        text += f"\n\nwritten: {report}"
    print_facts(_facts(result, games), text, as_json=as_json)
    if result.interrupted:
        resume = "" if study is None else f"; run the same command again to resume {study}"
        echo(f"interrupted after {len(result.games)} of {games} games{resume}", err=True)
        sys.exit(INTERRUPTED)


def _facts(result: MatchResult, games: int) -> dict[str, Any]:
    """Return the result of a match as plain values."""
    facts: dict[str, Any] = {
        "game": result.game,
        "player": result.player,
        "opponent": result.opponent,
        "games": len(result.games),
        "left": games - len(result.games),
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
    }
    if result.games:
        facts |= {
            "score": result.score,
            "interval": list(result.interval),
            "elo": [finite(number) for number in result.elo],
            "seconds_per_move": list(result.seconds_per_move),
        }
    return facts
