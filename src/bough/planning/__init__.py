"""Planning in Markov decision processes, with few steps of a simulator for each action."""

from bough.exceptions import Unfaithful
from bough.planning import cycles
from bough.planning.agent import Agent, Episode, Summary
from bough.planning.decision import ActionValue, Plan
from bough.planning.planner import plan, plan_many
from bough.planning.simulator import Simulator, recorded, simulator_of

__all__ = [
    "ActionValue",
    "Agent",
    "Episode",
    "Plan",
    "Simulator",
    "Summary",
    "Unfaithful",
    "cycles",
    "plan",
    "plan_many",
    "recorded",
    "simulator_of",
]
