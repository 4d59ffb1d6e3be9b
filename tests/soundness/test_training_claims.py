"""Claims about training runs 2 % away from the least that is true: none is decided wrongly, and few are undecided."""

import runpy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.mechanisms.training.batches import SAMPLINGS, BatchSampling

CLAIMS = runpy.run_path(str(Path(__file__).parent / "training_claims.py"))
random_claim = CLAIMS["random_claim"]


MOST_OPEN = 3
"""Of 20 claims, of a replaced record in batches of fixed size: of many steps with little noise delta is known, and the
two probabilities of the event that shows it are not determined (seed 43)."""


def check(first: int, number: int, sampling: BatchSampling) -> None:
    undecided = []
    for seed in range(first, first + number):
        claim = random_claim(np.random.default_rng(seed), sampling)
        right = claim.is_right
        if right is None and sampling == "fixed-size" and claim.run.adjacency is REPLACE_ONE:
            undecided.append(f"{seed}: {claim}")
            continue
        assert right, f"{seed}: {claim}"
    assert len(undecided) <= MOST_OPEN, undecided


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_claim_close_to_the_truth_is_decided(sampling: BatchSampling) -> None:
    check(10_000, 2, sampling)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 120, 20))
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_claims_close_to_the_truth_are_decided_at_full_size(sampling: BatchSampling, first: int) -> None:
    check(first, 20, sampling)


def test_a_claim_on_the_wrong_side_is_not_right() -> None:
    claim = random_claim(np.random.default_rng(10_000), "poisson")
    moved = claim.epsilon * (Fraction(49, 51) if claim.is_true else Fraction(51, 49))
    assert replace(claim, epsilon=moved).is_right is False
