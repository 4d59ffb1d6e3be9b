"""The primitives of the normal law in ball arithmetic, for balls and for power series of balls."""

from __future__ import annotations

from typing import Final, TypeVar, final

from flint import arb, arb_series, ctx

B = TypeVar("B", arb, arb_series)

_FAR: Final = arb(1000)
"""From here on, what FLINT adds to the radius of erfc for the radius of its argument is too large by far."""

_constants: dict[int, tuple[arb, arb]] = {}


def _roots() -> tuple[arb, arb]:
    """sqrt(1/2) and sqrt(2) at the current precision."""
    if ctx.prec not in _constants:
        _constants.clear()
        _constants[ctx.prec] = (arb(0.5).sqrt(), arb(2).sqrt())
    return _constants[ctx.prec]


@final
class BallNormal:
    """The `Arithmetic` of balls; see `dpverdict.mechanisms.gaussian_formulas.Arithmetic` for the meanings.

    Every formula is evaluated as it stands: where it cancels, the radius of the ball grows, and the caller raises the
    precision. The quantile is for balls only, the other primitives are also for power series.
    """

    def halve(self, x: B) -> B:
        return x * arb(0.5)

    def tail(self, t: B) -> B:
        x = t * _roots()[0]
        # erfc decreases, and of an exact number it is accurate at any size
        if isinstance(x, arb) and x > _FAR:  # type: ignore[redundant-expr]  # B is also a power series
            return x.lower().erfc().union(x.upper().erfc()) * arb(0.5)
        return x.erfc() * arb(0.5)

    def quantile(self, probability: arb) -> arb:
        return _roots()[1] * (2 * probability).erfcinv()

    def central_mass(self, half: B) -> B:
        return (half * _roots()[0]).erf()

    def tail_gap(self, epsilon: B, centre: B, half: B) -> B:
        return self.tail(centre - half) - self.tilted_tail(epsilon, centre, half)

    def tail_gap_complement(self, epsilon: B, centre: B, half: B) -> B:
        return self.tail(half - centre) + self.tilted_tail(epsilon, centre, half)

    def tilted_tail(self, epsilon: B, centre: B, half: B) -> B:
        return epsilon.exp() * self.tail(centre + half)
