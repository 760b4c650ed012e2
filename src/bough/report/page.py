"""The page: a snapshot, scripts, style and plotly.js in one HTML file."""

import base64
import hashlib
import html
import json
import os
import pathlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from bough._text import printable
from bough.plotting.view import SearchView
from bough.report.snapshot import snapshot, trial_columns

#: The scripts, in their order on the page.
SCRIPTS = ("elements.js", "charts.js", "tree.js", "table.js", "page.js")


def write(source: Any, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the page of a search to a file, atomically."""
    target = pathlib.Path(path)
    view = SearchView.of(source)
    if view.study is not None and target.exists() and target.samefile(view.study.path):
        raise ValueError(
            f"path must not be that of the study itself, got {target}: give the page another name"
        )
    check_folder(target)
    write_text(target, page(view, title=title))


def check_folder(target: pathlib.Path) -> None:
    """Raise an error if the folder of a file does not exist."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {target}: there is no folder {target.parent}")


def write_text(target: pathlib.Path, text: str) -> None:
    """Write a page to a file, completely or not at all."""
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
        The title; by default the name of the study's file.
    follow
        Whether the page polls its server for changes.
    """
    view = SearchView.of(source)
    facts = snapshot(view, title)
    parts = {
        "title": html.escape(printable(facts["title"])),
        "snapshot": json_in_html(facts),
        "trials": json_in_html(trial_columns(view)),
    }
    return assemble("page.html", SCRIPTS, parts, follow=follow)


def assemble(
    template: str,
    names: Sequence[str],
    parts: dict[str, str],
    *,
    follow: bool = False,
    plotly: bool = True,
) -> str:
    """Return a page: a template with its parts, scripts, style and perhaps plotly.js."""
    script = "\n".join(_part(name) for name in names)
    scripts = {"script": f'"use strict";\n(() => {{\n{script}\n}})();'}
    if plotly:
        scripts["plotly"] = plotly_script()
    # Only these scripts may run, whatever names and reasons contain, and nothing may be loaded.
    # (plotly.js compiles the callers of its shaders, which needs 'unsafe-eval'.)
    evaluated = " 'unsafe-eval'" if plotly else ""
    connect = "'self'" if follow else "'none'"
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, scripts.values()))}{evaluated}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
        f"connect-src {connect}"
    )
    parts = parts | scripts
    parts |= {"policy": policy, "style": _part("style.css"), "follow": "yes" if follow else "no"}
    pieces = _part(template).split("@@")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def json_in_html(value: Any) -> str:
    r"""Return JSON for a script element, which no `<` in it can end.

    >>> json_in_html({"name": "</script>"})
    '{"name":"\\u003c/script>"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


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
            "the report needs plotly.js, which comes with plotly: pip install 'bough[report]'"
        ) from error
    # A script element ends at the first `</script`; within strings `<\/` means the same.
    return found.read_text(encoding="utf-8").replace("</script", "<\\/script")
