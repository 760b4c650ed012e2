"""Cycles with the highest mean reward: Howard's policy iteration on a graph with weighted edges.

| symbol | array | meaning |
|---|---|---|
| w(e) | `weights` | reward of an edge |
| tau(e) | `times` | its duration: 1, or 0 for an edge that only branches |
| eta(s) | `gains` | reward per unit of time of the cycle that the policy reaches from node s |
| h(s) | `biases` | reward of the way there beyond eta, relative to a node of the cycle |

A policy has one edge for each node, so that it reaches one cycle from each. It is optimal if no
edge s -> s' leads to a higher gain, nor, with the same gain, has w - eta tau + h(s') > h(s) (Howard
1960; Cochet-Terrasson et al. 1998 for deterministic graphs).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Differences below this fraction of the largest weight are rounding errors.
TINY = 1e-11
#: A safeguard: policy iteration takes about ten rounds.
MOST_ROUNDS = 1_000


@dataclass(frozen=True)
class Graph:
    """Edges, sorted by source; every node, from 0 on, is the source of at least one.

    Every cycle has a duration above zero.
    """

    sources: Ints
    targets: Ints
    times: Floats

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return int(self.sources[-1]) + 1


@dataclass(frozen=True)
class Policy:
    """One edge for each node, with the gains and biases that follow from it."""

    edges: Ints
    gains: Floats
    biases: Floats


def best_policy(graph: Graph, weights: Floats, start: Ints | None = None) -> Policy:
    """Return the policy that reaches a cycle of the highest mean weight from every node.

    Parameters
    ----------
    graph
    weights
        The reward of each edge.
    start
        The edges of the policy to start from, such as that for similar weights; by default the
        heaviest edge of each node.
    """
    first = np.searchsorted(graph.sources, np.arange(graph.nodes))
    nothing = np.zeros(graph.nodes)
    edges = _highest(graph, first, weights, nothing) if start is None else start
    biases = nothing
    tolerance = TINY * float(np.abs(weights).max(initial=1e-300))
    for _ in range(MOST_ROUNDS):
        gains, biases = _evaluate(graph, weights, edges, biases)
        onward = gains[graph.targets]
        reachable = np.maximum.reduceat(onward, first)
        better = reachable > gains + tolerance
        least = np.where(better, reachable, gains) - tolerance
        values = weights - gains[graph.sources] * graph.times + biases[graph.targets]
        values[onward < least[graph.sources]] = -np.inf
        highest = _highest(graph, first, values, biases)
        # (Biases are sums over up to as many edges as there are nodes.)
        better |= values[highest] > biases + tolerance * graph.nodes
        if not better.any():
            break
        edges = np.where(better, highest, edges)
    return Policy(edges, gains, biases)


def _highest(graph: Graph, first: Ints, values: Floats, reference: Floats) -> Ints:
    """Return the first edge with the highest value of each node."""
    highest = np.maximum.reduceat(values, first)
    found = np.flatnonzero(values == highest[graph.sources])
    owners = graph.sources[found]
    result: Ints = found[np.concatenate([[True], owners[1:] != owners[:-1]])]
    return result


def _evaluate(graph: Graph, weights: Floats, edges: Ints, before: Floats) -> tuple[Floats, Floats]:
    """Return gains and biases of a policy, by doubling the number of steps followed.

    One node of each cycle, the one with the lowest number, keeps its bias, which makes policy
    iteration monotone (Cochet-Terrasson et al.).
    """
    nodes = graph.nodes
    following = graph.targets[edges]
    rounds = max(nodes - 1, 1).bit_length()
    end, lowest = following, np.minimum(np.arange(nodes), following)
    for _ in range(rounds):
        lowest = np.minimum(lowest, lowest[end])
        end = end[end]
    anchor = lowest[end]  # of each node; after 2^rounds steps all are on their cycles
    on_cycle = np.unique(end)
    own = edges[on_cycle]
    total = np.bincount(anchor[on_cycle], weights[own], minlength=nodes)
    duration = np.bincount(anchor[on_cycle], graph.times[own], minlength=nodes)
    gains = total[anchor] / duration[anchor]
    biases = weights[edges] - gains * graph.times[edges]
    anchors = np.unique(anchor)
    end = following.copy()
    end[anchors], biases[anchors] = anchors, 0.0
    for _ in range(rounds):
        biases = biases + biases[end]
        end = end[end]
    return gains, biases + before[anchor]


def cycle_of(graph: Graph, edges: Ints, node: int) -> list[int]:
    """Return the edges of the cycle that a policy reaches from a node."""
    seen: dict[int, int] = {}
    followed: list[int] = []
    while node not in seen:
        seen[node] = len(followed)
        followed.append(int(edges[node]))
        node = int(graph.targets[followed[-1]])
    return followed[seen[node] :]
