"""Costs of the belief: `python -m benchmarks.core [--plays 1e6]`.

Times depend on the machine; compare ratios within a run only.
"""

import argparse
import gc
import itertools
import math
import os
import subprocess
import sys

import numpy as np

import bough
from benchmarks.timing import NOISE, Stopwatch, fast_reward, last_fifths, plays, timed
from bough import kernels
from bough.belief.best_arm import BOUND
from bough.belief.nodes import NODE
from bough.belief.posterior import OBSERVATION
from bough.belief.rng import SplitMix64

SETTINGS = [
    ("Linear 5^10", bough.Tree(5, 10), kernels.Linear()),
    ("Discounted(.7) 5^10", bough.Tree(5, 10), kernels.Discounted(0.7)),
    ("Gaussian(3) 2^20", bough.Tree(2, 20), kernels.Gaussian(3.0)),
    ("Gaussian(3) 200^10", bough.Tree(200, 10), kernels.Gaussian(3.0)),
]


def belief_plays(belief, scale, watch):
    """Play the arm with the highest upper bound for ever; yield the number of nodes touched."""
    tree = belief.tree
    reward = fast_reward(belief.kernel, tree.depth)
    rng = SplitMix64(1)
    confidence = bough.Confidence(scale=scale)
    for t in itertools.count(1):
        sqrt_beta = confidence.sqrt_beta(t, tree.log_arms)
        watch.start()
        path = belief.highest_upper(sqrt_beta, rng=rng).path
        watch.stop()
        value = reward(path)
        watch.start()
        belief.observe(path, value)
        watch.stop()
        yield belief.arm_search.touched


def cost_table(most):
    marks = [m for m in (1_000, 10_000, 100_000, 1_000_000) if m <= most]
    print("One highest_upper + observe: microseconds (nodes touched)")
    header = "".join(f"{f't = {m:.0e}':>16}" for m in marks)
    print(f"{'setting':<22}{'scale':>6}{header}{'last/first':>12}{'bytes/obs':>11}")
    for name, tree, kernel in SETTINGS:
        for scale in (0.3, 1.0):
            cells, costs = "", []
            belief, watch = bough.Belief(tree, kernel, NOISE), Stopwatch()
            playing = belief_plays(belief, scale, watch)
            for _, cost, touched in last_fifths(playing, watch, marks):
                cells += f"{f'{cost:.2f} ({np.mean(touched):.0f})':>16}"
                costs.append(cost)
            nodes = len(belief.nodes) * (NODE.itemsize + BOUND.itemsize)
            size = nodes / marks[-1] + OBSERVATION.itemsize
            print(f"{name:<22}{scale:>6}{cells}{costs[-1] / costs[0]:>12.2f}{size:>11.0f}")


class DenseUCB:
    """GP-UCB over played leaves and frontiers, by an incremental Cholesky factor.

    Keeps W = L^-1 K(played, candidates), so that a play costs O(plays x candidates).
    """

    def __init__(self, tree, kernel, confidence):
        self.tree, self.confidence = tree, confidence
        self.shared = np.cumsum(kernel.increments(tree.depth))
        self.played = np.empty((0, tree.depth), int)
        self.L = np.empty((0, 0))
        self.alpha = np.empty(0)  # L^-1 y
        self.candidates = [((), None)]  # node, and the leaf itself if it is one
        self.steps = np.full((1, tree.depth), -1)
        self.W = np.empty((0, 1))
        self.explored = {(): set()}

    def covariance(self, steps_a, steps_b):
        same = steps_a[:, None, :] == steps_b[None, :, :]
        return self.shared[np.cumprod(same, axis=2).sum(axis=2)]

    def ask(self):
        sqrt_beta = self.confidence.sqrt_beta(len(self.played) + 1, self.tree.log_arms)
        mean = self.W.T @ self.alpha
        variance = self.shared[-1] - np.einsum("ij,ij->j", self.W, self.W)
        best = int(np.argmax(mean + sqrt_beta * np.sqrt(np.maximum(variance, 0))))
        node, leaf = self.candidates[best]
        if leaf is not None:
            return leaf
        free = next(k for k in range(self.tree.counts[len(node)]) if k not in self.explored[node])
        return (*node, free, *(0,) * (self.tree.depth - len(node) - 1))

    def tell(self, path, value):
        from scipy.linalg import solve_triangular

        row = np.array([path])
        k = self.covariance(self.played, row)[:, 0]
        l_row = solve_triangular(self.L, k, lower=True) if len(k) else k
        corner = math.sqrt(self.shared[-1] + NOISE**2 - l_row @ l_row)
        size = len(k)
        L = np.zeros((size + 1, size + 1))
        L[:size, :size], L[size, :size], L[size, size] = self.L, l_row, corner
        self.L = L
        self.alpha = np.append(self.alpha, (value - l_row @ self.alpha) / corner)
        self.played = np.vstack([self.played, row])
        k_candidates = self.covariance(row, self.steps)[0]
        self.W = np.vstack([self.W, (k_candidates - l_row @ self.W) / corner])
        self.add_candidates(path)

    def add_candidates(self, path):
        from scipy.linalg import solve_triangular

        new, rows, drop = [], [], []
        for i in range(len(path)):
            node = path[:i]
            if path[i] in self.explored[node]:
                continue
            self.explored[node].add(path[i])
            if len(self.explored[node]) == self.tree.counts[i]:
                drop.append(self.candidates.index((node, None)))
            child = path[: i + 1]
            self.explored[child] = set()
            new.append((child, child if len(child) == self.tree.depth else None))
            rows.append([*child, *[-1] * (self.tree.depth - len(child))])
        if new:
            steps = np.array(rows)
            K = self.covariance(self.played, steps)
            self.W = np.hstack([self.W, solve_triangular(self.L, K, lower=True)])
            self.steps = np.vstack([self.steps, steps])
            self.candidates += new
        if drop:
            self.candidates = [c for i, c in enumerate(self.candidates) if i not in drop]
            self.steps = np.delete(self.steps, drop, axis=0)
            self.W = np.delete(self.W, drop, axis=1)


