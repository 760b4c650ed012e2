"""Results, arms and certificates as text, and as plain values for JSON.

The `repr` of a result, the commands and the report all say the same by these functions. Values that
are not finite become None, since JSON has no word for them.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.belief.belief import Belief
from bough.belief.best_arm import Arm
from bough.searchers import Certificate
from bough.spaces.searcher import SpaceCertificate, SpaceSearcher

if TYPE_CHECKING:
    from bough.run.result import Result


# ---------------------------------------------------------------------- text


def result_text(result: "Result") -> str:
    """Return the lines that a result prints."""
    lines = [f"{stop_text(result.stopped_by)} after {len(result.history)} evaluations"]
    best = result.best
    if best is not None:
        if isinstance(result.searcher, SpaceSearcher):
            lines.append(f"best params {best.params}")
        else:
            lines.append(f"best path   {result.searcher.tree.decode(best.path)}")
        lines.append(f"its reward  {value_text(best.mean, best.std)}")
    if result.certificate is not None:
        lines.append(f"certificate {certificate_text(result.certificate)}")
    return "\n".join(lines)


def stop_text(stopped_by: str) -> str:
    """Return the reason why a search has ended."""
    if stopped_by == "exhausted":
        return "stopped since nothing is left to learn"
    return f"stopped by {stopped_by}"


def value_text(mean: float, std: float, visits: int | None = None) -> str:
    """Return the value of an arm with its standard deviation, and the number of evaluations."""
    text = f"{mean:.6g} +- {std:.2g}"
    if visits is None:
        return text
    return f"{text}, evaluated {'once' if visits == 1 else f'{visits:,} times'}"


def certificate_text(certificate: Certificate) -> str:
    """Return the bounds of a certificate; and of which partition, if it is about one of a space."""
    if not math.isfinite(certificate.gap):
        return "none: the number of paths is not known"
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
    """Return the values of `fitted_facts` in words."""
    values = ", ".join(f"{name} {value:.4g}" for name, value in fitted["parameters"].items())
    return (
        f"{fitted['kernel'].lower()} kernel ({values}), noise {fitted['noise']:.4g}, "
        f"mean {fitted['mean']:.4g}"
    )


# ---------------------------------------------------------------------- values for JSON


def result_facts(result: "Result") -> dict[str, Any]:
    """Return the best arm and the certificate of a result, as far as there are any."""
    facts: dict[str, Any] = {}
    if result.best is not None:
        facts["best"] = arm_facts(result.best)
    if result.certificate is not None:
        facts["certificate"] = certificate_facts(result.certificate)
    return facts


def arm_facts(arm: Arm) -> dict[str, Any]:
    """Return an arm as plain values."""
    place = _place(arm.path, arm.params)
    return place | {"mean": finite(arm.mean), "std": finite(arm.std), "visits": arm.visits}


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as plain values."""
    bounds = {"lower": certificate.lower, "upper": certificate.upper, "gap": certificate.gap}
    facts: dict[str, Any] = {
        **_place(certificate.path, getattr(certificate, "params", None)),
        **{name: finite(value) for name, value in bounds.items()},
        "confidence": 1 - certificate.delta,
        "conditional": certificate.conditional,
    }
    if isinstance(certificate, SpaceCertificate):
        facts |= {"partition": certificate.partition, "partitions": certificate.partitions}
    return facts


def fitted_facts(belief: Belief) -> dict[str, Any]:
    """Return the fitted hyperparameters of a belief as plain values."""
    return {
        "kernel": type(belief.kernel).__name__,
        "parameters": dataclasses.asdict(belief.kernel),  # type: ignore[call-overload]
        "noise": belief.noise,
        "mean": belief.mean,
    }


def _place(path: tuple[int, ...], params: Any) -> dict[str, Any]:
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
