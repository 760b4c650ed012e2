# cython: boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""Evaluations that were begun and have no value yet. Notation as in `_core.py`.

They count in the standard deviations by which the next arm is chosen, and in nothing else: each
node on their way has a second precision Q, in which they count as observations.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from bough.belief.core import inverse
    from bough.belief.steps import Steps

from bough.belief.nodes import PENDING, aligned, moderate

NONE = -1
INF = float("inf")

OWN_NOISE = 2


class Pending(Steps):
    """A core that counts pending evaluations."""

    def __init__(self, tree, increments, noise, mean, single_steps):
        self.tokens = {}
        self.waiting_at = {}
        Steps.__init__(self, tree, increments, noise, mean, single_steps)

    def clear(self):
        self.tokens = {}
        self.waiting_at = {}
        if self.last_token:
            for n in range(self.used):
                self.pending_[n].count = 0
                self.pending_[n].own = 0.0
        Steps.clear(self)

    @property
    def pending(self):
        """How many evaluations are pending."""
        return self.waiting

    def pend(self, path, *, noise=None, depth=None):
        """Count an evaluation that has no value yet, and return a token for it.

        It narrows the standard deviations by which `highest_upper` chooses. Means, and all that is
        said of told observations only, stay as they are; but the nodes of the path exist from now
        on, which tells how long it is (if a function says) and shows the prior means of their
        neighbours (if that is a function), and stays so when the token is forgotten. `noise` and
        `depth` are as for `observe`.
        """
        share: cython.double = 1.0 if noise is None else self._noise_variance(noise)
        plan = self._approach(path, True)
        ends = self._ends(depth)
        kind = 0 if noise is None else OWN_NOISE
        s2 = self._variance_of(kind, share, self.length, ends)
        if self.last_token == 0:
            self.pending_ = aligned(PENDING, self.nodes_.shape[0])
        self.last_token += 1  # from now on `_reserve` makes room for pending ones
        n = self._grow(plan)
        self.tokens[self.last_token] = (n, s2, kind, ends, share)
        kinds = self.waiting_at.setdefault(n, {})
        kinds[s2] = kinds.get(s2, 0) + 1
        self.waiting += 1
        for i in range(self.trailed):
            self.pending_[self.trail[i]].count += 1
        self._sum_own(n)
        self._changed()
        return self.last_token

    def _sum_own(self, n):
        """Sum 1/s^2 of the evaluations that are pending at this very node."""
        total: cython.double = 0.0
        for s2, count in self.waiting_at.get(n, {}).items():
            total += count * inverse(s2)
        self.pending_[n].own = total

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
        n, s2, _, _, _ = self.tokens.pop(token)
        self.waiting -= 1
        self.waiting_at[n][s2] -= 1
        if self.waiting_at[n][s2] == 0:
            del self.waiting_at[n][s2]
        if not self.waiting_at[n]:
            del self.waiting_at[n]
        for i in range(self.trailed):
            self.pending_[self.trail[i]].count -= 1
        self._sum_own(n)

    def _node_of(self, token):
        if type(token) is not int or token not in self.tokens:
            raise ValueError(
                f"token {token!r} is not pending: it was settled or forgotten before, "
                "or `pend` of this belief never gave it"
            )
        return self.tokens[token][0]

    def settle(self, token, value, *, noise=None):
        """Give a pending evaluation its value; `noise` as for `observe`."""
        y: cython.double = moderate(value, "value")
        own = None if noise is None else self._noise_variance(noise)
        n: cython.int = self._node_of(token)
        _, expected, kind_, ends_, share_ = self.tokens[token]
        kind: cython.int = kind_
        ends: cython.int = ends_
        share: cython.double = share_
        if own is not None:
            kind = OWN_NOISE
            share = own
        self._climb(n)
        s2 = self._variance_of(kind, share, self.length, ends)
        self._check_exact(y, s2)
        self._reserve(0)
        self._withdraw(token)
        self._tell(n, y, s2, kind, ends, share)
        if expected == 0.0 and s2 > 0.0:
            self._reopened()

    def forget(self, token):
        """Drop a pending evaluation: it will not come."""
        n: cython.int = self._node_of(token)
        exact = self.tokens[token][1] == 0.0
        self._climb(n)
        self._withdraw(token)
        self._changed()
        if exact:
            self._reopened()

    def _changed(self):
        Steps._changed(self)
        if self.waiting:
            for i in range(self.trailed - 1, -1, -1):
                if self.pending_[self.trail[i]].count:
                    self._count_pending(self.trail[i])

    def _gather(self, group):
        Steps._gather(self, group)
        if self.waiting and self.pending_[group].count:
            self._count_pending(group)

    def _reopened(self):
        """Note that arms which a pending exact reading made known are so no longer."""

    def _state(self):
        return Steps._state(self) | {
            "tokens": dict(self.tokens),
            "waiting_at": {n: dict(kinds) for n, kinds in self.waiting_at.items()},
        }

    def __setstate__(self, state):
        Steps.__setstate__(self, state)
        self.tokens = dict(state["tokens"])
        self.waiting = len(self.tokens)
        self.waiting_at = {n: dict(kinds) for n, kinds in state["waiting_at"].items()}
