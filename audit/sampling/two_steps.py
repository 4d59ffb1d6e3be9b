"""Two Poisson-sampled steps of Gaussian noise: the profile as a one-dimensional integral, certified.

With g(z) = 1 - q + q exp(mu z - mu^2/2), z standard normal under Q, condition on the first step:

    remove: delta(epsilon) = integral of phi(z) g(z) h(exp(epsilon)/g(z)) dz,      h(a) = E_Q(g - a)_+,
    add:    delta(epsilon) = integral of phi(z) k(exp(epsilon) g(z)) dz,           k(a) = E_Q(1 - a g)_+,

with, for F(b) = Phi(mu/2 - log(b)/mu) - b Phi(-mu/2 - log(b)/mu), the profile of the Gaussian pair at log b,

    h(a) = q F((a - 1 + q)/q) for a > 1 - q, else 1 - a;      k(a) = c F(a q/c), c = 1 - a (1 - q), if c > 0, else 0.

Both change their form at the z where the second step leaves nothing open; beyond it the integral has a closed form, or
is 0. Up to there the integrand is analytic, and all derivatives vanish at the end: the integral is bisected towards it
(`acb.integral`), and over the last piece F is between its ends, as it falls in b. Few steps whose contour falls too
slowly are what this is for: it takes 0.1 s whatever the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import acb, arb

from dpverdict.audit.losses.domains import Direction
from dpverdict.balls import Real, ball, precision
from dpverdict.errors import PrecisionExhausted

_ATTEMPTS = 8


def two_steps_profile(mu: Real, rate: Fraction, order: Direction, epsilon: Fraction, bits: int) -> arb:
    """delta(epsilon) of two steps, for epsilon >= 0 and 0 < rate < 1, to ``bits`` accurate bits.

    Raises:
        PrecisionExhausted: the integral is not determined.
    """
    wanted = bits + 10
    for _ in range(_ATTEMPTS):
        with precision(2 * wanted + 64):
            value = _Integral(mu.ball(), ball(rate), ball(epsilon).exp(), wanted).of(order)
        accuracy = value.rel_accuracy_bits()
        if accuracy >= bits or value.is_zero():
            return value
        wanted = 2 * wanted if value.contains(0) else wanted + max(bits - accuracy, 16)
    raise PrecisionExhausted("the integral", wanted, "ask for a smaller epsilon")


class _Integral:
    """One epsilon at one precision; absolute errors of about 2^-bits."""

    def __init__(self, mu: arb, rate: arb, level: arb, bits: int) -> None:
        self.mu, self.q, self.level, self.bits = mu, rate, level, bits

    def of(self, order: Direction) -> arb:
        """delta in one order."""
        return self._remove() if order is Direction.REMOVE else self._add()

    def _growth(self, z: acb) -> acb:
        return 1 - self.q + self.q * (self.mu * z - self.mu * self.mu / 2).exp()

    def _where(self, growth: arb) -> arb:
        """The z with g(z) = growth > 1 - q."""
        return ((growth - 1 + self.q) / self.q).log() / self.mu + self.mu / 2

    def _pair(self, b: acb) -> acb:
        """F(b); not a number where the ball meets the cut of the logarithm."""
        if not b.real > 0:
            return acb("nan")
        x = b.log() / self.mu
        return _phi(self.mu / 2 - x) - b * _phi(-self.mu / 2 - x)

    def _remove(self) -> arb:
        end = self._where(self.level / (1 - self.q))

        def inside(z: acb, _: bool) -> acb:
            growth = self._growth(z)
            return _normal(z) * growth * self.q * self._pair((self.level / growth - 1 + self.q) / self.q)

        low = -(arb(2 * self.bits).sqrt() * arb("0.84") + 1)  # Phi(low) < 2^-bits; g < 1 there
        near = end - arb(2) ** -self.bits
        total = arb(0)
        if near > low:
            total = _integral(inside, low, near, self.bits)
        left = _phi(acb(low.min(end))).real.upper() * arb(0, 1)
        beyond = (1 - self.q - self.level) * _phi(acb(-end)).real + self.q * _phi(acb(self.mu - end)).real
        sliver = arb(2) ** -self.bits * (self.level / (1 - self.q)).upper() * arb(0, 1)
        return (total + left + beyond + sliver).nonnegative_part()

    def _add(self) -> arb:
        edge = 1 / (self.level * (1 - self.q))  # where the second step can tell no more
        if not edge > 1 - self.q:
            return arb(0) if edge < 1 - self.q else arb(0, 1).nonnegative_part()
        end = self._where(edge)

        def inside(z: acb, _: bool) -> acb:
            a = self.level * self._growth(z)
            c = 1 - a * (1 - self.q)
            return acb("nan") if not c.real > 0 else _normal(z) * c * self._pair(a * self.q / c)

        low = -(arb(2 * self.bits).sqrt() * arb("0.84") + 1)
        near = end - arb(2) ** -self.bits
        total = _integral(inside, low, near, self.bits) if near > low else arb(0)
        left = _phi(acb(low.min(end))).real.upper() * arb(0, 1)
        sliver = arb(2) ** -self.bits * arb(0, 1)
        return (total + left + sliver).nonnegative_part()


def _integral(inside: Callable[[acb, bool], acb], low: arb, high: arb, bits: int) -> arb:
    tolerance = arb(2) ** -bits
    found: arb = acb.integral(
        inside, acb(low), acb(high), abs_tol=tolerance, rel_tol=tolerance, eval_limit=200_000, depth_limit=20_000
    ).real
    return found


def _phi(x: acb | arb) -> acb:
    return (-acb(x) / arb(2).sqrt()).erfc() / 2


def _normal(z: acb) -> acb:
    return (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
