"""Is what an accountant says of a training run true? The verdict on an (epsilon, delta) claim about DP-SGD."""

from __future__ import annotations

import numpy as np
from flint import arb

from dpverdict.audit.exact.verdict import Certificate, Status, Verdict, Witness
from dpverdict.audit.losses.base import TwoOrders
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.audit.sampling.shuffled import ShuffledBatches, shuffled_batches
from dpverdict.balls import Enclosure, Real, ball, precision
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.dominating_pairs import NORMAL_VARIATES, REAL_ARITHMETIC
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP, as_guarantee
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.mechanisms.training.dp_sgd import DPSGD
from dpverdict.numerics.sources import modules_sha256
from dpverdict.numerics.text import short_text

_BITS = 128


def certify_training(training: DPSGD, claim: Guarantee | str) -> Verdict:
    """Decide whether a training run keeps an (epsilon, delta) claim: nothing is sampled.

    Poisson sampling is decided by the certified profile of the dominating pairs, in both orders. Of shuffled batches
    no dominating pair is known: a claim is refuted by an event of one pair of data sets (all other gradients opposite
    to the canary's), certified where deterministic batches would keep it too, and inconclusive in between.

    Args:
        training: the run.
        claim: an (epsilon, delta) or a pure claim, also as text.

    Raises:
        InvalidValue: another kind of claim.

    >>> training = DPSGD(noise_multiplier="0.5", rate="1/10000", steps=10_000, sampling="shuffle")
    >>> certify_training(training, "eps=1.955, delta=1e-6").status.name
    'REFUTED'
    """
    guarantee = as_guarantee(claim)
    if not isinstance(guarantee, ApproximateDP | PureDP):
        raise InvalidValue("claim", guarantee, "an (epsilon, delta) claim", 'write "eps=3.1, delta=1e-5"')
    claimed = guarantee if isinstance(guarantee, ApproximateDP) else ApproximateDP(guarantee.epsilon, 0)
    return _of_poisson(training, claimed) if training.sampling == "poisson" else _of_shuffled(training, claimed)


def _of_poisson(training: DPSGD, claim: ApproximateDP) -> Verdict:
    loss = poisson_sampled(GaussianLoss(1 / training.noise_multiplier), training.rate, training.steps)
    try:
        orders = {"remove": loss.remove.certified_delta(claim.epsilon), "add": loss.add.certified_delta(claim.epsilon)}
    except (PrecisionExhausted, InvalidValue):
        return _undecided(training, claim, loss)
    worse, found = max(orders.items(), key=lambda pair: pair[1].lower)
    highest = max(orders.values(), key=lambda value: value.upper)
    with_it = "the data with the canary against the data without it"
    pair = with_it if worse == "remove" else "the data without the canary against the data with it"
    if highest.upper <= claim.delta:
        return _certified(training, claim, highest, f"{pair}; the dominating pairs of both orders were compared")
    if not found.lower > claim.delta:
        return _undecided(training, claim, loss)
    with precision(_BITS):
        rest = ((1 - arb(found.lower)) * (-ball(claim.epsilon)).exp()).upper()
    sign = "" if worse == "remove" else "-"
    q, s = short_text(training.rate), short_text(training.noise_multiplier)
    event = (
        f"{sign}(sum over steps of log(1 - {q} + {q} exp((2 y_t - 1)/(2 s^2)))) > {short_text(claim.epsilon)}, "
        f"s = {s}, y_t the noisy sum along the canary's gradient in units of the clipping norm"
    )
    return _refuted(training, claim, found, event, Enclosure(arb(found.lower), arb(1)), Enclosure(arb(0), rest), pair)


def _of_shuffled(training: DPSGD, claim: ApproximateDP) -> Verdict:
    bounds: ShuffledBatches = shuffled_batches(
        noise_multiplier=training.noise_multiplier,
        batches=training.batches,
        epochs=training.epochs,
        relation=training.adjacency,
        shuffle="fresh" if training.sampling == "shuffle" else "persistent",
    )
    lower, upper = bounds.lower_delta(claim.epsilon), bounds.upper_delta(claim.epsilon)
    attained = Enclosure(arb(lower), arb(upper))
    if lower > claim.delta:
        event = bounds.event(claim.epsilon)
        p, q = Enclosure.of_ball(event.p_ball), Enclosure.of_ball(event.q_ball)
        pair = "the canary's gradient opposite to all others, with it against without it"
        return _refuted(training, claim, attained, event.event, p, q, pair)
    if upper <= claim.delta:
        return _certified(training, claim, attained, "deterministic batches, which tell no less by joint convexity")
    reason = (
        f"delta({short_text(claim.epsilon)}) is between {lower:.6g} and {upper:.6g}, against "
        f"{short_text(claim.delta)}: no dominating pair of shuffled batches is known"
    )
    return Verdict(status=Status.INCONCLUSIVE, mechanism=training.name, claim=claim, reason=reason)


def _undecided(training: DPSGD, claim: ApproximateDP, loss: TwoOrders) -> Verdict:
    lower, upper = loss.delta_bounds(np.array([float(claim.epsilon)]))
    reason = (
        f"delta({short_text(claim.epsilon)}) is bracketed on a lattice by {lower[0]:.10g} and {upper[0]:.10g}, in "
        f"float64, against {short_text(claim.delta)}: that certifies nothing"
    )
    return Verdict(status=Status.INCONCLUSIVE, mechanism=training.name, claim=claim, reason=reason)


def _certified(training: DPSGD, claim: ApproximateDP, attained: Enclosure, worst: str) -> Verdict:
    statement = f"delta({short_text(claim.epsilon)}) is in {attained.show(9)}, within {short_text(claim.delta)}"
    certificate = Certificate(
        method="ball arithmetic",
        statement=f"{statement}, for {training.describe()}",
        value=attained,
        bound=Enclosure.of(Real.of(claim.delta)),
        worst_case=worst,
        assumptions=(
            "batches are made as stated, independently of the records",
            "every gradient is clipped, and the noise is added to the sum before anything else sees it",
            *(REAL_ARITHMETIC, NORMAL_VARIATES),
        ),
        source_sha256=modules_sha256(certify_training),
    )
    return Verdict(status=Status.CERTIFIED, mechanism=training.name, claim=claim, certificate=certificate)


def _refuted(
    training: DPSGD, claim: ApproximateDP, attained: Enclosure, event: str, p: Enclosure, q: Enclosure, pair: str
) -> Verdict:
    others = 0 if training.sampling == "poisson" else training.batches - 1
    norm = float(training.clipping_norm)
    dataset = np.concatenate([np.full((others, 1), -norm), [[norm]]])
    replaced = np.full((1, 1), -norm) if training.adjacency.name == "REPLACE_ONE" else np.zeros((0, 1))
    statement = (
        f"delta({short_text(claim.epsilon)}) is at least {attained.lower:.10g}, above {short_text(claim.delta)}, for "
        f"{training.describe()}"
    )
    witness = Witness(
        pair=NeighbourPair(
            dataset=dataset, neighbour=np.concatenate([dataset[:-1], replaced]), adjacency=training.adjacency
        ),
        difference=pair,
        event=event,
        probability=p,
        neighbour_probability=q,
        value=attained,
        bound=Enclosure.of(Real.of(claim.delta)),
        statement=statement,
    )
    return Verdict(status=Status.REFUTED, mechanism=training.name, claim=claim, witness=witness)
