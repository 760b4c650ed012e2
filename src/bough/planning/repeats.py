"""How much the reward of one and the same step differs from play to play."""

from typing import Any

#: What is supposed before any step was repeated: this share of the variance of all rewards, with
#: the weight of so many repetitions.
SUPPOSED_SHARE = 0.3
SUPPOSED_WEIGHT = 4.0
#: Rewards of different steps differ in truth by at least this share of their variance.
LEAST_SIGNAL = 0.05


class Repeats:
    """The variance of rewards after the same actions, pooled over all nodes of the tree."""

    def __init__(self) -> None:
        self.freedom = 0  # repetitions, beyond the first time
        self.squares = 0.0
        self._root: dict[int, list[Any]] = {}  # of each child: how often, the mean, its children

    def add(self, path: tuple[int, ...], rewards: tuple[float, ...]) -> None:
        """Take in the rewards of a path; after them it gave nothing."""
        children = self._root
        for i, action in enumerate(path):
            reward = rewards[i] if i < len(rewards) else 0.0
            node = children.get(action)
            if node is None:
                node = children[action] = [1, reward, {}]
            else:
                count, mean, _ = node
                # (Welford's update: the sum of squares about the mean that changes meanwhile.)
                change = reward - mean
                node[0] = count + 1
                node[1] = mean + change / (count + 1)
                self.squares += change * (reward - node[1])
                self.freedom += 1
            children = node[2]

    def noise(self, variance: float) -> float:
        """Return the share of the variance of all rewards that is noise."""
        if variance <= 0.0:
            return SUPPOSED_SHARE
        supposed = SUPPOSED_WEIGHT * SUPPOSED_SHARE
        share = (self.squares / variance + supposed) / (self.freedom + SUPPOSED_WEIGHT)
        return min(share, 1.0 - LEAST_SIGNAL)
