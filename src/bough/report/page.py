"""The page itself: a snapshot, our script and style, and plotly.js, in one file."""

import base64
import hashlib
import html
import json
import os
import pathlib
from importlib import resources
from typing import Any

from bough._text import printable
from bough.plotting.view import SearchView
from bough.report.snapshot import snapshot, trial_columns

#: In the order in which the page reads them.
SCRIPTS = ("elements.js", "charts.js", "tree.js", "table.js", "sections.js", "start.js")


def write(source: Any, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the page of a search to a file, which appears as a whole or not at all."""
    target = pathlib.Path(path)
    view = SearchView.of(source)
    if view.study is not None and target.exists() and target.samefile(view.study.path):
        raise ValueError(f"path: {target} is the study itself; give the page another name")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: there is no folder {target.parent}")
    text = page(view, title=title)
    unfinished = target.with_name(target.name + ".part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def page(source: Any, *, title: str | None = None, follow: bool = False) -> str:
    """Return the page of a search.

    Parameters
    ----------
    source
        A `Result`, a `Study`, a `planning.Plan`, or a searcher with a belief.
    title
        Its title; by default the name of the study's file.
    follow
        Ask the server that the page came from for what is new, over and over.
    """
    view = SearchView.of(source)
    facts = snapshot(view, title)
    script = "\n".join(_part(name) for name in SCRIPTS)
    scripts = {"plotly": plotly_script(), "script": f'"use strict";\n(() => {{\n{script}\n}})();'}
    # Only these scripts may view, whatever a name or a reason has in it, and nothing may be loaded.
    # (plotly.js compiles its shaders' callers: 'unsafe-eval'.)
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts.values()))} 'unsafe-eval'; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
        f"connect-src {chr(39) + 'self' + chr(39) if follow else chr(39) + 'none' + chr(39)}"
    )
    parts = {
        "policy": policy,
        "title": _escaped(facts["title"]),
        "style": _part("style.css"),
        "follow": "yes" if follow else "no",
        "snapshot": json_in_html(facts),
        "trials": json_in_html(trial_columns(view)),
        **scripts,
    }
    pieces = _part("page.html").split("@@")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def json_in_html(value: Any) -> str:
    r"""Return JSON that can stand in a page: no `<` in it can end a script.

    >>> json_in_html({"name": "</script>"})
    '{"name":"\\u003c/script>"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _escaped(text: str) -> str:
    return html.escape(printable(text))


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _part(name: str) -> str:
    return (resources.files("bough.report") / "assets" / name).read_text(encoding="utf-8")


def plotly_script() -> str:
    """Return plotly.js as it ships inside the `plotly` wheel."""
    try:
        found = resources.files("plotly") / "package_data" / "plotly.min.js"
    except ModuleNotFoundError as error:
        raise ImportError(
            "the report has plotly.js in it, which comes with plotly: pip install 'bough[report]'"
        ) from error
    # A script ends at the first `</script`, wherever it stands; in strings `<\/` is the same.
    return found.read_text(encoding="utf-8").replace("</script", "<\\/script")
