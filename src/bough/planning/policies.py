"""Tree policies: GPTS and other searchers choose the next playout and recommend an action.

Notation of the GPTS policy, for a playout with rewards r_1 .. r_n of at most D steps:

    gamma^i        `weights`   discount of the reward i steps ahead
    c              `center`    expected reward of a step
    p_i            `reached`   share of playouts that reach step i; 1 if nothing is random
    s              `unit`      standard deviation of the discounted sum of a playout
    (r_i - c p_i) / s          a reward in the units of the belief, whose prior has variance 1,
                               in proportion to p_i gamma^2i for each step
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from operator import mul
from typing import Any

import numpy as np

from bough.belief.belief import Belief
from bough.belief.rng import SplitMix64
from bough.exceptions import Exhausted
from bough.kernels import Chi, Discounted, Kernel
from bough.planning.decision import PlanSettings
from bough.planning.playouts import Playout, Simulation
from bough.planning.rewards import RewardScale, StepNoise, discounted_sum, in_units, survival
from bough.searchers.base import Certificate
from bough.searchers.baselines.random_search import RandomSearch
from bough.searchers.baselines.uct import UCT
from bough.searchers.gpts import GPTS
from bough.searchers.registry import PLANNERS, make_searcher
from bough.trees import Path, Tree

#: Noise of a playout's sum, in units of its standard deviation: the difference between paths that
#: share all steps that matter. With random transitions it is fitted: multiplied or divided by a
#: factor at a time, within bounds, from this number of playouts on.
SUM_NOISE = 1.0
NOISE_FACTOR = 1.7
LEAST_NOISE, MOST_NOISE = 0.1, 3.0
ENOUGH_PLAYOUTS = 8
#: With deterministic transitions, noise of a step's reward in units of its prior standard
#: deviation: a step is also what it changes in the rewards after it.
STEP_NOISE = 1.0
#: The next playout follows the path with the highest mean plus this many standard deviations: many,
#: so that the few paths within a budget branch off early. (Chosen on CartPole and Pendulum.)
EXPLORATION = 16.0
#: The same with random transitions, where paths are repeated. (Chosen on discounted trees.)
RANDOM_EXPLORATION = 3.0
#: c of PUCT, in units of the range of rewards.
PUCT_EXPLORATION = 1.0
#: Relative change of the units that is too small to rebuild the belief.
SETTLED = 0.1
#: Difference of sums, in units, below which paths count as equally good.
TIE = 1e-9
#: Distance of a reward from the expected one, in units, that rebuilds the belief at once.
FAR = 1e3


class PathPolicy:
    """The common part of tree policies: a tree of paths, and the playouts of some of them."""

    tree: Tree
    playouts: list[Playout]

    @property
    def depth(self) -> int:
        """The number of actions of a path."""
        return self.tree.depth

    @property
    def reach(self) -> str:
        """The length of the plans that values are about."""
        return f"{self.tree.depth} step{'s' * (self.tree.depth != 1)}"

    @property
    def plays(self) -> int:
        """The number of playouts, with those that were reused."""
        return len(self.playouts)

    def count_whole(self) -> int:
        """Return the number of playouts of full depth."""
        return sum(playout.is_whole(self.depth) for playout in self.playouts)

    def exact_value(self, found: float) -> float:
        """Return the value of the best path, once every path is known."""
        return found


class GPTSPolicy(PathPolicy):
    """GPTS for one decision: a belief of rewards in units in which a sum has mean 0 and variance 1.

    Observations with `rewards="sum"`, the paper's likelihood: sums, each at the end of its path.

    Those with `rewards="steps"` and random transitions: immediate rewards, each of its step, with a
    noise estimated from repeated steps. The model is exact: the value of a path is the sum of the
    expected rewards of its steps.

    Those with `rewards="steps"` and deterministic transitions: both. The step of a node is then
    more than its reward, also what the action changes in the rewards after it, so that a reward is
    a noisy observation of its step.

    After the end of an episode every reward is 0. With deterministic transitions the expected
    rewards that are missed (for agents beyond the depth of the tree too) are part of the last step,
    and the path ends there; with random ones the path continues as requested, with zeros. They are
    expected there: the prior mean and variance of a step are those of a step that is taken, times
    the share of playouts that reach it, so that a prior of many steps does not hide the effects of
    the first ones if episodes are short.

    `scale` is shared by all decisions; `rng` breaks ties between actions, `selection_rng` between
    paths. The belief of the `previous` decision is taken over, since it is faster to clear than to
    make; that decision makes another if it needs it.
    """

    def __init__(
        self,
        settings: PlanSettings,
        tree: Tree,
        simulated: Simulation,
        *,
        reused: list[Playout],
        scale: RewardScale,
        rng: np.random.Generator,
        selection_rng: SplitMix64,
        previous: "GPTSPolicy | None",
    ) -> None:
        self.tree = tree
        self.discount = settings.action_discount
        self.scale = scale
        self.playouts = reused
        self._simulated = simulated
        self._rng, self._selection_rng = rng, selection_rng
        self._deterministic = deterministic = simulated.model.deterministic
        self._observes_steps = settings.rewards == "steps"
        #: Whether the model is exact: only steps are observed, with their own noise.
        self._is_exact = self._observes_steps and not deterministic
        # (The depth of the scale may change for the next decision.)
        self.weights, self.rest, self._beyond = scale.weights, scale.rest, scale.beyond
        self._last_weight = self.weights[-1] * self.discount  # of what comes after the last step
        #: The share of playouts that reach each step, if transitions are random.
        self.reached = [1.0] * tree.depth
        self._kernel: Kernel = Discounted(self.discount, 1.0 / scale.spread**2)
        self._step_noise = StepNoise()
        #: With random transitions: the actions that playouts began with, and if hooks choose the
        #: actions beyond them, all beginnings.
        self._played = {playout.path[0] for playout in reused}
        self._beginnings: set[Path] = set()
        for playout in reused if self._is_exact else ():
            self._step_noise.add(playout)
        for playout in reused if simulated.guides else ():
            self._add_beginnings(playout)
        self.noise = scale.noise or SUM_NOISE
        self._next = 2 * len(self.playouts) or 1  # number of playouts to check the units again
        self._belief: Belief | None = None
        shape = tree.depth, tree.branching(())
        if previous is not None and (previous.tree.depth, previous.tree.branching(())) == shape:
            self._belief, previous._belief = previous._belief, None
        self._rebuild()

    def ends(self, path: Path) -> bool:
        """Return whether a playout of this path has ended."""
        return any(playout.ended and playout.path == path for playout in self.playouts)

    # ------------------------------------------------------------------ the belief

    @property
    def belief(self) -> Belief:
        """The belief, in units of its own."""
        return self.searcher.belief if self._belief is None else self._belief

    @cached_property
    def searcher(self) -> GPTS:
        """A searcher with the observations of this decision."""
        search = GPTS(self.tree, self._kernel, self.noise, mean=0.0, rng=0)
        for playout in self.playouts:
            self.observe(search.belief, playout)
        return search

    def _rebuild(self) -> None:
        """Update the units, and observe all playouts again."""
        weights, spread, step_noise = self.weights, self.scale.spread, STEP_NOISE
        if self._deterministic:
            self.center, self.unit = self.scale.fitted()
        else:
            self.reached = reached = survival(self.playouts, len(weights))
            self.center, self.unit = self.scale.fitted_to(reached)
            if reached[-1] < 1.0:
                weights = [w * math.sqrt(share) for w, share in zip(weights, reached, strict=True)]
                spread = math.sqrt(math.fsum([w * w for w in weights]))
                increments = [0.0, *[(w / spread) ** 2 for w in weights]]
                self._kernel = Chi.of_increments(increments)
        self._expected = [self.center * share for share in self.reached]
        self.offset = math.fsum(map(mul, self._expected, self.weights))  # the sum of a path
        if self._is_exact:
            share = self._step_noise.share((self.unit / spread) ** 2, self.reached)
            self.unit *= math.sqrt(1.0 - share)
            step_noise = math.sqrt(share / (1.0 - share))
        self.step_noises = [step_noise * w / spread for w in weights]
        self._gains = [w / self.unit for w in self.weights]
        self._observe_all()
        if not (self._deterministic or self._is_exact) and len(self.playouts) >= ENOUGH_PLAYOUTS:
            self._fit_noise()

    def _observe_all(self) -> None:
        belief = self._belief
        if belief is None or belief.noise != self.noise or belief.kernel != self._kernel:
            belief = self._belief = Belief(self.tree, self._kernel, self.noise)
        else:
            belief.clear()
        for playout in self.playouts:
            self.observe(belief, playout)

    def _fit_noise(self) -> None:
        """Take the noise of sums with the highest likelihood, of those nearby."""
        likelihoods = {self.noise: self.belief.log_likelihood()}
        for noise in (self.noise * NOISE_FACTOR, self.noise / NOISE_FACTOR):
            if LEAST_NOISE <= noise <= MOST_NOISE:
                self.noise = noise
                self._observe_all()
                likelihoods[noise] = self.belief.log_likelihood()
        best = max(likelihoods, key=lambda noise: likelihoods[noise])
        if best != self.noise:
            self.noise = best
            self._observe_all()
        self.scale.noise = best

    def observe(self, belief: Belief, playout: Playout) -> None:
        """Let a belief observe a playout, in the current units."""
        path, rewards, ended = playout[:3]
        gains, expected = self._gains, self._expected
        length, depth = len(rewards), len(gains)
        short = ended and length < depth
        steps = in_units(rewards, gains, expected)
        if playout.bootstrap and length == depth:
            steps[-1] += self._last_weight * playout.bootstrap / self.unit
        if ended and self._deterministic:
            steps[-1] -= self.center * (self.rest[length] + self._beyond) / self.unit
        elif short:
            steps += in_units((0.0,) * len(path), gains, expected)[length:]
        if self._observes_steps:
            belief.observe_steps(path, steps, noise=self.step_noises[: len(path)])
        if not self._is_exact:
            # (A playout that was cut off says nothing about the steps that it did not reach.)
            belief.observe(path, math.fsum(steps), depth=None if ended else depth)
        if short and self._deterministic:
            belief.end(path)

    # ------------------------------------------------------------------ ask and tell

    def play(self) -> None:
        """Simulate the path with the highest upper bound; raise Exhausted if every one is known.

        With deterministic transitions it has a new step, after which a rollout completes it.
        """
        simulated, depth = self._simulated, self.tree.depth
        if not self._deterministic:
            path = self.belief.highest_upper(RANDOM_EXPLORATION, rng=self._selection_rng).path
            # (The first action is the one that is taken: each is played once before any other is
            # played again.)
            unplayed = set(simulated.legal(simulated.root)) - self._played
            if unplayed and path[0] not in unplayed:
                path = (sorted(unplayed)[int(self._rng.integers(len(unplayed)))], *path[1:])
            self._record(simulated.play(path, self._known_steps(path)))
            return
        path = self.belief.highest_upper(EXPLORATION, rng=self._selection_rng).path
        unexplored = simulated.unexplored(path, depth)
        if unexplored is None:
            raise Exhausted("every path is known")
        rollout = simulated.rollout_policy.complete(unexplored, depth)
        playout = simulated.play(rollout, len(unexplored))
        self._record(playout)
        if playout.is_whole(depth):
            follows = not self.scale.only_survival_counts
            simulated.rollout_policy.score(playout.path, self.worth(playout), follows)

    def _known_steps(self, path: Path) -> int:
        """Return how many actions of a path are the tree's, up to the first new one.

        The hooks choose those after them.
        """
        if not self._simulated.guides:
            return self.tree.depth
        for known in range(1, len(path)):
            if path[:known] not in self._beginnings:
                return known
        return len(path)

    def _add_beginnings(self, playout: Playout) -> None:
        self._beginnings.update(playout.path[:known] for known in range(1, len(playout.path) + 1))

    def _record(self, playout: Playout) -> None:
        """Record a playout, and rebuild the belief if the units of rewards have changed."""
        rewards = playout.rewards
        if not rewards:
            return
        self.playouts.append(playout)
        if self._deterministic:
            self._simulated.rollout_policy.add(playout, self.center)
        else:
            self._played.add(playout.path[0])
            if self._simulated.guides:
                self._add_beginnings(playout)
        self.scale.add(rewards, playout.ended)
        if self._is_exact:
            self._step_noise.add(playout)
        if max(max(rewards) - self.center, self.center - min(rewards)) > FAR * self.unit:
            self._rebuild()
            return
        self.observe(self.belief, playout)
        if len(self.playouts) >= self._next:
            self._next = 2 * len(self.playouts)
            center, unit = self.scale.fitted()
            moved = abs(center - self.center) * self.rest[0] > SETTLED * unit
            if moved or abs(unit - self.unit) > SETTLED * unit or not self._deterministic:
                self._rebuild()

    def start(self) -> None:
        """Simulate the best path of the last decision to the depth of this one."""
        rollouts, depth = self._simulated.rollout_policy, self.tree.depth
        rollouts.start_decision()
        # (Where all that counts is survival, the best path is one of many that end later: to follow
        # it would lead along ledges.)
        if not self._deterministic or not self.playouts or self.scale.only_survival_counts:
            return
        best = max(self.playouts, key=lambda playout: (self.worth(playout), len(playout.path)))
        if not best.is_whole(depth):
            path = rollouts.complete(best.path, depth)
            best = self._simulated.play(path, len(best.path))
            self._record(best)
        rollouts.consider(best.path, self.worth(best))

    # ------------------------------------------------------------------ recommendations

    def total(self, playout: Playout) -> float:
        """Return the discounted sum of the rewards of a playout and of the value at its end."""
        total = discounted_sum(playout.rewards, self.weights)
        if playout.bootstrap:
            total += self.discount ** len(playout.rewards) * playout.bootstrap
        return total

    @property
    def cost_of_end(self) -> float:
        """The rewards beyond the depth that an agent misses after an end."""
        return self.center * self._beyond

    def worth(self, playout: Playout) -> float:
        """Return the sum of a playout, less what it misses beyond the depth if it has ended."""
        total = self.total(playout)
        return total - self.cost_of_end if playout.ended else total

    def recommend(self, receding: bool) -> tuple[Path, float, float]:
        """Return the path to follow, its value and the standard deviation of the value.

        With deterministic transitions that is the best path, and of equally good ones that with the
        highest expected value of its first action. With random ones an agent (`receding`) takes the
        action with the highest expected value.
        """
        playouts, depth = self.playouts, self.tree.depth
        playouts = [playout for playout in playouts if playout.is_whole(depth)] or playouts
        if self._deterministic:
            return self._best_known(playouts)
        if receding:
            first = self._expected_best_action()
            playouts = [playout for playout in playouts if playout.path[0] == first]
            if not playouts:
                return (first,), math.nan, math.inf
        path, mean, std = self.best_path([playout.path for playout in playouts])
        lengths = [len(p.rewards) for p in playouts if p.path == path[: len(p.path)]]
        return path[: max(lengths)], mean, std  # (up to where the episode ended each time)

    def _best_known(self, playouts: list[Playout]) -> tuple[Path, float, float]:
        worths = [self.worth(playout) for playout in playouts]
        top = max(worths) - TIE * self.unit
        best = [p for p, worth in zip(playouts, worths, strict=True) if worth >= top]
        # Of paths of the same value, one that continues if positive rewards are expected.
        best = [p for p in best if p.ended == (self.center < 0.0)] or best
        firsts = dict.fromkeys(playout.path[0] for playout in best)
        if len(firsts) > 1:
            means, _ = self.belief.posterior([(action,) for action in firsts])
            action = list(firsts)[int(np.argmax(self.offset + self.unit * means))]
            best = [playout for playout in best if playout.path[0] == action]
        return best[0].path, self.total(best[0]), 0.0

    def _expected_best_action(self) -> int:
        """Return the action with the highest expected value.

        If all have the same, as before the first reward, the one after which playouts were longest:
        what continues may still come to something.
        """
        played = {playout.path[0] for playout in self.playouts}
        actions = [a for a in self._simulated.legal(self._simulated.root) if a in played]
        means = {a: self.describe((a,))[0] for a in actions}
        best = [a for a in actions if means[a] == max(means.values())]
        if len(best) > 1:
            lengths = [[len(p.rewards) for p in self.playouts if p.path[0] == a] for a in best]
            lasted = [sum(steps) / len(steps) if steps else 0.0 for steps in lengths]
            best = [a for a, mean in zip(best, lasted, strict=True) if mean == max(lasted)]
        return best[0] if len(best) == 1 else best[int(self._rng.integers(len(best)))]

    def describe(self, node: Path) -> tuple[float, float, int]:
        """Return mean and standard deviation of the sum of rewards after some actions.

        Also return the number of playouts that began with them. If the model is exact, the mean is
        that of the best path simulated after them: the belief about a node then only covers the
        rewards up to it.
        """
        paths = [p.path for p in self.playouts if p.path[: len(node)] == node]
        if self._is_exact and paths:
            return *self.best_path(paths)[1:], len(paths)
        mean, std = self.belief.posterior([node])
        return float(self.offset + self.unit * mean[0]), float(self.unit * std[0]), len(paths)

    def best_path(self, paths: list[Path]) -> tuple[Path, float, float]:
        """Return the path with the highest mean less one standard deviation, and these two."""
        padding = (0,) * self.tree.depth  # (after an end, actions have no effect)
        paths = [(path + padding)[: self.tree.depth] for path in paths]
        mean, std = self.belief.posterior(paths)
        k = int(np.argmax(mean - std))
        return paths[k], float(self.offset + self.unit * mean[k]), float(self.unit * std[k])

    def certificate(self) -> Certificate | None:
        """Return bounds of the best path, in the units of the user; None if these are a guess."""
        if not self.scale.is_fitted:
            return None
        found = self.searcher.certificate
        path, lower, upper = found.path, found.lower, found.upper
        known = self.known_values() if self._deterministic else []
        if known and max(known) > -math.inf:
            lower = max(known)
            path, upper = self.playouts[known.index(lower)].path, max(upper, lower)
        lower, upper = self.offset + self.unit * lower, self.offset + self.unit * upper
        return replace(
            found, path=path, lower=lower, upper=upper, gap=upper - lower, conditional=True
        )

    def known_values(self) -> list[float]:
        """Return the sum of each playout in the units of the belief; -inf if it was cut off.

        With deterministic transitions that is the value of its path.
        """
        depth = self.tree.depth
        return [
            (self.total(p) - self.offset) / self.unit if p.is_whole(depth) else -math.inf
            for p in self.playouts
        ]


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
        self.tree = tree
        self._simulated = simulated
        self._discount = settings.action_discount
        self.weights = scale.weights
        self.playouts: list[Playout] = []
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
