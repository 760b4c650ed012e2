"""`bough study`: the content of a study file; export and import."""

import csv
import io
import json
import pathlib
from typing import Any

import click

from bough._text import printable
from bough.cli.shell import FILE, NEW_FILE, echo, json_option, print_facts, warnings_in_words
from bough.experiments.runs import BEGINNING
from bough.run.render import (
    arm_facts,
    certificate_facts,
    certificate_text,
    plain_params,
    value_text,
)
from bough.studies.exchange import export_lines, import_lines
from bough.studies.files import WriteLock
from bough.studies.study import Study, open_to_read
from bough.studies.trials import Trial

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
@click.option("--json", "as_json", is_flag=True, help="JSON output, with all trials.")
@click.option("--csv", "as_csv", is_flag=True, help="CSV output of all trials.")
def show(file: pathlib.Path, as_json: bool, as_csv: bool) -> None:
    """Print the content of a study, also while it is being written.

    \b
    bough study run.db
    bough study run.db --json
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude one another.")
    study = _opened(file)
    if as_csv:
        echo(_table(study), nl=False, exact=True)
        return
    facts = _facts(study)
    text = _page(facts, study)
    if as_json:
        facts["trials"] = [trial._asdict() | _place(trial) for trial in study.trials]
    print_facts(facts, text, as_json=as_json)


@command.command("export", short_help="Write a study as JSON lines.")
@click.argument("file", type=FILE)
@click.argument("output", type=click.File("w"), default="-")
@click.option("--json", "as_json", is_flag=True, help="JSON description of the output.")
def export(file: pathlib.Path, output: Any, as_json: bool) -> None:
    """Write all operations of a study as JSON lines (to OUTPUT, or to the screen).

    \b
    bough study export run.db run.jsonl

    Of a damaged file, all operations that SQLite can read and whose checksums are right are
    written; then the exit code is 1, and the message says how many were lost. The file is not
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


def _facts(study: Study) -> dict[str, Any]:
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
        "counts": {state: trials.count(state) for state in ("completed", "failed", "running")},
    }
    completed = [trial for trial in trials if trial.value is not None]
    if completed and study.replayed:
        facts["best"] = arm_facts(study.best())
        if study.certificate is not None:
            facts["certificate"] = certificate_facts(study.certificate)
    elif completed:
        top = max(completed, key=lambda trial: study.sign * (trial.value or 0.0))
        facts["best"] = _place(top) | {"observed": top.value}
    return facts


def _page(facts: dict[str, Any], study: Study) -> str:
    """Return the facts as a page to read."""
    counts = facts["counts"]
    words = ", ".join(f"{count:,} {state}" for state, count in counts.items())
    lines = [f"{printable(facts['file'])}: {len(study.trials):,} trials ({words})"]
    if facts["written_by"]:
        holder = facts["written_by"]
        lines.append(f"being written by process {holder.get('pid')} on host {holder.get('host')}")
    if facts["about"] is not None:
        lines.append(f"  about        {printable(facts['about'])}")
    lines.append(f"  {facts['direction']} with {facts['searcher']}, seed {facts['seed']}")
    if "best" in facts:
        best = facts["best"]
        if "params" in best:
            lines.append(f"  best params  {click.style(_listed(best['params']), bold=True)}")
        else:
            path = click.style(" ".join(map(str, best["path"])), bold=True)
            lines.append(f"  best path    {path}")
        if "mean" in best:
            lines.append(f"  value        {value_text(best['mean'], best['std'])}")
        else:
            lines.append(f"  value        {best['observed']:.6g}, the best that was observed")
    if "certificate" in facts and study.certificate is not None:
        lines.append(f"  certificate  {certificate_text(study.certificate)}")
    if len(study.trials):
        lines.append(f"  the last trials (of {len(study.trials):,}; --csv or --json for all)")
    for trial in study.trials[-SHOWN:]:
        value = "" if trial.value is None else f"{trial.value:.6g}"
        said = (trial.reason or "").strip().splitlines()
        reason = f"({printable(said[0][:60])})" if said else ""
        what = " ".join(map(str, trial.path)) if trial.params is None else _listed(trial.params)
        lines.append(f"  {trial.id:>7}  {trial.state:<9} {value:>12}  {what}  {reason}".rstrip())
    return "\n".join(lines)


def _table(study: Study) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Trial._fields)
    for trial in study.trials:
        params = None if trial.params is None else json.dumps(plain_params(trial.params))
        path: Any = " ".join(map(str, trial.path))
        writer.writerow(trial._replace(path=path, params=params))
    return text.getvalue()


def _place(trial: Trial) -> dict[str, Any]:
    """Return path and params as JSON can hold them; no params on a plain tree."""
    params = {} if trial.params is None else {"params": plain_params(trial.params)}
    return {"path": list(trial.path)} | params


def _listed(params: dict[str, Any]) -> str:
    return ", ".join(
        printable(f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}")
        for name, value in params.items()
    )
