# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The compiled heart: evidence on the nodes of a tree, and the exact best arm.

This is Python that Cython compiles; run as it is, it gives the same bits, slowly. What the
arrays hold, and the types of all methods, stand in `_core.pxd`. (Methods that are called in the
innermost loops are `final`, so that the C compiler may inline them.)

Notation

=============  =====================================================================================
v_n, mu_n      variance and mean of the step of node n, after readings of the step itself
F_n            the sum of the steps from the root to n; the reward of an arm is F at its end
               (in here less the prior mean of the root, `center`, which may be large)
P_n, h_n       what was observed at n or below, as the likelihood exp(-P F^2/2 + h F)
tau_n, eta_n   the same as seen from the parent: its contribution to the parent's P and h
g_n            1/(1 + v P): how much of a change of the parent's F arrives at n
m_n, V_n       posterior mean and variance of F_n:
               m = g m_parent + offset, V = spread + g^2 V_parent
Q_n, q_n       P_n and g_n with pending evaluations counted as observations
b              the number of standard deviations in a bound, sqrt(beta)
=============  =====================================================================================

A node with many children keeps them in *groups*: nodes whose step is 0 for certain (v = 0,
mu = 0, so g = 1), which change nothing in the mathematics and keep every list of children short.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import isfinite, log, sqrt

from bough._checks import at_least_zero, real

ROOT = 0
NONE = -1
OPEN = 2**31 - 1  # the branching of a node that never runs out
INF = float("inf")
LOG_TWO_PI = float(np.log(2 * np.pi))

#: Variances below this count as zero, so that no precision overflows.
TINY = 1e-200
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
    + [(name, np.int32) for name in ("depth", "branching", "explored", "shift")]
    + [
        (name, np.float64)
        for name in (
            "own_precision", "own_value", "sub_precision", "sub_shift", "v", "mu", "average",
        )
    ]
    + [(name, np.int32) for name in ("visits", "count")],
    align=True,
)  # fmt: skip

BOUND = np.dtype(
    [(name, np.float64) for name in ("top", "m", "sd", "b", "gmax", "gmin", "smax")]
    + [("valid", np.int64)],
    align=True,
)

PENDING = np.dtype(
    [("count", np.int64)] + [(name, np.float64) for name in ("own", "q", "spread", "tau")],
    align=True,
)

FRAME = np.dtype(
    [(name, np.int32) for name in ("node", "entry", "start")]
    + [(name, np.float64) for name in ("m", "sd", "top", "gmax", "gmin", "smax")],
    align=True,
)
ENTRY = np.dtype(
    [(name, np.float64) for name in ("bound", "m", "variance", "sd")] + [("node", np.int64)],
    align=True,
)

# The searches, each with bounds of its own, since bounds for one b say little about another.
UPPER = 0  # the next arm to play: pending evaluations count
LOWER = 1  # these: told observations only
MEAN = 2
SEARCHES = 3

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
MIX_A = 0xBF58476D1CE4E5B9
MIX_B = 0x94D049BB133111EB


class SplitMix64:
    """A small generator whose whole state is one int: `SplitMix64(seed)`."""

    def __init__(self, seed=0):
        self.state = int(seed) & (2**64 - 1)

    def draw(self):
        self.state = (self.state + GOLDEN) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * MIX_A) & MASK
        z = ((z ^ (z >> 27)) * MIX_B) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        """Return a random int from 0 to n - 1 (a bias of n/2^64 is left in)."""
        return cython.cast(cython.int, self.draw() % cython.cast(cython.ulonglong, n))

    def __reduce__(self):
        return SplitMix64, (self.state,)

    def __repr__(self):
        return f"SplitMix64({self.state})"


def generator(rng):
    """Return the SplitMix64 that `rng` (None, an int, a Generator) stands for; None for None."""
    if rng is None or isinstance(rng, SplitMix64):
        return rng
    if isinstance(rng, np.random.Generator):
        return SplitMix64(rng.integers(2**64, dtype=np.uint64))
    if isinstance(rng, (int, np.integer)) and rng >= 0:
        return SplitMix64(rng)
    raise TypeError(f"rng must be None, an int >= 0 or a numpy.random.Generator, got {rng!r}")


class Arm:
    """One arm and what is believed of it.

    Attributes
    ----------
    path : tuple of int
    params : dict or None
        What the path stands for in a space; None on a plain tree.
    mean, std : float
        Posterior mean and standard deviation of its reward. For an arm that was never played, and
        whose length is not known (in a tree whose branching is a function), those of full depth.
    lower, upper : float
        `mean` minus and plus as many `std` as the call asked for.
    value : float or None
        Mean of the rewards told for it, None if there were none.
    visits : int
        How many rewards were told for it.
    """

    def __init__(self, path, params, mean, std, lower, upper, value, visits):
        self.path = path
        self.params = params
        self.mean = mean
        self.std = std
        self.lower = lower
        self.upper = upper
        self.value = value
        self.visits = visits

    def __reduce__(self):
        return Arm, self._values()

    def __eq__(self, other):
        return isinstance(other, Arm) and self._values() == other._values()

    def __hash__(self):
        return hash(self._values()[:1] + self._values()[2:])

    def __repr__(self):
        words = ", ".join(f"{k}={v!r}" for k, v in zip(FIELDS, self._values(), strict=True))
        return f"Arm({words})"

    def _values(self):
        return tuple([getattr(self, name) for name in FIELDS])


