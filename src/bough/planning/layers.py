"""What a Gymnasium environment consists of: itself, and the wrappers around it."""

from typing import Any

#: Wrappers that only watch: they would show or record what is simulated, or check it each time.
WATCHERS = {"HumanRendering", "OrderEnforcing", "PassiveEnvChecker", "Recorded"}
WATCHERS |= {"RecordEpisodeStatistics", "RecordVideo", "RenderCollection"}


def is_environment(thing: Any) -> bool:
    """Return whether this is an environment rather than a simulator."""
    return hasattr(thing, "action_space") and hasattr(thing, "unwrapped")


def module_of(thing: Any) -> str:
    """Return the module of an object's class; some classes of C libraries have none."""
    return str(getattr(type(thing), "__module__", ""))


def is_space(thing: Any) -> bool:
    """Return whether this is one of the spaces that actions or observations are of."""
    return module_of(thing).startswith("gymnasium.spaces.")


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
    known = module_of(bare).startswith("gymnasium.envs.toy_text.")
    return getattr(bare, "P", None) if known else None
