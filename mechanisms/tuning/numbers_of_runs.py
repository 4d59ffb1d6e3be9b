"""How many runs a search makes: laws of a number K, by their generating functions G(s) = E[s^K].

The best of K independent runs, drawn from a law whose values have the distribution function F, has the density
G'(F) against that law; all that is said of a search follows from G on [0, 1]. G, G' and G'' are increasing there, as
their coefficients are not negative.

    fixed                s^k
    poisson              exp(m (s - 1))
    geometric            g s/(1 - (1 - g) s), the mean is 1/g
    logarithmic          log(1 - (1 - g) s)/log(g)
    negative-binomial    ((1 - (1 - g) s)^-h - 1)/(g^-h - 1), h > -1 and not 0: K >= 1, truncated

The geometric law is the truncated negative binomial one with h = 1, the logarithmic one its limit for h -> 0.

Reference: Papernot and Steinke 2022, Definitions 1 and 5 (arXiv:2110.03620).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, TypeVar, final

import numpy as np
from flint import arb

from dpverdict.balls import Exact, ball, exactly
from dpverdict.checks import check_positive
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.text import exact_text

NumberName: TypeAlias = Literal["fixed", "poisson", "geometric", "logarithmic", "negative-binomial"]
NUMBERS: Final[tuple[NumberName, ...]] = ("fixed", "poisson", "geometric", "logarithmic", "negative-binomial")
MOST_RUNS: Final = 1 << 12
"""The largest mean, or 1/g: a search makes its runs one after the other."""
_LARGEST_SHAPE: Final = 64
_TAIL: Final = 60  # in units of 1/g: longer searches have a chance below 1e-20 of what is drawn
Number = TypeVar("Number", arb, Array)


def _exp(x: Any) -> Any:
    return x.exp() if isinstance(x, arb) else np.exp(x)


def _log(x: Any) -> Any:
    return x.log() if isinstance(x, arb) else np.log(x)


def _as(x: object, value: Fraction) -> Any:
    """The number as what ``x`` is: a ball, or float64."""
    return ball(value) if isinstance(x, arb) else float(value)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NumberOfRuns:
    """The law of the number K of runs.

    Attributes:
        name: one of `NUMBERS`.
        size: k of "fixed", the mean of "poisson"; g of all others, the chance to stop.
        shape: h; 1 of "geometric", 0 of "logarithmic", and of those that have none.
    """

    name: NumberName
    size: Fraction
    shape: Fraction

    @staticmethod
    def of(name: NumberName, mean: Exact | None, stop: Exact | None, shape: Exact | None) -> NumberOfRuns:
        """The law, checked: by its mean, or by the chance to stop (and the shape of "negative-binomial").

        Raises:
            InvalidValue: an argument is out of range, missing, or of another law.
        """
        if name not in NUMBERS:
            raise InvalidValue("number", name, f"one of {', '.join(NUMBERS)}", "geometric needs nothing but a mean")
        by_mean = name in ("fixed", "poisson", "geometric")
        for argument, given, needed in (
            ("mean", mean, by_mean),
            ("stop", stop, not by_mean),
            ("shape", shape, name == "negative-binomial"),
        ):
            if (given is not None) != needed:
                requirement = f"{'given' if needed else 'left out'} with number {name}"
                remedy = "a mean is given for fixed, poisson and geometric, a chance to stop for the others"
                raise InvalidValue(argument, given, requirement, remedy)
        if mean is not None:
            size = check_positive(mean, "mean")
            least = 0 if name == "poisson" else 1
            if not least <= size <= MOST_RUNS or (name == "fixed" and size.denominator != 1):
                requirement = f"{'a whole number ' if name == 'fixed' else ''}from {least} to {MOST_RUNS}"
                raise InvalidValue("mean", mean, requirement, "say how many runs are made, in the mean")
            return NumberOfRuns(name=name, size=1 / size if name == "geometric" else size, shape=Fraction(by_mean))
        assert stop is not None
        chance = check_positive(stop, "stop")
        if not Fraction(1, MOST_RUNS) <= chance < 1:
            remedy = "the smaller it is, the more runs are made"
            raise InvalidValue("stop", stop, f"from 1/{MOST_RUNS} to below 1", remedy)
        if shape is None:
            return NumberOfRuns(name=name, size=chance, shape=Fraction(0))
        power = exactly(shape, name="shape")
        if not -1 < power <= _LARGEST_SHAPE or power == 0:
            remedy = "1 is the geometric law; for 0 take number logarithmic"
            raise InvalidValue("shape", shape, f"above -1, not 0, and at most {_LARGEST_SHAPE}", remedy)
        return NumberOfRuns(name=name, size=chance, shape=power)

    # the generating function, of balls or of float64 ------------------------------------------------------------------

    def generating(self, s: Number) -> Number:
        """G(s), 0 <= s <= 1."""
        found: Number = self._generating(s)
        return found

    def slope(self, s: Number) -> Number:
        """G'(s): the mean of K at s = 1."""
        found: Number = self._slope(s)
        return found

    def curvature(self, s: Number) -> Number:
        """G''(s)."""
        found: Number = self._curvature(s)
        return found

    def _generating(self, s: Any) -> Any:
        size = _as(s, self.size)
        if self.name == "fixed":
            return s ** int(self.size)
        if self.name == "poisson":
            return _exp(size * (s - 1))
        rest = 1 - (1 - size) * s
        if self.name == "geometric":
            return size * s / rest
        if self.name == "logarithmic":
            return _log(rest) / _log(size)
        power = _as(s, self.shape)
        return (_exp(-power * _log(rest)) - 1) / (_exp(-power * _log(size)) - 1)

    def _slope(self, s: Any) -> Any:
        size = _as(s, self.size)
        if self.name == "fixed":
            return size * s ** (int(self.size) - 1)
        if self.name == "poisson":
            return size * self._generating(s)
        rest = 1 - (1 - size) * s
        if self.name == "geometric":
            return size / (rest * rest)
        if self.name == "logarithmic":
            return (size - 1) / (rest * _log(size))
        power = _as(s, self.shape)
        return power * (1 - size) * _exp(-(power + 1) * _log(rest)) / (_exp(-power * _log(size)) - 1)

    def _curvature(self, s: Any) -> Any:
        size = _as(s, self.size)
        if self.name == "fixed":
            k = int(self.size)
            return s * 0 if k == 1 else size * (size - 1) * s ** (k - 2)
        if self.name == "poisson":
            return size * self._slope(s)
        return (_as(s, self.shape) + 1) * (1 - size) / (1 - (1 - size) * s) * self._slope(s)

    def mean(self) -> arb:
        """E[K], a ball."""
        return self.slope(arb(1))

    # what is drawn ----------------------------------------------------------------------------------------------------

    def draw(self, trials: int, rng: np.random.Generator) -> Array:
        """Numbers of runs in float64, shape (trials,); those of "logarithmic" and "negative-binomial" by their law."""
        if self.name == "fixed":
            return np.full(trials, float(self.size))
        if self.name == "poisson":
            return rng.poisson(float(self.size), trials).astype(float)
        if self.name == "geometric":
            return rng.geometric(float(self.size), trials).astype(float)
        numbers = np.searchsorted(np.cumsum(self._law())[:-1], rng.random(trials), side="right")
        return numbers.astype(np.float64) + 1.0

    def _law(self) -> Array:
        """P[K = 1], P[K = 2], ... in float64, normalised."""
        going, power = 1 - float(self.size), float(self.shape)
        k = np.arange(1.0, _TAIL * (1 + max(power, 0.0)) / float(self.size))
        steps = going * (k + power) / (k + 1)
        weights = np.exp(np.concatenate([[0.0], np.cumsum(np.log(steps))]))
        law: Array = weights / weights.sum()
        return law

    def describe(self) -> str:
        """The law in a few words."""
        if self.name in ("fixed", "poisson"):
            return f"{self.name}, {'k' if self.name == 'fixed' else 'mean'} = {exact_text(self.size)}"
        if self.name == "geometric":
            return f"geometric, mean = {exact_text(1 / self.size)}"
        shape = f", h = {exact_text(self.shape)}" if self.name == "negative-binomial" else ""
        return f"{self.name}, g = {exact_text(self.size)}{shape}"
