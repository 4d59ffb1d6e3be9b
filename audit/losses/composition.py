"""The composition of privacy losses: many mechanisms run on the same pair of neighbours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final, final

from dpverdict.audit.losses.base import AddRemoveLoss, PrivacyLoss, composers
from dpverdict.audit.losses.bounded import BoundedLoss, Factor
from dpverdict.audit.losses.closed_form import DisjointLoss, GaussianLoss, RandomisedResponseLoss
from dpverdict.audit.losses.contour.kinds import ProductLoss, product_loss
from dpverdict.audit.losses.contour.loss import ComposedLoss
from dpverdict.audit.losses.contour.mixture import Mixture
from dpverdict.audit.losses.discrete_gaussian.atoms import MOST_VARIANCE, number_of_atoms
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.finite.pld import MOST_OF_A_CONTOUR, PldLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.lattice.custom import CustomLoss
from dpverdict.audit.losses.lattice.discretise import (
    TAIL_MASS,
    default_interval,
    lattice_pair,
    lattice_range,
    spread,
)
from dpverdict.balls import Real
from dpverdict.errors import InvalidValue
from dpverdict.numerics.exponential_sums import ExponentialSum

if TYPE_CHECKING:
    from typing_extensions import TypeIs

MOST_PRODUCTS: Final = 1024
FEW_OUTCOMES: Final = 64
MOST_IRRATIONAL_PRODUCTS: Final = 256
"""The largest number of outcomes of a product of finite laws that is multiplied out exactly."""

FEW_SHIFTS_OF_A_CONTOUR: Final = 8  # each may take a second

MOST_ATOMS: Final = 8192
MOST_ATOMS_ON_A_LATTICE: Final = 2048
"""The largest number of a mixture in which discrete Gaussian noise has some: beside a closed form, or a lattice."""

_FEW_RESPONSES: Final = 64  # of one rate, that are finite laws beside other losses

_FINER: Final = (16, 4, 1)  # than the usual lattice is that of a law beside a contour

_ATOM_BITS: Final = 96  # to which these are counted


def compose(*losses: Factor) -> PrivacyLoss:
    """The privacy loss of the product of the pairs: P = P_1 x P_2 x ..., Q = Q_1 x Q_2 x ....

    The mechanisms are run independently on the same pair of neighbours, none of them chosen from the outputs of others.
    If each loss belongs to a pair that dominates its mechanism, the composition dominates their adaptive composition
    too (Zhu, Dong and Wang). The route is chosen by what is composed, and `explain_composition` says which, and how
    wide its results are.

    * Gaussian losses only: the Gaussian loss with mu^2 = sum mu_i^2.
    * Laplace losses only: one Laplace loss with all shifts.
    * Both: a `ComposedLoss`, by certified contour integration.
    * Discrete Gaussian losses only: one `DiscreteGaussianLoss` of all coordinates, while its support is not much finer
      than `dpverdict.audit.losses.discrete_gaussian.loss.FINEST`.
    * Finite laws only: one `FiniteLoss` of the product, exactly, while it has at most `MOST_PRODUCTS`
      outcomes (`MOST_IRRATIONAL_PRODUCTS` where probabilities are irrational).
    * Finite laws and discrete Gaussian noise beside one loss in closed form: a `ProductLoss`, the sum over their atoms.
    * Anything else that has tails: a `BoundedLoss`, between two laws on one lattice. Its curves are two-sided bounds in
      float64 with an error ledger; the results above are exact, and never bounds.
    * With any `AddRemoveLoss`, such as a sampled loss: an `AddRemoveLoss` of the two compositions.
    * With any `DisjointLoss`: the `DisjointLoss`. Trivial losses (mu = 0, no shift) drop out; of no loss at all, the
      composition is the loss of two equal laws, ``GaussianLoss(0)``.

    The order does not matter, and neither does composing step by step. Equal factors are counted, so thousands of equal
    mechanisms cost what one costs.

    Args:
        losses: any number of losses, composed ones included.

    Raises:
        InvalidValue: something that is not a privacy loss; several losses of which one has no tails.

    Reference: Dong, Roth and Su 2022, Definition 3.1 and Theorem 3.2 (arXiv:1905.02383); Zhu, Dong and Wang 2022,
    on dominating pairs (arXiv:2106.08567).

    >>> compose(*[GaussianLoss("0.1")] * 100)
    GaussianLoss(mu=1)
    >>> compose(GaussianLoss("0.5"), LaplaceLoss(["0.3"]), LaplaceLoss(["0.7"])).certified_delta(1)
    Enclosure([0.072646224343138124, 0.072646224343138139])
    """
    return compose_counted([(loss, 1) for loss in losses])


def compose_counted(parts: Iterable[tuple[Factor, int]]) -> PrivacyLoss:
    """`compose` of losses with the number of times each occurs: a million times cost what once costs."""
    counted = _counted(parts)
    if len(counted) == 1 and counted[0][1] == 1 and isinstance(counted[0][0], AddRemoveLoss):
        return counted[0][0]
    if any(isinstance(loss, AddRemoveLoss) for loss, _ in counted):
        pairs = [
            ((loss.remove, loss.add) if isinstance(loss, AddRemoveLoss) else (loss, _reversed(loss)), n)
            for loss, n in counted
        ]
        return AddRemoveLoss(
            remove=compose_counted((remove, n) for (remove, _), n in pairs),
            add=compose_counted((add, n) for (_, add), n in pairs),
        )
    for place, (loss, count) in enumerate(counted):
        others = counted[:place] + counted[place + 1 :]
        if isinstance(loss, PrivacyLoss) and (own := loss.composed_with(count, others)) is not None:
            return own
    factors = _Factors()
    for loss, count in counted:
        factors.add(loss, count)
    return factors.composed()


composers.append(compose_counted)


def _reversed(loss: Factor) -> Factor:
    if isinstance(loss, PrivacyLoss):
        return loss.reversed()
    remedy = "make the loss of the other order by itself, and compose the orders apart"
    raise InvalidValue("losses", loss, "known in both orders, as others are", remedy)


def explain_composition(loss: PrivacyLoss) -> str:
    """How the curves of a composition are computed, and how wide its certified values are, in a sentence or two.

    >>> print(explain_composition(compose(GaussianLoss("0.3"), GaussianLoss("0.4"))))
    GaussianLoss(mu=0.5). Route: closed form; certified values have a relative width below 2^-52.
    """
    if isinstance(loss, ComposedLoss | BoundedLoss | ProductLoss):
        return loss.explain()
    if isinstance(loss, GaussianLoss):
        return f"{loss!r}. Route: closed form; certified values have a relative width below 2^-52."
    if isinstance(loss, DisjointLoss):
        return f"{loss!r}. Route: closed form; the values are exact."
    if isinstance(loss, DiscreteGaussianLoss):
        return (
            f"{loss!r}. Route: sums over the support of the loss, of step {float(loss.step):.3g}; aliases and rounding "
            "are inside the balls. Certified values have a relative width below 2^-52."
        )
    if isinstance(loss, LaplaceLoss):
        factors = sum(count for _, count in loss.groups)
        return (
            f"Laplace part alone: {factors} mechanisms with {len(loss.groups)} distinct shifts, "
            f"{float(loss.total):.6g} in all. Route: that of LaplaceLoss, which depends on epsilon; "
            "LaplaceLoss.route(epsilon) says which."
        )
    if isinstance(loss, FiniteLoss):
        return f"{loss!r}. Route: sums over the outcomes; certified values have a relative width below 2^-52."
    return f"{loss!r}. Route: that of {type(loss).__name__}."


@final
class _Factors:
    """The factors of a composition with the number of times each occurs, sorted by kind."""

    __slots__ = ("_discrete", "_disjoint", "_others", "_shifts", "_squares")

    def __init__(self) -> None:
        self._squares: list[tuple[Real, int]] = []
        self._shifts: Counter[Fraction] = Counter()
        self._others: list[tuple[Factor, int]] = []
        self._discrete: list[DiscreteGaussianLoss] = []
        self._disjoint = False

    def add(self, loss: object, count: int) -> None:
        if isinstance(loss, ComposedLoss):
            self.add(loss.gaussian, count)
            self.add(loss.laplace, count)
        elif isinstance(loss, BoundedLoss | ProductLoss):
            for factor, times in loss.factors:
                self.add(factor, times * count)
        elif isinstance(loss, GaussianLoss):
            self._squares.append((loss.mu_squared, count))
        elif isinstance(loss, LaplaceLoss):
            self._shifts.update({shift: times * count for shift, times in loss.groups})
        elif isinstance(loss, DiscreteGaussianLoss):
            self._add_discrete(loss.power(count))
        elif isinstance(loss, DisjointLoss):
            self._disjoint = True
        elif isinstance(loss, PrivacyLoss):
            self._others += [(factor, times * count) for factor, times in loss.factors]
        elif isinstance(loss, CustomLoss):
            self._others.append((loss, count))
        else:
            raise InvalidValue("losses", loss, "privacy losses", "give each loss as an argument: compose(*losses)")

    def _add_discrete(self, loss: DiscreteGaussianLoss) -> None:
        """Into the first of those with which it has a product."""
        for i, held in enumerate(self._discrete):
            product = held.times(loss)
            if product is not None:
                self._discrete[i] = product
                return
        self._discrete.append(loss)

    def composed(self) -> PrivacyLoss:
        if self._disjoint:
            return DisjointLoss()
        gaussian = GaussianLoss.from_squared(_sum(self._squares))
        laplace = LaplaceLoss.grouped(self._shifts.items()) if self._shifts else None
        has_gaussian = gaussian.mu_squared.rational != 0
        others = [*((loss, 1) for loss in self._discrete if loss.groups), *self._others]
        if others:
            parts: list[tuple[Factor, int]] = [(gaussian, 1)] if has_gaussian else []
            parts += [] if laplace is None or not laplace.groups else [(laplace, 1)]
            return _by_kinds([*parts, *others])
        if laplace is None:
            return gaussian
        return ComposedLoss(gaussian, laplace) if has_gaussian else laplace


def _counted(factors: Iterable[tuple[Factor, int]]) -> list[tuple[Factor, int]]:
    """The factors in order, each once, with the number of times it occurs: equal means the same object."""
    counts: dict[int, tuple[Factor, int]] = {}
    for factor, count in factors:
        counts[id(factor)] = factor, counts.get(id(factor), (factor, 0))[1] + count
    return list(counts.values())


def _by_kinds(factors: Sequence[tuple[Factor, int]]) -> PrivacyLoss:
    """The composition of factors of several kinds: mixture, contour, or lattice, whichever is the closest."""
    counted = _counted(factors)
    known = [(factor, count) for factor, count in counted if isinstance(factor, PrivacyLoss)]
    if len(known) < len(counted):
        return BoundedLoss(counted, between=partial(_between, counted))
    if len(known) > 1:  # responses beside other losses are finite laws, whose atoms need no lattice
        known = [
            (_response(factor), count * factor.times) if _is_short(factor) else (factor, count)
            for factor, count in known
        ]
        counted = [*known]
    if len(known) == 1:
        factor, count = known[0]
        own = factor if count == 1 else factor.repeated(count)
        if own is not None:
            return own
    finite = [(factor, count) for factor, count in known if isinstance(factor, FiniteLoss)]
    others = [(factor, count) for factor, count in known if not isinstance(factor, FiniteLoss)]
    outcomes = math.prod(math.comb(count + factor.atoms - 1, factor.atoms - 1) for factor, count in finite)
    rational = all(factor.is_rational for factor, _ in finite)
    multiplied = outcomes <= (MOST_PRODUCTS if rational else MOST_IRRATIONAL_PRODUCTS)
    if not others and multiplied:
        return FiniteLoss.product(finite)
    alone = len(others) == 1 and others[0][1] == 1
    if finite and multiplied and alone and (outcomes <= FEW_OUTCOMES or isinstance(others[0][0], GaussianLoss)):
        return _mixture(known, others[0][0], finite)
    on_atoms = partial(_on_atoms, known, finite, outcomes if multiplied else None)
    product = product_loss(known, on_atoms) if others else None
    if product is not None:
        return product
    engine = on_atoms()
    if engine is not None:
        return ProductLoss(known, engine)  # pyright: ignore[reportArgumentType]
    if multiplied and others:
        engine = _beside_atoms(known, finite, outcomes)
        if engine is not None:
            return ProductLoss(known, engine)  # pyright: ignore[reportArgumentType]
    return BoundedLoss(counted)


def _between(counted: Sequence[tuple[Factor, int]]) -> tuple[PrivacyLoss, PrivacyLoss] | None:
    """Two compositions by one contour: with the optimistic, and with the pessimistic law of every `CustomLoss`.

    Beside many steps of sampled noise, these have no lattice. None where there is no such contour.
    """
    sides: tuple[list[tuple[PrivacyLoss, int]], ...] = [], []
    for factor, count in counted:
        laws = (factor, factor) if isinstance(factor, PrivacyLoss) else _laws_of_tails(factor)
        for side, law in zip(sides, laws, strict=True):
            side.append((law, count))
    lower, upper = (product_loss(side) for side in sides)
    return None if lower is None or upper is None else (lower, upper)


def _laws_of_tails(factor: CustomLoss) -> tuple[PldLoss, PldLoss]:
    """The optimistic and the pessimistic law, on the finest lattice that a contour takes."""
    usual = default_interval([(spread(factor.tails), 1)])
    interval = usual
    for finer in _FINER:
        interval = usual / finer
        first, last = lattice_range(factor.tails, interval, TAIL_MASS)
        if last - first < MOST_OF_A_CONTOUR:
            break
    pair = lattice_pair(factor.tails, interval)
    return PldLoss(pair.optimistic), PldLoss(pair.pessimistic)


def _beside_atoms(
    factors: Sequence[tuple[PrivacyLoss, int]], finite: Sequence[tuple[FiniteLoss, int]], outcomes: int
) -> Mixture | None:
    """The mixture whose atoms are those of finite laws, and of discrete Gaussian noise where these are not too many.

    What is left has a short lattice, which can be fine. None without atoms, or if the rest is not certified.
    """
    others = [one for one in factors if not isinstance(one[0], FiniteLoss)]
    rest = [one for one in others if not isinstance(one[0], DiscreteGaussianLoss)]
    discrete = [factor.power(count) for factor, count in others if isinstance(factor, DiscreteGaussianLoss)]
    atoms = _atoms(outcomes, discrete) if rest else None
    if atoms is None or atoms > MOST_ATOMS_ON_A_LATTICE:
        rest, discrete, atoms = others, [], outcomes
    if not finite and not discrete:
        return None
    base = _rest(rest, atoms)
    return Mixture(base, FiniteLoss.product(finite), discrete) if base.is_certified else None


def _rest(factors: Sequence[tuple[PrivacyLoss, int]], atoms: int) -> PrivacyLoss:
    """The composition that is asked at so many shifts: of contours only for few of them."""
    if atoms <= FEW_SHIFTS_OF_A_CONTOUR:
        close = product_loss(factors) if len(factors) > 1 else factors[0][0].repeated(factors[0][1])
        if close is not None:
            return close
    lattice = BoundedLoss(factors)
    return lattice if lattice.is_certified else _by_kinds(factors)


def _atoms(outcomes: int, discrete: Sequence[DiscreteGaussianLoss]) -> int | None:
    """At most so many has a mixture; None where those of some noise are too many to count."""
    if any(group.variance > MOST_VARIANCE for loss in discrete for group in loss.groups):
        return None
    return outcomes * math.prod(number_of_atoms(loss.groups, _ATOM_BITS) for loss in discrete)


def _is_short(factor: PrivacyLoss) -> TypeIs[RandomisedResponseLoss]:
    return isinstance(factor, RandomisedResponseLoss) and 0 < factor.times <= _FEW_RESPONSES


def _response(loss: RandomisedResponseLoss) -> FiniteLoss:
    """One of the responses."""
    truth, lie = ExponentialSum.exp(loss.rate), ExponentialSum.of(1)
    return FiniteLoss.of_weights([truth, lie], [lie, truth])


def _on_atoms(
    factors: Sequence[tuple[PrivacyLoss, int]], finite: Sequence[tuple[FiniteLoss, int]], outcomes: int | None
) -> Mixture | None:
    """The mixture in which discrete Gaussian noise has atoms too; None if these are many, or the rest no closed form.

    ``outcomes`` are those of the finite laws; None of too many.
    """
    discrete = [factor.power(count) for factor, count in factors if isinstance(factor, DiscreteGaussianLoss)]
    rest = [one for one in factors if not isinstance(one[0], FiniteLoss | DiscreteGaussianLoss)]
    if not rest and discrete:  # else beside equal laws, whose profile is (1 - exp(epsilon))_+
        rest = [(discrete.pop() if discrete[-1].has_closed_profile else GaussianLoss(0), 1)]
    is_closed = len(rest) == 1 and rest[0][1] == 1 and rest[0][0].has_closed_profile
    if outcomes is None or not is_closed or not (finite or discrete):
        return None
    atoms = _atoms(outcomes, discrete)
    return None if atoms is None or atoms > MOST_ATOMS else Mixture(rest[0][0], FiniteLoss.product(finite), discrete)


def _mixture(
    factors: Sequence[tuple[PrivacyLoss, int]], base: PrivacyLoss, finite: Sequence[tuple[FiniteLoss, int]]
) -> PrivacyLoss:
    return ProductLoss(factors, Mixture(base, FiniteLoss.product(finite)))  # pyright: ignore[reportArgumentType]


def _sum(squares: Sequence[tuple[Real, int]]) -> Real:
    """The sum of the squares, each taken so many times; exact if every term is rational."""
    rational = sum((square.rational * n for square, n in squares if square.rational is not None), Fraction(0))
    irrational = [(square, n) for square, n in squares if square.rational is None]
    if not irrational:
        return Real.of(rational)
    known = Real.of(rational)
    return Real(lambda: sum((square.ball() * n for square, n in irrational), start=known.ball()))
