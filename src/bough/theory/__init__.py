"""Regret bounds and information gain, computed for your own problem.

>>> from bough import kernels, theory
>>> kernel = kernels.Gaussian(width=5.0)
>>> bound = theory.regret_bound(kernel, branching=200, depth=10, noise=1.0, plays=10**9)
>>> f"average regret at most {bound / 1e9:.1f}"
'average regret at most 14.2'

The paper's formulas, audited: docs/paper-checked.md says which hold, what is right where they do
not, and proves the two improvements used here.
"""

from bough.theory.decay import Constants
from bough.theory.gain import Gain, information_gain
from bough.theory.greedy import Count
from bough.theory.peers import bast_bound, olop_rate, olop_rate_bound, ucb_bound
from bough.theory.planning import (
    PlanningRates,
    paper_depth,
    planning_rates,
    truncation_cost,
    useful_depth,
)
from bough.theory.regret import (
    empirical_regret_bounds,
    plays_needed,
    regret_bound,
    simple_regret_bound,
)
from bough.theory.smoothness import exponential_smoothness, smoothness
from bough.theory.spectrum import Spectrum, spectrum

__all__ = [
    "Constants",
    "Count",
    "Gain",
    "PlanningRates",
    "Spectrum",
    "bast_bound",
    "empirical_regret_bounds",
    "exponential_smoothness",
    "information_gain",
    "olop_rate",
    "olop_rate_bound",
    "paper_depth",
    "planning_rates",
    "plays_needed",
    "regret_bound",
    "simple_regret_bound",
    "smoothness",
    "spectrum",
    "truncation_cost",
    "ucb_bound",
    "useful_depth",
]
