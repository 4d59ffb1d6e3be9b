"""The formulas of N(0,1) against N(mu,1), each written once, for every kind of number.

A formula here is an expression in a few primitives of the normal law, which an `Arithmetic` supplies. There are two of
them: `dpverdict.numerics.gaussian_floats` (float64 arrays, compensated and in the log domain) and
`dpverdict.numerics.gaussian` (balls, and power series of balls). So the fast value and the certified value of a
curve are the same expression, and a wrong constant cannot be wrong in one of them alone.

Notation: Phibar = 1 - Phi, the upper tail of the standard normal law; z, t: points of the line on which it lives;
centre = epsilon/mu, half = mu/2, so that the privacy loss of P = N(mu,1) against Q = N(0,1) exceeds epsilon with
probability Phibar(centre - half) under P and Phibar(centre + half) under Q.

Reference: Balle and Wang 2018, Theorem 8 (profile); Dong, Roth and Su 2022, equation (6) (trade-off).
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar


class Operand(Protocol):
    """What an argument of a primitive can do: a ball, a power series of balls, or a pair of float64 arrays."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __truediv__(self, other: Self, /) -> Self: ...


X = TypeVar("X", bound=Operand)
V_co = TypeVar("V_co", covariant=True)


class Tails(Protocol[X, V_co]):
    """The tails of the normal law for one kind of number: arguments of type X, values of type V_co."""

    def halve(self, x: X, /) -> X:
        """x / 2."""
        ...

    def tail(self, t: X, /) -> V_co:
        """Phibar(t)."""
        ...

    def central_mass(self, half: X, /) -> V_co:
        """Phi(half) - Phi(-half)."""
        ...

    def tail_gap(self, epsilon: X, centre: X, half: X, /) -> V_co:
        """Phibar(centre - half) - exp(epsilon) Phibar(centre + half), where epsilon = 2 centre half."""
        ...

    def tail_gap_complement(self, epsilon: X, centre: X, half: X, /) -> V_co:
        """Phi(centre - half) + exp(epsilon) Phibar(centre + half), where epsilon = 2 centre half."""
        ...

    def tilted_tail(self, epsilon: X, centre: X, half: X, /) -> V_co:
        """exp(epsilon) Phibar(centre + half), where epsilon = 2 centre half."""
        ...


class Arithmetic(Tails[X, V_co], Protocol[X, V_co]):
    """The tails and the quantile of the normal law for one kind of number."""

    def quantile(self, probability: X, /) -> X:
        """The z with Phibar(z) = probability."""
        ...


def delta(kind: Tails[X, V_co], epsilon: X, mu: X) -> V_co:
    """The privacy profile: Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)."""
    return kind.tail_gap(epsilon, epsilon / mu, kind.halve(mu))


def delta_complement(kind: Tails[X, V_co], epsilon: X, mu: X) -> V_co:
    """1 - delta(epsilon), as a sum of positive terms."""
    return kind.tail_gap_complement(epsilon, epsilon / mu, kind.halve(mu))


def descent(kind: Tails[X, V_co], epsilon: X, mu: X) -> V_co:
    """Minus the derivative of delta at epsilon: exp(epsilon) Phi(-mu/2 - epsilon/mu)."""
    return kind.tilted_tail(epsilon, epsilon / mu, kind.halve(mu))


def advantage(kind: Tails[X, V_co], mu: X) -> V_co:
    """The total variation distance delta(0): Phi(mu/2) - Phi(-mu/2)."""
    return kind.central_mass(kind.halve(mu))


def beta(kind: Arithmetic[X, V_co], alpha: X, mu: X) -> V_co:
    """The trade-off function: the least type II error at level alpha, Phi(Phi^-1(1 - alpha) - mu)."""
    return kind.tail(mu - kind.quantile(alpha))


def power(kind: Arithmetic[X, V_co], alpha: X, mu: X) -> V_co:
    """The power of the best test at level alpha: 1 - beta(alpha) = Phi(mu - Phi^-1(1 - alpha))."""
    return kind.tail(kind.quantile(alpha) - mu)
