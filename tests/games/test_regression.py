"""The kernel between boards against dense algebra on all playouts."""

import numpy as np
import pytest

from bough import games, kernels
from bough.belief.rng import SplitMix64
from bough.games import regression
from bough.games.beliefs import BeliefTree
from bough.games.regression import SHARE, BoardRegression

SHARES = (0.3, 0.4, 0.1)


class Marked(games.TicTacToe):
    """Tic-tac-toe with features: the cells of both players."""

    def features(self):
        return np.array([[cell == player for cell in self._cells] for player in (0, 1)])


def grown(kernel, playouts, seed=0):
    tree = BeliefTree(SplitMix64(seed), 1.7, SHARES, None, BoardRegression(kernel))
    position = Marked()
    for move in (4, 0):
        position.play(move)
    for _ in range(playouts):
        tree.simulate(position.copy())
    return tree, position


def paths_of(tree):
    """Return the moves that lead from the root to each node."""
    paths = {0: ()}
    for n in range(tree.used):
        moves, records = tree.children(n)
        for i, move in enumerate(moves):
            paths[int(tree.records["first"][n]) + i] = (*paths[n], move)
        assert len(moves) == len(records)
    return paths


def dense_steps(tree):
    """Return by node what its step is observed to be, and the variance of that, by dense algebra.

    F is normal with the covariance of the steps; what a node was observed to be is an observation
    of its F. A step is what the observations at its end or below say of F there, less what all
    others say of F at its start.
    """
    links, nodes = tree.records, tree.nodes.records
    count = tree.used
    ancestors = np.zeros((count, count))  # which steps F of each node is the sum of
    for n in range(count):
        if n:
            ancestors[n] = ancestors[links["parent"][n]]
        ancestors[n, n] = 1.0
    mean = ancestors @ nodes["mu"]
    K = ancestors @ np.diag(nodes["v"]) @ ancestors.T
    observed = nodes["own_precision"] > 0

    def posterior(n, used, m, K):
        if not used.any():
            return m[n], K[n, n]
        noise = np.diag(1.0 / nodes["own_precision"][used])
        gain = np.linalg.solve(K[np.ix_(used, used)] + noise, K[used, n])
        return m[n] + gain @ (nodes["own_value"][used] - m[used]), K[n, n] - gain @ K[used, n]

    found = {}
    for c in range(1, count):
        below = ancestors[:, c] > 0
        if not (observed & below).any():
            continue
        # An improper prior of F at c: what the observations below alone say of it.
        wide = 1e7
        free = np.where(below[:, None] & below[None, :], K - K[c, c] + wide, K)
        shifted = mean - mean[c]
        value, variance = posterior(c, observed & below, shifted, free)
        start, spread = posterior(links["parent"][c], observed & ~below, mean, K)
        found[c] = value - start, variance + spread
    return found


def test_observed_steps_are_those_of_dense_algebra():
    tree, _ = grown(kernels.LinearFeatures(1.0), 60)
    boards = tree.boards
    dense = dense_steps(tree)
    steps = boards._steps(tree)
    assert len(steps) == len(dense)
    shifts = {
        int(tree.records["first"][n]) + i: shift
        for n, (_, _, means) in boards._known.items()
        for i, shift in enumerate(means)
    }
    assert any(shifts.values())
    numbers = [c for n in sorted(boards._known) for c in children(tree, n) if c in dense]
    for c, (value, noise, *_) in zip(numbers, steps, strict=True):
        step = tree.nodes.records[c]
        expected, variance = dense[c]
        effect = step["mu"] - shifts[c]
        assert value == pytest.approx(expected - effect, abs=1e-5)
        assert noise == pytest.approx(variance + step["v"] - SHARE * tree.v, abs=1e-5)


def children(tree, n):
    first = int(tree.records["first"][n])
    return range(first, first + int(tree.records["count"][n]))


@pytest.mark.parametrize(
    "kernel", [kernels.LinearFeatures(1.0), kernels.RBF(1.5, 1.0), kernels.Matern(2.0, 1.5, 3.0)]
)
def test_prior_means_are_those_of_dense_regression(kernel):
    tree, position = grown(kernel, 80)
    boards = tree.boards
    boards._fit(tree)
    steps = sorted(boards._steps(tree), key=lambda step: step[1])[: regression.MOST_STEPS]
    boards._next = boards._seen + 100  # no other fit
    after = position.copy()
    after.play(8)
    found = boards.expect(tree, tree.used, after, after.moves())

    # One Gaussian vector: the differences of f of all steps, the observed and the new ones.
    def phi(position):
        return np.reshape(position.features(), -1).astype(float)

    new = []
    for move in after.moves():
        then = after.copy()
        then.play(move)
        new.append((phi(then), phi(after)))
    pairs = [(end, start) for _, _, end, start in steps] + new
    points = [point for pair in pairs for point in pair]
    D = np.kron(np.eye(len(pairs)), [[1.0, -1.0]])
    K = D @ kernel.matrix(points) @ D.T
    k = len(steps)
    K *= SHARE * tree.v / np.mean(np.diag(K)[:k])
    noise = np.diag([noise for _, noise, _, _ in steps])
    expected = K[k:, :k] @ np.linalg.solve(K[:k, :k] + noise, [step[0] for step in steps])
    assert np.any(np.abs(expected) > 1e-3)
    assert found == pytest.approx(expected, abs=1e-9)


