"""Trees of playouts: UCT, RAVE and GRAVE by definition, proven values, failures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_games import KeyedGame, RandomGame, UnlabeledGame, below, random_game
from slow_trees import SlowTally, numbers_of

from bough import games
from bough.belief.rng import SplitMix64
from bough.games.beliefs import BeliefTree
from bough.games.tree import TallyTree

MOST_DEPTH = 1000  # of a node
SEEDS = st.integers(0, 10**6)
KINDS = st.sampled_from([RandomGame, UnlabeledGame])
SETTINGS = {
    "uct": {},
    "rave by hand": {"equivalence": 20.0},
    "rave by least error": {"bias": 0.3},
    "rave without bias": {"bias": 0.0},
    "grave": {"bias": 0.1, "reference": 6},
    "grave by hand": {"equivalence": 5.0, "reference": 3},
}


def tally_tree(seed, exploration, *, equivalence=None, bias=None, reference=0):
    return TallyTree(
        SplitMix64(seed), exploration, equivalence or 0.0, -1.0 if bias is None else bias, reference
    )


def belief_tree(seed):
    return BeliefTree(SplitMix64(seed), 1.7, (0.2, 0.6, 0.2))


TREES = st.sampled_from([belief_tree, lambda seed: tally_tree(seed, 0.7, bias=0.1)])


# ---------------------------------------------------------------------- tallies


@given(SEEDS, KINDS, st.sampled_from(sorted(SETTINGS)), st.sampled_from([0.0, 0.3, 1.0]))
def test_tallies_are_their_definition(seed, kind, name, exploration):
    game = random_game(seed, kind)
    tree = tally_tree(seed, exploration, **SETTINGS[name])
    slow = SlowTally(game, SplitMix64(seed), exploration, **SETTINGS[name])
    for _ in range(25):
        if tree.is_settled:
            break
        position = game.copy()
        tree.simulate(position)
        slow.simulate(position.path)
        assert tree.rng.state == slow.rng.state
    numbers = numbers_of(tree)
    assert tree.used == len(numbers)
    for node, n in numbers.items():
        through = slow.through(node)
        record = tree.records[n]
        assert record["visits"] == len(through)
        assert record["total"] == pytest.approx(sum(p.result for p in through))
        assert (record["low"], record["high"]) == slow.bounds(node)


class Fork:
    """Two moves, `a` and `b`; after them the second player chooses between `a` and `c`."""

    def __init__(self):
        self.path = ""

    @property
    def player(self):
        return len(self.path) % 2

    def moves(self):
        return "ac" if self.path else "ab"

    def play(self, move):
        self.path += move

    def result(self):
        return {"aa": 0.5, "ac": -1.0, "ba": 1.0, "bc": 0.0}.get(self.path)

    def copy(self):
        other = Fork()
        other.path = self.path
        return other


@pytest.mark.parametrize("player", [games.UCT, games.RAVE, games.GRAVE, games.Player])
def test_a_small_game_is_solved(player):
    decision = player(50, rng=1).choose(Fork())
    assert (decision.move, decision.value, decision.is_proven) == ("b", 0.0, True)
    assert decision.playouts < 20


# ---------------------------------------------------------------------- proven values


@given(SEEDS, TREES, st.integers(1, 120))
def test_bounds_hold_the_values_of_optimal_play(seed, make, playouts):
    game = random_game(seed, size=12)
    tree = make(seed)
    for _ in range(playouts):
        if tree.is_settled:
            break
        tree.simulate(game.copy())
    for node, n in numbers_of(tree).items():
        position = game.copy()
        for move in node:
            position.play(move)
        record = tree.records[n]
        assert record["low"] <= position.value <= record["high"]
    assert tree.bounds == tuple(tree.records[["low", "high"]][0])


@given(SEEDS, TREES)
def test_small_games_are_settled(seed, make):
    game = random_game(seed, size=8, widest=3)
    tree = make(seed)
    for _ in range(3000):
        if tree.is_settled:
            break
        tree.simulate(game.copy())
    assert tree.is_settled
    assert tree.bounds == (game.value, game.value)


# ---------------------------------------------------------------------- playouts of positions


class WithPlayout(KeyedGame):
    """The same with its own playouts."""

    def playout(self, below):
        played = []
        while self.result() is None:
            moves = self.moves()
            move = moves[below(len(moves))]
            played.append((self.player, self.label(move)))
            self.play(move)
        return played


@given(SEEDS)
def test_playouts_of_a_position_are_those_by_its_other_methods(seed):
    trees = []
    for kind in (RandomGame, WithPlayout):
        game, tree = random_game(seed, kind, size=20), belief_tree(seed)
        for _ in range(30):
            if not tree.is_settled:
                tree.simulate(game.copy())
        trees.append(tree)
    assert trees[0].records.tobytes() == trees[1].records.tobytes()
    assert trees[0].nodes.records.tobytes() == trees[1].nodes.records.tobytes()


class Chain:
    """A game of one move after the other."""

    player = 0

    def __init__(self, length, played=0):
        self.length, self.played = length, played

    def moves(self):
        return [0]

    def play(self, move):
        self.played += 1

    def result(self):
        return 0.25 if self.played == self.length else None

    def copy(self):
        return Chain(self.length, self.played)


@pytest.mark.parametrize("make", [belief_tree, lambda seed: tally_tree(seed, 1.0, bias=0.0)])
def test_games_longer_than_the_tree_is_deep(make):
    game, tree = Chain(MOST_DEPTH + 20), make(0)
    for _ in range(MOST_DEPTH + 50):
        tree.simulate(game.copy())
    assert tree.records["depth"].max() == MOST_DEPTH
    assert tree.used == MOST_DEPTH + 1
    assert not tree.is_settled
    assert tree.records["total"][0] == 0.25 * (MOST_DEPTH + 50)


@pytest.mark.parametrize("player", [games.Player, games.UCT, games.RAVE, games.GRAVE])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_forced_moves(player, length):
    decision = player(40, rng=0).choose(Chain(length))
    [only] = decision.moves
    assert (decision.move, only.probability, only.name) == (0, 1.0, "0")
    assert decision.is_proven
    assert (decision.value, decision.std, only.std) == (0.25, 0.0, 0.0)


# ---------------------------------------------------------------------- failures


class FailingGame(KeyedGame):
    """A position that raises an exception at some call of its methods, if told to."""

    calls = 0
    fails_at = None
    error = KeyboardInterrupt

    @classmethod
    def count(cls):
        cls.calls += 1
        if cls.calls == cls.fails_at:
            raise cls.error

    def play(self, move):
        self.count()
        super().play(move)

    def result(self):
        self.count()
        return super().result()

    def moves(self):
        self.count()
        return super().moves()

    def label(self, move):
        self.count()
        return super().label(move)

    @property
    def player(self):
        self.count()
        return super().player


def known(tree):
    """Return what is known of the nodes that have been visited."""
    numbers = numbers_of(tree)
    seen = {}
    for node, n in numbers.items():
        if tree.records["visits"][n]:
            fields = ("visits", "total", "low", "high")
            seen[node] = [tree.records[field][n] for field in fields]
            if isinstance(tree, BeliefTree):
                parts = ("mu", "v", "g", "offset", "spread", "own_precision", "sub_precision")
                seen[node] += [tree.nodes.records[part][n] for part in parts]
    return seen


@given(seed=SEEDS, make=TREES, playouts=st.integers(0, 40), call=st.integers(1, 60))
def test_a_playout_that_fails_changes_nothing_that_is_known(seed, make, playouts, call):
    failing = FailingGame
    failing.fails_at = None
    game, tree = random_game(seed, failing, size=14), make(seed)
    for _ in range(playouts):
        if not tree.is_settled:
            tree.simulate(game.copy())
    if tree.is_settled:
        return
    before, count = known(tree), tree.playouts
    values = tree.values() if isinstance(tree, BeliefTree) and tree.is_expanded else ()
    if values:  # which takes what is known of labels to the steps
        before = known(tree)
    failing.calls, failing.fails_at = 0, call
    try:
        tree.simulate(game.copy())
    except KeyboardInterrupt:
        after = known(tree)
        assert after.keys() == before.keys()
        for node, found in after.items():
            assert found == pytest.approx(before[node], abs=1e-9)
        assert tree.playouts == count
        if values:
            for one, other in zip(tree.values(), values, strict=True):
                assert one == pytest.approx(other, abs=1e-9)
    failing.fails_at = None
    for _ in range(20):  # and the tree is as good as before
        if not tree.is_settled:
            tree.simulate(game.copy())
    for node, n in numbers_of(tree).items():
        position = game.copy()
        for move in node:
            position.play(move)
        assert tree.records["low"][n] <= position.value <= tree.records["high"][n]


class Odd(games.TicTacToe):
    """Tic-tac-toe with one thing wrong, after some moves."""

    def __init__(self, wrong=None, after=0):
        super().__init__()
        self.wrong, self.after = wrong, after

    def copy(self):
        other = super().copy()
        other.wrong, other.after = self.wrong, self.after
        return other

    def is_wrong(self, name):
        wrong = self.wrong
        return wrong is not None and wrong[0] == name and len(self._moves) >= self.after

    @property
    def player(self):
        return self.wrong[1] if self.is_wrong("player") else super().player

    def moves(self):
        return self.wrong[1] if self.is_wrong("moves") else super().moves()

    def result(self):
        if self.is_wrong("result") and len(self._moves) > 4:
            return self.wrong[1]
        return super().result()

    def label(self, move):
        return self.wrong[1] if self.is_wrong("label") else move


WRONG = [
    (("player", 2), r"player must be|player must be at most 1, got 2"),
    (("player", -1), r"player must be"),
    (("moves", []), r"moves\(\) is empty"),
    (("result", 7.0), r"result\(\) must be between -1 and 1, got 7"),
    (("result", float("nan")), r"result\(\) must be finite"),
    (("result", "win"), r"result\(\) must be one real number, got 'win'"),
    (("label", [1]), r"must be hashable, got \[1\]"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
@pytest.mark.parametrize("after", [0, 1, 4])
@pytest.mark.parametrize(
    "player", [games.Player, games.UCT, games.RAVE, games.AlphaBeta, games.RandomPlayer]
)
def test_wrong_positions_are_refused(player, wrong, message, after):
    made = player() if player is games.AlphaBeta else player(rng=0)
    game = Odd(wrong, after)
    unused = {games.AlphaBeta: "label"}.get(player) == wrong[0] or player is games.RandomPlayer
    if unused and not (after == 0 and wrong[0] in ("player", "moves")):
        return
    with pytest.raises((ValueError, TypeError), match=message):
        made.choose(game)
    assert game.history() == []
    assert made.choose(games.TicTacToe()).move in range(9)


def test_playouts_must_end_the_game():
    class Short(games.TicTacToe):
        def playout(self, below):
            return []

    with pytest.raises(ValueError, match=r"playout\(\), which must play to the end"):
        games.Player(rng=0).choose(Short())


def test_random_numbers_below_zero_are_refused():
    for n in (0, -3):
        with pytest.raises(ValueError, match="n must be at least 1"):
            below(0)(n)


def test_moves_may_be_an_array():
    class Arrays(games.TicTacToe):
        def moves(self):
            return np.array(super().moves())

    assert games.Player(60, rng=0).choose(Arrays()).move in range(9)
