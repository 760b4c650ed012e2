"""The games of the benchmark: compiled rules, or OpenSpiel's, by the same names."""

import functools
import pathlib
import warnings
from collections.abc import Sequence
from typing import Any

from bough import games

#: Where the compiled module is kept.
BUILD = pathlib.Path(__file__).parent.parent / "build" / "games_rules"


@functools.cache
def rules() -> dict[str, Any]:
    """Return the classes of `games_rules.pyx` by OpenSpiel's names; the first call compiles it."""
    import pyximport

    importers = pyximport.install(language_level=3, build_dir=str(BUILD))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the tools that build it
            from benchmarks import games_rules
    finally:
        pyximport.uninstall(*importers)
    classes = [kind for kind in vars(games_rules).values() if getattr(kind, "game", "")]
    return {kind.game: kind for kind in classes}


def start(name: str, moves: Sequence[int] = ()) -> games.Position:
    """Return a position of a game after some moves."""
    kind = rules().get(name)
    position = games.open_spiel(name) if kind is None else kind()
    for move in moves:
        position.play(move)
    return position
