"""Spaces of parameters (numbers, choices, conditional parameters) and their searchers."""

from bough.spaces.covered import Covered
from bough.spaces.forest import Forest
from bough.spaces.parameters import Choice, Float, Int
from bough.spaces.searcher import SpaceCertificate, SpaceSearcher
from bough.spaces.space import Space

__all__ = [
    "Choice",
    "Covered",
    "Float",
    "Forest",
    "Int",
    "Space",
    "SpaceCertificate",
    "SpaceSearcher",
]
