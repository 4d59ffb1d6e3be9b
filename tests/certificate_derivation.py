"""What the certificate of a verdict must say, derived from its head a second time: no code of the project is used.

Written from the definitions: linear systems are solved by elimination, worst vertices are found by trying all layers
or the ends and the middle of a parabola, sums are summed. Of a mechanism or a number that is not derived here nothing
is claimed: "compared only".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction as F
from itertools import pairwise
from typing import Any

REAL = "noise and sums are real numbers: rounding in the sampler is not covered"
NORMAL = "the normal variates are independent and exact"
BITS = "the bits of the random source are independent and uniform"
CUBE = "every record lies in [0, 1]^d"
ABOVE = "the sampler takes the least float64 above the scale: further noise, which tells less"
ADD, SWAP = "add-or-remove-one", "replace-one"
FALLS = "that the Renyi divergence of order a over a falls in a"


class Wrong(Exception):
    """A field of the head, or a place below it, that is not what follows from the others."""


def write(value: F | int) -> str:
    """Whole numbers and fractions; a long power of two in the denominator, or as a factor, as "*2**"."""
    value = F(value)
    top, bottom = value.numerator, value.denominator
    if bottom > 10**12 and bin(bottom).count("1") == 1:
        return f"{top}*2**-{len(bin(bottom)) - 3}"
    if bottom == 1 and abs(top) >= 10**40:
        twos = len(bin(top)) - len(bin(top).rstrip("0"))
        if twos > 64:
            return f"{top // 2**twos}*2**{twos}"
    return f"{top}/{bottom}" if bottom != 1 else f"{top}"


def read(text: Any, field: str) -> F:
    if isinstance(text, str) and text and set(text) <= set("0123456789-/"):
        try:
            value = F(text)
        except (ValueError, ZeroDivisionError):
            raise Wrong(f"{field}: {text!r} is no fraction") from None
        if str(value) == text:
            return value
    raise Wrong(f"{field}: {text!r} is no fraction in lowest terms")


def holds(name: str, *evidence: Any) -> dict[str, Any]:
    return {"name": name, "holds": True, "evidence": list(evidence), "left_out": 0}


def equations(sides: list[tuple[str, str]], **variables: str) -> dict[str, Any]:
    return {"kind": "identity", "sides": [list(side) for side in sides], "variables": variables}


def enumerated(entries: list[tuple[str, list[Any]]]) -> dict[str, Any]:
    return {"kind": "cases", "cases": [[name, [entry]] for name, entry in entries]}


class Found:
    """The noise, the differences, the worst pair, its law, and what shows it."""

    def __init__(self, noise: Any, differences: Any, assumptions: list[str]) -> None:
        self.noise, self.differences, self.assumptions = noise, differences, assumptions
        self.pair = self.why = self.cited = ""
        self.law: tuple[Any, ...] = ("unknown",)
        self.attained, self.conditions = True, []

    def worst(
        self, pair: str, why: str, law: tuple[Any, ...], conditions: list[Any] | None = None, **more: Any
    ) -> Found:
        self.pair, self.why, self.law, self.conditions = pair, why, law, conditions or []
        for name, value in more.items():
            setattr(self, name, value)
        return self

    def bound(self) -> Found:
        self.attained = False
        return self


class Given:
    """Parameters by name; every one is asked for once, and none is left."""

    def __init__(self, values: Any, relation: Any) -> None:
        if not isinstance(values, dict):
            raise Wrong("parameters: no object")
        if relation not in (ADD, SWAP):
            raise Wrong(f"relation: {relation!r}")
        self.values, self.relation, self.asked = values, relation, set()

    def of(self, name: str) -> Any:
        self.asked.add(name)
        if name not in self.values:
            raise Wrong(f"parameters.{name}: missing")
        return self.values[name]

    def number(self, name: str, low: int | None = 0, strict: bool = True) -> F:
        value = read(self.of(name), f"parameters.{name}")
        if low is not None and (value < low or (strict and value == low)):
            raise Wrong(f"parameters.{name}: {value} is too small")
        return value

    def count(self, name: str, low: int = 1) -> int:
        value = self.number(name, None)
        if value.denominator > 1 or not low <= value <= 1 << 24:
            raise Wrong(f"parameters.{name}: {value} is no whole number from {low}")
        return int(value)

    def one_of(self, name: str, words: str) -> str:
        if self.of(name) not in words.split():
            raise Wrong(f"parameters.{name}: {self.of(name)!r} is none of {words}")
        return str(self.of(name))

    def only(self, relation: str) -> None:
        if self.relation != relation:
            raise Wrong(f"relation: {self.relation} is not {relation}")


def solve(matrix: list[list[F]], right: list[F]) -> list[F] | None:
    """By elimination; None for a singular matrix."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next((k for k in range(i, len(rows)) if rows[k][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(len(rows)):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def shared(d: int, vz: F, ve: F, loading: int | None, vw: F) -> dict[str, str]:
    return {
        "law": "gaussian",
        "queries": f"{d}",
        "variance of each query": f"{vz}",
        "shared variance": f"{ve}",
        "the count has the shared noise times": "no count" if loading is None else f"{loading}",
        "variance of the count": f"{vw}",
    }


def vertex(
    d: int, vz: F, ve: F, loading: int | None, vw: F, low: F, high: F, count: tuple[F, F], last: int, copies: int
) -> tuple[F, int, list[Any]] | None:
    """mu^2 of the worst vertex with j of d entries high, its j, and the conditions. The unknowns are the y of an entry
    that is low and of one that is high, and of the count: S y = v by elimination, for j = 0, 1 and 2.

    None where S is singular."""
    load = F(loading or 0)
    own = load * load * ve + vw if loading is not None else F(1)
    cross = load * ve
    determinant = (vz + d * ve) * own - cross * cross * d
    if vz == 0 or determinant <= 0:
        return None

    def at(j: int) -> tuple[F, F, F]:
        t = count[0] + j * count[1]
        matrix = [
            [vz + (d - j) * ve, j * ve, cross],
            [(d - j) * ve, vz + j * ve, cross],
            [(d - j) * cross, j * cross, own],
        ]
        found = solve(matrix, [low, high, t])
        assert found is not None
        return found[0], found[1], found[2]

    def form(j: int) -> F:
        a, b, c = at(j)
        return copies * copies * ((d - j) * low * a + j * high * b + (count[0] + j * count[1]) * c)

    f0, f1, f2 = form(0), form(1), form(2)
    bend, constant = (f2 + f0) / 2 - f1, f0
    slope = f1 - f0 - bend

    def value(j: int) -> F:
        return bend * j * j + slope * j + constant

    (a0, _, c0), (a1, _, c1) = at(0), at(1)
    off, last_y = f"({write(a0)} + ({write(a1 - a0)})*j)", f"({write(c0)} + ({write(c1 - c0)})*j)"
    on = f"({off} + {write((high - low) / vz)})"
    total = f"(j*{on} + ({d} - j)*{off})"
    t = f"({write(count[0])} + ({write(count[1])})*j)"
    q = write(cross)
    sides = [
        (f"({write(vz)})*{on} + ({write(ve)})*{total} + ({q})*{last_y}", write(high)),
        (f"({write(vz)})*{off} + ({write(ve)})*{total} + ({q})*{last_y}", write(low)),
    ]
    if loading is not None:
        sides.append((f"({q})*{total} + ({write(own)})*{last_y}", t))
    sides.append(
        (
            f"{copies * copies}*(j*({write(high)})*{on} + ({d} - j)*({write(low)})*{off} + {t}*{last_y})",
            f"({write(bend)})*j**2 + ({write(slope)})*j + ({write(constant)})",
        )
    )
    if last <= 200:
        near = list(range(last + 1))
        best = max(near, key=lambda j: (value(j), -j))
    else:
        ends = {0, last}
        if bend < 0:
            middle = min(max(math.floor(-slope / bend / 2), 0), last)
            ends |= {middle, min(middle + 1, last)}
        best = max(ends, key=lambda j: (value(j), -j))
        near = sorted({0, last, best} | {j for j in (best - 1, best + 1) if 0 <= j <= last})
    square = value(best)
    entries: list[tuple[str, list[Any]]] = [(f"j = {j}", [write(value(j)), "<=", write(square), True]) for j in near]
    if last > 200:
        entries.append(("the parabola", [write(bend), ">" if bend > 0 else "<=", "0", True]))
    at_best = f"({write(bend)})*{best}**2 + ({write(slope)})*{best} + ({write(constant)})"
    definite = {"kind": "cases", "cases": [["S", [["0", "<", write(v), True] for v in (vz, determinant)]]]}
    return (
        square,
        best,
        [
            holds("S y = v, and v^T y, for a vertex with j entries at the upper end", equations(sides, j="real")),
            holds("S is positive definite, so the form is convex: vertices suffice", definite),
            holds(f"mu^2 at j = {best}", equations([(at_best, write(square))])),
            holds("no vertex attains more", enumerated(entries)),
        ],
    )


