"""Gaussian noise on queries: the worst pair of each mechanism of the catalogue, from its parameters."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpverdict.proofs.checks.evidence import number
from dpverdict.proofs.verdicts.cubes import Corner, cube, levelled_cube
from dpverdict.proofs.verdicts.given import ADD_REMOVE, REPLACE, Parameters
from dpverdict.proofs.verdicts.laws import (
    NORMAL,
    REAL,
    UNIT_CUBE,
    Gaussian,
    Json,
    WorstPair,
    cases,
    condition,
    identity,
    not_derived,
    sampled_above,
)


def shared_json(dim: int, vz: Fraction, ve: Fraction, loading: int | None, vw: Fraction) -> Json:
    return {
        "law": "gaussian",
        "queries": str(dim),
        "variance of each query": str(vz),
        "shared variance": str(ve),
        "the count has the shared noise times": "no count" if loading is None else str(loading),
        "variance of the count": str(vw),
    }


def _of_corner(found: Corner, noise: Json, differences: Json, assumptions: tuple[str, ...]) -> WorstPair:
    conditions = (
        condition(
            "S y = v, and v^T y, for a vertex with j entries at the upper end",
            identity(*found.rows, variables={"j": "real"}),
        ),
        condition("S is positive definite, so the form is convex: vertices suffice", cases(("S", found.definite))),
        condition(f"mu^2 at j = {found.worst}", identity(found.value)),
        condition("no vertex attains more", cases(*found.others)),
    )
    return WorstPair(
        noise=noise,
        differences=differences,
        pair=f"a record with {found.worst} entries at the upper end and the others at the lower, against none",
        why="a convex form on a polytope is largest at a vertex",
        law=Gaussian(found.square),
        conditions=conditions,
        assumptions=(*assumptions, REAL, NORMAL),
    )


def cube_pair(
    given: Parameters,
    scales: tuple[Fraction, Fraction, Fraction],
    dim: int,
    loading: int | None,
    *,
    low: Fraction = Fraction(0),
    high: Fraction = Fraction(1),
    nonzero: int | None = None,
    copies: int = 1,
    assumptions: tuple[str, ...] = (UNIT_CUBE,),
) -> WorstPair:
    vz, ve, vw = (scale**2 for scale in scales)
    if nonzero is not None and not 1 <= nonzero <= dim:
        given.refuse("k", f"{nonzero} is not from 1 to {dim}")
    found = cube(dim, (vz, ve, vw), loading, low, high, dim if nonzero is None else nonzero, copies)
    if found is None:
        return not_derived(
            shared_json(dim, vz, ve, loading, vw), {"set": "cube"}, (*assumptions, REAL, NORMAL), attained=True
        )
    differences = {
        "set": "cube",
        "lower end": str(low),
        "upper end": str(high),
        "entries that differ from 0": "any" if nonzero is None else str(nonzero),
        "the count moves by": "0" if loading is None else "1",
        "records of one user": str(copies),
    }
    return _of_corner(found, shared_json(dim, vz, ve, loading, vw), differences, assumptions)


def correlated(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE)
    dim, count = given.whole("dim"), given.word("count", "released", "withheld", "estimated")
    estimated = count == "estimated"
    vz, ve = given.fraction("independent_scale"), given.fraction("shared_scale", positive=not estimated)
    if estimated and ve:
        given.refuse("shared_scale", "it is 0 where the count is estimated")
    half = Fraction(1, 2)
    low, high = (-half, half) if estimated else (Fraction(0), Fraction(1))
    more = ("the size estimate does not depend on the dataset",) if estimated else ()
    loading = 2 if count == "released" else None
    scales = vz, ve, Fraction(0)
    return cube_pair(given, scales, dim, loading, low=low, high=high, assumptions=(UNIT_CUBE, *more))


def standard(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    dim, scale = given.whole("dim"), given.fraction("scale")
    if relation == ADD_REMOVE:
        return cube_pair(given, (scale, Fraction(0), Fraction(0)), dim, None)
    noise = shared_json(dim, scale**2, Fraction(0), None, Fraction(0))
    differences = {"set": "cube", "lower end": "-1", "upper end": "1", "the count moves by": "0"}
    terms = f"{dim}*1**2/({number(scale**2)})"
    return WorstPair(
        noise=noise,
        differences=differences,
        pair="a record of ones replaced by one of zeros",
        why="the form is the sum of the squares over the variance, largest at a vertex",
        law=Gaussian(dim / scale**2),
        conditions=(condition("mu^2 at a vertex", identity((terms, number(dim / scale**2)))),),
        assumptions=(UNIT_CUBE, REAL, NORMAL),
    )


def gaussian(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE, REPLACE)
    dim, scale, distance = given.whole("dim"), given.fraction("sigma"), given.fraction("sensitivity")
    square = (distance / scale) ** 2
    return WorstPair(
        noise=shared_json(dim, scale**2, Fraction(0), None, Fraction(0)),
        differences={"set": "l2 ball", "coordinates": str(dim), "radius": str(distance)},
        pair="records that move the statistic by the radius",
        why="the form is the squared l2 norm over the variance, largest on the sphere",
        law=Gaussian(square),
        conditions=(
            condition(
                "mu^2 on the sphere", identity((f"({number(distance)})**2/({number(scale**2)})", number(square)))
            ),
        ),
        assumptions=("one record moves the statistic by at most the radius", *sampled_above(scale), REAL, NORMAL),
    )


def count_ellipse(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE)
    dim, k, count = given.whole("dim"), given.whole("k"), given.word("count", "released", "withheld")
    scales = (
        given.fraction("independent_scale"),
        given.fraction("shared_scale", positive=False),
        given.fraction("count_scale", positive=count == "released"),
    )
    assumptions = (UNIT_CUBE, f"every record has at most {k} non-zero entries")
    if count == "withheld":
        if scales[2]:
            given.refuse("count_scale", "it is 0 where the count is withheld")
        return cube_pair(given, scales, dim, None, nonzero=k, assumptions=assumptions)
    layer = given.whole("layer")
    if not 1 <= k <= dim:
        given.refuse("k", f"{k} is not from 1 to {dim}")
    vz, ve, vw = (scale**2 for scale in scales)
    found = levelled_cube(dim, (vz, ve, vw), k, layer)
    differences = {
        "set": "cube",
        "lower end": "0",
        "upper end": "1",
        "entries that differ from 0": str(k),
        "the last coordinate moves by 1 - (sum of the entries) over": str(layer),
    }
    return _of_corner(found, shared_json(dim, vz, ve, 0, vw), differences, assumptions)


def vote_ellipse(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE)
    dim, own, shared = given.whole("dim", 2), given.fraction("independent_scale"), given.fraction("shared_scale")
    vz, ve, d = own**2, shared**2, dim
    total, squares = Fraction(d * (d - 1), 2), Fraction(d * (d - 1) * (2 * d - 1), 6)
    square = (squares - total**2 * ve / (vz + d * ve)) / vz
    # y_i = (v_i - total ve/(vz + d ve))/vz solves S y = v, entry by entry
    solution = f"((v - ({number(total)})*({number(ve)})/({number(vz + d * ve)}))/({number(vz)}))"
    left = (
        f"({number(vz)})*{solution} + ({number(ve)})*(({number(total)})"
        f" - {d}*({number(total)})*({number(ve)})/({number(vz + d * ve)}))/({number(vz)})"
    )
    value = f"(({number(squares)}) - ({number(total)})**2*({number(ve)})/({number(vz + d * ve)}))/({number(vz)})"
    return WorstPair(
        noise=shared_json(d, vz, ve, None, Fraction(0)),
        differences={"set": "permutations of 0, ..., d - 1", "coordinates": str(d)},
        pair="a permutation, against none",
        why="the form depends on a record only through its sum and its sum of squares, which all permutations share",
        law=Gaussian(square),
        conditions=(
            condition("S y = v at an entry v of a permutation", identity((left, "v"), variables={"v": "real"})),
            condition("mu^2 of every permutation", identity((value, number(square)))),
        ),
        assumptions=("every record is a permutation of 0, ..., d - 1", REAL, NORMAL),
    )


MOST_ROWS: Final = 40
"""Distinct coordinates of a box whose squares are summed: the sum of more is a fraction of thousands of digits."""


def elliptical(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    rows = given.table("coordinates", 3)  # bound, scale, how many coordinates have both
    square, terms = Fraction(0), []
    for bound, scale, many in rows:
        if many.denominator != 1 or many < 1 or (bound > 0) != (scale > 0):
            given.refuse("coordinates", "a row has a bound without noise, or no coordinate")
        if bound and len(rows) <= MOST_ROWS:
            square += many * (bound / scale) ** 2
            terms.append(f"{many}*(({number(bound)})/({number(scale)}))**2")
    if rows != sorted(set(rows)) or not any(bound for bound, _, _ in rows):
        given.refuse("coordinates", "the rows are not in order, each once")
    noise: Json = {"law": "gaussian", "standard deviations": [[str(s), str(n)] for _, s, n in rows]}
    differences: Json = {"set": "box", "bounds": [[str(b), str(n)] for b, _, n in rows]}
    assumptions = ("every record lies in prod_j [-bound_j/2, bound_j/2]", REAL, NORMAL)
    if len(rows) > MOST_ROWS:
        return not_derived(noise, differences, assumptions, attained=True)
    return WorstPair(
        noise=noise,
        differences=differences,
        pair="a corner of the box replaced by the opposite corner",
        why="a diagonal form grows with every coordinate, so every corner attains the largest",
        law=Gaussian(square),
        conditions=(condition("mu^2 at a corner", identity((" + ".join(terms), number(square)))),),
        assumptions=assumptions,
    )


def grouped(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    m, d = given.whole("groups"), given.whole("dim")
    own, shared = given.fraction("independent_scale"), given.fraction("shared_scale")
    vz, ve = own**2, shared**2
    found = cube(d, (vz, ve, Fraction(0)), 2, Fraction(0), Fraction(1), d, 1)
    assert found is not None
    noise = {**shared_json(d, vz, ve, 2, Fraction(0)), "independent groups": str(m)}
    differences = {"set": "one row of a cube", "groups": str(m), "coordinates of a row": str(d)}
    assumptions = ("every record lies in [0, 1]^(m x d)", "every record is non-zero in one group at most")
    one = _of_corner(found, noise, differences, assumptions)
    if relation == ADD_REMOVE:
        return one
    within = _within_row(d, vz, ve)
    across = 2 * found.square if m >= 2 else found.square
    square = max(within[0], across)
    entries = [
        ("in one row", [[number(within[0]), "<=", number(square), True]]),
        ("in two rows", [[number(across), "<=", number(square), True]]),
        ("one record zero", [[number(found.square), "<=", number(square), True]]),
    ]
    more = (
        condition(
            "mu^2 of a sign vector with the sum s in one row, the count unchanged",
            identity(*within[1], variables={"v": "real", "s": "real"}),
        ),
        condition(
            "mu^2 of two records in different rows adds up",
            identity((f"{min(m, 2)}*({number(found.square)})", number(across))),
        ),
        condition("none of the three kinds of replacement attains more", cases(*entries)),
    )
    return WorstPair(
        noise=noise,
        differences={**differences, "replaced": "by one of the same row, of another row, or by zero"},
        pair="a record replaced by one of " + ("the same row" if within[0] >= across else "another row"),
        why="rows have independent noise; a convex form on a polytope is largest at a vertex",
        law=Gaussian(square),
        conditions=(*one.conditions, *more),
        attained=within[0] < across or d >= 2,
        assumptions=one.assumptions,
    )


def _within_row(d: int, vz: Fraction, ve: Fraction) -> tuple[Fraction, list[tuple[str, str]]]:
    """The largest form of (v, 0), v a sign vector, under queries eta + z_i and the count 2 eta."""
    # y_i = v_i/vz and y_count = -(sum v)/(2 vz) solve S y = (v, 0): the form is the sum of v_i^2/vz, d/vz
    square = d / vz
    y, last = f"(v/({number(vz)}))", f"(-s/(2*({number(vz)})))"
    rows = [
        (f"({number(vz)})*{y} + ({number(ve)})*s/({number(vz)}) + 2*({number(ve)})*{last}", "v"),
        (f"2*({number(ve)})*s/({number(vz)}) + 4*({number(ve)})*{last}", "0"),
        (f"{d}/({number(vz)})", number(square)),
    ]
    return square, rows


MOST_CANDIDATES: Final = 40
"""Queries of a group up to which every pair of numbers of ones in two groups is compared."""


def optimal_grouped(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    m, d = given.whole("groups"), given.whole("dim")
    s, a, b = (given.fraction(name) ** 2 for name in ("within_scale", "between_scale", "common_scale"))
    noise = {
        "law": "gaussian",
        "groups": str(m),
        "queries of a group": str(d),
        "variance inside the groups": str(s),
        "variance on contrasts of the groups": str(d * a),
        "variance on the line of all": str(d * b),
    }
    differences = {"set": "one row of a cube", "groups": str(m), "coordinates of a row": str(d)}
    assumptions = ("every record lies in [0, 1]^(m x d)", "every record is non-zero in one group at most", REAL, NORMAL)
    if d > MOST_CANDIDATES:
        return not_derived(noise, differences, assumptions, attained=True)

    def written(sums: str, total: str, squares: str) -> str:
        rows, line = f"({sums})/{d}", f"({total})**2/{d * m}"
        return f"(({squares}) - {rows})/({number(s)}) + ({rows} - {line})/({number(d * a)}) + {line}/({number(d * b)})"

    def form(p: int, q: int, squares: int) -> Fraction:
        rows, line = Fraction(p * p + q * q, d), Fraction((p + q) ** 2, d * m)
        return (squares - rows) / s + (rows - line) / (d * a) + line / (d * b)

    found = {
        f"one group, signs of the sum {t}": (form(t, 0, d), f"{t}**2", f"{t}", f"{d}") for t in range(d % 2, d + 1, 2)
    }
    if m >= 2:
        for p in range(d + 1):
            for q in range(p + 1):
                name = f"{p} ones in one group, {q} in another"
                found[name] = form(p, -q, p + q), f"{p}**2 + {q}**2", f"{p} - {q}", f"{p} + {q}"
    worst = max(found, key=lambda name: found[name][0])
    square = found[worst][0]
    return WorstPair(
        noise=noise,
        differences=differences,
        pair=worst,
        why="a convex form on a polytope is largest at a vertex, of which it sees the sums of the rows",
        law=Gaussian(square),
        conditions=(
            condition(f"mu^2 of {worst}", identity((written(*found[worst][1:]), number(square)))),
            condition(
                "no vertex attains more",
                cases(*((name, [[number(one[0]), "<=", number(square), True]]) for name, one in found.items())),
            ),
        ),
        assumptions=assumptions,
    )
