"""Spaces of parameters: numbers, choices, and parameters that only some choices have."""

from bough.spaces.parameters import Choice, Float, Int
from bough.spaces.space import Space

__all__ = ["Choice", "Float", "Int", "Space"]
