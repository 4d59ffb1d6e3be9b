"""Lebeda 2024, note for practitioners: floating point."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpverdict.audit.clopper_pearson import proportion_lower
from dpverdict.mechanisms.scales import family_scales, root
from dpverdict.proofs.lebeda2024_algebra import PAPER
from dpverdict.proofs.outcome import Finding, Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Plant, Reading, statement
from dpverdict.proofs.vertices import every

SAMPLES = 20_000
ERROR_PROBABILITY = 1e-9
SEED = 20240806


class Leak(NamedTuple):
    """Outputs near 0 on data of one record are multiples of 2^-bits; whether the form of Lemma 3.3 leaks as well."""

    bits: int
    lemma_3_3_leaks: bool


@statement(
    paper=PAPER,
    number="note.float",
    kind=Kind.REMARK,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Naive implementations in floating point can break the formal guarantees, likely also Line 4 of Algorithm 1 "
    "with its two noise samples; implementing the version of Lemma 3.3 might be preferred.",
    formula=r"P_{n=1}(E) = 0 < P_{n=0}(E),\quad E = \{|\tilde{n}| < 1/2,\ 2^{53}\tilde{n} \notin \mathbb{Z}\}",
    printed=Leak(53, True),
    caveat=Reading("read as: the version of Lemma 3.3 does not leak in float64", Leak(53, False)),
    corrected=Reading("both versions leak in float64; integers with discrete noise do not", Leak(53, True)),
    planted=(
        Plant("no such output on one record", "multiples of 2^-52", Leak(52, True)),
        Plant("such outputs on no record, Algorithm 1", "multiples of 2^-1080", Leak(1080, True)),
        Plant("such outputs on no record, Lemma 3.3", "Lemma 3.3 does not leak", Leak(53, False)),
    ),
    note="the positive probability is a Clopper-Pearson bound: no exact law of the float64 sampler is at hand",
)
def float_leak(claim: Leak) -> Findings:
    """|1 + a| < 1/2 forces a in (-3/2, -1/2), where float64 has a spacing of 2^-53 or more, and 1 + a is exact.

    So the count n + 2 eta of one record is a multiple of 2^-53 whenever it is near 0. On no record it is 2 eta itself,
    which is not. The event then has probability 0 under one dataset only: delta(eps) >= P_0(E) for every eps.
    """
    spacings = [
        Fraction(float(np.spacing(a))) for a in (0.5, 0.75, np.nextafter(1.0, 0), 1.0, 1.25, np.nextafter(1.5, 0))
    ]
    yield every(
        "no such output on one record",
        spacings,
        lambda gap: (gap * 2**claim.bits).denominator == 1,
        scope="every float64 a in (-3/2, -1/2), by binades",
        show=lambda gap: f"the spacing 2^{gap.denominator.bit_length() * -1 + 1} is no multiple of 2^-{claim.bits}",
    )
    rng = np.random.default_rng(SEED)
    _, shared = family_scales(4, root(4), Fraction(1))
    algorithm_1 = 2 * (shared * rng.standard_normal(SAMPLES))
    embedded = (np.sqrt(6.0) * rng.standard_normal(SAMPLES)) / np.sqrt(2.0)  # Z/C of C n + Z with n = 0, d = 4, C^2 = 2
    yield _leaks("such outputs on no record, Algorithm 1", algorithm_1, claim.bits, expected=True)
    yield _leaks("such outputs on no record, Lemma 3.3", embedded, claim.bits, expected=claim.lemma_3_3_leaks)


def _leaks(name: str, counts: np.ndarray, bits: int, *, expected: bool) -> Finding:
    fine = [value for value in counts[np.abs(counts) < 0.5].tolist() if (Fraction(value) * 2**bits).denominator != 1]
    lower = float(proportion_lower(len(fine), SAMPLES, ERROR_PROBABILITY))
    return Finding(
        name=name,
        holds=(lower > 0) is expected,
        method=Method.SAMPLED,
        scope=f"d = 4, mu = 1; {SAMPLES} releases, error probability {ERROR_PROBABILITY:g}",
        margin=f"P_0(E) >= {lower:.3f}" if expected else "",
        witness="" if (lower > 0) is expected else f"P_0(E) >= {lower:.3f} from {len(fine)} of {SAMPLES} releases",
    )
