"""The worst pair of neighbours of each mechanism, from its name and its parameters in exact numbers alone.

Nothing here asks a mechanism object: what is derived is what a reader derives who has the certificate and the papers.
A mechanism of which the worst pair is not derived has `Unknown` in its place, and its certificate proves less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NoReturn, TypeAlias, final

from dpverdict.errors import DpverdictError
from dpverdict.proofs.checks.evidence import Evidence, number
from dpverdict.proofs.verdicts.cubes import Corner, cube, levelled_cube

Json: TypeAlias = dict[str, Any]
ADD_REMOVE: Final = "add-or-remove-one"
REPLACE: Final = "replace-one"
MOST_COORDINATES: Final = 1 << 24
MOST_STEPS: Final = 256
"""Steps of a training run whose worst participation is derived: the sums of the squares are long fractions."""


class NotDerived(DpverdictError):
    """A head that nothing can be derived from, and the field that is the reason."""


@final
@dataclass(frozen=True, slots=True)
class Gaussian:
    """N(0, 1) against N(mu, 1), by mu^2."""

    square: Fraction


@final
@dataclass(frozen=True, slots=True)
class Laplace:
    """Independent Laplace variables of scale 1, each moved: (shift, number of coordinates)."""

    groups: tuple[tuple[Fraction, int], ...]


@final
@dataclass(frozen=True, slots=True)
class Response:
    """So many randomised responses of one epsilon: integers with two-sided geometric noise, each moved by one."""

    rate: Fraction
    count: int


@final
@dataclass(frozen=True, slots=True)
class Values:
    """Randomised response of one of ``options`` values, with the odds exp(rate) against any other."""

    options: int
    rate: Fraction


@final
@dataclass(frozen=True, slots=True)
class BoundedRange:
    """The pair above all whose loss takes values in an interval of this length."""

    length: Fraction


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Independent discrete Gaussians: (variance parameter, shift, number of coordinates)."""

    groups: tuple[tuple[Fraction, int, int], ...]


@final
@dataclass(frozen=True, slots=True)
class Unknown:
    """Laws of which no number is derived here; of some, the largest privacy loss."""

    largest: Fraction | None = None


Law: TypeAlias = Gaussian | Laplace | Response | Values | BoundedRange | DiscreteGaussian | Unknown


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorstPair:
    """What the parameters of a mechanism come to.

    Attributes:
        noise: the law of the noise in exact numbers.
        differences: what neighbours can change, in exact numbers.
        pair: the worst neighbours in words.
        why: why none are worse.
        law: the two output laws of the worst neighbours, or laws that are at least as far apart.
        attained: whether neighbours attain it; otherwise it is a bound from above.
        conditions: the equations and inequalities behind ``law``.
        cited: a theorem that is taken from a paper, and not in the file.
        assumptions: what is taken for granted.
    """

    noise: Json
    differences: Json
    pair: str
    why: str
    law: Law
    attained: bool = True
    conditions: tuple[Json, ...] = ()
    cited: str = ""
    assumptions: tuple[str, ...] = field(default=())


REAL: Final = "noise and sums are real numbers: rounding in the sampler is not covered"
NORMAL: Final = "the normal variates are independent and exact"
BITS: Final = "the bits of the random source are independent and uniform"
UNIT_CUBE: Final = "every record lies in [0, 1]^d"


def condition(name: str, *evidence: Evidence) -> Json:
    """A condition as a certificate writes it."""
    return {"name": name, "holds": True, "evidence": list(evidence), "left_out": 0}


def identity(*sides: tuple[str, str], variables: dict[str, str] | None = None) -> Evidence:
    """Equations between expressions."""
    return {"kind": "identity", "sides": [list(pair) for pair in sides], "variables": variables or {}}


def cases(*entries: tuple[str, list[list[Any]]]) -> Evidence:
    """Comparisons of numbers, by case."""
    return {"kind": "cases", "cases": [list(entry) for entry in entries]}


