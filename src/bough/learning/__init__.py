"""Hyperparameters (kernel, noise, mean) fitted by maximum a posteriori estimation.

`model` is what is fitted and its priors, `posterior` the density that is maximized, `fitting` the
maximization; `learner` decides when a search refits.
"""

from bough.kernels import LogNormal
from bough.learning.fitting import Chosen, Fit, Parameter, Report, choose, fit
from bough.learning.model import FLAT, WEAK, Prior

__all__ = [
    "FLAT",
    "WEAK",
    "Chosen",
    "Fit",
    "LogNormal",
    "Parameter",
    "Prior",
    "Report",
    "choose",
    "fit",
]
