"""Slow players by playouts: everything is computed from the list of all playouts, again each time.

Nodes are tuples of moves from the root. A playout is the tuple of its moves, of the players who
made them and of their labels, the number of those that were made in the tree, and the result.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from bough.games.beliefs import moments_of_best

PILOTS = 8  # playouts before the root of a belief is expanded
TIE = 1e-9  # scores that are closer may come out in either order


@dataclass(frozen=True, eq=False)
class SlowPlayout:
    moves: tuple
    players: tuple
    labels: tuple
    depth: int  # moves in the tree
    result: float


class SlowTree:
    """A tree by definition; subclasses say how moves are chosen."""

    pilots = 0
    counts_moves = True

    def __init__(self, game, rng):
        self.game, self.rng = game, rng
        self.playouts = []
        self.children = {}  # of expanded nodes: their moves in order
        self.since = {}  # of expanded nodes: the number of playouts at their expansion

    # ------------------------------------------------------------------ the game

    def position(self, node):
        position = self.game.copy()
        for move in node:
            position.play(move)
        return position

    def sign(self, node):
        """Return the sign of the player to move, presumably the other one where it is unknown."""
        if node and not self.through(node):
            return -self.sign(node[:-1])
        return -1.0 if self.position(node).player else 1.0

    def label(self, position, move):
        return position.label(move) if hasattr(position, "label") else move

    def own_label(self, node):
        return self.label(self.position(node[:-1]), node[-1])

    # ------------------------------------------------------------------ playouts

    def through(self, node):
        """Return the playouts through a node."""
        depth = len(node)
        return [p for p in self.playouts if p.depth >= depth and p.moves[:depth] == node]

    def table(self, node):
        """Return the playouts through a node since it has been expanded."""
        if node not in self.since:
            return []
        later = self.playouts[self.since[node] :]
        depth = len(node)
        return [p for p in later if p.depth >= depth and p.moves[:depth] == node]

    def with_move(self, playouts, node, player, label):
        """Return those in which a player made a move with a label at a node or later."""
        start = len(node)
        return [
            p
            for p in playouts
            if (player, label) in zip(p.players[start:], p.labels[start:], strict=True)
        ]

    def mean(self, node):
        return sum(p.result for p in self.through(node)) / len(self.through(node))

    # ------------------------------------------------------------------ proven values

    def bounds(self, node):
        """Return bounds of the value from the ended games that were visited."""
        if not self.through(node):
            return -1.0, 1.0
        result = self.position(node).result()
        if result is not None:
            return result, result
        if node not in self.children:
            return -1.0, 1.0
        of_children = [self.bounds((*node, move)) for move in self.children[node]]
        best = max if self.sign(node) > 0 else min
        return best(low for low, _ in of_children), best(high for _, high in of_children)

    def is_open(self, node, child):
        low, high = self.bounds(node)
        child_low, child_high = self.bounds(child)
        return child_high > low if self.sign(node) > 0 else child_low < high

    # ------------------------------------------------------------------ one playout

    def simulate(self, actual):
        """Replay a playout with these moves, and check that each of them is right."""
        position, node = self.game.copy(), ()
        moves, players, labels = [], [], []

        def play(move):
            players.append(position.player)
            labels.append(self.label(position, move))
            moves.append(move)
            position.play(move)

        while True:
            if node not in self.children:
                if position.result() is not None:
                    break
                visits = len(self.through(node))
                if (visits < self.pilots) if node == () else visits == 0:
                    break
                order = list(position.moves())
                for i in range(len(order) - 1, 0, -1):
                    j = self.rng.below(i + 1)
                    order[i], order[j] = order[j], order[i]
                self.children[node] = order
                self.since[node] = len(self.playouts)
                self.expanded(node)
            move = actual[len(node)]
            scores = self.scores(node)
            closed = {m for m in scores if not self.is_open(node, (*node, m))}
            top = max(score for m, score in scores.items() if m not in closed)
            assert move not in closed
            assert scores[move] == top or scores[move] >= top - TIE, (node, move, scores)
            self.chosen(node, (*node, move))
            play(move)
            node = (*node, move)
        depth = len(moves)
        while position.result() is None:
            legal = position.moves()
            play(legal[self.rng.below(len(legal))])
        assert moves == list(actual)
        playout = SlowPlayout(
            tuple(moves), tuple(players), tuple(labels), depth, float(position.result())
        )
        self.playouts.append(playout)
        self.observed(node)

    def expanded(self, node):
        pass

    def chosen(self, node, child):
        pass

    def observed(self, node):
        pass


class SlowTally(SlowTree):
    """UCT, RAVE and GRAVE from their definitions."""

    def __init__(self, game, rng, exploration, *, equivalence=None, bias=None, reference=0):
        super().__init__(game, rng)
        self.exploration, self.reference = exploration, reference
        self.equivalence, self.bias = equivalence, bias

    def scores(self, node):
        s = self.sign(node)
        N = len(self.through(node))
        scores = {}
        source = node
        while source and len(self.through(source)) < self.reference:
            source = source[:-1]
        for move in self.children[node]:
            child = (*node, move)
            own = [s * p.result for p in self.through(child)]
            n = len(own)
            later = []
            if self.equivalence is not None or self.bias is not None:
                player = 0 if s > 0 else 1
                found = self.with_move(self.table(source), source, player, self.own_label(child))
                later = [s * p.result for p in found]
            if not own:
                scores[move] = np.mean(later) if later else math.inf
                continue
            value = np.mean(own)
            if later:
                m = len(later)
                if self.bias is not None:
                    beta = m / (n + m + 4 * self.bias**2 * n * m)
                else:
                    beta = math.sqrt(self.equivalence / (3 * N + self.equivalence))
                value = (1 - beta) * value + beta * np.mean(later)
            scores[move] = value + self.exploration * math.sqrt(math.log(max(N, 1)) / n)
        return scores


class SlowBelief(SlowTree):
    """The belief about a game, by dense algebra, from its definition."""

    pilots = PILOTS

    def __init__(self, game, rng, exploration, shares, prior=None):
        super().__init__(game, rng)
        self.exploration, self.shares, self.prior = exploration, shares, prior or {}
        self.steps = {(): (0.0, 1.0)}  # prior mean and variance of each node's step
        self.values = {}  # (a, k, W) of each node
        self.above = None  # the tree before its root was left, and the moves to the new root
        self.kept = 0  # playouts that it had seen

    def expanded(self, node):
        if node == ():
            self.set_units(np.mean([len(p.moves) for p in self.playouts[self.kept :]]))
        for move in self.children[node]:
            self.start_value((*node, move), -self.sign(node), len(self.children[node]))

    def set_units(self, length):
        self.length = max(length, 1.0)
        self.v, self.v_label, self.q = (share / self.length for share in self.shares)

    def below(self, root):
        """Return the tree with another root."""
        depth = len(root)
        tree = SlowBelief(self.position(root), self.rng, self.exploration, self.shares)
        tree.above = self, root
        through = self.through(root)
        for p in through:
            cut = p.moves[depth:], p.players[depth:], p.labels[depth:]
            tree.playouts.append(SlowPlayout(*cut, p.depth - depth, p.result))
        tree.kept = len(through)
        for node, order in self.children.items():
            if node[:depth] == root:
                before = set(self.playouts[: self.since[node]])
                tree.children[node[depth:]] = order
                tree.since[node[depth:]] = sum(p in before for p in through)
        for node in self.steps:
            if node[:depth] == root:
                tree.steps[node[depth:]] = self.steps[node]
                tree.values[node[depth:]] = self.values[node]
        others = [p for p in self.playouts if p not in through]
        [tree.steps[()]] = self.random_play([root], (), *self.steps[()], playouts=others)
        played = self.playouts[self.kept :]
        length = np.mean([len(p.moves) for p in played]) if played else self.length
        tree.set_units(length - depth)
        return tree

    # ------------------------------------------------------------------ effects of labels

    def effect(self, node, player, label):
        """Return the mean and the variance of an effect at a node from what is above it."""
        if node == () and self.above is not None:
            tree, root = self.above
            return tree.effect(root, player, label)
        if node == ():
            return self.prior.get((player, label), (0.0, self.v_label))
        above = node[:-1]
        found = [
            p
            for p in self.with_move(self.table(above), above, player, label)
            if p not in self.table(node)
        ]
        own_player = 0 if self.sign(above) > 0 else 1
        if (player, label) == (own_player, self.own_label(node)):
            found = [p for p in found if p not in self.through(node)]
        mean, variance = conditioned(*self.effect(above, player, label), found, self.mean(above))
        return mean, variance + self.q

    def step_prior(self, child):
        """Return the prior of a step: the effect of its move, from those who made it later."""
        node = child[:-1]
        player, label = 0 if self.sign(node) > 0 else 1, self.own_label(child)
        found = [
            p
            for p in self.with_move(self.table(node), node, player, label)
            if p not in self.through(child)
        ]
        mean, variance = conditioned(*self.effect(node, player, label), found, self.mean(node))
        return mean, self.v + variance

    # ------------------------------------------------------------------ values of random play

    def random_play(self, nodes, top, mean, variance, playouts=None):
        """Return posterior mean and variance of F at nodes from what was observed below `top`.

        F at `top` has this prior mean and variance.
        """
        ends = {}
        for p in self.through(top) if playouts is None else playouts:
            ends.setdefault(p.moves[: p.depth], []).append(p.result)
        steps = [top, *{end[:i] for end in ends for i in range(len(top) + 1, len(end) + 1)}]
        steps += [n[:i] for n in nodes for i in range(len(top) + 1, len(n) + 1)]
        steps = list(dict.fromkeys(steps))
        means = np.array([mean if n == top else self.steps[n][0] for n in steps])
        variances = np.array([variance if n == top else self.steps[n][1] for n in steps])

        def row(n):
            return np.array([n[: len(step)] == step for step in steps], dtype=float)

        if not ends:
            return [(row(n) @ means, row(n) @ variances) for n in nodes]
        A = np.array([row(end) for end in ends])
        noise = np.diag([1.0 / len(results) for results in ends.values()])
        y = np.array([np.mean(results) for results in ends.values()])
        K = A @ np.diag(variances) @ A.T + noise
        B = np.array([row(n) for n in nodes])
        C = B @ np.diag(variances) @ A.T
        found = B @ means + C @ np.linalg.solve(K, y - A @ means)
        spread = (B * variances) @ B.T - C @ np.linalg.solve(K, C.T)
        return list(zip(found, np.diag(spread), strict=True))

    def posterior(self, nodes):
        return self.random_play(nodes, (), *self.steps[()])

    def step_down(self, child, x):
        """Return the mean and the variance of F at a child given F = x at its parent."""
        mean, variance = self.steps[child]
        return self.random_play([child], child, x + mean, variance)[0]

    # ------------------------------------------------------------------ choice

    def scores(self, node):
        if node == ():
            self.m = 0.0
        for move in self.children[node]:
            self.steps[(*node, move)] = self.step_prior((*node, move))
        # The mean of F here, from what is known of the parent before these steps were replaced.
        if node == ():
            self.m = self.posterior([()])[0][0]
        else:
            self.m = self.step_down(node, self.m)[0]
        s = self.sign(node)
        b = self.exploration * math.sqrt(math.log(1 + len(self.through(node))))
        scores = {}
        for move in self.children[node]:
            mean, variance = self.value_given((*node, move), self.m)
            scores[move] = s * mean + b * math.sqrt(variance)
        return scores

    # ------------------------------------------------------------------ values of optimal play

    def value_given(self, child, x):
        """Return the mean and the variance of V of a child given F = x at its parent."""
        a, k, W = self.values[child]
        mean, variance = self.step_down(child, x)
        return a + k * mean, W + k * k * variance

    def start_value(self, node, sign, siblings):
        low, high = self.bounds(node)
        if low == high:
            self.values[node] = low, 0.0, 0.0
        elif siblings == 1:
            self.values[node] = 0.0, 1.0, self.v
        else:
            kappa, rho = moments_of_best(siblings)
            u = self.v + self.v_label
            delta = kappa * math.sqrt(u / (1 - rho)) / 2
            self.values[node] = sign * delta, 1.0, u * rho / (1 - rho)

    def observed(self, end):
        if end and end not in self.children:
            siblings = len(self.children[end[:-1]])
            self.start_value(end, self.sign(end), siblings)
        for i in range(len(end), -1, -1):
            node = end[:i]
            if node in self.children:
                self.merge(node)

    def merge(self, node):
        low, high = self.bounds(node)
        if low == high:
            self.values[node] = low, 0.0, 0.0
            return
        [(m, _)] = self.posterior([node])
        s = self.sign(node)
        best = None
        for move in self.children[node]:
            child = (*node, move)
            mean, variance = self.value_given(child, m)
            slope = self.value_given(child, m + 1.0)[0] - mean
            other = s * mean, slope, variance
            best = other if best is None else clark(best, other)
        mean, slope, variance = best
        self.values[node] = s * mean - slope * m, slope, variance


def conditioned(mean, variance, playouts, base):
    """Return a normal effect given playouts, each its effect plus a base with noise 1."""
    n = len(playouts)
    if n == 0 or variance == 0.0:
        return mean, variance
    observed = np.mean([p.result for p in playouts]) - base
    precision = 1.0 / variance + n
    return (mean / variance + n * observed) / precision, 1.0 / precision


def clark(one, other):
    """Return mean, slope and variance of the higher of two normal variables (Clark 1961).

    One that is 6 standard deviations behind does not count.
    """
    (a, j, A), (b, k, B) = one, other
    theta = math.sqrt(A + B)
    if a - b >= 6.0 * theta:
        return one
    if b - a >= 6.0 * theta:
        return other
    alpha = (a - b) / theta
    p, density = norm.cdf(alpha), norm.pdf(alpha)
    mean = a * p + b * (1 - p) + theta * density
    square = (a * a + A) * p + (b * b + B) * (1 - p) + (a + b) * theta * density
    return mean, j * p + k * (1 - p), max(square - mean * mean, 0.0)


def numbers_of(tree):
    """Return the number of each node of a tree by its moves."""
    numbers, left = {(): 0}, [()]
    while left:
        node = left.pop()
        first = tree.records["first"][numbers[node]]
        for i, move in enumerate(tree.children(numbers[node])[0]):
            numbers[*node, move] = int(first) + i
            left.append((*node, move))
    return numbers
