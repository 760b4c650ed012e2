# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""Another kernel, noise and mean for what was told. Notation as in `_core.py`.

All readings are taken in again at their nodes, and then all messages sent once, from the deepest
nodes upwards: O(nodes), and nothing is left of what was believed before.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from bough.belief.pending import Pending

from bough.belief.nodes import moderate

ROOT = 0
NONE = -1
INF = float("inf")

STEP = 1
CERTAIN = 4


class Reprior(Pending):
    """A core whose prior may change."""

    def _believe(self, increments, noise, mean, likelihood):
        """Take another kernel, noise and mean; what was told stays told.

        `likelihood` is that of it all, which the caller has found in choosing them.
        """
        mus = self._prior_means(mean)
        self._set_prior(increments, mean)
        self.noise = moderate(noise, "noise")
        self.farthest = 0.0
        self.fine = False
        for n in range(self.used):
            if self._is_group(n):
                self.nodes_[n].sub_precision = 0.0
                self.nodes_[n].sub_shift = 0.0
                continue
            self.nodes_[n].v = self.increments[self.nodes_[n].depth]
            self.nodes_[n].mu = 0.0 if mus is None else mus[n]
            self.nodes_[n].own_precision = 0.0
            self.nodes_[n].own_value = 0.0
            self.nodes_[n].sub_precision = 0.0
            self.nodes_[n].sub_shift = 0.0
            self._set_arm(n)
        for i in range(self.told):
            self._read_again(i)
        self._pend_again()
        self._gather_all()
        self.likelihood = likelihood
        self.likelihood_rest = 0.0

    def _prior_means(self, mean):
        """Return the prior mean of each node's step; None if they are all 0."""
        if not callable(mean):
            return None
        paths = [()] * self.used
        heights = np.zeros(self.used)
        mus = np.zeros(self.used)
        heights[ROOT] = moderate(mean(()), "mean(())")
        for n in range(1, self.used):
            if not self._is_group(n):
                p = self.nodes_[n].parent
                while self._is_group(p):
                    p = self.nodes_[p].parent
                paths[n] = (*paths[p], int(self.nodes_[n].index))
                heights[n] = moderate(mean(paths[n]), f"mean({paths[n]})")
                mus[n] = heights[n] - heights[p]
        return mus

    def _read_again(self, i):
        """Take in a reading whose noise, or whose prior, has changed; leave out what follows."""
        n = self.readings_[i].node
        kind = self.readings_[i].kind & ~CERTAIN
        y = self.readings_[i].value
        s2 = self._variance_of(
            kind, self.readings_[i].share, self.nodes_[n].depth, self.readings_[i].ends
        )
        if n == ROOT or not kind & STEP:
            y -= self.center
        if s2 == 0.0 and (
            self.nodes_[n].v == 0.0 if kind & STEP else self.nodes_[n].own_precision == INF
        ):
            self.readings_[i].kind = kind | CERTAIN
        else:
            self.readings_[i].kind = kind
            self._judge(y, INF, s2)
        self.readings_[i].variance = s2
        if kind & STEP:
            self._take_step(n, y, s2)
        else:
            self._take_value(n, y, s2)

    def _pend_again(self):
        """Give pending evaluations the noise that they have now."""
        self.waiting_at = {}
        for token, (n, _, kind, ends, share) in self.tokens.items():
            s2 = self._variance_of(kind, share, self.nodes_[n].depth, ends)
            self.tokens[token] = (n, s2, kind, ends, share)
            kinds = self.waiting_at.setdefault(n, {})
            kinds[s2] = kinds.get(s2, 0) + 1
        for n in self.waiting_at:
            self._sum_own(n)

    def _gather_all(self):
        """Send all messages anew, those of the deepest nodes first."""
        n = ROOT
        while True:
            while self.nodes_[n].child != NONE:
                n = self.nodes_[n].child
            while True:
                self._refresh(n)
                if self.waiting and self.pending_[n].count:
                    self._count_pending(n)
                parent = self.nodes_[n].parent
                if parent == NONE:
                    return
                self._add_message(parent, self._tau(n), self._eta(n))
                if self.nodes_[n].sibling != NONE:
                    break
                n = parent
            n = self.nodes_[n].sibling
