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
from dpverdict.audit.losses.finite.loss import FiniteLoss
from dpverdict.audit.losses.laplace.loss import LaplaceLoss
from dpverdict.audit.sampling.poisson import poisson_sampled
from dpverdict.balls import exactly
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.neighbours import REPLACE_ONE
from dpverdict.numerics.text import whole_number
from dpverdict.suggestions import nearest

MOST_EVENTS: Final = 10**7
"""Applications of mechanisms that are composed, at most."""
DEEPEST: Final = 64

RELATIONS: Final[dict[str, NeighboringRelation]] = {
    "add-or-remove-one": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "add-remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace-one": NeighboringRelation.REPLACE_ONE,
    "zero-out": NeighboringRelation.REPLACE_SPECIAL,
}
"""Their names, in which an underscore may stand for a hyphen."""

NEAREST: Final[dict[str, str]] = {
    "SampledWithoutReplacementDpEvent": "its numbers are not those of Poisson sampling; the event inside it, under "
    "replace-one and not sampled, bounds it from above, by convexity over the batches",
    "SampledWithReplacementDpEvent": "a record can be drawn twice, so that not even the event inside bounds it",
    "TruncatedSubsampledGaussianDpEvent": "PoissonSampledDpEvent of its Gaussian event is exact where no batch is cut; "
    "the pair of dp_accounting is an upper bound, which from_pld reads",
    "SingleEpochTreeAggregationDpEvent": "compose a GaussianDpEvent for each level of the tree that holds the record, "
    "or audit tree-counter or dp-ftrl",
    "ZCDpEvent": "zero-concentrated privacy bounds divergences and has no pair of laws; give the mechanism that has it",
    "RepeatAndSelectDpEvent": "only Renyi divergences of it are bounded; give the event of one run, and count the runs",
    "MixtureOfGaussiansDpEvent": "of the values 0 and 1 it is PoissonSampledDpEvent of a Gaussian event; of others the "
    "GaussianDpEvent of the largest one bounds it from above",
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

    Reference: dp_accounting 0.6.0, dp_event.py; Zhu, Dong and Wang 2022 on sampling (arXiv:2106.08567).

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
            "GaussianDpEvent": self._gaussian,
            "LaplaceDpEvent": self._laplace,
            "DiscreteLaplaceDpEvent": self._discrete_laplace,
            "RandomizedResponseDpEvent": self._response,
            "SelfComposedDpEvent": self._repeated,
            "ComposedDpEvent": self._composed,
            "PoissonSampledDpEvent": lambda event, path: self._sampled(event, path, 1),
        }
        if name not in readers:
            known = f"use one of {', '.join(readers)}, or the pessimistic distribution by from_pld"
            self._refuse(event, path, NEAREST.get(name, known))
        return readers[name](event, path)

    def _moved(self) -> int:
        """How far one record moves a sum, in units of what the noise is relative to."""
        return 2 if self.relation is REPLACE_ONE and self.relative_to == "record" else 1

    def _gaussian(self, event: Event, path: str) -> PrivacyLoss:
        noise = _number(event, path, "noise_multiplier", least=Fraction(0))
        return DisjointLoss() if noise == 0 else GaussianLoss(self._moved() / noise)

    def _laplace(self, event: Event, path: str) -> PrivacyLoss:
        noise = _number(event, path, "noise_multiplier", least=Fraction(0))
        return DisjointLoss() if noise == 0 else LaplaceLoss([self._moved() / noise])

    def _discrete_laplace(self, event: Event, path: str) -> PrivacyLoss:
        rate = _number(event, path, "noise_parameter", least=Fraction(0))
        if _whole_number_field(event, path, "sensitivity") * self._moved() != 1:
            self._refuse(event, path, "only a shift by 1 is exact; compose shifts by 1 for an upper bound")
        return RandomisedResponseLoss(1, rate) if rate else identical_laws()

    def _response(self, event: Event, path: str) -> PrivacyLoss:
        """One bucket against another: kept with probability 1 - p, else drawn from all k."""
        if self.relation is not REPLACE_ONE:
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
        if _name(inner, f"{path}.event") == "PoissonSampledDpEvent":
            return self._sampled(inner, f"{path}.event", count)
        return compose_counted([(self.loss(inner, f"{path}.event"), count)])

    def _composed(self, event: Event, path: str) -> PrivacyLoss:
        events = _field(event, path, "events")
        if not isinstance(events, list | tuple):
            raise InvalidValue(f"{path}.events", events, "a list of events", "give each event of the composition")
        return compose(*[self.loss(one, f"{path}.events[{i}]") for i, one in enumerate(events)])

    def _sampled(self, event: Event, path: str, steps: int) -> PrivacyLoss:
        """The inner event on a sample: of a composition, on the same one for all its parts."""
        if self.relation is REPLACE_ONE:
            remedy = (
                "its pair is known under add-or-remove-one and zero-out; a replacement is one of each: with "
                "(epsilon, delta) under the first, (2 epsilon, (1 + e^epsilon) delta) holds"
            )
            self._refuse(event, path, remedy)
        rate = _number(event, path, "sampling_probability", least=Fraction(0))
        return poisson_sampled(self.loss(_field(event, path, "event"), f"{path}.event"), rate, steps)

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


def _number(event: Event, path: str, name: str, *, least: Fraction) -> Fraction:
    value = exactly(_field(event, path, name), name=f"{path}.{name}")
    if value < least:
        raise InvalidValue(f"{path}.{name}", str(value), f">= {least}", "correct the event")
    return value


def _whole_number_field(event: Event, path: str, name: str) -> int:
    return whole_number(str(_field(event, path, name)), f"{path}.{name}", at_least=0, at_most=MOST_EVENTS)
