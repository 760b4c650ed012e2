"""Regret bounds and information gain, computed for your own problem.

>>> from bough import kernels, theory
>>> kernel = kernels.Gaussian(width=5.0)
>>> bound = theory.regret_bound(kernel, branching=200, depth=10, noise=1.0, plays=10**9)
>>> f"average regret at most {bound / 1e9:.1f}"
'average regret at most 14.2'

The paper's formulas, audited: docs/paper-checked.md says which hold, what is right where they do not,
and proves the two improvements used here.
"""

from bough.theory.gain import Gain, information_gain
from bough.theory.greedy import Count
from bough.theory.regret import (
    empirical_regret_bounds,
    plays_needed,
    regret_bound,
    simple_regret_bound,
)
from bough.theory.spectrum import Constants, Spectrum, spectrum

__all__ = [
    "Constants",
    "Count",
    "Gain",
    "Spectrum",
    "empirical_regret_bounds",
    "information_gain",
    "plays_needed",
    "regret_bound",
    "simple_regret_bound",
    "spectrum",
]
