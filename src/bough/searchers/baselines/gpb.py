"""A Gaussian-process bandit on any finite set of arms (Dorard 2009; Srinivas et al. 2010)."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from bough._validation import at_least_zero
from bough.belief.best_arm import Arm
from bough.belief.nodes import moderate
from bough.confidence import Confidence
from bough.exceptions import Contradiction
from bough.searchers.base import check_rule
from bough.searchers.baselines.bandit import Enumerated
from bough.searchers.baselines.counting import Floats
from bough.searchers.baselines.covariances import ArmKernel, Readings, covariances_of
from bough.trees import Path, Tree

#: The default width of the bounds, as a share of the theory's: that of `GPTS(select="arm")`.
SCALE = 0.5
#: The default noise, as a share of the standard deviation of the prior.
NOISE = 0.1
#: Two exact rewards of one arm are the same if they differ by less than this, relatively.
SAME = 1e-9


class GPB(Enumerated):
    """Keep a Gaussian posterior of every arm, and play the one that promises most.

    On a tree with a kernel this is `GPTS(select="arm")`, slower: it looks at all N arms, and the
    t-th play costs O(min(t, N) N). Here the arms and their covariances may be any.

    Parameters
    ----------
    tree : Tree, optional
        Its leaves are the arms, at most a million.
    kernel : matrix, function of two arms, or bough.kernels.Kernel, optional
        The prior covariance of the arms' rewards; functions are called with arms of the list, or
        with paths. By default, on a tree, `kernels.Linear()`; rewards are then standardised by
        the mean and the standard deviation of those told so far, and else used as they are.
    noise : float, optional
        The standard deviation of a reward, by default a tenth of that of the prior. With 0 no arm
        is played twice, and `ask` raises `Exhausted` when all were.
    arms : sequence, optional
        The arms themselves, of any kind, instead of a tree; see `Bandit` for their paths.
    mean : float
        The prior mean of every arm's reward; what was told says it if rewards are standardised.
    acquisition : "ucb", "ei" or "pi"
        What an arm promises: the upper confidence bound; the expected improvement over the highest
        posterior mean of a played arm; the probability of such an improvement.
    confidence : Confidence
        How wide the bounds are; by default half as wide as the theory's, as for GPTS.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import math, bough
    >>> places = [i / 20 for i in range(21)]
    >>> def alike(x, y):
    ...     return math.exp(-((x - y) ** 2) / 0.02)
    >>> search = bough.GPB(arms=places, kernel=alike, noise=0.1, rng=0)
    >>> for _ in range(30):
    ...     path = search.ask()
    ...     (x,) = search.tree.decode(path)
    ...     search.tell(path, math.sin(4 * x))
    >>> search.tree.decode(search.best().path)
    (0.4,)
    """

    def __init__(
        self,
        tree: Tree | None = None,
        kernel: ArmKernel | None = None,
        noise: float | None = None,
        *,
        arms: Sequence[Any] | None = None,
        mean: float = 0.0,
        acquisition: Literal["ucb", "ei", "pi"] = "ucb",
        confidence: Confidence | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        if acquisition not in ("ucb", "ei", "pi"):
            raise ValueError(f'acquisition must be "ucb", "ei" or "pi", got {acquisition!r}')
        if confidence is not None and not isinstance(confidence, Confidence):
            raise TypeError(f"confidence must be a bough.Confidence, got {confidence!r}")
        self.mean = moderate(mean, "mean")
        self.acquisition = acquisition
        self.confidence = confidence or Confidence(scale=SCALE)
        super().__init__(tree, arms, None, rng)
        prior = covariances_of(self, kernel, arms)
        self.standardized = kernel is None
        if noise is None:
            noise = NOISE * math.sqrt(float(prior.variances.mean()))
        self.noise = moderate(at_least_zero(noise, "noise"), "noise")
        self.readings = Readings(prior)
        self._after: Floats | None = None  # the variances, pending evaluations counted

    # ------------------------------------------------------------------ the posterior

    def _units(self) -> tuple[float, float]:
        """Return the prior mean, and the unit in which rewards are measured."""
        if not self.standardized:
            return self.mean, 1.0
        if not self._told:
            return 0.0, 1.0
        total = float(self.averages @ self.visits)
        center = total / self._told
        squares = float(self.visits @ (self.averages - center) ** 2) + float(self.scatter.sum())
        # One reward says nothing of how rewards vary, except what size they may have.
        return center, math.sqrt(squares / self._told) or abs(center) or 1.0

    def posterior(self) -> tuple[Floats, Floats]:
        """Return the posterior mean and standard deviation of every arm's reward."""
        center, unit = self._units()
        readings = self.readings
        means: Floats = readings.of_rewards + center * (1.0 - readings.of_ones)
        return means, unit * np.sqrt(readings.variances)

    def _observe(self, k: int, reward: float, noise: float | None) -> None:
        own = self.noise if noise is None else at_least_zero(noise, "noise")
        if self.standardized:
            own = self.noise  # in whose units another one could be given is not known yet
        variance = own * own
        if variance == 0.0 and self.readings.variances[k] <= SAME**2 * self._prior_variance(k):
            center, _ = self._units()
            known = self.readings.of_rewards[k] + center * (1.0 - self.readings.of_ones[k])
            if abs(reward - known) > SAME * max(abs(reward), abs(known), abs(self._highest_reward)):
                raise Contradiction(
                    f"value {reward} at path {self._path_of(k)} contradicts what was told before: "
                    f"without noise it is {known}; give noise > 0 if rewards are noisy"
                )
        else:
            self.readings.read(k, reward, variance)
        self._after = None

    def _prior_variance(self, k: int) -> float:
        return float(self.readings.prior.variances[k])

    # ------------------------------------------------------------------ choosing

    def _wait(self, path: Path, change: int) -> None:
        super()._wait(path, change)
        self._after = None

    def _choose_arm(self) -> int:
        exact = self.noise == 0.0
        skip = self.waiting > 0
        if exact:
            skip |= self.visits > 0
        if skip.all():
            if exact:
                raise self._exhausted()
            skip[:] = False
        return self._highest_of(self._indices(), skip)

    def _indices(self) -> Floats:
        """Return what every arm promises; standard deviations count pending evaluations."""
        means, std = self.posterior()
        if self._pending:
            if self._after is None:
                pending = [self._arm_of(path) for path in self._pending]
                self._after = self.readings.variances_after(pending, self.noise)
            std = self._units()[1] * np.sqrt(self._after)
        if self.acquisition == "ucb" or not self._told:
            plays = self._told + len(self._pending)
            bounds: Floats = means + self._sqrt_beta(self.confidence, plays + 1) * std
            return bounds
        incumbent = float(means[self.visits > 0].max())
        improvement = means - incumbent
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(std > 0, improvement / std, np.where(improvement > 0, np.inf, -np.inf))
        if self.acquisition == "pi":  # which rises with z, and never underflows like its value
            return z
        return _expected_improvement(improvement, std, z)

    def _sqrt_beta(self, confidence: Confidence, t: int) -> float:
        return confidence.sqrt_beta(t, math.log(self.arms))

    # ------------------------------------------------------------------ what is known

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were played, by their posterior.

        Parameters
        ----------
        rule
            `"lower"`: the highest mean minus one standard deviation (the default). `"mean"`: the
            highest mean. `"observed"`: the highest single reward (the default without noise).
        """
        check_rule(rule)
        if self._told == 0:
            raise ValueError("no observations yet: call tell() before best()")
        if rule is None:
            rule = "observed" if self.noise == 0.0 else "lower"
        means, std = self.posterior()
        arms = np.flatnonzero(self.visits)
        deviations = 1.0 if rule == "lower" else 0.0
        k = int(arms[np.argmax(means[arms] - deviations * std[arms])])
        if rule == "observed":
            k = self._arm_of(self._highest_at)
        mean, sd = float(means[k]), float(std[k])
        spread = sd * self._sqrt_beta(Confidence(self.confidence.delta), self._told + 1)
        return Arm(
            self._path_of(k), None, mean, sd, mean - spread, mean + spread,
            float(self.averages[k]), int(self.visits[k]),
        )  # fmt: skip


def _expected_improvement(improvement: Floats, std: Floats, z: Floats) -> Floats:
    """Return E max(improvement + std N(0, 1), 0); where all underflow, something in their order."""
    from scipy.special import ndtr

    density = np.exp(-0.5 * np.minimum(np.abs(z), 1e3) ** 2) / math.sqrt(2 * math.pi)
    expected: Floats = improvement * ndtr(z) + std * density
    return expected if expected.max() > 0 else z
