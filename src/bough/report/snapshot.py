"""The content of the page as plain values for JSON, with None for numbers that are not finite."""

import math
import sys
from typing import Any

import numpy as np

import bough
from bough.plotting import (
    along_data,
    convergence_data,
    effects_data,
    importance_data,
    increments_data,
    tree_data,
)
from bough.plotting.beliefs import step_names
from bough.plotting.parameters import numbers_of
from bough.plotting.view import ABSENT, SearchView, columns_of
from bough.run.render import arm_facts, certificate_facts, finite
from bough.studies.trials import STATES
from bough.trees import Path, Tree

#: Number of nodes of the tree on the page, the most visited ones: about 1 MB.
MOST_NODES = 20_000
#: Number of labels whose effects are on the page, those with the largest ones.
MOST_EFFECTS = 40
#: Digits of numbers that are only drawn; numbers that are printed have all digits.
DIGITS = 6


def snapshot(source: Any, title: str | None = None) -> dict[str, Any]:
    """Return the content of the page except for the trials."""
    view = SearchView.of(source)
    name = "A search" if view.plan is None else "A plan"
    if view.study is not None:
        name = view.study.path.name
    return {
        "title": title or name,
        "summary": _summary(view),
        "certificate": _certificate(view),
        "convergence": _convergence(view),
        "tree": _tree(view),
        "parameters": _plain(importance_data(view), DIGITS),
        "effects": _effects(view),
        "model": _model(view),
        "along": _along(view),
        "reproduce": _reproduce(view),
    }


def _summary(view: SearchView) -> dict[str, Any]:
    states: list[str] = [trial.state for trial in view.trials]
    best, tree = view.best, view.tree
    searcher = None if view.searcher is None else type(view.searcher).__name__
    if view.study is not None:
        searcher = view.study.specification["searcher"]
    facts: dict[str, Any] = {
        "direction": view.direction,
        "stopped_by": view.stopped_by,
        "searcher": searcher,
        "trials": {state: states.count(state) for state in STATES},
        "arms": _arms(tree),
        "depth": None if tree is None else tree.depth,
        "space": _space(view),
        "plan": view.plan is not None,
        "replayed": view.searcher is not None,
        "best": None,
        "observed": _observed(view),
        "expected": None,
        "warning": view.misfit,
    }
    if view.expected_best is not None:
        facts["expected"] = dict(zip(("mean", "std", "gap"), view.expected_best, strict=True))
    if best is not None:
        at_best = best.path, best.params
        facts["best"] = arm_facts(best) | {
            "path": " ".join(map(str, best.path)),
            "decoded": _decoded(view, best.path),
            "params": _params(best.params),
            "trials": [t.id for t in view.completed if (t.path, t.params) == at_best],
        }
    return facts


def _decoded(view: SearchView, path: Path) -> str | None:
    """Return what a path stands for, or its labels; None if there are none."""
    if view.tree is not None and view.tree.structure is not None:
        return view.tree.text(path)
    return " ".join(map(str, view.decode(path))) if view.labels else None


def _observed(view: SearchView) -> dict[str, Any] | None:
    """Return the best trial: its value, its place, and whether that is recommended too."""
    found, best = view.best_observed, view.best
    if found is None:
        return None
    same = best is not None and (best.path, best.params) == (found.path, found.params)
    place = {"path": " ".join(map(str, found.path)), "params": _params(found.params)}
    return place | {"value": found.value, "same": same}


def _space(view: SearchView) -> dict[str, Any] | None:
    """Return the number of parameters and points of the space; None on a plain tree."""
    space = view.shown.space
    if space is not None:
        points = None if space.size == math.inf else f"{space.size:,}"
        return {"parameters": len(space.slots), "points": points}
    if len(view.trials) and view.trials[0].params is not None:  # the file does not hold the space
        names = {name for trial in view.trials for name in trial.params or ()}
        return {"parameters": len(names), "points": None}
    return None


def _params(params: Any) -> dict[str, Any] | None:
    """Return params with numbers as they are, and other values as text."""
    if params is None:
        return None
    return {
        str(k): v if type(v) is int or (type(v) is float and math.isfinite(v)) else str(v)
        for k, v in params.items()
    }


def _arms(tree: Tree | None) -> str | None:
    """Return the number of paths as text."""
    if tree is None or tree.log_arms is None:
        return None
    if tree.log_arms < math.log(1e11):  # as many digits as fit on a tile
        return f"{round(math.exp(tree.log_arms)) if tree.arms is None else tree.arms:,}"
    return f"about 10^{tree.log_arms / math.log(10):.0f}"


def _certificate(view: SearchView) -> dict[str, Any] | None:
    found = view.certificate
    if found is None:
        return None
    place = {
        "path": " ".join(map(str, found.path)),
        "params": _params(getattr(found, "params", None)),
    }
    return {"partition": None, "partitions": None} | certificate_facts(found) | place


