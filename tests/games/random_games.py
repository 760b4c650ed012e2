"""Random games: positions of a random acyclic graph, with every oddity that the rules allow."""

import random
from functools import cache

from bough.belief.rng import SplitMix64

RESULTS = (-1.0, -1.0, 1.0, 1.0, 0.0, 0.0, -0.5, 0.3, 1 / 3)


class Rules:
    """The positions 0, 1, ... of a random game, from which moves lead to higher numbers.

    A player may move twice in a row, several moves may lead to the same position or share a label,
    some positions have one move only, and positions can be reached by ways of different lengths.
    """

    def __init__(self, seed, size=9, widest=4, labels=3, results=RESULTS):
        draw = random.Random(seed)
        self.seed, self.size = seed, size
        self.player, self.targets, self.label, self.result = [], [], [], []
        for number in range(size + 3):
            ended = number >= size or (number > 1 and draw.random() < 0.15)
            moves = draw.sample(range(20), draw.choice([1, 2, *range(2, widest + 1)]))
            self.player.append(draw.randrange(2))
            self.targets.append({move: number + draw.randint(1, 3) for move in moves})
            self.label.append({move: draw.choice("abcdefgh"[:labels]) for move in moves})
            chosen = draw.choice(results) if draw.random() < 0.8 else draw.uniform(-1.0, 1.0)
            self.result.append(chosen if ended else None)

    @cache  # noqa: B019
    def value(self, number):
        """Return the value of optimal play from a position, by minimax."""
        if self.result[number] is not None:
            return self.result[number]
        best = (max, min)[self.player[number]]
        return best(self.value(target) for target in self.targets[number].values())

    def __reduce__(self):
        return _again, (type(self), dict(self.__dict__))


def _again(kind, attributes):
    made = kind.__new__(kind)
    made.__dict__.update(attributes)
    return made


class RandomGame:
    """A position of a random game, without any of the optional methods but labels."""

    def __init__(self, rules, path=()):
        self.rules, self.number, self.path = rules, 0, []
        for move in path:
            self.play(move)

    @property
    def player(self):
        return self.rules.player[self.number]

    def moves(self):
        return tuple(self.rules.targets[self.number])

    def play(self, move):
        self.number = self.rules.targets[self.number][move]
        self.path.append(move)

    def result(self):
        return self.rules.result[self.number]

    def copy(self):
        other = type(self).__new__(type(self))
        other.rules, other.number, other.path = self.rules, self.number, list(self.path)
        return other

    def label(self, move):
        return self.rules.label[self.number][move]

    @property
    def value(self):
        return self.rules.value(self.number)


class UnlabeledGame(RandomGame):
    """The same without labels."""

    label = None

    def __getattribute__(self, name):
        if name == "label":
            raise AttributeError(name)
        return super().__getattribute__(name)


class KeyedGame(RandomGame):
    """The same with a history and a key."""

    def history(self):
        return list(self.path)

    def key(self):
        return self.number


def random_game(seed, kind=RandomGame, **settings):
    return kind(Rules(seed, **settings))


def below(seed):
    """Return a function that draws numbers below another."""
    return SplitMix64(seed).below
