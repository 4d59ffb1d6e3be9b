"""Andersson et al. 2024, abstract: what it promises."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

from flint import arb
from sympy import Symbol

from dpverdict.balls import Real, at_most, ball
from dpverdict.mechanisms.calibration import analytic_scale, classic_scale
from dpverdict.mechanisms.laplace_calibration import l2_scale_real
from dpverdict.mechanisms.tree_constants import laplace_constant, published_gaussian_constant
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.proofs.andersson2024_trees import PAPER
from dpverdict.proofs.boxes import smaller
from dpverdict.proofs.outcome import Findings, Kind, Method, Standing
from dpverdict.proofs.statement import Plant, Reading, statement
from dpverdict.proofs.vertices import every

m = Symbol("m", integer=True, positive=True)  # k = 2m + 1


@statement(
    paper=PAPER,
    number="abstract.k19",
    kind=Kind.TEXT,
    expected=Standing.HOLDS,
    text="Using k = 19 we get an asymptotic improvement over the bound of Henzinger, Upadhyay and Upadhyay when delta "
    "= O(T^-0.92).",
    formula=r"\frac{C_1(19)}{C_2} < 0.92",
    printed=(19, "0.92"),
    planted=(
        Plant("below the exponent", "k = 15", (15, "0.92")),
        Plant("no odd arity needs less", "k = 17", (17, "0.92")),
    ),
)
def abstract_19(claim: tuple[int, str]) -> Findings:
    """C1/C2 at the arity, and at the arities beside it; further away it is larger (Corollary 4.9)."""
    arity, bound = claim

    def ratio(odd: int) -> Real:
        first, second = laplace_constant(Digits.symmetric(odd)), published_gaussian_constant()
        return Real(lambda: first.ball() / second.ball())

    yield smaller("below the exponent", ratio(arity), Real.of(bound), scope=f"k = {arity}")
    yield every(
        "no odd arity needs less",
        [odd for odd in range(3, 60, 2) if odd != arity],
        lambda odd: at_most(ratio(arity), ratio(odd)),
        scope="odd k < 60; for all odd k by Corollary 4.9",
        method=Method.BALLS,
        show=lambda odd: f"k = {odd}: {ratio(odd).nearest():.5f}",
    )


class Comparable(NamedTuple):
    """Bounds on the variance of Lemma 5.4 over that of Lemma A.3, and over that of the exact Gaussian curve (if
    claimed).

    For the latter the grid of (epsilon, delta) is given; and where pure noise for (D1/D2)^2 = 16 is claimed to win.
    """

    classic: Fraction
    exact: tuple[Fraction, tuple[tuple[str, str], ...]] | None
    wins: str


FAIR = tuple(product(("0.05", "0.2", "1", "4"), ("1e-5", "1e-8", "1e-12")))
COMPARABLE = Comparable(Fraction(2915, 1000), None, "1e-12")


@statement(
    paper=PAPER,
    number="abstract.laplace",
    kind=Kind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="The noise added by the Gaussian mechanism can always be replaced by Laplace noise of comparable variance "
    "for the same privacy guarantee, and for sufficiently small delta the variance of the Laplace noise becomes "
    "strictly better.",
    formula=r"\frac{2\lambda^2}{\sigma^2} \leq 2.915\ \ (\varepsilon \leq \ln(1/\delta))",
    printed=COMPARABLE,
    caveat=Reading(
        "read as comparable with the least Gaussian noise: at eps = 0.01, delta = 1e-3 it is 31 times that",
        COMPARABLE._replace(exact=(Fraction(6), (("0.01", "1e-3"),))),
    ),
    corrected=Reading(
        "at most 2.915 times the variance of Lemma A.3 for eps <= ln(1/delta), and at most 5.6 times that of the "
        "exact Gaussian curve for eps from 0.05 to 4 and delta from 1e-12 to 1e-5",
        COMPARABLE._replace(exact=(Fraction(56, 10), FAIR)),
    ),
    planted=(
        Plant("against Lemma A.3", "2.5", COMPARABLE._replace(classic=Fraction(5, 2))),
        Plant("against the exact curve", "5.5", COMPARABLE._replace(exact=(Fraction(55, 10), FAIR))),
        Plant("better for small delta", "at 1e-6", COMPARABLE._replace(wins="1e-6")),
        Plant("threshold against Lemma A.3", "at 1e-6", COMPARABLE._replace(wins="1e-6")),
    ),
    assumptions=("Corollary 5.5 for the bound at all eps <= ln(1/delta)",),
)
def abstract_laplace(claim: Comparable) -> Findings:
    """Lemma 5.4 against `classic_scale` and `analytic_scale`; pure noise of variance 2 D1^2/eps^2 against both.

    Against Lemma A.3 pure noise wins iff delta < 1.25 exp(-(D1/D2)^2), whatever epsilon is.
    """
    grid = list(product(("0.01", "0.1", "1", "4"), ("0.01", "1e-3", "1e-5", "1e-8", "1e-12")))
    yield every(
        "against Lemma A.3",
        grid,
        lambda case: at_most(_variances(case, classic_scale(*case, 1)), Real.of(claim.classic)),
        scope="eps = 0.01, 0.1, 1, 4, 5 deltas; for all eps <= ln(1/delta) by Corollary 5.5",
        method=Method.BALLS,
        show=lambda case: (
            f"eps = {case[0]}, delta = {case[1]}: {_variances(case, classic_scale(*case, 1)).nearest():.4f}"
        ),
    )
    if claim.exact is not None:
        bound, pairs = claim.exact
        yield every(
            "against the exact curve",
            pairs,
            lambda case: at_most(_variances(case, analytic_scale(*case, 1)), Real.of(bound)),
            scope="; ".join(f"eps = {e}, delta = {d}" for e, d in pairs),
            method=Method.BALLS,
            show=lambda case: (
                f"eps = {case[0]}, delta = {case[1]}: {_variances(case, analytic_scale(*case, 1)).nearest():.2f}"
            ),
        )
    size = 16  # (D1/D2)^2
    yield smaller(
        "threshold against Lemma A.3",
        Real.of(claim.wins),
        Real(lambda: ball("1.25") * arb(-size).exp()),
        scope="(D1/D2)^2 = 16, all eps",
    )
    yield smaller(
        "better for small delta",
        Real.of(2 * size),
        Real.of(Fraction(analytic_scale(1, claim.wins, 1)) ** 2),
        scope=f"(D1/D2)^2 = 16, eps = 1, delta = {claim.wins}: the exact Gaussian curve",
    )


def _variances(case: tuple[str, str], scale: float) -> Real:
    """2 lambda^2/sigma^2."""
    return Real(lambda: 2 * (l2_scale_real(*case, 1).ball() / ball(scale)) ** 2)
