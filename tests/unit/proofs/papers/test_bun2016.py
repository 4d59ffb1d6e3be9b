"""The ledger of Bun and Steinke (2016), by the divergence of two outcomes in plain arithmetic."""

import math

import pytest

from dpverdict.proofs.checks.outcome import Standing
from dpverdict.proofs.checks.registry import verify


def test_proposition_3_3_holds_for_every_eps_and_alpha() -> None:
    outcome = verify("bun2016", "prop3.3")
    assert outcome.standing is Standing.HOLDS
    assert not any(fault.missed for fault in outcome.faults)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("alpha", [1.01, 2.0, 10.0])
def test_randomised_response_is_within_the_bound(epsilon: float, alpha: float) -> None:
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    moment = p**alpha * (1 - p) ** (1 - alpha) + (1 - p) ** alpha * p ** (1 - alpha)
    assert math.log(moment) / (alpha - 1) < epsilon**2 * alpha / 2
