"""DP-SGD: noisy sums of clipped gradients, on batches that are sampled in one of six ways.

Where every record takes part independently of the others, by Poisson sampling or as balls fall in bins, the output with
the canary alone against that on no records dominates, in both orders. Of shuffled batches no dominating pair is known;
deterministic batches tell no less, by joint convexity of the hockey-stick divergence over the permutations. Batches of
a fixed size that are drawn anew in every step are those of `dpverdict.audit.sampling.mixtures.fixed_size`, and a
Poisson batch under replace-one that of `dpverdict.audit.sampling.mixtures.loss`. With cyclic Poisson sampling the
records are cut into b groups, independently of their values, and step t samples from group t mod b alone: a record
takes part in ceil(T/b) steps at most, and what they tell is Poisson sampling in so many.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb

from dpverdict.audit.losses.base import AddRemoveLoss, LikelihoodRatio, PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss, identical_laws
from dpverdict.audit.losses.domains import Direction, EventBound
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.allocation_moments import delta_at_most
from dpverdict.audit.sampling.mixtures.fixed_size import replaced_in_batch
from dpverdict.audit.sampling.mixtures.loss import poisson_replaced
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.shuffled import ShuffledBatches, shuffled_batches
from dpverdict.balls import Exact, exactly
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import (
    Above,
    AttainedLoss,
    Below,
    Bounds,
    DeltaBound,
    Dominating,
    KnownEvent,
    MuBound,
    RhoBound,
    TailEvents,
    WorstPair,
)
from dpverdict.mechanisms.core.guarantees import ZeroConcentratedDP
from dpverdict.mechanisms.core.mechanism import StatisticMechanism, sampled_above
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.training.gradients import (
    NOISE_MULTIPLIER,
    ON_GRADIENTS,
    STEPS,
    GradientMechanism,
    clipped,
    exact_norm,
)
from dpverdict.mechanisms.training.half_spaces import HalfSpaces
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above, float_below
from dpverdict.numerics.text import exact_text

BatchSampling: TypeAlias = Literal[
    "poisson", "balls-in-bins", "shuffle", "shuffle-once", "fixed-size", "cyclic-poisson"
]
EPOCHWISE: Final[tuple[BatchSampling, ...]] = ("balls-in-bins", "shuffle", "shuffle-once")
"""Of whole epochs, in each of which every record is in one batch."""
SAMPLINGS: Final[tuple[BatchSampling, ...]] = ("poisson", *EPOCHWISE, "fixed-size", "cyclic-poisson")

_IN_WORDS: Final[Mapping[BatchSampling, str]] = {
    "poisson": "Poisson",
    "balls-in-bins": "balls in bins",
    "shuffle": "shuffled in each epoch",
    "shuffle-once": "shuffled once",
    "fixed-size": "fixed size, drawn anew in each step",
    "cyclic-poisson": "cyclic Poisson",
}
_KNOWN: Final = "of known batches"
_CANARY: Final = "a canary whose gradient has the clipping norm, and no other record"
_CANARY_AND_OPPOSITE: Final = (
    "a canary whose gradient has the clipping norm, replaced by its opposite, and no other record"
)
_INTERPOLATION: Final = (
    "given the batches of the other records the two laws are mixtures of two normal laws each, which are no further "
    "apart than those of opposite gradients, by Gaussian interpolation (Kahane 1986); and so are their mixtures, by "
    "joint convexity, and compositions (Zhu, Dong and Wang 2022)"
)
_CONVEXITY: Final = (
    "given the batches of the other records the two laws are a pair that no other record is in; by joint convexity "
    "their mixtures are no further apart (Zhu, Dong and Wang 2022), in both orders"
)
_OPPOSITE: Final = "a canary whose gradient is opposite to all others"
_IN_PLACE: Final = (
    "given a batch without the record and the place in it that the record takes the two laws are a sampled Gaussian "
    "pair of distance 2; by joint convexity their mixtures are no further apart, in both orders (Zhu, Dong and Wang)"
)
_MOST_RECORDS: Final = 1_000_000
_BLOCK: Final = 1 << 22  # places of records that are drawn at a time


NOT_KNOWN: Final[Mapping[str, str]] = {
    "with-replacement": "a record can stand in a batch several times: audit each step as mixture_of_gaussians of "
    "dpverdict.audit.sampling.mixtures.loss, exact for records that are added or removed",
    "truncated-poisson": "of Poisson batches that are cut at a size no worst pair is known; fixed-size, with that size "
    "over the number of records, is what always cut batches are",
    "k-of-t": "random_allocation(steps=T // k, epochs=k) bounds it from above: audit balls-in-bins with rate k/T",
    "weighted": "with rates of their own, independent of the other records, the record of the largest rate is the "
    "worst: audit poisson with that rate",
}
"""Other ways to make batches, and what is nearest to each."""


def read_sampling(text: str) -> BatchSampling:
    """How batches are made, as it is written.

    Raises:
        InvalidValue: none of `SAMPLINGS`.
    """
    for known in SAMPLINGS:
        if text == known:
            return known
    remedy = "say how batches are made"
    if text.replace("_", "-") in ("without-replacement", "fixed"):
        remedy = "write fixed-size for batches that are drawn anew in each step, without replacement"
    elif text.replace("_", "-") in NOT_KNOWN:
        remedy = NOT_KNOWN[text.replace("_", "-")]
    raise InvalidValue("sampling", text, f"one of {', '.join(SAMPLINGS)}", remedy)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNoise:
    """Gaussian noise on the sums of batches that are drawn anew in every run.

    Attributes:
        dim: of one gradient.
        rate: q.
        steps: T.
        sampling: how batches are made.
        multiplier: standard deviation in units of the clipping norm, exactly.
        scale: the standard deviation that is sampled.
        separation: b, the number of groups of cyclic Poisson sampling: record i is in group i mod b.
        missing: of batches of fixed size, how many records a data set may be short of whole batches.
    """

    dim: int
    rate: Fraction
    steps: int
    sampling: BatchSampling
    multiplier: Fraction
    scale: float
    separation: int = 1
    missing: int = 0

    @property
    def size(self) -> int:
        """Numbers of a release: T d."""
        return self.steps * self.dim

    @property
    def batches(self) -> int:
        """The number of batches of an epoch, without Poisson sampling."""
        return self.rate.denominator

    @property
    def epochs(self) -> int:
        """The number of epochs, without Poisson sampling."""
        return self.steps // self.batches

    def covariance(self) -> dict[str, Fraction]:
        """That of one number of a release, given the batches."""
        return {"variance": Fraction(self.scale) ** 2}

    def add(self, statistic: Array, trials: int, rng: np.random.Generator) -> Array:
        """Noisy sums of batches of given gradients: shape (n d,) -> (trials, T d)."""
        gradients = statistic.reshape(-1, self.dim)
        noisy = self.scale * rng.standard_normal((trials, self.size))
        if not len(gradients):
            return noisy
        for first in range(0, trials, block := max(1, _BLOCK // (self.steps * len(gradients)))):
            part = noisy[first : first + block].reshape(-1, self.steps, self.dim)
            part += self._sums(gradients, len(part), rng)
        return noisy

    def _sums(self, gradients: Array, trials: int, rng: np.random.Generator) -> Array:
        """Sums over batches: shape (trials, T, d)."""
        n = len(gradients)
        if self.sampling == "poisson":
            drawn: Array = (rng.random((trials, self.steps, n)) < float(self.rate)).astype(np.float64)
            sums: Array = drawn @ gradients
            return sums
        if self.sampling == "cyclic-poisson":
            own = np.arange(self.steps)[:, None] % self.separation == np.arange(n) % self.separation
            taken: Array = (own & (rng.random((trials, self.steps, n)) < float(self.rate))) @ gradients
            return taken
        if self.sampling == "fixed-size":
            drawn_size = math.floor(self.rate * (n + self.missing))
            order = rng.permuted(np.broadcast_to(np.arange(n), (trials, self.steps, n)), axis=2)
            chosen: Array = (order < drawn_size).astype(np.float64) @ gradients
            return chosen
        orders = 1 if self.sampling == "shuffle-once" else self.epochs
        if self.sampling == "balls-in-bins":
            batch = rng.integers(self.batches, size=(trials * orders, n))
        else:
            places = np.broadcast_to(np.arange(max(n, self.batches)), (trials * orders, max(n, self.batches)))
            batch = rng.permuted(places, axis=1)[:, :n] % self.batches
        batch = batch + self.batches * np.arange(trials * orders)[:, None]
        columns = [
            np.bincount(batch.ravel(), np.tile(column, trials * orders), trials * orders * self.batches)
            for column in gradients.T
        ]
        whole_epochs = (
            np.stack(columns, axis=1).astype(np.float64, copy=False).reshape(trials, orders * self.batches, self.dim)
        )
        repeated: Array = np.tile(whole_epochs, (1, self.epochs // orders, 1))
        return repeated


@final
class DPSGD(GradientMechanism, StatisticMechanism):
    """T steps of DP-SGD on given gradients: each releases the sum of a batch of clipped gradients, with Gaussian noise.

    The gradients are those of one fixed model (a learning rate of 0): the game of a canary, whose privacy that of
    training is at least. Every record takes part in a step with probability q, independently ("poisson"); or in one of
    the 1/q batches of each epoch, drawn for itself ("balls-in-bins"); or the records are permuted and cut into 1/q
    batches, anew in each epoch ("shuffle") or once ("shuffle-once"); or a batch of q n of the n records, without
    replacement, is drawn in each step ("fixed-size"; of records that are added or removed n is the larger number, and
    the size of a batch stays); or each step samples with probability q from one of b groups in turn
    ("cyclic-poisson"). A release has T d numbers. Without a claim of its own it is held to what no sampling is needed
    for: rho-zCDP, rho = K m^2/(2 s^2), where a record takes part in K steps and moves a sum by m at most.

    Args:
        noise_multiplier: standard deviation of the noise in units of the clipping norm, > 0, exact.
        rate: the sampling probability q in (0, 1], exact; the inverse of a whole number where an epoch is cut.
        steps: the number of steps T >= 1; whole epochs where an epoch is cut.
        sampling: one of `SAMPLINGS`.
        clipping_norm: > 0, exact; what is promised does not depend on it.
        dim: the number of coordinates of a gradient; what is promised does not depend on it.
        adjacency: the neighbouring relation; replace-one is refused for balls in bins.
        separation: the number b of groups of cyclic Poisson sampling; of it alone.

    Raises:
        InvalidValue: an argument out of range.

    Reference: Abadi et al. 2016, Algorithm 1 (arXiv:1607.00133).

    >>> training = DPSGD(noise_multiplier=1, rate="0.01", steps=200, sampling="shuffle")
    >>> training.batches, training.epochs
    (100, 2)
    """

    name = "dp-sgd"
    title = "noisy sums of batches of clipped gradients"
    source = "Abadi et al. 2016, Algorithm 1"
    noise: BatchNoise
    parameters: ClassVar[tuple[Parameter, ...]] = (
        NOISE_MULTIPLIER,
        Parameter("rate", "Q", "Expected part of the records in a batch, such as 0.01 or 1/512."),
        STEPS,
        Parameter(
            "sampling", "|".join(SAMPLINGS), "How batches are made.", lambda name, words: read_sampling(words[name])
        ),
        Parameter("separation", "B", "The least distance of two steps of one record.", whole),
        *ON_GRADIENTS,
    )
    calibration_width: ClassVar[float] = 2.0**-20  # each end of a bracket takes integrals of its own
    varied_by: ClassVar[str] = "batches"
    example: ClassVar[str] = "--noise-multiplier 1 --rate 0.25 --steps 8 --sampling poisson"
    noise_multiplier: Fraction
    clipping_norm: Fraction
    rate: Fraction
    adjacency: NeighboringRelation
    steps: int
    dim: int
    claim: ZeroConcentratedDP
    sampling: BatchSampling
    separation: int
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        noise_multiplier: Exact,
        rate: Exact,
        steps: int,
        sampling: BatchSampling,
        clipping_norm: Exact = 1,
        dim: int = 1,
        adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
        separation: int | None = None,
    ) -> None:
        self._take(
            noise_multiplier=noise_multiplier, clipping_norm=clipping_norm, steps=steps, dim=dim, adjacency=adjacency
        )
        self.rate = exactly(rate, name="rate")
        if not Fraction(1, 1 << 400) <= self.rate <= 1:
            raise InvalidValue("rate", rate, "in [2^-400, 1]", "give the expected part of the records in a batch")
        self.sampling = read_sampling(sampling)
        whole_epochs, replaced = sampling in EPOCHWISE, self.adjacency is REPLACE_ONE
        self.separation = self._groups(sampling, separation)
        if replaced and sampling == "balls-in-bins":
            remedy = (
                "its worst pair under replace-one is a record and its opposite, whose loss has no curve here; a "
                "replacement is a removal and an addition, so that (eps, delta) under add-or-remove-one is "
                "(2 eps, (1 + e^eps) delta) under replace-one"
            )
            raise InvalidValue("adjacency", "replace-one", f"add-or-remove-one with sampling {sampling}", remedy)
        if sampling == "fixed-size" and self.rate.denominator > _MOST_RECORDS:
            remedy = "give the size of a batch over the number of records, such as 256/60000"
            raise InvalidValue("rate", rate, f"a fraction of at most {_MOST_RECORDS} records", remedy)
        if whole_epochs and (self.rate.numerator != 1 or self.steps % self.rate.denominator):
            given = f"rate {exact_text(self.rate)}, {self.steps} steps"
            batches = max(1, round(1 / self.rate))
            steps = batches * max(1, round(self.steps / batches))
            remedy = f"each record is in one batch of every epoch: give for example rate 1/{batches}, {steps} steps"
            raise InvalidValue("rate and steps", given, "whole batches and whole epochs", remedy)
        deviation = self.clipping_norm * self.noise_multiplier
        self.noise = BatchNoise(
            dim=self.dim,
            rate=self.rate,
            steps=self.steps,
            sampling=sampling,
            multiplier=self.noise_multiplier,
            scale=float_above(deviation),
            separation=self.separation,
            missing=0 if replaced else 1,
        )
        self.claim = ZeroConcentratedDP(self.known_batches.mu_squared.rational / 2)  # type: ignore[operator]
        self.assumptions = (
            "batches are made as stated, independently of the records",
            "every gradient is clipped, and the noise is added to the sum before anything else sees it",
            *sampled_above(deviation, self.noise.scale),
        )

    def _groups(self, sampling: BatchSampling, separation: int | None) -> int:
        """b of cyclic Poisson sampling; 1 of all other batches."""
        if (separation is None) == (sampling == "cyclic-poisson"):
            requirement = "given with sampling cyclic-poisson, and with it alone"
            raise InvalidValue("separation", separation, requirement, "say how many groups of records there are")
        if separation is None:
            return 1
        groups = check_whole(separation, "separation", least=1, remedy="say how many groups of records there are")
        if groups > self.steps:
            remedy = "with more groups than steps some records are never seen"
            raise InvalidValue("separation", separation, f"at most {self.steps}, the steps", remedy)
        return groups

    @property
    def batches(self) -> int:
        """The number of batches of an epoch, without Poisson sampling."""
        return self.noise.batches

    @property
    def epochs(self) -> int:
        """The number of epochs, without Poisson sampling."""
        return self.noise.epochs

    # what is known ----------------------------------------------------------------------------------------------------

    def above(self) -> Sequence[Above]:
        """Known batches, or the pair with the canary alone; of balls in bins closer bounds at one epsilon as well."""
        return self.privacy_bounds().above

    def below(self) -> Sequence[Below]:
        """The pair with the canary alone, or an event of shuffled batches; and events in the far tail."""
        return self.privacy_bounds().below

    def privacy_bounds(self) -> Bounds:
        """The two lists of the way in which batches are made."""
        if self.sampling in ("poisson", "cyclic-poisson"):
            return self._sampled()
        if self.sampling == "fixed-size":
            return self._of_fixed_size()
        return self._allocated() if self.sampling == "balls-in-bins" else self._shuffled()

    def _sampled(self) -> Bounds:
        """The pair with the canary alone is the worst; with very little noise no certified curve of it is known."""
        replaced = self.adjacency is REPLACE_ONE
        pair, words = self._canary_alone(), _CANARY_AND_OPPOSITE if replaced else _CANARY
        loss = self._replaced() if replaced else self._independent(self.noise_multiplier)
        tail = self._tail(pair, words)
        if loss.is_certified:
            why = _INTERPOLATION if replaced else _CONVEXITY
            worst = WorstPair(loss=loss, pair=pair, description=words, justification=why)
            return Bounds(above=(*self._known(worst.because), worst), below=(worst, tail))
        unsampled = Dominating(
            loss=self.known_batches,
            description=words,
            justification="the same without sampling, which tells no less by joint convexity; of steps with so "
            "little noise no certified curve is known",
        )
        attained = (AttainedLoss(pair=pair, loss=one, description=words) for one in (self._first_step(), loss))
        return Bounds(above=(unsampled,), below=(*attained, tail))

    def _known(self, because: str) -> tuple[Above, ...]:
        """What needs no sampling: mu and rho of known batches."""
        known = self.known_batches.mu_squared.rational
        assert known is not None  # a fraction
        return (
            MuBound(mu_squared=known, source=_KNOWN, because=because),
            RhoBound(rho=known / 2, source="by the l2 norm", because=because),
        )

    def _of_fixed_size(self) -> Bounds:
        """The canary in the place of its opposite: the worst pair, but of several steps in which it is replaced."""
        canary, replaced = np.eye(1, self.dim) * float_below(self.clipping_norm), self.adjacency is REPLACE_ONE
        others = np.repeat(-canary, self.rate.denominator - 1, axis=0)
        pair = self.neighbours(
            np.concatenate([others, canary]), np.concatenate([others, -canary]) if replaced else others
        )
        sampled, tail = self._independent(self.noise_multiplier / 2), self._tail(pair, _OPPOSITE)
        loss = AddRemoveLoss(remove=sampled.remove, add=sampled.add, ratio=self._ratio_in_place())
        worst = WorstPair(loss=loss, pair=pair, description=_OPPOSITE, justification=_IN_PLACE)
        if not replaced and loss.is_certified:
            return Bounds(above=(*self._known(_IN_PLACE), worst), below=(worst, tail))
        attained = AttainedLoss(pair=pair, loss=loss, description=_OPPOSITE)
        dominating = replaced_in_batch(noise_multiplier=self.noise_multiplier, rate=self.rate, steps=self.steps)
        if not replaced or not dominating.is_certified:
            return Bounds(above=self._known(_IN_PLACE), below=(attained, tail))
        why = (
            "the profile that one step has in both orders, composed; it is attained in one step, and of several no "
            "worst pair is known"
        )
        above = Dominating(loss=dominating, description=_OPPOSITE, justification=why)
        return Bounds(above=(*self._known(why), above), below=(attained, tail))

    def _ratio_in_place(self) -> LikelihoodRatio:
        """That of the canary in the place of its opposite, in words."""
        q = exact_text(self.rate)
        sums = "y_t the noisy sum along the canary's gradient in units of the clipping norm, plus the batch size"
        return LikelihoodRatio(
            f"sum over steps 1 to {self.steps} of log(1 - {q} + {q} exp((2 y_t - 2)/s^2))",
            f"s = {exact_text(self.noise_multiplier)}, {sums}",
        )

    def _replaced(self) -> PrivacyLoss:
        return poisson_replaced(
            noise_multiplier=self.noise_multiplier, sampling_probability=self.rate, steps=self._taking_part
        )

    def _first_step(self) -> PrivacyLoss:
        """That of the first step alone, which tells no more than the run."""
        if self.adjacency is REPLACE_ONE:
            return poisson_replaced(noise_multiplier=self.noise_multiplier, sampling_probability=self.rate)
        return poisson_sampled(GaussianLoss(1 / self.noise_multiplier), self.rate)

    def _allocated(self) -> Bounds:
        """The pair with the canary alone is the worst; with very little noise its curves are known roughly at best."""
        pair, loss = self._canary_alone(), self._independent(self.noise_multiplier)
        tail = self._tail(pair, _CANARY)
        attained = KnownEvent(pair=pair, description=_CANARY, event=self._event)
        worst = WorstPair(loss=loss, pair=pair, description=_CANARY, justification=_CONVEXITY)

        def by_moments(epsilon: Fraction) -> arb | None:
            if epsilon < 0 or self.batches == 1:
                return None
            s, batches, epochs = self.noise_multiplier, self.batches, self.epochs
            return arb.max(*(delta_at_most(s, batches, epochs, epsilon, order) for order in Direction))

        return Bounds(
            above=(
                *self._known(worst.because),
                DeltaBound(at=by_moments, source="", because=worst.because),
                worst,
            ),
            below=(attained, worst, tail),
        )

    def _shuffled(self) -> Bounds:
        """Shuffled batches: known batches, and the events of a canary that is opposite to all other gradients."""
        canary, replaced = np.eye(1, self.dim) * float_below(self.clipping_norm), self.adjacency is REPLACE_ONE
        others = np.repeat(-canary, self.batches - 1, axis=0)
        pair = self.neighbours(
            np.concatenate([others, canary]), np.concatenate([others, -canary]) if replaced else others
        )
        words = _OPPOSITE
        dominating = Dominating(
            loss=self.known_batches,
            description=words,
            justification="deterministic batches, which tell no less by joint convexity over the permutations; of "
            "shuffled batches no dominating pair is known",
        )
        event = KnownEvent(pair=pair, description=words, event=self._event)
        return Bounds(above=(dominating,), below=(event, self._tail(pair, words)))

    def variants(self) -> Mapping[str, DPSGD]:
        """The run with every way to make batches that these steps have."""
        found = {}
        for sampling in SAMPLINGS:
            with contextlib.suppress(InvalidValue):  # no whole epochs, or no bound under this relation
                found[_IN_WORDS[sampling]] = DPSGD(
                    noise_multiplier=self.noise_multiplier,
                    rate=self.rate,
                    steps=self.steps,
                    sampling=sampling,
                    clipping_norm=self.clipping_norm,
                    dim=self.dim,
                    adjacency=self.adjacency,
                    separation=self.separation if sampling == "cyclic-poisson" and self.separation > 1 else None,
                )
        return found

    def pair_loss(self, record: Array, replacement: Array | None, position: int) -> PrivacyLoss:
        """That of the gradient alone, its norm rounded up where it is no rational number; else, known batches."""
        moved = clipped(record[None], float(self.clipping_norm))[0]
        if replacement is not None:
            moved = moved - clipped(replacement[None], float(self.clipping_norm))[0]
        known = self.sampling in ("shuffle", "shuffle-once") or replacement is not None
        longest = (1 if replacement is None else 2) * self.clipping_norm
        norm = min(exact_norm(moved if known else record), longest)
        if self.sampling == "fixed-size":
            return self.known_batches
        if known:
            square = norm**2 / (self.clipping_norm * self.noise_multiplier) ** 2
            return GaussianLoss.from_squared(self._taking_part * square)
        return self._independent(self.noise_multiplier * self.clipping_norm / norm) if norm else identical_laws()

    @property
    def known_batches(self) -> GaussianLoss:
        """The privacy loss where it is known in which batches every record takes part."""
        distance = 2 if self.adjacency is REPLACE_ONE or self.sampling == "fixed-size" else 1
        return GaussianLoss.from_squared(distance**2 * self._taking_part / self.noise_multiplier**2)

    @property
    def _taking_part(self) -> int:
        """In how many steps one record takes part at most, or may."""
        return self.epochs if self.sampling in EPOCHWISE else -(-self.steps // self.separation)

    def _independent(self, multiplier: Fraction) -> AddRemoveLoss:
        """The privacy loss of the canary alone, where every record takes part independently of the others."""
        if self.sampling == "balls-in-bins":
            return random_allocation(noise_multiplier=multiplier, steps=self.batches, epochs=self.epochs)
        return poisson_sampled(GaussianLoss(1 / multiplier), self.rate, self._taking_part)

    def _canary_alone(self) -> NeighbourPair:
        record = np.eye(1, self.dim) * float_below(self.clipping_norm)
        return self.neighbours(record, -record if self.adjacency is REPLACE_ONE else record[:0])

    def _event(self, epsilon: Fraction) -> EventBound:
        """About the largest release of an epoch; of balls in bins all others contribute 0, else -1."""
        if self.sampling == "balls-in-bins":
            return ShuffledBatches(
                noise_multiplier=self.noise_multiplier,
                batches=self.batches,
                epochs=self.epochs,
                relation="add_remove",
                shuffle="fresh",
                others=0,
            ).event(epsilon)
        return shuffled_batches(
            noise_multiplier=self.noise_multiplier,
            batches=self.batches,
            epochs=self.epochs,
            relation=self.adjacency,
            shuffle="fresh" if self.sampling == "shuffle" else "persistent",
        ).event(epsilon)

    @property
    def half_spaces(self) -> HalfSpaces:
        """Those of the sum of all steps, or of the first batches of all epochs."""
        cut, shuffled = self.sampling in EPOCHWISE, self.sampling in ("shuffle", "shuffle-once")
        replaced, number = self.adjacency is REPLACE_ONE, self._taking_part
        opposite = shuffled or self.sampling == "fixed-size"
        along = "along the canary's gradient in units of the clipping norm"
        which = "all" if self.separation == 1 else "the canary's"
        words = f"the sum over {which} {number} steps of the noisy sums {along}"
        if self.sampling == "fixed-size":
            words += " plus the batch size"
        if cut:
            more = " plus the batch size" if shuffled else ""
            less = " less 1" if shuffled and not replaced else ""
            words = f"the sum over the {number} epochs of the noisy sum of the first batch {along}{more}{less}"
        return HalfSpaces(
            noise_multiplier=self.noise_multiplier,
            number=number,
            rate=self.rate,
            together=self.sampling == "shuffle-once",
            distance=2 if (replaced and opposite) or self.sampling == "fixed-size" else 1,
            below=replaced and not opposite,
            offset=1 if shuffled and not replaced else 0,
            words=words,
        )

    def _tail(self, pair: NeighbourPair, description: str) -> TailEvents:
        spaces = self.half_spaces
        return TailEvents(
            pair=pair, description=description, mu_squared=spaces.mu_squared, source=_KNOWN, against=spaces.against
        )

    # what is released -------------------------------------------------------------------------------------------------

    def statistic(self, records: Array) -> Array:
        """The clipped gradients, one after the other: shape (n, d) -> (n d,)."""
        return clipped(records, float(self.clipping_norm)).ravel()

    def likelihood_score(self, pair: NeighbourPair) -> Callable[[Array], Array]:
        """The log-likelihood ratio of P against Q at releases of shape (trials, T d), for the worst pair.

        Of other pairs it takes the other records for their mean: the most powerful score of the canary's game.
        """
        noise, place = self.noise, pair.position()
        records, variance = clipped(pair.dataset, float(self.clipping_norm)), self.noise.scale**2
        canary, others = records[place], np.delete(records, place, axis=0)
        there, replaced, fixed = np.zeros(noise.dim), self.adjacency is REPLACE_ONE, self.sampling == "fixed-size"
        if replaced:
            there = clipped(pair.neighbour[place : place + 1], float(self.clipping_norm))[0]
        rest = others.sum(axis=0) * float(self.rate)

        def log_ratios(noisy: Array, moved: Array, spread: float) -> Array:
            """log of N(moved, spread) against N(0, spread) at points of shape (..., d)."""
            found: Array = (noisy @ moved - moved @ moved / 2) / spread
            return found

        def drawn(released: Array) -> Array:
            own = slice(place % noise.separation, None, noise.separation)
            mean = others.mean(axis=0) if fixed and len(others) else np.zeros(noise.dim)
            size = math.floor(self.rate * len(records))
            base = size * mean if fixed else rest
            steps = released.reshape(len(released), noise.steps, noise.dim)[:, own] - base
            q = float(self.rate)
            with np.errstate(divide="ignore"):
                here, away = (
                    np.logaddexp(np.log1p(-q), math.log(q) + log_ratios(steps, moved - mean, variance))
                    for moved in (canary, there if replaced else mean)
                )
            total: Array = (here - away).sum(axis=1)
            return total

        def allocated(released: Array) -> Array:
            epochs = released.reshape(len(released), noise.epochs, noise.batches, noise.dim) - rest
            found = np.logaddexp.reduce(log_ratios(epochs, canary, variance), axis=2) - math.log(noise.batches)
            total: Array = found.sum(axis=1)
            return total

        def shuffled(released: Array) -> Array:
            mean = others.mean(axis=0) if len(others) else np.zeros(noise.dim)
            base = mean * max(len(records), noise.batches) / noise.batches if len(others) else mean
            epochs = released.reshape(len(released), noise.epochs, noise.batches, noise.dim) - base
            spread = variance
            if noise.sampling == "shuffle-once":
                epochs, spread = epochs.mean(axis=1, keepdims=True), variance / noise.epochs
            ratios = [log_ratios(epochs, moved - mean, spread) for moved in (canary, there)]
            here, away = (np.logaddexp.reduce(ratio, axis=2) for ratio in ratios)
            total: Array = (here - away).sum(axis=1)
            return total

        if self.sampling in EPOCHWISE:
            return allocated if self.sampling == "balls-in-bins" else shuffled
        return drawn

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return super().describe() | {
            "noise multiplier": exact_text(self.noise_multiplier),
            "rate": exact_text(self.rate),
            "steps": str(self.steps),
            "batches": _IN_WORDS[self.sampling],
            **({"groups of records": str(self.separation)} if self.sampling == "cyclic-poisson" else {}),
            "clipping norm": exact_text(self.clipping_norm),
        }
