"""Inequalities on whole regions: a box is covered by balls, each of which decides the inequality on its part.

Where that gives up, the centred form takes over: f(m) + sum_i f_i(X) (X_i - m_i) encloses f on a box X with the middle
m, by the mean value theorem, and gets narrow with the square of the box, whatever cancels in the formula of f.

An infinite region becomes a finite box by a substitution (y = 1/sqrt d maps d >= 6 to 0 < y <= 0.409), or is cut
where a proof of monotonicity takes over (`increasing_on_box`, or `dpverdict.proofs.checks.identities.positive`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import arb, arb_series, ctx

from dpverdict.balls import Enclosure, Exact, Real, ball, compare, exactly, float_down, precision
from dpverdict.proofs.checks.evidence import (
    Evidence,
    Traced,
    dyadic,
    ends,
    is_recorded,
    note,
    number,
    real_ends,
    variable,
)
from dpverdict.proofs.checks.outcome import Finding, Method, means_of_proof

Side = tuple[Fraction, Fraction]

MOST_TEXT = 600
"""The longest expression that a finding shows; a certificate has all of it."""


@means_of_proof
def positive_on_box(
    name: str,
    function: Callable[..., arb],
    box: Mapping[str, tuple[Exact, Exact]],
    *,
    bits: int = 64,
    most: int = 100_000,
    scope: str | None = None,
) -> Finding:
    """function > 0 at every point of the box, ends included.

    Args:
        function: encloses the true value for balls of arguments, in the order of ``box``.
        box: the two ends of every variable.
        bits: working precision.
        most: the number of balls beyond which the finding is undecided, and names a widest part that is open. From a
            tenth of it on the centred form is tried where the plain one does not decide; it needs a differentiable
            function of arithmetic and elementary functions.

    Returns:
        A finding with the smallest certified lower bound over the balls as margin, or with a point at which the
        function is certainly <= 0.

    >>> positive_on_box("x^2 + 1 > x", lambda x: x * x + 1 - x, {"x": (-10, 10)}).holds
    True
    """
    names = list(box)
    whole = tuple((exactly(low, name=key), exactly(high, name=key)) for key, (low, high) in box.items())
    words = scope or ", ".join(f"{low} <= {key} <= {high}" for key, (low, high) in box.items())
    text = _expression(function, names, whole) or ""
    sides = ((text if 0 < len(text) <= MOST_TEXT else f"f({', '.join(names)})", ">", "0"),)
    pending, used = {0: [whole]}, 0  # by how often a part was halved
    least = math.inf
    leaves: list[list[object]] = []
    with precision(bits):
        while pending:
            used += 1
            # In turn the widest part, so that no large part where it is false is missed, and one of the smallest.
            widest = used % 2 == 1
            depth = min(pending) if widest else max(pending)
            part = pending[depth].pop()
            if not pending[depth]:
                del pending[depth]
            value = function(*(_spanned(side) for side in part))
            if used > most // 10 and not value > 0:
                value = _centred(function, part, value)
            if value > 0:
                least = min(least, float_down(value))
                if is_recorded():
                    leaves.append([[number(end) for side in part for end in side], dyadic(arb(float_down(value)))])
                continue
            middle = tuple((low + high) / 2 for low, high in part)
            centre = function(*(ball(m) for m in middle))
            if value <= 0 or centre <= 0:
                note(_box_point, function, names, middle, centre)
                places = ", ".join(f"{key} = {m}" for key, m in zip(names, middle, strict=True))
                return Finding(
                    name=name,
                    holds=False,
                    method=Method.BALLS,
                    scope=words,
                    witness=f"{places}: {Enclosure.of_ball(centre).show(9)}",
                    sides=sides,
                )
            if used >= most and widest:
                where = f"undecided after {used} balls, on {_named(names, part)}"
                if value.is_finite():
                    where += f": {Enclosure.of_ball(value).show(6)}"
                return Finding(name=name, holds=None, method=Method.BALLS, scope=words, witness=where, sides=sides)
            pending.setdefault(depth + 1, []).extend(_halved(part))
    note(_box_cover, function, names, whole, leaves)
    return Finding(name=name, holds=True, method=Method.BALLS, scope=words, margin=f"{least:.6g}", sides=sides)


def _centred(function: Callable[..., Any], part: Sequence[Side], plain: arb) -> arb:  # Any: of balls, or of series
    """The centred form of the function on a box; ``plain`` where it has no derivative in balls."""
    former = ctx.cap
    ctx.cap = 2
    try:
        made: arb = function(*(ball((low + high) / 2) for low, high in part))
        for i, (low, high) in enumerate(part):
            series = [arb_series([_spanned(side), arb(int(k == i))], 2) for k, side in enumerate(part)]
            slope = function(*series)[1]
            made = made + slope * (_spanned((low, high)) - ball((low + high) / 2))
    except (TypeError, AttributeError, ValueError, NotImplementedError, ArithmeticError, IndexError):
        return plain
    finally:
        ctx.cap = former
    return made if made.is_finite() else plain


def _named(names: Sequence[str], part: Sequence[Side]) -> str:
    """A part of a box in words, its ends to six digits."""
    sides = zip(names, part, strict=True)
    return ", ".join(f"{float(low):.6g} <= {name} <= {float(high):.6g}" for name, (low, high) in sides)


def _box_cover(
    function: Callable[..., arb], names: Sequence[str], whole: Sequence[Side], leaves: Sequence[Sequence[object]]
) -> Evidence:
    """A box, the parts it was cut into in the order they were decided, and a lower bound of the function on each."""
    return {
        "kind": "boxes",
        "expression": _expression(function, names, whole),
        "box": [[number(low), number(high)] for low, high in whole],
        "variables": dict.fromkeys(names, "real"),
        "parts": list(leaves),
    }


def _box_point(function: Callable[..., arb], names: Sequence[str], middle: Sequence[Fraction], value: arb) -> Evidence:
    """A point of a box at which the function is not positive."""
    return {
        "kind": "box failure",
        "expression": _expression(function, names, [(m, m) for m in middle]),
        "at": [number(m) for m in middle],
        "variables": dict.fromkeys(names, "real"),
        "value": ends(value),
    }


def _expression(function: Callable[..., object], names: Sequence[str], box: Sequence[Side]) -> str | None:
    """What a function of balls computes, as text; None where it uses more than arithmetic and elementary functions."""
    try:
        made: object = function(*(variable(name, _spanned(side)) for name, side in zip(names, box, strict=True)))
    except (TypeError, AttributeError, ValueError, NotImplementedError, ArithmeticError):
        return None
    return made.text if isinstance(made, Traced) else None


@means_of_proof
def increasing_on_box(
    name: str, function: Callable[[arb_series], arb_series], low: Exact, high: Exact, *, variable: str = "x"
) -> Finding:
    """function' > 0 on [low, high], by power series over balls; decreasing functions are passed with a minus sign."""

    def slope(x: arb) -> arb:
        former = ctx.cap
        ctx.cap = 2
        try:
            return function(arb_series([x, arb(1)], 2))[1]
        finally:
            ctx.cap = former

    return positive_on_box(name, slope, {variable: (low, high)})


