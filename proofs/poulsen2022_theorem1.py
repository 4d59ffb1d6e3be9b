"""Poulsen 2022, section 2: the Gaussian mechanism, and Theorem 1, its classic scale for epsilon in (0, 1)."""

from __future__ import annotations

from collections.abc import Mapping

import sympy
from flint import arb
from sympy import exp, log, oo, pi, sqrt, symbols

from dpverdict.balls import Exact, Real, ball
from dpverdict.mechanisms.ball_normal import BallNormal
from dpverdict.proofs.boxes import positive_on_box, smaller
from dpverdict.proofs.identities import identity, nonnegative, positive
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.poulsen2022_setup import PAPER
from dpverdict.proofs.statement import Formula, Plant, statement

epsilon, delta, c, x, norm = symbols("epsilon delta c x Delta", positive=True)
SPLIT = "1.02"

u, v, w = symbols("u v w", nonnegative=True)


@statement(
    paper=PAPER,
    number="alg1",
    kind=Kind.ALGORITHM,
    expected=Standing.HOLDS,
    text="Algorithm 1, the Gaussian mechanism: eta ~ N(0, sigma^2 I), return g(X) + eta.",
    formula=r"\mu(w)^2 = w^T(\sigma^2 I)^{-1}w = \|w\|^2/\sigma^2 \leq \|\Delta\|^2/\sigma^2",
    printed=lambda square, variance: square / variance,
    planted=(
        Plant(
            "each coordinate adds w_j^2/sigma^2",
            "|w|/sigma^2",
            lambda square, variance: square ** sympy.Rational(1, 2) / variance,
        ),
        Plant("the longest difference is the worst", "1/|w|^2", lambda square, variance: 1 / (square * variance)),
    ),
    assumptions=("Gaussian pairs of equal covariance are exactly mu(w)-GDP apart (lebeda2024 fact.gauss)",),
)
def gaussian_mechanism(parameter: Formula) -> Findings:
    """The covariance is sigma^2 on the diagonal, so mu(w)^2 is a sum over the coordinates, for every d."""
    a, b, variance = symbols("w_1 w_2 sigma2", positive=True)
    total = a**2 / variance + b**2 / variance
    yield identity(
        "each coordinate adds w_j^2/sigma^2", total, parameter(a**2 + b**2, variance), scope="every d, by adding"
    )
    slack = parameter((1 + u + v) ** 2, 1 + w) - parameter((1 + u) ** 2, 1 + w)
    yield nonnegative("the longest difference is the worst", slack, {u: 0, v: 0, w: 0}, scope="all |w| <= ||Delta||")


CLASSIC: Mapping[str, Formula] = {
    "scale": lambda norm, epsilon, c: norm * c / epsilon,
    "delta": lambda c, constant: constant * exp(-(c**2) / 2),
    "mills": lambda x: 1 / x,
    "shift": lambda epsilon, c: epsilon / 2 - epsilon**2 / (8 * c**2),
    "constant": lambda: "1.25",
    "last": lambda: "1",
}


def _with(**changed: Formula) -> Mapping[str, Formula]:
    return {**CLASSIC, **changed}


