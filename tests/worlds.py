"""Small worlds to plan in."""

import numpy as np


class Corridor:
    """A walk with a reward of 100 at place 3, and of 7 for each step towards it."""

    actions = ("left", "right", "stay")
    deterministic = True

    def __init__(self):
        self.place = 0

    def snapshot(self):
        return self.place

    def restore(self, snapshot):
        self.place = snapshot

    def step(self, action):
        before = self.place
        self.place += {"left": -1, "right": 1, "stay": 0}[action]
        reward = 7.0 * (self.place - before) + 100.0 * (self.place == 3)
        return self.place, reward, self.place == 3


class Chain:
    """States 0, 1, 2, ...: actions move by their numbers, rewards are listed in a table."""

    deterministic = True

    def __init__(self, table, actions=2, ends=(), noise=0.0, seed=0):
        self.table, self.actions, self.ends, self.noise = table, list(range(actions)), ends, noise
        self.random = np.random.default_rng(seed)
        self.deterministic = noise == 0
        self.state, self.steps = 0, 0

    def snapshot(self):
        return self.state

    def restore(self, snapshot):
        self.state = snapshot

    def same(self, one, other):
        return one == other

    def step(self, action):
        assert self.state not in self.ends, "step after the end of an episode"
        self.steps += 1
        shift = int(self.random.random() < self.noise)
        self.state = (3 * self.state + action + 1 + shift) % len(self.table)
        return self.state, self.table[self.state], self.state in self.ends


def best_value(world, state, discount, depth):
    """Return the value of a state by dynamic programming."""
    if depth == 0:
        return 0.0
    values = []
    for action in world.actions:
        world.restore(state)
        after, reward, ended = world.step(action)
        rest = 0.0 if ended else best_value(world, after, discount, depth - 1)
        values.append(reward + discount * rest)
    return max(values)
