"""The verdict: its exit codes, its table, and the way through JSON and back."""

import json
import math

import numpy as np
import pytest

from dpverdict.audit.implementation.tap.tap_verdict import TapStatus, TapVerdict
from dpverdict.audit.implementation.tap.tapped_runs import tap_runs

PAIR = (np.ones((4, 2)), np.ones((3, 2)))


def found(scale: float, claim: str) -> TapVerdict:
    return tap_runs(lambda x, rng: x.sum(axis=0) + rng.laplace(scale=scale, size=2), PAIR, claim, seed=1)


def test_a_verdict_goes_through_json_and_back() -> None:
    for one in (found(1, "eps=1"), found(2, "eps=1"), tap_runs(lambda x, rng: x.sum(), PAIR, "eps=1", seed=1)):
        assert TapVerdict.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False))) == one


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("eps=2", TapStatus.QUIET),
        ("eps=1.9", TapStatus.REFUTED),
        ("eps=1, delta=0.5", TapStatus.QUIET),
        ("eps=1, delta=1e-3", TapStatus.REFUTED),
        ("mu=0.1", TapStatus.REFUTED),
        ("rho=2", TapStatus.QUIET),
        ("rho=0.1", TapStatus.REFUTED),
    ],
)
def test_every_kind_of_claim_is_held_to_the_loss(claim: str, status: TapStatus) -> None:
    one = found(1, claim)
    assert one.status is status, one.text()
    assert one.exit_code == (1 if status is TapStatus.REFUTED else 3)


def test_the_table_names_the_call_the_line_and_both_sides() -> None:
    text = found(1, "eps=1").text()
    assert text.splitlines()[0].startswith("REFUTED")
    assert "test_tap_verdict.py:" in text
    assert "laplace, scale 1" in text
    assert "moved 1 in 2 of 2 places" in text
    assert math.isclose(found(1, "eps=1").epsilon or 0, 2)
