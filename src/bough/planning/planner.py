"""The planner: search from a state, recommend actions, and reuse playouts for the next decision."""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bough.exceptions import Exhausted
from bough.planning.decision import Plan, PlanSettings, horizon
from bough.planning.playouts import Playout, Playouts
from bough.planning.policies import BaselinePolicy, GPTSPolicy, TreePolicy
from bough.planning.rewards import RewardScale
from bough.planning.simulator import GenerativeModel
from bough.searchers.base import new_generator
from bough.searchers.baselines.olop import OLOP
from bough.searchers.registry import PLANNERS
from bough.trees import Path, Tree

#: Steps of the first stage, if only time is limited; each further stage has twice as many.
FIRST_STAGE = 100
#: The newest playouts are reused for the next decision: at most this many times the number of new
#: ones of the last decision, since observing them again takes time.
MOST_REUSED = 4


class Planner:
    """Plans one decision after another, and reuses playouts of the last one where they hold.

    If only the first action will be taken before another plan is made (`receding`), it is the one
    with the highest expected value. Otherwise the plan is the best path.
    """

    def __init__(
        self,
        model: GenerativeModel,
        settings: PlanSettings,
        rng: Any = None,
        *,
        receding: bool = True,
    ) -> None:
        if settings.searcher == "best_first" and not model.deterministic:
            raise ValueError(
                "best_first is for deterministic problems: it never plays a path twice, and here "
                "transitions may be random"
            )
        self.model = model
        self.receding = receding
        self.settings = settings
        try:
            self._rng = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise TypeError(
                f"rng must be a numpy.random.Generator, an int of at least 0, or None, got {rng!r}"
            ) from None
        self.playouts = Playouts(model, settings.discount, settings.repeat, self._rng)
        self._uses_gpts = settings.searcher == "gpts"
        seed = int(self._rng.integers(2**63)) if self._uses_gpts else 0
        self._selection_rng = new_generator(seed)
        continues = model.deterministic and receding
        self._scale = RewardScale(settings.action_discount, 1, continues=continues)
        self._reused: list[Playout] | None = None  # None: start from a new state
        self._reused_before = 0  # number of playouts of the last decision that were reused
        self.policy: TreePolicy | None = None

    # ------------------------------------------------------------------ one decision

    def plan(self, snapshot: Any, note: str | None = None) -> Plan:
        """Plan for a state, within the budget."""
        begin = time.perf_counter()
        budget = self.settings.budget
        deadline = begin + (self.settings.seconds or math.inf)
        reused, self._reused = self._reused, None
        if reused is None:
            self.playouts.start(snapshot)
        stage = FIRST_STAGE * self.settings.repeat if budget is None else budget
        policy = self._new_policy(stage, reused or ())
        kept = self._reused_before = len(policy.playouts)
        stopped, calls = self._search(policy, stage, deadline)
        while budget is None and (stopped == "budget" or self._can_deepen(stopped, policy, stage)):
            stage *= 2
            previous = policy
            if self._depth(stage) != policy.tree.depth or self.settings.searcher in PLANNERS:
                policy = self._new_policy(stage, previous.playouts)
            stopped, taken = self._search(policy, stage, deadline)
            calls += taken
            # (Searchers other than GPTS start with nothing at a new depth.)
            if stopped == "seconds" and len(policy.playouts) < len(previous.playouts):
                policy = previous
        self.policy = policy
        path, value, std = self._recommend(policy, stopped == "exhausted")
        return Plan(
            actions=tuple(self.model.actions[a] for a in path),
            path=path,
            value=value,
            std=std,
            calls=calls,
            replayed=self.model.take_replayed(),
            plays=len(policy.playouts) - kept,
            kept=kept,
            depth=policy.tree.depth,
            how=self.model.how,
            deterministic=self.model.deterministic,
            stopped_by=stopped,
            seconds=time.perf_counter() - begin,
            available=tuple(self.model.actions),
            policy=policy,
            note=note,
        )

    def _depth(self, budget: int) -> int:
        """Return the depth of the tree for a budget."""
        settings = self.settings
        discount, plays = settings.action_discount, budget // settings.repeat
        if settings.depth is None and settings.searcher in PLANNERS:
            return OLOP(Tree(1, 0), budget=plays, discount=discount).horizon
        return horizon(settings.depth, len(self.model.actions), discount, plays)

    def _can_deepen(self, stopped: str, policy: TreePolicy, stage: int) -> bool:
        """Return whether a deeper tree has more to find, if this one is exhausted."""
        if stopped != "exhausted" or self.playouts.root.complete == math.inf:
            return False
        return self._depth(2 * stage) > policy.tree.depth

    def _new_policy(self, budget: int, playouts: Sequence[Playout]) -> TreePolicy:
        settings, depth = self.settings, self._depth(budget)
        self._scale.set_depth(depth)
        tree = Tree(len(self.model.actions), depth)
        if not self._uses_gpts:
            plays = budget // settings.repeat
            return BaselinePolicy(settings, tree, scale=self._scale, rng=self._rng, budget=plays)
        return GPTSPolicy(
            settings,
            tree,
            self.playouts,
            reused=[playout.truncated(depth) for playout in playouts],
            scale=self._scale,
            rng=self._rng,
            selection_rng=self._selection_rng,
            previous=self.policy if isinstance(self.policy, GPTSPolicy) else None,
        )

    def _search(self, policy: TreePolicy, budget: int, deadline: float) -> tuple[str, int]:
        """Search until an end; return which ("budget", ...) and the number of steps taken."""
        playouts = self.playouts
        playouts.set_budget(budget)
        # A playout may cost nothing, if all of its steps were taken before.
        for _ in range(playouts.left):
            if playouts.left == 0:
                break
            if time.perf_counter() >= deadline:
                return "seconds", playouts.calls
            try:
                path = policy.ask()
            except Exhausted:
                return "exhausted", playouts.calls
            policy.tell(path, playouts.play(path))
        all_known = self._uses_gpts and playouts.root.complete >= policy.tree.depth
        return "exhausted" if all_known else "budget", playouts.calls

    def _recommend(self, policy: TreePolicy, all_known: bool) -> tuple[Path, float, float]:
        """Return the path to follow, its value and the standard deviation of the value."""
        playouts = policy.playouts
        if not playouts:
            return (int(self._rng.integers(len(self.model.actions))),), math.nan, math.inf
        depth = policy.tree.depth
        # Of paths of the same value, one that continues if positive rewards are expected.
        end = self._scale.fitted()[0] < 0.0
        if all_known and self.model.deterministic:
            value, path = self.playouts.best(depth, self.settings.action_discount, end=end)
            return path, value, 0.0
        if self.receding:
            first = policy.action()
            playouts = [playout for playout in playouts if playout.path[0] == first]
            if not playouts:
                return (first,), math.nan, math.inf
        playouts = [playout for playout in playouts if playout.is_whole(depth)] or playouts
        if self.model.deterministic:
            best = max(playouts, key=lambda playout: (policy.total(playout), playout.ended == end))
            return best.path, policy.total(best), 0.0
        return policy.best_path([playout.path for playout in playouts])

    # ------------------------------------------------------------------ the next decision

    def advance(self, action: int, snapshot: Any) -> bool:
        """Reuse the playouts below an action if they led to this state; return whether they did."""
        policy, same = self.policy, self.model.same
        self._reused = None
        if policy is None or same is None:
            return False
        below = [p for p in policy.playouts if p.path[0] == action and len(p.rewards) > 1]
        if self.model.deterministic:
            state = self.playouts.root.children.get(action)
            if state is None or state.snapshot is None or not same(state.snapshot, snapshot):
                return False
            self.playouts.advance(state)
            found = True
        else:
            below = [p for p in below if p.states and same(p.states[0], snapshot)]
            self.playouts.start(snapshot)
            found = bool(below)
        most = MOST_REUSED * max(len(policy.playouts) - self._reused_before, 1)
        newest = below[-most:] if self._uses_gpts else []
        self._reused = [playout.after_first_action() for playout in newest]
        return found


