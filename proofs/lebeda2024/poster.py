"""The poster of Lebeda 2024: its problem, its algorithm with the misprint in line 1, and its claims.

Before them stand the two facts that every privacy proof of the paper rests on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import isqrt

import sympy
from sympy import Integer, exp, integrate, oo, pi, sqrt, symbols

from dpverdict.mechanisms.core.calibration import family_variances
from dpverdict.mechanisms.queries.count_ellipse import ellipse_optimum
from dpverdict.proofs.checks.identities import identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Findings, Standing, StatementKind
from dpverdict.proofs.checks.statement import Formula, Plant, Reading, statement
from dpverdict.proofs.checks.vertices import binary_records, every, form_of, grid_records
from dpverdict.proofs.lebeda2024.gap import algorithm_1, even_gap, odd_gap
from dpverdict.proofs.lebeda2024.notation import (
    PAPER,
    S_AT_1,
    at_vertex,
    d,
    no_record_exceeds,
    r,
    released,
    s,
    shared_variance_is_private,
)

mu, a = symbols("mu a", positive=True)
y = symbols("y", real=True)

GAUSS: Mapping[str, Formula] = {
    "mean": lambda m2: m2 / 2,
    "variance": lambda m2: m2,
    "renyi": lambda m2, order: order * m2 / 2,
    "rho": lambda m2: m2 / 2,
}


@statement(
    paper=PAPER,
    number="fact.gauss",
    new=True,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="N(a, S) and N(b, S) are exactly mu_v-GDP apart, mu_v^2 = v^T S^-1 v with v = a - b: the privacy loss is "
    "N(mu_v^2/2, mu_v^2), the Renyi divergence of order alpha is alpha mu_v^2/2, and rho = mu_v^2/2.",
    formula=r"\mu_v^2 = v^T S^{-1} v,\quad L \sim N(\mu_v^2/2,\ \mu_v^2),\quad D_\alpha = \alpha \mu_v^2/2",
    printed=GAUSS,
    planted=(
        Plant("loss is linear in the output", "mean mu^2", {**GAUSS, "mean": lambda m2: m2}),
        Plant("mean of the loss", "mean mu^2", {**GAUSS, "mean": lambda m2: m2}),
        Plant("variance of the loss", "variance mu^2/2", {**GAUSS, "variance": lambda m2: m2 / 2}),
        Plant("Renyi divergence", "order a - 1", {**GAUSS, "renyi": lambda m2, order: (order - 1) * m2 / 2}),
        Plant("zCDP parameter", "rho = mu^2", {**GAUSS, "rho": lambda m2: m2}),
    ),
)
def gaussian_pairs(claim: Mapping[str, Formula]) -> Findings:
    """With <u, w> = u^T S^-1 w, the log-ratio of the densities is <v, y - b> - <v, v>/2, for every dimension.

    It is normal, since y is; <v, y - b> has the variance v^T S^-1 S S^-1 v = <v, v>. Its law is thus that of the scalar
    pair N(mu, 1), N(0, 1), whose moments are integrals of one variable.
    """
    yy, yv, vv = symbols("yy yv vv", real=True)  # <y-b, y-b>, <y-b, v>, <v, v>
    log_ratio = (yy - (yy - 2 * yv + vv)) / 2
    yield identity("loss is linear in the output", log_ratio, yv - claim["mean"](vv), scope="every dimension and S > 0")
    p, q = (exp(-((y - m) ** 2) / 2) / sqrt(2 * pi) for m in (mu, 0))
    loss = mu * y - mu**2 / 2
    mean = integrate(sympy.expand(loss) * p, (y, -oo, oo))
    yield identity("mean of the loss", mean, claim["mean"](mu**2))
    variance = integrate(sympy.expand((loss - mu**2 / 2) ** 2) * p, (y, -oo, oo))
    yield identity("variance of the loss", variance, claim["variance"](mu**2))
    log_moment = sympy.expand_log(sympy.log(sympy.simplify(integrate(exp(a * loss) * q, (y, -oo, oo)))), force=True)
    yield identity("Renyi divergence", log_moment, (a - 1) * claim["renyi"](mu**2, a))
    yield identity("zCDP parameter", a * claim["rho"](mu**2), claim["renyi"](mu**2, a))


@statement(
    paper=PAPER,
    number="fact.vertices",
    new=True,
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="The supremum of v^T S^-1 v over the box [0,1]^d is attained at a binary vertex.",
    formula=r"\sup_{x \in [0,1]^d} x^T S^{-1} x = \max_{x \in \{0,1\}^d} x^T S^{-1} x",
    printed=(lambda dim: binary_records(dim), lambda t: t * (1 - t)),
    confirms={"vertices suffice": "chord"},
    planted=(
        Plant("chord", "t in place of t(1-t)", (lambda dim: binary_records(dim), lambda t: t)),
        Plant("vertices suffice", "only x = 1", (lambda dim: [(1,) * dim], lambda t: t * (1 - t))),
    ),
)
def vertices_suffice(claim: tuple[Callable[[int], Iterable[tuple[int, ...]]], Formula]) -> Findings:
    """Q((1-t) x + t y) = (1-t) Q(x) + t Q(y) - t(1-t) Q(y - x): on every segment Q is at most its chord, so convex.

    A convex function on a box is largest at a vertex. The brute force compares grid points with vertices.
    """
    candidates, defect = claim
    t, xx, xy, yy = symbols("t xx xy yy", real=True)
    inside = (1 - t) ** 2 * xx + 2 * t * (1 - t) * xy + t**2 * yy
    chord = (1 - t) * xx + t * yy - defect(t) * (xx - 2 * xy + yy)
    yield identity("chord", inside, chord, scope="every dimension and S > 0, 0 <= t <= 1")

    def covered(dim: int, covariance: list[list[int]]) -> bool:
        form = form_of(covariance)
        best = max(form(record) for record in candidates(dim))
        return all(form(point) <= best for point in grid_records(dim, 4))

    cases = [(2, [[2, 1], [1, 2]]), (2, [[4, -1], [-1, 3]]), (3, [[5, 4, 4], [4, 5, 4], [4, 4, 5]])]
    yield every("vertices suffice", cases, lambda case: covered(*case), over="3 covariances, grid of step 1/4", cases=3)


@statement(
    paper=PAPER,
    number="poster.problem",
    kind=StatementKind.DEFINITION,
    expected=Standing.HOLDS_ON_RANGE,
    text="For neighbouring datasets under add/remove one of these cases holds: |X'| = |X| + 1 and f(X') - f(X) in "
    "[0,1]^d, or |X'| = |X| - 1 and f(X') - f(X) in [-1,0]^d.",
    formula=r"f(X') - f(X) \in [0,1]^d\ \ \mathrm{or}\ \ [-1,0]^d",
    printed={1: (0, 1), -1: (-1, 0)},
    planted=(
        Plant("every difference is in its range", "[0, 1/2]", {1: (0, Fraction(1, 2)), -1: (-1, 0)}),
        Plant("the ranges are not too large", "[-1, 1]", {1: (-1, 1), -1: (-1, 0)}),
    ),
)
def problem(ranges: Mapping[int, tuple[int | Fraction, int | Fraction]]) -> Findings:
    """Adding the record x changes f by x and n by 1; removing it undoes that, whatever the other records are."""
    records = list(grid_records(2, 2))
    sets = [part for size in range(3) for part in itertools.combinations_with_replacement(records, size)]
    changes = [
        (sign, tuple(sign * (sum(p[i] for p in (*part, extra)) - sum(p[i] for p in part)) for i in range(2)))
        for part in sets
        for extra in records
        for sign in (1, -1)
    ]

    def inside(change: tuple[int, tuple[Fraction | int, ...]]) -> bool:
        low, high = ranges[change[0]]
        return len(change[1]) == 2 and all(low <= value <= high for value in change[1])

    scope = "d = 2, records on a grid of step 1/2, up to 3 records"
    yield every("every difference is in its range", changes, inside, over=scope, cases=990)
    ends = [(sign, end) for sign in (1, -1) for end in ranges[sign]]
    reached = {(sign, value) for sign, change in changes for value in change}
    yield every("the ranges are not too large", ends, lambda end: end in reached, over=scope, cases=4)


@statement(
    paper=PAPER,
    number="poster.error",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="Error scales as (sqrt d + 1)/2 instead of sqrt d.",
    formula=r"\frac{\sqrt{d}+1}{2} \leq \sqrt{d},\ \ \mathrm{with\ equality\ iff}\ d = 1",
    printed=lambda root: (root + 1) / 2,
    planted=(
        Plant("standard deviation of the algorithm", "(sqrt d + 2)/2", lambda root: (root + 2) / 2),
        Plant("at most that of the standard mechanism", "sqrt d + 1", lambda root: root + 1),
        Plant("equality at d = 1 alone", "sqrt d", lambda root: root),
    ),
)
def error(deviation: Formula) -> Findings:
    """The variance of a query is vz + ve; the standard mechanism adds N(0, d)."""
    vz, ve = family_variances(r**2, r, Integer(1))
    yield identity("standard deviation of the algorithm", vz + ve, deviation(r) ** 2)
    yield nonnegative("at most that of the standard mechanism", r - deviation(r), {r: 1}, scope="all d >= 1")
    slope = sympy.cancel((r - deviation(r)) / (r - 1))  # positive: the difference is 0 at r = 1 and nowhere else
    yield positive("equality at d = 1 alone", slope, {r: 1}, scope="all d >= 1")


@statement(
    paper=PAPER,
    number="poster.line1",
    kind=StatementKind.ALGORITHM,
    expected=Standing.FAILS_AS_PRINTED,
    text="1 Sample eta ~ N(0, sqrt(d+1)/4).",
    formula=r"\eta \sim N\left(0,\ \sqrt{d+1}/4\right)",
    printed=lambda dim, root: root(dim + 1) / 4,
    corrected=Reading("eta ~ N(0, (sqrt d + 1)/4), as in the paper", lambda dim, root: (root(dim) + 1) / 4),
    planted=(Plant("the mechanism is 1-GDP", "(sqrt d + 1)/5", lambda dim, root: (root(dim) + 1) / 5),),
)
def poster_line_1(shared_variance: Formula) -> Findings:
    """mu^2 = d/(4 vz) + 1/(4 ve) at every binary record, vz = (d + r)/4; printed, it is 1 + 1/sqrt(d+1) - 1/(r+1)."""
    yield shared_variance_is_private("the mechanism is 1-GDP", shared_variance, "all d >= 1, at all binary records")


LINES: Mapping[str, Formula] = {
    "independent": lambda d, root: (d + root) / 4,
    "shared": lambda d, root: (root + 1) / 4,
    "loading": lambda d, root: Integer(2),
}


@statement(
    paper=PAPER,
    number="poster.lines2-5",
    kind=StatementKind.ALGORITHM,
    expected=Standing.HOLDS,
    text="z_i ~ N(0, (d + sqrt d)/4), x~_i = f(X)_i + eta + z_i, return x~, n + 2 eta (with the corrected line 1).",
    formula=r"z_i \sim N(0, (d+\sqrt{d})/4),\quad \tilde{x}_i = f(X)_i + \eta + z_i,\quad n + 2\eta",
    printed=LINES,
    planted=(
        Plant("every binary record attains 1", "z of variance d/4", {**LINES, "independent": lambda d, root: d / 4}),
        Plant("no other record exceeds 1", "n + eta", {**LINES, "loading": lambda d, root: Integer(1)}),
    ),
)
def poster_lines_2_to_5(claim: Mapping[str, Formula]) -> Findings:
    """F1: mu^2 = (s2 - s1 + d/4)/vz + 1/(4 ve), with s1 - s2 = e >= 0."""
    vz, ve, loading = (claim[name](d, sqrt(d)) for name in ("independent", "shared", "loading"))
    form = released(vz, ve, loading)
    yield identity(
        "every binary record attains 1",
        at_vertex(form),
        Integer(1),
        scope="all d >= 1, all binary records",
        dropped=(d,),
    )
    yield no_record_exceeds("no other record exceeds 1", form, Integer(1))


@statement(
    paper=PAPER,
    number="poster.nearopt",
    kind=StatementKind.TEXT,
    expected=Standing.HOLDS,
    text="Error is (almost) optimal for k >= floor(d/2): the variance is within sqrt(3)/2 of OPT, attained at (d, k) "
    "= (3, 1).",
    formula=r"\frac{(\sqrt{d}+1)^2}{4} - \mathrm{OPT}(d,k) \leq \frac{\sqrt{3}}{2}",
    printed=(Fraction(3), 3),
    named=("attained",),
    planted=(
        Plant("even d", "sqrt(1/2)/2 in place of sqrt(3)/2", (Fraction(1, 2), 3)),
        Plant("odd d from 5 on", "1/2", (Fraction(1), 3)),
        Plant("attained", "at d = 5", (Fraction(3), 5)),
    ),
    assumptions=("the trace bound: OPT(d, k) >= h(d, k) for every k >= 1", "OPT(d, k) does not decrease in k"),
)
def near_optimal(claim: tuple[Fraction, int]) -> Findings:
    """OPT(d, k) >= h(d, floor(d/2)); the gap to it is rational in s, (1 + 2/s)/4 for even d."""
    square, place = claim
    constant = Fraction(isqrt(int(square * 10**12)), 2 * 10**6)  # rounded down
    yield nonnegative("even d", constant - even_gap(), {s: S_AT_1}, scope="all even d, all k >= d/2")
    yield positive(
        "odd d from 5 on", constant - odd_gap(-1), {s: Fraction(23, 5)}, scope="all odd d >= 5, k >= (d-1)/2"
    )
    least = ellipse_optimum(place, 1).per_query_variance
    gap = algorithm_1(Integer(place), sqrt) - Integer(1) * int(least.rational)
    yield identity("attained", gap, sqrt(square) / 2, scope=f"d = {place}, k = 1")
