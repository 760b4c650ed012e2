"""The command `bough compare`."""

import pathlib
import re
import shlex
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import click

from bough.cli.options import json_option, shared
from bough.cli.shell import (
    COUNT,
    INTERRUPTED,
    NEW_FILE,
    echo,
    function_of,
    load_module,
    print_facts,
    prints_apart,
)
from bough.experiments import figures
from bough.experiments.compare import compare
from bough.experiments.competitors import in_words
from bough.experiments.pages import regrets_page, rows, write
from bough.experiments.results import Comparison


@click.command("compare")
@click.argument("problems", nargs=-1, required=True)
@click.option("--searchers", default="gpts,uct", help="Names, separated by commas.")
@shared("--budget", note=" of each run", default=1000)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1_000_000),
    default=50,
    help="Number of problems, each with a seed of its own.",
)
@click.option(
    "--tuning-seeds",
    type=COUNT,
    help="Number of other seeds for tuning.  [default: as many as seeds, at most 20]",
)
@shared("--seed", note=", of the first problem", default=0)
@click.option("--steps", is_flag=True, help="Observe immediate rewards, where a problem has them.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    help="Folder for tables, figures and finished runs, from which a comparison resumes.",
)
@shared("--study", note=", of finished runs", otherwise="in the folder", type=NEW_FILE)
@shared("--workers", otherwise="one for each core")
@json_option
def command(
    problems: tuple[str, ...],
    searchers: str,
    budget: int,
    seeds: int,
    tuning_seeds: int | None,
    seed: int,
    steps: bool,
    out: pathlib.Path | None,
    study: pathlib.Path | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Compare searchers on PROBLEMS whose best paths are known.

    \b
    bough compare smooth trap --searchers gpts,uct --budget 3000 --seeds 50 --out results/
    bough compare drawn:gaussian:3 smooth:20:5:noise=0.3 --searchers gpts-known,uct:exploration=0.4
    bough compare mine.py:Maze smooth --searchers gpts,mine.py:Greedy

    Problems and searchers may have parameters, as above; a constant that is not given is tuned on
    other seeds, if bough has a grid for it. A name with -known is a searcher that is given the
    kernel, noise and mean of the problem. FILE.py:NAME is one of your own: a function of `seed`
    that makes a problem, or of the tree that makes a searcher.
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    modules: dict[str, ModuleType] = {}
    again = _again(click.get_current_context().params)
    try:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            study = study or out / "runs.jsonl"
        with prints_apart(as_json=as_json):
            comparison = compare(
                _own(problems, modules), _own(searchers.split(","), modules), budget=budget,
                seeds=seeds, tuning_seeds=tuning_seeds, seed=seed, steps=steps,
                study=study, workers=workers, progress=False if as_json else None,
            )  # fmt: skip
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except KeyboardInterrupt:
        kept = f"; finished runs are in {study}: repeat the command to resume" if study else ""
        echo(f"interrupted{kept}", err=True)
        sys.exit(INTERRUPTED)
    files = [] if out is None else write(comparison, out, again)
    lines = [
        regrets_page(comparison, again),
        f"seed {seed}: the command above gives the same regrets again.",
    ]
    if files:
        lines.append("written: " + ", ".join(map(str, files)))
        if not figures.have_matplotlib():
            lines.append("no figures: they need matplotlib, pip install 'bough[plot]'")
    print_facts(_facts(comparison, again, files), "\n".join(lines), as_json=as_json)
    if comparison.failures:
        failures = [f"{s} on {p}: {why}" for (p, s), why in comparison.failures.items()]
        raise click.ClickException("not run: " + "; ".join(failures))


def _own(names: Sequence[str], modules: dict[str, ModuleType]) -> Sequence[str] | dict[str, Any]:
    """Return the functions of those names that are FILE.py:NAME, beside the others.

    Modules are kept: a class of a module that is loaded again is another one.
    """
    places = {name: re.fullmatch(r"(.+\.py):(\w+)", name) for name in names}
    if not any(places.values()):
        return names  # which are checked
    found: dict[str, Any] = {}
    for name, place in places.items():
        found[name] = name
        if place is not None:
            where = place[1]
            modules[where] = modules.get(where) or load_module(where)
            found[name] = function_of(modules[where], where, place[2])
    return found


def _again(given: dict[str, Any]) -> str:
    """Return the command that gives the same regrets."""
    words = ["bough", "compare", *given["problems"]]
    for name in ("searchers", "budget", "seeds", "seed", "tuning_seeds"):
        if given[name] is not None:
            words += [f"--{name.replace('_', '-')}", str(given[name])]
    return shlex.join(words) + (" --steps" if given["steps"] else "")


def _facts(comparison: Comparison, again: str, files: list[pathlib.Path]) -> dict[str, Any]:
    """Return the results as plain values."""
    return {
        "command": again,
        "budget": comparison.budget,
        "seeds": list(comparison.seeds),
        "tuning_seeds": list(comparison.tuning_seeds),
        "choices": [
            {
                "problem": problem,
                "searcher": searcher,
                "constants": dict(choice.constants),
                "scores": dict(zip(map(in_words, choice.candidates), choice.scores, strict=False)),
            }
            for (problem, searcher), choice in comparison.choices.items()
        ],
        "by_evaluations": list(rows(comparison.by_evaluations(), "evaluations")),
        "by_seconds": list(rows(comparison.by_seconds(), "seconds")),
        "failures": [
            {"problem": problem, "searcher": searcher, "error": why}
            for (problem, searcher), why in comparison.failures.items()
        ],
        "files": [str(file) for file in files],
    }