@means_of_proof
def smaller(name: str, left: Real, right: Real, *, scope: str, argued: str = "") -> Finding:
    """left < right for two numbers, at growing precision; the margin is a lower bound of right - left.

    It is one case: ``argued`` says in words, which nothing checks, what it may show for others.
    """
    return _ordered(name, left, right, scope, argued, (-1,))


@means_of_proof
def not_larger(name: str, left: Real, right: Real, *, scope: str, argued: str = "") -> Finding:
    """left <= right for two numbers, as in `smaller`."""
    return _ordered(name, left, right, scope, argued, (-1, 0))


@means_of_proof
def equal(name: str, left: Real, right: Real, *, scope: str, argued: str = "") -> Finding:
    """left = right; only rational numbers can be shown to be equal, for others write an identity."""
    return _ordered(name, left, right, scope, argued, (0,))


_RELATIONS: dict[tuple[int, ...], str] = {(-1,): "<", (-1, 0): "<=", (0,): "="}


def _ordered(name: str, left: Real, right: Real, scope: str, argued: str, allowed: tuple[int, ...]) -> Finding:
    sign = compare(left, right)
    holds = None if sign is None else sign in allowed
    if holds is not None:
        note(_numbers, left, right, allowed, holds=holds)
    gap = f"{Enclosure.of(Real(lambda: right.ball() - left.ball())).lower:.6g}" if sign else "0 (equal)"
    return Finding(
        name=name,
        holds=holds,
        method=Method.EXACT if left.rational is not None and right.rational is not None else Method.BALLS,
        scope=scope,
        margin=gap if holds else "",
        witness="" if holds else f"left {_shown(left)}, right {_shown(right)}",
        sides=((_glance(left), _RELATIONS[allowed], _glance(right)),),
        cases=1,
        argued=argued,
    )


