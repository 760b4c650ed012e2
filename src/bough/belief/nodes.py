# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The node array: the explored part of a tree as records, found by path, grown as needed.

`nodes.pxd` says what a record holds; the mathematics is in `posterior.py`. Nothing here depends on
what reads the nodes: a reader that keeps results of its own compares their age with the `stamp` of
a node, the number of the last change at the node or below.

A node with many children keeps them in *groups*: nodes whose step is 0 for certain (v = 0,
mu = 0, so g = 1), which change nothing in the mathematics and keep every list of children short.

All compiled modules are Python that Cython compiles; run as it is, it gives the same bits, slowly.
The `.pxd` files declare records, attributes and methods; other types are inferred.
"""

from __future__ import annotations

import cython
import numpy as np

from bough._validation import real

if not cython.compiled:
    ROOT = 0
    NONE = GROUP = NO_ARM = -1
    ITSELF = 0
    UNEXPLORED = 1
    ENDLESS = 2**31 - 1
    INF = float("inf")
    TINY = 1e-100
    LARGEST = 1e50

#: The `count` of a group, for Python code.
GROUP_COUNT = GROUP
#: The smallest variance: those below count as 0.
LEAST_VARIANCE = TINY
LARGEST_VARIANCE = 1e110
#: A list of children is split into groups when it would grow longer than this ...
LONGEST_LIST = 32
#: ... into at most this many groups, each of a multiple of 2^GROUP_BITS neighbors.
MOST_GROUPS = 16
GROUP_BITS = 4
#: With a prior mean that is a function, this many children of a visited node become nodes.
MOST_FORESEEN = 1000


def record(*fields):
    """Return the dtype of a struct, given the names and the type of its fields in order."""
    pairs = [(name, kind) for names, kind in fields for name in names.split()]
    return np.dtype(pairs, align=True)


NODE = record(
    ("child sibling parent index", np.int32),
    ("g offset spread", np.float64),
    ("arm stamp count branching explored group_bits", np.int32),
    ("own_precision own_value sub_precision sub_shift v mu average", np.float64),
    ("visits depth", np.int32),
)
PENDING = record(("count", np.int64), ("own q spread tau", np.float64))


class Nodes:
    """The explored part of a tree, and the prior of its nodes."""

    def __init__(self, tree, increments, mean, single_steps):
        self.tree = tree
        self.depth = tree.depth
        self.single_steps = single_steps
        self.ragged = tree.counts is None
        self.set_prior(increments, mean)
        self.widths = np.zeros(self.depth + 1, dtype=np.int32)
        for d, count in enumerate(tree.counts or ()):
            self.widths[d] = narrow(count)
        # A path has at most 8 groups between one node and the next: an index has 32 bits.
        self.steps = np.zeros(self.depth + 1, dtype=np.int32)
        self.trail = np.zeros(9 * (self.depth + 1), dtype=np.int32)
        self.split = []
        self.now = 0
        self.reopened = 0
        self.used = 0
        self.array = aligned(NODE, 0)
        self.pending = aligned(PENDING, 0)
        self.reserve(1)
        self.clear()

    def clear(self):
        """Keep the root alone, without observations."""
        width = narrow(self.tree.children(())) if self.ragged else self.widths[0]
        if self.pending.shape[0]:
            for n in range(self.used):
                self.pending[n].count = 0
                self.pending[n].own = 0.0
        self.waiting = 0
        self.used = 0
        self._new_node(NONE, 0, 0, width, 0.0)
        self.now += 1

    def set_prior(self, increments, mean):
        """Take a kernel and a prior mean, or raise an exception and change nothing."""
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
        self.below = np.append(np.cumsum(v[:0:-1])[::-1], 0.0)
        self.beyond = np.append(v[1:], 0.0) if self.single_steps else self.below

    @property
    def records(self):
        """The nodes as a read-only record array."""
        return read_only(self.array, NODE, self.used)

    # ------------------------------------------------------------------ paths

    def read(self, path):
        """Check a path, copy it to `steps`, and return its length."""
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

    def path(self, length):
        """Return the first `length` of the `steps`."""
        return tuple([int(self.steps[i]) for i in range(length)])

    def find(self, n, index):
        """Return the child with that index, or NONE; append groups on the way to the trail."""
        while True:
            shift = self.array[n].group_bits
            c = self.array[n].child
            while c != NONE and self.array[c].index >> shift != index >> shift:
                c = self.array[c].sibling
            if c == NONE or shift == 0:
                return c
            n = c
            self.trail[self.trailed] = c
            self.trailed += 1

    def locate(self, length):
        """Follow `steps` down the nodes that exist, and return how many do.

        Leaves the trail to the last of them, and the posterior of F there.
        """
        n = ROOT
        self._start_trail()
        self._extend(ROOT)
        for i in range(length + 1):
            if self.ragged and self.array[n].branching != self.widths[i]:
                raise ValueError(
                    f"the branching function of the tree is inconsistent: node "
                    f"{self.path(i)} had {self.array[n].branching} "
                    f"children and now has {self.widths[i]}; it must always return the same number"
                )
            if i == length:
                break
            n = self.find(n, self.steps[i])
            if n == NONE:
                return i
            self._extend(n)
        return length

    def _start_trail(self):
        self.trailed = 0
        self.m = 0.0
        self.variance = 0.0

    def _extend(self, n):
        """Append a node to the trail, and find the posterior of F there."""
        self.trail[self.trailed] = n
        self.trailed += 1
        g = self.array[n].g
        self.m_above = self.m
        self.variance_above = self.variance
        self.m = g * self.m + self.array[n].offset
        self.variance = self.array[n].spread + g * g * self.variance

    def climb(self, n):
        """Let the trail lead from the root to a node, with the posterior of F there."""
        self.length = self.found = self.array[n].depth
        size = 0  # of the trail
        c = n
        while c != NONE:
            size += 1
            c = self.array[c].parent
        for i in range(size - 1, -1, -1):
            self.trail[i] = n
            n = self.array[n].parent
        self._start_trail()
        for i in range(size):
            self._extend(self.trail[i])

    def real_parent(self, n):
        """Return the parent of a node, groups passed."""
        n = self.array[n].parent
        while self.array[n].count == GROUP:
            n = self.array[n].parent
        return n

    def deepest(self, n):
        """Return the node at or below n that comes first if children come before parents."""
        while self.array[n].child != NONE:
            n = self.array[n].child
        return n

    def next_upwards(self, n):
        """Return the next node in that order; NONE after the root."""
        sibling = self.array[n].sibling
        return self.array[n].parent if sibling == NONE else self.deepest(sibling)

    def observed_on_trail(self):
        """Return how many steps of the trail lead to nodes with observations there or below."""
        steps = -1  # the root is at the end of no step
        for i in range(self.trailed):
            n = self.trail[i]
            if self.array[n].count != GROUP and (self.array[n].visits > 0 or n == ROOT):
                steps += 1
        return steps

    def path_to(self, n):
        """Return the path of a node, as a list."""
        path = []
        while self.array[n].parent != NONE:
            if self.array[n].count != GROUP:
                path.append(int(self.array[n].index))
            n = self.array[n].parent
        path.reverse()
        return path

    def complete(self, n, rng):
        """Return the path of an arm below an unexplored child of n, as a list.

        Children are drawn at random; without an rng they are those of the lowest index.
        """
        path = self.path_to(n)
        path.append(int(self.unexplored_child(n, rng)))
        if self.single_steps:
            return path
        for d in range(self.array[n].depth + 1, self.depth):
            width: cython.int = (
                narrow(self.tree.children(tuple(path))) if self.ragged else self.widths[d]
            )
            if width == 0:
                break
            path.append(0 if rng is None or width == ENDLESS else rng.below(width))
        return path

    def unexplored_child(self, n, rng):
        """Return the index of an unexplored child: a random one, the lowest without an rng.

        Walks the list, which is sorted, and into the one group that holds it.
        """
        rank = 0  # the number of unexplored children before it
        if rng is not None and self.array[n].branching < ENDLESS:
            rank = rng.below(self.array[n].branching - self.array[n].explored)
        after = 0  # the index after what was passed
        c = self.array[n].child
        while c != NONE:
            if rank < self.array[c].index - after:
                break
            rank -= self.array[c].index - after
            after = self.array[c].index
            if self.array[c].count != GROUP:
                after += 1
                c = self.array[c].sibling
                continue
            size = 1 << self.array[self.array[c].parent].group_bits
            free = min(size, self.array[n].branching - after) - self.array[c].explored
            if rank < free:
                c = self.array[c].child
            else:
                rank -= free
                after += size
                c = self.array[c].sibling
        return after + rank

    # ------------------------------------------------------------------ single nodes

    def is_arm(self, n):
        """Return whether the node itself is an arm, so that its path needs no further step."""
        if self.array[n].count == GROUP:
            return False
        if self.array[n].branching == 0:
            return True
        return self.single_steps and n != ROOT and not self.is_visited(n)

    def set_arm(self, n):
        """Update `arm` of a node whose children or visits have changed."""
        if self.is_arm(n):
            self.array[n].arm = ITSELF
        elif self.array[n].explored < self.array[n].branching:
            self.array[n].arm = UNEXPLORED
        else:
            self.array[n].arm = NO_ARM

    def is_awaited(self, n):
        """Return whether the node is an arm of which an evaluation is pending."""
        return self.waiting > 0 and self.pending[n].own > 0.0 and self.array[n].branching == 0

    def is_visited(self, n):
        """Return whether there is an observation, made or pending, at the node or below."""
        return self.array[n].visits > 0 or (self.waiting and self.pending[n].count > 0)

    def weight(self, n):
        """Return how many children a node stands for: 1, or those in the group."""
        return self.array[n].explored if self.array[n].count == GROUP else 1

    def mark_trail(self):
        """Stamp the nodes on the trail, at the end of which something has changed."""
        self.now += 1
        for i in range(self.trailed):
            self.array[self.trail[i]].stamp = self.now
            if self.single_steps:
                self.set_arm(self.trail[i])

    def mark_all(self):
        """Stamp all nodes."""
        self.now += 1
        for n in range(self.used):
            self.array[n].stamp = self.now

    # ------------------------------------------------------------------ growth

    def reserve(self, more):
        """Make room for more nodes, or raise an exception and change nothing."""
        capacity = self.array.shape[0]
        if self.used + more <= capacity:
            return 0
        if self.used + more > ENDLESS - 1:
            raise MemoryError("a belief holds at most 2^31 nodes")
        capacity = max(256, 2 * capacity, self.used + more)
        array = grown(self.array, NODE, capacity)
        if self.pending.shape[0]:
            self.pending = grown(self.pending, PENDING, capacity)
        self.array = array
        return 0

    def _new_node(self, parent, index, depth, branching, mu):
        """Make a node without evidence in the list of `parent`; there must be room for it."""
        n = self.used
        self.used += 1
        self.array[n].child = NONE
        self.array[n].sibling = NONE
        self.array[n].parent = parent
        self.array[n].index = index
        self.array[n].depth = depth
        self.array[n].branching = branching
        self.array[n].stamp = self.now + 1
        self.array[n].v = self.increments[depth]
        self.array[n].mu = mu
        self.array[n].g = 1.0
        self.array[n].offset = mu
        self.array[n].spread = self.increments[depth]
        self.array[n].count = 0
        self.array[n].visits = 0
        self.array[n].average = 0.0
        self.array[n].explored = 0
        self.array[n].group_bits = 0
        self.array[n].own_precision = 0.0
        self.array[n].own_value = 0.0
        self.array[n].sub_precision = 0.0
        self.array[n].sub_shift = 0.0
        if parent != NONE:
            self._link(parent, n)
        self.set_arm(n)
        return n

    def _link(self, parent, n):
        """Put n in the list of `parent`, which is in the order of the index."""
        before = NONE
        after = self.array[parent].child
        while after != NONE and self.array[after].index < self.array[n].index:
            before = after
            after = self.array[after].sibling
        self.array[n].parent = parent
        self.array[n].sibling = after
        if before == NONE:
            self.array[parent].child = n
        else:
            self.array[before].sibling = n

    def _add_child(self, n, index, width, mu):
        """Make a child of n, which has none with that index, and append it to the trail.

        There must be room for it, and for MOST_GROUPS + 1 groups.
        """
        while True:
            # The trail ends in n or in a group of n's children: there the child belongs.
            place = self.trail[self.trailed - 1]
            length = 0
            c = self.array[place].child
            while c != NONE:
                length += 1
                c = self.array[c].sibling
            if length < LONGEST_LIST:
                break
            self._split(place)
            self.find(place, index)
        if self.array[place].group_bits > 0:
            place = self._new_group(place, index, self.array[place].group_bits)
            self.trail[self.trailed] = place
            self.trailed += 1
        c = self._new_node(place, index, self.array[n].depth + 1, width, mu)
        self.trail[self.trailed] = c
        self.trailed += 1
        while place != n:
            self.array[place].explored += 1
            place = self.array[place].parent
        self.array[n].explored += 1
        self.set_arm(n)
        return c

    def add_children(self, n, count):
        """Make all children of a node that has none, and return the number of the first.

        Their numbers are consecutive, and they are in no groups: this is for a reader that knows
        the children of a node by their numbers.
        """
        self.reserve(count)
        first = self.used
        depth = self.array[n].depth + 1
        for i in range(count):
            c = self._new_node(NONE, i, depth, ENDLESS, 0.0)
            self.array[c].parent = n
            self.array[c].sibling = c + 1 if i + 1 < count else NONE
        self.array[n].child = first
        self.array[n].branching = count
        self.array[n].explored = count
        self.set_arm(n)
        return first

    def _new_group(self, place, index, shift):
        """Make an empty group of 2^shift neighbors in the list of `place`."""
        c = self._new_node(place, (index >> shift) << shift, self.array[place].depth, 0, 0.0)
        self.array[c].v = 0.0
        self.array[c].spread = 0.0
        self.array[c].count = GROUP
        self.array[c].arm = NO_ARM
        return c

    def _split(self, place):
        """Split the list of a node or group into groups, as small as make at most MOST_GROUPS."""
        items = self.array[place].child
        old = self.array[place].group_bits
        shift = old
        heads = set()
        while True:
            shift += GROUP_BITS
            heads.clear()
            c = items
            while c != NONE:
                heads.add(self.array[c].index >> shift)
                c = self.array[c].sibling
            if len(heads) <= MOST_GROUPS:
                break
        self.array[place].child = NONE
        for head in sorted(heads):
            group = self._new_group(place, head << shift, shift)
            self.array[group].group_bits = old
            self.split.append(group)
        while items != NONE:
            after = self.array[items].sibling
            group = self.array[place].child
            while self.array[group].index >> shift != self.array[items].index >> shift:
                group = self.array[group].sibling
            self._link(group, items)
            self.array[group].explored += self.weight(items)
            self.array[group].visits += self.array[items].visits
            if self.waiting:
                self.pending[group].count += self.pending[items].count
            items = after
        self.array[place].group_bits = shift

    def prior(self, path):
        """Return the prior mean of a node, which must be a function, checked."""
        return moderate(self.prior_mean(path), f"mean({path})")

    def approach(self, path, growing):
        """Read a path, and find the posterior of F at its end and the nodes on it that exist.

        If it is to be grown, return what the prior mean says of the nodes to come: for each depth
        the children to make, as (index, branching, mu); None if the mean is a constant. The user's
        functions are called before anything is changed, since they may raise. And when they have
        been called the path is read again, since they may have used this belief.
        """
        self.length = self.read(path)
        self.found = self.locate(self.length)
        n = self.trail[self.trailed - 1]
        leaf = self.array[n].branching == 0 and self.array[n].count != GROUP
        if self.found < self.length and leaf:
            raise ValueError(
                f"path {self.path(self.length)} continues below {self.path(self.found)}, "
                "where it ended"
            )
        self.step_prior = 0.0
        plan = None
        if self.prior_mean is not None:
            length = self.length
            found = self.found
            path = self.path(length)
            visited = 0  # the number of nodes on the path that were visited before
            for i in range(self.trailed):
                n = self.trail[i]
                if self.array[n].count != GROUP and self.is_visited(n):
                    visited += 1
            rise = 0.0
            step_prior = 0.0
            if found < length:
                end = self.prior(path)
                rise = end - self.prior(path[:found])
                step_prior = end - self.prior(path[: length - 1])
            if growing:
                plan = self._foresee(path, found, visited)
            self.length = self.read(path)
            self.found = self.locate(length)
            if self.found != found:
                raise RuntimeError("the belief was changed while its prior mean was evaluated")
            self.m += rise
            self.step_prior = step_prior
        for i in range(self.found, self.length):
            self.variance += self.increments[i + 1]
        return plan

    def _foresee(self, path, found, visited):
        """Return the plan of `approach` for a path of which some nodes exist or were visited."""
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
            here = self.prior(node)
            plan[i] = [
                (k, narrow(self.tree.children((*node, k))), self.prior((*node, k)) - here)
                for k in indices
            ]
        return plan

    def grow(self, plan):
        """Make the nodes of the path that do not exist, and return its end."""
        if plan:
            return self._grow_as_foreseen(plan)
        # Of all that is new only the first node goes into a list that may have to be split.
        self.reserve(self.length - self.found + MOST_GROUPS + 1)
        n = self.trail[self.trailed - 1]
        while self.array[n].count == GROUP:
            n = self.array[n].parent
        for i in range(self.found, self.length):
            n = self._add_child(n, self.steps[i], self.widths[i + 1], 0.0)
        return n

    def _grow_as_foreseen(self, plan):
        # A child may need a group, and every MOST_GROUPS of them a list be split into as many.
        self.reserve(sum([3 * len(children) + MOST_GROUPS + 1 for children in plan.values()]))
        n = ROOT
        self.trail[0] = ROOT
        self.trailed = 1
        for i in range(self.length + 1):
            trailed = self.trailed
            for index, width, mu in plan.get(i, ()):
                if self.find(n, index) == NONE:
                    self._add_child(n, index, width, mu)
                self.trailed = trailed
            if i < self.length:
                n = self.find(n, self.steps[i])
                self.trail[self.trailed] = n
                self.trailed += 1
        return n

    # ------------------------------------------------------------------ saving

    def state(self):
        """Return what `restore` needs, as plain objects and arrays."""
        return {
            "prior_mean": self.prior_mean,
            "center": self.center,
            "increments": np.array(self.increments),
            "records": opaque(self.records).copy().view(NODE),
            "pending": np.array(np.asarray(self.pending)[: self.used]),
            "waiting": self.waiting,
            "stamps": (self.now, self.reopened),
        }

    def restore(self, state):
        """Take the state of other nodes of an equal tree."""
        self.set_prior(state["increments"], state["center"])
        self.prior_mean = state["prior_mean"]
        self.used = len(state["records"])
        self.array = grown(state["records"], NODE, self.used)
        self.pending = grown(state["pending"], PENDING, len(state["pending"]))
        self.waiting = state["waiting"]
        self.now, self.reopened = state["stamps"]


def moderate(value, name):
    """Return a real number that is not so large that computing with it could overflow."""
    if type(value) is float and -LARGEST <= value <= LARGEST:
        return value
    number = real(value, name)
    if abs(number) > LARGEST:
        raise ValueError(
            f"{name} must be between -{LARGEST:.0e} and {LARGEST:.0e}, got {value!r}; "
            "use larger units"
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

    (By their bytes: to ask NumPy what records a compiled module has takes it half a millisecond.)
    """
    raw = np.frombuffer(array, dtype=np.uint8)[: count * dtype.itemsize]
    return np.frombuffer(memoryview(raw).toreadonly(), dtype=dtype)


def grown(array, dtype, capacity):
    """Return a longer copy, with zeros behind."""
    # (A memoryview knows its array; to make one again is slow for records.)
    old = array if isinstance(array, np.ndarray) else array.base
    new = aligned(dtype, capacity)
    if old.dtype == new.dtype:
        opaque(new)[: len(old)] = opaque(old)
    else:
        new[: len(old)] = old
    return new


def opaque(records):
    """Return a view of records without their fields, for NumPy copies these one by one."""
    return records.view(np.dtype((np.void, records.dtype.itemsize)))
