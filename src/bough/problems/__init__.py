"""Problems with known optima, to measure searchers on."""

from bough.problems.smooth import Smooth

#: What `bough search NAME` knows by name.
BY_NAME = {"smooth": Smooth}

__all__ = ["BY_NAME", "Smooth"]
