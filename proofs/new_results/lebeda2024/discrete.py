"""Results of this project: Algorithm 1 on the integers, with discrete Gaussians N_Z(0, v), P(x) ~ exp(-x^2/(2v))."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import NamedTuple

import sympy
from flint import arb
from sympy import Integer, Symbol

from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.balls import Enclosure, Real, ball, precision
from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.queries.discrete import DiscreteCorrelatedGaussian
from dpverdict.numerics.gaussian import delta_ball
from dpverdict.proofs.checks.boxes import rounds_to, smaller
from dpverdict.proofs.checks.identities import identity, nonnegative
from dpverdict.proofs.checks.outcome import Finding, Findings, Method
from dpverdict.proofs.checks.statement import Formula, Plant, result
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.ji2024.notation import has_digits
from dpverdict.proofs.lebeda2024.notation import d, mu

s = Symbol("s", positive=True)
_BITS = 128


class Parameters(NamedTuple):
    """The parameters of the noise on the queries and on the count, of (d, s, mu), and rho of mu."""

    query: Formula
    count: Formula
    rho: Formula


NOISE = Parameters(lambda d, s, mu: (d + s) / mu**2, lambda d, s, mu: (d + s) / (s * mu**2), lambda mu: mu**2 / 2)


@result(
    number="leb.new.disc.rho",
    text="d/sigma_g^2 + 1/sigma_n^2 = mu^2 for every rational s > 0: the release is exactly rho-zCDP, rho = mu^2/2, so "
    "rounding s costs accuracy, never privacy.",
    formula=r"\frac{d}{\sigma_g^2} + \frac{1}{\sigma_n^2} = \mu^2,\quad \rho = \frac{\mu^2}{2}",
    printed=NOISE,
    confirms={"the mechanism": "the sum"},
    planted=(
        Plant("the sum", "d for d + s", NOISE._replace(query=lambda d, s, mu: d / mu**2)),
        Plant("zCDP", "mu^2", NOISE._replace(rho=lambda mu: mu**2)),
        Plant("the mechanism", "d for d + s", NOISE._replace(count=lambda d, s, mu: d / (s * mu**2))),
    ),
    assumptions=("N_Z(0, v) moved by an integer a is a^2/(2v)-zCDP (Canonne, Kamath and Steinke 2020); zCDP adds up",),
)
def concentrated(claim: Parameters) -> Findings:
    """Every coordinate of (2f - n, n) moves by 1 when a binary record is added; the mechanism's own parameters."""
    query, count = claim.query(d, s, mu), claim.count(d, s, mu)
    yield identity("the sum", d / query + 1 / count, mu**2, scope="all d, s, mu > 0")
    yield identity("zCDP", d / (2 * query) + 1 / (2 * count), claim.rho(mu), scope="all d, s, mu > 0")
    cases = [(dim, Fraction(a, 3), Fraction(b, 5)) for dim in range(1, 9) for a in (1, 5, 8) for b in (2, 7)]
    yield every(
        "the mechanism",
        cases,
        lambda case: (
            (lambda made: (made.query_variance, made.count_variance))(
                DiscreteCorrelatedGaussian(dim=case[0], rho=case[2] ** 2 / 2, s=case[1])
            )
            == (claim.query(*case), claim.count(*case))
        ),
        over="d, s, mu: exactly",
        cases=48,
    )


class Loss(NamedTuple):
    """The loss at (t, y), t the signed sum of the queries' noise, y the count's: of (d, s, mu^2, t, y)."""

    loss: Formula


LOSS = Loss(lambda d, s, m2, t, y: m2 / 2 + m2 * (t + s * y) / (d + s))


def direct_delta(
    dim: int, size: Fraction, m2: Fraction, epsilon: Fraction, signs: tuple[int, ...], loss: Formula
) -> arb:
    """delta(eps) = sum over the lattice of p (1 - e^(eps - L))_+, by d + 1 nested sums; what is left out is charged.

    |x| > K of one coordinate has probability at most 2 exp(-K^2/(2v)).
    """
    variances = [(dim + size) / m2] * dim + [(dim + size) / (size * m2)]
    reach = [isqrt(int(2 * 42 * v)) + 2 for v in variances]
    with precision(_BITS):
        weights = [
            {x: (-ball(Fraction(x * x) / (2 * v))).exp() for x in range(-k - 1, k + 2)}
            for v, k in zip(variances, reach, strict=True)
        ]
        total = arb(1)
        for weight in weights:
            total *= sum(weight.values(), arb(0))
        value = arb(0)
        for point in product(*(range(-k, k + 1) for k in reach)):
            t = sum(x * move for x, move in zip(point[:-1], signs, strict=True))
            level = loss(dim, size, m2, t, point[-1])
            if level <= epsilon:
                continue
            p = arb(1)
            for x, weight in zip(point, weights, strict=True):
                p *= weight[x]
            value -= p * ball(epsilon - level).expm1()
        left = sum(
            (2 * (-ball(Fraction(k * k) / (2 * v))).exp() for v, k in zip(variances, reach, strict=True)), arb(0)
        )
        return value / total + left * arb(0.5, 0.5)


