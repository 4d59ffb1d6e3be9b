"""Results of this project: naive float64 arithmetic leaks, on the count, on the queries, and in Lemma 3.3's form."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpverdict.audit.statistics.proportions import proportion_lower
from dpverdict.mechanisms.core.calibration import family_scales, root
from dpverdict.proofs.checks.outcome import Finding, Findings, Method
from dpverdict.proofs.checks.statement import Plant, Statement, result
from dpverdict.proofs.checks.vertices import every

SAMPLES = 60_000
ERROR_PROBABILITY = 1e-10
"""Of each sampled finding: its Clopper-Pearson bound holds but for this probability. The seed is fixed."""
SEED = 20241119
NOTE = (
    "the positive probability is a Clopper-Pearson bound from releases of the float64 sampler, of error probability "
    f"{ERROR_PROBABILITY:g} each: no exact law of that sampler is at hand; the zero probability is proved"
)
Sampler = Callable[[np.random.Generator, int, int], np.ndarray]
"""``sampler(rng, d, n)``: n released values on the empty dataset."""


class Leak(NamedTuple):
    """Values near 0 on one record are multiples of 2^-bits; the least probability that they are not, on none, by d."""

    bits: int
    least: dict[int, float]


def _count(rng: np.random.Generator, dim: int, size: int) -> np.ndarray:
    _, shared = family_scales(dim, root(dim), Fraction(1))
    return np.asarray(2 * (shared * rng.standard_normal(size)))


def _query(rng: np.random.Generator, dim: int, size: int) -> np.ndarray:
    own, shared = family_scales(dim, root(dim), Fraction(1))
    return np.asarray(shared * rng.standard_normal(size) + own * rng.standard_normal(size))


def _embedded(rng: np.random.Generator, dim: int, size: int) -> np.ndarray:
    return np.asarray(np.sqrt(dim + dim**0.5) * rng.standard_normal(size))


def _spacings(low: float, high: float) -> list[Fraction]:
    """The float64 spacings met in [low, high), low > 0: one for every binade, at its ends and inside."""
    points, x = [low], low
    while x < high:
        points += [x, float(np.nextafter(min(2 * x, high), 0))]
        x *= 2
    return [Fraction(float(np.spacing(point))) for point in points]


def leak(
    number: str, text: str, formula: str, sampler: Sampler, claim: Leak, shift: Callable[[int], float]
) -> Statement:
    """Register one release; ``shift`` is what one record adds to it, by d."""

    @result(
        number=number,
        text=text,
        formula=formula,
        printed=claim,
        planted=(
            Plant("no such output on one record", "50 bits", claim._replace(bits=50)),
            *(
                Plant(f"such outputs on no record, d = {dim}", "0.5", claim._replace(least={**claim.least, dim: 0.5}))
                for dim in claim.least
            ),
        ),
        note=NOTE,
    )
    def check(claimed: Leak) -> Findings:
        """|c + a| < c/2, c what a record adds, forces |a| in (c/2, 3c/2); there a is a multiple of its spacing.

        c itself is a multiple of that spacing, c + a is exact (Sterbenz), and so a multiple of it as well. On the empty
        dataset the release is the noise itself, which is not. The event has probability 0 under one of two neighbours:
        delta(eps) is at least its probability under the other, for every eps.
        """
        spacings = [
            (dim, gap)
            for dim in claimed.least
            for gap in (*_spacings(shift(dim) / 2, 1.5 * shift(dim)), Fraction(float(np.spacing(shift(dim)))))
        ]
        yield every(
            "no such output on one record",
            spacings,
            lambda case: (case[1] * 2**claimed.bits).denominator == 1,
            scope="every float64 in the range, by binades",
            show=lambda case: f"d = {case[0]}: spacing 2^{1 - case[1].denominator.bit_length()}",
        )
        for dim, least in claimed.least.items():
            rng = np.random.default_rng([SEED, dim])
            yield _sampled(
                f"such outputs on no record, d = {dim}", sampler(rng, dim, SAMPLES), claimed.bits, least, shift(dim)
            )

    return check


def _sampled(name: str, values: np.ndarray, bits: int, least: float, shift: float) -> Finding:
    near = values[np.abs(values) < shift / 2]
    scaled = np.ldexp(near, bits)  # exact: a power of 2
    fine = int(np.count_nonzero(scaled != np.floor(scaled)))
    lower = float(proportion_lower(fine, SAMPLES, ERROR_PROBABILITY))
    return Finding(
        name=name,
        holds=lower > least,
        method=Method.SAMPLED,
        scope=f"{SAMPLES} releases, mu = 1, error probability {ERROR_PROBABILITY:g}",
        margin=f"P_0(E) >= {lower:.4f} > {least:g}" if lower > least else "",
        witness="" if lower > least else f"P_0(E) >= {lower:.4f} only, from {fine} of {SAMPLES} releases",
    )


LEAKS = (
    leak(
        "leb.new.float.count",
        "float64 count of Algorithm 1: E = {|n~| < 1/2, n~ no multiple of 2^-53} has probability 0 on one record, and "
        "more than 0.02 on none, d = 1, 4, 100, 10^4: delta(eps) > 0.02 for every eps.",
        r"P_1(E) = 0,\quad P_0(E) > 0.02",
        _count,
        Leak(53, {1: 0.02, 4: 0.02, 100: 0.02, 10_000: 0.02}),
        lambda dim: 1.0,
    ),
    leak(
        "leb.new.float.query",
        "float64 queries f + (eta + z): the same event on f has probability 0 for f = 1, and more than 0.005 for f = "
        "0, d = 1, 4, 100; (f + eta) + z leaks for f = 0 against 1000.",
        r"P_1(E) = 0,\quad P_0(E) > 0.005",
        _query,
        Leak(53, {1: 0.14, 4: 0.07, 100: 0.005}),
        lambda dim: 1.0,
    ),
    leak(
        "leb.new.float.lem33",
        "float64 form of Lemma 3.3, C n + Z: outputs below C/2 are multiples of 2^-53 on one record, and "
        "not with probability more than 0.015 on none, d = 1, 4, 16, 100.",
        r"P_1(E) = 0,\quad P_0(E) > 0.015",
        _embedded,
        Leak(53, {1: 0.1, 4: 0.05, 16: 0.03, 100: 0.015}),
        lambda dim: float(dim**0.25),
    ),
)
