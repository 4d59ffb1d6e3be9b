"""Lebeda 2024, section 2: definitions, the transfer to other definitions of privacy, the two tools.

The privacy curves of the normal law are taken in SymPy expressions here, a third arithmetic beside floats and balls.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from typing import NamedTuple, final

import sympy
from flint import acb, arb
from sympy import Integer, exp, oo, pi, sqrt, symbols

from dpverdict.balls import ball, precision
from dpverdict.numerics import gaussian_formulas
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative
from dpverdict.proofs.checks.outcome import Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, statement
from dpverdict.proofs.checks.vertices import every
from dpverdict.proofs.lebeda2024.notation import PAPER, mu, s1, s2, withheld


@final
class SymbolNormal:
    """The `Tails` of symbols; see `dpverdict.numerics.gaussian.Tails` for the meanings."""

    def halve(self, x: Expr) -> Expr:
        return x / 2

    def tail(self, t: Expr) -> Expr:
        return sympy.erfc(t / sympy.sqrt(2)) / 2

    def central_mass(self, half: Expr) -> Expr:
        return sympy.erf(half / sympy.sqrt(2))

    def tail_gap(self, epsilon: Expr, centre: Expr, half: Expr) -> Expr:
        return self.tail(centre - half) - self.tilted_tail(epsilon, centre, half)

    def tail_gap_complement(self, epsilon: Expr, centre: Expr, half: Expr) -> Expr:
        return self.tail(half - centre) + self.tilted_tail(epsilon, centre, half)

    def tilted_tail(self, epsilon: Expr, centre: Expr, half: Expr) -> Expr:
        return sympy.exp(epsilon) * self.tail(centre + half)


Dataset = tuple[int, ...]
Relation = Callable[[Dataset, Dataset], bool]


def _removed(left: Dataset, right: Dataset) -> bool:
    return any(left[:i] + left[i + 1 :] == right for i in range(len(left)))


def _of_one_size(left: Dataset, right: Dataset) -> bool:
    return len(left) == len(right)


def add_or_remove(left: Dataset, right: Dataset) -> bool:
    """Definition 2.1: X' is X without some x_i, or X is X' without some x'_i."""
    return _removed(left, right) or _removed(right, left)


def replacement(left: Dataset, right: Dataset) -> bool:
    """Definition 2.1: equally long, and equal but for at most one place."""
    return len(left) == len(right) > 0 and sum(a != b for a, b in zip(left, right, strict=True)) <= 1


class Definitions(NamedTuple):
    """The two relations, and the argument of Phi in the second error of the test that rejects beyond t."""

    once: Relation
    replaced: Relation
    error: Formula


DEFINITIONS = Definitions(add_or_remove, replacement, lambda t, mu: t - mu)


