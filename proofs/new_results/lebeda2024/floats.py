"""Results of this project: naive float64 arithmetic leaks, on the count, on the queries, and in Lemma 3.3's form."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpverdict.mechanisms.core.calibration import family_scales, root
from dpverdict.numerics.arrays import Array
from dpverdict.proofs.checks.outcome import Findings
from dpverdict.proofs.checks.statement import Plant, Statement, result
from dpverdict.proofs.lebeda2024.float_leaks import (
    ERROR_PROBABILITY,
    SAMPLES,
    SEED,
    count_noise,
    embedded_noise,
    embedded_shift,
    more_often,
    never_on_one_record,
    query_noise,
)

NOTE = (
    "the positive probability is a Clopper-Pearson bound from releases of the float64 sampler, of error probability "
    f"{ERROR_PROBABILITY:g} each: no exact law of that sampler is at hand; the zero probability is proved"
)
Sampler = Callable[[np.random.Generator, int, int], Array]
"""``sampler(rng, d, n)``: n released values on the empty dataset."""


class Leak(NamedTuple):
    """Values near 0 on one record are multiples of 2^-bits; the least probability that they are not, on none, by d.

    ``other_order`` is that on one record at d = 1, if the record is added to the first noise and the second comes last.
    """

    bits: int
    least: dict[int, float]
    other_order: float | None = None


def _other_order(rng: np.random.Generator, dim: int, size: int) -> Array:
    own, shared = family_scales(dim, root(dim), Fraction(1))
    return np.asarray((1.0 + shared * rng.standard_normal(size)) + own * rng.standard_normal(size))


def leak(
    number: str, text: str, formula: str, sampler: Sampler, claim: Leak, shift: Callable[[int], float]
) -> Statement:
    """Register one release; ``shift`` is what one record adds to it, by d."""
    other = [] if claim.other_order is None else [Plant("in the other order", "0.5", claim._replace(other_order=0.5))]

    @result(
        number=number,
        text=text,
        formula=formula,
        printed=claim,
        named=(
            "no such output on one record",
            *(f"such outputs on no record, d = {dim}" for dim in claim.least),
            *(fault.condition for fault in other),
        ),
        planted=(
            Plant("no such output on one record", "50 bits", claim._replace(bits=50)),
            *(
                Plant(f"such outputs on no record, d = {dim}", "0.5", claim._replace(least={**claim.least, dim: 0.5}))
                for dim in claim.least
            ),
            *other,
        ),
        note=NOTE,
    )
    def check(claimed: Leak) -> Findings:
        """The event of `dpverdict.proofs.lebeda2024.float_leaks`: probability 0 on one record, not on none."""
        shifts = [(dim, shift(dim)) for dim in claimed.least]
        yield never_on_one_record("no such output on one record", shifts, claimed.bits)
        for dim, least in claimed.least.items():
            values = sampler(np.random.default_rng([SEED, dim]), dim, SAMPLES)
            yield more_often(f"such outputs on no record, d = {dim}", values, claimed.bits, least, shift(dim))
        if claimed.other_order is not None:
            values = _other_order(np.random.default_rng([SEED, 1]), 1, SAMPLES)
            yield more_often("in the other order", values, claimed.bits, claimed.other_order, 1.0)

    return check


LEAKS = (
    leak(
        "leb.new.float.count",
        "float64 count of Algorithm 1: E = {|n~| < 1/2, n~ no multiple of 2^-53} has probability 0 on one record, and "
        "more than 0.02 on none, d = 1, 4, 100, 10^4: delta(eps) > 0.02 for every eps.",
        r"P_1(E) = 0,\quad P_0(E) > 0.02",
        count_noise,
        Leak(53, {1: 0.02, 4: 0.02, 100: 0.02, 10_000: 0.02}),
        lambda dim: 1.0,
    ),
    leak(
        "leb.new.float.query",
        "float64 queries f + (eta + z): the same event on f has probability 0 for f = 1, and more than 0.14, 0.07, "
        "0.005 for f = 0, d = 1, 4, 100. In the order (f + eta) + z it has more than 0.05 for f = 1, d = 1: there it "
        "tells nothing for certain.",
        r"P_1(E) = 0,\quad P_0(E) > 0.005",
        query_noise,
        Leak(53, {1: 0.14, 4: 0.07, 100: 0.005}, other_order=0.05),
        lambda dim: 1.0,
    ),
    leak(
        "leb.new.float.lem33",
        "float64 form of Lemma 3.3, C n + Z: outputs below C/2 are multiples of 2^-53 on one record, and "
        "not with probability more than 0.015 on none, d = 1, 4, 16, 100.",
        r"P_1(E) = 0,\quad P_0(E) > 0.015",
        embedded_noise,
        Leak(53, {1: 0.1, 4: 0.05, 16: 0.03, 100: 0.015}),
        embedded_shift,
    ),
)
