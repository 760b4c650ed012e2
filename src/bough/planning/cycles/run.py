"""The loop of an agent in a Gymnasium environment, with a reset after each episode."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bough._validation import whole
from bough.planning.cycles.agents import CycleAgent, CycleCertificate
from bough.planning.cycles.best_cycle import Floats
from bough.planning.cycles.gaussian import GPCycle
from bough.planning.cycles.world import Features, State


@dataclass(frozen=True)
class CycleRun:
    """The steps of an agent in an environment.

    Attributes
    ----------
    agent
        The agent, which can be passed to another run.
    rewards
        The rewards of the steps.
    episodes
        The number of episodes that ended.
    """

    agent: CycleAgent
    rewards: Floats
    episodes: int

    @property
    def mean(self) -> float:
        """The mean reward of a step."""
        return float(self.rewards.mean())

    @property
    def certificate(self) -> CycleCertificate:
        """The certificate of the agent."""
        return self.agent.certificate()

    def __str__(self) -> str:
        steps = len(self.rewards)
        return f"{steps} steps, mean reward {self.mean:.4g}\nbest cycle: {self.certificate}"


def run(
    env: Any,
    agent: CycleAgent | None = None,
    *,
    steps: int,
    features: Features | None = None,
    key: Callable[[Any], State] | None = None,
    seed: int = 0,
) -> CycleRun:
    """Let an agent act in a Gymnasium environment, and learn its best cycle.

    Where an episode ends the environment is reset, always with the same seed: the step leads to the
    first state of the next episode. Time limits do not end episodes: they are no part of the state.

    Parameters
    ----------
    env
        An environment with deterministic transitions.
    agent
        An agent whose states are the observations; by default a new `GPCycle` for the actions of a
        `Discrete` space.
    steps
        The number of steps.
    features
        A function of a state and an action, for a new agent.
    key
        A function of the observation that returns a hashable state; by default the observation
        itself, an array as a tuple of its entries.
    seed
        The seed of every reset.

    Examples
    --------
    >>> import gymnasium
    >>> from bough.planning import cycles
    >>> lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    >>> done = cycles.run(lake, steps=2000)
    >>> round(done.certificate.mean, 3)  # the goal after six steps
    0.167
    """
    if isinstance(env, type) or not (hasattr(env, "reset") and hasattr(env, "step")):
        raise TypeError(f"env must be a Gymnasium environment, got {env!r}")
    count = whole(steps, "steps", least=1)
    if agent is None:
        agent = GPCycle(None, _actions_of(env), features=features)
    elif not isinstance(agent, CycleAgent):
        raise TypeError(f"agent must be a GPCycle or a UCycle, got {agent!r}")
    elif features is not None:
        raise ValueError(
            "features are only for a new agent: pass them to the constructor of your agent"
        )
    state_of = key or _state
    rewards = np.empty(count)
    episodes = 0
    state = state_of(env.reset(seed=seed)[0])
    for t in range(count):
        action = agent.act(state)
        observation, reward, ended, _, _ = env.step(action)
        if ended:
            episodes += 1
            observation, _ = env.reset(seed=seed)
        following = state_of(observation)
        agent.learn(state, action, float(reward), following)
        rewards[t], state = reward, following
    return CycleRun(agent, rewards, episodes)


def _actions_of(env: Any) -> range:
    space: Any = getattr(env, "action_space", None)
    if not hasattr(space, "n") or np.ndim(space.n):
        raise TypeError(
            f"the actions of env must be a Discrete space, got {space!r}; pass an agent with a "
            "list of actions"
        )
    start = int(getattr(space, "start", 0))
    return range(start, start + int(space.n))


def _state(observation: Any) -> State:
    if isinstance(observation, np.ndarray):
        return tuple(observation.ravel().tolist())
    try:
        hash(observation)
    except TypeError:
        raise TypeError(
            f"observations must be hashable or arrays, got {observation!r}; pass a function that "
            "makes a hashable state of one, key="
        ) from None
    known: State = observation
    return known
