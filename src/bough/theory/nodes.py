"""A bound on the regret of one bandit per node: `NodeBandits` with rewards observed step by step.

The reward of a path is the sum of the immediate rewards of its D steps, f(x) = sum over i of
f_n(x_i), n the node at depth i - 1. The f_n of different nodes are independent Gaussian processes
on B children, with covariances c_i K~, and every play observes all D terms, with noise. On the
event that every child of every node lies within its confidence interval at all times, and for the
path with the highest sum of upper bounds,

    f(x*) - f(x_t)  <=  sum over i of (upper bound - f_n)(x_t)  <=  2 sqrt(beta_t) sum of sigma_i,

so that the regret is at most the sum over the depths of the bounds for the B^(i-1) bandits there.
Together these are a bandit with B^i arms whose kernel matrix has blocks c_i K~. The event has
probability 1 - delta if beta_t counts all M = B + B^2 + .. + B^D children; each node may count its
own plays t only, which makes the bounds narrower.

No play costs more than the sum of the widths of the first intervals either. But the lesser of both
may be taken for all depths together only, so `"envelope"`, which takes it play by play, has no
counterpart here.
"""

import math
from typing import Any

import numpy as np

from bough._validation import above_zero, listed, whole
from bough.confidence import Confidence
from bough.kernels import Chi, Kernel, check_kernel
from bough.theory._setting import (
    LEAST_NOISE,
    check_all_plays,
    check_branching,
    check_choice,
    check_setting,
    shaped,
)
from bough.theory.gain import least
from bough.theory.labels import Siblings
from bough.theory.regret import METHODS, Terms

#: The bounds that may be added up over the depths, each by another method.
NODE_METHODS = ("theorem", "sum-beta", "weighted-envelope")


def node_regret_bound(
    kernel: Kernel | Siblings,
    branching: int,
    depth: int,
    noise: Any,
    plays: Any,
    delta: float = 0.05,
    method: str = "best",
) -> Any:
    """Return a bound on the cumulative regret of one bandit per node.

    It holds with probability 1 - delta for `baselines.NodeBandits` with the known hyperparameters,
    `Confidence(delta, scale=1)` and rewards observed step by step.

    Parameters
    ----------
    kernel : Kernel or Siblings
        The prior of the steps: those of a tree kernel, independent, or correlated between the
        children of a node. The variance of the root, which all paths share, does not matter.
    branching, depth : int
        The tree.
    noise : float or sequence of float
        The standard deviation of an immediate reward; one for each depth, or the same for all.
    plays : int or array of int
        T, from 1.
    delta : float
        The failure probability.
    method : str
        `"theorem"`, `"sum-beta"`, `"weighted-envelope"` and `"trivial"` are sums over the depths of
        the bounds of `regret_bound`. `"best"`: the least of the first three at each depth, or
        `"trivial"` if that is less.

    Returns
    -------
    float, or an array in the shape of `plays`

    Examples
    --------
    >>> from bough import kernels, theory
    >>> kernel = kernels.Discounted(0.5)
    >>> bound = theory.node_regret_bound(kernel, 4, 5, noise=0.3, plays=10**6)
    >>> f"{bound / 1e6:.4f} a play"
    '0.7715 a play'
    """
    B, D = check_branching(branching), whole(depth, "depth", least=0)
    tree_kernel = kernel.kernel if isinstance(kernel, Siblings) else check_kernel(kernel)
    matrix = kernel.matrix if isinstance(kernel, Siblings) else np.eye(B)
    steps = tree_kernel.increments(D).tolist()
    levels = []
    for i, sigma in enumerate(_by_depth(noise, D), 1):
        if steps[i] > 0.0:
            least_step = (2.0 * LEAST_NOISE * sigma) ** 2  # the bound grows with the variance
            blocks = Chi.of_increments([0.0] * i + [max(steps[i], least_step)])
            levels.append(check_setting(Siblings(blocks, matrix), B, i, sigma))
    confidence = Confidence(delta)
    check_choice(method, "method", (*NODE_METHODS, "trivial", "best"))
    powers = math.log(B) * np.arange(1, D + 1)
    log_children = float(np.logaddexp.reduce(powers)) if D else 0.0

    def total(plays: int) -> float:
        first, last = (confidence.sqrt_beta(t, log_children) for t in (1, plays))
        terms = [Terms(x, plays, least(x, plays), first, last) for x in levels if x.variance]
        if method != "best":
            return math.fsum(METHODS[method](x) for x in terms)
        learned = math.fsum(min(METHODS[name](x) for name in NODE_METHODS) for x in terms)
        return min(learned, math.fsum(map(METHODS["trivial"], terms)))

    counts, shape = check_all_plays(plays, 1)
    return shaped([total(n) for n in counts], shape)


def _by_depth(noise: Any, depth: int) -> list[float]:
    """Return the noise of an immediate reward at each depth."""
    if not hasattr(noise, "__len__"):
        return [above_zero(noise, "noise")] * depth
    values = [above_zero(x, f"noise[{i}]") for i, x in enumerate(listed(noise, "noise"))]
    if len(values) != depth:
        raise ValueError(
            f"noise has {len(values)} entries, one for each depth below the root, but depth is "
            f"{depth}"
        )
    return values
