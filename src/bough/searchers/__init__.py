"""Policies with `ask` and `tell`."""

from bough.searchers.air import UCBAIR
from bough.searchers.base import (
    Certificate,
    Exhausted,
    Searcher,
    SpaceCertificate,
    SpaceSearcher,
)
from bough.searchers.bast import BAST
from bough.searchers.best_first import BestFirst
from bough.searchers.forest import Forest
from bough.searchers.gpb import GPB
from bough.searchers.gpts import GPTS
from bough.searchers.hoo import HOO
from bough.searchers.linrel import LinRel
from bough.searchers.olop import KLOLOP, OLOP
from bough.searchers.random_search import RandomSearch
from bough.searchers.ucb import UCB1
from bough.searchers.uct import UCT

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
    "Forest",
    "LinRel",
    "RandomSearch",
    "Searcher",
    "SpaceCertificate",
    "SpaceSearcher",
]
