"""Losses of which it is told which one holds; and Poisson batches that are cut at a size.

**Told.** With probability w_i the pair (P_i, Q_i) is used, and it is told which: every curve is the mixture of theirs,

    delta(epsilon) = sum over i of w_i delta_i(epsilon),      M(t) = sum over i of w_i M_i(t).

**Cut batches.** Of n records each is drawn with probability q, and of more than B that are drawn a uniform set of B is
kept. Let N be how many of the other records are drawn, binomial of n - 1 and q. Given which they are, and which of them
are kept without the record, the record is added with probability q if N < B; if N >= B it takes the place of a kept one
with probability q B/(N + 1). So by joint convexity that pair dominates of which N is told: sampled Gaussian pairs of
rate q and mu = 1/s, or of rate q B/(N + 1) and mu = 2/s. Where it is replaced, the batches with the record and with its
replacement are, by Gaussian interpolation (`dpverdict.audit.sampling.mixtures.loss`), dominated by (1 - r) N(0, s^2) +
r N(a, s^2) against (1 - r) N(0, s^2) + r N(-a, s^2), with a = 1 or 2 and the same rates r.

From below, where all others contribute 0, the record takes part with probability q E min(1, B/(N + 1)): Poisson
sampling of that rate is attained, exactly. The two are close where batches are rarely cut.

The N >= B are put together in some groups, each of which has the rate of its least N; probabilities are rounded down,
and what is left over has the rate q and a = 2, which dominates all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import acb, arb

from dpverdict.audit.losses.base import AddRemoveLoss, BallLoss, PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.curves import ACCURACY, beta_between, epsilon_ball, epsilon_between, log_delta_ball
from dpverdict.audit.losses.domains import Direction, LossTails, PartMoments, finite_losses
from dpverdict.audit.sampling.mixtures.loss import GaussianMixtureLoss
from dpverdict.audit.sampling.step import SampledStep, TailsAt, tails_in_closed_form
from dpverdict.balls import Exact, ball, exactly, precision
from dpverdict.checks import check_positive, check_whole
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.numerics.arrays import Array

Weighted = tuple[Fraction, PrivacyLoss]

_GUARD: Final = 40
_BITS: Final = 256
_FINE: Final = 1 << 140
"""Probabilities are whole parts of one over this."""
_GROUPS: Final = 5
_RARE: Final = 2.0**-6
"""Where batches are cut less often than that, the N >= B are one group."""
_FAR: Final = 12
"""Standard deviations of N beyond which no group begins."""
_MOST: Final = 10**9


@final
class ToldLoss(BallLoss):
    """The loss where it is told which of some losses holds.

    Args:
        parts: the losses with their probabilities, > 0, which add up to 1.
    """

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Weighted]) -> None:
        self.parts: tuple[Weighted, ...] = tuple(parts)
        if any(weight <= 0 for weight, _ in self.parts) or sum(weight for weight, _ in self.parts) != 1:
            raise InvalidValue("parts", [str(w) for w, _ in parts], "probabilities that add up to 1", "leave out zeros")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of the mechanism."""
        return self.parts[0][1].assumptions

    @property
    def law_key(self) -> tuple[object, ...]:
        """The probabilities, and those of the losses."""
        return (type(self).__name__, *((weight, loss.law_key) for weight, loss in self.parts))

    def reversed(self) -> ToldLoss:
        """The losses in the other order."""
        return ToldLoss([(weight, loss.reversed()) for weight, loss in self.parts])

    def moments(self) -> PartMoments | None:
        """The mixture of theirs, where all are known."""
        found = [(weight, loss.moments()) for weight, loss in self.parts]
        known = [(weight, moments) for weight, moments in found if moments is not None]
        return ToldMoments(known) if len(known) == len(found) else None

    def tails_in_closed_form(self) -> TailsAt | None:
        """Those of all parts, added up; see `dpverdict.audit.sampling.step.tails_in_closed_form`."""
        known = [(ball(weight), tails_in_closed_form(loss)) for weight, loss in self.parts]
        parts = [(weight, tails) for weight, tails in known if tails is not None]
        if len(parts) < len(known):
            return None

        def at(x: arb) -> tuple[arb, arb] | None:
            p, q = arb(0), arb(0)
            for weight, tails in parts:
                found = tails(x)
                if found is None:
                    return None
                p += weight * found[0]
                q += weight * found[1]
            return p, q

        return at

    def _sum(self, curve: Callable[[PrivacyLoss], arb], bits: int) -> arb:
        found = [(weight, curve(loss)) for weight, loss in self.parts]
        with precision(bits + _GUARD):
            return sum((ball(weight) * value for weight, value in found), arb(0))

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits."""
        return self._sum(lambda loss: loss.profile(epsilon, bits + 4), bits)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law."""
        return self._sum(lambda loss: loss.p_above(level, bits + 4), bits)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law."""
        return self._sum(lambda loss: loss.q_above(level, bits + 4), bits)

    def tails(self, l: Array) -> LossTails:
        """The four tails at losses of shape (n,)."""
        losses = finite_losses(l)
        found = [(float(weight), loss.tails(losses)) for weight, loss in self.parts]
        names = ("p_above", "p_below", "q_above", "q_below")
        sums = {name: np.sum([weight * getattr(tail, name) for weight, tail in found], axis=0) for name in names}
        rounding = (len(found) + 2) * 2.0**-52
        return LossTails(**sums, relative_error=max(tail.relative_error for _, tail in found) + rounding)

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self.profile(exactly(epsilon), ACCURACY) for epsilon in epsilons]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [log_delta_ball(self.profile, exactly(epsilon)) for epsilon in epsilons]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta == 1:
            return arb(0)
        if delta == 0:
            ends = [loss._epsilon_balls([delta])[0] for _, loss in self.parts]
            return arb.max(*ends) if len(ends) > 1 else ends[0]
        try:
            return epsilon_ball(self.profile, delta)
        except PrecisionExhausted:
            return epsilon_between(lambda epsilon: self.profile(epsilon, ACCURACY), delta, Fraction(1 << 20))

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha in (0, 1):
            return arb(1 - alpha.numerator)
        return beta_between(lambda epsilon: self.profile(epsilon, ACCURACY), alpha, Fraction(64))

    def _renyi_ball(self, order: Fraction) -> arb:
        found = [(weight, loss._renyi_balls([order])[0]) for weight, loss in self.parts]
        with precision(ACCURACY + _GUARD):
            t = ball(order) - 1
            return sum((ball(weight) * (t * value).exp() for weight, value in found), arb(0)).log() / t

    def _advantage_ball(self) -> arb:
        return self.profile(Fraction(0), ACCURACY)

    def __repr__(self) -> str:
        return f"ToldLoss({', '.join(f'{float(weight):.3g}: {loss!r}' for weight, loss in self.parts)})"


@final
class RareDisclosure(BallLoss):
    """The loss, or with a small probability z all: delta(epsilon) = (1 - z) delta_inside(epsilon) + z.

    Args:
        inside: the loss with which the rest is told.
        probability: z, in (0, 1).
    """

    __slots__ = ("inside", "probability")
    inside: PrivacyLoss
    probability: Fraction

    def __init__(self, inside: PrivacyLoss, probability: Fraction) -> None:
        if not 0 < probability < 1:
            raise InvalidValue("probability", str(probability), "in (0, 1)", "leave out what does not happen")
        self.inside, self.probability = inside, probability

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of the loss inside."""
        return self.inside.assumptions

    @property
    def is_certified(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Whether the loss inside is."""
        return self.inside.is_certified

    @property
    def law_key(self) -> tuple[object, ...]:
        """The probability, and that of the loss inside."""
        return (type(self).__name__, self.probability, self.inside.law_key)

    def reversed(self) -> RareDisclosure:
        """The loss in the other order."""
        return RareDisclosure(self.inside.reversed(), self.probability)

    def _mixed(self, value: arb, disclosed: int) -> arb:
        with precision(_BITS):
            return ball(1 - self.probability) * value + ball(self.probability) * disclosed

    def profile(self, epsilon: Fraction, bits: int) -> arb:
        """delta(epsilon), to ``bits`` accurate bits of the loss inside."""
        return self._mixed(self.inside.profile(epsilon, bits), 1)

    def p_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the first law."""
        return self._mixed(self.inside.p_above(level, bits), 1)

    def q_above(self, level: Fraction, bits: int) -> arb:
        """The probability of a loss above the level under the second law."""
        return self._mixed(self.inside.q_above(level, bits), 0)

    def delta_at_most(self, epsilon: Fraction) -> arb:
        """An upper bound on delta(epsilon) for epsilon >= 0."""
        return self._mixed(self.inside.delta_at_most(epsilon), 1).upper()

    def tails(self, l: Array) -> LossTails:
        """Those of the loss inside, with an infinite loss.

        Raises:
            InvalidValue: it has none.
        """
        own, z = self.inside.tails(l), float(self.probability)
        return LossTails(
            p_above=(1 - z) * own.p_above + z,
            p_below=(1 - z) * own.p_below,
            q_above=(1 - z) * own.q_above,
            q_below=(1 - z) * own.q_below + z,
            relative_error=own.relative_error + 2.0**-50,
        )

    # balls ------------------------------------------------------------------------------------------------------------

    def _delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        return [self._mixed(value, 1) for value in self.inside._delta_balls(epsilons)]

    def _log_delta_balls(self, epsilons: Sequence[Exact]) -> list[arb]:
        with precision(_BITS):
            return [value.log() for value in self._delta_balls(epsilons)]

    def _epsilon_ball(self, delta: Fraction) -> arb:
        if delta <= self.probability:
            return arb("inf")
        return self.inside._epsilon_balls([(delta - self.probability) / (1 - self.probability)])[0]

    def _beta_ball(self, alpha: Fraction) -> arb:
        if alpha >= 1 - self.probability:
            return arb(0)
        return self._mixed(self.inside._beta_balls([alpha / (1 - self.probability)])[0], 0)

    def _renyi_ball(self, order: Fraction) -> arb:
        return arb("inf") if order >= 1 else self._less_than_one(order)

    def _less_than_one(self, order: Fraction) -> arb:
        inner = self.inside._renyi_balls([order])[0]
        with precision(_BITS):
            return inner + ball(1 - self.probability).log() / (ball(order) - 1)

    def _advantage_ball(self) -> arb:
        return self._mixed(self.inside._advantage_ball(), 1)

    def __repr__(self) -> str:
        return f"RareDisclosure({self.inside!r}, {float(self.probability):.3g})"


@final
class ToldMoments:
    """The moments of a mixture of which it is told which part holds."""

    __slots__ = ("_parts", "largest")
    largest: float

    def __init__(self, parts: Sequence[tuple[Fraction, PartMoments]]) -> None:
        self._parts = tuple(parts)
        self.largest = min(moments.largest for _, moments in parts)

    @property
    def _logs(self) -> Array:
        return np.array([math.log(w.numerator) - math.log(w.denominator) for w, _ in self._parts])

    def _sizes(self, points: Array) -> Array:
        """log of w M(t) of each part, about: shape (parts, n)."""
        return self._logs[:, None] + np.stack([moments.estimates(points) for _, moments in self._parts])

    def estimates(self, points: Array) -> Array:
        """log M at t > 0 of shape (n,), about."""
        found: Array = np.logaddexp.reduce(self._sizes(points), axis=0)
        return found

    def log_beyond(self, centre: float, heights: Array) -> Array:
        """About log of ``beyond``/M(c), at heights of shape (n,)."""
        sizes = self._sizes(np.array([centre]))
        rest = np.stack([moments.log_beyond(centre, heights) for _, moments in self._parts])
        found: Array = np.logaddexp.reduce(sizes + rest, axis=0) - np.logaddexp.reduce(sizes[:, 0])
        return found

    def terms(self, centre: float, height: float, number: int, bits: float) -> float:
        """Those of all parts."""
        return sum(moments.terms(centre, height, number, bits) for _, moments in self._parts)

    def at(self, t: arb) -> arb:
        """M(t) at a real t >= 0."""
        return sum((ball(weight) * moments.at(t) for weight, moments in self._parts), arb(0))

    def on_line(self, centre: float, step: float, number: int) -> list[acb]:
        """M(centre + i step (k + 1/2)) for k < number, at the current precision."""
        lines = [(ball(weight), moments.on_line(centre, step, number)) for weight, moments in self._parts]
        return [sum((weight * line[k] for weight, line in lines), acb(0)) for k in range(number)]

    def beyond(self, centre: arb, height: arb) -> arb:
        """An upper bound on |M(centre + i w)| for all w >= height."""
        return sum((ball(weight) * moments.beyond(centre, height) for weight, moments in self._parts), arb(0))


# batches that are cut -------------------------------------------------------------------------------------------------


@final
class CutBatches:
    """How often a Poisson batch of at most B of n records is cut, and how often a record is in one.

    Args:
        rate: q in (0, 1).
        size: B >= 1.
        records: n > B, of the larger data set.

    Raises:
        InvalidValue: an argument out of range.
    """

    __slots__ = ("rate", "records", "size")
    rate: Fraction
    size: int
    records: int

    def __init__(self, *, rate: Exact, size: int, records: int) -> None:
        self.rate = exactly(rate, name="rate")
        if not 0 < self.rate < 1:
            remedy = "with rate 1 and a size a batch is of fixed size"
            raise InvalidValue("rate", rate, "in (0, 1)", remedy)
        self.size = check_whole(size, "size", least=1, remedy="say how large a batch is at most")
        self.records = check_whole(records, "records", least=1, remedy="say how many records there are")
        if not self.size < self.records <= _MOST:
            remedy = "no batch of fewer records is cut: they are those of Poisson sampling"
            raise InvalidValue("records", records, f"above the size, {self.size}, and at most {_MOST}", remedy)

    def tail(self, least: int, records: int | None = None) -> arb:
        """Pr[N >= least], N binomial of n - 1 or of so many records, at the current precision."""
        n = self.records - 1 if records is None else records
        if least <= 0:
            return arb(1)
        return arb(0) if least > n else ball(self.rate).beta_lower(least, n - least + 1, regularized=True)

    @property
    def taking_part(self) -> Fraction:
        """At most, and about, the probability q E min(1, B/(N + 1)) that the record is in a batch."""
        with precision(_BITS):
            q, n, b = ball(self.rate), self.records, self.size
            # E[1/(N + 1); N >= B] = Pr[N' >= B + 1]/(n q), N' binomial of n and q
            found = q * (1 - self.tail(b)) + ball(b) / n * self.tail(b + 1, n)
            return Fraction(_floor(found), _FINE)

    def groups(self) -> list[tuple[Fraction, Fraction, int]]:
        """Probabilities that add up to 1, with the rate of the record and how far it moves the sum."""
        q, b, n = self.rate, self.size, self.records - 1
        with precision(_BITS):
            if (uncut := 1 - self.tail(b)) > 1 - _RARE:
                whole = Fraction(_floor(uncut), _FINE)
                return [(whole, q, 1), (1 - whole, q, 2)]
        spread = math.sqrt(n * float(q * (1 - q)))
        last = max(b + 1, min(n, math.ceil(n * float(q) + _FAR * spread)))
        starts = sorted({b, *(b + round((last - b) * k / _GROUPS) for k in range(1, _GROUPS))})
        with precision(_BITS):
            tails = [self.tail(start) for start in starts] + [arb(0)]
            found = [(_floor(1 - tails[0]), q, 1)]
            found += [
                (_floor(tails[i] - tails[i + 1]), q * Fraction(b, start + 1), 2) for i, start in enumerate(starts)
            ]
        found.append((_FINE - sum(weight for weight, _, _ in found), q, 2))
        return [(Fraction(weight, _FINE), rate, moved) for weight, rate, moved in found if weight]


def _floor(probability: arb) -> int:
    """The probability in whole parts of one over `_FINE`, rounded down."""
    return max(0, int((probability.lower() * _FINE).floor().unique_fmpz() or 0))


def cut_batches(*, noise_multiplier: Exact, batches: CutBatches, steps: int, replaced: bool) -> PrivacyLoss:
    """A loss that dominates steps with Gaussian noise on Poisson batches that are cut at a size; see the module.

    Args:
        noise_multiplier: standard deviation of the noise in units of the bound on one record, > 0, exact.
        batches: how they are drawn.
        steps: their number.
        replaced: whether the record is replaced, rather than added or removed.

    Raises:
        InvalidValue: an argument out of range.

    >>> cut = CutBatches(rate="0.01", size=150, records=10_000)
    >>> loss = cut_batches(noise_multiplier=1, batches=cut, steps=1000, replaced=False)
    >>> round(loss.certified_epsilon("1e-5").upper, 4)
    1.8305
    """
    s = check_positive(noise_multiplier, "noise_multiplier")
    number = check_whole(steps, "steps", least=1, remedy="say how often a batch is drawn")
    groups = batches.groups()
    if replaced:
        both = [(w, [(1 - r, Fraction(0)), (r, moved / s)]) for w, r, moved in groups]
        return compose_counted([(ToldLoss([(w, GaussianMixtureLoss(part, part)) for w, part in both]), number)])
    remove, add = (
        ToldLoss([(w, SampledStep(GaussianLoss(moved / s), r, order)) for w, r, moved in groups]) for order in Direction
    )
    return compose_counted([(AddRemoveLoss(remove=remove, add=add), number)])
