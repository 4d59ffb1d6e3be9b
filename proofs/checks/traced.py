"""A ball that remembers how it was computed, so that what a function does on a box can be written as an expression."""

from __future__ import annotations

from typing import Any, final

from flint import arb, fmpq, fmpz

from dpverdict.proofs.checks.evidence import ends

_FUNCTIONS = ("sqrt", "exp", "log", "erf", "erfc", "sin", "cos", "atan", "asin", "acos")


@final
class Traced:
    """The value of an expression on a box: its ball, and its text.

    Arithmetic with numbers and balls gives another; functions of balls that are not listed here do not exist, and a
    computation that needs them is not traced. A ball from elsewhere, such as that of pi, enters as its two ends.
    """

    __slots__ = ("text", "value")
    text: str
    value: arb

    def __init__(self, value: arb, text: str) -> None:
        self.value, self.text = value, text

    def __add__(self, other: Any) -> Traced:  # Any: any number that a ball takes
        return self._joined("+", other, self.value + _value(other))

    def __radd__(self, other: Any) -> Traced:
        return _traced(other) + self

    def __sub__(self, other: Any) -> Traced:
        return self._joined("-", other, self.value - _value(other))

    def __rsub__(self, other: Any) -> Traced:
        return _traced(other) - self

    def __mul__(self, other: Any) -> Traced:
        return self._joined("*", other, self.value * _value(other))

    def __rmul__(self, other: Any) -> Traced:
        return _traced(other) * self

    def __truediv__(self, other: Any) -> Traced:
        return self._joined("/", other, self.value / _value(other))

    def __rtruediv__(self, other: Any) -> Traced:
        return _traced(other) / self

    def __pow__(self, power: int) -> Traced:
        if not isinstance(power, int):
            raise TypeError("only whole powers are traced")
        return Traced(self.value**power, f"({self.text})**{power}")

    def __neg__(self) -> Traced:
        return Traced(-self.value, f"(-{self.text})")

    def __getattr__(self, name: str) -> Any:  # a function of no arguments
        if name not in _FUNCTIONS:
            raise AttributeError(name)
        return lambda: Traced(getattr(self.value, name)(), f"{name}({self.text})")

    def contains(self, point: arb) -> bool:
        """Whether the ball holds a point: a function may ask on which part of the box it is."""
        return bool(self.value.contains(point))

    def _joined(self, sign: str, other: Any, value: arb) -> Traced:
        return Traced(value, f"({self.text} {sign} {_traced(other).text})")


def _value(other: Any) -> Any:
    return other.value if isinstance(other, Traced) else other


def _traced(other: Any) -> Traced:
    if isinstance(other, Traced):
        return other
    if isinstance(other, int):
        return Traced(arb(other), f"({other})" if other < 0 else str(other))
    if isinstance(other, fmpz | fmpq):
        return Traced(arb(other), f"({other})")
    if isinstance(other, arb):
        low, high = ends(other, 128)
        return Traced(other, f"({low})" if low == high else f"ball({low}, {high})")
    raise TypeError(f"{other!r} is not traced")


def variable(name: str, value: arb) -> Traced:
    """A variable of a box, with the ball of its side."""
    return Traced(value, name)
