"""Players: the belief about games, UCT, RAVE and GRAVE."""

import math
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bough._validation import above_zero, at_least_zero, listed, real, whole
from bough.belief.rng import Rng, SplitMix64, generator
from bough.games.beliefs import BeliefTree
from bough.games.regression import BoardRegression
from bough.games.rules import Move, Position, check_open, name_of, position_of
from bough.games.tree import GameTree, TallyTree
from bough.kernels import LabelKernel
from bough.kernels.labels import check_label_kernel

Array = NDArray[np.float64]

#: v, v_label and q in units of 1/L, L the mean length of a game (see `bough.games.beliefs`).
SHARES = (0.2, 0.2, 0.02)
#: Draws from the joint posterior of the moves, for the probability that each is the best.
DRAWS = 1000


@dataclass(frozen=True)
class MoveValue:
    """The value of a move, for the player who makes it."""

    move: Move
    name: str
    value: float  #: expected result of optimal play after the move, from -1 to 1
    std: float  #: its standard deviation; nan for players without one
    visits: int  #: playouts that began with it
    probability: float  #: probability that no other move is better
    is_proven: bool  #: whether the value is exact


@dataclass(frozen=True)
class Decision:
    """A chosen move and the values of all moves, for the player to move."""

    move: Move
    name: str
    value: float  #: expected result of optimal play after the move, from -1 to 1
    std: float  #: its standard deviation; nan for players without one
    moves: tuple[MoveValue, ...]  #: all legal moves, the best first
    playouts: int  #: playouts for this decision
    seconds: float
    is_proven: bool  #: whether the value is exact, and no other move is better

    def __str__(self) -> str:
        width = max(len(each.name) for each in self.moves)
        lines = [f"{'move':{width}}  value    std  visits  best"]
        for each in self.moves:
            std = "proven" if each.is_proven else f"{each.std:6.3f}"
            lines.append(
                f"{each.name:{width}} {each.value:+6.3f} {std:>6} {each.visits:7d} "
                f"{each.probability:5.1%}"
            )
        return "\n".join(lines)


@dataclass
class GamePlayer(ABC):
    """A player of games: `choose(position)` returns a `Decision`."""

    @abstractmethod
    def choose(self, game: Any) -> Decision:
        """Choose a move in a position, which is not changed.

        Parameters
        ----------
        game : Position, pyspiel.State or str
            The position, or the name of a game of OpenSpiel, at its start.
        """

    @property
    def settings(self) -> str:
        """The name and the settings, without the seed, as results of matches show them."""
        given = (
            f"{each.name}={getattr(value, '__qualname__', repr(value))}"
            for each in fields(self)
            if each.init and each.name not in ("rng", "keep")
            and (value := getattr(self, each.name)) != each.default
        )  # fmt: skip
        return f"{type(self).__name__}({', '.join(given)})"

    def with_seed(self, seed: int) -> Self:
        """Return a player with the same settings, another seed and no memory."""
        return replace(self, rng=seed)  # type: ignore[call-arg]


