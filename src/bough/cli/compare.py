"""The command `bough compare`."""

import pathlib
import shlex
import sys
from typing import Any

import click

from bough.cli.shell import COUNT, INTERRUPTED, NEW_FILE, echo, json_option, print_facts
from bough.experiments import figures
from bough.experiments.compare import compare
from bough.experiments.competitors import in_words
from bough.experiments.pages import regrets_page, rows, write
from bough.experiments.results import Comparison


@click.command("compare")
@click.argument("problems", nargs=-1, required=True)
@click.option("--searchers", default="gpts,uct", help="Names, separated by commas.")
@click.option("--budget", type=COUNT, default=1000, help="Plays of a run.")
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
@click.option("--seed", type=click.IntRange(min=0), default=0, help="First seed.")
@click.option("--steps", is_flag=True, help="Observe immediate rewards, where a problem has them.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=pathlib.Path),
    help="Folder for tables, figures and finished runs, from which a comparison resumes.",
)
@click.option(
    "--study",
    type=NEW_FILE,
    help="File of finished runs, from which a comparison resumes.  [default: in the folder]",
)
@click.option("--workers", type=COUNT, help="Number of processes.  [default: all cores]")
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

    Problems and searchers may have parameters, as above; a constant that is not given is tuned on
    other seeds, if bough has a grid for it. A name with -known is a searcher that is given the
    kernel, noise and mean of the problem.
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    again = _again(click.get_current_context().params)
    try:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            study = study or out / "runs.jsonl"
        comparison = compare(
            problems, searchers.split(","), budget=budget, seeds=seeds, tuning_seeds=tuning_seeds,
            seed=seed, steps=steps, study=study, workers=workers,
            progress=False if as_json else None,
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
