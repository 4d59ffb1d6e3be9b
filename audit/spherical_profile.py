"""The curves of spherically symmetric noise at any real epsilon, to any relative accuracy, each computed once."""

from __future__ import annotations

from fractions import Fraction
from typing import final

from flint import arb

from dpverdict.audit.radial_law import RadialLaw
from dpverdict.audit.spherical_integral import Quantity, integrate, integrate_tails
from dpverdict.balls import ball, precision
from dpverdict.errors import PrecisionExhausted

_MAX_BITS = 1 << 13
_KEPT = 4096
_SPARE = 12
_TAILS = (Quantity.P_TAIL, Quantity.Q_TAIL)


@final
class SphericalProfile:
    """The profile and the tails of a radial law against itself moved by a unit vector.

    Reflecting the space at the middle of the two centres exchanges P and Q: so P[L < -s] = Q[L > s], and the profile at
    -s follows from that at s. Every method gives at least ``bits`` accurate bits, or an exact ball.
    """

    __slots__ = ("_dim", "_kept", "_law")

    def __init__(self, dim: int, law: RadialLaw) -> None:
        self._dim = dim
        self._law = law
        self._kept: dict[tuple[Quantity, Fraction], tuple[int, arb]] = {}

    def delta(self, epsilon: Fraction, bits: int) -> arb:
        """The privacy profile at any epsilon: delta(-s) = 1 - exp(-s) + exp(-s) delta(s)."""
        if epsilon >= 0:
            return self._integral(Quantity.PROFILE, epsilon, bits)
        if -epsilon > bits + 8:  # 0 <= delta <= 1 is enough to know
            value = arb(0).union(arb(1))
        else:
            value = self._integral(Quantity.PROFILE, -epsilon, bits + 4)
        with precision(bits + 40):
            return -ball(epsilon).expm1() + ball(epsilon).exp() * value

    def complement(self, epsilon: Fraction, bits: int) -> arb:
        """1 - delta(epsilon)."""
        value = self._one_minus(Quantity.PROFILE, abs(epsilon), bits + 4)
        with precision(bits + 40):
            return value if epsilon >= 0 else ball(epsilon).exp() * value

    def p_above(self, loss: Fraction, bits: int) -> arb:
        """P[L > loss]; the loss has no atoms."""
        if loss >= 0:
            return self._integral(Quantity.P_TAIL, loss, bits)
        return self._one_minus(Quantity.Q_TAIL, -loss, bits)

    def q_above(self, loss: Fraction, bits: int) -> arb:
        """Q[L > loss]."""
        if loss >= 0:
            return self._integral(Quantity.Q_TAIL, loss, bits)
        return self._one_minus(Quantity.P_TAIL, -loss, bits)

    def _one_minus(self, quantity: Quantity, level: Fraction, bits: int) -> arb:
        wanted = bits + 8
        while wanted <= _MAX_BITS:
            value = self._integral(quantity, level, wanted)
            with precision(wanted + 20):
                rest = 1 - value
            if rest.is_exact() or rest.rel_accuracy_bits() >= bits:
                return rest
            lost = wanted - rest.rel_accuracy_bits()
            wanted = bits + lost + 8 if lost < wanted else 2 * wanted
        raise PrecisionExhausted("1 - a probability", _MAX_BITS, "it may be too close to 0")

    def _integral(self, quantity: Quantity, level: Fraction, bits: int) -> arb:
        kept = self._kept.get((quantity, level))
        if kept is not None and kept[0] >= bits:
            return kept[1]
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        if quantity is Quantity.PROFILE:
            value = integrate(self._law, self._dim, level, quantity, bits)
            self._kept[quantity, level] = bits, value
            return value
        spare = bits + _SPARE  # the two tails are mostly asked for together, and soon to a few bits more
        for tail, value in zip(_TAILS, integrate_tails(self._law, self._dim, level, spare), strict=True):
            self._kept[tail, level] = spare, value
        return self._kept[quantity, level][1]
