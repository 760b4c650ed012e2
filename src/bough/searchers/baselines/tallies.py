# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""Visit counts, mean rewards and optimistic bounds by node: the memory of tree searchers.

`Tallies` counts and averages, for UCT and random search. `Bounds` also keeps an optimistic bound
for each node, backed up along one path per reward, for BAST, HOO, OLOP and best-first search. A
node at depth d with n rewards has an estimate and an upper confidence bound of its expected value,

    upper = estimate + scale sqrt((width + union log(n (n+1))) / n),

where `scale` is the range of the rewards. Its bound follows in one of two ways:

    by averages:  bound = min(upper + scale slack_d, highest bound of its children)
    step by step: bound = gain_d upper + min(ceiling slack_d, highest bound of its children)

By averages, the estimate is the mean reward through the node, and slack_d is how much the best arm
below a node may exceed the mean there. Step by step, the estimate is the mean reward of the one
step to the node, gain_d is the discount of that step, slack_d the sum of the discounts of the steps
below, and `ceiling` the highest reward of a step. Unvisited nodes have an infinite bound, and a
leaf has the slack of full depth, wherever it ends. A bound depends only on what lies below the
node, so a reward changes the bounds on its path only, unless the range of rewards changes.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log, sqrt

from bough.belief.nodes import aligned, grown, read_only, record

ROOT = 0
NONE = -1
INF = float("inf")

#: The range of observed rewards is rounded up to a multiple of 1/PARTS of the power of two above
#: it: all bounds are recomputed when it changes, so it should change rarely.
PARTS = 32.0
#: Rewards that differ by less are treated as equal.
TINY = 1e-200

TALLY = record(
    ("child sibling parent index depth branching explored visits pending exhausted", np.int32),
    ("average step_average bound", np.float64),
)