@statement(
    paper=PAPER,
    number="def2",
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS_ON_RANGE,
    text="Definitions 2.1 to 2.5: neighbouring datasets (add/remove, replacement), mu-GDP, trade-off function, l2 "
    "sensitivity, sensitivity space.",
    formula=r"X \sim X' \Leftrightarrow X' \sim X,\qquad \Delta f = \max_{X \sim X'} \|f(X) - f(X')\|_2",
    printed=DEFINITIONS,
    planted=(
        Plant("add/remove is symmetric", "removal only", DEFINITIONS._replace(once=_removed)),
        Plant("replacement is symmetric", "X <= X' in every place", DEFINITIONS._replace(replaced=lambda a, b: a <= b)),
        Plant("the sensitivity space is symmetric", "removal only", DEFINITIONS._replace(once=_removed)),
        Plant("two removals and additions make a replacement", "no additions", DEFINITIONS._replace(once=_removed)),
        Plant("largest norm, add/remove", "any two datasets", DEFINITIONS._replace(once=lambda a, b: True)),
        Plant("largest norm, replacement", "any of one size", DEFINITIONS._replace(replaced=_of_one_size)),
        Plant("trade-off of two Gaussians", "Phi(t - 2 mu)", DEFINITIONS._replace(error=lambda t, mu: t - 2 * mu)),
        Plant("nothing is told at mu = 0", "Phi(t + mu - 1)", DEFINITIONS._replace(error=lambda t, mu: t + mu - 1)),
    ),
    assumptions=("Neyman and Pearson: the infimum of Definition 2.3 is that over thresholds of the likelihood ratio",),
    note="a relation between datasets has no formula to simplify: symmetric by its definition, and by enumeration here",
)
def definitions(claim: Definitions) -> Findings:
    """Both relations are symmetric, so Definition 2.2 asks the same of (X, X') and (X', X), and so does Definition 2.5.

    The test of N(0, 1) against N(mu, 1) that rejects beyond t has alpha = 1 - Phi(t) and beta = Phi(t - mu): where it
    is best, d beta/d alpha is minus the likelihood ratio at t. The largest norm is that of records with 2 numbers in
    {0, 1}: the square is 2 under both relations.
    """
    once, replaced = claim.once, claim.replaced
    sets = [part for size in range(4) for part in product((0, 1, 2), repeat=size)]
    scope = "datasets of up to 3 records out of 3 values"
    pairs = list(product(sets, repeat=2))
    yield every("add/remove is symmetric", pairs, lambda p: once(*p) == once(p[1], p[0]), over=scope, cases=1600)
    yield every(
        "replacement is symmetric", pairs, lambda p: replaced(*p) == replaced(p[1], p[0]), over=scope, cases=1600
    )
    space = {sum(a) - sum(b) for a, b in pairs if once(a, b)}
    yield every("the sensitivity space is symmetric", sorted(space), lambda v: -v in space, over=scope, cases=5)
    yield every(
        "two removals and additions make a replacement",
        [p for p in pairs if replacement(*p)],
        lambda p: any(once(p[0], middle) and once(middle, p[1]) for middle in sets),
        over=scope,
        cases=243,
    )
    records = list(product((0, 1), repeat=2))
    tables = [part for size in range(3) for part in product(range(len(records)), repeat=size)]
    for name, relation in (("add/remove", once), ("replacement", replaced)):
        differences = [
            [sum(records[i][k] for i in a) - sum(records[i][k] for i in b) for k in (0, 1)]
            for a, b in product(tables, repeat=2)
            if relation(a, b)
        ]
        yield every(
            f"largest norm, {name}",
            [max(x * x + y * y for x, y in differences)],
            lambda square: square == 2,
            over="datasets of up to 2 records in {0, 1}^2: (Delta f)^2 = d",
            cases=1,
        )
    t = symbols("t", real=True)
    normal = SymbolNormal()
    alpha, beta = normal.tail(t), normal.tail(-claim.error(t, mu))  # Phi(x) = tail(-x)
    ratio = sympy.exp(-((t - mu) ** 2) / 2 + t**2 / 2)
    yield identity(
        "trade-off of two Gaussians",
        sympy.diff(beta, t) / sympy.diff(alpha, t),
        -ratio,
        scope="all thresholds t, all mu",
    )
    yield identity(
        "nothing is told at mu = 0", (alpha + beta).subs(mu, 0), Integer(1), scope="all thresholds t", dropped=(t,)
    )


TRANSFER: Mapping[str, Formula] = {
    "profile": gaussian_formulas.delta,
    "renyi": lambda order, square: order / (2 * square),
    "zcdp": lambda square: 1 / (2 * square),
}


