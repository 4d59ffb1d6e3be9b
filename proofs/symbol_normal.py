"""The primitives of the normal law as SymPy expressions: the third arithmetic of the privacy curves, for proofs."""

from __future__ import annotations

from typing import Any, final

import sympy

Expr = Any  # sympy ships no types


@final
class SymbolNormal:
    """The `Tails` of symbols; see `dpverdict.mechanisms.gaussian_formulas.Tails` for the meanings."""

    def halve(self, x: Expr) -> Expr:
        return x / 2

    def tail(self, t: Expr) -> Expr:
        return sympy.erfc(t / sympy.sqrt(2)) / 2

    def central_mass(self, half: Expr) -> Expr:
        return sympy.erf(half / sympy.sqrt(2))

    def tail_gap(self, epsilon: Expr, centre: Expr, half: Expr) -> Expr:
        return self.tail(centre - half) - self.tilted_tail(epsilon, centre, half)

    def tail_gap_complement(self, epsilon: Expr, centre: Expr, half: Expr) -> Expr:
        return self.tail(half - centre) + self.tilted_tail(epsilon, centre, half)

    def tilted_tail(self, epsilon: Expr, centre: Expr, half: Expr) -> Expr:
        return sympy.exp(epsilon) * self.tail(centre + half)
