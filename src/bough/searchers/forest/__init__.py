"""GPTS on spaces."""

from bough.searchers.forest.forest import Forest

__all__ = ["Forest"]
