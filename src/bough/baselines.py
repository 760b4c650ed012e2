"""Baselines: published algorithms of tree search and bandits, for comparison with GPTS.

An alias of `bough.searchers.baselines`.
"""

from bough.searchers.baselines import *  # noqa: F403
from bough.searchers.baselines import __all__  # noqa: F401
