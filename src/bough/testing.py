"""Conformance tests for searchers: the laws that every searcher obeys.

    from bough.testing import SearcherConformance

    class TestMine(SearcherConformance):
        def make(self, tree, rng):
            return Mine(tree, rng=rng)

`pytest` runs each law as a test of its own. Class attributes exempt an algorithm from laws that it
cannot obey.
"""

import copy
import json
import math
import pickle
import zlib
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from bough.belief.best_arm import Arm
from bough.exceptions import Exhausted
from bough.searchers.base import RULES, Searcher
from bough.trees import Path, Tree

__all__ = ["SearcherConformance"]


def _ragged(path: Path) -> int:
    """Return a branching: every third path ends a step early, some nodes have one child."""
    if len(path) == 2 and path[1] == 0:
        return 0
    return 1 + (len(path) + sum(path)) % 3 if path else 3


UNIFORM = Tree(3, 3)
WIDE = Tree(5, 3)  # with more choices at random
#: Trees on which a searcher works, or raises an error with a reason.
SPECIAL = (Tree(5, 0), Tree(1, 1), Tree(1, 3), Tree([4, 1, 2], 3), Tree(_ragged, 3))


class SearcherConformance:
    """The laws of searchers as tests: inherit from this class and define `make`.

    Examples
    --------
    >>> import bough
    >>> from bough.testing import SearcherConformance
    >>> class TestUCT(SearcherConformance):
    ...     def make(self, tree, rng):
    ...         return bough.UCT(tree, rng=rng)
    >>> TestUCT().test_the_same_seed_gives_the_same_run()
    """

    #: Whether an arm may have different rewards; if not, they depend on the path alone.
    noisy: ClassVar[bool] = True
    #: Whether `best` depends on the order of the same observations.
    order_matters: ClassVar[bool] = False
    #: The number of plays of a run.
    plays: ClassVar[int] = 40

    def make(self, tree: Tree, rng: int) -> Searcher:
        """Return a new searcher of the tree, with that seed."""
        raise NotImplementedError("define how to make the searcher: def make(self, tree, rng)")

    def make_scaled(self, tree: Tree, rng: int, factor: float) -> Searcher:
        """Return the searcher for rewards that are `factor` times as large.

        By default the same one; override it if the searcher has a scale, such as that of a kernel.
        """
        return self.make(tree, rng)

    # ------------------------------------------------------------------ helpers

    def reward(self, path: Path, t: int) -> float:
        """Return the t-th reward, of a path: a multiple of 1/1024, so that sums are exact."""
        value = _hash("value", path)
        for i in range(len(path)):
            value += _hash("step", path[: i + 1]) / 2.0**i
        if self.noisy:
            value += 0.25 * _hash("noise", t)
        return round(1024 * value) / 1024

    def play(self, search: Searcher, plays: int, first: int = 0, factor: float = 1.0) -> list[Path]:
        """Ask and tell `plays` times, or until nothing is left; return the paths."""
        paths: list[Path] = []
        for t in range(first, first + plays):
            try:
                path = search.ask()
            except Exhausted:
                break
            search.tell(path, factor * self.reward(path, t))
            paths.append(path)
        return paths

    def random_paths(self, count: int) -> list[Path]:
        """Return random paths of `UNIFORM`, all different if an arm has only one reward."""
        rng = np.random.default_rng(7)
        paths: list[Path] = []
        while len(paths) < count:
            path = tuple(int(rng.integers(3)) for _ in range(3))
            if self.noisy or path not in paths:
                paths.append(path)
        return paths

    # ------------------------------------------------------------------ laws of the run

    def test_the_same_seed_gives_the_same_run(self) -> None:
        """A run depends only on the seed, not on global state."""
        runs = [self.play(self.make(UNIFORM, 3), self.plays) for _ in range(2)]
        assert runs[0] == runs[1], "two runs with the same seed differ"

    def test_copies_continue_identically(self) -> None:
        """By pickle and by deepcopy, with evaluations pending."""
        for plays in (3, self.plays // 2):
            search = self.make(WIDE, 1)
            self.play(search, plays)
            asked = [search.ask() for _ in range(3)]
            search.forget(asked[1])
            futures = []
            for one in (pickle.loads(pickle.dumps(search)), copy.deepcopy(search), search):
                assert one.pending == (asked[0], asked[2]), "a copy has other pending paths"
                one.tell(asked[0], self.reward(asked[0], 0))
                future = self.play(one, self.plays // 4, first=100)
                futures.append((future, one.pending, one.observations, _bests(one)))
            assert futures[0] == futures[2], "the unpickled searcher continued differently"
            assert futures[1] == futures[2], "the copy continued differently"

    def test_replayed_it_asks_the_same(self) -> None:
        """A study resumes it by the methods of `Resumable`: same asks, random states and fits."""
        search, again = self.make(UNIFORM, 3), self.make(UNIFORM, 3)
        if again.random_state is not None:
            again.random_state = again.random_state
        recorded = len(search.fits())
        for t in range(self.plays):
            try:
                path = search.ask()
            except Exhausted:
                break
            assert again.ask() == path, "the replayed searcher asks for another path"
            assert again.random_state == search.random_state, "its random state is another"
            search.tell(path, self.reward(path, t))
            fits = search.fits(recorded)
            recorded += len(fits)
            again.replay_fits(json.loads(json.dumps(fits)))
            again.tell(path, self.reward(path, t))
            assert again.fits() == search.fits(), "its fits are others"
        again.replay_fits(None)
        assert _bests(again) == _bests(search), "the replayed searcher has other best arms"

    def test_the_order_of_observations_does_not_matter(self) -> None:
        """The same rewards in another order give the same best arms."""
        if self.order_matters:
            return
        data = [(path, self.reward(path, t)) for t, path in enumerate(self.random_paths(20))]
        one, two = self.make(UNIFORM, 0), self.make(UNIFORM, 0)
        for search, observations in ((one, data), (two, data[::-1])):
            for path, value in observations:
                search.tell(path, value)
        for a, b in zip(_bests(one), _bests(two), strict=True):
            assert (a.path, a.visits) == (b.path, b.visits), "the best arm depends on the order"
            pairs: Any = ((a.mean, b.mean), (a.std, b.std), (a.value, b.value))
            for x, y in pairs:
                assert math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9), f"{a} is not {b}"

    def test_scaling_rewards_by_a_power_of_two_changes_no_play(self) -> None:
        """Powers of two, since those leave no rounding."""
        runs = []
        for factor in (1.0, 1024.0, 0.25):
            search = self.make_scaled(UNIFORM, 5, factor)
            paths = self.play(search, self.plays, factor=factor)
            runs.append((paths, search.best("mean").path, search.best("mean").mean / factor))
        assert runs[0][0] == runs[1][0] == runs[2][0], "scaled rewards are played differently"
        assert runs[0] == runs[1] == runs[2], "the best of scaled rewards is another"

    def test_rewards_of_any_range(self) -> None:
        """Negative, large, small and equal rewards."""
        for low, width in ((-3.0, 1.0), (1e6, 1e3), (0.0, 1e-9), (5.0, 0.0)):
            search = self.make_scaled(UNIFORM, 0, max(abs(low), width))
            for t in range(12):
                path = search.ask()
                search.tell(path, low + width * self.reward(path, t))
            assert search.observations == 12
            assert math.isfinite(search.best().mean)

    # ------------------------------------------------------------------ laws of ask and tell

    def test_many_asks_before_a_tell(self) -> None:
        """No arm is asked for twice, and results come in any order."""
        for plays in (0, 10):
            search = self.make(UNIFORM, 2)
            self.play(search, plays)
            asked = [search.ask() for _ in range(10)]
            assert len(set(asked)) == 10, "a batch contains an arm twice"
            assert search.pending == tuple(asked), "pending paths are listed, the oldest first"
            for path in reversed(asked):
                search.tell(path, self.reward(path, 0))
            assert not search.pending
            assert search.observations == plays + 10

    def test_many_asks_when_one_arm_is_far_better(self) -> None:
        """A batch contains no arm twice, however certain it is to be the best."""
        if not self.noisy:
            return
        search = self.make(UNIFORM, 2)
        for path in [*self.random_paths(10), *[(0, 1, 2)] * 100]:
            search.tell(path, 4.0 if path == (0, 1, 2) else 0.0)
        assert len({search.ask() for _ in range(10)}) == 10, "a batch contains an arm twice"

    def test_more_asks_than_arms(self) -> None:
        """When all arms are pending it asks again, or raises `Exhausted`."""
        search = self.make(Tree(2, 1), 0)
        asked = []
        try:
            for _ in range(5):
                asked.append(search.ask())
        except Exhausted:
            pass
        assert len(asked) >= 2
        assert set(asked) == {(0,), (1,)}
        for path in asked:
            search.tell(path, self.reward(path, 0))
        assert search.observations == len(asked)

    def test_paths_that_were_never_asked_for(self) -> None:
        """No result is discarded: each one counts, and the highest is found."""
        search = self.make(UNIFORM, 0)
        paths = self.random_paths(15)
        rewards = [self.reward(path, t) for t, path in enumerate(paths)]
        for path, value in zip(paths, rewards, strict=True):
            search.tell(path, value)
        assert search.observations == 15, "the reward of a path not asked for was discarded"
        assert not search.pending
        assert search.best("observed").path == paths[int(np.argmax(rewards))]
        asked = search.ask()
        other = next(path for path in self.random_paths(26) if path not in (asked, *paths))
        search.tell(other, 100.0)
        assert search.pending == (asked,), "a path that was not asked for settled one that was"
        assert search.best("observed").path == other

    def test_telling_again_is_another_observation(self) -> None:
        """Of a path, which may be a tuple, a list or an array; values are real numbers."""
        search = self.make(UNIFORM, 0)
        values: list[Any] = [np.float32(0.5), np.array(0.75), 1] if self.noisy else [0.5] * 3
        kinds: list[Any] = [(0, 1, 2), [0, 1, 2], np.array([0, 1, 2], dtype=np.int8)]
        for path, value in zip(kinds, values, strict=True):
            search.tell(path, value)
        arm = search.best("mean")
        assert search.observations == 3
        assert (arm.path, arm.visits) == ((0, 1, 2), 3)
        assert arm.value == math.fsum(values) / 3

    def test_steps_instead_of_their_sum(self) -> None:
        """One observation, whose value is the sum."""
        search = self.make(UNIFORM, 0)
        search.tell((2, 0, 1), steps=[0.5, 0.25, 0.125])
        assert search.observations == 1
        arm = search.best("observed")
        assert arm.path == (2, 0, 1)
        assert arm.value is None or math.isclose(arm.value, 0.875, rel_tol=1e-12)

    def test_rewards_with_constraints(self) -> None:
        """A feasible reward is like any other; an infeasible one is a failure, however high."""
        search, plain = self.make(UNIFORM, 5), self.make(UNIFORM, 5)
        for t in range(9):
            path = search.ask()
            assert plain.ask() == path, "constraints change what is asked"
            reward = self.reward(path, t)
            if t % 3 < 2:
                search.tell_constrained(path, reward, [0.0, -1.0])
                plain.tell(path, reward)
            else:
                search.tell_constrained(path, reward + 1e3 if t % 2 else None, [-1.0, 1e-9])
                plain.fail(path)
        assert search.observations == 6, "an infeasible reward counts as an observation"
        assert _bests(search) == _bests(plain)
        assert search.pending == plain.pending

    def test_forget(self) -> None:
        """Pending evaluations are dropped, nothing else changes, and the result may still come."""
        search = self.make(UNIFORM, 4)
        self.play(search, 6)
        before = search.observations, _bests(search)
        asked = [search.ask() for _ in range(4)]
        for path in (asked[1], asked[3], asked[0]):
            search.forget(path)
        assert search.pending == (asked[2],)
        search.forget(list(asked[2]))
        assert not search.pending
        assert (search.observations, _bests(search)) == before, "forgetting changed observations"
        _check_refused("not pending", search.forget, asked[0])
        search.tell(asked[0], self.reward(asked[0], 0))
        assert search.observations == 7
        self.play(search, 4, first=50)

    def test_forget_the_oldest(self) -> None:
        """Of an arm that is pending twice one evaluation stays pending."""
        search = self.make(Tree(1, 1), 0)
        try:
            asked = [search.ask(), search.ask()]
        except Exhausted:
            return
        assert asked == [(0,), (0,)]
        search.forget((0,))
        assert search.pending == ((0,),)

    # ------------------------------------------------------------------ laws of best

    def test_best_before_any_tell(self) -> None:
        """There is no best arm before the first observation, with or without pending paths."""
        search = self.make(UNIFORM, 0)
        for _ in range(2):
            for rule in (None, *RULES):
                _check_refused("no observations yet", search.best, rule)
            search.ask()

    def test_best_is_a_played_arm(self) -> None:
        """By every rule, with the mean between its bounds, and the same arm when called again."""
        search = self.make(UNIFORM, 0)
        played = self.play(search, self.plays)
        for rule in (None, *RULES):
            arm = search.best(rule)
            assert isinstance(arm, Arm)
            assert arm.path in played
            assert arm.visits == played.count(arm.path)
            assert arm.lower <= arm.mean <= arm.upper
            assert arm.std >= 0
            assert search.best(rule) == arm
        rewards = [self.reward(path, t) for t, path in enumerate(played)]
        assert search.best("observed").path == played[int(np.argmax(rewards))]
        _check_refused("rule", search.best, "loudest")
        assert search.best_action() == search.best().path[0]

    # ------------------------------------------------------------------ bad input, unusual trees

    def test_bad_input_changes_nothing(self) -> None:
        """A mistake raises an error with a helpful message, and has no other effect."""
        twins = [self.make(UNIFORM, 0) for _ in range(2)]
        asked: list[Path] = []
        for search in twins:
            self.play(search, 5)
            asked = [search.ask(), search.ask()]
        search = twins[0]
        mistakes: dict[str, list[tuple[Any, Any]]] = {
            "finite": [(asked[0], x) for x in (math.nan, math.inf, -math.inf, 10**400)],
            "real number": [(asked[0], x) for x in ("high", 1j, [1.0], np.ones(2))],
            "value": [(asked[0], None)],
            "depth": [((0, 0, 0, 0), 1.0)],
            "path[2]": [((0, 0, -1), 1.0)],
            "children": [((0, 0, k), 1.0) for k in (3, 2**70)],
            "int": [((0, 0, k), 1.0) for k in (0.5, 1.0, None)],
            "sequence of ints": [(path, 1.0) for path in ("000", 0, None)],
            "too short": [((0,), 1.0), ((), 1.0)],
        }
        for words, cases in mistakes.items():
            for path, value in cases:
                _check_refused(words, search.tell, path, value)
        for wrong in ((0, 0, 7), "000"):
            _check_refused("path", search.forget, wrong)
        steps: dict[str, Any] = {
            "2 rewards": [1.0, 2.0],
            "steps[2]": [1.0, 2.0, math.nan],
            "sequence": 3.0,
        }
        for words, bad_steps in steps.items():
            _check_refused(words, search.tell, (0, 1, 2), steps=bad_steps)
        _check_refused("value", search.tell, (0, 1, 2), 1.0, steps=[1.0, 0.0, 0.0])
        futures = []
        for one in twins:
            state = one.pending, one.observations, _bests(one)
            for p in asked:
                one.tell(p, self.reward(p, 0))
            futures.append((state, self.play(one, 10, first=20)))
        assert futures[0] == futures[1], "a mistake changed the searcher"

    def test_unusual_trees(self) -> None:
        """Depth 0, one child, ragged: they work, or the constructor raises with a reason."""
        for tree in SPECIAL:
            try:
                search = self.make(tree, 0)
            except (TypeError, ValueError) as refusal:
                assert len(str(refusal)) > 20, f"{tree!r} is refused without a reason"  # noqa: PT017
                continue
            played = self.play(search, 12)
            assert played
            for path in played:
                assert tree.is_leaf(path)
            assert search.observations == len(played)
            for rule in (None, *RULES):
                assert search.best(rule).path in played
            again = pickle.loads(pickle.dumps(search))
            assert self.play(again, 3, first=90) == self.play(search, 3, first=90)


def _hash(*key: Any) -> float:
    """Return a number between -1 and 1 that depends on the key alone."""
    return zlib.crc32(repr(key).encode()) / 2**31 - 1


def _bests(search: Searcher) -> list[Arm]:
    return [search.best(rule) for rule in RULES] if search.observations else []


def _check_refused(words: str, call: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
    """Check that a call raises a ValueError or TypeError whose message contains some words."""
    message = None
    try:
        call(*arguments, **keywords)
    except (TypeError, ValueError) as error:
        message = str(error)
    assert message is not None, f"a mistake was accepted: expected an error about {words!r}"
    assert words in message, f"the message should contain {words!r}, but is: {message}"
