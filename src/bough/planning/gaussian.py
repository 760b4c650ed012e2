"""GPTS as a planner: what its belief is told of a play, in which units, and what it recommends."""

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import mul

import numpy as np

from bough.belief.belief import Belief
from bough.confidence import Confidence
from bough.kernels import Discounted
from bough.planning.habits import Habits
from bough.planning.repeats import Repeats
from bough.planning.rollouts import Play
from bough.planning.scaling import Scale
from bough.searchers.base import Certificate
from bough.searchers.gpts import GPTS
from bough.trees import Path, Tree

#: The noise of a path's sum, in units of its standard deviation: how much paths differ that share
#: all steps that matter. With random transitions it is learnt: it is changed by a factor at a time,
#: within bounds, from so many plays on.
SUM_NOISE = 1.0
NOISE_FACTOR = 1.7
LEAST_NOISE, MOST_NOISE = 0.1, 3.0
ENOUGH_PLAYS = 8
#: Without random transitions, that of a step's reward, in units of what the kernel expects of it:
#: how much it changes in what comes after it.
STEP_NOISE = 1.0
#: The scale of the exploration is 1 with random transitions; without, it grows with the depth, by 1
#: for so many steps, up to a limit: the few paths that fit into a budget then part earlier. (These
#: were chosen on CartPole, MountainCar and Taxi, and on discounted trees with noise.)
EXPLORED_STEPS = 9
MOST_EXPLORATION = 4.5
#: Moments that changed by less than this share are as good as the old ones.
SETTLED = 0.1
#: Rewards this far from what is expected, in units of a path's deviation, change the units at once.
FAR = 1e3