def test_prior_means_are_those_of_new_steps():
    tree, _ = grown(kernels.LinearFeatures(1.0), 60)
    paths = paths_of(tree)
    for n, (_, vectors, _) in tree.boards._known.items():
        for c, vector in zip(children(tree, n), vectors, strict=True):
            position = Marked()
            for move in (4, 0, *paths[c]):
                position.play(move)
            assert np.reshape(position.features(), -1).tolist() == vector.tolist()
    # A step without effects of moves has the prior mean alone.
    tree = BeliefTree(
        SplitMix64(0), 1.7, (0.3, 0.0, 0.0), None, BoardRegression(kernels.LinearFeatures(1.0))
    )
    for _ in range(60):
        tree.simulate(Marked())
    means = np.zeros(tree.used)
    for n, (_, _, shifts) in tree.boards._known.items():
        means[list(children(tree, n))] = shifts
    chosen = [n for n in tree.boards._known if tree.records["visits"][n] > 1]
    replaced = [c for n in chosen for c in children(tree, n)]
    assert tree.nodes.records["mu"][replaced] == pytest.approx(means[replaced])
    assert np.any(means[replaced])


def test_known_boards_follow_the_root():
    player = games.Player(60, rng=0, board_kernel=kernels.RBF(2.0))
    position = Marked()
    for move in (4, 0):
        position.play(move)
    for _ in range(3):
        position.play(player.choose(position).move)
        if position.result() is not None:
            break
    tree = player._tree
    paths = paths_of(tree)
    root = [*player._history]
    assert 0 in tree.boards._known
    for n, (x, _, _) in tree.boards._known.items():
        position = Marked()
        for move in (*root, *paths[n]):
            position.play(move)
        assert np.reshape(position.features(), -1).tolist() == x.tolist()


def test_equal_seeds_give_equal_decisions():
    first, second = (
        games.Player(80, rng=5, board_kernel=kernels.LinearFeatures()).choose(Marked())
        for _ in range(2)
    )
    assert first.moves == second.moves
    assert first.moves != games.Player(80, rng=5).choose(Marked()).moves


def test_features_that_are_all_equal_change_nothing():
    class Blank(games.TicTacToe):
        def features(self):
            return [1.0]

    with_kernel = games.Player(80, rng=1, board_kernel=kernels.RBF(1.0)).choose(Blank())
    assert with_kernel.moves == games.Player(80, rng=1).choose(Blank()).moves


def test_refusals_of_kernels():
    with pytest.raises(TypeError, match="board_kernel must be a kernel between labels"):
        games.Player(board_kernel="rbf")
    with pytest.raises(TypeError, match="did you mean an instance"):
        games.Player(board_kernel=kernels.RBF)
    with pytest.raises(ValueError, match="must compare features"):
        games.Player(board_kernel=kernels.Same())
    with pytest.raises(ValueError, match="needs its length"):
        games.Player(board_kernel=kernels.RBF())


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        (None, TypeError, "needs a method features"),
        (lambda self: ["a"], TypeError, "must be a vector of numbers"),
        (lambda self: [0.0] * len(self.moves()), TypeError, "of the same length"),
        (lambda self: [], ValueError, "finite numbers"),
        (lambda self: [float("nan")], ValueError, "finite numbers"),
    ],
)
def test_refusals_of_features(features, error, message):
    kind = type("Game", (games.TicTacToe,), {} if features is None else {"features": features})
    with pytest.raises(error, match=message):
        games.Player(50, board_kernel=kernels.LinearFeatures()).choose(kind())


def test_a_tree_whose_features_fail_goes_on():
    class Failing(games.TicTacToe):
        fails = False

        def features(self):
            if self.fails:
                raise OSError("no features")
            return [float(cell) for cell in self._cells]

    tree = BeliefTree(SplitMix64(0), 1.7, SHARES, None, BoardRegression(kernels.RBF(1.0, 1.0)))
    for playout in range(40):
        Failing.fails = playout % 5 == 3
        try:
            tree.simulate(Failing())
        except OSError:
            assert Failing.fails
    assert tree.playouts > 20
    assert np.all(np.isfinite(tree.values()[0]))
