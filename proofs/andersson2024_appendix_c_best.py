"""Andersson et al. 2024, appendix C: the best even arity, and whether an odd one is better."""

from __future__ import annotations

from typing import NamedTuple

import sympy

from dpverdict.mechanisms.tree_constants import laplace_constant
from dpverdict.mechanisms.tree_digits import Digits
from dpverdict.mechanisms.tree_errors import best_arity as best_arity_of
from dpverdict.mechanisms.tree_errors import unit_mean_squared_error
from dpverdict.proofs.andersson2024_constants import Constant, best_arity
from dpverdict.proofs.andersson2024_trees import PAPER, k
from dpverdict.proofs.boxes import smaller
from dpverdict.proofs.identities import positive
from dpverdict.proofs.outcome import Findings, Kind, Standing
from dpverdict.proofs.statement import Plant, Reading, statement
from dpverdict.proofs.vertices import every

EVEN_CONSTANT = Constant(lambda k, log, log2: k * log2**3 / (2 * log**3), 20, "0.1238703568", 2, lambda k, log: log - 3)


@statement(
    paper=PAPER,
    number="corC.3",
    kind=Kind.COROLLARY,
    expected=Standing.HOLDS,
    text="Algorithm 2, modified for even k, achieves a mean squared error that scales as k/(2 log(k)^3 eps^2) "
    "log(T)^3, which is minimized for k = 20, yielding 0.1239 log(T)^3/eps^2.",
    formula=r"\frac{k}{2\log(k)^3\varepsilon^2}\,\log(T)^3",
    printed=EVEN_CONSTANT,
    planted=(
        Plant("sign of the derivative", "ln k - 2", EVEN_CONSTANT._replace(slope=lambda k, log: log - 2)),
        Plant("best arity", "18", EVEN_CONSTANT._replace(best=18)),
        Plant("value", "0.1235912180 (that of 19)", EVEN_CONSTANT._replace(value="0.1235912180")),
        Plant(
            "the project's constant",
            "(k-1)/2",
            EVEN_CONSTANT._replace(formula=lambda k, log, log2: (k - 1) * log2**3 / (2 * log**3)),
        ),
        Plant("the slope increases", "3 - ln k", EVEN_CONSTANT._replace(slope=lambda k, log: 3 - log)),
    ),
)
def corollary_c_3(claim: Constant) -> Findings:
    """Claim 1 with h = log(T)/log(k) + O(1); the slope ln k - 3 increases, and is 0 at e^3 = 20.09 only."""
    yield from best_arity(claim, k * sympy.log(k), laplace_constant, Digits.offset, "all even k")
    yield positive("the slope increases", sympy.diff(claim.slope(k, sympy.log(k)), k), {k: 2})


class Optimal(NamedTuple):
    """The arities compared by their constants, and the exponents j for which no even arity is better at T = 2^j."""

    odd: int
    even: int
    exponents: tuple[int, ...]


@statement(
    paper=PAPER,
    number="even.best",
    kind=Kind.TEXT,
    expected=Standing.HOLDS_WITH_CAVEAT,
    text="(reason 2 for odd k) It will turn out to be the case that even k is not optimal.",
    formula=r"0.12359 < 0.12387",
    printed=Optimal(19, 20, ()),
    caveat=Reading(
        "read for every T: at T = 2^12 the best even arity, 20, beats every odd one", Optimal(19, 20, (12,))
    ),
    corrected=Reading(
        "the best odd constant is below the best even one; at T = 2^j an odd arity attains the least error for j = 8, "
        "10, 17, 18, 20, 22, 26 and 34 to 38",
        Optimal(19, 20, (8, 10, 17, 18, 20, 22, 26, 34, 35, 36, 37, 38)),
    ),
    planted=(
        Plant("smallest constants", "k = 15", Optimal(15, 20, ())),
        Plant("an odd arity is best", "at T = 2^16", Optimal(19, 20, (10, 16))),
    ),
)
def even_is_not_best(claim: Optimal) -> Findings:
    """Corollaries 4.9 and C.3; exact errors of the best arities at one T, by the exact search of this project."""
    first, second = (laplace_constant(Digits.offset(arity)) for arity in (claim.odd, claim.even))
    yield smaller("smallest constants", first, second, scope="k = 19 and k = 20, the best of each parity")
    if claim.exponents:
        yield every(
            "an odd arity is best",
            claim.exponents,
            lambda j: best_arity_of(2**j, "offset") % 2 == 1,
            scope=f"T = 2^j, j = {', '.join(map(str, claim.exponents))}; all arities",
            show=_best_at,
        )


def _best_at(exponent: int) -> str:
    even, odd = best_arity_of(2**exponent, "offset"), best_arity_of(2**exponent, "symmetric")
    errors = [float(unit_mean_squared_error(Digits.offset(arity), 2**exponent)) for arity in (even, odd)]
    return f"T = 2^{exponent}: {errors[0]:.4f} for k = {even}, {errors[1]:.4f} for k = {odd}"
