"""Find the best path through a tree far too large to enumerate, with few evaluations."""

from bough import kernels
from bough._core import Arm
from bough.belief import Belief
from bough.confidence import Confidence
from bough.trees import Tree

__all__ = ["Arm", "Belief", "Confidence", "Tree", "kernels"]

__version__ = "0.1.0"
