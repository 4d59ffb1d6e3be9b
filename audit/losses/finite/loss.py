"""The privacy loss of two laws on finitely many outcomes, from their exact probabilities.

Outcomes are sorted by p/q, largest first, those of one ratio together. With P_j and Q_j the probabilities of the first
j of them, the Neyman-Pearson tests, all curves are read off the points (Q_j, P_j):

    delta(epsilon) = P_j - exp(epsilon) Q_j,  where j is the number of outcomes with p/q > exp(epsilon),
    beta(alpha) = 1 - P_j + (p_j/q_j) (Q_j - alpha)  for Q_j-1 <= alpha <= Q_j,
    epsilon(delta) = log((P_j - delta)/Q_j)  between the profile's values at two neighbouring losses.

Probabilities are rational numbers, or quotients of two sums of exponentials (`ExponentialSum`). Both have decidable
signs, so which outcomes are above a level, and which of them tie, is never a matter of rounding.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import RANDOM_BITS, BallLoss, ExactLoss
from dpverdict.audit.losses.curves import ACCURACY, log_delta_ball
from dpverdict.audit.losses.domains import LossTails, PartMoments, finite_losses
from dpverdict.audit.losses.finite.atoms import AtomMoments
from dpverdict.balls import MAX_BITS, Enclosure, Exact, ball, exactly, float_down, float_up, precision, refine
from dpverdict.errors import InvalidValue
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.exponential_sums import ExponentialSum, Weight, total
from dpverdict.numerics.text import exact_text

MOST_OUTCOMES: Final = 1 << 20
"""The largest number of outcomes."""

RELATIVE_ERROR: Final = 2.0**-50
"""Bound on the relative error of the float64 tails: certified balls, rounded to nearest."""

_SPREAD: Final = Fraction(1, 10**6)  # relative width of the enclosure of rho
_MOST_INTERVALS: Final = 1 << 14
_SORTING_BITS: Final = 96
_ONE: Final = Weight.of(ExponentialSum.of(1))


_SHOWN: Final = 12


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What the outcomes of two laws are, with the weights they were given by.

    Attributes:
        names: each outcome in words.
        p, q: the weights.
    """

    names: tuple[str, ...]
    p: tuple[ExponentialSum, ...]
    q: tuple[ExponentialSum, ...]

    def above(self, level: float) -> str:
        """The outcomes whose loss exceeds a level, by name."""
        power = ExponentialSum.exp(Fraction(level))
        p_whole, q_whole = total(self.p), total(self.q)
        above = [
            name
            for a, b, name in zip(self.p, self.q, self.names, strict=True)
            if (a * q_whole - b * p_whole * power).sign() > 0
        ]
        shown = ", ".join(above[:_SHOWN]) + (f", ... ({len(above)} outcomes)" if len(above) > _SHOWN else "")
        return f"the outcome is one of: {shown}: there the privacy loss exceeds {level!r}"

    def reversed(self) -> Outcomes:
        """The same outcomes, the laws exchanged."""
        return Outcomes(names=self.names, p=self.q, q=self.p)


