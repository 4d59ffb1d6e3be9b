"""How naive float64 releases are told apart: outputs near 0 that one record makes multiples of a power of 2.

Let a record add c > 0 to a release. |c + a| < c/2 forces |a| in (c/2, 3c/2); there a is a multiple of its spacing. c is
a multiple of that spacing as well, c + a is exact (Sterbenz), and so a multiple of it. On the empty dataset the release
is the noise a itself, which need not be. The event E that the release is below c/2 in absolute value, and no multiple
of 2^-bits, then has probability 0 under one of two neighbours: delta(eps) is at least its probability under the other,
for every eps. The event is one on what is released: decoded values, divided by an irrational C, are rounded once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpverdict.audit.statistics.proportions import proportion_lower, proportion_upper
from dpverdict.mechanisms.core.calibration import family_scales, root
from dpverdict.numerics.arrays import Array
from dpverdict.proofs.checks.outcome import Finding, Method
from dpverdict.proofs.checks.vertices import every

SAMPLES = 60_000
ERROR_PROBABILITY = 1e-10
"""Of each sampled finding: its Clopper-Pearson bounds hold but for this probability. The seed is fixed."""
SEED = 20241119


def count_noise(rng: np.random.Generator, dim: int, size: int) -> Array:
    """Algorithm 1's count on no record: 2 eta."""
    _, shared = family_scales(dim, root(dim), Fraction(1))
    return np.asarray(2 * (shared * rng.standard_normal(size)))


def query_noise(rng: np.random.Generator, dim: int, size: int) -> Array:
    """Algorithm 1's query on no record: eta + z."""
    own, shared = family_scales(dim, root(dim), Fraction(1))
    return np.asarray(shared * rng.standard_normal(size) + own * rng.standard_normal(size))


def embedded_noise(rng: np.random.Generator, dim: int, size: int) -> Array:
    """The last coordinate C n + Z of Lemma 3.3's release on no record, C = d^(1/4): Z."""
    return np.asarray(np.sqrt(dim + dim**0.5) * rng.standard_normal(size))


def embedded_shift(dim: int) -> float:
    """What a record adds to that coordinate: the float64 next to C."""
    return float(dim**0.25)


def in_event(values: Array, bits: int, shift: float) -> int:
    """How many releases are in E: below shift/2 in absolute value, and no multiple of 2^-bits."""
    near = values[np.abs(values) < shift / 2]
    scaled = near if bits > 1000 else np.ldexp(near, bits)  # exact: a power of 2; 2^-1074 divides every float64
    return 0 if bits > 1000 else int(np.count_nonzero(scaled != np.floor(scaled)))


def _spacings(low: float, high: float) -> list[Fraction]:
    """The float64 spacings met in [low, high), low > 0: one for every binade, at its ends and inside."""
    points, x = [low], low
    while x < high:
        points += [x, float(np.nextafter(min(2 * x, high), 0))]
        x *= 2
    return [Fraction(float(np.spacing(point))) for point in points]


def never_on_one_record(name: str, shifts: Sequence[tuple[int, float]], bits: int) -> Finding:
    """E has probability 0 on one record, which adds ``shift``, for every (d, shift): proved by the spacings."""
    spacings = [
        (dim, gap)
        for dim, shift in shifts
        for gap in (*_spacings(shift / 2, 1.5 * shift), Fraction(float(np.spacing(shift))))
    ]
    return every(
        name,
        spacings,
        lambda case: (case[1] * 2**bits).denominator == 1,
        over="binades: the spacings of float64 in the range",
        cases=6 * len(shifts),
        show=lambda case: f"d = {case[0]}: spacing 2^{1 - case[1].denominator.bit_length()}",
    )


def more_often(name: str, values: Array, bits: int, least: float, shift: float) -> Finding:
    """E has a probability above ``least``, by the releases ``values``; undecided between the two bounds."""
    found = in_event(values, bits, shift)
    lower = float(proportion_lower(found, values.size, ERROR_PROBABILITY))
    upper = float(proportion_upper(found, values.size, ERROR_PROBABILITY))
    holds = True if lower > least else False if upper < least else None
    return Finding(
        name=name,
        holds=holds,
        method=Method.SAMPLED,
        scope=f"{values.size} releases, mu = 1, error probability {ERROR_PROBABILITY:g}",
        margin=f"P(E) >= {lower:.4f} > {least:g}" if holds else "",
        witness="" if holds else f"{lower:.4f} <= P(E) <= {upper:.4f}, from {found} of {values.size} releases",
    )
