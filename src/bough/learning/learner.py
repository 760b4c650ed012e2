"""When a searcher learns its kernel, noise and mean, and from where it goes on."""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bough.belief.belief import Belief
from bough.kernels import Geometric, Kernel
from bough.learning.ascent import climb, polish
from bough.learning.data import gathered
from bough.learning.model import Mean, Model, Settings
from bough.learning.posterior import Found, Posterior
from bough.learning.prior import WEAK, Prior
from bough.means import Heuristic
from bough.trees import Path

Array = NDArray[np.float64]

#: Learnt again when there are so many times as many observations, up to OFTEN, and from there on.
GROWTH = 4 / 3
OFTEN = 500
LATER_GROWTH = 2.0
#: While there are at most so many, every fit also starts afresh: it may have been on a wrong track.
FEW = 30
#: Newton's method looks at every parameter apart, so with more than this L-BFGS-B goes first, and
#: then so many Newton steps are enough.
MANY = 8
POLISH = 6
#: A belief takes increments below this for none.
VANISHED = 1e-99
#: Rewards are taken for exact when the chance is below this that noise let all repetitions agree.
COINCIDENCE = 1e-3


#: How far a likelihood may be off, relatively, that was computed by another machine.
ROUNDING = 1e-6


class Fit(NamedTuple):
    """What was learnt at one moment.

    Attributes
    ----------
    values
        The parameters that are learnt, in the units of the user, in the order of the model's slots.
    exact
        Whether the rewards were taken for exact.
    likelihood
        Of all that was told until then, given these.
    """

    values: list[float]
    exact: bool
    likelihood: float


class Learner:
    """What of a kernel, a noise and a mean is to be learnt, and what was learnt last.

    Learning costs O(nodes), and is done each time that the observations have grown by a third (once
    there are 500: have doubled), so it costs O(depth) an observation, like telling it.
    """

    def __init__(
        self,
        kernel: Kernel | None,
        noise: float | None,
        mean: Mean | None,
        depth: int,
        prior: Prior = WEAK,
    ) -> None:
        self.prior = prior
        # A geometric kernel can be like any other: Linear and Discounted are special cases, and
        # so is Gaussian, but for the root, of which the learnt mean takes care.
        kernel = Geometric(None, None) if kernel is None else kernel
        self.model = Model(kernel, noise, mean, depth)
        self.exact_model = self.model if noise is not None else Model(kernel, 0.0, mean, depth)
        self.exact = False  # whether the rewards were found to have no noise,
        self.watching = noise is None  # or may still be,
        self.agreed = 0  # as so many that came again say
        self.values: list[float] | None = None  # of the last fit
        self.only_zeros = True
        self.next = 1
        self.fits: list[Fit] = []  # all that was learnt so far
        # While a record is followed: what was learnt then, to be taken, and nothing else learnt.
        self.recorded: deque[Fit] | None = None

    def first(self) -> Settings:
        """Return what to believe before anything was told."""
        settings = self.model.settings(self.model.typical(self.prior), 0.0, 1.0)
        mean = self.model.mean
        return replace(settings, mean=mean) if isinstance(mean, Heuristic) else settings

    def note(self, rewards: Iterable[float]) -> None:
        """Take note of rewards: the first that is not 0 says in what units they come."""
        if self.only_zeros and any(rewards):
            self.only_zeros = False
            self.next = 0

    def watch(self, belief: Belief, node: Path, value: float) -> None:
        """Take note of the last reward: if it came again, and is the same, there may be no noise.

        Then there is no need to find out by playing an arm over and over.
        """
        arm = belief.arm(node)
        if arm.visits < 2:
            return
        if arm.value != value:
            self.watching = False
            return
        self.agreed += 1
        worth_a_look = self.agreed <= 8 or self.agreed & (self.agreed - 1) == 0
        if worth_a_look and looks_exact(belief):
            self.next = len(belief)

    def is_due(self, told: int) -> bool:
        """Return whether it is time to learn, after so many observations."""
        return told >= self.next if self.recorded is None else bool(self.recorded)

    def learn(self, belief: Belief) -> None:
        """Let a belief take the prior that suits what it was told."""
        if self.watching and looks_exact(belief):
            self.watching = False
            self.exact = self._is_possible(belief)
            self.values = None
        self._fit(belief)
        told = len(belief)
        growth = GROWTH if told < OFTEN else LATER_GROWTH
        self.next = max(told + 1, math.ceil(growth * told))

    def doubt(self, belief: Belief) -> None:
        """Take back that rewards have no noise: one of them came twice, and differs."""
        self.exact = self.watching = False
        self.values = None
        self._fit(belief)
        self.next = len(belief) + 1

    def _is_possible(self, belief: Belief) -> bool:
        """Return whether there may be no noise: a kernel that is given may need some."""
        posterior = Posterior(self.exact_model, gathered(belief, self.model.mean), self.prior)
        return posterior(self.exact_model.typical(self.prior))[0] > -math.inf

    def _fit(self, belief: Belief) -> None:
        """Let a belief take what is learnt now, or was learnt then."""
        fit = self._recalled(belief) if self.recorded else self._found(belief)
        self.exact, self.values = fit.exact, fit.values
        now = self._model().settings_of(fit.values)
        belief.take_prior(now.kernel, now.noise, now.mean, fit.likelihood)
        self.fits.append(fit)

    def _model(self) -> Model:
        return self.exact_model if self.exact else self.model

    def _found(self, belief: Belief) -> Fit:
        model = self._model()
        evidence = gathered(belief, model.mean)
        shift, scale = evidence.shift, evidence.scale
        posterior = Posterior(model, evidence, self.prior)
        starts = [] if self.values is None else [model.standard(self.values, shift, scale)]
        if not starts or len(belief) <= FEW:
            starts.append(model.typical(self.prior))
        found = max((_ascend(posterior, x) for x in starts), key=lambda found: found.density)
        posterior(found.theta)
        values = model.natural(found.theta, shift, scale)
        kernel = model.settings_of(values).kernel
        if self.exact and (kernel.increments(model.depth)[1:] <= VANISHED).any():
            # Exact rewards would make all arms known that no step tells apart, unseen: a kernel
            # may say so that was learnt, but it is not to be taken at its word.
            self.exact = False
            self.values = None
            return self._found(belief)
        return Fit(values, self.exact, posterior.likelihood)

    def _recalled(self, belief: Belief) -> Fit:
        """Return what was learnt then, if it is about these rewards.

        It is taken as it was, since an optimiser may end elsewhere by a bit on another machine.
        """
        assert self.recorded  # there is something to recall
        fit = self.recorded.popleft()
        self.exact = fit.exact
        model = self._model()
        if len(fit.values) != len(model.slots):
            raise ValueError(f"what was learnt then, {fit}, is not what is learnt now")
        posterior = Posterior(model, gathered(belief, model.mean), WEAK)
        likelihood = posterior.likelihood_of(model.settings_of(fit.values))
        if not math.isclose(likelihood, fit.likelihood, rel_tol=ROUNDING, abs_tol=ROUNDING):
            raise ValueError(
                f"what was learnt then, {fit}, has the log likelihood {likelihood!r} now"
            )
        return fit


