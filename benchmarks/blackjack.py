"""Exact values of the actions of Gymnasium's Blackjack, and what decisions lose by them.

The return of a hand has a standard deviation of almost 1, so that thousands of hands differ by
chance. The expected loss of each action that was taken is known exactly, and varies much less.
"""

from collections import Counter
from functools import cache
from typing import Any

import gymnasium

from bough import planning

CARDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)  # each is as likely, and put back
STICK, HIT = range(2)


def worth(total: int, ace: bool) -> int:
    """Return the sum of a hand, in which an ace counts as 11 if it may."""
    return total + 10 if ace and total <= 11 else total


@cache
def dealt(total: int, ace: bool) -> Counter[int]:
    """Return the probabilities of the dealer's final sums; 0 if it is above 21."""
    if worth(total, ace) >= 17:
        return Counter({worth(total, ace) if total <= 21 else 0: 1.0})
    chances: Counter[int] = Counter()
    for card in CARDS:
        for final, chance in dealt(total + card, ace or card == 1).items():
            chances[final] += chance / len(CARDS)
    return chances


@cache
def values(total: int, ace: bool, shown: int) -> tuple[float, float]:
    """Return the expected returns of both actions, if all further ones are optimal."""
    own = worth(total, ace)
    stick = sum(
        p * ((own > other) - (own < other)) for other, p in dealt(shown, shown == 1).items()
    )
    hit = 0.0
    for card in CARDS:
        after = total + card
        hit += -1.0 if after > 21 else max(values(after, ace or card == 1, shown))
    return stick, hit / len(CARDS)


def losses(hands: int, first_seed: int, keywords: dict[str, Any]) -> list[float]:
    """Return what an agent is expected to lose in each hand by actions that are not optimal."""
    env = gymnasium.make("Blackjack-v1")
    agent = planning.Agent(env, rng=first_seed, **keywords)
    found = []
    for k in range(hands):
        env.reset(seed=first_seed + k)
        agent.reset()
        loss, ended = 0.0, False
        while not ended:
            hand = env.unwrapped.player
            both = values(sum(hand), 1 in hand, env.unwrapped.dealer[0])
            action = agent.act()
            loss += max(both) - both[action]
            _, _, ended, _, _ = env.step(action)
        found.append(loss)
    return found