@final
class FiniteLoss(BallLoss, ExactLoss):
    """The privacy loss of two laws on the same finite set of outcomes: P[i] = p[i], Q[i] = q[i].

    The loss of an outcome is log(p[i]/q[i]), infinite where q[i] = 0. Composition with other finite laws is exact
    while the product has at most `dpverdict.audit.losses.composition.MOST_PRODUCTS` distinct losses.

    Accuracy: every certified value is a ball of 56 accurate bits, whose signs and ties were decided exactly; float64
    values are those balls, rounded to nearest.

    Args:
        p, q: probabilities of the outcomes, the same number of each: int, float, Fraction or decimal strings, each at
            its exact value. ``0.1`` is the float, so that ten of them miss 1; write ``"0.1"`` or ``Fraction(1, 10)``.

    Raises:
        InvalidValue: different lengths, no outcome or more than `MOST_OUTCOMES`, a negative number, or a law whose
            probabilities do not add up to 1 exactly.

    Reference: Dong, Roth and Su 2022, Definition 2.1 (trade-off function) and Proposition 2.13 (profile)
        (arXiv:1905.02383).

    >>> loss = FiniteLoss(["3/4", "1/4"], ["1/4", "3/4"])
    >>> loss.delta(0), loss.epsilon("0.1"), loss.beta("1/4")
    (0.5, 0.9555114450274363, 0.25)
    >>> FiniteLoss([0.5, 0.5], ["0.9", "0.1"]).certified_delta("0.1").contains("0.38948290819243524")
    True
    """

    __slots__ = ("__dict__", "_assumed", "_atoms", "_outcomes", "_p_whole", "_q_whole")

    def __init__(self, p: Sequence[Exact], q: Sequence[Exact]) -> None:
        laws = [_probabilities(numbers, name) for name, numbers in (("p", p), ("q", q))]
        if len(laws[0]) != len(laws[1]):
            lengths = f"{len(laws[0])} and {len(laws[1])} numbers"
            raise InvalidValue("p and q", lengths, "of one length", "give 0 for an outcome that a law does not have")
        self._set(laws[0], laws[1], _ONE, _ONE)

    @classmethod
    def of_weights(
        cls,
        p: Sequence[ExponentialSum],
        q: Sequence[ExponentialSum],
        *,
        outcomes: Sequence[str] = (),
        assumed: tuple[str, ...] = (RANDOM_BITS,),
    ) -> FiniteLoss:
        """The loss of two laws given by weights >= 0, which are divided by their sums.

        Args:
            p, q: the weights of the outcomes.
            outcomes: what each outcome is, in words; left out, no event names them.
            assumed: what a certificate takes for granted about how an outcome is drawn.

        Raises:
            InvalidValue: different lengths, a negative weight, or weights that are all 0.
        """
        if outcomes and len(outcomes) != len(p):
            sizes = f"{len(outcomes)} for {len(p)} weights"
            raise InvalidValue("outcomes", sizes, "one name for each weight", "name every outcome")
        if len(p) != len(q):
            raise InvalidValue("p and q", f"{len(p)} and {len(q)} weights", "of one length", "give 0 for no outcome")
        for name, given in (("p", p), ("q", q)):
            if any(weight.sign() < 0 for weight in given) or not any(weight.terms for weight in given):
                raise InvalidValue(name, given, "weights >= 0, one of them > 0", "check the signs")
        made = cls.__new__(cls)
        weights = [Weight.of(weight) for weight in p], [Weight.of(weight) for weight in q]
        made._set(*weights, Weight.of(total(p)), Weight.of(total(q)))
        made._assumed = assumed
        if outcomes:
            made._outcomes = Outcomes(names=tuple(outcomes), p=tuple(p), q=tuple(q))
        return made

    def _set(self, p: Sequence[Weight], q: Sequence[Weight], p_whole: Weight, q_whole: Weight) -> None:
        self._p_whole, self._q_whole = p_whole, q_whole
        self._outcomes: Outcomes | None = None
        self._assumed: tuple[str, ...] = (RANDOM_BITS,)
        self._atoms = _by_ratio([(a, b) for a, b in zip(p, q, strict=True) if a.sign() or b.sign()])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """As stated by ``assumed``."""
        return self._assumed

    @property
    def law_key(self) -> tuple[object, ...]:
        """The weights, with the names of the outcomes, where they have some."""
        return (id(self),) if self._outcomes is None else ("finite", self._outcomes)

    @property
    def exact_key(self) -> tuple[object, ...] | None:
        """The weights of the distinct losses and their sums, where they are written out."""
        weights = (self._p_whole, self._q_whole, *(weight for atom in self._atoms for weight in atom))
        known = tuple(weight.written_out for weight in weights)
        return None if None in known else known

    def event_above(self, level: float) -> str:
        """The outcomes whose loss is larger, by name where they have names."""
        return super().event_above(level) if self._outcomes is None else self._outcomes.above(level)

    @property
    def atoms(self) -> int:
        """The number of distinct losses, infinite ones included."""
        return len(self._atoms)

    @property
    def is_rational(self) -> bool:
        """Whether all weights are rational numbers."""
        return all(weight.rational is not None for atom in self._atoms for weight in atom)

    @staticmethod
    def product(factors: Sequence[tuple[FiniteLoss, int]]) -> FiniteLoss:
        """The loss of the product of pairs, each taken so many times: of mechanisms run independently.

        Of n times one law with m losses, only the multinomial terms are formed: C(n + m - 1, m - 1) of them.
        """
        p, q, p_whole, q_whole = [_ONE], [_ONE], _ONE, _ONE
        for loss, count in factors:
            p = [a * b for a, b in itertools.product(p, _terms_of_power([a for a, _ in loss._atoms], count))]
            q = [a * b for a, b in itertools.product(q, _terms_of_power([b for _, b in loss._atoms], count))]
            p_whole, q_whole = p_whole * loss._p_whole.power(count), q_whole * loss._q_whole.power(count)
        made = FiniteLoss.__new__(FiniteLoss)
        made._set(p, q, p_whole, q_whole)
        return made

    def reversed(self) -> FiniteLoss:
        """The loss of q against p."""
        made = FiniteLoss.__new__(FiniteLoss)
        made._set([b for _, b in self._atoms], [a for a, _ in self._atoms], self._q_whole, self._p_whole)
        made._assumed, made._outcomes = self._assumed, None if self._outcomes is None else self._outcomes.reversed()
        return made

    def sampled(self, rate: Fraction) -> FiniteLoss:
        """The loss of (1 - rate) q + rate p against q."""
        present = self._q_whole * Weight.of(ExponentialSum.of(rate))
        absent = self._p_whole * Weight.of(ExponentialSum.of(1 - rate))
        made = FiniteLoss.__new__(FiniteLoss)
        made._set(
            [Weight.sum([a * present, b * absent]) for a, b in self._atoms],
            [b for _, b in self._atoms],
            self._p_whole * self._q_whole,
            self._q_whole,
        )
        return made

    # the points (Q_j, P_j), exactly, as weights -----------------------------------------------------------------------

    @functools.cached_property
    def _p_above(self) -> list[Weight]:
        """The weights of P on the first j outcomes, j = 0 to the number of them."""
        return Weight.running_sums([a for a, _ in self._atoms])

    @functools.cached_property
    def _q_above(self) -> list[Weight]:
        return Weight.running_sums([b for _, b in self._atoms])

    @functools.cached_property
    def _p_below(self) -> list[Weight]:
        """The weights of P on all but the first j outcomes."""
        return Weight.running_sums([a for a, _ in self._atoms[::-1]])[::-1]

    @functools.cached_property
    def _q_below(self) -> list[Weight]:
        return Weight.running_sums([b for _, b in self._atoms[::-1]])[::-1]

    @functools.cached_property
    def _ratios(self) -> list[arb]:
        return [_ratio(a, b) for a, b in self._atoms]

    @functools.cached_property
    def _wholes(self) -> arb:
        return _ratio(self._p_whole, self._q_whole)

    @functools.cached_property
    def _infinite(self) -> int:
        """1 if there is an infinite loss, else 0: it is the first outcome."""
        return int(self._atoms[0][1].sign() == 0)

    @functools.cached_property
    def _finite(self) -> int:
        """How many outcomes are not of a loss of minus infinity, which is the last."""
        return self.atoms - int(self._atoms[-1][0].sign() == 0)

    def _is_above(self, i: int, level: Fraction) -> bool:
        """Whether p_i/q_i > exp(level), exactly."""
        a, b = self._atoms[i]
        with precision(_SORTING_BITS):
            right = self._wholes * ball(level).exp()
        if self._ratios[i] > right or self._ratios[i] < right:
            return bool(self._ratios[i] > right)
        power = Weight.of(ExponentialSum.exp(level))
        return (a * self._q_whole - b * self._p_whole * power).sign() > 0

    def _above(self, level: Fraction) -> int:
        """How many outcomes have p/q > exp(level)."""
        low, high = 0, self.atoms
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._is_above(middle, level) else (low, middle)
        return low

    # what deciding a claim takes --------------------------------------------------------------------------------------

    @property
    def largest_loss(self) -> Fraction | None:
        """The largest privacy loss, where it is a rational number; None where it is infinite or irrational."""
        return self._largest_loss

    @functools.cached_property
    def _largest_loss(self) -> Fraction | None:
        if self._infinite or self._finite == 0:
            return None
        a, b = self._atoms[0]
        if a.is_long or b.is_long:  # not even sought in long products
            return None
        above, below = (a * self._q_whole).exact(), (b * self._p_whole).exact()
        found = max(above.terms) - max(below.terms)
        return found if above == below.times_exp(found) else None

    def least_rho(self) -> Enclosure:
        """The supremum of D_a/a over the orders a > 1, between two numbers that are 1e-6 apart, relatively.

        D_a grows with a, so that D_a/a <= D_c/b for a in [b, c]: intervals are halved where that leaves too much, and
        the last one, of all large orders, has D_a <= the largest loss.
        """
        if self._infinite:
            return Enclosure(arb("inf"), arb("inf"))
        if self.atoms == 1:
            return Enclosure(arb(0), arb(0))
        largest = refine(lambda: self._loss_ball(0), bits=ACCURACY)
        values: dict[Fraction, arb] = {}

        def divergence(order: Fraction) -> arb:
            if order not in values:
                values[order] = self._renyi_ball(order)
            return values[order]

        best, order = divergence(Fraction(1)), Fraction(1)
        while not largest / ball(2 * order) < best:
            order *= 2
            best = best.max(divergence(order) / ball(order))
        left = [(Fraction(2) ** i, Fraction(2) ** (i + 1)) for i in range(order.numerator.bit_length())]
        upper = largest / ball(2 * order)
        for _ in range(_MOST_INTERVALS):
            if not left:
                break
            low, high = left.pop()
            bound = divergence(high) / ball(low)
            if bound <= best * (1 + ball(_SPREAD)):
                upper = upper.max(bound)
                continue
            middle = (low + high) / 2
            best = best.max(divergence(middle) / ball(middle))
            left += [(low, middle), (middle, high)]
        for low, high in left:
            upper = upper.max(divergence(high) / ball(low))
        return Enclosure.hull(best, upper.max(best))

    def delta_to(self, epsilon: Fraction, bits: int) -> arb:
        """As ``profile``."""
        return self.profile(epsilon, bits)

    # curves in balls --------------------------------------------------------------------------------------------------

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits; exactly 0 where no loss exceeds epsilon."""
        j = self._above(epsilon)
        if j == 0:
            return arb(0)

        def evaluate() -> arb:
            q = self._q_above[j].ball() / self._q_whole.ball()
            return self._p_above[j].ball() / self._p_whole.ball() - ball(epsilon).exp() * q

        return _refined_ball(evaluate, bits, "delta")

    def complement(self, epsilon: Fraction, bits: int) -> arb:
        """1 - delta(epsilon), to ``bits`` accurate bits."""
        j = self._above(epsilon)

        def evaluate() -> arb:
            q = self._q_above[j].ball() / self._q_whole.ball()
            return self._p_below[j].ball() / self._p_whole.ball() + ball(epsilon).exp() * q

        return _refined_ball(evaluate, bits, "1 - delta")

    def p_above(self, level: Fraction, bits: int) -> arb:
        """P[L > level], to ``bits`` accurate bits."""
        return self._tail(self._above(level), bits)[0]

    def q_above(self, level: Fraction, bits: int) -> arb:
        """Q[L > level], to ``bits`` accurate bits."""
        return self._tail(self._above(level), bits)[2]

    def _tail(self, j: int, bits: int) -> tuple[arb, arb, arb, arb]:
        """What P has on the first j outcomes and on the others, and the same of Q, to ``bits`` accurate bits."""
        p_above, p_below = _parts(self._p_above[j], self._p_below[j], self._p_whole, bits)
        q_above, q_below = _parts(self._q_above[j], self._q_below[j], self._q_whole, bits)
        return p_above, p_below, q_above, q_below

    def _loss_ball(self, i: int) -> arb:
        """log(p_i/q_i) at the current precision, for an outcome that both laws have."""
        a, b = self._atoms[i]
        return (a.ball() * self._q_whole.ball() / (b.ball() * self._p_whole.ball())).log()

    def atom_balls(self) -> list[tuple[arb, arb]]:
        """P-mass and loss of every outcome that both laws have, largest loss first, at the current precision."""
        return [
            (self._atoms[i][0].ball() / self._p_whole.ball(), self._loss_ball(i))
            for i in range(self._infinite, self._finite)
        ]

    def infinite_mass(self, bits: int) -> arb:
        """P[L infinite], to ``bits`` accurate bits; exactly 0 where there is no such outcome."""
        return self._tail(self._infinite, bits)[0] if self._infinite else arb(0)

    def infinite_mass_exactly(self) -> Fraction | None:
        """The same as a rational number, if the probabilities are."""
        if not self.is_rational or self._p_whole.rational is None:
            return None
        return sum((a.rational or Fraction(0) for a, _ in self._atoms[: self._infinite]), Fraction(0)) / (
            self._p_whole.rational
        )

    def largest(self) -> arb | None:
        """That of the outcomes that both laws have; None where there is none."""
        atoms = self.atom_balls()
        return atoms[0][1] if atoms else None

    def moments(self) -> PartMoments | None:
        """Those of its atoms; None where no loss is finite."""
        with precision(ACCURACY):
            atoms = self.atom_balls()
        return AtomMoments(atoms, self.atom_balls) if atoms else None

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self.profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon), complement=self.complement) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        """log((P_j - delta)/Q_j), j the last with a profile of at most delta at its loss."""
        first, level = self._infinite, self._p_whole * Weight.of(ExponentialSum.of(delta))
        if (self._p_above[first] - level).sign() > 0:
            return arb("inf")
        low, high = first, self._finite  # the profile at the loss of low (if there is one) is at most delta
        while high - low > 1:
            middle = (low + high) // 2
            a, b = self._atoms[middle]
            excess = (self._p_above[middle] - level) * b - a * self._q_above[middle]
            low, high = (middle, high) if excess.sign() <= 0 else (low, middle)
        if low == self._finite:  # no outcome has a finite loss
            return arb(0)
        p, q = self._p_above[low + 1] - level, self._q_above[low + 1]
        if (p * self._q_whole - q * self._p_whole).sign() <= 0:
            return arb(0)

        def evaluate() -> arb:
            return (p.ball() * self._q_whole.ball() / (q.ball() * self._p_whole.ball())).log()

        return _refined_ball(evaluate, ACCURACY, "epsilon")

    def _beta_ball(self, alpha: Fraction) -> arb:
        """On the line of slope -p_j/q_j between two points of the trade-off function."""
        level = self._q_whole * Weight.of(ExponentialSum.of(alpha))
        low, high = self._infinite, self._finite  # Q_low <= alpha
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if (self._q_above[middle + 1] - level).sign() < 0 else (low, middle)
        if low == self._finite:  # all that P has is rejected
            return arb(0)
        (a, b), rest = self._atoms[low], self._q_above[low + 1] - level
        value = self._p_below[low + 1] * b + a * rest
        if value.sign() == 0:
            return arb(0)
        return _refined_ball(lambda: value.ball() / (b.ball() * self._p_whole.ball()), ACCURACY, "beta")

    def _renyi_ball(self, order: Fraction) -> arb:
        if order >= 1 and self._infinite:
            return arb("inf")
        shared = range(self._infinite, self._finite)
        if not len(shared):
            return arb("inf")
        if self.atoms == 1:
            return arb(0)

        def evaluate() -> arb:
            p_whole, q_whole, sum_of = self._p_whole.ball(), self._q_whole.ball(), arb(0)
            for i in shared:
                p, q = (weight.ball() for weight in self._atoms[i])
                p, q = p / p_whole, q / q_whole
                loss = (p / q).log()
                sum_of += p * loss if order == 1 else p * (ball(order - 1) * loss).exp()
            return sum_of if order == 1 else sum_of.log() / ball(order - 1)

        return _refined_ball(evaluate, ACCURACY, "renyi")

    def _advantage_ball(self) -> arb:
        return self.profile(Fraction(0), ACCURACY)

    # float64 ----------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _tables(self) -> tuple[Array, Array, Array]:
        """The four tails after the first j outcomes, shape (4, n + 1); and floats below and above every loss."""
        tails = [[float(value) for value in self._tail(j, ACCURACY)] for j in range(self.atoms + 1)]
        below, above = np.full(self.atoms, -np.inf), np.full(self.atoms, -np.inf)
        for i in range(self._infinite, self._finite):
            a, b = self._atoms[i]
            equal = (a * self._q_whole - b * self._p_whole).sign() == 0
            loss = arb(0) if equal else _refined_ball(functools.partial(self._loss_ball, i), ACCURACY, "loss")
            below[i], above[i] = float_down(loss), float_up(loss)
        below[: self._infinite] = above[: self._infinite] = np.inf
        return np.array(tails, dtype=np.float64).T, below, above

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,); a loss that is exactly an atom is not above itself."""
        losses = finite_losses(l)
        tails, below, above = self._tables
        count = np.searchsorted(-below, -losses, side="left")  # of the outcomes certainly above
        possible = np.searchsorted(-above, -losses, side="left")
        for at in np.flatnonzero(count != possible).tolist():
            count[at] = self._above(Fraction(float(losses[at])))
        p_above, p_below, q_above, q_below = tails[:, count]
        return LossTails(
            p_above=p_above, p_below=p_below, q_above=q_above, q_below=q_below, relative_error=RELATIVE_ERROR
        )

    def __repr__(self) -> str:
        return f"FiniteLoss of {self.atoms} distinct losses"


