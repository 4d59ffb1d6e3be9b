"""The guarantees a mechanism can claim, with the curves each of them implies.

A guarantee holds for every pair of neighbours in both orders, (P, Q) and (Q, P). Its parameters are exact rationals:
``GaussianDP("0.1")`` is one tenth, ``GaussianDP(0.1)`` the float nearest to it. `parse_guarantee` reads back exactly
what ``describe()`` writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final, overload

import numpy as np

from dpverdict.balls import Exact, exactly
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms import guarantee_curves as curves
from dpverdict.mechanisms.exact_text import exact_text
from dpverdict.mechanisms.float_pairs import Floats


class ImpliedCurves(ABC):
    """The two curves of a guarantee, as bounds for every pair of neighbours."""

    __slots__ = ()

    @overload
    def delta_upper(self, epsilon: float) -> float: ...
    @overload
    def delta_upper(self, epsilon: Floats | list[float]) -> Floats: ...
    @final
    def delta_upper(self, epsilon: float | Floats | list[float]) -> float | Floats:
        """An upper bound on the privacy profile at any finite epsilon, rounded up.

        Up to rounding it is the smallest that the guarantee implies; for RenyiDP and ZeroConcentratedDP, the smallest
        that the divergence of one order implies.
        """
        array = np.asarray(epsilon, dtype=np.float64)
        inside = np.isfinite(array)
        if not inside.all():
            remedy = "give epsilon in nats, negative values included"
            raise InvalidValue("epsilon", float(array[~inside].flat[0]), "a finite real number", remedy)
        return _shaped(self._delta_upper(array))

    @overload
    def beta_lower(self, alpha: float) -> float: ...
    @overload
    def beta_lower(self, alpha: Floats | list[float]) -> Floats: ...
    @final
    def beta_lower(self, alpha: float | Floats | list[float]) -> float | Floats:
        """A lower bound on the trade-off function at levels in [0, 1], rounded down."""
        array = np.asarray(alpha, dtype=np.float64)
        inside = (array >= 0) & (array <= 1)
        if not inside.all():
            raise InvalidValue("alpha", float(array[~inside].flat[0]), "in [0, 1]", "give the level of a test")
        return _shaped(self._beta_lower(array))

    @abstractmethod
    def describe(self) -> str:
        """The guarantee in one line, which `parse_guarantee` reads back exactly."""

    @abstractmethod
    def _delta_upper(self, epsilon: Floats) -> Floats: ...

    @abstractmethod
    def _beta_lower(self, alpha: Floats) -> Floats: ...

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

    def _delta_upper(self, epsilon: Floats) -> Floats:
        return curves.gaussian_upper(epsilon, self.mu)

    def _beta_lower(self, alpha: Floats) -> Floats:
        return curves.gaussian_beta_lower(alpha, self.mu)


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

    def describe(self) -> str:
        return f"eps={exact_text(self.epsilon)}"

    def _delta_upper(self, epsilon: Floats) -> Floats:
        return curves.approximate_upper(epsilon, self.epsilon, Fraction(0))

    def _beta_lower(self, alpha: Floats) -> Floats:
        return curves.approximate_beta_lower(alpha, curves.float_above(self.epsilon), 0.0)


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproximateDP(ImpliedCurves):
    """(epsilon, delta)-DP: P(S) <= exp(epsilon) Q(S) + delta for every event, epsilon >= 0, 0 <= delta < 1.

    >>> ApproximateDP(1, "1e-6").describe()
    'eps=1, delta=1e-06'
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Exact, delta: Exact) -> None:
        object.__setattr__(self, "epsilon", _at_least("epsilon", epsilon, 0))
        object.__setattr__(self, "delta", _at_least("delta", delta, 0))
        if self.delta >= 1:
            raise InvalidValue("delta", delta, "in [0, 1)", "delta = 1 promises nothing; give a small probability")

    def describe(self) -> str:
        return f"eps={exact_text(self.epsilon)}, delta={exact_text(self.delta)}"

    def _delta_upper(self, epsilon: Floats) -> Floats:
        return curves.approximate_upper(epsilon, self.epsilon, self.delta)

    def _beta_lower(self, alpha: Floats) -> Floats:
        return curves.approximate_beta_lower(
            alpha, curves.float_above(self.epsilon), min(curves.float_above(self.delta), 1.0)
        )


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

    def _delta_upper(self, epsilon: Floats) -> Floats:
        return curves.zero_concentrated_upper(epsilon, self.rho)

    def _beta_lower(self, alpha: Floats) -> Floats:
        rho = curves.float_above(self.rho)
        grid = curves.epsilon_grid(rho + rho**0.5)
        return curves.support_lines_lower(alpha, grid, self._delta_upper(grid))


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

    def _delta_upper(self, epsilon: Floats) -> Floats:
        return curves.renyi_order_upper(epsilon, self.order, self.epsilon)

    def _beta_lower(self, alpha: Floats) -> Floats:
        grid = curves.epsilon_grid(curves.float_above(self.epsilon) + 1.0)
        return curves.support_lines_lower(alpha, grid, self._delta_upper(grid))


Guarantee: TypeAlias = GaussianDP | PureDP | ApproximateDP | ZeroConcentratedDP | RenyiDP
"""What a mechanism can claim."""


def parse_guarantee(text: str) -> Guarantee:
    """The guarantee that a line of text states; decimals and fractions are taken exactly.

    Args:
        text: ``"mu=1"``, ``"eps=1"``, ``"eps=1, delta=1e-6"``, ``"rho=0.5"`` or ``"order=8, eps=1"``, in any order of
            the parts; ``epsilon`` may be written for ``eps`` and ``alpha`` for ``order``.

    Raises:
        InvalidValue: the text has another form, or a parameter is out of its domain.

    >>> parse_guarantee("epsilon=1, delta=1e-6") == ApproximateDP(1, "1e-6")
    True
    """
    remedy = "write mu=1, eps=1, 'eps=1, delta=1e-6', rho=0.5 or 'order=8, eps=1'"
    parts: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        name = {"eps": "epsilon", "alpha": "order"}.get(key.lower(), key.lower())
        if not equals or name in parts:
            raise InvalidValue("claim", text, "a guarantee such as mu=1", remedy)
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
            raise InvalidValue("claim", text, "a guarantee such as mu=1", remedy)


def _at_least(name: str, value: Exact, least: int) -> Fraction:
    rational = exactly(value, name=name)
    if rational < least:
        raise InvalidValue(name, value, f">= {least}", f"give {name} as a number that is not negative")
    return rational


def _shaped(values: Floats) -> float | Floats:
    return float(values) if values.ndim == 0 else values
