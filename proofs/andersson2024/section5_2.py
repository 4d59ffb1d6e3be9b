"""Andersson et al. 2024, section 5.2 with Theorem 1.3: Laplace noise scaled to the l2 sensitivity, and its variance."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import sympy
from flint import arb
from sympy import Integer, Rational, Symbol, sqrt

from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.balls import Real, at_most, ball, compare, float_up
from dpverdict.mechanisms.core.calibration import analytic_scale, l2_scale_real, theorem_epsilon
from dpverdict.proofs.andersson2024.shared.curves import DELTAS, VECTORS, laplace_delta, norms
from dpverdict.proofs.andersson2024.shared.notation import PAPER, RESTORED, equal_to_digits
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative
from dpverdict.proofs.checks.outcome import Findings, Method, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import every

ell, d2, lam = sympy.symbols("ell Delta2 lambda", positive=True)  # ell = ln(1/delta)
a, b = sympy.symbols("a b", positive=True)  # sqrt(ell) and sqrt(ell + epsilon)


def lemma_scale(a: Expr, b: Expr, epsilon: Expr, root2: Expr) -> Expr:
    """(sqrt(ell) + sqrt(ell + epsilon))/(sqrt(2) epsilon), from its roots."""
    return (a + b) / (root2 * epsilon)


@statement(
    paper=PAPER,
    number="lem5.4",
    restored=RESTORED,
    kind=StatementKind.LEMMA,
    expected=Standing.HOLDS_ON_RANGE,
    text="Let f have l2 sensitivity D2. Then f + Lap(lambda)^d with lambda = D2/(sqrt(2) eps) (sqrt(ln(1/delta)) + "
    "sqrt(ln(1/delta) + eps)) satisfies (eps, delta)-DP.",
    formula=r"\lambda = \frac{\Delta_2}{\sqrt{2}\,\varepsilon}\left(\sqrt{\ln(1/\delta)} + \sqrt{\ln(1/\delta) + "
    r"\varepsilon}\right)",
    printed=lemma_scale,
    confirms={"the project's scale": "solves the quadratic"},
    planted=(
        Plant("solves the quadratic", "2 for sqrt(2)", lambda a, b, epsilon, root2: (a + b) / (2 * epsilon)),
        Plant("the other form", "b - a for a + b", lambda a, b, epsilon, root2: (b - a) / (root2 * epsilon)),
        Plant("the exact curve", "a fifth of it", lambda a, b, epsilon, root2: (a + b) / (5 * root2 * epsilon)),
        Plant("the project's scale", "2 for sqrt(2)", lambda a, b, epsilon, root2: (a + b) / (2 * epsilon)),
    ),
    assumptions=("equation (1)",),
)
def lemma_5_4(scale: Formula) -> Findings:
    """The coordinates are eps_j-DP with sum eps_j^2 = D2^2/l^2; (1) says eps = D2^2/(2 l^2) + (D2/l) sqrt(2 ell)."""
    found = d2 * scale(a, b, b**2 - a**2, sqrt(2))
    yield identity(
        "solves the quadratic",
        d2**2 / (2 * found**2) + d2 / found * sqrt(2) * a,
        b**2 - a**2,
        scope="all D2, eps, ell > 0 (a = sqrt ell, b = sqrt(ell + eps))",
    )
    yield identity("the other form", found, d2 / (sqrt(2) * (b - a)), scope="all D2, eps, ell > 0")

    def at(epsilon: str, delta: str) -> Real:
        def value() -> arb:
            log, eps = -ball(delta).log(), ball(epsilon)
            made: arb = scale(log.sqrt(), (log + eps).sqrt(), eps, ball(2).sqrt())
            return made

        return Real(value)

    epsilons = ("0.1", "1", "5")
    yield every(
        "the project's scale",
        list(product(epsilons, DELTAS)),
        lambda case: equal_to_digits(l2_scale_real(case[0], case[1], 1), at(*case)),
        over="eps, delta: `l2_scale_real` to 30 digits",
        cases=21,
        method=Method.BALLS,
        show=str,
    )
    yield every(
        "the exact curve",
        list(product(VECTORS, epsilons, DELTAS)),
        lambda case: keeps(case[0], at(case[1], case[2]), case[1], case[2]),
        over=f"{len(VECTORS)} directions of up to 100 coordinates, eps = 0.1, 1, 5, {len(DELTAS)} deltas",
        cases=168,
        method=Method.BALLS,
        show=lambda case: f"direction ({', '.join(case[0][:4])}, ...), eps = {case[1]}, delta = {case[2]}",
    )


def keeps(direction: Sequence[str], scale: Real, epsilon: str, delta: str) -> bool:
    """Whether the exact delta of the direction, scaled to l2 norm 1, is at most delta; shifts are rounded up."""
    length = Real.of(norms(direction)[1]).sqrt()
    shifts = {text: Fraction(float_up(ball(text) / (length.ball() * scale.ball()))) for text in set(direction)}
    return Fraction(LaplaceLoss([shifts[text] for text in direction]).certified_delta(epsilon).upper) <= Fraction(delta)


class Theorem13(NamedTuple):
    """The two terms, of (D1, l) and of (D2, l, sqrt(2 ell)); and the range of the scale over what is needed."""

    pure: Formula
    mixed: Formula
    loose: tuple[str, str] | None


THEOREM = Theorem13(lambda d1, scale: d1 / scale, lambda d2, scale, root: d2 / scale * (d2 / (2 * scale) + root), None)


@statement(
    paper=PAPER,
    number="thm1.3",
    restored=RESTORED,
    kind=StatementKind.THEOREM,
    expected=Standing.HOLDS_ON_RANGE,
    text="Let f have lp sensitivities Dp. Then f + Lap(lambda)^d satisfies (eps, delta)-DP with eps = min{D1/lambda, "
    "(D2/lambda)(D2/(2 lambda) + sqrt(2 ln(1/delta)))}.",
    formula=r"\varepsilon = \min\left\{\frac{\Delta_1}{\lambda},\ "
    r"\frac{\Delta_2}{\lambda}\left(\frac{\Delta_2}{2\lambda}"
    r" + \sqrt{2\ln(1/\delta)}\right)\right\}",
    printed=THEOREM,
    corrected=Reading(
        "the scale of Lemma 5.4 is 1.10 to 1.67 times that at which the limit of many equal shifts, the Gaussian "
        "curve, keeps (eps, delta), for eps from 0.05 to 4 and delta from 1e-12 to 1e-5",
        THEOREM._replace(loose=("1.10", "1.67")),
    ),
    needs=(
        "lem5.4",
        "lemA.2",
    ),
    planted=(
        Plant(
            "the l2 term is equation (1)",
            "D2/lambda",
            THEOREM._replace(mixed=lambda d2, l, root: d2 / l * (d2 / l + root)),
        ),
        Plant(
            "the l2 term is rho + 2 sqrt(rho ell)",
            "D2/lambda",
            THEOREM._replace(mixed=lambda d2, l, root: d2 / l * (d2 / l + root)),
        ),
        Plant("the l1 term is pure", "D1/(2 lambda)", THEOREM._replace(pure=lambda d1, scale: d1 / (2 * scale))),
        Plant(
            "the exact curve",
            "a third of the root",
            THEOREM._replace(mixed=lambda d2, l, root: d2 / l * (d2 / (2 * l) + root / 3)),
        ),
        Plant(
            "the project's epsilon",
            "half the root",
            THEOREM._replace(mixed=lambda d2, l, root: d2 / l * (d2 / (2 * l) + root / 2)),
        ),
        Plant("how loose", "1.10 to 1.2", THEOREM._replace(loose=("1.10", "1.2"))),
    ),
    assumptions=("equation (1)", "Lemma A.2"),
)
def theorem_1_3(claim: Theorem13) -> Findings:
    """Lemma 5.4 read from lambda to eps, and Lemma A.2. The exact curve of Laplace vectors at that eps."""
    square = sum(x**2 for x in sympy.symbols("e1:4", positive=True))  # eps_j = |f_j(x) - f_j(x')|/lambda
    size = sqrt(square) * lam
    equation_1 = square / 2 + sqrt(2 * ell * square)
    yield identity(
        "the l2 term is equation (1)", claim.mixed(size, lam, sqrt(2 * ell)), equation_1, scope="all eps_j, lambda, ell"
    )
    rho = d2**2 / (2 * lam**2)
    yield identity(
        "the l2 term is rho + 2 sqrt(rho ell)",
        claim.mixed(d2, lam, sqrt(2 * ell)),
        rho + 2 * sqrt(rho * ell),
        scope="all D2, lambda, ell > 0, rho = D2^2/(2 lambda^2)",
    )
    cases = list(product(VECTORS, DELTAS))
    scope = f"{len(VECTORS)} vectors of shifts, up to 100 coordinates, {len(DELTAS)} deltas"

    def second(vector: Sequence[str], delta: str) -> Real:
        length = Real.of(norms(vector)[1]).sqrt()
        return Real(lambda: claim.mixed(length.ball(), arb(1), (-2 * ball(delta).log()).sqrt()))

    def first(vector: Sequence[str]) -> Real:
        return Real.of(claim.pure(norms(vector)[0], Fraction(1)))

    yield every(
        "the l1 term is pure",
        VECTORS,
        lambda vector: (
            laplace_delta(vector, first(vector)).rational is not None
            and LaplaceLoss(list(vector)).certified_delta(first(vector).rational or 0).upper == 0
        ),
        over=scope,
        cases=8,
        method=Method.BALLS,
        show=str,
    )
    yield every(
        "the exact curve",
        cases,
        lambda case: at_most(laplace_delta(case[0], second(*case)), Real.of(case[1])),
        over=scope,
        cases=56,
        method=Method.BALLS,
        show=lambda case: f"shifts ({', '.join(case[0][:4])}, ...), delta = {case[1]}",
    )
    yield every(
        "the project's epsilon",
        cases,
        lambda case: _is_least(
            theorem_epsilon(1, case[1], norms(case[0])[0], Real.of(norms(case[0])[1]).sqrt()),
            first(case[0]),
            second(*case),
        ),
        over=f"`theorem_epsilon` to 30 digits: {scope}",
        cases=56,
        method=Method.BALLS,
        show=str,
    )
    if claim.loose is not None:
        low, high = claim.loose
        yield every(
            "how loose",
            list(product(("0.05", "0.2", "1", "4"), ("1e-5", "1e-8", "1e-12"))),
            lambda case: _within(l2_scale_real(*case, 1), analytic_scale(*case, 1), low, high),
            over="eps, delta: the Gaussian curve is the limit of equal shifts",
            cases=12,
            method=Method.BALLS,
            show=lambda case: f"eps = {case[0]}, delta = {case[1]}: {_quotient(*case):.4f} times what is needed",
        )


def _is_least(found: Real, first: Real, second: Real) -> bool:
    least = first if compare(first, second) == -1 else second
    return equal_to_digits(found, least)


def _within(scale: Real, needed: float, low: str, high: str) -> bool:
    """low * needed <= scale <= high * needed; ``needed`` is right to the next float64."""
    quotient = Real(lambda: scale.ball() / ball(needed))
    return bool(at_most(Real.of(low), quotient)) and bool(at_most(quotient, Real.of(high)))


def _quotient(epsilon: str, delta: str) -> float:
    return l2_scale_real(epsilon, delta, 1).nearest() / analytic_scale(epsilon, delta, 1)


class Variance(NamedTuple):
    """The bound on the ratio of variances, its limit, and its limit at a fixed ell = ln(1/delta) (if claimed)."""

    bound: Expr
    limit: Expr
    fixed: Formula | None


VARIANCE = Variance((1 + sqrt(2)) ** 2 / 2, Integer(2), None)


@statement(
    paper=PAPER,
    number="cor5.5",
    restored=RESTORED,
    kind=StatementKind.COROLLARY,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="The variance 2 lambda^2 of Lemma 5.4 is at most (4 D2^2/eps^2)(ln(1/delta) + eps/2): only a constant factor "
    "above that of Lemma A.3 whenever eps <= ln(1/delta), and the constant approaches 2 as eps/ln(1/delta) approaches "
    "zero.",
    formula=r"\frac{2\lambda^2}{\sigma^2} = \frac{(\sqrt{\ell}+\sqrt{\ell+\varepsilon})^2}{2\ln(1.25/\delta)} \leq "
    r"\frac{(1+\sqrt{2})^2}{2}",
    printed=VARIANCE,
    caveat=Reading(
        "read as a limit at fixed delta: it is less than 2 there", VARIANCE._replace(fixed=lambda ell: Integer(2))
    ),
    corrected=Reading(
        "the limit 2 needs delta -> 0 as well; at fixed delta it is 2 ell/(ell + ln 1.25), which is 1.937 at 1e-3",
        VARIANCE._replace(fixed=lambda ell: 2 * ell / (ell + sympy.log(Rational(5, 4)))),
    ),
    needs=(
        "lem5.4",
        "lemA.3",
    ),
    planted=(
        Plant("at most 4 (ell + eps/2)", "limit 5", VARIANCE._replace(limit=Rational(5, 2))),
        Plant("constant factor", "2.5", VARIANCE._replace(bound=Rational(5, 2))),
        Plant("limit as delta -> 0", "1", VARIANCE._replace(limit=Integer(1))),
        Plant("limit at fixed delta", "2 ell", VARIANCE._replace(fixed=lambda ell: 2 * ell)),
    ),
    assumptions=("Lemma 5.4 and Lemma A.3 as calibrations",),
)
def corollary_5_5(claim: Variance) -> Findings:
    """(sqrt u + sqrt v)^2 = 2 (u + v) - (sqrt v - sqrt u)^2; x = eps/ell and w = sqrt(1 + x) in 1..sqrt 2."""
    variance = 2 * lemma_scale(a, b, 1, sqrt(2)) ** 2  # in units of D2^2/eps^2
    yield identity(
        "at most 4 (ell + eps/2)",
        2 * claim.limit * (a**2 + (b**2 - a**2) / 2) - variance,
        (b - a) ** 2,
        scope="all ell, eps > 0",
    )
    s, x = Symbol("s", nonnegative=True), Symbol("x", positive=True)
    inside = sqrt(2) / (1 + s)
    yield nonnegative(
        "constant factor",
        claim.bound - (1 + inside) ** 2 / 2,
        {s: 0},
        scope="all eps <= ln(1/delta); ln(1.25/delta) > ln(1/delta) only helps",
    )
    ratio = ell * (1 + sqrt(1 + x)) ** 2 / (2 * (ell + sympy.log(Rational(5, 4))))
    at_zero = sympy.limit(ratio, x, 0)
    yield identity(
        "limit as delta -> 0", sympy.limit(at_zero, ell, sympy.oo), claim.limit, scope="eps/ell -> 0 and delta -> 0"
    )
    if claim.fixed is not None:
        yield identity("limit at fixed delta", at_zero, claim.fixed(ell), scope="all delta in (0, 1), eps -> 0")


@statement(
    paper=PAPER,
    number="sec5.2.norms",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="While functions with low l1 sensitivity also have low l2 sensitivity, the converse does not hold.",
    formula=r"\Delta_2 \leq \Delta_1 \leq \sqrt{d}\,\Delta_2",
    printed=(1, lambda d: d),
    planted=(
        Plant("l2 is at most l1", "half of it", (Fraction(1, 4), lambda d: d)),
        Plant("l1 may be sqrt(d) times l2", "d^(1/4)", (1, lambda d: sqrt(d))),
    ),
)
def l1_and_l2(claim: tuple[Fraction | int, Formula]) -> Findings:
    """(|u| + |v|)^2 - u^2 - v^2 = 2 |u||v|, coordinate after coordinate; and the all-ones vector."""
    share, largest = claim
    u, v = Symbol("u", nonnegative=True), Symbol("v", nonnegative=True)
    yield nonnegative(
        "l2 is at most l1", Rational(share) * (u + v) ** 2 - u**2 - v**2, {u: 0, v: 0}, scope="all d, all f"
    )
    dim = Symbol("d", positive=True)
    yield identity("l1 may be sqrt(d) times l2", dim**2 / dim, largest(dim), scope="all d, f = x on {0,1}^d")
