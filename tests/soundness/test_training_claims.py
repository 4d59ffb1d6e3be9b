"""Claims about training runs 2 % away from the least that is true: each is decided, and none wrongly."""

import runpy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpverdict.mechanisms.training.batches import SAMPLINGS, BatchSampling

CLAIMS = runpy.run_path(str(Path(__file__).parent / "training_claims.py"))
random_claim = CLAIMS["random_claim"]


def check(first: int, number: int, sampling: BatchSampling) -> None:
    for seed in range(first, first + number):
        claim = random_claim(np.random.default_rng(seed), sampling)
        assert claim.is_right, f"{seed}: {claim}"


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_claim_close_to_the_truth_is_decided(sampling: BatchSampling) -> None:
    check(10_000, 1 if sampling == "with-replacement" else 2, sampling)  # whose truth takes some seconds


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 120, 20))
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_claims_close_to_the_truth_are_decided_at_full_size(sampling: BatchSampling, first: int) -> None:
    check(first, 20, sampling)


def test_a_claim_on_the_wrong_side_is_not_right() -> None:
    claim = random_claim(np.random.default_rng(10_000), "poisson")
    moved = claim.epsilon * (Fraction(49, 51) if claim.is_true else Fraction(51, 49))
    assert replace(claim, epsilon=moved).is_right is False


@pytest.mark.slow
@pytest.mark.parametrize("seed", [43, 20_047])
def test_a_false_claim_is_refuted_where_no_integral_has_the_tails(seed: int) -> None:
    """A replaced record in batches of fixed size, with little noise: an event on a lattice shows what is claimed."""
    check(seed, 1, "fixed-size")
