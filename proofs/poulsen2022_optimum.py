"""Poulsen 2022, section 3: the elliptical Gaussian mechanism has the least total variance, and by how much it gains."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction

import sympy
from sympy import Integer, Matrix, oo, symbols

from dpverdict.proofs.identities import identity, nonnegative
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.poulsen2022_elliptical import (
    CASES,
    CASES_WORDS,
    MOST,
    Numbers,
    diagonal,
    s,
    symbolic_bounds,
    u,
    x,
)
from dpverdict.proofs.poulsen2022_setup import PAPER
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every, form_of

d = symbols("d", positive=True, integer=True)

OPTIMUM: Mapping[str, Formula] = {
    "variance": lambda bound, total: bound * total,
    "least": lambda total: total**2,
    "rest": lambda a, b, v, z: (a * z - b * v) ** 2 / (v * z),
    "isotropic": lambda dim, squares: dim * squares,
}


def _optimum(**changed: Formula) -> Mapping[str, Formula]:
    return {**OPTIMUM, **changed}


@statement(
    paper=PAPER,
    number="egm.axisopt",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="(Restored.) Among diagonal covariances of the same privacy the minimal total variance is s^2 (sum "
    "Delta_j)^2, attained iff sigma_j^2 is proportional to Delta_j; isotropic noise needs s^2 d sum Delta_j^2.",
    formula=r"\left(\sum_j \sigma_j^2\right)\left(\sum_j \frac{\Delta_j^2}{\sigma_j^2}\right) \geq "
    r"\left(\sum_j \Delta_j\right)^2",
    printed=OPTIMUM,
    planted=(
        Plant(
            "one pair of coordinates", "(a v - b z)^2", _optimum(rest=lambda a, b, v, z: (a * v - b * z) ** 2 / (v * z))
        ),
        Plant("sum over all pairs", "(a v - b z)^2", _optimum(rest=lambda a, b, v, z: (a * v - b * z) ** 2 / (v * z))),
        Plant(
            "the rest is not negative", "minus it", _optimum(rest=lambda a, b, v, z: -((a * z - b * v) ** 2) / (v * z))
        ),
        Plant("equal for sigma_j^2 ~ Delta_j", "~ Delta_j^2", _optimum(variance=lambda bound, total: bound**2)),
        Plant("exact search", "1.01 (sum Delta_j)^2", _optimum(least=lambda total: total**2 * Fraction(101, 100))),
        Plant("isotropic noise", "sum Delta_j^2", _optimum(isotropic=lambda dim, squares: squares)),
    ),
    assumptions=("the privacy is that of the worst corner (egm.worst)",),
)
def axis_optimum(claim: Mapping[str, Formula]) -> Findings:
    """Lagrange's identity: left - right is the sum over pairs of (Delta_i v_j - Delta_j v_i)^2/(v_i v_j), v = sigma^2.

    It is 0 iff all Delta_i/v_i are equal. With sum Delta_j^2/v_j = 1/s^2 the total is at least s^2 (sum Delta_j)^2.
    """
    a, b, v, z = symbols("Delta_i Delta_j v_i v_j", positive=True)
    cross = v * b**2 / z + z * a**2 / v - 2 * a * b
    yield identity("one pair of coordinates", cross, claim["rest"](a, b, v, z), scope="every pair, so every d")
    lefts, rights = [], []
    for dim in range(1, 5):
        bounds, variances = symbolic_bounds(dim), symbols(f"v_1:{dim + 1}", positive=True)
        pairs = itertools.combinations(range(dim), 2)
        shares = sum(bound**2 / variance for bound, variance in zip(bounds, variances, strict=True))
        lefts.append(sum(variances) * shares - sum(bounds) ** 2)
        rights.append(sum((claim["rest"](bounds[i], bounds[j], variances[i], variances[j]) for i, j in pairs), 0 * x))
    yield identity("sum over all pairs", Matrix(lefts), Matrix(rights), scope="d = 1..4 in symbols")
    rest = claim["rest"](1, 1, 1, 1 + u)  # in units of Delta_i, v_i, with the larger of the ratios v/Delta second
    yield nonnegative("the rest is not negative", rest, {u: 0}, scope="a square over a positive number")
    totals = []
    for dim in range(1, MOST + 1):
        bounds = symbolic_bounds(dim)
        variances = [claim["variance"](bound, sum(bounds)) for bound in bounds]
        shares = sum(bound**2 / variance for bound, variance in zip(bounds, variances, strict=True))
        totals.append(sympy.cancel(sum(variances) * shares) - claim["least"](sum(bounds)))
    yield identity("equal for sigma_j^2 ~ Delta_j", Matrix(totals), Matrix([0 * x] * MOST), scope=f"d = 1..{MOST}")

    def least(case: tuple[Numbers, Numbers]) -> bool:
        bounds, variances = case
        form = form_of(diagonal(variances))
        return bool(sum(variances) * form(bounds) >= claim["least"](sum(bounds)))

    steps = [Fraction(i, 3) for i in (1, 2, 3, 5, 8)]
    search = [(bounds, trial) for bounds in CASES[:4] for trial in itertools.product(steps, repeat=len(bounds))]
    yield every("exact search", search, least, scope="d = 1..3, variances out of {1, 2, 3, 5, 8}/3")
    square = symbols("Q", positive=True)  # sum Delta_j^2
    common = s**2 * square  # the v with sum Delta_j^2/v = 1/s^2
    yield identity("isotropic noise", d * common, s**2 * claim["isotropic"](d, square), scope="every d")


RATIO: Mapping[str, Formula] = {
    "ratio": lambda total, squares, dim: total**2 / (dim * squares),
    "least": lambda dim: 1 / dim,
    "most": lambda: Integer(1),
    "rest": lambda a, b: (a - b) ** 2,
}


@statement(
    paper=PAPER,
    number="egm.ratio",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="(Restored.) The total variance over that of isotropic noise is (sum Delta_j)^2/(d sum Delta_j^2), in [1/d, "
    "1]; 1 iff all Delta_j are equal, and it tends to 1/d when one dominates.",
    formula=r"\frac{1}{d} \leq \frac{(\sum_j \Delta_j)^2}{d \sum_j \Delta_j^2} \leq 1",
    printed=RATIO,
    planted=(
        Plant("at most 1", "(a + b)^2", {**RATIO, "rest": lambda a, b: (a + b) ** 2}),
        Plant("1 if all are equal", "2", {**RATIO, "most": lambda: Integer(2)}),
        Plant("below 1 otherwise", "(a + b)^2", {**RATIO, "rest": lambda a, b: -((a - b) ** 2)}),
        Plant("at least 1/d", "2/d", {**RATIO, "least": lambda dim: 2 / dim}),
        Plant("1/d in the limit", "2/d", {**RATIO, "least": lambda dim: 2 / dim}),
        Plant("examples", "2/d", {**RATIO, "least": lambda dim: 2 / dim}),
    ),
)
def ratio(claim: Mapping[str, Formula]) -> Findings:
    """d sum Delta_j^2 - S^2 is the sum of (Delta_i - Delta_j)^2 over pairs, and S^2 - sum Delta_j^2 that of 2 Delta_i
    Delta_j."""
    value, lows = claim["ratio"], claim["least"]
    lefts, rights, excess = [], [], []
    for dim in range(1, MOST + 1):
        bounds = symbolic_bounds(dim)
        squares = sum(b**2 for b in bounds)
        whole = value(sum(bounds), squares, Integer(dim))
        pairs = list(itertools.combinations(bounds, 2))
        lefts.append(sympy.cancel((claim["most"]() - whole) * dim * squares))
        rights.append(sum((claim["rest"](a, b) for a, b in pairs), 0 * x) + (claim["most"]() - 1) * dim * squares)
        excess.append(sympy.cancel((whole - lows(Integer(dim))) * dim * squares))
    yield identity("at most 1", Matrix(lefts), Matrix(rights), scope=f"d = 1..{MOST}; by pairs for every d")
    yield identity("1 if all are equal", value(d * x, d * x**2, d), claim["most"](), scope="every d")
    yield nonnegative("below 1 otherwise", claim["rest"](1 + u, 1), {u: 0}, scope="each pair, in units of the smaller")
    first, *others = symbolic_bounds(MOST)  # in units of the first
    words = f"d = {MOST}; 2 Delta_i Delta_j >= 0 for every d"
    yield nonnegative("at least 1/d", excess[-1].subs(first, 1), dict.fromkeys(others, 0), scope=words)
    end = sympy.limit(value(x + d - 1, x**2 + d - 1, d), x, oo)
    yield identity("1/d in the limit", end, lows(d), scope="every d, Delta = (x, 1, .., 1), x to infinity")

    def between(bounds: Numbers) -> bool:
        dim = len(bounds)
        found = value(sum(bounds), sum(b * b for b in bounds), Fraction(dim))
        return bool(lows(Fraction(dim)) <= found <= 1) and (found == 1) == (len(set(bounds)) == 1)

    yield every("examples", CASES, between, scope=CASES_WORDS)