@statement(
    paper=PAPER,
    number="remark2.3",
    kind=StatementKind.REMARK,
    expected=Standing.HOLDS,
    text="Let sigma be such that f(X) + N(0, sigma^2), f of sensitivity 1, satisfies (eps, delta)-DP, (alpha, "
    "eps)-RDP or rho-zCDP; then all mechanisms of the paper satisfy it if 1/mu^2 is replaced by sigma^2.",
    formula=r"\delta(\varepsilon) = \Phi\left(\frac{\mu}{2} - \frac{\varepsilon}{\mu}\right) - "
    r"e^{\varepsilon}\Phi\left(-\frac{\mu}{2} - \frac{\varepsilon}{\mu}\right),\quad \mu = 1/\sigma",
    printed=TRANSFER,
    confirms={"profile by quadrature": "profile from the densities"},
    planted=(
        Plant(
            "profile from the densities",
            "mu in place of mu/2",
            {**TRANSFER, "profile": lambda kind, epsilon, m: kind.tail_gap(epsilon, epsilon / m, m)},
        ),
        Plant(
            "profile by quadrature",
            "mu/2 in place of mu",
            {**TRANSFER, "profile": lambda kind, epsilon, m: gaussian_formulas.delta(kind, epsilon, kind.halve(m))},
        ),
        Plant("Renyi divergence", "alpha/sigma^2", {**TRANSFER, "renyi": lambda order, square: order / square}),
        Plant("zCDP", "1/sigma^2", {**TRANSFER, "zcdp": lambda square: 1 / square}),
    ),
    assumptions=("the noise is Gaussian: of discrete noise only the zCDP and Renyi parts are true",),
)
def transfer(claim: Mapping[str, Formula]) -> Findings:
    """All worst pairs of the paper are N(mu, 1) against N(0, 1), and so is f + N(0, 1/mu^2): same curves.

    The hockey-stick divergence is the integral of p - e^eps q over y > eps/mu + mu/2: in symbols, and again by
    rigorous quadrature of the densities in ball arithmetic, which shares nothing with the formula.
    """
    y, epsilon = symbols("y epsilon", real=True)
    a = symbols("alpha", positive=True)
    p, q = (exp(-((y - m) ** 2) / 2) / sqrt(2 * pi) for m in (mu, Integer(0)))
    start = symbols("t", real=True)
    parts = [sympy.integrate(density, (y, start, oo)).subs(start, epsilon / mu + mu / 2) for density in (p, q)]
    derived = parts[0] - exp(epsilon) * parts[1]
    formula = claim["profile"](SymbolNormal(), epsilon, mu)
    yield identity("profile from the densities", *(side.rewrite(sympy.erf) for side in (derived, formula)))
    cases = list(product(("1/10", "1/2", "1", "3"), ("-1", "0", "1/2", "2", "6")))
    yield every(
        "profile by quadrature",
        cases,
        lambda case: _quadrature_agrees(claim["profile"], *map(Fraction, case)),
        over="mu, eps",
        cases=20,
        method=Method.BALLS,
        show=lambda case: f"mu = {case[0]}, eps = {case[1]}",
    )
    log_moment = sympy.log(sympy.simplify(sympy.integrate(exp(a * (mu * y - mu**2 / 2)) * q, (y, -oo, oo))))
    renyi = sympy.expand_log(log_moment, force=True) / (a - 1)
    yield identity("Renyi divergence", renyi, claim["renyi"](a, 1 / mu**2))
    yield identity("zCDP", renyi / a, claim["zcdp"](1 / mu**2))


def _quadrature_agrees(profile: Formula, m: Fraction, epsilon: Fraction) -> bool:
    """Whether a rigorous integral of p - e^eps q, with its tail, overlaps the formula to 20 digits."""
    with precision(120):
        centre, tilt = ball(m), ball(epsilon).exp()
        start = ball(epsilon) / centre + centre / 2
        scale = (2 * arb.pi()).sqrt()

        def gap(z: acb, _: bool) -> acb:
            return (-((z - centre) ** 2) / 2).exp() / scale - tilt * (-(z**2) / 2).exp() / scale

        end = max(start, centre) + 16
        integral = acb.integral(gap, start, end).real
        tail = (-((end - centre) ** 2) / 2).exp()  # Phibar(t) <= exp(-t^2/2), of p; the part of q is smaller
        enclosure = integral + arb(0, 1) * tail
        value = profile(BallNormal(), ball(epsilon), centre)
        return bool(enclosure.overlaps(value)) and bool(abs(enclosure - value) < arb(10) ** -20)