@result(
    number="leb.new.disc.delta",
    text="The exact profile: delta(eps) = E(1 - e^(eps - L))_+, L = mu^2/2 + mu^2 (T + s Y)/(d + s), T the sum of d "
    "independent N_Z(0, sigma_g^2), Y ~ N_Z(0, sigma_n^2); the same for all binary records.",
    formula=r"L = \frac{\mu^2}{2} + \frac{\mu^2(T + sY)}{d + s},\quad \delta(\varepsilon) = E(1 - e^{\varepsilon - "
    r"L})_+",
    printed=LOSS,
    confirms={"direct sums": "log-ratio"},
    planted=(
        Plant("log-ratio", "s + 1", Loss(lambda d, s, m2, t, y: m2 / 2 + m2 * (t + (s + 1) * y) / (d + s))),
        Plant("direct sums", "mu^2", Loss(lambda d, s, m2, t, y: m2 + m2 * (t + s * y) / (d + s))),
    ),
    note="the log-ratio is an identity; the direct sums cover every binary record for d <= 2 and one for d = 3",
)
def profile(claim: Loss) -> Findings:
    """log p/q of a coordinate moved by +-1; N_Z is symmetric, so the signs of the moves do not matter.

    The convolution of the package against nested sums over the lattice, at every binary record.
    """
    t, y = sympy.symbols("t y", real=True)
    query, count = NOISE.query(d, s, mu), NOISE.count(d, s, mu)
    ratio = (d + 2 * t) / (2 * query) + (1 + 2 * y) / (2 * count)  # sum of ((x + 1)^2 - x^2)/(2v)
    yield identity("log-ratio", ratio, claim.loss(d, s, mu**2, t, y), scope="all d, s, mu > 0, all signs of the moves")
    cases = [
        (1, Fraction(1), Fraction(1), Fraction(14, 5)),
        (1, Fraction(3, 2), Fraction(4), Fraction(1, 2)),
        (2, Fraction(4, 3), Fraction(2), Fraction(1)),
        (3, Fraction(2), Fraction(9), Fraction(2)),
    ]
    every_record = [(case, signs) for case in cases for signs in product((1, -1), repeat=case[0])][:11]
    yield every(
        "direct sums",
        every_record,
        lambda item: _agree(*item, claim.loss),
        over="d = 1, 2, 3, four (s, mu^2, eps), records of d <= 2; to 1e-15",
        cases=11,
        method=Method.BALLS,
        show=lambda item: f"(d, s, mu^2, eps) = {item[0]}, signs {item[1]}",
    )


def _agree(case: tuple[int, Fraction, Fraction, Fraction], signs: tuple[int, ...], loss: Formula) -> bool:
    dim, size, m2, epsilon = case
    exact = DiscreteGaussianLoss.from_rho(dim, size, m2 / 2).certified_delta(epsilon)
    found = Enclosure.of_ball(direct_delta(dim, size, m2, epsilon, signs, loss))
    return abs(exact.lower - found.upper) < 1e-15 and abs(exact.upper - found.lower) < 1e-15