@statement(
    paper=PAPER,
    number="thm1",
    kind=Kind.THEOREM,
    expected=Standing.HOLDS,
    text="Let g: R^(n x d) -> R^d be an arbitrary d-dimensional function with l2-sensitivity ||Delta||, and let eps in "
    "(0, 1). The Gaussian Mechanism with sigma = ||Delta|| sqrt(2 ln(1.25/delta))/eps is (eps, delta)-DP.",
    formula=r"\sigma = \frac{\|\Delta\|\,c}{\varepsilon},\ c = \sqrt{2\ln(1.25/\delta)}:\quad "
    r"\delta(\varepsilon) \leq \frac{\varphi(c)\,e^{\varepsilon/2}}{c - \varepsilon/(2c)} \leq \delta",
    printed=CLASSIC,
    planted=(
        Plant("parameter of the worst pair", "c^2", _with(scale=lambda norm, epsilon, c: norm * c**2 / epsilon)),
        Plant("delta in terms of c", "exp(-c^2)", _with(delta=lambda c, constant: constant * exp(-(c**2)))),
        Plant("the tail is below phi(x)/x", "phi(x)/x^2", _with(mills=lambda x: 1 / x**2)),
        Plant("the tail vanishes with its bound", "1", _with(mills=lambda x: sqrt(2 * pi) * exp(x**2 / 2))),
        Plant("phi at c - eps/(2c)", "eps", _with(shift=lambda epsilon, c: epsilon - epsilon**2 / (8 * c**2))),
        Plant("c >= 1.02: at most delta", "1.05 for 1.25", _with(constant=lambda: "1.05")),
        Plant("c <= 1.02: at most the total variation", "eps up to 4", _with(last=lambda: "4")),
        Plant("again by balls on a box", "eps up to 20", _with(last=lambda: "20")),
    ),
    assumptions=(
        "0 < delta < 1, which the report does not say",
        "Algorithm 1: the worst pair is Gaussian, of parameter ||Delta||/sigma",
        "delta(eps) <= delta(0), the total variation distance",
    ),
)
def theorem_1(claim: Mapping[str, Formula]) -> Findings:
    """The worst pair has mu = eps/c, and delta(eps) = Phibar(c - eps/(2c)) - e^eps Phibar(c + eps/(2c)).

    The first term is at most phi(x)/x at x = c - eps/(2c), which is phi(c) e^(eps/2 - eps^2/(8c^2))/x; and phi(c) =
    delta/(1.25 sqrt(2 pi)). That is at most delta for c >= 1.02: it falls in c and grows in eps. For c < 1.02, delta is
    above 1.25 e^(-1.02^2/2), and the total variation Phi(mu/2) - Phi(-mu/2) is largest at the least c, where delta = 1.
    All of it also covers eps = 1. The box is covered by balls of the exact curve, which use none of these bounds.
    """
    constant, last = claim["constant"](), claim["last"]()
    sigma = claim["scale"](norm, epsilon, c)
    yield identity("parameter of the worst pair", norm / sigma, epsilon / c, scope="every d, all Delta, eps, c > 0")
    number = sympy.Rational(constant)
    root = sqrt(2 * log(number / delta))
    yield identity("delta in terms of c", claim["delta"](root, number), delta, scope="0 < delta < 1")
    density = exp(-(x**2) / 2) / sqrt(2 * pi)
    bound = density * claim["mills"](x)
    tail = sympy.erfc(x / sqrt(2)) / 2
    slope = sympy.simplify((sympy.diff(tail, x) - sympy.diff(bound, x)) / density)
    yield positive(
        "the tail is below phi(x)/x", slope, {x: sympy.Rational(1, 100)}, scope="all x >= 1/100: the gap falls"
    )
    yield identity("the tail vanishes with its bound", sympy.limit(bound, x, oo), 0 * x, scope="x to infinity")
    exponent = -((c - epsilon / (2 * c)) ** 2) / 2 + c**2 / 2
    yield identity("phi at c - eps/(2c)", exponent, claim["shift"](epsilon, c), scope="all eps, c > 0")

    def large() -> arb:
        start, level = ball(SPLIT), ball(last)
        return (level / 2).exp() / (ball(constant) * (2 * arb.pi()).sqrt() * (start - level / (2 * start)))

    words = f"every c >= {SPLIT}, 0 < eps <= {last}"
    yield smaller("c >= 1.02: at most delta", Real(large), Real.of(1), scope=words)
    least = Real(lambda: (2 * ball(constant).log()).sqrt())
    variation = Real(lambda: BallNormal().central_mass(ball(last) / (2 * least.ball())))
    above = Real(lambda: ball(constant) * (-(ball(SPLIT) ** 2) / 2).exp())
    words = f"every c <= {SPLIT}, 0 < eps <= {last}"
    yield smaller("c <= 1.02: at most the total variation", variation, above, scope=words)

    def slack(level: arb, point: arb) -> arb:
        """(delta - delta(eps)) e^(c^2/2)."""
        curve = BallNormal().tail_gap(level, point, level / (2 * point))
        return ball(constant) - curve * (point * point / 2).exp()

    scope = f"0 <= eps <= {last}, 0.668 <= c <= 6, that is delta from 1.9e-8 to 1"
    box: dict[str, tuple[Exact, Exact]] = {"eps": (0, last), "c": ("0.668", 6)}
    yield positive_on_box("again by balls on a box", slack, box, most=4000, scope=scope)
