"""Baselines: published algorithms of tree search and bandits, for comparison with GPTS."""

from collections.abc import Callable

from bough.searchers.base import Searcher
from bough.searchers.baselines.bast import BAST
from bough.searchers.baselines.gittins import Gittins
from bough.searchers.baselines.gpb import GPB
from bough.searchers.baselines.hoo import HOO
from bough.searchers.baselines.linrel import LinRel
from bough.searchers.baselines.lookahead import Lookahead
from bough.searchers.baselines.node_bandits import NodeBandits
from bough.searchers.baselines.olop import KLOLOP, OLOP, BestFirst
from bough.searchers.baselines.random_search import RandomSearch
from bough.searchers.baselines.rave import RAVE
from bough.searchers.baselines.two_level import TwoLevel
from bough.searchers.baselines.ucb import UCB1, UCBAIR
from bough.searchers.baselines.uct import UCT
from bough.searchers.baselines.zooming import Zooming

__all__ = [
    "BAST", "GPB", "HOO", "KLOLOP", "OLOP", "RAVE", "UCB1", "UCBAIR", "UCT", "BestFirst", "Gittins",
    "LinRel", "Lookahead", "NodeBandits", "RandomSearch", "TwoLevel", "Zooming",
]  # fmt: skip

#: The baselines by name; `registry.SEARCHERS` has all searchers.
BASELINES: dict[str, Callable[..., Searcher]] = {
    "bast": BAST,
    "best_first": BestFirst,
    "gittins": Gittins,
    "gpb": GPB,
    "hoo": HOO,
    "kl_olop": KLOLOP,
    "linrel": LinRel,
    "lookahead": Lookahead,
    "node_bandits": NodeBandits,
    "olop": OLOP,
    "random": RandomSearch,
    "rave": RAVE,
    "two_level": TwoLevel,
    "ucb1": UCB1,
    "ucb_air": UCBAIR,
    "uct": UCT,
    "zooming": Zooming,
}
