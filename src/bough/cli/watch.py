"""`bough watch`: the page of a study that is being written, served to this machine."""

import pathlib
import webbrowser

import click

from bough.cli.options import json_option
from bough.cli.shell import FILE, print_facts


@click.command("watch")
@click.argument("file", type=FILE)
@click.option("--port", type=click.IntRange(0, 65535), help="Port.  [default: any free port]")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@json_option
def command(file: pathlib.Path, port: int | None, opens: bool, as_json: bool) -> None:
    """Serve the page of the study FILE while it is being written, until Ctrl-C.

    \b
    bough watch run.db
    bough watch run.db --port 8000 --open

    The page is served to this machine only and has no controls: it reads the file and cannot
    disturb the search.
    """  # noqa: D301 - click needs a real backspace before lines that it must not join
    from bough.report.watch import Watch

    server = Watch(file, port or 0)
    try:
        text = f"{file} is shown at {server.url} (Ctrl-C ends this, not the search)"
        print_facts({"file": str(file), "url": server.url}, text, as_json=as_json)
        if opens:
            webbrowser.open(server.url)
        server.serve_forever()
    except KeyboardInterrupt:
        pass  # the regular end
    finally:
        server.server_close()
