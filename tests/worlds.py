"""Small worlds to plan in."""


class Corridor:
    """A walk that pays 100 at place 3, and 7 a step towards it."""

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
