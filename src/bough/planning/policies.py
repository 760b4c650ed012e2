"""Searchers as planners: what they are told of a play, and what they recommend."""

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import mul
from typing import Any

import numpy as np

from bough.belief import Belief
from bough.confidence import Confidence
from bough.kernels import Discounted
from bough.planning.rollouts import Play
from bough.planning.scaling import Scale
from bough.searchers.base import Certificate
from bough.searchers.by_name import PLANNERS, SEARCHERS, make_searcher
from bough.searchers.gpts import GPTS
from bough.trees import Path, Tree

#: Searchers that make sense for planning, by name.
NAMES = ("best_first", "gpts", "kl_olop", "olop", "random", "uct")

#: The noise of a path's sum, in units of its standard deviation: how much paths differ that share
#: all steps that matter.
SUM_NOISE = 0.3
#: That of a step's reward, in units of what the kernel expects of it: how much it changes in what
#: comes after it. Without random transitions, and with them.
STEP_NOISE = {True: 1.0, False: 0.3}
#: The scale of the exploration is 1 with random transitions; without, it grows with the depth, by 1
#: for so many steps, up to a limit: the few paths that fit into a budget then part earlier. (These
#: were chosen on CartPole, MountainCar and Taxi, and on discounted trees with noise.)
EXPLORED_STEPS = 9
MOST_EXPLORATION = 4.5
#: With random transitions the noise of a sum is learnt: it is changed by this factor at a time,
#: within these bounds, from so many plays on.
NOISE_FACTOR = 1.7
LEAST_NOISE, MOST_NOISE = 0.1, 3.0
ENOUGH_PLAYS = 8
#: Moments that changed by less than this share are as good as the old ones.
SETTLED = 0.1
#: Rewards this far from what is expected, in units of a path's deviation, change the units at once.
FAR = 1e3


