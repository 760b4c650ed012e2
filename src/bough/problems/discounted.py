"""Planning with an open loop: sequences of actions, each of which pays a random reward."""

import math
from collections.abc import Sequence

from bough._validation import real, whole
from bough.kernels import Discounted, Kernel
from bough.problems.edges import EdgeRewards

#: The mean square of a step's deviation from its mean p, for p uniform on [0, 1]:
#: p (1 - p) for Bernoulli rewards, min(p, 1 - p)^2 / 3 for uniform ones.
_VARIANCES = {"bernoulli": 1 / 6, "uniform": 1 / 36}


class DiscountedBandits(EdgeRewards):
    """A tree with a bandit's arm on every edge, and discounted sums of their rewards.

    This is the setting of open-loop optimistic planning (Bubeck and Munos, "Open loop optimistic
    planning", COLT 2010; Leurent and Maillard, "Practical open-loop optimistic planning", ECML
    2019): a path is a sequence of actions, its i-th step pays a reward in [0, 1], and the path is
    worth the mean of sum_i discount^(i-1) r_i. The mean of each step is uniform on [0, 1], a hash
    of the seed and of the path to it. The best path is found by branch and bound.

    Parameters
    ----------
    branching, depth : int
    rewards : "bernoulli" or "uniform"
        The law of a step of mean p: 1 with probability p and else 0, or uniform on the widest
        interval inside [0, 1] around p.
    discount : float
    noise : float, optional
        If it is given, steps pay their means and normal noise instead, the larger the weight of
        the step the more, so that the sum has this standard deviation.
    seed : int

    Examples
    --------
    >>> problem = DiscountedBandits(2, 3, discount=0.5, seed=1)
    >>> problem.steps((0, 1, 1))
    [1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        branching: int = 5,
        depth: int = 10,
        *,
        rewards: str = "bernoulli",
        discount: float = 0.7,
        noise: float | None = None,
        seed: int = 0,
    ) -> None:
        if rewards not in _VARIANCES:
            raise ValueError(f'rewards must be "bernoulli" or "uniform", got {rewards!r}')
        if not 0 < real(discount, "discount") <= 1:
            raise ValueError(f"discount must be above 0 and at most 1, got {discount!r}")
        self.name = f"discounted:{rewards}"
        self.rewards = rewards
        self.discount = float(discount)
        weights = [self.discount**i for i in range(whole(depth, "depth", least=0))]
        self._length = math.sqrt(math.fsum(w * w for w in weights)) or 1.0
        self._drawn = noise is None
        spread = math.sqrt(_VARIANCES[rewards]) * self._length if weights else 0.0
        super().__init__(
            branching, depth, weights, noise=spread if noise is None else noise, seed=seed
        )

    @property
    def kernel(self) -> Kernel:
        """The kernel of discounted sums; steps have the variance of the uniform law."""
        return Discounted(self.discount, 1 / 12)

    def steps(self, path: Sequence[int]) -> list[float]:
        """Play a path, and return the discounted rewards of its steps, which sum up to the reward.

        They are what `Searcher.tell(path, steps=...)` takes.
        """
        means = self._rewards(self._checked(path))
        if self._drawn:
            paid = self._draw(means)
        else:
            normal = self._random.standard_normal(len(means)).tolist()
            scale = self.noise / self._length
            paid = [p + scale * z for p, z in zip(means, normal, strict=True)]
        return [weight * r for weight, r in zip(self._weights, paid, strict=True)]

    def _draw(self, means: list[float]) -> list[float]:
        draws = self._random.random(len(means)).tolist()
        if self.rewards == "bernoulli":
            return [float(u < p) for p, u in zip(means, draws, strict=True)]
        return [p + (2 * u - 1) * min(p, 1 - p) for p, u in zip(means, draws, strict=True)]

    def __call__(self, path: Sequence[int]) -> float:
        """Return the reward of playing a complete path: the sum of its steps' rewards."""
        return math.fsum(self.steps(path))
