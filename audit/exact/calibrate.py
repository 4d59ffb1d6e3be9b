"""The least noise that keeps a claim, by the certified curves of its worst neighbours.

`calibrate` finds it for any mechanism with a scale and any claim. For (epsilon, delta)-DP there are ways of their own:
of Laplace noise in d coordinates, and of the random direction of R1SMG, where the least scale shows what the shape of
the noise costs once its guarantee is true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb

from dpverdict.audit.exact.comparison import enclosed
from dpverdict.audit.exact.decide import without_curves
from dpverdict.audit.exact.spending import Account, held_to
from dpverdict.audit.exact.tail import half_spaces
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.exact.worst_case import worst_case
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.losses.spherical.integral import Quantity, integrate
from dpverdict.audit.losses.spherical.random_direction import RandomDirectionGaussian
from dpverdict.balls import Enclosure, Exact, Real, ball, doublings, exactly, precision
from dpverdict.checks import check_dim, check_not_negative, check_positive, check_probability, check_whole
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.calibration import analytic_scale, concentrated_scale
from dpverdict.mechanisms.core.guarantees import ApproximateDP, GaussianDP, Guarantee, ZeroConcentratedDP, as_guarantee
from dpverdict.mechanisms.core.mechanism import AdditiveMechanism
from dpverdict.mechanisms.queries.laplace import LaplaceMechanism
from dpverdict.mechanisms.queries.rank1 import Rank1Gaussian, published_psi
from dpverdict.mechanisms.training.dp_sgd import DPSGD
from dpverdict.numerics.roots import Bracket, bisected, float_below, least_float
from dpverdict.numerics.text import short_text

_STEP: Final = 2.0**-44
"""What a scale grows by, relatively, while it is not certainly large enough; doubled each time."""
_BITS: Final = 96
_TRAINING_WIDTH: Final = 2.0**-20
"""Of the bracket of a noise multiplier, relatively: each of its ends takes integrals of its own."""
_MAX_BITS: Final = 1 << 12
_WIDTH: Final = 2**58
"""The bracket of a scale is narrowed to this share of it."""


def exact_laplace_scale(dim: int, epsilon: Exact, delta: Exact) -> float:
    """The least scale, to 13 digits, at which d coordinates that each move by 1 are certainly (epsilon, delta)-DP.

    It is the exact requirement of sums of records in [0, 1]^d: the all-ones record moves every coordinate by 1, and the
    loss of a log-concave law grows with the shift. The enclosure of delta(epsilon) at the scale returned lies at or
    below delta.

    Args:
        dim: number of coordinates d >= 1.
        epsilon: > 0.
        delta: in (0, 1).

    Raises:
        InvalidValue: an argument is out of its domain.

    >>> round(exact_laplace_scale(1, 1, "0.01"), 6)
    0.980295
    """
    size, goal = check_dim(dim), float_below(exactly(delta, name="delta"))
    above = concentrated_scale(epsilon, delta, size, size)  # checks epsilon and delta, and is large enough

    def certainly(scale: float) -> bool:
        return LaplaceLoss.equal(size, 1 / exactly(scale)).certified_delta(epsilon).upper <= goal

    def roughly(scale: float) -> bool:
        return scale > above / 1e9 and LaplaceLoss.equal(size, 1 / exactly(scale)).delta(epsilon) <= goal

    scale, step = min(least_float(roughly, above), above), _STEP
    while not certainly(scale):
        scale, step = scale * (1 + step), 2 * step
    return scale


def exact_laplace(*, dim: int, epsilon: Exact, delta: Exact, adjacency: NeighboringRelation) -> LaplaceMechanism:
    """The Laplace mechanism with `exact_laplace_scale`, claiming (epsilon, delta)-DP.

    >>> from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
    >>> exact_laplace(dim=4, epsilon=1, delta="1e-3", adjacency=REPLACE_ONE).calibration
    'exact curve'
    """
    return LaplaceMechanism.with_scale(
        dim=dim,
        scale=exact_laplace_scale(dim, epsilon, delta),
        claim=ApproximateDP(epsilon, delta),
        adjacency=adjacency,
        calibration="exact curve",
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rank1Calibration:
    """Three mean squared errors E|noise|^2 at one (epsilon, delta), for records of l2-norm at most 1.

    Attributes:
        mechanism: R1SMG at the honest scale; its claim is certified.
        published: the error of the published scale, whose claim is false for dim >= 4.
        honest: the error of the honest scale.
        gaussian: the error of the analytic Gaussian mechanism, which keeps the same guarantee.
    """

    mechanism: Rank1Gaussian
    published: float
    honest: float
    gaussian: float


def calibrate_rank1(*, dim: int, epsilon: Exact, delta: Exact) -> Rank1Calibration:
    """R1SMG at the least scale that is really (epsilon, delta)-DP, and what that costs.

    Args:
        dim: dimension M >= 3.
        epsilon, delta: the guarantee, both > 0.

    Raises:
        InvalidValue: a parameter out of range.

    >>> costs = calibrate_rank1(dim=10, epsilon=1, delta="1e-3")
    >>> round(costs.published, 1), float(f"{costs.honest:.3g}"), round(costs.gaussian, 1)
    (15.6, 1640000.0, 66.3)
    """
    dim, claim = check_dim(dim), ApproximateDP(check_positive(epsilon, "epsilon"), check_positive(delta, "delta"))
    scale = honest_scale(dim=dim, epsilon=claim.epsilon, delta=claim.delta).upper
    mechanism = Rank1Gaussian(dim=dim, epsilon=epsilon, delta=delta, scale=scale)
    return Rank1Calibration(
        mechanism=mechanism,
        published=2 / (float(mechanism.claim.epsilon) * published_psi(mechanism.dim, mechanism.claim.delta).nearest()),
        honest=float(mechanism.mean_squared_error),
        gaussian=mechanism.dim * analytic_scale(epsilon, delta, Real.of(1)) ** 2,
    )


def honest_scale(*, dim: int, epsilon: Exact, delta: Exact) -> Enclosure:
    """Encloses the least sigma at which sigma z v is really (epsilon, delta)-DP, for l2-sensitivity 1.

    delta(epsilon) is certainly above ``delta`` at the lower end and certainly at or below it at the upper end, and it
    does not increase with sigma: so ``upper`` is a scale to use, as it is.

    Args:
        dim: M >= 2.
        epsilon, delta: the guarantee; epsilon >= 0, 0 < delta < 1.

    Raises:
        InvalidValue: an argument out of range.

    >>> honest_scale(dim=3, epsilon=1, delta="1e-3").upper
    385.6877005760884
    """
    level = check_not_negative(epsilon, "epsilon", "give the epsilon of the guarantee")
    failure = check_probability(delta, "delta", "give the delta of the guarantee")
    if check_dim(dim) < 2:
        raise InvalidValue("dim", dim, ">= 2", "give the dimension of the statistic")
    bracket = _bracket(dim, level, failure)
    for point in bracket.trials(_BITS):
        if bracket.width * _WIDTH <= bracket.high:
            break
        bracket.narrow(point, *_excess(dim, level, failure, point))
    with precision(_BITS):
        return Enclosure.hull(ball(bracket.low), ball(bracket.high))


def _bracket(dim: int, epsilon: Fraction, delta: Fraction) -> Bracket:
    """Two scales with the root between them, found in steps of 4 from 1/delta: the profile falls like 1/sigma."""
    low = high = 1 / delta
    at_low, sign = _excess(dim, epsilon, delta, low)
    at_high = at_low
    while sign > 0:
        low, at_low, high = high, at_high, high * 4
        at_high, sign = _excess(dim, epsilon, delta, high)
        if sign <= 0:
            return Bracket(low=low, high=high, at_low=at_low, at_high=at_high)
    while True:
        high, at_high, low = low, at_low, low / 4
        at_low, sign = _excess(dim, epsilon, delta, low)
        if sign > 0:
            return Bracket(low=low, high=high, at_low=at_low, at_high=at_high)


def _excess(dim: int, epsilon: Fraction, delta: Fraction, scale: Fraction) -> tuple[arb, int]:
    """log(delta(epsilon)/delta) at the scale, with the certain sign of delta(epsilon) - delta; -1 when it is 0."""
    for bits in doublings(_BITS, _MAX_BITS):
        value = integrate(RandomDirectionGaussian(scale), dim, epsilon, Quantity.PROFILE, bits)
        with precision(bits + 16):
            excess, logarithm = value - ball(delta), (value / ball(delta)).log()
        if excess > 0 or excess <= 0:
            return logarithm, 1 if excess > 0 else -1
    raise PrecisionExhausted("the sign of delta(epsilon) - delta", _MAX_BITS, "change delta a little")


# by a claim of any kind -----------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The least scale of noise that keeps a claim.

    Attributes:
        mechanism: with that scale.
        scale: a float64; the claim is certified at it.
        below: a float64 at which the claim is certainly not kept: the one before ``scale``, or the nearest at which the
            numbers can be told apart.
        kept: what is spent at ``scale``.
        broken: what is spent at ``below``.
        releases: how many releases together keep the claim.
        attained: whether some neighbours attain what is spent; otherwise it is a bound, and a smaller scale may do.
    """

    mechanism: AdditiveMechanism
    scale: float
    below: float
    kept: Account
    broken: Account
    releases: int
    attained: bool

    @property
    def width(self) -> float:
        """(scale - below)/scale."""
        return (self.scale - self.below) / self.scale

    def summary(self) -> str:
        """Two lines: the scale with the proof that it keeps the claim, and the one below with what it does."""
        times = "" if self.releases == 1 else f" in {self.releases} releases together"
        bound = "" if self.attained else " (of a bound on what any neighbours attain)"
        name = str(self.mechanism.scaled_by).replace("_", " ")
        return (
            f"{name} = {self.scale!r}{times}: {self.kept.summary()}\n"
            f"{name} = {self.below!r}, {self.width:.2g} less: {self.broken.summary()}{bound}"
        )


