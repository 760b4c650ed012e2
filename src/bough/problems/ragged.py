"""Problems on ragged trees, whose paths end at different depths: routes in a graph, expressions."""

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from bough._validation import whole
from bough.problems.base import Problem
from bough.trees import MOST_DEPTH, Path, Tree

#: The largest graph, whose shortest paths are found when it is made, and the longest expression.
MOST_PLACES, MOST_SYMBOLS = 100_000, 1000


class Route(Problem):
    """A route to a goal in a random directed graph, as short as possible.

    Every place has edges to `neighbors` others, drawn at random, and a step of a path takes one of
    them. The path ends at the goal, the place that is farthest from the start, or after `depth`
    steps. Its value is minus its length, or minus twice the depth if it does not reach the goal. So
    nearly all paths have the same value, and a common prefix says little about the rest of a path.
    The best path is found by breadth-first search.

    Parameters
    ----------
    places, neighbors, depth : int
    noise : float
    seed : int

    Examples
    --------
    >>> problem = Route(places=10, neighbors=2, depth=6)
    >>> problem.value(problem.best_path) == -len(problem.best_path)
    True
    """

    name = "route"

    def __init__(
        self,
        places: int = 30,
        neighbors: int = 4,
        depth: int = 10,
        *,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        places = whole(places, "places", least=2, most=MOST_PLACES)
        neighbors = whole(neighbors, "neighbors", least=1, most=places - 1)
        super().__init__(
            Tree(
                self._edges_below,
                whole(depth, "depth", least=1, most=MOST_DEPTH),
                log_arms=depth * math.log(neighbors),
            ),
            noise=noise,
            seed=seed,
        )
        rng = np.random.default_rng([self.seed, 0])
        self._edges: list[list[int]] = []
        for place in range(places):
            others = rng.choice(places - 1, size=neighbors, replace=False)
            self._edges.append([int(other) + (other >= place) for other in others])
        self._shortest: dict[int, Path] = {0: ()}  # the shortest path to each place
        waiting = deque([0])
        while waiting:
            place = waiting.popleft()
            path = self._shortest[place]
            for step, other in enumerate(self._edges[place]):
                if other not in self._shortest and len(path) < self.tree.depth:
                    self._shortest[other] = (*path, step)
                    waiting.append(other)
        #: The goal: the place that was reached last.
        self.goal = list(self._shortest)[-1]

    def place(self, path: Path) -> int:
        """Return the place that a path leads to."""
        place = 0
        for step in path:
            place = self._edges[place][step]
        return place

    def _edges_below(self, path: Path) -> int:
        place = self.place(path)
        return 0 if place == self.goal else len(self._edges[place])

    def _value(self, path: Path) -> float:
        return -float(len(path) if self.place(path) == self.goal else 2 * self.tree.depth)

    def _solve(self) -> tuple[float, Path]:
        path = self._shortest[self.goal]
        return self._value(path), path


class Expression(Problem):
    """The formula behind data: an expression in prefix notation, symbol by symbol.

    The symbols are x, 1, sin, cos, +, - and *; a path is an expression of at most `depth` symbols,
    and ends where the expression is complete. A hidden expression gives the data, at 20 points
    between -2 and 2. The value of a path is 1 / (1 + e), where e is the root mean square error over
    the standard deviation of the data.

    Parameters
    ----------
    depth : int
        The most symbols of an expression, at least 3.
    noise : float
    seed : int

    Examples
    --------
    >>> problem = Expression(depth=7)
    >>> problem.value(problem.best_path)
    1.0
    >>> problem.text((4, 0, 2, 0))
    '+ x sin x'
    """

    name = "expression"
    #: The symbols, those with fewer arguments first.
    SYMBOLS = ("x", "1", "sin", "cos", "+", "-", "*")

    def __init__(self, depth: int = 11, *, noise: float = 0.0, seed: int = 0) -> None:
        depth = whole(depth, "depth", least=3, most=MOST_SYMBOLS)
        tree = Tree(self._symbols_below, depth, log_arms=depth * math.log(len(self.SYMBOLS)))
        super().__init__(tree, noise=noise, seed=seed)
        self._x = np.linspace(-2.0, 2.0, 20)
        self._hidden: Path = ()
        self._data, self._spread = self._x, 0.0
        rng = np.random.default_rng([self.seed, 0])
        while self._spread < 0.1 or len(self._hidden) < (depth + 1) // 2:
            path: list[int] = []
            while width := self._symbols_below(tuple(path)):
                path.append(int(rng.integers(width)))
            self._hidden = tuple(path)
            self._data = self._evaluate(self._hidden)
            self._spread = float(self._data.std())

    def text(self, path: Path) -> str:
        """Return an expression as text."""
        return " ".join(self.SYMBOLS[symbol] for symbol in path)

    def _symbols_below(self, path: Path) -> int:
        missing = 1  # symbols that the expression needs at least
        for symbol in path:
            missing += -1 if symbol < 2 else 0 if symbol < 4 else 1
        left = self.tree.depth - len(path) - missing
        if missing == 0:
            return 0
        return 7 if left >= 2 else 4 if left == 1 else 2

    def _evaluate(self, path: Path) -> NDArray[np.float64]:
        stack: list[NDArray[np.float64]] = []
        for symbol in reversed(path):
            match self.SYMBOLS[symbol]:
                case "x":
                    stack.append(self._x)
                case "1":
                    stack.append(np.ones_like(self._x))
                case "sin":
                    stack.append(np.sin(stack.pop()))
                case "cos":
                    stack.append(np.cos(stack.pop()))
                case "+":
                    stack.append(stack.pop() + stack.pop())
                case "-":
                    stack.append(stack.pop() - stack.pop())
                case _:
                    stack.append(stack.pop() * stack.pop())
        return stack.pop()

    def _value(self, path: Path) -> float:
        error = self._evaluate(path) - self._data
        return 1.0 / (1.0 + math.sqrt(float((error**2).mean())) / self._spread)

    def _solve(self) -> tuple[float, Path]:
        return 1.0, self._hidden
