"""The scale of R1SMG that was claimed, and the least one at which its noise really keeps the guarantee."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpverdict.audit.radial_random_direction import RandomDirectionGaussian
from dpverdict.audit.root_bracket import Bracket
from dpverdict.audit.spherical_integral import Quantity, integrate
from dpverdict.balls import Enclosure, Exact, Real, ball, exactly, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.rank1_gaussian import published_psi

_BITS = 96
_MAX_BITS = 1 << 12
_WIDTH = 2**58


def claimed_variance(dim: int, epsilon: Exact, delta: Exact) -> Real:
    """sigma^2 = 2/(epsilon psi) for l2-sensitivity 1: a variance. The claim is false for dim >= 4.

    Args:
        dim: M >= 3.
        epsilon, delta: the claim; epsilon > 0, 0 < delta < 1.

    Raises:
        InvalidValue: an argument out of range.

    Reference: Ji and Li 2024, "Less is More" (arXiv:2306.02256), abstract; psi is `published_psi`.

    >>> round(claimed_variance(100, 1, "1e-5").nearest(), 9)
    2.663258234
    """
    level, failure = _guarantee(dim, epsilon, delta, least_dim=3)
    psi = published_psi(dim, failure)
    return Real(lambda: 2 / (ball(level) * psi.ball()))


def claimed_scale(dim: int, epsilon: Exact, delta: Exact) -> Real:
    """The standard deviation sigma with sigma^2 = `claimed_variance`."""
    return claimed_variance(dim, epsilon, delta).sqrt()


def honest_scale(dim: int, epsilon: Exact, delta: Exact) -> Enclosure:
    """Encloses the least sigma at which sigma z v is really (epsilon, delta)-DP, for l2-sensitivity 1.

    delta(epsilon) is certainly above ``delta`` at the lower end and certainly at or below it at the upper end, and it
    does not increase with sigma: so ``upper`` is a scale to use, as it is.

    Args:
        dim: M >= 2.
        epsilon, delta: the guarantee; epsilon >= 0, 0 < delta < 1.

    Raises:
        InvalidValue: an argument out of range.

    >>> honest_scale(3, 1, "1e-3").upper
    385.6877005760884
    """
    level, failure = _guarantee(dim, epsilon, delta, least_dim=2)
    bracket = _bracket(dim, level, failure)
    for point in bracket.trials(_BITS):
        if bracket.width * _WIDTH <= bracket.high:
            break
        bracket.narrow(point, *_excess(dim, level, failure, point))
    with precision(_BITS):
        return Enclosure.hull(ball(bracket.low), ball(bracket.high))


def _bracket(dim: int, epsilon: Fraction, delta: Fraction) -> Bracket:
    """Two scales with the root between them, found in steps of 4 from 1/delta: the profile falls like 1/sigma."""
    low = high = 1 / delta
    at_low, sign = _excess(dim, epsilon, delta, low)
    at_high = at_low
    while sign > 0:
        low, at_low, high = high, at_high, high * 4
        at_high, sign = _excess(dim, epsilon, delta, high)
        if sign <= 0:
            return Bracket(low=low, high=high, at_low=at_low, at_high=at_high)
    while True:
        high, at_high, low = low, at_low, low / 4
        at_low, sign = _excess(dim, epsilon, delta, low)
        if sign > 0:
            return Bracket(low=low, high=high, at_low=at_low, at_high=at_high)


def _excess(dim: int, epsilon: Fraction, delta: Fraction, scale: Fraction) -> tuple[arb, int]:
    """log(delta(epsilon)/delta) at the scale, with the certain sign of delta(epsilon) - delta; -1 when it is 0."""
    bits = _BITS
    while bits <= _MAX_BITS:
        value = integrate(RandomDirectionGaussian(scale), dim, epsilon, Quantity.PROFILE, bits)
        with precision(bits + 16):
            excess, logarithm = value - ball(delta), (value / ball(delta)).log()
        if excess > 0 or excess <= 0:
            return logarithm, 1 if excess > 0 else -1
        bits *= 2
    raise PrecisionExhausted("the sign of delta(epsilon) - delta", _MAX_BITS, "change delta a little")


def _guarantee(dim: object, epsilon: Exact, delta: Exact, *, least_dim: int) -> tuple[Fraction, Fraction]:
    level, failure = exactly(epsilon, name="epsilon"), exactly(delta, name="delta")
    if isinstance(dim, bool) or not isinstance(dim, int) or dim < least_dim:
        raise InvalidValue("dim", dim, f"a whole number >= {least_dim}", "give the dimension of the statistic")
    if level < 0 or (level == 0 and least_dim == 3):
        raise InvalidValue("epsilon", epsilon, "> 0", "give the epsilon of the guarantee")
    if not 0 < failure < 1:
        raise InvalidValue("delta", delta, "in (0, 1)", "give the delta of the guarantee")
    return level, failure