FIELDS = ("path", "params", "mean", "std", "lower", "upper", "value", "visits")


class Core:
    """Evidence about F on the nodes of a tree. `bough.Belief` is its public face."""

    def __init__(self, tree, increments, noise, mean, single_steps):
        self.tree = tree
        self.noise = noise
        self.depth = tree.depth
        v = np.array(increments, dtype=np.float64)
        v[v < TINY] = 0.0
        self.increments = v
        tail = np.zeros(self.depth + 1)
        tail[: self.depth] = v[1:] if single_steps else np.cumsum(v[1:][::-1])[::-1]
        self.tail = tail
        self.single_steps = single_steps
        self.ragged = tree.counts is None
        self.widths = np.zeros(self.depth + 1, dtype=np.int32)
        if not self.ragged:
            for d, count in enumerate(tree.counts):
                self.widths[d] = narrow(count)
        self.prior_mean = mean if callable(mean) else None
        self.used = 0
        self.rows = 0
        self.row = np.full(SEARCHES, NONE, dtype=np.int32)
        self.bounds = aligned(BOUND, (0, 0))
        self.pending_ = aligned(PENDING, 0)
        self.nodes_ = aligned(NODE, 0)
        self.tokens = {}
        self.waiting = 0
        self.last_token = 0
        self.observations = 0
        self.likelihood = 0.0
        self.likelihood_rest = 0.0
        self.touched = 0
        self._make_scratch()
        self._reserve(1)
        width = narrow(tree.children(())) if self.ragged else self.widths[0]
        self.center = real(mean(()), "mean(())") if callable(mean) else mean
        self._new_node(NONE, 0, 0, width, 0.0)

    def _make_scratch(self):
        # A path has at most 8 groups between one node and the next: an index has 32 bits.
        self.steps = np.zeros(self.depth + 1, dtype=np.int32)
        self.trail = np.zeros(9 * (self.depth + 1), dtype=np.int32)
        self.frames = aligned(FRAME, 9 * (self.depth + 1))
        self.entries = aligned(ENTRY, 64)

    # ------------------------------------------------------------------ reading the state

    def __len__(self):
        return self.observations

    @property
    def nodes(self):
        """The nodes as a read-only NumPy record array, parents by number; 0 is the root.

        Groups (see the module `_core`) have `count == -1`. The view is not changed by what the
        belief learns after the array was moved to grow, so ask for it anew.
        """
        view = np.asarray(self.nodes_)[: self.used].view(np.ndarray)
        view.flags.writeable = False
        return view

    @property
    def pending(self):
        """How many evaluations are pending."""
        return self.waiting

    def log_likelihood(self):
        """Return the logarithm of the density of everything told so far.

        Its relative error is about 1e-16 times the largest value over the smallest noise.
        """
        return self.likelihood + self.likelihood_rest

    # ------------------------------------------------------------------ paths and nodes

    def _read(self, path):
        """Check a path, copy it to `steps`, and return its length."""
        given: tuple
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
            shift = self.nodes_[n].shift
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
        self.m = 0.0
        self.variance = 0.0
        for i in range(length):
            n = self.trail[i]
            g = self.nodes_[n].g
            self.m = g * self.m + self.nodes_[n].offset
            self.variance = self.nodes_[n].spread + g * g * self.variance

    def _reserve(self, more):
        """Make room for so many more nodes."""
        capacity = self.nodes_.shape[0]
        if self.used + more <= capacity:
            return
        if self.used + more > OPEN - 1:
            raise MemoryError("a belief holds at most 2^31 nodes")
        capacity = max(256, 2 * capacity, self.used + more)
        self.nodes_ = grown(self.nodes_, NODE, capacity)
        if self.rows:
            self._make_rows(self.rows, capacity)
        if self.last_token:
            self.pending_ = grown(self.pending_, PENDING, capacity)

    def _make_rows(self, rows, capacity):
        """Make room for so many kinds of bounds; what is new is not valid, being zero."""
        bounds = aligned(BOUND, (rows, capacity))
        for r in range(self.rows):
            bounds[r, : self.used] = np.asarray(self.bounds)[r, : self.used]
        self.bounds = bounds
        self.rows = rows

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
        if parent != NONE:
            self.nodes_[n].sibling = self.nodes_[parent].child
            self.nodes_[parent].child = n
        self._set_arm(n)
        return n

    def _set_arm(self, n):
        """Say what the node's own arm is: itself, one of its unexplored children, or none."""
        if self.nodes_[n].count < 0:
            self.nodes_[n].extra = -1.0
        elif self._is_arm(n):
            self.nodes_[n].extra = 0.0
        elif self.nodes_[n].explored < self.nodes_[n].branching:
            self.nodes_[n].extra = self.tail[self.nodes_[n].depth]
        else:
            self.nodes_[n].extra = -1.0

    def _is_arm(self, n):
        """Return whether the node itself is an arm, so that its path needs no further step."""
        return self.nodes_[n].branching == 0 or (
            self.single_steps and n != ROOT and not self._touched(n)
        )

    def _touched(self, n):
        """Return whether there was a reading, told or pending, at the node or below."""
        return self.nodes_[n].visits > 0 or (self.waiting and self.pending_[n].count > 0)

    def _add_child(self, n, index, width, mu):
        """Make a child of n, which has none with that index; the trail goes on to the child."""
        self._reserve(MOST_GROUPS + 2)
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
        if self.nodes_[place].shift > 0:
            place = self._new_group(place, index, self.nodes_[place].shift)
            self.trail[self.trailed] = place
            self.trailed += 1
        c = self._new_node(place, index, self.nodes_[n].depth + 1, width, mu)
        self.trail[self.trailed] = c
        self.trailed += 1
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
        old = self.nodes_[place].shift
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
            self.nodes_[group].shift = old
        while items != NONE:
            after = self.nodes_[items].sibling
            group = self.nodes_[place].child
            while self.nodes_[group].index >> shift != self.nodes_[items].index >> shift:
                group = self.nodes_[group].sibling
            self.nodes_[items].parent = group
            self.nodes_[items].sibling = self.nodes_[group].child
            self.nodes_[group].child = items
            self.nodes_[group].visits += self.nodes_[items].visits
            self._add_message(group, self._tau(items), self._eta(items))
            if self.waiting:
                self.pending_[group].count += self.pending_[items].count
            items = after
        self.nodes_[place].shift = shift
        c = self.nodes_[place].child
        while c != NONE:
            self._refresh(c)
            if self.waiting and self.pending_[c].count:
                self._count_pending(c)
            c = self.nodes_[c].sibling

    # ------------------------------------------------------------------ evidence, upwards

    @cython.final
    def _precision(self, n):
        return self.nodes_[n].own_precision + self.nodes_[n].sub_precision

    @cython.final
    def _known_value(self, n):
        """Return F of a node that is known, P = inf."""
        if self.nodes_[n].own_precision == INF:
            return self.nodes_[n].own_value
        return self.nodes_[n].sub_shift

    @cython.final
    def _shift(self, n):
        return self.nodes_[n].own_precision * self.nodes_[n].own_value + self.nodes_[n].sub_shift

    @cython.final
    def _tau(self, n):
        P = self._precision(n)
        if P < INF:
            return P * self.nodes_[n].g
        return inverse(self.nodes_[n].v)

    @cython.final
    def _eta(self, n):
        """Return eta; of a known node whose step has no variance, F of the parent."""
        P = self._precision(n)
        if P < INF:
            return (self._shift(n) - P * self.nodes_[n].mu) * self.nodes_[n].g
        value = self._known_value(n) - self.nodes_[n].mu
        return value / self.nodes_[n].v if self.nodes_[n].v > 0.0 else value

    @cython.final
    def _refresh(self, n):
        """Compute g, offset and spread anew from the evidence."""
        P = self._precision(n)
        v = self.nodes_[n].v
        if P < INF:
            g = 1.0 / (1.0 + v * P)
            self.nodes_[n].g = g
            self.nodes_[n].offset = g * (self.nodes_[n].mu + v * self._shift(n))
            self.nodes_[n].spread = v * g
        else:
            self.nodes_[n].g = 0.0
            self.nodes_[n].offset = self._known_value(n)
            self.nodes_[n].spread = 0.0

    @cython.final
    def _add_message(self, n, tau, eta):
        """Add (a change of) a child's message to the evidence of n."""
        if self.nodes_[n].sub_precision < INF:
            if tau < INF:
                self.nodes_[n].sub_precision += tau
                self.nodes_[n].sub_shift += eta
            else:
                self.nodes_[n].sub_precision = INF
                self.nodes_[n].sub_shift = eta

    @cython.final
    def _pass_up(self, tau, eta):
        """Bring the ancestors up to date with the node at the end of the trail.

        tau and eta are the message that it sent before its evidence changed.
        """
        n = self.trail[self.trailed - 1]
        self._refresh(n)
        for i in range(self.trailed - 2, -1, -1):
            parent = self.trail[i]
            new_tau = self._tau(n)
            new_eta = self._eta(n)
            old_tau = self._tau(parent)
            old_eta = self._eta(parent)
            if new_tau < INF:
                self._add_message(parent, new_tau - tau, new_eta - eta)
            else:
                self._add_message(parent, new_tau, new_eta)
            self._refresh(parent)
            n = parent
            tau = old_tau
            eta = old_eta

    def _visit(self):
        """Note that something changed at the end of the trail: a reading, or a pending one.

        The bounds no longer hold along the trail: even a pending reading made new nodes.
        """
        for i in range(self.trailed - 1, -1, -1):
            n = self.trail[i]
            if self.single_steps:
                self._set_arm(n)
            if self.waiting and self.pending_[n].count:
                self._count_pending(n)
            for kind in range(SEARCHES):
                if self.row[kind] != NONE:
                    self.bounds[self.row[kind], n].valid = 0

    def _note(self, residual, variance):
        """Count a reading, and add its log density to the likelihood."""
        for i in range(self.trailed):
            self.nodes_[self.trail[i]].visits += 1
        self.observations += 1
        if variance < TINY:
            return  # it was certain, and so it came
        term = -0.5 * (LOG_TWO_PI + log(variance) + residual * residual / variance)
        total = self.likelihood + term
        if abs(self.likelihood) >= abs(term):
            self.likelihood_rest += (self.likelihood - total) + term
        else:
            self.likelihood_rest += (term - total) + self.likelihood
        self.likelihood = total

    def observe(self, path, value, *, noise=None):
        """Take in a noisy reading of F at a node (the reward of an arm, if the node is a leaf).

        Parameters
        ----------
        path : sequence of int
            The node.
        value : float
        noise : float, optional
            The standard deviation of this reading, if it is not that of the belief. Below 1e-100
            it counts as 0: then the value is exact, and another one for the node is an error.
        """
        y: cython.double = (
            value if type(value) is float and isfinite(value) else real(value, "value")
        )
        s2 = self._noise_variance(noise)
        length = self._read(path)
        found = self._locate(length)
        n = self.trail[self.trailed - 1] if found == length else NONE
        plan = self._foresee(length, found)
        self._look_below(length, found)
        self._check_exact(n, y, s2)
        self._tell(self._grow(length, found, plan), y, s2)

    def _noise_variance(self, noise):
        s: cython.double = self.noise if noise is None else at_least_zero(noise, "noise")
        return s * s if s * s >= TINY else 0.0

    def _look_below(self, length, found):
        """Take the posterior that `_locate` left on to the end of the path."""
        for i in range(found, length):
            self.variance += self.increments[i + 1]
        if self.prior_mean is not None and found < length:
            self.m += self._prior(length) - self._prior(found)

    def _check_exact(self, n, y, s2):
        """Refuse an exact reading of something known to be otherwise (n is NONE if it is new)."""
        if s2 > 0.0 or self.variance > 0.0:
            return
        slack = 1e-9 * max(abs(y), abs(self.m + self.center))
        if n != NONE and self.nodes_[n].own_precision == INF:
            slack = 0.0
        if abs(y - self.center - self.m) > slack:
            raise ValueError(
                f"value {y!r} contradicts what is known: without noise, and after what was told "
                f"before, this node has exactly {self.m + self.center!r}; "
                "if rewards vary, give noise > 0"
            )

    def _tell(self, n, y, s2):
        """Take in a reading of F at the end of the trail, whose posterior is (m, variance)."""
        tau = self._tau(n)
        eta = self._eta(n)
        self.nodes_[n].count += 1
        self.nodes_[n].average += (y - self.nodes_[n].average) / self.nodes_[n].count
        y -= self.center
        if s2 > 0.0:
            precision = 1.0 / s2
            if self.nodes_[n].own_precision < INF:
                self.nodes_[n].own_precision += precision
                self.nodes_[n].own_value += (y - self.nodes_[n].own_value) * (
                    precision / self.nodes_[n].own_precision
                )
        else:
            self.nodes_[n].own_precision = INF
            self.nodes_[n].own_value = y
        self._pass_up(tau, eta)
        self._note(y - self.m, self.variance + s2)
        self._visit()

    def observe_step(self, path, value, *, noise):
        """Take in a noisy reading of the step of one node, in the units of the sum.

        The immediate reward of a node at depth i under a discount is such a step, once it (and
        its noise) have been multiplied by discount^(i-1). The root's step is that of path `()`.
        """
        r: cython.double = real(value, "value")
        s2 = self._noise_variance(at_least_zero(noise, "noise"))
        length = self._read(path)
        found = self._locate(length)
        plan = self._foresee(length, found)
        offset = self.center if length == 0 else 0.0  # F of the root is its step
        if found == length:
            n = self.trail[self.trailed - 1]
            g = self.nodes_[n].g
            step_mean = (g - 1.0) * self.m_above + self.nodes_[n].offset
            step_variance = self.nodes_[n].spread + (1.0 - g) ** 2 * self.variance_above
        else:
            step_mean = 0.0
            if self.prior_mean is not None:
                step_mean = self._prior(length) - self._prior(length - 1)
            step_variance = self.increments[length]
        if (
            s2 == 0.0
            and step_variance == 0.0
            and abs(r - offset - step_mean) > 1e-9 * max(abs(r), abs(self.m), abs(self.m - r))
        ):
            raise ValueError(
                f"value {r!r} contradicts what is known: without noise, and after what was told "
                f"before, this step is exactly {step_mean + offset!r}; "
                "if rewards vary, give noise > 0"
            )
        r -= offset
        n = self._grow(length, found, plan)
        tau = self._tau(n)
        eta = self._eta(n)
        v = self.nodes_[n].v
        if v > 0.0:
            self.nodes_[n].mu += (r - self.nodes_[n].mu) * (v / (v + s2))
            v *= s2 / (v + s2)
            self.nodes_[n].v = v if v >= TINY else 0.0
            if s2 == 0.0:
                self.nodes_[n].mu = r
        self._pass_up(tau, eta)
        self._note(r - step_mean, step_variance + s2)
        self._visit()

    # ------------------------------------------------------------------ growing the tree

    def _prior(self, length):
        """Return the prior mean of F after so many of the `steps`."""
        path = self._path(length)
        return real(self.prior_mean(path), f"mean({path})")

    def _foresee(self, length, found):
        """Ask the prior mean for all it will be asked for when the path is grown.

        Returns None if it is a constant; else, for each node from the root to the end of the
        path, the children to make as (index, branching, mu). All is asked before anything is
        changed, since the user's functions may raise.
        """
        if self.prior_mean is None:
            return None
        path = self._path(length)
        plan = []
        for i in range(length + 1):
            if i <= found and self._was_visited(path[:i]):
                plan.append([])
                continue
            width = self.tree.children(path[:i])
            here = self._prior(i)
            indices = list(range(min(width, MOST_FORESEEN) if width < INF else 0))
            if i < length and path[i] not in indices:
                indices.append(path[i])
            children = []
            for k in indices:
                child = (*path[:i], k)
                mu = real(self.prior_mean(child), f"mean({child})") - here
                children.append((k, narrow(self.tree.children(child)), mu))
            plan.append(children)
        return plan

    def _was_visited(self, path):
        n = ROOT
        trailed = self.trailed
        for k in path:
            n = self._find(n, k)
            if n == NONE:
                break
        self.trailed = trailed  # what `_find` puts there is not wanted
        return n != NONE and self._touched(n)

    def _grow(self, length, found, plan):
        """Make the nodes of the path that do not exist, and return its end."""
        if plan is not None:
            return self._grow_as_foreseen(length, plan)
        n = self.trail[self.trailed - 1]
        while self.nodes_[n].count < 0:
            n = self.nodes_[n].parent
        for i in range(found, length):
            n = self._add_child(n, self.steps[i], self.widths[i + 1], 0.0)
        return n

    def _grow_as_foreseen(self, length, plan):
        n = ROOT
        self.trail[0] = ROOT
        self.trailed = 1
        for i in range(length + 1):
            trailed = self.trailed
            for index, width, mu in plan[i]:
                if self._find(n, index) == NONE:
                    self._add_child(n, index, width, mu)
                self.trailed = trailed
            if i < length:
                n = self._find(n, self.steps[i])
                self.trail[self.trailed] = n
                self.trailed += 1
        return n

    # ------------------------------------------------------------------ pending evaluations

    def pend(self, path, *, noise=None):
        """Count an evaluation that has no value yet, and return a token for it.

        It narrows the standard deviations that choose the next arm, and changes nothing else.
        """
        s2 = self._noise_variance(noise)
        length = self._read(path)
        found = self._locate(length)
        plan = self._foresee(length, found)
        n = self._grow(length, found, plan)
        if self.last_token == 0:
            self.pending_ = aligned(PENDING, self.nodes_.shape[0])
        self.last_token += 1
        self.tokens[self.last_token] = (n, s2)
        self.waiting += 1
        for i in range(self.trailed):
            self.pending_[self.trail[i]].count += 1
        self.pending_[n].own += inverse(s2)
        self._visit()
        return self.last_token

    def _count_pending(self, n):
        """Compute q, spread and tau of a node with pending evaluations at or below it.

        The sum over the children is taken anew each time, so that nothing is ever subtracted.
        """
        Q = self.nodes_[n].own_precision + self.pending_[n].own
        v = self.nodes_[n].v
        c = self.nodes_[n].child
        while c != NONE:
            Q += self.pending_[c].tau if self.pending_[c].count else self._tau(c)
            c = self.nodes_[c].sibling
        if Q < INF:
            self.pending_[n].q = 1.0 / (1.0 + v * Q)
            self.pending_[n].spread = v * self.pending_[n].q
            self.pending_[n].tau = Q * self.pending_[n].q
        else:
            self.pending_[n].q = 0.0
            self.pending_[n].spread = 0.0
            self.pending_[n].tau = inverse(v)

    def _withdraw(self, token):
        """Take the pending evaluation out of the counts along the trail, which leads to it."""
        n: cython.int = self.tokens.pop(token)[0]
        self.waiting -= 1
        for i in range(self.trailed):
            self.pending_[self.trail[i]].count -= 1
        self.pending_[n].own = 0.0
        if self.pending_[n].count:
            for other, s2 in self.tokens.values():
                if other == n:
                    self.pending_[n].own += inverse(s2)

    def _node_of(self, token):
        try:
            return self.tokens[token][0]
        except (KeyError, TypeError):
            raise ValueError(
                f"token {token!r} is not pending: it was settled or forgotten before, "
                "or `pend` of this belief never gave it"
            ) from None

    def settle(self, token, value, *, noise=None):
        """Give a pending evaluation its value; `noise` as for `observe`."""
        y: cython.double = real(value, "value")
        s2 = self._noise_variance(noise)
        n: cython.int = self._node_of(token)
        if noise is None:
            s2 = self.tokens[token][1]
        self._climb(n)
        self._check_exact(n, y, s2)
        self._withdraw(token)
        self._tell(n, y, s2)

    def forget(self, token):
        """Drop a pending evaluation: it will not come."""
        n: cython.int = self._node_of(token)
        self._climb(n)
        self._withdraw(token)
        self._visit()

    # ------------------------------------------------------------------ posterior, downwards

    def posterior(self, paths):
        """Return mean and standard deviation of F at some nodes, as two arrays.

        >>> import bough
        >>> belief = bough.Belief(bough.Tree(2, 2), bough.kernels.Linear(3.0), noise=1.0)
        >>> belief.observe((0, 0), 4.0)
        >>> mean, std = belief.posterior([(0, 0), (0, 1), (1, 1)])
        >>> mean
        array([3., 2., 1.])
        """
        paths = several(paths)
        mean = np.empty(len(paths))
        std = np.empty(len(paths))
        for i in range(len(paths)):
            length = self._read(paths[i])
            self._look_below(length, self._locate(length))
            mean[i] = self.m + self.center
            std[i] = sqrt(self.variance)
        return mean, std

    def _chain(self, path):
        """Return g, offset and spread of each node from the root to the end of a path."""
        length = self._read(path)
        found = self._locate(length)
        d = -1
        g = np.ones(length + 1)
        offset = np.zeros(length + 1)
        spread = np.asarray(self.increments)[: length + 1].copy()
        for i in range(self.trailed):
            n = self.trail[i]
            if self.nodes_[n].count >= 0:
                d += 1
                g[d] = self.nodes_[n].g
                offset[d] = self.nodes_[n].offset
                spread[d] = self.nodes_[n].spread
        if self.prior_mean is not None:
            for i in range(found + 1, length + 1):
                offset[i] = self._prior(i) - self._prior(i - 1)
        return g, offset, spread

    # ------------------------------------------------------------------ the exact best arm

    def highest_upper(self, sqrt_beta, *, rng=None):
        """Return the arm with the highest mean + sqrt_beta std. Exact.

        The standard deviations count pending evaluations as observations. Ties are broken at
        random (`rng`: an int or a `numpy.random.Generator`), or without an rng by lowest index.
        """
        b: cython.double = (
            sqrt_beta
            if type(sqrt_beta) is float and 0.0 <= sqrt_beta < INF
            else at_least_zero(sqrt_beta, "sqrt_beta")
        )
        return self._highest(UPPER, b, generator(rng))

    def highest_lower(self, sqrt_beta, *, rng=None):
        """Return the arm with the highest mean - sqrt_beta std, by what was told. Exact."""
        b: cython.double = at_least_zero(sqrt_beta, "sqrt_beta")
        return self._highest(LOWER, -b, generator(rng))

    def highest_mean(self, *, rng=None):
        """Return the arm with the highest mean. Exact."""
        return self._highest(MEAN, 0.0, generator(rng))

    def _highest(self, kind, b, rng):
        if self.row[kind] == NONE:
            self._make_rows(self.rows + 1, self.nodes_.shape[0])
            self.row[kind] = self.rows - 1
        self._search(kind, b, rng)
        n = self.best_node
        path = self._complete(n, rng)
        value = None
        visits = 0
        if self._is_arm(n):
            visits = self.nodes_[n].count
            if visits:
                value = self.nodes_[n].average
        b = abs(b)
        arm: Arm = Arm.__new__(Arm)  # not by `__init__`, which costs more than the search
        arm.path = path
        arm.params = None
        arm.mean = self.best_m + self.center
        arm.std = self.best_sd
        arm.lower = arm.mean - b * self.best_sd
        arm.upper = arm.mean + b * self.best_sd
        arm.value = value
        arm.visits = visits
        return arm

    def _search(self, kind, b, rng):
        """Find the best arm by branch and bound, depth first; leave it in `best_...`.

        Relative to a node n an arm below has mean A + G m_n and variance S + G^2 V_n, where A, S
        and 0 <= G <= 1 depend on what lies inside n's subtree. So what was the maximum below n for
        another (m_n, V_n, b) bounds the maximum now, as long as nothing inside has changed: see
        `_bound`. Of the children whose bound is above the best arm found so far the highest is
        entered first; on leaving a node its bound is replaced by what its children said.
        """
        top = 0  # the frame that we are in
        ties = 0
        m = self.nodes_[ROOT].offset
        variance = self.nodes_[ROOT].spread
        self.row_ = self.row[kind]
        self.b = b
        self.counts_pending = kind == UPPER and self.waiting > 0
        if self.counts_pending:
            variance = self.pending_[ROOT].spread
        self.best = -INF
        self.ties = 0
        self.touched = 1
        if self.nodes_[ROOT].extra >= 0.0:
            self._consider(ROOT, m, sqrt(variance + self.nodes_[ROOT].extra), rng)
        entries = self._enter(0, ROOT, NONE, 0, m, variance, sqrt(variance), rng)
        while top >= 0:
            first = NONE
            hi = -INF
            for i in range(self.frames[top].start, entries):
                if self.entries[i].bound > hi:
                    hi = self.entries[i].bound
                    first = i
                    ties = 1
                elif self.entries[i].bound == hi:
                    ties += 1
                    if self._prefer(self.entries[i].node, self.entries[first].node, ties, rng):
                        first = i
            if hi > self.best:
                top += 1
                entries = self._enter(
                    top,
                    self.entries[first].node,
                    first,
                    entries,
                    self.entries[first].m,
                    self.entries[first].variance,
                    self.entries[first].sd,
                    rng,
                )
            else:
                self._leave(top, hi, entries)
                entries = self.frames[top].start
                top -= 1

    @cython.final
    def _bound(self, c, m, sd):
        """Bound the best arm below the children of c, for F_c of mean m and deviation sd.

        top + gmax (m - m')+ - gmin (m' - m)+ + gmax (b (sd - sd'))+ + smax (b - b')+
        """
        row = self.row_
        if not self.bounds[row, c].valid:
            return INF
        bound: cython.double = self.bounds[row, c].top
        change = m - self.bounds[row, c].m
        bound += change * (self.bounds[row, c].gmax if change > 0.0 else self.bounds[row, c].gmin)
        change = self.b * (sd - self.bounds[row, c].sd)
        if change > 0.0:
            bound += change * self.bounds[row, c].gmax
        change = self.b - self.bounds[row, c].b
        if change > 0.0:
            bound += change * self.bounds[row, c].smax
        return bound

    @cython.final
    def _enter(self, top, n, entry, entries, m, variance, sd, rng):
        """Open a frame for n: evaluate its children's arms, list those worth entering."""
        c = self.nodes_[n].child
        best_here = -INF
        gmax: cython.double = 0.0
        gmin: cython.double = 1.0
        smax: cython.double = 0.0
        row = self.row_
        b: cython.double = self.b
        pending = self.counts_pending
        self.frames[top].node = n
        self.frames[top].entry = entry
        self.frames[top].start = entries
        self.frames[top].m = m
        self.frames[top].sd = sd
        while c != NONE:
            self.touched += 1
            g = self.nodes_[c].g
            q = g
            spread = self.nodes_[c].spread
            if pending and self.pending_[c].count:
                q = self.pending_[c].q
                spread = self.pending_[c].spread
            child_m = g * m + self.nodes_[c].offset
            child_variance = spread + q * q * variance
            if self.nodes_[c].extra >= 0.0:
                arm_sd = sqrt(child_variance + self.nodes_[c].extra)
                value = child_m + b * arm_sd
                if value > best_here:
                    best_here = value
                if value >= self.best:
                    self._consider(c, child_m, arm_sd, rng)
                gmax = max(gmax, g)
                gmin = min(gmin, g)
                smax = max(smax, arm_sd)
            if self.nodes_[c].child != NONE:
                child_sd = sqrt(child_variance)
                bound = self._bound(c, child_m, child_sd)
                if bound > self.best:
                    if entries == self.entries.shape[0]:
                        self.entries = grown(self.entries, ENTRY, 2 * entries)
                    self.entries[entries].bound = bound
                    self.entries[entries].m = child_m
                    self.entries[entries].variance = child_variance
                    self.entries[entries].sd = child_sd
                    self.entries[entries].node = c
                    entries += 1
                else:
                    if bound > best_here:
                        best_here = bound
                    gmax = max(gmax, g * self.bounds[row, c].gmax)
                    gmin = min(gmin, g * self.bounds[row, c].gmin)
                    smax = max(smax, self._largest_sd(c, child_sd))
            c = self.nodes_[c].sibling
        self.frames[top].top = best_here
        self.frames[top].gmax = gmax
        self.frames[top].gmin = gmin
        self.frames[top].smax = smax
        return entries

    @cython.final
    def _largest_sd(self, c, sd):
        """Bound the standard deviation of the arms below c's children, now that F_c has sd."""
        row = self.row_
        grown_by = sd - self.bounds[row, c].sd
        if grown_by > 0.0:  # only after `forget`
            return self.bounds[row, c].smax + self.bounds[row, c].gmax * grown_by
        return self.bounds[row, c].smax

    @cython.final
    def _leave(self, top, hi, entries):
        """Close a frame: keep what was found as the node's bound, and tell the parent's frame."""
        n = self.frames[top].node
        row = self.row_
        gmax: cython.double = self.frames[top].gmax
        gmin: cython.double = self.frames[top].gmin
        smax: cython.double = self.frames[top].smax
        for i in range(self.frames[top].start, entries):
            c = self.entries[i].node
            g = self.nodes_[c].g
            gmax = max(gmax, g * self.bounds[row, c].gmax)
            gmin = min(gmin, g * self.bounds[row, c].gmin)
            smax = max(smax, self._largest_sd(c, self.entries[i].sd))
        hi = max(hi, self.frames[top].top)
        self.bounds[row, n].top = hi
        self.bounds[row, n].m = self.frames[top].m
        self.bounds[row, n].sd = self.frames[top].sd
        self.bounds[row, n].b = self.b
        self.bounds[row, n].gmax = gmax
        self.bounds[row, n].gmin = gmin
        self.bounds[row, n].smax = smax
        self.bounds[row, n].valid = 1
        if self.frames[top].entry != NONE:
            self.entries[self.frames[top].entry].bound = hi

    @cython.final
    def _consider(self, n, m, sd, rng):
        """Take the node's own arm for the best if it is."""
        value = m + self.b * sd
        if value < self.best:
            return
        if value == self.best:
            self.ties += 1
            if not self._prefer(n, self.best_node, self.ties, rng):
                return
        else:
            self.ties = 1
        self.best = value
        self.best_node = n
        self.best_m = m
        self.best_sd = sd

    def _prefer(self, n, other, ties, rng):
        """Return whether n, the last of so many that are alike so far, is preferred."""
        if rng is not None:
            return rng.below(ties) == 0
        return (
            self.nodes_[n].parent == self.nodes_[other].parent
            and self.nodes_[n].index < self.nodes_[other].index
        )

    def _complete(self, n, rng):
        """Return the path of a node's own arm: to the node, or on through an unexplored child."""
        path = []
        c = n
        while self.nodes_[c].parent != NONE:
            if self.nodes_[c].count >= 0:
                path.append(int(self.nodes_[c].index))
            c = self.nodes_[c].parent
        path.reverse()
        if self._is_arm(n):
            return tuple(path)
        path.append(int(self._unexplored(n, rng)))
        if self.single_steps:
            return tuple(path)
        for d in range(self.nodes_[n].depth + 1, self.depth):
            width: cython.int = (
                narrow(self.tree.children(tuple(path))) if self.ragged else self.widths[d]
            )
            if width == 0:
                break
            path.append(0 if rng is None or width == OPEN else rng.below(width))
        return tuple(path)

    def _unexplored(self, n, rng):
        """Return the index of an unexplored child: a random one, the lowest without an rng."""
        index = self.nodes_[n].explored
        width = self.nodes_[n].branching
        seen = self.nodes_[n].explored
        rank = 0
        self.trailed = 0  # `_find` writes there
        if width == OPEN:
            while self._find(n, index) != NONE:
                index += 1
                self.trailed = 0
            return index
        if rng is not None:
            if 2 * seen <= width:
                while True:
                    index = rng.below(width)
                    self.trailed = 0
                    if self._find(n, index) == NONE:
                        return index
            rank = rng.below(width - seen)
        # Among the first rank + seen + 1 children at least rank + 1 are unexplored.
        marks = bytearray(rank + seen + 1)
        c = self.nodes_[n].child
        while c != NONE:
            if self.nodes_[c].count >= 0 and self.nodes_[c].index < len(marks):
                marks[self.nodes_[c].index] = 1
            if self.nodes_[c].count < 0 and self.nodes_[c].child != NONE:
                c = self.nodes_[c].child
                continue
            while c != n and self.nodes_[c].sibling == NONE:
                c = self.nodes_[c].parent
            c = self.nodes_[c].sibling if c != n else NONE
        for index in range(len(marks)):
            if not marks[index]:
                if rank == 0:
                    break
                rank -= 1
        return index

    # ------------------------------------------------------------------ saving

    def __reduce__(self):
        return _blank, (type(self),), self._state()

    def _state(self):
        """Return all there is to save, as plain objects and arrays."""
        rows = int(self.rows)
        return {
            "own": self.__dict__,
            "tree": self.tree,
            "noise": self.noise,
            "prior_mean": self.prior_mean,
            "center": self.center,
            "single_steps": bool(self.single_steps),
            "increments": np.array(self.increments),
            "tail": np.array(self.tail),
            "widths": np.array(self.widths),
            "nodes": np.array(np.asarray(self.nodes_)[: self.used]),
            "row": np.array(self.row),
            "bounds": np.array(np.asarray(self.bounds)[:rows, : self.used]),
            "pending": np.array(np.asarray(self.pending_)[: self.used]),
            "tokens": dict(self.tokens),
            "last_token": self.last_token,
            "observations": self.observations,
            "likelihood": (self.likelihood, self.likelihood_rest),
            "touched": self.touched,
        }

    def __setstate__(self, state):
        self.__dict__.update(state["own"])
        self.tree = state["tree"]
        self.depth = self.tree.depth
        self.ragged = self.tree.counts is None
        self.noise = state["noise"]
        self.prior_mean = state["prior_mean"]
        self.center = state["center"]
        self.single_steps = state["single_steps"]
        self.increments = state["increments"]
        self.tail = state["tail"]
        self.widths = state["widths"]
        self.used = len(state["nodes"])
        self.nodes_ = grown(state["nodes"], NODE, self.used)
        self.row = state["row"]
        self.rows = len(state["bounds"])
        self.bounds = aligned(BOUND, state["bounds"].shape)
        np.asarray(self.bounds)[...] = state["bounds"]
        self.pending_ = grown(state["pending"], PENDING, len(state["pending"]))
        self.tokens = dict(state["tokens"])
        self.waiting = len(self.tokens)
        self.last_token = state["last_token"]
        self.observations = state["observations"]
        self.likelihood, self.likelihood_rest = state["likelihood"]
        self.touched = state["touched"]
        self._make_scratch()


def _blank(cls):
    return cls.__new__(cls)


def inverse(x):
    return 1.0 / x if x > 0.0 else INF


def narrow(count):
    """Return a branching as an int: OPEN for `math.inf`."""
    return OPEN if count == INF else int(count)


def several(paths):
    """Return a list of paths, or say that it was one."""
    if isinstance(paths, (str, bytes)):
        raise TypeError(f"paths must be a list of paths, got {paths!r}")
    paths = list(paths)
    if paths and isinstance(paths[0], (int, np.integer)):
        raise TypeError(f"paths must be a list of paths, got one path; write [{tuple(paths)}]")
    return paths


def aligned(dtype, shape):
    """Return a zeroed record array that starts on a cache line."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape).view(np.recarray)


def grown(array, dtype, capacity):
    """Return a longer copy, with zeros behind."""
    old = np.asarray(array)
    new = aligned(dtype, capacity)
    new[: len(old)] = old
    return new
