"""Options that mean the same in every command, and the arguments of `maximize` they stand for."""

import builtins
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import click

from bough.cli.shell import COUNT, POSITIVE, Finite
from bough.run.pruning import ProbabilityOfImprovement, SuccessiveHalving
from bough.run.stopping import AllFailed, Patience, StopRule, WallTime

#: The number of first trials all of which must fail to end a run.
FIRST = 10


class Meaning(NamedTuple):
    """The type of an option and its meaning: the beginning of its help in every command."""

    type: Any
    text: str
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed


#: The rules of `--prune`, with their defaults.
PRUNE_RULES = {"halving": SuccessiveHalving(), "improvement": ProbabilityOfImprovement()}

#: The options that more than one command has.
SHARED = {
    "--budget": Meaning(COUNT, "Number of evaluations"),
    "--seconds": Meaning(POSITIVE, "Time limit in seconds"),
    "--patience": Meaning(COUNT, "Number of evaluations without improvement after which to stop"),
    "--seed": Meaning(click.IntRange(min=0), "Seed of the random numbers"),
    "--study": Meaning(click.Path(dir_okay=False), "File of the results, created or resumed"),
    "--searcher": Meaning(str, "Name of the searcher"),
    "--workers": Meaning(COUNT, "Number of worker processes"),
    "--timeout": Meaning(POSITIVE, "Seconds after which an evaluation has failed"),
    "--retries": Meaning(
        click.IntRange(min=0),
        "Further attempts at an evaluation that failed",
    ),
    "--on-error": Meaning(
        click.Choice(["fail", "stop"]),
        "Effect of an exception, or of a value that is not a number: the trial fails, or the run "
        "ends",
    ),
    "--catch": Meaning(
        str,
        "Exception that makes one trial fail, while others end the run; may be repeated",
        {"multiple": True, "metavar": "NAME"},
    ),
    "--minimize": Meaning(None, "Minimize instead of maximize", {"is_flag": True}),
    "--prune": Meaning(
        click.Choice(list(PRUNE_RULES)),
        "Rule that stops trials by their reports, for a function of params and trial: successive "
        "halving, or the probability of improvement",
    ),
    "--bounds": Meaning(
        (float, float),
        "Known bounds of the expected value, -inf or inf for none",
        {"metavar": "LOW HIGH"},
    ),
    "--noise": Meaning(Finite(min=0), "Standard deviation of a value"),
    "--kernel": Meaning(
        str, "linear, gaussian, discounted or geometric, and a number, as in gaussian:WIDTH"
    ),
    "--branching": Meaning(int, "Children of a node"),
    "--depth": Meaning(int, "Steps of a path"),
    "--log": Meaning(None, "A line for every trial on standard error", {"is_flag": True}),
    "--json": Meaning(None, "JSON output", {"is_flag": True}),
    "--traceback": Meaning(None, "Full traceback of an error", {"is_flag": True}),
}


def shared(
    name: str, dest: str | None = None, *, note: str = "", otherwise: str = "", **keywords: Any
) -> Callable[[Any], Any]:
    """Return a decorator that adds an option of the list.

    Parameters
    ----------
    name
        Its name.
    dest
        The name of the argument of the command, if it is another one.
    note
        What to add to its meaning.
    otherwise
        What holds if the option is not given.
    keywords
        Arguments of `click.option`, such as `default` or `required`.
    """
    meaning = SHARED[name]
    text = meaning.text + note + "." + (f"  [default: {otherwise}]" if otherwise else "")
    given = {"type": meaning.type, "help": text, **meaning.more, **keywords}
    if given["type"] is None:
        del given["type"]
    return click.option(name, *([] if dest is None else [dest]), **given)


json_option = shared("--json", "as_json", note=" only")


def search_options(budget: int, seed: str = "drawn") -> Callable[[Any], Any]:
    """Return a decorator that adds the options of `search` and `tune`, with these defaults."""
    options = [
        shared("--minimize", "minimizes"),
        shared("--budget", otherwise=f"{budget}, unless another limit is given"),
        shared("--seconds"),
        shared("--patience"),
        shared("--searcher", default="gpts"),
        shared("--bounds"),
        shared("--prune", otherwise="none"),
        shared("--workers", otherwise="none: evaluations run in this process"),
        shared("--timeout", note=" (in a worker process)"),
        shared("--retries", otherwise="1 if its worker has died, otherwise 0"),
        shared("--on-error", otherwise="fail"),
        shared("--catch"),
        shared("--seed", otherwise=f"{seed}, or that of the resumed study"),
        shared("--study", "file"),
        shared("--log"),
        json_option,
    ]

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def run_arguments(
    given: dict[str, Any], module: ModuleType | None, budget: int, stop: list[StopRule]
) -> dict[str, Any]:
    """Return the arguments of `maximize` for the options of `search_options`.

    Parameters
    ----------
    given
        The options.
    module
        The module of the objective, in which names of exceptions are looked up too.
    budget
        The number of evaluations unless another limit is given.
    stop
        Further rules.
    """
    rules = list(stop)
    if given["seconds"] is not None:
        rules.append(WallTime(given["seconds"]))
    if given["patience"] is not None:
        rules.append(Patience(given["patience"]))
    limit = given["budget"]
    if limit is None and not rules:
        limit = budget
    workers = given["workers"]
    if workers is None and given["timeout"] is not None:
        workers = 1
    progress = False if given["as_json"] else None
    return {
        "budget": limit,
        "stop": [*rules, AllFailed(FIRST)],
        "prune": PRUNE_RULES.get(given["prune"]),
        "executor": workers,
        "timeout": given["timeout"],
        "retries": given["retries"],
        "catch": _exceptions(given["catch"], given["on_error"], module),
        "progress": "log" if given["log"] else progress,
    }


def _exceptions(
    names: tuple[str, ...], on_error: str | None, module: ModuleType | None
) -> tuple[type[Exception], ...]:
    """Return the exceptions that make one trial fail."""
    if not names:
        return () if on_error == "stop" else (Exception,)
    if on_error == "fail":
        raise click.UsageError(
            "--catch restricts failures; --on-error fail would catch everything."
        )
    found: list[type[Exception]] = []
    for name in names:
        kind = getattr(builtins, name, None) or getattr(module, name, None) or _dotted(name)
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise click.UsageError(
                f"--catch takes the name of an exception, such as ValueError or package.Error, "
                f"got {name!r}."
            )
        found.append(kind)
    return tuple(found)


def _dotted(name: str) -> Any:
    where, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(where), last, None) if where else None
    except Exception:  # a module may raise anything
        return None
