"""Gaussian-process tree search (GPTS, Dorard and Shawe-Taylor).

The paper's algorithm, over plays t = 1, 2, ..., and where it is implemented:

    x_t = argmax_x mu(x) + b_t sigma(x)                         `ask`, by the rule in `_choose`
    y_t = f(x_t) + noise                                        the caller evaluates the path
    update mu, sigma to the posterior given (x_1, y_1) ..       `tell`, in `_observe`
    refit kernel, noise and mean, if due (not in the paper)     `tell`, in `refit`

    mu, sigma    posterior mean and standard deviation          `belief`
    b_t          exploration: sqrt(2 log t) + 0.5, or with select="arm" sqrt(beta_t) of the paper
    beta_t       width of the confidence bounds                 `confidence`
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bough._validation import at_least_zero, clipped, interval
from bough.belief.belief import BEST_DRAWS, Belief
from bough.belief.best_arm import Arm
from bough.confidence import Confidence
from bough.exceptions import Contradiction, Exhausted
from bough.kernels import Kernel
from bough.learning.learner import Learner, largest_scale
from bough.learning.model import Settings
from bough.searchers.base import (
    BOUNDS_ARE_WRONG,
    Certificate,
    ExpectedBest,
    Searcher,
    check_rule,
    holding,
    new_generator,
    reward_of,
)
from bough.searchers.comparison import Comparison
from bough.trees import Path, Tree

#: The exploration of the default rule is sqrt(2 log t) plus this, at scale 1.
EXPLORATION = 0.5
#: While the noise is fitted, one play in this many repeats the arm with the highest mean: without
#: repeated plays, noise looks like the last step of a path. (Both constants did well on the tuning
#: seeds of `benchmarks/search.py`; so did others near them.)
REPEAT_EVERY = 10
#: The first repeated plays, after which rewards without noise are recognized.
FIRST_REPEATS = (6, 12)
#: The most draws of a random path, to find one that was not played.
MOST_DRAWS = 8


@dataclass
class Rollouts:
    """The rewards of the random completions of the path to one node."""

    count: int = 0
    average: float = 0.0
    highest: float = -math.inf
    path: Path = ()  # of the highest

    def add(self, path: Path, reward: float) -> None:
        """Add a reward."""
        self.count += 1
        self.average += (reward - self.average) / self.count
        if reward > self.highest:
            self.highest, self.path = reward, path


class GPTS(Searcher):
    """Search of a tree with an exact Gaussian-process posterior of all its paths.

    Parameters
    ----------
    tree : Tree
        The tree to search.
    kernel : bough.kernels.Kernel, optional
        The smoothness of the reward. By default it is fitted, as is each hyperparameter that is
        None, as in `kernels.Gaussian(None, variance=1.0)`.
    noise : float, optional
        The standard deviation of the noise of a reward; fitted by default. Without noise no arm is
        played twice (except by rollouts, which are random); this also holds once repeated rewards
        indicate that there is none.
    mean : float, function or bough.means.Heuristic, optional
        The prior mean of the reward, as for `Belief`. By default it is fitted if the kernel or the
        noise is, and 0 otherwise. Scale and offset of a heuristic are always fitted.
        (Hyperparameters are refitted each time the number of observations has grown by a third,
        from 500 on: has doubled. A fit costs O(nodes), which is O(depth) per observation.)
    select : "ucb" or "arm"
        The selection rule. Both play the arm with the highest upper confidence bound, the posterior
        mean plus b_t standard deviations at play t. `"ucb"`: b_t = sqrt(2 log t) + 0.5, and while
        the noise is fitted one play in ten repeats the arm with the highest mean, to separate noise
        from the last steps. If hyperparameters are fitted, the model may be wrong: random paths are
        mixed in where it predicts new paths no better than the average of all rewards does (see
        `misfit`), or where plays no longer change it. `"arm"`: the paper's b_t, which grows with
        the number of arms; it has the paper's regret bounds, and explores much more than is useful.
    confidence : Confidence
        The confidence bounds: `scale` multiplies b_t, `delta` is the failure probability of the
        certificate.
    growth : "complete", "deepening" or "rollout"
        The kind of a play. `"complete"`: a complete path. `"deepening"`: a path that ends at the
        first new node, whose reward is that of the node. `"rollout"`: a complete path, random below
        the first new node, and observed at that node.
    bounds : pair of float, optional
        Known bounds of the expected reward, such as `(0, 1)` for an accuracy; an end may be None.
        The certificate, `best_value` and `expected_gap` respect them. (Single noisy rewards may lie
        outside. If rewards contradict the bounds, the bounds are ignored, and `misfit` reports it.)
    rng : int or numpy.random.Generator
        The seed of ties and of draws of unexplored children.

    Examples
    --------
    >>> import bough
    >>> search = bough.GPTS(bough.Tree(5, 10), rng=0)
    >>> for _ in range(100):
    ...     path = search.ask()
    ...     search.tell(path, -sum(path) / 10)
    >>> search.observations, len(search.best().path)
    (100, 10)
    """

    def __init__(
        self,
        tree: Tree,
        kernel: Kernel | None = None,
        noise: float | None = None,
        *,
        mean: float | Callable[[Path], float] | None = None,
        select: Literal["ucb", "arm"] = "ucb",
        confidence: Confidence | None = None,
        growth: Literal["complete", "deepening", "rollout"] = "complete",
        bounds: tuple[float | None, float | None] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a bough.Tree, got {tree!r}")
        if select not in ("ucb", "arm"):
            raise ValueError(f'select must be "ucb" or "arm", got {select!r}')
        if growth not in ("complete", "deepening", "rollout"):
            raise ValueError(f'growth must be "complete", "deepening" or "rollout", got {growth!r}')
        if confidence is None:
            confidence = Confidence()
        elif not isinstance(confidence, Confidence):
            raise TypeError(f"confidence must be a bough.Confidence, got {confidence!r}")
        self.tree = tree
        self.select = select
        self.growth = growth
        self.confidence = confidence
        self._given_bounds = interval(bounds, "bounds")
        self._learner = Learner.of(tree.depth, kernel, noise, mean)
        first = Settings(kernel, noise, 0.0 if mean is None else mean)  # type: ignore[arg-type]
        if self._learner is not None:
            first = self._learner.first()
        arms: Literal["leaves", "nodes"] = "leaves" if growth == "complete" else "nodes"
        self.belief = Belief(tree, first.kernel, first.noise, mean=first.mean, arms=arms)
        if growth == "rollout" and self.belief.effects is not None:
            raise ValueError(
                'growth="rollout" observes unknown nodes, whose labels are unknown: with labels '
                'use "complete" or "deepening"'
            )
        self._random = new_generator(rng)
        self._exact = self.belief.noise == 0.0
        self._asked: Path | None = None  # asked for, and not yet counted as pending
        self._asked_at: Path = ()  # the node at which its reward is observed
        self._prediction: Arm | None = None  # of its reward, if the belief chose it
        # Pending evaluations by path, the oldest first: the belief's token, the observed node, and
        # the prediction.
        self._pending: dict[Path, deque[tuple[int, Path, Arm | None]]] = {}
        self._comparison = Comparison()
        # A prior that is given is trusted; one that is fitted may be wrong, and then random paths
        # are mixed in.
        self._compares = self._learner is not None and growth == "complete"
        self._mixes = self._compares and select == "ucb" and math.inf not in (tree.counts or ())
        self._random_due = 0.0  # the number of random paths that are due
        self._highest_reward, self._lowest_reward = -math.inf, math.inf
        self._highest_at: Path = ()
        self._rollouts: dict[Path, Rollouts] = {}  # by the node at which they were observed

    # ------------------------------------------------------------------ ask: choose an arm

    def ask(self) -> Path:
        """Return the next path to evaluate; raise `Exhausted` if all rewards are known."""
        if self._asked is not None:
            token = self.belief.pend(self._asked_at, depth=len(self._asked))
            pending = (token, self._asked_at, self._prediction)
            self._pending.setdefault(self._asked, deque()).append(pending)
            self._asked = None
        self._prediction = None
        # Known and pending arms are not played again, as long as there are others.
        node = self._choose(skip=self._exact or bool(self._pending))
        if node is None and not self._exact:
            node = self._choose(skip=False)
        if node is None:
            others = f" and {self.belief.pending} pending ones" if self._pending else ""
            raise Exhausted(f"all arms are known after {self.observations} observations{others}")
        self._asked = self._roll_out(node) if self.growth == "rollout" else node
        self._asked_at = node
        return self._asked

    def _choose(self, skip: bool) -> Path | None:
        """Return the selected arm; if `skip`, one that is neither known nor pending, or None."""
        belief = self.belief
        t = belief.propagation.count + (belief.pending if self._pending else 0) + 1
        if self.select == "arm":
            b = self._sqrt_beta(self.confidence, t)
        else:
            if (t % REPEAT_EVERY == 0 or t in FIRST_REPEATS) and self._repeats_leader:
                leader = belief.best_observed(0.0)
                if leader is not None and leader.path not in self._pending:
                    return leader.path
            b = self.confidence.scale * (math.sqrt(2.0 * math.log(t)) + EXPLORATION)
        search = belief.quick_search
        choose = search.highest_upper_unknown if skip and t > 1 else search.highest_upper
        arm = choose(b, self._random)
        if arm is None:
            return None
        if self._mixes:
            self._random_due += self._comparison.random_share
            if (arm.visits or self._random_due >= 1.0) and (path := self._other_path(arm)):
                return path
        if self._compares:
            self._prediction = belief.arm(arm.path) if self._pending else arm
        return arm.path

    def _other_path(self, arm: Arm) -> Path | None:
        """Return a random path that was not played, if one is due and a few draws find one."""
        assert self._learner is not None  # otherwise no random paths are mixed in
        if self._random_due >= 1.0:
            self._random_due -= 1.0
        elif not (arm.visits and self._learner.watching):
            # As long as repeated plays have not differed, those that are scheduled are enough.
            return None
        for _ in range(MOST_DRAWS):
            path = self._roll_out(())
            if self.belief.explored_steps(path) < len(path):
                return path
        return None

    @property
    def _repeats_leader(self) -> bool:
        """Whether plays are repeated: the noise is fitted, and not all rewards are equal."""
        fits_noise = self._learner is not None and self._learner.fits_noise
        return fits_noise and not self._exact and self._lowest_reward < self._highest_reward

    def _roll_out(self, node: Path) -> Path:
        """Return a random completion of the path to a node."""
        path = list(node)
        while (width := self.tree.children(tuple(path))) > 0:
            path.append(self._random.below(int(width)) if width < math.inf else 0)
        return tuple(path)

    # ------------------------------------------------------------------ tell: observe and refit

    def tell(
        self,
        path: Sequence[int],
        value: float | None = None,
        *,
        noise: float | None = None,
        steps: Sequence[float] | None = None,
    ) -> None:
        """Record the reward of a path.

        Parameters
        ----------
        path
            The path, which need not come from `ask` or be new.
        value
            The reward.
        noise
            The standard deviation of the reward, if it is not that of the search.
        steps
            The (discounted) immediate rewards along the path, one for each step, instead of the
            value, which is their sum. The noise is that of the sum, and is shared among them in
            proportion to their prior variances.
        """
        if path is not self._asked:
            path = self._checked(path)
        if steps is None and type(value) is float:
            reward = value  # the belief checks it
        else:
            reward = reward_of(value, steps, len(path))
        token: int | None = None
        node, prediction = path, self._prediction
        if self._pending or path is not self._asked or self.growth == "rollout":
            token, node, prediction = self._find(path)
        usual = self.belief.noise  # may change in `doubt`
        try:
            self._observe(path, node, reward, noise, steps, token)
        except Contradiction:
            if self._learner is None or not self._learner.exact or noise is not None:
                raise
            self._learner.doubt(self.belief)  # the rewards looked exact, but are not
            self._new_prior()
            self._observe(path, node, reward, noise, steps, token)
        if path is self._asked and not self._pending:
            self._asked = None
        else:
            self._end(path)
        if prediction is not None:
            self._comparison.compare(reward, prediction, usual if noise is None else float(noise))
        elif self._compares:
            self._comparison.add(reward)
        if reward > self._highest_reward:
            self._highest_reward, self._highest_at = reward, node
        if reward < self._lowest_reward:
            self._lowest_reward = reward
        if self.growth == "rollout":
            self._rollouts.setdefault(node, Rollouts()).add(path, reward)
        if self._learner is not None:
            self._refit_if_due(self._learner, node, reward, steps)

    def _checked(self, path: Sequence[int]) -> Path:
        """Return a path that can be played; the one asked for needs no check."""
        if type(path) is tuple and path == self._asked:
            return path
        return self.tree.walk(path)[0] if self.growth == "deepening" else self.tree.complete(path)

    def _find(self, path: Path) -> tuple[int | None, Path, Arm | None]:
        """Return the token of a path if pending, the node where it is observed, the prediction."""
        if path in self._pending:
            return self._pending[path][0]
        if path == self._asked:
            return None, self._asked_at, self._prediction
        if self.growth != "rollout":
            return None, path, None
        return None, path[: self.belief.explored_steps(path) + 1], None

    def _observe(
        self,
        path: Path,
        node: Path,
        reward: float,
        noise: float | None,
        steps: Sequence[float] | None,
        token: int | None,
    ) -> None:
        """Update the belief, or raise an error and leave it as it was."""
        if steps is not None and node:
            first = list(steps)[: len(node)]
            if noise is None:
                self.belief.observe_steps(node, first, depth=len(path))
            else:
                total, shares = at_least_zero(noise, "noise"), self.belief.step_shares(len(path))
                noises = [total * math.sqrt(share) for share in shares[: len(node)]]
                self.belief.observe_steps(node, first, noise=noises)
            if token is not None:
                self.belief.forget(token)
        elif token is not None:
            self.belief.settle(token, reward, noise=noise)
        elif noise is None and self.growth != "rollout":
            self.belief.propagation.observe(node, reward, None, None)
        else:
            self.belief.observe(node, reward, noise=noise, depth=len(path))

    def _end(self, path: Path) -> None:
        """Drop the oldest pending evaluation of a path, or the one asked for last."""
        if self._pending and path in self._pending:
            self._pending[path].popleft()
            if not self._pending[path]:
                del self._pending[path]
        elif path == self._asked:
            self._asked = None

    def _refit_if_due(
        self, learner: Learner, node: Path, reward: float, steps: Sequence[float] | None
    ) -> None:
        if learner.only_zeros:
            learner.note([reward] if steps is None else steps)
        if learner.watching:
            learner.watch(self.belief, node, reward)
        if learner.is_due(self.belief.propagation.count):
            self.refit()

    def refit(self) -> None:
        """Fit the hyperparameters to all observations now, if there are any to fit."""
        if self._learner is None:
            return
        self._learner.learn(self.belief)
        self._new_prior()

    def _new_prior(self) -> None:
        """Continue with a belief whose prior has changed."""
        self._exact = self.belief.noise == 0.0

    def forget(self, path: Sequence[int]) -> None:
        """Drop a pending evaluation of the path, the oldest if there are several."""
        path = self._checked(path)
        if path in self._pending:
            self.belief.forget(self._pending[path][0][0])
        elif path != self._asked:
            raise ValueError(f"path {path} is not pending: it was observed or never asked for")
        self._end(path)

    # ------------------------------------------------------------------ results

    @property
    def observations(self) -> int:
        """The number of observations."""
        return self.belief.propagation.count

    @property
    def pending(self) -> tuple[Path, ...]:
        """The paths returned by `ask` and not yet observed or forgotten, the oldest first."""
        tokens = ((end[0], path) for path, ends in self._pending.items() for end in ends)
        asked = [] if self._asked is None else [self._asked]
        return (*(path for _, path in sorted(tokens)), *asked)

    @property
    def bounds(self) -> tuple[float, float]:
        """The known bounds of the expected reward; infinite if rewards contradict them."""
        extremes = self._lowest_reward, self._highest_reward
        return holding(self._given_bounds, *extremes, self.belief.noise)

    @property
    def misfit(self) -> str | None:
        """One sentence if the model does not fit the rewards so far, or None.

        The model does not fit if it predicts the rewards of new paths worse than their average
        does, or if rewards contradict the given bounds.
        """
        if self.bounds != self._given_bounds:
            return BOUNDS_ARE_WRONG
        if not self._comparison.favors_independence:
            return None
        mixed = "; half of the paths are drawn at random" if self._mixes else ""
        return (
            "the model predicts the rewards of new paths no better than the average of all rewards "
            "does: paths that share a prefix have unrelated rewards, or noise hides what they have "
            f"in common{mixed}"
        )

    def _sqrt_beta(self, confidence: Confidence, t: int) -> float:
        log_arms = self.tree.log_arms
        if log_arms is None:
            # A working value: as many arms as nodes, each with unexplored children.
            log_arms = math.log(2 * self.belief.node_array.used)
        elif self.growth == "deepening":
            log_arms += math.log(self.tree.depth + 1)  # every node of a path has a reward
        return confidence.sqrt_beta(t, log_arms)

    def deviations(self, observations: int | None = None) -> float:
        """Return the number of standard deviations in bounds that hold with probability 1 - delta.

        With fitted hyperparameters, half of delta covers the error of the estimated scale of the
        rewards. The result is infinite as long as the scale cannot be estimated.

        Parameters
        ----------
        observations
            The number of observations, by default all so far.
        """
        count = self.observations if observations is None else observations
        delta = self.confidence.delta
        if self._learner is None:
            return self._sqrt_beta(Confidence(delta), count + 1)
        b = self._sqrt_beta(Confidence(delta / 2), count + 1)
        return b * largest_scale(self._degrees_of_freedom(count), delta / 2)

    def _degrees_of_freedom(self, observations: int) -> float:
        """Return the number of observations that the scale of the rewards is estimated from."""
        return math.inf if self._learner is None else max(observations - 1, 0)

    @property
    def certificate(self) -> Certificate:
        """The incumbent and its gap, at level delta, whatever `scale` the search uses.

        The upper bound is that of `bounds` (by default infinite) if the number of arms is not
        known, or if the prior mean is a function, whose values at unexplored nodes are not known.
        """
        path, *ends = self.belief.bounds(self.deviations())
        lower, upper = (clipped(end, self.bounds) for end in ends)
        return Certificate(
            path=path,
            lower=lower,
            upper=upper,
            gap=upper - lower,
            delta=self.confidence.delta,
            conditional=self._learner is not None,
        )

    def expected_best(self) -> ExpectedBest:
        """Return mean and standard deviation of the reward of the best arm, and the expected gap.

        They are sampled on first access, and are those of `best_value` and `expected_gap`.
        """
        path = self.best().path
        if self.growth == "rollout":
            path = path[: self.belief.explored_steps(path)]
        freedom = self._degrees_of_freedom(self.observations)
        draw = self.belief.prepare_best(
            BEST_DRAWS, path, degrees_of_freedom=max(freedom, 1.0), rng=0
        )
        return ExpectedBest(draw, self.bounds, freedom)

    def best_value(self) -> tuple[float, float]:
        """Return mean and standard deviation of the reward of the best arm of all."""
        expected = self.expected_best()
        return expected.mean, expected.std

    def expected_gap(self) -> float:
        """Return the expected reward of the best arm of all minus that of `best()`."""
        return self.expected_best().gap

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were played.

        Parameters
        ----------
        rule
            `"lower"`: the highest mean minus one standard deviation (the default). `"mean"`: the
            highest mean. `"observed"`: the highest single reward (the default without noise).
        """
        check_rule(rule)
        if rule is None:
            rule = "observed" if self._exact else "lower"
        if self.observations == 0:
            raise ValueError("no observations yet: call tell() before best()")
        if rule == "observed":
            arm = self.belief.arm(self._highest_at)
        else:
            found = self.belief.best_observed(1.0 if rule == "lower" else 0.0)
            assert found is not None  # there are observations
            arm = found
        value, visits = arm.value, arm.visits
        if self.growth == "rollout":  # the best completion of the path to the node
            rollouts = self._rollouts[arm.path]
            value, visits = rollouts.average, rollouts.count
            arm = self.belief.arm(rollouts.path)
        spread = self.deviations() * arm.std if arm.std else 0.0
        lower, upper = (clipped(arm.mean + way * spread, self.bounds) for way in (-1.0, 1.0))
        return Arm(arm.path, None, arm.mean, arm.std, lower, upper, value, visits)

    def __repr__(self) -> str:
        return (
            f"GPTS({self.tree!r}, {self.belief.kernel!r}, noise={self.belief.noise!r}, "
            f"select={self.select!r}: {self.observations} observations)"
        )
