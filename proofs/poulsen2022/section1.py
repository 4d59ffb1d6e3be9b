"""Poulsen 2022, sections 1 and 2: neighbours, sensitivity, (epsilon, delta)-DP; the Gaussian mechanism and Theorem 1.

The report is of 24 November 2022, on the elliptical Gaussian mechanism of Pagh and Lebeda. The text supplied ends after
the problem setup: definitions, the Gaussian mechanism with its classic scale for epsilon in (0, 1), and the box of
records. The mechanism itself is not printed; it is restored from the setup, and its properties are checked in
`dpverdict.proofs.poulsen2022.section3`. Notation: Delta_j is the sensitivity of coordinate j, S = sum Delta_j, s the
standard deviation of the scalar mechanism at sensitivity 1, w a difference f(X) - f(X'), mu(w)^2 = sum w_j^2/sigma_j^2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import sympy
from flint import arb
from sympy import exp, log, oo, pi, sqrt, symbols

from dpverdict.balls import Exact, Real, ball
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.proofs.checks.boxes import positive_on_box, smaller
from dpverdict.proofs.checks.identities import identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import every

PAPER = "poulsen2022"

Dataset = tuple[int, ...]
Relation = Callable[[Dataset, Dataset], bool]
Record = Sequence[Fraction]

u, v, w = symbols("u v w", nonnegative=True)


def at_most_one_entry(left: Dataset, right: Dataset) -> bool:
    """Definition 1.1: as many entries, at most one of them different."""
    return len(left) == len(right) and sum(a != b for a, b in zip(left, right, strict=True)) <= 1


@statement(
    paper=PAPER,
    number="def1.1",
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS_ON_RANGE,
    text="Two datasets X, X' in R^(n x d) are said to be neighbouring if they differ in at most a single entry: X ~ X' "
    "iff |{i : x_i != x'_i}| <= 1.",
    formula=r"X \sim X' \Leftrightarrow |\{i \leq n : x_i \neq x'_i\}| \leq 1",
    printed=at_most_one_entry,
    planted=(
        Plant("symmetric", "X <= X' in every place", lambda a, b: at_most_one_entry(a, b) and a <= b),
        Plant("one step changes one entry", "at most two entries", lambda a, b: len(a) == len(b)),
        Plant("n steps reach every dataset", "no entry", lambda a, b: a == b),
    ),
    note="a relation between datasets has no formula to simplify: symmetric by its definition, and by enumeration here",
)
def neighbours(relation: Relation) -> Findings:
    """The replacement of one record; the number n of entries is public. Symmetric, so (P, Q) and (Q, P) both count."""
    sets = [part for size in range(4) for part in itertools.product((0, 1, 2), repeat=size)]
    pairs = [(a, b) for a, b in itertools.product(sets, repeat=2) if len(a) == len(b)]
    scope = "datasets of up to 3 entries out of 3 values"
    yield every("symmetric", pairs, lambda p: relation(*p) == relation(p[1], p[0]), over=scope, cases=820)

    def close(pair: tuple[Dataset, Dataset]) -> bool:
        return not relation(*pair) or sum(a != b for a, b in zip(*pair, strict=True)) <= 1

    yield every("one step changes one entry", pairs, close, over=scope, cases=820)

    def joined(pair: tuple[Dataset, Dataset]) -> bool:
        left, right = pair
        path = [right[:i] + left[i:] for i in range(len(left) + 1)]
        return all(relation(a, b) for a, b in itertools.pairwise(path))

    yield every("n steps reach every dataset", pairs, joined, over=scope, cases=820)


BOUNDS = (Fraction(1), Fraction(4), Fraction(1, 2))


def _box(size: int) -> list[Record]:
    """The corners of prod [-Delta_j/2, Delta_j/2], whatever the size of the window."""
    return list(itertools.product(*[(-b / 2, b / 2) for b in BOUNDS]))


def _everything(size: int) -> list[Record]:
    """The corners of [-size, size]^3."""
    return list(itertools.product((Fraction(-size), Fraction(size)), repeat=3))


def _sphere(size: int) -> list[Record]:
    """Points of the unit ball of l2: the signed unit vectors."""
    units = [tuple(Fraction(int(i == k)) for k in range(3)) for i in range(3)]
    return [*units, *(tuple(-x for x in unit) for unit in units)]


@statement(
    paper=PAPER,
    number="def1.2",
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="Let f: R^(n x d) -> R^d, f(X) = sum x_i. Delta_j = max over X ~ X' of |f(X)^(j) - f(X')^(j)|, and the total "
    "l2-sensitivity is ||Delta|| = max over X ~ X' of ||f(X) - f(X')||.",
    formula=r"\Delta_j = \max_{X \sim X'} |f(X)^{(j)} - f(X')^{(j)}|,\quad "
    r"\|\Delta\| = \max_{X \sim X'} \|f(X) - f(X')\|",
    printed=_box,
    caveat=Reading("with the domain as printed, all of R^(n x d), no maximum exists: both are infinite", _everything),
    corrected=Reading(
        "for records in the box of section 3; then ||Delta|| is the norm of (Delta_1, .., Delta_d), as the notation "
        "suggests (for records in a ball it is not)",
        _box,
    ),
    planted=(
        Plant("the maximum exists", "all of R^(n x d)", _everything),
        Plant("||Delta|| is the norm of the Delta_j", "records in the unit ball", _sphere),
    ),
)
def sensitivity(domain: Callable[[int], list[Record]]) -> Findings:
    """Replacing x by x' changes f by x' - x, whatever the other records are; maxima are at extreme points.

    The maximum exists iff it is the same in every window [-R, R]^d that is large enough.
    """

    def of(size: int) -> tuple[list[Fraction], Fraction]:
        moves = [[a - b for a, b in zip(x, y, strict=True)] for x, y in itertools.product(domain(size), repeat=2)]
        return [max(abs(m[j]) for m in moves) for j in range(3)], max(
            sum((a * a for a in m), Fraction(0)) for m in moves
        )

    yield every(
        "the maximum exists",
        [(10, 100), (100, 1000)],
        lambda sizes: of(sizes[0]) == of(sizes[1]) and of(sizes[0])[0] == list(BOUNDS),
        over="d = 3, windows [-R, R]^3",
        cases=2,
        show=lambda sizes: (
            f"R = {sizes[0]}: Delta_1 = {of(sizes[0])[0][0]}; R = {sizes[1]}: Delta_1 = {of(sizes[1])[0][0]}"
        ),
    )
    yield every(
        "||Delta|| is the norm of the Delta_j",
        [10],
        lambda size: of(size)[1] == sum(b * b for b in of(size)[0]),
        over="d = 3, Delta = (1, 4, 1/2)",
        cases=1,
        show=lambda size: f"||Delta||^2 = {of(size)[1]} against sum Delta_j^2 = {sum(b * b for b in of(size)[0])}",
    )


DP: Mapping[str, Formula] = {
    "event": lambda p, q, factor: [i for i in range(len(p)) if p[i] > factor * q[i]],
    "holds": lambda p, q, factor, delta: sum(p) <= factor * sum(q) + delta,
}


@statement(
    paper=PAPER,
    number="def1.3",
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS_ON_RANGE,
    text="M is (eps, delta)-differentially private if for all possible subsets of outputs S and all pairs of "
    "neighbouring dataset X ~ X' we have Pr[M(X) in S] <= e^eps Pr[M(X') in S] + delta.",
    formula=r"\Pr[M(X) \in S] \leq e^\varepsilon\,\Pr[M(X') \in S] + \delta",
    printed=DP,
    planted=(
        Plant(
            "one event decides for all",
            "{p > q}",
            {**DP, "event": lambda p, q, factor: [i for i in range(len(p)) if p[i] > q[i]]},
        ),
        Plant(
            "delta(eps) is the least delta",
            "delta forgotten",
            {**DP, "holds": lambda p, q, factor, delta: sum(p) <= factor * sum(q)},
        ),
    ),
    assumptions=("subsets are measurable",),
)
def approximate_privacy(claim: Mapping[str, Formula]) -> Findings:
    """The largest Pr[S] - e^eps Pr'[S] is at S = {p > e^eps q}: that is the privacy profile delta(eps) of the ledgers.

    For every law: each output adds p - e^eps q to the difference, and S takes the positive ones.
    """
    quarters = [Fraction(i, 5) for i in range(6)]
    laws = [(a, b, 1 - a - b) for a in quarters for b in quarters if a + b <= 1]
    factors = (Fraction(1), Fraction(3, 2), Fraction(4))
    cases = list(itertools.product(laws, laws, factors))
    subsets = [part for size in range(4) for part in itertools.combinations(range(3), size)]

    def profile(p: Record, q: Record, factor: Fraction) -> Fraction:
        return sum((p[i] - factor * q[i] for i in claim["event"](p, q, factor)), Fraction(0))

    def largest(case: tuple[Record, Record, Fraction]) -> bool:
        p, q, factor = case
        return all(sum((p[i] - factor * q[i] for i in part), Fraction(0)) <= profile(p, q, factor) for part in subsets)

    def least(case: tuple[Record, Record, Fraction]) -> bool:
        p, q, factor = case
        value = sum((max(a - factor * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
        return all(claim["holds"]([p[i] for i in part], [q[i] for i in part], factor, value) for part in subsets)

    yield every(
        "one event decides for all",
        cases,
        largest,
        over="laws on 3 outputs in fifths, e^eps in {1, 3/2, 4}, with their events",
        cases=1323,
    )
    yield every(
        "delta(eps) is the least delta",
        cases,
        least,
        over="laws on 3 outputs in fifths, e^eps in {1, 3/2, 4}, with their events",
        cases=1323,
    )


epsilon, delta, c, x, norm = symbols("epsilon delta c x Delta", positive=True)
SPLIT = "1.02"

u, v, w = symbols("u v w", nonnegative=True)


@statement(
    paper=PAPER,
    number="alg1",
    kind=StatementKind.ALGORITHM,
    expected=Standing.HOLDS,
    text="Algorithm 1, the Gaussian mechanism: eta ~ N(0, sigma^2 I), return g(X) + eta.",
    formula=r"\mu(w)^2 = w^T(\sigma^2 I)^{-1}w = \|w\|^2/\sigma^2 \leq \|\Delta\|^2/\sigma^2",
    printed=lambda square, variance: square / variance,
    needs=("lebeda2024/fact.gauss",),
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
    kind=StatementKind.THEOREM,
    expected=Standing.HOLDS_ON_RANGE,
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
    yield identity(
        "the tail vanishes with its bound", sympy.limit(bound, x, oo), 0 * x, scope="x to infinity", dropped=(x,)
    )
    exponent = -((c - epsilon / (2 * c)) ** 2) / 2 + c**2 / 2
    yield identity("phi at c - eps/(2c)", exponent, claim["shift"](epsilon, c), scope="all eps, c > 0")

    def large() -> arb:
        start, level = ball(SPLIT), ball(last)
        return (level / 2).exp() / (ball(constant) * (2 * arb.pi()).sqrt() * (start - level / (2 * start)))

    worst, words = f"c = {SPLIT}, eps = {last}", f"it is monotone, so for c >= {SPLIT} and 0 < eps <= {last}"
    yield smaller("c >= 1.02: at most delta", Real(large), Real.of(1), scope=worst, argued=words)
    least = Real(lambda: (2 * ball(constant).log()).sqrt())
    variation = Real(lambda: BallNormal().central_mass(ball(last) / (2 * least.ball())))
    above = Real(lambda: ball(constant) * (-(ball(SPLIT) ** 2) / 2).exp())
    words = f"both are monotone, so for c <= {SPLIT} and 0 < eps <= {last}"
    yield smaller("c <= 1.02: at most the total variation", variation, above, scope=worst, argued=words)

    def slack(level: arb, point: arb) -> arb:
        """(delta - delta(eps)) e^(c^2/2)."""
        curve = BallNormal().tail_gap(level, point, level / (2 * point))
        return ball(constant) - curve * (point * point / 2).exp()

    scope = f"0 <= eps <= {last}, 0.668 <= c <= 6, that is delta from 1.9e-8 to 1"
    box: dict[str, tuple[Exact, Exact]] = {"eps": (0, last), "c": ("0.668", 6)}
    yield positive_on_box("again by balls on a box", slack, box, most=4000, scope=scope)