@result(
    number="leb.new.disc.notgdp",
    text="It is not mu-GDP: d = 1, mu = 1, s = 1, eps = 2.8 has delta = 0.0030716629 > 0.0027743708, the Gaussian "
    "profile.",
    formula=r"\delta_{\mathbb{Z}}(2.8) = 0.0030716629 > 0.0027743708 = \delta_{\mathrm{Gauss}}(2.8)",
    printed={"discrete": "0.0030716629", "Gaussian": "0.0027743708", "epsilon": "2.8"},
    named=("above",),
    planted=(
        Plant("discrete", "last digit", {"discrete": "0.0030716628", "Gaussian": "0.0027743708", "epsilon": "2.8"}),
        Plant("Gaussian", "last digit", {"discrete": "0.0030716629", "Gaussian": "0.0027743709", "epsilon": "2.8"}),
        Plant("above", "eps = 0.1", {"discrete": "0.0030716629", "Gaussian": "0.0027743708", "epsilon": "0.1"}),
        Plant(
            "by nested sums", "eps = 0.1", {"discrete": "0.0030716629", "Gaussian": "0.0027743708", "epsilon": "0.1"}
        ),
    ),
)
def not_gaussian(claim: Mapping[str, str]) -> Findings:
    """Two enclosures of the same number, and the closed form of the Gaussian profile."""
    level = Fraction(claim["epsilon"])
    found = DiscreteGaussianLoss(1, 1, mu=1).certified_delta(level)
    gaussian = Real(lambda: delta_ball(Real.of(level), Real.of(1)))
    scope = f"d = 1, mu = 1, s = 1, eps = {claim['epsilon']}"
    yield has_digits("discrete", found, claim["discrete"], scope=scope)
    yield rounds_to("Gaussian", gaussian, claim["Gaussian"], scope=scope)
    yield smaller("above", gaussian, Real.of(found.lower), scope=scope)
    summed = direct_delta(1, Fraction(1), Fraction(1), level, (1,), LOSS.loss)
    yield has_digits("by nested sums", Enclosure.of_ball(summed), claim["discrete"], scope=scope)


class Variance(NamedTuple):
    """Terms of v - Var N_Z(0, v), of (v, n); deficits by v; the variance of a query, of (d, s, mu); Var/v at most."""

    term: Formula
    deficits: Mapping[str, str]
    query: Formula
    most: Fraction = Fraction(1)


VARIANCE = Variance(
    lambda v, n: sympy.exp(-2 * sympy.pi**2 * v * n**2),
    {"1": "2.1e-7", "1/2": "1.0e-3", "1/4": "3.5e-2"},
    lambda d, s, mu: (d + s + d / s + 1) / (4 * mu**2),
)


@result(
    number="leb.new.disc.var",
    text="Var N_Z(0, v) <= v for every v (short by 2.1e-7 at v = 1, 1.0e-3 at 1/2, 3.5e-2 at 1/4); so the variance of "
    "a query is at most (d + s + d/s + 1)/(4 mu^2).",
    formula=r"\mathrm{Var}\,N_{\mathbb{Z}}(0, v) = v - 2v^2\,\frac{\sum 2\pi^2 n^2 e^{-2\pi^2 v n^2}}{\sum "
    r"e^{-2\pi^2 v n^2}} \leq v",
    printed=VARIANCE,
    confirms={"at most v": "terms decrease"},
    planted=(
        Plant("terms decrease", "growing", VARIANCE._replace(term=lambda v, n: sympy.exp(sympy.pi**2 * v * n**2))),
        Plant("variance of a query", "2 mu^2", VARIANCE._replace(query=lambda d, s, mu: (d + s + d / s + 1) / mu**2)),
        *(
            Plant(f"deficit at v = {v}", "twice", VARIANCE._replace(deficits={**VARIANCE.deficits, v: "7.0e-2"}))
            for v in VARIANCE.deficits
        ),
        Plant("at most v", "9/10", VARIANCE._replace(most=Fraction(9, 10))),
    ),
    assumptions=("Poisson summation: sum exp(-x^2/(2v)) = sqrt(2 pi v) sum exp(-2 pi^2 v n^2)",),
)
def variance(claim: Variance) -> Findings:
    """Var = 2 v^2 (log sum exp(-x^2/(2v)))', and by Poisson log sum = log(2 pi v)/2 + log of a decreasing sum of terms.

    2 v^2 (log(2 pi v)/2)' = v; the rest is negative as every term has a derivative <= 0.
    """
    v, n = Symbol("v", positive=True), Symbol("n", positive=True)
    rate = sympy.diff(claim.term(v, n), v) / sympy.exp(-2 * sympy.pi**2 * v * n**2) / (-2 * sympy.pi**2 * n**2)
    yield identity("terms decrease", sympy.simplify(rate), v / v, scope="all v > 0, every term", dropped=(v,))
    query, count = NOISE.query(d, s, mu), NOISE.count(d, s, mu)
    yield identity("variance of a query", (query + count) / 4, claim.query(d, s, mu), scope="all d, s, mu > 0")
    for text, printed in claim.deficits.items():
        value = Fraction(text)
        gap = _shortfall(value)
        yield _two_digits(f"deficit at v = {text}", gap, printed)
    grid = [Fraction(i, 8) for i in range(1, 33)]
    yield every(
        "at most v",
        grid,
        lambda value: bool(variance_ball(value) <= ball(claim.most * value)),
        over="v: direct sums in balls",
        argued="for every v by the terms",
        cases=32,
        method=Method.BALLS,
    )