@dataclass
class TreePlayer(GamePlayer):
    """A player that thinks by playouts.

    Parameters
    ----------
    playouts : int, optional
        Playouts per decision; 400 without `seconds`.
    seconds : float, optional
        Seconds per decision. With both limits, the first one reached ends it.
    rng : None, int or numpy.random.Generator
        Seed of the playouts.
    keep : bool
        Whether the tree is reused for the next move, if positions have a `history()`.
    """

    playouts: int | None = None
    seconds: float | None = None
    rng: Rng = field(default=None, kw_only=True)
    keep: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if self.playouts is not None:
            self.playouts = whole(self.playouts, "playouts", least=1)
        if self.seconds is not None:
            self.seconds = above_zero(self.seconds, "seconds")
        if self.playouts is None and self.seconds is None:
            self.playouts = 400
        self._rng = _generator(self.rng)
        self._tree: Any = None
        self._history: list[Move] | None = None  # of the root of the tree
        self._root: Position | None = None

    @abstractmethod
    def _new_tree(self, rng: SplitMix64) -> GameTree:
        """Return a tree of a root alone."""

    @abstractmethod
    def _evaluate(self, sign: float) -> tuple[Array, Array, Array, Array]:
        """Return values of the moves, their deviations, probabilities to be best, and ranks.

        Values are for the player to move, whose sign is given; the highest rank is played.
        """

    def choose(self, game: Any) -> Decision:
        """Choose a move in a position, which is not changed."""
        return self.think(game)

    def think(
        self, game: Any, *, playouts: int | None = None, seconds: float | None = None
    ) -> Decision:
        """Search a position, and return the evaluation of its moves.

        Parameters
        ----------
        game : Position, pyspiel.State or str
            The position, or the name of a game of OpenSpiel, at its start.
        playouts, seconds
            Limits instead of those of the player. The tree is kept, so repeated calls continue the
            search.
        """
        position = position_of(game)
        check_open(position)
        if playouts is None and seconds is None:
            playouts, seconds = self.playouts, self.seconds
        most = math.inf if playouts is None else whole(playouts, "playouts", least=1)
        limit = math.inf if seconds is None else above_zero(seconds, "seconds")
        begin = time.perf_counter()
        tree = self._tree_of(position)
        done = 0
        while not tree.is_settled:
            tree.simulate(position.copy())
            done += 1
            if done == 1 and position.result() is not None:
                self._history = None
                raise ValueError(
                    "copy() must return an independent copy: a game that was played on a copy has "
                    "changed the position"
                )
            if (done >= most or time.perf_counter() - begin >= limit) and tree.is_expanded:
                break
        return self._decide(position, done, time.perf_counter() - begin)

    def _tree_of(self, position: Position) -> Any:
        """Return the tree of a position: what is known of it, or a new one."""
        history = getattr(position, "history", None)
        moves = None if history is None or not self.keep else list(history())
        # (Without a history until all is done, so that Ctrl-C leaves no tree half changed.)
        before, self._history = self._history, None
        if moves is None or before is None or not self._go_to(position, before, moves):
            self._tree = self._new_tree(self._rng)
        self._root = position.copy()
        self._history = moves
        return self._tree

    def _go_to(self, position: Position, before: list[Move], moves: Sequence[Move]) -> bool:
        """Make the node that a history leads to the root, if the tree has it."""
        tree = self._tree
        if list(moves[: len(before)]) != before:
            return False
        assert self._root is not None
        if type(position) is not type(self._root) or _game(position) != _game(self._root):
            return False
        there = self._root.copy()
        n = 0
        for move in moves[len(before) :]:
            n = tree.child(n, move)
            if n < 0:
                return False
            there.play(move)
        if not _are_equal(position, there) or (n > 0 and tree.visits(n) == 0):
            return False
        if n > 0:
            tree.make_root(n)
        return True

    def _decide(self, position: Position, playouts: int, seconds: float) -> Decision:
        moves, records = self._tree.children()
        sign = 1.0 if position.player == 0 else -1.0
        value, std, probability, rank = self._evaluate(sign)
        low, high = _bounds(records, sign)
        value = np.clip(value, low, high)
        proven = low == high
        # (Equal ranks by what is proven, so that no loss is played while there is hope.)
        order = sorted(range(len(moves)), key=lambda i: (-rank[i], -low[i], -high[i]))
        table = tuple(
            MoveValue(
                moves[i], name_of(position, moves[i]), float(value[i]),
                0.0 if proven[i] else float(std[i]), int(records["visits"][i]),
                float(probability[i]), bool(proven[i]),
            )
            for i in order
        )  # fmt: skip
        best = table[0]
        return Decision(
            best.move, best.name, best.value, best.std, table, playouts, seconds,
            self._tree.is_settled,
        )  # fmt: skip


