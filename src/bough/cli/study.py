"""`bough study`: the content of a study file; export and import."""

import csv
import io
import json
import pathlib
from datetime import datetime, timedelta
from typing import Any

import click
import numpy as np

from bough._text import listed, printable
from bough.cli.generate import show_answers
from bough.cli.options import json_option, shared
from bough.cli.shell import (
    FILE,
    NEW_FILE,
    echo,
    importance_facts,
    importance_lines,
    print_facts,
    warnings_in_words,
)
from bough.generation.result import result_of
from bough.generation.study import is_generation
from bough.run.render import known_lines, labeled, place_facts, result_facts
from bough.run.result import History, Result, best_trial
from bough.studies.exchange import export_lines, import_lines
from bough.studies.files import WriteLock
from bough.studies.records import BEGINNING
from bough.studies.study import Study, open_to_read
from bough.studies.trials import STATES, counts_text

#: Number of trials on the page, the last ones.
SHOWN = 10


class _ShowByDefault(click.Group):
    """`bough study run.db` means `bough study show run.db`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((word for word in args if not word.startswith("-")), None)
        if first is not None and first not in self.commands:
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group("study", cls=_ShowByDefault)
def command() -> None:
    """Show a study, export or import it.

    \b
    bough study run.db              state, best path, certificate, the last trials
    bough study run.db --csv        all trials, as CSV (or --json)
    bough study export run.db run.jsonl
    bough study import run.jsonl copy.db
    """  # noqa: D301 - click needs a real backspace before lines that it must not join


@command.command(short_help="Print the content of a study.")
@click.argument("file", type=FILE)
@shared("--json", "as_json", note=", with all trials")
@click.option("--csv", "as_csv", is_flag=True, help="CSV output of all trials.")
def show(file: pathlib.Path, as_json: bool, as_csv: bool) -> None:
    """Print the content of a study, also while it is being written.

    \b
    bough study run.db
    bough study run.db --json
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    if as_json and as_csv:
        raise click.UsageError("--json and --csv cannot be combined.")
    if is_generation(file):
        with warnings_in_words():
            result = result_of(file)
        show_answers(result, as_json=as_json, as_csv=as_csv)
        return
    study = _opened(file)
    if as_csv:
        echo(_table(study), nl=False, exact=True)
        return
    known = _result(study)
    facts = _facts(study, known)
    text = _page(facts, study, known)
    if as_json:
        facts["trials"] = [t._asdict() | place_facts(t.path, t.params) for t in study.trials]
    print_facts(facts, text, as_json=as_json)


@command.command("export", short_help="Write a study as JSON lines.")
@click.argument("file", type=FILE)
@click.argument("output", type=click.File("w"), default="-")
@shared("--json", "as_json", note=": a description of the output")
def export(file: pathlib.Path, output: Any, as_json: bool) -> None:
    """Write all operations of a study as JSON lines (to OUTPUT, or to the screen).

    \b
    bough study export run.db run.jsonl

    From a damaged file, all operations that SQLite can read and whose checksums are right are
    written; then the exit code is 1, and the message states how many were lost. The file is not
    changed. `bough study import` makes a new study of them.
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    if as_json and output.name == "<stdout>":
        raise click.UsageError("--json says what was written to OUTPUT; name a file.")
    lines, damage = export_lines(file)
    for line in lines:
        output.write(line + "\n")
    if as_json:  # the first line is the specification
        facts = {"file": output.name, "operations": len(lines) - 1, "damage": damage}
        echo(json.dumps(facts, indent=2))
    if damage is not None:
        raise click.ClickException(f"{file} is damaged: {damage}")


@command.command("import", short_help="Make a study from JSON lines.")
@click.argument("lines", type=click.File("r"))
@click.argument("file", type=NEW_FILE)
@json_option
def import_(lines: Any, file: pathlib.Path, as_json: bool) -> None:
    """Make a new study FILE from LINES that were exported from another one.

    \b
    bough study import run.jsonl copy.db
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    count = import_lines(lines, file)
    facts = {"file": str(file), "operations": count}
    print_facts(facts, f"{file}: {count:,} operations", as_json=as_json)


