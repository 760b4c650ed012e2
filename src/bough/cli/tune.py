"""`bough tune`: optimization of a function of the user over a space."""

from collections.abc import Callable
from typing import Any

import click

from bough._text import printable
from bough.cli.shell import COUNT, function_of, load_module, run_and_print, search_options
from bough.exceptions import StudyError
from bough.run.maximize import maximize, minimize
from bough.run.render import known_lines, labeled, result_facts, stop_text
from bough.run.result import Result
from bough.run.stopping import StopRule, WallTime
from bough.spaces import Space


@click.command("tune")
@click.argument("objective")
@click.option("--minimize", "minimizes", is_flag=True, help="Minimize instead of maximize.")
@click.option("--workers", type=COUNT, help="Number of worker processes.")
@click.option("--searcher", default="gpts", help="Name of the searcher.")
@search_options(budget=100)
def command(
    objective: str,
    budget: int | None,
    seconds: float | None,
    bounds: tuple[float, float] | None,
    minimizes: bool,
    workers: int | None,
    searcher: str,
    seed: int | None,
    file: str | None,
    as_json: bool,
) -> None:
    """Optimize OBJECTIVE, a function of a dict of parameters.

    \b
    bough tune train.py:loss --budget 200 --minimize
    bough tune train.py:loss:small_space --workers 4 --study run.db
    bough tune package.module:accuracy --seconds 3600 --bounds 0 1

    The space is the variable `space` of the file, or the one named after a second colon.
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    function, space = _load(objective)
    stop: list[StopRule] = [] if seconds is None else [WallTime(seconds)]
    if budget is None and not stop:
        budget = 100

    def search() -> Result:
        try:
            return (minimize if minimizes else maximize)(
                function, space, budget=budget, stop=stop, bounds=bounds, executor=workers,
                study=file, searcher=searcher, rng=seed, progress=False if as_json else None,
            )  # fmt: skip
        except StudyError:
            raise
        except ValueError as error:
            raise click.UsageError(str(error)) from None

    def facts_of(result: Result, elapsed: float) -> dict[str, Any]:
        return {
            "objective": objective,
            "parameters": len(space.slots),
            "stopped_by": result.stopped_by,
            "evaluations": result.searcher.observations,
            "seconds": elapsed,
            **result_facts(result),
        }

    run_and_print(search, facts_of, _page, as_json=as_json, file=file)


def _load(text: str) -> tuple[Callable[[Any], Any], Space]:
    """Return the objective and the space of `file.py:objective` or `file.py:objective:space`."""
    where, *names = text.split(":")
    if not where or len(names) not in (1, 2) or not all(names):
        raise click.UsageError(f"{text!r} is not FILE.py:FUNCTION or FILE.py:FUNCTION:SPACE.")
    module = load_module(where)
    function = function_of(module, where, names[0])
    name = names[1] if len(names) == 2 else "space"
    space = getattr(module, name, None)
    if not isinstance(space, Space):
        others = [key for key, value in vars(module).items() if isinstance(value, Space)]
        hint = f": write {name} = bough.Space(...) there."
        if others:
            hint = f"; it has {', '.join(others)}: name one after a second colon."
        raise click.UsageError(f"{where} has no bough.Space called {name}{hint}")
    return function, space


def _page(facts: dict[str, Any], result: Result) -> str:
    count = facts["parameters"]
    lines = [
        f"{facts['objective']}: {count} parameter{'' if count == 1 else 's'}, "
        f"{facts['evaluations']:,} evaluated in {facts['seconds']:.2f} s, "
        + stop_text(facts["stopped_by"])
    ]
    best = result.best
    if best is None:
        return "\n".join([*lines, "nothing was evaluated"])
    params: dict[str, Any] = best.params or {}
    width = max((len(printable(name)) for name in params), default=0)
    known = []
    for i, (name, value) in enumerate(params.items()):
        shown = f"{value:.8g}" if isinstance(value, float) else printable(value)
        known.append(("" if i else "best params", f"{printable(name):<{width}}  {shown}"))
    known += known_lines(result)
    return "\n".join([*lines, "", *(f"  {labeled(*line, 12)}" for line in known)])
