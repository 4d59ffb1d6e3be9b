"""The guarantees a mechanism can claim, with the curves each of them implies.

A guarantee holds for every pair of neighbours in both orders, (P, Q) and (Q, P). Its parameters are exact rationals:
``GaussianDP("0.1")`` is one tenth, ``GaussianDP(0.1)`` the float nearest to it. `parse_guarantee` reads back exactly
what ``describe()`` writes.

The privacy profiles and trade-off functions are float64 bounds. Every function named ``..._upper`` returns numbers that
are at least the exact value at the exact arguments, every one named ``..._lower`` numbers that are at most it: results
are moved outward by a bound on the rounding errors made.

Notation: e, d are the epsilon and delta of the guarantee, m = order - 1 > 0, u = 2^-53.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias, final, overload

import numpy as np

from dpverdict.audit.losses.base import curves_of
from dpverdict.balls import Exact, exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.gaussian_floats import (
    LARGEST_MU,
    RELATIVE_ERROR,
    SMALLEST_MU,
    DoubleDouble,
    beta_floats,
    delta_floats,
    power_floats,
    two_sum,
)
from dpverdict.numerics.roots import float_above, float_below
from dpverdict.numerics.text import exact_text
from dpverdict.risk import FALSE_ALARMS, LARGEST_LOSS, Risk, ratio_of, risk_of

if TYPE_CHECKING:
    from dpverdict.cards import Curves

_TINY = 2e-323  # four units in the last place of the smallest numbers
_HUGE = 1e100  # a larger epsilon is treated as this one, which is a valid bound; no product of three overflows
_PAD = 1e-15  # a relative bound for a handful of float64 operations and one NumPy exp, expm1 or log1p


def _rounded_up(values: Array, pad: float | Array = _PAD) -> Array:
    return np.minimum(values * (1 + pad) + _TINY, 1.0)


def reflected_upper(epsilon: Array, delta_at_size: Array) -> Array:
    """The bound at any epsilon from the bound at its absolute value, for a symmetric neighbouring relation.

    delta_PQ(-e) = 1 - exp(-e) (1 - delta_QP(e)).
    """
    size = np.abs(epsilon)
    mirrored = _rounded_up(-np.expm1(-size) + np.exp(-size) * delta_at_size)
    return np.where(epsilon >= 0, delta_at_size, mirrored)


# Gaussian -------------------------------------------------------------------------------------------------------------


def _mu_above(mu: Fraction) -> DoubleDouble | None:
    """mu, or slightly more, within the range of the float64 formulas; None above it."""
    if mu > LARGEST_MU:
        return None
    if mu < SMALLEST_MU:
        return DoubleDouble.of(np.asarray(SMALLEST_MU))
    return DoubleDouble.nearest(mu)


def gaussian_upper(epsilon: Array, mu: Fraction) -> Array:
    """Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu), rounded up; it is increasing in mu."""
    if mu == 0:
        return np.where(epsilon < 0, _rounded_up(-np.expm1(np.minimum(epsilon, 0.0))), 0.0)
    pair = _mu_above(mu)
    if pair is None:
        return np.ones_like(epsilon)
    return _rounded_up(delta_floats(epsilon, pair), RELATIVE_ERROR)


def gaussian_beta_lower(alpha: Array, mu: Fraction) -> Array:
    """Phi(Phi^-1(1 - alpha) - mu), rounded down; it is decreasing in mu."""
    if mu == 0:
        return one_minus_lower(alpha)
    pair = _mu_above(mu)
    if pair is None:
        return np.where(alpha == 0, 1.0, 0.0)
    pad = RELATIVE_ERROR
    directly = beta_floats(alpha, pair) * (1 - pad) - _TINY
    by_power = one_minus_lower(_rounded_up(power_floats(alpha, pair), pad))
    return np.where(alpha == 0, 1.0, np.maximum(np.maximum(directly, by_power), 0.0))


def one_minus_lower(values: Array) -> Array:
    """1 - values, rounded down."""
    difference, error = two_sum(np.asarray(1.0), -values)
    return np.where(error < 0, np.nextafter(difference, -np.inf), difference)


# pure and approximate -------------------------------------------------------------------------------------------------


def approximate_upper(epsilon: Array, e: Fraction, d: Fraction) -> Array:
    """d + (1 - d) times the profile of randomised response, (exp(e) - exp(epsilon))/(1 + exp(e)) on [-e, e], 0 above.

    The dominating pair reveals everything with probability d and is randomised response otherwise.

    Reference: Kairouz, Oh and Viswanath 2015, the dominating mechanism of Section 3 (arXiv:1311.0776).
    """
    above, slip = float_above(e), float_above(d)
    within = _rounded_up(-np.expm1(np.minimum(np.abs(epsilon) - above, 0.0)) / (1 + math.exp(-above)))
    response = reflected_upper(epsilon, np.where(np.abs(epsilon) >= above, 0.0, within))
    # d + (1 - d) r is increasing in d and in r; (1 - slip) is exact or rounded by less than the padding.
    return np.where(response == 0, slip, _rounded_up(slip + (1 - slip) * response))


def approximate_beta_lower(alpha: Array, e: float | Array, d: float | Array) -> Array:
    """max(0, 1 - d - exp(e) alpha, exp(-e) (1 - d - alpha)), rounded down, for e and d that the caller rounded up.

    Reference: Dong, Roth and Su 2022, Proposition 2.4 (arXiv:1905.02383), from Wasserman and Zhou 2010.
    """
    rest = one_minus_lower(np.asarray(d))
    with np.errstate(over="ignore", invalid="ignore"):
        weighted = np.where(alpha > 0, np.exp(e) * alpha, 0.0)
        steep = np.where(alpha > 0, rest - weighted - _PAD * (rest + weighted) - _TINY, rest)
    flat = np.exp(-np.asarray(e)) * np.maximum(rest - alpha - _PAD * (rest + alpha), 0.0) * (1 - _PAD) - _TINY
    best: Array = np.maximum(np.maximum(steep, flat), 0.0)
    return best


# Renyi and zero-concentrated ------------------------------------------------------------------------------------------


def renyi_upper(epsilon: Array, m: Array, divergence: Array) -> Array:
    """exp(m (divergence - epsilon)) m^m / (1 + m)^(1 + m), rounded up, for epsilon >= 0.

    The bound on delta(epsilon) from a Renyi divergence of order 1 + m, for any real m > 0 and epsilon.

    Reference: Canonne, Kamath and Steinke 2020, Proposition 12 (arXiv:2004.00010).
    """
    with np.errstate(over="ignore", under="ignore"):
        # log of m^m / (1 + m)^(1 + m)
        entropy = -m * np.log1p(1.0 / m) - np.log1p(m)
        exponent = m * (divergence - epsilon) + entropy
        error = _PAD * (m * (divergence + epsilon) - entropy)
        return _rounded_up(np.exp(np.minimum(exponent + error, 0.0)), 4 * _PAD)


def renyi_order_upper(epsilon: Array, order: Fraction, divergence: Fraction) -> Array:
    """The smallest such bound over the orders from 1 to ``order``: the divergence is increasing in the order."""
    if divergence == 0:  # the two laws are equal
        return gaussian_upper(epsilon, Fraction(0))
    size, top = np.minimum(np.abs(epsilon), _HUGE), float_above(divergence)
    largest = float_below(order - 1)
    with np.errstate(over="ignore", divide="ignore"):
        best = 1.0 / np.expm1(np.maximum(top - size, 0.0))
    m = np.clip(best, min(1e-300, largest), min(largest, _HUGE))
    return reflected_upper(epsilon, renyi_upper(size, m, np.asarray(top)))


def zero_concentrated_upper(epsilon: Array, rho: Fraction) -> Array:
    """The least such bound over the orders 1 + m, where the divergence is (1 + m) rho; every m gives a valid one."""
    size, top = np.minimum(np.abs(epsilon), _HUGE), float_above(rho)
    if top == 0:  # the two laws are equal
        return gaussian_upper(epsilon, Fraction(0))
    if top > _HUGE:
        return np.ones_like(epsilon)
    # The logarithm of the bound is convex in m, with derivative (2 m + 1) rho - epsilon - log(1 + 1/m).
    low, high = np.full(size.shape, -40.0), np.minimum(np.log(size + 1) - math.log(top) + 2, 230.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        m = np.exp(middle)
        rising = (2 * m + 1) * top - size - np.log1p(1 / m) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    m = np.exp(high)
    return reflected_upper(epsilon, renyi_upper(size, m, (1 + m) * top))


def support_lines_lower(alpha: Array, epsilons: Array, deltas_upper: Array) -> Array:
    """The largest of the trade-off functions of (epsilon, delta) on a grid, each of which the guarantee implies."""
    best = np.zeros_like(alpha)
    for e, d in zip(epsilons, deltas_upper, strict=True):
        best = np.maximum(best, approximate_beta_lower(alpha, e, d))
    return best


def epsilon_grid(scale: float) -> Array:
    """Epsilons from 0 on, of every order of magnitude around ``scale``; any grid gives a valid bound."""
    middle = min(scale, 1e290)  # a parameter beyond every float comes as an infinite scale
    return np.concatenate([[0.0], np.geomspace(max(middle * 1e-4, 1e-300), middle * 1e3 + 50.0, 300)])


class ImpliedCurves(ABC):
    """The two curves of a guarantee, as bounds for every pair of neighbours."""

    __slots__ = ()

    @overload
    def delta_upper(self, epsilon: float) -> float: ...
    @overload
    def delta_upper(self, epsilon: Array | list[float]) -> Array: ...
    @final
    def delta_upper(self, epsilon: float | Array | list[float]) -> float | Array:
        """An upper bound on the privacy profile at any finite epsilon, rounded up.

        Up to rounding it is the smallest that the guarantee implies; for RenyiDP and ZeroConcentratedDP, the smallest
        that the divergence of one order implies.
        """
        array = np.asarray(epsilon, dtype=np.float64)
        inside = np.isfinite(array)
        if not inside.all():
            remedy = "give epsilon in nats, negative values included"
            raise InvalidValue("epsilon", float(array[~inside].flat[0]), "a finite real number", remedy)
        return _as_given(self._delta_upper(array))

    @overload
    def beta_lower(self, alpha: float) -> float: ...
    @overload
    def beta_lower(self, alpha: Array | list[float]) -> Array: ...
    @final
    def beta_lower(self, alpha: float | Array | list[float]) -> float | Array:
        """A lower bound on the trade-off function at levels in [0, 1], rounded down."""
        array = np.asarray(alpha, dtype=np.float64)
        inside = (array >= 0) & (array <= 1)
        if not inside.all():
            raise InvalidValue("alpha", float(array[~inside].flat[0]), "in [0, 1]", "give the level of a test")
        return _as_given(self._beta_lower(array))

    def risk(self, base_rate: Exact, *, false_alarms: Sequence[Exact] = FALSE_ALARMS) -> Risk:
        """How often an attacker is right, and whom it finds, at most, if the guarantee holds: it is not shown here.

        Args:
            base_rate: the share p of some people that the attacker suspects before the release, between 0 and 1.
            false_alarms: the shares of false alarms at which the best attacks are stated, in (0, 1].

        Raises:
            InvalidValue: a share out of range.

        >>> print(PureDP("4.96").risk("0.001").headline)
        Under eps=4.96, an attacker who suspects 1 in 1000 is right at most 1 time in 8 about whom it accuses.
        """
        largest = self.largest_loss
        return risk_of(
            base_rate,
            lambda alpha: (Fraction(self.beta_lower(min(float_above(alpha), 1.0))), Fraction(1)),
            None if largest is None or largest > LARGEST_LOSS else (Fraction(0), ratio_of(largest)[1]),
            how=f"what {self.describe()} allows",
            provided=f"Under {self.describe()}",
            false_alarms=false_alarms,
        )

    @property
    def largest_loss(self) -> Fraction | None:
        """The largest privacy loss that the guarantee allows; None where it bounds none."""
        return None

    @abstractmethod
    def describe(self) -> str:
        """The guarantee in one line, which `parse_guarantee` reads back exactly."""

    @abstractmethod
    def _delta_upper(self, epsilon: Array) -> Array: ...

    @abstractmethod
    def _beta_lower(self, alpha: Array) -> Array: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.describe()})"


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class GaussianDP(ImpliedCurves):
    """mu-GDP: telling neighbours apart is at least as hard as telling N(0,1) from N(mu,1), mu >= 0.

    Reference: Dong, Roth and Su 2022, Definition 2.6 (arXiv:1905.02383).

    >>> GaussianDP("0.1").describe(), GaussianDP(1).beta_lower(0.05) <= 0.7404889771585559
    ('mu=0.1', True)
    """

    mu: Fraction

    def __init__(self, mu: Exact) -> None:
        object.__setattr__(self, "mu", _at_least("mu", mu, 0))

    def describe(self) -> str:
        return f"mu={exact_text(self.mu)}"

    def _delta_upper(self, epsilon: Array) -> Array:
        return gaussian_upper(epsilon, self.mu)

    def _beta_lower(self, alpha: Array) -> Array:
        return gaussian_beta_lower(alpha, self.mu)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class PureDP(ImpliedCurves):
    """epsilon-DP: P(S) <= exp(epsilon) Q(S) for every event, epsilon >= 0.

    >>> PureDP(1).delta_upper([0.0, 1.0]).round(6).tolist()
    [0.462117, 0.0]
    """

    epsilon: Fraction

    def __init__(self, epsilon: Exact) -> None:
        object.__setattr__(self, "epsilon", _at_least("epsilon", epsilon, 0))

    @property
    def largest_loss(self) -> Fraction:
        """Epsilon."""
        return self.epsilon

    def describe(self) -> str:
        return f"eps={exact_text(self.epsilon)}"

    def _delta_upper(self, epsilon: Array) -> Array:
        return approximate_upper(epsilon, self.epsilon, Fraction(0))

    def _beta_lower(self, alpha: Array) -> Array:
        return approximate_beta_lower(alpha, float_above(self.epsilon), 0.0)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproximateDP(ImpliedCurves):
    """(epsilon, delta)-DP: P(S) <= exp(epsilon) Q(S) + delta for every event, epsilon >= 0, 0 <= delta < 1.

    >>> ApproximateDP(1, "1e-6").describe()
    'eps=1, delta=1e-6'
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Exact, delta: Exact) -> None:
        object.__setattr__(self, "epsilon", _at_least("epsilon", epsilon, 0))
        object.__setattr__(self, "delta", _at_least("delta", delta, 0))
        if self.delta >= 1:
            raise InvalidValue("delta", delta, "in [0, 1)", "delta = 1 promises nothing; give a small probability")

    @property
    def largest_loss(self) -> Fraction | None:
        """Epsilon, if delta is 0."""
        return None if self.delta else self.epsilon

    def describe(self) -> str:
        return f"eps={exact_text(self.epsilon)}, delta={exact_text(self.delta)}"

    def _delta_upper(self, epsilon: Array) -> Array:
        return approximate_upper(epsilon, self.epsilon, self.delta)

    def _beta_lower(self, alpha: Array) -> Array:
        return approximate_beta_lower(alpha, float_above(self.epsilon), min(float_above(self.delta), 1.0))


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZeroConcentratedDP(ImpliedCurves):
    """rho-zCDP: the Renyi divergence of every order a > 1 is at most a rho, rho >= 0.

    Reference: Bun and Steinke 2016, Definition 1.1 (arXiv:1605.02065).

    >>> ZeroConcentratedDP("0.5").describe()
    'rho=0.5'
    """

    rho: Fraction

    def __init__(self, rho: Exact) -> None:
        object.__setattr__(self, "rho", _at_least("rho", rho, 0))

    def describe(self) -> str:
        return f"rho={exact_text(self.rho)}"

    def _delta_upper(self, epsilon: Array) -> Array:
        return zero_concentrated_upper(epsilon, self.rho)

    def _beta_lower(self, alpha: Array) -> Array:
        rho = float_above(self.rho)
        grid = epsilon_grid(rho + rho**0.5)
        return support_lines_lower(alpha, grid, self._delta_upper(grid))


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class RenyiDP(ImpliedCurves):
    """(order, epsilon)-RDP: the Renyi divergence of the given order > 1 is at most epsilon >= 0.

    Reference: Mironov 2017, Definition 4 (arXiv:1702.07476).

    >>> RenyiDP(8, 1).describe()
    'order=8, eps=1'
    """

    order: Fraction
    epsilon: Fraction

    def __init__(self, order: Exact, epsilon: Exact) -> None:
        object.__setattr__(self, "order", exactly(order, name="order"))
        object.__setattr__(self, "epsilon", _at_least("epsilon", epsilon, 0))
        if self.order <= 1:
            raise InvalidValue("order", order, "> 1", "give the order of a Renyi divergence")

    def describe(self) -> str:
        return f"order={exact_text(self.order)}, eps={exact_text(self.epsilon)}"

    def _delta_upper(self, epsilon: Array) -> Array:
        return renyi_order_upper(epsilon, self.order, self.epsilon)

    def _beta_lower(self, alpha: Array) -> Array:
        grid = epsilon_grid(float_above(self.epsilon) + 1.0)
        return support_lines_lower(alpha, grid, self._delta_upper(grid))


