"""The composition of lattice laws in ball arithmetic: the strict route, for small sizes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, arb_poly

from dpverdict.audit.lattice_law import LatticeLaw, LatticePair
from dpverdict.audit.loss_domains import EPSILON
from dpverdict.balls import Enclosure, Exact, ball, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted

MAX_DEGREE = 1 << 17
"""The most points a composed law may have on this route."""

_MAX_BITS = 1 << 14


def certified_delta(pairs: Sequence[tuple[LatticePair, int]], epsilon: Exact) -> Enclosure:
    """Encloses delta(epsilon) of every loss that the pairs bracket, composed: from the exact powers of both laws.

    The composition is certified. That the laws bracket the losses is what their maker states: for certain
    (`laplace_lattice`), or as far as the tails are as accurate as they say (`lattice_pair`).

    Args:
        pairs: laws on one lattice, each with the number of times it is composed.
        epsilon: any real number.

    Raises:
        InvalidValue: no pairs, different lattices, or a composed law of more than `MAX_DEGREE` points.
        PrecisionExhausted: cancellation beyond 16384 bits.
    """
    exact = EPSILON.exact(epsilon)
    lower = profile_ball([(pair.optimistic, count) for pair, count in pairs], exact)
    upper = profile_ball([(pair.pessimistic, count) for pair, count in pairs], exact)
    one = arb(1)
    return Enclosure.hull(lower, upper if upper.upper() <= one else one.max(lower))


def profile_ball(parts: Sequence[tuple[LatticeLaw, int]], epsilon: Fraction, *, bits: int = 60) -> arb:
    """delta(epsilon) of the composition of the laws themselves, with at least ``bits`` accurate bits, or exactly.

    An infinite loss of any part is an infinite loss of the whole: its mass is 1 minus the product of the finite ones.
    """
    if not parts:
        raise InvalidValue("pairs", "[]", "not empty", "give at least one loss to compose")
    intervals = {law.interval for law, _ in parts}
    if len(intervals) > 1:
        raise InvalidValue("interval", str(sorted(intervals)), "the same for all losses", "use one lattice")
    degree = sum(count * (law.masses.size - 1) for law, count in parts)
    if degree > MAX_DEGREE:
        raise InvalidValue("pairs", f"{degree} points", f"at most {MAX_DEGREE} points", "use LatticeBounds")
    working = bits + 68
    while working <= _MAX_BITS:
        with precision(working):
            value = _profile(parts, parts[0][0].interval, epsilon)
        if value.is_exact() or value.rel_accuracy_bits() >= bits:
            return value
        working *= 2
    raise PrecisionExhausted("delta", _MAX_BITS, "the value may be exactly 0")


def _profile(parts: Sequence[tuple[LatticeLaw, int]], interval: Fraction, epsilon: Fraction) -> arb:
    power = arb_poly([1])
    finite, lowest = arb(1), 0
    infinite = False
    for law, count in parts:
        power *= arb_poly([arb(mass) for mass in law.masses.tolist()]) ** count
        finite *= (1 - arb(law.infinity_mass)) ** count
        infinite = infinite or law.infinity_mass > 0
        lowest += count * law.lowest
    total = 1 - finite if infinite else arb(0)
    first = max(0, epsilon // interval + 1 - lowest)  # the first loss above epsilon
    masses = power.coeffs()
    step = (-ball(interval)).exp()
    decay = (ball(epsilon) - ball((lowest + first) * interval)).exp()
    for mass in masses[first:]:
        total += mass * (1 - decay)
        decay *= step
    return total
