"""What a planner needs of the world: a model that can be put back to where it was."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from bough._validation import listed
from bough.planning.randomness import is_random_state, reachable


@runtime_checkable
class Simulator(Protocol):
    """A generative model: it can be asked what an action would lead to.

    Attributes
    ----------
    actions
        The actions there are in every state, in any form that `step` takes.

    Notes
    -----
    More is used where a simulator has them:

    `deterministic` (False if it is missing)
        Whether the same actions from the same state always lead to the same. Then no step is
        simulated twice.
    `reseed(seed)`
        Make what is random independent of what the world itself will do. It is called before every
        simulated path, unless all is deterministic: a planner must not foresee the future. It may
        be missing if `restore` does not bring random numbers back, so that each path has others; a
        snapshot that holds a generator or its state is refused then.
    `same(snapshot, other) -> bool`
        Whether two snapshots are of the same state. Without it an agent plans every decision anew.

    Examples
    --------
    >>> class Corridor:
    ...     actions = ("left", "right")
    ...     deterministic = True
    ...     place = 0
    ...     def snapshot(self):
    ...         return self.place
    ...     def restore(self, snapshot):
    ...         self.place = snapshot
    ...     def step(self, action):
    ...         self.place += 1 if action == "right" else -1
    ...         return self.place, float(self.place == 3), self.place == 3
    >>> isinstance(Corridor(), Simulator)
    True
    """

    actions: Sequence[Any]

    def snapshot(self) -> Any:
        """Return the present state, in a form that later steps do not change."""

    def restore(self, snapshot: Any) -> None:
        """Go back to the state of a snapshot, which can be used again."""

    def step(self, action: Any) -> tuple[Any, float, bool]:
        """Take an action; return the observation, the reward, and whether the episode ended."""


class Model:
    """A simulator as the planner sees it: with everything that is optional filled in.

    `present()` is the state of the world to plan for, as a snapshot; `how` says what kind of
    simulator it is. `counted` of the steps that a simulator took on its own are not to be reported:
    by default all until now.
    """

    def __init__(self, simulator: Any, *, counted: int | None = None) -> None:
        for name in ("snapshot", "restore", "step", "actions"):
            if not hasattr(simulator, name):
                raise TypeError(
                    f"a simulator has snapshot, restore, step and actions, but {simulator!r} "
                    f"has no {name}; a Gymnasium environment works too"
                )
        self.simulator = simulator
        self.actions = listed(simulator.actions, "simulator.actions")
        if not self.actions:
            raise ValueError("simulator.actions must hold at least one action, got none")
        self.deterministic = bool(getattr(simulator, "deterministic", False))
        self.how = str(getattr(simulator, "how", type(simulator).__name__))
        self.snapshot: Callable[[], Any] = simulator.snapshot
        self.restore: Callable[[Any], None] = simulator.restore
        self.step: Callable[[Any], tuple[Any, float, bool]] = simulator.step
        self.reseed: Callable[[int], None] | None = getattr(simulator, "reseed", None)
        self.same: Callable[[Any, Any], bool] | None = getattr(simulator, "same", None)
        #: Whether a snapshot costs about as much as a step.
        self.heavy = bool(getattr(simulator, "heavy", False))
        self._present: Callable[[], Any] = getattr(simulator, "present", simulator.snapshot)
        self._trusted = self.deterministic or self.reseed is not None
        self._counted = self._replayed() if counted is None else counted

    def present(self) -> Any:
        """Return the state of the world, to plan for."""
        snapshot = self._present()
        if not self._trusted:
            if any(map(is_random_state, reachable(snapshot))):
                raise ValueError(
                    "snapshots of the simulator hold a random generator, or the state of one, so "
                    "that every path would draw the same numbers and foresee what will be drawn: "
                    "give it reseed(seed), or deterministic = True if nothing is random"
                )
            self._trusted = True
        return snapshot

    def leave(self, snapshot: Any) -> None:
        """Leave the simulator as it was, unless it only follows a world of its own."""
        if not hasattr(self.simulator, "present"):
            self.restore(snapshot)

    def newly_replayed(self) -> int:
        """Return how many steps the simulator took on its own since this was asked last.

        They led back to where the world was before, or showed whether the simulator is right.
        """
        before, self._counted = self._counted, self._replayed()
        return self._counted - before

    def _replayed(self) -> int:
        return int(getattr(self.simulator, "replayed", 0))