def _opened(file: pathlib.Path) -> Study:
    with file.open("rb") as bytes_:
        if bytes_.read(len(BEGINNING)) == BEGINNING:
            raise click.ClickException(
                f"{file} holds the finished runs of a comparison, not a study of one search: "
                "`bough compare ... --study` resumes it"
            )
    with warnings_in_words():
        return open_to_read(file)


def _facts(study: Study, result: Result | None) -> dict[str, Any]:
    """Return all but the trials as plain values; those that are not finite become None."""
    specification, trials = study.specification, study.trials
    facts: dict[str, Any] = {
        "file": str(study.path),
        "about": specification["about"],
        **{part: specification[part] for part in ("tree", "space") if part in specification},
        "searcher": specification["searcher"],
        "options": specification["options"],
        "direction": specification["direction"],
        "seed": specification["seed"],
        "written_by": WriteLock.holder(study.path),
        "counts": {state: trials.count(state) for state in STATES},
    }
    if result is not None:
        facts |= result_facts(result)
    elif top := best_trial(trials, study.sign):
        facts["best_observed"] = place_facts(top.path, top.params) | {"value": top.value}
    if "space" in specification:
        facts["importance"] = importance_facts(study)
    return facts


def _result(study: Study) -> Result | None:
    """Return what is known of the best, None if the searcher is not known."""
    if not study.replayed:
        return None
    nothing = History([], np.empty(0))
    top = best_trial(study.trials, study.sign)
    direction = study.specification["direction"]
    return Result.of(
        study.searcher, nothing, "", study=study, direction=direction, best_observed=top
    )


def _page(facts: dict[str, Any], study: Study, result: Result | None) -> str:
    """Return the facts as a page to read."""
    trials = study.trials
    lines = [f"{printable(facts['file'])}: {len(trials):,} trials ({counts_text(trials)})"]
    if facts["written_by"]:
        holder = facts["written_by"]
        lines.append(f"being written by process {holder.get('pid')} on host {holder.get('host')}")
    if facts["about"] is not None:
        lines.append(f"  about        {printable(facts['about'])}")
    lines.append(f"  {facts['direction']} with {facts['searcher']}, seed {facts['seed']}")
    known: list[tuple[str, str]] = []
    if "best" in facts and result is not None:
        known.append(_bold_place(facts["best"]))
        known += known_lines(result)
    elif "best_observed" in facts:
        known.append(_bold_place(facts["best_observed"]))
        known.append(("its value", f"{facts['best_observed']['value']:.6g}, the best observed"))
    known += importance_lines(facts.get("importance", []))
    lines += [f"  {labeled(*line, 12)}" for line in known]
    if len(study.trials):
        lines.append(f"  the last trials (of {len(study.trials):,}; --csv or --json for all)")
    for trial in study.trials[-SHOWN:]:
        value = "" if trial.value is None else f"{trial.value:.6g}"
        if trial.state == "pruned":
            value = f"step {trial.steps:g}"
        said = (trial.reason or "").strip().splitlines()
        reason = f"({printable(said[0][:60])})" if said else ""
        what = " ".join(map(str, trial.path)) if trial.params is None else listed(trial.params)
        lines.append(f"  {trial.id:>7}  {trial.state:<10} {value:>12}  {what}  {reason}".rstrip())
    return "\n".join(lines)


def _table(study: Study) -> str:
    """Return all trials as CSV: times in ISO 8601, durations in seconds, paths as on the page."""
    columns = study.trials.to_columns()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(value) for value in row])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return " ".join(map(str, value)) if isinstance(value, tuple) else value


def _bold_place(place: dict[str, Any]) -> tuple[str, str]:
    """Return path or params of the best trial, labeled."""
    if "params" in place:
        return "best params", click.style(listed(place["params"]), bold=True)
    return "best path", click.style(" ".join(map(str, place["path"])), bold=True)
