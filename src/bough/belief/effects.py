# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""Effects of labels: the joint posterior of what nodes of different branches share.

Notation (that of `posterior.py`, and)

=============  =====================================================================================
z              coordinates of the effects, independent standard normal variables a priori
psi_l          coordinates of label l: its effect is psi_l' z
phi_n          sum over the nodes from the root to n of s_d psi_label: the rewards are
               f = F_n + phi_n' z
z_hat, C       posterior mean (`mean`) and covariance of z
c              phi less its smoothed value: given z, the posterior mean of f is m + c'(z - 0)
k              gain of an observation, C c / (r + c'C c), r = V + s^2
=============  =====================================================================================

Given z, an observation y of f is one of F, y - phi'z. So all messages are affine in z, with the
same precisions and gains as without labels: beside h every node keeps the coefficients of -z in it,
`columns`. What is learned about z from one observation is a rank-one step, O(D m + m^2) for m
coordinates. (C is kept, not its inverse, so effects without variance and exact observations need no
special case.)

With exchangeable labels there is one coordinate for each label, with linear features one for each
feature, and else psi is a row of the Cholesky factor of the covariance of the effects, which grows
with every label.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import sqrt

if not cython.compiled:
    from bough.belief.nodes import GROUP, INF, NO_ARM, NONE, ROOT, UNEXPLORED, Nodes

    #: The label of a node made for its prior mean alone, not read so far. (NONE: it has none.)
    UNREAD = -2

#: The most coordinates of effects.
MOST_EFFECTS = 2000
#: A label whose effect is known from those of others, up to this share of its variance, brings no
#: coordinate.
DEPENDENT = 1e-13
#: Covariances of effects that miss by more than this share are not positive definite.
INDEFINITE = 1e-6
#: What labels say is certain if its variance is less than this share of the prior's: C has no more
#: digits. An observation with as little noise says nothing of it then. (Noise of 1e-6 of the prior
#: standard deviation, to which the tree raises it, counts.)
CERTAIN = 1e-15


class Effects:
    """The effects of labels, and the messages of nodes as functions of them."""

    def __init__(self, nodes: Nodes, model):
        self.nodes = nodes
        self.ids = np.zeros(nodes.depth + 1, dtype=np.int32)
        self.label = np.zeros(0, dtype=np.int32)
        self.kappa = np.zeros(0)
        self.columns = np.zeros((0, 0))
        self.take_model(model)
        self.keys = []
        self.number = {}
        self.begin()

    def take_model(self, model):
        """Take another kernel between labels, and other strengths."""
        self.model = model
        self.strengths = np.ascontiguousarray(model.strengths(self.nodes.depth))

    def begin(self):
        """Forget everything but the labels of nodes, and find the coordinates of labels again."""
        keys = self.keys
        self.keys = []
        self.number = {}
        self.pivots = []
        self.size = self.kept_labels = self.kept_size = 0
        self.psi = np.zeros((0, 0))
        self.mean = np.zeros(0)
        self.prior_mean = np.zeros(0)
        self.C = np.zeros((0, 0))
        self.columns = np.zeros((0, 0))
        self._reserve_coordinates(8)
        self._reserve_nodes()
        self.register(keys)
        self._keep()

    def begin_again(self):
        """Forget all observations."""
        self.begin()
        np.asarray(self.kappa)[:] = 0.0

    def clear(self):
        """Forget all observations and all labels."""
        self.keys = []
        self.begin_again()
        np.asarray(self.label)[:] = UNREAD

    def _reserve_nodes(self):
        """Make room for every node that there is room for."""
        rows = self.nodes.array.shape[0]
        old: cython.Py_ssize_t = self.label.shape[0]
        if rows > old:
            label = np.full(rows, UNREAD, dtype=np.int32)
            label[:old] = self.label
            self.label = label
            kappa = np.zeros(rows)
            kappa[:old] = self.kappa
            self.kappa = kappa
        if rows > self.columns.shape[0]:
            columns = np.zeros((rows, self.psi.shape[1]))
            columns[: self.columns.shape[0]] = self.columns
            self.columns = columns

    def _reserve_coordinates(self, more):
        """Make room for more coordinates and labels."""
        if len(self.keys) + more > self.psi.shape[0]:
            psi = np.zeros((2 * (len(self.keys) + more), self.psi.shape[1]))
            psi[: self.psi.shape[0]] = self.psi
            self.psi = psi
        old: cython.Py_ssize_t = self.psi.shape[1]
        if self.size + more <= old:
            return
        room = 2 * (self.size + more)
        self.psi = widened(self.psi, self.psi.shape[0], room)
        self.C = widened(self.C, room, room)
        self.columns = widened(self.columns, self.columns.shape[0], room)
        self.mean = widened(self.mean, room)
        self.prior_mean = widened(self.prior_mean, room)
        trail = self.nodes.trail.shape[0]
        self.phi = np.zeros((trail, room))
        self.eta = np.zeros((trail, room))
        self.smooth = np.zeros(room)
        self.above = np.zeros(room)
        self.c = np.zeros(room)
        self.gain = np.zeros(room)

    # ------------------------------------------------------------------ labels

    def read(self, path):
        """Return the numbers of the labels of the nodes of a path, new ones registered."""
        nodes = self.nodes
        length: cython.int = nodes.read(path)
        steps = nodes.path(length)
        ends = nodes.widths[length] == 0 or length == nodes.depth
        keys = self.model.keys(steps, ends)
        try:
            numbers = list(map(self.number.get, keys))
        except TypeError:  # a label cannot be hashed: say which
            keys = [self.model.key(steps[:k], ends and k == length) for k in range(1, length + 1)]
            raise
        if None in numbers:
            new = [key for key in keys if key is not None and key not in self.number]
            self.register(list(dict.fromkeys(new)))
            numbers = [NONE if key is None else self.number[key] for key in keys]
        return numbers

    def name(self, numbers):
        """Take the labels that were read for those of the path.

        This comes last, since the functions of the user may use this belief.
        """
        i: cython.int
        self.named = len(numbers)
        for i in range(self.named):
            self.ids[i + 1] = numbers[i]
        return 0

    def drop(self):
        """Forget labels that belong to no node, after an observation was refused."""
        if len(self.keys) > self.kept_labels:
            self.forget(self.kept_labels, self.kept_size)
        return 0

    def forget(self, labels, size):
        """Forget labels that were read last, so that this many labels and coordinates are left.

        Those of nodes stay.
        """
        labels = max(labels, self.kept_labels)
        size_now: cython.int = max(size, self.kept_size)
        for key in self.keys[labels:]:
            del self.number[key]
        np.asarray(self.psi)[labels : len(self.keys)] = 0.0
        del self.keys[labels:]
        self.pivots = [number for number in self.pivots if number < labels]
        for j in range(size_now, self.size):
            self.mean[j] = 0.0
            self.C[j, j] = 0.0
        self.size = size_now

    def register(self, keys):
        """Give labels a number and coordinates, or raise an exception and change nothing."""
        before = len(self.keys), self.size
        self._reserve_coordinates(len(keys))
        self._reserve_nodes()
        try:
            for key in keys:
                self._register(key)
        except BaseException:
            self.forget(*before)
            raise
        return 0

    def _register(self, key):
        between = self.model.between
        if key != key:
            raise ValueError(f"a label must equal itself, got {key!r}; None means no label")
        number = len(self.keys)
        if between.linear:
            self._register_features(key)
            return
        variance = float(between.matrix([key])[0, 0])
        psi = np.asarray(self.psi)
        row = np.zeros(self.size)
        if not between.independent and self.keys:
            covariances = between.matrix([key], self.keys)[0]
            row = solved(
                psi[np.array(self.pivots, dtype=int), : self.size], covariances[self.pivots]
            )
            gap = np.abs(psi[:number, : self.size] @ row - covariances).max()
            if not gap <= INDEFINITE * max(variance, np.abs(covariances).max()):
                raise not_positive_definite(key)
        left = variance - float(row @ row)
        if not left >= -INDEFINITE * variance:
            raise not_positive_definite(key)
        psi[number, : self.size] = row
        mean = float(between.means([key])[0])
        if left > DEPENDENT * variance:
            mean -= float(row @ np.asarray(self.prior_mean)[: self.size])
            psi[number, self.size] = sqrt(left)
            self.pivots.append(number)
            self._add_coordinate(mean / sqrt(left))
        self.number[key] = number
        self.keys.append(key)

    def _register_features(self, key):
        """Take the features themselves as coordinates."""
        number = len(self.keys)
        if self.size == 0:
            self._reserve_coordinates(len(key))
            for _ in range(len(key)):
                self._add_coordinate(0.0)
        if len(key) != self.size:
            raise ValueError(
                f"labels must all have the same number of features: {key!r} has {len(key)}, and "
                f"those before {self.size}"
            )
        np.asarray(self.psi)[number, : self.size] = sqrt(self.model.between.variance) * np.array(
            key
        )
        self.number[key] = number
        self.keys.append(key)

    def _add_coordinate(self, mean):
        if self.size >= MOST_EFFECTS:
            raise ValueError(
                f"there are more than {MOST_EFFECTS} different labels, whose effects would be too "
                "costly to learn together: let labels group nodes, or describe them by features "
                "(between=kernels.LinearFeatures())"
            )
        j: cython.int = self.size
        for i in range(j):
            self.C[i, j] = 0.0
            self.C[j, i] = 0.0
        self.C[j, j] = 1.0
        self.mean[j] = mean
        self.prior_mean[j] = mean
        self.size += 1

    def _keep(self):
        """Keep all labels that are known."""
        self.kept_labels = len(self.keys)
        self.kept_size = self.size

    def _take_labels(self):
        """Keep the labels that were read last at the nodes of the trail, once these exist."""
        nodes = self.nodes
        self._reserve_nodes()
        self._keep()
        for i in range(nodes.trailed):
            n = nodes.trail[i]
            if nodes.array[n].count != GROUP and n != ROOT:
                self.label[n] = self.ids[nodes.array[n].depth]
        return 0

    def check_labels(self):
        """Refuse labels that differ from those that the nodes of the trail had before."""
        nodes = self.nodes
        for i in range(nodes.trailed):
            n = nodes.trail[i]
            d = nodes.array[n].depth
            if nodes.array[n].count == GROUP or n == ROOT or self.label[n] == UNREAD:
                continue
            if self.label[n] != self.ids[d]:
                before = None if self.label[n] == NONE else self.keys[self.label[n]]
                now = None if self.ids[d] == NONE else self.keys[self.ids[d]]
                raise ValueError(
                    f"labels({nodes.path(d)}) was {before!r} and is {now!r} now: "
                    "it must always return the same label for the same node"
                )

    # ------------------------------------------------------------------ along a path

    def _extend(self, i, n):
        """Find phi and the smoothed phi of the node at place i of the trail."""
        nodes = self.nodes
        m = self.size
        named = self.label[n]
        s = self.strengths[nodes.array[n].depth]
        own = nodes.array[n].own_precision
        sub = nodes.array[n].sub_precision
        g = nodes.array[n].g
        v = nodes.array[n].v
        share = s * self.kappa[n]
        # (Rows of their own, so that the C compiler can vectorize.)
        phi: cython.double[::1] = self.phi[i]
        column: cython.double[::1] = self.columns[n]
        smooth: cython.double[::1] = self.smooth
        above: cython.double[::1] = self.above
        psi: cython.double[::1] = self.psi[named if named >= 0 else 0]
        for j in range(m):
            above[j] = smooth[j]
        if i > 0:
            phi_above: cython.double[::1] = self.phi[i - 1]
            for j in range(m):
                phi[j] = phi_above[j]
        else:
            for j in range(m):
                phi[j] = 0.0
        if named < 0:
            share = 0.0
        else:
            for j in range(m):
                phi[j] += s * psi[j]
        if own + sub < INF:
            gv = g * v
            for j in range(m):
                smooth[j] = g * smooth[j] + gv * (own * phi[j] + column[j])
            if share != 0.0:
                share *= g
                for j in range(m):
                    smooth[j] += share * psi[j]
        else:
            for j in range(m):
                smooth[j] = phi[j] if own == INF else column[j]

    def _message(self, i, n):
        """Find the message of the node at place i of the trail, whose phi is known."""
        nodes = self.nodes
        m = self.size
        named = self.label[n]
        own = nodes.array[n].own_precision
        sub = nodes.array[n].sub_precision
        g = nodes.array[n].g
        v = nodes.array[n].v
        phi: cython.double[::1] = self.phi[i]
        eta: cython.double[::1] = self.eta[i]
        column: cython.double[::1] = self.columns[n]
        if own + sub < INF:
            for j in range(m):
                eta[j] = g * (own * phi[j] + column[j])
            back = g * (own + sub)
        else:
            for j in range(m):
                eta[j] = phi[j] if own == INF else column[j]
            back = 1.0
        if named != NONE and nodes.array[n].count != GROUP and self.kappa[n] != 0.0:
            back *= self.strengths[nodes.array[n].depth] * self.kappa[n]
            psi: cython.double[::1] = self.psi[named]
            for j in range(m):
                eta[j] -= back * psi[j]
        if own + sub == INF and v > 0.0:
            for j in range(m):
                eta[j] /= v

    def open(self):
        """Find what is known along the trail before an observation, and c of F at its end."""
        nodes = self.nodes
        for j in range(self.size):
            self.smooth[j] = 0.0
        for i in range(nodes.trailed):
            self._extend(i, nodes.trail[i])
            self._message(i, nodes.trail[i])
        for j in range(self.size):
            self.c[j] = self.phi[nodes.trailed - 1, j] - self.smooth[j]

    def reach(self):
        """Find c at the end of a path of which only some nodes exist."""
        self.open()
        nodes = self.nodes
        first: cython.int = nodes.found + 1
        for i in range(nodes.trailed):  # (those that were made only for their prior mean come last)
            n = nodes.trail[i]
            if self.label[n] == UNREAD and nodes.array[n].count != GROUP and n != ROOT:
                first = min(first, nodes.array[n].depth)
        for d in range(first, self.named + 1):
            named = self.ids[d]
            s = self.strengths[d]
            if named != NONE:
                for j in range(self.size):
                    self.c[j] += s * self.psi[named, j]

    def use_step(self):
        """After `open`, take c to be that of the step of the last node, not of F."""
        nodes = self.nodes
        n = nodes.trail[nodes.trailed - 1]
        named = self.label[n]
        s = self.strengths[nodes.array[n].depth]
        for j in range(self.size):
            self.c[j] = self.above[j] - self.smooth[j]
        if named >= 0:
            for j in range(self.size):
                self.c[j] += s * self.psi[named, j]

    def reach_step(self):
        """Find c of the step at the end of a path of which only some nodes may exist."""
        nodes = self.nodes
        self.open()
        n = nodes.trail[nodes.trailed - 1]
        if nodes.found == nodes.length and (n == ROOT or self.label[n] != UNREAD):
            self.use_step()
            return
        named = self.ids[nodes.length] if nodes.length > 0 else NONE
        s = self.strengths[nodes.length]
        for j in range(self.size):
            self.c[j] = s * self.psi[named, j] if named != NONE else 0.0

    def predict(self):
        """Find C c, and what the effects add to mean (`residual`) and variance of F."""
        m = self.size
        mean: cython.double = 0.0
        variance: cython.double = 0.0
        c: cython.double[::1] = self.c
        gain: cython.double[::1] = self.gain
        for j in range(m):
            gain[j] = 0.0
        for i in range(m):
            x = c[i]
            if x != 0.0:
                mean += x * self.mean[i]
                row: cython.double[::1] = self.C[i]
                for j in range(m):
                    gain[j] += x * row[j]
        for j in range(m):
            variance += c[j] * gain[j]
        self.residual = mean
        self.variance = max(variance, 0.0)

    def is_certain(self, share):
        """Return whether the variance of c'z is at most a share of the prior's; after `predict`."""
        scale: cython.double = 0.0
        last = self.nodes.trailed - 1
        for j in range(self.size):
            scale += self.c[j] * self.c[j]
            scale += self.phi[last, j] * self.phi[last, j]
        return self.variance <= share * scale

    # ------------------------------------------------------------------ observations

    def learn(self, residual, variance):
        """Condition z on y of which the messages predict y - residual, with a variance.

        Afterwards `residual` and `variance` are what remains when the effects are counted.
        """
        self.predict()
        self.residual = residual - self.residual
        scale: cython.double = 0.0
        for j in range(self.size):
            scale += self.phi[self.nodes.trailed - 1, j] * self.phi[self.nodes.trailed - 1, j]
        if variance <= CERTAIN * scale and self.is_certain(CERTAIN):
            self.variance = variance
            return
        self.variance += variance
        if self.variance <= 0.0:
            return
        root = sqrt(self.variance)
        share = self.residual / root
        gain: cython.double[::1] = self.gain
        for j in range(self.size):
            gain[j] /= root
        for i in range(self.size):
            x = gain[i]
            if x != 0.0:
                self.mean[i] += x * share
                row: cython.double[::1] = self.C[i]
                for j in range(self.size):
                    row[j] -= x * gain[j]  # C stays symmetric, to the last bit

    def pass_up(self, i, tau):
        """Pass up the message at place i of the trail, before the parent takes tau of it."""
        nodes = self.nodes
        p = nodes.trail[i - 1]
        n = nodes.trail[i]
        if nodes.array[p].sub_precision == INF:
            return
        eta: cython.double[::1] = self.eta[i]
        before: cython.double[::1] = self.gain
        column: cython.double[::1] = self.columns[p]
        for j in range(self.size):
            before[j] = eta[j]
        self._message(i, n)
        if tau < INF:
            for j in range(self.size):
                column[j] += eta[j] - before[j]
        else:
            for j in range(self.size):
                column[j] = eta[j]

    def take_step(self, n, s2):
        """Count an observation of the node's step, before v changes."""
        v = self.nodes.array[n].v
        if v > 0.0:
            self.kappa[n] += (1.0 - self.kappa[n]) * (v / (v + s2))
            if s2 == 0.0:
                self.kappa[n] = 1.0

    def gather(self, n):
        """Sum the messages of the children of a group that is new."""
        nodes = self.nodes
        self._reserve_nodes()
        trail = []
        a = n
        while a != NONE:
            trail.append(a)
            a = nodes.array[a].parent
        trail.reverse()
        last: cython.int = len(trail)
        i: cython.int
        for i in range(last):
            self._extend(i, trail[i])
        for j in range(self.size):
            self.columns[n, j] = 0.0
        sub = 0.0
        c = nodes.array[n].child
        while c != NONE:
            self._extend(last, c)
            self._message(last, c)
            P = nodes.array[c].own_precision + nodes.array[c].sub_precision
            tau = P * nodes.array[c].g
            if P == INF:
                tau = 1.0 / nodes.array[c].v if nodes.array[c].v > 0.0 else INF
            if sub < INF:
                for j in range(self.size):
                    if tau < INF:
                        self.columns[n, j] += self.eta[last, j]
                    else:
                        self.columns[n, j] = self.eta[last, j]
                sub += tau
            c = nodes.array[c].sibling

    # ------------------------------------------------------------------ what is known

    def vector(self, path):
        """Return c of a path, and mean and standard deviation of its label effects.

        Labels that were not known are registered.
        """
        numbers = self.read(path)
        self.nodes.approach(path, False)
        self.name(numbers)
        self.reach()
        self.predict()
        return np.array(self.c[: self.size]), self.residual, self.variance

    def at_node(self, n):
        """Return mean and variance of the reward at an explored node."""
        self.nodes.climb(n)
        self.open()
        self.predict()
        return self.nodes.m + self.residual, self.nodes.variance + self.variance

    def state_of(self, n):
        """Return m, V, phi and the smoothed phi of an explored node."""
        self.nodes.climb(n)
        self.open()
        last = self.nodes.trailed - 1
        return (
            self.nodes.m,
            self.nodes.variance,
            np.array(self.phi[last, : self.size]),
            np.array(self.smooth[: self.size]),
        )

    def values_of_arms(self, C, b, rest, pending):
        """Return the nodes that are arms or may have unexplored children, and mean + b std there.

        Nodes that were made only for their prior mean count as unexplored.
        `rest` is the variance of what may follow below an unexplored child, at each depth; with
        `pending` the variances count pending evaluations.
        """
        nodes = self.nodes
        size = self.size
        found: cython.int[::1] = np.empty(nodes.used, dtype=np.int32)
        values: cython.double[::1] = np.empty(nodes.used)
        follows: cython.double[::1] = rest
        covariance: cython.double[:, ::1] = np.ascontiguousarray(C)
        deviations: cython.double = b
        room = nodes.trail.shape[0]
        m_of: cython.double[::1] = np.zeros(room)
        v_of: cython.double[::1] = np.zeros(room)
        smooths: cython.double[:, ::1] = np.zeros((room, self.psi.shape[1]))
        count: cython.int = 0
        i: cython.int = 0
        n: cython.int = ROOT
        foreseen: cython.bint = nodes.prior_mean is not None
        while True:
            for j in range(size):
                self.smooth[j] = smooths[i - 1, j] if i > 0 else 0.0
            self._extend(i, n)
            for j in range(size):
                smooths[i, j] = self.smooth[j]
            g = nodes.array[n].g
            q = g
            spread = nodes.array[n].spread
            if pending and nodes.waiting and nodes.pending[n].count:
                q = nodes.pending[n].q
                spread = nodes.pending[n].spread
            m_of[i] = nodes.array[n].offset + (g * m_of[i - 1] if i > 0 else 0.0)
            v_of[i] = spread + (q * q * v_of[i - 1] if i > 0 else 0.0)
            arm = nodes.array[n].arm != NO_ARM
            if foreseen and nodes.array[n].count != GROUP and n != ROOT:
                arm = self.label[n] != UNREAD and (arm or nodes.array[n].branching > 0)
            if arm:
                for j in range(size):
                    self.c[j] = self.phi[i, j] - self.smooth[j]
                variance = v_of[i]
                if nodes.array[n].arm == UNEXPLORED or nodes.array[n].arm == NO_ARM:
                    variance += follows[nodes.array[n].depth]
                mean = m_of[i]
                gain: cython.double[::1] = self.gain
                for j in range(size):
                    gain[j] = 0.0
                for k in range(size):
                    x = self.c[k]
                    if x != 0.0:
                        mean += x * self.mean[k]
                        row: cython.double[::1] = covariance[k]
                        for j in range(size):
                            gain[j] += x * row[j]
                for j in range(size):
                    variance += self.c[j] * gain[j]
                found[count] = n
                values[count] = mean + deviations * sqrt(max(variance, 0.0))
                count += 1
            if nodes.array[n].child != NONE:
                n = nodes.array[n].child
                i += 1
                continue
            while n != ROOT and nodes.array[n].sibling == NONE:
                n = nodes.array[n].parent
                i -= 1
            if n == ROOT:
                return np.array(found[:count]), np.array(values[:count])
            n = nodes.array[n].sibling

    def children_of(self, n, m, variance, phi, smooth, pending):
        """Return the explored children of a node, and the state of each of them.

        Those that were made only for their prior mean are left out: their labels are unknown.
        With `pending` the variances count pending evaluations.

        Returns
        -------
        numbers, indices, m, V, phi, smooth
            Arrays; those of vectors have a row for each child.
        """
        nodes = self.nodes
        size = self.size
        count: cython.int = nodes.array[n].explored
        numbers = np.empty(count, dtype=np.int32)
        indices = np.empty(count, dtype=np.int64)
        means = np.empty(count)
        variances = np.empty(count)
        phis = np.empty((count, size))
        smooths = np.empty((count, size))
        found: cython.int[::1] = numbers
        index: cython.longlong[::1] = indices
        m_of: cython.double[::1] = means
        v_of: cython.double[::1] = variances
        phi_of: cython.double[:, ::1] = phis
        smooth_of: cython.double[:, ::1] = smooths
        above: cython.double[::1] = smooth
        phi_above: cython.double[::1] = phi
        k: cython.int = 0
        m_above: cython.double = m
        variance_above: cython.double = variance
        c: cython.int = nodes.array[n].child
        # Groups are passed: they change nothing.
        while c != NONE:
            if nodes.array[c].count == GROUP:
                if nodes.array[c].child != NONE:
                    c = nodes.array[c].child
                    continue
            elif self.label[c] != UNREAD:
                g = nodes.array[c].g
                found[k] = c
                index[k] = nodes.array[c].index
                m_of[k] = g * m_above + nodes.array[c].offset
                v_of[k] = nodes.array[c].spread + g * g * variance_above
                if pending and nodes.waiting and nodes.pending[c].count:
                    q = nodes.pending[c].q
                    v_of[k] = nodes.pending[c].spread + q * q * variance_above
                for j in range(size):
                    self.smooth[j] = above[j]
                    self.phi[0, j] = phi_above[j]
                self._extend(1, c)
                for j in range(size):
                    phi_of[k, j] = self.phi[1, j]
                    smooth_of[k, j] = self.smooth[j]
                k += 1
            while nodes.array[c].sibling == NONE and nodes.array[c].parent != n:
                c = nodes.array[c].parent
            c = nodes.array[c].sibling
        return numbers[:k], indices[:k], means[:k], variances[:k], phis[:k], smooths[:k]

    @property
    def posterior(self):
        """Mean and covariance of z, as views."""
        size = self.size
        return np.asarray(self.mean)[:size], np.asarray(self.C)[:size, :size]

    @property
    def coordinates(self):
        """The coordinates of all labels, a row for each, as a view."""
        return np.asarray(self.psi)[: len(self.keys), : self.size]

    @property
    def labels_of_nodes(self):
        """The label of each node by number, NONE for the root and groups."""
        return np.asarray(self.label)[: self.nodes.used]

    @property
    def depth_strengths(self):
        """The strengths s_0 .. s_D."""
        return np.asarray(self.strengths)

    def extrapolate(self, key):
        """Return the coordinates of a label that is not known, and what these leave open of it.

        That is the mean and the variance of a part that is independent of all known effects.
        """
        between = self.model.between
        row = np.zeros(self.size)
        if between.linear:
            if self.size not in (0, len(key)):
                self._register_features(key)  # raises
            row[:] = (sqrt(between.variance) * np.array(key))[: self.size]
            return row, 0.0, 0.0 if self.size else between.variance * float(np.dot(key, key))
        variance = float(between.matrix([key])[0, 0])
        mean = float(between.means([key])[0])
        if not between.independent and self.pivots:
            pivots = [self.keys[pivot] for pivot in self.pivots]
            psi = np.asarray(self.psi)[np.array(self.pivots), : self.size]
            row = solved(psi, between.matrix([key], pivots)[0])
            prior, variance = variance, variance - float(row @ row)
            if not variance >= -INDEFINITE * prior:
                raise not_positive_definite(key)
            variance = max(variance, 0.0)
            mean -= float(row @ np.asarray(self.prior_mean)[: self.size])
        return row, mean, variance

    def numbers_of(self, keys):
        """Return the numbers of labels; -1 for those that are not known."""
        number = self.number
        return [number.get(key, NONE) for key in keys]

    # ------------------------------------------------------------------ saving

    def state(self):
        """Return what `restore` needs, as plain objects and arrays."""
        used = self.nodes.used
        return {
            "model": self.model,
            "keys": list(self.keys),
            "mean": np.array(self.mean[: self.size]),
            "C": np.array(self.C[: self.size, : self.size]),
            "label": np.array(self.label[:used]),
            "kappa": np.array(self.kappa[:used]),
            "columns": np.array(self.columns[:used, : self.size]),
        }

    def restore(self, state):
        """Take the state of the effects of equal nodes, which are restored already."""
        self.take_model(state["model"])
        self.keys = list(state["keys"])
        self.begin()
        size = self.size
        used = len(state["label"])
        np.asarray(self.mean)[:size] = state["mean"]
        np.asarray(self.C)[:size, :size] = state["C"]
        np.asarray(self.label)[:used] = state["label"]
        np.asarray(self.kappa)[:used] = state["kappa"]
        np.asarray(self.columns)[:used, :size] = state["columns"]


def solved(triangle, values):
    """Return the row of a Cholesky factor, given the rows above it and its covariances."""
    if not len(triangle):
        return np.zeros(0)
    from scipy.linalg import solve_triangular  # slow to import

    return solve_triangular(triangle, values, lower=True, check_finite=False)


def widened(array, *shape):
    """Return a copy with more rows and columns, zeros where there was nothing."""
    new = np.zeros(shape)
    old = np.asarray(array)
    new[tuple(slice(length) for length in old.shape)] = old
    return new


def not_positive_definite(key):
    return ValueError(
        f"the kernel between labels is not positive definite: the covariances of {key!r} with the "
        "labels before it are impossible"
    )
