"""Kernel, noise and mean, learnt from what was told by maximum likelihood.

One likelihood with its gradient is a pass over all that was told (`_evidence.py`), so a fit of ten
thousand observations takes a fraction of a second. Weak priors keep few data from saying too much:
see `Prior`.
"""

import copy
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from bough import kernels
from bough._validation import at_least_zero, real
from bough.belief.belief import Belief
from bough.belief.likelihood import Evidence
from bough.exceptions import Contradiction
from bough.kernels import Kernel
from bough.learning.ascent import climb, polish
from bough.learning.data import gathered
from bough.learning.model import Mean, Model
from bough.learning.posterior import Found, Posterior
from bough.learning.prior import FLAT, WEAK, Guess, Prior
from bough.learning.report import Parameter, Report, report_of
from bough.learning.templates import template_of

__all__ = [
    "FAMILIES",
    "FLAT",
    "WEAK",
    "Chosen",
    "Fit",
    "Guess",
    "Parameter",
    "Prior",
    "Report",
    "choose",
    "fit",
]

#: What `choose` chooses from.
FAMILIES = (kernels.Linear, kernels.Gaussian, kernels.Discounted, kernels.Geometric, kernels.Chi)


class Fit(NamedTuple):
    """A new belief with what was learnt, and how it was found."""

    belief: Belief
    report: Report


class Chosen(NamedTuple):
    """The fit of the best family, and the reports of all, the best first."""

    belief: Belief
    report: Report
    reports: list[Report]


def fit(
    belief: Belief,
    family: type[Kernel] | Kernel,
    *,
    noise: float | None = None,
    mean: Mean | None = None,
    prior: Prior = WEAK,
) -> Fit:
    """Learn kernel, noise and mean from what was told to a belief.

    Parameters
    ----------
    belief
        It stays as it is.
    family
        A class of kernels (Linear, Gaussian, Discounted, Geometric, or Chi for one free increment
        a depth), or a kernel with None for what is to be learnt: `Gaussian(None, variance=1.0)`.
    noise
        If it is known. Readings that came with a noise of their own keep it in any case.
    mean
        If it is known. By default it is learnt: a constant; or scale and offset, if the belief
        has a `bough.means.Heuristic`. (Any other function of the belief stays as it is.)
    prior
        `FLAT` for maximum likelihood without one.

    Returns
    -------
    belief, report
        A new belief with all that was told to the old one, pending evaluations too.

    Examples
    --------
    >>> import bough, numpy as np
    >>> from bough import kernels, learning
    >>> tree = bough.Tree(3, 6)
    >>> truth = bough.Belief(tree, kernels.Gaussian(2.0), noise=0.1)
    >>> rng = np.random.default_rng(0)
    >>> paths = [tuple(path) for path in rng.integers(3, size=(300, 6)).tolist()]
    >>> belief = bough.Belief(tree, kernels.Linear(), noise=1.0)
    >>> for path, value in zip(paths, truth.sample(paths, 1, rng)[0]):
    ...     belief.observe(path, value + 0.1 * rng.standard_normal())
    >>> belief, report = learning.fit(belief, kernels.Gaussian)
    >>> 1.5 < report.parameters["width"].value < 2.5, 0.05 < belief.noise < 0.2
    (True, True)
    """
    model, evidence = _prepare(belief, family, noise, mean)
    posterior = Posterior(model, evidence, _checked(prior))
    return _finish(belief, report_of(belief, posterior, _top(posterior)))


def choose(
    belief: Belief,
    families: type[Kernel] | Kernel | Iterable[type[Kernel] | Kernel] = FAMILIES,
    *,
    noise: float | None = None,
    mean: Mean | None = None,
    prior: Prior = WEAK,
) -> Chosen:
    """Learn the best of some families of kernels, by Bayes' information criterion.

    What was told is gathered once for all of them.

    Returns
    -------
    belief, report, reports
        Those of the best family, as `fit` gives them; and the reports of all, the best first (the
        others without standard errors).
    """
    prior = _checked(prior)
    families = [families] if isinstance(families, type | Kernel) else list(families)
    if not families:
        raise ValueError("families is empty: give at least one, such as kernels.Gaussian")
    tops = []
    evidence = None
    for family in families:
        model, evidence = _prepare(belief, family, noise, mean, evidence)
        posterior = Posterior(model, evidence, prior)
        found = _top(posterior)
        tops.append((report_of(belief, posterior, found, with_errors=False), posterior, found))
    tops.sort(key=lambda top: top[0].bic)
    best = report_of(belief, *tops[0][1:])
    return Chosen(*_finish(belief, best), [best, *(report for report, _, _ in tops[1:])])


def _checked(prior: Any) -> Prior:
    if not isinstance(prior, Prior):
        raise TypeError(f"prior must be a learning.Prior (WEAK, or FLAT for none), got {prior!r}")
    return prior


def _prepare(
    belief: Belief, family: Any, noise: Any, mean: Any, evidence: Evidence | None = None
) -> tuple[Model, Evidence]:
    if not isinstance(belief, Belief):
        raise TypeError(f"belief must be a bough.Belief, got {belief!r}")
    if len(belief) == 0:
        raise ValueError("nothing was told to this belief yet, so there is nothing to learn from")
    template = template_of(family)
    noise = None if noise is None else at_least_zero(noise, "noise")
    if mean is None and callable(belief.mean):
        mean = belief.mean
    elif mean is not None and not callable(mean):
        mean = real(mean, "mean")
    model = Model(template, noise, mean, belief.tree.depth)
    return model, gathered(belief, mean) if evidence is None else evidence


def _finish(belief: Belief, report: Report) -> Fit:
    new = copy.copy(belief)
    new.take_prior(report.kernel, report.noise, report.mean, report.likelihood)
    return Fit(new, report)


def _top(posterior: Posterior) -> Found:
    """Return the most probable parameters: of several starts, the best."""
    model = posterior.model
    start = model.typical(posterior.prior)
    if posterior(np.clip(start, posterior.low, posterior.high))[0] == -math.inf:
        raise Contradiction(
            "the values told contradict each other if noise is 0 and the kernel is as given: "
            "leave out the noise, so that it is learnt, or give noise > 0"
        )
    starts = [start]
    for i, slot in enumerate(model.slots):
        if slot.kind == "noise":  # both explanations of what differs: much noise, and none
            for by in (2.0, -2.0):
                starts.append(start.copy())
                starts[-1][i] += by
    best = max((climb(posterior, x) for x in starts), key=lambda found: found.density)
    return polish(posterior, best)
