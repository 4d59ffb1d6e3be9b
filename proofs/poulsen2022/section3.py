"""Poulsen 2022, section 3: the elliptical Gaussian mechanism, restored from the problem setup.

Its box, its privacy and its worst neighbours; that it has the least total variance, and by how much it gains.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import sympy
from sympy import Integer, Matrix, oo, symbols

from dpverdict.mechanisms.queries.elliptical import EllipticalGaussian
from dpverdict.proofs.checks.identities import identity, nonnegative
from dpverdict.proofs.checks.optima import Duality
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, statement
from dpverdict.proofs.checks.vertices import every, form_of
from dpverdict.proofs.poulsen2022.section1 import PAPER

Numbers = Sequence[Fraction]

s, S, x = symbols("s S x", positive=True)
d = symbols("d", positive=True, integer=True)
u, v, w = symbols("u v w", nonnegative=True)
MOST = 5
CASES: tuple[Numbers, ...] = tuple(
    tuple(map(Fraction, case))
    for case in (("1",), ("1", "4"), ("3", "3"), ("1", "2", "4"), ("1", "2", "4", "1/2"), ("1/7", "5", "5", "2", "9"))
)
CASES_WORDS = "6 vectors of bounds, d = 1..5"


def symbolic_bounds(dim: int) -> tuple[sympy.Symbol, ...]:
    made: tuple[sympy.Symbol, ...] = symbols(f"Delta_1:{dim + 1}", positive=True)
    return made


def _corners(bounds: Numbers) -> Iterator[tuple[Fraction, ...]]:
    yield from itertools.product(*[(-b, b) for b in bounds])


def diagonal(variances: Numbers) -> list[list[Fraction]]:
    return [[v if i == k else Fraction(0) for k in range(len(variances))] for i, v in enumerate(variances)]


BOX: Mapping[str, Formula] = {
    "half": lambda bound: bound / 2,
    "reach": lambda bound: bound,
    "record": lambda shift: (shift / 2, -shift / 2),
}


RESTORED = "the mechanism, which the text supplied does not print, from its problem setup"


@statement(
    paper=PAPER,
    number="def.sens",
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS,
    text="All dimensions X^(j) are restricted by some bound Delta_j: all x_i^(j) in [-Delta_j/2, Delta_j/2]. (So "
    "Delta_j is the sensitivity of coordinate j, and f(X) - f(X') ranges over the whole box prod [-Delta_j, Delta_j].)",
    formula=r"x_i^{(j)} \in [-\Delta_j/2,\ \Delta_j/2]\ \Rightarrow\ f(X) - f(X') \in \prod_j [-\Delta_j,\ \Delta_j]",
    printed=BOX,
    confirms={"the corners, by enumeration": "every point of the box is a difference"},
    planted=(
        Plant("no difference leaves the box", "[-Delta_j/2, Delta_j/2]", {**BOX, "reach": lambda bound: bound / 2}),
        Plant("every point of the box is a difference", "x = w/3", {**BOX, "record": lambda w: (w / 3, -w / 3)}),
        Plant("its records lie in the domain", "x = w", {**BOX, "record": lambda w: (w, 0 * w)}),
        Plant("the corners, by enumeration", "[-Delta_j/3, Delta_j/3]", {**BOX, "half": lambda bound: bound / 3}),
    ),
    assumptions=("one record is replaced; were it added or removed, the differences would fill half the box only",),
)
def difference_box(claim: Mapping[str, Formula]) -> Findings:
    """A replaced record moves coordinate j by x - x', at most Delta_j; w is the difference of w/2 and -w/2."""
    end, reach = claim["half"](Integer(1)), claim["reach"](Integer(1))  # in units of Delta_j
    high, low = end - u, -end + v  # x and x' at distance u, v from the two ends
    slack = reach - (high - low)
    yield nonnegative("no difference leaves the box", slack, {u: 0, v: 0}, scope="every d, n, Delta_j > 0")
    new, old = claim["record"](w)
    yield identity("every point of the box is a difference", new - old, w, scope="every d, all |w_j| <= Delta_j")
    inside = end - new.subs(w, 1 / (1 + u))
    yield nonnegative("its records lie in the domain", inside, {u: 0}, scope="every d, all 0 < |w_j| <= Delta_j")

    def filled(bounds: Numbers) -> bool:
        corners: Iterable[Numbers] = list(itertools.product(*[(-claim["half"](b), claim["half"](b)) for b in bounds]))
        moves = {tuple(a - b for a, b in zip(x, y, strict=True)) for x in corners for y in corners}
        wanted = set(itertools.product(*[(-b, b) for b in bounds]))
        ends = {m for m in moves if all(abs(a) == b for a, b in zip(m, bounds, strict=True))}
        return wanted == ends and all(abs(a) <= b for m in moves for a, b in zip(m, bounds, strict=True))

    yield every("the corners, by enumeration", CASES, filled, over="bounds: pairs of corners, d = 1..5", cases=6)


