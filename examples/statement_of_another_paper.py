"""A statement of another paper, checked in a page of code.

    dpverdict prove examples/statement_of_another_paper.py --explain

Dwork and Roth (2014), Theorem A.1: the classic Gaussian noise is (epsilon, delta)-DP for epsilon < 1. It is decided
here on a whole box of (epsilon, log10 delta), which balls cover: no grid, no tolerance.
"""

from collections.abc import Callable

from flint import arb

from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.gaussian_formulas import delta as profile
from dpverdict.proofs import Findings, Plant, Standing, StatementKind, positive_on_box, statement


def classic(epsilon: arb, delta: arb) -> arb:
    """mu = 1/sigma of the classic scale sigma = sqrt(2 ln(1.25/delta))/epsilon."""
    return epsilon / (2 * (arb("1.25") / delta).log()).sqrt()


@statement(
    paper="classic-gaussian",
    number="thmA.1",
    kind=StatementKind.THEOREM,
    text="Noise of scale sqrt(2 ln(1.25/delta))/epsilon on a query of sensitivity 1 is (epsilon, delta)-DP.",
    formula=r"\sigma = \sqrt{2\,\ln(1.25/\delta)}/\varepsilon",
    expected=Standing.HOLDS,
    printed=classic,
    planted=(Plant("delta(epsilon) < delta", "without the factor 2", lambda e, d: e / (arb("1.25") / d).log().sqrt()),),
)
def theorem_a_1(mu: Callable[[arb, arb], arb]) -> Findings:
    """The privacy profile of N(0, 1) against N(mu, 1) at epsilon is below delta, on the whole box: covered by balls."""

    def slack(epsilon: arb, digits: arb) -> arb:
        delta = arb(10) ** -digits
        return 1 - profile(BallNormal(), epsilon, mu(epsilon, delta)) / delta

    yield positive_on_box("delta(epsilon) < delta", slack, {"epsilon": ("0.5", 1), "digits of delta": (4, 6)})
