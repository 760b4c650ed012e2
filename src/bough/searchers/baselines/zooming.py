"""The zooming algorithm: a bandit in a metric space (Kleinberg, Slivkins and Upfal 2008)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bough._validation import at_least_zero
from bough.searchers.baselines.arms import Arms, Bandit, Floats, all_arms
from bough.searchers.baselines.bast import smoothness_by_depth
from bough.searchers.baselines.tallies import Tallies
from bough.trees import Path, Tree

#: The number of draws of a further arm if all active ones are pending.
TRIES = 100


class Zooming(Bandit):
    """Play active arms, and activate arms outside the confidence balls of all active ones.

    In phase i = 1, 2, ..., of 2^i plays, an active arm with n rewards has the radius
    r = sqrt(8 i / (2 + n)). An arm is covered if its distance to an active arm is at most the
    radius of that one. While some arm is not covered, a random one becomes active; then the active
    arm with the highest mean + 2 r is played, those without rewards first. Rewards are assumed to
    have a range of 1; others are rescaled.

    Parameters
    ----------
    tree : Tree, optional
        The tree whose leaves are the arms.
    arms : sequence, optional
        The arms themselves, of any kind, instead of a tree, with `distance`; `(k,)` is the path of
        the k-th.
    smoothness : float or sequence of float
        The distance of two leaves whose paths part at depth d, in units of the range of rewards:
        smoothness * decay^d, or the entries of a sequence, which must not increase.
    decay : float
    distance : function of two arms, optional
        Another distance, in those units: of two arms of the list, or of two paths of a tree with at
        most a million leaves. Every play evaluates all arms.
    exploration : float
        Multiplier of the radii, valid with 1; less often works better.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far.
    rng : int or numpy.random.Generator

    Notes
    -----
    Rewards are kept from phase to phase; in the paper each phase starts without rewards.

    With `exploration=1` and the default smoothness the ball of the first arm covers all others
    until it was played 39 times.

    Examples
    --------
    >>> import bough
    >>> places = [i / 20 for i in range(21)]
    >>> search = bough.baselines.Zooming(
    ...     arms=places, distance=lambda a, b: abs(a - b), exploration=0.1, rng=0
    ... )
    >>> for _ in range(200):
    ...     path = search.ask()
    ...     (x,) = search.tree.decode(path)
    ...     search.tell(path, 1 - abs(x - 0.4))
    >>> search.best("mean").path
    (8,)
    """

    def __init__(
        self,
        tree: Tree | None = None,
        *,
        arms: Sequence[Any] | None = None,
        smoothness: float | Sequence[float] = 1.0,
        decay: float = 0.5,
        distance: Callable[[Any, Any], float] | None = None,
        exploration: float = 1.0,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, arms, reward_range, rng)
        self.smoothness = smoothness
        self.decay = at_least_zero(decay, "decay")
        self.exploration = at_least_zero(exploration, "exploration")
        self._leaves = Tallies(self.tree)  # raises if a node has infinitely many children
        if arms is not None and distance is None:
            raise TypeError("Zooming needs a distance for a list of arms: a function of two arms")
        self._cover: TreeCover | ListCover
        if distance is None:
            deltas = smoothness_by_depth(self.tree, smoothness, self.decay)
            if (deltas[1:] > deltas[:-1]).any():
                raise ValueError(
                    f"smoothness must not increase with depth, got {smoothness!r} and decay={decay}"
                )
            self._cover = TreeCover(self.tree, deltas)
        elif callable(distance):
            paths = all_arms(self.tree, "Zooming").paths
            self._cover = ListCover(paths, paths if arms is None else list(arms), distance)
        else:
            raise TypeError(f"distance must be a function of two arms, got {distance!r}")

    def _new_arms(self) -> Arms:
        return Arms()

    @property
    def active(self) -> list[Path]:
        """The active arms."""
        return self.tallies.paths

    @property
    def phase(self) -> int:
        """The number of the present phase, from 1 on."""
        return (self.observations + len(self._pending) + 2).bit_length() - 1

    def _radii(self) -> Floats:
        """Return the radius of every active arm; pending evaluations count as plays."""
        radii: Floats = self.exploration * np.sqrt(8.0 * self.phase / (2.0 + self.tallies.counts))
        return radii

    def _choose_arm(self) -> int:
        arms = self.tallies
        while True:
            path = self._cover.uncovered(arms.paths, self._radii(), self._random)
            if path is None:
                break
            arms.number_of(path)
        if arms.pending.all():
            for _ in range(TRIES):
                path = self._leaves.random_path(self._random)
                if path not in arms:
                    return arms.number_of(path)
        return self._highest_of(self._indices())

    def _indices(self) -> Floats:
        """Return the index of every active arm; one without rewards is expected to be the best."""
        high = self.reward_range[1] if self.reward_range else self._highest_reward
        means = np.where(self.tallies.visits > 0, self.tallies.means, high)
        if not self.observations:
            means = np.zeros(len(means))
        index: Floats = means + 2.0 * self._scale * self._radii()
        return index


class TreeCover:
    """The leaves that balls of a tree's metric leave uncovered.

    A ball is a subtree: that of the first depth d at which delta_d is at most its radius.
    """

    def __init__(self, tree: Tree, deltas: Floats) -> None:
        self.tree = tree
        self.deltas = deltas
        self._seen = 0  # the number of arms in `_below`
        self._below: dict[Path, list[int]] = {(): []}  # the arms below each node that has some
        self._children: dict[Path, dict[int, None]] = {(): {}}  # and its children that have some

    def uncovered(self, paths: list[Path], radii: Floats, rng: Any) -> Path | None:
        """Return a random leaf that no ball of the arms covers, as high up as there is one."""
        for k in range(self._seen, len(paths)):
            path = paths[k]
            for d in range(len(path) + 1):
                self._below.setdefault(path[:d], []).append(k)
                self._children.setdefault(path[:d], {})
                if d < len(path):
                    self._children[path[:d]][path[d]] = None
        self._seen = len(paths)
        nodes: list[Path] = [()]
        for node in nodes:  # which grows, level by level
            here = self._below[node]
            if here and radii[here].max() >= self.deltas[len(node)]:
                continue
            branching = int(self.tree.children(node))
            taken = self._children[node]
            if len(taken) < branching:
                free = [child for child in range(branching) if child not in taken]
                return self._completed((*node, free[rng.below(len(free))]), rng)
            nodes += [(*node, child) for child in taken]
        return None

    def _completed(self, path: Path, rng: Any) -> Path:
        while branching := int(self.tree.children(path)):
            path = (*path, rng.below(branching))
        return path


class ListCover:
    """The arms of a list that balls of any metric leave uncovered."""

    def __init__(
        self, paths: list[Path], labels: list[Any], distance: Callable[[Any, Any], float]
    ) -> None:
        self.paths = paths
        self.labels = labels
        self.distance = distance
        self._numbers = {path: k for k, path in enumerate(paths)}
        self._rows: list[Floats] = []  # the distances of an active arm to all

    def _row(self, path: Path) -> Floats:
        here = self.labels[self._numbers[path]]
        return np.array(
            [
                at_least_zero(self.distance(here, there), f"distance({here!r}, {there!r})")
                for there in self.labels
            ]
        )

    def uncovered(self, paths: list[Path], radii: Floats, rng: Any) -> Path | None:
        """Return a random arm that no ball of the active arms covers."""
        self._rows += [self._row(path) for path in paths[len(self._rows) :]]
        covered = np.zeros(len(self.paths), dtype=bool)
        for row, radius in zip(self._rows, radii, strict=True):
            covered |= row <= radius
        free = np.flatnonzero(~covered)
        return self.paths[int(free[rng.below(len(free))])] if len(free) else None
