"""Andersson et al. 2024, section 1.3: factorisations by a few geometric series."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from dpverdict.proofs.andersson2024_trees import PAPER
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Plant, statement
from dpverdict.proofs.vertices import every

Numbers = list[Fraction]


class Blt(NamedTuple):
    """The formulas of a BLT of degree q with poles z and zeros y."""

    weight: Callable[[Numbers, Numbers, int], Fraction]
    squares: Callable[[Numbers, Numbers, int], Fraction]
    beta: Callable[[Fraction, Fraction], Fraction]


def residue(z: Numbers, y: Numbers, i: int) -> Fraction:
    """prod_j (z_i - y_j)/prod_(j != i) (z_i - z_j)."""
    value = Fraction(1)
    for j in range(len(z)):
        value *= z[i] - y[j]
        if j != i:
            value /= z[i] - z[j]
    return value


def geometric(omega: Numbers, z: Numbers, horizon: int) -> Fraction:
    """1 + sum_(i,l) omega_i omega_l (1 - (z_i z_l)^(T-1))/(1 - z_i z_l)."""
    pairs = [(a * b, x * w) for a, x in zip(omega, z, strict=True) for b, w in zip(omega, z, strict=True)]
    return 1 + sum((weight * (1 - q ** (horizon - 1)) / (1 - q) for weight, q in pairs), Fraction(0))


BLT = Blt(residue, geometric, lambda omega, y: -omega / (1 - y))
BLTS: tuple[tuple[Numbers, Numbers], ...] = (
    ([Fraction(9, 10)], [Fraction(4, 10)]),
    ([Fraction(99, 100), Fraction(6, 10)], [Fraction(9, 10), Fraction(1, 10)]),
    ([Fraction(98, 100), Fraction(7, 10), Fraction(2, 10)], [Fraction(9, 10), Fraction(4, 10), Fraction(1, 20)]),
)


@statement(
    paper=PAPER,
    number="base.blt",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="(efficient factorisations, Dvijotham et al. 2024) The coefficients, the sensitivity, the inverse and the "
    "error of a BLT of degree q are sums of q or q^2 geometric series.",
    formula=r"w_j = \sum_i\,\omega_i z_i^{j-1},\quad b_j = b_0 + \sum_i\,\beta_i \hat{z}_i^{\,j}",
    printed=BLT,
    planted=(
        Plant(
            "coefficients", "one factor left out", BLT._replace(weight=lambda z, y, i: residue(z, y, i) / (z[i] - y[i]))
        ),
        Plant(
            "sensitivity",
            "T for T - 1",
            BLT._replace(squares=lambda omega, z, horizon: geometric(omega, z, horizon + 1)),
        ),
        Plant("rows of L", "+", BLT._replace(beta=lambda omega, y: omega / (1 - y))),
        Plant("error", "+", BLT._replace(beta=lambda omega, y: omega / (1 - y))),
    ),
)
def blt(claim: Blt) -> Findings:
    """W(x) = prod (1 - y_i x)/prod (1 - z_i x) as power series in rationals, against the closed forms."""
    cases = [(z, y, horizon) for z, y in BLTS for horizon in (1, 2, 3, 10, 25)]
    scope = "3 BLTs of degrees 1, 2, 3, T = 1, 2, 3, 10, 25, in rationals"
    show = lambda case: f"z = {[str(x) for x in case[0]]}, T = {case[2]}"  # noqa: E731

    def omega(z: Numbers, y: Numbers) -> Numbers:
        return [claim.weight(z, y, i) for i in range(len(z))]

    def closed(z: Numbers, y: Numbers, horizon: int) -> Numbers:
        weights = omega(z, y)
        rest = [
            sum((w * x ** (j - 1) for w, x in zip(weights, z, strict=True)), Fraction(0)) for j in range(1, horizon)
        ]
        return [Fraction(1), *rest]

    def rows(z: Numbers, y: Numbers, horizon: int) -> Numbers:
        beta = [claim.beta(residue(y, z, i), y[i]) for i in range(len(y))]
        start = 1 - sum(beta, Fraction(0))
        return [start + sum((b * x**j for b, x in zip(beta, y, strict=True)), Fraction(0)) for j in range(horizon)]

    yield every("coefficients", cases, lambda c: closed(*c) == series(c[0], c[1], c[2]), scope=scope, show=show)
    yield every(
        "sensitivity",
        cases,
        lambda c: (
            claim.squares([residue(c[0], c[1], i) for i in range(len(c[0]))], c[0], c[2])
            == sum(w * w for w in series(*c))
        ),
        scope=scope,
        show=show,
    )
    yield every("rows of L", cases, lambda c: rows(*c) == inverse_sums(*c), scope=scope, show=show)
    yield every(
        "error",
        cases,
        lambda c: sum((c[2] - j) * b * b for j, b in enumerate(rows(*c))) == _squared_norm(*c),
        scope=scope,
        show=show,
    )


def series(z: Numbers, y: Numbers, horizon: int) -> Numbers:
    """The first coefficients of prod (1 - y_i x)/prod (1 - z_i x)."""
    values = [Fraction(1), *[Fraction(0)] * (horizon - 1)]
    for zero in y:
        values = [v - zero * (values[j - 1] if j else 0) for j, v in enumerate(values)]
    for pole in z:
        for j in range(1, horizon):
            values[j] += pole * values[j - 1]
    return values


def inverse_sums(z: Numbers, y: Numbers, horizon: int) -> Numbers:
    """The entries of L = A R^-1 by solving L R = A: b * w = (1, 1, ...)."""
    w = series(z, y, horizon)
    found: Numbers = []
    for j in range(horizon):
        found.append(1 - sum((found[i] * w[j - i] for i in range(j)), Fraction(0)))
    return found


def _squared_norm(z: Numbers, y: Numbers, horizon: int) -> Fraction:
    """|L|_F^2, row after row."""
    b = inverse_sums(z, y, horizon)
    return sum((b[i] * b[i] for time in range(1, horizon + 1) for i in range(time)), Fraction(0))
