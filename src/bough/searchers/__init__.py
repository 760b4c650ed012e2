"""Policies with `ask` and `tell`."""

from bough.searchers.base import Certificate, Exhausted, Searcher
from bough.searchers.gpts import GPTS

__all__ = ["GPTS", "Certificate", "Exhausted", "Searcher"]
