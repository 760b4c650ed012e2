"""Logs of earlier searches as nodes: of TreeQuest, or lines of JSON."""

import json
import os
from collections.abc import Iterable
from typing import Any

from bough._validation import at_least_zero, real
from bough.generation.answers import Answer, Node


def read_treequest(state: Any) -> list[Node]:
    """Return the nodes of a state of TreeQuest, such as that of `ABMCTSA`.

    They can be the `seeds` of a search, which continues from them, or of one that is only
    inspected. The names of actions become the names of generators.
    """
    tree = getattr(state, "tree", None)
    if tree is None or not hasattr(tree, "get_nodes"):
        raise TypeError(f"state must be that of an algorithm of TreeQuest, got {state!r}")
    trials = getattr(getattr(state, "trial_store", None), "finished_trials", {})
    rows = []
    for node in tree.get_nodes():
        if node.parent is None:
            continue
        trial = trials.get(node.trial_id)
        rows.append(
            {
                "id": node.expand_idx,
                "parent": None if node.parent.parent is None else node.parent.expand_idx,
                "generator": None if trial is None else trial.action,
                "answer": node.state,
                "score": node.score,
            }
        )
    return _nodes(rows, "node")


def read_log(source: str | os.PathLike[str] | Iterable[str]) -> list[Node]:
    """Return the nodes in a file of JSON lines, or in lines.

    A line is an object with `score`, and `answer`, `id`, `parent` (the id of another line, before
    it), `generator`, `std`, `feedback` and `cost`, all but `score` optional. The default of `id` is
    the number of lines before it.

    >>> lines = ['{"id": "a", "answer": "x", "score": 1}', '{"parent": "a", "score": 2}']
    >>> [node.path for node in read_log(lines)]
    [(0,), (0, 0)]
    """
    if isinstance(source, (str, os.PathLike)):
        with open(source, encoding="utf-8-sig") as file:
            return read_log(file)
    rows = []
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON: {error}") from None
        if not isinstance(row, dict) or "score" not in row:
            raise ValueError(f"line {number} must be an object with a score, got {line.strip()!r}")
        rows.append(row)
    return _nodes(rows, "line")


def write_log(nodes: Iterable[Node], path: str | os.PathLike[str]) -> None:
    """Write nodes as JSON lines, which `read_log` reads."""
    with open(path, "w", encoding="utf-8") as file:
        for node in nodes:
            row = {
                "id": node.id,
                "parent": None if node.parent is None else node.parent.id,
                "generator": node.generator,
                "answer": node.answer,
                "score": node.score,
                "std": node.std,
                "feedback": node.feedback,
                "cost": node.cost,
            }
            file.write(json.dumps(row) + "\n")


def _nodes(rows: list[dict[str, Any]], name: str) -> list[Node]:
    found: dict[Any, Node] = {}
    nodes: list[Node] = []
    drafts = 0
    for i, row in enumerate(rows):
        where = f"{name} {i + 1}"
        above = row.get("parent")
        id_ = i if row.get("id") is None else row["id"]
        for value in (id_, above):
            if isinstance(value, (list, dict)):
                raise TypeError(f"{where}: an id must be a number or a text, got {value!r}")
        if above is not None and above not in found:
            raise ValueError(f"{where}: its parent {above!r} is not before it")
        parent = None if above is None else found[above]
        std, cost = row.get("std"), row.get("cost")
        answer = Answer(
            row.get("answer"),
            real(row["score"], f"the score of {where}"),
            None if std is None else at_least_zero(std, f"the std of {where}"),
            row.get("feedback"),
        )
        if parent is None:
            path: tuple[int, ...] = (drafts,)
            drafts += 1
        else:
            path = (*parent.path, parent._children)
            parent._children += 1
        generator = row.get("generator")
        if generator is not None and not isinstance(generator, str):
            raise TypeError(f"{where}: its generator must be a text, got {generator!r}")
        cost = 0.0 if cost is None else at_least_zero(cost, f"the cost of {where}")
        node = Node(i, parent, generator, answer, cost, path)
        if id_ in found:
            raise ValueError(f"{where}: its id {id_!r} occurs twice")
        found[id_] = node
        nodes.append(node)
    return nodes