def against_dense(t=2_000):
    """Time the last fifth of some plays: bough's in a run of its own, and the dense one's."""
    tree, kernel = bough.Tree(5, 10), kernels.Linear()
    watch = Stopwatch()
    playing = belief_plays(bough.Belief(tree, kernel, NOISE), 0.3, watch)
    [(_, ours, _)] = last_fifths(playing, watch, [t])
    dense = DenseUCB(tree, kernel, bough.Confidence(scale=0.3))
    playing = plays(dense, fast_reward(kernel, tree.depth), watch)
    [(_, theirs, _)] = last_fifths(playing, watch, [t])
    belief, reward = bough.Belief(tree, kernel, NOISE), fast_reward(kernel, tree.depth)
    for path in dense.played.tolist():
        belief.observe(path, reward(path))
    # Both believe the same.
    m, sd = belief.posterior(dense.played[:50])
    k = dense.covariance(dense.played, dense.played[:50])
    W = np.linalg.solve(dense.L, k)
    assert np.allclose(W.T @ dense.alpha, m, atol=1e-8)
    assert np.allclose(dense.shared[-1] - (W**2).sum(0), sd**2, atol=1e-8)
    print(
        f"Dense GP-UCB, incremental Cholesky, last fifth of {t:,} plays of Linear 5^10: "
        f"{theirs / 1e3:.1f} ms a play, bough {ours:.2f} us: {theirs / ours:.0f} times"
    )


def against_scikit_learn(t=2_000, asked=1_000):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Kernel, StationaryKernelMixin

    tree, kernel = bough.Tree(5, 10), kernels.Gaussian(3.0)
    shared = np.cumsum(kernel.increments(tree.depth))

    class PathKernel(StationaryKernelMixin, Kernel):
        def __init__(self):
            """Scikit-learn asks for one."""

        def __call__(self, X, Y=None, eval_gradient=False):
            Y = X if Y is None else Y
            common, alike = np.zeros((len(X), len(Y)), int), np.ones((len(X), len(Y)), bool)
            for i in range(tree.depth):
                alike &= X[:, None, i] == Y[None, :, i]
                common += alike
            return shared[common]

        def diag(self, X):
            return np.full(len(X), shared[-1])

        def __repr__(self):
            return "PathKernel()"

    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (t, tree.depth))
    X[:, :4] = 0  # so that paths have much in common
    y = rng.normal(size=t)
    ask = np.vstack([X[: asked // 2], rng.integers(0, 5, (asked - asked // 2, tree.depth))])
    paths, values = [tuple(p) for p in X.tolist()], y.tolist()
    asked_paths = [tuple(p) for p in ask.tolist()]

    def by_scikit_learn():
        regressor = GaussianProcessRegressor(PathKernel(), alpha=NOISE**2, optimizer=None)
        return regressor.fit(X, y).predict(ask, return_std=True)

    def by_bough():
        belief = bough.Belief(tree, kernel, NOISE)
        for path, value in zip(paths, values, strict=True):
            belief.observe(path, value)
        return belief.posterior(asked_paths)

    dense, (mean, std) = timed(by_scikit_learn)
    exact, (m, sd) = timed(by_bough)
    assert np.allclose(m, mean, atol=1e-8)
    assert np.allclose(sd**2, std**2, atol=1e-8)
    print(
        f"scikit-learn's GaussianProcessRegressor, fit {t} and predict {asked}: {dense:.2f} s, "
        f"bough {exact * 1e3:.1f} ms, the same posterior: {dense / exact:.0f} times"
    )


def import_times(runs=9):
    """Print the CPU seconds of `import bough` beside those of `import numpy` alone."""
    code = "import time; s = time.process_time(); import {}; print(time.process_time() - s)"
    best = {"numpy": math.inf, "bough": math.inf}
    for _ in range(runs):
        for name in best:
            out = subprocess.run(
                [sys.executable, "-c", code.format(name)], capture_output=True, check=True
            ).stdout
            best[name] = min(best[name], float(out))
    print(
        f"import bough: {best['bough']:.3f} s of CPU, import numpy alone: {best['numpy']:.3f} s "
        f"(the least of {runs} each)"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plays", type=float, default=1e6)
    most = int(parser.parse_args().plays)
    gc.disable()
    import_times()
    against_dense()
    against_scikit_learn()
    cost_table(most)
    if sys.platform == "linux":
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"peak memory of the whole run: {peak:.0f} MiB")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