class GaussianPolicy:
    """GPTS, with what it is told in units in which a path's sum has mean 0 and deviation 1.

    With `rewards="sum"`, the paper's likelihood, each play is a reading of the end of its path.

    With `rewards="steps"` and random transitions every immediate reward is a reading of its step,
    with a noise that repeated steps tell. This is exact: the value of a path is the sum of what its
    steps are expected to give.

    With `rewards="steps"` and no random transitions rewards have no noise, and yet a step of a node
    is more than its reward: it is also what the action changes in what comes after it. So every
    immediate reward is a noisy reading of its step, and the sum one of the end of the path.

    After an episode has ended every reward is 0, so that what is expected of a step is missing for
    each step that does not come any more. Without random transitions that is part of the last step,
    for agents beyond the depth of the tree too, and the path ends there; with them, the path goes
    on as it was asked for, with zeros.

    Parameters
    ----------
    scale, habits
        They learn from all plays, and go on from decision to decision.
    plays
        What is known from before.
    searcher
        One for the same tree that nobody needs any more: to clear it is faster than to make one.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        discount: float,
        rewards: str,
        deterministic: bool,
        scale: Scale,
        habits: Habits,
        rng: np.random.Generator,
        plays: Sequence[Play] = (),
        searcher: GPTS | None = None,
    ) -> None:
        self.tree = tree
        self.discount = discount
        self.scale = scale
        self._habits = habits
        self.plays = list(plays)
        self._rng = rng
        self._deterministic = deterministic
        self._tells_steps = rewards == "steps"
        self._tells_sum = deterministic or rewards == "sum"
        # (The scale goes on to other depths; what was decided stays as it was.)
        self.weights, self.rest, self._beyond = scale.weights, scale.rest, scale.beyond
        self._spread = scale.spread
        self._repeats = Repeats()
        for play in self.plays if self.is_exact else ():
            self._repeats.add(play.path, play.rewards)
        self.noise = scale.noise or SUM_NOISE
        self._next = 1 if not plays else 2 * len(plays)
        self._searcher = searcher
        self.rebuild()

    @property
    def is_exact(self) -> bool:
        """Whether the model is exact: the steps are told, with their own noise, and no sum."""
        return not self._tells_sum

    # ------------------------------------------------------------------ the belief

    @property
    def searcher(self) -> GPTS:
        """The searcher; made anew with all that was told, if another decision has taken it."""
        if self._searcher is None:
            self._searcher = self._new_searcher(0)
            self._tell_all()
        return self._searcher

    def give_up(self) -> GPTS | None:
        """Let another decision have the searcher."""
        given, self._searcher = self._searcher, None
        if given is not None:
            for path in given.pending:
                given.forget(path)
        return given

    def _new_searcher(self, seed: int) -> GPTS:
        scale = 1.0
        if self._deterministic:
            scale = min(max(self.tree.depth / EXPLORED_STEPS, 1.0), MOST_EXPLORATION)
        confidence = Confidence(scale=scale)
        return GPTS(self.tree, self._kernel, self.noise, mean=0.0, confidence=confidence, rng=seed)

    @property
    def _kernel(self) -> Discounted:
        return Discounted(self.discount, 1.0 / self._spread**2)

    def _take_units(self) -> None:
        """Decide on units by what was seen so far."""
        self.center, self.unit = self.scale.fitted()
        step_noise = STEP_NOISE
        if self.is_exact:
            share = self._repeats.noise((self.unit / self._spread) ** 2)
            self.unit *= math.sqrt(1.0 - share)
            step_noise = math.sqrt(share / (1.0 - share))
        self.offset = self.center * self.rest[0]  # what is expected of a whole path
        self._step_noise = [step_noise * w / self._spread for w in self.weights]
        self._gains = [w / self.unit for w in self.weights]

    def rebuild(self) -> None:
        """Take the units anew, and tell all plays again."""
        self._take_units()
        if self._searcher is None:
            self._searcher = self._new_searcher(int(self._rng.integers(2**63)))
        self._tell_all()
        if not self._deterministic and not self.is_exact and len(self.plays) >= ENOUGH_PLAYS:
            self._learn_noise()

    def _tell_all(self) -> None:
        belief = self.searcher.belief
        belief.clear()
        if belief.noise != self.noise:
            belief.take_prior(self._kernel, self.noise, 0.0, 0.0)
            self.searcher._new_prior()
        for play in self.plays:
            self.observe(belief, play)

    def _learn_noise(self) -> None:
        """Take the noise of sums that is most likely, of those nearby."""
        likelihoods = {self.noise: self.searcher.belief.log_likelihood()}
        for noise in (self.noise * NOISE_FACTOR, self.noise / NOISE_FACTOR):
            if LEAST_NOISE <= noise <= MOST_NOISE:
                self.noise = noise
                self._tell_all()
                likelihoods[noise] = self.searcher.belief.log_likelihood()
        best = max(likelihoods, key=lambda noise: likelihoods[noise])
        if best != self.noise:
            self.noise = best
            self._tell_all()
        self.scale.noise = best

    def observe(self, belief: Belief, play: Play) -> None:
        """Let a belief take in a play, in the units of now."""
        path, rewards, ended, _ = play
        gains, center = self._gains, self.center
        length, depth = len(rewards), len(gains)
        short = ended and length < depth
        steps = [gain * (r - center) for gain, r in zip(gains, rewards, strict=False)]
        if ended and self._deterministic:
            steps[-1] -= center * (self.rest[length] + self._beyond) / self.unit
        elif short:
            steps += [-gain * center for gain in gains[length : len(path)]]
        if self._tells_steps:
            belief.observe_steps(path, steps, noise=self._step_noise[: len(path)])
        if self._tells_sum:
            # (A path that was cut off says nothing of the steps that it did not come to.)
            belief.observe(path, math.fsum(steps), depth=None if ended else depth)
        if short and self._deterministic:
            belief.end(path)

    # ------------------------------------------------------------------ ask and tell

    def ask(self) -> Path:
        """Return the next path to play."""
        return self.searcher.ask()

    def tell(self, asked: Path, play: Play) -> None:
        """Take in what came of it."""
        self.searcher.forget(asked)
        self.plays.append(play)
        if self._deterministic:
            self._habits.add(play, self.center)
        low, high = self.scale.add(play.rewards, play.ended)
        if self.is_exact:
            self._repeats.add(play.path, play.rewards)
        # (Rewards of another order than all before are not told in units made for those.)
        if max(high - self.center, self.center - low) > FAR * self.unit:
            self.rebuild()
            return
        self.observe(self.searcher.belief, play)
        if len(self.plays) >= self._next:
            self._next = 2 * len(self.plays)
            center, unit = self.scale.fitted()
            moved = abs(center - self.center) * self.rest[0] > SETTLED * unit
            if moved or abs(unit - self.unit) > SETTLED * unit or not self._deterministic:
                self.rebuild()

    def total(self, play: Play) -> float:
        """Return the discounted sum of what a play gave."""
        return math.fsum(map(mul, self.weights, play.rewards))

    def action(self) -> int:
        """Return the action after which the most is to be expected.

        If nothing tells actions apart, as where no reward was found yet, the one after which paths
        went on for longest: what goes on may still come to something.
        """
        actions = range(int(self.tree.branching(())))
        means = [self.believed((a,))[0] for a in actions]
        best = [a for a in actions if means[a] == max(means)]
        if len(best) > 1:
            lengths = [[len(p.rewards) for p in self.plays if p.path[0] == a] for a in best]
            lasted = [sum(steps) / len(steps) if steps else 0.0 for steps in lengths]
            best = [a for a, mean in zip(best, lasted, strict=True) if mean == max(lasted)]
        return best[0] if len(best) == 1 else best[int(self._rng.integers(len(best)))]

    def believed(self, node: Path) -> tuple[float, float]:
        """Return what is expected of the sum after some actions, and how surely.

        If the model is exact, that is of the best path that was played after them: F of a node is
        then no more than what came until there.
        """
        if self.is_exact:
            paths = [play.path for play in self.plays if play.path[: len(node)] == node]
            if paths:
                return self.best_path(paths)[1:]
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
        path, lower, upper = found.path, found.lower, found.upper
        known = self.known_worths() if self._deterministic else []
        if known and max(known) > -math.inf:
            lower = max(known)
            path, upper = self.plays[known.index(lower)].path, max(upper, lower)
        lower, upper = self.offset + self.unit * lower, self.offset + self.unit * upper
        return replace(
            found, path=path, lower=lower, upper=upper, gap=upper - lower, conditional=True
        )

    def known_worths(self) -> list[float]:
        """Return what each play gave, in the units of the belief; -inf if it was cut off.

        Without random transitions that is just what its path is worth.
        """
        depth = self.tree.depth
        return [
            (self.total(play) - self.offset) / self.unit if play.is_whole(depth) else -math.inf
            for play in self.plays
        ]
