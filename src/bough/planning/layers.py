"""What a Gymnasium environment consists of: itself, and the wrappers around it."""

from typing import Any

#: Wrappers that only watch: they would show or record what is simulated, or check it each time.
WATCHERS = {"HumanRendering", "OrderEnforcing", "PassiveEnvChecker", "Recorded"}
WATCHERS |= {"RecordEpisodeStatistics", "RecordVideo", "RenderCollection"}


def is_environment(thing: Any) -> bool:
    """Return whether this is an environment rather than a simulator."""
    return hasattr(thing, "action_space") and hasattr(thing, "unwrapped")


def wrappers_of(env: Any) -> list[Any]:
    """Return the wrappers of an environment, the outermost first."""
    found = []
    while env is not env.unwrapped:
        found.append(env)
        env = env.env
    return found


def is_watcher(wrapper: Any) -> bool:
    """Return whether a wrapper changes nothing, and is left out of what is simulated."""
    return type(wrapper).__name__ in WATCHERS


def record_of(env: Any) -> Any | None:
    """Return the wrapper that `recorded` put around an environment, if it did."""
    return next((w for w in wrappers_of(env) if type(w).__name__ == "Recorded"), None)


def table_of(env: Any) -> Any:
    """Return the transition table of an environment of toy text: large, and never changed."""
    bare = env.unwrapped
    known = type(bare).__module__.startswith("gymnasium.envs.toy_text.")
    return getattr(bare, "P", None) if known else None


def was_reset(env: Any) -> bool:
    """Return whether an environment was reset, as far as its wrappers know."""
    return all(getattr(wrapper, "_has_reset", True) for wrapper in wrappers_of(env))


def has_ended(env: Any) -> bool:
    """Return whether the episode is over, as far as the wrappers know."""
    for wrapper in wrappers_of(env):
        kind = type(wrapper).__name__
        if kind == "Recorded" and wrapper.ended:
            return True
        if kind == "TimeLimit" and (wrapper._elapsed_steps or 0) >= wrapper._max_episode_steps:
            return True
    return False


def check_underway(was_reset: bool, has_ended: bool) -> None:
    """Refuse to plan for an environment in which nothing can be done."""
    if not was_reset:
        raise ValueError("the environment was not reset yet: call env.reset() first")
    if has_ended:
        raise ValueError("the episode has ended: call env.reset() first")
