"""The result of a search, and the history of its evaluations."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.best_arm import Arm
from bough.run.render import result_text
from bough.searchers import Certificate, Searcher
from bough.spaces.searcher import SpaceSearcher
from bough.trees import Path

if TYPE_CHECKING:
    from bough.studies.study import Study


@dataclass(frozen=True)
class History:
    """The evaluations of a run in the order of their ends: paths, values, seconds since its start.

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
    """The result of a search.

    Attributes
    ----------
    best
        The best of the evaluated arms, None if there are none.
    certificate
        The bounds on the best of all arms; None if there are no observations.
    history
        The evaluations of this run.
    stopped_by
        The rule that ended the search.
    searcher
        The searcher, with which the search can be continued.
    study
        The study that recorded the search, if there is one.
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
            `"convergence"`, `"tree"`, `"along"` (the best path), `"increments"` (the variance that
            each depth adds), `"importance"` (of parameters), `"relevance"` (of those of a space),
            `"slice"`, or `"regret"` (needs `optimum=`).
        ax
            Axes to draw on; by default new ones.
        options
            Options of the function of that name in `bough.plotting`.
        """
        from bough.plotting import DRAWINGS

        if kind not in DRAWINGS:
            raise ValueError(f"kind must be one of {', '.join(DRAWINGS)}, got {kind!r}")
        return DRAWINGS[kind](self, ax=ax, **options)

    def report(self, path: "str | os.PathLike[str]") -> None:
        """Write an interactive page about the search (the extra `report`): one file, no network."""
        from bough.report import write

        write(self, path)

    def __repr__(self) -> str:
        return result_text(self)
