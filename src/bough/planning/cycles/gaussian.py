"""GPCycle: one Gaussian process over all pairs of a state and an action."""

import math
from array import array
from collections.abc import Iterable

import numpy as np

from bough._validation import at_least_zero
from bough.confidence import Confidence
from bough.planning.cycles.agents import Bounds, CycleAgent, CycleCertificate
from bough.planning.cycles.best_cycle import Floats, Ints, best_policy
from bough.planning.cycles.process import BOUNDS, Factor, Hyperparameters, Tried, fit, posterior
from bough.planning.cycles.world import UNKNOWN, Actions, Features, State

#: The default factor of exploration.
EXPLORATION = 0.4
#: Hyperparameters are fitted again when the number of steps has grown by this factor.
GROWTH = 2.0
#: An episode ends when the visits of a pair have grown by this factor: rewards of one pair teach
#: about others, so that a doubling, as for UCycle, would be late.
REPLAN = 1.3
#: Of k pairs that were tried none may have differed from what the others suggest. By the rule of
#: succession the next one does with probability 1 / (k + 1). Trying it costs a detour, and its
#: reward lasts: untried pairs are taken to be better than all others while this is more than
#: 1 / (SURPRISE t) after t steps, that is until t / 20 pairs were tried.
SURPRISE = 0.05


