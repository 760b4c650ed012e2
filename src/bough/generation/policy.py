"""The choice of the next call: a draft or a node, and a generator, by the highest rate."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.generation.model import Model

#: The number of nodes whose rates are computed again in turn at each choice.
REFRESH = 4
#: The least number of drafts before any refinement.
LEAST_DRAFTS = 3
#: The share of the variance of a step that a generator's mean step is uncertain by, before any.
UNTRIED = 1.0


class Policy:
    """Rates of all pairs of a node and a generator, and of drafts.

    Parameters
    ----------
    model
        The model.
    rng
        The generator of random numbers, which breaks ties.
    """

    def __init__(self, model: Model, rng: np.random.Generator) -> None:
        self.model = model
        self._rng = rng
        self._index = np.zeros((model.generators, 0))
        self._stamps = np.zeros((model.generators, 0), dtype=np.int32)
        self._tie = np.zeros(0)
        self.pending = np.zeros(0, dtype=np.int32)  # calls under way at each node,
        self.drafts = 0  # and drafts under way
        self.closed = np.zeros(0, dtype=np.int32)  # whether a node cannot be expanded
        self._count = 0
        self._state: Any = None  # that the rates of drafts were computed for
        self._draft_rates = np.zeros(0)
        self._now = 0

    def begin(self, node: int) -> None:
        """Count a call under way at a node, or of a draft if it is -1."""
        if node < 0:
            self.drafts += 1
        else:
            self.pending[node] += 1

    def end(self, node: int, *, failed: bool) -> None:
        """Count a call as ended. At a node one that has failed weighs like one under way."""
        if node < 0:
            self.drafts -= 1
        elif not failed:
            self.pending[node] -= 1

    def grow(self, closed: bool) -> None:
        """Add a node."""
        i = self._count
        if i == len(self._tie):
            more = max(64, i)
            self._index = np.pad(self._index, ((0, 0), (0, more)))
            self._stamps = np.pad(self._stamps, ((0, 0), (0, more)))
            self._tie = np.concatenate([self._tie, self._rng.random(more)])
            self.pending = np.pad(self.pending, (0, more))
            self.closed = np.pad(self.closed, (0, more))
        self._index[:, i] = math.inf
        self.closed[i] = closed
        self._count += 1

    def choose(self, calls: NDArray[np.int32], costs: NDArray[np.float64]) -> tuple[int, int]:
        """Return the node to expand, -1 for a draft, and the generator.

        Parameters
        ----------
        calls
            The number of calls that each generator could still make.
        costs
            The cost of a call of each.
        """
        model = self.model
        model.update()
        n = self._count
        able = np.flatnonzero(calls > 0).astype(np.int32)
        records = model.records()
        best = float(records["mean"].max())
        self._now += 1
        extra: Any = UNTRIED * model.step_variance / (model.step_counts + 2.0)
        at = model.rates.choose(
            n, model._table, self._index, self._stamps, self._now, (self._now * REFRESH) % n,
            self._tie, self.pending, self.closed, extra, best, calls, costs,
        )  # fmt: skip
        # (A generator that cannot be paid any more has rates of 0, which may all be equal.)
        node = -1 if at < 0 or calls[at // n] == 0 else at % n
        top = self._index[at // n, node] if node >= 0 else -math.inf
        # Between fits the rates of drafts fall too, and are computed again only where they decide.
        state = model.version, able.tobytes(), costs.tobytes()
        if state != self._state:
            self._state, self._draft_rates = state, np.full(len(able), math.inf)
        ties = (1.0 + 1e-9 * self._rng.random(len(able))) / (1.0 + self.drafts)
        fresh = None
        while True:
            k = int(np.argmax(self._draft_rates * ties))
            if top >= self._draft_rates[k] * ties[k]:
                return node, at // n
            if k == fresh:
                return -1, int(able[k])
            g, fresh = able[k], k
            self._draft_rates[k] = model.rates.draft(
                model.draft_mean[g], model.draft_sd[g], able, np.sqrt(model.w0 + extra[able]),
                best, int(calls[g]), costs[g], costs[able],
            )  # fmt: skip
