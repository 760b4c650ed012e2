"""Tables in HTML, for notebooks: the `_repr_html_` of results, certificates and studies."""

from collections.abc import Iterable, Sequence
from html import escape

from bough._text import printable

#: Colors are those of the notebook, light or dark.
_CELL = "text-align: left; vertical-align: top; padding: 0.15em 1em 0.15em 0"


def table(
    title: str, rows: Iterable[Sequence[object]], head: Sequence[object] = (), note: str = ""
) -> str:
    """Return a table in HTML with a title; all texts are escaped.

    Without `head` the first cell of each row is its heading.

    >>> table("run", [("best path", (0, 1))]).count("<td")
    1
    """
    parts = ["<table>", f'<caption style="text-align: left">{_text(title)}</caption>']
    if head:
        cells = "".join(_cell("th", cell, ' scope="col"') for cell in head)
        parts.append(f"<thead><tr>{cells}</tr></thead>")
    parts.append("<tbody>")
    for row in rows:
        first = _cell("td", row[0]) if head else _cell("th", row[0], ' scope="row"')
        parts.append(f"<tr>{first}{''.join(_cell('td', cell) for cell in row[1:])}</tr>")
    parts.append("</tbody></table>")
    if note:
        parts.append(f"<p>{_text(note)}</p>")
    return "\n".join(parts)


def _cell(tag: str, text: object, attributes: str = "") -> str:
    return f'<{tag}{attributes} style="{_CELL}">{_text(text)}</{tag}>'


def _text(text: object) -> str:
    return escape(printable(text))
