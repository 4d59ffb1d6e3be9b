"""What an exact audit says: CERTIFIED, REFUTED or INCONCLUSIVE, with the evidence."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NoReturn, final

from dpverdict.audit.losses.base import PrivacyLoss, curves_of
from dpverdict.balls import Enclosure, Exact
from dpverdict.cards import card
from dpverdict.errors import NotCertified
from dpverdict.mechanisms.core.guarantees import Guarantee
from dpverdict.mechanisms.core.neighbours import NeighbourPair
from dpverdict.numerics.text import shown
from dpverdict.risk import Risk, shown_by_event


class Status(enum.Enum):
    """The three values of a verdict."""

    CERTIFIED = "the claim holds for every neighbouring pair, by exact or ball arithmetic"
    REFUTED = "the claim is false: the witness is a neighbouring pair that breaks it"
    INCONCLUSIVE = "neither was shown: the reason says what was undecided"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """Why a claim holds.

    Attributes:
        method: "exact rational arithmetic" or "ball arithmetic".
        statement: the inequality that was decided, with its numbers.
        value: enclosure of what the mechanism attains (mu, delta, rho, or a Renyi divergence).
        bound: enclosure of what the claim allows for the same quantity.
        worst_case: how the worst neighbouring pair is known to be the worst.
        assumptions: what is taken for granted.
        source_sha256: hash of the source text of the mechanism and of the engine that certified it.
    """

    method: str
    statement: str
    value: Enclosure
    bound: Enclosure
    worst_case: str
    assumptions: tuple[str, ...]
    source_sha256: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Why a claim is false: neighbouring datasets, an event, and both of its probabilities.

    Attributes:
        pair: the neighbouring datasets; P is the law of the release on ``pair.dataset``, Q on ``pair.neighbour``.
        difference: the pair in words.
        event: a set of outputs, in words and numbers a reader can recompute.
        probability: enclosure of P(event).
        neighbour_probability: enclosure of Q(event).
        value: enclosure of what the pair attains for the claimed quantity.
        bound: enclosure of what the claim allows for it.
        statement: the violated inequality, with its numbers.
    """

    pair: NeighbourPair
    difference: str
    event: str
    probability: Enclosure
    neighbour_probability: Enclosure
    value: Enclosure
    bound: Enclosure
    statement: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer of `certify`: exactly one of certificate, witness and reason is present, as the status says.

    Attributes:
        status: what was shown.
        mechanism: its name.
        claim: the guarantee that was decided.
        certificate: present if CERTIFIED.
        witness: present if REFUTED.
        reason: present if INCONCLUSIVE.
        on_trust: what a mechanism that is not of this library declares of itself, and how it was tried; None for ours.
        loss: the privacy loss of the worst pair, or one above it, for a picture; None if there is none.
    """

    status: Status
    mechanism: str
    claim: Guarantee
    certificate: Certificate | None = None
    witness: Witness | None = None
    reason: str | None = None
    on_trust: str | None = None
    loss: PrivacyLoss | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        evidence = {
            Status.CERTIFIED: self.certificate,
            Status.REFUTED: self.witness,
            Status.INCONCLUSIVE: self.reason,
        }
        present = [status for status, part in evidence.items() if part is not None]
        if present != [self.status]:
            raise ValueError(f"a verdict {self.status.name} needs its own evidence and no other, got {present}")

    def __bool__(self) -> NoReturn:
        raise TypeError("a Verdict has three values; compare verdict.status, or call verdict.require()")

    def require(self) -> Verdict:
        """This verdict, if it is CERTIFIED.

        Raises:
            NotCertified: with the summary, otherwise.
        """
        if self.status is not Status.CERTIFIED:
            raise NotCertified(self.summary())
        return self

    def summary(self) -> str:
        """One line: status, mechanism, claim, and the inequality that decided."""
        detail = self.reason
        if self.certificate is not None:
            detail = self.certificate.statement
        if self.witness is not None:
            detail = self.witness.statement
        trust = "" if self.on_trust is None else f" {self.trust}"
        return f"{self.status.name}:{trust} {self.mechanism} claims {self.claim.describe()}: {detail}"

    def __str__(self) -> str:
        return self.summary()

    @property
    def trust(self) -> str:
        """What is taken on trust, in a sentence; empty for a mechanism of this library."""
        return "" if self.on_trust is None else f"Taken on trust: {_sentence(self.on_trust)}"

    @property
    def answer(self) -> str:
        """Why the status is what it is, in a sentence; before it, what is taken on trust."""
        return f"{self.trust} {self._answer}".lstrip()

    @property
    def _answer(self) -> str:
        if self.certificate is not None:
            return f"Certified by {self.certificate.method}: {_sentence(self.certificate.statement)}"
        if self.witness is not None:
            return f"The claim {self.claim.describe()} is false: {_sentence(self.witness.statement)}"
        return f"Neither shown nor refuted: {_sentence(str(self.reason))}"

    def key_facts(self) -> dict[str, str]:
        """What was found, by name: numbers rounded away from the claim's favour, in words; empty if undecided."""
        trust = {} if self.on_trust is None else {"on trust": self.on_trust}
        if self.certificate is not None:
            return trust | {
                "attained": shown(self.certificate.value),
                "allowed": shown(self.certificate.bound),
                "worst neighbours": self.certificate.worst_case,
                "assumed": "; ".join(self.certificate.assumptions),
            }
        if self.witness is not None:
            return trust | {
                "neighbours": self.witness.difference,
                "event": self.witness.event,
                "its probability": shown(self.witness.probability),
                "on the neighbour": shown(self.witness.neighbour_probability),
            }
        return {}

    def risk(self, base_rate: Exact) -> Risk:
        """How often an attacker is right that suspects a share of some people, and whom it finds.

        At most, by the certified claim and the loss that dominates every pair; of a claim that is refuted, at least: by
        the event of the witness. Where nothing dominates, by the claim alone, which the words then say.

        Args:
            base_rate: the share of the people that is suspected before the release, between 0 and 1.

        Raises:
            InvalidValue: a share out of range.
        """
        if self.witness is not None:
            found, alarms = self.witness.probability.lower, self.witness.neighbour_probability.upper
            how = "by the event that refutes the claim"
            return shown_by_event(base_rate, Fraction(found), Fraction(min(alarms, 1.0)), how=how)
        promised = self.claim.risk(base_rate)
        if self.certificate is None:
            promised = replace(promised, provided="If the claim holds, which was not shown")
            return promised if self.loss is None else self.loss.risk(base_rate)
        certified = replace(promised, provided="", how=f"what {self.claim.describe()} allows, which is certified")
        if self.loss is None:
            return certified
        found_risk = self.loss.risk(base_rate)
        return found_risk.no_more_than(certified, f"{found_risk.how}, with what the certified claim allows")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return card(
            status=self.status.name,
            name=self.mechanism,
            claim=self.claim.describe(),
            answer=self.answer,
            evidence={"exact": self.key_facts()},
            curves=[] if self.loss is None else [curves_of(self.loss, "worst neighbours"), curves_of(self.claim, None)],
        )


def _sentence(text: str) -> str:
    return text if text.endswith(".") else text + "."
