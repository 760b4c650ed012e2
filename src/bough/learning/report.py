"""What a fit found, and how sure it is."""

import math
from dataclasses import dataclass

import numpy as np

from bough.belief.belief import Belief
from bough.kernels import Kernel
from bough.learning.ascent import errors_at, inside
from bough.learning.model import Mean
from bough.learning.posterior import Found, Posterior


@dataclass(frozen=True)
class Parameter:
    """A parameter that was learnt.

    Attributes
    ----------
    value
        The most probable one.
    error
        Its standard error; nan at a bound, and where nobody asked for errors.
    low, high
        Two standard errors to either side. Those of a positive parameter are of its logarithm, so
        that `low` is positive too. (Where the data hardly tell deep increments from noise, as 2,000
        random paths of 5^10 do, the prior decides: they then cover it in 91 to 100 of 100 cases.)
    at_bound
        Whether it is at the end of its range, so that the data would have it further still.
    """

    value: float
    error: float
    low: float
    high: float
    at_bound: bool

    def __str__(self) -> str:
        if self.at_bound:
            return f"{self.value:.6g} (at a bound)"
        if math.isnan(self.error):
            return f"{self.value:.6g}"
        return f"{self.value:.6g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True)
class Report:
    """What a fit found.

    Attributes
    ----------
    kernel, noise, mean
        What the new belief has.
    parameters
        Those that were learnt, by name, with standard errors.
    before, likelihood
        The log likelihood with what the belief had before, and with what was found.
    posterior
        The log likelihood found, with a learnt mean integrated out, plus the log prior density up
        to a constant: what is the highest where it was found.
    observations
        How many there were.
    iterations, evaluations
        Of the optimiser, and of the likelihood.
    converged
        Whether nothing better is near.
    """

    kernel: Kernel
    noise: float
    mean: Mean
    parameters: dict[str, Parameter]
    before: float
    likelihood: float
    posterior: float
    observations: int
    iterations: int
    evaluations: int
    converged: bool

    @property
    def bic(self) -> float:
        """Bayes' information criterion: the lower, the better."""
        return len(self.parameters) * math.log(self.observations) - 2.0 * self.likelihood

    def __str__(self) -> str:
        lines = [f"{type(self.kernel).__name__}, {self.observations} observations"]
        width = max(map(len, self.parameters), default=0)
        lines += [f"  {name:{width}}  {value}" for name, value in self.parameters.items()]
        lines.append(
            f"  log likelihood {self.likelihood:.6g} (before {self.before:.6g}), BIC {self.bic:.6g}"
        )
        if not self.converged:
            lines.append("  not converged")
        return "\n".join(lines)


def report_of(
    belief: Belief, posterior: Posterior, found: Found, *, with_errors: bool = True
) -> Report:
    """Return what was found, in the units of the user."""
    model, evidence = posterior.model, posterior.evidence
    units = evidence.shift, evidence.scale
    density, _ = posterior(found.theta)
    likelihood, density = posterior.likelihood, posterior.in_units(density)
    settings = model.settings(found.theta, *units)
    free = inside(posterior, found)
    errors = errors_at(posterior, found) if with_errors else np.full(len(free), math.nan)
    lows = model.natural(np.maximum(found.theta - 2.0 * errors, posterior.low), *units)
    highs = model.natural(np.minimum(found.theta + 2.0 * errors, posterior.high), *units)
    values = model.natural(found.theta, *units)
    slopes = model.slopes(values, evidence.scale)
    parameters = {
        slot.name: Parameter(
            values[i], slopes[i] * float(errors[i]), lows[i], highs[i], not free[i]
        )
        for i, slot in enumerate(model.slots)
    }
    return Report(
        settings.kernel, settings.noise, settings.mean, parameters,
        belief.log_likelihood(), likelihood, density, evidence.observations,
        found.iterations, posterior.evaluations, found.converged,
    )  # fmt: skip
