"""Claims about every epsilon, or every order, that the far tail of a training run breaks: one half-space, in balls.

Let S be the sum of n noisy sums of a run, each with noise of standard deviation s: of all steps with Poisson sampling,
of the first batch of each epoch where an epoch is cut into batches. Without the record S is N(0, n s^2); with it in K
of them its mean is m(K) = K, or 2 K if the record is replaced by its opposite. (Where the place of a removed record
stays empty among others that contribute -1, the mean is K without the record and 2 K with it: S is taken less n, so
that the means are at most 0, and m(K) = 2 K - n.) So at every z, for every k, with mu_k = m(k)/(s sqrt n),

    Q(S > z s sqrt n) <= Phibar(z),      P(S > z s sqrt n) >= Pr[K = k] Phibar(z - mu_k),

where K is binomial, or all or nothing if one permutation serves all epochs. For k = n the two laws differ in the tail
as those of mu_n = m(n)/(s sqrt n), however small Pr[K = n] is. No smaller mu is kept, no smaller rho than mu_n^2/2,
and no pure epsilon; and as sampling tells no less than knowing the batches, this mu and this rho are kept.

Reference: the bound from above is joint convexity of the hockey-stick divergence, as in `DPSGD`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeVar, final

import numpy as np
import scipy
from flint import arb

from dpverdict.balls import Enclosure, Real, ball, precision
from dpverdict.mechanisms.core.bounds import BreakingEvent
from dpverdict.mechanisms.core.guarantees import GaussianDP, Guarantee, PureDP, RenyiDP, ZeroConcentratedDP
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.gaussian import BallNormal
from dpverdict.numerics.roots import bisected
from dpverdict.numerics.text import exact_text, short_text

N = TypeVar("N", Array, arb)

_NORMAL: Final = BallNormal()
_NEAR: Final = 2.0**20
"""Up to this z all k are tried, in float64; beyond it k = n, in balls: what is compared there are squares of z."""
_FARTHEST: Final = 400
"""The last z is 2 to this power."""
_COUNTS: Final = 400


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HalfSpaces:
    """The sums S of a run, and what each half-space {S > z s sqrt n} tells; see the module for the symbols.

    Attributes:
        noise_multiplier: s.
        number: n.
        rate: the probability that the record is in one of the n sums; that of one draw, where there are several.
        together: whether it is in all of them or in none.
        distance: how far the record moves the sum of a batch that it is in, m(n)/n; of one draw, if there are several.
        offset: 1 where the place of a removed record stays empty among others that contribute -1; else 0.
        words: S, in words.
        draws: how often each of the n sums draws from all records, with replacement: K is then binomial of n draws.
        below: whether the law without the record, or with its replacement, is a mixture of means that are not above 0.
    """

    noise_multiplier: Fraction
    number: int
    rate: Fraction
    together: bool
    distance: int
    offset: int
    words: str
    below: bool = False
    draws: int = 1

    @property
    def mu_squared(self) -> Fraction:
        """mu_n^2: the least mu of the run, squared."""
        return (self.distance * self.draws) ** 2 * self.number / self.noise_multiplier**2

    @property
    def chances(self) -> int:
        """The largest K."""
        return self.number * self.draws

    def mu(self, count: int) -> arb:
        """mu_k at the current precision."""
        return self.mean(count) / (ball(self.noise_multiplier) * arb(self.number).sqrt())

    def mean(self, count: int) -> int:
        """m(k)."""
        return (self.distance + self.offset) * count - self.offset * self.number

    def log_weight(self, count: int) -> arb:
        """log Pr[K = k] at the current precision, 1 <= k <= n; of one permutation, k = n alone."""
        rate, rest = ball(self.rate), self.chances - count
        if self.together:
            return rate.log()
        ways = arb(self.chances + 1).lgamma() - arb(count + 1).lgamma() - arb(rest + 1).lgamma()
        return ways + count * rate.log() + (rest * (-rate).log1p() if rest else 0)

    def counts(self) -> tuple[Array, Array, Array]:
        """Some k, with log Pr[K = k] and mu_k, in float64."""
        n, rate = self.chances, float(self.rate)
        log_rate = math.log(self.rate.numerator) - math.log(self.rate.denominator)
        k = np.array([n]) if self.together else np.unique(np.linspace(1, n, min(n, _COUNTS)).round())
        ways = (
            np.zeros(k.shape)
            if self.together
            else scipy.special.gammaln(n + 1) - scipy.special.gammaln(k + 1) - scipy.special.gammaln(n - k + 1)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            absent = np.where(k < n, (n - k) * np.log1p(-rate), 0.0)
        weights = np.full(k.shape, log_rate) if self.together else ways + k * log_rate + absent
        mus = np.array([self.mean(int(count)) for count in k]) / (float(self.noise_multiplier) * math.sqrt(self.number))
        return k[mus > 0], weights[mus > 0], mus[mus > 0]

    def against(self, claim: Guarantee) -> BreakingEvent | None:
        """A half-space that breaks the claim: of mu, of rho, of a Renyi order above 1, or of a pure epsilon.

        None where none does, which for a claim of mu is when it is kept, at mu_n or above; and of other claims.
        """
        found = next(_breaking_half_spaces(self, claim), None) if _speaks_of_the_tail(claim) else None
        if found is None:
            return None
        z, count = found
        with precision(_bits(z)):
            weight, mu = self.log_weight(count), self.mu(count)
            own, other = (weight + _log_tail(ball(z) - mu)).exp(), _NORMAL.tail(ball(z))
            most = _NORMAL.tail(ball(z) - self.mu(self.chances)).upper()
            p = Enclosure.hull(own, own.max(most))
            q = Enclosure.hull(arb(0) if self.offset or self.below else other, other)
            quantity, value, bound = _comparison_with_claim(claim, z, own, other, most, mu)
        sums = f"{self.words}, divided by s sqrt({self.number}), s = {short_text(self.noise_multiplier)},"
        return BreakingEvent(
            event=f"{sums} is above {exact_text(z)}; of P only the runs with the canary in {count} of the "
            f"{self.chances} {'sums' if self.draws == 1 else 'draws'} are counted",
            probability=p,
            neighbour_probability=q,
            quantity=quantity,
            value=value,
            bound=bound,
        )


def _speaks_of_the_tail(claim: Guarantee) -> bool:
    return isinstance(claim, GaussianDP | ZeroConcentratedDP | PureDP) or (
        isinstance(claim, RenyiDP) and claim.order > 1
    )


# the search -----------------------------------------------------------------------------------------------------------


def _excess(
    claim: Guarantee, own: N, other: N, z: N, mu: N, log_tail: Callable[[N], N], number: Callable[[Fraction], N]
) -> N:
    """By how much log P(event) and log Q(event) break the claim, > 0; Renyi divergences by data processing."""
    match claim:
        case GaussianDP():
            return own - log_tail(z - number(claim.mu))
        case RenyiDP():
            a = number(claim.order)
            return a * own + (1 - a) * other - (a - 1) * number(claim.epsilon)
        case ZeroConcentratedDP():
            a = z / mu  # of the order of the event that shows most of a Gaussian pair
            return a * own + (1 - a) * other - a * (a - 1) * number(claim.rho)
        case PureDP():
            return own - other - number(claim.epsilon)
        case _:
            raise AssertionError(claim)


def _breaking_half_spaces(spaces: HalfSpaces, claim: Guarantee) -> Iterator[tuple[Fraction, int]]:
    """Half-spaces that break the claim for certain, as (z, k): among the nearest first."""
    counts, weights, mus = spaces.counts()

    def best(z: float) -> tuple[float, int]:
        own, other = weights + scipy.special.log_ndtr(mus - z), np.full(mus.shape, scipy.special.log_ndtr(-z))
        at = np.full(mus.shape, z)
        with np.errstate(all="ignore"):
            found = _excess(
                claim, own, other, at, mus, lambda t: scipy.special.log_ndtr(-t), lambda x: np.full(mus.shape, float(x))
            )
        if isinstance(claim, ZeroConcentratedDP):
            found = np.where(z > mus, found, -np.inf)  # of an order above 1
        at_best = int(np.nan_to_num(found, nan=-np.inf).argmax())
        return float(found[at_best]), int(counts[at_best])

    near = [z for z in (2.0 ** (i / 2) for i in range(-8, 41)) if best(z)[0] > 0]
    if near:
        _, z = bisected(lambda z: not best(z)[0] > 0, near[0] / 2, near[0], steps=12)
        for further in (z, near[0], *near[1:3]):
            at = Fraction(math.ceil(further * 1000), 1000)
            if _certainly_breaks(spaces, claim, at, best(float(at))[1]):
                yield at, best(float(at))[1]
    for i in range(20, _FARTHEST):
        if _certainly_breaks(spaces, claim, Fraction(2) ** i, spaces.chances):
            yield Fraction(2) ** i, spaces.chances


def _certainly_breaks(spaces: HalfSpaces, claim: Guarantee, z: Fraction, count: int) -> bool:
    with precision(_bits(z)):
        at, mu = ball(z), spaces.mu(count)
        if isinstance(claim, ZeroConcentratedDP) and not at > mu:
            return False
        own, other = spaces.log_weight(count) + _log_tail(at - mu), _log_tail(at)
        return bool(_excess(claim, own, other, at, mu, _log_tail, ball) > 0)


def _bits(z: Fraction) -> int:
    return 192 + 3 * max(z.numerator // z.denominator, 1).bit_length()


def _log_tail(t: arb) -> arb:
    return _NORMAL.tail(t).log()


def _comparison_with_claim(
    claim: Guarantee, z: Fraction, own: arb, other: arb, most: arb, mu: arb
) -> tuple[str, Enclosure, Enclosure]:
    """What the event says of the quantity of the claim: its name, what is attained, and what is allowed."""
    match claim:
        case GaussianDP():
            epsilon = claim.mu * z - claim.mu**2 / 2  # at which {S > z s sqrt n} is the event of the Gaussian pair
            charged = ball(epsilon).exp() * other
            allowed = _NORMAL.tail(ball(z - claim.mu)) - charged
            return f"delta({short_text(epsilon)})", Enclosure.hull(own - charged, most), Enclosure.of_ball(allowed)
        case ZeroConcentratedDP():
            a = ball(z) / mu
            shown = (a * own.log() + (1 - a) * other.log()) / (a * (a - 1))
            order = f"{float(a.mid()):.6g}"
            return (
                f"the Renyi divergence of order {order}, over the order,",
                _at_least(shown),
                Enclosure.of(Real.of(claim.rho)),
            )
        case RenyiDP():
            a = ball(claim.order)
            shown = (a * own.log() + (1 - a) * other.log()) / (a - 1)
            name = f"Renyi divergence of order {claim.order}"
            return name, _at_least(shown), Enclosure.of(Real.of(claim.epsilon))
        case _:
            assert isinstance(claim, PureDP)
            return "the largest privacy loss", _at_least(own.log() - other.log()), Enclosure.of(Real.of(claim.epsilon))


def _at_least(shown: arb) -> Enclosure:
    return Enclosure.hull(shown, arb("inf"))
