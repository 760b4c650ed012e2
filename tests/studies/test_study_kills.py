"""SIGKILL at random moments, repeatedly: no observation is lost, and the search is the same."""

import pytest

from benchmarks.abuse import kill_and_compare


def test_twenty_kills(tmp_path):
    assert kill_and_compare(tmp_path, 24, seed=24) > 24  # the kills hit a search that was running


@pytest.mark.thorough
def test_five_hundred_kills(tmp_path):
    for k in range(10):  # short ones, since each process replays all trials
        folder = tmp_path / str(k)
        folder.mkdir()
        assert kill_and_compare(folder, 50 + k, seed=k) > 50 + k
