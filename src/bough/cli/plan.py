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
from bough.planning.decision import NAMES, PlanSettings

POSITIVE = click.IntRange(min=1)


@click.command("plan", context_settings={"show_default": True})
@click.argument("environment")
@click.option("--budget", type=POSITIVE, help="Steps per decision; 200 without --seconds.")
@click.option("--seconds", type=Finite(min=0, min_open=True), help="Time limit of a decision.")
@click.option("--episodes", type=POSITIVE, default=1, help="Number of episodes.")
@click.option("--searcher", default="gpts", help=", ".join(NAMES) + ".")
@click.option("--compare", "others", help="Further searchers, comma-separated, same episodes.")
@click.option(
    "--discount", type=Finite(0, 1, min_open=True), default=0.95, help="Discount of one step."
)
@click.option("--depth", help="Number of actions of a path, or paper for the paper's D(T).")
@click.option(
    "--rewards",
    type=click.Choice(["steps", "sum"]),
    default="steps",
    help="Observations: the reward of each step, or their discounted sum.",
)
@click.option("--repeat", type=POSITIVE, default=1, help="Number of steps of each action.")
@click.option("--most-steps", type=POSITIVE, help="Maximum steps of an episode.")
@click.option("--make", "keywords", multiple=True, help="NAME=VALUE, argument of the environment.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of episodes and planner.")
@click.option(
    "--render",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="GIF file for the first episode.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def command(
    environment: str,
    episodes: int,
    searcher: str,
    others: str | None,
    most_steps: int | None,
    keywords: tuple[str, ...],
    seed: int,
    render: pathlib.Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Act in a Gymnasium environment by planning every action.

    \b
    bough plan CartPole-v1 --budget 200 --episodes 5
    bough plan FrozenLake-v1 --make is_slippery=false --budget 500 --compare uct,olop
    bough plan Acrobot-v1 --seconds 0.01 --render acrobot.gif
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    if options["budget"] is None and options["seconds"] is None:
        options["budget"] = 200
    budget, seconds, depth = options["budget"], options["seconds"], options["depth"]
    options["depth"] = int(depth) if depth is not None and depth.isdecimal() else depth
    words = [word.strip() for word in (others or "").split(",")]
    names = list(dict.fromkeys([searcher, *filter(None, words)]))
    try:  # report wrong options before the first episode
        for name in names:
            PlanSettings(searcher=name, **options)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    if render is not None:
        _check_render(render)
    env = _make(environment, keywords, render)
    results: dict[str, Summary] = {}
    frames: list[Any] = []
    failure: BaseException | None = None
    try:
        for name in names:
            agent = Agent(env, searcher=name, rng=seed, **options)
            results[name] = agent.run(
                episodes,
                seed=seed,
                most_steps=most_steps,
                progress=False if as_json else None,
                frames=frames if render is not None and name == searcher else None,
            )
            if results[name].interrupted:
                raise KeyboardInterrupt
    except (Exception, KeyboardInterrupt) as error:
        failure = error
    interrupted = isinstance(failure, KeyboardInterrupt)
    if results:  # print what was found so far in any case
        if as_json:
            facts = {"environment": environment, "budget": budget, "seconds": seconds, "seed": seed}
            rows = {name: _facts(summary) for name, summary in results.items()}
            echo(json.dumps({**facts, "interrupted": interrupted, "searchers": rows}, indent=2))
        else:
            limit = f"{budget} steps a decision" if budget else f"{seconds} s a decision"
            count = max(len(summary.episodes) for summary in results.values())
            echo(f"{environment}: {count} episode{'s' * (count > 1)}, {limit}, seed {seed}")
            echo(_table(results, count))
        if render is not None:
            _write(frames, render)
            echo(f"the first episode of {searcher} is in {render}", err=as_json)
    if interrupted:
        echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    if failure is not None:
        raise failure


def _make(name: str, keywords: tuple[str, ...], render: pathlib.Path | None) -> Any:
    """Make an environment."""
    try:
        import gymnasium
    except ImportError:
        raise click.ClickException("planning needs Gymnasium: pip install 'bough[gym]'") from None
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
    except Exception as error:  # anything that the environment may raise for its arguments
        raise click.UsageError(f"cannot make {name}: {type(error).__name__}: {error}") from error


def _check_render(file: pathlib.Path) -> None:
    """Report problems with the GIF file before the first episode."""
    if file.suffix.lower() != ".gif":
        raise click.UsageError(f"--render writes a GIF, to a file that ends with .gif: got {file}.")
    if not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise click.UsageError(f"--render cannot write {file}.")
    if importlib.util.find_spec("PIL") is None:
        raise click.ClickException("--render needs Pillow: pip install 'bough[gym]'")


def _write(frames: list[Any], file: pathlib.Path) -> None:
    """Write the frames as a GIF."""
    from PIL import Image

    if not hasattr(frames[0], "shape"):
        raise click.ClickException(
            f"--render needs images, but this environment renders {frames[0]}"
        )
    first, *others = [Image.fromarray(frame) for frame in frames]
    try:
        first.save(file, format="GIF", save_all=True, append_images=others, duration=40, loop=0)
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


def _table(results: dict[str, Summary], episodes: int) -> str:
    """Return a row for each searcher, marked if it has fewer episodes."""
    lines = [f"  {'searcher':<12}{'return':>20}{'steps':>9}{'simulated':>11}{'ms':>9}"]
    for name, summary in results.items():
        error = f" +- {summary.error:.3g}" if math.isfinite(summary.error) else ""
        count = len(summary.episodes)
        lines.append(
            f"  {name:<12}{f'{summary.mean:.6g}{error}':>20}{summary.steps:>9.1f}"
            f"{summary.calls_per_decision:>11.1f}{summary.milliseconds:>9.2f}"
            + (f"  ({count} of {episodes} episodes)" if count < episodes else "")
        )
    lines.append("  (simulated and ms: simulator steps and milliseconds per decision)")
    return "\n".join(lines)
