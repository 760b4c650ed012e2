"""The compiled trees are their source: the same bits."""

import sys

import numpy as np
import pytest
from random_games import KeyedGame, UnlabeledGame, random_game
from uncompiled import load

from bough import games
from bough.belief.rng import SplitMix64
from bough.games import beliefs, tree

MODULES = [
    "bough." + name
    for name in (
        "belief.rng", "belief.nodes", "belief.effects", "belief.posterior", "games.tree",
        "games.beliefs",
    )
]  # fmt: skip


class Compiled:
    SplitMix64, BeliefTree, TallyTree = SplitMix64, beliefs.BeliefTree, tree.TallyTree


@pytest.fixture(scope="module")
def source():
    """Return the same classes as plain Python."""
    kept = {name: sys.modules[name] for name in MODULES}
    try:
        for name in kept:
            load(name, keep=True)
        rng, *_, slow_tree, slow_beliefs = (sys.modules[name] for name in MODULES)
    finally:
        sys.modules.update(kept)
    assert slow_beliefs.__file__.endswith(".py")
    assert slow_beliefs.GameTree is slow_tree.GameTree

    class Source:
        SplitMix64, BeliefTree = rng.SplitMix64, slow_beliefs.BeliefTree
        TallyTree = slow_tree.TallyTree

    return Source


def grow(module, kind, game, playouts, seed):
    """Return everything that is known of a tree before and after its root has changed."""
    rng = module.SplitMix64(seed)
    if kind == "belief":
        prior = {(0, "a"): (0.2, 0.1), (1, 3): (-0.1, 0.3)}
        grown = module.BeliefTree(rng, 1.7, (0.2, 0.6, 0.2), prior)
    else:
        settings = {"uct": (), "rave": (0.0, 0.2), "grave": (0.0, 0.1, 5), "by hand": (20.0,)}
        grown = module.TallyTree(rng, 0.8, *settings[kind])
    seen = []
    for _ in range(3):
        done = 0
        while done < playouts and not grown.is_settled:
            grown.simulate(game.copy())
            done += 1
        seen += [grown.records.tolist(), grown.bounds, rng.state, grown.mean_length]
        if kind == "belief":
            seen.append(grown.nodes.records.tolist())
            seen += [np.array(part).tobytes() for part in grown.values()]
            seen += [sorted(grown.effects().items(), key=repr)]
        records = np.array(grown.records)
        moves = [
            n for n in range(1, len(records))
            if records["visits"][n] > 1 and records["low"][n] < records["high"][n]
        ]  # fmt: skip
        if not moves:
            break
        n = moves[len(moves) // 2]
        path = []
        while n != 0:
            parent = int(records["parent"][n])
            path.append(grown.children(parent)[0][n - int(records["first"][parent])])
            n = parent
        seen.append(np.array(grown.make_root(moves[len(moves) // 2])).tobytes())
        for move in reversed(path):
            game.play(move)
    return seen


@pytest.mark.parametrize("kind", ["belief", "uct", "rave", "grave", "by hand"])
@pytest.mark.parametrize("number", range(4))
def test_the_source_gives_the_same_bits(source, kind, number):
    def game():
        if number == 0:
            return games.TicTacToe()
        return random_game(number, (KeyedGame, UnlabeledGame)[number % 2], size=16, widest=5)

    fast = grow(Compiled, kind, game(), 60, number)
    assert fast == grow(source, kind, game(), 60, number)
    assert len(fast) > 4
