"""Decisions: the settings and the results of planning one."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from bough._validation import above_zero, listed, real, shown, whole
from bough.searchers.base import Certificate, Searcher
from bough.searchers.registry import PLANNERS, SEARCHERS
from bough.theory.depth import paper_depth
from bough.trees import Path

#: Names of the searchers for planning.
NAMES = ("best_first", "gpts", "kl_olop", "olop", "random", "uct")
#: Maximum size of a reward: its square must be finite too.
LARGEST = 1e50
#: Weight of a reward at the horizon.
LEAST_WEIGHT = 0.1
#: Default depth of paths: this many times the square root of the budget, so that as the budget
#: grows there are more paths and longer ones. (Chosen on CartPole and Pendulum.)
DEPTH_FACTOR = 1.2


def called(hook: Any, name: str, observation: Any) -> Any:
    """Return what a function of the user returns; an error gets a note with its name."""
    try:
        return hook(observation)
    except Exception as error:  # anything that it may raise
        error.add_note(f"raised by {name}(observation)")
        raise


@dataclass(frozen=True)
class Hooks:
    """Functions of the user about a state, given its observation; None where there is none.

    `value` returns the discounted sum of rewards to expect from there, `policy` a weight of at
    least 0 for each action, `rollout` the action to take in a playout.
    """

    value: Callable[[Any], float] | None = None
    policy: Callable[[Any], Sequence[float]] | None = None
    rollout: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        for name in ("value", "policy", "rollout"):
            hook = getattr(self, name)
            if hook is not None and not callable(hook):
                raise TypeError(f"{name} must be a function of the observation, got {hook!r}")

    def estimate(self, observation: Any) -> float:
        """Return the value of a state."""
        return _finite(called(self.value, "value", observation), "value(observation)")

    def weights(self, observation: Any, actions: int) -> list[float]:
        """Return the weight of each action in a state."""
        given = listed(called(self.policy, "policy", observation), "policy(observation)")
        weights = [_finite(weight, "policy(observation)") for weight in given]
        if len(weights) != actions or min(weights) < 0.0 or sum(weights) <= 0.0:
            raise ValueError(
                f"policy(observation) must return {actions} weights, one for each action, of at "
                f"least 0 and not all 0, got {shown(given)}"
            )
        return weights


def _finite(number: Any, name: str) -> float:
    """Return what a hook returned as a float, or raise an error that names the hook."""
    value = real(number, name)
    if not -LARGEST <= value <= LARGEST:
        raise ValueError(f"{name} must be finite and at most {LARGEST:.0e}, got {shown(number)}")
    return value


@dataclass(frozen=True)
class PlanSettings:
    """Checked arguments of `plan`."""

    discount: float = 0.95
    budget: int | None = None
    seconds: float | None = None
    depth: Any = None
    searcher: Any = "gpts"
    rewards: str = "steps"
    repeat: int = 1
    hooks: Hooks = field(default_factory=Hooks)

    def __post_init__(self) -> None:
        searcher, names = self.searcher, ", ".join(NAMES)
        if not 0 < real(self.discount, "discount") <= 1:
            raise ValueError(f"discount must be above 0 and at most 1, got {self.discount!r}")
        if self.budget is None and self.seconds is None:
            raise ValueError("give a budget, in steps of the simulator, or a time limit in seconds")
        whole(self.repeat, "repeat", least=1)
        if self.budget is not None and whole(self.budget, "budget", least=1) < self.repeat:
            raise ValueError(
                f"a budget of {self.budget} steps is too small for one action, "
                f"which is repeated {self.repeat} times"
            )
        if self.seconds is not None:
            above_zero(self.seconds, "seconds")
        if self.rewards not in ("steps", "sum"):
            raise ValueError(f'rewards must be "steps" or "sum", got {self.rewards!r}')
        if isinstance(searcher, str) and searcher not in NAMES:
            why = "is not a searcher" if searcher not in SEARCHERS else "is not made for planning"
            raise ValueError(f"searcher must be one of {names}: {searcher!r} {why}")
        if not isinstance(searcher, str) and not callable(searcher):
            raise TypeError(
                "searcher must be a name or a function of the tree that makes a searcher, "
                f"got {searcher!r}"
            )
        if self.hooks.rollout is not None and searcher != "gpts":
            raise ValueError(
                f"rollout is for gpts: {searcher!r} chooses all actions of a path itself"
            )
        if self.hooks.policy is not None and searcher not in ("gpts", "uct"):
            raise ValueError(f"policy is for gpts and uct: {searcher!r} would ignore it")
        horizon(self.depth, 2, 0.5, 1)  # raises an error if the depth is invalid
        if self.discount == 1.0 and searcher in (*PLANNERS, "best_first"):
            raise ValueError(f"{searcher} needs a discount below 1, got {self.discount!r}")

    @property
    def may_merge(self) -> bool:
        """Whether GPTS may plan on the graph of states, which has no paths of a fixed depth."""
        return self.depth is None and self.rewards == "steps"

    @property
    def action_discount(self) -> float:
        """The discount of one action, which may be repeated for several steps."""
        return self.discount**self.repeat


def discount_horizon(discount: float) -> int:
    """Return the number of steps after which a reward has a weight of 0.1.

    >>> discount_horizon(0.95)
    45
    """
    return max(math.ceil(math.log(LEAST_WEIGHT) / math.log(discount)), 1)


def horizon(depth: Any, actions: int, discount: float, budget: int) -> int:
    """Return the depth of the tree: a number, "paper" for the paper's D(T), or None for ours.

    Ours is 1.2 times the square root of the budget, at most the horizon of the discount.

    >>> horizon(None, 2, 0.95, budget=200), horizon("paper", 2, 0.95, budget=100)
    (17, 5)
    """
    if depth is None:
        steps = math.ceil(DEPTH_FACTOR * math.sqrt(budget))
        return min(steps, budget, discount_horizon(discount) if discount < 1.0 else budget)
    if not isinstance(depth, str):
        return whole(depth, "depth", least=1)
    if depth != "paper":
        raise ValueError(f'depth must be an int, "paper" or None, got {depth!r}')
    if actions < 2:
        return 1
    # T paths of D steps make up the budget; the depth is the paper's for T paths.
    steps = 1
    while (steps + 1) * actions**steps < budget:
        steps += 1
    return max(paper_depth(actions, max(budget // steps, 1)), 1)


class ActionValue(NamedTuple):
    """The value of an action: mean and standard deviation of the sum of rewards after it.

    `plays` is the number of playouts that began with it.
    """

    action: Any
    mean: float
    std: float
    plays: int


@dataclass(frozen=True, repr=False)
class Plan:
    """The result of planning one decision."""

    actions: tuple[Any, ...]  # the next ones; as many as the best path has
    path: Path  # their indices: `available[path[0]]` is the first action
    value: float  # discounted sum of rewards along that path
    std: float  # its standard deviation; 0 if transitions are deterministic
    calls: int  # steps of the simulator, at most the budget
    replayed: int  # further ones, which only led back to a previous state
    plays: int  # new playouts
    kept: int  # playouts reused from the decision before
    depth: int  # number of actions of a path
    how: str  # kind of simulator
    deterministic: bool
    #: "budget"; "seconds"; "exhausted" if nothing was left to find; or "states" if more was left,
    #: but only beyond the maximum number of states that are kept (100,000; 10,000 copies of an
    #: environment). The next decision then starts from nothing.
    stopped_by: str
    seconds: float  # duration of planning
    available: tuple[Any, ...]  # all actions
    policy: Any = field(compare=False)
    #: The reason why an agent reused no playouts, if it could have, or why the action is random.
    note: str | None = None
    reach: str = ""  # the length of the plans that the certificate is about

    @property
    def action(self) -> Any:
        """The next action."""
        return self.actions[0]

    def detached(self) -> "Plan":
        """Return the plan without what it was made with, so that it can be pickled."""
        choices, certificate = self.choices, self.certificate
        plan = replace(self, policy=None)
        vars(plan).update(choices=choices, certificate=certificate)
        return plan

    @property
    def searcher(self) -> Searcher:
        """The searcher after this decision; a belief of GPTS is in units of its own."""
        if self.policy is None:
            raise ValueError("a detached plan, such as one of another process, has no searcher")
        return self.policy.searcher  # type: ignore[no-any-return]

    @cached_property
    def certificate(self) -> Certificate | None:
        """Bounds of the value of any plan, given the fitted units; None if there are none.

        If transitions are deterministic and the tree is exhausted, they are exact. On the graph of
        states they are then the value of a plan that never stops, of which `actions` is the start.
        """
        if self.deterministic and self.stopped_by == "exhausted":
            value = self.policy.exact_value(self.value)
            return None if value is None else Certificate(self.path, value, value, 0.0, 0.0)
        return self.policy.certificate()  # type: ignore[no-any-return]

    @cached_property
    def choices(self) -> tuple[ActionValue, ...]:
        """The value of each action."""
        return tuple(
            ActionValue(action, *self.policy.describe((k,)))
            for k, action in enumerate(self.available)
        )

    def tree(self, depth: int = 3) -> str:
        """Return the first levels of the visited tree as text: mean and deviation of each node."""
        if self.policy is None:
            raise ValueError("a detached plan, such as one of another process, has no tree")
        whole(depth, "depth", least=1)
        lines = [f"{'the next actions':<30} {'sum of rewards':>22}   paths"]

        def add_below(node: Path) -> None:
            found = [(*self.policy.describe((*node, a)), a) for a in self.policy.tried(node)]
            for mean, std, plays, a in sorted(found, key=lambda row: -row[2]):
                if not plays:
                    continue
                child = (*node, a)
                mark = "*" if child == self.path[: len(child)] else " "
                name = f"{'  ' * len(node)}{mark} {_text(self.available[a])}"
                spread = f" +- {std:.3g}" if math.isfinite(std) else ""
                lines.append(f"{name:<30} {f'{mean:.4g}{spread}':>22}   {plays}")
                if len(child) < depth:
                    add_below(child)

        add_below(())
        return "\n".join(lines)

    def __repr__(self) -> str:
        actions = ", ".join(_text(action) for action in self.actions[:10])
        more = f", ... {len(self.actions)} in all" if len(self.actions) > 10 else ""
        spread = f" +- {self.std:.3g}" if self.std > 0 else ""
        lines = [
            f"action      {_text(self.action)}",
            f"then        {actions}{more}",
            f"value       {self.value:.6g}{spread}",
        ]
        if self.certificate is not None and math.isfinite(self.certificate.upper):
            lines.append(
                f"certificate no plan of {self.reach} is worth more than "
                f"{self.certificate.upper:.6g}, at confidence {1 - self.certificate.delta:g}"
                + (", given the fitted units" if self.certificate.conditional else "")
            )
        reused = f", {self.kept} reused" if self.kept else ""
        replayed = f" (and {self.replayed} replayed)" if self.replayed else ""
        lines.append(
            f"simulated   {self.calls} steps{replayed} in {self.plays} playouts{reused}, by "
            f"{self.how}, {1e3 * self.seconds:.1f} ms, stopped by {self.stopped_by}"
        )
        if self.note is not None:
            lines.append(f"note        {self.note}")
        return "\n".join(lines)


def _text(action: Any) -> str:
    return str(action.tolist()) if hasattr(action, "tolist") else str(action)
