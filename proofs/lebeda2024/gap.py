"""How far Algorithm 1 is from the best Gaussian mechanism: formulas, and bounds that hold for every d.

h(d, k) is the variance of a query under the Count ellipse. For every d and k it is a lower bound of OPT(d, k): the
trace bound OPT >= F(m1, m2)/d, for the law on the records with exactly k ones, is F(k, k^2)/d = h(d, k).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

import sympy
from flint import arb
from sympy import Matrix, Rational, symbols

from dpverdict.balls import Real, ball, compare
from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.queries.count_ellipse import (
    eigenvalues,
    largest_optimal_k,
    least_ellipse_variance,
    pair_eigenvalues,
    pair_root,
)
from dpverdict.proofs.checks.boxes import positive_on_box
from dpverdict.proofs.checks.identities import Expr, identity, positive
from dpverdict.proofs.checks.outcome import Finding, Findings
from dpverdict.proofs.checks.statement import Formula
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.lebeda2024.notation import Root, two_roots


def algorithm_1(dim: Expr, root: Root) -> Expr:
    """vz + ve = (sqrt d + 1)^2/4, the variance of a query."""
    vz, ve = family_variances(dim, root(dim), dim**0)
    return vz + ve


def algorithm_1_value(dim: int) -> Real:
    """(sqrt d + 1)^2/4, the variance of a query under Algorithm 1 at mu = 1; rational for squares."""
    root = Real.of(dim).sqrt()
    if root.rational is not None:
        return Real.of(algorithm_1(Fraction(dim), lambda _: root.rational))
    return Real(lambda: algorithm_1(ball(dim), lambda k: k.sqrt()))


def layer_variance(dim: Expr, k: Expr, root: Root) -> Expr:
    """h(d, k) = tr(S)/d of the Count ellipse."""
    along, across = eigenvalues(dim, k, root)
    return (along + (dim - 1) * across) / dim


def layer_gap(dim: Expr, k: Expr, root: Root) -> Expr:
    """Algorithm 1's variance minus h(d, k): an upper bound of its distance from OPT(d, k')  for every k' >= k."""
    return algorithm_1(dim, root) - layer_variance(dim, k, root)


def even_gap() -> Expr:
    """layer_gap(d, d/2) for even d >= 2, in s = sqrt(d-1) + sqrt d: it is (1 + 2/s)/4."""
    return two_roots(lambda below, root: layer_gap(below + 1, (below + 1) / 2, root))


def odd_gap(halves: int) -> Expr:
    """layer_gap(d, (d + halves)/2) for odd d > 1 and halves = -1 or 1, in s = sqrt d + sqrt(d+1)."""
    return two_roots(lambda dim, root: layer_gap(dim, (dim + halves) / 2, root))


class Gap(NamedTuple):
    """What is said of the gap Algorithm 1 - OPT(d, d) for every d."""

    coefficient: Rational
    """c of the bound c/d."""
    zero: Callable[[int], bool]
    """The d at which it is 0."""
    distance: int
    """How far d is at least from the square that is not next to it, where one layer is active."""
    own: Formula
    """Algorithm 1's variance."""


GAP = Gap(Rational(1, 4), lambda dim: isqrt(dim) ** 2 == dim, 3, algorithm_1)


def gap_faults(zero: str, optima: str) -> tuple[tuple[str, str, Gap], ...]:
    """Faults in what is said of the gap: condition, words, claim; ``zero`` and ``optima`` name the last two."""
    less, other = GAP._replace(coefficient=Rational(1, 5)), GAP._replace(own=lambda dim, root: dim / 4)
    return (
        ("pairs: below the bound at d = n^2 + 1", "1/(5 d)", less),
        ("pairs: below the bound at d = n^2 - 1", "1/(5 d)", less),
        ("pairs: the gap is not 0 at d = n^2 + 1", "d/4 for (sqrt d + 1)^2/4", other),
        ("pairs: the gap is not 0 at d = n^2 - 1", "d/4 for (sqrt d + 1)^2/4", other),
        ("trigonometric form of h", "d/4 for (sqrt d + 1)^2/4", other),
        ("gap by the angle", "d/4 for (sqrt d + 1)^2/4", other),
        ("single layers: below the bound", "1 for 3", GAP._replace(distance=1)),
        ("distance to the squares", "5 for 3", GAP._replace(distance=5)),
        (zero, "odd squares only", GAP._replace(zero=lambda dim: dim % 2 == 1 and isqrt(dim) ** 2 == dim)),
        (optima, "1/(5 d)", less),
    )


def gap_is_zero(name: str, claim: Gap, most: int) -> Finding:
    """The gap is 0 exactly where it is said to be: where sqrt d is the integer t of d's parity, and no pair is best."""
    return every(
        name,
        range(1, most + 1),
        lambda dim: claim.zero(dim) == (pair_root(dim) is None and (2 * largest_optimal_k(dim) - dim) ** 2 == dim),
        over="d",
        argued="t = sqrt d for all squares",
        cases=most,
    )


