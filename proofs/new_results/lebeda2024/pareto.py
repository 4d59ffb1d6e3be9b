"""Results of this project: if d is no square, Algorithm 1 can be improved on queries and count at once."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import sympy
from flint import arb

from dpverdict.balls import Real, ball, compare
from dpverdict.mechanisms.core.noise import shared_noise_form
from dpverdict.proofs.checks.outcome import Findings, Method
from dpverdict.proofs.checks.statement import Plant, result
from dpverdict.proofs.checks.vertices import binary_records, every, form_of, shared_noise_covariance

s2, e = sympy.symbols("s2 e", nonnegative=True)


class Witness(NamedTuple):
    """A mechanism (vz, ve, loading, variance of the count's own noise), and a law: kappa, layer j, weight of j + 1."""

    mechanism: tuple[str, str, str, str]
    law: tuple[str, int, str]
    variance: str


WITNESSES: Mapping[int, Witness] = {
    2: Witness(("0.865430183", "0.568842492", "1.840462694", "0.487371602"), ("0.1981148", 1, "0.5524315"), "1.43427"),
    3: Witness(("1.227884461", "0.631469029", "2.004399316", "0.195050205"), ("0.163132", 2, "0.2491215"), "1.85935"),
    5: Witness(("1.841962013", "0.771165962", "1.975972861", "0.225074417"), ("0.2011813", 3, "0.526497"), "2.61313"),
    6: Witness(("2.140103433", "0.833446264", "2.008708155", "0.086610195"), ("0.1212644", 4, "0.1583735"), "2.97355"),
}


def _with(dim: int, **changes: object) -> dict[int, Witness]:
    return {**WITNESSES, dim: WITNESSES[dim]._replace(**changes)}  # type: ignore[arg-type]


@result(
    number="leb.new.pareto",
    text="For d = 2, 3, 5, 6 the least variance of a query with Var(n) <= sqrt d + 1 is 1.43427, 1.85935, 2.61313, "
    "2.97355: less than Algorithm 1's (sqrt d + 1)^2/4.",
    formula=r"\mathrm{Var}(\tilde{n}) \leq \sqrt{d} + 1:\ \ \min \mathrm{Var}(\tilde{f}_i) < \frac{(\sqrt{d}+1)^2}{4}",
    printed=WITNESSES,
    named=(
        "private",
        "dense matrices",
        "variance of the count",
        "attained",
        "no less",
        "below Algorithm 1",
    ),
    needs=("leb.new.lowerbound",),
    planted=(
        Plant(
            "private", "noise of Algorithm 1's size less", _with(2, mechanism=("0.86", "0.5", "1.8404658", "0.4873565"))
        ),
        Plant("dense matrices", "the same", _with(2, mechanism=("0.86", "0.5", "1.8404658", "0.4873565"))),
        Plant("variance of the count", "3 for 2", _with(3, mechanism=("1.2278868", "0.6314694", "3", "0.1950366"))),
        Plant(
            "variance of the count",
            "own noise 0.25 for 0.195",
            _with(3, mechanism=("1.227884461", "0.631469029", "2.004399316", "0.25")),
        ),
        Plant("attained", "last digit", _with(5, variance="2.61312")),
        Plant("no less", "last digit", _with(6, variance="2.97356")),
        Plant("below Algorithm 1", "3", _with(6, variance="2.98")),
    ),
    assumptions=("the trace bound, leb.new.lowerbound, for M = E[(x,1)(x,1)^T] and weights (1, ..., 1, kappa)",),
)
def pareto(claim: Mapping[int, Witness]) -> Findings:
    """Primal: a rational covariance, private at every record, exactly. Dual: sum Var(f_i) >= F - kappa (sqrt d + 1).

    F = (sqrt(m2/d + kappa + 2 sqrt(kappa v/d)) + sqrt((d-1)(m1 - m2/d)))^2 of a law on the layers j and j + 1.
    """
    cases = list(claim.items())

    def show(case: tuple[int, Witness]) -> str:
        return f"d = {case[0]}: {case[1]}"

    yield every("private", cases, lambda c: _private(*c), over="d: layers, exactly", cases=4, show=show)
    yield every("dense matrices", cases, lambda c: _dense_new(*c), over="d: records, exactly", cases=4, show=show)
    yield every("variance of the count", cases, lambda c: _count(*c), over="d: exactly", cases=4, show=show)
    yield every("attained", cases, lambda c: _attained(*c), over="d: to 5 decimals", cases=4, show=show)
    yield every(
        "no less",
        cases,
        lambda c: _dual(*c),
        over="d: Gaussian mechanisms, to 5 decimals",
        cases=4,
        show=show,
        method=Method.BALLS,
    )
    yield every("below Algorithm 1", cases, lambda c: _below_new(*c), over="d", cases=4, show=show, method=Method.BALLS)


def _numbers(witness: Witness) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    vz, ve, loading, own = (Fraction(text) for text in witness.mechanism)
    return vz, ve, loading, own


def _private(dim: int, witness: Witness) -> bool:
    return _largest(dim, witness) <= 1


def _largest(dim: int, witness: Witness) -> Fraction:
    """The largest squared parameter of a binary record, by the number of its ones."""
    vz, ve, loading, own = _numbers(witness)
    form = shared_noise_form(dim=Fraction(dim), vz=vz, ve=ve, loading=loading, vw=own)
    return max(Fraction(form.at(j, j, 1)) for j in range(dim + 1))


def _dense_new(dim: int, witness: Witness) -> bool:
    vz, ve, loading, own = _numbers(witness)
    covariance = shared_noise_covariance(dim, vz, ve, 1, Fraction(0))
    for row in covariance[:-1]:
        row[-1] = loading * ve
    covariance[-1] = [loading * ve] * dim + [loading**2 * ve + own]
    form = form_of(covariance)
    return bool(max(form((*x, 1)) for x in binary_records(dim)) == _largest(dim, witness) <= 1)


def _count(dim: int, witness: Witness) -> bool:
    _, ve, loading, own = _numbers(witness)
    return bool((loading**2 * ve + own - 1) ** 2 <= dim)


def _attained(dim: int, witness: Witness) -> bool:
    vz, ve, _, _ = _numbers(witness)
    return vz + ve <= Fraction(witness.variance) + Fraction(1, 200_000)


def _dual(dim: int, witness: Witness) -> bool | None:
    text, j, share = witness.law
    kappa, weight = Fraction(text), Fraction(share)
    m1, m2, v = j + weight, j * j + weight * (2 * j + 1), weight * (1 - weight)

    def bound() -> arb:
        first = ball(m2 / dim + kappa) + 2 * ball(kappa * v / dim).sqrt()
        value = (first.sqrt() + ball((dim - 1) * (m1 - m2 / dim)).sqrt()) ** 2
        return (value - ball(kappa) * (ball(dim).sqrt() + 1)) / dim

    return compare(Real.of(Fraction(witness.variance) - Fraction(1, 200_000)), Real(bound)) == -1


def _below_new(dim: int, witness: Witness) -> bool:
    ours = Real(lambda: (ball(dim).sqrt() + 1) ** 2 / 4)
    return compare(Real.of(Fraction(witness.variance) + Fraction(1, 200_000)), ours) == -1
