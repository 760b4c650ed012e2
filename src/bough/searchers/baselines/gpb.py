"""GPB: a Gaussian-process bandit on any finite set of arms (Dorard 2009; Srinivas et al. 2010)."""

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
from bough.searchers.baselines.arms import ArmKernel, ArmPosterior, Floats, KernelBandit
from bough.trees import Tree

#: The default width of the bounds, as a fraction of the theoretical one: as `GPTS(select="arm")`.
SCALE = 0.5
#: The default noise, as a fraction of the standard deviation of the prior.
NOISE = 0.1
#: Two exact rewards of one arm are equal if their relative difference is less than this.
SAME = 1e-9


class GPB(KernelBandit):
    """Play the most promising arm by a Gaussian posterior of every arm.

    On a tree with a kernel this is `GPTS(select="arm")`, slower: it evaluates all N arms, and the
    t-th play costs O(min(t, N) N). In return, arms and their covariances can be arbitrary.

    Parameters
    ----------
    tree : Tree, optional
        The tree whose leaves are the arms, at most a million.
    kernel : matrix, function of two arms, or bough.kernels.Kernel, optional
        The prior covariance of the arms' rewards; functions are called with arms of the list, or
        with paths. By default, on a tree, `kernels.Linear()`; rewards are then standardized by the
        mean and the standard deviation of those observed so far, and otherwise used as they are.
    noise : float, optional
        The standard deviation of a reward, by default a tenth of that of the prior. With 0 no arm
        is played twice, and `ask` raises `Exhausted` when all were.
    arms : sequence, optional
        The arms themselves, of any kind, instead of a tree; `(k,)` is the path of the k-th.
    mean : float
        The prior mean of every arm's reward; ignored if rewards are standardized.
    acquisition : "ucb", "ei" or "pi"
        The upper confidence bound; the expected improvement over the highest posterior mean of a
        played arm; or the probability of such an improvement.
    confidence : Confidence
        The width of the bounds; by default half of the theoretical width, as for GPTS.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import math, bough
    >>> places = [i / 20 for i in range(21)]
    >>> def covariance(x, y):
    ...     return math.exp(-((x - y) ** 2) / 0.02)
    >>> search = bough.GPB(arms=places, kernel=covariance, noise=0.1, rng=0)
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
        super().__init__(tree, kernel, arms, None, rng)
        self.standardized = kernel is None
        if noise is None:
            noise = NOISE * math.sqrt(float(self.prior.variances.mean()))
        self.noise = moderate(at_least_zero(noise, "noise"), "noise")
        self._posterior = ArmPosterior(self.prior)

    # ------------------------------------------------------------------ the posterior

    def _units(self) -> tuple[float, float]:
        """Return the prior mean, and the unit in which rewards are measured."""
        if not self.standardized:
            return self.mean, 1.0
        plays, arms = self.observations, self.tallies
        if not plays:
            return 0.0, 1.0
        center = float(arms.means @ arms.visits) / plays
        squares = float(arms.visits @ (arms.means - center) ** 2) + float(arms.squares.sum())
        # A single reward only shows the magnitude of rewards, not how they vary.
        return center, math.sqrt(squares / plays) or abs(center) or 1.0

    def posterior(self) -> tuple[Floats, Floats]:
        """Return the posterior mean and standard deviation of every arm's reward."""
        center, unit = self._units()
        known = self._posterior
        means: Floats = known.of_rewards + center * (1.0 - known.of_ones)
        return means, unit * np.sqrt(known.variances)

    def _observe(self, k: int, reward: float, noise: float | None) -> None:
        own = self.noise if noise is None else at_least_zero(noise, "noise")
        if self.standardized:
            own = self.noise  # the unit of another one is not known yet
        variance = own * own
        known = self._posterior
        if variance > 0.0 or known.variances[k] > SAME**2 * float(self.prior.variances[k]):
            known.observe(k, reward, variance)
            return
        center, _ = self._units()
        exact = known.of_rewards[k] + center * (1.0 - known.of_ones[k])
        if abs(reward - exact) > SAME * max(abs(reward), abs(exact), abs(self._highest_reward)):
            raise Contradiction(
                f"value {reward} at path {self.tallies.paths[k]} contradicts earlier rewards: "
                f"without noise it is {exact}; give noise > 0 if rewards are noisy"
            )

    # ------------------------------------------------------------------ choosing

    def _choose_arm(self) -> int:
        known = self.tallies.visits > 0 if self.noise == 0.0 else None
        if known is not None and (known | (self.tallies.pending > 0)).all():
            raise self._exhausted()
        return self._highest_of(self._indices(), known)

    def _indices(self) -> Floats:
        """Return the acquisition value of every arm, with pending evaluations counted."""
        means, std = self.posterior()
        if self._pending:
            pending = [self.tallies.number_of(path) for path in self._pending]
            std = self._units()[1] * np.sqrt(self._posterior.variances_after(pending, self.noise))
        if self.acquisition == "ucb" or not self.observations:
            plays = self.observations + len(self._pending)
            bounds: Floats = means + self._sqrt_beta(self.confidence, plays + 1) * std
            return bounds
        incumbent = float(means[self.tallies.visits > 0].max())
        improvement = means - incumbent
        z = _standardized(improvement, std)
        if self.acquisition == "pi":  # the probability rises with z, which never underflows
            return z
        expected = expected_improvement(improvement, std)
        return expected if expected.max() > 0 else z

    def _sqrt_beta(self, confidence: Confidence, t: int) -> float:
        return confidence.sqrt_beta(t, math.log(len(self.tallies)))

    # ------------------------------------------------------------------ the best arm

    def best(self, rule: str | None = None) -> Arm:
        """Return the best of the arms that were played, by their posterior.

        The default rule is `"lower"`, and `"observed"` without noise.
        """
        check_rule(rule)
        if not self.observations:
            raise ValueError("no observations yet: call tell() before best()")
        if rule is None:
            rule = "observed" if self.noise == 0.0 else "lower"
        means, std = self.posterior()
        played = np.flatnonzero(self.tallies.visits)
        deviations = 1.0 if rule == "lower" else 0.0
        k = int(played[np.argmax(means[played] - deviations * std[played])])
        if rule == "observed":
            k = self.tallies.number_of(self._highest_at)
        path = self.tallies.paths[k]
        mean, sd = float(means[k]), float(std[k])
        spread = sd * self._sqrt_beta(Confidence(self.confidence.delta), self.observations + 1)
        observed, visits = self.tallies.mean_and_visits(path)
        return Arm(path, None, mean, sd, mean - spread, mean + spread, observed, visits)


def expected_improvement(improvement: Floats, std: Floats) -> Floats:
    """Return E max(improvement + std N(0, 1), 0)."""
    from scipy.special import ndtr

    z = _standardized(improvement, std)
    density = np.exp(-0.5 * np.minimum(np.abs(z), 1e3) ** 2) / math.sqrt(2 * math.pi)
    expected: Floats = improvement * ndtr(z) + std * density
    return expected


def _standardized(improvement: Floats, std: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(std > 0, improvement / std, np.where(improvement > 0, np.inf, -np.inf))
