"""The best arm of a belief with labels: beam search, and branch and bound where it can prove it.

    x       a node, explored or not; d its depth, R the number of steps that may follow
    m, V    posterior mean and variance of F there, given the effects of labels
    c       what its reward depends on of the effects, c'z; u = C c (the notation of `effects.py`)
    b       the number of standard deviations in a bound

Every observation changes what labels say of every path, so no summary of a subtree stays valid, as
those of `best_arm.py` do. A beam search goes down from the root, and keeps at each depth the nodes
with the highest mean + b std.

The exact search takes the node with the highest bound of all arms below it, until no bound is above
the best arm found. Below an unexplored node labels may be any that are known, or new ones. With
sqrt(X) <= (X + t^2)/(2t) for every t, and (w_1 + ... + w_R)^2 <= R (w_1^2 + ... + w_R^2), mean and
deviation of what follows are bounded by a sum over steps, the best label at each:

    mean + b std <= m + c'z + b (X + t^2)/(2t)
                    + sum over steps of max_l s mu_l + b (2 s psi_l'u + R s^2 sigma_l^2)/(2t)

    X = V + variance of the steps that may follow + c'C c
    mu_l, sigma_l   posterior mean and standard deviation of the effect of label l
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bough._validation import at_least_zero
from bough.belief.best_arm import Arm, ArmSearch
from bough.belief.effects import Effects
from bough.belief.rng import Rng, generator
from bough.trees import Path

if TYPE_CHECKING:
    from bough.belief.belief import Belief

Array = NDArray[np.float64]

#: The least and the largest number of nodes that a beam search keeps at each depth. It keeps more
#: while it finds no arm whose upper bound is above the mean of the best one explored.
WIDTH, MOST_WIDTH = 8, 64
#: The width of another beam search after one that found no new arm with such a bound, and the
#: factor by which the observations have grown until it is repeated.
WIDEST, PATIENCE = 2048, 1.5
#: The most children of a node that are looked at, others are left to chance.
MOST_CHILDREN_SEEN = 128
#: The number of nodes whose children the exact search looks at before it gives up.
LIMIT = 3000
#: The values of t in the bound, in units of the standard deviation so far.
SPREADS = np.array([1.0, 1.3, 1.7, 2.3])
#: For kernels of paths: random completions of explored prefixes that compete with explored paths.
COMPLETIONS = 256
#: Labels count as useless if their share of the prior variance of a path is below this.
USELESS = 1e-3
#: The number of explored arms, and of explored nodes with unexplored children, whose values are
#: computed at every search: those that were highest before.
ELITE = 16
#: The values of all explored nodes are computed when the observations have grown by this factor.
GROWTH = 1.1
#: The most beams for an arm that is not known; each finds nodes where none is left.
MOST_BEAMS = 20
#: An arm with less than this share of the prior standard deviation is known.
KNOWN = 1e-6

#: The number of the root; the `arm` of a node that is none and has no unexplored child.
ROOT, NO_ARM = 0, -1
#: What the search looks for.
UPPER, UNKNOWN, LOWER, MEAN = "upper", "unknown", "lower", "mean"


@dataclass(slots=True)
class State:
    """A node of the tree, and what is known of its reward."""

    path: Path
    node: int  # its number among the explored nodes, or -1
    m: float
    V: float
    phi: Array
    smooth: Array
    extra: float = 0.0  # the variance of effects of labels that are not known yet
    value: float = 0.0  # mean + b std
    mean: float = 0.0
    variance: float = 0.0

    @property
    def c(self) -> Array:
        """The coefficients of the effects in its reward."""
        return self.phi - self.smooth


class Labels:
    """The effects of labels during one search: those that are known, and others that turn up."""

    def __init__(self, effects: Any, C: Array) -> None:
        self.effects = effects
        self.between = effects.model.between
        self.z, _ = effects.posterior
        self.C = C
        self.psi = effects.coordinates
        #: Mean and variance of the effect of every known label.
        self.mean = self.psi @ self.z
        self.variance = np.einsum("ij,ij->i", self.psi @ C, self.psi)
        self._others: dict[Any, tuple[Array, float, float]] = {}

    def rows(self, keys: Sequence[Any]) -> tuple[Array, Array, Array]:
        """Return coordinates of labels, and mean and variance of what these leave open."""
        rows = np.zeros((len(keys), len(self.z)))
        means, rest = np.zeros(len(keys)), np.zeros(len(keys))
        numbers = np.array(self.effects.numbers_of(keys), dtype=int)
        known = numbers >= 0
        rows[known] = self.psi[numbers[known]]
        for i in np.flatnonzero(~known).tolist():
            if keys[i] is None:
                continue
            if keys[i] not in self._others:
                self._others[keys[i]] = self.effects.extrapolate(keys[i])
            rows[i], means[i], rest[i] = self._others[keys[i]]
        return rows, means, rest


class LabeledArmSearch:
    """Searches for the best arm, by upper bound, lower bound or mean.

    With a `limit` branch and bound follows the beam search, and looks at the children of at most
    this many nodes.

    Attributes
    ----------
    exact
        Whether the last search proved that no arm is better.
    bound
        An upper bound of mean + b std of all arms, from the last exact search.
    touched
        The number of nodes whose children the last search looked at.
    """

    def __init__(self, belief: "Belief", effects: Effects, limit: int) -> None:
        self.belief = belief
        self.effects = effects
        self.limit = limit
        self.plain = ArmSearch(belief.node_array)
        #: Explored nodes below which all arms are known.
        self.exhausted: set[int] = set()
        self.known_with: Any = None  # the kernel and noise with which they are known
        self.width = WIDTH
        self.next_widest = 0  # the number of observations at which the widest beam may be used
        self.kept: Path | None = None  # the arm that it found, until that is played
        #: Explored arms, and nodes with unexplored children, with their last values negated.
        self.queues: list[list[tuple[float, int]]] = [[], []]
        self.queued = 0  # the number of explored nodes when they were used last
        self.renewal = 0  # the number of observations at which all values are computed again
        self.exact = False
        self.bound = math.inf
        self.touched = 0

    def highest_upper(self, sqrt_beta: Any, rng: Rng) -> Arm:
        """Return the arm with the highest mean + sqrt_beta std that was found."""
        b = at_least_zero(sqrt_beta, "sqrt_beta")
        arm = self._search(UPPER, b, rng)
        assert arm is not None
        return arm

    def highest_upper_unknown(self, sqrt_beta: Any, rng: Rng) -> Arm | None:
        """Return the same of the arms neither observed exactly nor pending, or None."""
        b = at_least_zero(sqrt_beta, "sqrt_beta")
        for _ in range(MOST_BEAMS):
            exhausted = len(self.exhausted)
            arm = self._search(UNKNOWN, b, rng)
            if arm is not None or len(self.exhausted) == exhausted or ROOT in self.exhausted:
                break  # another beam would find the same
        if arm is None and ROOT not in self.exhausted and self.random is not None:
            arm = self._random_unknown(b)
        return arm

    def _random_unknown(self, b: float) -> Arm | None:
        """Return the best arm of some random ones that are not known, or None."""
        random, tree = self.random, self.belief.tree
        assert random is not None
        paths = []
        for _ in range(COMPLETIONS):
            path: Path = ()
            while (width := tree.children(path)) > 0:
                path += (random.below(int(width)) if width < math.inf else 0,)
            paths.append(path)
        means, stds = self.belief.posterior(paths)
        explored = self.belief.explored_steps
        unknown = [
            i
            for i, path in enumerate(paths)
            if (stds[i] > self.least or explored(path) < len(path)) and path not in self.awaited
        ]
        if not unknown:
            return None
        best = max(unknown, key=lambda i: float(means[i] + b * stds[i]))
        return _bounded(self.belief.arm(paths[best]), float(stds[best]), b)

    def highest_upper_of_all(self, sqrt_beta: Any) -> Arm:
        """Return the same by observations only; `bound` is an upper bound of all arms."""
        arm = self._search(
            UPPER, at_least_zero(sqrt_beta, "sqrt_beta"), None, limit=LIMIT, pending=False
        )
        assert arm is not None
        upper = max(arm.upper, self.bound)
        return Arm(arm.path, None, arm.mean, arm.std, arm.lower, upper, arm.value, arm.visits)

    def highest_lower(self, sqrt_beta: Any, rng: Rng) -> Arm:
        """Return the arm with the highest mean - sqrt_beta std that was found."""
        arm = self._search(LOWER, -at_least_zero(sqrt_beta, "sqrt_beta"), rng)
        assert arm is not None
        return arm

    def highest_mean(self, rng: Rng) -> Arm:
        """Return the arm with the highest mean that was found."""
        arm = self._search(MEAN, 0.0, rng)
        assert arm is not None
        return arm

    def best_observed(self, deviations: Any) -> Arm | None:
        """Return the node with the highest mean - deviations std of those observed, or None."""
        b = at_least_zero(deviations, "deviations")
        nodes = self.belief.nodes
        best, chosen = -math.inf, -1
        for n in np.flatnonzero(nodes["count"] > 0).tolist():
            mean, variance = self.effects.at_node(n)
            value = mean - b * math.sqrt(variance)
            if value > best:
                best, chosen = value, n
        if chosen < 0:
            return None
        arm = self.belief.arm(self.belief.node_array.path_to(chosen))
        return _bounded(arm, arm.std, b)

    # ------------------------------------------------------------------ one search

    def _search(
        self, kind: str, b: float, rng: Rng, *, limit: int | None = None, pending: bool = True
    ) -> Arm | None:
        """Return the best arm that was found, and whether it is the best of all in `exact`."""
        belief = self.belief
        limit = self.limit if limit is None else limit
        self.random = generator(rng)
        self.kind = kind
        self.b = b
        self.pending = pending and kind in (UPPER, UNKNOWN) and belief.pending > 0
        C = belief.propagation.covariance_with_pending() if self.pending else None
        self.labels = Labels(self.effects, self.effects.posterior[1] if C is None else C)
        if self.known_with != (belief.kernel, belief.noise) or not len(belief):
            self.known_with = (belief.kernel, belief.noise)
            self.exhausted.clear()
        self.awaited = set(belief.propagation.awaited()) if kind == UNKNOWN else set()
        self.increments = np.asarray(belief.kernel.increments(belief.tree.depth))
        self.below = np.append(np.cumsum(self.increments[:0:-1])[::-1], 0.0)
        self.strengths = self.effects.depth_strengths
        self.label_variance = self._label_variance()
        total = (
            float(self.increments.sum()) + float((self.strengths**2).sum()) * self.label_variance
        )
        self.least = KNOWN * math.sqrt(total)
        self.best: State | None = None
        self.touched = 0
        self.exact = False
        self.proving = False
        self.bound = math.inf
        if self.effects.model.of_leaves:
            self._complete_at_random()
        elif total - float(self.increments.sum()) < USELESS * total and not limit:
            return self._plain(b)
        else:
            self._beam()
        if limit:
            self._branch_and_bound(limit)
            self.bound += belief.center
        if self.best is None:
            return None
        return self._arm(self.best)

    def _label_variance(self) -> float:
        """Return the average prior variance of the effect of a label."""
        psi = self.labels.psi
        if len(psi) == 0 or self.labels.between.independent:
            return float(self.labels.between.matrix([None])[0, 0]) if len(psi) else 1.0
        return float(np.einsum("ij,ij->i", psi, psi).mean())

    def _plain(self, b: float) -> Arm | None:
        """Return the best arm if labels say nothing."""
        found: Arm | None
        if self.kind == UNKNOWN:
            found = self.plain.highest_upper_unknown(b, self.random)
        elif self.kind == UPPER:
            found = self.plain.highest_upper(b, self.random)
        elif self.kind == LOWER:
            found = self.plain.highest_lower(-b, self.random)
        else:
            found = self.plain.highest_mean(self.random)
        return found and _bounded(self.belief.arm(found.path), found.std, abs(b))

    def _arm(self, state: State) -> Arm:
        """Return the arm of a state, with what is known of it exactly."""
        arm = self.belief.arm(state.path)
        return _bounded(arm, math.sqrt(state.variance) if self.pending else arm.std, abs(self.b))

    def _root(self) -> State:
        m, V, phi, smooth = self.effects.state_of(0)
        root = State((), 0, m, V, phi, smooth)
        self._rate([root])
        return root

    def _rate(self, states: Sequence[State]) -> None:
        """Find mean, variance and value of states, as if their paths ended there."""
        if not states:
            return
        c = np.array([state.c for state in states])
        means = c @ self.labels.z
        variances = np.einsum("ij,ij->i", c @ self.labels.C, c)
        for state, mean, variance in zip(states, means.tolist(), variances.tolist(), strict=True):
            state.mean = state.m + mean
            state.variance = max(state.V + variance + state.extra, 0.0)
            state.value = state.mean + self.b * math.sqrt(state.variance)

    def _rank(self, state: State) -> float:
        """Return mean + b std of an arm below an unexplored child of a node, for a usual label."""
        rest = self.rest[len(state.path)]
        if state.node >= 0 and self.arms[state.node] == NO_ARM:
            rest = 0.0  # there is no such child
        return float(state.mean + self.b * math.sqrt(state.variance + rest))

    def _children(self, states: Sequence[State]) -> list[list[State]]:
        """Return the children of each of some nodes, with their values."""
        belief, tree, effects = self.belief, self.belief.tree, self.effects
        self.touched += len(states)
        mean = belief.mean
        strengths, increments = self.strengths.tolist(), self.increments.tolist()
        found: list[list[State]] = []
        new: list[tuple[int, Path]] = []  # unexplored children, and which of the nodes they are of
        for i, state in enumerate(states):
            children: list[State] = []
            explored: list[int] = []
            if state.node >= 0:
                numbers, indices, m, V, phi, smooth = effects.children_of(
                    state.node, state.m, state.V, state.phi, state.smooth, self.pending
                )
                explored = indices.tolist()
                children = [
                    State((*state.path, k), n, m_k, V_k, phi[j], smooth[j], state.extra)
                    for j, (n, k, m_k, V_k) in enumerate(
                        zip(numbers.tolist(), explored, m.tolist(), V.tolist(), strict=True)
                    )
                ]
            found.append(children)
            width = tree.children(state.path)
            new += [(i, (*state.path, k)) for k in self._unexplored(width, explored)]
        keys = [effects.model.key(path, tree.children(path) == 0) for _, path in new]
        rows, means, rest = self.labels.rows(keys)
        for (i, path), row, extra_mean, extra in zip(
            new, rows, means.tolist(), rest.tolist(), strict=True
        ):
            state = states[i]
            s, v = strengths[len(path)], increments[len(path)]
            m_path = state.m + s * extra_mean
            if callable(mean):
                m_path += mean(path) - mean(state.path)
            found[i].append(
                State(
                    path, -1, m_path, state.V + v, state.phi + s * row, state.smooth,
                    state.extra + s * s * extra,
                )
            )  # fmt: skip
        self._rate([child for children in found for child in children])
        return found

    def _unexplored(self, width: float, explored: Sequence[int]) -> Sequence[int]:
        """Return the unexplored children of a node that are looked at."""
        taken = set(explored)
        if width == math.inf:
            return [next(k for k in range(len(taken) + 1) if k not in taken)]
        count = int(width)
        if count - len(taken) <= MOST_CHILDREN_SEEN:
            return [k for k in range(count) if k not in taken]
        if self.random is None:
            first = range(count)
            return [
                k for k, _ in zip((k for k in first if k not in taken), range(128), strict=False)
            ]
        drawn = {self.random.below(count) for _ in range(MOST_CHILDREN_SEEN)}
        return sorted(drawn - taken)

    def _is_arm(self, state: State) -> bool:
        """Return whether the node itself is an arm."""
        if self.belief.arms == "nodes":
            new = state.node < 0 or self.belief.nodes["visits"][state.node] == 0
            return bool(state.path) and (new or self.belief.tree.children(state.path) == 0)
        return len(state.path) == self.belief.tree.depth or (
            self.belief.tree.counts is None and self.belief.tree.children(state.path) == 0
        )

    def _consider(self, state: State) -> None:
        """Take an arm for the best if it is."""
        if self.kind == UNKNOWN and (self._is_known(state) or state.path in self.awaited):
            return
        if self.proving and state.extra > 0.0:
            # Labels that are not known yet may be correlated, or come more than once.
            mean, std = self.belief.posterior([state.path])
            state.mean, state.variance = float(mean[0]) - self.belief.center, float(std[0]) ** 2
            state.value = state.mean + self.b * float(std[0])
        if self.best is None or state.value > self.best.value:
            self.best = state

    def _find_elite(self) -> dict[int, list[State]]:
        """Return nodes to start from, by depth; consider the best explored arms.

        They are unexplored children of explored nodes. The values of all explored nodes are
        computed now and then; in between, those of the highest are computed again, and new nodes
        are added.
        """
        count = len(self.belief)
        is_upper = self.kind in (UPPER, UNKNOWN)
        if not is_upper or count >= self.renewal or count < self.renewal / GROWTH**2:
            numbers, values = self.effects.values_of_arms(
                self.labels.C, self.b, np.ascontiguousarray(self.rest), self.pending
            )
            queue = list(zip((-values).tolist(), numbers.tolist(), strict=True))
            queues = [[pair for pair in queue if self.arms[pair[1]] == arm] for arm in (0, 1)]
            if is_upper:
                self.renewal = max(count + 1, math.ceil(GROWTH * count))
        else:
            queues = self.queues
            for n in range(self.queued, len(self.arms)):
                if self.arms[n] != NO_ARM:
                    queues[self.arms[n]].append((-math.inf, n))
        for queue in queues:
            heapq.heapify(queue)
        if is_upper:
            self.queues, self.queued = queues, len(self.arms)
        leaves = self._highest(queues[0], 0)
        self._rate(leaves)
        self.incumbent = max((state.mean for state in leaves), default=-math.inf)
        for state in leaves:
            heapq.heappush(queues[0], (-state.value, state.node))
            self._consider(state)
        found: dict[int, list[State]] = {}
        highest = self._highest(queues[1], 1)
        for state, all_children in zip(highest, self._children(highest), strict=True):
            children = [child for child in all_children if child.node < 0]
            value = max(map(self._rank, children), default=-math.inf)
            heapq.heappush(queues[1], (-value, state.node))
            found.setdefault(len(state.path) + 1, []).extend(children)
        return found

    def _highest(self, queue: list[tuple[float, int]], arm: int) -> list[State]:
        """Take the nodes with the highest last values from a queue."""
        states: list[State] = []
        while queue and len(states) < ELITE:
            _, n = heapq.heappop(queue)
            if self.arms[n] == arm:
                path = tuple(self.belief.node_array.path_to(n))
                states.append(State(path, n, *self.effects.state_of(n)))
        return states

    def _beam(self) -> None:
        """Search for the best arm with beams, wide ones if narrow ones find no new arm."""
        self._descend(self.width)
        if self.kind not in (UPPER, UNKNOWN):
            return
        found = self._found_better()
        self.width = max(WIDTH, self.width // 2) if found else min(MOST_WIDTH, 2 * self.width)
        self._consider_kept()
        if self._found_better(new=True):
            return
        count = len(self.belief)
        if not self.next_widest / PATIENCE**2 <= count < self.next_widest:
            self.next_widest = math.ceil(PATIENCE * count)
            self._descend(WIDEST)
            if self._found_better(new=True):
                assert self.best is not None
                self.kept = self.best.path

    def _found_better(self, *, new: bool = False) -> bool:
        """Return whether the best arm found, if it is new, may be better than those explored."""
        best = self.best
        return best is not None and best.value > self.incumbent and (best.node < 0 or not new)

    def _consider_kept(self) -> None:
        """Consider the arm that the widest beam found, unless it was played or is pending."""
        if self.kept is None or (self.pending and self.kept in self.belief.propagation.awaited()):
            return
        arm = self.belief.arm(self.kept)
        if arm.visits:
            self.kept = None
            return
        none = np.zeros(0)
        state = State(arm.path, -1, 0.0, 0.0, none, none)
        state.mean, state.variance = arm.mean - self.belief.center, arm.std**2
        state.value = state.mean + self.b * arm.std
        self._consider(state)

    def _descend(self, width: int) -> None:
        """Go down from the root and from the elite, and keep the best nodes at each depth."""
        after = np.append(np.cumsum((self.strengths**2)[:0:-1])[::-1], 0.0)
        usual = self.labels.variance.mean() if len(self.labels.variance) else self.label_variance
        self.rest = self.below + after * float(usual)
        self.arms = self.belief.nodes["arm"]
        elite = self._find_elite()
        beam = [self._root()]
        if self._is_arm(beam[0]):
            self._consider(beam[0])
            return
        depth = 0
        while beam or any(d >= depth for d in elite):
            depth += 1
            nodes = []
            for state in elite.get(depth, []):
                if self._is_arm(state):
                    self._consider(state)
                else:
                    nodes.append(state)
            for state, children in zip(beam, self._children(beam), strict=True):
                if self.kind == UNKNOWN:
                    children = self._open_children(state, children)
                for child in children:
                    if self._is_arm(child):
                        self._consider(child)
                    else:
                        nodes.append(child)
            if self.random is not None:  # ties
                nodes = [nodes[i] for i in _shuffled(len(nodes), self.random)]
            nodes = list({state.path: state for state in nodes}.values())
            beam = heapq.nlargest(width, nodes, key=self._rank)

    def _open_children(self, state: State, children: list[State]) -> list[State]:
        """Return the children of a node at or below which some arms may not be known."""
        found = [child for child in children if not self._is_exhausted(child)]
        width = self.belief.tree.children(state.path)
        if not found and len(children) == width and state.node >= 0:
            self.exhausted.add(state.node)
        return found

    def _is_exhausted(self, state: State) -> bool:
        known = self._is_known(state) and self._is_arm(state) and not self.pending
        return state.node in self.exhausted or known

    def _is_known(self, state: State) -> bool:
        """Return whether an arm was observed exactly; what labels say of others is to be seen."""
        return state.node >= 0 and math.sqrt(state.variance) <= self.least

    def _complete_at_random(self) -> None:
        """Compare the explored paths with random completions of prefixes."""
        belief, tree = self.belief, self.belief.tree
        random = self.random or generator(0)
        assert random is not None
        nodes = belief.nodes
        inner = np.flatnonzero(
            (nodes["count"] >= 0) & (nodes["explored"] < nodes["branching"])
        ).tolist()
        paths: dict[Path, None] = {}
        if inner:
            for i in range(COMPLETIONS):
                n = inner[random.below(len(inner))] if i >= len(inner) else inner[i]
                paths[tuple(belief.node_array.complete(n, random))] = None
        for n in np.flatnonzero(nodes["count"] > 0).tolist():
            paths[tuple(belief.node_array.path_to(n))] = None
        if not tree.depth:
            paths[()] = None
        self.touched = len(paths)
        keys = list(paths)
        rows, means, rest = self.labels.rows(keys)
        root = self._root()
        states = [
            State(path, -1, root.m + mean, root.V, row, root.smooth, extra)
            for path, row, mean, extra in zip(
                keys, rows, means.tolist(), rest.tolist(), strict=True
            )
        ]
        prior = self.belief.mean
        if callable(prior):
            for state in states:
                state.m += prior(state.path) - prior(())
        self._rate(states)
        for state in states:
            self._consider(state)

    # ------------------------------------------------------------------ the exact best arm

    def _branch_and_bound(self, limit: int) -> None:
        """Look for better arms, the highest bound first, until there can be none or at a limit."""
        root = self._root()
        if self._is_arm(root) or self.effects.model.of_leaves:
            self.exact = self._is_arm(root)
            self.bound = root.value if self.exact else math.inf
            return
        waiting = [(-math.inf, 0, root)]
        self.proving = not self.pending
        found, self.best = self.best, None
        if found is not None:
            self._consider(found)  # exactly
        self.touched = count = 0
        if self.best is not None and self._is_hopeless(limit):
            self.bound = math.inf
            return
        while waiting:
            bound = -waiting[0][0]
            best = -math.inf if self.best is None else self.best.value
            if bound <= best:
                self.exact, self.bound = True, best
                return
            if self.touched >= limit:
                self.bound = bound
                return
            _, _, state = heapq.heappop(waiting)
            if self._skips(state):
                self.bound = math.inf
                return
            [children] = self._children([state])
            inner = [child for child in children if not self._is_arm(child)]
            for child in children:
                if self._is_arm(child):
                    self._consider(child)
            bounds = self._bounds([child for child in inner if child.node < 0])
            best = -math.inf if self.best is None else self.best.value
            for child in inner:
                bound = math.inf if child.node >= 0 else next(bounds)
                if bound > best:
                    count += 1
                    heapq.heappush(waiting, (-bound, count, child))
        self.exact = True
        self.bound = -math.inf if self.best is None else self.best.value

    def _is_hopeless(self, limit: int) -> bool:
        """Return whether a proof needs more nodes than the limit: all, if no bound is finite."""
        counts = self.belief.tree.counts
        if self._has_bounds() or counts is None:
            return False
        return sum(math.prod(counts[:depth]) for depth in range(len(counts))) > limit

    def _has_bounds(self) -> bool:
        """Return whether the arms below an unexplored node have a finite bound."""
        return not callable(self.belief.mean) and self.labels.between.independent

    def _skips(self, state: State) -> bool:
        """Return whether some children of a node would not be looked at."""
        return self.belief.tree.children(state.path) > MOST_CHILDREN_SEEN

    def _bounds(self, states: list[State]) -> Any:
        """Yield an upper bound of mean + b std of all arms below each of some unexplored nodes."""
        if not states:
            return iter(())
        labels, depth = self.labels, len(states[0].path)
        if not self._has_bounds():
            return iter([math.inf] * len(states))  # what follows may be of any mean
        after = self.strengths[depth + 1 :]
        remaining = len(after)
        c = np.array([state.c for state in states])
        mean = np.array([state.mean for state in states])
        # (Labels that are not known yet may be one label: by Cauchy and Schwarz, at most this.)
        open_part = np.array([state.extra for state in states])
        X = np.array([state.variance for state in states]) + self.below[depth]
        X += (depth - 1) * open_part
        b = self.b
        if b <= 0.0:  # standard deviations only lower the value
            best = max(float(labels.mean.max(initial=0.0)), 0.0)
            return iter(mean + float(after.sum()) * best)
        cross = (c @ labels.C) @ labels.psi.T
        fresh = float(labels.between.matrix([None])[0, 0])  # the variance of a new label
        repeated = np.sqrt(depth * open_part * fresh)  # its covariance with those above
        bounds = np.full(len(states), math.inf)
        for spread in SPREADS:
            t = np.sqrt(np.maximum(X, 1e-300)) * spread
            total = mean + b * (X + t * t) / (2 * t)
            for s in after:
                new = b * (2 * s * repeated + remaining * s * s * fresh) / (2 * t)
                gain = np.maximum(new, 0.0)
                if len(labels.psi):
                    known = s * labels.mean + (b / (2 * t))[:, None] * (
                        2 * s * cross + remaining * s * s * labels.variance
                    )
                    gain = np.maximum(gain, known.max(axis=1))
                total = total + gain
            bounds = np.minimum(bounds, total)
        return iter(bounds.tolist())

    # ------------------------------------------------------------------ saving

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs, as plain objects and arrays."""
        return {
            "plain": self.plain.state(),
            "exhausted": set(self.exhausted),
            "known_with": self.known_with,
            "width": self.width,
            "next_widest": self.next_widest,
            "kept": self.kept,
            "queues": [list(queue) for queue in self.queues],
            "queued": self.queued,
            "renewal": self.renewal,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take the state of the search of an equal belief."""
        self.plain.restore(state["plain"])
        self.exhausted = set(state["exhausted"])
        self.known_with = state["known_with"]
        self.width = state["width"]
        self.next_widest = state["next_widest"]
        self.kept = state["kept"]
        self.queues = [list(queue) for queue in state["queues"]]
        self.queued = state["queued"]
        self.renewal = state["renewal"]


def _bounded(arm: Arm, std: float, b: float) -> Arm:
    """Return an arm with this standard deviation, and bounds of b of them."""
    ends = arm.mean - b * std, arm.mean + b * std
    return Arm(arm.path, None, arm.mean, std, *ends, arm.value, arm.visits)


def _shuffled(count: int, random: Any) -> list[int]:
    """Return numbers in random order."""
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        j = random.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return order
