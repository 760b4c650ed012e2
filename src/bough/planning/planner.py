"""One decision after another: search from a state, recommend, keep what still holds."""

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bough._validation import above_zero, real, whole
from bough.exceptions import Exhausted
from bough.planning.decision import Plan
from bough.planning.gaussian import GaussianPolicy
from bough.planning.habits import Habits
from bough.planning.horizon import read_depth
from bough.planning.policies import PeerPolicy, check_searcher, is_gaussian
from bough.planning.rollouts import Play, Rollouts
from bough.planning.scaling import Scale
from bough.planning.simulator import GenerativeModel, model_of
from bough.searchers.base import checked_range
from bough.searchers.baselines.olop import OLOP
from bough.searchers.registry import PLANNERS
from bough.trees import Path, Tree

#: Steps of the first stage, if only time is limited; each further stage has twice as many.
FIRST_STAGE = 100
#: The newest plays are kept for the next decision: at most so many times as many as were played
#: for the last one, since to tell them again takes time.
MOST_KEPT = 4


@dataclass(frozen=True)
class Settings:
    """How to plan: checked when it is made."""

    discount: float = 0.95
    budget: int | None = None
    seconds: float | None = None
    depth: Any = None
    searcher: Any = "gpts"
    rewards: str = "steps"
    reward_range: tuple[float, float] | None = None
    repeat: int = 1

    def __post_init__(self) -> None:
        if not 0 < real(self.discount, "discount") <= 1:
            raise ValueError(f"discount must be above 0 and at most 1, got {self.discount!r}")
        if self.budget is None and self.seconds is None:
            raise ValueError("give a budget, in steps of the simulator, or a time limit in seconds")
        whole(self.repeat, "repeat", least=1)
        if self.budget is not None:
            whole(self.budget, "budget", least=1)
            if self.budget < self.repeat:
                raise ValueError(
                    f"a budget of {self.budget} steps is too small for one action, "
                    f"which is repeated {self.repeat} times"
                )
        if self.seconds is not None:
            above_zero(self.seconds, "seconds")
        if self.rewards not in ("steps", "sum"):
            raise ValueError(f'rewards must be "steps" or "sum", got {self.rewards!r}')
        check_searcher(self.searcher)
        if self.reward_range is not None:
            checked_range(self.reward_range)
        read_depth(self.depth, 2, 0.5, 1)  # says what is wrong with it
        if self.discount == 1.0 and self.searcher in (*PLANNERS, "best_first"):
            raise ValueError(f"{self.searcher} needs a discount below 1, got {self.discount!r}")

    @property
    def step_discount(self) -> float:
        """The discount of one action, which may be several steps."""
        return self.discount**self.repeat

    @property
    def action_range(self) -> tuple[float, float] | None:
        """The range of what one action may give: as many steps as it is repeated, or fewer."""
        if self.reward_range is None:
            return None
        low, high = self.reward_range
        most = math.fsum(self.discount**i for i in range(self.repeat))
        return low * (most if low < 0 else 1.0), high * (most if high > 0 else 1.0)