PRIVACY: Mapping[str, Formula] = {
    "variance": lambda s, bound, total: s**2 * bound * total,
    "parameter": lambda s: 1 / s,
}


@statement(
    paper=PAPER,
    number="egm.privacy",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
    text="The Elliptical Gaussian Mechanism releases f(X) = sum x_i under (eps, delta)-DP where all x_i^(j) in "
    "[-Delta_j/2, Delta_j/2]. (Restored: sigma_j^2 = s^2 Delta_j sum Delta_i has exactly the curve of the scalar "
    "mechanism, mu = 1/s.)",
    formula=r"\sigma_j^2 = s^2 \Delta_j \sum_i \Delta_i\ \Rightarrow\ "
    r"\sum_j \frac{\Delta_j^2}{\sigma_j^2} = \frac{1}{s^2}",
    printed=PRIVACY,
    needs=(
        "lebeda2024/fact.gauss",
        "def.sens",
        "egm.worst",
    ),
    confirms={
        "dense algebra at the corners": "share of one coordinate",
        "scales of the code": "share of one coordinate",
    },
    planted=(
        *(
            Plant(name, "s^2 Delta_j^2", {**PRIVACY, "variance": lambda s, bound, total: s**2 * bound**2})
            for name in ("share of one coordinate", "mu = 1/s", "dense algebra at the corners")
        ),
        Plant("scales of the code", "mu = 1/(2 s)", {**PRIVACY, "parameter": lambda s: 1 / (2 * s)}),
    ),
    assumptions=(
        "Gaussian pairs of equal covariance are exactly mu(w)-GDP apart (lebeda2024 fact.gauss)",
        "Delta_j > 0",
    ),
    note="the mechanism is not printed in the text supplied: its variances are restored from the problem setup",
)
def privacy(claim: Mapping[str, Formula]) -> Findings:
    """At a corner coordinate j adds Delta_j^2/sigma_j^2 = Delta_j/(s^2 S), S = sum Delta_j: the sum is 1/s^2."""
    variance, parameter = claim["variance"], claim["parameter"]
    bound = symbols("Delta_j", positive=True)
    share = bound**2 / variance(s, bound, S)
    yield identity("share of one coordinate", share, bound * parameter(s) ** 2 / S, scope="every d")

    def squared(dim: int) -> sympy.Expr:
        all_bounds = symbolic_bounds(dim)
        return sympy.cancel(sum(b**2 / variance(s, b, sum(all_bounds)) for b in all_bounds))

    found = Matrix([squared(dim) for dim in range(1, MOST + 1)])
    yield identity(
        "mu = 1/s",
        found,
        Matrix([parameter(s) ** 2] * MOST),
        scope=f"d = 1..{MOST}",
        cases=MOST,
        argued="every d, by the share of one coordinate",
    )

    def exact(bounds: Numbers) -> bool:
        scale = Fraction(3, 2)
        form = form_of(diagonal([variance(scale, b, sum(bounds)) for b in bounds]))
        return all(form(corner) == parameter(scale) ** 2 for corner in _corners(bounds))

    yield every("dense algebra at the corners", CASES, exact, over="bounds: d = 1..5, s = 3/2", cases=6)

    def coded(bounds: Numbers) -> bool:
        mechanism = EllipticalGaussian(bounds=[str(b) for b in bounds], mu="1/2")
        square = mechanism.sensitivity.maximise(mechanism.noise).mu_squared
        kept = square is not None and square.rational is not None and square.rational <= parameter(Fraction(2)) ** 2
        return kept and mechanism.dim == len(bounds)

    yield every(
        "scales of the code", CASES, coded, over="bounds: d = 1..5, s = 2, the float64 scales as they are", cases=6
    )


def _spread(dim: int) -> list[list[Fraction]]:
    """A diagonal covariance with unequal variances."""
    return diagonal([Fraction(2 + 3 * i, 1 + i) for i in range(dim)])


