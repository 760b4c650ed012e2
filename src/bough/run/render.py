"""Results, arms and certificates as text, and as plain values for JSON.

The `repr` of a result, the commands and the report all say the same by these functions. Values that
are not finite become None, since JSON has no word for them.
"""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bough._html import table
from bough._text import brief, printable
from bough.belief.belief import Belief
from bough.belief.best_arm import Arm
from bough.kernels import Carried, Labeled
from bough.searchers import Certificate
from bough.spaces.searcher import SpaceCertificate, SpaceSearcher

if TYPE_CHECKING:
    from bough.run.result import History, Result


# ---------------------------------------------------------------------- text


def result_text(result: "Result") -> str:
    """Return the lines that a result prints."""
    title, lines, note = _parts(result)
    return "\n".join([title, *(labeled(*line) for line in lines), *([note] if note else [])])


def result_html(result: "Result") -> str:
    """Return the table that a notebook shows for a result: the lines that it prints."""
    title, lines, note = _parts(result)
    return table(title, lines, note=note)


def _parts(result: "Result") -> tuple[str, list[tuple[str, str]], str]:
    """Return a title, labeled texts, and a note for a search without a feasible trial."""
    history, best = result.history, result.best
    title = f"{stop_text(result.stopped_by)} after {evaluations_text(history)}"
    lines, note = [], ""
    if best is not None:
        place: Any = best.params
        if not isinstance(result.searcher, SpaceSearcher):
            place = result.searcher.tree.text(best.path)
        lines.append(("best path" if best.params is None else "best params", str(place)))
        lines += known_lines(result)
    elif history.infeasible:
        note = infeasible_text(history)
    return title, lines, note


def evaluations_text(history: "History") -> str:
    """Return the number of evaluations, and of those that were infeasible, pruned or failed."""
    count = len(history)
    text = f"{count:,} evaluation{'' if count == 1 else 's'}"
    ends = _ends_texts(history)
    return f"{text}, of which {' and '.join(ends)}" if ends else text


def _ends_texts(history: "History") -> list[str]:
    """Return how many trials were infeasible, were pruned and failed, if any."""
    counts = {"infeasible": history.infeasible, "pruned": history.pruned}
    texts = [f"{count:,} {state}" for state, count in counts.items() if count]
    return [*texts, _failures_text(history)] if history.failed else texts


def infeasible_text(history: "History") -> str:
    """Return a line about the infeasible trial that comes closest, if none is feasible."""
    infeasible = (trial for trial in history.trials if trial.state == "infeasible")
    nearest = min(infeasible, key=lambda trial: max(trial.constraints))
    place = place_text(nearest.path, nearest.params)
    return (
        f"no trial is feasible; the smallest violation is {max(nearest.constraints):.6g}, {place}"
    )


def _failures_text(history: "History") -> str:
    reason = next(trial.reason for trial in reversed(history.trials) if trial.state == "failed")
    count = "all" if history.failed == len(history) else f"{history.failed:,}"
    return f"{count} failed (last: {brief(reason)})"


def labeled(label: str, text: object, width: int = 11) -> str:
    """Return a line of a column of labels and a column of texts; a warning is one text."""
    return f"{label} {text}" if label == "warning:" else f"{label:<{width}} {text}"


def known_lines(result: "Result") -> list[tuple[str, str]]:
    """Return what is known of the best arm and of the best of all, as labeled texts."""
    best, observed = result.best, result.best_observed
    lines = []
    if best is not None:
        if best.value is not None:
            lines.append(("its value", value_text(best)))
        lines.append(("its mean", f"{best.mean:.6g} +- {best.std:.2g}, by the model"))
    if observed is not None:
        same = best is not None and (best.path, best.params) == (observed.path, observed.params)
        place = place_text(observed.path, observed.params)
        if same:
            place = "the same path" if observed.params is None else "the same params"
        lines.append(("observed", f"at best {observed.value:.6g}, {place}"))
    if result.best_value is not None and all(map(math.isfinite, result.best_value)):
        lines.append(("expected", expected_text(*result.best_value, result.expected_gap or 0.0)))
    if result.certificate is not None:
        lines.append(("certificate", certificate_text(result.certificate)))
    if result.misfit is not None:
        lines.append(("warning:", printable(result.misfit)))
    return lines