def _probabilities(numbers: Sequence[Exact], name: str) -> list[Weight]:
    if isinstance(numbers, str) or not len(numbers):
        raise InvalidValue(name, numbers, "a sequence of probabilities", "give one number for every outcome")
    if len(numbers) > MOST_OUTCOMES:
        raise InvalidValue(name, f"{len(numbers)} numbers", f"at most {MOST_OUTCOMES}", "merge outcomes of one ratio")
    exact = [exactly(number, name=f"{name}[{i}]") for i, number in enumerate(numbers)]
    for i, number in enumerate(exact):
        if number < 0:
            raise InvalidValue(f"{name}[{i}]", numbers[i], ">= 0", "give probabilities")
    mass = sum(exact, Fraction(0))
    if mass != 1:
        shown = exact_text(mass) if mass.denominator < 10**9 else f"1 {float(mass - 1):+.3g}"
        remedy = "write decimals as strings ('0.1') or fractions: floats are taken at their exact value"
        raise InvalidValue(f"the sum of {name}", shown, "exactly 1", remedy)
    return [Weight.of(ExponentialSum.of(number)) for number in exact]


def _by_ratio(atoms: list[tuple[Weight, Weight]]) -> list[tuple[Weight, Weight]]:
    """The pairs of weights by falling ratio, those of one ratio added up."""

    if all(a.rational is not None and b.rational is not None for a, b in atoms):
        return _by_rational_ratio(atoms)
    ratios = [_ratio(a, b) for a, b in atoms]

    def order(one: int, other: int) -> int:
        if ratios[one] > ratios[other]:
            return -1
        if ratios[one] < ratios[other]:
            return 1
        (a, b), (c, d) = atoms[one], atoms[other]
        return (c * b - a * d).sign()

    found: list[list[int]] = []
    for atom in sorted(range(len(atoms)), key=functools.cmp_to_key(order)):
        if found and order(found[-1][0], atom) == 0:
            found[-1].append(atom)
        else:
            found.append([atom])
    return [atoms[tied[0]] if len(tied) == 1 else _sums_of_atoms([atoms[i] for i in tied]) for tied in found]