@dataclass
class Player(TreePlayer):
    """A player whose belief about all positions is one Gaussian process.

    The value of random play is a sum of steps along the path from the root and of effects of moves,
    which positions share. The value of optimal play, with its uncertainty, is computed from those
    of the children (`bough.games.beliefs`). Moves in playouts are chosen by upper confidence
    bounds, and the move to play by the highest mean.

    Parameters
    ----------
    playouts : int, optional
        Playouts per decision; 400 without `seconds`.
    seconds : float, optional
        Seconds per decision. With both limits, the first one reached ends it.
    rng : None, int or numpy.random.Generator
        Seed of the playouts.
    keep : bool
        Whether the tree is reused for the next move, if positions have a `history()`.
    exploration : float
        Weight of the standard deviation in the choice of moves in playouts.
    shares : tuple of three floats
        Variances of a step, of the effect of a move, and of its drift with every move, in units of
        1/L, where L is the mean length of a game.
    prior : mapping, optional
        Mean and variance of the effect of a move at the root, by player and label: the `effects`
        of an earlier game.
    board_kernel : LabelKernel, optional
        Kernel between the `features()` of positions, such as ``kernels.LinearFeatures()``, which
        lets similar positions share information; see `bough.games.regression`. It takes more time
        than everything else in compiled games.

    Examples
    --------
    >>> from bough import games
    >>> decision = games.Player(200, rng=0).choose(games.TicTacToe())
    >>> decision.is_proven, len(decision.moves)
    (False, 9)
    """

    exploration: float = field(default=1.7, kw_only=True)
    shares: tuple[float, float, float] = field(default=SHARES, kw_only=True)
    prior: Mapping[tuple[int, Move], tuple[float, float]] | None = field(default=None, kw_only=True)
    board_kernel: LabelKernel | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.exploration = at_least_zero(self.exploration, "exploration")
        shares = listed(self.shares, "shares")
        if len(shares) != 3:
            raise ValueError(f"shares must be three numbers, got {self.shares!r}")
        steps, labels, drift = shares
        self.shares = (
            above_zero(steps, "shares[0]"),
            at_least_zero(labels, "shares[1]"),
            at_least_zero(drift, "shares[2]"),
        )
        if self.prior is not None:
            self.prior = _checked_prior(self.prior)
        if self.board_kernel is not None:
            self.board_kernel = _between_features(self.board_kernel)

    @property
    def effects(self) -> dict[tuple[int, Move], tuple[float, float]]:
        """Mean and variance of the effect of moves, by player and label, in the last position."""
        found: dict[tuple[int, Move], tuple[float, float]] = {}
        return found if self._tree is None else self._tree.effects()

    def _new_tree(self, rng: SplitMix64) -> GameTree:
        boards = None if self.board_kernel is None else BoardRegression(self.board_kernel)
        return BeliefTree(rng, self.exploration, self.shares, self.prior, boards)

    def _evaluate(self, sign: float) -> tuple[Array, Array, Array, Array]:
        mean, slope, std, spread = self._tree.values()
        low, high = _bounds(self._tree.children()[1], sign)
        value = sign * mean
        draws = np.random.default_rng(0).standard_normal((DRAWS, len(mean) + 1))
        drawn = value + sign * slope * spread * draws[:, -1:] + std * draws[:, :-1]
        drawn = np.clip(drawn, low, high)
        best = drawn >= drawn.max(axis=1, keepdims=True)
        # (Draws that are cut off at a bound are not as good as what is proven to be there.)
        sure = best & (low == high)
        best = np.where(sure.any(axis=1, keepdims=True), sure, best)
        probability = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
        total = np.sqrt(std**2 + (slope * spread) ** 2)
        return value, total, probability, np.clip(value, low, high)