def calibrate(make: Callable[[float], AdditiveMechanism], claim: Guarantee | str, *, releases: int = 1) -> Calibration:
    """The least float64 scale at which a mechanism keeps a claim, certified, with one step less that does not.

    Args:
        make: a scale to the mechanism, which spends less the larger the scale is.
        claim: of any kind, also as text; for all releases together.
        releases: how many, at least 1.

    Raises:
        InvalidValue: no scale from 2^-100 to 2^100 keeps the claim for certain, or all do.

    Reference: for Gaussian noise and (epsilon, delta), Balle and Wang 2018, Theorem 8 (arXiv:1805.06530).

    >>> from dpverdict.mechanisms.core.mechanism import GaussianMechanism
    >>> found = calibrate(lambda sigma: GaussianMechanism(sigma=sigma, sensitivity=1), "eps=1, delta=1e-6")
    >>> found.scale, found.kept.status.name, found.broken.status.name
    (4.224678889326836, 'CERTIFIED', 'REFUTED')
    """
    guarantee = as_guarantee(claim)
    times = check_whole(releases, "releases", least=1, remedy="say how many releases share the claim")

    def account(scale: float) -> Account:
        return _account(make(scale), guarantee, times)

    def keeps(scale: float) -> bool:
        return account(scale).status is Status.CERTIFIED

    low = high = 1.0
    while not keeps(high):
        low, high = high, 2 * high
        if high > 2.0**100:
            why = account(1.0).summary()
            raise InvalidValue("claim", guarantee.describe(), "one that some scale keeps", f"state another ({why})")
    while low == high or keeps(low):
        low, high = low / 2, low
        if low < 2.0**-100:
            raise InvalidValue("claim", guarantee.describe(), "one that some scale breaks", "nothing is to be found")
    coarse = isinstance(guarantee, GaussianDP) and not isinstance(account(high).loss, GaussianLoss)
    width = 2.0**-34 if coarse else 0.0  # of the least mu of other laws, an enclosure is known that is this wide
    if isinstance(make(high), DPSGD):
        width = _TRAINING_WIDTH
    low, high = bisected(
        lambda scale: not keeps(scale), low, high, steps=60, close=lambda low, high: high - low <= width * high
    )
    step = high - low
    while account(low).status is Status.INCONCLUSIVE and step < high / 4:  # the numbers are too close: a wider step
        step *= 2
        low = high - step
    mechanism = make(high)
    return Calibration(
        mechanism=mechanism,
        scale=high,
        below=low,
        kept=account(high),
        broken=account(low),
        releases=times,
        attained=worst_case(mechanism).exact
        or (isinstance(guarantee, GaussianDP | ZeroConcentratedDP) and half_spaces(mechanism) is not None),
    )


