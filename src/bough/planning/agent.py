"""Acting with a receding horizon: plan, take one action, plan again from where it led."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bough._validation import whole
from bough.exceptions import Unfaithful
from bough.planning.decision import Plan
from bough.planning.environments import is_environment
from bough.planning.planner import Planner, Settings, read_rng
from bough.planning.simulator import maker_of, model_of, recorded
from bough.run.progress import Bar


@dataclass(frozen=True)
class Episode:
    """What happened from a reset to the end.

    Attributes
    ----------
    total
        The sum of rewards, not discounted.
    steps
        How long it lasted.
    decisions
        How often it was planned; less than the steps if actions are repeated.
    calls, replayed
        Steps of the simulator, and those that only led back to a state seen before (or from there
        to the next, to see whether an action that is repeated goes on as it began).
    planning
        Seconds that planning took, simulation included.
    surprises
        How often the environment went elsewhere than foreseen.
    """

    total: float
    steps: int
    decisions: int
    calls: int
    replayed: int
    planning: float
    surprises: int


@dataclass(frozen=True, repr=False)
class Summary:
    """What came of some episodes; `interrupted` if there would have been more but for Ctrl-C."""

    episodes: tuple[Episode, ...]
    how: str
    interrupted: bool = False

    @property
    def mean(self) -> float:
        """The mean of the returns."""
        return math.fsum(e.total for e in self.episodes) / len(self.episodes)

    @property
    def error(self) -> float:
        """The standard error of that mean; infinite for one episode."""
        count = len(self.episodes)
        if count < 2:
            return math.inf
        spread = math.fsum((e.total - self.mean) ** 2 for e in self.episodes) / (count - 1)
        return math.sqrt(spread / count)

    @property
    def calls_per_decision(self) -> float:
        """Steps of the simulator for one decision."""
        return sum(e.calls for e in self.episodes) / max(sum(e.decisions for e in self.episodes), 1)

    @property
    def milliseconds(self) -> float:
        """What a decision took."""
        decisions = max(sum(e.decisions for e in self.episodes), 1)
        return 1e3 * math.fsum(e.planning for e in self.episodes) / decisions

    def __repr__(self) -> str:
        count = len(self.episodes)
        error = f" +- {self.error:.3g}" if count > 1 else ""
        steps = sum(e.steps for e in self.episodes) / count
        lines = [
            f"return      {self.mean:.6g}{error} over {count} episode{'s' if count > 1 else ''}",
            f"steps       {steps:.1f} an episode",
            f"simulated   {self.calls_per_decision:.1f} steps a decision, by {self.how}",
            f"time        {self.milliseconds:.2f} ms a decision",
        ]
        replayed = sum(e.replayed for e in self.episodes)
        if replayed:
            lines.append(f"replayed    {replayed} steps")
        surprises = sum(e.surprises for e in self.episodes)
        if surprises:
            lines.append(f"surprises   {surprises}: the environment went elsewhere than foreseen")
        return "\n".join(lines)


class Agent:
    """Acts in an environment by planning every action.

    What was simulated for one decision is kept for the next, as far as it holds: the belief is
    rooted where the action led, with everything observed below it.

    Parameters
    ----------
    env
        A Gymnasium environment, which is never changed by planning; or a `Simulator`, then of the
        world itself, which is put back after every decision.
    keep : bool
        Whether to keep anything.
    discount, budget, seconds, depth, searcher, rewards, reward_range, repeat, rng
        As for `plan`. With `repeat` an action is given out so many times before another is planned.

    Attributes
    ----------
    env
        The environment to reset and step: the one handed in, unless it cannot be copied. Then it is
        `recorded`, from when the agent is made.
    last
        The `Plan` of the last decision.
    surprises
        How often the environment went elsewhere than foreseen.

    Examples
    --------
    >>> import gymnasium
    >>> env = gymnasium.make("CartPole-v1")
    >>> _ = env.reset(seed=1)
    >>> agent = Agent(env, budget=50, rng=0)
    >>> for _ in range(3):
    ...     _ = env.step(agent.act())
    >>> agent.last.kept > 0, agent.surprises
    (True, 0)
    """

    def __init__(
        self,
        env: Any,
        *,
        discount: float = 0.95,
        budget: int | None = None,
        seconds: float | None = None,
        depth: int | str | None = None,
        searcher: Any = "gpts",
        rewards: str = "steps",
        reward_range: tuple[float, float] | None = None,
        repeat: int = 1,
        keep: bool = True,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.settings = Settings(
            discount, budget, seconds, depth, searcher, rewards, reward_range, repeat
        )
        rng = read_rng(rng)
        self.keep = keep
        # (A simulator that was made for an environment leads to it.)
        self.env = env if is_environment(env) else getattr(env, "env", env)
        try:
            self.model = model_of(env)
        except Unfaithful:
            # What is done in it from now on can be recorded and replayed, if it is done in `env`.
            if maker_of(env) is None:
                raise
            self.env = recorded(env)
            self.model = model_of(self.env)
        self.planner = Planner(self.model, self.settings, rng)
        self.last: Plan | None = None
        self.surprises = 0
        self._before: Plan | None = None  # the decision that the planner may go on from
        self._again = 0  # how often the last action is still to be given out
        self._at: Any = None  # the state in which it was given out
        self._tried = 0  # steps of the simulator to see where it leads

    def reset(self) -> None:
        """Forget the last decision: a new episode begins."""
        self.last = self._before = None
        self._again = 0

    def act(self) -> Any:
        """Return the action for the present state of the environment."""
        if self._again and self.last is not None and self._goes_on(self.last.action):
            self._again -= 1
            return self.last.action
        self._again = 0
        present = self._at = self.model.present()
        note = None
        kept = self._before if self.keep else None
        self._before = None  # (if something fails now, there is nothing to go on from)
        if kept is not None and not self.planner.took(kept.path[0], present):
            note = "the environment went elsewhere than foreseen: planned anew"
            if self.model.same is None:
                note = "the simulator cannot compare states: planned anew"
            elif not self.model.deterministic:
                note = "no path that was simulated led to this state: planned anew"
            else:
                self.surprises += 1
        try:
            self.last = self._before = self.planner.plan(present, note)
        finally:
            self.model.leave(present)
        self._again = self.settings.repeat - 1
        return self.last.action

    def _goes_on(self, action: Any) -> bool:
        """Return whether the world is where the action led that is repeated, if anybody can say."""
        model = self.model
        if not model.deterministic or model.same is None:
            return True
        before, self._at = self._at, model.present()
        try:
            model.restore(before)
            model.step(action)
            self._tried += 1
            return model.same(model.snapshot(), self._at)
        finally:
            model.leave(self._at)

    def run(
        self,
        episodes: int = 1,
        *,
        seed: int | None = None,
        most_steps: int | None = None,
        progress: bool | None = None,
        watch: Callable[[Any, bool], None] | None = None,
    ) -> Summary:
        """Act until so many episodes have ended, or Ctrl-C is pressed after the first of them.

        Parameters
        ----------
        episodes : int
        seed : int, optional
            Of the first episode; the next one has the next number.
        most_steps : int, optional
            Ends an episode.
        progress : bool, optional
            Whether to show a bar; by default on a terminal.
        watch
            Is called with the environment after every reset (with True) and step (with False), to
            render it for example.
        """
        whole(episodes, "episodes", least=1)
        if seed is not None:
            whole(seed, "seed", least=0)
        if most_steps is not None:
            whole(most_steps, "most_steps", least=1)
        if not hasattr(self.env, "reset"):
            raise TypeError("run needs a Gymnasium environment: a simulator has no reset")
        done: list[Episode] = []
        with Bar(progress, episodes, unit="episode") as bar:
            try:
                for k in range(episodes):
                    self.env.reset(seed=None if seed is None else seed + k)
                    self.reset()
                    done.append(self._episode(most_steps, watch))
                    bar.count(f"return {done[-1].total:.6g}")
            except KeyboardInterrupt:
                self.reset()
                if not done:
                    raise
        return Summary(tuple(done), self.model.how, interrupted=len(done) < episodes)

    def _episode(
        self, most_steps: int | None, watch: Callable[[Any, bool], None] | None
    ) -> Episode:
        total, planning = 0.0, 0.0
        steps = decisions = calls = replayed = 0
        before, tried = self.surprises, self._tried
        ended = False
        if watch is not None:
            watch(self.env, True)
        while not ended and (most_steps is None or steps < most_steps):
            begin, last = time.perf_counter(), self.last
            action = self.act()
            planning += time.perf_counter() - begin
            if self.last is not last and self.last is not None:
                decisions += 1
                calls += self.last.calls
                replayed += self.last.replayed
            _, reward, terminated, truncated, _ = self.env.step(action)
            total += float(reward)
            steps += 1
            ended = terminated or truncated
            if watch is not None:
                watch(self.env, False)
        surprises = self.surprises - before
        replayed += self._tried - tried
        return Episode(total, steps, decisions, calls, replayed, planning, surprises)
