"""Andersson et al. 2024, section 1.3: the binary mechanisms before this one, and their exact errors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import sympy
from flint import fmpq, fmpq_mat
from sympy import Integer, Rational, Symbol

from dpverdict.mechanisms.factorization_counter import Factorization, FactorizationCounter
from dpverdict.mechanisms.factorization_levels import BinaryTree, own_weight
from dpverdict.proofs.andersson2024_constants import rational
from dpverdict.proofs.andersson2024_trees import ORDINARY, PAPER, Expr, h, least_height
from dpverdict.proofs.identities import identity, positive
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, statement
from dpverdict.proofs.vertices import every

TRIVIAL: Mapping[str, Formula] = {
    "inputs": lambda horizon: horizon + 1,
    "inputs, Gaussian": lambda horizon: (horizon + 1) / 2,
    "outputs": lambda horizon: 2 * horizon**2,
    "outputs, Gaussian": lambda horizon: horizon,
}


@statement(
    paper=PAPER,
    number="base.trivial",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="While the sensitivity of A may be large, that of R can be much smaller. Noise on the inputs has the errors "
    "T+1 (Laplace, eps = 1) and (T+1)/2 (Gaussian, variance for sensitivity 1); noise on the outputs 2 T^2 and T.",
    formula=r"T+1,\quad \frac{T+1}{2},\quad 2T^2,\quad T",
    printed=TRIVIAL,
    planted=(
        Plant("inputs", "T", {**TRIVIAL, "inputs": lambda horizon: horizon}),
        Plant("inputs, Gaussian", "T/2", {**TRIVIAL, "inputs, Gaussian": lambda horizon: horizon / 2}),
        Plant("outputs", "T^2", {**TRIVIAL, "outputs": lambda horizon: horizon**2}),
        Plant("outputs, Gaussian", "sqrt(T)", {**TRIVIAL, "outputs, Gaussian": lambda horizon: sympy.sqrt(horizon)}),
    ),
)
def trivial(claim: Mapping[str, Formula]) -> Findings:
    """Output t adds up t noises; or every output gets noise for the first column of A, of l1 norm T and l2 norm sqrt
    T."""
    t, horizon = Symbol("t", integer=True), Symbol("T", integer=True, positive=True)
    mean = sympy.summation(t, (t, 1, horizon)) / horizon
    for name, error in (
        ("inputs", 2 * mean),
        ("inputs, Gaussian", mean),
        ("outputs", 2 * horizon**2),
        ("outputs, Gaussian", sympy.sqrt(horizon) ** 2),
    ):
        yield identity(name, error, claim[name](horizon), scope="all T")


def is_factorization(made: Factorization) -> bool:
    """L R = A, on all unit vectors, exactly: for factorisations whose L and R have small whole entries."""
    ones = np.triu(np.ones((made.horizon, made.horizon)))
    return bool(np.array_equal(made.decode(made.embed(np.eye(made.horizon))), ones))


class Errors(NamedTuple):
    """Errors with Laplace noise for eps = 1, and with Gaussian noise, as functions of T or of the height."""

    laplace: Formula
    gaussian: Formula
    full: Formula


BINARY = Errors(
    lambda height, mean: 2 * height**2 * mean,
    lambda height, mean: height * mean,
    lambda h: h**3 / (1 - Integer(2) ** (-h)),
)


@statement(
    paper=PAPER,
    number="base.binary",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="The binary tree mechanism adds at most one vertex per level, by the binary digits of t: its error is 2 h^2 "
    "times the mean number of ones, h = ceil(log2(T+1)), which is h^3/(1 - 2^-h) at T = 2^h - 1; with Gaussian noise "
    "h times it.",
    formula=r"\frac{2h^2}{T}\sum_{t \leq T}\mathrm{pop}(t),\quad \frac{h^3}{1-2^{-h}}",
    printed=BINARY,
    planted=(
        Plant("at every T", "h^2", BINARY._replace(laplace=lambda height, mean: height**2 * mean)),
        Plant("with Gaussian noise", "h^2", BINARY._replace(gaussian=lambda height, mean: height**2 * mean)),
        Plant("at T = 2^h - 1", "without 1 - 2^-h", BINARY._replace(full=lambda h: h**3)),
    ),
)
def binary(claim: Errors) -> Findings:
    """`FactorizationCounter` against the ones of t counted; at full T half the digits are ones, but for t = 0."""
    horizons = [*range(1, 70), 127, 128, 1000, 1023, 1024]
    yield every(
        "at every T",
        horizons,
        lambda horizon: (
            _counter_error("binary", horizon) == claim.laplace(least_height(ORDINARY, 2, horizon), _ones(horizon))
            and (horizon > 70 or is_factorization(BinaryTree(horizon)))
        ),
        scope="T < 70, T = 127, 128, 1000, 1023, 1024",
        show=lambda horizon: f"T = {horizon}",
    )
    yield every(
        "with Gaussian noise",
        horizons,
        lambda horizon: (
            rational(BinaryTree(horizon).l2_sensitivity_squared()) * rational(BinaryTree(horizon).mean_row_squared())
            == claim.gaussian(least_height(ORDINARY, 2, horizon), _ones(horizon))
        ),
        scope="T < 70, T = 127, 128, 1000, 1023, 1024",
        show=lambda horizon: f"T = {horizon}",
    )
    two = Integer(2)
    derived = 2 * h**2 * h / 2 * two**h / (two**h - 1)
    yield identity("at T = 2^h - 1", derived, claim.full(h), scope="all h")


def _ones(horizon: int) -> Fraction:
    return Fraction(sum(bin(time).count("1") for time in range(1, horizon + 1)), horizon)


def _counter_error(kind: str, horizon: int) -> Fraction:
    """The exact error of a `FactorizationCounter` that keeps eps = 1 with Laplace noise."""
    made = FactorizationCounter(horizon=horizon, kind=kind, noise="laplace", claim="eps=1")  # type: ignore[arg-type]
    return rational(made.mean_squared_error())


class Below(NamedTuple):
    """The variance of a node estimated from below, by its level, and the constants of the errors (log^3 and log^2)."""

    variance: Formula
    laplace: Expr
    gaussian: Expr


BELOW = Below(lambda level: 2**level / (2 ** (level + 1) - 1), Rational(1, 2), Rational(1, 4))


@statement(
    paper=PAPER,
    number="base.honaker",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="A subset of Honaker's techniques can be used to reduce the mean squared error by up to a factor 2: a node "
    "of level l, estimated from itself and all nodes below, has 2^l/(2^(l+1) - 1) times its variance.",
    formula=r"v_\ell = \frac{2^\ell}{2^{\ell+1}-1} \rightarrow \frac{1}{2}",
    printed=BELOW,
    planted=(
        Plant("recursion", "2^l/(2^(l+1) + 1)", BELOW._replace(variance=lambda l: 2**l / (2 ** (l + 1) + 1))),
        Plant("least squares", "2^l/(2^(l+1) + 1)", BELOW._replace(variance=lambda l: 2**l / (2 ** (l + 1) + 1))),
        Plant("error at every T", "1/2", BELOW._replace(variance=lambda l: Rational(1, 2))),
        Plant("never more than a factor 2", "v < 1/2", BELOW._replace(variance=lambda l: Rational(2, 5))),
        Plant("constants", "1/4 and 1/8", BELOW._replace(laplace=Rational(1, 4), gaussian=Rational(1, 8))),
    ),
    assumptions=("inverse-variance weights are the best for two independent estimates",),
)
def honaker(claim: Below) -> Findings:
    """1/v_(l+1) = 1 + 1/(2 v_l): own value of variance 1, and two children of variance v_l each.

    The least squares of a whole subtree is solved in rationals. On average half of the levels are used.
    """
    level = Symbol("l", integer=True, nonnegative=True)
    yield identity(
        "recursion",
        sympy.Matrix([1 / claim.variance(level + 1), claim.variance(Integer(0))]),
        sympy.Matrix([1 + 1 / (2 * claim.variance(level)), 1]),
        scope="all levels l, by induction from v_0 = 1",
    )
    yield every(
        "least squares",
        range(4),
        lambda l: _least_squares(l) == Fraction(str(claim.variance(Integer(l)))) and own_weight(l) == _least_squares(l),
        scope="l = 0..3: generalised least squares in rationals",
        show=lambda l: f"l = {l}: {_least_squares(l)}",
    )
    horizons = [*range(1, 40), 63, 64, 500, 1023, 1024]
    yield every(
        "error at every T",
        horizons,
        lambda horizon: (
            _counter_error("honaker", horizon)
            == 2 * horizon.bit_length() ** 2 * _weighted_ones(horizon, claim.variance)
        ),
        scope="T < 40, T = 63, 64, 500, 1023, 1024",
        show=lambda horizon: f"T = {horizon}",
    )
    u = Symbol("u", positive=True)  # 2^l >= 1
    gap = (claim.variance(level) - Rational(1, 2)).subs(2**level, u).subs(2 ** (level + 1), 2 * u)
    yield positive("never more than a factor 2", gap, {u: 1}, scope="all levels")
    limit = sympy.limit(claim.variance(level), level, sympy.oo)
    pair = sympy.Matrix([limit * 2 * Rational(1, 2), limit * Rational(1, 2)])
    yield identity(
        "constants", pair, sympy.Matrix([claim.laplace, claim.gaussian]), scope="T -> infinity: 2 h^2 and h times h/2 v"
    )


def _least_squares(level: int) -> Fraction:
    """The variance of the best linear unbiased estimate of a root from all nodes of its subtree, of variance 1 each."""
    leaves = 1 << level
    rows = [
        [int(start <= leaf < start + (1 << height)) for leaf in range(leaves)]
        for height in range(level + 1)
        for start in range(0, leaves, 1 << height)
    ]
    design = fmpq_mat(len(rows), leaves, [fmpq(x) for row in rows for x in row])
    ones = fmpq_mat(leaves, 1, [fmpq(1)] * leaves)
    value = (ones.transpose() * (design.transpose() * design).inv() * ones)[0, 0]
    return Fraction(int(value.p), int(value.q))


def _weighted_ones(horizon: int, variance: Formula) -> Fraction:
    """The mean over t <= T of the variances of the nodes used."""
    weights = [Fraction(str(variance(Integer(level)))) for level in range(horizon.bit_length())]
    total = sum(
        (weights[level] for time in range(1, horizon + 1) for level in range(len(weights)) if time >> level & 1),
        Fraction(0),
    )
    return total / horizon
