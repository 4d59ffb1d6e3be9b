"""What is known of the privacy of a run, from above and from below, for every way to make its batches.

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

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb

from dpverdict.audit.losses.base import AddRemoveLoss, LikelihoodRatio, PrivacyLoss
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.losses.domains import Direction, EventBound
from dpverdict.audit.sampling.allocation import random_allocation
from dpverdict.audit.sampling.allocation_moments import delta_at_most
from dpverdict.audit.sampling.mixtures.fixed_size import replaced_in_batch
from dpverdict.audit.sampling.mixtures.loss import poisson_replaced
from dpverdict.audit.sampling.mixtures.scored_sums import scored_epochs, scored_steps
from dpverdict.audit.sampling.mixtures.through import ThroughAbsent, blocks_of_steps
from dpverdict.audit.sampling.mixtures.told import CutBatches, cut_batches
from dpverdict.audit.sampling.mixtures.with_replacement import DrawnAgain, drawn_opposite, drawn_removed, drawn_replaced
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import Real, sqrt_up
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
    WorstPair,
)
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE, NeighbourPair
from dpverdict.mechanisms.training.batched_run import KNOWN_BATCHES, BatchedRun
from dpverdict.mechanisms.training.batches import BatchSampling
from dpverdict.numerics.text import exact_text

_POISSON: Final[tuple[BatchSampling, ...]] = ("poisson", "cyclic-poisson", "weighted")
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
_SHUFFLED: Final = (
    "from below the events of Chua et al. 2024 (arXiv:2403.17673, section 3; of several epochs arXiv:2411.04205); from "
    "above van Dijk and Ertan 2026 (arXiv:2605.06259), who bound the total variation where s >= sqrt(3/log T): by "
    "1/100 at s = 1 and 1.14 million batches"
)
_REPLACED_BALLS: Final = (
    "of a record that is added or removed the exact pair, Chua et al. 2025 (arXiv:2412.16802) and Feldman and Shenfeld "
    "2025 (arXiv:2502.08202); of a replaced one none is known to us"
)
_COUNTED: Final = (
    "from above k blocks, or Poisson sampling at a rate of (1 + o(1)) k/T, Feldman and Shenfeld 2025 (arXiv:2502.08202)"
)
_WITH_REPLACEMENT: Final = "from above Balle, Barthe and Gaboardi 2018 (arXiv:1807.01647, Theorem 10) of one step"
_CUT_AT_A_SIZE: Final = "from above Ganesh 2025 (arXiv:2508.15089), a closer analysis of truncated Poisson sampling"
_FIXED_AND_REPLACED: Final = (
    "from above Balle, Barthe and Gaboardi 2018 (arXiv:1807.01647, Theorem 9) of one step; that its worst pair need "
    "not be that of several, Lebeda, Regehr, Kamath and Steinke 2024 (arXiv:2405.20769)"
)
PUBLISHED: Final[Mapping[tuple[BatchSampling, bool], str]] = {
    ("shuffle", False): _SHUFFLED,
    ("shuffle", True): _SHUFFLED,
    ("shuffle-once", False): _SHUFFLED,
    ("shuffle-once", True): _SHUFFLED,
    ("balls-in-bins", True): _REPLACED_BALLS,
    ("k-of-t", False): _COUNTED,
    ("k-of-t", True): _COUNTED,
    ("truncated-poisson", False): _CUT_AT_A_SIZE,
    ("truncated-poisson", True): _CUT_AT_A_SIZE,
    ("fixed-size", True): _FIXED_AND_REPLACED,
    ("with-replacement", False): _WITH_REPLACEMENT,
    ("with-replacement", True): _WITH_REPLACEMENT,
}
"""Where no worst pair is known: published bounds with their source, by sampling and whether a record is replaced."""


def bounds_of_run(run: BatchedRun) -> Bounds:
    """The two lists of the way in which batches are made, and where they leave a gap, what is published."""
    found = _both_lists(run)
    if found.worst is not None:
        return found
    return replace(found, published=PUBLISHED.get((run.sampling, run.adjacency is REPLACE_ONE), ""))


def _both_lists(run: BatchedRun) -> Bounds:
    if run.sampling in _POISSON:
        return _sampled(run)
    if run.cut is not None:
        return _of_cut_batches(run, run.cut)
    if run.sampling == "k-of-t" or (run.sampling == "balls-in-bins" and run.adjacency is REPLACE_ONE):
        return _counted(run)
    if run.sampling == "fixed-size":
        return _of_fixed_size(run)
    if run.again is not None:
        return _drawn_again(run, run.again)
    return _allocated(run) if run.sampling == "balls-in-bins" else _shuffled(run)


def _sampled(run: BatchedRun) -> Bounds:
    """The pair with the canary alone is the worst; with very little noise no certified curve of it is known."""
    replaced = run.adjacency is REPLACE_ONE
    pair, words = run.canary_alone(), _CANARY_AND_OPPOSITE if replaced else _CANARY
    loss = _replaced(run) if replaced else run.independent(run.noise_multiplier)
    tail = run.tail_events(pair, words)
    if loss.is_certified:
        why = _INTERPOLATION if replaced else _CONVEXITY
        worst = WorstPair(loss=loss, pair=pair, description=words, justification=why)
        return Bounds(above=(*_of_known_batches(run, worst.because), worst), below=(worst, tail))
    unsampled = Dominating(
        loss=run.known_batches,
        description=words,
        justification="the same without sampling, which tells no less by joint convexity; of steps with so "
        "little noise no certified curve is known",
    )
    attained = (AttainedLoss(pair=pair, loss=one, description=words) for one in (_first_step(run), loss))
    return Bounds(above=(unsampled,), below=(*attained, tail))


def _of_known_batches(run: BatchedRun, because: str) -> tuple[Above, ...]:
    """What needs no sampling: mu and rho of known batches."""
    known = _least_mu_squared(run)
    because = because if known == run.known_batches.mu_squared.rational else _PAIRED
    return (
        MuBound(mu_squared=known, source=KNOWN_BATCHES, because=because),
        RhoBound(rho=known / 2, source="by the l2 norm", because=because),
    )


def _least_mu_squared(run: BatchedRun) -> Fraction:
    """mu^2 that every pair keeps: of known batches, or of a replaced record whose steps are paired with others."""
    number, variance = run.taking_part, run.noise_multiplier**2
    if run.adjacency is REPLACE_ONE:
        if run.sampling in _POISSON and run.rate <= Fraction(1, 2):
            return number / variance
        if run.sampling in ("balls-in-bins", "k-of-t") and run.rate <= Fraction(1, 2):
            return 2 * number / variance
    known = run.known_batches.mu_squared.rational
    assert known is not None  # a fraction
    return known


def _counted(run: BatchedRun) -> Bounds:
    """The canary alone, in k of T steps or in a bin of each epoch: its curves are bounded on either side."""
    replaced, taken = run.adjacency is REPLACE_ONE, run.taking_part
    pair, words = run.canary_alone(), _CANARY_AND_OPPOSITE if replaced else _CANARY
    blocks = blocks_of_steps(run.steps, taken) if run.sampling == "k-of-t" else [(run.batches, run.epochs)]
    allocated = compose_counted(
        [(random_allocation(noise_multiplier=run.noise_multiplier, steps=t, epochs=k), 1) for t, k in blocks]
    )
    why = _CONVEXITY
    known = Dominating(
        loss=GaussianLoss.from_squared(_least_mu_squared(run)),
        description=words,
        justification=_PAIRED if replaced else why,
    )
    tail = run.tail_events(pair, words)
    sums = scored_steps(noise_multiplier=run.noise_multiplier, steps=run.steps, taken=taken, down=1 if replaced else 0)
    event = KnownEvent(pair=pair, description=words, event=sums.event)
    if not replaced:
        if taken == 1 and allocated.is_certified:
            worst = WorstPair(loss=allocated, pair=pair, description=words, justification=why)
            return Bounds(above=(*_of_known_batches(run, worst.because), worst), below=(worst, tail))
        dominating = Dominating(loss=allocated, description=words, justification=_BLOCKS)
        return Bounds(above=(*_of_known_batches(run, why), dominating, known), below=(event, tail))
    both = allocated if isinstance(allocated, AddRemoveLoss) else AddRemoveLoss(remove=allocated, add=allocated)
    through = DeltaBound(
        at=ThroughAbsent(loss=both).delta_at_most,
        source="",
        because=_THROUGH,
    )
    below: tuple[Below, ...] = (event,)
    if run.sampling == "balls-in-bins":
        zero = run.neighbours(run.canary, 0 * run.canary)
        below += (AttainedLoss(pair=zero, loss=allocated, description=_CANARY_AND_ZERO),)
    return Bounds(above=(*_of_known_batches(run, _PAIRED), known, through), below=(*below, tail))


def _of_cut_batches(run: BatchedRun, cut: CutBatches) -> Bounds:
    """Poisson batches that are cut: from above by what is told of the other records, from below with zeros."""
    replaced = run.adjacency is REPLACE_ONE
    pair = run.canary_among(np.zeros((cut.records - 1, run.dim)))
    loss = cut_batches(noise_multiplier=run.noise_multiplier, batches=cut, steps=run.steps, replaced=replaced)
    rate, s = cut.taking_part, run.noise_multiplier
    attained = (
        poisson_replaced(noise_multiplier=s, sampling_probability=rate, steps=run.steps)
        if replaced
        else poisson_sampled(GaussianLoss(1 / s), rate, run.steps)
    )
    below = (
        AttainedLoss(pair=pair, loss=attained, description=_CANARY_AND_ZEROS),
        run.tail_events(pair, _CANARY_AND_ZEROS),
    )
    known = _of_known_batches(run, _IN_PLACE)
    if not loss.is_certified:
        unsampled = Dominating(loss=run.known_batches, description="", justification=KNOWN_BATCHES)
        return Bounds(above=(*known, unsampled), below=below)
    return Bounds(above=(*known, Dominating(loss=loss, description="", justification=_CUT)), below=below)


def _of_fixed_size(run: BatchedRun) -> Bounds:
    """The canary in the place of its opposite: the worst pair, but of several steps in which it is replaced."""
    replaced = run.adjacency is REPLACE_ONE
    pair = run.canary_among(np.repeat(-run.canary, run.rate.denominator - 1, axis=0))
    sampled, tail = run.independent(run.noise_multiplier / 2), run.tail_events(pair, _OPPOSITE)
    loss = AddRemoveLoss(remove=sampled.remove, add=sampled.add, ratio=_ratio_in_place(run))
    worst = WorstPair(loss=loss, pair=pair, description=_OPPOSITE, justification=_IN_PLACE)
    if not replaced and loss.is_certified:
        return Bounds(above=(*_of_known_batches(run, _IN_PLACE), worst), below=(worst, tail))
    attained = AttainedLoss(pair=pair, loss=loss, description=_OPPOSITE)
    dominating = replaced_in_batch(noise_multiplier=run.noise_multiplier, rate=run.rate, steps=run.steps)
    if not replaced or not dominating.is_certified:
        return Bounds(above=_of_known_batches(run, _IN_PLACE), below=(attained, tail))
    why = (
        "the profile that one step has in both orders, composed; it is attained in one step, and of several no "
        "worst pair is known"
    )
    above = Dominating(loss=dominating, description=_OPPOSITE, justification=why)
    return Bounds(above=(*_of_known_batches(run, why), above), below=(attained, tail))


def _drawn_again(run: BatchedRun, batches: DrawnAgain) -> Bounds:
    """Draws with replacement: a removed record is the worst among opposite ones, a replaced one is bounded."""
    replaced, s = run.adjacency is REPLACE_ONE, run.noise_multiplier
    opposite = run.canary_among(np.repeat(-run.canary, batches.records - 1, axis=0))
    removed = drawn_removed(noise_multiplier=s, batches=batches, steps=run.steps)
    tail, known = run.tail_events(opposite, _OPPOSITE), _of_known_batches(run, _DRAWN)
    if not replaced and removed.is_certified:
        worst = WorstPair(loss=removed, pair=opposite, description=_OPPOSITE, justification=_DRAWN)
        return Bounds(above=(*known, worst), below=(worst, tail))
    below: tuple[Below, ...] = (AttainedLoss(pair=opposite, loss=removed, description=_OPPOSITE),)
    if not replaced:
        return Bounds(above=known, below=(*below, tail))
    zeros = run.canary_among(np.zeros((batches.records - 1, run.dim)))
    reversed_canary = drawn_opposite(noise_multiplier=s, batches=batches, steps=run.steps)
    below += (AttainedLoss(pair=zeros, loss=reversed_canary, description=_CANARY_AND_ZEROS),)
    loss = drawn_replaced(noise_multiplier=s, batches=batches, steps=run.steps)
    if not loss.is_certified:
        return Bounds(above=known, below=(*below, tail))
    above = Dominating(loss=loss, description="", justification=_DRAWN_REPLACED)
    return Bounds(above=(*known, above), below=(*below, tail))


def _ratio_in_place(run: BatchedRun) -> LikelihoodRatio:
    """That of the canary in the place of its opposite, in words."""
    q = exact_text(run.rate)
    sums = "y_t the noisy sum along the canary's gradient in units of the clipping norm, plus the batch size"
    return LikelihoodRatio(
        f"sum over steps 1 to {run.steps} of log(1 - {q} + {q} exp((2 y_t - 2)/s^2))",
        f"s = {exact_text(run.noise_multiplier)}, {sums}",
    )


def _replaced(run: BatchedRun) -> PrivacyLoss:
    return poisson_replaced(noise_multiplier=run.noise_multiplier, sampling_probability=run.rate, steps=run.taking_part)


def _first_step(run: BatchedRun) -> PrivacyLoss:
    """That of the first step alone, which tells no more than the run."""
    if run.adjacency is REPLACE_ONE:
        return poisson_replaced(noise_multiplier=run.noise_multiplier, sampling_probability=run.rate)
    return poisson_sampled(GaussianLoss(1 / run.noise_multiplier), run.rate)


def _allocated(run: BatchedRun) -> Bounds:
    """The pair with the canary alone is the worst; with very little noise its curves are known roughly at best."""
    pair, loss = run.canary_alone(), run.independent(run.noise_multiplier)
    tail = run.tail_events(pair, _CANARY)
    attained = KnownEvent(pair=pair, description=_CANARY, event=run.largest_release)
    worst = WorstPair(loss=loss, pair=pair, description=_CANARY, justification=_CONVEXITY)

    def by_moments(epsilon: Fraction) -> arb | None:
        if epsilon < 0 or run.batches == 1:
            return None
        s, batches, epochs = run.noise_multiplier, run.batches, run.epochs
        return arb.max(*(delta_at_most(s, batches, epochs, epsilon, order) for order in Direction))

    return Bounds(
        above=(
            *_of_known_batches(run, worst.because),
            DeltaBound(at=by_moments, source="", because=worst.because),
            worst,
        ),
        below=(attained, worst, tail),
    )


def _shuffled(run: BatchedRun) -> Bounds:
    """Shuffled batches: known batches, and the events of a canary that is opposite to all other gradients."""
    others = run.noise.records or run.batches
    pair = run.canary_among(np.repeat(-run.canary, others - 1, axis=0))
    words = _OPPOSITE
    dominating = Dominating(
        loss=run.known_batches,
        description=words,
        justification="deterministic batches, which tell no less by joint convexity over the permutations; of "
        "shuffled batches no dominating pair is known",
    )
    events = [KnownEvent(pair=pair, description=words, event=event) for event in _events_of_shuffles(run)]
    whole = () if run.dropped else (_attained_by_shuffles(run, pair),)
    return Bounds(above=(dominating,), below=(*events, *whole, run.tail_events(pair, words)))


def _events_of_shuffles(run: BatchedRun) -> list[Callable[[Fraction], EventBound]]:
    """About the number of epochs with a large release, and about sums of scores over fresh epochs or steps."""
    found: list[Callable[[Fraction], EventBound]] = [run.largest_release]
    if run.sampling == "shuffle" and run.epochs > 1 and not run.dropped:
        replaced = run.adjacency is REPLACE_ONE
        epochs = scored_epochs(
            deviation=run.noise_multiplier,
            batches=run.batches,
            epochs=run.epochs,
            with_it=2,
            without=0 if replaced else 1,
        )
        found.append(lambda epsilon: epochs.event(epsilon))
    return found


def _attained_by_shuffles(run: BatchedRun, opposite: NeighbourPair) -> AttainedLoss:
    """The whole loss of a pair: a replaced canary among opposite gradients, or a removed one that is alone.

    Where all others are opposite, and the canary is replaced by one of them, all batches have one mean; its own
    has 2 more, and is uniform in each epoch, or in all of them, of which the means over epochs are sufficient.
    """
    replaced, s = run.adjacency is REPLACE_ONE, run.noise_multiplier
    epochs, over, means = run.epochs, "", "y_t the noisy sum"
    if run.sampling == "shuffle-once":
        s, epochs = s * Fraction(sqrt_up(Real.of(Fraction(1, epochs)))), 1
        over, means = f"{run.epochs} ", f"y_t the mean over {run.epochs} epochs of the noisy sum"
    loss = random_allocation(noise_multiplier=s / 2 if replaced else s, steps=run.batches, epochs=epochs)
    moved = "(2 y_t - 2)/s^2" if replaced else "(2 y_t - 1)/(2 s^2)"
    more = ", plus the batch size" if replaced else ""
    ratio = LikelihoodRatio(
        f"sum over {epochs} epochs of log of the mean over {run.batches} batches of exp({over}{moved})",
        f"s = {exact_text(run.noise_multiplier)}, {means} along the canary's gradient in units of the clipping "
        f"norm{more}",
    )
    return AttainedLoss(
        pair=opposite if replaced else run.canary_alone(),
        loss=AddRemoveLoss(remove=loss.remove, add=loss.add, ratio=ratio),
        description=_OPPOSITE if replaced else _CANARY,
    )
