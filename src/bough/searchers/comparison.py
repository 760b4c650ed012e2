"""A comparison of the belief with independent rewards: whether the tree model fits."""

import math
from dataclasses import dataclass

from bough.belief.best_arm import Arm

#: The model does not fit if evidence for it is below this, in nats, after this many predictions.
MISFIT, FEW_PREDICTIONS = -2.0, 20
#: The most evidence that is kept, so that it can be outweighed later.
MOST_EVIDENCE = 5.0
#: The share of random paths if the model does not fit.
MISFIT_SHARE = 0.5
#: Plays that change the mean of their arm by less than this share of the deviation of rewards are
#: replaced by random paths, up to a share of all plays; others in proportion.
SMALL_CHANGE, MOST_RANDOM = 0.001, 0.9
#: The weight of the last play in the average change.
CHANGE_WEIGHT = 0.1


@dataclass(slots=True)
class Comparison:
    """The belief against independent rewards, with the mean and variance of all so far.

    Where rewards of paths with a common prefix are unrelated, or where a better path is hidden
    among paths of equal rewards, the choices of the belief are worse than random ones. The first
    shows in predictions of rewards one play ahead; each counts for one nat at most, so that no
    outlier decides. The second shows in plays that do not change the belief.
    """

    rewards: int = 0
    average: float = 0.0
    squares: float = 0.0  # the sum of squared differences from the average
    predictions: int = 0
    evidence: float = 0.0  # for the belief, in nats
    change: float = math.inf  # by which a play changes the mean of its arm, on average
    random_share: float = 0.0  # the share of plays that random paths deserve

    @property
    def favors_independence(self) -> bool:
        """Whether predictions of new paths are better if rewards are taken to be independent."""
        return self.evidence < MISFIT and self.predictions >= FEW_PREDICTIONS

    def add(self, reward: float) -> None:
        """Add a reward."""
        self.rewards += 1
        difference = reward - self.average
        self.average += difference / self.rewards
        self.squares += difference * (reward - self.average)

    def compare(self, reward: float, arm: Arm, noise: float) -> None:
        """Compare the reward of an arm that the belief chose with its predictions, then add it."""
        signal = arm.std * arm.std
        variance = signal + noise * noise
        error = reward - arm.mean
        independent = self.squares / max(self.rewards, 1)
        if variance > 0.0 and independent > 0.0:
            change = signal / variance * abs(error)
            if self.change < math.inf:
                change = self.change + CHANGE_WEIGHT * (change - self.change)
            self.change = change
            if arm.visits == 0:
                nats = math.log(independent) - math.log(variance) - error * error / variance
                nats = 0.5 * (nats + (reward - self.average) ** 2 / independent)
                evidence = self.evidence + (1.0 if nats > 1.0 else -1.0 if nats < -1.0 else nats)
                self.evidence = max(-MOST_EVIDENCE, min(MOST_EVIDENCE, evidence))
                self.predictions += 1
            small = SMALL_CHANGE * math.sqrt(independent)
            share = small / change if small < MOST_RANDOM * change else MOST_RANDOM
            if share < MISFIT_SHARE and self.favors_independence:
                share = MISFIT_SHARE
            self.random_share = share
        self.add(reward)
