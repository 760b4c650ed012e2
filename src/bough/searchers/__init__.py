"""Searchers: policies with `ask` and `tell` that choose the next path to evaluate."""

from bough.exceptions import Exhausted
from bough.searchers import baselines
from bough.searchers.base import Certificate, Searcher
from bough.searchers.baselines import *  # noqa: F403
from bough.searchers.gpts import GPTS
from bough.searchers.registry import register

__all__ = ["GPTS", "Certificate", "Exhausted", "Searcher", "register"]
__all__ += baselines.__all__
