"""OPT(d, k) for every d and k, and the step of the gap that rests on the mean value theorem: in symbols, no range."""

from __future__ import annotations

from typing import NamedTuple

import sympy
from sympy import Integer, Matrix, Symbol, cos, sin, sqrt, symbols

from dpverdict.mechanisms.queries.count_ellipse import eigenvalues
from dpverdict.proofs.checks.identities import identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Findings
from dpverdict.proofs.checks.statement import Formula, Plant, result
from dpverdict.proofs.new_results.lebeda2024.ellipses import lower_bracket
from dpverdict.proofs.new_results.lebeda2024.optimum import upper_bracket


class EveryDimension(NamedTuple):
    """The eigenvalues of the Count ellipse by d, k and a root; s of a layer; the last private layer by d and t; and how
    far d - s^2 is from 0 there."""

    eigenvalues: Formula
    side: Formula
    last: Formula
    least: int


EVERY = EveryDimension(eigenvalues, lambda d, k: 2 * k - 1 - d, lambda d, t: (d + t) / 2, 3)
_SWAPPED = EVERY._replace(eigenvalues=lambda d, k, root: eigenvalues(d, k, root)[::-1])
_HIGHER = EVERY._replace(last=lambda d, t: (d + t) / 2 + 1)


@result(
    number="leb.new.opt.all",
    text="For every d and k: g is concave in the layer, so the Count ellipse for k is private iff sqrt(d-k)(2k-1) >= "
    "sqrt((d-1)k) s, s = 2k - 1 - d; khat(d) = (d+t)/2, t the integer of d's parity with (t-1)^2 < d < (t+1)^2, one "
    "less if d = (t-1)^2 + 1; OPT(d, k) = h(d, k) up to khat, and OPT(d, d) from there on.",
    formula=r"\hat{k}(d) = \frac{d + t}{2},\quad (t-1)^2 < d < (t+1)^2,\quad t \equiv d\ (\mathrm{mod}\ 2)",
    printed=EVERY,
    planted=(
        Plant("the second difference", "swapped", EVERY._replace(side=lambda d, k: 2 * k + 1 - d)),
        Plant("more precise across than along", "swapped", _SWAPPED),
        Plant("layer k is active", "swapped", _SWAPPED),
        Plant("the last step in roots", "s + 2", EVERY._replace(side=lambda d, k: 2 * k + 1 - d)),
        Plant(
            "equal to the bound of layer k",
            "twice along",
            EVERY._replace(eigenvalues=lambda d, k, root: (2 * eigenvalues(d, k, root)[0], eigenvalues(d, k, root)[1])),
        ),
        Plant("the squares, one layer below", "s + 2", EVERY._replace(side=lambda d, k: 2 * k + 1 - d)),
        Plant("the squares, one layer above", "s + 2", EVERY._replace(side=lambda d, k: 2 * k + 1 - d)),
        Plant("d - s^2 >= 3 is enough", "-1 for 3", EVERY._replace(least=-1)),
        Plant("d - s^2 <= 1 is not", "5 for 3", EVERY._replace(least=5)),
        Plant("s^2 - d >= 3 is enough above", "1 for 3", EVERY._replace(least=1)),
        Plant("the intervals of t are adjacent", "s + 2", EVERY._replace(side=lambda d, k: 2 * k + 1 - d)),
        Plant("d is at no end of an interval", "s + 1", EVERY._replace(side=lambda d, k: 2 * k - d)),
        Plant("khat is private", "khat + 1", _HIGHER),
        Plant("the next layer is not", "khat - 1", EVERY._replace(last=lambda d, t: (d + t) / 2 - 1)),
        Plant("one less beside a square", "5 for 3", EVERY._replace(least=7)),
        Plant("the other pair is no exception", "9 for 3", EVERY._replace(least=9)),
    ),
    assumptions=(
        "leb.new.lowerbound: the trace bound",
        "leb.new.opt.pair: the optimum at d = n^2 + 1 and n^2 - 1, by two layers",
        "averaging over permutations, for the primal form",
    ),
)
def every_dimension(claim: EveryDimension) -> Findings:
    """g(j) = (u j^2 + w j (d - j))/d, u = 1/along, w = 1/across, R = sqrt((d-1) k (d-k)); g(k) = 1.

    w >= u, as (w/u)^2 = k (d-1)/(d-k) and k d >= d: so g is concave, its steps fall, and g <= 1 on 0..k iff the
    last step g(k) - g(k-1) is >= 0. That step is p (q (2k-1) - p s)/(k R (k + R)) with p^2 = (d-1) k, q^2 = d - k:
    it is >= 0 for s <= 0, and else iff d - s^2 >= 3, by the squares of both terms (d - s^2 is odd). The intervals
    [(t-1)^2, (t+1)^2) of all t of one parity are adjacent, and d is at no end of them, as (t-1)^2 - t is odd: so t
    is there, and unique, for every d. Layer (d+t)/2 has s = t - 1 and the next one s = t + 1, whose square is above
    d. So the first is khat, if d - (t-1)^2, which is odd, is not 1; then khat is one less, s = t - 3. At d =
    (t+1)^2 - 1 it is at least 3. Up to khat the trace is the bound of the law on layer k; beyond it that of the law
    on layer khat, which stays admissible, is attained by the same ellipse (or, in the pairs, by two layers): OPT
    does not change.
    """
    d, k, u, w, j, root, t = symbols("d k u w j R t", positive=True)

    def g(layer: sympy.Expr) -> sympy.Expr:
        return (u * layer**2 + w * layer * (d - layer)) / d

    step = u * (claim.side(d, j) + d) - w * claim.side(d, j)  # d (g(j) - g(j-1))
    second = g(j + 1) - 2 * g(j) + g(j - 1)
    yield identity(
        "the second difference",
        Matrix([d * (g(j) - g(j - 1)), second]),
        Matrix([step, 2 * (u - w) / d]),
        scope="all d, j",
    )
    along, across = claim.eigenvalues(d, k, lambda _: root)
    ratio = sympy.cancel(along / across)  # w/u, which is k (d-1)/R
    excess = sympy.cancel((ratio**2 * root**2 - (d - 1) * k * (d - k)).subs(root, sqrt((d - 1) * k * (d - k))))
    yield nonnegative("more precise across than along", excess, {k: 1, d: 2}, scope="all d >= 2, k >= 1, k < d")
    p, q = symbols("p q", positive=True)
    size = k + q**2  # d, with d - k = q^2
    by_roots = claim.eigenvalues(size, k, lambda _: sqrt(k * (size - 1)) * q)
    own = k**2 / (size * by_roots[0]) + k * (size - k) / (size * by_roots[1])
    yield identity("layer k is active", own, own / own, scope="all d, k with k < d")
    last = sympy.cancel((((2 * k - 1) / along + (d - 2 * k + 1) / across) / d).subs(root, p * q))
    factored = p * (q * (2 * k - 1) - p * claim.side(d, k)) / (k * p * q * (k + p * q))
    square = {p: sqrt((d - 1) * k)}
    yield identity("the last step in roots", last.subs(square), factored.subs(square), scope="all d, k with k < d")
    yield from _squares(claim)
    trace = along + (d - 1) * across
    yield identity(
        "equal to the bound of layer k", trace, (k + root) ** 2 / d, scope="all d, k, as in leb.new.jy24.count"
    )

    above = claim.side(d, claim.last(d, t) + 1)
    of_next = claim.side(d, claim.last(d, t + 2))
    yield identity(
        "the intervals of t are adjacent", Matrix([of_next, above]), Matrix([t + 1, t + 1]), scope="all d, t"
    )
    half = symbols("m", integer=True, positive=True)
    odd = [(n - 1) ** 2 - n for n in (2 * half, 2 * half + 1)]
    ends = [
        claim.side(n, (n + n) / 2) - (n - 1) + value for n, value in zip((2 * half, 2 * half + 1), odd, strict=True)
    ]
    wanted = [2 * (2 * half**2 - 3 * half) + 1, 2 * (2 * half**2 - half - 1) + 1]
    yield identity("d is at no end of an interval", Matrix(ends), Matrix(wanted), scope="all t, even and odd")
    c = Symbol("c", nonnegative=True)
    dim = (t - 1) ** 2 + 3 + c
    slack = dim - 3 - claim.side(dim, claim.last(dim, t)) ** 2
    yield nonnegative("khat is private", sympy.expand(slack), {c: 0, t: 1}, scope="all t >= 1, all d >= (t-1)^2 + 3")
    b = Symbol("b", nonnegative=True)
    dim = (t + 1) ** 2 - 1 - b
    over = claim.side(dim, claim.last(dim, t) + 1) ** 2 - dim
    yield positive("the next layer is not", sympy.expand(over), {b: 0, t: 1}, scope="all t >= 1, all d < (t+1)^2")
    dim = (t - 1) ** 2 + 1
    slack = dim - claim.least - claim.side(dim, claim.last(dim, t) - 1) ** 2
    yield nonnegative("one less beside a square", sympy.expand(slack), {t: 3}, scope="all t >= 3; t = 2: s < 0")
    dim = (t + 1) ** 2 - 1
    slack = dim - claim.least - (t - 1) ** 2
    yield nonnegative("the other pair is no exception", sympy.expand(slack), {t: 1}, scope="all t >= 1")