def in_cube(found: Found, made: tuple[F, int, list[Any]] | None) -> Found:
    if made is None:
        found.differences = {"set": "cube"}
        return found
    square, j, conditions = made
    pair = f"a record with {j} entries at the upper end and the others at the lower, against none"
    return found.worst(pair, "a convex form on a polytope is largest at a vertex", ("gaussian", square), conditions)


def cube(
    d: int,
    scales: tuple[F, F, F],
    loading: int | None,
    low: F,
    high: F,
    nonzero: int | None,
    copies: int,
    said: list[str],
) -> Found:
    vz, ve, vw = (s * s for s in scales)
    if nonzero is not None and not 1 <= nonzero <= d:
        raise Wrong(f"parameters.k: {nonzero}")
    differences = {
        "set": "cube",
        "lower end": f"{low}",
        "upper end": f"{high}",
        "entries that differ from 0": "any" if nonzero is None else f"{nonzero}",
        "the count moves by": "0" if loading is None else "1",
        "records of one user": f"{copies}",
    }
    t = (F(loading is not None), F(0))
    made = vertex(d, vz, ve, loading, vw, low, high, t, nonzero or d, copies)
    return in_cube(Found(shared(d, vz, ve, loading, vw), differences, [*said, REAL, NORMAL]), made)


def further(scale: F) -> list[str]:
    return [] if F(float(scale)) == scale else [ABOVE]


def correlated(g: Given) -> Found:
    g.only(ADD)
    d, count = g.count("dim"), g.one_of("count", "released withheld estimated")
    z, e = g.number("independent_scale"), g.number("shared_scale", 0, count != "estimated")
    if count == "estimated":
        if e != 0:
            raise Wrong("parameters.shared_scale: not 0")
        said = [CUBE, "the size estimate does not depend on the dataset"]
        return cube(d, (z, e, F(0)), None, F(-1, 2), F(1, 2), None, 1, said)
    return cube(d, (z, e, F(0)), 2 if count == "released" else None, F(0), F(1), None, 1, [CUBE])


def standard(g: Given) -> Found:
    d, scale = g.count("dim"), g.number("scale")
    if g.relation == ADD:
        return cube(d, (scale, F(0), F(0)), None, F(0), F(1), None, 1, [CUBE])
    v = scale * scale
    differences = {"set": "cube", "lower end": "-1", "upper end": "1", "the count moves by": "0"}
    shown = [holds("mu^2 at a vertex", equations([(f"{d}*1**2/({write(v)})", write(d / v))]))]
    why = "the form is the sum of the squares over the variance, largest at a vertex"
    found = Found(shared(d, v, F(0), None, F(0)), differences, [CUBE, REAL, NORMAL])
    return found.worst("a record of ones replaced by one of zeros", why, ("gaussian", d / v), shown)


def gaussian(g: Given) -> Found:
    d, sigma, distance = g.count("dim"), g.number("sigma"), g.number("sensitivity")
    v, square = sigma * sigma, distance * distance / sigma / sigma
    said = ["one record moves the statistic by at most the radius", *further(sigma), REAL, NORMAL]
    found = Found(
        shared(d, v, F(0), None, F(0)), {"set": "l2 ball", "coordinates": f"{d}", "radius": f"{distance}"}, said
    )
    shown = [holds("mu^2 on the sphere", equations([(f"({write(distance)})**2/({write(v)})", write(square))]))]
    why = "the form is the squared l2 norm over the variance, largest on the sphere"
    return found.worst("records that move the statistic by the radius", why, ("gaussian", square), shown)


def count_ellipse(g: Given) -> Found:
    g.only(ADD)
    d, k, count = g.count("dim"), g.count("k"), g.one_of("count", "released withheld")
    there = count == "released"
    z, e, w = g.number("independent_scale"), g.number("shared_scale", 0, False), g.number("count_scale", 0, there)
    said = [CUBE, f"every record has at most {k} non-zero entries"]
    if not there:
        if w:
            raise Wrong("parameters.count_scale: not 0")
        return cube(d, (z, e, w), None, F(0), F(1), k, 1, said)
    layer = g.count("layer")
    if k > d:
        raise Wrong(f"parameters.k: {k}")
    differences = {
        "set": "cube",
        "lower end": "0",
        "upper end": "1",
        "entries that differ from 0": f"{k}",
        "the last coordinate moves by 1 - (sum of the entries) over": f"{layer}",
    }
    found = Found(shared(d, z * z, e * e, 0, w * w), differences, [*said, REAL, NORMAL])
    return in_cube(found, vertex(d, z * z, e * e, 0, w * w, F(0), F(1), (F(1), F(-1, layer)), k, 1))


def vote_ellipse(g: Given) -> Found:
    g.only(ADD)
    d, vz, ve = g.count("dim", 2), g.number("independent_scale") ** 2, g.number("shared_scale") ** 2
    s1, s2 = F(sum(range(d))), F(sum(i * i for i in range(d)))
    y_sum = solve([[vz + d * ve]], [s1])
    assert y_sum is not None
    square = sum((v * (v - ve * y_sum[0]) / vz for v in range(d)), F(0))
    line = write(vz + d * ve)
    y = f"((v - ({write(s1)})*({write(ve)})/({line}))/({write(vz)}))"
    left = f"({write(vz)})*{y} + ({write(ve)})*(({write(s1)}) - {d}*({write(s1)})*({write(ve)})/({line}))/({write(vz)})"
    value = f"(({write(s2)}) - ({write(s1)})**2*({write(ve)})/({line}))/({write(vz)})"
    differences = {"set": "permutations of 0, ..., d - 1", "coordinates": f"{d}"}
    found = Found(
        shared(d, vz, ve, None, F(0)), differences, ["every record is a permutation of 0, ..., d - 1", REAL, NORMAL]
    )
    return found.worst(
        "a permutation, against none",
        "the form depends on a record only through its sum and its sum of squares, which all permutations share",
        ("gaussian", square),
        [
            holds("S y = v at an entry v of a permutation", equations([(left, "v")], v="real")),
            holds("mu^2 of every permutation", equations([(value, write(square))])),
        ],
    )


def elliptical(g: Given) -> Found:
    g.only(SWAP)
    rows = g.of("coordinates")
    if not isinstance(rows, list) or not rows or any(not isinstance(row, list) or len(row) != 3 for row in rows):
        raise Wrong("parameters.coordinates: no rows of three numbers")
    table = [tuple(read(x, "parameters.coordinates") for x in row) for row in rows]
    if any(b < 0 or s < 0 or n < 1 or n.denominator > 1 or bool(b) != bool(s) for b, s, n in table):
        raise Wrong("parameters.coordinates: a bound without noise")
    if any(one >= other for one, other in pairwise(table)) or all(b == 0 for b, _, _ in table):
        raise Wrong("parameters.coordinates: not in order")
    found = Found(
        {"law": "gaussian", "standard deviations": [[f"{s}", f"{n}"] for _, s, n in table]},
        {"set": "box", "bounds": [[f"{b}", f"{n}"] for b, _, n in table]},
        ["every record lies in prod_j [-bound_j/2, bound_j/2]", REAL, NORMAL],
    )
    if len(table) > 40:
        return found
    square = sum((n * b * b / s / s for b, s, n in table if b), F(0))
    terms = " + ".join(f"{n}*(({write(b)})/({write(s)}))**2" for b, s, n in table if b)
    shown = [holds("mu^2 at a corner", equations([(terms, write(square))]))]
    why = "a diagonal form grows with every coordinate, so every corner attains the largest"
    return found.worst("a corner of the box replaced by the opposite corner", why, ("gaussian", square), shown)


ROWS = ["every record lies in [0, 1]^(m x d)", "every record is non-zero in one group at most"]


