"""Tests of a DP library: run them with `pytest examples/test_counts.py`. It needs pytest and hypothesis."""

import numpy as np
from hypothesis import given, settings
from release import forgetful_counts, neighbours, noisy_counts

from dpverdict.strategies import neighbouring_pairs


def test_counts_keep_their_promise(privacy_audit):
    privacy_audit(noisy_counts, "eps=1", neighbours=neighbours())


def test_forgetful_counts_keep_their_promise(privacy_audit):  # they do not
    privacy_audit(forgetful_counts, "eps=1", neighbours=neighbours())


@settings(deadline=None)
@given(neighbouring_pairs(dim=3))
def test_a_record_moves_every_count_by_at_most_one(pair):
    moved = pair.dataset.sum(axis=0) - pair.neighbour.sum(axis=0)
    assert np.abs(moved).max() <= 1
