"""Agents: receding-horizon control, which plans, takes one action, and plans again."""

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

from bough._validation import whole
from bough.exceptions import Unfaithful
from bough.planning.decision import Hooks, Plan, PlanSettings
from bough.planning.environments import is_environment
from bough.planning.model import GenerativeModel
from bough.planning.planner import Planner
from bough.planning.simulator import recorded
from bough.run.progress import Bar


class Episode(NamedTuple):
    """The outcome of one episode."""

    total: float  # sum of rewards, not discounted
    steps: int
    decisions: int  # number of plans; less than the steps if actions are repeated
    calls: int  # steps of the simulator
    replayed: int  # further ones, which only led back to a previous state
    planning: float  # seconds, simulation included
    surprises: int  # states that were not the expected ones
    ended: bool  # whether it came to an end, rather than to a limit of steps or time


@dataclass(frozen=True, repr=False)
class Summary:
    """The outcome of several episodes; `interrupted` if Ctrl-C prevented further ones."""

    episodes: tuple[Episode, ...]
    how: str
    merged: bool = False  # whether equal states were recognized
    interrupted: bool = False

    @property
    def ended(self) -> int:
        """The number of episodes that came to an end; the others were cut off by a limit."""
        return sum(e.ended for e in self.episodes)

    @property
    def mean(self) -> float:
        """The mean return."""
        return fmean(e.total for e in self.episodes)

    @property
    def error(self) -> float:
        """The standard error of the mean; infinite for one episode."""
        count = len(self.episodes)
        return stdev(e.total for e in self.episodes) / math.sqrt(count) if count > 1 else math.inf

    @property
    def steps(self) -> float:
        """The mean number of steps of an episode."""
        return fmean(e.steps for e in self.episodes)

    @property
    def calls_per_decision(self) -> float:
        """The mean number of steps of the simulator for one decision."""
        return sum(e.calls for e in self.episodes) / self._decisions

    @property
    def milliseconds(self) -> float:
        """The mean duration of a decision."""
        return 1e3 * sum(e.planning for e in self.episodes) / self._decisions

    @property
    def _decisions(self) -> int:
        return max(sum(e.decisions for e in self.episodes), 1)

    def __repr__(self) -> str:
        count = len(self.episodes)
        error = f" +- {self.error:.3g}" if count > 1 else ""
        lines = [
            f"return      {self.mean:.6g}{error} over {count} episode{'s' if count > 1 else ''}",
            f"ended       {self.ended} of {count}, {count - self.ended} cut off by a limit",
            f"steps       {self.steps:.1f} an episode",
            f"simulated   {self.calls_per_decision:.1f} steps a decision, by {self.how}",
            f"time        {self.milliseconds:.2f} ms a decision",
        ]
        if replayed := sum(e.replayed for e in self.episodes):
            lines.append(f"replayed    {replayed} steps")
        if surprises := sum(e.surprises for e in self.episodes):
            lines.append(f"surprises   {surprises} states that were not the expected ones")
        return "\n".join(lines)


