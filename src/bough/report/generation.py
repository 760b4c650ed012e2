"""The page of a search with a generator: the tree of answers, cost, lineage, and each answer."""

import html
import json
import os
import pathlib
from typing import Any

from bough._text import brief, printable
from bough.generation.result import GenerationResult
from bough.report.page import assemble, check_folder, json_in_html, write_text

SCRIPTS = ("elements.js", "answers.js")
#: The number of nodes on the page, the best ones and their ancestors, and the characters of an
#: answer or its feedback.
MOST_NODES, MOST_TEXT = 3_000, 20_000


def write(
    result: GenerationResult, path: str | os.PathLike[str], *, title: str | None = None
) -> None:
    """Write the page of a search to a file, atomically."""
    target = pathlib.Path(path)
    if result.study is not None and target.exists() and target.samefile(result.study.path):
        raise ValueError(
            f"path must not be that of the study itself, got {target}: give the page another name"
        )
    check_folder(target)
    write_text(target, page(result, title=title))


def page(result: GenerationResult, *, title: str | None = None, follow: bool = False) -> str:
    """Return the page of a search; with `follow` it polls its server for changes."""
    facts = snapshot(result, title)
    return assemble(
        "answers.html",
        SCRIPTS,
        {"title": html.escape(printable(facts["title"])), "snapshot": json_in_html(facts)},
        follow=follow,
    )


def snapshot(result: GenerationResult, title: str | None = None) -> dict[str, Any]:
    """Return the content of the page as plain values for JSON."""
    search = result.search
    nodes = search.nodes
    kept = {node.id for top in result.top(MOST_NODES) for node in top.lineage} if nodes else set()
    cost, best = result.best_by_cost()
    name = "A search with a generator" if result.study is None else result.study.path.name
    running = [
        {"id": job.id, "parent": None if job.parent is None else job.parent.id,
         "generator": job.generator}
        for job in search.pending
    ]  # fmt: skip
    top = result.best
    return {
        "title": title or name,
        "stopped_by": result.stopped_by,
        "generators": list(search.generators),
        "calls": result.calls,
        "failed": result.failed,
        "reasons": [[id_, brief(reason)] for id_, reason in list(search.reasons.items())[-20:]],
        "cost": result.cost,
        "noise": search.fitted_noise,
        "running": running,
        "best": None if top is None else top.id,
        "lineage": [node.id for node in result.lineage()],
        "hidden": len(nodes) - len(kept),
        "nodes": [
            {
                "id": node.id,
                "parent": None if node.parent is None else node.parent.id,
                "generator": node.generator,
                "depth": node.depth,
                "score": node.score,
                "mean": node.mean,
                "deviation": node.deviation,
                "promise": node.promise,
                "cost": node.cost,
                "answer": shown(node.answer),
                "feedback": None if node.feedback is None else shown(node.feedback),
            }
            for node in nodes
            if node.id in kept
        ],
        "total": cost.tolist(),
        "scores": [node.score for node in nodes],
        "best_so_far": best.tolist(),
    }


def shown(value: Any) -> str:
    """Return an answer as text: a text as it is, other values as JSON, or their repr."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = json.dumps(value, indent=1, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            text = repr(value)
    left = len(text) - MOST_TEXT
    return text if left <= 0 else f"{text[:MOST_TEXT]}\n... and {left:,} more characters"