def _account(mechanism: AdditiveMechanism, claim: Guarantee, times: int) -> Account:
    """What is spent against the claim: of the worst neighbours, or of the closest bound that is known beside one."""
    worst, spaces = worst_case(mechanism), half_spaces(mechanism)
    if spaces is not None and isinstance(claim, GaussianDP | ZeroConcentratedDP):  # known exactly, however batches are
        square, limit = times * spaces.mu_squared, claim.mu**2 if isinstance(claim, GaussianDP) else 2 * claim.rho
        found = enclosed("mu^2 = 2 rho, of known batches,", square, limit, Fraction(0))
        return Account(claim=claim, loss=worst.loss, comparison=found, certified=True)
    loss = worst.loss
    if times > 1:
        return held_to(compose_counted([(loss, times)]), claim)
    closer = without_curves(claim, worst)
    if closer is None and worst.delta_uppers is not None and isinstance(claim, ApproximateDP):
        bound = next(worst.delta_uppers(claim.epsilon), arb(1)).min(arb(loss.certified_delta(claim.epsilon).upper))
        name = f"delta({short_text(claim.epsilon)}), at most,"
        closer = enclosed(name, Enclosure.of_ball(bound), claim.delta, claim.epsilon)
    if closer is None:
        return held_to(loss, claim)
    return Account(claim=claim, loss=loss, comparison=closer, certified=True)
