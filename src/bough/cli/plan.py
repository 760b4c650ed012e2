"""The command `bough plan`."""

import importlib.util
import io
import json
import math
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import click

from bough.cli.options import json_option, shared
from bough.cli.shell import INTERRUPTED, Finite, echo, function_of, load_module
from bough.planning.agent import Agent, Summary
from bough.planning.decision import NAMES

POSITIVE = click.IntRange(min=1)
#: Options that are functions of the observation.
HOOKS = ("value", "policy", "rollout", "mask")
#: Frames a second of an environment that does not say, and the shortest duration of a frame of a
#: GIF in hundredths of a second: viewers slow down shorter ones.
FRAME_RATE = 25
SHORTEST = 2


def _hook(name: str, description: str) -> Callable[[Any], Any]:
    """Return a decorator that adds an option for a function of the observation."""
    return click.option(f"--{name}", metavar="FILE.py:FUNCTION", help=description)


@click.command("plan", context_settings={"show_default": True})
@click.argument("environment")
@shared("--budget", note=": simulator steps per decision", otherwise="200 without --seconds")
@shared("--seconds", note=", of a decision")
@click.option("--episodes", type=POSITIVE, default=1, help="Number of episodes.")
@shared("--searcher", note=": " + ", ".join(NAMES), default="gpts")
@click.option("--compare", "others", help="Further searchers, comma-separated, same episodes.")
@click.option(
    "--discount", type=Finite(0, 1, min_open=True), default=0.95, help="Discount of one step."
)
@shared("--depth", note=", or paper for the paper's D(T)", type=str)
@click.option(
    "--rewards",
    type=click.Choice(["steps", "sum"]),
    default="steps",
    help="Observations: the reward of each step, or their discounted sum.",
)
@click.option("--repeat", type=POSITIVE, default=1, help="Number of steps of each action.")
@click.option("--keep/--no-keep", default=True, help="Reuse of playouts for the next decision.")
@click.option(
    "--merge-states/--no-merge-states",
    default=None,
    help="Recognition of states that are reached in several ways.  "
    "[default: where they can be compared]",
)
@_hook("value", "Function of the observation: expected sum of rewards from there.")
@_hook("policy", "Function of the observation: weights of the actions.")
@_hook("rollout", "Function of the observation: action in a playout.")
@_hook("mask", "Function of the observation: legality of each action.")
@click.option("--most-steps", type=POSITIVE, help="Maximum steps of an episode.")
@click.option("--make", "keywords", multiple=True, help="NAME=VALUE, argument of the environment.")
@shared("--seed", note=", of episodes and planner", default=0)
@click.option(
    "--render",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="GIF or MP4 file for the first episode, at the frame rate of the environment.",
)
@json_option
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

    In real time, at 50 decisions a second:

    \b
    bough plan CartPole-v1 --seconds 0.02 --episodes 3 --render cartpole.mp4

    With `def value(observation): ...` in car.py, an estimate of the rewards to come:

    \b
    bough plan MountainCar-v0 --budget 100 --value car.py:value
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    if options["budget"] is None and options["seconds"] is None:
        options["budget"] = 200
    budget, seconds, depth = options["budget"], options["seconds"], options["depth"]
    options["depth"] = int(depth) if depth is not None and depth.isdecimal() else depth
    words = [word.strip() for word in (others or "").split(",")]
    names = list(dict.fromkeys([searcher, *filter(None, words)]))
    if render is not None:
        _check_render(render)
    options.update(_load({name: options[name] for name in HOOKS}))
    env = _make(environment, keywords, render)
    try:  # report wrong options before the first episode
        agents = {name: Agent(env, searcher=name, rng=seed, **options) for name in names}
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    results: dict[str, Summary] = {}
    frames: list[Any] = []
    failure: BaseException | None = None
    try:
        for name, agent in agents.items():
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
            limits = [f"{budget} steps"] * bool(budget) + [f"{seconds} s"] * bool(seconds)
            limit = f"{' or '.join(limits)} a decision"
            count = max(len(summary.episodes) for summary in results.values())
            echo(f"{environment}: {count} episode{'s' * (count > 1)}, {limit}, seed {seed}")
            echo(_table(results, count))
        if render is not None:
            _write(frames, render, _frame_rate(env))
            echo(f"the first episode of {searcher} is in {render}", err=as_json)
    if interrupted:
        echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    if failure is not None:
        raise failure


def _load(texts: dict[str, str | None]) -> dict[str, Callable[[Any], Any]]:
    """Return the functions that are named as `file.py:function`; each file is run once."""
    modules, functions = {}, {}
    for option, text in texts.items():
        if text is None:
            continue
        where, *names = text.split(":")
        if not where or len(names) != 1 or not names[0]:
            raise click.UsageError(f"--{option}: {text!r} is not FILE.py:FUNCTION.")
        if where not in modules:
            modules[where] = load_module(where)
        functions[option] = function_of(modules[where], where, names[0])
    return functions


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


