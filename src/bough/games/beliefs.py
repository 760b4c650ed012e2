# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The belief about a game: values of random play, effects of moves, values of optimal play.

Notation (that of `bough.belief.posterior`, and)

=============  =====================================================================================
s              +1 at nodes where the first player moves, -1 at those of the second
F_n            expected result of random play from node n: F_root ~ N(0, 1), F_c = F_n + w + e,
               e ~ N(0, v); a playout through n is an observation of F_n with noise 1
w_n[l]         effect of a move l of one player: how much better or worse games end in which it is
               played later; w_root ~ N(0, v_label), and it drifts by N(0, q) with every move
V_n            value of optimal play; given F_n = x it is N(a + k x, W)
=============  =====================================================================================

F is a Gaussian Markov chain on the tree, so its posterior is that of `bough.belief.posterior`; the
step to a child has the prior mean and variance that the playouts say of w for its move. No playout
counts twice: the step to c takes those in which its move came later than at n, and below c those
that did not go through c (or only before c was expanded, when its later moves were not counted).

V is rolled up from the children: V_n is the best of s V_c, all of them independent given F_n, by
the moments of Clark (1961). A node without children is taken for one among b siblings in a tree of
which every node has b children and every step the variance u = v + v_label: there the best of b
normal variables with mean -s delta and variance u + W has mean s delta and variance W.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import erfc, exp, log, sqrt

if not cython.compiled:
    from math import erfc, exp, log, sqrt

    from bough.belief.nodes import INF, NONE, ROOT, Nodes
    from bough.belief.posterior import Posterior
    from bough.games.tree import MOST_DEPTH, GameTree

from bough.belief.nodes import NODE, aligned, opaque, record
from bough.games.tree import widened
from bough.trees import Tree

ROOT_HALF = 0.5**0.5
INVERSE_ROOT_TAU = 1.0 / (2.0 * np.pi) ** 0.5
#: Standard deviations by which the better of two values is ahead for certain.
FAR = 6.0
#: The variance of the result of a playout.
PLAYOUT_NOISE = 1.0
#: Playouts from a new root before it is expanded; they measure the length of the game.
PILOTS = 8
#: The most siblings for which the moments of their maximum are kept.
MOST_SIBLINGS = 4096


LINK = record(("table next_table code visits", np.int32), ("average total", np.float64))


