"""GPTS on spaces."""

from bough.spaces.forest.forest import Forest

__all__ = ["Forest"]