class GPCycle(CycleAgent):
    """Follow the best cycle by upper confidence bounds of a Gaussian process over all pairs.

    The mean reward of a pair is modeled as the sum of a function of its features (with a squared
    exponential kernel) and of a term of its own; length scales, variances and noise are fitted. The
    upper bound of a pair is its posterior mean plus exploration sqrt(2 log t) standard deviations.
    An untried pair also has an upper bound of its reward, and is assumed to lead to the state that
    is best for the agent. So at first only pairs that can be on the best cycle are tried. Since
    features can be misleading, about every 20 steps one more pair is tried, until all were tried.
    The agent moves to the best cycle on the path with the highest optimistic reward, and follows
    the cycle. It plans again when an untried pair was tried or the visits of a pair have grown by
    30 %.

    Parameters
    ----------
    states : collection of hashables, or None
        All states; None if they are not known beforehand.
    actions : sequence or function
        The actions, or a function that returns those of a state.
    features : function, optional
        A function of a state and an action that returns a number or a vector, the same length for
        all. By default the pairs are independent, given the average of all.
    exploration : float
        Multiplier of the width of the bounds that the agent follows.
    delta : float
        Failure probability of a certificate, whose bounds are wider.
    reward_range : (float, float), optional
        The lowest and the highest possible mean reward of a pair, for certificates; by default
        unlimited.

    Examples
    --------
    >>> from bough.planning import cycles
    >>> agent = cycles.GPCycle(range(10), (-1, 1), features=lambda place, move: place + move)
    >>> place = 0
    >>> for _ in range(200):
    ...     move = agent.act(place)
    ...     there = min(max(place + move, 0), 9)
    ...     agent.learn(place, move, 1 - abs(there - 6) / 9, there)
    ...     place = there
    >>> agent.certificate().cycle
    ((5, 1), (6, -1))
    """

    conditional = True

    def __init__(
        self,
        states: Iterable[State] | None,
        actions: Actions,
        *,
        features: Features | None = None,
        exploration: float = EXPLORATION,
        delta: float = 0.05,
        reward_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(states, actions, features, delta, reward_range)
        self.exploration = at_least_zero(exploration, "exploration")
        self._hyperparameters: Hyperparameters | None = None
        self._factor: Factor | None = None
        self._last_fit: Hyperparameters | None = None  # also one that is not kept
        self._next_fit = 1.0
        self._edges: list[int] | None = None  # the pair to take, by state; None: plan again
        self._policy: Ints | None = None  # the last one, in the optimistic graph
        self._is_checked = True  # no pair is new since it was checked that there is a way back
        self._before = array("q")  # the visits of each pair at the last plan

    def _recorded(self, pair: int, is_new: bool) -> None:
        self._is_checked &= not is_new
        before = self._before[pair] if pair < len(self._before) else 0
        if is_new or self.world.visits[pair] >= max(before + 1, REPLAN * before):
            self._edges = None

    def _choose(self, state: int) -> int:
        if self._edges is None or state >= len(self._edges):
            self._plan(state)
        return self._edges[state]  # type: ignore[index]

    def _plan(self, state: int) -> None:
        """Find the policy with the highest optimistic gain from every state."""
        world = self.world
        if not self._is_checked:
            self._reachable(state)  # raises if the world turns out not to be communicating
            self._is_checked = True
        means, std, prior = self._posterior()
        deviations = self.exploration * math.sqrt(2.0 * math.log(max(world.observations, 2)))
        upper, elsewhere = means + deviations * std, prior[0] + deviations * prior[1]
        untried = np.array(world.targets) == UNKNOWN
        tried = len(untried) - int(untried.sum())
        if self._rewards_are_equal or tried + 1 < SURPRISE * world.observations:
            size = world.highest - world.lowest or max(abs(world.highest), 1.0)
            upper[untried] = elsewhere = max(float(upper.max()), elsewhere) + size
        graph, weights = self._optimistic_graph(upper, elsewhere)
        if self._policy is not None and len(self._policy) != graph.nodes:
            self._policy = None
        self._policy = best_policy(graph, weights, self._policy).edges
        self._edges = self._policy[: len(world.states)].tolist()
        self._before = world.visits[:]

    def _posterior(self, fit_again: bool = False) -> tuple[Floats, Floats, tuple[float, float]]:
        """Return posterior means and deviations of all pairs, and those of one not listed yet.

        With `fit_again` hyperparameters are fitted to all observations, but not kept: the agent
        acts as it would otherwise.
        """
        world = self.world
        if not world.observations:
            pairs = len(world.targets)
            return np.zeros(pairs), np.ones(pairs), (0.0, 1.0)
        targets = np.array(world.targets)
        at = np.flatnonzero(targets != UNKNOWN)
        visits = np.array(world.visits, dtype=np.float64)[at]
        tried = Tried(at, visits, np.array(world.means)[at], world.squares)
        rows = np.array(world.rows) if world.rows else None
        fitted, factor = self._hyperparameters, self._factor
        if fitted is None or world.observations >= self._next_fit or fit_again:
            fitted = fit(tried, None if rows is None else rows[at], fitted)
            factor = None if rows is None else Factor(fitted.lengths)
        self._last_fit = fitted
        if world.observations >= self._next_fit and not fit_again:
            self._hyperparameters, self._factor = fitted, factor
            self._next_fit = max(world.observations + 1, GROWTH * world.observations)
        if factor is not None and rows is not None and len(factor.columns) < len(rows):
            factor.extend(rows[len(factor.columns) :])
        means, std = posterior(fitted, factor, tried, len(targets))
        variance = 1.0 / len(at) + fitted.own + fitted.smooth
        return means, std, (fitted.center, fitted.unit * math.sqrt(variance))

    @property
    def _rewards_are_equal(self) -> bool:
        """Whether all rewards were equal, which says nothing of those of untried pairs."""
        world = self.world
        tried = np.array(world.means)[np.array(world.targets) != UNKNOWN]
        return (
            len(tried) > 0 and float(np.ptp(tried)) == 0.0 and float(np.sum(world.squares)) == 0.0
        )

    def _reward_bounds(self) -> tuple[float, float]:
        return self.reward_range or (-math.inf, math.inf)

    def certificate(self, *, extrapolate: bool = False) -> CycleCertificate:
        """Return the best known cycle, and bounds of its mean reward and of that of all others.

        Parameters
        ----------
        extrapolate
            Whether untried pairs have the bounds of the posterior, too. These are false if one of
            the pairs differs from the prediction by its features. By default nothing but
            `reward_range` is assumed about untried pairs: until all pairs that can be reached were
            tried, `upper` is the end of this range (infinite by default).

        Raises
        ------
        bough.exceptions.NotCommunicating
            If states that were visited can never be reached again.
        """
        return self._certificate(lambda: self._certain_widths(extrapolate))

    def _certain_widths(self, extrapolate: bool = False) -> Bounds:
        # (The last fit knows nothing of how pairs differ that were tried after it.)
        means, std, (mean, deviation) = self._posterior(fit_again=True)
        # (A quarter of the probability of failure for each side, and half of it for the noise.)
        schedule = Confidence(self.delta / 4.0)
        pairs = len(means) + self.world.is_open
        b = schedule.sqrt_beta(max(self.world.observations, 1), math.log(pairs))
        untried = np.array(self.world.targets) == UNKNOWN
        widths, elsewhere = b * std, mean + b * deviation
        widths[~untried] *= self._noise_factor()
        if not extrapolate or self._rewards_are_equal:
            widths[untried] = elsewhere = math.inf
        return means, widths, min(elsewhere, self._reward_bounds()[1])

    def _noise_factor(self) -> float:
        """Return an upper bound of the standard deviation of the noise, in units of the fitted one.

        By the variance of repeated rewards, whose distribution is chi-squared. If all repeated
        rewards were equal, they are taken to be exact as soon as the next one differs with a
        probability of at most delta / 2, by the rule of succession; until then it is infinite.
        """
        from scipy.special import gammaincinv

        world, fitted = self.world, self._last_fit
        repeats = world.observations - sum(visits > 0 for visits in world.visits)
        if fitted is None or not repeats:
            return math.inf
        variance = fitted.unit**2 * fitted.noise
        if world.squares <= repeats * fitted.unit**2 * BOUNDS["noise"][0]:
            return 1.0 if repeats + 2 >= 2.0 / self.delta else math.inf
        level = 0.5 * self.delta * 6.0 / (math.pi * repeats) ** 2
        highest = world.squares / (2.0 * float(gammaincinv(0.5 * repeats, level)))
        return math.sqrt(max(highest / variance, 1.0))
