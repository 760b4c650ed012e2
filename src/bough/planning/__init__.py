"""Planning in Markov decision processes: which action next, with few steps of a simulator."""

from bough.exceptions import Unfaithful
from bough.planning.agent import Agent, Episode, Summary
from bough.planning.decision import Choice, Plan
from bough.planning.planner import plan
from bough.planning.simulator import Simulator, recorded, simulator_of

__all__ = [
    "Agent",
    "Choice",
    "Episode",
    "Plan",
    "Simulator",
    "Summary",
    "Unfaithful",
    "plan",
    "recorded",
    "simulator_of",
]
