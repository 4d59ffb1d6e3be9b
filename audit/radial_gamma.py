"""The distribution function of a gamma variable on complex balls, quick also on wide ones."""

from __future__ import annotations

from flint import acb, arb

_WIDE_BITS = 12


def radius_share(shape: arb, z: acb, analytic: bool, *, tail: bool) -> acb:
    """P[G <= z], or P[G > z] with ``tail``, for G ~ Gamma(shape), extended to complex z off the real numbers <= 0.

    The series behind the incomplete gamma function can take half a second on a wide ball; there, a real interval is
    answered by its two ends (the function is monotone), and the question whether it is analytic by "perhaps not", at
    which the quadrature cuts the interval.
    """
    real = z.imag.is_zero()
    if analytic and not (z.real > 0 or z.imag > 0 or z.imag < 0):
        return acb("nan")
    if z.real.rel_accuracy_bits() >= _WIDE_BITS:
        return _share(shape, z, tail)
    if real and not analytic:
        low, high = z.real.lower(), z.real.upper()
        at_low = _share(shape, acb(low), tail).real if low > 0 else arb(1 if tail else 0)
        return acb(at_low.union(_share(shape, acb(high), tail).real)) if high > 0 else acb(at_low)
    wide = z.real.rel_accuracy_bits() < 2
    return acb("nan") if wide else _share(shape, z, tail)


def _share(shape: arb, z: acb, tail: bool) -> acb:
    value: acb = z.gamma_upper(shape, regularized=1) if tail else z.gamma_lower(shape, regularized=1)
    return value
