"""RAVE: UCT with all-moves-as-first statistics (Gelly and Silver 2007), and GRAVE."""

from collections.abc import Callable, Hashable

import numpy as np

from bough._validation import above_zero, at_least_zero, whole
from bough.searchers.baselines.amaf import LabeledTallies
from bough.searchers.baselines.counting import CountingSearcher
from bough.trees import Path, Tree

#: The constants with the best average over sixteen problems with additive effects of labels, a
#: share of 0, 0.3, 0.7 or 1 of the variance.
BIAS = 0.1
EXPLORATION = 0.05


class RAVE(CountingSearcher):
    """Descend the tree like UCT, with averages shared between steps with equal labels.

    A child with n rewards has the score (1 - beta) mean + beta amaf + `exploration` sqrt(log n_node
    / n), in units of the range of rewards. `amaf` is the average of the m rewards through the node
    in whose path the child's label occurred at any later step (all moves as first), and its weight
    beta decreases as n grows. A child without rewards has beta = 1, and n = 1 under the root; one
    without statistics at all comes first.

    Parameters
    ----------
    tree : Tree
    labels : function of a path, optional
        A function of a node's path that returns the label of its last step, hashable: steps with
        equal labels share statistics, wherever they are. It is called for every child of a node
        through which paths are chosen, and must always return the same label. By default the index
        of the child.
    bias : float
        b, the expected difference between `amaf` and the expected reward of the child, in units of
        the range of rewards: beta = m / (n + m + 4 b^2 n m), of minimum mean squared error.
    equivalence : float, optional
        k instead of b: beta = sqrt(k / (3 n + k)), so that both averages have the same weight at n
        = k.
    exploration : float
    reference : int
        Take the statistics of the closest ancestor with at least this many rewards, as GRAVE does
        (Cazenave 2015); 0 for those of the node itself. If labels occur at one depth only, the
        statistics of the node itself add nothing.
    reward_range : (float, float), optional
        The lowest and the highest possible reward; by default those observed so far.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> import bough
    >>> search = bough.baselines.RAVE(bough.Tree(3, 4), rng=0)
    >>> for _ in range(100):
    ...     path = search.ask()
    ...     search.tell(path, -sum(path) / 4)
    >>> search.best().path
    (0, 0, 0, 0)
    """

    def __init__(
        self,
        tree: Tree,
        *,
        labels: Callable[[Path], Hashable] | None = None,
        bias: float = BIAS,
        equivalence: float | None = None,
        exploration: float = EXPLORATION,
        reference: int = 0,
        reward_range: tuple[float, float] | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(tree, reward_range, rng)
        if labels is not None and not callable(labels):
            raise TypeError(f"labels must be a function of a node's path, got {labels!r}")
        self.labels = labels
        self.bias = at_least_zero(bias, "bias")
        self.equivalence = None if equivalence is None else above_zero(equivalence, "equivalence")
        self.exploration = at_least_zero(exploration, "exploration")
        self.reference = whole(reference, "reference", least=0, most=2**31 - 1)
        self.tallies: LabeledTallies = LabeledTallies(
            tree, labels, self.reference, self.bias, self.equivalence or 0.0
        )

    def _choose(self) -> Path:
        return self.tallies.descend(self._random, self.exploration * self._scale)