# ---------------------------------------------------------------------- images


def _check_render(file: pathlib.Path) -> None:
    """Report problems with the file of images before the first episode."""
    kind = file.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise click.UsageError(
            f"--render writes a GIF or a video, to a file that ends with .gif or .mp4: got {file}."
        )
    folder = file.absolute().parent
    if not folder.is_dir() or not os.access(file if file.exists() else folder, os.W_OK):
        raise click.UsageError(f"--render cannot write {file}.")
    if importlib.util.find_spec("PIL") is None:
        raise click.ClickException("--render needs Pillow: pip install 'bough[gym]'")
    if kind == ".mp4":
        if importlib.util.find_spec("imageio_ffmpeg") is None:
            raise click.ClickException(
                "--render to .mp4 needs imageio-ffmpeg: pip install 'bough[video]' (a GIF does not)"
            )
        import imageio_ffmpeg

        try:
            imageio_ffmpeg.get_ffmpeg_exe()
        except RuntimeError as error:  # the package has no program for this machine
            raise click.ClickException(f"--render to .mp4 needs FFmpeg: {error}") from None


def _frame_rate(env: Any) -> float:
    """Return the frames a second of an environment."""
    rate = env.metadata.get("render_fps")
    return float(rate) if isinstance(rate, int | float) and 0 < rate < math.inf else FRAME_RATE


def _write(frames: list[Any], file: pathlib.Path, rate: float) -> None:
    """Write the frames as a GIF or an MP4; an existing file is replaced by the complete one."""
    from PIL import Image

    if not hasattr(frames[0], "shape"):
        raise click.ClickException(
            f"--render needs images, but this environment renders {frames[0]}"
        )
    images = [Image.fromarray(frame).convert("RGB") for frame in frames]
    try:
        encode = _gif if file.suffix.lower() == ".gif" else _mp4
        file.write_bytes(encode(images, rate))
    except OSError as error:
        raise click.ClickException(f"cannot write {file}: {error}") from None


def _gif(images: list[Any], rate: float) -> bytes:
    """Return images as a GIF, whose durations are hundredths of a second."""
    ends = [round(100 * k / rate) for k in range(len(images) + 1)]  # right on average
    durations = [10 * max(ends[k + 1] - ends[k], SHORTEST) for k in range(len(images))]
    data = io.BytesIO()
    images[0].save(
        data, format="GIF", save_all=True, append_images=images[1:], duration=durations, loop=0
    )
    return data.getvalue()


def _mp4(images: list[Any], rate: float) -> bytes:
    """Return images as an MP4, which has an even width and height."""
    import imageio_ffmpeg

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "out.mp4")
        writer = imageio_ffmpeg.write_frames(
            str(file), images[0].size, fps=rate, macro_block_size=2, ffmpeg_log_level="error"
        )
        writer.send(None)  # start
        for image in images:
            writer.send(image.tobytes())
        writer.close()
        return file.read_bytes()


# ---------------------------------------------------------------------- results


def _facts(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain values."""
    return {
        "mean": summary.mean,
        "error": summary.error if math.isfinite(summary.error) else None,
        "returns": [episode.total for episode in summary.episodes],
        "steps": [episode.steps for episode in summary.episodes],
        "ended": summary.ended,
        "cut_off": len(summary.episodes) - summary.ended,
        "calls_per_decision": summary.calls_per_decision,
        "milliseconds_per_decision": summary.milliseconds,
        "simulator": summary.how,
        "merged_states": summary.merged,
    }


def _table(results: dict[str, Summary], episodes: int) -> str:
    """Return a row for each searcher, marked if it has fewer episodes."""
    columns = f"{'steps':>9}{'ended':>7}{'cut off':>9}{'simulated':>11}{'ms':>9}"
    lines = [f"  {'searcher':<12}{'return':>20}{columns}"]
    for name, summary in results.items():
        error = f" +- {summary.error:.3g}" if math.isfinite(summary.error) else ""
        count = len(summary.episodes)
        lines.append(
            f"  {name:<12}{f'{summary.mean:.6g}{error}':>20}{summary.steps:>9.1f}"
            f"{summary.ended:>7}{count - summary.ended:>9}"
            f"{summary.calls_per_decision:>11.1f}{summary.milliseconds:>9.2f}"
            + (f"  ({count} of {episodes} episodes)" if count < episodes else "")
        )
    lines.append("  (ended, cut off: episodes; simulated, ms: steps and milliseconds per decision)")
    lines += [f"  simulated by {how}" for how in {summary.how: 0 for summary in results.values()}]
    merged = [name for name, summary in results.items() if summary.merged]
    by = f" by {', '.join(merged)}" if len(merged) < len(results) else ""
    lines.append(f"  equal states are merged{by}" if merged else "  equal states are not merged")
    return "\n".join(lines)
