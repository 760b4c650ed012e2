"""Policies of other searchers: they choose the next playout and recommend an action."""

import math
import random
from collections.abc import Callable, Sequence
from operator import mul
from typing import Any

import numpy as np

from bough.planning.decision import PlanSettings
from bough.planning.gpts_policy import GPTSPolicy, PathPolicy
from bough.planning.playouts import Playout, Simulation
from bough.planning.rewards import RewardScale, discounted_sum
from bough.searchers.base import Certificate
from bough.searchers.baselines.random_search import RandomSearch
from bough.searchers.baselines.uct import UCT
from bough.searchers.registry import PLANNERS, make_searcher
from bough.trees import Path, Tree

#: c of PUCT, in units of the range of rewards.
PUCT_EXPLORATION = 1.0


class PUCT(UCT):
    """UCT with a prior over actions: mean + c w sqrt(N) / (1 + n), times the range of rewards.

    w is the normalized weight of an action, N the number of playouts through its parent and n
    through it. The mean of an action without playouts is that of its parent. Actions that lie
    beyond what was played are drawn by their weights.
    """

    def __init__(self, tree: Tree, weights: Callable[[Path], list[float]], seed: int) -> None:
        super().__init__(tree, exploration=PUCT_EXPLORATION, rng=seed)
        self._weights = weights
        self._draws = random.Random(seed)
        self._counts: dict[Path, tuple[int, float]] = {}  # playouts and their mean, by node

    def _choose(self) -> Path:
        path: Path = ()
        for _ in range(self.tree.depth):
            weights = self._weights(path)
            if path not in self._counts:
                path = (*path, self._draws.choices(range(len(weights)), weights)[0])
                continue
            visits, mean = self._counts[path]
            width = self.exploration * self._scale * math.sqrt(visits) / sum(weights)
            scores = []
            for action, weight in enumerate(weights):
                plays, average = self._counts.get((*path, action), (0, mean))
                scores.append(average + width * weight / (1 + plays))
            path = (*path, scores.index(max(scores)))
        return path

    def _record(
        self, path: Path, reward: float, noise: float | None, steps: Sequence[float] | None
    ) -> None:
        super()._record(path, reward, noise, steps)
        for i in range(len(path) + 1):
            plays, mean = self._counts.get(path[:i], (0, 0.0))
            self._counts[path[:i]] = plays + 1, mean + (reward - mean) / (plays + 1)


class BaselinePolicy(PathPolicy):
    """Another searcher for one decision: it observes complete paths, with zeros after an end."""

    unit, offset = 1.0, 0.0  # values are those of the user

    def __init__(
        self,
        settings: PlanSettings,
        tree: Tree,
        simulated: Simulation,
        *,
        scale: RewardScale,
        rng: np.random.Generator,
        budget: int,
    ) -> None:
        super().__init__(tree, [])
        self._simulated = simulated
        self._discount = settings.action_discount
        self.weights = scale.weights
        self._taken: dict[Path, Path] = {}  # the legal actions for each path of the searcher
        self._observes_steps = settings.rewards == "steps"
        searcher = settings.searcher
        options: dict[str, Any] = {}
        if searcher in PLANNERS:
            options = {"discount": settings.action_discount, "budget": budget}
        elif searcher == "best_first":
            options = {"discount": settings.action_discount}
        seed = int(rng.integers(2**63)) if isinstance(searcher, str) else None
        self.searcher: Any
        if searcher == "uct" and settings.hooks.policy is not None and seed is not None:
            self.searcher = PUCT(tree, simulated.weights_after, seed)
        else:
            self.searcher = make_searcher(searcher, tree, seed, options)

    def start(self) -> None:
        """Do nothing: every decision has a new searcher."""

    def play(self) -> None:
        """Simulate the next path of the searcher; what the budget cuts off is not recorded."""
        asked = self.searcher.ask()
        playout = self._simulated.play(asked, self.tree.depth)
        if not playout.is_whole(self.tree.depth):
            self.searcher.forget(asked)
            return
        # (Illegal actions were replaced by others: the searcher is told what its path led to.)
        self._taken[asked] = playout.path
        self.playouts.append(playout._replace(path=asked))
        if self._observes_steps:
            rewards = (*playout.rewards, *[0.0] * (self.tree.depth - len(playout.rewards)))
            steps = list(map(mul, self.weights, rewards))
            steps[-1] += self.weights[-1] * self._discount * playout.bootstrap
            self.searcher.tell(asked, steps=steps)
        else:
            self.searcher.tell(asked, self.total(playout))

    def total(self, playout: Playout) -> float:
        """Return the discounted sum of the rewards of a playout and of the value at its end."""
        total = discounted_sum(playout.rewards, self.weights)
        return total + self._discount ** len(playout.rewards) * playout.bootstrap

    def recommend(self, receding: bool) -> tuple[Path, float, float]:
        """Return the path to follow, its value and the standard deviation of the value.

        An agent (`receding`) takes the first action by the algorithm's own rule. OLOP and KL-OLOP:
        the one played most. UCT, as usual in Markov decision processes, and random search: the one
        with the best average (by visits UCT is much worse after few playouts). Best-first search:
        the first step of the best path it has seen.
        """
        playouts = self.playouts
        if receding:
            if isinstance(self.searcher, (RandomSearch, UCT)):
                tried = dict.fromkeys(playout.path[:1] for playout in playouts)
                first = max(tried, key=lambda node: self.describe(node)[0])[0]
            else:
                first = int(self.searcher.best_action())
            playouts = [playout for playout in playouts if playout.path[0] == first]
            if not playouts:
                legal = self._simulated.legal(self._simulated.root)
                first = first if first in legal else legal[first % len(legal)]
                return (first,), math.nan, math.inf
        if self._simulated.model.deterministic:
            best = max(playouts, key=self.total)
            return self._taken[best.path][: len(best.rewards)], self.total(best), 0.0
        path, mean, std = self._best_path([playout.path for playout in playouts])
        lengths = [len(playout.rewards) for playout in playouts if playout.path == path]
        return self._taken[path][: max(lengths)], mean, std

    def describe(self, node: Path) -> tuple[float, float, int]:
        """Return the average sum of rewards after some actions, NaN, and their playouts."""
        totals = [self.total(p) for p in self.playouts if p.path[: len(node)] == node]
        return (math.fsum(totals) / len(totals) if totals else math.nan), math.nan, len(totals)

    def _best_path(self, paths: list[Path]) -> tuple[Path, float, float]:
        """Return the searcher's best path if it is one of these, else that with the best average.

        Also return its mean and standard deviation.
        """
        arm = self.searcher.best()
        if arm.path in paths:
            return arm.path, arm.mean, arm.std
        path = max(dict.fromkeys(paths), key=lambda path: self.describe(path)[0])
        visits = sum(playout.path == path for playout in self.playouts)
        return path, self.describe(path)[0], arm.std * math.sqrt(arm.visits / visits)

    def certificate(self) -> Certificate | None:
        """Return the searcher's certificate, if it has one."""
        found = getattr(self.searcher, "certificate", None)
        return found if isinstance(found, Certificate) and self.playouts else None


TreePolicy = GPTSPolicy | BaselinePolicy
