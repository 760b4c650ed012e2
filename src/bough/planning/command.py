"""The command `bough plan`."""

import json
import math
import pathlib
from typing import Any

import click

from bough.planning.agent import Agent, Summary
from bough.planning.policies import NAMES


@click.command("plan")
@click.argument("environment")
@click.option("--budget", type=click.IntRange(min=1), help="Simulated steps a decision.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="Time a decision.")
@click.option(
    "--episodes", type=click.IntRange(min=1), default=1, show_default=True, help="How many."
)
@click.option("--searcher", default="gpts", show_default=True, help=", ".join(NAMES) + ".")
@click.option("--compare", "others", help="More searchers, with commas, on the same episodes.")
@click.option("--discount", type=float, default=0.95, show_default=True, help="Of one step.")
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
    env = _made(environment, keywords, render)
    names = [searcher, *([] if others is None else others.split(","))]
    results = {}
    frames: list[Any] = []
    for name in names:
        try:
            agent = Agent(
                env, discount=discount, budget=budget, seconds=seconds, depth=ahead,
                searcher=name, rewards=rewards, repeat=repeat, rng=seed,
            )  # fmt: skip
            results[name] = agent.run(
                episodes, seed=seed, most_steps=most_steps, progress=False if as_json else None,
                watch=_watcher(frames, name == searcher and render is not None),
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise click.ClickException(str(error)) from None
    if render is not None:
        _write(frames, render)
    facts = {"environment": environment, "budget": budget, "seconds": seconds, "seed": seed}
    if as_json:
        rows = {name: _facts(summary) for name, summary in results.items()}
        click.echo(json.dumps({**facts, "searchers": rows}, indent=2))
        return
    limit = f"{budget} steps a decision" if budget else f"{seconds} s a decision"
    click.echo(f"{environment}: {episodes} episode{'s' * (episodes > 1)}, {limit}, seed {seed}")
    click.echo(_table(results))
    if render is not None:
        click.echo(f"the first episode of {searcher} is in {render}")


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
    except (gymnasium.error.Error, TypeError, ModuleNotFoundError) as error:
        raise click.ClickException(f"cannot make {name}: {error}") from None


def _watcher(frames: list[Any], watching: bool) -> Any:
    """Return what collects the pictures of the first episode."""
    if not watching:
        return None
    state = {"over": False}

    def watch(env: Any, beginning: bool) -> None:
        if beginning and frames:
            state["over"] = True
        if not state["over"]:
            frames.append(env.render())

    return watch


def _write(frames: list[Any], file: pathlib.Path) -> None:
    try:
        from PIL import Image
    except ImportError:
        raise click.ClickException(
            "--render needs Pillow, which is not installed: pip install 'bough[gym]'"
        ) from None
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
    lines = [f"  {'searcher':<12}{'return':>20}{'steps':>9}{'simulated':>11}{'ms':>9}"]
    for name, summary in results.items():
        error = f" +- {summary.error:.3g}" if math.isfinite(summary.error) else ""
        steps = sum(e.steps for e in summary.episodes) / len(summary.episodes)
        lines.append(
            f"  {name:<12}{f'{summary.mean:.6g}{error}':>20}{steps:>9.1f}"
            f"{summary.calls_per_decision:>11.1f}{summary.milliseconds:>9.2f}"
        )
    lines.append("  (simulated and ms: simulator steps and milliseconds a decision)")
    return "\n".join(lines)