def _sums_of_atoms(atoms: Sequence[tuple[Weight, Weight]]) -> tuple[Weight, Weight]:
    a, b = zip(*atoms, strict=True)
    return functools.reduce(Weight.__add__, a), functools.reduce(Weight.__add__, b)


def _by_rational_ratio(
    atoms: list[tuple[Weight, Weight]],
) -> list[tuple[Weight, Weight]]:
    """The same where all weights are rational, by a table of the ratios."""
    merged: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for a, b in atoms:
        p, q = a.rational or Fraction(0), b.rational or Fraction(0)
        ratio = p / q if q else None
        before = merged.get(ratio, (Fraction(0), Fraction(0)))
        merged[ratio] = before[0] + p, before[1] + q
    finite = sorted((ratio for ratio in merged if ratio is not None), reverse=True)
    ratios: list[Fraction | None] = [None, *finite] if None in merged else [*finite]
    made = [[Weight.of(ExponentialSum.of(number)) for number in merged[ratio]] for ratio in ratios]
    return [(a, b) for a, b in made]


def _ratio(weight: Weight, other: Weight) -> arb:
    """About the ratio of two weights, to sort by; what it does not tell apart is compared exactly."""
    if other.sign() == 0:
        return arb("inf")
    if weight.sign() == 0:
        return arb(0)
    above, below = (refine(one.ball, bits=_SORTING_BITS) for one in (weight, other))
    with precision(_SORTING_BITS):
        return above / below


