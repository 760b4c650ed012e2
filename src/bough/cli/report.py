"""`bough report`: one HTML file of a study."""

import pathlib

import click

from bough.cli.options import json_option
from bough.cli.shell import FILE, NEW_FILE, print_facts, warnings_in_words
from bough.generation.result import result_of
from bough.generation.study import is_generation
from bough.report.page import write
from bough.studies.study import open_to_read


@click.command("report")
@click.argument("file", type=FILE)
@click.option(
    "-o",
    "--output",
    type=NEW_FILE,
    help="Output file.  [default: the name of FILE, with .html]",
)
@click.option("--title", help="Title of the page.  [default: the name of FILE]")
@json_option
def command(
    file: pathlib.Path, output: pathlib.Path | None, title: str | None, as_json: bool
) -> None:
    """Write the interactive page of the study FILE: one file, which needs no network.

    \b
    bough report run.db
    bough report run.db -o page.html --title "The night run"
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    target = file.with_suffix(".html") if output is None else output
    if is_generation(file):
        with warnings_in_words():
            result = result_of(file)
        result.report(target, title=title)
        count, name = result.calls, "calls"
    else:
        with warnings_in_words():
            study = open_to_read(file)
        write(study, target, title=title)
        count, name = len(study.trials), "trials"
    size = target.stat().st_size
    facts = {"file": str(target), "bytes": size, name: count}
    text = f"{target}: {count:,} {name}, {size / 1e6:.1f} MB"
    print_facts(facts, text, as_json=as_json)
