"""Spaces of parameters (numbers, choices, conditional parameters) and their searchers."""

from bough.spaces.forest import Forest
from bough.spaces.parameters import Choice, Float, Int
from bough.spaces.searcher import PartitionSearcher, SpaceCertificate, SpaceSearcher
from bough.spaces.space import Space

__all__ = [
    "Choice",
    "Float",
    "Forest",
    "Int",
    "PartitionSearcher",
    "Space",
    "SpaceCertificate",
    "SpaceSearcher",
]
