"""The planner: search from a state, recommend actions, and reuse playouts for the next decision."""

import gc
import math
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pickle import PicklingError
from typing import Any

import numpy as np

from bough._validation import listed, whole
from bough.exceptions import Exhausted
from bough.planning.decision import Hooks, Plan, PlanSettings, discount_horizon, horizon
from bough.planning.gpts_policy import GPTSPolicy
from bough.planning.graph import GraphPolicy
from bough.planning.model import GenerativeModel
from bough.planning.playouts import Playout, Simulation
from bough.planning.policies import BaselinePolicy, TreePolicy
from bough.planning.rewards import RewardScale
from bough.searchers.base import new_generator
from bough.searchers.baselines.olop import OLOP
from bough.searchers.registry import PLANNERS
from bough.trees import Path, Tree

#: If only time is limited, the first decision has the depth of a budget of this many steps; then of
#: twice as many, and so on. The next decisions expect as many steps as the last one took.
FIRST_STAGE = 100
#: The depth of a decision within a time limit only grows by at least this factor, since playouts
#: that were made before are too short for the new one.
DEEPER = 1.4
#: The next decision may take this many times as many steps before its depth grows.
SPARE = 1.3
#: The newest playouts are reused for the next decision: at most this many times the number of new
#: ones of the last decision, since observing them again takes time.
MOST_REUSED = 4
#: As long as no playout has ended, one decision of this many begins with a scout: a long playout,
#: which repeats its last action with this probability.
SCOUT_EVERY = 5
PERSISTENCE = 0.9
#: The time that the slowest end of a decision took counts for less after every further decision.
SLOWEST_DECAY = 0.95
#: The longest time limit, in seconds, within which garbage is not collected.
MOST_UNCOLLECTED = 1.0
#: New actions from a Box for a decision, for each dimension and one more; the standard deviation of
#: those near the best path, as a share of the range.
NEW_ACTIONS = 1
NEARNESS = 0.1
#: Those that are on no known path any more are dropped if more than this many were added.
MOST_ADDED = 1000
#: Number of actions if the user's rollouts add them, more than they ever do.
MOST_ACTIONS = 10**9

Policy = GraphPolicy | TreePolicy


class Deadline:
    """A time limit, which counts as passed when the next piece of work might exceed it.

    The next piece is expected to take at most twice as long as the longest so far, and `finish`
    seconds are reserved for what is left to do at the end.
    """

    def __init__(self, begin: float, seconds: float | None, finish: float) -> None:
        self._end = math.inf if seconds is None else begin + seconds - finish
        self._last = time.perf_counter()
        self._longest = 0.0

    def passed(self) -> bool:
        """Return whether to stop; called between pieces of work."""
        if self._end == math.inf:
            return False
        now = time.perf_counter()
        self._longest = max(self._longest, now - self._last)
        self._last = now
        return now + 2.0 * self._longest >= self._end