Guarantee: TypeAlias = GaussianDP | PureDP | ApproximateDP | ZeroConcentratedDP | RenyiDP
"""What a mechanism can claim."""


@overload
def as_guarantee(claim: Guarantee | str) -> Guarantee: ...
@overload
def as_guarantee(claim: None) -> None: ...
def as_guarantee(claim: object) -> object:
    """The claim that an argument states: text is read by `parse_guarantee`, None stands for none that was given.

    Every function that takes a claim reads it here. A claim that is a whole curve (`ProfileClaim`) passes as it is.

    Raises:
        InvalidValue: text of another form, or anything else.

    >>> as_guarantee("eps=1") == as_guarantee(PureDP(1))
    True
    """
    if isinstance(claim, str):
        return parse_guarantee(claim)
    if claim is not None and not isinstance(claim, ImpliedCurves):
        remedy = 'write for example "mu=1" or "eps=1, delta=1e-6", or an object such as GaussianDP(1)'
        raise InvalidValue("claim", claim, "a guarantee", remedy)
    return claim


_TWO_NUMBERS = re.compile(r"\s*\(?\s*([\d.][\d.eE+/-]*)\s*,\s*([\d.][\d.eE+/-]*)\s*\)?\s*")


def parse_guarantee(text: str) -> Guarantee:
    """The guarantee that a line of text states; decimals and fractions are taken exactly.

    Args:
        text: ``"mu=1"``, ``"eps=1"``, ``"eps=1, delta=1e-6"``, ``"rho=0.5"`` or ``"order=8, eps=1"``, in any order of
            the parts; two bare numbers, ``"(1, 1e-6)"``, are epsilon and delta;
            ``epsilon`` may be written for ``eps`` and ``alpha`` for ``order``.

    Raises:
        InvalidValue: the text has another form, or a parameter is out of its domain.

    >>> parse_guarantee("epsilon=1, delta=1e-6") == ApproximateDP(1, "1e-6")
    True
    """
    parts: dict[str, str] = {}
    bare = _TWO_NUMBERS.fullmatch(text)
    if bare is not None:
        return ApproximateDP(bare.group(1), bare.group(2))
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        name = {"eps": "epsilon", "alpha": "order"}.get(key.lower(), key.lower())
        if not equals or name in parts:
            raise InvalidValue("claim", text, "a guarantee such as mu=1", _remedy(text))
        if re.search(r"\s\w+\s*=", value):
            raise InvalidValue("claim", text, "parts with commas between them", _remedy(text))
        parts[name] = value
    match parts:
        case {"mu": mu} if len(parts) == 1:
            return GaussianDP(mu)
        case {"rho": rho} if len(parts) == 1:
            return ZeroConcentratedDP(rho)
        case {"epsilon": epsilon} if len(parts) == 1:
            return PureDP(epsilon)
        case {"epsilon": epsilon, "delta": delta} if len(parts) == 2:
            return ApproximateDP(epsilon, delta)
        case {"order": order, "epsilon": epsilon} if len(parts) == 2:
            return RenyiDP(order, epsilon)
        case _:
            raise InvalidValue("claim", text, "a guarantee such as mu=1", _remedy(text))


