"""Comparisons of searchers on problems with known optima.

>>> from bough.experiments import compare
>>> found = compare(["trap:depth=4"], ["gpts", "uct"], budget=20, seeds=3, workers=1)
>>> found.by_evaluations()[0].measures["cumulative"].mean.shape
(11,)
"""

from bough.experiments.compare import compare
from bough.experiments.competitors import GRIDS, Grid
from bough.experiments.pages import write
from bough.experiments.results import Comparison, Curve, Estimate, TuningChoice, bootstrap

__all__ = [
    "GRIDS",
    "Comparison",
    "Curve",
    "Estimate",
    "Grid",
    "TuningChoice",
    "bootstrap",
    "compare",
    "write",
]
