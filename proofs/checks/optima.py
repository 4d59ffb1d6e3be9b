"""The least weighted sum of the variances of a private noise, proved by a primal and a dual point in exact numbers.

Noise with the eigenvalues s_i, each in w_i dimensions, is private iff sum_i a_ci/s_i <= 1 for every pair of neighbours
c, a_ci its squared length in the eigenspace i. The least sum_i w_i s_i, and the largest of its lower bounds:

    primal    minimise sum_i w_i s_i over s > 0              with sum_i a_ci/s_i <= 1 for every c,
    dual      maximise 2 sum_i w_i y_i - sum_c l_c over l >= 0   with w_i y_i^2 <= sum_c l_c a_ci for every i.

Weak duality: w s + w y^2/s - 2 w y = w (s - y)^2/s is at least 0, and summed over i with both constraints it says that
no primal value is below a dual one. So where two are equal, both are the optimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

from dpverdict.numerics.exact import Surd
from dpverdict.proofs.checks.evidence import Evidence, note, number

Exact: TypeAlias = int | Fraction | Surd
"""A number of one quadratic field."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Duality:
    """A primal and a dual point of the problem above.

    Attributes:
        weights: w_i.
        constraints: (a_c1, a_c2, ...) by the words for c.
        primal: s_i.
        dual: y_i.
        multipliers: l_c by the words for c; 0 for those that are not there.
    """

    weights: Sequence[Exact]
    constraints: Mapping[str, Sequence[Exact]]
    primal: Sequence[Exact]
    dual: Sequence[Exact]
    multipliers: Mapping[str, Exact]

    def least(self) -> Surd | None:
        """The optimum; None where a point breaks a constraint, or the two values differ. The proof is noted."""
        if not (self._is_private() and self._is_bound()):
            return None
        value = _dot(self.weights, self.primal)
        bound = 2 * _dot(self.weights, self.dual) - sum(map(Surd.of, self.multipliers.values()), Surd.of(0))
        if value != bound:
            return None
        note(self._written, value)
        return value

    def _is_private(self) -> bool:
        return all(Surd.of(s) > 0 for s in self.primal) and all(
            _dot(row, [1 / Surd.of(s) for s in self.primal]) <= 1 for row in self.constraints.values()
        )

    def _is_bound(self) -> bool:
        rows = [(Surd.of(value), self.constraints[words]) for words, value in self.multipliers.items()]
        return all(value >= 0 for value, _ in rows) and all(
            Surd.of(w) * y * y <= sum((value * row[i] for value, row in rows), Surd.of(0))
            for i, (w, y) in enumerate(zip(self.weights, self.dual, strict=True))
        )

    def _written(self, value: Surd) -> Evidence:
        """Every number as its two parts, those of r + c sqrt(radicand)."""
        made: Evidence = {
            "kind": "optimum",
            "weights": [_parts(w) for w in self.weights],
            "constraints": [[words, [_parts(a) for a in row]] for words, row in self.constraints.items()],
            "primal": [_parts(s) for s in self.primal],
            "dual": [_parts(y) for y in self.dual],
            "multipliers": [[words, _parts(one)] for words, one in self.multipliers.items()],
            "value": _parts(value),
        }
        numbers = (*self.weights, *self.primal, *self.dual, *self.multipliers.values())
        return {**made, "radicand": str(max(Surd.of(one).radicand for one in numbers))}


def _dot(left: Sequence[Exact], right: Sequence[Exact]) -> Surd:
    return sum((Surd.of(a) * b for a, b in zip(left, right, strict=True)), Surd.of(0))


def _parts(value: Exact) -> list[str]:
    made = Surd.of(value)
    return [number(made.rational), number(made.coefficient)]
