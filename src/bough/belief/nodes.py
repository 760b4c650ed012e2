# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The nodes of a tree that exist so far: one array of records, found by path and grown by need.

What the records hold stands in `_nodes.pxd`, the notation in `_core.py`.

A node with many children keeps them in *groups*: nodes whose step is 0 for certain (v = 0,
mu = 0, so g = 1), which change nothing in the mathematics and keep every list of children short.
"""

from __future__ import annotations

import cython
import numpy as np

from bough._validation import real

ROOT = 0
NONE = -1
ENDLESS = 2**31 - 1  # the branching of a node that never runs out
INF = float("inf")

#: No value, mean or noise may be larger than this, nor the variance of a kernel than that; and no
#: variance smaller than TINY counts as more than zero. So nothing overflows.
LARGEST = 1e50
LARGEST_VARIANCE = 1e110
TINY = 1e-100
#: A list of children is split into groups when it would grow longer than this ...
LONGEST_LIST = 32
#: ... into at most this many groups, each of a multiple of 2^GROUP_BITS neighbours.
MOST_GROUPS = 16
GROUP_BITS = 4
#: With a prior mean that is a function, so many children of a visited node become nodes.
MOST_FORESEEN = 1000

NODE = np.dtype(
    [(name, np.int32) for name in ("child", "sibling", "parent", "index")]
    + [(name, np.float64) for name in ("g", "offset", "spread", "extra")]
    + [(name, np.int32) for name in ("count", "branching", "explored", "group_bits")]
    + [
        (name, np.float64)
        for name in (
            "own_precision", "own_value", "sub_precision", "sub_shift", "v", "mu", "average",
        )
    ]
    + [(name, np.int32) for name in ("visits", "depth")],
    align=True,
)  # fmt: skip

PENDING = np.dtype(
    [("count", np.int64)] + [(name, np.float64) for name in ("own", "q", "spread", "tau")],
    align=True,
)


class Nodes:
    """The explored part of a tree, and what a prior mean says of it."""

    def __init__(self, tree, increments, mean, single_steps):
        self.tree = tree
        self.depth = tree.depth
        self.single_steps = single_steps
        self.ragged = tree.counts is None
        self._set_prior(increments, mean)
        self._set_widths()
        self.used = 0
        self.pending_ = aligned(PENDING, 0)
        self.nodes_ = aligned(NODE, 0)
        self.waiting = 0
        self.last_token = 0
        self._make_path_scratch()
        self._reserve(1)
        self._plant()

    def _plant(self):
        """Begin with the root alone."""
        width = narrow(self.tree.children(())) if self.ragged else self.widths[0]
        self.used = 0
        self._new_node(NONE, 0, 0, width, 0.0)

    def clear(self):
        """Forget all that was told and all that is pending.

        It is as if the belief were new, but faster to begin with: it keeps its memory.
        """
        self.waiting = 0
        self._plant()

    def _set_prior(self, increments, mean):
        """Take a kernel and a prior mean, or raise an exception and nothing has changed."""
        v = np.array(increments, dtype=np.float64)
        if v.shape != (self.depth + 1,) or not np.all(v >= 0) or v.sum() > LARGEST_VARIANCE:
            raise ValueError(
                f"the kernel must give {self.depth + 1} increments, none negative or above "
                f"{LARGEST_VARIANCE:.0e}, for a tree of depth {self.depth}, got {v}"
            )
        v[v < TINY] = 0.0
        self.center = moderate(mean(()), "mean(())") if callable(mean) else moderate(mean, "mean")
        self.prior_mean = mean if callable(mean) else None
        self.increments = v
        tail = np.zeros(self.depth + 1)
        tail[: self.depth] = v[1:] if self.single_steps else np.cumsum(v[1:][::-1])[::-1]
        self.tail = tail
        self._set_rest()

    def _set_rest(self):
        self.rest = np.append(np.cumsum(np.asarray(self.increments)[:0:-1])[::-1], 0.0)

    def _set_widths(self):
        self.widths = np.zeros(self.depth + 1, dtype=np.int32)
        for d, count in enumerate(self.tree.counts or ()):
            self.widths[d] = narrow(count)

    def _make_path_scratch(self):
        # A path has at most 8 groups between one node and the next: an index has 32 bits.
        self.steps = np.zeros(self.depth + 1, dtype=np.int32)
        self.trail = np.zeros(9 * (self.depth + 1), dtype=np.int32)

    @property
    def nodes(self):
        """The nodes as a read-only NumPy record array, parents by number; 0 is the root.

        Groups (see the module `_core`) have `count == -1`. The view is not changed by what the
        belief learns after the array was moved to grow, so ask for it anew.
        """
        self._check_made()
        return read_only(self.nodes_, NODE, self.used)

    def _check_made(self):
        if self.used == 0:
            raise RuntimeError("__init__ of this belief was not called")

    @cython.final
    def _is_group(self, n):
        return self.nodes_[n].count < 0

    @cython.final
    def _weight(self, n):
        """Return how many children a node stands for: 1, or those in the group."""
        return self.nodes_[n].explored if self._is_group(n) else 1

    # ------------------------------------------------------------------ paths

    def _read(self, path):
        """Check a path, copy it to `steps`, and return its length."""
        self._check_made()
        if type(path) is tuple and not self.ragged and len(path) <= self.depth:
            given: tuple = path
            length = len(given)
            try:
                for i in range(length):
                    if type(given[i]) is not int:
                        break
                    step: cython.longlong = given[i]
                    if step < 0 or step >= self.widths[i]:
                        break
                    self.steps[i] = cython.cast(cython.int, step)
                else:
                    return length
            except OverflowError:
                pass
        # Something is unusual: the tree finds out what, in Python.
        path, counts = self.tree.walk(path)
        length = len(path)
        for i in range(length):
            self.steps[i] = path[i]
        if self.ragged:
            for i in range(length + 1):
                self.widths[i] = narrow(counts[i])
        return length

    def _path(self, length):
        """Return the first so many of the `steps`."""
        return tuple([int(self.steps[i]) for i in range(length)])

    @cython.final
    def _find(self, n, index):
        """Return the child with that index, or NONE; groups passed are put on the trail."""
        while True:
            shift = self.nodes_[n].group_bits
            c = self.nodes_[n].child
            while c != NONE and self.nodes_[c].index >> shift != index >> shift:
                c = self.nodes_[c].sibling
            if c == NONE or shift == 0:
                return c
            n = c
            self.trail[self.trailed] = c
            self.trailed += 1

    def _locate(self, length):
        """Follow `steps` down the nodes that exist; leave the posterior of F where they end.

        Returns the number of steps that exist.
        """
        n = ROOT
        self.trail[0] = ROOT
        self.trailed = 1
        self.m_above = 0.0
        self.variance_above = 0.0
        self.m = self.nodes_[ROOT].offset
        self.variance = self.nodes_[ROOT].spread
        for i in range(length + 1):
            if self.ragged and self.nodes_[n].branching != self.widths[i]:
                raise ValueError(
                    f"the tree's branching function changed its mind: node "
                    f"{self._path(i)} had {self.nodes_[n].branching} "
                    f"children and now has {self.widths[i]}; it must always give the same answer"
                )
            if i == length:
                break
            n = self._find(n, self.steps[i])
            if n == NONE:
                return i
            self.trail[self.trailed] = n
            self.trailed += 1
            g = self.nodes_[n].g
            self.m_above = self.m
            self.variance_above = self.variance
            self.m = g * self.m + self.nodes_[n].offset
            self.variance = self.nodes_[n].spread + g * g * self.variance
        return length

    def _climb(self, n):
        """Put the way from the root to a node on the trail, with the posterior of F at its end."""
        c = n
        length = 0
        while c != NONE:
            length += 1
            c = self.nodes_[c].parent
        self.trailed = length
        for i in range(length - 1, -1, -1):
            self.trail[i] = n
            n = self.nodes_[n].parent
        self.length = self.found = self.nodes_[self.trail[length - 1]].depth
        self.m = 0.0
        self.variance = 0.0
        for i in range(length):
            n = self.trail[i]
            g = self.nodes_[n].g
            self.m = g * self.m + self.nodes_[n].offset
            self.variance = self.nodes_[n].spread + g * g * self.variance

    # ------------------------------------------------------------------ nodes

    def _reserve(self, more):
        """Make room for so many more nodes: all of it, or an exception and nothing has changed."""
        capacity = self.nodes_.shape[0]
        if self.used + more <= capacity:
            return
        if self.used + more > ENDLESS - 1:
            raise MemoryError("a belief holds at most 2^31 nodes")
        capacity = max(256, 2 * capacity, self.used + more)
        nodes = grown(self.nodes_, NODE, capacity)
        pending = grown(self.pending_, PENDING, capacity if self.last_token else 0)
        self.nodes_ = nodes
        self.pending_ = pending

    def _new_node(self, parent, index, depth, branching, mu):
        """Make a node without evidence in the list of `parent`; there must be room for it."""
        n = self.used
        self.used += 1
        self.nodes_[n].child = NONE
        self.nodes_[n].sibling = NONE
        self.nodes_[n].parent = parent
        self.nodes_[n].index = index
        self.nodes_[n].depth = depth
        self.nodes_[n].branching = branching
        self.nodes_[n].v = self.increments[depth]
        self.nodes_[n].mu = mu
        self.nodes_[n].g = 1.0
        self.nodes_[n].offset = mu
        self.nodes_[n].spread = self.increments[depth]
        self.nodes_[n].count = 0
        self.nodes_[n].visits = 0
        self.nodes_[n].average = 0.0
        self.nodes_[n].explored = 0
        self.nodes_[n].group_bits = 0
        self.nodes_[n].own_precision = 0.0
        self.nodes_[n].own_value = 0.0
        self.nodes_[n].sub_precision = 0.0
        self.nodes_[n].sub_shift = 0.0
        if parent != NONE:
            self._link(parent, n)
        self._set_arm(n)
        return n

    def _link(self, parent, n):
        """Put n in the list of `parent`, which is in the order of the index."""
        before = NONE
        after = self.nodes_[parent].child
        while after != NONE and self.nodes_[after].index < self.nodes_[n].index:
            before = after
            after = self.nodes_[after].sibling
        self.nodes_[n].parent = parent
        self.nodes_[n].sibling = after
        if before == NONE:
            self.nodes_[parent].child = n
        else:
            self.nodes_[before].sibling = n

    def _set_arm(self, n):
        """Say what the node's own arm is: itself, one of its unexplored children, or none."""
        if self._is_arm(n):
            self.nodes_[n].extra = 0.0
        elif self.nodes_[n].explored < self.nodes_[n].branching:
            self.nodes_[n].extra = self.tail[self.nodes_[n].depth]
        else:
            self.nodes_[n].extra = -1.0

    def _is_arm(self, n):
        """Return whether the node itself is an arm, so that its path needs no further step."""
        if self._is_group(n):
            return False
        if self.nodes_[n].branching == 0:
            return True
        return self.single_steps and n != ROOT and not self._is_visited(n)

    @cython.final
    def _is_awaited(self, n):
        """Return whether the node is an arm of which an evaluation is pending."""
        return self.waiting > 0 and self.pending_[n].own > 0.0 and self.nodes_[n].branching == 0

    def _is_visited(self, n):
        """Return whether there was a reading, told or pending, at the node or below."""
        return self.nodes_[n].visits > 0 or (self.waiting and self.pending_[n].count > 0)

    def _add_child(self, n, index, width, mu):
        """Make a child of n, which has none with that index; the trail goes on to the child.

        There must be room for it, and for MOST_GROUPS + 1 groups.
        """
        while True:
            # The trail ends in n or in a group of n's children: there the child belongs.
            place = self.trail[self.trailed - 1]
            length = 0
            c = self.nodes_[place].child
            while c != NONE:
                length += 1
                c = self.nodes_[c].sibling
            if length < LONGEST_LIST:
                break
            self._regroup(place)
            self._find(place, index)
        if self.nodes_[place].group_bits > 0:
            place = self._new_group(place, index, self.nodes_[place].group_bits)
            self.trail[self.trailed] = place
            self.trailed += 1
        c = self._new_node(place, index, self.nodes_[n].depth + 1, width, mu)
        self.trail[self.trailed] = c
        self.trailed += 1
        while place != n:
            self.nodes_[place].explored += 1
            place = self.nodes_[place].parent
        self.nodes_[n].explored += 1
        self._set_arm(n)
        return c

    def _new_group(self, place, index, shift):
        """Make an empty group of 2^shift neighbours in the list of `place`."""
        c = self._new_node(place, (index >> shift) << shift, self.nodes_[place].depth, 0, 0.0)
        self.nodes_[c].v = 0.0
        self.nodes_[c].spread = 0.0
        self.nodes_[c].count = -1
        self.nodes_[c].extra = -1.0
        return c

    def _regroup(self, place):
        """Split the list of a node or group into groups, as small as make at most MOST_GROUPS."""
        items = self.nodes_[place].child
        old = self.nodes_[place].group_bits
        shift = old
        heads = set()
        while True:
            shift += GROUP_BITS
            heads.clear()
            c = items
            while c != NONE:
                heads.add(self.nodes_[c].index >> shift)
                c = self.nodes_[c].sibling
            if len(heads) <= MOST_GROUPS:
                break
        self.nodes_[place].child = NONE
        for head in sorted(heads):
            group = self._new_group(place, head << shift, shift)
            self.nodes_[group].group_bits = old
        while items != NONE:
            after = self.nodes_[items].sibling
            group = self.nodes_[place].child
            while self.nodes_[group].index >> shift != self.nodes_[items].index >> shift:
                group = self.nodes_[group].sibling
            self._link(group, items)
            self.nodes_[group].explored += self._weight(items)
            self.nodes_[group].visits += self.nodes_[items].visits
            if self.waiting:
                self.pending_[group].count += self.pending_[items].count
            items = after
        self.nodes_[place].group_bits = shift
        c = self.nodes_[place].child
        while c != NONE:
            self._gather(c)
            c = self.nodes_[c].sibling

    def _gather(self, group):
        """Take together the evidence of those in a new group."""

    # ------------------------------------------------------------------ growing the tree

    def _prior(self, path):
        return moderate(self.prior_mean(path), f"mean({path})")

    def _approach(self, path, growing):
        """Read a path, and find the posterior of F at its end and the nodes on it that exist.

        If it is to be grown, return what the prior mean has to say of the nodes to come: for each
        depth the children to make, as (index, branching, mu); None if the mean is a constant. All
        is asked before anything is changed, since the user's functions may raise. And when they
        have been asked the path is read again, since they may have used this belief.
        """
        self.length = self._read(path)
        self.found = self._locate(self.length)
        n = self.trail[self.trailed - 1]
        if self.found < self.length and self.nodes_[n].branching == 0 and not self._is_group(n):
            raise ValueError(
                f"path {self._path(self.length)} goes on below {self._path(self.found)}, "
                "where it ended"
            )
        self.step_prior = 0.0
        plan = None
        if self.prior_mean is not None:
            length = self.length
            found = self.found
            path = self._path(length)
            visited = 0  # how many nodes of the path were visited before
            for i in range(self.trailed):
                if not self._is_group(self.trail[i]) and self._is_visited(self.trail[i]):
                    visited += 1
            rise = 0.0
            step_prior = 0.0
            if found < length:
                end = self._prior(path)
                rise = end - self._prior(path[:found])
                step_prior = end - self._prior(path[: length - 1])
            if growing:
                plan = self._foresee(path, found, visited)
            self.length = self._read(path)
            self.found = self._locate(length)
            if self.found != found:
                raise RuntimeError("the belief was changed while its prior mean was asked")
            self.m += rise
            self.step_prior = step_prior
        for i in range(self.found, self.length):
            self.variance += self.increments[i + 1]
        return plan

    def _foresee(self, path, found, visited):
        """Return what `_approach` says, of a path whose first nodes exist or were visited."""
        plan = {}
        for i in range(min(found, visited), len(path) + 1):
            node = path[:i]
            if i >= visited:
                width = self.tree.children(node)
                indices = list(range(min(width, MOST_FORESEEN) if width < INF else 0))
            elif i == found < len(path):
                indices = []  # its children were made when it was visited, up to MOST_FORESEEN
            else:
                continue
            if i < len(path) and (i == found or i >= visited) and path[i] not in indices:
                indices.append(path[i])
            here = self._prior(node)
            plan[i] = [
                (k, narrow(self.tree.children((*node, k))), self._prior((*node, k)) - here)
                for k in indices
            ]
        return plan

    def _grow(self, plan):
        """Make the nodes of the path that do not exist, and return its end."""
        if plan:
            return self._grow_as_foreseen(plan)
        # Of all that is new only the first node goes into a list that may have to be split.
        self._reserve(self.length - self.found + MOST_GROUPS + 1)
        n = self.trail[self.trailed - 1]
        while self._is_group(n):
            n = self.nodes_[n].parent
        for i in range(self.found, self.length):
            n = self._add_child(n, self.steps[i], self.widths[i + 1], 0.0)
        return n

    def _grow_as_foreseen(self, plan):
        # A child may need a group, and every MOST_GROUPS of them a list be split into as many.
        self._reserve(sum([3 * len(children) + MOST_GROUPS + 1 for children in plan.values()]))
        n = ROOT
        self.trail[0] = ROOT
        self.trailed = 1
        for i in range(self.length + 1):
            trailed = self.trailed
            for index, width, mu in plan.get(i, ()):
                if self._find(n, index) == NONE:
                    self._add_child(n, index, width, mu)
                self.trailed = trailed
            if i < self.length:
                n = self._find(n, self.steps[i])
                self.trail[self.trailed] = n
                self.trailed += 1
        return n

    # ------------------------------------------------------------------ saving

    def __reduce__(self):
        return _blank, (type(self),), self._state()

    def _state(self):
        """Return all there is to save, as plain objects and arrays."""
        return {
            "own": getattr(self, "__dict__", None),
            "tree": self.tree,
            "prior_mean": self.prior_mean,
            "center": self.center,
            "single_steps": bool(self.single_steps),
            "increments": np.array(self.increments),
            "tail": np.array(self.tail),
            "nodes": np.array(np.asarray(self.nodes_)[: self.used]),
            "pending": np.array(np.asarray(self.pending_)[: self.used]),
            "last_token": self.last_token,
        }

    def __setstate__(self, state):
        if state["own"] is not None:
            self.__dict__.update(state["own"])
        self.tree = state["tree"]
        self.depth = self.tree.depth
        self.ragged = self.tree.counts is None
        self.prior_mean = state["prior_mean"]
        self.center = state["center"]
        self.single_steps = state["single_steps"]
        self.increments = np.array(state["increments"])  # the state may be read-only
        self.tail = np.array(state["tail"])
        self._set_rest()
        self._set_widths()
        self.used = len(state["nodes"])
        self.nodes_ = grown(state["nodes"], NODE, self.used)
        self.pending_ = grown(state["pending"], PENDING, len(state["pending"]))
        self.last_token = state["last_token"]
        self._make_path_scratch()


