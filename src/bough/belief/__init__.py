"""The exact posterior of the reward of every path, given the observations."""

from bough.belief.belief import Belief
from bough.belief.best_arm import Arm

__all__ = ["Arm", "Belief"]
