"""Searchers as planners: what they are told of a play, and what they recommend."""

import math
from operator import mul
from typing import Any

import numpy as np

from bough.planning.rollouts import Play
from bough.planning.scaling import Scale
from bough.searchers.base import Certificate
from bough.searchers.baselines.random_search import RandomSearch
from bough.searchers.baselines.uct import UCT
from bough.searchers.registry import PLANNERS, SEARCHERS, make_searcher
from bough.trees import Path, Tree

#: Searchers that make sense for planning, by name.
NAMES = ("best_first", "gpts", "kl_olop", "olop", "random", "uct")


class PeerPolicy:
    """Any other searcher: it is told complete paths, with zeros after an episode has ended."""

    def __init__(
        self,
        searcher: Any,
        tree: Tree,
        *,
        discount: float,
        rewards: str,
        scale: Scale,
        rng: np.random.Generator,
        budget: int,
    ) -> None:
        self.tree = tree
        self.weights = scale.weights
        self.plays: list[Play] = []
        self._steps = rewards == "steps"
        options: dict[str, Any] = {}
        if isinstance(searcher, str):
            known = scale.reward_range
            if known is not None:  # after an end they are told 0
                known = (min(known[0], 0.0), max(known[1], 0.0))
            if searcher in (*PLANNERS, "best_first"):
                options["discount"] = discount
                options["reward_range"] = known
            elif known is not None and searcher != "random":
                options["reward_range"] = (known[0] * scale.rest[0], known[1] * scale.rest[0])
            if searcher in PLANNERS:
                options["budget"] = budget
        seed = int(rng.integers(2**63)) if isinstance(searcher, str) else None
        self.searcher = make_searcher(searcher, tree, seed, options)

    def ask(self) -> Path:
        """Return the next path to play."""
        return self.searcher.ask()  # type: ignore[no-any-return]

    def tell(self, asked: Path, play: Play) -> None:
        """Take in what came of it, unless it was cut short by the budget."""
        depth = len(self.weights)
        if not play.is_whole(depth):
            self.searcher.forget(asked)
            return
        self.plays.append(play)
        missing = depth - len(play.rewards)
        if self._steps:
            rewards = (*play.rewards, *([0.0] * missing))
            self.searcher.tell(asked, steps=list(map(mul, self.weights, rewards)))
        else:
            self.searcher.tell(asked, self.total(play))

    def total(self, play: Play) -> float:
        """Return the discounted sum of what a play gave."""
        return math.fsum(map(mul, self.weights, play.rewards))

    def action(self) -> int:
        """Return the first action that the algorithm's own rule gives out.

        OLOP and KL-OLOP: the one played most. UCT, as in Markov decision processes everywhere, and
        random search: the one whose plays were best on average (by visits UCT is much worse after
        few plays). Best-first search: the first step of the best path it has seen.
        """
        if not self.plays:
            return 0
        if isinstance(self.searcher, (RandomSearch, UCT)):
            totals: dict[int, list[float]] = {}
            for play in self.plays:
                totals.setdefault(play.path[0], []).append(self.total(play))
            return max(totals, key=lambda a: _mean(totals[a]))
        return int(self.searcher.best_action())

    def best_path(self, paths: list[Path]) -> tuple[Path, float, float]:
        """Return the path that the searcher calls the best, if it is one of these.

        Else, the one of these with the highest average; and what it is worth, and how surely.
        """
        arm = self.searcher.best()
        if arm.path in paths:
            return arm.path, arm.mean, arm.std
        totals: dict[Path, list[float]] = {path: [] for path in paths}
        for play in self.plays:
            if play.path in totals:
                totals[play.path].append(self.total(play))
        path = max(totals, key=lambda p: _mean(totals[p]))
        return path, _mean(totals[path]), arm.std * math.sqrt(arm.visits / len(totals[path]))

    def certificate(self) -> Certificate | None:
        """Return the searcher's certificate, if it has one."""
        found = getattr(self.searcher, "certificate", None)
        return found if isinstance(found, Certificate) and self.plays else None


def _mean(numbers: list[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def is_gaussian(searcher: Any) -> bool:
    """Return whether the planner's own GPTS is meant."""
    return isinstance(searcher, str) and searcher == "gpts"


def check_searcher(searcher: Any) -> None:
    """Refuse what cannot plan."""
    if isinstance(searcher, str) and searcher not in NAMES:
        known = " is no searcher" if searcher not in SEARCHERS else " is not made for planning"
        raise ValueError(f"searcher must be one of {', '.join(NAMES)}: {searcher!r}{known}")
    if not isinstance(searcher, str) and not callable(searcher):
        raise TypeError(
            "searcher must be a name or a function of the tree that makes a searcher, "
            f"got {searcher!r}"
        )