def _ascend(posterior: Posterior, start: Array) -> Found:
    """Go up from a start by Newton's method; where that may fail, or would cost much, help it."""
    if len(start) <= MANY:
        found = polish(posterior, posterior.found(np.clip(start, posterior.low, posterior.high)))
        if found.converged:
            return found
        start = found.theta
    return polish(posterior, climb(posterior, start), most=POLISH)


def looks_exact(belief: Belief) -> bool:
    """Return whether the same thing read again always gave the same value, and not by chance.

    If different things never have the same value, chance has little room. Otherwise rewards come in
    steps, and may agree by chance as often as the commonest of them occurs. If there are only two
    values, an arm that wins nearly always looks like one that always does: nothing is concluded.
    """
    readings, depth = belief.observations, belief.nodes["depth"]
    common = readings["own_noise"] == 0
    told = readings[common & (readings["ends"] == depth[readings["node"]])]
    what = 2 * told["node"].astype(np.int64) + told["of_step"]
    order = np.argsort(what, kind="stable")
    what, value = what[order], told["value"][order]
    again = what[1:] == what[:-1]
    agree = int(again.sum())
    if agree == 0 or not (value[1:] == value[:-1])[again].all():
        return False
    different = value[np.append(True, ~again)]
    values, counts = np.unique(different, return_counts=True)
    if len(values) == len(different):
        pairs = len(different) * (len(different) - 1) / 2
        chance = 1.0 / (1.0 + pairs)
    elif len(values) > 2:
        _, counts = np.unique(value, return_counts=True)
        chance = (1.0 + int(counts.max())) / (1.0 + len(value))
    else:
        return False
    return agree * math.log(chance) <= math.log(COINCIDENCE)