def place_text(path: Sequence[int], params: Mapping[str, Any] | None) -> str:
    """Return path or params on one line."""
    if params is None:
        return f"path {' '.join(map(str, path))}"
    return f"params {printable(params)}"


def expected_text(mean: float, std: float, gap: float) -> str:
    """Return the value of the best of all, and the expected loss of the recommended arm."""
    worth = f"the best path of all is worth {mean:.4g} +- {std:.2g}"
    return f"{worth}, expected loss of this one {gap:.2g}"


def stop_text(stopped_by: str) -> str:
    """Return the reason why a search has ended."""
    if stopped_by == "exhausted":
        return "stopped since nothing is left to learn"
    if stopped_by == "infeasible":
        return "stopped since no other feasible candidate was found"
    if stopped_by == "failures":
        return "stopped since all of the first trials failed"
    return f"stopped by {stopped_by}"


def value_text(arm: Arm) -> str:
    """Return what was measured at an arm."""
    if arm.visits == 1:
        return f"{arm.value:.6g}, measured once"
    return f"{arm.value:.6g}, the average of {arm.visits:,} measurements"


def certificate_text(certificate: Certificate) -> str:
    """Return the bounds of a certificate; and of which partition, if it is about one of a space."""
    if not math.isfinite(certificate.gap):
        return (
            "none: there are too few observations, the number of paths is not known, the prior "
            "mean is a function, or the kernel is one of whole paths"
        )
    text = (
        f"the best of all is between {certificate.lower:.6g} and {certificate.upper:.6g} (gap "
        f"{certificate.gap:.3g}), at confidence {1 - certificate.delta:g}"
    )
    if certificate.conditional:
        text += ", given the fitted hyperparameters"
    if isinstance(certificate, SpaceCertificate):
        number, count = certificate.partition + 1, certificate.partitions
        text += f" (by partition {number} of {count}, to its resolution)"
    return text


def fitted_text(fitted: Mapping[str, Any]) -> str:
    """Return the values of `fitted_facts` in words.

    >>> facts = {"kernel": "Linear", "parameters": {"variance": 0.5}, "noise": 0.1, "mean": 0.0}
    >>> labels = {"kernel": "Same", "parameters": {"variance": 0.2}, "decay": 1.0}
    >>> fitted_text(facts | {"labels": labels})
    'linear kernel (variance 0.5) + labels (variance 0.2), noise 0.1, mean 0'
    """
    text = f"{fitted['kernel'].lower()} kernel ({_values_text(fitted['parameters'])})"
    labels = fitted.get("labels")
    if labels is not None:
        kind = "" if labels["kernel"] == "Same" else f"{labels['kernel']}: "
        values = labels["parameters"] | ({"decay": labels["decay"]} if labels["decay"] != 1 else {})
        text += f" + labels ({kind}{_values_text(values)})"
    return f"{text}, noise {fitted['noise']:.4g}, mean {fitted['mean']:.4g}"