@dataclass
class TallyPlayer(TreePlayer):
    """A player by averages of results, which plays the most visited move."""

    exploration: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.exploration = at_least_zero(self.exploration, "exploration")

    def _evaluate(self, sign: float) -> tuple[Array, Array, Array, Array]:
        _, records = self._tree.children()
        visits = records["visits"]
        with np.errstate(invalid="ignore"):
            mean = np.where(visits > 0, sign * records["total"] / np.maximum(visits, 1), 0.0)
        low, high = _bounds(records, sign)
        proven = low == high
        value = np.where(proven, low, mean)
        # What is proven to be best, then the most visited, then what is proven not to be better
        # than another move.
        top = np.max(low)
        rank = visits + 0.5 * mean
        rank = np.where((high <= top) & (low < top), -math.inf, rank)
        rank = np.where((low == top) & (top >= np.max(high)), math.inf, rank)
        lost = proven & (low == -1.0)
        if not lost.all():
            rank = np.where(lost, -math.inf, rank)
        chosen = int(np.argmax(rank))
        probability = np.zeros(len(visits))
        probability[chosen] = 1.0
        nothing = np.full(len(visits), math.nan)
        return value, nothing, probability, rank


@dataclass
class UCT(TallyPlayer):
    """Upper confidence bounds applied to trees (Kocsis and Szepesvari 2006), with a solver."""

    def _new_tree(self, rng: SplitMix64) -> GameTree:
        return TallyTree(rng, self.exploration)


@dataclass
class RAVE(TallyPlayer):
    """UCT with all-moves-as-first averages (Gelly and Silver 2007, 2011).

    Parameters
    ----------
    playouts, seconds, rng, keep
        As for `Player`.
    exploration : float
        Weight of the confidence width.
    equivalence : float
        Visits of a node at which the all-moves-as-first average has the weight 1/2.
    bias : float, optional
        Bias of that average. If given, the weights minimize the mean squared error.
    """

    exploration: float = field(default=0.1, kw_only=True)
    equivalence: float = field(default=1000.0, kw_only=True)
    bias: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.equivalence = above_zero(self.equivalence, "equivalence")
        if self.bias is not None:
            self.bias = at_least_zero(self.bias, "bias")

    def _new_tree(self, rng: SplitMix64) -> GameTree:
        bias = -1.0 if self.bias is None else self.bias
        return TallyTree(rng, self.exploration, self.equivalence, bias, self._reference)

    @property
    def _reference(self) -> int:
        return 0