class GaussianPolicy:
    """GPTS, with what it is told in units in which a path's sum has mean 0 and deviation 1.

    A step of a node is what the action adds to the sum that is to be expected: its reward, and what
    it changes in what comes after. So with `rewards="steps"` every immediate reward is a noisy
    reading of its step, and the sum is one of the end of the path; with `"sum"`, the paper's
    likelihood, there is only the latter.

    After an episode has ended every reward is 0, so that what is expected of a step is missing for
    each step that does not come any more; that is part of the last step. The path ends there, if
    transitions are not random; if they are, it goes on with zeros.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        discount: float,
        rewards: str,
        deterministic: bool,
        scale: Scale,
        rng: np.random.Generator,
        plays: Sequence[Play] = (),
    ) -> None:
        self.tree = tree
        self.discount = discount
        self.scale = scale
        self.plays = list(plays)
        self._steps = rewards == "steps"
        self._deterministic = deterministic
        self._rng = rng
        exploration = min(max(tree.depth / EXPLORED_STEPS, 1.0), MOST_EXPLORATION)
        self._confidence = Confidence(scale=exploration if deterministic else 1.0)
        # (The scale goes on to other depths; what was decided stays as it was.)
        self.weights, self.rest = scale.weights, scale.rest
        self._kernel = Discounted(discount, 1.0 / scale.spread**2)
        self._step_noise = [STEP_NOISE[deterministic] * w / scale.spread for w in scale.weights]
        scale.noise = scale.noise or SUM_NOISE
        self._next = 1 if not plays else 2 * len(plays)
        self.searcher: GPTS
        self.rebuild()

    def rebuild(self) -> None:
        """Take the units anew, and tell all plays again."""
        self.center, self.unit = self.scale.fitted()
        self.offset = self.center * self.rest[0]  # what is expected of a whole path
        self.searcher = self._built(self.scale.noise)
        if not self._deterministic and len(self.plays) >= ENOUGH_PLAYS:
            others = [self.scale.noise * NOISE_FACTOR, self.scale.noise / NOISE_FACTOR]
            others = [noise for noise in others if LEAST_NOISE <= noise <= MOST_NOISE]
            tried = [self.searcher, *map(self._built, others)]
            self.searcher = max(tried, key=lambda search: search.belief.log_likelihood())
            self.scale.noise = self.searcher.belief.noise

    @property
    def noise(self) -> float:
        """The noise of a path's sum, in units of its standard deviation."""
        return self.searcher.belief.noise

    def _built(self, noise: float) -> GPTS:
        search = GPTS(
            self.tree, self._kernel, noise, mean=0.0, confidence=self._confidence,
            rng=int(self._rng.integers(2**63)),
        )  # fmt: skip
        for play in self.plays:
            self._observe(search.belief, play)
        return search

    def _observe(self, belief: Belief, play: Play) -> None:
        path, rewards, ended, _ = play
        weights, center, unit = self.weights, self.center, self.unit
        length, depth = len(path), len(weights)
        short = ended and length < depth
        steps = [w * (r - center) / unit for w, r in zip(weights, rewards, strict=False)]
        if short and self._deterministic:
            steps[-1] -= center * self.rest[length] / unit
        elif short:
            steps += [-w * center / unit for w in weights[length:]]
            path += (0,) * (depth - length)
        if self._steps:
            belief.observe_steps(path, steps, noise=self._step_noise[: len(path)])
        belief.observe(path, math.fsum(steps))
        if short and self._deterministic:
            belief.end(path)

    def ask(self) -> Path:
        """Return the next path to play."""
        return self.searcher.ask()

    def tell(self, asked: Path, play: Play) -> None:
        """Take in what came of it."""
        self.searcher.forget(asked)
        self.plays.append(play)
        self.scale.add(play.rewards, play.ended)
        # (Rewards of another order than all before are not told in units made for those.)
        far = max(max(play.rewards) - self.center, self.center - min(play.rewards))
        if far > FAR * self.unit:
            self.rebuild()
            return
        self._observe(self.searcher.belief, play)
        if len(self.plays) >= self._next:
            self._next = 2 * len(self.plays)
            center, unit = self.scale.fitted()
            moved = abs(center - self.center) * self.rest[0] > SETTLED * unit
            if moved or abs(unit - self.unit) > SETTLED * unit or not self._deterministic:
                self.rebuild()

    def total(self, play: Play) -> float:
        """Return the discounted sum of what a play gave."""
        return math.fsum(map(mul, self.weights, play.rewards))

    def first_steps(self) -> tuple[list[float], list[float]]:
        """Return what is expected of the sum after each first action, and how surely."""
        actions = [(a,) for a in range(int(self.tree.branching(())))]
        mean, std = self.searcher.belief.posterior(actions)
        return (self.offset + self.unit * mean).tolist(), (self.unit * std).tolist()

    def action(self) -> int:
        """Return the action after which the most is to be expected.

        If nothing tells actions apart, as where no reward was found yet, the one after which paths
        went on for longest: what goes on may still come to something.
        """
        means, _ = self.first_steps()
        highest = max(means)
        best = [a for a, mean in enumerate(means) if mean == highest]
        if len(best) > 1:
            lengths = [[len(p.path) for p in self.plays if p.path[0] == a] for a in best]
            lasted = [sum(steps) / len(steps) if steps else 0.0 for steps in lengths]
            best = [a for a, mean in zip(best, lasted, strict=True) if mean == max(lasted)]
        return int(self._rng.choice(best))

    def believed(self, node: Path) -> tuple[float, float]:
        """Return what is expected of the sum after some actions, and how surely."""
        mean, std = self.searcher.belief.posterior([node])
        return float(self.offset + self.unit * mean[0]), float(self.unit * std[0])

    def best_path(self, paths: list[Path]) -> tuple[Path, float, float]:
        """Return the path that is surely worth the most: mean less one standard deviation."""
        missing = (0,) * self.tree.depth  # (after an end any action does nothing)
        paths = [(path + missing)[: self.tree.depth] for path in paths]
        mean, std = self.searcher.belief.posterior(paths)
        k = int(np.argmax(mean - std))
        return paths[k], float(self.offset + self.unit * mean[k]), float(self.unit * std[k])

    def certificate(self) -> Certificate | None:
        """Return how good the best path can be, in the units of the user."""
        found = self.searcher.certificate
        return replace(
            found,
            lower=self.offset + self.unit * found.lower,
            upper=self.offset + self.unit * found.upper,
            gap=self.unit * found.gap,
            conditional=True,
        )


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
            if searcher in (*PLANNERS, "best_first"):
                options["discount"] = discount
                options["reward_range"] = scale.reward_range
            elif scale.reward_range is not None and searcher != "random":
                low, high = scale.reward_range
                options["reward_range"] = (low * scale.rest[0], high * scale.rest[0])
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
        if len(play.path) < depth and not play.ended:
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
        """Return the first step of what the searcher recommends."""
        if not self.plays:
            return 0
        return int(self.searcher.best_action())

    def certificate(self) -> Certificate | None:
        """Return the searcher's certificate, if it has one."""
        found = getattr(self.searcher, "certificate", None)
        return found if isinstance(found, Certificate) and self.plays else None


def is_gaussian(searcher: Any) -> bool:
    """Return whether the planner's own GPTS is meant."""
    return searcher is None or (isinstance(searcher, str) and searcher == "gpts")


def check_searcher(searcher: Any) -> None:
    """Refuse what cannot plan."""
    if isinstance(searcher, str) and searcher not in NAMES:
        known = " is no searcher" if searcher not in SEARCHERS else " is not made for planning"
        raise ValueError(f"searcher must be one of {', '.join(NAMES)}: {searcher!r}{known}")
    if searcher is not None and not isinstance(searcher, str) and not callable(searcher):
        raise TypeError(
            "searcher must be a name or a function of the tree that makes a searcher, "
            f"got {searcher!r}"
        )