@statement(
    paper=PAPER,
    number="lem2.1",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS,
    text="Let f have l2 sensitivity Df. Then f(X) + Z, Z ~ N(0, (Df)^2/mu^2 I), satisfies mu-GDP.",
    formula=r"\|v\| \leq \Delta f \Rightarrow v^T \Sigma^{-1} v = \mu^2 \|v\|^2/(\Delta f)^2 \leq \mu^2",
    printed=lambda square, mu: square / mu**2,
    needs=("fact.gauss",),
    planted=(
        Plant("at most mu", "Df^2/(2 mu^2)", lambda square, mu: square / (2 * mu**2)),
        Plant("attained at |v| = Df", "2 Df^2/mu^2", lambda square, mu: 2 * square / mu**2),
    ),
    assumptions=("Gaussian pairs of equal covariance are exactly mu_v-GDP apart (fact.gauss)",),
)
def lemma_2_1(variance: Formula) -> Findings:
    """v^T S^-1 v = |v|^2/sigma^2 with |v|^2 = Df^2 - u, u >= 0."""
    square, u = symbols("Delta2 u", nonnegative=True)
    form = withheld(variance(square, mu), Integer(0)).subs({s1: 0, s2: square - u})
    slack = sympy.cancel((mu**2 - form) / mu**2)
    yield nonnegative("at most mu", slack, {square: 1, u: 0}, scope="all Df (in any unit), mu > 0, every dimension")
    yield identity("attained at |v| = Df", form.subs(u, 0), mu**2, scope="all Df, mu > 0")


@statement(
    paper=PAPER,
    number="lem2.2",
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS_ON_RANGE,
    text="Post-processing: if M satisfies mu-GDP, so does g o M for any (randomized) g.",
    formula=r"E_\gamma(KP\,\|\,KQ) \leq E_\gamma(P\,\|\,Q)\ \ \mathrm{for\ every\ channel}\ K",
    printed=(operator.le, 2),
    planted=(
        Plant("no channel increases it", "post-processing loses nothing", (operator.eq, 2)),
        Plant("no channel increases it", "it loses 1 %", (lambda a, b: a <= b * Fraction(99, 100), 2)),
        Plant("subadditivity", "|a||b| - ab in place of 2(|a||b| - ab)", (operator.le, 1)),
    ),
    assumptions=("mu-GDP is a bound on E_gamma for every gamma > 0, in both directions",),
)
def lemma_2_2(claim: tuple[Callable[[Fraction, Fraction], bool], int]) -> Findings:
    """E_gamma(P||Q) = sum (p - gamma q)_+, and a channel only adds up parts of the terms: (a + b)_+ <= a_+ + b_+.

    (|a| + |b|)^2 - (a + b)^2 = 2 (|a||b| - ab) >= 0 gives the subadditivity; the brute force takes all small channels.
    """
    compare, factor = claim
    a, b, big_a, big_b = symbols("a b A B", real=True)  # A = |a|, B = |b|
    spread = (big_a + big_b) ** 2 - (a + b) ** 2 - (big_a**2 - a**2) - (big_b**2 - b**2)
    yield identity("subadditivity", spread, factor * (big_a * big_b - a * b), scope="all a, b")
    quarters = [Fraction(i, 4) for i in range(5)]
    laws = [(u, v, 1 - u - v) for u in quarters for v in quarters if u + v <= 1]
    channels = list(product([Fraction(i, 2) for i in range(3)], repeat=3))  # probability of the first of two outputs

    def kept(case: tuple[tuple[Fraction, ...], tuple[Fraction, ...], tuple[Fraction, ...], Fraction]) -> bool:
        p, q, channel, gamma = case
        gaps = [u - gamma * v for u, v in zip(p, q, strict=True)]
        first = sum((gap * k for gap, k in zip(gaps, channel, strict=True)), Fraction(0))
        after = max(first, Fraction(0)) + max(sum(gaps) - first, Fraction(0))
        return compare(after, sum((max(gap, Fraction(0)) for gap in gaps), Fraction(0)))

    cases = product(laws, laws, channels, (Fraction(1, 2), Fraction(1), Fraction(3)))
    yield every(
        "no channel increases it", cases, kept, over="laws on 3 points in quarters, channels in halves", cases=18225
    )
