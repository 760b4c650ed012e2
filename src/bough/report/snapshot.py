"""What the page shows of a search, as plain values for JSON; what is not finite becomes None."""

import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

import bough
from bough.plotting import (
    along_data,
    convergence_data,
    importance_data,
    increments_data,
    relevance_data,
    tree_data,
)
from bough.plotting.beliefs import step_names
from bough.plotting.parameters import numbers_of
from bough.plotting.run import ABSENT, Run, columns_of
from bough.plotting.tree import Explored
from bough.studies.trials import Trial
from bough.trees import Path

#: Nodes of the tree that are kept, the most visited ones: enough to go far down, and some 1 MB.
MOST_NODES = 20_000
#: Numbers that are only drawn have so many digits; those that are printed have all.
DIGITS = 6


def snapshot(source: Any, title: str | None = None) -> dict[str, Any]:
    """Return all that the page says but the trials."""
    run = Run.of(source)
    return {
        "title": title or _title(run),
        "summary": _summary(run),
        "certificate": _certificate(run),
        "convergence": _convergence(run),
        "tree": _tree(run),
        "parameters": _parameters(run),
        "learnt": _learnt(run),
        "along": _along(run),
        "reproduce": _reproduce(run),
    }


def _title(run: Run) -> str:
    if run.study is not None:
        return run.study.path.name
    return "A search" if run.plan is None else "A plan"


def _summary(run: Run) -> dict[str, Any]:
    counts = {"told": 0, "failed": 0, "running": 0}
    for trial in run.trials:
        counts[trial.state] += 1
    best, tree = run.best, run.tree
    searcher = None if run.searcher is None else type(run.searcher).__name__
    if run.study is not None:
        searcher = run.study.specification["searcher"]
    facts: dict[str, Any] = {
        "direction": run.direction,
        "stopped_by": run.stopped_by,
        "searcher": searcher,
        "trials": counts,
        "arms": _arms(None if tree is None else tree.log_arms, tree),
        "depth": None if tree is None else tree.depth,
        "space": _space(run),
        "plan": run.plan is not None,
        "replayed": run.searcher is not None,
        "best": None,
    }
    if best is not None:
        params = best.params
        if params is None and run.told_trials:
            params = next((run.params_of(t) for t in run.told_trials if t.path == best.path), None)
        facts["best"] = {
            "path": " ".join(map(str, best.path)),
            "decoded": _decoded(run, best.path),
            "params": _params(params),
            "trials": [t.id for t in run.told_trials if _is_at(run, t, best.path, params)],
            "mean": _finite(best.mean),
            "std": _finite(best.std),
            "visits": best.visits,
        }
    return facts


def _is_at(run: Run, trial: Trial, path: Path, params: Any) -> bool:
    """Return whether a trial was one of that path, or of those params."""
    return trial.path == path and (trial.params is None or trial.params == params)


def _space(run: Run) -> dict[str, Any] | None:
    """Say what space is searched; None on a plain tree."""
    space = run.shown.space
    if space is not None:
        points = None if space.size == math.inf else f"{space.size:,}"
        return {"parameters": len(space.slots), "points": points}
    if len(run.trials) and run.trials[0].params is not None:  # only its program knows more of it
        names = {name for trial in run.trials for name in trial.params or ()}
        return {"parameters": len(names), "points": None}
    return None


def _params(params: Any) -> dict[str, Any] | None:
    """Return params with numbers as they are, and all else as texts."""
    if params is None:
        return None
    return {
        str(k): v if type(v) is int or (type(v) is float and math.isfinite(v)) else str(v)
        for k, v in params.items()
    }


def _arms(log_arms: float | None, tree: Any) -> str | None:
    """Say how many paths there are."""
    if log_arms is None:
        return None
    if log_arms < math.log(1e11):  # as many digits as a tile has room for
        return f"{round(math.exp(log_arms)) if tree.arms is None else tree.arms:,}"
    return f"about 10^{log_arms / math.log(10):.0f}"


def _decoded(run: Run, path: Iterable[int]) -> str | None:
    if run.tree is None or run.labels is None:
        return None
    return " ".join(map(str, run.decode(tuple(path))))


def _certificate(run: Run) -> dict[str, Any] | None:
    found = run.certificate
    if found is None:
        return None
    return {
        "path": " ".join(map(str, found.path)),
        "lower": _finite(found.lower),
        "upper": _finite(found.upper),
        "gap": _finite(found.gap),
        "confidence": 1 - found.delta,
        "conditional": found.conditional,
        "params": _params(getattr(found, "params", None)),
        "partition": getattr(found, "partition", None),
        "partitions": getattr(found, "partitions", None),
    }


def _convergence(run: Run) -> dict[str, Any]:
    data = convergence_data(run)
    changes = np.flatnonzero(np.diff(data.best, prepend=np.nan) != 0)
    return {
        "best_at": (changes + 1).tolist(),
        "best": data.best[changes].tolist(),
        "count": len(data.values),
        "at": data.at.tolist(),
        "mean": _numbers(data.mean),
        "lower": _numbers(data.lower),
        "upper": _numbers(data.upper),
        "of_cell": run.shown.forest is not None and not run.shown.exact,
    }