_KINDS: Final = "write mu=1, eps=1, 'eps=1, delta=1e-6', rho=0.5 or 'order=8, eps=1'"
_MEANT: Final = {"zcdp": "rho", "cdp": "rho", "gdp": "mu", "renyi": "order", "rdp": "order", "epsilon": "eps"}
"""Other words for a part of a claim."""


def _remedy(text: str) -> str:
    """What a claim that cannot be read was probably meant to be, and what can be written."""
    number = r"[\d.]+(?:e[+-]?\d+)?"
    if re.fullmatch(number, text.strip()):
        return f"did you mean eps={text.strip()}? {_KINDS}"
    if comma := re.fullmatch(r"\s*(\w+)\s*=\s*(\d+),(\d+)\s*", text):
        return f"did you mean {comma[1]}={comma[2]}.{comma[3]}? {_KINDS}"
    parts = re.findall(rf"([a-z]+)\s*(?:[=:<>≤~]=?)?\s*({number})?", re.sub(r"\band\b", ",", text.lower()))
    known = ("mu", "rho", "eps", "delta", "order")
    found: dict[str, str] = {}
    for word, value in parts:
        name = word if word in known else _MEANT.get(word) or next(iter(get_close_matches(word, known, 1, 0.5)), None)
        if name is not None:
            found.setdefault(name, value or {"delta": "1e-6", "order": "8"}.get(name, "1"))
    if float(found.get("delta", 0)) >= 1:
        found["delta"] = "1e-6"
    if "delta" in found or "order" in found:
        found.setdefault("eps", "1")
    ways = [
        ", ".join(f"{name}={found[name]}" for name in whole)
        for whole in (("eps", "delta"), ("order", "eps"), ("mu",), ("rho",), ("eps",))
        if found.keys() >= set(whole)
    ]
    if len(ways) > 1 and ways[0].startswith(("eps", "order")):
        ways = [way for way in ways if not way.startswith("eps=") or "," in way]
    return f"did you mean {' or '.join(map(repr, ways))}? {_KINDS}" if ways else _KINDS


@curves_of.register(ImpliedCurves)
def _(thing: ImpliedCurves, label: str | None) -> Curves:
    from dpverdict.cards import Curves

    return Curves(label=label or thing.describe(), beta=thing.beta_lower, delta=thing.delta_upper, promised=True)


@curves_of.register(str)
def _(thing: str, label: str | None) -> Curves:
    return curves_of(parse_guarantee(thing), label)


def _at_least(name: str, value: Exact, least: int) -> Fraction:
    rational = exactly(value, name=name)
    if rational < least:
        raise InvalidValue(name, value, f">= {least}", f"give {name} as a number that is not negative")
    return rational


def _as_given(values: Array) -> float | Array:
    return float(values) if values.ndim == 0 else values
