"""The record of trials: states, rows and pending points."""

import numpy as np
from small_spaces import BOX

from bough.spaces.trials import TrialTable

A, B, C = (0.1, 0.2), (0.3, 0.4), (0.5, 0.6)


def test_rows_with_and_without_failures():
    trials = TrialTable(BOX, None)
    assert trials.observe(A, 1.0, None) == 0
    trials.fail(B, -2.0)
    assert trials.observe(C, 3.0, 0.5) == 2
    assert (len(trials), trials.best, trials.failed) == (2, 2, {B: 1})
    assert [trial.point for trial in trials.observations()] == [A, C]
    points, values, noises = trials.table(trials.rows(failures=True))
    assert points.tolist() == [list(A), list(B), list(C)]
    assert values.tolist() == [1.0, -2.0, 3.0]
    assert np.isnan(noises).tolist() == [True, True, False]
    assert trials.values.tolist() == [1.0, 3.0]
    assert [trials.number(row) for row in (0, 2)] == [0, 1]
    trials.set_penalty(-5.0)
    assert trials.table(trials.rows(1, failures=True))[1].tolist() == [-5.0, 3.0]


def test_a_failure_that_is_observed_later_has_no_row():
    trials = TrialTable(BOX, None)
    trials.fail(A, -1.0)
    trials.observe(B, 2.0, None)
    trials.observe(A, 4.0, None)
    assert not trials.failed
    for failures in (False, True):
        assert trials.table(trials.rows(failures=failures))[1].tolist() == [2.0, 4.0]


def test_the_number_of_a_point_changes_when_it_is_asked_for_again():
    trials = TrialTable(BOX, None)
    for point in (A, B, A):
        trials.pend(point)
    first = trials.pending_numbers()
    assert list(trials.pending.values()) == [A, B, A]
    trials.settle(A)
    assert list(trials.pending.values()) == [B, A]
    assert trials.pending_numbers()[B] == first[B]
    assert trials.pending_numbers()[A] != first[A]
    trials.settle(A)
    trials.settle(C)  # which is not pending
    assert trials.pending_numbers() == {B: first[B]}


def test_repetitions_show_whether_there_is_noise():
    exact, noisy, given = (TrialTable(BOX, None) for _ in range(3))
    for trials in (exact, noisy):
        trials.observe(A, 1.0, None)
        assert trials.noisy is None
    exact.observe(A, 1.0, None)
    noisy.observe(A, 1.5, None)
    given.observe(A, 1.0, 0.1)
    assert (exact.noisy, noisy.noisy, given.noisy) == (False, True, True)
