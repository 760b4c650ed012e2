"""Policies with `ask` and `tell`."""

from bough.searchers.base import Certificate, Exhausted, Searcher
from bough.searchers.gpts import GPTS
from bough.searchers.uct import UCT

__all__ = ["GPTS", "UCT", "Certificate", "Exhausted", "Searcher"]
