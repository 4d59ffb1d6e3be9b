"""Balls in bins of which each moves all of a release: a mixture of normal laws with any inner products of the means.

A record is put into one of b bins, uniformly, and with it the release has the mean m_i, without it 0: under Q the
likelihood ratio is the mean R of b lognormal variables exp(Z_i - G_ii/2), Z normal with the covariance G, the inner
products of the means over the variance of the noise. So

    remove: delta(epsilon) = E(R - e^epsilon)_+,        add: delta(epsilon) = E(1 - e^epsilon R)_+.

**Comparison.** Both are means of convex functions of a sum with weights >= 0 of such variables, and do not fall as any
entry of G grows, on the diagonal or beside it (Kahane 1986). So does a mechanism in which gradients depend on earlier
releases obey it: from the last row of the release to the first one, the mean given the past is such a function of the
weights that the past gives to the bins, and the products of two moves of norm at most |u| and |v| are at most |u| |v|.
With c the largest entry beside the diagonal, and D the largest on it, G is below that of Z_i = N(0, c) + N(0, D - c)_i:
a Gaussian pair of mu^2 = c, composed with random allocation to b bins with noise 1/sqrt(D - c).

From below, G is above a covariance in which w bins in a row move as one, with variance v, the smallest entry at any
distance below w, and covariance c with all others, the smallest entry: the same pair with b/w bins, rounded up, and v.
(Bins of equal weights have the smallest such mean.) The law of its likelihood ratio being smaller in convex order, it
is a random function of the true pair (Blackwell; Strassen), so that a test of it is one of the release.

**Classes.** Let it be told which residue modulo g the bin has. That tells no less, by joint convexity, and bins of one
class are g or more apart, so that c is smaller where means far from each other have smaller products.

**Geometric means.** R is at least exp(mean of the Z_i - D/2), so that the order add is below a Gaussian pair of
mu^2 = V at epsilon - (D - V)/2, V the mean of all entries of G. Of means that hardly move together V is small.

**Moments.** Of the largest product at each distance on a circle of bins, with those from some distance on replaced by
the largest of them, `dpverdict.audit.sampling.mixtures.bin_moments` knows E R^n, and bounds E(R - a)_+ by polynomials.
That they are those of some law is shown by its eigenvalues, up to which the diagonal is raised where one is negative.

Reference: Kahane 1986 (Une inegalite du type de Slepian et Gordon sur les processus gaussiens); Choquette-Choo et al.
2024 (arXiv:2410.06266), the mixture; Schuchardt and Kalinin 2026 (arXiv:2601.21636), moments of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Final, final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import AddRemoveLoss, LikelihoodRatio, PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.mixtures.bin_moments import BinMoments
from dpverdict.balls import precision
from dpverdict.errors import InvalidValue

_CLASSES: Final = 6
"""Numbers of classes that need not divide that of the bins."""
_CIRCLES: Final = 12
_WIDTHS: Final = (1, 2, 3, 4, 6)
_BEST: Final = 5
"""Sets of moments that are tried at one epsilon."""
_BITS: Final = 128
_ROOT_BITS: Final = 64
_BLOCK: Final = 1 << 20


@final
@dataclass(frozen=True, kw_only=True)
class CorrelatedBins:
    """Bins whose means have inner products between two numbers at each distance, over the variance of the noise.

    Attributes:
        most: from the distance d on a circle of b bins, 0 <= d <= b/2, to what no product exceeds, exactly.
        least: from the distance d in a row of bins, 0 <= d < b, to what no product is below, >= 0, exactly.
        bins: b >= 2.
    """

    most: tuple[Fraction, ...]
    least: tuple[Fraction, ...]
    bins: int

    def __post_init__(self) -> None:
        if self.bins < 2 or len(self.most) != self.bins // 2 + 1 or min(*self.most, *self.least) < 0:
            remedy = "give one number >= 0 for each distance on the circle"
            raise InvalidValue("most", len(self.most), f"{self.bins // 2 + 1} numbers >= 0", remedy)

    @property
    def mu_squared(self) -> Fraction:
        """No |m_i|^2 is larger: the bin being known, the pair is Gaussian."""
        return self.most[0]

    def _classes(self) -> Iterator[tuple[int, int, Fraction]]:
        """Into how many classes the bins are cut, how many bins the smallest has, and the largest product in one."""
        for number in range(1, self.bins // 2 + 1):
            if number > _CLASSES and self.bins % number:
                continue
            in_class = self.bins // number
            distances = (min(k * number, self.bins - k * number) for k in range(1, -(-self.bins // number)))
            yield number, in_class, min(max(self.most[d] for d in distances), self.most[0])

    @cached_property
    def above(self) -> AddRemoveLoss:
        """A privacy loss that dominates the pair: of the classes with about the smallest second moment."""
        found = min(self._classes(), key=lambda one: _log_second_moment(self.most[0], one[2], one[1]))
        return _common_and_own(common=found[2], square=self.most[0], bins=found[1], up=True)

    @cached_property
    def attained(self) -> AddRemoveLoss:
        """The privacy loss of a pair that is no easier to tell apart."""
        smallest = list(accumulate(self.least, min))
        common = smallest[-1]
        together = max(
            range(1, self.bins), key=lambda w: _log_second_moment(smallest[w - 1], common, -(-self.bins // w))
        )
        return _common_and_own(common=common, square=smallest[together - 1], bins=-(-self.bins // together), up=False)

    @cached_property
    def _moments(self) -> list[BinMoments]:
        """Moments of the circle, and of its classes where they are circles, cut off at some distances."""
        found = []
        for number in (n for n in range(1, _CIRCLES) if self.bins % n == 0 and self.bins > n):
            bins = self.bins // number
            kernel = [self.most[min(k * number, self.bins - k * number)] for k in range(bins // 2 + 1)]
            beside = max(kernel[1:])
            kernel[0] = max(kernel[0], beside)
            for width in {min(w, bins // 2 + 1) for w in _WIDTHS}:
                common = max(kernel[width:], default=Fraction(0))
                near = [max(value - common, Fraction(0)) for value in kernel[:width]]
                while len(near) > 1 and near[-1] == 0:
                    near.pop()
                raised = near[0] + _short_of_positive(near, bins)
                made = BinMoments(bins=bins, kernel=(raised, *near[1:]), common=common)
                if made not in found:
                    found.append(made)
        return [one for one in found if one.orders > 1]

    @cached_property
    def _square_and_mean(self) -> tuple[Fraction, Fraction]:
        """The diagonal of a covariance with the largest products, and the mean of all its entries."""
        raised = _short_of_positive(self.most, self.bins)
        mean = (raised + sum(self.most[min(d, self.bins - d)] for d in range(self.bins))) / self.bins
        return self.most[0] + raised, mean

    def removed_at_most(self, epsilon: Fraction) -> arb:
        """An upper bound on E(R - e^epsilon)_+, epsilon >= 0, by moments and by `above`."""
        nearest = sorted(self._moments, key=lambda one: one.roughly(float(epsilon)))[:_BEST]
        curve = self.above.remove._delta_balls([epsilon])[0]  # pyright: ignore[reportPrivateUsage]
        with precision(_BITS):
            best = arb(curve.upper())
            for one in nearest:
                best = best.min(one.above(epsilon).upper())
            return best

    def added_at_most(self, epsilon: Fraction) -> arb:
        """An upper bound on E(1 - e^epsilon R)_+, epsilon >= 0, by geometric means and by `above`."""
        curve = self.above.add._delta_balls([epsilon])[0]  # pyright: ignore[reportPrivateUsage]
        square, mean = self._square_and_mean
        shifted = epsilon - (square - mean) / 2
        geometric = GaussianLoss.from_squared(mean)._delta_balls([shifted])[0]  # pyright: ignore[reportPrivateUsage]
        with precision(_BITS):
            return arb(curve.upper()).min(arb(geometric.upper()))

    def delta_at_most(self, epsilon: Fraction) -> arb | None:
        """An upper bound on delta(epsilon) in both orders; None for epsilon < 0."""
        if epsilon < 0:
            return None
        added, removed = self.added_at_most(epsilon), self.removed_at_most(epsilon)
        with precision(_BITS):
            return arb.max(removed, added)


def _log_second_moment(square: Fraction, common: Fraction, bins: int) -> float:
    """log of E R^2, in float64."""
    c, own = float(common), float(square - common)
    return c + (own - math.log(bins) if own > 700 else math.log1p(math.expm1(own) / bins))


def _common_and_own(*, common: Fraction, square: Fraction, bins: int, up: bool) -> AddRemoveLoss:
    """The loss where all products are ``common``, and all squares ``square``; rounded up, or down."""
    parts: list[tuple[PrivacyLoss | AddRemoveLoss, int]] = []
    if common > 0:
        parts.append((GaussianLoss.from_squared(common), 1))
    if square > common:
        parts.append((random_allocation(noise_multiplier=_inverse_root(square - common, up=not up), steps=bins), 1))
    made = compose_counted(parts) if parts else GaussianLoss(0)
    ratio = None
    if not up:
        ratio = LikelihoodRatio(
            f"x + log of the mean of exp(y_i - v/2) over {bins} bins",
            "a random function of the release, which has the law of bins whose means have equal products",
        )
    if isinstance(made, AddRemoveLoss):
        return made if ratio is None else AddRemoveLoss(remove=made.remove, add=made.add, ratio=ratio)
    return AddRemoveLoss(remove=made, add=made)


def _inverse_root(square: Fraction, *, up: bool) -> Fraction:
    """1/sqrt(square), rounded to one side."""
    scale = 1 << _ROOT_BITS
    root = math.isqrt(scale**2 * square.denominator // square.numerator)
    return Fraction(root + up, scale)


def _short_of_positive(kernel: Sequence[Fraction], bins: int) -> Fraction:
    """What has to be added to the diagonal so that a circle of such products is a covariance; 0 if it is one.

    The eigenvalues are sums of products with cosines, in float64, less what they err by: at most 2^-49 in a cosine,
    and a unit of the sum of all terms in every addition.
    """
    if len(kernel) == 1:
        return Fraction(0)
    cosines = np.cos(2 * np.pi * np.arange(bins) / bins)
    twice = np.array([1.0] + [1.0 if 2 * d == bins else 2.0 for d in range(1, len(kernel))])
    terms, least = twice * np.array([float(value) for value in kernel]), math.inf
    for first in range(0, bins, block := max(1, _BLOCK // len(kernel))):
        places = np.arange(first, min(first + block, bins))[:, None] * np.arange(len(kernel)) % bins
        least = min(least, float((cosines[places] @ terms).min()))
    lowest = least - float(terms.sum()) * (len(kernel) + 64) * 2.0**-52
    return Fraction(0) if lowest >= 0 else Fraction(-lowest)
