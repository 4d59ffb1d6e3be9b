"""A verdict carries the evidence of its status and no other, and is required, not believed."""

import dataclasses
from typing import Any

import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Certificate, Status, Verdict, Witness
from dpverdict.errors import NotCertified
from dpverdict.mechanisms import (
    ADD_OR_REMOVE_ONE,
    GaussianDP,
    StandardGaussian,
)

UNIT = StandardGaussian(dim=4, mu=1, adjacency=ADD_OR_REMOVE_ONE)  # scale 2: mu is exactly 1


def certificate() -> Certificate:
    made = certify(UNIT).certificate
    assert made is not None
    return made


def witness() -> Witness:
    made = certify(UNIT, GaussianDP("0.5")).witness
    assert made is not None
    return made


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("parts", [(), ("certificate", "witness"), ("witness", "reason"), ("certificate", "reason")])
def test_a_verdict_with_other_evidence_than_its_status_is_not_made(status: Status, parts: tuple[str, ...]) -> None:
    evidence: dict[str, Any] = {"certificate": certificate(), "witness": witness(), "reason": "undecided"}
    with pytest.raises(ValueError, match="needs its own evidence"):
        Verdict(status=status, mechanism="m", claim=GaussianDP(1), **{part: evidence[part] for part in parts})


@pytest.mark.parametrize(
    ("status", "part"),
    [(Status.CERTIFIED, "witness"), (Status.REFUTED, "reason"), (Status.INCONCLUSIVE, "certificate")],
)
def test_evidence_of_another_status_does_not_make_a_verdict(status: Status, part: str) -> None:
    evidence: dict[str, Any] = {"certificate": certificate(), "witness": witness(), "reason": "undecided"}
    with pytest.raises(ValueError, match="needs its own evidence"):
        Verdict(status=status, mechanism="m", claim=GaussianDP(1), **{part: evidence[part]})


def test_a_verdict_is_not_a_truth_value_and_is_required_explicitly() -> None:
    kept, refuted = certify(UNIT), certify(UNIT, GaussianDP("0.5"))
    for verdict in (kept, refuted):
        with pytest.raises(TypeError, match="three values"):
            bool(verdict)
    assert kept.require() is kept
    with pytest.raises(NotCertified, match=r"^REFUTED: standard-gaussian claims mu=0\.5: "):
        refuted.require()
    assert kept.summary().startswith("CERTIFIED: standard-gaussian claims mu=1: mu^2 is within mu=1")
    with pytest.raises(dataclasses.FrozenInstanceError):
        kept.status = Status.REFUTED  # type: ignore[misc]
