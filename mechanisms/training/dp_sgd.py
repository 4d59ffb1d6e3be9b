"""DP-SGD: noisy sums of clipped gradients, on batches that are made in one of ten ways (see `run_bounds`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Final, final

from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss, identical_laws
from dpverdict.audit.sampling.mixtures.told import CutBatches
from dpverdict.audit.sampling.mixtures.with_replacement import DrawnAgain
from dpverdict.balls import Exact, exactly
from dpverdict.checks import check_whole
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.bounds import Above, Below, Bounds
from dpverdict.mechanisms.core.guarantees import ZeroConcentratedDP
from dpverdict.mechanisms.core.mechanism import sampled_above
from dpverdict.mechanisms.core.neighbours import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.core.parameters import Parameter, whole
from dpverdict.mechanisms.training.batched_run import IN_PLACE_OF_OTHERS, BatchedRun
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
from dpverdict.mechanisms.training.gradients import NOISE_MULTIPLIER, ON_GRADIENTS, STEPS, clipped, exact_norm
from dpverdict.mechanisms.training.run_bounds import bounds_of_run
from dpverdict.numerics.arrays import Array
from dpverdict.numerics.roots import float_above
from dpverdict.numerics.text import exact_text

_MOST_RECORDS: Final = 1_000_000
_VARIANTS: Final[tuple[BatchSampling, ...]] = ("poisson", *EPOCHWISE, "fixed-size", "cyclic-poisson")
"""The ways to make batches that reports show beside each other."""


@final
class DPSGD(BatchedRun):
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
    claim: ZeroConcentratedDP
    noise: BatchNoise
    rate: Fraction
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
        if rate is None and size is None and records is None and not cut and self.sampling != "with-replacement":
            remedy = "say how likely a record is to be in a batch"
            raise InvalidValue("rate", None, "given, or records and size in its place", remedy)
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

    # what is known ----------------------------------------------------------------------------------------------------

    def above(self) -> Sequence[Above]:
        """Known batches, or the pair with the canary alone; of balls in bins closer bounds at one epsilon as well."""
        return self.privacy_bounds().above

    def below(self) -> Sequence[Below]:
        """The pair with the canary alone, or an event of shuffled batches; and events in the far tail."""
        return self.privacy_bounds().below

    def privacy_bounds(self) -> Bounds:
        """The two lists of the way in which batches are made."""
        return bounds_of_run(self)

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
        if self.sampling in IN_PLACE_OF_OTHERS:
            return self.known_batches
        if known:
            square = norm**2 / (self.clipping_norm * self.noise_multiplier) ** 2
            return GaussianLoss.from_squared(self.taking_part * square)
        return self.independent(self.noise_multiplier * self.clipping_norm / norm) if norm else identical_laws()

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