@final
class Parameters:
    """The parameters of a head, read by name: each once, and all of them."""

    def __init__(self, values: Mapping[str, Any], relation: str) -> None:
        if not isinstance(values, dict):
            raise NotDerived("parameters is no object")
        self._left, self.relation = dict(values), relation

    def refuse(self, name: str, reason: str) -> NoReturn:
        """Refuse one of them."""
        raise NotDerived(f"parameters.{name}: {reason}")

    def _text(self, name: str) -> Any:
        if name not in self._left:
            self.refuse(name, "it is missing")
        return self._left.pop(name)

    def fraction(self, name: str, *, positive: bool = True) -> Fraction:
        """An exact number, written in lowest terms; > 0, or >= 0."""
        return self._fraction(name, self._text(name), positive)

    def _fraction(self, name: str, text: object, positive: bool) -> Fraction:
        found = exact(text)
        if found is None:
            self.refuse(name, f"{text!r} is no fraction in lowest terms")
        if found < 0 or (positive and found == 0):
            self.refuse(name, f"{text} is not {'positive' if positive else 'at least 0'}")
        return found

    def signed(self, name: str) -> Fraction:
        """An exact number of either sign."""
        text = self._text(name)
        found = exact(text)
        return self.refuse(name, f"{text!r} is no fraction in lowest terms") if found is None else found

    def whole(self, name: str, least: int = 1) -> int:
        """A whole number from ``least`` on."""
        found = self.fraction(name, positive=False)
        if found.denominator != 1 or not least <= found <= MOST_COORDINATES:
            self.refuse(name, f"{found} is no whole number from {least} to {MOST_COORDINATES}")
        return int(found)

    def word(self, name: str, *allowed: str) -> str:
        """One of some words."""
        text = self._text(name)
        if text not in allowed:
            self.refuse(name, f"{text!r} is none of {', '.join(allowed)}")
        return str(text)

    def table(self, name: str, columns: int) -> list[tuple[Fraction, ...]]:
        """Rows of exact numbers >= 0."""
        rows = self._text(name)
        if not isinstance(rows, list) or not rows or any(not isinstance(r, list) or len(r) != columns for r in rows):
            self.refuse(name, f"it is no list of rows of {columns} numbers")
        return [tuple(self._fraction(name, text, False) for text in row) for row in rows]

    def under(self, *relations: str) -> str:
        """The relation, if it is one that the mechanism is defined for."""
        if self.relation not in relations:
            raise NotDerived(f"relation: {self.relation!r} is not {' or '.join(relations)}")
        return self.relation

    def end(self) -> None:
        """Refuse what was not asked for."""
        for name in self._left:
            self.refuse(name, "there is no such parameter")


def exact(text: object) -> Fraction | None:
    """A fraction in lowest terms, as text; None for anything else, "2/4" and "1.0" included."""
    if not isinstance(text, str) or not text.isascii() or not all(c.isdigit() or c in "-/" for c in text):
        return None
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
    return found if str(found) == text else None


def worst_pair(mechanism: str, parameters: Mapping[str, Any], relation: str) -> WorstPair:
    """The worst pair of a mechanism of the catalogue.

    Raises:
        NotDerived: a mechanism, a parameter or a relation that is not known.
    """
    if relation not in (ADD_REMOVE, REPLACE):
        raise NotDerived(f"relation: {relation!r} is not {ADD_REMOVE} or {REPLACE}")
    build = MECHANISMS.get(mechanism) if isinstance(mechanism, str) else None
    if isinstance(mechanism, str) and mechanism.startswith("broken:"):
        build = _stated
    if build is None:
        raise NotDerived(f"mechanism: {mechanism!r} is not known")
    given = Parameters(parameters, relation)
    found = build(given)
    given.end()
    return found


# Gaussian noise on queries


def _shared_json(dim: int, vz: Fraction, ve: Fraction, loading: int | None, vw: Fraction) -> Json:
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


