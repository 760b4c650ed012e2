"""What a search found."""

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.best_arm import Arm
from bough.searchers import Certificate, Searcher
from bough.spaces.searcher import SpaceCertificate, SpaceSearcher
from bough.trees import Path

if TYPE_CHECKING:
    from bough.studies.study import Study


@dataclass(frozen=True)
class History:
    """Every evaluation of a run as they ended: paths, values, seconds since the beginning.

    In a space there are `params`, and the paths are those of their cells in its fixed partition; on
    a plain tree all `params` are None.
    """

    paths: list[Path]
    values: NDArray[np.float64]
    seconds: NDArray[np.float64]
    params: list[Any]

    def __len__(self) -> int:
        return len(self.paths)

    def to_pandas(self) -> Any:
        """Return the history as a `pandas.DataFrame`."""
        import pandas as pd

        columns = {"path": self.paths, "value": self.values, "seconds": self.seconds}
        if any(params is not None for params in self.params):
            columns["params"] = self.params
        return pd.DataFrame(columns)


@dataclass(frozen=True, repr=False)
class Result:
    """What a search found.

    Attributes
    ----------
    best
        The best arm that was played, None if none was.
    certificate
        How good it is, and how good anything can be; None if nothing was told.
    history
        Every evaluation.
    stopped_by
        Which rule ended the search.
    searcher
        The searcher as it stood, ready to go on.
    study
        The study that the search was recorded in, if there is one.
    direction
        `"maximize"` or `"minimize"`: then the searcher sees the negative of each value.
    """

    best: Arm | None
    certificate: Certificate | None
    history: History
    stopped_by: str
    searcher: Searcher | SpaceSearcher
    study: "Study | None" = None
    direction: str = "maximize"

    def plot(self, kind: str = "convergence", *, ax: Any = None, **options: Any) -> Any:
        """Draw a figure with matplotlib (the extra `plot`), and return its Axes.

        Parameters
        ----------
        kind
            `"convergence"`, `"tree"`, `"along"` (the best path), `"increments"` (what each depth
            adds), `"importance"` (of parameters), `"relevance"` (of those of a space), `"slice"`,
            or `"regret"` (needs `optimum=`).
        ax
            Axes to draw on; by default new ones.
        options
            Of the function of that name in `bough.plotting`.
        """
        from bough.plotting import DRAWINGS

        if kind not in DRAWINGS:
            raise ValueError(f"kind must be one of {', '.join(DRAWINGS)}, got {kind!r}")
        return DRAWINGS[kind](self, ax=ax, **options)

    def report(self, path: "str | os.PathLike[str]") -> None:
        """Write a page to explore the search with (the extra `report`): one file, no network."""
        from bough.report import write

        write(self, path)

    def __repr__(self) -> str:
        lines = [f"{why_stopped(self.stopped_by)} after {len(self.history)} evaluations"]
        if self.best is not None:
            if isinstance(self.searcher, SpaceSearcher):
                lines.append(f"best params {self.best.params}")
            else:
                lines.append(f"best path   {self.searcher.tree.decode(self.best.path)}")
            lines.append(f"its reward  {self.best.mean:.6g} +- {self.best.std:.2g}")
        if self.certificate is not None:
            lines.append(f"certificate {bounds_in_words(self.certificate)}")
        return "\n".join(lines)


def why_stopped(stopped_by: str) -> str:
    """Say why a search has ended."""
    if stopped_by == "exhausted":
        return "stopped since nothing is left to learn"
    return f"stopped by {stopped_by}"


def bounds_in_words(certificate: Certificate) -> str:
    """Say what a certificate says; and whose it is, if it is that of one partition of a space."""
    whose = ""
    if isinstance(certificate, SpaceCertificate):
        number, count = certificate.partition + 1, certificate.partitions
        whose = f" (by partition {number} of {count}, to its resolution)"
    return (
        f"the best of all is between {certificate.lower:.6g} and {certificate.upper:.6g}, at "
        f"confidence {1 - certificate.delta:g}"
        + (", given what was learnt" if certificate.conditional else "")
        + whose
    )


def bounds_as_json(certificate: Certificate) -> dict[str, Any]:
    """Return what a certificate says as plain values; what is not finite becomes None."""
    bounds = {"lower": certificate.lower, "upper": certificate.upper, "gap": certificate.gap}
    facts: dict[str, Any] = {
        **{name: value if math.isfinite(value) else None for name, value in bounds.items()},
        "confidence": 1 - certificate.delta,
        "conditional": certificate.conditional,
    }
    if isinstance(certificate, SpaceCertificate):
        facts |= {"partition": certificate.partition, "partitions": certificate.partitions}
    return facts