class Tallies:
    """The visited nodes, with the number and mean of the rewards received through them.

    A node is *exhausted* while playing below it teaches nothing new: all of its arms are pending
    or, where rewards are exact, known. Selection skips exhausted nodes while there are others.
    """

    def __init__(self, tree, exact=False):
        self.tree = tree
        self.exact = exact
        self.limit = tree.depth
        self.ragged = tree.counts is None
        self.widths = np.zeros(tree.depth + 1, dtype=np.int32)
        for depth, count in enumerate(tree.counts or ()):
            if count == INF:
                raise ValueError(
                    "this searcher chooses among all children of a node, so the branching must be "
                    f"finite, got {tree!r}; GPTS can search this tree"
                )
            self.widths[depth] = count
        self.observations = 0
        self.arms = 0
        self.squares_within = 0.0
        self.squares_total = 0.0
        self.used = 0
        self.nodes_ = aligned(TALLY, 256)
        self._add_node(NONE, 0, self._branching((), 0))

    def __reduce__(self):
        spread = self.observations, self.arms, self.squares_within, self.squares_total
        nodes = np.array(np.asarray(self.nodes_)[: self.used])
        return type(self), (self.tree, bool(self.exact)), (nodes, spread)

    def __setstate__(self, state):
        nodes, spread = state
        self.observations, self.arms, self.squares_within, self.squares_total = spread
        self.used = len(nodes)
        self.nodes_ = grown(nodes, TALLY, max(256, self.used))

    # ------------------------------------------------------------------ nodes

    @property
    def nodes(self):
        """The nodes as a read-only NumPy record array, parents by number; 0 is the root."""
        return read_only(self.nodes_, TALLY, self.used)

    def _branching(self, path, length):
        """Return the number of children of the node at the end of the first steps of a path."""
        if not self.ragged:
            return self.widths[length]
        branching = self.tree.children(path[:length])
        if branching == INF:
            raise ValueError(
                f"the branching must be finite here, but that of node {path[:length]} is infinite"
            )
        return int(branching)

    def _add_node(self, parent, index, branching):
        """Return a new child of a node, behind the one that `_find` has left in `before`."""
        n = self.used
        self.used += 1
        self.nodes_[n].child = NONE
        self.nodes_[n].sibling = NONE
        self.nodes_[n].parent = parent
        self.nodes_[n].index = index
        self.nodes_[n].branching = branching
        if parent != NONE:
            self.nodes_[n].depth = self.nodes_[parent].depth + 1
            self.nodes_[parent].explored += 1
            if self.before == NONE:
                self.nodes_[n].sibling = self.nodes_[parent].child
                self.nodes_[parent].child = n
            else:
                self.nodes_[n].sibling = self.nodes_[self.before].sibling
                self.nodes_[self.before].sibling = n
        return n

    @cython.final
    def _find(self, n, index):
        """Return the child with that index, or NONE; leave the child before it in `before`."""
        self.before = NONE
        c = self.nodes_[n].child
        while c != NONE and self.nodes_[c].index < index:
            self.before = c
            c = self.nodes_[c].sibling
        if c != NONE and self.nodes_[c].index == index:
            return c
        return NONE

    def node_at(self, path):
        """Return the node at the end of a validated path, with the missing nodes added."""
        length = len(path)
        n = ROOT
        found = 0
        while True:
            if self.ragged and self.nodes_[n].branching != self._branching(path, found):
                raise ValueError(
                    "the branching function of the tree is inconsistent at node "
                    f"{path[:found]}: it must always return the same number"
                )
            if found == length:
                return n
            c = self._find(n, path[found])
            if c == NONE:
                break
            n = c
            found += 1
        # The tree is queried before anything is changed, since a branching function may raise.
        branchings = [self._branching(path, i + 1) for i in range(found, length)]
        while self.used + length > self.nodes_.shape[0]:
            self.nodes_ = grown(self.nodes_, TALLY, 2 * self.nodes_.shape[0])
        for i in range(found, length):
            self._find(n, path[i])
            n = self._add_node(n, path[i], branchings[i - found])
        return n

    def path_of(self, n):
        """Return the path of a node."""
        path = []
        while self.nodes_[n].parent != NONE:
            path.append(int(self.nodes_[n].index))
            n = self.nodes_[n].parent
        path.reverse()
        return tuple(path)

    # ------------------------------------------------------------------ rewards

    def add(self, path, reward):
        """Record the reward of a validated path at every node on it; return the last one."""
        end = self.node_at(path)
        self.observations += 1
        was_exhausted = self._is_exhausted(end)
        visits = self.nodes_[end].visits
        if visits == 0:
            self.arms += 1
        else:
            change = reward - self.nodes_[end].average
            self.squares_within += change * change * visits / (visits + 1.0)
        n = end
        while n != NONE:
            self.nodes_[n].visits += 1
            change = reward - self.nodes_[n].average
            self.nodes_[n].average += change / self.nodes_[n].visits
            if n == ROOT:
                self.squares_total += change * (reward - self.nodes_[n].average)
            n = self.nodes_[n].parent
        self._count_exhausted(end, was_exhausted)
        return end

    def add_pending(self, path, change):
        """Count one more (or one fewer) pending evaluation of a path; return its last node."""
        end = self.node_at(path)
        was_exhausted = self._is_exhausted(end)
        n = end
        while n != NONE:
            self.nodes_[n].pending += change
            n = self.nodes_[n].parent
        self._count_exhausted(end, was_exhausted)
        return end

    def variance(self):
        """Return an estimate of the variance of the rewards of one arm.

        While no arm was played twice it is the variance of all rewards, an upper bound.
        """
        if self.observations > self.arms:
            return self.squares_within / (self.observations - self.arms)
        return self.squares_total / max(self.observations - 1.0, 1.0)

    # ------------------------------------------------------------------ exhausted nodes

    @cython.final
    def _is_exhausted(self, n):
        if self.nodes_[n].branching:
            return self.nodes_[n].exhausted == self.nodes_[n].branching
        return self.nodes_[n].pending > 0 or (self.exact and self.nodes_[n].visits > 0)

    def is_exhausted(self):
        """Return whether all arms are pending or, where rewards are exact, known."""
        return bool(self._is_exhausted(ROOT))

    def _count_exhausted(self, n, was_exhausted):
        """Count a node that has become (or is no longer) exhausted, as far up as it matters."""
        while self._is_exhausted(n) != was_exhausted and self.nodes_[n].parent != NONE:
            change = -1 if was_exhausted else 1
            n = self.nodes_[n].parent
            was_exhausted = self._is_exhausted(n)
            self.nodes_[n].exhausted += change

    # ------------------------------------------------------------------ selection

    def descend(self, rng, exploration=0.0):
        """Return the path of the highest bounds, random below the limit and the existing nodes.

        The bounds are those of UCT, with its constant, or of `Bounds`.
        """
        n = ROOT
        path = []
        skipping = not self._is_exhausted(ROOT)
        while self.nodes_[n].depth < self.limit and self.nodes_[n].branching:
            if self.nodes_[n].explored < self.nodes_[n].branching:
                path.append(self._free_child(n, True, rng))
                return self._complete(NONE, path, rng)
            self._score_children(n, exploration)
            n = self._highest_child(n, skipping, rng)
            path.append(int(self.nodes_[n].index))
        return self._complete(n, path, rng)

    def _score_children(self, n, exploration):
        """Set bound = mean + exploration sqrt(log visits / visits of the child); pending count."""
        log_visits = log(1.0 * self.nodes_[n].visits + self.nodes_[n].pending)
        c = self.nodes_[n].child
        while c != NONE:
            count = self.nodes_[c].visits + self.nodes_[c].pending
            # A child that is only pending is expected to give the parent's mean.
            expected = self.nodes_[c if self.nodes_[c].visits else n].average
            self.nodes_[c].bound = (
                expected + exploration * sqrt(log_visits / count) if count else INF
            )
            c = self.nodes_[c].sibling

    @cython.final
    def _highest_child(self, n, skipping, rng):
        """Return the child with the highest bound, a random one of several."""
        best = -INF
        choice = NONE
        ties = 0
        c = self.nodes_[n].child
        while c != NONE:
            if not (skipping and self._is_exhausted(c)):
                bound = self.nodes_[c].bound
                if choice == NONE or bound > best:
                    best = bound
                    choice = c
                    ties = 1
                elif bound == best:
                    ties += 1
                    if rng.below(ties) == 0:
                        choice = c
            c = self.nodes_[c].sibling
        return choice

    def random_path(self, rng):
        """Return a random path, each child of a node equally likely (none that is exhausted)."""
        return self._complete(ROOT, [], rng)

    def _complete(self, n, path, rng):
        """Return a random completion of the path of a node, or of a path without one (NONE)."""
        skipping = n != NONE and not self._is_exhausted(n)
        while n != NONE:
            branching = self.nodes_[n].branching
            if branching == 0:
                return tuple(path)
            index = self._free_child(n, False, rng) if skipping else rng.below(branching)
            path.append(index)
            n = self._find(n, index)
        while True:
            branching = self._branching(tuple(path) if self.ragged else (), len(path))
            if branching == 0:
                return tuple(path)
            path.append(rng.below(branching))

    def _free_child(self, n, unexplored, rng):
        """Return the index of a random child that is not exhausted, or that is unexplored."""
        taken = self.nodes_[n].explored if unexplored else self.nodes_[n].exhausted
        index = rng.below(self.nodes_[n].branching - taken)
        c = self.nodes_[n].child
        while c != NONE and self.nodes_[c].index <= index:
            if unexplored or self._is_exhausted(c):
                index += 1
            c = self.nodes_[c].sibling
        return int(index)

    # ------------------------------------------------------------------ the best arm

    def mean_and_visits(self, path):
        """Return the mean reward of an arm that was played, and its number of rewards."""
        n = self.node_at(path)
        return float(self.nodes_[n].average), int(self.nodes_[n].visits)

    def highest_lower(self, variance):
        """Return the path of the arm with the highest mean - sqrt(variance / rewards)."""
        nodes = self.nodes
        arms = np.flatnonzero((nodes["branching"] == 0) & (nodes["visits"] > 0))
        lower = nodes["average"][arms] - np.sqrt(variance / nodes["visits"][arms])
        return self.path_of(int(arms[np.argmax(lower)]))

    def most_visited(self):
        """Return the path of the most visited child each time, the highest mean among equals."""
        n = ROOT
        while True:
            best = NONE
            most = 1
            average = -INF
            c = self.nodes_[n].child
            while c != NONE:
                visits = self.nodes_[c].visits
                if visits > most or (visits == most and self.nodes_[c].average > average):
                    best, most, average = c, visits, self.nodes_[c].average
                c = self.nodes_[c].sibling
            if best == NONE:
                return self.path_of(n)
            n = best