class Agent:
    """Acts in an environment by planning every action.

    Playouts of one decision are reused for the next if they are still valid: the belief is rooted
    at the state that the action led to, with all observations below it.

    Parameters
    ----------
    env
        A Gymnasium environment, which planning never changes; or a `Simulator` that is itself the
        environment, which is restored after every decision.
    discount, budget, seconds, depth, searcher, rewards, repeat, merge_states, value, policy, \
rollout, mask, rng
        As for `plan`. With `repeat` each action is returned this many times.
    keep : bool
        Whether observations are kept for the next decision. Otherwise each is planned from scratch.

    Attributes
    ----------
    env
        The environment to reset and step: the given one, unless it cannot be copied. Then it is
        `recorded`.
    last : Plan
        The plan of the last decision.
    surprises
        Number of states that were not the expected ones.

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
        repeat: int = 1,
        keep: bool = True,
        merge_states: bool | Callable[[Any], Hashable] | None = None,
        value: Callable[[Any], float] | None = None,
        policy: Callable[[Any], Sequence[float]] | None = None,
        rollout: Callable[[Any], Any] | None = None,
        mask: Callable[[Any], Sequence[Any]] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if not isinstance(keep, bool):
            raise TypeError(f"keep must be True or False, got {keep!r}")
        hooks = Hooks(value, policy, rollout)
        self.settings = PlanSettings(
            discount, budget, seconds, depth, searcher, rewards, repeat, hooks
        )
        self.keep = keep
        # (A simulator that was made for an environment refers to it.)
        self.env = env if is_environment(env) else getattr(env, "env", env)
        try:
            self.model = GenerativeModel(env, merge_states=merge_states, mask=mask)
        except Unfaithful:
            self.env = recorded(env)
            self.model = GenerativeModel(self.env, merge_states=merge_states, mask=mask)
        self.planner = Planner(self.model, self.settings, rng)
        self.last: Plan | None = None
        self.surprises = 0
        self._previous: Plan | None = None  # the decision whose playouts may be reused
        self._repeats = 0  # number of times that the last action is still to be returned

    def reset(self) -> None:
        """Forget the last decision, at the start of a new episode."""
        self.last = self._previous = None
        self._repeats = 0
        self.planner.reset()

    def act(self, observation: Any = None, info: Any = None) -> Any:
        """Return the action for the current state of the environment.

        Parameters
        ----------
        observation, info
            The last ones that the environment returned. Masks and a function `merge_states` need
            them if the environment is copied or the simulator is your own; otherwise omit them.
        """
        if self._repeats and self.last is not None:
            self._repeats -= 1
            return self.last.action
        begin, note = time.perf_counter(), None
        with self.model.present(observation, info) as state:
            previous, self._previous = self._previous, None  # (None in case of an error)
            if not self.keep:
                self.planner.reset()
            elif previous is not None:
                note = self._advance(previous.path[0], state)
            self.last = self._previous = self.planner.plan(state, note, begin=begin)
        self._repeats = self.settings.repeat - 1
        return self.last.action

    def _advance(self, action: int, state: Any) -> str | None:
        """Reuse playouts below an action; return a note if none was, and count surprises."""
        expected = self.planner.advance(action, state)
        on_graph = self.planner.on_graph  # where what is known holds for every state
        if expected is True:
            return None
        if self.model.deterministic and expected is False:
            self.surprises += 1
            note = "the environment is not in the expected state"
            return note if on_graph else f"{note}: no playouts were reused"
        if on_graph:
            return None
        if self.model.same is None:
            return "the simulator cannot compare states: no playouts were reused"
        return "no playout led to this state: none was reused"

    def run(
        self,
        episodes: int = 1,
        *,
        seed: int | None = None,
        most_steps: int | None = None,
        progress: bool | None = None,
        frames: list[Any] | None = None,
    ) -> Summary:
        """Act for a number of episodes, or until Ctrl-C is pressed after the first of them.

        Parameters
        ----------
        seed
            Seed of the first episode; the next one has the next number.
        most_steps
            Maximum number of steps of an episode.
        progress
            Whether to show a progress bar; by default on a terminal.
        frames
            List to which `env.render()` of each state of the first episode is appended.
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
                    seen = self.env.reset(seed=None if seed is None else seed + k)
                    self.reset()
                    done.append(self._episode(seen, most_steps, frames if k == 0 else None))
                    bar.count(f"return {done[-1].total:.6g}")
            except KeyboardInterrupt:
                self.reset()
                if not done:
                    raise
        return Summary(tuple(done), self.model.how, self._merges, interrupted=len(done) < episodes)

    @property
    def _merges(self) -> bool:
        """Whether equal states are recognized: by GPTS on a graph, by others if deterministic."""
        settings, model = self.settings, self.model
        may_merge = settings.may_merge if settings.searcher == "gpts" else model.deterministic
        return model.key is not None and may_merge

    def _episode(
        self, seen: tuple[Any, Any], most_steps: int | None, frames: list[Any] | None
    ) -> Episode:
        """Act for one episode; `seen` are the first observation and info."""
        total, planning = 0.0, 0.0
        steps = decisions = calls = replayed = 0
        before = self.surprises
        terminated = truncated = False
        if frames is not None:
            frames.append(self.env.render())
        while not (terminated or truncated) and (most_steps is None or steps < most_steps):
            begin, last = time.perf_counter(), self.last
            action = self.act(*seen)
            planning += time.perf_counter() - begin
            if self.last is not last and self.last is not None:
                decisions += 1
                calls += self.last.calls
                replayed += self.last.replayed
            observation, reward, terminated, truncated, info = self.env.step(action)
            seen = observation, info
            total += float(reward)
            steps += 1
            if frames is not None:
                frames.append(self.env.render())
        surprises = self.surprises - before
        return Episode(
            total, steps, decisions, calls, replayed, planning, surprises, bool(terminated)
        )
