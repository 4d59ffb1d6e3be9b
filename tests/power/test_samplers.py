"""The audit of samplers finds loaders that do not what is claimed, and leaves alone those that do.

Each audit has 400 batches of 200 records.
"""

import numpy as np
import pytest
import scipy
from tests.power.loaders import RIGHT, WRONG, Claim, Loader

from dpverdict.audit.batches.claim import read_claim
from dpverdict.audit.batches.drawn import draw_batches
from dpverdict.audit.batches.sampler_audit import audit_batches

BATCHES = 400


def rejections(claim: Claim, loader: Loader, records: int, *, error: float, repetitions: int, seed: int) -> int:
    """How many audits of fresh draws reject the claim."""
    said = read_claim(*claim)
    seeds = np.random.SeedSequence(seed).generate_state(repetitions)
    return sum(
        audit_batches(
            draw_batches(lambda seed: loader(seed), batches=BATCHES, records=records, seed=int(one)),
            said,
            error_probability=error,
        ).refuted
        for one in seeds
    )


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_sampler_is_rarely_rejected(name: str, seed: int) -> None:
    """Seven of twenty at 0.01 happen once in 1e9."""
    assert rejections(*RIGHT[name], error=0.01, repetitions=20, seed=seed) < 7


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_sampler_is_rejected_no_more_often_than_stated(name: str, seed: int) -> None:
    found = rejections(*RIGHT[name], error=0.05, repetitions=500, seed=seed)
    assert scipy.stats.binom.sf(found - 1, 500, 0.05) > 1e-9


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sampler_is_found(name: str, seed: int) -> None:
    assert rejections(*WRONG[name], error=1e-6, repetitions=3, seed=seed) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sampler_is_found_nearly_always(name: str, seed: int) -> None:
    assert rejections(*WRONG[name], error=0.05, repetitions=500, seed=seed) >= 495
