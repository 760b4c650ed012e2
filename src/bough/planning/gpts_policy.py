# cython: language_level=3, annotation_typing=False
"""The policy of GPTS on the tree of paths: it chooses the next playout and recommends an action.

Compiled, since it runs for every playout.

Notation, for a playout with rewards r_1 .. r_n of at most D steps:

    gamma^i        `weights`   discount of the reward i steps ahead
    c              `center`    expected reward of a step
    p_i            `reached`   share of playouts that reach step i; 1 if nothing is random
    s              `unit`      standard deviation of the discounted sum of a playout
    (r_i - c p_i) / s          a reward in the units of the belief, whose prior has variance 1,
                               in proportion to p_i gamma^2i for each step
"""

import math
from dataclasses import replace
from operator import mul

import cython
import numpy as np

from bough.belief.belief import Belief
from bough.belief.posterior import Posterior
from bough.belief.rng import SplitMix64
from bough.exceptions import Exhausted
from bough.kernels import Chi, Discounted, Kernel
from bough.planning.decision import PlanSettings
from bough.planning.playouts import Playout, Simulation
from bough.planning.rewards import (
    RewardScale,
    StepNoise,
    discounted_sum,
    exact_sum,
    in_units,
    survival,
)
from bough.planning.rollouts import MANY
from bough.searchers.base import Certificate
from bough.searchers.gpts import GPTS
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
#: Relative change of the units that is too small to rebuild the belief.
SETTLED = 0.1
#: Difference of sums, in units, below which paths count as equally good.
TIE = 1e-9
#: Variances of noise below this one count as 0, as in the belief.
LEAST_VARIANCE = 1e-100
#: Distance of a reward from the expected one, in units, that rebuilds the belief at once.
FAR = 1e3