class Bounds(Tallies):
    """Tallies with an optimistic bound for each node down to the depth `limit`."""

    def __init__(
        self, tree, slack, gain=None, reward_range=None, limit=None, kl=False, exact=False
    ):
        self.arguments = (tree, slack, gain, reward_range, limit, kl, exact)
        self.slack = np.array(slack, dtype=np.float64)
        self.stepwise = gain is not None
        self.gain = np.array(slack if gain is None else gain, dtype=np.float64)
        self.kl = kl
        self.width = 0.0
        self.union = 0.0
        self.low = INF
        self.high = -INF
        self.known_range = reward_range is not None
        self.base = 0.0
        self.ceiling = 0.0
        self.scale = 1.0
        if self.known_range:
            self.low, self.high = reward_range
            self._set_scale()
        Tallies.__init__(self, tree, exact)
        if limit is not None:
            self.limit = limit
        self.nodes_[ROOT].bound = INF

    def __reduce__(self):
        state = Tallies.__reduce__(self)[2]
        own = self.width, self.union, self.low, self.high, self.base, self.ceiling, self.scale
        return type(self), self.arguments, (state, own)

    def __setstate__(self, state):
        Tallies.__setstate__(self, state[0])
        self.width, self.union, self.low, self.high, self.base, self.ceiling, self.scale = state[1]

    def set_width(self, width, union=0.0):
        """Change the confidence width, and recompute all bounds."""
        self.width = width
        self.union = union
        self._recompute()

    # ------------------------------------------------------------------ the range of rewards

    def _widen(self, low, high):
        """Extend the range of rewards; recompute all bounds if the range in use has changed."""
        if self.known_range or (low >= self.low and high <= self.high):
            return
        self.low = min(self.low, low)
        self.high = max(self.high, high)
        before = self.base, self.ceiling, self.scale
        self._set_scale()
        if (self.base, self.ceiling, self.scale) != before:
            self._recompute()

    def _set_scale(self):
        """Set the range in use from the lowest and the highest reward, rounded outwards."""
        spread = self.high - self.low
        if spread < TINY or self.known_range:
            # A single reward only shows the magnitude of rewards, not their range.
            self.base, self.ceiling = self.low, self.high
            self.scale = spread or abs(self.high) or 1.0
        else:
            part = 1.0 / PARTS
            while part * PARTS < spread:
                part *= 2.0
            while part * PARTS >= 2.0 * spread:
                part *= 0.5
            if self.stepwise:
                self.base = part * (self.low // part)
                self.ceiling = -part * (-self.high // part)
                self.scale = self.ceiling - self.base
            else:  # only the difference matters: then shifting the rewards changes nothing
                self.scale = -part * (-spread // part)

    # ------------------------------------------------------------------ rewards

    def add(self, path, reward):
        """Record the reward of a validated path; return its last node."""
        end = Tallies.add(self, path, reward)
        self._widen(reward, reward)
        self._back_up(end)
        return end

    def add_steps(self, path, reward, steps):
        """Record the reward of a path and the undiscounted rewards of its first steps."""
        end = Tallies.add(self, path, reward)
        low = INF
        high = -INF
        given = len(steps)
        mean: cython.double = 0.0
        n = end
        for depth in range(len(path), 0, -1):
            if depth <= given:
                step: cython.double = steps[depth - 1]
                low = min(low, step)
                high = max(high, step)
                mean += step / given
                change = step - self.nodes_[n].step_average
                self.nodes_[n].step_average += change / self.nodes_[n].visits
            n = self.nodes_[n].parent
        # The root keeps the mean of all steps, expected of a step without rewards.
        change = mean - self.nodes_[ROOT].step_average
        self.nodes_[ROOT].step_average += change / self.nodes_[ROOT].visits
        self._widen(low, high)
        self._back_up(end)
        return end

    def add_pending(self, path, change):
        """Count one more (or one fewer) pending evaluation of a path; return its last node."""
        end = Tallies.add_pending(self, path, change)
        self._back_up(end)
        return end

    # ------------------------------------------------------------------ bounds

    def _back_up(self, n):
        """Recompute the bounds from a node up to the root."""
        while n != NONE:
            self.nodes_[n].bound = self._bound(n)
            n = self.nodes_[n].parent

    def _recompute(self):
        """Recompute all bounds, children first: a node has a higher number than its parent."""
        for n in range(self.used - 1, -1, -1):
            self.nodes_[n].bound = self._bound(n)

    def _bound(self, n):
        """Return the bound of a node whose children have theirs."""
        count = self.nodes_[n].visits + self.nodes_[n].pending
        if count == 0:
            return INF
        depth = self.nodes_[n].depth
        is_leaf = self.nodes_[n].branching == 0
        slack = self.slack[self.slack.shape[0] - 1 if is_leaf else depth]
        below = INF
        if not is_leaf and depth < self.limit:
            below = self._highest_below(n)
        if self.stepwise:
            gain = self.gain[depth]
            step = gain * self._upper(n, count) if gain > 0.0 else 0.0
            return step + min(self.ceiling * slack, below)
        return min(self._upper(n, count) + self.scale * slack, below)

    def _highest_below(self, n):
        """Return the highest bound of the children (without known arms if rewards are exact)."""
        if self.nodes_[n].explored < self.nodes_[n].branching:
            return INF
        best = -INF
        c = self.nodes_[n].child
        while c != NONE:
            if not (self.exact and self._is_exhausted(c)):
                best = max(best, self.nodes_[c].bound)
            c = self.nodes_[c].sibling
        return best

    def _upper(self, n, count):
        """Return the upper confidence bound of a node's expected value."""
        # A node that is only pending is expected to give what the one above it gave.
        while self.nodes_[n].visits == 0 and self.nodes_[n].parent != NONE:
            n = self.nodes_[n].parent
        estimate = self.nodes_[n].step_average if self.stepwise else self.nodes_[n].average
        if self.kl:
            share = (estimate - self.base) / self.scale
            return self.base + self.scale * bernoulli_upper(share, self.width / count)
        squared = self.width / count
        if self.union > 0.0:
            squared += self.union * log(count * (count + 1.0)) / count
        return estimate + self.scale * sqrt(squared)

    def _score_children(self, n, exploration):
        """Leave the bounds, which are kept up to date."""


def bernoulli_upper(p, most):
    """Return the largest q <= 1 with kl(p, q) <= most, for the kl of two Bernoulli variables.

    >>> round(bernoulli_upper(0.0, 1.0), 6)  # 1 - 1/e
    0.632121
    """
    if p >= 1.0:
        return 1.0
    if p <= 0.0:
        return 1.0 - exp(-most)
    if most <= 0.0:
        return p
    entropy = -p * log(p) - (1.0 - p) * log(1.0 - p)
    # Two values above the solution: kl >= 2 (q - p)^2, and kl >= -(1 - p) log(1 - q) - entropy.
    # From there Newton's method descends to it and never passes it, since kl is convex in q.
    q = min(p + sqrt(most / 2.0), 1.0 - exp(-(most + entropy) / (1.0 - p)))
    for _ in range(60):
        if q >= 1.0:
            return 1.0  # up to rounding
        excess = -entropy - p * log(q) - (1.0 - p) * log(1.0 - q) - most
        step = excess * q * (1.0 - q) / (q - p)
        if not step > 1e-15:
            break
        q -= step
        if q <= p:
            return p
    return q
