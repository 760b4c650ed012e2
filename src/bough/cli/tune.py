"""`bough tune`: optimization of a function of the user over a space."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import click

from bough._text import printable
from bough.cli.options import run_arguments, search_options, shared
from bough.cli.shell import (
    domain_of,
    function_of,
    importance_facts,
    importance_lines,
    load_module,
    run_and_print,
    split_name,
)
from bough.exceptions import Infeasible, StudyError
from bough.run.maximize import maximize, minimize
from bough.run.render import (
    infeasible_text,
    known_lines,
    labeled,
    result_facts,
    run_facts,
    run_text,
)
from bough.run.result import Result
from bough.spaces import Space


@click.command("tune")
@click.argument("objective")
@shared("--noise", otherwise="fitted")
@click.option(
    "--constraints",
    metavar="FILE.py:FUNCTION",
    help="Function of the parameters whose values are at most 0 where they are feasible.  "
    "[default: constraints of the file, if it has such a function]",
)
@search_options(budget=100)
def command(
    objective: str,
    minimizes: bool,
    searcher: str,
    seed: int | None,
    file: str | None,
    noise: float | None,
    bounds: tuple[float, float] | None,
    constraints: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Optimize OBJECTIVE, a function of a dict of parameters (and of the trial, if it takes two).

    \b
    bough tune train.py:loss --budget 200 --minimize
    bough tune train.py:loss:small_space --workers 4 --timeout 600 --study run.db
    bough tune package.module:accuracy --seconds 3600 --bounds 0 1
    bough tune train.py:loss_by_epochs --minimize --prune halving

    The space is the variable `space` of the file, or the one named after a second colon. A function
    `constraints` of the file returns numbers that are at most 0 where parameters are feasible, and
    only feasible ones are evaluated; a trial may also return them, in a `bough.Outcome`. A trial
    that raises an exception or returns no number has failed: the reason is recorded, and the search
    continues, unless all of the first 10 trials fail.
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    module, function, space = _load(objective)
    known = _known_constraints(module, constraints)
    arguments = run_arguments(options | {"as_json": as_json}, module, 100, [])

    def search() -> Result:
        try:
            return (minimize if minimizes else maximize)(
                function, space, bounds=bounds, noise=noise, study=file, searcher=searcher,
                rng=seed, constraints=known, **arguments,
            )  # fmt: skip
        except (Infeasible, StudyError):
            raise
        except ValueError as error:
            raise click.UsageError(str(error)) from None

    def facts_of(result: Result, elapsed: float) -> dict[str, Any]:
        facts: dict[str, Any] = {"objective": objective, "parameters": len(space.slots)}
        facts |= run_facts(result, elapsed) | result_facts(result)
        return facts | {"importance": importance_facts(result)}

    run_and_print(search, facts_of, _page, as_json=as_json, file=file)


def _load(text: str) -> tuple[ModuleType, Callable[[Any], Any], Space]:
    """Return the objective and the space of `file.py:objective` or `file.py:objective:space`."""
    where, function, name = split_name(text, "SPACE")
    module = load_module(where)
    return module, function_of(module, where, function), domain_of(module, where, Space, name)


def _known_constraints(module: ModuleType, given: str | None) -> Callable[[Any], Any] | None:
    """Return the constraints that are given, or those of the objective's file, if there are any."""
    if given is None:
        found = getattr(module, "constraints", None)
        return found if callable(found) else None
    where, _, name = given.partition(":")
    if not where or not name:
        raise click.UsageError(f"--constraints: {given!r} is not FILE.py:FUNCTION.")
    return function_of(load_module(where), where, name)


def _page(facts: dict[str, Any], result: Result) -> str:
    count = facts["parameters"]
    lines = [
        f"{facts['objective']}: {count} parameter{'' if count == 1 else 's'}, "
        + run_text(result, facts["seconds"])
    ]
    best = result.best
    if best is None:
        nothing = "there is no value yet"
        if result.history.infeasible:
            nothing = infeasible_text(result.history)
        return "\n".join([*lines, nothing])
    params: dict[str, Any] = best.params or {}
    width = max((len(printable(name)) for name in params), default=0)
    known = []
    for i, (name, value) in enumerate(params.items()):
        shown = f"{value:.8g}" if isinstance(value, float) else printable(value)
        known.append(("" if i else "best params", f"{printable(name):<{width}}  {shown}"))
    known += known_lines(result) + importance_lines(facts["importance"])
    return "\n".join([*lines, "", *(f"  {labeled(*line, 12)}" for line in known)])
