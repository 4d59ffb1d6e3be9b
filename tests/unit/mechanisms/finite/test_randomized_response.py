"""Randomised response of k values: the exact sampler, the closed form of its profile, and its errors."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import neighbour_loss, worst_case
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import RandomizedResponse, parse_guarantee
from dpverdict.mechanisms.finite.randomized_response import ResponseNoise
from dpverdict.numerics.exponential_sums import ExponentialSum


@pytest.mark.parametrize("options", [2, 3, 1000])
def test_the_profile_is_its_closed_form(options: int) -> None:
    loss = worst_case(RandomizedResponse(options=options, epsilon="1.5")).loss
    with mpmath.workdps(40):
        e = mpmath.exp(mpmath.mpf("1.5"))
        for level in ("0", "0.7", "1.4999"):
            truth = (e - mpmath.exp(mpmath.mpf(level))) / (e + options - 1)
            assert loss.certified_delta(level).contains(mpmath.nstr(truth, 35))
    assert loss.certified_delta("1.5").upper == 0


def test_a_claim_is_decided_at_its_last_digit() -> None:
    mechanism = RandomizedResponse(options=5, epsilon=1)
    assert certify(mechanism).status is Status.CERTIFIED
    assert certify(mechanism, parse_guarantee("eps=0.999999999999999999999999")).status is Status.REFUTED


def test_uniform_bits_that_do_not_decide_are_read_on() -> None:
    noise = ResponseNoise(options=3, odds=ExponentialSum.exp(Fraction(1)))
    cut = noise._floor(64)
    exact = noise._floor(128)
    assert exact >> 64 == cut
    low_word = exact & ((1 << 64) - 1)
    assert noise._decide(cut, iter([low_word - 1]).__next__) is True
    assert noise._decide(cut, iter([low_word + 1]).__next__) is False
    with mpmath.workdps(40):
        truth = mpmath.e / (mpmath.e + 2)
        assert cut == int(mpmath.floor(truth * mpmath.mpf(2) ** 64))


def test_equal_values_lose_nothing_and_every_other_pair_the_same() -> None:
    mechanism = RandomizedResponse(options=4, epsilon=1)
    assert neighbour_loss(mechanism, [2], [2]).delta(0) == 0
    assert neighbour_loss(mechanism, [3], [1]).delta("0.2") == worst_case(mechanism).loss.delta("0.2")


def test_what_is_no_value_of_one_person_is_refused() -> None:
    mechanism = RandomizedResponse(options=4, epsilon=1)
    rng = np.random.default_rng(1)
    for dataset, message in (([[0.5]], "whole number"), ([[4]], "in .0.0, 3.0."), ([[0], [1]], "one record")):
        with pytest.raises(InvalidValue, match=message):
            mechanism.release(dataset, rng)
    with pytest.raises(InvalidValue, match="from 2"):
        RandomizedResponse(options=1, epsilon=1)
