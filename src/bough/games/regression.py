"""A kernel between boards: prior means of the steps to new positions, from their features.

With the notation of `bough.games.beliefs`, the part e of a step that effects of moves do not
explain is in turn the difference of a function of the features at both ends, and independent noise:

    e_c = f(x_c) - f(x_n) + e'_c,   f ~ GP(0, kernel),   var(f(x_c) - f(x_n)) = v/2 on average

An observed step is what the playouts from c on say of F_c, less what all others say of F_n, less
the effect of the move. The steps that are known best are regressed on their features, and the
regression gives the prior means of the steps to the children of a node when it is expanded.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.games.rules import Position
from bough.kernels import LabelKernel

Array = NDArray[np.float64]

#: The number of steps that are regressed, and of expanded nodes from which they are taken.
MOST_STEPS, MOST_NODES = 64, 256
#: Expanded nodes before the first regression, and the growth of their number until the next.
FIRST, GROWTH = 8, 1.25
#: The share of the variance of a step that features may explain.
SHARE = 0.5


class BoardRegression:
    """Regression of the steps of a game tree on features of the positions.

    Parameters
    ----------
    kernel
        The kernel between vectors of features.
    """

    def __init__(self, kernel: LabelKernel) -> None:
        self._kernel = kernel
        self._seen = 0  # expanded nodes
        self._next = FIRST
        #: Of expanded nodes: features of the node and of its children, and their prior means.
        self._known: dict[int, tuple[Array, Array, Array]] = {}
        self._vectors: list[Array] = []
        self._weights = np.zeros(0)

    def expect(self, tree: Any, n: int, position: Position, moves: list[Any]) -> Array:
        """Return the prior means of the steps to the children of a node that is expanded now."""
        boards = [position]
        for move in moves:
            boards.append(position.copy())
            boards[-1].play(move)
        x, *vectors = features_of(boards)
        self._seen += 1
        if self._seen >= self._next:
            self._next = int(GROWTH * self._seen) + 1
            self._fit(tree)
        means = np.zeros(len(moves))
        if len(self._weights):
            values = self._kernel.matrix([x, *vectors], self._vectors) @ self._weights
            means = values[1:] - values[0]
        if len(self._known) < MOST_NODES:
            self._known[n] = x, np.array(vectors), means
        return means

    def keep(self, kept: NDArray[np.intp]) -> None:
        """Keep what is known of some nodes, whose new numbers are those of their places."""
        number = {n: i for i, n in enumerate(kept.tolist())}
        self._known = {number[n]: known for n, known in self._known.items() if n in number}

    def _fit(self, tree: Any) -> None:
        """Regress the steps that are known best on their features."""
        steps = self._steps(tree)
        if not steps:
            return
        steps.sort(key=lambda step: step[1])
        values, noise, ends, starts = zip(*steps[:MOST_STEPS], strict=True)
        vectors = [*ends, *starts]
        K = self._kernel.matrix(vectors)
        k = len(values)
        K = K[:k, :k] - K[:k, k:] - K[k:, :k] + K[k:, k:]
        typical = float(np.mean(np.diag(K)))
        if typical > 0.0:  # otherwise features do not tell positions apart
            scale = SHARE * tree.v / typical
            solved = scale * np.linalg.solve(scale * K + np.diag(noise), np.array(values))
            self._vectors, self._weights = vectors, np.append(solved, -solved)
            if self._kernel.linear:  # then f is a covariance with one vector
                self._vectors, self._weights = [self._weights @ np.array(vectors)], np.ones(1)

    def _steps(self, tree: Any) -> list[tuple[float, float, Array, Array]]:
        """Return the steps that were observed, the variances of their noise, and both features."""
        links, nodes = tree.records, tree.nodes.records
        found = []
        mean: dict[int, float] = {}
        variance: dict[int, float] = {}
        for n in sorted(self._known):  # parents first
            g, parent = nodes["g"][n], int(nodes["parent"][n])
            mean[n] = g * mean.get(parent, 0.0) + nodes["offset"][n]
            variance[n] = g * g * variance.get(parent, 0.0) + nodes["spread"][n]
            x, vectors, shifts = self._known[n]
            first = links["first"][n]
            for i, shift in enumerate(shifts):
                node = nodes[first + i]
                P = node["own_precision"] + node["sub_precision"]
                if P == 0.0:
                    continue
                h = node["own_precision"] * node["own_value"] + node["sub_shift"]
                # F_n, from all playouts that do not go through c.
                rest = 1.0 / variance[n] - node["g"] * P
                start = (mean[n] / variance[n] - node["g"] * (h - P * node["mu"])) / rest
                value = h / P - start - (node["mu"] - shift)
                noise = 1.0 / P + 1.0 / rest + node["v"] - SHARE * tree.v
                found.append((float(value), float(noise), vectors[i], x))
        return found


def features_of(positions: Sequence[Position]) -> Array:
    """Return the features of positions as the rows of a matrix, or refuse them."""
    function = getattr(positions[0], "features", None)
    if function is None:
        raise TypeError(
            f"board_kernel needs a method features() of positions, which "
            f"{type(positions[0]).__name__} does not have"
        )
    given = [np.reshape(each.features(), -1) for each in positions]  # type: ignore[attr-defined]
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "features() must be a vector of numbers, of the same length for all positions, got "
            f"{given[0]!r} and {given[-1]!r}"
        ) from None
    if found.shape[1] == 0 or not np.all(np.isfinite(found)):
        raise ValueError(f"features() must be finite numbers, got {given[0]!r}")
    return found
