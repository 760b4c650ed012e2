"""Problems whose steps have labels: what a step is worth depends on more than the path before it.

Each is a `bough.problems.Problem` with an exact optimum and `label(path)`, the label of the last
step of a path.
"""

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bough import Tree, kernels
from bough.problems.base import Enumerated, Problem
from bough.trees import Path


class Additive(Enumerated):
    """A draw from the model: effects of (depth, step), plus a draw from a tree kernel.

    The value of a path has variance 1, of which the effects have `share`.
    """

    def __init__(self, share: float, branching: int = 5, depth: int = 7, *, seed: int) -> None:
        super().__init__(Tree(branching, depth), noise=0.1, seed=seed)
        self.name = f"additive {share:g}"
        self.share = share

    def label(self, path: Path) -> Any:
        return len(path), path[-1]

    @functools.cached_property
    def _values(self) -> Any:
        rng = np.random.default_rng([self.seed, 0])
        depth = self.tree.depth
        increments = kernels.Geometric(0.7, variance=1.0 - self.share).increments(depth)
        effects = rng.standard_normal((depth, self._shape[0])) * math.sqrt(self.share / depth)
        values = math.sqrt(increments[0]) * rng.standard_normal(1)
        for variance, of_step in zip(increments[1:], effects, strict=True):
            values = np.repeat(values, len(of_step)) + np.tile(of_step, len(values))
            values += math.sqrt(variance) * rng.standard_normal(len(values))
        return values


class NK(Problem):
    """Kauffman's NK landscape: each bit has a random table of itself and the next K, cyclically.

    The optimum is found by evaluating all strings.
    """

    def __init__(self, neighbors: int, length: int = 20, *, seed: int) -> None:
        super().__init__(Tree.strings([0, 1], length), noise=0.0, seed=seed)
        self.name = f"NK {length}, {neighbors}"
        self.tables = np.random.default_rng([seed, 0]).random((length, 2 ** (neighbors + 1)))
        self._lists = self.tables.tolist()  # (faster, one entry at a time)
        self._reach = range(neighbors + 1)

    def label(self, path: Path) -> Any:
        """Return the position and the last two bits, which interact whatever K is."""
        return len(path), path[-2:]

    def _value(self, path: Path) -> float:
        bits = (*path, *path)
        found = (
            table[sum(bits[i + j] << j for j in self._reach)] for i, table in enumerate(self._lists)
        )
        return math.fsum(found) / len(path)

    def _values(self, bits: Any) -> Any:
        """Return the values of the rows of a matrix of bits."""
        length = len(self.tables)
        total = np.zeros(len(bits))
        for i, table in enumerate(self.tables):
            total += table[sum(bits[:, (i + j) % length] << j for j in self._reach)]
        return total / length

    def _solve(self) -> tuple[float, Path]:
        length = len(self.tables)
        best = -math.inf
        best_path: Path = ()
        for numbers in np.array_split(np.arange(2**length, dtype=np.int32), 16):
            bits = (numbers[:, None] >> np.arange(length, dtype=np.int32)) & 1
            values = self._values(bits)
            if values.max() > best:
                best = float(values.max())
                best_path = tuple(bits[values.argmax()].tolist())
        return self._value(best_path), best_path


