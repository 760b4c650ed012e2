"""What came of planning one decision."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from bough.planning.gaussian import GaussianPolicy
from bough.searchers.base import Certificate, Searcher
from bough.trees import Path


class Choice(NamedTuple):
    """What is thought of one action: the discounted sum after it, give or take, and from what."""

    action: Any
    mean: float
    std: float
    plays: int


@dataclass(frozen=True, repr=False)
class Plan:
    """What came of planning one decision.

    Attributes
    ----------
    actions
        What to do next, and after that; as long as the path that was found to be best.
    path
        The same by number: `available[path[0]]` is the first action.
    value, std
        The discounted sum of rewards along that path, and how surely it is known: exactly, if
        transitions are not random.
    calls
        Steps of the simulator that were used, at most the budget.
    replayed
        Further steps, which only led back to a state seen before.
    plays, kept
        How many paths were played, and how many were known from the decision before.
    depth
        How many actions a path has.
    how, deterministic
        What kind of simulator it was.
    stopped_by
        "budget", "seconds", or "exhausted" if nothing was left to find out.
    seconds
        How long it took.
    available
        All actions.
    note
        Why nothing was kept from the decision before, if an agent had hoped to.
    """

    actions: tuple[Any, ...]
    path: Path
    value: float
    std: float
    calls: int
    replayed: int
    plays: int
    kept: int
    depth: int
    how: str
    deterministic: bool
    stopped_by: str
    seconds: float
    available: tuple[Any, ...]
    policy: Any = field(compare=False)
    note: str | None = None

    @property
    def action(self) -> Any:
        """What to do next."""
        return self.actions[0]

    @property
    def searcher(self) -> Searcher:
        """The searcher as it stood; a belief of GPTS is in units of its own."""
        return self.policy.searcher  # type: ignore[no-any-return]

    @cached_property
    def certificate(self) -> Certificate | None:
        """How good any plan can be, as far as what was learnt is right; None if nobody can say.

        If nothing is random and nothing was left to find out, it is no matter of confidence.
        """
        if self.deterministic and self.stopped_by == "exhausted":
            return Certificate(self.path, self.value, self.value, 0.0, 0.0)
        return self.policy.certificate()  # type: ignore[no-any-return]

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """What is thought of each action."""
        totals = _by_prefix(self.policy, 1)
        choices = []
        for k, action in enumerate(self.available):
            seen = totals.get((k,), [])
            choices.append(Choice(action, *self._believed((k,), seen), len(seen)))
        return tuple(choices)

    def tree(self, depth: int = 3, most: int = 8) -> str:
        """Return the beginning of the tree as text: what is believed of each node, and how surely.

        Parameters
        ----------
        depth
            How many steps down.
        most
            How many children of a node are shown, those visited most.
        """
        totals = _by_prefix(self.policy, depth)
        lines = [f"{'the next actions':<30} {'sum of rewards':>22}   paths"]
        self._branch((), totals, depth, most, "", lines)
        return "\n".join(lines)

    def _branch(
        self,
        node: Path,
        totals: dict[Path, list[float]],
        depth: int,
        most: int,
        indent: str,
        lines: list[str],
    ) -> None:
        if len(node) == depth:
            return
        children = [(*node, a) for a in range(len(self.available)) if (*node, a) in totals]
        children.sort(key=lambda child: -len(totals[child]))
        for child in children[:most]:
            mean, std = self._believed(child, totals[child])
            mark = "*" if child == self.path[: len(child)] else " "
            name = f"{indent}{mark} {_word(self.available[child[-1]])}"
            spread = f" +- {std:.3g}" if math.isfinite(std) else ""
            lines.append(f"{name:<30} {f'{mean:.4g}{spread}':>22}   {len(totals[child])}")
            self._branch(child, totals, depth, most, indent + "  ", lines)
        if len(children) > most:
            lines.append(f"{indent}  ({len(children) - most} more)")

    def _believed(self, node: Path, totals: list[float]) -> tuple[float, float]:
        if isinstance(self.policy, GaussianPolicy):
            return self.policy.believed(node)
        return (math.fsum(totals) / len(totals) if totals else math.nan), math.nan

    def __repr__(self) -> str:
        words = ", ".join(_word(action) for action in self.actions[:10])
        more = f", ... {len(self.actions)} in all" if len(self.actions) > 10 else ""
        spread = f" +- {self.std:.3g}" if self.std > 0 else ""
        lines = [
            f"action      {_word(self.action)}",
            f"then        {words}{more}",
            f"worth       {self.value:.6g}{spread}",
        ]
        if self.certificate is not None and math.isfinite(self.certificate.upper):
            lines.append(
                f"certificate no plan of {self.depth} steps is worth more than "
                f"{self.certificate.upper:.6g}, at confidence {1 - self.certificate.delta:g}"
                + (", given what was learnt" if self.certificate.conditional else "")
            )
        kept = f", {self.kept} kept" if self.kept else ""
        replayed = f" (and {self.replayed} replayed)" if self.replayed else ""
        lines.append(
            f"simulated   {self.calls} steps{replayed} on {self.plays} paths{kept}, by {self.how}, "
            f"{1e3 * self.seconds:.1f} ms, stopped by {self.stopped_by}"
        )
        if self.note is not None:
            lines.append(f"note        {self.note}")
        return "\n".join(lines)


def _by_prefix(policy: Any, depth: int) -> dict[Path, list[float]]:
    """Return the sums of all paths by each of their first nodes."""
    totals: dict[Path, list[float]] = {}
    for play in policy.plays:
        total = policy.total(play)
        for i in range(1, min(depth, len(play.path)) + 1):
            totals.setdefault(play.path[:i], []).append(total)
    return totals


def _word(action: Any) -> str:
    return str(action.tolist()) if hasattr(action, "tolist") else str(action)