def _linked(dim: int) -> list[list[Fraction]]:
    """A covariance with correlation between neighbouring coordinates."""
    return [[Fraction(2 if i == k else int(abs(i - k) == 1)) for k in range(dim)] for i in range(dim)]


WORST: Mapping[str, Formula] = {
    "term": lambda w, variance: w**2 / variance,
    "covariance": _spread,
    "worst": _corners,
    "record": lambda w: w / 2,
}


@statement(
    paper=PAPER,
    number="egm.worst",
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="(Restored.) The worst neighbours are the 2^d corners of the box, all equally bad, for any diagonal "
    "covariance.",
    formula=r"\max_{|w_j| \leq \Delta_j} \sum_j \frac{w_j^2}{\sigma_j^2} = \sum_j \frac{\Delta_j^2}{\sigma_j^2}",
    printed=WORST,
    needs=("def.sens",),
    confirms={
        "all corners are equal": "no point exceeds a corner",
        "no point of a grid exceeds them": "no point exceeds a corner",
        "every corner is attained": "no point exceeds a corner",
    },
    planted=(
        Plant("no point exceeds a corner", "w (3 - w)/sigma^2", {**WORST, "term": lambda w, v: w * (3 - w) / v}),
        Plant("all corners are equal", "correlated noise", {**WORST, "covariance": _linked}),
        Plant(
            "no point of a grid exceeds them",
            "the corners of half the box",
            {**WORST, "worst": lambda bounds: _corners([b / 2 for b in bounds])},
        ),
        Plant("every corner is attained", "records w", {**WORST, "record": lambda w: w}),
    ),
)
def worst_neighbours(claim: Mapping[str, Formula]) -> Findings:
    """Each term increases with |w_j|, so that the maximum is at the corners, and only there."""
    slack = claim["term"](w + u, 1 + x) - claim["term"](w, 1 + x)
    yield nonnegative(
        "no point exceeds a corner", slack, {w: 0, u: 0, x: 0}, scope="every d, all sigma_j > 0, |w_j| <= Delta_j"
    )

    def values(bounds: Numbers, points: Iterable[Numbers]) -> set[Fraction]:
        form = form_of(claim["covariance"](len(bounds)))
        return {form(point) for point in points}

    def equal_corners(bounds: Numbers) -> bool:
        noise = claim["covariance"](len(bounds))
        return values(bounds, _corners(bounds)) == {sum(claim["term"](b, noise[i][i]) for i, b in enumerate(bounds))}

    growing = [tuple(Fraction(2 * i + 1, i + 3) for i in range(dim)) for dim in range(1, 11)]
    yield every(
        "all corners are equal",
        growing,
        equal_corners,
        over="vectors of bounds, d = 1..10: 2^d corners",
        cases=10,
        show=lambda bounds: f"d = {len(bounds)}: {len(values(bounds, _corners(bounds)))} different values of mu^2",
    )

    def covered(bounds: Numbers) -> bool:
        grid = itertools.product(*[[b * Fraction(i, 3) for i in range(-3, 4)] for b in bounds])
        return max(values(bounds, grid)) <= max(values(bounds, claim["worst"](bounds)))

    yield every(
        "no point of a grid exceeds them",
        growing[:4],
        covered,
        over="vectors of bounds, d = 1..4: grid of step Delta_j/3",
        cases=4,
    )

    def attained(bounds: Numbers) -> bool:
        records = [[claim["record"](c) for c in corner] for corner in _corners(bounds)]
        inside = all(abs(a) <= b / 2 for record in records for a, b in zip(record, bounds, strict=True))
        return inside and {tuple(a + a for a in record) for record in records} == set(_corners(bounds))

    yield every(
        "every corner is attained",
        growing[:6],
        attained,
        over="vectors of bounds, d = 1..6: w/2 replaced by -w/2",
        cases=6,
    )


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
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
    text="(Restored.) Among diagonal covariances of the same privacy the minimal total variance is s^2 (sum "
    "Delta_j)^2, attained iff sigma_j^2 is proportional to Delta_j; isotropic noise needs s^2 d sum Delta_j^2.",
    formula=r"\left(\sum_j \sigma_j^2\right)\left(\sum_j \frac{\Delta_j^2}{\sigma_j^2}\right) \geq "
    r"\left(\sum_j \Delta_j\right)^2",
    printed=OPTIMUM,
    needs=("egm.worst",),
    confirms={"exact search": "one pair of coordinates", "primal and dual": "one pair of coordinates"},
    planted=(
        Plant("primal and dual", "1.01 (sum Delta_j)^2", _optimum(least=lambda total: total**2 * Fraction(101, 100))),
        Plant("primal and dual", "~ Delta_j^2", _optimum(variance=lambda bound, total: bound**2)),
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
    yield identity(
        "sum over all pairs", Matrix(lefts), Matrix(rights), scope="d = 1..4", cases=4, argued="every d, by pairs"
    )
    rest = claim["rest"](1, 1, 1, 1 + u)  # in units of Delta_i, v_i, with the larger of the ratios v/Delta second
    yield nonnegative("the rest is not negative", rest, {u: 0}, scope="a square over a positive number")
    totals = []
    for dim in range(1, MOST + 1):
        bounds = symbolic_bounds(dim)
        variances = [claim["variance"](bound, sum(bounds)) for bound in bounds]
        shares = sum(bound**2 / variance for bound, variance in zip(bounds, variances, strict=True))
        totals.append(sympy.cancel(sum(variances) * shares) - claim["least"](sum(bounds)))
    yield identity(
        "equal for sigma_j^2 ~ Delta_j", Matrix(totals), Matrix([0 * x] * MOST), scope=f"d = 1..{MOST}", cases=MOST
    )

    def least(case: tuple[Numbers, Numbers]) -> bool:
        bounds, variances = case
        form = form_of(diagonal(variances))
        return bool(sum(variances) * form(bounds) >= claim["least"](sum(bounds)))

    steps = [Fraction(i, 3) for i in (1, 2, 3, 5, 8)]
    search = [(bounds, trial) for bounds in CASES[:4] for trial in itertools.product(steps, repeat=len(bounds))]
    yield every("exact search", search, least, over="d = 1..3, variances out of {1, 2, 3, 5, 8}/3", cases=180)

    def optimal(bounds: Numbers) -> bool:
        values = [claim["variance"](bound, sum(bounds)) for bound in bounds]
        worst = "the worst corner"
        made = Duality(
            weights=[1] * len(bounds),
            constraints={worst: [bound**2 for bound in bounds]},
            primal=values,
            dual=values,
            multipliers={worst: sum(bounds) ** 2},
        )
        return bool(made.least() == claim["least"](sum(bounds)))

    yield every("primal and dual", CASES, optimal, over="vectors of bounds, d = 1..5, exactly", cases=6)
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
    restored=RESTORED,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS_ON_RANGE,
    text="(Restored.) The total variance over that of isotropic noise is (sum Delta_j)^2/(d sum Delta_j^2), in [1/d, "
    "1]; 1 iff all Delta_j are equal, and it tends to 1/d when one dominates.",
    formula=r"\frac{1}{d} \leq \frac{(\sum_j \Delta_j)^2}{d \sum_j \Delta_j^2} \leq 1",
    printed=RATIO,
    needs=("egm.axisopt",),
    confirms={"examples": "1 if all are equal"},
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
    yield identity(
        "at most 1", Matrix(lefts), Matrix(rights), scope=f"d = 1..{MOST}", cases=MOST, argued="by pairs for every d"
    )
    yield identity("1 if all are equal", value(d * x, d * x**2, d), claim["most"](), scope="every d", dropped=(d, x))
    yield nonnegative("below 1 otherwise", claim["rest"](1 + u, 1), {u: 0}, scope="each pair, in units of the smaller")
    first, *others = symbolic_bounds(MOST)  # in units of the first
    yield nonnegative(
        "at least 1/d",
        excess[-1].subs(first, 1),
        dict.fromkeys(others, 0),
        scope=f"d = {MOST}",
        cases=1,
        argued="2 Delta_i Delta_j >= 0 for every d",
    )
    end = sympy.limit(value(x + d - 1, x**2 + d - 1, d), x, oo)
    yield identity("1/d in the limit", end, lows(d), scope="every d, Delta = (x, 1, .., 1), x to infinity")

    def between(bounds: Numbers) -> bool:
        dim = len(bounds)
        found = value(sum(bounds), sum(b * b for b in bounds), Fraction(dim))
        return bool(lows(Fraction(dim)) <= found <= 1) and (found == 1) == (len(set(bounds)) == 1)

    yield every("examples", CASES, between, over="vectors of bounds, d = 1..5", cases=6)