def gap_of_optima(name: str, claim: Gap) -> Finding:
    """OPT(d, d) with its certificate, d <= 300: Algorithm 1's variance where the gap is 0, else within c/d below it."""
    return every(
        name,
        range(1, 301),
        lambda dim: _within(dim, claim),
        over="d: optimum with its certificate",
        cases=300,
        show=lambda dim: (
            f"d = {dim}: OPT = {least_ellipse_variance(dim, dim).nearest():.8f}, "
            f"Algorithm 1 = {algorithm_1_value(dim).nearest():.8f}"
        ),
    )


def _within(dim: int, claim: Gap) -> bool:
    best, ours = least_ellipse_variance(dim, dim), algorithm_1_value(dim)
    if claim.zero(dim):
        return best.rational is not None and best.rational == ours.rational
    bound = Fraction(str(claim.coefficient)) / dim
    return compare(best, ours) == -1 and compare(ours, Real(lambda: best.ball() + ball(bound))) == -1


def gap_of_pairs(coefficient: Expr, own: Formula = algorithm_1) -> Findings:
    """0 < Algorithm 1 - OPT < coefficient/d for d = n^2 + 1 and d = n^2 - 1: both roots rational in t = sqrt d + n.

    There OPT has two active layers: its eigenvalues are (T^2 - 1)/(4 n) and (T^2 - 1)/(4 T) with T = d + n.
    """
    t = symbols("t", positive=True)
    low, high = (t - 1 / t) / 2, (t + 1 / t) / 2
    for sign, n, root, least in ((1, low, high, Rational(12, 5)), (-1, high, low, Rational(37, 10))):
        dim = sympy.expand(n**2 + sign)
        along, across = pair_eigenvalues(dim, n)
        gap = sympy.cancel(own(dim, lambda _, root=root: root) - (along + (dim - 1) * across) / dim)
        words = f"all d = n^2 {'+' if sign > 0 else '-'} 1"
        yield positive(f"pairs: the gap is not 0 at {words[4:]}", gap, {t: least}, scope=words)
        yield positive(f"pairs: below the bound at {words[4:]}", coefficient / dim - gap, {t: least}, scope=words)


def gap_of_single_layers(distance: int, own: Formula = algorithm_1) -> Findings:
    """4 d (Algorithm 1 - OPT) < 1 for every other d >= 6; OPT = h(d, (d+t)/2), t the integer of d's parity next to r.

    With sin a = t/d, sin b = 1/r and c = cos(a - b), h = ((1 + r c)/2)^2 (``own`` at r c), so the gap is
    r (1 - c)(2 + r + r c)/4, at most r (1 + r)(a - b)^2/4 (as 1 - cos x <= x^2/2). By the mean value theorem for arcsin
    |a - b| <= |t - r|/(d sqrt(1 - q^2)), q = y + y^2, y = 1/r. By parity n^2 and (n+1)^2 are ``distance`` = 3 away from
    d, unless d is one of them or of the pairs: |t - r| <= 1 - 3/(2 sqrt(d+3)). So 4 d gap <= f(y), and
    (1 - f(y))/y > 0 for all 0 <= y <= 0.41.
    """
    v, tau, c, r = symbols("v tau c r", positive=True)
    dim = 1 + v**2
    sine, cosine = 2 * tau / (1 + tau**2), (1 - tau**2) / (1 + tau**2)
    root = dim * v * cosine / 2
    k = dim * (1 + sine) / 2
    yield identity(
        "trigonometric form of h",
        Matrix([root**2, layer_variance(dim, k, lambda _: root)]),
        Matrix([(dim - 1) * k * (dim - k), own((v * cosine + sine) ** 2, lambda _: v * cosine + sine)]),
        scope="all d > 1, |t| < d",
    )
    gap = own(r**2, lambda _: r) - own((r * c) ** 2, lambda _: r * c)
    yield identity("gap by the angle", gap, r * (1 - c) * (2 + r + r * c) / 4, scope="all r, c > 0")

    def slack(y: arb) -> arb:
        a = distance / (2 * (1 + 3 * y * y).sqrt())
        q = (1 + y) * (1 + y) / (1 - y * y * (1 + y) * (1 + y))  # M = y^2 q
        return 2 * a - a * a * y - (1 - a * y) ** 2 - (1 + y) * (1 - a * y) ** 2 * y * q

    yield positive_on_box(
        "single layers: below the bound", slack, {"y": (0, "0.41")}, scope="all d >= 6 (y = 1/sqrt d)"
    )
    yield every(
        "distance to the squares",
        (dim for dim in range(6, 20_001) if pair_root(dim) is None and isqrt(dim) ** 2 != dim),
        lambda dim: _distance(dim) >= distance,
        over="d",
        argued="for all d by parity",
        cases=19578,
        show=lambda dim: f"d = {dim}: {_distance(dim)} from the square of t",
    )


def _distance(dim: int) -> int:
    """How far d is from the square of the other integer next to r: (n+1)^2 - d for t = n, d - n^2 for t = n + 1."""
    t, n = 2 * largest_optimal_k(dim) - dim, isqrt(dim)
    return (n + 1) ** 2 - dim if t == n else dim - n * n
