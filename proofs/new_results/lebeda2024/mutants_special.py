"""Results of this project: the wrong variants whose true parameter needs an argument of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

import sympy
from sympy import Integer, Symbol

from dpverdict.mechanisms.broken import by_name, queries
from dpverdict.mechanisms.queries.count_ellipse import eigenvalues, largest_optimal_k
from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.identities import Expr, identity, nonnegative, positive
from dpverdict.proofs.checks.outcome import Findings, Standing
from dpverdict.proofs.checks.statement import Formula, Plant, result
from dpverdict.proofs.checks.vertices import block_diagonal, every, shared_noise_covariance, squared_parameter
from dpverdict.proofs.lebeda2024.notation import S_AT_1, Root, d, j, r, s, two_roots
from dpverdict.proofs.new_results.lebeda2024.mutants import Variant, brute_force, correct, squared_of
from dpverdict.proofs.new_results.lebeda2024.notation import solved_form, surd_form

DIMS = range(1, 7)


class FreshCount(NamedTuple):
    """M1: the value at a record of j ones, and the j at which it is largest."""

    value: Formula
    place: Callable[[int], int]


FRESH = FreshCount(
    lambda d, root, j: 1 - ((j - (d + root) / 2) / ((d + root) / 2)) ** 2 + 1 / (root + 1),
    lambda dim: (dim + 1 + isqrt(dim)) // 2,
)


@result(
    number="leb.new.mut.M1",
    expected=Standing.HOLDS_ON_RANGE,
    text="M1, the count released with a fresh eta': true mu^2 = max_j [1 - ((j - j*)/j*)^2] + 1/(r + 1), j* = (d + "
    "r)/2, at the integer j nearest j*.",
    formula=r"\mu_{true}^2 = \max_j\left[1 - \left(\frac{j - j^*}{j^*}\right)^2\right] + \frac{1}{r+1}",
    printed=FRESH,
    confirms={"all vertices": "every layer"},
    planted=(
        Plant(
            "every layer",
            "1/r for 1/(r + 1)",
            FRESH._replace(value=lambda d, root, j: FRESH.value(d, root, j) + 1 / root),
        ),
        Plant("the nearest integer", "j* rounded down less 1", FRESH._replace(place=lambda dim: (dim - 1) // 2)),
        Plant(
            "all vertices", "1/r for 1/(r + 1)", FRESH._replace(value=lambda d, root, j: FRESH.value(d, root, j) + 1)
        ),
    ),
)
def fresh_count(claim: FreshCount) -> Findings:
    """The form at j ones is a parabola in j with its vertex at j*; the nearest integer is floor(j* + 1/2).

    (d + 1 + isqrt d)//2 is that integer, since floor((d + 1 + sqrt d)/2) changes only where sqrt d is an integer.
    """
    vz, ve = (r**2 + r) / 4, (r + 1) / 4
    found = solved_form(r**2, vz, ve, None, Integer(0), (j, j), Integer(0)) + 1 / (4 * ve)
    yield identity("every layer", found, claim.value(r**2, r, j), scope="all d >= 1, all j")
    yield every(
        "the nearest integer",
        range(1, 2001),
        lambda dim: (
            _square_at_most(2 * claim.place(dim) - dim - 1, dim)
            and not _square_at_most(2 * claim.place(dim) - dim + 1, dim)
        ),
        over="d: 2j - d - 1 <= sqrt d < 2j - d + 1, in integers",
        cases=2000,
    )
    variant = Variant(lambda dim, mu, root: (*correct(dim, mu, root)[:2], 0, (root(dim) + 1) / mu**2))
    yield every(
        "all vertices",
        DIMS,
        lambda dim: (
            brute_force(dim, variant, Fraction(1))
            == claim.value(dim, Surd.root(dim), claim.place(dim))
            == squared_of(by_name("M1"))(dim, 1, Surd.root)
        ),
        over="d: vertices, in Q(sqrt d)",
        cases=6,
    )


def _square_at_most(value: int, dim: int) -> bool:
    """value <= sqrt(dim), in integers."""
    return value <= 0 or value * value <= dim


@result(
    number="leb.new.mut.M3",
    text="M3, the variance of eta is sqrt(d + 1)/4, as misprinted: true mu^2 = r/(r + 1) + 1/sqrt(d + 1) > 1 for every "
    "d.",
    formula=r"\mu_{true}^2 = \mu^2\left(\frac{r}{r+1} + \frac{1}{\sqrt{d+1}}\right) > \mu^2",
    printed=by_name("M3").squared,
    confirms={"all vertices": "every vertex"},
    planted=(
        Plant("every vertex", "1/sqrt d", lambda d, mu, root: root(d) / (root(d) + 1) + 1 / root(d)),
        Plant("not private", "2/(r + 1)", lambda d, mu, root: (root(d) + 1) / (root(d) + 1)),
        Plant("all vertices", "1/sqrt d", lambda d, mu, root: root(d) / (root(d) + 1) + 1 / root(d)),
    ),
)
def misprint(squared: Formula) -> Findings:
    """Rational in s = sqrt d + sqrt(d + 1); brute force where one of the two roots is rational."""

    def at_vertex(dim: Expr, root: Root) -> Expr:
        vz, ve = (dim + root(dim)) / 4, root(dim + 1) / 4
        return solved_form(dim, vz, ve, 2, Integer(0), (j, j), Integer(1))

    claim = two_roots(lambda dim, root: squared(dim, Integer(1), root))
    yield identity("every vertex", two_roots(at_vertex), claim, scope="all d >= 1, all binary records")
    yield positive("not private", claim - 1, {s: S_AT_1}, scope="all d >= 1")
    variant = Variant(lambda dim, mu, root: (*correct(dim, mu, root)[:1], root(dim + 1) / (4 * mu**2), 2, 0 * mu))
    yield every(
        "all vertices",
        (1, 3, 4, 8),
        lambda dim: brute_force(dim, variant, Fraction(1)) == squared(dim, 1, Surd.root),
        over="d: vertices, in Q(sqrt d) or Q(sqrt(d + 1))",
        cases=4,
    )


class IntegerRoot(NamedTuple):
    """M16: the true mu^2 of (d, s), s the integer part of sqrt d."""

    squared: Formula


INTEGER = IntegerRoot(lambda d, s: 1 + (d - s**2) / ((d + s) * (s + 1)))


@result(
    number="leb.new.mut.M16",
    text="M16, sqrt d rounded down to s in (d + s)/4 and (s + 1)/4: true mu^2 = 1 + (d - s^2)/((d + s)(s + 1)), more "
    "than 1 unless d is a square.",
    formula=r"\mu_{true}^2 = \mu^2\left(1 + \frac{d - s^2}{(d + s)(s + 1)}\right)",
    printed=INTEGER,
    confirms={"all vertices": "every vertex"},
    planted=(
        Plant("every vertex", "d for d - s^2", IntegerRoot(lambda d, s: 1 + d / ((d + s) * (s + 1)))),
        Plant("not private", "minus", IntegerRoot(lambda d, s: 1 - (d - s**2) / ((d + s) * (s + 1)))),
        Plant("all vertices", "d for d - s^2", IntegerRoot(lambda d, s: 1 + d / ((d + s) * (s + 1)))),
    ),
)
def integer_root(claim: IntegerRoot) -> Findings:
    """d/(4 vz) + 1/(4 ve) for every d and s; d = s^2 + c with c >= 1 is not private."""
    low, c = Symbol("s", positive=True), Symbol("c", positive=True)
    found = solved_form(d, (d + low) / 4, (low + 1) / 4, 2, Integer(0), (j, j), Integer(1))
    yield identity("every vertex", found, claim.squared(d, low), scope="all d, s >= 1, all binary records")
    yield positive("not private", claim.squared(low**2 + c, low) - 1, {low: 1, c: 1}, scope="all d that are no square")

    def variances(dim: Expr, mu: Expr, root: Root) -> tuple[Expr, Expr, int, Expr]:
        return Fraction(dim + isqrt(dim), 4) / mu**2, Fraction(isqrt(dim) + 1, 4) / mu**2, 2, 0 * mu

    yield every(
        "all vertices",
        range(1, 8),
        lambda dim: (
            brute_force(dim, Variant(variances), Fraction(1))
            == claim.squared(Fraction(dim), isqrt(dim))
            == squared_of(by_name("M16"))(dim, 1, Surd.root)
        ),
        over="d: vertices, exactly",
        cases=7,
    )


class Combination(NamedTuple):
    """Weights of a combination of the outputs: of the queries of row 1, and of the counts of rows 1 and 2."""

    queries: int
    counts: tuple[int, int]


def _noiseless(claim: Combination, loading: int, rows: int) -> Findings:
    """The combination carries no noise at all, but moves: the two laws are disjoint, delta = 1 for every epsilon."""
    eta, z = sympy.symbols("eta z")
    noise = claim.queries * (d * eta + z) + sum(claim.counts[:rows]) * loading * eta
    yield identity("no noise", noise, Integer(0), scope="all d >= 1, every value of the noise", dropped=(eta,))
    moved = claim.queries * j + claim.counts[0]
    yield identity("it moves", moved, Integer(1), scope="all d >= 1, one record added to row 1", dropped=(j,))
    vz, ve = Fraction(5, 4), Fraction(3, 4)
    yield every(
        "singular covariance",
        range(1, 7),
        lambda dim: _singular(dim, vz, ve, claim, loading, rows),
        over="d: exactly",
        cases=6,
    )


def _singular(dim: int, vz: Fraction, ve: Fraction, claim: Combination, loading: int, rows: int) -> bool:
    width = dim + 1
    loads = ([1] * dim + [loading]) * rows  # of the one eta in every output
    covariance = [
        [ve * a * b + (vz if i == k and i % width < dim else 0) for k, b in enumerate(loads)]
        for i, a in enumerate(loads)
    ]
    weights = [0] * (rows * width)
    for row in range(rows):
        weights[row * width + dim] = claim.counts[row]
        weights[row * width : row * width + dim] = [claim.queries if row == 0 else 0] * dim
    image = [sum(entry * weight for entry, weight in zip(line, weights, strict=True)) for line in covariance]
    difference = [0] * dim + [1] + [0] * ((rows - 1) * width)
    moved = sum(a * b for a, b in zip(difference, weights, strict=True))
    return not any(image) and moved != 0 and squared_parameter(covariance, difference) is None


INFINITE = (
    Plant("no noise", "with a query", Combination(1, (1, -1))),
    Plant("it moves", "nothing", Combination(0, (0, 0))),
    Plant("singular covariance", "nothing", Combination(0, (0, 0))),
)


@result(
    number="leb.new.mut.M6",
    text="M6, n released exactly: true mu is infinite, delta = 1 for every epsilon.",
    formula=r"P_0[\tilde{n} = n] = 1,\quad P_1[\tilde{n} = n] = 0",
    printed=Combination(0, (1, 0)),
    confirms={"singular covariance": "no noise"},
    planted=INFINITE,
)
def exact_count(claim: Combination) -> Findings:
    """The count is a combination of the outputs without noise."""
    yield from _noiseless(claim, 0, 1)


@result(
    number="leb.new.mut.M9",
    text="M9, Algorithm 2 with one eta for all m >= 2 rows: the difference of two counts is exact, true mu is "
    "infinite.",
    formula=r"(n_1 + 2\eta) - (n_2 + 2\eta) = n_1 - n_2",
    printed=Combination(0, (1, -1)),
    confirms={"singular covariance": "no noise"},
    planted=INFINITE,
)
def one_eta(claim: Combination) -> Findings:
    """Two counts with the same eta; more rows change nothing."""
    yield from _noiseless(claim, 2, 2)


def _grouped_pairs(dim: int, rows: int) -> list[list[int]]:
    """All differences of two records, each non-zero in one row of {0,1}^dim at most, with the counts of the rows."""
    width = dim + 1
    records = [[0] * (rows * width)]
    for row in range(rows):
        for entries in itertools.product((0, 1), repeat=dim):
            if any(entries):
                record = [0] * (rows * width)
                record[row * width : (row + 1) * width] = [*entries, 1]
                records.append(record)
    return [[a - b for a, b in zip(p, q, strict=True)] for p in records for q in records]


def _grouped_worst(dim: int, rows: int, vz: Surd, ve: Surd) -> Surd:
    form = surd_form(block_diagonal(shared_noise_covariance(dim, vz, ve, 2), rows))
    best = Surd.of(0)
    for difference in _grouped_pairs(dim, rows):
        value = form(difference)
        best = value if value > best else best
    return best


def _same_row(vz: Expr, dim: Expr) -> Expr:
    return solved_form(dim, vz, Symbol("ve", positive=True), 2, Integer(0), (Symbol("y1"), dim), Integer(0))


def _across_rows(vz: Expr, ve: Expr, dim: Expr, most: Expr) -> Expr:
    """Two binary records in different rows: the form of each does not depend on its number of ones."""
    return 2 * solved_form(dim, vz, ve, 2, Integer(0), (most, most), Integer(1))


class TwoCases(NamedTuple):
    """mu^2 of the worst pair within a row and across rows, of (d, root, s)."""

    within: Formula
    across: Formula


SHARED = TwoCases(lambda d, root, s: 0 * s + 1, lambda d, root, s: (1 + 1 / s) / 2)


@result(
    number="leb.new.mut.M10",
    text="M10, Algorithm 2 under replacement with eta variance s: true mu^2 = max(1, 1/2 + 1/(2s)) for d >= 2.",
    formula=r"\mu_{true}^2 = \mu^2\max\left(1,\ \frac{1}{2} + \frac{1}{2s}\right)",
    printed=SHARED,
    confirms={"all pairs": "across rows"},
    planted=(
        Plant("within a row", "2", SHARED._replace(within=lambda d, root, s: 2 + 0 * s)),
        Plant("across rows", "1/s", SHARED._replace(across=lambda d, root, s: 1 / s)),
        Plant("all pairs", "1/s", SHARED._replace(across=lambda d, root, s: 1 / s)),
    ),
)
def shared_variance(claim: TwoCases) -> Findings:
    """Opposite records of a row differ by d in s2; for d = 1 one of them would be all-zero, hence d >= 2."""
    size = Symbol("s", positive=True)
    yield identity(
        "within a row", _same_row(d, d), claim.within(d, None, size), scope="all d >= 2, all s > 0", dropped=(d, size)
    )
    yield identity("across rows", _across_rows(d, size, d, j), claim.across(d, None, size), scope="all d >= 1, s > 0")
    values = [Fraction(1, 4), Fraction(1), Fraction(4)]
    yield every(
        "all pairs",
        [(dim, rows, value) for dim in (2, 3) for rows in (2, 3) for value in values],
        lambda case: (
            _grouped_worst(case[0], case[1], Surd.of(case[0]), Surd.of(case[2]))
            == max(claim.within(case[0], None, case[2]), claim.across(case[0], None, case[2]))
        ),
        over="d, m, s: pairs of binary records, exactly",
        cases=12,
        show=lambda case: f"(d, m, s) = {case}",
    )


REPLACED = TwoCases(lambda d, root, s: 4 * root(d) / (root(d) + 1), lambda d, root, s: 2 + 0 * d)


@result(
    number="leb.new.mut.M11",
    text="M11, Algorithm 2 with add/remove noise under replacement: true mu^2 = max(2, 4r/(r + 1)), which is 4r/(r + "
    "1).",
    formula=r"\mu_{true}^2 = \mu^2\max\left(2,\ \frac{4r}{r+1}\right) = \mu^2\,\frac{4r}{r+1}",
    printed=REPLACED,
    confirms={"all pairs": "within a row"},
    planted=(
        Plant("within a row", "3r", REPLACED._replace(within=lambda d, root, s: 3 * root(d) / (root(d) + 1))),
        Plant("across rows", "1", REPLACED._replace(across=lambda d, root, s: 1 + 0 * d)),
        Plant("the first is larger", "r", REPLACED._replace(within=lambda d, root, s: root(d) / (root(d) + 1))),
        Plant("all pairs", "3r", REPLACED._replace(within=lambda d, root, s: 3 * root(d) / (root(d) + 1))),
    ),
)
def grouped_replaced(claim: TwoCases) -> Findings:
    """Within a row d/vz; across rows twice the add/remove value 1, at d = 1 the same 2."""
    vz, ve = (r**2 + r) / 4, (r + 1) / 4
    within = claim.within(r**2, lambda _: r, None)
    yield identity("within a row", _same_row(vz, r**2), within, scope="all d >= 2")
    across = claim.across(r**2, lambda _: r, None)
    yield identity("across rows", _across_rows(vz, ve, r**2, j), across, scope="all d >= 1")
    yield nonnegative("the first is larger", within - across, {r: 1}, scope="all d >= 1")
    exact = squared_of(queries.grouped_under_replacement())
    yield every(
        "all pairs",
        [(1, 2), (2, 2), (3, 2), (2, 3)],
        lambda case: (
            _grouped_worst(*case, *correct(case[0], Fraction(1), Surd.root)[:2])
            == claim.within(case[0], Surd.root, None)
            == exact(case[0], 1, Surd.root)
        ),
        over="d, m: pairs of binary records, in Q(sqrt d)",
        cases=4,
        show=lambda case: f"(d, m) = {case}",
    )


def layer(dim: int, k: int, ones: int) -> Surd:
    """g(ones) of the Count ellipse for k: u j^2/d + w (j - j^2/d), by its eigenvalues."""
    along, across = eigenvalues(dim, k, Surd.root)
    return Surd.of((ones * ones / along + ones * (dim - ones) / across) / dim)


class Layers(NamedTuple):
    """The value at a layer as a formula of (u, w, d, j), and two numbers at (d, k, k') = (10, 2, 4), (10, 2, 10)."""

    value: Formula
    numbers: tuple[str, str]


LAYERS = Layers(lambda u, w, d, j: u * j**2 / d + w * (j - j**2 / d), ("1.857", "3.571"))


@result(
    number="leb.new.mut.M14",
    text="M14, the Count ellipse for k on records with k' > k ones: true mu^2 = max_{j <= k'} [u j^2/d + w (j - "
    "j^2/d)]; at d = 10, k = 2: 1.857 for k' = 4, 3.571 for k' = 10.",
    formula=r"\mu_{true}^2 = \max_{j \leq k'}\left[u\,\frac{j^2}{d} + w\left(j - \frac{j^2}{d}\right)\right]",
    printed=LAYERS,
    named=("the two numbers",),
    confirms={"all vertices": "every layer"},
    planted=(
        Plant("every layer", "j for j^2", LAYERS._replace(value=lambda u, w, d, j: u * j / d + w * (j - j**2 / d))),
        Plant("all vertices", "u for w", LAYERS._replace(value=lambda u, w, d, j: u * j**2 / d + u * (j - j**2 / d))),
        Plant("the two numbers", "1.847", LAYERS._replace(numbers=("1.847", "3.571"))),
    ),
)
def sparser(claim: Layers) -> Findings:
    """Solved from the covariance of precisions u and w, for every d; brute force over dense matrices."""
    u, w = sympy.symbols("u w", positive=True)
    found = solved_form(d, 1 / w, (1 / u - 1 / w) / d, None, Integer(0), (j, j), Integer(0))
    yield identity("every layer", found, claim.value(u, w, d, j), scope="all d, j >= 1, all u, w > 0")

    def agrees(case: tuple[int, int, int]) -> bool:
        dim, k, most = case
        along, across = eigenvalues(dim, k, Surd.root)
        form = surd_form(shared_noise_covariance(dim, across, (along - across) / dim, None))
        best, claimed = Surd.of(0), Surd.of(0)
        for record in itertools.product((0, 1), repeat=dim):
            if sum(record) <= most:
                value = form(record)
                best = value if value > best else best
        for ones in range(most + 1):
            value = claim.value(1 / along, 1 / across, Fraction(dim), ones)
            claimed = value if value > claimed else claimed
        return best == claimed

    cases = [(dim, k, most) for dim in range(2, 6) for k in range(1, dim) for most in range(k, dim + 1)]
    yield every("all vertices", cases, agrees, over="d, k, k': in Q(sqrt((d-1) k (d-k)))", cases=30)
    yield every(
        "the two numbers",
        list(zip((4, 10), claim.numbers, strict=True)),
        lambda case: _rounds(max((layer(10, 2, i) for i in range(case[0] + 1)), key=_float), case[1]),
        over="k', mu^2: d = 10, k = 2, to the digits given, exactly",
        cases=2,
        show=lambda case: f"k' = {case[0]}: {case[1]}",
    )


def _float(value: Surd) -> float:
    return value.real().nearest()


def _rounds(value: Surd, printed: str) -> bool:
    half = Fraction(1, 2 * 10 ** len(printed.partition(".")[2]))
    return Fraction(printed) - half <= value <= Fraction(printed) + half


@result(
    number="leb.new.mut.M15",
    expected=Standing.HOLDS_ON_RANGE,
    text="M15, the formula of the Count ellipse at k > khat(d): its value at k - 1 ones exceeds 1, so it is not "
    "private; at k = d it is infinite.",
    formula=r"g(k-1) > 1\ \ \mathrm{iff}\ \ k > \hat{k}(d)",
    printed=largest_optimal_k,
    needs=("leb.new.jy24.range",),
    planted=(
        Plant("every layer", "khat + 1", lambda dim: largest_optimal_k(dim) + 1),
        Plant("integers", "khat - 1", lambda dim: largest_optimal_k(dim) - 1),
    ),
)
def beyond_range(last: Callable[[int], int]) -> Findings:
    """g(k - 1) <= 1 iff (d-k)(2k-1)^2 >= (d-1) k (2k-1-d)^2 or 2k-1 <= d (integers); layers in exact arithmetic.

    For every d this is `leb.new.jy24.range`; here all k are enumerated.
    """
    yield every(
        "every layer",
        [(dim, k) for dim in range(2, 41) for k in range(1, dim)],
        lambda case: (layer(*case, case[1] - 1) > 1) == (case[1] > last(case[0])),
        over="d, k: in Q(sqrt((d-1) k (d-k)))",
        cases=780,
        show=lambda case: f"(d, k) = {case}",
    )
    yield every(
        "integers",
        [(dim, k) for dim in range(2, 401) for k in range(1, dim + 1)],
        lambda case: not_beyond(*case) == (case[1] <= last(case[0])),
        over="d, k: by integers",
        cases=80199,
        show=lambda case: f"(d, k) = {case}",
    )


def not_beyond(dim: int, k: int) -> bool:
    """The integer test of g(k - 1) <= 1 under the Count ellipse for k."""
    side = 2 * k - 1 - dim
    return side <= 0 or (dim - k) * (2 * k - 1) ** 2 >= (dim - 1) * k * side * side
