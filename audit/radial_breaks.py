"""Where a surface of constant loss meets the axis: roots bracketed by certain signs."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, ctx

from dpverdict.audit.radial_law import End, EndKind, Undecided

_MAX_SQUARINGS = 40


def break_end(sign: Callable[[arb], arb], low: arb, high: arb, *, beyond: int) -> End:
    """The break between two exact parameters 0 < low < high at which ``sign`` is of opposite signs.

    The bracket is halved (in the logarithm while its ends are of different size) until the current precision does not
    decide the sign in its middle; its ends keep their certain signs. ``beyond``: see `End`.

    Raises:
        Undecided: the signs at low and high are not certainly opposite at the current precision.
    """
    at_low, at_high = sign(low), sign(high)
    positive_at_low = bool(at_low > 0)
    if not ((at_low > 0 and at_high < 0) or (at_low < 0 and at_high > 0)):
        raise Undecided
    for _ in range(2 * ctx.prec):
        middle = ((low * high).sqrt() if high > 2 * low else (low + high) / 2).mid()
        if not (low < middle and middle < high):
            break
        value = sign(middle)
        if (value > 0) if positive_at_low else (value < 0):
            low = middle
        elif (value < 0) if positive_at_low else (value > 0):
            high = middle
        else:
            break
    return End(kind=EndKind.BREAK, at=low.union(high), beyond=beyond)


def towards_zero(holds: Callable[[arb], bool]) -> arb:
    """An exact parameter in (0, 1/2] where a condition certainly holds that holds near 0."""
    v = arb(0.5)
    for _ in range(_MAX_SQUARINGS):
        if holds(v):
            return v
        v = (v * v).mid()
    raise Undecided


def towards_one(holds: Callable[[arb], bool]) -> arb:
    """An exact parameter in [1/2, 1) where a condition certainly holds that holds near 1."""
    gap = 1
    while gap < ctx.prec:
        v = 1 - arb(2) ** -gap
        if holds(v):
            return v
        gap += max(gap // 2, 1)
    raise Undecided