def _convergence(view: SearchView) -> dict[str, Any]:
    data = convergence_data(view)
    changes = np.flatnonzero(np.diff(data.best, prepend=np.nan) != 0)
    return {
        "best_at": (changes + 1).tolist(),
        "best": data.best[changes].tolist(),
        "count": len(data.values),
        "at": data.at.tolist(),
        "mean": _numbers(data.mean),
        "lower": _numbers(data.lower),
        "upper": _numbers(data.upper),
        "limits": data.limits,
        "clipped": [marks.tolist() for marks in data.clipped],
        "of_cell": view.shown.forest is not None and not view.shown.exact,
    }


def _tree(view: SearchView) -> dict[str, Any]:
    data = tree_data(view, MOST_NODES)
    unexplored = data.unexplored.tolist()
    facts = _plain(data, DIGITS) | {
        "certainty": _numbers(data.certainty, 3),
        "unexplored": ["more" if math.isinf(n) else finite(n) for n in unexplored],
        "names": view.names(data.parent.tolist(), data.step.tolist()),
        "cells": view.shown.partition is not None,
        "partition": view.shown.number,
        "partitions": view.shown.partitions,
        "bounds": [finite(end) for end in view.bounds],  # of a mean
    }
    del facts["depth"]  # the page counts the parents
    return facts


def _model(view: SearchView) -> dict[str, Any] | None:
    data = increments_data(view)
    if data is None:
        return None
    facts = {"kernel": data.kernel, "noise": data.noise, "mean": data.mean, "fitted": data.fitted}
    return facts | {"exact": view.shown.exact}


def _effects(view: SearchView) -> dict[str, Any] | None:
    data = effects_data(view, MOST_EFFECTS)
    if data is None:
        return None
    ends = {"low": _numbers(data.low, DIGITS), "high": _numbers(data.high, DIGITS)}
    return _plain(data, DIGITS) | ends


def _along(view: SearchView) -> dict[str, Any] | None:
    if view.best is None:
        return None
    data = along_data(view)
    return _plain(data) | {"names": step_names(view, data.path)}


def _reproduce(view: SearchView) -> dict[str, Any]:
    versions = {
        "bough": bough.__version__,
        "numpy": np.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    if view.study is None:
        return {"versions": versions, "searcher": repr(view.searcher)}
    given, names = view.study.specification, ("tree", "space", "searcher", "options", "direction")
    return {
        "versions": versions,
        "file": view.study.path.name,
        "specification": {name: given[name] for name in (*names, "seed") if name in given},
    }


# ---------------------------------------------------------------------- trials


def trial_columns(source: Any, begin: int = 0) -> dict[str, Any]:
    """Return the trials from a number on, as a list for each property.

    `choices` holds the parameters (or labels of steps) of all trials by name: numbers, or codes
    into a list of categories. It is None for a tree without labels.
    """
    view = SearchView.of(source)
    trials = view.trials[begin:]
    running = (i for i, trial in enumerate(view.trials) if trial.state == "running")
    first = view.trials[0].started if len(view.trials) else 0.0
    return {
        "begin": begin,
        "settled": next(running, len(view.trials)),  # trials that will not change any more
        # (In a space paths are those of a partition, which mean nothing to a reader.)
        "path": [" ".join(map(str, t.path)) for t in trials] if _space(view) is None else None,
        "state": "".join(trial.state[0] for trial in trials),
        "value": [trial.value for trial in trials],
        "noise": [t.noise for t in trials] if any(t.noise is not None for t in trials) else None,
        "ended": [None if t.ended is None else round(t.ended - first, 6) for t in trials],
        "took": [None if t.ended is None else _short(t.ended - t.started) for t in trials]
        if view.study is not None
        else None,
        "reason": {str(t.id): t.reason for t in trials if t.reason},
        "choices": _choices(view) if view.has_named_choices else None,
    }


def _choices(view: SearchView) -> dict[str, Any]:
    found = {}
    for name, column in columns_of([view.choices_of(trial) for trial in view.trials]).items():
        at, categories = numbers_of([value for value in column if value is not ABSENT])
        given = iter(at.tolist())
        codes = [None if value is ABSENT else next(given) for value in column]
        found[str(name)] = {"at": codes, "categories": categories}
    return found


# ---------------------------------------------------------------------- numbers


def _short(value: float, digits: int = DIGITS) -> float:
    return float(f"{value:.{digits}g}")


def _numbers(values: Any, digits: int | None = None) -> list[Any]:
    """Return an array as a list, with numbers rounded if digits are given."""
    plain = values.tolist()
    if digits is None or values.dtype.kind == "i":
        return [finite(value) for value in plain]
    return [_short(value, digits) if math.isfinite(value) else None for value in plain]


def _plain(data: Any, digits: int | None = None) -> dict[str, Any]:
    """Return the fields of a named tuple, with lists for arrays."""
    return {
        name: _numbers(value, digits) if isinstance(value, np.ndarray) else value
        for name, value in data._asdict().items()
    }