def _cube_of(
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
        return WorstPair(
            noise=_shared_json(dim, vz, ve, loading, vw),
            differences={"set": "cube"},
            pair="",
            why="",
            law=Unknown(),
            assumptions=(*assumptions, REAL, NORMAL),
        )
    differences = {
        "set": "cube",
        "lower end": str(low),
        "upper end": str(high),
        "entries that differ from 0": "any" if nonzero is None else str(nonzero),
        "the count moves by": "0" if loading is None else "1",
        "records of one user": str(copies),
    }
    return _of_corner(found, _shared_json(dim, vz, ve, loading, vw), differences, assumptions)


def _correlated(given: Parameters) -> WorstPair:
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
    return _cube_of(given, scales, dim, loading, low=low, high=high, assumptions=(UNIT_CUBE, *more))


def _standard(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    dim, scale = given.whole("dim"), given.fraction("scale")
    if relation == ADD_REMOVE:
        return _cube_of(given, (scale, Fraction(0), Fraction(0)), dim, None)
    noise = _shared_json(dim, scale**2, Fraction(0), None, Fraction(0))
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


def _gaussian(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE, REPLACE)
    dim, scale, distance = given.whole("dim"), given.fraction("sigma"), given.fraction("sensitivity")
    square = (distance / scale) ** 2
    return WorstPair(
        noise=_shared_json(dim, scale**2, Fraction(0), None, Fraction(0)),
        differences={"set": "l2 ball", "coordinates": str(dim), "radius": str(distance)},
        pair="records that move the statistic by the radius",
        why="the form is the squared l2 norm over the variance, largest on the sphere",
        law=Gaussian(square),
        conditions=(
            condition(
                "mu^2 on the sphere", identity((f"({number(distance)})**2/({number(scale**2)})", number(square)))
            ),
        ),
        assumptions=("one record moves the statistic by at most the radius", *_sampled(scale), REAL, NORMAL),
    )


def _sampled(scale: Fraction) -> tuple[str, ...]:
    """Further noise is added where the scale that is analysed is no float64."""
    if Fraction(float(scale)) == scale:
        return ()
    return ("the sampler takes the least float64 above the scale: further noise, which tells less",)


def _count_ellipse(given: Parameters) -> WorstPair:
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
        return _cube_of(given, scales, dim, None, nonzero=k, assumptions=assumptions)
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
    return _of_corner(found, _shared_json(dim, vz, ve, 0, vw), differences, assumptions)


def _vote_ellipse(given: Parameters) -> WorstPair:
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
        noise=_shared_json(d, vz, ve, None, Fraction(0)),
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


def _elliptical(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    rows = given.table("coordinates", 3)  # bound, scale, how many coordinates have both
    square, terms = Fraction(0), []
    for bound, scale, many in rows:
        if many.denominator != 1 or many < 1 or (bound > 0) != (scale > 0):
            given.refuse("coordinates", "a row has a bound without noise, or no coordinate")
        if bound:
            square += many * (bound / scale) ** 2
            terms.append(f"{many}*(({number(bound)})/({number(scale)}))**2")
    if rows != sorted(set(rows)) or not terms:
        given.refuse("coordinates", "the rows are not in order, each once")
    return WorstPair(
        noise={"law": "gaussian", "standard deviations": [[str(s), str(n)] for _, s, n in rows]},
        differences={"set": "box", "bounds": [[str(b), str(n)] for b, _, n in rows]},
        pair="a corner of the box replaced by the opposite corner",
        why="a diagonal form grows with every coordinate, so every corner attains the largest",
        law=Gaussian(square),
        conditions=(condition("mu^2 at a corner", identity((" + ".join(terms), number(square)))),),
        assumptions=("every record lies in prod_j [-bound_j/2, bound_j/2]", REAL, NORMAL),
    )


def _grouped(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    m, d = given.whole("groups"), given.whole("dim")
    own, shared = given.fraction("independent_scale"), given.fraction("shared_scale")
    vz, ve = own**2, shared**2
    found = cube(d, (vz, ve, Fraction(0)), 2, Fraction(0), Fraction(1), d, 1)
    assert found is not None
    noise = {**_shared_json(d, vz, ve, 2, Fraction(0)), "independent groups": str(m)}
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


def _optimal_grouped(given: Parameters) -> WorstPair:
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
        return WorstPair(
            noise=noise, differences=differences, pair="", why="", law=Unknown(), assumptions=assumptions
        )

    def written(sums: str, total: str, squares: str) -> str:
        rows, line = f"({sums})/{d}", f"({total})**2/{d * m}"
        return (
            f"(({squares}) - {rows})/({number(s)}) + ({rows} - {line})/({number(d * a)}) + {line}/({number(d * b)})"
        )

    def form(p: int, q: int, squares: int) -> Fraction:
        rows, line = Fraction(p * p + q * q, d), Fraction((p + q) ** 2, d * m)
        return (squares - rows) / s + (rows - line) / (d * a) + line / (d * b)

    found = {f"one group, signs of the sum {t}": (form(t, 0, d), f"{t}**2", f"{t}", f"{d}") for t in range(d % 2, d + 1, 2)}
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


# other noise


def _sum_of_shifts(groups: tuple[tuple[Fraction, int], ...]) -> Json:
    terms = " + ".join(f"{count}*({number(shift)})" for shift, count in groups)
    total = sum((shift * count for shift, count in groups), Fraction(0))
    return condition("the largest loss is the sum of the shifts over the scales", identity((terms, number(total))))


def _laplace(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    dim, norm = given.whole("dim"), given.word("norm", "linf", "l1", "l2")
    radius, scale = given.fraction("radius"), given.fraction("scale")
    reach = radius * (2 if relation == REPLACE and norm != "linf" else 1)
    noise = {"law": "laplace", "coordinates": str(dim), "scale": str(scale)}
    differences = {"set": f"{norm} ball", "coordinates": str(dim), "radius": str(reach)}
    held = UNIT_CUBE if norm == "linf" and radius == 1 else "every record has the bounded norm at most the radius"
    assumptions = (held, *_sampled(scale), REAL)
    if norm == "l2" and dim > 1:
        return WorstPair(noise=noise, differences=differences, pair="", why="", law=Unknown(), attained=False,
                         assumptions=assumptions)
    groups = ((reach / scale, dim if norm == "linf" else 1),)
    return WorstPair(
        noise=noise,
        differences=differences,
        pair="every coordinate moved by the radius" if norm == "linf" else "one coordinate moved by the radius",
        why="every shift is the largest at once" if norm == "linf" else "of one l1 norm, one coordinate tells most",
        law=Laplace(groups),
        conditions=(_sum_of_shifts(groups),),
        assumptions=assumptions,
    )


def _discrete_correlated(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE)
    dim, query, count = given.whole("dim"), given.fraction("query_variance"), given.fraction("count_variance")
    groups = ((query, 1, dim), (count, 1, 1))
    rho = dim / (2 * query) + 1 / (2 * count)
    terms = f"{dim}/(2*({number(query)})) + 1/(2*({number(count)}))"
    return WorstPair(
        noise={"law": "discrete gaussian", "variance parameters": [[str(query), str(dim)], [str(count), "1"]]},
        differences={"set": "vectors of 1 and -1", "coordinates": str(dim + 1)},
        pair="any record, against none",
        why="every record moves every coordinate by 1 or -1, and the noise is symmetric and independent",
        law=DiscreteGaussian(groups),
        conditions=(condition("rho, the mean of the loss", identity((terms, number(rho)))),),
        assumptions=("every record lies in {0, 1}^d", BITS),
    )


def _randomized_response(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    options, rate = given.whole("options", 2), given.fraction("log_odds")
    return WorstPair(
        noise={"law": "response", "values": str(options), "logarithm of the odds": str(rate)},
        differences={"set": "one value replaced by another", "values": str(options)},
        pair="the value 0 replaced by the value 1",
        why="the law is the same for every two values, but for their names",
        law=Values(options, rate),
        assumptions=("the record is one of the values", BITS),
    )


def _geometric(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    reach, rate = given.whole("sensitivity"), given.fraction("rate")
    outputs = given.word("outputs", "unbounded", "truncated", "bounded")
    low, high = given.signed("low"), given.signed("high")
    if outputs == "unbounded" and (low or high):
        given.refuse("low", "it and high are 0 where the outputs are unbounded")
    bounded = outputs == "bounded"
    law: Law = Response(rate, 1) if reach == 1 else Unknown(reach * rate)
    if bounded:
        law = BoundedRange(2 * rate * reach)
    return WorstPair(
        noise={"law": "two-sided geometric", "rate": str(rate), "outputs": outputs, "from": str(low), "to": str(high)},
        differences={"set": "whole numbers", "at most": str(reach), "relation": relation},
        pair=f"a count moved by {reach}",
        why="the noise is renormalised on a range: the losses of a pair lie in an interval"
        if bounded
        else "the noise is log-concave, so that the loss grows with the move",
        law=law,
        attained=outputs == "unbounded",
        cited="Dong, Durfee and Rogers 2020, Lemma 3.2" if bounded else "",
        assumptions=("every record is a whole number from 0 to the sensitivity", BITS),
    )


def _selection(given: Parameters, law: str) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    options, reach, rate = given.whole("options"), given.fraction("sensitivity"), given.fraction("rate")
    move = reach * (2 if relation == REPLACE else 1)
    loss = move * rate
    gumbel = law == "gumbel"
    return WorstPair(
        noise={"law": law, "options": str(options), "rate": str(rate)},
        differences={"set": "scores that move relative to each other", "by at most": str(move)},
        pair="scores moved by the most, relative to each other",
        why="the losses of any pair lie in an interval of this length"
        if gumbel
        else "each step of a move of the scores is private in proportion",
        law=BoundedRange(loss) if gumbel else Laplace(((loss, 1),)),
        attained=False,
        conditions=(
            condition("the move times the rate", identity((f"({number(move)})*({number(rate)})", number(loss)))),
        ),
        cited=_CITED[law],
        assumptions=("every score of a record lies in [0, sensitivity]", REAL),
    )


_CITED: Final = {
    "gumbel": "Dong, Durfee and Rogers 2020, Lemma 3.2",
    "exponential": "McKenna and Sheldon 2020, Theorem 1",
    "laplace": "Dwork and Roth 2014, Claim 3.9",
}


def _noisy_max(given: Parameters) -> WorstPair:
    law = given.word("noise", "laplace", "exponential", "gumbel")
    return _selection(given, law)


def _above_threshold(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    queries, positives = given.whole("queries"), given.whole("positives")
    threshold, reach = given.signed("threshold"), given.fraction("sensitivity")
    first, own = given.fraction("threshold_scale"), given.fraction("query_scale", positive=False)
    noise = {"law": "laplace", "queries": str(queries), "scale": str(own), "scale of the threshold": str(first)}
    times = 2 if relation == REPLACE else 1
    differences = {
        "set": "queries moved against a threshold",
        "by at most": str(times * reach),
        "threshold": str(threshold),
        "answers above": str(positives),
    }
    assumptions = ("every record moves a query by a number in [0, sensitivity]", REAL)
    if positives > queries:
        given.refuse("positives", f"more than queries={queries}")
    if own == 0:
        return WorstPair(noise=noise, differences=differences, pair="", why="", law=Unknown(), attained=False,
                         assumptions=assumptions)
    loss = reach / first + positives * times * reach / own
    terms = f"({number(reach)})/({number(first)}) + {positives}*{times}*({number(reach)})/({number(own)})"
    return WorstPair(
        noise=noise,
        differences=differences,
        pair="queries and threshold moved against each other",
        why="every part of the move costs in proportion",
        law=Laplace(((loss, 1),)),
        attained=False,
        conditions=(condition("D/b1 + c m/b2", identity((terms, number(loss)))),),
        cited="Lyu, Su and Li 2017, Theorem 2",
        assumptions=assumptions,
    )


# streams and training


def tree_height(arity: int, subtracted: int, horizon: int) -> int:
    """The least h such that h digits from -a to k - 1 - a reach the horizon."""
    height, reached = 0, 0
    while reached < horizon:
        reached += (arity - 1 - subtracted) * arity**height
        height += 1
    return height


def _subtracted(given: Parameters, arity: int, digits: str) -> int:
    if digits == "symmetric" and arity % 2 == 0:
        given.refuse("arity", "symmetric digits need an odd one")
    return 0 if digits == "ordinary" else (arity - 1) // 2


def _tree_counter(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    horizon, arity = given.whole("horizon"), given.whole("arity", 2)
    digits = given.word("digits", "offset", "symmetric", "ordinary")
    law, rate = given.word("noise", "discrete", "continuous"), given.fraction("rate")
    subtracted = _subtracted(given, arity, digits)
    height = tree_height(arity, subtracted, horizon)
    full = sum((arity - 1 - subtracted) * arity**level for level in range(height))
    attained = subtracted == 0 or full == horizon or arity ** (height - 1) <= horizon
    reached = f"{arity - 1 - subtracted}*({' + '.join(f'{arity}**{level}' for level in range(height))})"
    before = full - (arity - 1 - subtracted) * arity ** (height - 1)
    discrete = law == "discrete"
    return WorstPair(
        noise={"law": "two-sided geometric" if discrete else "laplace", "rate": str(rate)},
        differences={
            "set": "the sums of a tree with one item",
            "horizon": str(horizon),
            "arity": str(arity),
            "subtracted on a level": str(subtracted),
            "sums with the first item": str(height),
        },
        pair="the first item of the stream changed from 0 to 1",
        why="the first item is in a sum of every level, and the loss of log-concave noise grows with every shift",
        law=Response(rate, height) if discrete else Laplace(((rate, height),)),
        attained=attained,
        conditions=(
            condition("times that the digits reach", identity((reached, str(full)))),
            condition(
                "the number of levels",
                cases(("enough", [[str(horizon), "<=", str(full), True]]), ("needed", [[str(before), "<", str(horizon), True]])),
            ),
            _sum_of_shifts(((rate, height),)),
        ),
        assumptions=(
            ("every item is 0 or 1", "the 32-byte key of the noise is uniformly random and secret")
            if discrete
            else ("every item lies in [0, 1]", REAL)
        ),
    )


def _first_column(given: Parameters, kind: str, horizon: int) -> tuple[list[tuple[Fraction, int]], bool] | None:
    """The entries of the first column of R with how often they occur, and whether L is a square matrix."""
    if kind in ("binary", "honaker"):
        levels = horizon.bit_length()
        return [(Fraction(1), levels)], kind == "binary" or horizon == 1
    if kind == "sqrt-toeplitz" and horizon <= MOST_STEPS:
        return [(entry, 1) for entry in toeplitz(horizon)], True
    return None


def toeplitz(steps: int) -> list[Fraction]:
    """The coefficients binom(2 j, j)/4^j of (1 - x)^(-1/2)."""
    entries = [Fraction(1)]
    for j in range(1, steps):
        entries.append(entries[-1] * Fraction(2 * j - 1, 2 * j))
    return entries


_KINDS: Final = ("binary", "honaker", "smooth-binary", "sqrt-toeplitz")


def _factorization_counter(given: Parameters) -> WorstPair:
    given.under(REPLACE)
    horizon, kind = given.whole("horizon"), given.word("kind", *_KINDS)
    law, scale = given.word("noise", "laplace", "gaussian"), given.fraction("scale")
    found = _first_column(given, kind, horizon)
    noise = {"law": law, "scale": str(scale)}
    differences = {"set": "the first column of R", "horizon": str(horizon), "factorisation": kind}
    assumptions = ("every item lies in [0, 1]", REAL, *((NORMAL,) if law == "gaussian" else ()))
    if found is None:
        return WorstPair(noise=noise, differences=differences, pair="", why="", law=Unknown(), attained=False,
                         assumptions=assumptions)
    column, square_factors = found
    pair, why = "the first item of the stream changed from 0 to 1", "the first item is in the most sums"
    if law == "laplace":
        groups = tuple((entry / scale, count) for entry, count in column)
        return WorstPair(
            noise=noise, differences=differences, pair=pair, why=f"{why}, and the loss grows with every shift",
            law=Laplace(groups), attained=square_factors, conditions=(_sum_of_shifts(groups),), assumptions=assumptions,
        )
    square = sum((count * entry**2 for entry, count in column), Fraction(0)) / scale**2
    terms = " + ".join(f"{count}*({number(entry)})**2" for entry, count in column)
    return WorstPair(
        noise=noise, differences=differences, pair=pair, why=why, law=Gaussian(square), attained=square_factors,
        conditions=(condition("mu^2 of the first item", identity((f"({terms})/({number(scale**2)})", number(square)))),),
        assumptions=assumptions,
    )


def _dp_ftrl(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    multiplier, norm, dim = given.fraction("noise_multiplier"), given.fraction("clipping_norm"), given.whole("dim")
    steps, epochs, kind = given.whole("steps"), given.whole("epochs"), given.word("kind", *_KINDS)
    participation = given.word("participation", "fixed", "fresh")
    if steps % epochs:
        given.refuse("epochs", f"they do not divide steps={steps}")
    noise = {"law": "gaussian", "standard deviation": str(multiplier * norm), "coordinates": str(dim)}
    differences = {
        "set": "columns of R of one record",
        "steps": str(steps),
        "epochs": str(epochs),
        "factorisation": kind,
        "participation": participation,
        "norm": str(norm * (2 if relation == REPLACE else 1)),
    }
    assumptions = (
        "each record takes part in one step of every epoch, chosen independently of its values",
        "every gradient is clipped, and the noise is added before anything else sees the sums",
        *_sampled(multiplier * norm),
        REAL,
        NORMAL,
    )
    if kind != "sqrt-toeplitz" or steps > MOST_STEPS or (participation == "fresh" and epochs > 1):
        return WorstPair(noise=noise, differences=differences, pair="", why="", law=Unknown(), attained=False,
                         assumptions=assumptions)
    entries, each = toeplitz(steps), steps // epochs
    sums = [sum((entries[t - first] for first in range(0, t + 1, each)), Fraction(0)) for t in range(steps)]
    times = 4 if relation == REPLACE else 1
    square = times * sum((one**2 for one in sums), Fraction(0)) / multiplier**2
    terms = " + ".join(f"({number(one)})**2" for one in sums)
    return WorstPair(
        noise=noise,
        differences=differences,
        pair="a gradient of the clipping norm in the first step of every epoch",
        why="the coefficients are positive and fall, so that the earliest equal gradients add up the most",
        law=Gaussian(square),
        conditions=(
            condition(
                "mu^2 of the first steps", identity((f"{times}*({terms})/({number(multiplier**2)})", number(square)))
            ),
        ),
        assumptions=assumptions,
    )


def _dp_sgd(given: Parameters) -> WorstPair:
    relation = given.under(ADD_REMOVE, REPLACE)
    multiplier, norm, dim = given.fraction("noise_multiplier"), given.fraction("clipping_norm"), given.whole("dim")
    rate, steps = given.fraction("rate"), given.whole("steps")
    sampling = given.word("sampling", "poisson", "balls-in-bins", "shuffle", "shuffle-once")
    if relation == REPLACE and not sampling.startswith("shuffle"):
        raise NotDerived(f"relation: {relation!r} is not proved for sampling {sampling}")
    if rate > 1 or (sampling != "poisson" and (rate.numerator != 1 or steps % rate.denominator)):
        given.refuse("rate", f"{rate} is no rate of whole batches in {steps} steps")
    takes = steps if sampling == "poisson" else steps // rate.denominator
    times = 4 if relation == REPLACE else 1
    square = times * takes / multiplier**2
    return WorstPair(
        noise={"law": "gaussian", "standard deviation": str(multiplier * norm), "coordinates": str(dim)},
        differences={
            "set": "one gradient in sampled batches",
            "norm": str(norm * (2 if relation == REPLACE else 1)),
            "steps": str(steps),
            "sampling": sampling,
            "rate": str(rate),
        },
        pair="a gradient of the clipping norm in batches that are known",
        why="known batches tell no less than sampled ones",
        law=Gaussian(square),
        attained=False,
        conditions=(
            condition(
                "mu^2 of known batches", identity((f"{times}*{takes}/({number(multiplier**2)})", number(square)))
            ),
        ),
        cited="joint convexity of divergences (Zhu, Dong and Wang 2022)",
        assumptions=(
            "batches are made as stated, independently of the records",
            "every gradient is clipped, and the noise is added to the sum before anything else sees it",
            *_sampled(multiplier * norm),
            REAL,
            NORMAL,
        ),
    )


def _rank1(given: Parameters) -> WorstPair:
    given.under(ADD_REMOVE)
    dim, radius, scale = given.whole("dim", 3), given.fraction("radius"), given.fraction("scale")
    return WorstPair(
        noise={"law": "gaussian radius in a random direction", "coordinates": str(dim), "scale": str(scale)},
        differences={"set": "l2 ball", "coordinates": str(dim), "radius": str(radius)},
        pair="a record of the largest norm, against none",
        why="the noise is spherical, and its density falls with the radius",
        law=Unknown(),
        assumptions=("every record has l2-norm at most the radius", REAL, NORMAL),
    )


def _stated(given: Parameters) -> WorstPair:
    """A known-wrong mechanism: its noise and its records are what the parameters say, and its name says nothing."""
    kind = given.word("stated", "cube", "nothing")
    if kind == "nothing":
        return WorstPair(
            noise={"law": "not stated", "coordinates": str(given.whole("dim"))},
            differences={"set": "not stated"},
            pair="",
            why="",
            law=Unknown(),
            attained=False,
        )
    given.under(ADD_REMOVE)
    dim, loading = given.whole("dim"), given.word("count_loading", "none", "0", "1", "2", "3", "4")
    scales = (
        given.fraction("independent_scale"),
        given.fraction("shared_scale", positive=False),
        given.fraction("count_scale", positive=False),
    )
    low, high, copies = given.signed("low"), given.signed("high"), given.whole("copies")
    nonzero = given.whole("nonzero", 0) or None
    if low >= high:
        given.refuse("high", "it is not above low")
    return _cube_of(
        given,
        scales,
        dim,
        None if loading == "none" else int(loading),
        low=low,
        high=high,
        nonzero=nonzero,
        copies=copies,
        assumptions=("every entry of a record lies between low and high",),
    )


MECHANISMS: Final[Mapping[str, Callable[[Parameters], WorstPair]]] = {
    "above-threshold": _above_threshold,
    "correlated-gaussian": _correlated,
    "count-ellipse": _count_ellipse,
    "discrete-correlated-gaussian": _discrete_correlated,
    "dp-ftrl": _dp_ftrl,
    "dp-sgd": _dp_sgd,
    "elliptical-gaussian": _elliptical,
    "exponential": lambda given: _selection(given, "gumbel"),
    "factorization-counter": _factorization_counter,
    "gaussian": _gaussian,
    "geometric": _geometric,
    "grouped-gaussian": _grouped,
    "laplace": _laplace,
    "optimal-grouped-gaussian": _optimal_grouped,
    "permute-and-flip": lambda given: _selection(given, "exponential"),
    "randomized-response": _randomized_response,
    "rank1-gaussian": _rank1,
    "report-noisy-max": _noisy_max,
    "standard-gaussian": _standard,
    "tree-counter": _tree_counter,
    "vote-ellipse": _vote_ellipse,
}
"""How the worst pair follows from the parameters, by the name of the mechanism."""
