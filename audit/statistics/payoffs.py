"""Payoffs whose mean is at most 0 if a claim holds: of the whole curve, of both orders of a pair, or of a divergence.

Symbols: x is an output on the dataset (law P), y one on the neighbour (law Q), L any score fixed beforehand.

The curve payoff: all points of the claimed curve at once. For weights w >= 0 the claim implies, for every L and
whatever the laws are,

    E_P[integral of w(e) 1{L >= e} de] - E_Q[integral of w(e) exp(e) 1{L >= e} de] <= integral of w(e) delta(e) de.

With w(e) = exp(-e/2) on [-tau, tau] and L clipped there, the left side is E_P phi(L) - E_Q psi(L),

    phi(L) = 2 (exp(tau/2) - exp(-L/2)),      psi(L) = 2 (exp(L/2) - exp(-tau/2)),

and b_tau on the right. This weight is nearly the best one for Gaussian noise; a poor score loses power, not validity.

The symmetric payoff, for one (epsilon, delta), when the claim covers both orders: with A = {L >= t}, B = {L <= -t},

    [1_A(x) - exp(epsilon) 1_B(x) + 1_B(y) - exp(epsilon) 1_A(y)]/2 - delta.

The divergence payoff, for claims about moments: rho-zCDP and Renyi DP bound the Kullback-Leibler divergence of both
orders. With g = L times a scale, clipped to [-clip, clip], Donsker and Varadhan: KL(P || Q) >= E_P g - log E_Q exp(g).
The logarithm is concave, log m <= m/c - 1 + log c for every c > 0, so with constants c_1, c_2 for the two orders

    E_P[(g - exp(-g)/c_2)/2] - E_Q[(g + exp(g)/c_1)/2] <= KL - 1 + (log c_1 + log c_2)/2,

KL the mean of both divergences. Every choice is valid; with g = log dP/dQ and c = 1 the two sides are equal. The curve
that such a claim implies is loose, so that for a tight mechanism this payoff tells what no event can.

References: Donsker and Varadhan 1983 (CPAM 36), Lemma 2.1; Bun and Steinke 2016 (arXiv:1605.02065), Definition 1.1: the
Renyi divergence does not decrease with its order, so the claim at an order above 1 bounds that of order 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol, final

import numpy as np

from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import Guarantee, RenyiDP, ZeroConcentratedDP
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above

LARGEST_TAU: Final = 20.0
CELLS: Final = 4096
TAU_PER_MU: Final = 1.5
_PAD: Final = 1e-13
"""Relative, for a sum of positive terms of a few rounded operations each, added pairwise."""


ROUNDED_UP: Final = 1 + 1e-12
"""A largest loss times this is one for the payoffs as float64 computes them."""
LARGEST_CLIP: Final = 20.0
CLIPS: Final = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
SCALES: Final = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)
_PAD_DIVERGENCE: Final = 1e-14
"""For the few rounded operations of what is allowed."""


class Profile(Protocol):
    """Anything with a privacy profile bounded from above at any real epsilon, such as a guarantee."""

    def delta_upper(self, epsilon: Array, /) -> Array:
        """At least the claimed delta at every epsilon: shape (n,) to shape (n,)."""
        ...


class Payoff(Protocol):
    """x - y - b of a pair of outputs, from their scores."""

    @property
    def allowed(self) -> float:
        """b: at most this is E x - E y under the claim."""
        ...

    @property
    def largest_loss(self) -> float:
        """c: the payoff of a pair is never below -c."""
        ...

    def of_dataset(self, scores: Array) -> Array:
        """x from scores of outputs on the dataset."""
        ...

    def of_neighbour(self, scores: Array) -> Array:
        """y from scores of outputs on the neighbour."""
        ...

    def describe(self) -> dict[str, object]:
        """The payoff as data."""
        ...


def weighted_profile_upper(profile: Profile, tau: float, *, cells: int = CELLS) -> float:
    """b_tau, the integral of exp(-e/2) delta(e) over [-tau, tau], rounded up.

    The hockey-stick divergence of any two laws is convex in exp(epsilon). So what the claim allows at the nodes bounds
    what it allows between them by chords, which are integrated exactly, each term positive.

    Args:
        profile: of the claim.
        tau: in (0, 20].
        cells: of the grid; the excess over the exact integral falls with its square (3e-8 of it at 4096).

    Raises:
        InvalidValue: tau out of range.

    >>> from dpverdict.mechanisms.core.guarantees import GaussianDP
    >>> round(weighted_profile_upper(GaussianDP(1), 1.5), 6)
    1.627981
    """
    if not 0 < tau <= LARGEST_TAU:
        raise InvalidValue("tau", tau, f"in (0, {LARGEST_TAU:g}]", "1.5 to 2 times mu is a good range")
    epsilons = np.linspace(-tau, tau, cells + 1)
    deltas = np.asarray(profile.delta_upper(epsilons), dtype=np.float64)
    # In g = exp(e) the weight is g^(-3/2) dg. With s, t the roots of the ends of a cell and a chord d_0, d_1 on it, the
    # integral is 2 (t - s)/(t + s) (d_0/s + d_1/t).
    roots = np.exp(epsilons / 2)
    s, t = roots[:-1], roots[1:]
    halves = np.tanh(np.diff(epsilons) / 4)  # (t - s)/(t + s)
    terms = 2 * halves * (deltas[:-1] / s + deltas[1:] / t)
    return float(terms.sum()) * (1 + _PAD + cells * 1e-16)


@final
@dataclass(frozen=True, slots=True)
class CurvePayoff:
    """All points of a claimed curve in [-tau, tau] at once.

    Attributes:
        tau: where scores are clipped.
        allowed: b_tau, rounded up.
    """

    tau: float
    allowed: float

    @staticmethod
    def of_claim(profile: Profile, tau: float | None = None, *, cells: int = CELLS) -> CurvePayoff:
        """The payoff of a claim; without tau, at the one of `natural_tau`."""
        tau = natural_tau(profile) if tau is None else tau
        return CurvePayoff(tau, weighted_profile_upper(profile, tau, cells=cells))

    @property
    def largest_loss(self) -> float:
        """psi(tau) + b_tau, rounded up: phi is never negative."""
        return (4 * math.sinh(self.tau / 2) + self.allowed) * ROUNDED_UP

    def of_dataset(self, scores: Array) -> Array:
        """phi(L)."""
        values: Array = 2 * (math.exp(self.tau / 2) - np.exp(-np.clip(scores, -self.tau, self.tau) / 2))
        return values

    def of_neighbour(self, scores: Array) -> Array:
        """psi(L)."""
        values: Array = 2 * (np.exp(np.clip(scores, -self.tau, self.tau) / 2) - math.exp(-self.tau / 2))
        return values

    def describe(self) -> dict[str, object]:
        """Kind, tau and b_tau."""
        return {"kind": "curve", "tau": self.tau, "allowed": self.allowed}


@final
@dataclass(frozen=True, slots=True)
class SymmetricPayoff:
    """Both orders of the pair at one (epsilon, delta).

    Attributes:
        epsilon: >= 0, rounded up.
        allowed: delta, rounded up.
        threshold: t > 0, usually a little below epsilon, so that the set where the ratio is saturated belongs to A.
    """

    epsilon: float
    allowed: float
    threshold: float

    def __post_init__(self) -> None:
        if not self.threshold > 0:
            raise InvalidValue("threshold", self.threshold, "> 0", "A and B must not meet")

    @property
    def largest_loss(self) -> float:
        """A and B are disjoint: one output loses at most exp(epsilon)/2, both together exp(epsilon); rounded up."""
        return (math.exp(self.epsilon) + self.allowed) * ROUNDED_UP

    def of_dataset(self, scores: Array) -> Array:
        """[1_A - exp(epsilon) 1_B]/2."""
        above, below = scores >= self.threshold, scores <= -self.threshold
        values: Array = (above - math.exp(self.epsilon) * below) / 2
        return values

    def of_neighbour(self, scores: Array) -> Array:
        """[exp(epsilon) 1_A - 1_B]/2."""
        return -self.of_dataset(-scores)

    def describe(self) -> dict[str, object]:
        """Kind and numbers."""
        numbers = {"epsilon": self.epsilon, "delta": self.allowed, "threshold": self.threshold}
        return {"kind": "symmetric", **numbers}


def natural_tau(profile: Profile) -> float:
    """Where half of the claimed curve lies: 1.5 times the mu of a GDP claim with the same total variation distance.

    Any tau is valid; between 1.5 and 2 times mu the power does not change. In [0.05, 12].
    """
    from scipy import special

    variation = float(np.asarray(profile.delta_upper(np.zeros(1)))[0])
    mu = 2 * float(special.ndtri((1 + min(variation, 1 - 1e-12)) / 2))
    return min(max(TAU_PER_MU * mu, 0.05), 12.0)


def divergence_upper(claim: Guarantee) -> float | None:
    """The largest Kullback-Leibler divergence that a claim about moments allows, rounded up; None for other claims.

    >>> from dpverdict.mechanisms.core.guarantees import parse_guarantee
    >>> divergence_upper(parse_guarantee("rho=0.5")), divergence_upper(parse_guarantee("mu=1"))
    (0.5, None)
    """
    match claim:
        case ZeroConcentratedDP():
            return float_above(claim.rho)  # the limit of D_a <= a rho as a falls to 1
        case RenyiDP():
            return float_above(claim.epsilon)
        case _:
            return None


@final
@dataclass(frozen=True, slots=True)
class DivergencePayoff:
    """Both divergences of order 1 at once.

    Attributes:
        divergence: what the claim allows them to be, rounded up.
        scale: of the score.
        clip: of the scaled score.
        means: c_1 and c_2, about E_Q exp(g) and E_P exp(-g).

    Raises:
        InvalidValue: a number out of range.
    """

    divergence: float
    scale: float
    clip: float
    means: tuple[float, float]

    def __post_init__(self) -> None:
        if not (0 <= self.divergence < math.inf and 0 < self.clip <= LARGEST_CLIP and 0 < self.scale < math.inf):
            numbers = (self.divergence, self.scale, self.clip)
            raise InvalidValue("payoff", numbers, f"finite, with a clip in (0, {LARGEST_CLIP:g}]", "take another score")
        if not all(math.exp(-self.clip) <= c <= math.exp(self.clip) for c in self.means):
            raise InvalidValue("means", self.means, "two means of exp(g)", "estimate them on exploring trials")

    @property
    def allowed(self) -> float:
        """divergence - 1 + (log c_1 + log c_2)/2, rounded up."""
        logarithms = math.log(self.means[0]), math.log(self.means[1])
        size = 1 + self.divergence + abs(logarithms[0]) + abs(logarithms[1])
        return self.divergence - 1 + (logarithms[0] + logarithms[1]) / 2 + size * _PAD_DIVERGENCE

    @property
    def largest_loss(self) -> float:
        """x is least at g = -clip, y is largest at g = clip; rounded up."""
        top = math.exp(self.clip)
        of_pair = self.clip + (top / self.means[0] + top / self.means[1]) / 2
        return max(of_pair + self.allowed, of_pair / 2) * ROUNDED_UP

    def of_dataset(self, scores: Array) -> Array:
        """(g - exp(-g)/c_2)/2."""
        g = self._clipped(scores)
        values: Array = (g - np.exp(-g) / self.means[1]) / 2
        return values

    def of_neighbour(self, scores: Array) -> Array:
        """(g + exp(g)/c_1)/2."""
        g = self._clipped(scores)
        values: Array = (g + np.exp(g) / self.means[0]) / 2
        return values

    def describe(self) -> dict[str, object]:
        """Kind and numbers."""
        numbers = {"scale": self.scale, "clip": self.clip, "means": list(self.means), "allowed": self.allowed}
        return {"kind": "divergence", **numbers}

    def _clipped(self, scores: Array) -> Array:
        values: Array = np.clip(scores * self.scale, -self.clip, self.clip)
        return values


def plan_divergence(divergence: float, dataset_scores: Array, neighbour_scores: Array) -> DivergencePayoff:
    """The payoff whose wealth would grow fastest on exploring scores, which nothing else may use.

    Args:
        divergence: what the claim allows, of `divergence_upper`.
        dataset_scores: shape (n,).
        neighbour_scores: shape (m,).
    """
    payoffs = [
        DivergencePayoff(divergence, scale, clip, _mean_exponentials(scale, clip, dataset_scores, neighbour_scores))
        for clip in CLIPS
        for scale in SCALES
    ]
    return max(payoffs, key=lambda payoff: _growth_rate(payoff, dataset_scores, neighbour_scores))


def _mean_exponentials(
    scale: float, clip: float, dataset_scores: Array, neighbour_scores: Array
) -> tuple[float, float]:
    g, h = (np.clip(scale * scores, -clip, clip) for scores in (neighbour_scores, -dataset_scores))
    largest = math.exp(clip)
    first, second = (min(max(float(np.exp(values).mean()), 1 / largest), largest) for values in (g, h))
    return first, second


def _growth_rate(payoff: DivergencePayoff, dataset_scores: Array, neighbour_scores: Array) -> float:
    """Of the logarithm of the wealth per pair, by log(1 + t) >= t - t^2 from t = -1/2 on; the mean if nothing grows."""
    x, y = payoff.of_dataset(dataset_scores), payoff.of_neighbour(neighbour_scores)
    mean, variance = float(x.mean() - y.mean()) - payoff.allowed, float(x.var() + y.var())
    if mean <= 0:
        return mean
    squares = variance + mean**2
    stake = min(mean / (2 * squares), 1 / (2 * payoff.largest_loss))
    return stake * mean - stake**2 * squares
