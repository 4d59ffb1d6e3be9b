"""Lebeda 2024, section 3: Figure 1, the error of Algorithm 1, and the embedding."""

from __future__ import annotations

import sympy
from sympy import Integer, sqrt, symbols

from dpverdict.mechanisms.embedding import h, h_inverse
from dpverdict.mechanisms.scales import family_variances
from dpverdict.proofs.identities import identity, nonnegative
from dpverdict.proofs.lebeda2024_algebra import PAPER, C, d, e, mu, r, x
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.vertices import binary_records, every

f, n = symbols("f n", real=True)


@statement(
    paper=PAPER,
    number="fig1",
    kind=Kind.FIGURE,
    expected=Standing.HOLDS,
    text="There are 2^d possible values for f(X') that touch the hypersphere under replacement, but only 2 such "
    "values under add/remove for any d.",
    formula=r"\#\{v : \|v\|^2 = d\} = 2^d\ \ \mathrm{and}\ \ 2",
    printed=(lambda dim: 2**dim, lambda dim: 2),
    planted=(
        Plant("under replacement", "2 d", (lambda dim: 2 * dim, lambda dim: 2)),
        Plant("under add/remove", "1", (lambda dim: 2**dim, lambda dim: 1)),
    ),
)
def figure_1(claim: tuple[Formula, Formula]) -> Findings:
    """Differences of norm sqrt d: all signs under replacement, all ones and all minus ones under add/remove."""
    replaced, once = claim

    def touching(dim: int) -> list[int]:
        records = list(binary_records(dim))
        differences = {tuple(a - b for a, b in zip(p, q, strict=True)) for p in records for q in records}
        steps = {tuple(sign * v for v in record) for record in records for sign in (1, -1)}
        return [sum(1 for v in values if sum(c * c for c in v) == dim) for values in (differences, steps)]

    scope = "d = 1..6; a coordinate of a difference is at most 1, so all must be +-1"
    yield every("under replacement", range(1, 7), lambda dim: touching(dim)[0] == replaced(dim), scope=scope)
    yield every("under add/remove", range(1, 7), lambda dim: touching(dim)[1] == once(dim), scope=scope)


@statement(
    paper=PAPER,
    number="lem3.1",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="Algorithm 1 estimates each query with error distributed as N(0, (d + 2 sqrt d + 1)/(4 mu^2)).",
    formula=r"v_z + v_\eta = \frac{d + 2\sqrt{d} + 1}{4\mu^2} = \left(\frac{\sqrt{d} + 1}{2\mu}\right)^2",
    printed=lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu**2),
    planted=(
        Plant("variance of a query", "4 mu for 4 mu^2", lambda d, mu: (d + 2 * sqrt(d) + 1) / (4 * mu)),
        Plant("squared standard deviation", "sqrt d for 2 sqrt d", lambda d, mu: (d + sqrt(d) + 1) / (4 * mu**2)),
    ),
)
def lemma_3_1(variance: Formula) -> Findings:
    """The error of a query is eta + z_i, of variance vz + ve, and its standard deviation is (sqrt d + 1)/(2 mu)."""
    vz, ve = family_variances(d, sqrt(d), mu)
    yield identity("variance of a query", vz + ve, variance(d, mu))
    yield identity("squared standard deviation", variance(d, mu), ((sqrt(d) + 1) / (2 * mu)) ** 2)


@statement(
    paper=PAPER,
    number="lem3.2",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="The l2 sensitivity of g is Delta g = sqrt(d + C^2).",
    formula=r"d + C^2 - \|\hat{x}\|^2 = 4\,\sum_i x_i (1 - x_i) \geq 0",
    printed=lambda d, C: d + C**2,
    planted=(
        Plant("defect of a record", "d + C", lambda d, C: d + C),
        Plant("at least every norm", "d - 1 + C^2", lambda d, C: d - 1 + C**2),
    ),
)
def lemma_3_2(square: Formula) -> Findings:
    """A coordinate 2x - 1 has the square 1 - 4x(1-x), and the last one is C: d + C^2 - |x^|^2 = 4 e, 0 iff x is
    binary."""
    coordinate, last = h(x, Integer(1), C)
    constant = sympy.expand(coordinate**2 + 4 * x * (1 - x))  # 1, so the squares add up to d - 4 e
    norm = d * constant - 4 * e + last**2
    yield identity("defect of a record", square(d, C) - norm, 4 * e, scope="all d, C > 0, all x in [0,1]^d")
    slack = square(r**2, C) - norm.subs(d, r**2)
    yield nonnegative("at least every norm", slack, {r: 1, C: 0, e: 0}, scope="all d >= 1, C > 0, all x in [0,1]^d")


@statement(
    paper=PAPER,
    number="lem3.3",
    kind=Kind.LEMMA,
    expected=Standing.HOLDS,
    text="The mechanism that outputs g(X) + Z, Z ~ N(0, (d + C^2)/mu^2 I_(d+1)), satisfies mu-GDP.",
    formula=r"\mu_x^2 = \mu^2\left(1 - \frac{4\sum_i x_i(1-x_i)}{d + C^2}\right)",
    printed=lambda d, C, mu: (d + C**2) / mu**2,
    planted=(
        Plant("no record exceeds mu", "d/mu^2", lambda d, C, mu: d / mu**2),
        Plant("every binary record attains mu", "2 d + C^2", lambda d, C, mu: (2 * d + C**2) / mu**2),
    ),
    assumptions=("Lemma 2.1",),
)
def lemma_3_3(variance: Formula) -> Findings:
    """mu_x^2 = |x^|^2/sigma^2 with |x^|^2 = d + C^2 - 4 e."""
    form = (d + C**2 - 4 * e) / variance(d, C, mu)
    slack = sympy.cancel((1 - form / mu**2).subs(d, r**2))
    yield nonnegative("no record exceeds mu", slack, {r: 1, C: 0, e: 0}, scope="all d >= 1, C > 0, mu > 0, all x")
    yield identity("every binary record attains mu", form.subs(e, 0), mu**2)


@statement(
    paper=PAPER,
    number="sec3.recover",
    kind=Kind.TEXT,
    expected=Standing.FAILS_AS_PRINTED,
    text="Notice that f(X)_i = (g(X)_i - g(X)_(d+1)/C)/2.",
    formula=r"f(X)_i = \left(g(X)_i + g(X)_{d+1}/C\right)/2",
    printed=lambda g, last, C: (g - last / C) / 2,
    corrected=Reading(
        "f(X)_i = (g(X)_i + g(X)_(d+1)/C)/2, as in the proof of Lemma 3.4",
        h_inverse_query := (lambda g, last, C: h_inverse(g, last, C)[0]),
    ),
    planted=(Plant("recovers the query", "without the division by C", lambda g, last, C: (g + last) / 2),),
)
def recover(formula: Formula) -> Findings:
    """g_i = 2 f_i - n and g_(d+1) = C n: the count must be added back, not subtracted."""
    yield identity("recovers the query", formula(*h(f, n, C), C), f)