def _squares(claim: EveryDimension) -> Findings:
    """q^2 (2k-1)^2 - p^2 s^2 is d/2 times a bracket in c = d - s^2, s >= 1: positive for c >= 3, negative for c <= 1.

    One layer above the active one it is the same with c = s^2 - d: there the step is <= 0 from c = 3 on.
    """
    t, c = symbols("t c", positive=True)
    a, b = symbols("a b", nonnegative=True)
    dim = t**2 + c
    layer = (dim + t + 1) / 2
    sides = (dim - layer) * (2 * layer - 1) ** 2 - (dim - 1) * layer * claim.side(dim, layer) ** 2
    bracket = lower_bracket(c, t**2, t)
    yield identity("the squares, one layer below", sides, dim / 2 * bracket, scope="all d, all k with s >= 1")
    yield positive("d - s^2 >= 3 is enough", bracket, {c: claim.least, t: 1}, scope="all d, all k with s >= 1")
    last = claim.least - 2  # the odd number before it
    under = sympy.expand(-lower_bracket(last - a, a + b - last + 1, t))
    yield positive("d - s^2 <= 1 is not", under, {a: 0, b: 0, t: 1}, scope="all d, all k with s >= 1")
    dim = t**2 - c
    layer = (dim + t - 1) / 2
    sides = (dim - 1) * layer * claim.side(dim, layer + 1) ** 2 - (dim - layer) * (2 * layer + 1) ** 2
    above = -upper_bracket(c, t**2, t)
    yield identity("the squares, one layer above", sides, dim / 2 * above, scope="all d, all k with 2k + 1 > d")
    enough = sympy.expand(-upper_bracket(claim.least + a, claim.least + a + 1 + b, t))
    yield nonnegative("s^2 - d >= 3 is enough above", enough, {a: 0, b: 0, t: 2}, scope="all d, all k with s >= 2")


