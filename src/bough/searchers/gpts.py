"""Gaussian-process tree search (Dorard and Shawe-Taylor)."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from bough._validation import at_least_zero
from bough.belief.belief import Belief
from bough.belief.best_arm import Arm
from bough.belief.nodes import moderate
from bough.confidence import Confidence
from bough.exceptions import Contradiction, Exhausted
from bough.kernels import Kernel
from bough.learning.learner import Learner
from bough.learning.model import Settings
from bough.learning.templates import is_free
from bough.means import Heuristic, Remembered
from bough.searchers.base import Certificate, Searcher, check_rule, new_generator, reward_of
from bough.trees import Path, Tree

#: The exploration constant of the subtree rule at scale 1, and the default scale of the arm rule.
#: Both did best over eight problems: see `benchmarks/README.md`.
SUBTREE_EXPLORATION = 1.15
ARM_SCALE = 0.5


class Play(NamedTuple):
    """A path to evaluate, and the node at which its reward is observed."""

    path: Path
    node: Path


@dataclass
class Rollouts:
    """The rewards of random completions of the path to one node."""

    count: int = 0
    average: float = 0.0
    highest: float = -math.inf
    path: Path = ()  # of the highest

    def add(self, path: Path, reward: float) -> None:
        """Count one more."""
        self.count += 1
        self.average += (reward - self.average) / self.count
        if reward > self.highest:
            self.highest, self.path = reward, path


class GPTS(Searcher):
    """Search a tree by an exact Gaussian-process belief about all of its paths.

    Parameters
    ----------
    tree : Tree
    kernel : bough.kernels.Kernel, optional
        How smooth the reward is. By default, and where a parameter is None as in
        `kernels.Gaussian(None, variance=1.0)`, it is learnt from the rewards.
    noise : float, optional
        The standard deviation of a reward; by default it is learnt. With 0 no arm is played twice
        (except by rollouts, which are random), and so it is when rewards turn out to be exact.
    mean : float, function or bough.means.Heuristic, optional
        The prior mean of the reward, as for `Belief`. By default it is learnt if the kernel or the
        noise is, and else 0. A heuristic is learnt to be trusted as far as it deserves. (What is
        learnt is learnt anew each time that the observations have grown by a third, from 500 on
        have doubled; each time costs O(nodes), so that it is O(depth) an observation.)
    select : "subtree" or "arm"
        `"subtree"` goes down the tree by the distribution of the best arm of each subtree, in
        about 5 us. `"arm"` plays the arm with the highest upper confidence bound, as in the paper,
        in about 10 us; at scale 1 it carries the paper's bounds of the regret, and at its default
        scale of 0.5 it often finds as good a path or a better one: see `benchmarks/README.md`.
    confidence : Confidence
        Its `scale` multiplies the exploration of either rule, its `delta` is the certificate's.
    growth : "complete", "deepening" or "rollout"
        What a play is. `"complete"`: a complete path. `"deepening"`: a path that ends at the first
        node that did not exist, whose reward is that of the node. `"rollout"`: a complete path,
        random below the first node that did not exist, and observed at that node.
    rng : int or numpy.random.Generator
        Breaks ties and draws unexplored children. The same seed gives the same search.

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
        select: Literal["subtree", "arm"] = "subtree",
        confidence: Confidence | None = None,
        growth: Literal["complete", "deepening", "rollout"] = "complete",
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if select not in ("subtree", "arm"):
            raise ValueError(f'select must be "subtree" or "arm", got {select!r}')
        if growth not in ("complete", "deepening", "rollout"):
            raise ValueError(f'growth must be "complete", "deepening" or "rollout", got {growth!r}')
        if confidence is not None and not isinstance(confidence, Confidence):
            raise TypeError(f"confidence must be a bough.Confidence, got {confidence!r}")
        self.tree = tree
        self.select = select
        self.growth = growth
        if confidence is None:
            confidence = Confidence(scale=ARM_SCALE if select == "arm" else 1.0)
        self.confidence = confidence
        self._learner = _new_learner(tree, kernel, noise, mean)
        first = Settings(kernel, noise, 0.0 if mean is None else mean)  # type: ignore[arg-type]
        if self._learner is not None:
            first = self._learner.first()
        self.belief = Belief(
            tree,
            first.kernel,
            first.noise,
            mean=first.mean,
            arms="leaves" if growth == "complete" else "nodes",
        )
        self._random = new_generator(rng)
        self._exact = self.belief.noise == 0.0
        self._exploration = SUBTREE_EXPLORATION * confidence.scale
        self._learns_widths = select == "subtree" and tree.counts is None
        self._asked: Path | None = None  # asked for, and not yet counted as pending
        self._asked_at: Path = ()  # the node at which it is observed
        # How many rewards had been told when it was the best of all arms, none left out.
        self._asked_as_highest: int | None = None
        self._plays: dict[int, Play] = {}  # pending ones, by the belief's token
        self._tokens: dict[Path, deque[int]] = {}  # theirs, by path, the oldest first
        self._highest_reward = -math.inf
        self._highest_at: Path = ()
        self._rollouts: dict[Path, Rollouts] = {}  # by the node where they were observed
        # A bound of the regret of all plays, if it is kept.
        self._regret = 0.0 if self._bounds_regret_by_width else None
        if select == "subtree":
            self._prepare_maxima()

    def _prepare_maxima(self) -> None:
        self.belief.prepare_maxima(rough=self._learner is not None)

    # ------------------------------------------------------------------ ask and tell

    def ask(self) -> Path:
        """Return the next path to evaluate; raise `Exhausted` if nothing is left to learn."""
        if self._asked is not None:
            self._pend(self._asked, self._asked_at)
            self._asked = None
        # What is known or pending is not played again, as long as there is anything else.
        skip = self._exact or bool(self._plays)
        self._asked_as_highest = None if skip else self.observations
        node = self._choose(skip)
        if node is None and not self._exact:
            node = self._choose(False)
        if node is None:
            waiting = f" and {len(self._plays)} pending ones" if self._plays else ""
            raise Exhausted(f"all arms are known after {self.observations} observations{waiting}")
        self._asked = self._roll_out(node) if self.growth == "rollout" else node
        self._asked_at = node
        return self._asked

    def _choose(self, skip: bool) -> Path | None:
        """Return the arm that the rule selects, of those neither known nor pending if they skip."""
        if self.select == "subtree":
            return self.belief.select_by_maxima(
                self._exploration, skip_known=skip, rng=self._random
            )
        plays = self.observations + len(self._plays)
        b = self._sqrt_beta(self.confidence, plays + 1)
        belief = self.belief
        choose = belief.highest_upper_unknown if skip and plays else belief.highest_upper
        arm = choose(b, rng=self._random)
        return None if arm is None else arm.path

    def _roll_out(self, node: Path) -> Path:
        """Return a random completion of the path to a node."""
        path = list(node)
        while (width := self.tree.children(tuple(path))) > 0:
            path.append(self._random.below(int(width)) if width < math.inf else 0)
        return tuple(path)

    def _pend(self, path: Path, node: Path) -> None:
        token = self.belief.pend(node, depth=len(path))
        self._tokens.setdefault(path, deque()).append(token)
        self._plays[token] = Play(path, node)

    def tell(
        self,
        path: Sequence[int],
        value: float | None = None,
        *,
        noise: float | None = None,
        steps: Sequence[float] | None = None,
    ) -> None:
        """Take in the reward of a path.

        Parameters
        ----------
        path
            Asked for or not. Again is another observation.
        value
            The reward.
        noise
            Its standard deviation, if it is not that of the search.
        steps
            The (discounted) immediate rewards along the path, one for each step, instead of the
            value, which is their sum. The noise, of the sum as ever, is shared out among them in
            proportion to what the kernel expects of each.
        """
        if type(path) is not tuple or path != self._asked:
            path = self._playable(path)
        if steps is None and type(value) is float:
            reward = value  # the belief checks it
        else:
            reward = reward_of(value, steps, len(path))
        token, node = self._play_of(path)
        regret = None if self._regret is None else self._regret_of(path, node)
        try:
            self._observe(path, node, reward, noise, steps, token)
        except Contradiction:
            if self._learner is None or not self._learner.exact or noise is not None:
                raise
            # The rewards looked exact, and are not.
            self._learner.doubt(self.belief)
            self._new_prior()
            self._observe(path, node, reward, noise, steps, token)
        if regret is not None:
            self._regret = regret
        self._told(path, node, reward, steps, token)

    def _observe(
        self,
        path: Path,
        node: Path,
        reward: float,
        noise: float | None,
        steps: Sequence[float] | None,
        token: int | None,
    ) -> None:
        """Let the belief take in a reward, or refuse it."""
        if steps is not None and node:
            self._observe_steps(path, node, steps, noise)
            if token is not None:
                self.belief.forget(token)
        elif token is not None:
            self.belief.settle(token, reward, noise=noise)
        elif noise is None and self.growth != "rollout":
            self.belief.observe(node, reward)
        else:
            self.belief.observe(node, reward, noise=noise, depth=len(path))

    def _play_of(self, path: Path) -> tuple[int | None, Path]:
        """Return the token of a path if it is pending, and the node at which it is observed."""
        if self._tokens and path in self._tokens:
            token = self._tokens[path][0]
            return token, self._plays[token].node
        if self.growth != "rollout":
            return None, path
        if path == self._asked:
            return None, self._asked_at
        return None, path[: self.belief.explored_steps(path) + 1]

    def _observe_steps(
        self, path: Path, node: Path, steps: Sequence[float], noise: float | None
    ) -> None:
        """Let the belief take in the rewards of the steps to a node on the path."""
        first = list(steps)[: len(node)]
        if noise is None:
            self.belief.observe_steps(node, first, depth=len(path))
            return
        total = at_least_zero(noise, "noise")
        shares = self.belief.step_shares(len(path))[: len(node)]
        self.belief.observe_steps(node, first, noise=[total * math.sqrt(x) for x in shares])

    def _told(
        self,
        path: Path,
        node: Path,
        reward: float,
        steps: Sequence[float] | None,
        token: int | None,
    ) -> None:
        """Remember what the belief does not: which play is over, and which was the best."""
        if token is not None:
            self._drop(path, token)
        elif path == self._asked:
            self._asked = None
        if reward > self._highest_reward:
            self._highest_reward = reward
            self._highest_at = node
        if self.growth == "rollout":
            self._rollouts.setdefault(node, Rollouts()).add(path, reward)
        told = self.observations
        if self._learner is not None:
            if self._learner.only_zeros:
                self._learner.note([reward] if steps is None else steps)
            if self._learner.watching:
                self._learner.watch(self.belief, node, reward)
        if self._learner is not None and self._learner.is_due(told):
            self._learn()
        elif self._learns_widths and told & (told - 1) == 0:
            self._prepare_maxima()

    def _learn(self) -> None:
        """Take the prior that suits what was told."""
        assert self._learner is not None  # there is something to learn
        self._learner.learn(self.belief)
        self._new_prior()

    def _new_prior(self) -> None:
        """Go on with a belief that has taken another prior."""
        self._exact = self.belief.noise == 0.0
        if self.select == "subtree":
            self._prepare_maxima()

    def _playable(self, path: Sequence[int]) -> Path:
        if self.growth == "deepening":
            return self.tree.walk(path)[0]
        return self.tree.complete(path)

    def forget(self, path: Sequence[int]) -> None:
        """Drop a pending evaluation of the path, the oldest if there are several."""
        if type(path) is not tuple or path != self._asked:
            path = self._playable(path)
        if path in self._tokens:
            token = self._tokens[path][0]
            self.belief.forget(token)
            self._drop(path, token)
        elif path == self._asked:
            self._asked = None
        else:
            raise ValueError(f"path {path} is not pending: it was told or never asked for")

    def _drop(self, path: Path, token: int) -> None:
        self._tokens[path].popleft()
        if not self._tokens[path]:
            del self._tokens[path]
        del self._plays[token]

    # ------------------------------------------------------------------ what is known

    @property
    def observations(self) -> int:
        """How many rewards were told."""
        return len(self.belief)

    @property
    def pending(self) -> tuple[Path, ...]:
        """The paths that were asked for and not yet told or forgotten, the oldest first."""
        pending = [play.path for play in self._plays.values()]
        return (*pending, *([] if self._asked is None else [self._asked]))

    def _sqrt_beta(self, confidence: Confidence, t: int) -> float:
        log_arms = self.tree.log_arms
        if self.growth == "deepening" and log_arms is not None:
            log_arms += math.log(self.tree.depth + 1)  # every node on the way has a reward
        if log_arms is None:
            # A working value: as many arms as there are nodes, each with a frontier.
            log_arms = math.log(2 * self.belief.node_count)
        return confidence.sqrt_beta(t, log_arms)

    def _theoretical(self) -> float:
        return self._sqrt_beta(Confidence(self.confidence.delta), self.observations + 1)

    @property
    def certificate(self) -> Certificate:
        """The incumbent and its gap, at level delta whatever scale the search itself uses."""
        b = self._theoretical()
        lower = self.belief.highest_lower(b)
        upper = math.inf if self.tree.log_arms is None else self.belief.upper_bound(b)
        return Certificate(
            path=lower.path,
            lower=lower.lower,
            upper=upper,
            gap=upper - lower.lower,
            delta=self.confidence.delta,
            conditional=self._learner is not None,
        )

    @property
    def information_gain(self) -> float:
        """How much was learnt about the rewards, in nats: see `Belief.information_gain`."""
        return self.belief.information_gain()

    @property
    def _bounds_regret_by_width(self) -> bool:
        arm_rule = self.select == "arm" and self.confidence.scale == 1.0
        return arm_rule and self.growth == "complete"

    def track_regret(self) -> None:
        """Keep `regret_bound` from now on, also for rules for which that costs some time.

        (The exact upper bound of all arms is found at every tell.)
        """
        if self.growth != "complete":
            raise ValueError(f"regret is that of complete paths, but growth is {self.growth!r}")
        if self._regret is None and self.observations:
            raise ValueError("track the regret from the beginning: rewards were told before")
        self._regret = self._regret or 0.0

    @property
    def regret_bound(self) -> float:
        """A bound of the regret of all plays so far, with probability 1 - delta.

        That is the sum over plays of how much better the best arm could be than the arm played: the
        highest upper bound less the lower bound of that arm, as they were when it was told. For the
        arm rule at scale 1, told one by one, it is 2 sqrt(beta_t) std, and kept without being asked
        for; for other rules call `track_regret` before the first tell. It is infinite if nobody
        knows how many arms there are, and conditional on what was learnt, like the certificate.
        """
        if self._regret is None:
            raise ValueError(
                "the regret is only kept for the arm rule at scale 1; "
                "call track_regret() before the first tell"
            )
        return self._regret

    def _regret_of(self, path: Path, node: Path) -> float:
        """Return the bound of the regret with this play counted, which is yet to be told."""
        if self.tree.log_arms is None:
            return math.inf
        assert self._regret is not None  # it is kept
        b = self._theoretical()
        arm = self.belief.arm(node)
        highest = path == self._asked and self._asked_as_highest == self.observations
        if self._bounds_regret_by_width and highest:
            return self._regret + 2.0 * b * arm.std
        return self._regret + self.belief.upper_bound(b) - (arm.mean - b * arm.std)

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
            raise ValueError("nothing was told yet, so nothing is best")
        if rule == "observed":
            arm = self.belief.arm(self._highest_at)
        else:
            found = self.belief.best_observed(1.0 if rule == "lower" else 0.0)
            assert found is not None  # something was told
            arm = found
        value, visits = arm.value, arm.visits
        if self.growth == "rollout":  # the best completion of the path to the node
            rollouts = self._rollouts[arm.path]
            value, visits = rollouts.average, rollouts.count
            arm = self.belief.arm(rollouts.path)
        spread = self._theoretical() * arm.std
        return Arm(
            arm.path, None, arm.mean, arm.std,
            arm.mean - spread, arm.mean + spread, value, visits,
        )  # fmt: skip

    def best_action(self, rule: str | None = None) -> int:
        """Return the first step of the best arm.

        With `"subtree"`, the step whose subtree has the highest mean of its maximum, played or not.
        """
        if rule != "subtree":
            return super().best_action(rule)
        if self.tree.is_leaf(()):
            raise ValueError("the root of this tree is a leaf: it has no actions")
        if self.select == "arm":
            self._prepare_maxima()
        return self.belief.best_first_step()

    def __repr__(self) -> str:
        return (
            f"GPTS({self.tree!r}, {self.belief.kernel!r}, noise={self.belief.noise!r}, "
            f"select={self.select!r}: {self.observations} observations)"
        )


def _new_learner(tree: Tree, kernel: Any, noise: Any, mean: Any) -> Learner | None:
    """Return what learns whatever was not given; None if all was."""
    if not isinstance(tree, Tree):
        raise TypeError(f"tree must be a bough.Tree, got {tree!r}")
    if kernel is not None and not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a kernel such as Gaussian(3.0), got {kernel!r}")
    free = kernel is None or noise is None or is_free(kernel)
    if not free and not isinstance(mean, Heuristic):
        return None
    noise = None if noise is None else moderate(at_least_zero(noise, "noise"), "noise")
    if not free and mean is None:
        mean = 0.0
    elif callable(mean):
        mean = mean if isinstance(mean, Heuristic) else Remembered(mean)
    elif mean is not None:
        mean = moderate(mean, "mean")
    return Learner(kernel, noise, mean, tree.depth)