def _values_text(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


# ---------------------------------------------------------------------- values for JSON


def run_facts(result: "Result", seconds: float) -> dict[str, Any]:
    """Return how a run went, as plain values."""
    count = len(result.history)
    return {
        "stopped_by": result.stopped_by,
        "evaluations": count,
        "failed": result.history.failed,
        "infeasible": result.history.infeasible,
        "pruned": result.history.pruned,
        "steps": result.history.steps,
        "observations": result.searcher.observations,
        "seconds": seconds,
        "evaluations_per_second": count / seconds if seconds else None,
    }


def run_text(result: "Result", seconds: float) -> str:
    """Return how a run went, on one line."""
    history, observations = result.history, result.searcher.observations
    text = f"{len(history):,} evaluated in {seconds:.2f} s"
    if seconds and len(history) >= seconds:
        text += f" ({len(history) / seconds:,.0f} a second)"
    text += "".join(f", {ends}" for ends in _ends_texts(history))
    if history.steps:
        text += f", {history.steps:,g} steps"
    ended = observations + history.failed + history.infeasible
    if result.study is not None:
        ended = sum(trial.state != "running" for trial in result.study.trials)
    if ended > len(history):
        text += f", {ended:,} in all"
    return f"{text}, {stop_text(result.stopped_by)}"


def result_facts(result: "Result") -> dict[str, Any]:
    """Return what is known of the best arm and of the best of all, as plain values."""
    facts: dict[str, Any] = {}
    if result.best is not None:
        facts["best"] = arm_facts(result.best)
    if result.best_observed is not None:
        observed = result.best_observed
        facts["best_observed"] = place_facts(observed.path, observed.params) | {
            "value": observed.value
        }
    if result.best_value is not None:
        mean, std = result.best_value
        facts["expected_best"] = {"mean": finite(mean), "std": finite(std)}
        facts["expected_gap"] = finite(result.expected_gap or 0.0)
    if result.certificate is not None:
        facts["certificate"] = certificate_facts(result.certificate)
    if result.misfit is not None:
        facts["warning"] = result.misfit
    return facts


def arm_facts(arm: Arm) -> dict[str, Any]:
    """Return an arm as plain values."""
    place = place_facts(arm.path, arm.params)
    measured = {"value": arm.value, "visits": arm.visits}
    return place | {"mean": finite(arm.mean), "std": finite(arm.std)} | measured


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as plain values."""
    bounds = {"lower": certificate.lower, "upper": certificate.upper, "gap": certificate.gap}
    facts: dict[str, Any] = {
        **place_facts(certificate.path, getattr(certificate, "params", None)),
        **{name: finite(value) for name, value in bounds.items()},
        "confidence": 1 - certificate.delta,
        "conditional": certificate.conditional,
    }
    if isinstance(certificate, SpaceCertificate):
        facts |= {"partition": certificate.partition, "partitions": certificate.partitions}
    return facts


def fitted_facts(belief: Belief) -> dict[str, Any]:
    """Return the fitted hyperparameters of a belief as plain values."""
    kernel: Any = belief.kernel
    labels: dict[str, Any] = {}
    if isinstance(kernel, Labeled):
        between = kernel.between
        known = between.base if isinstance(between, Carried) else between
        labels = {"kernel": type(between).__name__, "parameters": _fields(known)}
        labels |= {"decay": kernel.decay}
        kernel = kernel.tree_kernel
    return {
        "kernel": type(kernel).__name__,
        "parameters": _fields(kernel),
        **({"labels": labels} if labels else {}),
        "noise": belief.noise,
        "mean": belief.mean,
    }


def _fields(kernel: Any) -> dict[str, Any]:
    """Return the fields of a kernel, except for functions."""
    fields = dataclasses.asdict(kernel)
    return {name: value for name, value in fields.items() if not callable(value)}


def place_facts(path: tuple[int, ...], params: Any) -> dict[str, Any]:
    """Return path and params as plain values; no params on a plain tree."""
    place: dict[str, Any] = {"path": list(path)}
    return place if params is None else place | {"params": plain_params(params)}


def finite(value: float) -> float | None:
    """Return a number, None if it is not finite."""
    return value if math.isfinite(value) else None


def plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return params as JSON can hold them; any other value by its repr.

    >>> plain_params({"x": 0.5, "layers": (8, 8), "f": len, "most": float("inf")})
    {'x': 0.5, 'layers': [8, 8], 'f': '<built-in function len>', 'most': 'inf'}
    """
    plain: dict[str, Any] = {}
    for name, value in params.items():
        value = value.item() if isinstance(value, np.generic) else value
        try:
            plain[name] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            plain[name] = repr(value)
    return plain
