"""Searchers side by side, on problems with known optima.

>>> from bough.experiments import compare
>>> found = compare(["trap:depth=4"], ["gpts", "uct"], budget=20, seeds=3, workers=1)
>>> found.by_evaluations()[0].measures["cumulative"].mean.shape
(11,)
"""

from bough.experiments.compare import compare
from bough.experiments.grids import GRIDS, Grid
from bough.experiments.results import Choice, Comparison, Curve, Estimate, bootstrap
from bough.experiments.write import write

__all__ = [
    "GRIDS",
    "Choice",
    "Comparison",
    "Curve",
    "Estimate",
    "Grid",
    "bootstrap",
    "compare",
    "write",
]