def grouped(g: Given) -> Found:
    m, d, z, e = g.count("groups"), g.count("dim"), g.number("independent_scale"), g.number("shared_scale")
    vz, ve = z * z, e * e
    differences = {"set": "one row of a cube", "groups": f"{m}", "coordinates of a row": f"{d}"}
    found = Found({**shared(d, vz, ve, 2, F(0)), "independent groups": f"{m}"}, differences, [*ROWS, REAL, NORMAL])
    made = vertex(d, vz, ve, 2, F(0), F(0), F(1), (F(1), F(0)), d, 1)
    assert made is not None
    in_cube(found, made)
    if g.relation == ADD:
        return found
    alone = made[0]
    # one row: S y = (v, 0) for a sign vector with p ones, by elimination, for every p
    within = F(0)
    for p in range(d + 1) if d <= 60 else (d, (d + 1) // 2):
        matrix = [
            [vz + p * ve, (d - p) * ve, 2 * ve],
            [p * ve, vz + (d - p) * ve, 2 * ve],
            [2 * p * ve, 2 * (d - p) * ve, 4 * ve],
        ]
        y = solve(matrix, [F(1), F(-1), F(0)])
        assert y is not None
        within = max(within, p * y[0] - (d - p) * y[1])
    across = alone if m == 1 else 2 * alone
    square = max(within, across)
    y, last = f"(v/({write(vz)}))", f"(-s/(2*({write(vz)})))"
    sides = [
        (f"({write(vz)})*{y} + ({write(ve)})*s/({write(vz)}) + 2*({write(ve)})*{last}", "v"),
        (f"2*({write(ve)})*s/({write(vz)}) + 4*({write(ve)})*{last}", "0"),
        (f"{d}/({write(vz)})", write(within)),
    ]
    found.differences = {**differences, "replaced": "by one of the same row, of another row, or by zero"}
    kinds = [("in one row", within), ("in two rows", across), ("one record zero", alone)]
    conditions = [
        *found.conditions,
        holds(
            "mu^2 of a sign vector with the sum s in one row, the count unchanged", equations(sides, v="real", s="real")
        ),
        holds(
            "mu^2 of two records in different rows adds up",
            equations([(f"{1 if m == 1 else 2}*({write(alone)})", write(across))]),
        ),
        holds(
            "none of the three kinds of replacement attains more",
            enumerated([(name, [write(value), "<=", write(square), True]) for name, value in kinds]),
        ),
    ]
    return found.worst(
        "a record replaced by one of " + ("another row" if within < across else "the same row"),
        "rows have independent noise; a convex form on a polytope is largest at a vertex",
        ("gaussian", square),
        conditions,
        attained=within < across or d > 1,
    )


def optimal_grouped(g: Given) -> Found:
    g.only(SWAP)
    m, d = g.count("groups"), g.count("dim")
    s, a, b = (g.number(f"{name}_scale") ** 2 for name in ("within", "between", "common"))
    a, b = d * a, d * b
    found = Found(
        {
            "law": "gaussian",
            "groups": f"{m}",
            "queries of a group": f"{d}",
            "variance inside the groups": f"{s}",
            "variance on contrasts of the groups": f"{a}",
            "variance on the line of all": f"{b}",
        },
        {"set": "one row of a cube", "groups": f"{m}", "coordinates of a row": f"{d}"},
        [*ROWS, REAL, NORMAL],
    )
    if d > 40:
        return found

    def mu(row_sums: list[int], entries: int) -> F:
        """The squared lengths of the three orthogonal parts, each over its eigenvalue."""
        along_rows = sum((F(x * x, d) for x in row_sums), F(0))
        along_all = F(sum(row_sums) ** 2, m * d)
        return (entries - along_rows) / s + (along_rows - along_all) / a + along_all / b

    listed: list[tuple[str, F, str, str, str]] = []
    for t in range(d % 2, d + 1, 2):
        listed.append((f"one group, signs of the sum {t}", mu([t], d), f"{t}**2", f"{t}", f"{d}"))
    if m > 1:
        for p in range(d + 1):
            for q in range(p + 1):
                name = f"{p} ones in one group, {q} in another"
                listed.append((name, mu([p, -q], p + q), f"{p}**2 + {q}**2", f"{p} - {q}", f"{p} + {q}"))
    best = listed[0]
    for one in listed:
        if one[1] > best[1]:
            best = one
    name, square, squares, total, entries = best
    rows, line = f"({squares})/{d}", f"({total})**2/{d * m}"
    text = f"(({entries}) - {rows})/({write(s)}) + ({rows} - {line})/({write(a)}) + {line}/({write(b)})"
    return found.worst(
        name,
        "a convex form on a polytope is largest at a vertex, of which it sees the sums of the rows",
        ("gaussian", square),
        [
            holds(f"mu^2 of {name}", equations([(text, write(square))])),
            holds(
                "no vertex attains more",
                enumerated([(n, [write(v), "<=", write(square), True]) for n, v, *_ in listed]),
            ),
        ],
    )


def shifts(groups: list[tuple[F, int]]) -> dict[str, Any]:
    total = sum((shift * n for shift, n in groups), F(0))
    terms = " + ".join(f"{n}*({write(shift)})" for shift, n in groups)
    return holds("the largest loss is the sum of the shifts over the scales", equations([(terms, write(total))]))


def laplace(g: Given) -> Found:
    d, norm, radius, scale = g.count("dim"), g.one_of("norm", "linf l1 l2"), g.number("radius"), g.number("scale")
    reach = radius if norm == "linf" or g.relation == ADD else radius + radius
    said = CUBE if norm == "linf" and radius == 1 else "every record has the bounded norm at most the radius"
    found = Found(
        {"law": "laplace", "coordinates": f"{d}", "scale": f"{scale}"},
        {"set": f"{norm} ball", "coordinates": f"{d}", "radius": f"{reach}"},
        [said, *further(scale), REAL],
    )
    if norm == "l2" and d > 1:
        return found.bound()
    many = norm == "linf"
    groups = [(reach / scale, d if many else 1)]
    return found.worst(
        "every coordinate moved by the radius" if many else "one coordinate moved by the radius",
        "every shift is the largest at once" if many else "of one l1 norm, one coordinate tells most",
        ("laplace", groups),
        [shifts(groups)],
    )


def bounded_contributions(g: Given) -> Found:
    d, k, m = g.count("dim"), g.count("keys"), g.count("per_key")
    if k > d:
        raise Wrong(f"parameters.keys: {k}")
    kind, high = g.of("values"), g.number("high")
    top = high * m
    if kind not in ("from 0", "symmetric"):
        raise Wrong("parameters.values")
    l1, l2, law = (
        g.number("l1", 0, False),
        g.number("l2", 0, False),
        g.one_of("noise", "laplace gaussian discrete-gaussian"),
    )
    whole = law == "discrete-gaussian"
    size_of_noise = "variance" if whole else "scale"
    scale, swap = g.number(size_of_noise), g.relation == SWAP
    if law == "laplace" and l2:
        raise Wrong("parameters.l2: no worst user")
    if whole and (l1 or l2 or high.denominator > 1 or (swap and kind == "symmetric")):
        raise Wrong("parameters.noise: no worst user")
    user: list[F] = []
    while len(user) < k and (not l1 or sum(user, F(0)) < l1):
        user.append(min(top, l1 - sum(user, F(0))) if l1 else top)
    if swap and kind == "symmetric":
        people = [[2 * size for size in user]]
        bound = 4 * l2 * l2
    elif swap:
        slots = sorted(user + user, reverse=True)[:d]
        people, bound = [slots[0::2], slots[1::2]], l2 * l2
    else:
        people, bound = [user], l2 * l2
    said = ["a record is all that one user has, and what is kept of a user depends on that user alone"]
    found = Found(
        {"law": law, "coordinates": f"{d}", size_of_noise: f"{scale}"},
        {
            "set": f"sums of one user, {kind}",
            "not 0, at most": f"{k}",
            "each at most": f"{top}",
            "l1 norm at most": f"{l1}" if l1 else "any",
            "l2 norm at most": f"{l2}" if l2 else "any",
        },
        [*said, BITS if whole else REAL, *([NORMAL] if law == "gaussian" else [])],
    )
    pair = "as many of the largest sums as there can be, and one of the rest"
    why = "the loss of equal log-concave noise grows under weak majorisation of the moves, and these majorise all"
    counted = [Counter(person) for person in people]
    if law == "laplace":
        moves = [(size / scale, n) for size, n in sum(counted, Counter()).items()]
        return found.worst(pair, why, ("laplace", moves), [shifts(moves)])
    if whole:
        moves = list(sum(counted, Counter()).items())
        rho = sum((size * size / scale / 2 * n for size, n in moves), F(0))
        text = " + ".join(f"{n}*({write(size)})**2/(2*({write(scale)}))" for size, n in moves)
        shown = holds("rho of the largest moves", equations([(text, write(rho))]))
        return found.worst(pair, why, ("discrete", rho), [shown])
    terms, total = [], F(0)
    for person in counted:
        square = sum((size * size * n for size, n in person.items()), F(0))
        if l2 and square > bound:
            terms, total = [*terms, write(bound)], total + bound
        else:
            terms, total = [*terms, *(f"{n}*({write(size)})**2" for size, n in person.items())], total + square
    mu2 = total / scale**2
    shown = holds("mu^2 of the largest moves", equations([(f"({' + '.join(terms)})/({write(scale**2)})", write(mu2))]))
    return found.worst(pair, why, ("gaussian", mu2), [shown])


def discrete_correlated(g: Given) -> Found:
    g.only(ADD)
    d, q, c = g.count("dim"), g.number("query_variance"), g.number("count_variance")
    rho = F(d) / q / 2 + 1 / c / 2
    found = Found(
        {"law": "discrete gaussian", "variance parameters": [[f"{q}", f"{d}"], [f"{c}", "1"]]},
        {"set": "vectors of 1 and -1", "coordinates": f"{d + 1}"},
        ["every record lies in {0, 1}^d", BITS],
    )
    text = f"{d}/(2*({write(q)})) + 1/(2*({write(c)}))"
    why = "every record moves every coordinate by 1 or -1, and the noise is symmetric and independent"
    shown = [holds("rho, the mean of the loss", equations([(text, write(rho))]))]
    return found.worst("any record, against none", why, ("discrete", rho), shown)


def response(g: Given) -> Found:
    g.only(SWAP)
    k, r = g.count("options", 2), g.number("log_odds")
    found = Found(
        {"law": "response", "values": f"{k}", "logarithm of the odds": f"{r}"},
        {"set": "one value replaced by another", "values": f"{k}"},
        ["the record is one of the values", BITS],
    )
    why = "the law is the same for every two values, but for their names"
    return found.worst("the value 0 replaced by the value 1", why, ("values", k, r))


def geometric(g: Given) -> Found:
    reach, r, outputs = g.count("sensitivity"), g.number("rate"), g.one_of("outputs", "unbounded truncated bounded")
    low, high = g.number("low", None), g.number("high", None)
    if outputs == "unbounded" and (low != 0 or high != 0):
        raise Wrong("parameters.low: not 0")
    found = Found(
        {"law": "two-sided geometric", "rate": f"{r}", "outputs": outputs, "from": f"{low}", "to": f"{high}"},
        {"set": "whole numbers", "at most": f"{reach}", "relation": g.relation},
        ["every record is a whole number from 0 to the sensitivity", BITS],
    )
    pair, attained = f"a count moved by {reach}", outputs == "unbounded"
    if outputs == "bounded":
        why = "the noise is renormalised on a range: the losses of a pair lie in an interval"
        law: tuple[Any, ...] = ("range", 2 * r * reach)
        return found.worst(pair, why, law, attained=False, cited="Dong, Durfee and Rogers 2020, Lemma 3.2")
    law = ("response", r, 1) if reach == 1 else ("unknown", reach * r)
    return found.worst(pair, "the noise is log-concave, so that the loss grows with the move", law, attained=attained)


CITED = {
    "gumbel": "Dong, Durfee and Rogers 2020, Lemma 3.2",
    "exponential": "McKenna and Sheldon 2020, Theorem 1",
    "laplace": "Dwork and Roth 2014, Claim 3.9",
}


def selection(noise: str) -> Callable[[Given], Found]:
    def of(g: Given) -> Found:
        law = noise or g.one_of("noise", "laplace exponential gumbel")
        options, reach, rate = g.count("options"), g.number("sensitivity"), g.number("rate")
        move = reach + reach if g.relation == SWAP else reach
        found = Found(
            {"law": law, "options": f"{options}", "rate": f"{rate}"},
            {"set": "scores that move relative to each other", "by at most": f"{move}"},
            ["every score of a record lies in [0, sensitivity]", REAL],
        )
        loss = move * rate
        shown = [holds("the move times the rate", equations([(f"({write(move)})*({write(rate)})", write(loss))]))]
        step = "each step of a move of the scores is private in proportion"
        return found.worst(
            "scores moved by the most, relative to each other",
            "the losses of any pair lie in an interval of this length" if law == "gumbel" else step,
            ("range", loss) if law == "gumbel" else ("laplace", [(loss, 1)]),
            shown,
            attained=False,
            cited=CITED[law],
        )

    return of


def quantile(g: Given) -> Found:
    q, rate = g.number("quantile"), g.number("rate")
    if q >= 1:
        raise Wrong(f"parameters.quantile: {q}")
    move = F(2) if g.relation == SWAP else max(q, 1 - q) * 2
    shown = [holds("the move times the rate", equations([(f"({write(move)})*({write(rate)})", write(move * rate))]))]
    return Found(
        {"law": "exponential in the rank", "quantile": f"{q}", "rate": f"{rate}"},
        {"set": "ranks that move relative to each other", "by at most": f"{move}"},
        ["the interval does not depend on the data", REAL],
    ).worst(
        "a value that moves past all others",
        "the losses of any pair lie in an interval of this length",
        ("range", move * rate),
        shown,
        attained=False,
        cited=CITED["gumbel"],
    )


def above_threshold(g: Given) -> Found:
    t, c, x, reach = g.count("queries"), g.count("positives"), g.number("threshold", None), g.number("sensitivity")
    b1, b2 = g.number("threshold_scale"), g.number("query_scale", 0, False)
    factor = 1 if g.relation == ADD else 2
    if c > t:
        raise Wrong(f"parameters.positives: {c} of {t}")
    found = Found(
        {"law": "laplace", "queries": f"{t}", "scale": f"{b2}", "scale of the threshold": f"{b1}"},
        {
            "set": "queries moved against a threshold",
            "by at most": f"{factor * reach}",
            "threshold": f"{x}",
            "answers above": f"{c}",
        },
        ["every record moves a query by a number in [0, sensitivity]", REAL],
    )
    if not b2:
        return found.bound()
    loss = reach / b1 + factor * reach / b2 * c
    text = f"({write(reach)})/({write(b1)}) + {c}*{factor}*({write(reach)})/({write(b2)})"
    return found.worst(
        "queries and threshold moved against each other",
        "every part of the move costs in proportion",
        ("laplace", [(loss, 1)]),
        [holds("D/b1 + c m/b2", equations([(text, write(loss))]))],
        attained=False,
        cited="Lyu, Su and Li 2017, Theorem 2",
    )


def tree_counter(g: Given) -> Found:
    g.only(SWAP)
    horizon, k = g.count("horizon"), g.count("arity", 2)
    digits, law, rate = (
        g.one_of("digits", "offset symmetric ordinary"),
        g.one_of("noise", "discrete continuous"),
        g.number("rate"),
    )
    if digits == "symmetric" and k % 2 == 0:
        raise Wrong("parameters.arity: even")
    a = 0 if digits == "ordinary" else (k - 1) // 2
    largest = k - 1 - a
    reached = [0]
    while reached[-1] < horizon:
        reached.append(reached[-1] * k + largest)  # one more digit, the largest everywhere
    h = len(reached) - 1
    discrete = law == "discrete"
    found = Found(
        {"law": "two-sided geometric" if discrete else "laplace", "rate": f"{rate}"},
        {
            "set": "the sums of a tree with one item",
            "horizon": f"{horizon}",
            "arity": f"{k}",
            "subtracted on a level": f"{a}",
            "sums with the first item": f"{h}",
        },
        ["every item is 0 or 1", "the 32-byte key of the noise is uniformly random and secret"]
        if discrete
        else ["every item lies in [0, 1]", REAL],
    )
    text = f"{largest}*({' + '.join(f'{k}**{level}' for level in range(h))})"
    levels = [
        ("enough", [f"{horizon}", "<=", f"{reached[h]}", True]),
        ("needed", [f"{reached[h - 1]}", "<", f"{horizon}", True]),
    ]
    return found.worst(
        "the first item of the stream changed from 0 to 1",
        "the first item is in a sum of every level, and the loss of log-concave noise grows with every shift",
        ("response", rate, h) if discrete else ("laplace", [(rate, h)]),
        [
            holds("times that the digits reach", equations([(text, f"{reached[h]}")])),
            holds("the number of levels", enumerated(levels)),
            shifts([(rate, h)]),
        ],
        attained=a == 0 or reached[h] == horizon or k ** (h - 1) <= horizon,
    )


KINDS = "binary honaker smooth-binary sqrt-toeplitz"


def in_sixteens(terms: list[str]) -> str:
    """Their sum, so that no expression is too deep to be read."""
    return " + ".join(f"({' + '.join(terms[i : i + 16])})" for i in range(0, len(terms), 16))


def root_coefficients(n: int) -> list[F]:
    return [F(math.comb(2 * j, j), 4**j) for j in range(n)]


def factorization_counter(g: Given) -> Found:
    g.only(SWAP)
    horizon, kind, law = g.count("horizon"), g.one_of("kind", KINDS), g.one_of("noise", "laplace gaussian")
    scale = g.number("scale")
    found = Found(
        {"law": law, "scale": f"{scale}"},
        {"set": "the first column of R", "horizon": f"{horizon}", "factorisation": kind},
        ["every item lies in [0, 1]", REAL, *([NORMAL] if law == "gaussian" else [])],
    )
    if kind == "smooth-binary" or (kind == "sqrt-toeplitz" and horizon > 128):
        return found.bound()
    levels = sum(2**level <= horizon for level in range(horizon.bit_length() + 1))
    column = [(x, 1) for x in root_coefficients(horizon)] if kind == "sqrt-toeplitz" else [(F(1), levels)]
    attained = kind != "honaker" or horizon == 1
    pair, why = "the first item of the stream changed from 0 to 1", "the first item is in the most sums"
    if law == "laplace":
        groups = [(x / scale, n) for x, n in column]
        why += ", and the loss grows with every shift"
        return found.worst(pair, why, ("laplace", groups), [shifts(groups)], attained=attained)
    square = sum((n * x * x for x, n in column), F(0)) / scale / scale
    text = f"({in_sixteens([f'{n}*({write(x)})**2' for x, n in column])})/({write(scale * scale)})"
    shown = [holds("mu^2 of the first item", equations([(text, write(square))]))]
    return found.worst(pair, why, ("gaussian", square), shown, attained=attained)


def dp_ftrl(g: Given) -> Found:
    s, norm, d, steps, epochs = (
        g.number("noise_multiplier"),
        g.number("clipping_norm"),
        g.count("dim"),
        g.count("steps"),
        g.count("epochs"),
    )
    kind, order = g.one_of("kind", KINDS), g.one_of("participation", "fixed fresh")
    if steps % epochs:
        raise Wrong("parameters.epochs: no whole epochs")
    twice = 2 if g.relation == SWAP else 1
    found = Found(
        {"law": "gaussian", "standard deviation": f"{s * norm}", "coordinates": f"{d}"},
        {
            "set": "columns of R of one record",
            "steps": f"{steps}",
            "epochs": f"{epochs}",
            "factorisation": kind,
            "participation": order,
            "norm": f"{norm * twice}",
        },
        [
            "each record takes part in one step of every epoch, chosen independently of its values",
            "every gradient is clipped, and the noise is added before anything else sees the sums",
            *further(s * norm),
            REAL,
            NORMAL,
        ],
    )
    if kind != "sqrt-toeplitz" or steps > 128 or (order == "fresh" and epochs > 1):
        return found.bound()
    coefficients, each = root_coefficients(steps), steps // epochs
    sums = [F(0)] * steps
    for first in range(0, steps, each):
        for t in range(first, steps):
            sums[t] += coefficients[t - first]
    square = twice**2 * sum((x * x for x in sums), F(0)) / s / s
    text = f"{twice**2}*({in_sixteens([f'({write(x)})**2' for x in sums])})/({write(s * s)})"
    return found.worst(
        "a gradient of the clipping norm in the first step of every epoch",
        "the coefficients are positive and fall, so that the earliest equal gradients add up the most",
        ("gaussian", square),
        [holds("mu^2 of the first steps", equations([(text, write(square))]))],
    )


def sampled_matrix(g: Given) -> Found:
    g.only(ADD)
    s, norm, d, steps = g.number("noise_multiplier"), g.number("clipping_norm"), g.count("dim"), g.count("steps")
    rows = g.of("coefficients")
    if not isinstance(rows, list) or not rows or any(not isinstance(row, list) or len(row) != 1 for row in rows):
        raise Wrong("parameters.coefficients: no rows of one number")
    column = [read(row[0], "parameters.coefficients") for row in rows]
    way, apart, rate = (
        g.one_of("sampling", "balls-in-bins cyclic-poisson min-separation"),
        g.count("separation", 2),
        g.number("rate"),
    )
    if not len(column) <= steps <= 128 or apart > steps:
        raise Wrong("parameters.steps: too many, or fewer than coefficients or the separation")
    if rate > 1 or (way == "balls-in-bins" and rate < 1):
        raise Wrong("parameters.rate: no probability of a step")
    return Found(
        {"law": "gaussian", "standard deviation": f"{s * norm}", "coordinates": f"{d}"},
        {
            "set": "columns of C of one record, drawn",
            "steps": f"{steps}",
            "coefficients": [f"{entry}" for entry in column],
            "sampling": way,
            "separation": f"{apart}",
            "rate": f"{rate}",
            "norm": f"{norm}",
        },
        ["every gradient is clipped, and in which steps it is taken is drawn apart from all values", REAL, NORMAL],
    ).bound()


def matrix_mechanism(g: Given) -> Found:
    s, norm, d, steps = g.number("noise_multiplier"), g.number("clipping_norm"), g.count("dim"), g.count("steps")
    rows = g.of("coefficients")
    if not isinstance(rows, list) or not rows or any(not isinstance(row, list) or len(row) != 1 for row in rows):
        raise Wrong("parameters.coefficients: no rows of one number")
    column = [read(row[0], "parameters.coefficients") for row in rows]
    way, apart, most = (
        g.one_of("participation", "single fixed-epochs cyclic min-separation"),
        g.count("separation"),
        g.count("participations"),
    )
    earliest = list(range(0, steps, apart))
    if not len(column) <= steps <= 128:
        raise Wrong("parameters.steps: too many, or fewer than coefficients")
    if column != sorted(column, reverse=True) or column[-1] < 0 or not column[0]:
        raise Wrong("parameters.coefficients: they rise")
    if most > len(earliest) or (way != "min-separation" and most < len(earliest)):
        raise Wrong("parameters.participations: another number")
    if (way == "single" and len(earliest) > 1) or (way == "single" and apart > steps):
        raise Wrong("parameters.separation: more than one step")
    if way == "fixed-epochs" and steps % apart:
        raise Wrong("parameters.separation: no whole epochs")
    sums = [F(0)] * steps
    for first in earliest[:most]:
        for j, entry in enumerate(column[: steps - first]):
            sums[first + j] += entry
    twice = 2 if g.relation == SWAP else 1
    words = {
        "single": "in one step",
        "min-separation": f"in at most {most} steps, no two nearer than {apart}",
        "fixed-epochs": f"in every {apart}-th step, {most} in all at most",
        "cyclic": f"in some of every {apart}-th step, {most} in all at most",
    }
    found = Found(
        {"law": "gaussian", "standard deviation": f"{s * norm}", "coordinates": f"{d}"},
        {
            "set": "columns of C of one record",
            "steps": f"{steps}",
            "participation": way,
            "separation": f"{apart}",
            "participations": f"{most}",
            "norm": f"{norm * twice}",
        },
        [
            f"each record takes part {words[way]}, chosen independently of its values",
            "every gradient is clipped, and the noise is added before anything else sees the sums",
            *further(s * norm),
            REAL,
            NORMAL,
        ],
    )
    square = twice**2 * sum((x * x for x in sums), F(0)) / s / s
    text = f"{twice**2}*({in_sixteens([f'({write(x)})**2' for x in sums])})/({write(s * s)})"
    return found.worst(
        "a gradient of the clipping norm at the earliest steps of a record",
        "the coefficients are not negative and fall, so that the earliest and nearest equal gradients add up the most",
        ("gaussian", square),
        [holds("mu^2 of the first steps", equations([(text, write(square))]))],
    )


def dp_sgd(g: Given) -> Found:
    s, norm, d, rate, steps = (
        g.number("noise_multiplier"),
        g.number("clipping_norm"),
        g.count("dim"),
        g.number("rate"),
        g.count("steps"),
    )
    sampling = g.one_of("sampling", "poisson balls-in-bins shuffle shuffle-once")
    poisson, twice = sampling == "poisson", 2 if g.relation == SWAP else 1
    if twice == 2 and sampling == "balls-in-bins":
        raise Wrong("relation: not proved")
    if rate > 1 or not (poisson or (rate.numerator == 1 and steps * rate == int(steps * rate))):
        raise Wrong(f"parameters.rate: {rate}")
    takes = steps if poisson else int(steps * rate)
    paired = twice == 2 and poisson and 2 * rate <= 1
    times = 1 if paired else twice**2
    square = F(times * takes) / s / s
    found = Found(
        {"law": "gaussian", "standard deviation": f"{s * norm}", "coordinates": f"{d}"},
        {
            "set": "one gradient in sampled batches",
            "norm": f"{norm * twice}",
            "steps": f"{steps}",
            "sampling": sampling,
            "rate": f"{rate}",
        },
        [
            "batches are made as stated, independently of the records",
            "every gradient is clipped, and the noise is added to the sum before anything else sees it",
            *further(s * norm),
            REAL,
            NORMAL,
        ],
    )
    shown = [holds("mu^2 of known batches", equations([(f"{times}*{takes}/({write(s * s)})", write(square))]))]
    why = "known batches tell no less than sampled ones"
    if paired:
        weights = equations([(f"{write(rate)} + {write(rate)} + {write(1 - 2 * rate)}", "1")])
        shown.insert(0, holds("weights of the batches that are paired, none below 0", weights))
        why = (
            "a batch with the gradient is paired with one without its replacement, and one without the gradient with "
            "one with its replacement or without: no two are further apart than the clipping norm, and known ones tell "
            "no less"
        )
    return found.worst(
        "a gradient of the clipping norm in batches that are known",
        why,
        ("gaussian", square),
        shown,
        attained=False,
        cited="joint convexity of divergences (Zhu, Dong and Wang 2022)",
    )


def rank1(g: Given) -> Found:
    g.only(ADD)
    d, radius, scale = g.count("dim", 3), g.number("radius"), g.number("scale")
    found = Found(
        {"law": "gaussian radius in a random direction", "coordinates": f"{d}", "scale": f"{scale}"},
        {"set": "l2 ball", "coordinates": f"{d}", "radius": f"{radius}"},
        ["every record has l2-norm at most the radius", REAL, NORMAL],
    )
    why = "the noise is spherical, and its density falls with the radius"
    return found.worst("a record of the largest norm, against none", why, ("unknown",))


def thresholded_counts(g: Given) -> Found:
    d, k, m = g.count("dim"), g.count("keys"), g.count("per_key")
    law, scale, least = g.one_of("noise", "laplace gaussian geometric"), g.number("scale"), g.number("threshold")
    if d < (k if g.relation == ADD else 2 * k):
        raise Wrong(f"parameters.dim: {d} for {k} keys")
    drawn = {"laplace": [REAL], "gaussian": [REAL, NORMAL], "geometric": [BITS]}[law]
    return Found(
        {"law": law, "keys": f"{d}", "scale": f"{scale}", "counts released from": f"{least}"},
        {"set": "keys of a user", "at most": f"{k}", "records with one key": f"{m}", "relation": g.relation},
        [f"a user has at most {k} keys, with at most {m} records each", "a record is one user", *drawn],
    ).bound()


def partition_selection(g: Given) -> Found:
    g.only(ADD)
    d, k, a, b = g.count("dim"), g.count("keys"), g.number("key_epsilon"), g.number("key_delta")
    if d < k:
        raise Wrong(f"parameters.dim: {d} for {k} keys")
    return Found(
        {"law": "optimal selection", "keys": f"{d}", "epsilon of a key": f"{a}", "delta of a key": f"{b}"},
        {"set": "keys of a user", "at most": f"{k}"},
        [f"a user has at most {k} keys", "a record is one user", REAL],
    ).bound()


def local(size: str = "") -> Callable[[Given], Found]:
    def found(g: Given) -> Found:
        g.only(SWAP)
        report = {"law": "local report", "values": f"{g.count('options', 2)}", "epsilon": f"{g.number('epsilon')}"}
        if size == "bits":
            report["bits"] = g.one_of("bits", "symmetric optimised")
        elif size:
            report[size] = f"{g.count(size)}"
        return Found(
            report, {"set": "one value replaced by another"}, ["the record is one of the values", REAL]
        ).bound()

    return found


def number_report(g: Given) -> Found:
    g.only(SWAP)
    report = {"law": g.one_of("pieces", "duchi piecewise hybrid"), "epsilon": f"{g.number('epsilon')}"}
    said = ["the record is a number in [-1, 1]", REAL]
    return Found(report, {"set": "one number replaced by another"}, said).bound()


def rappor(g: Given) -> Found:
    g.only(SWAP)
    report = {"law": "rappor", "values": f"{g.count('options', 2)}"}
    for name in ("flip", "report_zero", "report_one"):
        report[name] = f"{g.number(name, 0, False)}"
    report["hashes"], report["reports"] = f"{g.count('hashes')}", f"{g.count('reports', 0)}"
    said = ["the record is one of the values", "a value has bits that no other value has", REAL]
    return Found(report, {"set": "one value replaced by another"}, said).bound()


def secure_sum(g: Given) -> Found:
    g.only(SWAP)
    n, t, reach, m = g.count("parties"), g.count("dropouts", 0), g.count("sensitivity"), g.count("modulus", 0)
    law, share = g.one_of("noise", "skellam binomial discrete-gaussian geometric"), g.number("share")
    if t >= n:
        raise Wrong(f"parameters.dropouts: {t} of {n}")
    if m and m <= reach:
        raise Wrong(f"parameters.modulus: {m}")
    said = [
        f"each of {n} parties has a whole number in [0, {reach}]",
        f"at most {t} shares are left out or known",
        "each party that is counted adds an independent share of the law that is stated",
    ]
    noise = {"law": law, "parties": f"{n}", "left out": f"{t}", "share": f"{share}", "modulo": f"{m}"}
    return Found(noise, {"set": "one whole number replaced", "at most": f"{reach}"}, said).bound()


def shuffled_reports(g: Given) -> Found:
    g.only(SWAP)
    kinds = "randomized-response symmetric-unary-encoding optimised-unary-encoding local-hashing subset-selection"
    report = {"law": "shuffled reports", "people": f"{g.count('people', 2)}"}
    report["randomizer"] = g.one_of("randomizer", f"{kinds} hadamard-response")
    report["values"], report["epsilon"] = f"{g.count('options', 2)}", f"{g.number('local_epsilon')}"
    order = "the order of the reports is uniform, and nothing else tells whose a report is"
    said = ["the record is one of the values", order, REAL]
    return Found(report, {"set": "one value replaced by another"}, said).bound()


def broken(g: Given) -> Found:
    if g.one_of("stated", "cube nothing") == "nothing":
        noise = {"law": "not stated", "coordinates": f"{g.count('dim')}"}
        return Found(noise, {"set": "not stated"}, []).bound()
    g.only(ADD)
    d, loading = g.count("dim"), g.one_of("count_loading", "none 0 1 2 3 4")
    scales = g.number("independent_scale"), g.number("shared_scale", 0, False), g.number("count_scale", 0, False)
    low, high, copies, nonzero = g.number("low", None), g.number("high", None), g.count("copies"), g.count("nonzero", 0)
    if low >= high:
        raise Wrong("parameters.high: not above low")
    said = ["every entry of a record lies between low and high"]
    return cube(d, scales, None if loading == "none" else int(loading), low, high, nonzero or None, copies, said)


MECHANISMS: dict[str, Callable[[Given], Found]] = {
    "above-threshold": above_threshold,
    "correlated-gaussian": correlated,
    "bounded-contributions": bounded_contributions,
    "count-ellipse": count_ellipse,
    "discrete-correlated-gaussian": discrete_correlated,
    "dp-ftrl": dp_ftrl,
    "dp-sgd": dp_sgd,
    "elliptical-gaussian": elliptical,
    "exponential": selection("gumbel"),
    "factorization-counter": factorization_counter,
    "gaussian": gaussian,
    "geometric": geometric,
    "grouped-gaussian": grouped,
    "laplace": laplace,
    "matrix-mechanism": matrix_mechanism,
    "optimal-grouped-gaussian": optimal_grouped,
    "permute-and-flip": selection("exponential"),
    "quantile": quantile,
    "randomized-response": response,
    "count-mean-sketch": local("width"),
    "hadamard-response": local(),
    "local-hashing": local("hashes"),
    "number-report": number_report,
    "rappor": rappor,
    "shuffled-reports": shuffled_reports,
    "subset-selection": local("subset"),
    "unary-encoding": local("bits"),
    "partition-selection": partition_selection,
    "rank1-gaussian": rank1,
    "thresholded-counts": thresholded_counts,
    "report-noisy-max": selection(""),
    "sampled-matrix": sampled_matrix,
    "secure-sum": secure_sum,
    "standard-gaussian": standard,
    "tree-counter": tree_counter,
    "vote-ellipse": vote_ellipse,
}


# laws against claims


CLAIMS = {
    "gaussian": ["mu"],
    "pure": ["epsilon"],
    "approximate": ["epsilon", "delta"],
    "concentrated": ["rho"],
    "renyi": ["order", "epsilon"],
}


def claimed(given: Any) -> tuple[str, dict[str, F]]:
    kind = given.get("kind") if isinstance(given, dict) else None
    if not isinstance(kind, str) or kind not in CLAIMS or sorted(given) != sorted(["kind", *CLAIMS[kind]]):
        raise Wrong("claim.kind: it is none, or its numbers are others")
    numbers = {name: read(given[name], f"claim.{name}") for name in CLAIMS[kind]}
    for name, value in numbers.items():
        if value < 0 or (name == "delta" and value >= 1) or (name == "order" and value <= 1):
            raise Wrong(f"claim.{name}: {value} is out of range")
    return kind, numbers


def normal_profile(square: F, epsilon: F) -> F | str:
    if not square:
        return F(0)
    e, m = f"({write(epsilon)})", f"sqrt({write(square)})"
    return f"(erfc(({e}/{m} - {m}/2)/sqrt(2)) - exp({e})*erfc(({e}/{m} + {m}/2)/sqrt(2)))/2"


SCORE = "the score s(y), which is N(0, 1) under Q and N(mu, 1) under P, is at least "
Event = tuple[str, "F | str", "F | str"] | None


def of_normal(square: F, kind: str, n: Mapping[str, F]) -> tuple[str, F | str, F, str, Event]:
    m = f"sqrt({write(square)})"
    threshold, words = f"{m}/2", "mu/2"
    if kind in ("pure", "approximate"):
        threshold, words = f"(({write(n['epsilon'])})/{m} + {m}/2)", "epsilon/mu + mu/2"
    event = (SCORE + words, f"erfc(({threshold} - {m})/sqrt(2))/2", f"erfc({threshold}/sqrt(2))/2") if square else None
    match kind:
        case "gaussian":
            return "mu^2", square, n["mu"] ** 2, "", event
        case "concentrated":
            return "rho = mu^2/2", square / 2, n["rho"], "", event
        case "renyi":
            return (
                f"the Renyi divergence of order {n['order']}, order mu^2/2",
                n["order"] * square / 2,
                n["epsilon"],
                "",
                event,
            )
    return f"delta({n['epsilon']})", normal_profile(square, n["epsilon"]), n.get("delta", F(0)), "", event


def largest_loss(law: tuple[Any, ...]) -> F | None:
    match law:
        case ("laplace", groups):
            return sum((s * n for s, n in groups), F(0))
        case ("response", r, n):
            return r * n
        case ("values", _, r) | ("range", r) | ("unknown", r):
            return r
    return None


def profile(law: tuple[Any, ...], epsilon: F) -> F | str | None:
    top, e = largest_loss(law), f"({write(epsilon)})"
    if top is not None and top <= epsilon:
        return F(0)
    match law:
        case ("laplace", [(a, 1)]):
            return f"1 - exp(({e} - ({write(a)}))/2)"
        case ("response", rate, n) if n <= 64:
            r = f"({write(rate)})"
            terms = [
                f"{math.comb(n, k)}*exp({n - k}*{r})*(1 - exp({e} - {n - 2 * k}*{r}))"
                for k in range(n + 1)
                if rate * (n - 2 * k) > epsilon
            ]
            return f"({' + '.join(terms)})/(1 + exp({r}))**{n}"
        case ("values", k, rate):
            r = f"({write(rate)})"
            return f"(exp({r}) - exp({e}))/(exp({r}) + {k - 1})"
        case ("range", length):
            return f"(1 - exp(({e} - ({write(length)}))/2))**2/(1 - exp(-({write(length)})))"
    return None


def event_above(law: tuple[Any, ...], epsilon: F) -> Event:
    top, e = largest_loss(law), f"({write(epsilon)})"
    if top is None or top <= epsilon:
        return None
    words = f"the privacy loss exceeds {epsilon}"
    match law:
        case ("laplace", [(a, 1)]):
            return words, f"1 - exp(({e} - ({write(a)}))/2)/2", f"exp(-({e} + ({write(a)}))/2)/2"
        case ("laplace", groups):
            n = sum(m for _, m in groups)
            if n > 1000:
                return None
            corner = "every coordinate that moves is on the far side of its mean under P: the privacy loss is largest"
            return corner, F(1, 2**n), f"exp(-({write(top)}))/2**{n}"
        case ("response", rate, n) if n <= 64:
            r, whole = f"({write(rate)})", f"(1 + exp(({write(rate)})))**{n}"
            above = [k for k in range(n + 1) if rate * (n - 2 * k) > epsilon]
            p = " + ".join(f"{math.comb(n, k)}*exp({n - k}*{r})" for k in above)
            q = " + ".join(f"{math.comb(n, k)}*exp({k}*{r})" for k in above)
            return words, f"({p})/{whole}", f"({q})/{whole}"
        case ("values", k, rate):
            r = f"({write(rate)})"
            return words, f"exp({r})/(exp({r}) + {k - 1})", f"1/(exp({r}) + {k - 1})"
    return None


def divergence(law: tuple[Any, ...], order: F) -> F | str | None:
    a = f"({write(order)})"
    match law:
        case ("laplace", groups) if len(groups) <= 64:
            parts = [
                f"{n}*log({a}/(2*{a} - 1)*exp(({a} - 1)*({write(s)})) + ({a} - 1)/(2*{a} - 1)*exp(-{a}*({write(s)})))"
                for s, n in groups
            ]
            return f"({' + '.join(parts)})/({a} - 1)"
        case ("response", rate, n):
            r = f"({write(rate)})"
            return f"{n}*log((exp({a}*{r}) + exp((1 - {a})*{r}))/(1 + exp({r})))/({a} - 1)"
        case ("values", k, rate):
            r = f"({write(rate)})"
            return f"log((exp({a}*{r}) + exp((1 - {a})*{r}) + {k - 2})/(exp({r}) + {k - 1}))/({a} - 1)"
        case ("discrete", rho) if order.denominator == 1:
            return order * rho
    return None


def least_rho(law: tuple[Any, ...]) -> tuple[F | str, str] | None:
    match law:
        case ("laplace", groups) if len(groups) <= 64:
            return " + ".join(f"{n}*(({write(s)}) + exp(-({write(s)})) - 1)" for s, n in groups), FALLS
        case ("response", rate, n):
            r = f"({write(rate)})"
            return f"{n}*{r}*(exp({r}) - 1)/(exp({r}) + 1)", FALLS
        case ("discrete", rho):
            return rho, "Canonne, Kamath and Steinke 2020, Proposition 5"
    return None


def decisive(
    law: tuple[Any, ...], kind: str, n: Mapping[str, F], level: F | None
) -> tuple[str, F | str, F | str, str, Event] | None:
    """What is compared, both sides, what is cited, the event; None where no closed form is known here."""
    if law[0] == "gaussian":
        return of_normal(law[1], kind, n)
    if kind == "pure":
        top = largest_loss(law)
        event = event_above(law, n["epsilon"])
        return None if top is None else ("the largest privacy loss", top, n["epsilon"], "", event)
    if kind == "approximate" or (kind == "gaussian" and level is not None):
        at = n["epsilon"] if kind == "approximate" else level
        assert at is not None
        found = profile(law, at)
        allowed = n["delta"] if kind == "approximate" else normal_profile(n["mu"] ** 2, at)
        return None if found is None else (f"delta({at})", found, allowed, "", event_above(law, at))
    if kind == "renyi":
        found = divergence(law, n["order"])
        return None if found is None else (f"the Renyi divergence of order {n['order']}", found, n["epsilon"], "", None)
    rho = least_rho(law) if kind == "concentrated" else None
    return None if rho is None else ("rho", rho[0], n["rho"], rho[1], None)


def around(side: F | str, digits: int, enclose: Callable[[str, int], tuple[F, F]]) -> list[str]:
    """The decimals of so many digits below and above."""
    bits = 4 * digits + 64
    while True:
        low, high = (side, side) if isinstance(side, F) else enclose(side, bits)
        if low == high == 0:
            return ["0", "0"]
        if low >= 0 and high < F(1, 10**1000):
            return ["0", "1e-1000"]
        if low > 0:
            power = 0
            while F(10) ** power <= low:
                power += 1
            while F(10) ** (power - 1) > low:
                power -= 1
            unit = F(10) ** (power - digits)
            below = math.floor(low / unit)
            if isinstance(side, F):
                return [f"{below}e{power - digits}", f"{math.ceil(low / unit)}e{power - digits}"]
            if below * unit < low and high < (below + 1) * unit:
                return [f"{below}e{power - digits}", f"{below + 1}e{power - digits}"]
        bits *= 2
        if bits > 1 << 16:
            raise Wrong("claim: a number that is not determined here")


def against(left: F | str, right: F | str, enclose: Callable[[str, int], tuple[F, F]]) -> tuple[bool, list[Any]]:
    """Whether the left side is larger, and the evidence."""
    if isinstance(left, F) and isinstance(right, F):
        larger = left > right
        return larger, [compared(write(left), write(right), larger)]
    digits = 30
    while digits <= 1920:
        one, other = around(left, digits, enclose), around(right, digits, enclose)
        if F(one[1]) <= F(other[0]) or F(other[1]) <= F(one[0]) != 0:
            larger = F(one[1]) > F(other[0])
            both = [(left, one), (right, other)]
            values = [{"kind": "value", "expression": s, "value": v} for s, v in both if isinstance(s, str)]
            sides = [v if isinstance(s, str) else write(s) for s, v in both]
            return larger, [*values, compared(*sides, larger)]
        digits *= 2
    raise Wrong("claim: not told apart from what is attained")


def compared(left: Any, right: Any, larger: bool) -> dict[str, Any]:
    return {"kind": "comparison", "left": left, "right": right, "signs": [">"] if larger else ["<", "="], "holds": True}


def law_of(mechanism: str, relation: str, found: Found) -> dict[str, Any]:
    evidence = {
        "kind": "law",
        "noise": found.noise,
        "differences": found.differences,
        "pair": found.pair,
        "why": found.why,
        "relation": relation,
    }
    return holds(f"the noise of {mechanism} and what neighbours change", evidence)


STATED = {
    "delta": ["approximate", "pure"],
    "the largest privacy loss": ["pure"],
    "rho": ["concentrated"],
    "the Renyi divergence": ["renyi", "concentrated"],
    "delta against what is implied": ["gaussian", "concentrated", "renyi", "pure"],
    "mu^2": ["gaussian"],
}
SIDES = {True: "what is attained is beyond the claim", False: "what is attained is within the claim"}


def stated(
    mechanism: str, relation: str, found: Found, kind: str, n: Mapping[str, F], refuted: bool, numbers: Any
) -> list[Any]:
    """The conditions of numbers that are compared, and nothing more."""
    name = numbers.get("quantity") if isinstance(numbers, dict) else None
    if not isinstance(name, str) or kind not in STATED.get(name, []):
        raise Wrong("numbers.quantity: none that decides such a claim")
    implied = name == "delta against what is implied"
    if set(numbers) != {"quantity", "at", "attained"} | ({"allowed"} if implied else set()):
        raise Wrong("numbers: others than are asked for")

    def pair(field: str) -> list[str]:
        given = numbers[field]
        if not isinstance(given, list) or len(given) != 2:
            raise Wrong(f"numbers.{field}: no pair")
        ends = [read(end, f"numbers.{field}") for end in given]
        if not 0 <= ends[0] <= ends[1]:
            raise Wrong(f"numbers.{field}: not in order")
        return given

    at, attained = read(numbers["at"], "numbers.at"), pair("attained")
    limits: dict[str, tuple[F, F]] = {
        "delta": (n.get("epsilon", F(0)), n.get("delta", F(0))),
        "the largest privacy loss": (F(0), n.get("epsilon", F(0))),
        "rho": (F(0), n.get("rho", F(0))),
        "mu^2": (F(0), n.get("mu", F(0)) ** 2),
        "the Renyi divergence": (n.get("order", at), n["epsilon"] if kind == "renyi" else at * n.get("rho", F(0))),
    }
    if implied:
        right: Any = pair("allowed")
        low, high = F(right[0]), F(right[1])
        if at < 0 or not refuted:
            raise Wrong("numbers.at: it does not decide the claim")
    else:
        expected, limit = limits[name]
        if at != expected or (name == "the Renyi divergence" and at <= 1):
            raise Wrong(f"numbers.at: {at} is not {expected}")
        right, low, high = f"{limit}", limit, limit
    if not (F(attained[0]) > high if refuted else F(attained[1]) <= low):
        raise Wrong("numbers.attained: it does not decide the claim")
    return [
        law_of(mechanism, relation, found),
        holds(f"{SIDES[refuted]}: {name} at {at}", compared(attained, right, refuted)),
    ]


FIELDS = {"mechanism", "parameters", "relation", "claim", "concluded", "assumptions"}


def derive(head: Any, enclose: Callable[[str, int], tuple[F, F]]) -> tuple[list[Any], str]:
    """The conditions that must stand below a head, and what they prove of it: "", or why it is less than the claim."""
    if not isinstance(head, dict) or not set(head) >= FIELDS or set(head) - FIELDS - {"level", "numbers"}:
        raise Wrong("verdict: its fields are others than are asked for")
    name, concluded = head["mechanism"], head["concluded"]
    if not isinstance(name, str) or not (name in MECHANISMS or name.startswith("broken:")):
        raise Wrong(f"mechanism: {name!r}")
    given = Given(head["parameters"], head["relation"])
    found = (broken if name.startswith("broken:") else MECHANISMS[name])(given)
    for extra in set(given.values) - given.asked:
        raise Wrong(f"parameters.{extra}: there is none")
    kind, n = claimed(head["claim"])
    if concluded not in ("CERTIFIED", "REFUTED"):
        raise Wrong(f"concluded: {concluded!r}")
    if head["assumptions"] != found.assumptions:
        raise Wrong("assumptions: others than follow")
    refuted = concluded == "REFUTED"
    level = read(head["level"], "level") if "level" in head else None
    if level is not None and (level < 0 or kind != "gaussian" or found.law[0] == "gaussian" or "numbers" in head):
        raise Wrong("level: there is none to be")
    decided = decisive(found.law, kind, n, level)
    made: tuple[bool, list[Any], str] | None = None
    if decided is not None:
        quantity, left, right, cited, event = decided
        larger, evidence = against(left, right, enclose)
        if (found.attained or not larger) and (larger or level is None):
            conditions = [
                law_of(name, head["relation"], found),
                *found.conditions,
                holds(f"{SIDES[larger]}: {quantity}", *evidence),
            ]
            if larger and event is not None:
                values = [
                    {
                        "kind": "value",
                        "expression": write(side) if isinstance(side, F) else side,
                        "value": around(side, 30, enclose),
                    }
                    for side in event[1:]
                ]
                conditions.append(holds(f"P and Q of the event: {event[0]}", *values))
            theorems = [one for one in (found.cited, "" if larger else cited) if one]
            made = larger, conditions, f"but for {' and '.join(theorems)}" if theorems else ""
    if "numbers" in head:
        if made is not None and (found.attained or made[0] == refuted):
            raise Wrong("numbers: they follow")
        return stated(name, head["relation"], found, kind, n, refuted, head["numbers"]), "compared only"
    if made is None:
        raise Wrong("numbers: nothing follows, and none are stated")
    if made[0] != refuted:
        raise Wrong(f"concluded: {concluded} does not follow")
    return made[1], made[2] or ("of the noise that is stated" if name.startswith("broken:") else "")


def first_difference(found: Any, expected: Any, path: str) -> str | None:
    """Where two JSON values differ first."""
    if type(found) is type(expected) is dict:
        if set(found) != set(expected):
            return f"{path} has other fields"
        return next((x for k in expected if (x := first_difference(found[k], expected[k], f"{path}.{k}"))), None)
    if type(found) is type(expected) is list:
        if len(found) != len(expected):
            return f"{path} has {len(found)} entries in place of {len(expected)}"
        pairs = enumerate(zip(found, expected, strict=True))
        return next((x for i, (a, b) in pairs if (x := first_difference(a, b, f"{path}[{i}]"))), None)
    return (
        None if type(found) is type(expected) and found == expected else f"{path} is {found!r} in place of {expected!r}"
    )
