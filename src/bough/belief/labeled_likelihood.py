"""The marginal likelihood of observations with effects of labels, and its gradient.

    K = K_0 + Phi S Phi'

    K_0    covariance of the observations without labels, their noise included: see `likelihood.py`
    Phi    strengths of the labels on the path of each observation; S covariance of the effects w
    Psi    a root of S: S = Psi Psi'
    G, e   roots of K_0^-1, from one pass over the tree: G'G = Phi' K_0^-1 Phi, and e the same for
           y - mean
    F, A   G Psi, and I + F'F

    (y - mean)' K^-1 (y - mean) = min over u of |e - F u|^2 + |u|^2;  det K = det K_0 det A

The minimum is computed as it stands: the difference of the two quadratic forms in K_0^-1 would lose
all digits where the noise is small and labels explain nearly everything.

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
#: The largest entry of A for a Cholesky factor.
LARGE = 1e6
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
        if tree.likelihood(increments, s2, mean, factor)[0] == -math.inf:
            return -math.inf, np.zeros(self._depth + 1), 0.0, 0.0, 0.0
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
        e, G = G[:, 0], G[:, 1:]
        # The posterior of the effects: mean w and covariance omega.
        if between.independent:
            root = np.diag(np.sqrt(np.diag(S)))
        else:
            values, vectors = np.linalg.eigh(S)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
        inverse = Inverse(G[:, :size] @ root)
        excess = e - G[:, :size] @ prior
        u = inverse.solve(excess)
        w = prior + root @ u
        left = excess - G[:, :size] @ (root @ u)
        density = tree.determinant - 0.5 * tree.square - inverse.log_root
        density -= 0.5 * float(left @ left + u @ u)
        omega = inverse.covariance(root)
        # An unknown mean: its variance, and the covariance of it and the effects.
        self.restriction = 0.0
        joint = np.zeros((size + 1, size + 1))
        joint[:size, :size] = omega
        P = inverse.rest(G)  # G'(I + F F')^-1 G
        if mean_is_free and P[size, size] > 0.0:
            doubt = 1.0 / P[size, size]
            self.restriction = 0.5 * (LOG_TWO_PI + math.log(doubt))
            density += self.restriction
            direction = np.append(-omega @ (G[:, :size].T @ G[:, size]), 1.0)
            joint += doubt * np.outer(direction, direction)
            P = P - doubt * np.outer(P[size], P[size])
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
        pull = G.T @ left
        inner = np.outer(pull[:size], pull[:size]) - P[:size, :size]
        self.by_labels = {name: 0.5 * float((inner * dS).sum()) for name, dS in slopes.items()}
        if self.decay_is_free:
            trace = float((P[size + 1 :, :size] * S).sum())
            self.by_labels["decay"] = float(pull[size + 1 :] @ w) - trace
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


class Inverse:
    """The inverse of A = I + F'F, and of I + F F'.

    By a Cholesky factor; where entries are of very different size by singular values, which keep
    their digits.
    """

    def __init__(self, F: Array) -> None:
        self.F = F
        A = np.eye(F.shape[1]) + F.T @ F
        self.is_plain = bool(A.size and np.diag(A).max() < LARGE)
        if self.is_plain:
            chol: Any = np.linalg.cholesky(A)
            self.log_root = float(np.log(np.diag(chol)).sum())
            self._half: Array = np.linalg.inv(chol).astype(np.float64)
        else:
            self.U, values, vectors = np.linalg.svd(F, full_matrices=False)
            self._shrunk: Array = 1.0 / (1.0 + values**2)
            self._values, self._vectors = values, vectors
            self.log_root = -0.5 * float(np.log(self._shrunk).sum())

    def solve(self, e: Array) -> Array:
        """Return A^-1 F'e, the minimizer of |e - F u|^2 + |u|^2."""
        found: Array
        if self.is_plain:
            found = self._half.T @ (self._half @ (self.F.T @ e))
        else:
            found = self._vectors.T @ (self._values * self._shrunk * (self.U.T @ e))
        return found

    def covariance(self, root: Array) -> Array:
        """Return root A^-1 root'."""
        found: Array
        if self.is_plain:
            half = self._half @ root.T
            found = half.T @ half
        else:
            inside = root @ self._vectors.T
            outside = root - inside @ self._vectors
            found = (inside * self._shrunk) @ inside.T + outside @ outside.T
        return found

    def rest(self, G: Array) -> Array:
        """Return G'(I + F F')^-1 G."""
        found: Array
        if self.is_plain:
            half = self._half @ (self.F.T @ G)
            found = G.T @ G - half.T @ half
        else:
            inside = self.U.T @ G
            outside = G - self.U @ inside
            found = inside.T @ (self._shrunk[:, None] * inside) + outside.T @ outside
        return found