@result(
    number="leb.new.opt.k1",
    text="k = 1, every d: the Count ellipse is the sphere of variance 1, the standard Gaussian mechanism, and optimal.",
    formula=r"\mathrm{OPT}(d, 1) = h(d, 1) = 1",
    printed=eigenvalues,
    planted=(
        Plant("both eigenvalues are 1", "twice along", lambda d, k, root: (2 * eigenvalues(d, k, root)[0], Integer(1))),
        Plant("equal to the bound", "twice along", lambda d, k, root: (2 * eigenvalues(d, k, root)[0], Integer(1))),
    ),
    assumptions=("leb.new.lowerbound: the trace bound",),
)
def one_query_at_a_time(formula: Formula) -> Findings:
    """R = sqrt((d-1)(d-1)) = d - 1: both eigenvalues are 1. The bound for m1 = m2 = 1 is (1 + (d - 1))^2/d = d."""
    d = Symbol("d", positive=True)
    size = 1 + d  # every dimension above 1; at d = 1 there is one query
    values = formula(size, Integer(1), lambda _: size - 1)
    yield identity("both eigenvalues are 1", Matrix(values) * size, Matrix([size, size]), scope="all d >= 2")
    trace = values[0] + (size - 1) * values[1]
    yield identity("equal to the bound", trace, (1 + (size - 1)) ** 2 / size, scope="all d >= 2")


