"""The tap and its confirmation: on fresh releases of the untouched function, for what was found alone."""

import numpy as np

from dpverdict.audit.implementation.tap.tap_request import TapReport, TapRequest, work
from dpverdict.audit.implementation.tap.tap_verdict import TapStatus

PAIR = (np.ones((4, 2)), np.ones((3, 2)))


def noisy(scale: float):  # type: ignore[no-untyped-def]
    return lambda x, rng: x.sum(axis=0) + rng.laplace(scale=scale, size=2)


def test_a_request_that_cannot_be_carried_out_says_why() -> None:
    answer = work({"mechanism": "broken:M3"}, print)
    assert "dim" in str(answer["error"])
    answer = work({"mechanism": "nowhere_at_all:f", "claim": "eps=1"}, print)
    assert "error" in answer


def test_a_mechanism_of_the_catalogue_is_tapped_on_its_worst_pair() -> None:
    request = TapRequest(mechanism="broken:M3", options={"dim": "3", "mu": "1"}, seed="1", samples="0")
    answer = work({name: getattr(request, name) for name in request.__dataclass_fields__}, print)
    assert TapReport.from_dict(answer).verdict.status is TapStatus.REFUTED