class BeliefTree(GameTree):
    """A game tree whose moves are chosen by the posterior of the value of optimal play.

    Parameters
    ----------
    rng
        The generator of playouts.
    exploration
        The weight of the standard deviation in the choice.
    shares
        v, v_label and q in units of 1/L, L the mean length of a playout from the root.
    prior
        Means and variances of effects at the root, by player and label.
    boards
        The regression of steps on features of positions.
    """

    def __init__(self, rng, exploration, shares, prior=None, boards=None):
        self.exploration = exploration
        self.step_share, self.label_share, self.drift_share = shares
        self.prior = {} if prior is None else dict(prior)
        self.boards = boards
        self.v = self.v_label = self.q = self.v_new = 0.0
        self.is_kept = False
        increments = np.zeros(MOST_DEPTH + 3)
        increments[0] = 1.0
        self.nodes = Nodes(Tree(childless, MOST_DEPTH + 2), increments, 0.0, False)
        self.posterior = Posterior(self.nodes, 1.0)
        self.intercept = np.zeros(0)
        self.slope = np.zeros(0)
        self.width = np.zeros(0)
        self.shift = np.zeros(0)
        self.prior_mean = np.zeros(0)
        self.prior_variance = np.zeros(0)
        self.effect = self.variance = 0.0
        self.noted = 0
        self.link = aligned(LINK, MOST_DEPTH + 1)
        self.means = np.zeros(MOST_DEPTH + 2)
        self.old_steps = np.zeros((0, 2))
        self.replaced = 0
        self.old = 0
        GameTree.__init__(self, rng, True)
        self._reserve_values()
        self._start_value(ROOT, 1)

    def _set_units(self, length):
        """Take the variances of steps for games of some length."""
        length = max(length, 1.0)
        self.v = self.step_share / length
        self.v_label = self.label_share / length
        self.q = self.drift_share / length

    def _start_prior(self):
        """Take the prior of the effects at the first root."""
        self.v_new = self.v_label
        self._reserve_effects()
        code: cython.int
        for code in range(self.prior_mean.shape[0]):
            self.prior_variance[code] = self.v_new
        for (player, label), (mean, variance) in self.prior.items():
            code = 2 * self._number(label) + cython.cast(cython.int, player)
            self._reserve_effects()
            self.prior_mean[code] = mean
            self.prior_variance[code] = variance

    def _reserve_effects(self):
        """Make room for effects of new labels."""
        old = self.prior_mean.shape[0]
        room = self.marks.shape[0]
        if room > old:
            self.prior_mean = widened(self.prior_mean, (room,), np.float64)
            self.prior_variance = widened(self.prior_variance, (room,), np.float64)
            code: cython.Py_ssize_t
            for code in range(old, room):
                self.prior_variance[code] = self.v_new
        return 0

    def _reserve_values(self):
        """Make room for the values of all nodes."""
        room = self.node.shape[0]
        if room > self.slope.shape[0]:
            self.intercept = widened(self.intercept, (room,), np.float64)
            self.slope = widened(self.slope, (room,), np.float64)
            self.width = widened(self.width, (room,), np.float64)
            self.shift = widened(self.shift, (room,), np.float64)
        return 0

    # ------------------------------------------------------------------ one playout

    def _expands(self, n):
        if n == ROOT:
            return self.node[n].visits >= PILOTS
        return self.node[n].visits > 0

    def _begin(self):
        self._reserve_effects()
        self.replaced = 0
        self.old = 0
        self.nodes._start_trail()
        self.posterior.follow(ROOT)
        self.path[0] = ROOT
        self.length = 1
        self.noted = 0
        return 0

    def _expanded(self, n, position):
        if n == ROOT:
            self._set_units(self.mean_length)
            if not self.is_kept:
                self._start_prior()
        self._reserve_effects()
        self._reserve_values()
        count = self.node[n].count
        first = self.nodes.add_children(n, count)
        for c in range(first, first + count):
            self.node[c].sign = -self.node[n].sign  # presumably
            self._start_value(c, count)
        if self.boards is not None:
            means = self.boards.expect(self, n, position, self.moves[first : first + count])
            for i in range(count):
                self.shift[first + i] = means[i]
        return 0

    def _choose(self, n):
        self._reserve_steps(self.node[n].count)
        self._replace_steps(n)
        m = self.nodes.m
        s = self.node[n].sign
        N: cython.double = self.node[n].visits
        b = self.exploration * sqrt(log(1.0 + N))
        best = NONE
        top = -INF
        for c in range(self.node[n].first, self.node[n].first + self.node[n].count):
            if not self._is_open(n, c):
                continue
            k = self.slope[c]
            mean = self.intercept[c] + k * (self.nodes.array[c].g * m + self.nodes.array[c].offset)
            score = s * mean + b * sqrt(self.width[c] + k * k * self.nodes.array[c].spread)
            if score > top:
                top = score
                best = c
        self.posterior.follow(best)
        return best

    def _reserve_steps(self, count):
        """Make room for what steps were before they are replaced."""
        if self.old + count > self.old_steps.shape[0]:
            self.old_steps = widened(self.old_steps, (2 * (self.old + count), 2), np.float64)
        return 0

    def _undo(self):
        """Restore the steps that a playout has replaced before it failed."""
        i: cython.int
        for i in range(self.replaced - 1, -1, -1):
            n = self.path[i]
            first = self.node[n].first
            for c in range(first + self.node[n].count - 1, first - 1, -1):
                self.old -= 1
                self.posterior.replace_step(
                    c, self.old_steps[self.old, 0], self.old_steps[self.old, 1]
                )
            self.nodes.trailed = i + 1
            self.posterior.gather_again()
        return 0

    def _replace_steps(self, n):
        """Give the step to each child of the last node the prior that effects of moves imply."""
        self._note_path()
        m = self.node[n].total / self.node[n].visits
        t = self.node[n].table
        second: cython.int = self.node[n].sign < 0.0
        code: cython.int
        for c in range(self.node[n].first, self.node[n].first + self.node[n].count):
            code = 2 * self.node[c].label + second
            self._carry_effect(code)
            self._condition_effect(
                self.counts[t, code] - self.node[c].visits,
                self.sums[t, code] - self.node[c].total,
                m,
            )
            self.old_steps[self.old, 0] = self.nodes.array[c].mu
            self.old_steps[self.old, 1] = self.nodes.array[c].v
            self.old += 1
            self.posterior.replace_step(c, self.effect + self.shift[c], self.v + self.variance)
        self.replaced += 1
        self.posterior.gather_again()

    def _note_path(self):
        """Take note of what effects need of each node on the path but the last."""
        i: cython.int
        for i in range(self.noted, self.length - 1):
            n = self.path[i]
            c = self.path[i + 1]
            self.link[i].table = self.node[n].table
            self.link[i].next_table = self.node[c].table
            self.link[i].code = 2 * self.node[c].label + (self.node[n].sign < 0.0)
            self.link[i].average = self.node[n].total / self.node[n].visits
            self.link[i].visits = self.node[c].visits
            self.link[i].total = self.node[c].total
        self.noted = self.length - 1

    def _carry_effect(self, code):
        """Set the effect of a move at the last node of the path.

        From a node to the next it is conditioned on the playouts that did not go there, and drifts.
        """
        i: cython.int
        u: cython.int
        later: cython.double
        total: cython.double
        self.effect = self.prior_mean[code]
        self.variance = self.prior_variance[code]
        for i in range(self.length - 1):
            later = self.counts[self.link[i].table, code]
            total = self.sums[self.link[i].table, code]
            u = self.link[i].next_table
            if code == self.link[i].code:
                later -= self.link[i].visits
                total -= self.link[i].total
            elif u != NONE:
                later -= self.counts[u, code]
                total -= self.sums[u, code]
            self._condition_effect(later, total, self.link[i].average)
            self.variance += self.q

    def _condition_effect(self, later, total, m):
        """Condition the effect on the sum of results of playouts, whose mean without it is m."""
        if later > 0.0:
            scale = self.variance / (PLAYOUT_NOISE + self.variance * later)
            self.effect += scale * (total - later * (m + self.effect))
            self.variance *= 1.0 - scale * later

    def _observe(self, result):
        self.posterior.observe_followed(result, PLAYOUT_NOISE)
        end = self.path[self.length - 1]
        if self.node[end].first == NONE:
            parent = self.node[end].parent
            self._start_value(end, 1 if parent == NONE else self.node[parent].count)
        m = 0.0
        i: cython.int
        for i in range(self.length):
            n = self.path[i]
            m = self.nodes.array[n].g * m + self.nodes.array[n].offset
            self.means[i] = m
        for i in range(self.length - 1, -1, -1):
            n = self.path[i]
            if self.node[n].first != NONE:
                self._merge(n, self.means[i])
        return 0

    # ------------------------------------------------------------------ values of optimal play

    def _start_value(self, n, siblings):
        """Set V of a node without children, which has so many siblings, itself among them."""
        if self.node[n].low == self.node[n].high:
            self.intercept[n] = self.node[n].low
            self.slope[n] = 0.0
            self.width[n] = 0.0
            return
        kappa: cython.double = 0.0
        rho: cython.double = 0.0
        kappa, rho = moments_of_best(siblings)
        u = self.v + self.v_label
        self.slope[n] = 1.0
        if siblings == 1:
            self.intercept[n] = 0.0
            self.width[n] = self.v
        else:
            self.intercept[n] = self.node[n].sign * 0.5 * kappa * sqrt(u / (1.0 - rho))
            self.width[n] = u * rho / (1.0 - rho)

    def _merge(self, n, m):
        """Set V of a node to the best of its children's, linear in F around its mean."""
        if self.node[n].low == self.node[n].high:
            self.intercept[n] = self.node[n].low
            self.slope[n] = 0.0
            self.width[n] = 0.0
            return
        s = self.node[n].sign
        mean = -INF
        k = 0.0
        variance = 0.0
        for c in range(self.node[n].first, self.node[n].first + self.node[n].count):
            k_c = self.slope[c]
            mean_c = s * (
                self.intercept[c] + k_c * (self.nodes.array[c].g * m + self.nodes.array[c].offset)
            )
            variance_c = self.width[c] + k_c * k_c * self.nodes.array[c].spread
            k_c *= self.nodes.array[c].g
            if mean == -INF:
                mean = mean_c
                variance = variance_c
                k = k_c
                continue
            theta = sqrt(variance + variance_c)
            gap = mean - mean_c
            if gap >= FAR * theta:
                continue
            if gap <= -FAR * theta:
                mean = mean_c
                variance = variance_c
                k = k_c
                continue
            alpha = gap / theta
            p = 0.5 * erfc(-alpha * ROOT_HALF)
            density = theta * INVERSE_ROOT_TAU * exp(-0.5 * alpha * alpha)
            # (Moments about the mean of the first, so that nothing cancels.)
            rise = -gap * (1.0 - p) + density
            square = variance * p + (variance_c + gap * gap) * (1.0 - p) - gap * density
            mean += rise
            variance = max(square - rise * rise, 0.0)
            k = k * p + k_c * (1.0 - p)
        mean *= s
        self.slope[n] = k
        self.intercept[n] = mean - k * m
        self.width[n] = variance

    # ------------------------------------------------------------------ the root

    def values(self):
        """Return the joint posterior of V of the children of the root.

        Returns
        -------
        mean, slope, std
            Of each child: V is normal with mean `mean` + `slope` (F_root - m) and this standard
            deviation, given F_root.
        spread
            The standard deviation of F_root.
        """
        self._begin()
        if self.node[ROOT].first != NONE:
            self._reserve_steps(self.node[ROOT].count)
            self._replace_steps(ROOT)
        m = self.nodes.m
        first = self.node[ROOT].first
        count = self.node[ROOT].count
        mean = np.zeros(count)
        slope = np.zeros(count)
        deviation = np.zeros(count)
        for i in range(count):
            c = first + i
            k_c = self.slope[c]
            g = self.nodes.array[c].g
            mean[i] = self.intercept[c] + k_c * (g * m + self.nodes.array[c].offset)
            slope[i] = k_c * g
            deviation[i] = sqrt(self.width[c] + k_c * k_c * self.nodes.array[c].spread)
        return mean, slope, deviation, sqrt(self.nodes.variance)

    def effects(self):
        """Return mean and variance of the effect of each move at the root, by player and label."""
        found = {}
        t = self.node[ROOT].table
        if t == NONE:
            return found
        self._begin()
        m = self.node[ROOT].total / self.node[ROOT].visits
        code: cython.int
        last: cython.int = 2 * len(self.labels)
        for code in range(last):
            if self.counts[t, code] > 0:
                self._carry_effect(code)
                self._condition_effect(self.counts[t, code], self.sums[t, code], m)
                found[code % 2, self.labels[code // 2]] = (self.effect, self.variance)
        return found

    def make_root(self, n):
        """Keep what is below a node, which becomes the root, with what is known of it otherwise."""
        path = []
        c: cython.int = n
        while c != ROOT:
            path.append(c)
            c = self.node[c].parent
        self._begin()
        for c in reversed(path):
            self.posterior.follow(c)
            self.path[self.length] = c
            self.length += 1
        self._note_path()
        P = self.nodes.array[n].own_precision + self.nodes.array[n].sub_precision
        h = (
            self.nodes.array[n].own_precision * self.nodes.array[n].own_value
            + self.nodes.array[n].sub_shift
        )
        precision = 1.0 / self.nodes.variance - P
        mean = (self.nodes.m / self.nodes.variance - h) / precision
        # (Without a playout since the last change of the root its units tell the length.)
        length = self.mean_length if self.playouts else self.step_share / self.v
        length -= len(path)
        self.v_new += len(path) * self.q
        effects = []
        code: cython.int
        for code in range(self.prior_mean.shape[0]):
            self._carry_effect(code)
            effects.append((self.effect, self.variance))
        state = self.nodes.state()
        values = [np.array(self.intercept), np.array(self.slope), np.array(self.width)]
        values.append(np.array(self.shift))
        kept = GameTree.make_root(self, n)
        records = opaque(state["records"])[kept].view(NODE)
        links = self.records
        records["parent"] = links["parent"]
        records["child"] = links["first"]
        records["depth"] = links["depth"]
        ends = np.append(links["parent"][1:] != links["parent"][:-1], True)
        records["sibling"] = np.where(ends, NONE, np.arange(1, len(kept) + 1))
        state["records"] = records
        state["pending"] = state["pending"][:0]
        self.nodes.restore(state)
        room = self.node.shape[0]
        self.intercept, self.slope, self.width, self.shift = (
            widened(part[kept], (room,), np.float64) for part in values
        )
        self.shift[ROOT] = 0.0
        if self.boards is not None:
            self.boards.keep(kept)
        self.posterior.replace_step(ROOT, mean, 1.0 / precision)
        self._set_units(length)
        self.is_kept = True
        for code in range(self.prior_mean.shape[0]):
            self.prior_mean[code], self.prior_variance[code] = effects[code]
        return kept


def childless(path):
    """Return the number of children of a node: they are made by `add_children` alone."""
    return 0


def moments_of_best(count):
    """Return mean and variance of the highest of so many standard normal variables."""
    count = min(count, MOST_SIBLINGS)
    found = MOMENTS.get(count)
    if found is None:
        x = np.linspace(-9.0, 9.0, 4001)
        tail = np.array([0.5 * erfc(-z * ROOT_HALF) for z in x.tolist()]) ** count
        mass = np.diff(tail)
        middle = 0.5 * (x[1:] + x[:-1])
        mean = float(mass @ middle)
        found = MOMENTS[count] = (mean, float(mass @ (middle - mean) ** 2))
    return found


MOMENTS: dict = {}
