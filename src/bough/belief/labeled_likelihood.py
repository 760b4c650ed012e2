"""The marginal likelihood of observations with effects of labels, and its gradient.

    K = K_0 + Phi S Phi'

    K_0    covariance of the observations without labels, their noise included: see `likelihood.py`
    Phi    strengths of the labels on the path of each observation; S covariance of the effects w
    Psi    a root of S: S = Psi Psi'
    B, b   Phi' K_0^-1 Phi and Phi' K_0^-1 (y - mean), from one pass over the tree
    A      I + Psi' B Psi

    log N(y; mean, K) = log N(y; mean, K_0) + (Psi'b)' A^-1 (Psi'b) / 2 - log det A / 2

Gradients are those of -(log det K + y'K^-1 y)/2: for a parameter t, (a' dK a - tr(K^-1 dK))/2 with
a = K^-1 (y - mean). A mean that is unknown is one more column of Phi, of ones, with a flat prior.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bough.belief.likelihood import Evidence
from bough.kernels import LabelModel

if TYPE_CHECKING:
    from bough.belief.belief import Belief

Array = NDArray[np.float64]

#: The least variance of the noise, in units of the variance of the rewards: K_0 is inverted.
LEAST_NOISE = 1e-10
LOG_TWO_PI = math.log(2 * math.pi)


class LabeledEvidence:
    """The observations of a belief with labels, in units of `scale` from `shift`.

    It has the attributes of `Evidence` that fits of hyperparameters read.
    """

    def __init__(self, belief: "Belief", shift: float, scale: float) -> None:
        self.tree = Evidence(belief, shift, scale)
        self.shift, self.scale = shift, scale
        self.observations = self.tree.observations
        self.node = np.asarray(self.tree.node)
        self.restriction = 0.0
        #: Whether the derivative by the decay is needed.
        self.decay_is_free = False
        #: Derivatives by the logarithms of the hyperparameters of labels, by name.
        self.by_labels: dict[str, float] = {}
        #: The variance of the effects on an average path, and its derivatives.
        self.label_variance = 0.0
        self.by_label_variance: dict[str, float] = {}
        effects = belief.effects
        assert effects is not None
        self._labels = list(effects.keys)
        self._depth = belief.tree.depth
        self._find_labels(belief)

    @property
    def densities(self) -> int:
        """The number of factors of the last likelihood."""
        return int(self.tree.densities)

    def set_heights(self, heights: Array) -> None:
        """Set the height of the prior mean at each of `node`, up to `mean` and `factor`."""
        self.tree.set_heights(heights)

    def _find_labels(self, belief: "Belief") -> None:
        """Find the label and the depth of every node on the way to each of `node`."""
        assert belief.effects is not None
        label, nodes = belief.effects.labels_of_nodes, belief.nodes
        parent, depth = nodes["parent"], nodes["depth"]
        rows, columns, depths = [], [], []
        for k, n in enumerate(self.node.tolist()):
            while n >= 0:
                if label[n] >= 0 and nodes["count"][n] >= 0:
                    rows.append(k)
                    columns.append(label[n])
                    depths.append(depth[n])
                n = parent[n]
        self._row, self._column = np.array(rows, dtype=int), np.array(columns, dtype=int)
        self._depths = np.array(depths, dtype=int)
        #: Which of them are the node itself.
        self._is_last = self._depths == depth[self.node[self._row]]

    def _columns(self, strengths: Array, *, of_steps: bool) -> Array:
        """Return the strengths of all labels along each path, or in its last step alone."""
        found = np.zeros((len(self.node), len(self._labels)))
        weights = strengths[self._depths]
        if of_steps:
            weights = np.where(self._is_last & (self._depths > 1), weights, 0.0)
        np.add.at(found, (self._row, self._column), weights)
        return found

    def likelihood(
        self,
        increments: Array,
        noise_variance: float,
        mean: float,
        factor: float,
        model: LabelModel,
        *,
        mean_is_free: bool = False,
    ) -> tuple[float, Array, float, float, float]:
        """Return the log density of all observations, and its derivatives.

        As `Evidence.likelihood` does; those by hyperparameters of labels are left in `by_labels`.
        """
        tree, between = self.tree, model.between
        s2 = max(noise_variance, LEAST_NOISE)
        density = tree.likelihood(increments, s2, mean, factor)[0]
        strengths = model.strengths(self._depth)
        basis, S, slopes, prior = self._effects(between)
        phi = self._columns(strengths, of_steps=False) @ basis
        of_steps = self._columns(strengths, of_steps=True) @ basis
        slope = np.arange(-1.0, self._depth)  # d log s_d / d log decay
        slope[0] = 0.0
        size = S.shape[0]
        ones = np.ones((len(phi), 1))
        columns, step_columns = [phi, ones], [of_steps, 0.0 * ones]
        if self.decay_is_free:
            columns.append(self._columns(strengths * slope, of_steps=False) @ basis)
            step_columns.append(self._columns(strengths * slope, of_steps=True) @ basis)
        G, forces, weights, means, step_means, step_variances = tree.columns(
            np.hstack(columns), np.hstack(step_columns)
        )
        gram = G.T @ G
        b, B = gram[1 : size + 1, 0], gram[1 : size + 1, 1 : size + 1]
        b_1, B_11 = gram[1 : size + 1, size + 1], gram[size + 1, size + 1]
        # The posterior of the effects: mean w and covariance omega.
        if between.independent:
            root = np.diag(np.sqrt(np.diag(S)))
        else:
            values, vectors = np.linalg.eigh(S)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
        A = np.eye(size) + root.T @ B @ root
        chol = np.linalg.cholesky(A)
        half = np.linalg.solve(chol, root.T)
        omega = half.T @ half
        excess = b - B @ prior
        w = prior + omega @ excess
        density += 0.5 * float(excess @ omega @ excess) - float(np.log(np.diag(chol)).sum())
        density += float(prior @ b) - 0.5 * float(prior @ B @ prior)
        # An unknown mean: its variance, and the covariance of it and the effects.
        self.restriction = 0.0
        joint = np.zeros((size + 1, size + 1))
        joint[:size, :size] = omega
        precision = B_11 - float(b_1 @ omega @ b_1)
        if mean_is_free and precision > 0.0:
            doubt = 1.0 / precision
            self.restriction = 0.5 * (LOG_TWO_PI + math.log(doubt))
            density += self.restriction
            direction = np.append(-omega @ b_1, 1.0)
            joint += doubt * np.outer(direction, direction)
        # By increments, mean and factor.
        known, both = forces[:, 1 : size + 1], forces[:, 1 : size + 2]
        force = forces[:, 0] - known @ w
        spread = weights - np.einsum("ij,ij->i", both @ joint, both)
        by_edge = 0.5 * (force * force - spread)
        by_slot = np.bincount(np.asarray(tree.slot), by_edge, minlength=len(tree.tops))
        found = np.zeros(self._depth + 1)
        for top, bottom, value in zip(tree.tops, tree.bottoms, by_slot, strict=True):
            found[top : bottom + 1] += value
        by_factor = float(force @ np.asarray(tree.rise))
        # By the noise.
        c = np.hstack([phi, ones]) - means[:, : size + 1]
        gap = np.asarray(tree.value)[0] - np.asarray(tree.m) - c[:, :size] @ w
        variance = np.asarray(tree.V) + np.einsum("ij,ij->i", c @ joint, c)
        squares = tree.scatter + float(np.asarray(tree.weight)[0] @ (gap * gap + variance))
        if tree.has_steps:
            c = np.hstack([of_steps, 0.0 * ones]) - step_means[:, 1 : size + 2]
            gap = np.asarray(tree.value)[1] - step_means[:, 0] - c[:, :size] @ w
            variance = step_variances + np.einsum("ij,ij->i", c @ joint, c)
            squares += float(np.asarray(tree.weight)[1] @ (gap * gap + variance))
        by_noise = 0.5 * (squares / s2 - tree.common) / s2 if noise_variance >= s2 else 0.0
        # By the covariance of the effects, and by their decay.
        q = b - B @ w
        at = gram[1 : size + 2, 1 : size + 1]  # of effects and mean, with effects
        inner = np.outer(q, q) - (B - at.T @ joint @ at)
        self.by_labels = {name: 0.5 * float((inner * dS).sum()) for name, dS in slopes.items()}
        if self.decay_is_free:
            decay = gram[size + 2 :, :]
            pull = decay[:, 0] - decay[:, 1 : size + 1] @ w
            trace = decay[:, 1 : size + 1] - decay[:, 1 : size + 2] @ joint @ at
            self.by_labels["decay"] = float(pull @ w) - float((trace * S).sum())
        self._find_label_variance(S, slopes, basis, strengths, slope)
        return density, found, by_noise, float(force[0]), by_factor

    def _effects(self, between: Any) -> tuple[Array, Array, dict[str, Array], Array]:
        """Return a basis of the effects, its prior covariance with derivatives, and its mean."""
        unit = self.scale * self.scale
        if between.linear and self._labels:
            table = np.array(self._labels, dtype=np.float64)
            S = between.variance / unit * np.eye(table.shape[1])
            return table, S, {"variance": S}, np.zeros(len(S))
        S = between.matrix(self._labels) / unit
        slopes = {name: slope / unit for name, slope in between.gradients(self._labels).items()}
        prior = between.means(self._labels) / self.scale
        return np.eye(len(self._labels)), S, slopes, prior

    def _find_label_variance(
        self,
        S: Array,
        slopes: dict[str, Array],
        basis: Array,
        strengths: Array,
        slope: Array,
    ) -> None:
        """Find the prior variance that labels add to an average path, and its derivatives."""

        def average(covariance: Array) -> float:
            each = np.einsum("ij,ij->i", basis @ covariance, basis)
            return float(each.mean()) if len(each) else 0.0

        squares = strengths * strengths
        self.label_variance = average(S) * float(squares.sum())
        self.by_label_variance = {
            name: average(dS) * float(squares.sum()) for name, dS in slopes.items()
        }
        self.by_label_variance["decay"] = average(S) * float(2.0 * slope @ squares)
