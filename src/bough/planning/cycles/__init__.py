"""The best cycle of an unknown deterministic world, learned while acting in it."""

from bough.exceptions import NotCommunicating, NotDeterministic
from bough.planning.cycles.agents import CycleAgent, CycleCertificate, UCycle
from bough.planning.cycles.gaussian import GPCycle
from bough.planning.cycles.run import CycleRun, run

__all__ = [
    "CycleAgent",
    "CycleCertificate",
    "CycleRun",
    "GPCycle",
    "NotCommunicating",
    "NotDeterministic",
    "UCycle",
    "run",
]