def _tree(run: Run) -> dict[str, Any]:
    data = tree_data(run, MOST_NODES)
    return {
        "parent": data.parent.tolist(),
        "step": data.step.tolist(),
        "visits": data.visits.tolist(),
        "mean": _numbers(data.mean, DIGITS),
        "std": _numbers(data.std, DIGITS),
        "certainty": _numbers(data.certainty, 3),
        "unexplored": ["more" if math.isinf(n) else _finite(n) for n in data.unexplored.tolist()],
        "hidden": data.hidden.tolist(),
        "names": _step_names(run, data),
        "cells": run.shown.partition is not None,
        "partition": run.shown.number,
        "partitions": run.shown.partitions,
    }


def _step_names(run: Run, data: Explored) -> list[str] | None:
    """Return what the tree calls the step to each node; None if it has no names for them."""
    cells = run.shown.names(data.parent.tolist(), data.step.tolist())
    if cells is not None:
        return cells
    labels = run.labels
    if labels is None:
        return None
    numbers = range(len(data.parent))
    if callable(labels):
        return ["" if n == 0 else str(labels(data.path(n))) for n in numbers]
    rows = zip(data.depth.tolist(), data.step.tolist(), strict=True)
    return ["" if depth == 0 else str(labels[depth - 1][step]) for depth, step in rows]


def _parameters(run: Run) -> dict[str, Any]:
    data = importance_data(run)
    return {"names": data.names, "shares": _numbers(data.shares, DIGITS)}


def _learnt(run: Run) -> dict[str, Any] | None:
    data = increments_data(run)
    if data is None:
        return None
    return {
        "kernel": data.kernel,
        "variance": _numbers(data.variance),
        "noise": data.noise,
        "mean": data.mean,
        "learnt": data.learnt,
        "exact": run.shown.exact,
        "relevance": _relevance(run),
    }


def _relevance(run: Run) -> dict[str, Any] | None:
    data = relevance_data(run)
    if data is None:
        return None
    return {"names": data.names, "factors": _numbers(data.factors, DIGITS), "learnt": data.learnt}


def _along(run: Run) -> dict[str, Any] | None:
    if run.best is None:
        return None
    data = along_data(run)
    return {
        "path": list(data.path),
        "mean": _numbers(data.mean),
        "std": _numbers(data.std),
        "prior": _numbers(data.prior),
        "visits": data.visits.tolist(),
        "names": step_names(run, data.path),
    }


def _reproduce(run: Run) -> dict[str, Any]:
    versions = {
        "bough": bough.__version__,
        "numpy": np.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
    facts: dict[str, Any] = {"versions": versions, "searcher": repr(run.searcher)}
    if run.study is not None:
        facts["file"] = run.study.path.name
        facts["specification"] = {
            name: run.study.specification[name]
            for name in ("tree", "space", "searcher", "options", "direction", "seed")
            if name in run.study.specification
        }
        del facts["searcher"]
    return facts


# ---------------------------------------------------------------------- trials


def trial_columns(source: Any, begin: int = 0) -> dict[str, Any]:
    """Return the trials from a number on, a list for each property.

    `choices` holds the parameters (or the names of steps) of all trials, by name: numbers as they
    are, others as codes into a list of categories. It is None where steps of the paths are all
    there is.
    """
    run = Run.of(source)
    trials = run.trials[begin:]
    first = run.trials[0].started if len(run.trials) else 0.0
    return {
        "begin": begin,
        "settled": _settled(run),
        # (In a space paths are those of a partition: nothing that anybody would read.)
        "path": None
        if _space(run) is not None
        else [" ".join(map(str, trial.path)) for trial in trials],
        "state": "".join(trial.state[0] for trial in trials),
        "value": [trial.value for trial in trials],
        "noise": _if_any([trial.noise for trial in trials]),
        "ended": [None if t.ended is None else round(t.ended - first, 6) for t in trials],
        "took": [None if t.ended is None else _short(t.ended - t.started) for t in trials]
        if run.study is not None
        else None,
        "reason": {str(t.id): t.reason for t in trials if t.reason},
        "choices": _choices(run) if run.names_choices else None,
    }


def _choices(run: Run) -> dict[str, Any]:
    found = {}
    for name, column in columns_of([run.choices_of(trial) for trial in run.trials]).items():
        at, categories = numbers_of([value for value in column if value is not ABSENT])
        given = iter(at.tolist())
        codes = [None if value is ABSENT else next(given) for value in column]
        found[str(name)] = {"at": codes, "categories": categories}
    return found


def _settled(run: Run) -> int:
    """Return how many trials, from the first on, will not change any more."""
    for number, trial in enumerate(run.trials):
        if trial.state == "running":
            return number
    return len(run.trials)


def _if_any(values: list[float | None]) -> list[float | None] | None:
    return None if all(value is None for value in values) else values


# ---------------------------------------------------------------------- numbers


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _short(value: float, digits: int = DIGITS) -> float:
    return float(f"{value:.{digits}g}")


def _numbers(values: Any, digits: int | None = None) -> list[float | None]:
    """Return an array as a list, with so many digits if they are only to be drawn."""
    plain = np.asarray(values, dtype=float).tolist()
    if digits is None:
        return [_finite(value) for value in plain]
    return [_short(value, digits) if math.isfinite(value) else None for value in plain]
