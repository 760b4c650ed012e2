"""`bough report` and `bough watch`: look at a study in a browser."""

import json
import pathlib

import click

from bough.cli.shell import echo
from bough.cli.study import warnings_in_words
from bough.studies.study import open_to_read

FILE = click.Path(exists=True, dir_okay=False, path_type=pathlib.Path)


@click.command("report", short_help="Write a page to explore a study with.")
@click.argument("file", type=FILE)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="Where to write it.  [default: the name of FILE, with .html]",
)
@click.option("--title", help="Title of the page.  [default: the name of FILE]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def report_command(
    file: pathlib.Path, output: pathlib.Path | None, title: str | None, as_json: bool
) -> None:
    """Write a page to explore the study FILE with: one file, which needs no network.

    \b
    bough report run.db
    bough report run.db -o page.html --title "The night run"
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    from bough.report.page import write  # no other command needs figures or a server

    target = file.with_suffix(".html") if output is None else output
    with warnings_in_words():
        study = open_to_read(file)
    write(study, target, title=title)
    size = target.stat().st_size
    if as_json:
        facts = {"file": str(target), "bytes": size, "trials": len(study.trials)}
        echo(json.dumps(facts, indent=2))
    else:
        echo(f"{target}: {len(study.trials):,} trials, {size / 1e6:.1f} MB")


@click.command("watch", short_help="Follow a study in a browser as it grows.")
@click.argument("file", type=FILE)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Where to serve it.  [default: any free port]",
)
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def watch_command(file: pathlib.Path, port: int, opens: bool, as_json: bool) -> None:
    """Follow the study FILE in a browser while it is being written, until Ctrl-C.

    \b
    bough watch run.db
    bough watch run.db --port 8000 --open

    The page is served to this machine only, and has no controls: it reads the file and can not
    disturb the search.
    """  # noqa: D301 - click wants a real backspace before lines that it must not join
    import webbrowser

    from bough.report.watch import Watch

    server = Watch(file, port)
    try:
        if as_json:
            echo(json.dumps({"file": str(file), "url": server.url}))
        else:
            echo(f"{file} is shown at {server.url} (Ctrl-C ends this, not the search)")
        if opens:
            webbrowser.open(server.url)
        server.serve_forever()
    except KeyboardInterrupt:
        pass  # that is how it ends
    finally:
        server.server_close()