class PathPolicy:
    """The common part of tree policies: a `tree` of paths, and the `playouts` of some of them."""

    def __init__(self, tree: Tree, playouts: list[Playout]) -> None:
        self.tree = tree
        self.playouts = playouts

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

    def tried(self, node: Path) -> list[int]:
        """Return the actions that playouts took after some others, in order."""
        length = len(node)
        return sorted(
            {p.path[length] for p in self.playouts if p.path[:length] == node and p.path[length:]}
        )

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
        PathPolicy.__init__(self, tree, reused)
        self.discount = settings.action_discount
        self.scale = scale
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
        self._belief: Belief | None = None
        self._searcher: GPTS | None = None
        if previous is not None and previous.tree is tree:
            self._take_over(previous)
        else:
            self._plain_kernel = Discounted(self.discount, 1.0 / scale.spread**2)
        self._kernel: Kernel = self._plain_kernel
        self._step_noise = StepNoise()
        #: With random transitions: the actions that playouts began with, and if hooks choose the
        #: actions beyond them, all beginnings.
        self._played = set() if deterministic else {playout.path[0] for playout in reused}
        self._beginnings: set[Path] = set()
        for playout in reused if self._is_exact else ():
            self._step_noise.add(playout)
        for playout in reused if simulated.guides else ():
            self._add_beginnings(playout)
        self.noise = scale.noise or SUM_NOISE
        self._next = 2 * len(self.playouts) or 1  # number of playouts to check the units again
        #: With deterministic transitions: the sum of each playout.
        self._totals = [self.total(playout) for playout in reused] if deterministic else []
        self._rebuild()

    def _take_over(self, previous: "GPTSPolicy") -> int:
        """Use what was made for a decision before, which had the same tree."""
        self._plain_kernel = previous._plain_kernel
        self._take_belief(previous._belief)
        previous._belief = None
        return 0

    def ends(self, path: Path) -> bool:
        """Return whether a playout of this path has ended."""
        return any(playout.ended and playout.path == path for playout in self.playouts)

    # ------------------------------------------------------------------ the belief

    @property
    def belief(self) -> Belief:
        """The belief, in units of its own."""
        return self.searcher.belief if self._belief is None else self._belief

    @property
    def searcher(self) -> GPTS:
        """A searcher with the observations of this decision."""
        if self._searcher is None:
            self._searcher = GPTS(self.tree, self._kernel, self.noise, mean=0.0, rng=0)
            for playout in self.playouts:
                self._observe(self._searcher.belief.propagation, playout)
        return self._searcher

    def _take_belief(self, belief: Belief | None) -> None:
        self._belief = belief
        if belief is not None:
            self._posterior, self._arms = belief.propagation, belief.arm_search

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
        squares = [noise * noise for noise in self.step_noises]
        self._step_variances = [square if square >= LEAST_VARIANCE else 0.0 for square in squares]
        self._gains = [w / self.unit for w in self.weights]
        self._observe_all()
        if not (self._deterministic or self._is_exact) and len(self.playouts) >= ENOUGH_PLAYOUTS:
            self._fit_noise()

    def _observe_all(self) -> None:
        belief = self._belief
        if belief is None or belief.noise != self.noise or belief.kernel != self._kernel:
            self._take_belief(Belief(self.tree, self._kernel, self.noise))
        else:
            self._posterior.clear()
        for playout in self.playouts:
            self._observe(self._posterior, playout)

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
        self._observe(belief.propagation, playout)

    def _observe(self, posterior: Posterior, playout: Playout) -> int:
        fields = cython.cast(tuple, playout)
        path, rewards, ended, bootstrap = fields[0], fields[1], fields[2], fields[4]
        length, depth, taken = len(rewards), len(self._gains), len(path)
        short = ended and length < depth
        steps = in_units(rewards, self._gains, self._expected)
        if bootstrap and length == depth:
            steps[-1] += self._last_weight * bootstrap / self.unit
        if ended and self._deterministic:
            steps[-1] -= self.center * (self.rest[length] + self._beyond) / self.unit
        elif short:
            steps += in_units((0.0,) * taken, self._gains, self._expected)[length:]
        if self._observes_steps:
            variances = self._step_variances
            if taken < depth:
                variances = variances[:taken]
            # (A playout that was cut off says nothing about the steps that it did not reach.)
            ends = 0 if self._is_exact else taken if ended else depth
            posterior.observe_path(path, steps, variances, exact_sum(steps) if ends else 0.0, ends)
        else:
            posterior.observe(path, exact_sum(steps), None, None if ended else depth)
        if short and self._deterministic:
            posterior.end(path)
        return 0

    # ------------------------------------------------------------------ ask and tell

    def play(self) -> None:
        """Simulate the path with the highest upper bound; raise Exhausted if every one is known.

        With deterministic transitions it has a new step, after which a rollout completes it.
        """
        simulated, depth = self._simulated, len(self.weights)
        rollouts = simulated.rollout_policy
        if not self._deterministic:
            self._play_random()
            return
        path = self._arms.highest_upper(EXPLORATION, self._selection_rng).path
        unexplored = simulated.unexplored(path, depth)
        if unexplored is None:
            raise Exhausted("every path is known")
        playout = simulated.play(rollouts.complete(unexplored, depth), len(unexplored))
        self._record(playout)
        if playout.is_whole(depth):
            worth = self._worth(len(self.playouts) - 1)
            rollouts.score(playout[0], worth, not self.scale.only_survival_counts)

    def _play_random(self) -> None:
        simulated = self._simulated
        path = self._arms.highest_upper(RANDOM_EXPLORATION, self._selection_rng).path
        # (The first action is the one that is taken: each is played once before any other is
        # played again.)
        legal = simulated.legal(simulated.root)
        # (The bounds choose among very many actions, too many to play each once.)
        unplayed = () if len(legal) > MANY else sorted(set(legal) - self._played)
        if unplayed and path[0] not in unplayed:
            path = (unplayed[int(self._rng.integers(len(unplayed)))], *path[1:])
        self._record(simulated.play(path, self._known_steps(path)))

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

    def _record(self, playout: Playout) -> int:
        """Record a playout, and rebuild the belief if the units of rewards have changed."""
        fields = cython.cast(tuple, playout)
        rewards = fields[1]
        if not rewards:
            return 0
        self.playouts.append(playout)
        if self._deterministic:
            self._totals.append(self.total(playout))
            self._simulated.rollout_policy.add(playout, self.center)
        else:
            self._played.add(playout.path[0])
            if self._simulated.guides:
                self._add_beginnings(playout)
        self.scale.add(rewards, fields[2])
        if self._is_exact:
            self._step_noise.add(playout)
        far = FAR * self.unit
        for i in range(len(rewards)):
            reward = rewards[i]
            if reward - self.center > far or self.center - reward > far:
                self._rebuild()
                return 0
        self._observe(self._posterior, playout)
        if len(self.playouts) >= self._next:
            self._next = 2 * len(self.playouts)
            center, unit = self.scale.fitted()
            moved = abs(center - self.center) * self.rest[0] > SETTLED * unit
            if moved or abs(unit - self.unit) > SETTLED * unit or not self._deterministic:
                self._rebuild()
        return 0

    def start(self) -> None:
        """Simulate the best path of the last decision to the depth of this one."""
        rollouts, depth = self._simulated.rollout_policy, len(self.weights)
        rollouts.start_decision()
        # (Where all that counts is survival, the best path is one of many that end later: to follow
        # it would lead along ledges.)
        if not self._deterministic or not self.playouts or self.scale.only_survival_counts:
            return
        k = 0
        for i in range(1, len(self.playouts)):
            worth, top = self._worth(i), self._worth(k)
            longer = len(self.playouts[i].path) > len(self.playouts[k].path)
            if worth > top or (worth == top and longer):
                k = i
        best = self.playouts[k]
        if not best.is_whole(depth):
            path = rollouts.complete(best.path, depth)
            best = self._simulated.play(path, len(best.path))
            self._record(best)
        rollouts.consider(best.path, self.worth(best))

    # ------------------------------------------------------------------ recommendations

    def total(self, playout: Playout) -> float:
        """Return the discounted sum of the rewards of a playout and of the value at its end."""
        fields = cython.cast(tuple, playout)
        rewards, bootstrap = fields[1], fields[4]
        total = discounted_sum(rewards, self.weights)
        if bootstrap:
            total += self.discount ** len(rewards) * bootstrap
        return total

    @property
    def cost_of_end(self) -> float:
        """The rewards beyond the depth that an agent misses after an end."""
        return self.center * self._beyond

    def worth(self, playout: Playout) -> float:
        """Return the sum of a playout, less what it misses beyond the depth if it has ended."""
        total = self.total(playout)
        return total - self.cost_of_end if playout.ended else total

    def _worth(self, i: int) -> float:
        """Return the worth of a playout by its number, if transitions are deterministic."""
        total = self._totals[i]
        fields = cython.cast(tuple, self.playouts[i])
        return total - self.center * self._beyond if fields[2] else total

    def _is_whole(self, i: int) -> bool:
        """Return whether a playout was not cut off."""
        fields = cython.cast(tuple, self.playouts[i])
        return fields[2] or len(fields[0]) == len(self.weights)

    def recommend(self, receding: bool) -> tuple[Path, float, float]:
        """Return the path to follow, its value and the standard deviation of the value.

        With deterministic transitions that is the best path, and of equally good ones that with the
        highest expected value of its first action. With random ones an agent (`receding`) takes the
        action with the highest expected value.
        """
        if self._deterministic:
            return self._best_known()
        playouts, depth = self.playouts, self.tree.depth
        playouts = [playout for playout in playouts if playout.is_whole(depth)] or playouts
        if receding:
            first = self._expected_best_action()
            playouts = [playout for playout in playouts if playout.path[0] == first]
            if not playouts:
                return (first,), math.nan, math.inf
        path, mean, std = self.best_path([playout.path for playout in playouts])
        lengths = [len(p.rewards) for p in playouts if p.path == path[: len(p.path)]]
        return path[: max(lengths)], mean, std  # (up to where the episode ended each time)

    def _best_known(self) -> tuple[Path, float, float]:
        playouts = self.playouts
        candidates = [i for i in range(len(playouts)) if self._is_whole(i)]
        candidates = candidates or list(range(len(playouts)))
        top = max([self._worth(i) for i in candidates]) - TIE * self.unit
        best = [i for i in candidates if self._worth(i) >= top]
        # Of paths of the same value, one that continues if positive rewards are expected.
        best = [i for i in best if playouts[i].ended == (self.center < 0.0)] or best
        firsts = dict.fromkeys([playouts[i].path[0] for i in best])
        if len(firsts) > 1:
            means, _ = self.belief.posterior([(action,) for action in firsts])
            expected = [self.offset + self.unit * mean for mean in means.tolist()]
            action = list(firsts)[expected.index(max(expected))]
            best = [i for i in best if playouts[i].path[0] == action]
        return playouts[best[0]].path, self._totals[best[0]], 0.0

    def _expected_best_action(self) -> int:
        """Return the action with the highest expected value.

        If all have the same, as before the first reward, the one after which playouts were longest:
        what continues may still come to something.
        """
        legal = self._simulated.legal(self._simulated.root)
        played = {playout.path[0] for playout in self.playouts}
        actions = [a for a in legal if a in played] if len(legal) <= MANY else sorted(played)
        means = {a: self.describe((a,))[0] for a in actions}
        top = max(means.values())
        best = [a for a in actions if means[a] == top]
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
        if self._deterministic and any(self.ends(node[:i]) for i in range(1, len(node))):
            return math.nan, math.nan, 0
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