class Ehrlich(Problem):
    """An Ehrlich function of pytorch-holo (Stanton et al. 2024), for the design of sequences.

    The value is the product, over motifs, of the share of each that is found somewhere in the
    sequence; 1 is the optimum. Sequences with forbidden transitions have the value 0 here.
    """

    def __init__(
        self, states: int, length: int, motifs: int, motif_length: int, *, seed: int
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the packages deprecate in each other
            import torch
            from holo.test_functions.closed_form import Ehrlich as Function

        super().__init__(Tree.strings(range(states), length), noise=0.0, seed=seed)
        torch.set_num_threads(1)
        self.name = f"Ehrlich {states}^{length}"
        self.label = self.tree.label
        self.function = Function(
            num_states=states, dim=length, num_motifs=motifs, motif_length=motif_length,
            quantization=motif_length, random_seed=seed,
        )  # fmt: skip
        self._known: dict[Path, float] = {}  # (an evaluation takes 2 ms)

    def _value(self, path: Path) -> float:
        if path not in self._known:
            import torch

            self._known[path] = max(float(self.function(torch.tensor([path]))[0]), 0.0)
        return self._known[path]

    def _solve(self) -> tuple[float, Path]:
        path = tuple(self.function.optimal_solution().tolist())
        return self._value(path), path


class Tour(Problem):
    """A closed tour of cities in the unit square from the first one, by order of visit.

    The value is the negative length; the shortest tour is found by dynamic programming over sets
    of visited cities (Held and Karp).
    """

    def __init__(self, cities: int = 12, *, seed: int) -> None:
        tree = Tree.permutations(range(1, cities), label="pair")
        super().__init__(tree, noise=0.0, seed=seed)
        self.name = f"tour of {cities}"
        self.label = tree.label
        places = np.random.default_rng([seed, 0]).random((cities, 2))
        self.distances = np.hypot(*(places[:, None] - places).T)

    def _value(self, path: Path) -> float:
        order = [0, *self.tree.decode(path), 0]
        return -math.fsum(self.distances[order[:-1], order[1:]].tolist())

    def _solve(self) -> tuple[float, Path]:
        count = len(self.distances) - 1
        away = self.distances[1:, 1:]
        lengths = np.full((2**count, count), math.inf)  # to each last city, by the set of visited
        before = np.zeros((2**count, count), dtype=int)
        for k in range(count):
            lengths[1 << k, k] = self.distances[0, k + 1]
        for visited in range(1, 2**count):
            for last in range(count):
                rest = visited & ~(1 << last)
                if rest and visited >> last & 1:
                    found = lengths[rest] + away[:, last]
                    before[visited, last] = found.argmin()
                    lengths[visited, last] = found.min()
        visited = 2**count - 1
        order = [int((lengths[visited] + self.distances[1:, 0]).argmin())]
        while visited != 1 << order[-1]:
            visited, last = visited & ~(1 << order[-1]), order[-1]
            order.append(int(before[visited | 1 << last, last]))
        left, path = list(range(count)), []
        for city in reversed(order):
            path.append(left.index(city))
            left.remove(city)
        return self._value(tuple(path)), tuple(path)


class FeatureMDP(Problem):
    """A deterministic Markov decision process whose rewards are a function of state features.

    The value of a path is the discounted sum of the rewards of the states that its actions lead
    to; `reward` is "linear" in the features or "rbf", a draw from a Gaussian process with the
    squared exponential kernel of length 2. The optimum is found by dynamic programming. The label
    of a step is the vector of features of the state that it leads to.
    """

    def __init__(
        self,
        reward: str,
        states: int = 60,
        actions: int = 4,
        depth: int = 8,
        *,
        discount: float = 0.85,
        features: int = 4,
        seed: int,
    ) -> None:
        super().__init__(Tree(actions, depth), noise=0.1, seed=seed)
        self.name = f"MDP, {reward}"
        self.reward = reward
        self.discount = discount
        rng = np.random.default_rng([seed, 0])
        self.transitions = rng.integers(states, size=(states, actions)).tolist()
        self.features = rng.standard_normal((states, features))
        if reward == "linear":
            self.rewards = self.features @ rng.standard_normal(features) / math.sqrt(features)
        else:
            squares = ((self.features[:, None] - self.features) ** 2).sum(axis=2)
            covariance = np.exp(-squares / 8) + 1e-9 * np.eye(states)
            self.rewards = np.linalg.cholesky(covariance) @ rng.standard_normal(states)

    def state(self, path: Path) -> int:
        """Return the state that actions lead to from the first one."""
        state = 0
        for action in path:
            state = self.transitions[state][action]
        return state

    def label(self, path: Path) -> Any:
        return tuple(self.features[self.state(path)].tolist())

    def _value(self, path: Path) -> float:
        state, total, weight = 0, 0.0, 1.0
        for action in path:
            state = self.transitions[state][action]
            total += weight * float(self.rewards[state])
            weight *= self.discount
        return total

    def _solve(self) -> tuple[float, Path]:
        worth = np.zeros(len(self.rewards))  # of each state, with the steps that are left
        choices = []
        for _ in range(self.tree.depth):
            of_actions = (self.rewards + self.discount * worth)[np.array(self.transitions)]
            choices.append(of_actions.argmax(axis=1).tolist())
            worth = of_actions.max(axis=1)
        state, path = 0, []
        for best in reversed(choices):
            path.append(best[state])
            state = self.transitions[state][path[-1]]
        return self._value(tuple(path)), tuple(path)


#: Problems of the benchmark, each a function of `seed=`.
PROBLEMS: dict[str, Callable[..., Problem]] = {
    "additive 0": functools.partial(Additive, 0.0),
    "additive 0.3": functools.partial(Additive, 0.3),
    "additive 0.7": functools.partial(Additive, 0.7),
    "additive 1": functools.partial(Additive, 1.0),
    "Ehrlich 6^15": functools.partial(Ehrlich, 6, 15, 3, 3),
    "Ehrlich 8^16": functools.partial(Ehrlich, 8, 16, 2, 4),
    "NK 20, 2": functools.partial(NK, 2),
    "NK 20, 4": functools.partial(NK, 4),
    "tour of 12": Tour,
    "MDP, linear": functools.partial(FeatureMDP, "linear"),
    "MDP, rbf": functools.partial(FeatureMDP, "rbf"),
}