class Step(NamedTuple):
    """The derivative of arcsin, what 1 - cos x is at most, and q by y."""

    slope: Formula
    cosine: Formula
    largest: Formula


STEP = Step(lambda x: 1 / sqrt(1 - x**2), lambda x: x**2 / 2, lambda y: y + y**2)


@result(
    number="leb.new.gap.step",
    text="The step of leb.new.gap: with sin a = t/d, sin b = 1/r, |t - r| <= 1 and q = 1/r + 1/r^2 < 1, |a - b| <= |t "
    "- r|/(d sqrt(1 - q^2)) by the mean value theorem, and 1 - cos x <= x^2/2.",
    formula=r"|a - b| \leq \frac{|t - r|}{d\sqrt{1 - q^2}},\quad q = \frac{1}{r} + \frac{1}{r^2}",
    printed=STEP,
    planted=(
        Plant("derivative of arcsin", "1 + x^2", STEP._replace(slope=lambda x: 1 / sqrt(1 + x**2))),
        Plant("it increases", "-1/(1 - x^2)^(1/2)", STEP._replace(slope=lambda x: -1 / sqrt(1 - x**2))),
        Plant("both points are at most q", "y", STEP._replace(largest=lambda y: y)),
        Plant("the points are |t - r|/d apart", "y^2 for y", STEP._replace(largest=lambda y: y**2 + y**3)),
        Plant("1 - cos x", "x^2/3", STEP._replace(cosine=lambda x: x**2 / 3)),
    ),
    assumptions=("the mean value theorem", "sin(x/2)^2 >= 0, so that a function with that derivative does not fall"),
)
def step_of_the_gap(claim: Step) -> Findings:
    """arcsin has the derivative 1/sqrt(1 - x^2), which increases on [0, 1): at most 1/sqrt(1 - q^2) up to q.

    With y = 1/r and d = 1/y^2, t = r + e, |e| <= 1: t/d = y + e y^2 and 1/r = y are at most q = y + y^2, and e y^2
    apart. x^2/2 - 1 + cos x is 0 with its derivative x - sin x at 0, and its second derivative is 2 sin(x/2)^2 >= 0.
    """
    x, y = symbols("x y", positive=True)
    angle = Symbol("theta", real=True)
    slope = claim.slope(x)
    yield identity("derivative of arcsin", sympy.diff(sympy.asin(x), x), slope, scope="all 0 <= x < 1")
    v = Symbol("v", positive=True)  # x = v/sqrt(1 + v^2), which is every x in (0, 1)
    growth = sympy.simplify(sympy.diff(slope, x).subs(x, v / sqrt(1 + v**2)) / (1 + v**2))
    yield nonnegative("it increases", growth, {v: 0}, scope="all 0 <= x < 1")
    left = Symbol("f", nonnegative=True)  # e = 1 - f
    room = claim.largest(y) - (y + (1 - left) * y**2)
    yield nonnegative(
        "both points are at most q", sympy.expand(room), {y: 0, left: 0}, scope="all r > 0, all t <= r + 1"
    )
    apart = claim.largest(y) - y  # at e = 1
    yield identity("the points are |t - r|/d apart", apart, y**2, scope="all r > 0, t = r + 1; as e y^2 for every t")
    gap = claim.cosine(angle) - 1 + cos(angle)
    values = Matrix([gap.subs(angle, 0), sympy.diff(gap, angle).subs(angle, 0), sympy.diff(gap, angle, 2)])
    wanted = Matrix([Integer(0), Integer(0), 2 * sin(angle / 2) ** 2])
    yield identity("1 - cos x", values, wanted, scope="all real x")
