"""Information gain and regret bounds for a tree, a kernel and a noise level.

>>> from bough import kernels, theory
>>> kernel = kernels.Gaussian(width=5.0)
>>> bound = theory.regret_bound(kernel, branching=200, depth=10, noise=1.0, plays=10**9)
>>> f"average regret at most {bound / 1e9:.1f}"
'average regret at most 14.2'

Every formula is the corrected one. docs/paper-checked.md lists the errata of the paper by number,
with counterexamples, and proves the two improvements used here.
"""

from bough.theory.depth import (
    PlanningRates,
    paper_depth,
    planning_rates,
    truncation_cost,
    useful_depth,
)
from bough.theory.gain import Count, greedy_counts, information_gain
from bough.theory.labels import Product, Siblings
from bough.theory.nodes import node_regret_bound
from bough.theory.peers import bast_bound, olop_rate, olop_rate_bound, smoothness, ucb_bound
from bough.theory.regret import (
    empirical_regret_bounds,
    plays_needed,
    regret_bound,
    simple_regret_bound,
)
from bough.theory.spectrum import Spectrum, spectrum

__all__ = [
    "Count",
    "PlanningRates",
    "Product",
    "Siblings",
    "Spectrum",
    "bast_bound",
    "empirical_regret_bounds",
    "greedy_counts",
    "information_gain",
    "node_regret_bound",
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
