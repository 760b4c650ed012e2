"""`bough tune`: optimise a function of yours over a space."""

import json
import math
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import click

from bough._text import printable
from bough.cli.loading import load_module
from bough.cli.shell import Finite, echo
from bough.exceptions import ObjectiveError, StudyError
from bough.run.maximize import maximize, minimize
from bough.run.result import Result, bounds_as_json, bounds_in_words, why_stopped
from bough.run.stopping import StopRule, WallTime
from bough.spaces import Space
from bough.studies.domain import plain_params


@click.command("tune", short_help="Optimise a function of parameters.")
@click.argument("objective")
@click.option("--budget", type=click.IntRange(min=1), help="Evaluations.  [default: 100]")
@click.option("--seconds", type=Finite(min=0, min_open=True), help="Time limit.")
@click.option(
    "--minimize", "minimizes", is_flag=True, help="Find the lowest value, not the highest."
)
@click.option("--workers", type=click.IntRange(min=1), help="Evaluate on so many processes.")
@click.option("--searcher", default="gpts", show_default=True, help="Another searcher by its name.")
@click.option("--seed", type=click.IntRange(min=0), help="The same seed gives the same search.")
@click.option("--study", "file", help="Record all in this file, or go on where it was left.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def tune_command(
    objective: str,
    budget: int | None,
    seconds: float | None,
    minimizes: bool,
    workers: int | None,
    searcher: str,
    seed: int | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Tune OBJECTIVE, a function of a dict of params.

    \b
    bough tune train.py:loss --budget 200 --minimize
    bough tune train.py:loss:small_space --workers 4 --study run.db
    bough tune package.module:score --seconds 3600

    The space is what the file calls `space`, or the name after a second colon.
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    function, space = _load(objective)
    stop: list[StopRule] = [] if seconds is None else [WallTime(seconds)]
    if budget is None and not stop:
        budget = 100
    begin = time.perf_counter()
    failure = None
    try:
        result = (minimize if minimizes else maximize)(
            function, space, budget=budget, stop=stop, executor=workers, study=file,
            searcher=searcher, rng=seed, progress=False if as_json else None,
        )  # fmt: skip
    except ObjectiveError as error:
        result, failure = error.result, error
    except StudyError as error:
        raise click.ClickException(str(error)) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    facts = _facts(objective, result, space, time.perf_counter() - begin)
    if failure is not None:
        facts["error"] = str(failure)
    echo(json.dumps(facts, indent=2) if as_json else _page(facts, result))
    if failure is not None:
        raise click.ClickException(str(failure)) from failure
    if result.stopped_by == "interrupt":
        sys.exit(130)


def _load(text: str) -> tuple[Callable[[Any], Any], Space]:
    """Find `file.py:objective` or `file.py:objective:space`."""
    where, *names = text.split(":")
    if not where or len(names) not in (1, 2) or not all(names):
        raise click.UsageError(f"{text!r} is no FILE.py:FUNCTION or FILE.py:FUNCTION:SPACE.")
    name, space_name = names[0], names[1] if len(names) == 2 else "space"
    module = load_module(where)
    function = getattr(module, name, None)
    if not callable(function):
        raise click.UsageError(f"{where} has no function {name}.")
    return function, _space(module, where, space_name)


def _space(module: ModuleType, where: str, name: str) -> Space:
    space = getattr(module, name, None)
    if not isinstance(space, Space):
        others = [key for key, value in vars(module).items() if isinstance(value, Space)]
        raise click.UsageError(
            f"{where} has no bough.Space called {name}"
            + (
                f"; it has {', '.join(others)}: name one after a second colon."
                if others
                else f": write {name} = bough.Space(...) there."
            )
        )
    return space


def _facts(objective: str, result: Result, space: Space, elapsed: float) -> dict[str, Any]:
    """Return what there is to say, as plain values; what is not finite becomes None."""
    facts: dict[str, Any] = {
        "objective": objective,
        "parameters": len(space.slots),
        "stopped_by": result.stopped_by,
        "evaluations": result.searcher.observations,
        "seconds": elapsed,
    }
    if result.best is not None:
        best = result.best
        facts["best"] = {
            "params": plain_params(best.params or {}),
            "mean": best.mean, "std": best.std, "visits": best.visits,
        }  # fmt: skip
    if result.certificate is not None:
        facts["certificate"] = bounds_as_json(result.certificate)
    return facts


def _page(facts: dict[str, Any], result: Result) -> str:
    count = facts["parameters"]
    lines = [
        f"{facts['objective']}: {count} parameter{'' if count == 1 else 's'}, "
        f"{facts['evaluations']:,} evaluated in {facts['seconds']:.2f} s, "
        + why_stopped(facts["stopped_by"])
    ]
    best, certificate = result.best, result.certificate
    if best is None:
        return "\n".join([*lines, "nothing was evaluated"])
    times = "once" if best.visits == 1 else f"{best.visits:,} times"
    lines += ["", f"  value        {best.mean:.6g} +- {best.std:.2g}, evaluated {times}"]
    params: dict[str, Any] = best.params or {}
    width = max((len(printable(name)) for name in params), default=0)
    for i, (name, value) in enumerate(params.items()):
        shown = f"{value:.8g}" if isinstance(value, float) else printable(value)
        lines.append(f"  {'' if i else 'params':<11}  {printable(name):<{width}}  {shown}")
    if certificate is not None and math.isfinite(certificate.gap):
        lines.append(f"  certificate  {bounds_in_words(certificate)}")
    return "\n".join(lines)
