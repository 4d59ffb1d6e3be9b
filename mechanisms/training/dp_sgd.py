"""DP-SGD: noisy sums of clipped gradients, on batches that are made in one of ten ways.

Where every record takes part independently of the others, by Poisson sampling or as balls fall in bins, the output with
the canary alone against that on no records dominates, in both orders. Of shuffled batches no dominating pair is known;
deterministic batches tell no less, by joint convexity of the hockey-stick divergence over the permutations. Batches of
a fixed size that are drawn anew in every step are those of `dpverdict.audit.sampling.mixtures.fixed_size`, and a
Poisson batch under replace-one that of `dpverdict.audit.sampling.mixtures.loss`. With cyclic Poisson sampling the
records are cut into b groups, independently of their values, and step t samples from group t mod b alone: a record
takes part in ceil(T/b) steps at most, and what they tell is Poisson sampling in so many.

Of k of T steps, and of balls in bins where the record is replaced, no curve of a worst pair is known, but bounds on
either side: k blocks of steps, or the way through the data without the record (both
`dpverdict.audit.sampling.mixtures.through`), and events about sums of scores
(`dpverdict.audit.sampling.mixtures.scored_sums`). Poisson batches that are cut at a size are those of
`dpverdict.audit.sampling.mixtures.told`, draws with replacement those of
`dpverdict.audit.sampling.mixtures.with_replacement`. With rates of their own, fixed beforehand and independently of the
data, the record of the largest rate is the worst: the pair of a smaller one is a mixture of it with two equal laws.

**Where the last batch is smaller.** n records are cut into batches of B; the last one of a shuffled epoch has the
r = n mod B that are left, or they are dropped. The place of a record is uniform, so that it is in each full batch with
probability B/n, in the last with r/n, or in none. Known batches bound that from above, whatever their sizes are. An
event that does not depend on the order of the batches, such as one about the largest release of an epoch or the sum of
scores of its batches, has the same probability wherever the record is: it tells of T = ceil(n/B) equal batches what it
tells of these. Where r records are dropped, it is that with probability 1 - r/n in an epoch. The noise is added to the
sum of a batch. Where the sum is divided by the size of its own batch before noise of one scale is added, a record of
the last batch counts B/r times as much.

**mu of a replaced record.** The parts of (1 - q) N(0, s^2) + q N(1, s^2) and (1 - q) N(0, s^2) + q N(-1, s^2),
q <= 1/2, are paired so that no two of them are more than 1 apart: 1 with 0, 0 with -1, 0 with 0. So one step is
1/s-GDP, by joint convexity, where known batches are 2/s-GDP, and the far tail attains it. Likewise the bin of a
record is paired with another one for its replacement, and k of T steps with k others, if there are as many: a
distance of sqrt(2 k) rather than 2 sqrt(k).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from flint import arb

from dpverdict.audit.losses.base import AddRemoveLoss, LikelihoodRatio, PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss, identical_laws
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.domains import Direction, EventBound
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.allocation_moments import delta_at_most
from dpverdict.audit.sampling.mixtures.fixed_size import replaced_in_batch
from dpverdict.audit.sampling.mixtures.loss import poisson_replaced
from dpverdict.audit.sampling.mixtures.scored_sums import scored_epochs, scored_steps
from dpverdict.audit.sampling.mixtures.through import ThroughAbsent, blocks_of_steps
from dpverdict.audit.sampling.mixtures.told import CutBatches, cut_batches
from dpverdict.audit.sampling.mixtures.with_replacement import (
    DrawnAgain,
    drawn_opposite,
    drawn_removed,
    drawn_replaced,
)
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.shuffled import ShuffledBatches, shuffled_batches
from dpverdict.balls import Exact, Real, exactly, sqrt_up
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
from dpverdict.mechanisms.training.batches import (
    EPOCHWISE,
    IN_WORDS,
    SAMPLINGS,
    BatchNoise,
    BatchSampling,
    CountedRecords,
    read_sampling,
)
from dpverdict.mechanisms.training.canary_score import canary_score
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

_MOST_RECORDS: Final = 1_000_000
_POISSON: Final[tuple[BatchSampling, ...]] = ("poisson", "cyclic-poisson", "weighted")
_IN_PLACE_OF_OTHERS: Final[tuple[BatchSampling, ...]] = ("fixed-size", "truncated-poisson", "with-replacement")
_VARIANTS: Final[tuple[BatchSampling, ...]] = ("poisson", *EPOCHWISE, "fixed-size", "cyclic-poisson")
"""The ways to make batches that reports show beside each other."""
_KNOWN: Final = "of known batches"
_CANARY: Final = "a canary whose gradient has the clipping norm, and no other record"
_CANARY_AND_OPPOSITE: Final = (
    "a canary whose gradient has the clipping norm, replaced by its opposite, and no other record"
)
_CANARY_AND_ZEROS: Final = "a canary whose gradient has the clipping norm, and others whose gradients are 0"
_CANARY_AND_ZERO: Final = (
    "a canary whose gradient has the clipping norm, replaced by one whose gradient is 0, and no other record"
)
_BLOCKS: Final = (
    "k of T steps are one step of each of k blocks that are drawn first; if they are known, each is an epoch of balls "
    "in bins, and by joint convexity that tells no less (Feldman and Shenfeld 2025)"
)
_THROUGH: Final = (
    "to replace a record is to remove it and to add another: delta(eps) is at most that of removing at a, and e^a "
    "times that of adding at eps - a"
)
_PAIRED: Final = (
    "the steps of the record and those of its replacement are drawn together, apart from each other where half of the "
    "steps are enough; if both are known that tells no less, by joint convexity"
)
_CUT: Final = (
    "given which other records are drawn, and which are kept without it, the record is added, or takes the place of "
    "another one: sampled Gaussian pairs of distance 1 or 2, of which it is told which; by joint convexity"
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
_DRAWN: Final = (
    "given what the draws of the other records are the record takes the places of some of them, at a distance of 2 "
    "each; no such pair tells more, by Gaussian interpolation, nor do mixtures (Zhu, Dong and Wang 2022)"
)
_DRAWN_REPLACED: Final = (
    "the profile of one step by advanced joint convexity over how often the record is drawn (Balle, Barthe and "
    "Gaboardi 2018, Theorem 10), composed; of a replaced record no worst pair is known"
)
_OPPOSITE: Final = "a canary whose gradient is opposite to all others"
_IN_PLACE: Final = (
    "given a batch without the record and the place in it that the record takes the two laws are a sampled Gaussian "
    "pair of distance 2; by joint convexity their mixtures are no further apart, in both orders (Zhu, Dong and Wang)"
)


@final
class DPSGD(GradientMechanism, StatisticMechanism):
    """T steps of DP-SGD on given gradients: each releases the sum of a batch of clipped gradients, with Gaussian noise.

    The gradients are those of one fixed model (a learning rate of 0): the game of a canary, whose privacy that of
    training is at least. Every record takes part in a step with probability q, independently ("poisson"); or in one of
    the 1/q batches of each epoch, drawn for itself ("balls-in-bins"); or the records are permuted and cut into 1/q
    batches, anew in each epoch ("shuffle") or once ("shuffle-once"); or a batch of q n of the n records, without
    replacement, is drawn in each step ("fixed-size"; of records that are added or removed n is the larger number, and
    the size of a batch stays); or each step samples with probability q from one of b groups in turn
    ("cyclic-poisson"); or every record takes part in exactly q T steps, drawn uniformly for itself ("k-of-t"); or of
    Poisson batches a uniform part of a given size is kept if they are larger ("truncated-poisson"); or they have rates
    of the records, of which q is the largest, the one that all records have in a release ("weighted"); or each step
    draws a number of times from all records, with replacement ("with-replacement"). A release has
    T d numbers. Without a claim of its own it is held to what no sampling is needed for: rho-zCDP, rho = K m^2/(2 s^2),
    where a record takes part in K steps and moves a sum by m at most.

    Args:
        noise_multiplier: standard deviation of the noise in units of the clipping norm, > 0, exact.
        rate: the sampling probability q in (0, 1], exact; the inverse of a whole number where an epoch is cut. It may
            be left out where ``records`` and ``size`` say it.
        steps: the number of steps T >= 1; whole epochs where an epoch is cut.
        sampling: one of `SAMPLINGS`.
        clipping_norm: > 0, exact; what is promised does not depend on it.
        dim: the number of coordinates of a gradient; what is promised does not depend on it.
        adjacency: the neighbouring relation.
        separation: the number b of groups of cyclic Poisson sampling; of it alone.
        size: of a batch, expected where it is random; of the largest one, where Poisson batches are cut.
        records: how many there are, in the larger of the two data sets.
        last_batch: "keep" or "drop" what is left where a shuffled epoch is no whole number of batches of this size.

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
        Parameter("rate", "Q", "Expected part of the records in a batch, such as 0.01; or give --records and --size."),
        STEPS,
        Parameter(
            "sampling", "|".join(SAMPLINGS), "How batches are made.", lambda name, words: read_sampling(words[name])
        ),
        Parameter("separation", "B", "The least distance of two steps of one record.", whole),
        Parameter("size", "B", "Of a batch; of the largest one, where Poisson batches are cut.", whole),
        Parameter("records", "N", "How many there are, in the larger data set.", whole),
        Parameter(
            "last_batch", "keep|drop", "What is left of a shuffled epoch after batches of --size; keep if not given."
        ),
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
    cut: CutBatches | None
    again: DrawnAgain | None
    assumptions: tuple[str, ...]

    def __init__(
        self,
        *,
        noise_multiplier: Exact,
        rate: Exact | None = None,
        steps: int,
        sampling: BatchSampling,
        clipping_norm: Exact = 1,
        dim: int = 1,
        adjacency: NeighboringRelation = ADD_OR_REMOVE_ONE,
        separation: int | None = None,
        size: int | None = None,
        records: int | None = None,
        last_batch: str | None = None,
    ) -> None:
        self._take(
            noise_multiplier=noise_multiplier, clipping_norm=clipping_norm, steps=steps, dim=dim, adjacency=adjacency
        )
        self.sampling = read_sampling(sampling)
        counted = self._counted_records(rate, size, records, separation, last_batch)
        stated = rate if counted is None else counted.rate
        assert stated is not None  # else there are counted records
        self.rate = exactly(stated, name="rate")
        if not Fraction(1, 1 << 400) <= self.rate <= 1:
            raise InvalidValue("rate", rate, "in [2^-400, 1]", "give the expected part of the records in a batch")
        whole_epochs, replaced = sampling in EPOCHWISE, self.adjacency is REPLACE_ONE
        self.separation = self._groups(sampling, separation)
        self.cut = self._cut_batches(size, records)
        draws = counted if sampling == "with-replacement" else None
        self.again = None if draws is None else DrawnAgain(size=draws.size, records=draws.records)
        if sampling == "k-of-t" and (self.rate * self.steps).denominator != 1:
            whole_number = max(1, round(self.rate * self.steps))
            remedy = f"each record is in rate * steps of the steps: give for example rate {whole_number}/{self.steps}"
            raise InvalidValue("rate", rate, "a whole number over the steps", remedy)
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
            cut=0 if self.cut is None else self.cut.size,
            draws=0 if self.again is None else self.again.size,
            sizes=() if counted is None else counted.sizes,
            records=0 if counted is None else counted.records,
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

    def _counted_records(
        self,
        rate: Exact | None,
        size: int | None,
        records: int | None,
        separation: int | None,
        last_batch: str | None,
    ) -> CountedRecords | None:
        """The batches that numbers of records state; None where a rate does, and of truncated Poisson sampling."""
        if rate is not None and self.sampling == "with-replacement":
            remedy = "give --records and --size: the rate does not tell how often a step draws"
            raise InvalidValue("rate", rate, "left out with sampling with-replacement", remedy)
        cut = self.sampling == "truncated-poisson"
        for name, given in (("size", size), ("records", records)):
            if given is None and (cut or rate is None):
                requirement = f"given with sampling {self.sampling}" + ("" if cut else " and no rate")
                raise InvalidValue(name, given, requirement, "say how large a batch is, and how many records there are")
            if given is not None and rate is not None and not cut:
                raise InvalidValue(name, given, "given without a rate", "leave out the rate, which the two numbers say")
        if records is not None and records > _MOST_RECORDS:
            raise InvalidValue("records", records, f"at most {_MOST_RECORDS}", "audit a smaller data set")
        if last_batch is not None and (self.sampling not in ("shuffle", "shuffle-once") or rate is not None):
            remedy = "other batches have no last one that is smaller"
            raise InvalidValue("last_batch", last_batch, "given with shuffled batches of a size", remedy)
        if cut:
            return None
        if size is None or records is None:
            return None
        return CountedRecords.of(self.sampling, size, records, separation or 1, last_batch or "keep")

    def _cut_batches(self, size: int | None, records: int | None) -> CutBatches | None:
        if self.sampling != "truncated-poisson" or size is None or records is None:
            return None
        return CutBatches(rate=self.rate, size=size, records=records)

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
        if self.sampling in _POISSON:
            return self._sampled()
        if self.cut is not None:
            return self._of_cut_batches(self.cut)
        if self.sampling == "k-of-t" or (self.sampling == "balls-in-bins" and self.adjacency is REPLACE_ONE):
            return self._counted()
        if self.sampling == "fixed-size":
            return self._of_fixed_size()
        if self.again is not None:
            return self._drawn_again(self.again)
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
        known = self._least_mu_squared
        because = because if known == self.known_batches.mu_squared.rational else _PAIRED
        return (
            MuBound(mu_squared=known, source=_KNOWN, because=because),
            RhoBound(rho=known / 2, source="by the l2 norm", because=because),
        )

    @property
    def _least_mu_squared(self) -> Fraction:
        """mu^2 that every pair keeps: of known batches, or of a replaced record whose steps are paired with others."""
        number, variance = self._taking_part, self.noise_multiplier**2
        if self.adjacency is REPLACE_ONE:
            if self.sampling in _POISSON and self.rate <= Fraction(1, 2):
                return number / variance
            if self.sampling in ("balls-in-bins", "k-of-t") and self.rate <= Fraction(1, 2):
                return 2 * number / variance
        known = self.known_batches.mu_squared.rational
        assert known is not None  # a fraction
        return known

    def _counted(self) -> Bounds:
        """The canary alone, in k of T steps or in a bin of each epoch: its curves are bounded on either side."""
        replaced, taken = self.adjacency is REPLACE_ONE, self._taking_part
        pair, words = self._canary_alone(), _CANARY_AND_OPPOSITE if replaced else _CANARY
        blocks = blocks_of_steps(self.steps, taken) if self.sampling == "k-of-t" else [(self.batches, self.epochs)]
        allocated = compose_counted(
            [(random_allocation(noise_multiplier=self.noise_multiplier, steps=t, epochs=k), 1) for t, k in blocks]
        )
        why = _CONVEXITY
        known = Dominating(
            loss=GaussianLoss.from_squared(self._least_mu_squared),
            description=words,
            justification=_PAIRED if replaced else why,
        )
        tail = self._tail(pair, words)
        sums = scored_steps(
            noise_multiplier=self.noise_multiplier, steps=self.steps, taken=taken, down=1 if replaced else 0
        )
        event = KnownEvent(pair=pair, description=words, event=sums.event)
        if not replaced:
            if taken == 1 and allocated.is_certified:
                worst = WorstPair(loss=allocated, pair=pair, description=words, justification=why)
                return Bounds(above=(*self._known(worst.because), worst), below=(worst, tail))
            dominating = Dominating(loss=allocated, description=words, justification=_BLOCKS)
            return Bounds(above=(*self._known(why), dominating, known), below=(event, tail))
        both = allocated if isinstance(allocated, AddRemoveLoss) else AddRemoveLoss(remove=allocated, add=allocated)
        through = DeltaBound(
            at=ThroughAbsent(loss=both).delta_at_most,
            source="",
            because=_THROUGH,
        )
        below: tuple[Below, ...] = (event,)
        if self.sampling == "balls-in-bins":
            zero = self.neighbours(self._canary, 0 * self._canary)
            below += (AttainedLoss(pair=zero, loss=allocated, description=_CANARY_AND_ZERO),)
        return Bounds(above=(*self._known(_PAIRED), known, through), below=(*below, tail))

    def _of_cut_batches(self, cut: CutBatches) -> Bounds:
        """Poisson batches that are cut: from above by what is told of the other records, from below with zeros."""
        replaced = self.adjacency is REPLACE_ONE
        pair = self._canary_among(np.zeros((cut.records - 1, self.dim)))
        loss = cut_batches(noise_multiplier=self.noise_multiplier, batches=cut, steps=self.steps, replaced=replaced)
        rate, s = cut.taking_part, self.noise_multiplier
        attained = (
            poisson_replaced(noise_multiplier=s, sampling_probability=rate, steps=self.steps)
            if replaced
            else poisson_sampled(GaussianLoss(1 / s), rate, self.steps)
        )
        below = (
            AttainedLoss(pair=pair, loss=attained, description=_CANARY_AND_ZEROS),
            self._tail(pair, _CANARY_AND_ZEROS),
        )
        known = self._known(_IN_PLACE)
        if not loss.is_certified:
            unsampled = Dominating(loss=self.known_batches, description="", justification=_KNOWN)
            return Bounds(above=(*known, unsampled), below=below)
        return Bounds(above=(*known, Dominating(loss=loss, description="", justification=_CUT)), below=below)

    def _of_fixed_size(self) -> Bounds:
        """The canary in the place of its opposite: the worst pair, but of several steps in which it is replaced."""
        replaced = self.adjacency is REPLACE_ONE
        pair = self._canary_among(np.repeat(-self._canary, self.rate.denominator - 1, axis=0))
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

    def _drawn_again(self, batches: DrawnAgain) -> Bounds:
        """Draws with replacement: a removed record is the worst among opposite ones, a replaced one is bounded."""
        replaced, s = self.adjacency is REPLACE_ONE, self.noise_multiplier
        opposite = self._canary_among(np.repeat(-self._canary, batches.records - 1, axis=0))
        removed = drawn_removed(noise_multiplier=s, batches=batches, steps=self.steps)
        tail, known = self._tail(opposite, _OPPOSITE), self._known(_DRAWN)
        if not replaced and removed.is_certified:
            worst = WorstPair(loss=removed, pair=opposite, description=_OPPOSITE, justification=_DRAWN)
            return Bounds(above=(*known, worst), below=(worst, tail))
        below: tuple[Below, ...] = (AttainedLoss(pair=opposite, loss=removed, description=_OPPOSITE),)
        if not replaced:
            return Bounds(above=known, below=(*below, tail))
        zeros = self._canary_among(np.zeros((batches.records - 1, self.dim)))
        reversed_canary = drawn_opposite(noise_multiplier=s, batches=batches, steps=self.steps)
        below += (AttainedLoss(pair=zeros, loss=reversed_canary, description=_CANARY_AND_ZEROS),)
        loss = drawn_replaced(noise_multiplier=s, batches=batches, steps=self.steps)
        if not loss.is_certified:
            return Bounds(above=known, below=(*below, tail))
        above = Dominating(loss=loss, description="", justification=_DRAWN_REPLACED)
        return Bounds(above=(*known, above), below=(*below, tail))

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
        others = self.noise.records or self.batches
        pair = self._canary_among(np.repeat(-self._canary, others - 1, axis=0))
        words = _OPPOSITE
        dominating = Dominating(
            loss=self.known_batches,
            description=words,
            justification="deterministic batches, which tell no less by joint convexity over the permutations; of "
            "shuffled batches no dominating pair is known",
        )
        events = [KnownEvent(pair=pair, description=words, event=event) for event in self._events_of_shuffles()]
        whole = () if self._dropped else (self._attained_by_shuffles(pair),)
        return Bounds(above=(dominating,), below=(*events, *whole, self._tail(pair, words)))

    def _events_of_shuffles(self) -> list[Callable[[Fraction], EventBound]]:
        """About the number of epochs with a large release, and about sums of scores over fresh epochs or steps."""
        found: list[Callable[[Fraction], EventBound]] = [self._event]
        if self.sampling == "shuffle" and self.epochs > 1 and not self._dropped:
            replaced = self.adjacency is REPLACE_ONE
            epochs = scored_epochs(
                deviation=self.noise_multiplier,
                batches=self.batches,
                epochs=self.epochs,
                with_it=2,
                without=0 if replaced else 1,
            )
            found.append(lambda epsilon: epochs.event(epsilon))
        return found

    def _attained_by_shuffles(self, opposite: NeighbourPair) -> AttainedLoss:
        """The whole loss of a pair: a replaced canary among opposite gradients, or a removed one that is alone.

        Where all others are opposite, and the canary is replaced by one of them, all batches have one mean; its own
        has 2 more, and is uniform in each epoch, or in all of them, of which the means over epochs are sufficient.
        """
        replaced, s = self.adjacency is REPLACE_ONE, self.noise_multiplier
        epochs, over, means = self.epochs, "", "y_t the noisy sum"
        if self.sampling == "shuffle-once":
            s, epochs = s * Fraction(sqrt_up(Real.of(Fraction(1, epochs)))), 1
            over, means = f"{self.epochs} ", f"y_t the mean over {self.epochs} epochs of the noisy sum"
        loss = random_allocation(noise_multiplier=s / 2 if replaced else s, steps=self.batches, epochs=epochs)
        moved = "(2 y_t - 2)/s^2" if replaced else "(2 y_t - 1)/(2 s^2)"
        more = ", plus the batch size" if replaced else ""
        ratio = LikelihoodRatio(
            f"sum over {epochs} epochs of log of the mean over {self.batches} batches of exp({over}{moved})",
            f"s = {exact_text(self.noise_multiplier)}, {means} along the canary's gradient in units of the clipping "
            f"norm{more}",
        )
        return AttainedLoss(
            pair=opposite if replaced else self._canary_alone(),
            loss=AddRemoveLoss(remove=loss.remove, add=loss.add, ratio=ratio),
            description=_OPPOSITE if replaced else _CANARY,
        )

    def variants(self) -> Mapping[str, DPSGD]:
        """The run with every way to make batches that these steps have."""
        found = {}
        for sampling in _VARIANTS:
            with contextlib.suppress(InvalidValue):  # no whole epochs, or no bound under this relation
                found[IN_WORDS[sampling]] = DPSGD(
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
        known = self.sampling in ("shuffle", "shuffle-once", "k-of-t") or replacement is not None
        longest = (1 if replacement is None else 2) * self.clipping_norm
        norm = min(exact_norm(moved if known else record), longest)
        if self.sampling in _IN_PLACE_OF_OTHERS:
            return self.known_batches
        if known:
            square = norm**2 / (self.clipping_norm * self.noise_multiplier) ** 2
            return GaussianLoss.from_squared(self._taking_part * square)
        return self._independent(self.noise_multiplier * self.clipping_norm / norm) if norm else identical_laws()

    @property
    def known_batches(self) -> GaussianLoss:
        """The privacy loss where it is known in which batches every record takes part."""
        distance = 2 if self.adjacency is REPLACE_ONE or self.sampling in _IN_PLACE_OF_OTHERS else 1
        distance *= self.noise.draws or 1
        return GaussianLoss.from_squared(distance**2 * self._taking_part / self.noise_multiplier**2)

    @property
    def _taking_part(self) -> int:
        """In how many steps one record takes part at most, or may."""
        if self.sampling == "k-of-t":
            return self.noise.taken
        return self.epochs if self.sampling in EPOCHWISE else -(-self.steps // self.separation)

    def _independent(self, multiplier: Fraction) -> AddRemoveLoss:
        """The privacy loss of the canary alone, where every record takes part independently of the others."""
        if self.sampling == "balls-in-bins":
            return random_allocation(noise_multiplier=multiplier, steps=self.batches, epochs=self.epochs)
        return poisson_sampled(GaussianLoss(1 / multiplier), self.rate, self._taking_part)

    @property
    def _canary(self) -> Array:
        """The gradient of the canary, which has the clipping norm: shape (1, d)."""
        found: Array = np.eye(1, self.dim) * float_below(self.clipping_norm)
        return found

    def _canary_alone(self) -> NeighbourPair:
        return self._canary_among(self._canary[:0])

    def _canary_among(self, others: Array) -> NeighbourPair:
        """Other gradients of shape (n, d) with the canary after them, and without it or with its opposite in place."""
        dataset = np.concatenate([others, self._canary])
        neighbour = np.concatenate([others, -self._canary]) if self.adjacency is REPLACE_ONE else others
        return self.neighbours(dataset, neighbour)

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
            dropped=self._dropped,
        ).event(epsilon)

    @property
    def _dropped(self) -> Fraction:
        """The probability that a record is in no batch of an epoch."""
        sizes, records = self.noise.sizes, self.noise.records
        return Fraction(records - sum(sizes), records) if sizes else Fraction(0)

    @property
    def half_spaces(self) -> HalfSpaces:
        """Those of the sum of all steps, or of the first batches of all epochs."""
        cut, shuffled = self.sampling in EPOCHWISE, self.sampling in ("shuffle", "shuffle-once")
        replaced, number = self.adjacency is REPLACE_ONE, self._taking_part
        opposite = shuffled or self.sampling in ("fixed-size", "with-replacement")
        along = "along the canary's gradient in units of the clipping norm"
        which = "all" if self.separation == 1 else "the canary's"
        words = f"the sum over {which} {number} steps of the noisy sums {along}"
        if self.sampling in ("fixed-size", "with-replacement"):
            words += " plus the batch size"
        if cut:
            more = " plus the batch size" if shuffled else ""
            less = " less 1" if shuffled and not replaced else ""
            words = f"the sum over the {number} epochs of the noisy sum of the first batch {along}{more}{less}"
        rate, together = self.rate, self.sampling == "shuffle-once"
        if shuffled and self.noise.sizes:
            rate = Fraction(self.noise.sizes[0], self.noise.records)
        if self.again is not None:
            rate = Fraction(1, self.again.records)
        if self.sampling == "k-of-t":
            words, together = f"the sum over the first {number} steps of the noisy sums {along}", True
            rate = Fraction(1, math.comb(self.steps, number))
        if self.cut is not None:
            rate = self.cut.taking_part
        return HalfSpaces(
            noise_multiplier=self.noise_multiplier,
            number=number,
            rate=rate,
            together=together,
            distance=2 if opposite and (replaced or not shuffled) else 1,
            draws=self.noise.draws or 1,
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
        """The log-likelihood ratio of P against Q at releases of shape (trials, T d), for the worst pair."""
        records, place = clipped(pair.dataset, float(self.clipping_norm)), pair.position()
        replacement = None
        if self.adjacency is REPLACE_ONE:
            replacement = clipped(pair.neighbour[place : place + 1], float(self.clipping_norm))[0]
        taking_part = self.rate if self.cut is None else self.cut.taking_part
        return canary_score(self.noise, records, place, replacement, float(taking_part))

    def describe(self) -> dict[str, str]:
        """Name and parameters, for a report."""
        return super().describe() | {
            "noise multiplier": exact_text(self.noise_multiplier),
            "rate": exact_text(self.rate),
            "steps": str(self.steps),
            "batches": IN_WORDS[self.sampling],
            **({"sizes of batches": self._sizes_in_words()} if self.noise.sizes else {}),
            **({"draws of a step": f"{self.noise.draws} of {self.noise.records} records"} if self.again else {}),
            **({"groups of records": str(self.separation)} if self.sampling == "cyclic-poisson" else {}),
            "clipping norm": exact_text(self.clipping_norm),
        }

    def _sizes_in_words(self) -> str:
        sizes, records = self.noise.sizes, self.noise.records
        left = records - sum(sizes)
        rest = f", and {left} records are dropped" if left else f", the last one of {sizes[-1]}"
        return f"{len(sizes)} of {sizes[0]}{rest}, of {records} records"