def _numbers(left: Real, right: Real, allowed: tuple[int, ...], *, holds: bool) -> Evidence:
    """Two numbers that were compared."""
    a, b = real_ends(left, right)
    return {"kind": "comparison", "left": a, "right": b, "signs": ["=><"[sign] for sign in allowed], "holds": holds}


@means_of_proof
def rounds_to(name: str, value: Real, printed: str, *, scope: str) -> Finding:
    """The decimal ``printed`` is the value, rounded to its last digit: they differ by at most half a unit of it.

    >>> rounds_to("sqrt 2", Real.of(2).sqrt(), "1.41421", scope="one number").holds
    True
    """
    decimals = len(printed.partition(".")[2])
    unit = Fraction(1, 2 * 10**decimals)
    target = exactly(printed)
    signs = compare(Real.of(target - unit), value), compare(value, Real.of(target + unit))
    holds = None if None in signs else all(sign is not None and sign <= 0 for sign in signs)
    exact = value.rational is not None
    if holds is not None:
        note(lambda: {"kind": "rounding", "printed": printed, "value": _narrow(value), "holds": holds})
    return Finding(
        name=name,
        holds=holds,
        method=Method.EXACT if exact else Method.BALLS,
        scope=scope,
        margin=f"{_inside(value, target, unit):.3g}" if holds else "",
        witness="" if holds else f"{printed} printed, the value is {_shown(value)}",
        sides=((_glance(value), "rounded is", printed),),
        cases=1,
        named=True,
    )


def _inside(value: Real, target: Fraction, unit: Fraction) -> float:
    """How far inside the numbers that round to the target the value is, at least."""
    if value.rational is not None:
        return float(unit - abs(value.rational - target))
    with precision(256):
        made = ball(unit) - abs(value.ball() - ball(target))
        return max(0.0, Enclosure.of_ball(made).lower) if made.is_finite() else 0.0


def _narrow(value: Real) -> object:
    """A number, or a ball of about 40 digits."""
    if value.rational is not None:
        return number(value.rational)
    with precision(160):
        return ends(value.ball(), 160)


def _glance(value: Real) -> str:
    """A number, or a ball of it at one precision: unlike `_shown` also where it may be exactly 0."""
    if value.rational is not None:
        return _shown(value)
    with precision(128):
        made = value.ball()
        return Enclosure.of_ball(made).show(10) if made.is_finite() else "(no finite ball of 128 bits)"


def _shown(value: Real) -> str:
    if value.rational is not None and value.rational.denominator < 10**6:
        return str(value.rational)
    return Enclosure.of(value).show(10)


def _spanned(side: Side) -> arb:
    low, high = side
    return ball(low).union(ball(high))


def _halved(part: tuple[Side, ...]) -> list[tuple[Side, ...]]:
    """The box cut in two across its widest side (relative to its distance from 0 where that is large)."""
    widths = [(high - low) / max(Fraction(1), abs(low), abs(high)) for low, high in part]
    i = widths.index(max(widths))
    low, high = part[i]
    middle = (low + high) / 2
    return [(*part[:i], (low, middle), *part[i + 1 :]), (*part[:i], (middle, high), *part[i + 1 :])]
