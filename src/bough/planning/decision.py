"""Decisions: the settings and the results of planning one."""

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from bough._validation import above_zero, real, whole
from bough.searchers.base import Certificate, Searcher
from bough.searchers.registry import PLANNERS, SEARCHERS
from bough.theory.depth import paper_depth, useful_depth
from bough.trees import Path

#: Names of the searchers for planning.
NAMES = ("best_first", "gpts", "kl_olop", "olop", "random", "uct")
#: Weight of a reward at the horizon.
LEAST_WEIGHT = 0.1
#: Least number of paths of full depth that a budget allows.
LEAST_PATHS = 5


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
        horizon(self.depth, 2, 0.5, 1)  # raises an error if the depth is invalid
        if self.discount == 1.0 and searcher in (*PLANNERS, "best_first"):
            raise ValueError(f"{searcher} needs a discount below 1, got {self.discount!r}")

    @property
    def action_discount(self) -> float:
        """The discount of one action, which may be repeated for several steps."""
        return self.discount**self.repeat


def horizon(depth: Any, actions: int, discount: float, budget: int) -> int:
    """Return the depth of the tree: a number, "paper" for the paper's D(T), or None for ours.

    Ours is the larger of the smallest useful depth for the budget (erratum 39 of the paper) and the
    horizon of the discount, log 0.1 / log discount; but at most a fifth of the budget.

    >>> horizon(None, 2, 0.95, budget=1000), horizon("paper", 2, 0.95, budget=100)
    (45, 5)
    """
    if depth is None:
        steps = budget
        if discount < 1.0:
            steps = math.ceil(math.log(LEAST_WEIGHT) / math.log(discount))
        useful = useful_depth(actions, discount, budget) if actions > 1 else 1
        return max(min(max(useful, steps), budget // LEAST_PATHS), 1)
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
    stopped_by: str  # "budget", "seconds", or "exhausted" if nothing was left to find
    seconds: float  # duration of planning
    available: tuple[Any, ...]  # all actions
    policy: Any = field(compare=False)
    note: str | None = None  # the reason why an agent reused no playouts, if it could have

    @property
    def action(self) -> Any:
        """The next action."""
        return self.actions[0]

    @property
    def searcher(self) -> Searcher:
        """The searcher after this decision; a belief of GPTS is in units of its own."""
        return self.policy.searcher  # type: ignore[no-any-return]

    @cached_property
    def certificate(self) -> Certificate | None:
        """Bounds of the value of any plan, given the fitted units; None if there are none.

        If transitions are deterministic and the tree is exhausted, they are exact.
        """
        if self.deterministic and self.stopped_by == "exhausted":
            return Certificate(self.path, self.value, self.value, 0.0, 0.0)
        return self.policy.certificate()  # type: ignore[no-any-return]

    @cached_property
    def choices(self) -> tuple[ActionValue, ...]:
        """The value of each action."""
        counts = self._counts(1)
        values = [self.policy.value((k,)) for k in range(len(self.available))]
        return tuple(
            ActionValue(action, mean, std, counts[k,])
            for k, (action, (mean, std)) in enumerate(zip(self.available, values, strict=True))
        )

    def tree(self, depth: int = 3) -> str:
        """Return the first levels of the visited tree as text: mean and deviation of each node."""
        lines = [f"{'the next actions':<30} {'sum of rewards':>22}   paths"]
        counts = self._counts(depth)

        def add_below(node: Path) -> None:
            indent = "  " * len(node)
            children = [(*node, a) for a in range(len(self.available)) if (*node, a) in counts]
            for child in sorted(children, key=lambda child: -counts[child]):
                mean, std = self.policy.value(child)
                mark = "*" if child == self.path[: len(child)] else " "
                name = f"{indent}{mark} {_text(self.available[child[-1]])}"
                spread = f" +- {std:.3g}" if math.isfinite(std) else ""
                lines.append(f"{name:<30} {f'{mean:.4g}{spread}':>22}   {counts[child]}")
                add_below(child)

        add_below(())
        return "\n".join(lines)

    def _counts(self, depth: int) -> Counter[Path]:
        """Return the number of playouts through each node, up to a depth."""
        paths = [playout.path for playout in self.policy.playouts]
        return Counter(path[:i] for path in paths for i in range(1, min(depth, len(path)) + 1))

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
                f"certificate no plan of {self.depth} steps is worth more than "
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
