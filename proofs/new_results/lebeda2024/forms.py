"""Results of this project: the exact GDP parameter of one pair of neighbours, forms F1 to F14, in O(d) for every d.

Notation as in Lebeda (2024): s1 = sum x_i and s2 = sum x_i^2 of the record x, y = x - x' of a replacement, C2 = C^2,
B = d + C^2; a form is mu_x^2, and mu = 1 where it does not appear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from random import Random
from typing import NamedTuple

from sympy import Integer, Symbol, symbols

from dpverdict.proofs.checks.identities import Expr, identity
from dpverdict.proofs.checks.outcome import Findings
from dpverdict.proofs.checks.statement import Formula, Plant, Statement, result
from dpverdict.proofs.checks.vertices import block_diagonal, every, form_of, shared_noise_covariance
from dpverdict.proofs.new_results.lebeda2024.notation import solved_form

Values = Mapping[str, Expr]
FIRST, SECOND, CHANGE = ("s1", "s2", 1), ("p1", "p2", -1), ("y1", "y2", 0)


class Release(NamedTuple):
    """What is released: the noise (vz, ve, loading) by parameters, the rows that change, and how they move.

    A row is (name of sum x_i, name of sum x_i^2, change of the count); ``centred`` for x - (1/2) 1 in place of x.
    """

    noise: Callable[[Values], tuple[Expr, Expr, int | None]]
    rows: tuple[tuple[str, str, int], ...] = (FIRST,)
    centred: bool = False
    groups: int = 1


def _at(values: Values, row: tuple[str, str, int], *, centred: bool) -> tuple[Expr, Expr]:
    s1, s2 = values[row[0]], values[row[1]]
    sign = -1 if row[2] < 0 else 1
    if not centred:
        return sign * s1, s2
    return s1 - values["d"] / 2, s2 - s1 + values["d"] / 4


def _derived(values: Values, release: Release) -> Expr:
    vz, ve, loading = release.noise(values)
    return sum(
        solved_form(values["d"], vz, ve, loading, Integer(0), _at(values, row, centred=release.centred), row[2])
        for row in release.rows
    )


def _dense(case: tuple[int, int], release: Release) -> tuple[Fraction, dict[str, Fraction]]:
    """The form of random records under a dense covariance of random rational parameters, and their moments."""
    dim, seed = case
    rng = Random(1000 * dim + seed)
    values = {name: Fraction(rng.randint(1, 9), rng.randint(1, 9)) for name in PARAMETERS}
    values["d"] = Fraction(dim)
    vz, ve, loading = release.noise(values)
    difference: list[Fraction] = []
    for index in range(release.groups):
        if index >= len(release.rows):
            difference += [Fraction(0)] * (dim + (loading is not None))
            continue
        first, second, count = release.rows[index]
        record = [Fraction(rng.randint(0, 6), 6) for _ in range(dim)]
        if (first, second) == CHANGE[:2]:
            record = [value - Fraction(rng.randint(0, 6), 6) for value in record]
        values[first] = sum(record, Fraction(0))
        values[second] = sum((value * value for value in record), Fraction(0))
        moved = [value - Fraction(1, 2) for value in record] if release.centred else record
        difference += [-value if count < 0 else value for value in moved]
        difference += [] if loading is None else [Fraction(count)]
    form = form_of(block_diagonal(shared_noise_covariance(dim, vz, ve, loading), release.groups))
    return form(difference), values


PARAMETERS = ("vz", "ve", "C2", "mu", "tau2", "u", "w")
SYMBOLS: dict[str, Symbol] = {
    **{name: symbols(name, positive=True) for name in (*PARAMETERS, "d")},
    **{name: symbols(name, real=True) for name in ("s1", "s2", "p1", "p2", "y1", "y2")},
}


def form_of_pair(number: str, text: str, formula: str, release: Release, claim: Formula, fault: Plant) -> Statement:
    """Register one form: ``claim`` and the planted fault are formulas of the named values."""

    @result(
        number=f"leb.new.mu.{number}",
        text=text,
        formula=formula,
        printed=claim,
        confirms={"dense matrices": "every d"},
        planted=tuple(Plant(name, fault.text, fault.claim) for name in ("every d", "dense matrices")),
    )
    def check(formula_of: Formula) -> Findings:
        """S y = v is solved from the entries of S for every d; and dense rational matrices are inverted."""
        yield identity(
            "every d", _derived(SYMBOLS, release), formula_of(SYMBOLS), scope="all d >= 1, all records and parameters"
        )
        yield every(
            "dense matrices",
            [(dim, seed) for dim in range(1, 9) for seed in range(3)],
            lambda case: (lambda found: found[0] == formula_of(found[1]))(_dense(case, release)),
            over="d, seed: random rational records and parameters",
            cases=24,
            show=lambda case: f"d = {case[0]}, draw {case[1]}",
        )

    return check


def _family(v: Values) -> tuple[Expr, Expr, int]:
    b = v["d"] + v["C2"]
    return b / (4 * v["mu"] ** 2), b / (4 * v["C2"] * v["mu"] ** 2), 2


def _f1(v: Values, one: str = "s1", two: str = "s2", shared: int = 4) -> Expr:
    return (v[two] - v[one] + v["d"] / 4) / v["vz"] + 1 / (shared * v["ve"])


def _hidden(v: Values) -> Expr:
    q = v["mu"] ** 2 * v["tau2"]
    return 4 * v["mu"] ** 2 / v["d"] * (v["s2"] - v["s1"] ** 2 / v["d"] * q / (1 + q))


def _known(v: Values) -> Expr:
    return v["mu"] ** 2 * (1 - 4 * (v["s1"] - v["s2"]) / v["d"])


def _estimate(v: Values) -> tuple[Expr, Expr, int]:
    return v["d"] / (4 * v["mu"] ** 2), v["tau2"] / 4, 2


GENERAL = Release(lambda v: (v["vz"], v["ve"], 2))
SAME_ROW = Release(lambda v: (v["vz"], v["ve"], 2), rows=(CHANGE,), groups=3)

FORMS = (
    form_of_pair(
        "F1",
        "Released (f + eta 1 + z, n + 2 eta), any vz and ve: mu_x^2 = (s2 - s1 + d/4)/vz + 1/(4 ve).",
        r"\mu_x^2 = \frac{s_2 - s_1 + d/4}{v_z} + \frac{1}{4 v_e}",
        GENERAL,
        _f1,
        Plant("", "2 ve for 4 ve", lambda v: _f1(v, shared=2)),
    ),
    form_of_pair(
        "F2",
        "Released f + eta 1 + z alone, any vz and ve: mu_x^2 = (s2 - s1^2 ve/(vz + d ve))/vz.",
        r"\mu_x^2 = \frac{1}{v_z}\left(s_2 - \frac{s_1^2 v_e}{v_z + d v_e}\right)",
        Release(lambda v: (v["vz"], v["ve"], None)),
        lambda v: (v["s2"] - v["s1"] ** 2 * v["ve"] / (v["vz"] + v["d"] * v["ve"])) / v["vz"],
        Plant(
            "", "vz + ve for vz + d ve", lambda v: (v["s2"] - v["s1"] ** 2 * v["ve"] / (v["vz"] + v["ve"])) / v["ve"]
        ),
    ),
    form_of_pair(
        "F3",
        "The C-family with n: mu_x^2 = mu^2 (1 - 4 (s1 - s2)/(d + C^2)).",
        r"\mu_x^2 = \mu^2\left(1 - \frac{4(s_1 - s_2)}{d + C^2}\right)",
        Release(_family),
        lambda v: v["mu"] ** 2 * (1 - 4 * (v["s1"] - v["s2"]) / (v["d"] + v["C2"])),
        Plant("", "d for d + C^2", _known),
    ),
    form_of_pair(
        "F4",
        "The C-family without n: mu_x^2 = (4 mu^2/B)(s2 - s1^2/B), B = d + C^2.",
        r"\mu_x^2 = \frac{4\mu^2}{B}\left(s_2 - \frac{s_1^2}{B}\right),\quad B = d + C^2",
        Release(lambda v: (*_family(v)[:2], None)),
        lambda v: 4 * v["mu"] ** 2 / (v["d"] + v["C2"]) * (v["s2"] - v["s1"] ** 2 / (v["d"] + v["C2"])),
        Plant("", "s1^2 subtracted once", lambda v: 4 * v["mu"] ** 2 / (v["d"] + v["C2"]) * (v["s2"] - v["s1"] ** 2)),
    ),
    form_of_pair(
        "F5",
        "The standard Gaussian mechanism, variance d/mu^2: mu_x^2 = mu^2 s2/d.",
        r"\mu_x^2 = \mu^2 s_2/d",
        Release(lambda v: (v["d"] / v["mu"] ** 2, 0 * v["d"], None)),
        lambda v: v["mu"] ** 2 * v["s2"] / v["d"],
        Plant("", "s1 for s2", lambda v: v["mu"] ** 2 * (v["s1"] + 1) / v["d"]),
    ),
    form_of_pair(
        "F6",
        "Lemma 3.6 with an estimate of n that does not depend on the data: mu_x^2 = mu^2 (1 - 4 (s1 - s2)/d).",
        r"\mu_x^2 = \mu^2\left(1 - \frac{4(s_1 - s_2)}{d}\right)",
        Release(lambda v: (v["d"] / (4 * v["mu"] ** 2), 0 * v["d"], None), centred=True),
        _known,
        Plant("", "2 for 4", lambda v: v["mu"] ** 2 * (1 - 2 * (v["s1"] - v["s2"] + 1) / v["d"])),
    ),
    form_of_pair(
        "F7",
        "Lemma 3.6 with n~ = n + N(0, tau^2) released as well: mu_x^2 = F6 + 1/tau^2.",
        r"\mu_x^2 = \mu^2\left(1 - \frac{4(s_1 - s_2)}{d}\right) + \frac{1}{\tau^2}",
        Release(_estimate),
        lambda v: _known(v) + 1 / v["tau2"],
        Plant("", "without 1/tau^2", _known),
    ),
    form_of_pair(
        "F8",
        "Lemma 3.6 with the same n~, used but not released: mu_x^2 = (4 mu^2/d)(s2 - (s1^2/d) q/(1 + q)), q = mu^2 "
        "tau^2.",
        r"\mu_x^2 = \frac{4\mu^2}{d}\left(s_2 - \frac{s_1^2}{d}\,\frac{q}{1+q}\right),\quad q = \mu^2\tau^2",
        Release(lambda v: (*_estimate(v)[:2], None)),
        _hidden,
        Plant("", "q = mu tau^2 squared", lambda v: _hidden({**v, "tau2": v["tau2"] * (v["mu"] + 1)})),
    ),
    form_of_pair(
        "F9",
        "Symmetric ellipse of precision u along the all-ones line, w across: mu_x^2 = u s1^2/d + w (s2 - s1^2/d).",
        r"\mu_x^2 = u\,\frac{s_1^2}{d} + w\left(s_2 - \frac{s_1^2}{d}\right)",
        Release(lambda v: (1 / v["w"], (1 / v["u"] - 1 / v["w"]) / v["d"], None)),
        lambda v: v["u"] * v["s1"] ** 2 / v["d"] + v["w"] * (v["s2"] - v["s1"] ** 2 / v["d"]),
        Plant("", "s1^2 for s1^2/d", lambda v: v["u"] * v["s1"] ** 2 + v["w"] * (v["s2"] - v["s1"] ** 2 / v["d"] + 1)),
    ),
    form_of_pair(
        "F10",
        "Algorithm 2, add/remove, x non-zero in one row: F1 of that row, whatever the number of rows.",
        r"\mu_x^2 = \frac{s_2 - s_1 + d/4}{v_z} + \frac{1}{4 v_e}",
        GENERAL._replace(groups=3),
        _f1,
        Plant("", "2 ve for 4 ve", lambda v: _f1(v, shared=2)),
    ),
    form_of_pair(
        "F11",
        "Algorithm 2, replacement within a row: mu^2 = ||x - x'||^2/vz.",
        r"\mu_{x,x'}^2 = \|x - x'\|^2/v_z",
        SAME_ROW,
        lambda v: v["y2"] / v["vz"],
        Plant("", "vz + ve", lambda v: v["y2"] / (v["vz"] + v["ve"])),
    ),
    form_of_pair(
        "F12",
        "Algorithm 2, replacement across rows: mu^2 = (s2 - s1 + d/4)/vz + (s2' - s1' + d/4)/vz + 1/(2 ve).",
        r"\mu_{x,x'}^2 = \frac{s_2 - s_1 + d/4}{v_z} + \frac{s_2' - s_1' + d/4}{v_z} + \frac{1}{2 v_e}",
        GENERAL._replace(rows=(FIRST, SECOND), groups=3),
        lambda v: _f1(v) + _f1(v, "p1", "p2"),
        Plant("", "1/(4 ve)", lambda v: _f1(v) + _f1(v, "p1", "p2") - 1 / (4 * v["ve"])),
    ),
    form_of_pair(
        "F13",
        "Algorithm 2, replacement, one of the records all-zero (in no row): F1 of the other.",
        r"\mu_{x,0}^2 = \frac{s_2 - s_1 + d/4}{v_z} + \frac{1}{4 v_e}",
        GENERAL._replace(groups=2),
        _f1,
        Plant("", "2 ve for 4 ve", lambda v: _f1(v, shared=2)),
    ),
    form_of_pair(
        "F14",
        "Algorithm 1 under replacement: mu^2 = ||x - x'||^2/vz, whatever ve.",
        r"\mu_{x,x'}^2 = \|x - x'\|^2/v_z",
        SAME_ROW._replace(groups=1),
        lambda v: v["y2"] / v["vz"],
        Plant("", "the sum of x - x'", lambda v: (v["y1"] ** 2 + v["y2"]) / v["vz"]),
    ),
)