def _blank(cls):
    return cls.__new__(cls)


def moderate(value, name):
    """Return a real number that is not so large that computing with it could overflow."""
    number = real(value, name)
    if abs(number) > LARGEST:
        raise ValueError(
            f"{name} must be between -{LARGEST:.0e} and {LARGEST:.0e}, got {value!r}; "
            "measure rewards in larger units"
        )
    return number


def narrow(count):
    """Return a branching as an int: ENDLESS for `math.inf`."""
    return ENDLESS if count == INF else int(count)


def aligned(dtype, shape):
    """Return a zeroed record array that starts on a cache line."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape).view(np.recarray)


def read_only(array, dtype, count):
    """Return a view of the first records that cannot be written to.

    (As bytes: to ask NumPy what records a compiled module has takes it half a millisecond.)
    """
    raw = np.frombuffer(array, dtype=np.uint8)[: count * dtype.itemsize]
    return np.frombuffer(memoryview(raw).toreadonly(), dtype=dtype)


def grown(array, dtype, capacity):
    """Return a longer copy, with zeros behind."""
    # (A memoryview knows its array; to make one of it anew is slow for records.)
    old = array if isinstance(array, np.ndarray) else array.base
    new = aligned(dtype, capacity)
    new[: len(old)] = old
    return new