def _shortfall(v: Fraction) -> Real:
    return Real(lambda: ball(v) - variance_ball(v))


def variance_ball(v: Fraction) -> arb:
    """Var N_Z(0, v) by its definition; the tail beyond K is below 4 (K^2 + 4v) exp(-K^2/(2v))."""
    with precision(256):
        reach = isqrt(int(400 * v)) + 4
        weights = [(x, (-ball(Fraction(x * x) / (2 * v))).exp()) for x in range(1, reach)]
        moment = sum((2 * x * x * weight for x, weight in weights), arb(0))
        total = 1 + sum((2 * weight for _, weight in weights), arb(0))
        tail = 4 * (reach * reach + ball(4 * v)) * (-ball(Fraction(reach * reach) / (2 * v))).exp()
        return (moment + tail * arb(0.5, 0.5)) / total


def _two_digits(name: str, value: Real, printed: str) -> Finding:
    mantissa, _, exponent = printed.partition("e-")
    shifted = Real(lambda: value.ball() * 10 ** int(exponent))
    return rounds_to(name, shifted, mantissa, scope="to two digits, in balls")


def _penalty(claim: Rounding, dim: int, size: Fraction) -> Real:
    return Real(lambda: claim.penalty(ball(size), ball(dim).sqrt()))


class Rounding(NamedTuple):
    """The penalty of (s, r), its bound at the nearest multiple of 1/q, of (s, q); penalties at (d, s)."""

    penalty: Formula
    bound: Formula
    table: Mapping[tuple[int, str], str]


ROUNDING = Rounding(
    lambda s, r: (s - r) ** 2 / (4 * s),
    lambda s, q: 1 / (16 * q**2 * s),
    {
        (2, "1"): "4.3e-2",
        (2, "3/2"): "1.2e-3",
        (5, "2"): "7.0e-3",
        (5, "9/4"): "2.2e-5",
        (10, "3"): "2.2e-3",
        (1000, "32"): "1.1e-3",
        (100000, "316"): "4.1e-5",
    },
)


@result(
    number="leb.new.disc.round",
    text="Rounding sqrt d to s costs (s - sqrt d)^2/(4 s mu^2) per query, at most 1/(16 q^2 s) for the nearest s = "
    "p/q; the costs of section 8's table.",
    formula=r"\frac{d + s + d/s + 1}{4} - \frac{(\sqrt{d}+1)^2}{4} = \frac{(s - \sqrt{d})^2}{4s} \leq \frac{1}{16 "
    r"q^2 s}",
    printed=ROUNDING,
    planted=(
        Plant("penalty", "/2", ROUNDING._replace(penalty=lambda s, r: (s - r) ** 2 / (2 * s))),
        Plant("nearest fraction", "1/32", ROUNDING._replace(bound=lambda s, q: 1 / (32 * q**2 * s))),
        *(
            Plant(
                f"d = {dim}, s = {text}", "9.9e-1", ROUNDING._replace(table={**ROUNDING.table, (dim, text): "9.9e-1"})
            )
            for dim, text in ROUNDING.table
        ),
    ),
    note="the penalty and its bound are identities; of the table of section 8 the cells named are checked",
)
def rounding(claim: Rounding) -> Findings:
    """The family's variances at C^2 = s and at C^2 = sqrt d; |s - sqrt d| <= 1/(2q) for the nearest fraction."""
    r = Symbol("r", positive=True)
    difference = sum(family_variances(r**2, s, Integer(1))) - sum(family_variances(r**2, r, Integer(1)))
    yield identity("penalty", difference, claim.penalty(s, r), scope="all d, s > 0; divided by mu^2")
    q, t = Symbol("q", positive=True), Symbol("t", nonnegative=True)  # |s - r| = 1/(2 q (1 + t))
    slack = claim.bound(s, q) - claim.penalty(s, s - 1 / (2 * q * (1 + t)))
    yield nonnegative("nearest fraction", sympy.cancel(slack * s), {s: 1, q: 1, t: 0}, scope="all d, all q >= 1")
    for (dim, text), printed in claim.table.items():
        size = Fraction(text)
        value = _penalty(claim, dim, size)
        yield _two_digits(f"d = {dim}, s = {text}", value, printed)