def _terms_of_power(weights: Sequence[Weight], count: int) -> list[Weight]:
    """The terms of (sum of weights)^count, by the numbers of times each weight occurs."""
    found: dict[int, list[Weight]] = {0: [_ONE]}  # by how many factors are used
    for i, weight in enumerate(weights):
        last = i == len(weights) - 1
        longer: dict[int, list[Weight]] = {}
        for used, terms in found.items():
            for more in range(count - used if last else 0, count - used + 1):
                factor = weight.power(more) * Weight.of(ExponentialSum.of(math.comb(used + more, more)))
                longer.setdefault(used + more, []).extend(term * factor for term in terms)
        found = longer
    return found[count]


def _parts(weight: Weight, rest: Weight, whole: Weight, bits: int) -> tuple[arb, arb]:
    """Two weights that add up to the whole, over the whole."""

    def share(part: Weight, other: Weight) -> arb:
        if part.sign() == 0 or other.sign() == 0:
            return arb(0 if part.sign() == 0 else 1)
        return _refined_ball(lambda: part.ball() / whole.ball(), bits, "a probability")

    return share(weight, rest), share(rest, weight)


def _refined_ball(evaluate: Callable[[], arb], bits: int, name: str) -> arb:
    return refine(evaluate, bits=bits, max_bits=max(MAX_BITS, 4 * bits), name=name)
