"""The command `bough plan`."""

import importlib.util
import json
import math
import os
import pathlib
import sys
from typing import Any

import click

from bough.cli.shell import INTERRUPTED, Finite, echo
from bough.planning.agent import Agent, Summary
from bough.planning.planner import NAMES, Settings


@click.command("plan", short_help="Act in a Gymnasium environment.")
@click.argument("environment")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    help="Simulated steps a decision.  [default: 200, if no time is given]",
)
@click.option("--seconds", type=Finite(min=0, min_open=True), help="Time a decision.")
@click.option(
    "--episodes", type=click.IntRange(min=1), default=1, show_default=True, help="How many."
)
@click.option("--searcher", default="gpts", show_default=True, help=", ".join(NAMES) + ".")
@click.option("--compare", "others", help="More searchers, with commas, on the same episodes.")
@click.option(
    "--discount",
    type=Finite(0, 1, min_open=True),
    default=0.95,
    show_default=True,
    help="Of one step.",
)
@click.option("--depth", help="Steps to look ahead, or paper for the paper's D(T).")
@click.option(
    "--rewards", type=click.Choice(["steps", "sum"]), default="steps", show_default=True,
    help="Tell each step's reward, or their sum only.",
)  # fmt: skip
@click.option("--repeat", type=click.IntRange(min=1), default=1, help="Take each action so often.")
@click.option("--most-steps", type=click.IntRange(min=1), help="End episodes after so many steps.")
@click.option("--make", "keywords", multiple=True, help="NAME=VALUE, for making the environment.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Of the first episode and of the planner.",
)  # fmt: skip
@click.option(
    "--render",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="Write the first episode to this file, a GIF.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def command(
    environment: str,
    budget: int | None,
    seconds: float | None,
    episodes: int,
    searcher: str,
    others: str | None,
    discount: float,
    depth: str | None,
    rewards: str,
    repeat: int,
    most_steps: int | None,
    keywords: tuple[str, ...],
    seed: int,
    render: pathlib.Path | None,
    as_json: bool,
) -> None:
    """Act in the Gymnasium ENVIRONMENT by planning every action.

    \b
    bough plan CartPole-v1 --budget 200 --episodes 5
    bough plan FrozenLake-v1 --make is_slippery=false --budget 500 --compare uct,olop
    bough plan Acrobot-v1 --seconds 0.01 --render acrobot.gif
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    if budget is None and seconds is None:
        budget = 200
    ahead = int(depth) if depth is not None and depth.isdecimal() else depth
    names = list(dict.fromkeys([searcher, *_listed(others)]))
    options: dict[str, Any] = {
        "discount": discount, "budget": budget, "seconds": seconds, "depth": ahead,
        "rewards": rewards, "repeat": repeat,
    }  # fmt: skip
    try:  # all that can be wrong is said before anything is played
        for name in names:
            Settings(searcher=name, **options)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    if render is not None:
        _check_picture(render)
    env = _made(environment, keywords, render)
    results: dict[str, Summary] = {}
    frames: list[Any] = []
    failure: Exception | None = None
    interrupted = False
    for name in names:
        try:
            results[name] = Agent(env, searcher=name, rng=seed, **options).run(
                episodes, seed=seed, most_steps=most_steps, progress=False if as_json else None,
                watch=_watcher(frames, name == searcher and render is not None),
            )  # fmt: skip
            interrupted = results[name].interrupted
        except KeyboardInterrupt:
            interrupted = True
        except Exception as error:
            failure = error
        if interrupted or failure is not None:
            break
    if results:  # what was found is not lost
        if render is not None:
            _write(frames, render)
        _show(environment, options, seed, results, render, as_json)
    if failure is not None:
        raise failure
    if interrupted:
        echo("interrupted", err=True)
        sys.exit(INTERRUPTED)


def _listed(words: str | None) -> list[str]:
    """Return the words between commas."""
    return [word for word in map(str.strip, (words or "").split(",")) if word]


def _show(
    environment: str,
    options: dict[str, Any],
    seed: int,
    results: dict[str, Summary],
    render: pathlib.Path | None,
    as_json: bool,
) -> None:
    budget, seconds = options["budget"], options["seconds"]
    facts: dict[str, Any] = {
        "environment": environment,
        "budget": budget,
        "seconds": seconds,
        "seed": seed,
    }
    if as_json:
        rows = {name: _facts(summary) for name, summary in results.items()}
        facts["interrupted"] = any(summary.interrupted for summary in results.values())
        echo(json.dumps({**facts, "searchers": rows}, indent=2))
        return
    limit = f"{budget} steps a decision" if budget else f"{seconds} s a decision"
    episodes = max(len(summary.episodes) for summary in results.values())
    echo(f"{environment}: {episodes} episode{'s' * (episodes > 1)}, {limit}, seed {seed}")
    echo(_table(results))
    if render is not None:
        echo(f"the first episode of {next(iter(results))} is in {render}")


def _made(name: str, keywords: tuple[str, ...], render: pathlib.Path | None) -> Any:
    try:
        import gymnasium
    except ImportError:
        raise click.ClickException(
            "planning needs Gymnasium, which is not installed: pip install 'bough[gym]'"
        ) from None
    options: dict[str, Any] = {}
    for word in keywords:
        key, equals, value = word.partition("=")
        if not equals:
            raise click.UsageError(f"--make takes NAME=VALUE, got {word!r}.")
        try:
            options[key] = json.loads(value)
        except json.JSONDecodeError:
            options[key] = value
    if render is not None:
        options["render_mode"] = "rgb_array"
    try:
        return gymnasium.make(name, **options)
    except Exception as error:  # (whatever the environment itself makes of its keywords)
        told = isinstance(error, (gymnasium.error.Error, TypeError, ImportError))
        why = str(error) if told else f"{type(error).__name__}: {error}"
        raise click.UsageError(f"cannot make {name}: {why}") from error


def _watcher(frames: list[Any], watching: bool) -> Any:
    """Return what collects the pictures of the first episode."""
    if not watching:
        return None
    state = {"over": False}

    def watch(env: Any, beginning: bool) -> None:
        if beginning and frames:
            state["over"] = True
        if not state["over"]:
            frame = env.render()
            if not hasattr(frame, "shape"):
                raise TypeError(f"--render needs pictures, but this environment draws {frame!r}")
            frames.append(frame)

    return watch


def _check_picture(file: pathlib.Path) -> None:
    """Say what is wrong with where the picture is to go, before there is one."""
    if file.suffix.lower() != ".gif":
        raise click.UsageError(f"--render writes a GIF, to a file that ends with .gif: got {file}.")
    if not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise click.UsageError(f"--render cannot write {file}.")
    if importlib.util.find_spec("PIL") is None:
        raise click.ClickException(
            "--render needs Pillow, which is not installed: pip install 'bough[gym]'"
        )


def _write(frames: list[Any], file: pathlib.Path) -> None:
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    try:
        pictures[0].save(
            file, format="GIF", save_all=True, append_images=pictures[1:], duration=40, loop=0
        )
    except OSError as error:
        raise click.ClickException(f"cannot write {file}: {error}") from None


def _facts(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain values."""
    return {
        "mean": summary.mean,
        "error": summary.error if math.isfinite(summary.error) else None,
        "returns": [episode.total for episode in summary.episodes],
        "steps": [episode.steps for episode in summary.episodes],
        "calls_per_decision": summary.calls_per_decision,
        "milliseconds_per_decision": summary.milliseconds,
        "simulator": summary.how,
    }


def _table(results: dict[str, Summary]) -> str:
    most = max(len(summary.episodes) for summary in results.values())
    lines = [f"  {'searcher':<12}{'return':>20}{'steps':>9}{'simulated':>11}{'ms':>9}"]
    for name, summary in results.items():
        error = f" +- {summary.error:.3g}" if math.isfinite(summary.error) else ""
        steps = sum(e.steps for e in summary.episodes) / len(summary.episodes)
        lines.append(
            f"  {name:<12}{f'{summary.mean:.6g}{error}':>20}{steps:>9.1f}"
            f"{summary.calls_per_decision:>11.1f}{summary.milliseconds:>9.2f}"
            + (f"  ({count} of them)" if (count := len(summary.episodes)) < most else "")
        )
    lines.append("  (simulated and ms: simulator steps and milliseconds a decision)")
    return "\n".join(lines)