def plan(
    env_or_simulator: Any,
    *,
    discount: float = 0.95,
    budget: int | None = None,
    seconds: float | None = None,
    depth: int | str | None = None,
    searcher: Any = "gpts",
    rewards: str = "steps",
    repeat: int = 1,
    rng: np.random.Generator | int | None = None,
) -> Plan:
    """Plan the next actions in a Gymnasium environment, or with a simulator.

    Parameters
    ----------
    env_or_simulator
        An environment that has been reset, which is left exactly as it is; or a `Simulator`, which
        is restored to its state.
    discount : float
        Discount of one step.
    budget : int, optional
        Maximum number of steps of the simulator.
    seconds : float, optional
        Time limit. Without a budget the depth grows with the number of steps.
    depth : int, "paper" or None
        Number of actions of a path. By default the larger of the smallest useful depth and the
        horizon of the discount, log 0.1 / log discount, but at most a fifth of the budget.
        `"paper"`: the paper's, about the logarithm of the number of paths, which is only a few
        steps for small budgets.
    searcher : str or function
        "gpts", "uct", "olop", "kl_olop", "best_first" or "random"; or a function that makes a
        searcher for a tree.
    rewards : "steps" or "sum"
        Observations of the searcher: the immediate rewards of all steps, or their discounted sum.
    repeat : int
        Number of steps for which each action is taken.
    rng : int or numpy.random.Generator

    Raises
    ------
    Unfaithful
        If the environment can be neither copied nor replayed: see `simulator_of`.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("CartPole-v1")
    >>> _ = env.reset(seed=1)
    >>> found = plan(env, budget=200, rng=0)
    >>> found.action in (0, 1), found.calls <= 200, found.how
    (True, True, 'native snapshots')
    """
    settings = PlanSettings(discount, budget, seconds, depth, searcher, rewards, repeat)
    planner = Planner(GenerativeModel(env_or_simulator), settings, rng, receding=False)
    with planner.model.present() as state:
        return planner.plan(state)