@contextmanager
def without_collection(seconds: float | None) -> Iterator[None]:
    """Put off garbage collection during a short decision: it takes milliseconds at any time."""
    if seconds is None or seconds > MOST_UNCOLLECTED or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Planner:
    """Plans one decision after another, and reuses what is known from the last one.

    Where equal states can be recognized, GPTS plans on the graph of states; otherwise, or if the
    depth of paths is given, on the tree of paths. `receding`: only the first action will be taken
    before another plan is made.
    """

    def __init__(
        self,
        model: GenerativeModel,
        settings: PlanSettings,
        rng: Any = None,
        *,
        receding: bool = True,
    ) -> None:
        if model.must_merge and settings.searcher == "gpts" and not settings.may_merge:
            raise ValueError(
                'merge_states=True cannot be combined with depth= or rewards="sum": with it '
                "GPTS plans on the graph of states, not on paths"
            )
        if settings.searcher == "best_first" and not model.deterministic:
            raise ValueError(
                "best_first is for deterministic problems, since it never plays a path twice; here "
                "transitions may be random"
            )
        if settings.hooks.policy is not None and model.low is not None:
            raise ValueError(
                "policy is for discrete actions: those of a Box change with every decision"
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
        self._uses_gpts = settings.searcher == "gpts"
        self.simulation = Simulation(model, settings, self._rng)
        seed = int(self._rng.integers(2**63)) if self._uses_gpts else 0
        self._selection_rng = new_generator(seed)
        # (The user's value covers what comes after the last step.)
        continues = model.deterministic and receding and settings.hooks.value is None
        self._scale = RewardScale(settings.action_discount, 1, continues=continues)
        self._anchors = len(model.actions)  # of a Box; further actions are added to these
        #: The number of steps that a decision is expected to take, if only time is limited.
        self._stage = FIRST_STAGE * settings.repeat
        self._finish = 0.0  # seconds that a decision takes after its search, of the slowest lately
        self._decisions = 0  # of this episode
        self._saw_end = False  # whether a playout of this episode has ended
        self._to_end = 0  # the steps of the last plan, if it leads to an end
        self._graph: GraphPolicy | None = None
        self._reused: list[Playout] | None = None  # None: start from a new state
        self._reused_before = 0  # number of playouts of the last decision that were reused
        self.policy: Policy | None = None
        self._actions: tuple[Any, ...] | None = None
        self._shape, self._tree = (1, 0), Tree(1, 0)  # the last tree: its actions and its depth

    def reset(self) -> None:
        """Forget all states, at the start of a new episode."""
        self._reused = None
        self.policy = None
        self._decisions = self._to_end = 0
        self._saw_end = False
        if self.model.low is not None:
            rollouts = self.simulation.rollout_policy
            rollouts.start_decision()
            rollouts.clear()
            self.model.keep_actions(range(self._anchors))
            rollouts.renumber({k: k for k in range(self._anchors)})
        if self._graph is not None:
            self._graph.clear()

    @property
    def on_graph(self) -> bool:
        """Whether the search is on the graph of states; known once `model.present` was called."""
        return self._uses_gpts and self.model.key is not None and self.settings.may_merge

    # ------------------------------------------------------------------ one decision

    def plan(self, snapshot: Any, note: str | None = None, *, begin: float | None = None) -> Plan:
        """Plan for a state, within the budget, and the time limit since `begin` or now."""
        begin = time.perf_counter() if begin is None else begin
        deadline = Deadline(begin, self.settings.seconds, self._finish)
        search = self._search_graph if self.on_graph else self._search_tree
        with without_collection(self.settings.seconds):
            policy, kept, stopped, calls = search(snapshot, deadline)
        searched = time.perf_counter()
        self.policy = policy
        if not policy.plays:
            note = "the time limit passed before the first playout: the action is random"
        path, value, std = self._recommend(policy, stopped == "exhausted")
        ends = isinstance(policy, GPTSPolicy) and self.model.deterministic and policy.ends(path)
        self._to_end = len(path) - 1 if ends else 0
        now = time.perf_counter()
        self._finish = max(now - searched, SLOWEST_DECAY * self._finish)
        plan = Plan(
            actions=tuple(self.model.actions[a] for a in path),
            path=path,
            value=value,
            std=std,
            calls=calls,
            replayed=self.model.take_replayed(),
            plays=policy.plays - kept,
            kept=kept,
            depth=policy.depth,
            how=self.model.how,
            deterministic=self.model.deterministic,
            stopped_by=stopped,
            seconds=now - begin,
            available=self._available(),
            policy=policy.view() if isinstance(policy, GraphPolicy) else policy,
            note=note,
            reach=policy.reach,
        )
        if isinstance(policy, GraphPolicy):
            _ = plan.choices  # (what is known of its actions grows with further decisions)
        return plan

    def _available(self) -> tuple[Any, ...]:
        """Return all actions: always the same, but for a Box."""
        if self._actions is None or self.model.low is not None:
            self._actions = tuple(self.model.actions)
        return self._actions

    def _search_graph(self, snapshot: Any, deadline: Deadline) -> tuple[GraphPolicy, int, str, int]:
        if self._graph is None:
            self._graph = GraphPolicy(self.simulation, self.settings, self._rng)
        self.simulation.observation = self.model.observation
        kept = self._graph.set_root(snapshot)
        budget = sys.maxsize if self.settings.budget is None else self.settings.budget
        stopped, calls = self._search(self._graph, budget, deadline)
        return self._graph, kept, stopped, calls

    def _search_tree(self, snapshot: Any, deadline: Deadline) -> tuple[TreePolicy, int, str, int]:
        budget = self.settings.budget
        reused, self._reused = self._reused, None
        if reused is None:
            self.simulation.start(snapshot)
        if self.model.low is not None and self._uses_gpts:
            if reused and len(self.model.actions) - self._anchors > MOST_ADDED:
                reused = self._drop_unused(reused)
            self._add_actions()
        stage = self._stage if budget is None else budget
        found = list(reused or ())
        kept, used = len(found), 0
        self._reused_before = kept
        if self._scouts():
            found.append(self._scout(stage))
            used = self.simulation.calls
        policy = self._new_policy(stage, found)
        stopped, calls = self._search(policy, stage - used, deadline)
        calls += used
        while budget is None and (stopped == "budget" or self._can_deepen(stopped, policy, stage)):
            stage *= 2
            previous = policy
            is_deeper = self._depth(stage) > DEEPER * policy.depth or stopped == "exhausted"
            if is_deeper or self.settings.searcher in PLANNERS:
                policy = self._new_policy(stage, previous.playouts)
            stopped, taken = self._search(policy, stage, deadline)
            calls += taken
            if policy is not previous and stopped == "seconds":
                # There was no time to search the deeper tree: the other one knows more.
                if policy.count_whole() < previous.count_whole():
                    policy = previous
                break
        if budget is None and not self._stage / 2 < calls < self._stage:
            self._stage = max(int(SPARE * calls), FIRST_STAGE * self.settings.repeat)
        # (An end farther away, which a scout has found, need not be worth anything.)
        if not self._saw_end:
            near = self._usual_depth(stage)
            self._saw_end = any(p.ended and len(p.rewards) <= near for p in policy.playouts)
        return policy, kept, stopped, calls

    def _scouts(self) -> bool:
        """Return whether this decision begins with a scout."""
        self._decisions += 1
        settings = self.settings
        is_possible = self.model.deterministic and self._uses_gpts and settings.depth is None
        has_end = self._saw_end or self._to_end > 0
        return is_possible and not has_end and self._decisions % SCOUT_EVERY == 0

    def _scout(self, budget: int) -> Playout:
        """Simulate a long playout of persistent actions.

        As long as no playout has ended, or only a scout that was not worth following, there may be
        a goal beyond the depth of the tree, which random actions, that cancel each other, hardly
        ever reach.
        """
        simulation, rng = self.simulation, self._rng
        simulation.set_budget(budget)
        length = simulation.left // 2
        if self.settings.discount < 1.0:
            length = min(length, 2 * discount_horizon(self.settings.action_discount))
        path: list[int] = []
        for k in range(max(length, 1)):
            if k == 0 or rng.random() >= PERSISTENCE:
                action = int(rng.choice(simulation.choices))
            path.append(action)
        playout = simulation.play(tuple(path), len(path))
        if playout.ended:
            weights = self.settings.action_discount ** np.arange(len(playout.rewards))
            center, _ = self._scale.fitted()
            average = center / (1.0 - min(self.settings.action_discount, 0.999))
            if playout.rewards[-1] <= average:  # it would be better to continue: no goal
                self._saw_end = True
            if float(weights @ np.array(playout.rewards)) > average:
                self._to_end = len(playout.rewards)
        return playout

    def _depth(self, budget: int) -> int:
        """Return the depth of the tree for a budget, which reaches the end of the last plan."""
        depth = self._usual_depth(budget)
        is_free = self.settings.depth is None and self.settings.searcher not in PLANNERS
        return max(depth, self._to_end) if is_free else depth

    def _usual_depth(self, budget: int) -> int:
        settings = self.settings
        discount, plays = settings.action_discount, budget // settings.repeat
        if settings.depth is None and settings.searcher in PLANNERS:
            return OLOP(Tree(1, 0), budget=plays, discount=discount).horizon
        return horizon(settings.depth, len(self.model.actions), discount, plays)

    def _can_deepen(self, stopped: str, policy: TreePolicy, stage: int) -> bool:
        """Return whether a deeper tree has more to find, if this one is exhausted."""
        if stopped != "exhausted" or self.simulation.root.complete == math.inf:
            return False
        return self._depth(2 * stage) > policy.depth

    def _add_actions(self) -> None:
        """Choose the actions of this decision from a Box.

        These are the first ones, some at random, and some near the best path so far.
        """
        model, rng = self.model, self._rng
        low, high = np.asarray(model.low), np.asarray(model.high)
        size = NEW_ACTIONS * (len(low) + 1)
        points = [rng.uniform(low, high) for _ in range(size)]
        best = self.simulation.rollout_policy.best
        if best is not None:
            for action in best[1 : 1 + size]:
                change = NEARNESS * (high - low) * rng.normal(size=len(low))
                points.append(np.ravel(model.actions[action]) + change)
            points = points[size // 2 :]
        added = [model.add_action(point) for point in points]
        self.simulation.choices = tuple(dict.fromkeys([*range(self._anchors), *added]))

    def _drop_unused(self, reused: list[Playout]) -> list[Playout]:
        """Drop actions of a Box that are on no known path; return playouts with the new numbers."""
        used = self.simulation.actions_below().union(*(playout.path for playout in reused))
        kept = sorted(used.union(range(self._anchors)))
        index = {old: new for new, old in enumerate(kept)}
        self.model.keep_actions(kept)
        self.simulation.renumber(index)
        return [p._replace(path=tuple(index[action] for action in p.path)) for p in reused]

    def _new_policy(self, budget: int, playouts: Sequence[Playout]) -> TreePolicy:
        settings, depth = self.settings, self._depth(budget)
        self._scale.set_depth(depth)
        actions = len(self.model.actions)
        if self.model.low is not None and settings.hooks.rollout is not None and self._uses_gpts:
            actions = MOST_ACTIONS  # (each rollout may add some)
        if (actions, depth) != self._shape:
            self._shape, self._tree = (actions, depth), Tree(actions, depth)
        tree = self._tree
        if not self._uses_gpts:
            plays = budget // settings.repeat
            return BaselinePolicy(
                settings, tree, self.simulation, scale=self._scale, rng=self._rng, budget=plays
            )
        return GPTSPolicy(
            settings,
            tree,
            self.simulation,
            reused=[playout.truncated(depth) for playout in playouts],
            scale=self._scale,
            rng=self._rng,
            selection_rng=self._selection_rng,
            previous=self.policy if isinstance(self.policy, GPTSPolicy) else None,
        )

    def _search(self, policy: Policy, budget: int, deadline: Deadline) -> tuple[str, int]:
        """Search until an end; return which ("budget", ...) and the number of steps taken."""
        simulation = self.simulation
        simulation.set_budget(budget)
        policy.start()
        # A playout may cost nothing, if all of its steps were taken before.
        for _ in range(simulation.left):
            if simulation.left == 0:
                break
            if deadline.passed():
                return "seconds", simulation.calls
            try:
                policy.play()
            except Exhausted:
                is_full = isinstance(policy, GraphPolicy) and policy.has_untried()
                return "states" if is_full else "exhausted", simulation.calls
        if isinstance(policy, GPTSPolicy) and simulation.root.complete >= policy.depth:
            return "exhausted", simulation.calls
        return "budget", simulation.calls

    def _recommend(self, policy: Policy, all_known: bool) -> tuple[Path, float, float]:
        """Return the path to follow, its value and the standard deviation of the value."""
        if not policy.plays:
            legal = self.model.legal or self.simulation.choices
            return (int(self._rng.choice(legal)),), math.nan, math.inf
        if all_known and self.model.deterministic and isinstance(policy, GPTSPolicy):
            # Of paths of the same value, one that continues if positive rewards are expected.
            end = self._scale.fitted()[0] < 0.0
            discount = self.settings.action_discount
            cost = policy.cost_of_end
            value, path = self.simulation.best(policy.depth, discount, end=end, cost=cost)
            return path, value, 0.0
        return policy.recommend(self.receding)

    # ------------------------------------------------------------------ the next decision

    def advance(self, action: int, snapshot: Any) -> bool | None:
        """Reuse the playouts below an action if they led to this state.

        Return whether they did; None if there are none, or states cannot be compared.
        """
        policy, same = self.policy, self.model.same
        self._reused = None
        if isinstance(policy, GraphPolicy):
            return policy.leads_to(action, snapshot)
        if policy is None or same is None:
            return None
        below = [p for p in policy.playouts if p.path[0] == action and len(p.rewards) > 1]
        if self.model.deterministic:
            _, state = self.simulation.root.children.get(action, (0.0, None))
            if state is None or state.snapshot is None:
                return None
            if not same(state.snapshot, snapshot):
                return False
            self.simulation.advance(state)
            found = True
        else:
            below = [p for p in below if p.states and same(p.states[0], snapshot)]
            self.simulation.start(snapshot)
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
    merge_states: bool | Callable[[Any], Hashable] | None = None,
    value: Callable[[Any], float] | None = None,
    policy: Callable[[Any], Sequence[float]] | None = None,
    rollout: Callable[[Any], Any] | None = None,
    mask: Callable[[Any], Sequence[Any]] | None = None,
    observation: Any = None,
    info: Any = None,
    rng: np.random.Generator | int | None = None,
) -> Plan:
    """Plan the next actions in a Gymnasium environment, or with a simulator.

    Parameters
    ----------
    env_or_simulator
        An environment that has been reset, which is not changed; or a `Simulator`, which is
        restored to its state.
    discount : float
        Discount of one step.
    budget : int, optional
        Maximum number of steps of the simulator.
    seconds : float, optional
        Time limit, including the time to read the state of the environment. Without a budget the
        depth grows with the number of steps.
    depth : int, "paper" or None
        Number of actions of a path. By default 1.2 times the square root of the budget, at most the
        horizon of the discount, log 0.1 / log discount, and up to twice that if all playouts have
        the same sum. `"paper"`: the depth of the paper, about the logarithm of the number of paths,
        which is only a few steps for small budgets.
    searcher : str or function
        "gpts", "uct", "olop", "kl_olop", "best_first" or "random"; or a function that makes a
        searcher for a tree.
    rewards : "steps" or "sum"
        Observations of the searcher: the immediate rewards of all steps, or their discounted sum.
    repeat : int
        Number of steps for which each action is taken.
    merge_states : bool or function, optional
        Whether equal states share observations. By default they do if states can be compared: toy
        text, MiniGrid, simulators whose snapshots are integers or tuples of them. True: raise an
        exception if states cannot be compared. A function of the observation: states with the same
        result are equal. GPTS then plans on the graph of states, unless a depth is given.
    value : function, optional
        Function of the observation: the expected discounted sum of rewards from this state. It is
        added at the end of paths.
    policy : function, optional
        Function of the observation: a weight of at least 0 for each action, for untried actions and
        in rollouts.
    rollout : function, optional
        Function of the observation: the action of a rollout. Only for GPTS: other searchers choose
        all actions of a path.
    mask : function, optional
        Function of the observation: whether each action is legal. By default
        `info["action_mask"]`, where the environment has it.
    observation, info : optional
        The last ones that the environment returned. Only needed for `mask`, `info["action_mask"]`
        and a function `merge_states`, if the environment is copied or the simulator is your own.
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
    settings = PlanSettings(
        discount, budget, seconds, depth, searcher, rewards, repeat, Hooks(value, policy, rollout)
    )
    model = GenerativeModel(env_or_simulator, merge_states=merge_states, mask=mask)
    planner = Planner(model, settings, rng, receding=False)
    begin = time.perf_counter()
    with model.present(observation, info) as state:
        return planner.plan(state, begin=begin)


def plan_many(
    environments: Iterable[Any],
    *,
    executor: int | Executor | None = None,
    rng: int | None = None,
    **options: Any,
) -> list[Plan]:
    """Plan in several environments at once, each with its own random numbers.

    Parameters
    ----------
    environments
        Environments or simulators, as for `plan`.
    executor : int or concurrent.futures.Executor, optional
        Number of worker processes (needs `pip install 'bough[parallel]'`), or a pool of your own,
        such as threads for simulators that wait for something else. By default one plan is made
        after the other.
    rng : int, optional
        Seed of all plans, which does not depend on the executor.
    **options
        Those of `plan`.

    Returns
    -------
    list of Plan
        One for each environment, in their order. Plans of worker processes have `choices` and
        `certificate`, but no `tree` and no `searcher`.

    Examples
    --------
    >>> import gymnasium
    >>> lakes = [gymnasium.make("FrozenLake-v1", is_slippery=False) for _ in range(2)]
    >>> _ = [lake.reset(seed=0) for lake in lakes]
    >>> [round(found.value, 4) for found in plan_many(lakes, budget=100, rng=0)]
    [0.7738, 0.7738]
    """
    worlds = listed(environments, "environments")
    if rng is not None:
        whole(rng, "rng", least=0)
    if executor is not None and not hasattr(executor, "submit"):
        whole(executor, "executor", least=1)
    seeds = [int(s.generate_state(1)[0]) for s in np.random.SeedSequence(rng).spawn(len(worlds))]
    jobs = list(zip(worlds, seeds, strict=True))
    if executor is None:
        return [_plan_one(k, options, world, seed) for k, (world, seed) in enumerate(jobs)]
    pool: Any = executor
    if not hasattr(executor, "submit"):
        try:
            from loky import get_reusable_executor
        except ImportError:
            raise ImportError(
                "worker processes need loky: pip install 'bough[parallel]', or pass an executor"
            ) from None
        pool = get_reusable_executor(max_workers=executor)
    futures = [
        pool.submit(_plan_detached, k, options, world, seed) for k, (world, seed) in enumerate(jobs)
    ]
    try:
        return [future.result() for future in futures]
    except PicklingError as error:
        error.add_note(
            "worker processes need environments, and functions given, that can be pickled: leave "
            "out executor=, or pass a ThreadPoolExecutor"
        )
        raise
    finally:
        for future in futures:
            future.cancel()


def _plan_one(number: int, options: dict[str, Any], world: Any, seed: int) -> Plan:
    try:
        return plan(world, rng=seed, **options)
    except Exception as error:  # anything that an environment may raise
        error.add_note(f"raised in planning for environments[{number}]")
        raise


def _plan_detached(number: int, options: dict[str, Any], world: Any, seed: int) -> Plan:
    return _plan_one(number, options, world, seed).detached()