@dataclass
class GRAVE(RAVE):
    """RAVE with the averages of the closest ancestor that has enough playouts (Cazenave 2015).

    Parameters
    ----------
    playouts, seconds, rng, keep, exploration, equivalence, bias
        As for `RAVE`.
    reference : int
        Minimum number of playouts of this ancestor.
    """

    exploration: float = field(default=0.0, kw_only=True)
    bias: float | None = field(default=0.05, kw_only=True)
    reference: int = field(default=50, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.reference = whole(self.reference, "reference", least=0)

    @property
    def _reference(self) -> int:
        return self.reference


@dataclass
class RandomPlayer(GamePlayer):
    """A player that chooses moves uniformly at random."""

    rng: Rng = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self._rng = _generator(self.rng)

    def choose(self, game: Any) -> Decision:
        """Choose a move at random."""
        position = position_of(game)
        check_open(position)
        moves = list(position.moves())
        return single(position, moves[self._rng.below(len(moves))], math.nan)


@dataclass
class OpenSpielMCTS(GamePlayer):
    """OpenSpiel's player by Monte Carlo tree search, `MCTSBot`, with a solver.

    Parameters
    ----------
    playouts : int
        Playouts per decision, one from each new node.
    exploration : float
        Weight of the confidence width.
    rng : None, int or numpy.random.Generator
        Seed of the playouts.
    """

    playouts: int = 400
    exploration: float = field(default=2.0, kw_only=True)
    rng: Rng = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.playouts = whole(self.playouts, "playouts", least=1)
        self.exploration = at_least_zero(self.exploration, "exploration")
        self._rng = _generator(self.rng)

    def choose(self, game: Any) -> Decision:
        """Choose a move in a position of a game of OpenSpiel."""
        import pyspiel

        position: Any = position_of(game)
        if not hasattr(position, "state"):
            raise TypeError(f"OpenSpiel's player plays OpenSpiel's games only, not {game!r}")
        check_open(position)
        begin = time.perf_counter()
        seed = self._rng.below(2**31 - 1)
        bot = pyspiel.MCTSBot(
            position.state.get_game(), pyspiel.RandomRolloutEvaluator(1, seed),
            self.exploration, self.playouts, 1000, True, seed, False,
        )  # fmt: skip
        move = bot.step(position.state)
        return single(position, move, math.nan, self.playouts, time.perf_counter() - begin)


def _bounds(records: NDArray[np.void], sign: float) -> tuple[Array, Array]:
    """Return bounds of the values of nodes for the player with a sign."""
    low, high = records["low"], records["high"]
    return (low, high) if sign > 0.0 else (-high, -low)


def _game(position: Position) -> Any:
    """Return the name of the game, with its parameters, where a position has one."""
    return getattr(position, "game", None)


def _are_equal(position: Position, other: Position) -> bool:
    """Return whether two positions with the same history can be told apart."""
    key, other_key = getattr(position, "key", None), getattr(other, "key", None)
    return (
        position.player == other.player
        and list(position.moves()) == list(other.moves())
        and (key is None or other_key is None or bool(key() == other_key()))
    )


def _checked_prior(prior: Any) -> dict[tuple[int, Move], tuple[float, float]]:
    """Return the prior of effects, or refuse it."""
    if not isinstance(prior, Mapping):
        raise TypeError(
            "prior must map (player, label) to (mean, variance), as Player.effects does, got "
            f"{prior!r}"
        )
    found = {}
    for pair, effect in prior.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] not in (0, 1):
            raise ValueError(f"keys of prior must be (0 or 1, label), got {pair!r}")
        if not isinstance(effect, Sequence) or len(effect) != 2:
            raise ValueError(f"prior[{pair!r}] must be (mean, variance), got {effect!r}")
        found[int(pair[0]), pair[1]] = (
            real(effect[0], f"mean of prior[{pair!r}]"),
            at_least_zero(effect[1], f"variance of prior[{pair!r}]"),
        )
    return found


def _between_features(kernel: Any) -> LabelKernel:
    """Return a kernel between features whose hyperparameters are known, or refuse it."""
    checked = check_label_kernel(kernel, "board_kernel")
    if checked.independent:
        raise ValueError(
            "board_kernel must compare features, as LinearFeatures(), RBF(length) or "
            f"Matern(length) do, got {kernel!r}"
        )
    if getattr(checked, "variance", 1.0) is None:  # it is scaled to that of a step in any case
        checked = replace(checked, variance=1.0)  # type: ignore[type-var]
    missing = [name for name in checked.hyperparameters if getattr(checked, name) is None]
    if missing:
        raise ValueError(f"board_kernel needs its {missing[0]}, which is not fitted: {kernel!r}")
    return checked


def _generator(rng: Rng) -> SplitMix64:
    """Return the generator that `rng` stands for, a random one for None."""
    return generator(rng) or SplitMix64(secrets.randbits(64))


def single(
    position: Position,
    move: Move,
    value: float,
    playouts: int = 0,
    seconds: float = 0.0,
    *,
    is_proven: bool = False,
) -> Decision:
    """Return a decision that says little more than the move."""
    name = name_of(position, move)
    std = 0.0 if is_proven else math.nan
    only = MoveValue(move, name, value, std, playouts, 1.0, is_proven)
    return Decision(move, name, value, std, (only,), playouts, seconds, is_proven)


#: The players by name, each a function of the number of playouts.
PLAYERS: dict[str, Callable[..., GamePlayer]] = {
    "bough": Player,
    "grave": GRAVE,
    "openspiel": OpenSpielMCTS,
    "random": RandomPlayer,
    "rave": RAVE,
    "uct": UCT,
}
