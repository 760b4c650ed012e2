"""The model of a generator: drafts, steps from parent to child, and what stays in a lineage.

    draft:  q ~ N(mu_g, s_g^2)
    child:  q_child = q_parent + m_g(q_parent) + u_parent + v_g(q_parent) e

A score q is what an answer is worth; what is observed has noise. The curves m_g and v_g, mean and
spread of a step of generator g, are kernel means that shrink to a line, and each generator's to
those of all. e has the shape of all residuals. The promise u of a node is hidden and inherited.
Everything is fitted again whenever the number of nodes has grown by a sixteenth: the curves by
steps of expectation maximization, the variances of promises and the noise by the likelihood of all
scores. In between, each new score updates the posterior exactly.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bough.generation.rates import GRID, Rates
from bough.generation.smoothing import FIELDS, predict, smooth

Array = NDArray[np.float64]

#: The noise of an exact score, in standard deviations of all scores; and the largest variance of a
#: score of which nothing is known.
LEAST_NOISE, MOST_NOISE = 1e-5, 1e12
#: Scores further below the best than this many times the median draft (and the lower quartile of
#: all) count as that low: one terrible answer must not set the scale of all.
BELOW = 5.0
#: Differences of scores below this count as none: their squares must not vanish.
TINY = 1e-140
#: Candidates for a common noise that is not known, in the same units.
NOISES = (LEAST_NOISE, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
#: The largest noise is taken whose log likelihood is below that of the best by at most this much:
#: a search that takes exact scores for noisy loses little, one that takes noise for skill much.
EVIDENCE = 2.0
#: The points of the grid of scores, and how far it reaches beyond them, in steps.
POINTS, MARGIN = 33, 3.0
#: The bandwidth of kernel means, as a share of the range of scores.
BANDWIDTH = 0.15
#: Weights of priors, in observations: of no drift and of a flat drift; of local drifts and spreads;
#: of one generator's; of the spread of the first steps; and of a normal shape.
FLAT, SLOPE = 1.0, 8.0
LOCAL = 4.0
OWN = 4.0
FIRST = 2.0
NORMAL = 10.0
#: The spread of a step before any, in standard deviations of a draft.
FIRST_SPREAD = 0.5
#: The variances of a draft's promise, and of its change at a step, in variances of a step: the
#: medians of log-normal priors, and the standard deviation of their logarithms.
PROMISE, CHANGE, SPREAD_OF_LOG = 0.3, 0.02, 1.5
#: The weight of the prior of a calibration, in improvements.
CALIBRATION = 4.0
#: The variance of the score of a seed, in that of all scores.
SEED = 4.0
#: Residuals are clipped at this many standard deviations.
CLIP = 4.0
#: The numbers of pending calls at one node that are told apart.
MOST_PENDING = 16
#: Steps of expectation maximization at each fit, and at one that begins without curves.
STEPS, COLD_STEPS = 1, 5
#: Rounds of doubling and halving the variances of promises at a fit that begins without curves.
COLD_ROUNDS = 4
#: The least number of nodes to fit the noise by.
LEAST_NODES = 8

_NORMAL_CDF = np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in GRID])
#: The powers of the unit of scores in what a fit begins with.
SCALES = {"promise": 1, "variance": 2, "uncertainty": 2, "step_variance": 2,
          "step_covariance": 2}  # fmt: skip
_DTYPE = np.dtype([(name, np.float64) for name in FIELDS])


class Model:
    """Posterior of the scores of all nodes, and the curves of all generators.

    Parameters
    ----------
    generators
        Their number.
    noise
        The common standard deviation of a score for which none is given; None if it is fitted.
    """

    def __init__(self, generators: int, noise: float | None) -> None:
        self.generators = generators
        self.noise = noise
        self.fitted_noise = 0.0  # in units of scores
        self.count = 0
        self.rates = Rates()
        self.center, self.scale = 0.0, 1.0
        self._floor = -math.inf  # lower scores count as this
        self._table = np.zeros((0, len(FIELDS)))
        self._parents = np.zeros(0, dtype=np.int32)
        self._roots = np.zeros(0, dtype=np.int32)
        self._generator = np.zeros(0, dtype=np.int32)
        self._seeds = np.zeros(0, dtype=bool)
        # Of each node: the sum of observations and their number; and of those with a known noise,
        # the sum weighted by precision, and the precision.
        self._observed = np.zeros((0, 4))
        self._next = 1  # the number of nodes at which all is fitted again
        self._stale: set[int] = set()  # drafts below which scores have come
        self.version = 0  # the number of fits
        self._noise = LEAST_NOISE  # in standard deviations
        self._next_noise = LEAST_NODES  # the number of nodes at which it is chosen again
        self.step_variance = 0.0  # of all steps
        self._ratios = PROMISE, CHANGE  # of w0 and w1 to it

    # ------------------------------------------------------------------ observations

    def add(self, parent: int, generator: int, score: float, std: float | None) -> int:
        """Add a node with its score, and return its number; a generator of -1 is none of ours."""
        self.update()  # so that it makes no difference when the posterior was looked at
        i = self.count
        if i == len(self._parents):
            self._grow(max(64, 2 * i))
        self.count += 1
        self._parents[i] = parent
        self._generator[i] = max(generator, 0)
        self._seeds[i] = generator < 0
        self._records["calibration"][i] = (
            self._records["calibration"][parent] if parent >= 0 else 1.0
        )
        self._roots[i] = i if parent < 0 else self._roots[parent]
        self.observe(i, score, std)
        if self.version:
            if parent >= 0:
                self._predict(np.array([i], dtype=np.int32))
            else:
                self._predict_drafts(np.array([i]))
        return i

    def observe(self, i: int, score: float, std: float | None) -> None:
        """Add an observation of the score of a node."""
        if std is None:
            std = self.noise
        if std is None:
            self._observed[i, :2] += score, 1.0
        else:
            precision = 1.0 / min(max(std, 1e-150), 1e150) ** 2
            if std == 0.0 or precision > 1e250:
                precision = math.inf
            if precision == math.inf or self._observed[i, 3] == math.inf:
                exact = precision == math.inf
                self._observed[i, 2:] = (score if exact else self._observed[i, 2]), math.inf
            else:
                self._observed[i, 2:] += score * precision, precision
        self._stale.add(int(self._roots[i]))
        self._combine_one(i)

    def _grow(self, capacity: int) -> None:
        def longer(array: Any) -> Any:
            new = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
            new[: len(array)] = array
            return new

        self._table, self._parents = longer(self._table), longer(self._parents)
        self._roots, self._generator = longer(self._roots), longer(self._generator)
        self._seeds, self._observed = longer(self._seeds), longer(self._observed)
        self._records = self._table.view(_DTYPE).reshape(-1)

    def _combine_one(self, i: int) -> None:
        """Do the same as `_combine` for one node, ten times as fast."""
        total, number, weighted, precision = self._observed[i].tolist()
        least = (LEAST_NOISE * self.scale) ** 2
        common = max((self._noise * self.scale) ** 2, least)
        exact = precision == math.inf
        known = 1.0 / least if exact else min(precision, 1.0 / least)
        value = weighted if exact else (weighted / precision if precision > 0.0 else 0.0)
        sums = number / common + known
        mean = value if exact else (total / common + value * known) / sums
        noise = max(1.0 / sums, least) if sums > 0.0 else math.inf
        record = self._table[i]
        record[0] = (max(mean, self._floor) - self.center) / self.scale
        square = self.scale**2
        record[1] = min(noise / square, MOST_NOISE) if square > 0.0 else MOST_NOISE

    def _combine(self, nodes: Any) -> None:
        """Combine the observations of nodes into one, in standard deviations from the center."""
        total, number, weighted, precision = self._observed[nodes].T
        least = (LEAST_NOISE * self.scale) ** 2
        common = max((self._noise * self.scale) ** 2, least)
        exact = np.isinf(precision)
        known = np.where(exact, 1.0 / least, np.minimum(precision, 1.0 / least))
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(exact, weighted, np.where(precision > 0, weighted / precision, 0.0))
        sums = number / common + known
        mean = (total / common + value * known) / sums
        mean = np.maximum(np.where(exact, value, mean), self._floor)
        self._records["score"][nodes] = (mean - self.center) / self.scale
        with np.errstate(over="ignore", divide="ignore"):
            noise = np.maximum(1.0 / sums, least) / self.scale**2
        self._records["noise"][nodes] = np.minimum(noise, MOST_NOISE)

    # ------------------------------------------------------------------ posterior

    @property
    def w0(self) -> float:
        """The variance of the promise of a draft."""
        return self._ratios[0] * self.step_variance

    @property
    def w1(self) -> float:
        """The variance of the change of a promise from parent to child."""
        return self._ratios[1] * self.step_variance

    def update(self) -> None:
        """Bring the posterior up to date."""
        if not self._stale:
            return
        if self.version:
            for root in sorted(self._stale):
                order = np.flatnonzero(self._roots[: self.count] == root).astype(np.int32)
                smooth(self._table, self._parents, order, self.w0, self.w1, False)
        self._stale.clear()
        if self.count >= self._next:
            self._next = self.count + max(1, self.count // 16)
            self._fit()

    def records(self) -> Any:
        """Return the posterior of all nodes, in standard deviations from the center."""
        return self._records[: self.count]

    def is_exact(self, i: int) -> bool:
        """Return whether the score of a node is its mean: known, or too low to be modeled."""
        return bool(np.isinf(self._observed[i, 3])) or self.score(i) < self._floor

    def score(self, i: int) -> float:
        """Return the average of the observed scores of a node, the exact one if there is one."""
        total, number, weighted, precision = self._observed[i].tolist()
        if math.isinf(precision):
            return float(weighted)
        return float(total / number if number else weighted / precision)

    def in_units(self, value: float) -> float:
        """Return a score, given in standard deviations from the center."""
        return self.center + self.scale * value

    # ------------------------------------------------------------------ fit

    def _fit(self) -> None:
        n = self.count
        records, everything = self._records[:n], np.arange(n, dtype=np.int32)
        total, number, weighted, precision = self._observed[:n].T
        with np.errstate(invalid="ignore", divide="ignore"):
            raw = np.where(number > 0, total / number, weighted / precision)
            raw = np.where(np.isinf(precision), weighted, raw)
        top = float(raw.max())
        drafts = raw[self._parents[:n] < 0]
        usual = max(top - float(np.median(drafts)), top - float(np.quantile(raw, 0.25)))
        self._floor = top - BELOW * usual if usual > 0.0 else -math.inf
        raw = np.maximum(raw, self._floor)
        center, scale = float(raw.mean()), float(raw.std())
        size = float(np.abs(raw).max())
        if not scale > max(1e-12 * size, TINY):  # all are equal
            scale = max(size, TINY) if size else 1.0
        ratio = self.scale / scale
        if self.version:
            records["mean"] = (records["mean"] * self.scale + self.center - center) / scale
            for name, power in SCALES.items():
                records[name] *= ratio**power
            self.step_variance *= ratio * ratio
            self._noise = max(self._noise * ratio, LEAST_NOISE)
        self.center, self.scale = center, scale
        if self.noise is not None:
            self._noise = max(self.noise / scale, LEAST_NOISE)
        self._combine(everything)
        if self.noise is None and n >= self._next_noise and number.any():
            self._next_noise = max(LEAST_NODES, n + n // 4)
            self._choose_noise(everything)
            cold = True
        else:
            cold = not self.version
        if cold:
            self._begin()
        self._improve(everything, COLD_STEPS if cold else STEPS)
        self._fit_promises(everything, COLD_ROUNDS if cold else 1)
        self._tabulate()
        self._calibrate()
        self.version += 1

    def _choose_noise(self, everything: Any) -> None:
        """Choose the common noise by the likelihood of all scores, each with its best curves."""
        likelihoods = []
        for noise in NOISES:
            self._noise = noise
            self._combine(everything)
            self._begin()
            likelihoods.append(self._improve(everything, COLD_STEPS) - self._penalty)
        least = max(likelihoods) - EVIDENCE
        chosen = max(n for n, value in zip(NOISES, likelihoods, strict=True) if value >= least)
        self._noise = chosen
        self.fitted_noise = 0.0 if chosen == LEAST_NOISE else chosen * self.scale
        self._combine(everything)

    def _begin(self) -> None:
        """Set scores to what they would be without drifts, by the noise."""
        n = self.count
        records, parents = self._records[:n], self._parents[:n]
        steps = np.flatnonzero(parents >= 0)
        scores = records["score"]
        square = (
            float(np.mean((scores[steps] - scores[parents[steps]]) ** 2)) if len(steps) else 0.0
        )
        noise = min(self._noise, 1.0) ** 2
        records["slope"], records["offset"] = 1.0, 0.0
        records["spread"] = max(square - 2.0 * noise, 0.1 * square, LEAST_NOISE)
        drafts = parents < 0
        variance = float(scores[drafts].var()) + 0.1
        records["offset"][drafts] = float(scores[drafts].mean())
        records["spread"][drafts] = max(variance - noise, 0.1 * variance)
        order = np.arange(n, dtype=np.int32)
        smooth(self._table, parents, order, LEAST_NOISE, LEAST_NOISE, False)
        records["promise"] = 0.0
        self._ratios = PROMISE, CHANGE

    def _improve(self, everything: Any, steps: int) -> float:
        """Fit the curves by steps of expectation maximization; return the likelihood."""
        likelihood = 0.0
        for _ in range(steps):
            self._fit_curves()
            self._predict_all()
            likelihood = smooth(self._table, self._parents, everything, self.w0, self.w1)
        return likelihood

    def _fit_curves(self) -> None:
        n = self.count
        records, generator = self._records[:n], self._generator[:n]
        parents = self._parents[:n]
        drafts = (parents < 0) & ~self._seeds[:n]
        if not drafts.any():  # seeds only
            drafts = parents < 0
        # Drafts: every generator's mean and variance shrink to those of all.
        q, noise = records["mean"][drafts], records["variance"][drafts]
        of = generator[drafts]
        mean = float(q.mean())
        squares = (q - mean) ** 2 + noise
        variance = (float(squares.sum()) + 0.5) / (len(q) + 1.0)
        counts = np.bincount(of, minlength=self.generators)
        sums = np.bincount(of, q - mean, self.generators)
        self.draft_mean = mean + sums / (counts + 1.0)
        squares = (q - self.draft_mean[of]) ** 2 + noise
        own = np.bincount(of, squares, self.generators)
        self.draft_variance = (own + OWN * variance) / (counts + OWN)
        self.draft_counts, self.drafts = counts, len(q)
        self.draft_sd = np.sqrt(self.draft_variance * (1.0 + 1.0 / (counts + 1.0)))
        # Steps.
        steps = np.flatnonzero(parents >= 0)
        above = parents[steps]
        x, of = records["mean"][above], generator[steps]
        d = records["mean"][steps] - x - records["promise"][above]
        spread_of_drafts = math.sqrt(variance)
        low, high = float(records["mean"].min()), float(records["mean"].max())
        known = math.sqrt(self.step_variance) or FIRST_SPREAD * spread_of_drafts
        high += MARGIN * known
        if not high > low:
            high = low + 1.0
        self.low, self.step = low, (high - low) / (POINTS - 1)
        grid = np.linspace(low, high, POINTS)
        middle = float(x.mean()) if len(x) else 0.0
        width = max(float(x.std()) if len(x) else 0.0, 0.1 * (high - low))
        # The line of all, by ridge regression.
        z = (x - middle) / width
        a, b = len(z) + FLAT, float(z.sum())
        c = float((z * z).sum() + records["variance"][above].sum() / width**2) + SLOPE
        p = float(d.sum())
        r = float((d * z).sum() + records["step_covariance"][steps].sum() / width)
        slope = (a * r - b * p) / (a * c - b * b)
        level = (p - b * slope) / a
        line = level + slope * (grid - middle) / width
        h = BANDWIDTH * max(float(np.ptp(x)) if len(x) else 0.0, 0.1 * (high - low))
        weights = np.exp(-0.5 * ((grid[:, None] - x) / h) ** 2)
        drift = line + (weights @ (d - level - slope * z)) / (weights.sum(axis=1) + LOCAL)
        self.drift = np.tile(drift, (self.generators, 1))
        residual = d - np.interp(x, grid, drift)
        if self.generators > 1:
            counts = np.bincount(of, minlength=self.generators)
            offsets = np.bincount(of, residual, self.generators) / (counts + OWN)
            self.drift += offsets[:, None]
            rest = residual - offsets[of]
            for g in range(self.generators):
                own = weights[:, of == g]
                self.drift[g] += (own @ rest[of == g]) / (own.sum(axis=1) + LOCAL + OWN)
                residual[of == g] = d[of == g] - np.interp(x[of == g], grid, self.drift[g])
        self.step_counts = np.bincount(of, minlength=self.generators)
        # Variances of steps: by expected squares.
        squares = residual**2 + records["step_variance"][steps]
        first = (FIRST_SPREAD * spread_of_drafts) ** 2
        self.step_variance = (float(squares.sum()) + FIRST * first) / (len(x) + FIRST)
        local = (weights @ squares + LOCAL * self.step_variance) / (weights.sum(axis=1) + LOCAL)
        self._penalty = 0.5 * (FLAT * level**2 + SLOPE * slope**2) / self.step_variance
        self.variances = np.tile(local, (self.generators, 1))
        if self.generators > 1:
            for g in range(self.generators):
                mine = of == g
                own, ratio = weights[:, mine], squares[mine] / np.interp(x[mine], grid, local)
                level = (float(ratio.sum()) + OWN) / (mine.sum() + OWN)
                self.variances[g] *= (own @ ratio + (LOCAL + OWN) * level) / (
                    own.sum(axis=1) + LOCAL + OWN
                )
        self.variances = np.maximum(self.variances, 1e-8)
        self.grid = grid
        spreads = np.sqrt(self._at(self.variances, of, x))
        self._residuals = np.clip(residual / spreads, -CLIP, CLIP)
        self._weights, self._steps = weights, steps

    def _at(self, curves: Array, of: Any, x: Array) -> Array:
        """Return the curves of some generators at scores."""
        at = np.clip((x - self.low) / self.step, 0.0, POINTS - 1 - 1e-9)
        i = at.astype(int)
        t = at - i
        result: Array = curves[of, i] * (1.0 - t) + curves[of, i + 1] * t
        return result

    def _predict_all(self) -> None:
        n = self.count
        self._predict_drafts(np.flatnonzero(self._parents[:n] < 0))
        self._predict(np.flatnonzero(self._parents[:n] >= 0).astype(np.int32))

    def _predict_drafts(self, drafts: Any) -> None:
        """Set what is expected of drafts; little of seeds."""
        of, seeds = self._generator[drafts], self._seeds[drafts]
        self._records["offset"][drafts] = self.draft_mean[of]
        self._records["spread"][drafts] = np.where(seeds, SEED, self.draft_variance[of])

    def _predict(self, steps: Any) -> None:
        """Set what the curves say of steps."""
        predict(
            self._table, self._parents, self._generator, steps, self.drift, self.variances,
            self.low, self.step,
        )  # fmt: skip

    def _fit_promises(self, everything: Any, rounds: int) -> None:
        """Fit the variances of promises by the likelihood of all scores, doubling or halving them.

        (Expectation maximization takes hundreds of steps where they are small.)
        """

        def value(ratios: tuple[float, float]) -> float:
            logs = math.log(ratios[0] / PROMISE), math.log(ratios[1] / CHANGE)
            prior = 0.5 * (logs[0] ** 2 + logs[1] ** 2) / SPREAD_OF_LOG**2
            w0, w1 = (ratio * self.step_variance for ratio in ratios)
            return smooth(self._table, self._parents, everything, w0, w1) - prior

        top = value(self._ratios)
        for _ in range(rounds):
            before = top
            for factors in ((2.0, 1.0), (0.5, 1.0), (1.0, 2.0), (1.0, 0.5)):
                ratios = self._ratios[0] * factors[0], self._ratios[1] * factors[1]
                found = value(ratios)
                if found > top:
                    top, self._ratios = found, ratios
            if top == before:
                break
        smooth(self._table, self._parents, everything, self.w0, self.w1, False)

    def _calibrate(self) -> None:
        """Compare the predicted with the observed improvements, in each tree at each score.

        A lineage whose end the curves do not see has fewer than predicted. The rates of its nodes
        are multiplied by the ratio. (Under noise it is not known what has improved.)
        """
        n, steps = self.count, self._steps
        records, parents = self._records[:n], self._parents[:n]
        records["calibration"] = 1.0
        if self._noise > LEAST_NOISE or not len(steps):
            return
        above = parents[steps]
        x, of = records["mean"][above], self._generator[steps]
        z = self._at(self.drift, of, x) + records["promise"][above]
        z /= np.sqrt(self._at(self.variances, of, x))
        predicted = 1.0 - np.interp(-z, GRID, self._cdf)
        improved = records["score"][steps] > records["score"][above]
        roots = self._roots[steps]
        order = np.argsort(roots, kind="stable")
        begins = np.flatnonzero(np.diff(roots[order], prepend=-1))
        weights = self._weights[:, order]
        had = np.add.reduceat(weights * improved[order], begins, axis=1)
        expected = np.add.reduceat(weights * predicted[order], begins, axis=1)
        ratios = np.minimum((had + CALIBRATION) / (expected + CALIBRATION), 1.0)
        for root, ratio in zip(roots[order][begins], ratios.T, strict=True):
            nodes = self._roots[:n] == root
            records["calibration"][nodes] = np.interp(records["mean"][nodes], self.grid, ratio)

    def _tabulate(self) -> None:
        """Give the curves and the shape of residuals to the rates."""
        z = np.sort(self._residuals)
        n = len(z)
        cdf = (NORMAL * _NORMAL_CDF + np.searchsorted(z, GRID, side="right")) / (NORMAL + n)
        self._cdf = cdf
        numbers = np.arange(1, MOST_PENDING + 2)[:, None]
        upper = 1.0 - cdf**numbers
        cell = float(GRID[1] - GRID[0])
        areas = 0.5 * cell * (upper[:, 1:] + upper[:, :-1])
        gains = np.zeros((MOST_PENDING + 1, len(GRID)))
        gains[:, :-1] = np.cumsum(areas[:, ::-1], axis=1)[:, ::-1]
        squares = np.zeros(len(GRID))
        squares[:-1] = np.cumsum((cell * (gains[0, 1:] + gains[0, :-1]))[::-1])[::-1]
        v2 = self.variances
        spread = v2 / np.sqrt(v2 + self._noise**2)  # of posterior means, after one score
        self._tables = (
            self.low, self.step, np.ascontiguousarray(self.drift), np.ascontiguousarray(spread),
            gains, squares,
        )  # fmt: skip
        self.rates.take(*self._tables)

    # ------------------------------------------------------------------ saving

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if name not in ("rates", "_records")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._records = self._table.view(_DTYPE).reshape(-1)
        self.rates = Rates()
        if self.version:
            self.rates.take(*self._tables)