class Planner:
    """Plans decisions in a row; what was simulated for one is kept for the next where it holds.

    If only the first action will be taken (`receding`), it is the one after which the most is to be
    expected, since there will be another plan. If the whole plan will be followed, the best path.
    """

    def __init__(
        self, model: GenerativeModel, settings: Settings, rng: Any = None, *, receding: bool = True
    ) -> None:
        if settings.searcher == "best_first" and not model.deterministic:
            raise ValueError(
                "best_first is for deterministic problems: it never plays a path twice, and here "
                "transitions may be random"
            )
        self.model = model
        self.receding = receding
        self.settings = settings
        self._rng = read_rng(rng)
        self.rollouts = Rollouts(model, settings.discount, settings.repeat, self._rng)
        numbers = random.Random(int(self._rng.integers(2**63)))
        self._habits = Habits(len(model.actions), settings.step_discount, numbers)
        self._scale: Scale | None = None
        self._kept: list[Play] | None = None  # None: begin anew
        self._kept_before = 0  # how many plays of the last decision were kept ones
        self.policy: GaussianPolicy | PeerPolicy | None = None

    # ------------------------------------------------------------------ one decision

    def plan(self, snapshot: Any, note: str | None = None) -> Plan:
        """Plan for a state, within the budget."""
        begin = time.perf_counter()
        budget = self.settings.budget
        deadline = begin + (self.settings.seconds or math.inf)
        kept = self._kept
        self._kept = None
        if kept is None:
            self.rollouts.start(snapshot, 0)
        stage = FIRST_STAGE * self.settings.repeat if budget is None else budget
        policy = self._new_policy(stage, kept or ())
        kept_count = self._kept_before = len(policy.plays)
        self.rollouts.go_on(stage)
        stopped = self._search(policy, deadline)
        calls = self.rollouts.calls
        while budget is None and (stopped == "budget" or self._can_grow(stopped, policy, stage)):
            stage *= 2
            finished = policy
            if self._depth(stage) != policy.tree.depth or self.settings.searcher in PLANNERS:
                policy = self._new_policy(stage, finished.plays)
            self.rollouts.go_on(stage)
            stopped = self._search(policy, deadline)
            calls += self.rollouts.calls
            # (Others than GPTS begin with nothing when they look farther ahead.)
            if stopped == "seconds" and len(policy.plays) < len(finished.plays):
                policy = finished
        self.policy = policy
        return self._recommended(
            policy,
            stopped,
            calls=calls,
            kept=kept_count,
            replayed=self.model.newly_replayed(),
            seconds=time.perf_counter() - begin,
            note=note,
        )

    def _depth(self, budget: int) -> int:
        """Return how many actions to look ahead with so many steps."""
        settings = self.settings
        discount = settings.step_discount
        searcher = settings.searcher
        if settings.depth is None and isinstance(searcher, str) and searcher in PLANNERS:
            # They play paths of their own length.
            return OLOP(Tree(1, 0), budget=budget // settings.repeat, discount=discount).horizon
        actions = len(self.model.actions)
        return read_depth(settings.depth, actions, discount, budget // settings.repeat)

    def _can_grow(self, stopped: str, policy: GaussianPolicy | PeerPolicy, stage: int) -> bool:
        """Return whether there is more to find out farther ahead, if all is known so far."""
        if stopped != "exhausted" or self.rollouts.root.complete == math.inf:
            return False
        return self._depth(2 * stage) > policy.tree.depth

    def _new_policy(self, budget: int, plays: Sequence[Play]) -> GaussianPolicy | PeerPolicy:
        settings = self.settings
        actions = len(self.model.actions)
        discount = settings.step_discount
        depth = self._depth(budget)
        searcher = settings.searcher
        if self._scale is None:
            self._scale = Scale(
                discount,
                depth,
                settings.action_range,
                goes_on=self.model.deterministic and self.receding,
            )
        elif len(self._scale.weights) != depth:
            self._scale.set_depth(discount, depth)
        tree = Tree(actions, depth)
        if is_gaussian(searcher):
            before = self.policy
            spare = None
            if isinstance(before, GaussianPolicy) and before.tree.depth == depth:
                spare = before.give_up()
            return GaussianPolicy(
                tree,
                discount=discount,
                rewards=settings.rewards,
                deterministic=self.model.deterministic,
                scale=self._scale,
                habits=self._habits,
                rng=self._rng,
                plays=plays,
                searcher=spare,
            )
        return PeerPolicy(
            searcher,
            tree,
            discount=discount,
            rewards=settings.rewards,
            scale=self._scale,
            rng=self._rng,
            budget=budget // settings.repeat,
        )

    def _search(self, policy: GaussianPolicy | PeerPolicy, deadline: float) -> str:
        """Play until the budget, the time or the tree is at its end; return which."""
        rollouts = self.rollouts
        depth = policy.tree.depth
        redirect = self.model.deterministic and isinstance(policy, GaussianPolicy)
        # A play may cost nothing, if all of its steps were taken before.
        for _ in range(rollouts.left):
            if rollouts.left == 0:
                break
            if time.perf_counter() >= deadline:
                return "seconds"
            try:
                path = asked = policy.ask()
            except Exhausted:
                return "exhausted"
            if redirect:
                fresh = rollouts.unexplored(path, depth)
                if fresh is None:
                    return "exhausted"
                path = self._habits.complete(fresh, depth)
            play = rollouts.play(path)
            if play is None:
                break
            policy.tell(asked, play)
        return "exhausted" if redirect and rollouts.is_complete(depth) else "budget"

    # ------------------------------------------------------------------ what it says

    def _recommended(
        self, policy: GaussianPolicy | PeerPolicy, stopped_by: str, **facts: Any
    ) -> Plan:
        path, value, std = self._best_path(policy, stopped_by == "exhausted")
        return Plan(
            actions=tuple(self.model.actions[a] for a in path),
            path=path,
            value=value,
            std=std,
            plays=len(policy.plays) - facts["kept"],
            depth=policy.tree.depth,
            how=self.model.how,
            deterministic=self.model.deterministic,
            stopped_by=stopped_by,
            available=tuple(self.model.actions),
            policy=policy,
            **facts,
        )

    def _best_path(
        self, policy: GaussianPolicy | PeerPolicy, all_known: bool
    ) -> tuple[Path, float, float]:
        """Return the path to follow, and what it is worth."""
        if not policy.plays:
            return (int(self._rng.integers(len(self.model.actions))),), math.nan, math.inf
        depth = policy.tree.depth
        # Of paths that are worth the same: if more is expected to come, one that goes on.
        end = self._scale is not None and self._scale.fitted()[0] < 0.0
        if all_known and self.model.deterministic:
            value, path = self.rollouts.best(depth, self.settings.step_discount, end=end)
            return path, value, 0.0
        plays = policy.plays
        if self.receding:
            first = policy.action()
            plays = [play for play in plays if play.path[0] == first]
            if not plays:
                return (first,), math.nan, math.inf
        whole_ones = [play for play in plays if play.is_whole(depth)] or plays
        if self.model.deterministic:
            best = max(whole_ones, key=lambda play: (policy.total(play), play.ended == end))
            return best.path, policy.total(best), 0.0
        return policy.best_path([play.path for play in whole_ones])

    # ------------------------------------------------------------------ the next decision

    def took(self, action: int, snapshot: Any) -> bool:
        """Keep what was simulated below an action, if the world went where it was foreseen to go.

        Returns whether it did. `snapshot` is of the state in which the world is now.
        """
        policy = self.policy
        self._kept = None
        if policy is None:
            return False
        same = self.model.same
        most = MOST_KEPT * max(len(policy.plays) - self._kept_before, 1)
        below = [play for play in policy.plays if play.path[0] == action and len(play.rewards) > 1]
        if self.model.deterministic:
            child = self.rollouts.root.children.get(action)
            if child is None or child.ended or child.snapshot is None:
                return False
            if same is None or not same(child.snapshot, snapshot):
                return False
            self.rollouts.advance(action, 0)
            if isinstance(policy, GaussianPolicy):
                self._kept = [_tail(play) for play in below[-most:]]
            else:
                self._kept = []
            return True
        if same is None:
            return False
        below = [play for play in below if play.states and same(play.states[0], snapshot)]
        self.rollouts.start(snapshot, 0)
        kept = below[-most:] if isinstance(policy, GaussianPolicy) else []
        self._kept = [_tail(play) for play in kept]
        return bool(below)


def read_rng(rng: Any) -> np.random.Generator:
    """Return the generator that was given, or the one that a seed makes."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise TypeError(
            f"rng must be a numpy.random.Generator, an int of at least 0, or None, got {rng!r}"
        ) from None


def _tail(play: Play) -> Play:
    """Return a play as it looks from one step further on."""
    return Play(play.path[1:], play.rewards[1:], play.ended, play.states[1:])


def plan(
    env_or_simulator: Any,
    *,
    discount: float = 0.95,
    budget: int | None = None,
    seconds: float | None = None,
    depth: int | str | None = None,
    searcher: Any = "gpts",
    rewards: str = "steps",
    reward_range: tuple[float, float] | None = None,
    repeat: int = 1,
    rng: np.random.Generator | int | None = None,
) -> Plan:
    """Plan what to do next in a Gymnasium environment, or wherever a simulator is.

    Parameters
    ----------
    env_or_simulator
        An environment, which has been reset and is left exactly as it is; or a `Simulator`, which
        is put back to the state in which it was.
    discount : float
        Of one step.
    budget : int, optional
        How many steps of the simulator may be used: never one more.
    seconds : float, optional
        A time limit. Without a budget the depth grows as the search goes on.
    depth : int, "paper" or None
        How many actions a path has. By default the larger of the smallest useful depth and the
        horizon of the discount, log 0.1 / log discount, but at most a fifth of the budget.
        `"paper"`: the paper's, about the logarithm of the number of paths; for small budgets it
        looks only a few steps ahead.
    searcher : str or function
        "gpts", "uct", "olop", "kl_olop", "best_first" or "random"; or a function that makes a
        searcher for a tree.
    rewards : "steps" or "sum"
        What the searcher is told: the immediate rewards of all steps, or their discounted sum only.
    reward_range : (float, float), optional
        The lowest and the highest reward of a single step, if they are known; else what is
        observed tells. (That after an end there is nothing, 0, goes without saying.)
    repeat : int
        How often each action is taken before the next one.
    rng : int or numpy.random.Generator

    Raises
    ------
    Unfaithful
        If no copy can stand in for the environment: see `simulator_of`.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("CartPole-v1")
    >>> _ = env.reset(seed=1)
    >>> found = plan(env, budget=200, rng=0)
    >>> found.action in (0, 1), found.calls <= 200, found.how
    (True, True, 'native snapshots')
    """
    settings = Settings(discount, budget, seconds, depth, searcher, rewards, reward_range, repeat)
    rng = read_rng(rng)
    model = model_of(env_or_simulator)
    present = model.present()
    try:
        return Planner(model, settings, rng, receding=False).plan(present)
    finally:
        model.leave(present)
