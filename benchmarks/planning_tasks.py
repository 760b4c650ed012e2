"""Tasks of the planning benchmark: environments, with budgets and numbers of episodes.

Needs the extra `bench` (Gymnasium with Box2D, highway-env, MiniGrid).
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
from gymnasium import spaces


class Energy(gymnasium.Wrapper):
    """MountainCar with the gain in mechanical energy added to its rewards.

    Potential-based: reward + discount phi(after) - phi(before), which leaves the best policy as it
    is (Ng, Harada and Russell 1999); phi = 1000 (v^2 / 2 + 0.0025 sin(3x) / 3).
    """

    discount = 0.95

    def step(self, action):
        before = self._potential()
        observation, reward, *rest = self.env.step(action)
        return (observation, reward + self.discount * self._potential() - before, *rest)

    def _potential(self):
        x, v = self.unwrapped.state
        return 1000.0 * (0.5 * v * v + 0.0025 * math.sin(3.0 * x) / 3.0)


class EightPuzzle(gymnasium.Env):
    """The 8-puzzle, scrambled by a random walk of 12 moves; each move costs 1 until it is solved.

    Actions move the blank (0) up, right, down or left; one that leaves the board does nothing.
    """

    solved: ClassVar = (1, 2, 3, 4, 5, 6, 7, 8, 0)
    moves: ClassVar = ((-1, 0), (0, 1), (1, 0), (0, -1))  # rows, columns
    # Spaces of the class are not part of a deep copy, which makes copies cheaper.
    action_space = spaces.Discrete(4)
    observation_space = spaces.Tuple([spaces.Discrete(9)] * 9)

    def __init__(self, scramble: int = 12) -> None:
        self.scramble = scramble
        self.board = self.solved

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.board = self.solved
        while self.board == self.solved:
            for _ in range(self.scramble):
                boards = [self._moved(action) for action in range(4)]
                legal = [board for board in boards if board != self.board]
                self.board = legal[self.np_random.integers(len(legal))]
        return self.board, {}

    def step(self, action):
        self.board = self._moved(action)
        return self.board, -1.0, self.board == self.solved, False, {}

    def _moved(self, action):
        blank = self.board.index(0)
        row, column = blank // 3 + self.moves[action][0], blank % 3 + self.moves[action][1]
        if not (0 <= row < 3 and 0 <= column < 3):
            return self.board
        board = list(self.board)
        board[blank], board[3 * row + column] = board[3 * row + column], 0
        return tuple(board)


class Inventory(gymnasium.Env):
    """A shop with a stock of at most 20 for 100 days; demand is Poisson, unmet demand is lost.

    Actions order 0 to 5 lots of 4, which arrive overnight; what does not fit is paid for and lost.
    """

    action_space = spaces.Discrete(6)
    observation_space = spaces.Discrete(21)
    most_stock, days, lot = 20, 100, 4
    demand, price, cost, holding = 6.0, 3.0, 1.0, 0.2  # per day, and per unit

    def __init__(self) -> None:
        self.stock = self.day = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.stock, self.day = self.most_stock // 2, 0
        return self.stock, {}

    def step(self, action):
        ordered = self.lot * int(action)
        sold = min(self.stock, int(self.np_random.poisson(self.demand)))
        self.stock -= sold
        reward = self.price * sold - self.cost * ordered - self.holding * self.stock
        self.stock = min(self.stock + ordered, self.most_stock)
        self.day += 1
        return self.stock, reward, False, self.day == self.days, {}


@dataclass(frozen=True)
class Task:
    """An environment, with two budgets and the number and length of episodes."""

    name: str
    make: Callable[[], Any]
    budgets: tuple[int, int]  # steps of the simulator a decision
    discount: float = 0.95
    most_steps: int | None = None  # maximum of an episode
    deterministic: bool = True
    seeds: int = 20
    episodes: int = 1  # for one seed, whose result is their mean
    count_steps: bool = False  # the return is minus the number of steps, without shaping
    merge_states: Callable[[Any], Hashable] | None = None  # None: automatic


def _gym(name: str, **keywords: Any) -> Callable[[], Any]:
    return lambda: gymnasium.make(name, **keywords)


def _mini_grid(name: str) -> Callable[[], Any]:
    def make() -> Any:
        import minigrid  # noqa: F401 - it registers its environments

        return gymnasium.make(name)

    return make


def _highway() -> Any:
    import highway_env  # noqa: F401 - it registers its environments

    return gymnasium.make("highway-fast-v0")


def _mountain_car() -> Any:
    return Energy(gymnasium.make("MountainCar-v0"))


TASKS = (
    Task("FrozenLake", _gym("FrozenLake-v1", is_slippery=False), (100, 300)),
    Task(
        "FrozenLake slippery",
        _gym("FrozenLake-v1", is_slippery=True),
        (300, 1000),
        deterministic=False,
    ),
    Task("CliffWalking", _gym("CliffWalking-v1"), (200, 1000), most_steps=60),
    Task("Taxi", _gym("Taxi-v4"), (300, 1000), most_steps=50),
    Task("Blackjack", _gym("Blackjack-v1"), (100, 300), deterministic=False, episodes=200),
    Task("CartPole", _gym("CartPole-v1"), (100, 200)),
    Task("Acrobot", _gym("Acrobot-v1"), (300, 1000), most_steps=200),
    Task("Pendulum", _gym("Pendulum-v1"), (200, 400)),
    Task(
        "MountainCar shaped", _mountain_car, (100, 300), discount=Energy.discount, count_steps=True
    ),
    Task(
        "MountainCarContinuous",
        _gym("MountainCarContinuous-v0"),
        (300, 1000),
        discount=0.99,
        most_steps=300,
    ),
    Task("MiniGrid Empty", _mini_grid("MiniGrid-Empty-5x5-v0"), (300, 1000), most_steps=60),
    Task("MiniGrid DoorKey", _mini_grid("MiniGrid-DoorKey-5x5-v0"), (300, 1000), most_steps=60),
    Task("8-puzzle", EightPuzzle, (300, 1000), most_steps=40, merge_states=tuple),
    Task("inventory", Inventory, (100, 300), deterministic=False),
    Task(
        "LunarLander",
        _gym("LunarLander-v3"),
        (100, 200),
        most_steps=300,
        deterministic=False,  # the thrust of its engines is random
        seeds=10,
    ),
    Task(
        "LunarLander continuous",
        _gym("LunarLander-v3", continuous=True),
        (100, 200),
        most_steps=300,
        deterministic=False,
        seeds=10,
    ),
    Task("highway-fast", _highway, (10, 30), seeds=5),
)
