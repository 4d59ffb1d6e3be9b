"""The tap and its confirmation: on fresh releases of the untouched function, for what was found alone."""

import json

import numpy as np

from dpverdict.audit.implementation.tap.confirmed import Tapped, TapRequest, tap_and_confirm, work
from dpverdict.audit.implementation.tap.verdict import TapStatus

PAIR = (np.ones((4, 2)), np.ones((3, 2)))


def noisy(scale: float):  # type: ignore[no-untyped-def]
    return lambda x, rng: x.sum(axis=0) + rng.laplace(scale=scale, size=2)


def test_a_refutation_is_confirmed_by_releases_and_what_is_quiet_is_not_tested() -> None:
    wrong = tap_and_confirm(noisy(0.25), PAIR, "eps=1", seed=1, error_probability=1e-6, samples=400)
    assert wrong.verdict.status is TapStatus.REFUTED
    assert wrong.confirmation is not None
    assert wrong.confirmation.refuted
    assert "400 fresh releases" in wrong.text()
    assert Tapped.from_dict(json.loads(json.dumps(wrong.to_dict()))) == wrong
    right = tap_and_confirm(noisy(2), PAIR, "eps=1", seed=1, error_probability=1e-6, samples=400)
    assert right.confirmation is None
    assert (wrong.exit_code, right.exit_code) == (1, 3)


def test_a_request_that_cannot_be_carried_out_says_why() -> None:
    answer = work({"mechanism": "broken:M3"}, print)
    assert "dim" in str(answer["error"])
    answer = work({"mechanism": "nowhere_at_all:f", "claim": "eps=1"}, print)
    assert "error" in answer


def test_a_mechanism_of_the_catalogue_is_tapped_on_its_worst_pair() -> None:
    request = TapRequest(mechanism="broken:M3", options={"dim": "3", "mu": "1"}, seed="1", samples="0")
    answer = work({name: getattr(request, name) for name in request.__dataclass_fields__}, print)
    assert Tapped.from_dict(answer).verdict.status is TapStatus.REFUTED
