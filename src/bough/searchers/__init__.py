"""Searchers: policies with `ask` and `tell` that choose the next path to evaluate."""

from bough.exceptions import Exhausted
from bough.searchers.base import Certificate, Searcher
from bough.searchers.baselines import (
    BAST,
    GPB,
    HOO,
    KLOLOP,
    OLOP,
    UCB1,
    UCBAIR,
    UCT,
    BestFirst,
    LinRel,
    RandomSearch,
)
from bough.searchers.gpts import GPTS
from bough.searchers.registry import register

__all__ = [
    "BAST",
    "GPB",
    "GPTS",
    "HOO",
    "KLOLOP",
    "OLOP",
    "UCB1",
    "UCBAIR",
    "UCT",
    "BestFirst",
    "Certificate",
    "Exhausted",
    "LinRel",
    "RandomSearch",
    "Searcher",
    "register",
]
