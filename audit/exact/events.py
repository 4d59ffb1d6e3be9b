"""The privacy loss of an event of dp_accounting: what an accountant was told, so that its number can be checked.

An event is a tree: mechanisms at its leaves, composition and sampling above them. It is taken as the object, or as JSON
with the same names, in which decimals are read exactly:

    {"class_name": "SelfComposedDpEvent", "count": 1000, "event":
        {"class_name": "PoissonSampledDpEvent", "sampling_probability": 0.01, "event":
            {"class_name": "GaussianDpEvent", "noise_multiplier": 1.1}}}

What no exact pair of laws is known for is refused, with its place in the tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, Final, Literal, NoReturn, final

from dp_accounting.privacy_accountant import NeighboringRelation

from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.closed_form import (
    DisjointLoss,
    GaussianLoss,
    RandomisedResponseLoss,
    identical_laws,
)
from dpverdict.audit.losses.composition import compose, compose_counted
from dpverdict.audit.losses.discrete_gaussian.loss import DiscreteGaussianLoss
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.mixtures.fixed_size import replaced_in_batch
from dpverdict.audit.sampling.mixtures.loss import mixture_of_gaussians, poisson_replaced
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import whole_number
from dpverdict.suggestions import nearest

MOST_EVENTS: Final = 10**7
"""Applications of mechanisms that are composed, at most."""
MOST_DRAWN: Final = 1000
"""Records of a batch that is drawn with replacement, at most: each is a part of a mixture."""
FARTHEST_DRAWN: Final = 20
"""How far all records of such a batch may move the sum, in standard deviations, where batches are composed."""
DEEPEST: Final = 64

RELATIONS: Final[dict[str, NeighboringRelation]] = {
    "add-or-remove-one": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "add-remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace-one": NeighboringRelation.REPLACE_ONE,
    "zero-out": NeighboringRelation.REPLACE_SPECIAL,
}
"""Their names, in which an underscore may stand for a hyphen."""

NEAREST: Final[dict[str, str]] = {
    "TruncatedSubsampledGaussianDpEvent": "PoissonSampledDpEvent of its Gaussian event is exact where no batch is cut; "
    "elsewhere audit dp-sgd --sampling truncated-poisson has bounds on both sides",
    "ZCDpEvent": "zero-concentrated privacy bounds divergences and has no pair of laws; give the mechanism that has it",
    "RepeatAndSelectDpEvent": "only Renyi divergences of it are bounded; give the event of one run, and count the runs",
    "ExponentialMechanismDpEvent": "its worst pair depends on epsilon, so that none composes; EpsilonDeltaDpEvent with "
    "delta 0 bounds it from above, and audit exponential has the mechanism itself",
    "PermuteAndFlipDpEvent": "whether LaplaceDpEvent(1/epsilon) is attained, which dp_accounting takes for it, is not "
    "known; EpsilonDeltaDpEvent with delta 0 bounds it from above",
    "UnsupportedDpEvent": "nothing is known of it; give the event of the mechanism itself",
}
"""Of events without an exact pair: why, and what is nearest to them. The bounds are sound and not taken unasked."""

RelativeTo = Literal["record", "difference"]

Event = Any  # dp_accounting ships no types; or a mapping with the same names


def loss_from_event(
    event: Event, relation: NeighboringRelation | str, *, noise_relative_to: RelativeTo = "record"
) -> PrivacyLoss:
    """The privacy loss of the worst pair of neighbours of an event of dp_accounting.

    Args:
        event: a ``DpEvent``, a mapping with ``class_name`` and its fields, or JSON text of one.
        relation: the neighbouring relation, also as text, see `RELATIONS`; zero-out is dp_accounting's REPLACE_SPECIAL.
        noise_relative_to: under replace-one, what the noise multiplier of a Gaussian or Laplace event is relative to.
            "record", as dp_accounting documents its events: the bound C on the norm of one record, so that replacing it
            moves the sum by up to 2C. "difference": how far a replacement moves the sum, as `dp_event` writes it and
            dp_accounting's RdpAccountant reads it.

    Returns:
        The loss of the pair, or `AddRemoveLoss` where its orders differ. Compositions are those of fixed events.

    Raises:
        InvalidValue: an event of another kind, or one of which no exact pair is known under the relation, with its
            place in the tree; a parameter out of range.

    Reference: dp_accounting 0.6.0 and its head of August 2026, dp_event.py; Zhu, Dong and Wang 2022 on sampling
        (arXiv:2106.08567); `dpverdict.audit.sampling.mixtures` on batches of fixed size and replaced records.

    >>> from dp_accounting import GaussianDpEvent, SelfComposedDpEvent
    >>> loss_from_event(SelfComposedDpEvent(GaussianDpEvent(2), 4), "add-or-remove-one")
    GaussianLoss(mu=1)
    >>> loss_from_event('{"class_name": "GaussianDpEvent", "noise_multiplier": 0.1}', "replace-one")
    GaussianLoss(mu=20)
    """
    if noise_relative_to not in ("record", "difference"):
        remedy = "as dp_accounting documents it, record; as dp_event writes it, difference"
        raise InvalidValue("noise_relative_to", noise_relative_to, "record or difference", remedy)
    if isinstance(event, str):
        event = read_event(event)
    known = RELATIONS.get(relation.strip().lower().replace("_", "-")) if isinstance(relation, str) else relation
    if not isinstance(known, NeighboringRelation):
        remedy = f"{nearest(str(relation), RELATIONS)}write one of {', '.join(RELATIONS)}"
        raise InvalidValue("relation", relation, "a neighbouring relation", remedy)
    return _Reader(known, noise_relative_to).loss(event, "event")


def read_event(text: str) -> Mapping[str, Any]:
    """The event that JSON states, its decimals as text, to be read exactly.

    Raises:
        InvalidValue: no JSON, or not an object.
    """
    try:
        found = json.loads(text, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise InvalidValue("event", text[:60], "JSON", f"reading it fails: {error}") from None
    if not isinstance(found, dict):
        raise InvalidValue("event", text[:60], "a JSON object with a class_name", 'write {"class_name": ...}')
    inner = found.get("event")
    return inner if "class_name" not in found and isinstance(inner, dict) else found


@final
@dataclass(frozen=True, slots=True)
class _Reader:
    relation: NeighboringRelation
    relative_to: RelativeTo

    def loss(self, event: Event, path: str) -> PrivacyLoss:
        name = _name(event, path)
        if path.count(".") > DEEPEST:
            raise InvalidValue("event", name, f"at most {DEEPEST} deep", "compose equal events in one")
        readers: Mapping[str, Callable[[Event, str], PrivacyLoss]] = {
            "NoOpDpEvent": lambda event, path: identical_laws(),
            "NonPrivateDpEvent": lambda event, path: DisjointLoss(),
            "EpsilonDeltaDpEvent": self._stated,
            "GaussianDpEvent": self._gaussian,
            "LaplaceDpEvent": self._laplace,
            "DiscreteGaussianDpEvent": self._discrete_gaussian,
            "DiscreteLaplaceDpEvent": self._discrete_laplace,
            "MixtureOfGaussiansDpEvent": self._mixture,
            "RandomizedResponseDpEvent": self._response,
            "SingleEpochTreeAggregationDpEvent": self._tree,
            "SelfComposedDpEvent": self._repeated,
            "ComposedDpEvent": self._composed,
        }
        batches = self._in_batches()
        if name in batches:
            return batches[name](event, path, 1)
        if name not in readers:
            known = f"use one of {', '.join([*readers, *batches])}, or the pessimistic distribution by from_pld"
            self._refuse(event, path, NEAREST.get(name, known))
        return readers[name](event, path)

    def _in_batches(self) -> Mapping[str, Callable[[Event, str, int], PrivacyLoss]]:
        """Events on a sample that is drawn anew in each of a number of steps."""
        return {
            "PoissonSampledDpEvent": self._sampled,
            "SampledWithoutReplacementDpEvent": self._fixed_size,
            "SampledWithReplacementDpEvent": self._drawn_again,
        }

    def _moved(self) -> int:
        """How far one record moves a sum, in units of what the noise is relative to."""
        return 2 if self._replaces() and self.relative_to == "record" else 1

    def _replaces(self) -> bool:
        return self.relation is NeighboringRelation.REPLACE_ONE

    def _stated(self, event: Event, path: str) -> PrivacyLoss:
        """The pair that dominates all (epsilon, delta)-private ones: nothing is hidden with probability delta."""
        epsilon = _number(event, path, "epsilon", least=Fraction(0))
        delta = _number(event, path, "delta", least=Fraction(0))
        if delta > 1:
            raise InvalidValue(f"{path}.delta", str(delta), "in [0, 1]", "correct the event")
        response = RandomisedResponseLoss(1, epsilon) if epsilon else identical_laws()
        if not delta:
            return response
        return compose(FiniteLoss([delta, 1 - delta, 0], [0, 1 - delta, delta]), response)

    def _gaussian(self, event: Event, path: str) -> PrivacyLoss:
        noise = _number(event, path, "noise_multiplier", least=Fraction(0))
        return DisjointLoss() if noise == 0 else GaussianLoss(self._moved() / noise)

    def _laplace(self, event: Event, path: str) -> PrivacyLoss:
        noise = _number(event, path, "noise_multiplier", least=Fraction(0))
        return DisjointLoss() if noise == 0 else LaplaceLoss([self._moved() / noise])

    def _discrete_gaussian(self, event: Event, path: str) -> PrivacyLoss:
        """A shift by 1 is one of a single coordinate, whatever the dimension is."""
        sigma = _number(event, path, "sigma", least=Fraction(0))
        shift = _number(event, path, "sensitivity", least=Fraction(0), default=1) * self._moved()
        if sigma == 0 or shift == 0:
            return DisjointLoss() if shift else identical_laws()
        dimension = event.get("dimension") if isinstance(event, Mapping) else getattr(event, "dimension", None)
        if shift.denominator != 1:
            self._refuse(event, path, "integers move by integers: round the sensitivity down")
        if shift != 1 and dimension != 1:
            self._refuse(event, path, "which integer vector of that norm is the worst is not known: state dimension 1")
        return DiscreteGaussianLoss.product([int(shift)], [sigma**2])

    def _mixture(self, event: Event, path: str) -> PrivacyLoss:
        """A record moves the sum by a random amount, or it is absent."""
        if self._replaces():
            self._refuse(event, path, "its pair has a record to remove: state add-or-remove-one or zero-out")
        noise = _number(event, path, "standard_deviation", least=Fraction(0))
        moves, weights = (_numbers(event, path, name) for name in ("sensitivities", "sampling_probs"))
        if len(moves) != len(weights):
            raise InvalidValue(f"{path}.sampling_probs", len(weights), f"{len(moves)} numbers", "one for each move")
        if noise == 0:
            lost = sum((weight for weight, move in zip(weights, moves, strict=True) if move), Fraction(0))
            return poisson_sampled(DisjointLoss(), lost)
        return mixture_of_gaussians(noise_multiplier=noise, weights=list(zip(weights, moves, strict=True)))

    def _tree(self, event: Event, path: str) -> PrivacyLoss:
        """A record at the first leaf of the largest tree is in one finished node of each level."""
        if self.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            self._refuse(
                event, path, "a record more moves those after it to other leaves: state zero-out or replace-one"
            )
        noise = _number(event, path, "noise_multiplier", least=Fraction(0))
        counts = _field(event, path, "step_counts")
        leaves = [
            whole_number(str(one), f"{path}.step_counts", at_least=0, at_most=MOST_EVENTS)
            for one in (counts if isinstance(counts, list | tuple) else [counts])
        ]
        levels = max((one.bit_length() for one in leaves), default=0)
        if levels == 0:
            return identical_laws()
        return DisjointLoss() if noise == 0 else GaussianLoss.from_squared(levels * (self._moved() / noise) ** 2)

    def _discrete_laplace(self, event: Event, path: str) -> PrivacyLoss:
        rate = _number(event, path, "noise_parameter", least=Fraction(0))
        if _whole_number_field(event, path, "sensitivity") * self._moved() != 1:
            self._refuse(event, path, "only a shift by 1 is exact; compose shifts by 1 for an upper bound")
        return RandomisedResponseLoss(1, rate) if rate else identical_laws()

    def _response(self, event: Event, path: str) -> PrivacyLoss:
        """One bucket against another: kept with probability 1 - p, else drawn from all k."""
        if not self._replaces():
            self._refuse(event, path, "a response has a record to replace: state the relation replace-one")
        p, k = (
            _number(event, path, "noise_parameter", least=Fraction(0)),
            _whole_number_field(event, path, "num_buckets"),
        )
        if p > 1 or k < 1:
            raise InvalidValue(f"{path}.noise_parameter", str(p), "in [0, 1], with at least one bucket", "correct it")
        if k == 1:
            return identical_laws()
        own, other = 1 - p + p / k, p / k
        return FiniteLoss([own, other, (k - 2) * other], [other, own, (k - 2) * other])

    def _repeated(self, event: Event, path: str) -> PrivacyLoss:
        count, inner = _whole_number_field(event, path, "count"), _field(event, path, "event")
        if count == 0:
            return identical_laws()
        batches = self._in_batches().get(_name(inner, f"{path}.event"))
        if batches is not None:
            return batches(inner, f"{path}.event", count)
        return compose_counted([(self.loss(inner, f"{path}.event"), count)])

    def _composed(self, event: Event, path: str) -> PrivacyLoss:
        events = _field(event, path, "events")
        if not isinstance(events, list | tuple):
            raise InvalidValue(f"{path}.events", events, "a list of events", "give each event of the composition")
        return compose(*[self.loss(one, f"{path}.events[{i}]") for i, one in enumerate(events)])

    def _sampled(self, event: Event, path: str, steps: int) -> PrivacyLoss:
        """The inner event on a Poisson sample: of a composition, on the same one for all its parts."""
        rate = _number(event, path, "sampling_probability", least=Fraction(0))
        if not self._replaces():
            return poisson_sampled(self.loss(_field(event, path, "event"), f"{path}.event"), rate, steps)
        if self.relative_to == "difference":
            self._refuse(event, path, "its pair is known for noise relative to the bound on a record: state that one")
        noise = self._gaussian_noise(event, path)
        if noise == 0:
            return self._seen(1 - (1 - rate) ** steps)
        return poisson_replaced(noise_multiplier=noise, sampling_probability=rate, steps=steps)

    def _fixed_size(self, event: Event, path: str, steps: int) -> PrivacyLoss:
        """A Gaussian sum over a batch of b of n records, each of which stands in the place of another one.

        Of neighbours that differ by a record, n is the larger number. If b = n, the smaller one has n records.
        """
        records, batch = self._sizes(event, path)
        if batch > records:
            raise InvalidValue(f"{path}.sample_size", batch, f"at most {records}", "correct the event")
        noise = self._gaussian_noise(event, path)
        if batch == 0:
            return identical_laws()
        rate = Fraction(batch, records)
        if self.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            rate = rate if rate < 1 else Fraction(batch, records + 1)
            return poisson_sampled(GaussianLoss(2 / noise) if noise else DisjointLoss(), rate, steps)
        if not self._replaces():
            self._refuse(event, path, "its pair is known under add-or-remove-one, and of one step under replace-one")
        if noise == 0:
            return self._seen(1 - (1 - rate) ** steps)
        if steps > 1 and rate < 1:
            remedy = "of several steps no worst pair is known: audit dp-sgd --sampling fixed-size has both bounds"
            self._refuse(event, path, remedy)
        return replaced_in_batch(noise_multiplier=2 * noise / self._moved(), rate=rate, steps=steps)

    def _drawn_again(self, event: Event, path: str, steps: int) -> PrivacyLoss:
        """A Gaussian sum over b draws of n records, of which a binomial number are the record, each for another one."""
        if self.relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
            remedy = "its pair is known under add-or-remove-one"
            if self._replaces():
                remedy += "; of a replaced record audit dp-sgd --sampling with-replacement has both bounds"
            self._refuse(event, path, remedy)
        records, batch = self._sizes(event, path)
        noise = self._gaussian_noise(event, path)
        if batch == 0:
            return identical_laws()
        if batch > MOST_DRAWN or (steps > 1 and 0 < FARTHEST_DRAWN * noise < 2 * batch):
            remedy = (
                f"it is computed of at most {MOST_DRAWN} draws, and of several steps where 2 sample_size is at most "
            )
            remedy += f"{FARTHEST_DRAWN} noise multipliers; audit dp-sgd --sampling with-replacement bounds the others"
            self._refuse(event, path, remedy)
        q = Fraction(1, records)
        weights = [(comb(batch, k) * q**k * (1 - q) ** (batch - k), Fraction(2 * k)) for k in range(batch + 1)]
        if noise == 0:
            return poisson_sampled(DisjointLoss(), 1 - weights[0][0], steps)
        return compose_counted([(mixture_of_gaussians(noise_multiplier=noise, weights=weights), steps)])

    def _sizes(self, event: Event, path: str) -> tuple[int, int]:
        records, batch = (_whole_number_field(event, path, f"{name}_size") for name in ("source_dataset", "sample"))
        if records == 0:
            raise InvalidValue(f"{path}.source_dataset_size", 0, ">= 1", "correct the event")
        return records, batch

    def _gaussian_noise(self, event: Event, path: str) -> Fraction:
        """Of the Gaussian event on the sample, in units of the bound on a record."""
        inner = _field(event, path, "event")
        if _name(inner, f"{path}.event") != "GaussianDpEvent":
            remedy = (
                "of these batches the pair is known of a GaussianDpEvent; of Poisson samples under add-or-remove-one "
                "of every event, where (epsilon, delta) makes (2 epsilon, (1 + e^epsilon) delta) of a replacement"
            )
            self._refuse(event, path, remedy)
        return _number(inner, f"{path}.event", "noise_multiplier", least=Fraction(0))

    @staticmethod
    def _seen(probability: Fraction) -> PrivacyLoss:
        """Without noise: a record is told from its replacement with a probability, and nothing is told otherwise."""
        return FiniteLoss([probability, 1 - probability, 0], [0, 1 - probability, probability])

    def _refuse(self, event: Event, path: str, remedy: str) -> NoReturn:
        requirement = f"one whose exact pair of laws is known under {self.relation.name}"
        raise InvalidValue(path, _name(event, path), requirement, remedy)


def _name(event: Event, path: str) -> str:
    if isinstance(event, Mapping):
        name = event.get("class_name")
        if isinstance(name, str):
            return name
    elif type(event).__name__.endswith("DpEvent"):
        return type(event).__name__
    raise InvalidValue(path, event, "an event of dp_accounting", "give a DpEvent, or an object with a class_name")


def _field(event: Event, path: str, name: str) -> Any:
    found = event.get(name) if isinstance(event, Mapping) else getattr(event, name, None)
    if found is None:
        raise InvalidValue(f"{path}.{name}", None, f"given for {_name(event, path)}", f"add {name}")
    return found


def _number(event: Event, path: str, name: str, *, least: Fraction, default: int | None = None) -> Fraction:
    if default is not None and isinstance(event, Mapping):
        event = {name: default, **event}
    value = exactly(_field(event, path, name), name=f"{path}.{name}")
    if value < least:
        raise InvalidValue(f"{path}.{name}", str(value), f">= {least}", "correct the event")
    return value


def _numbers(event: Event, path: str, name: str) -> list[Fraction]:
    found = _field(event, path, name)
    if isinstance(found, str) or not hasattr(found, "__iter__"):
        raise InvalidValue(f"{path}.{name}", found, "a list of numbers", "give a number for each case")
    return [exactly(one, name=f"{path}.{name}") for one in found]


def _whole_number_field(event: Event, path: str, name: str) -> int:
    return whole_number(str(_field(event, path, name)), f"{path}.{name}", at_least=0, at_most=MOST_EVENTS)
