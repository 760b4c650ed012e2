"""Bounds of nodes from lists of all rewards: a slow reference for BAST, HOO and OLOP."""

import math

import numpy as np
from strategies import noise_of


class Rewards:
    """All rewards, and the bounds that follow from their definition by recursion."""

    def __init__(self, tree):
        self.tree = tree
        self.rewards = {}  # of each node, all that was received through it
        self.steps = {}  # and for the step to it

    def tell(self, path, reward, steps=None):
        for i in range(len(path) + 1):
            self.rewards.setdefault(path[:i], []).append(reward)
            if steps is not None and i:
                self.steps.setdefault(path[:i], []).append(steps[i - 1])

    def children(self, node):
        return [(*node, k) for k in range(self.tree.children(node))]

    def bound(self, node, own, limit=math.inf):
        """Return min(own, highest bound of the children); infinite if nothing was received."""
        if node not in self.rewards:
            return math.inf
        children = self.children(node) if len(node) < limit else []
        below = max((self.bound(c, own, limit) for c in children), default=math.inf)
        return min(own(node, self.rewards[node]), below)

    def sum_bound(self, path, term, tail, limit):
        """Return the least over h of sum_{i <= h} term_i + tail_h along a path."""
        least, total = math.inf, 0.0
        for h in range(1, min(len(path), limit) + 1):
            if path[:h] not in self.rewards:
                break
            total += term(path[:h], self.steps[path[:h]])
            least = min(least, total + tail(path[:h]))
        return least


def run(search, plays, reward=None):
    """Ask and tell; return all rewards."""
    seen = Rewards(search.tree)
    for t in range(plays):
        path = search.ask()
        value = reward(path) if reward else noise_of(1, path) + 0.25 * noise_of(2, t)
        search.tell(path, value)
        seen.tell(path, value)
    return seen


def bounds_of(search):
    """Return the bound of every node that exists, by path."""
    nodes = search.tallies.nodes
    return {search.tallies.path_of(n): float(nodes["bound"][n]) for n in range(len(nodes))}


def assert_bounds(search, expected):
    """Compare the bounds of all nodes with a function of the node."""
    found = bounds_of(search)
    assert len(found) > 1
    for node, bound in found.items():
        assert np.isclose(bound, expected(node), rtol=1e-12, atol=1e-12), (node, bound)
