"""What a report is made of: sections of text and tables, and the certified numbers that every face states.

A section says what kind of evidence it holds. A report states a privacy profile and a trade-off function at round
levels, and at the levels of the claim itself. Each number is an enclosure; beside it stands what the claim allows, on
its own side.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

from dpverdict.audit.exact.worst_case import WorstCase
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.balls import Enclosure, Real
from dpverdict.mechanisms.core.guarantees import ApproximateDP, Guarantee, PureDP


class EvidenceKind(enum.Enum):
    """What a section rests on; no section rests on both."""

    EXACT = "exact evidence: ball or rational arithmetic, no error probability"
    STATISTICAL = "statistical evidence: samples, with an error probability"
    NONE = "no evidence: what was audited, and how to run it again"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text under a header; without a header, the first column names what the others say.

    Attributes:
        caption: what the rows are, in a few words; may be empty.
        header: the names of the columns, or () for a list of facts.
        rows: the cells; all rows have the same length, that of the header if there is one.
    """

    caption: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report under one title.

    Attributes:
        anchor: the name of the section in a link, unique in the report.
        title: its heading.
        evidence: what it rests on.
        text: paragraphs.
        tables: tables, in order.
    """

    anchor: str
    title: str
    evidence: EvidenceKind
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What one check found, in a line.

    Attributes:
        name: of what was checked.
        result: holds, FAILS, or why neither can be said.
        seen: what it rests on, in a few words.
    """

    name: str
    result: str
    seen: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a person reads first of one kind of evidence.

    Attributes:
        facts: sentences by their names, such as the worst neighbours.
        checks: what was checked, and whether it holds.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()


HOLDS: Final = "holds"
FAILS: Final = "FAILS"
NOT_REFUTED: Final = "not refuted"
"""What is said of a check by samples that found nothing: it proves nothing."""

NOT_DECIDED: Final = "not decided"


def facts(named: Mapping[str, str], *, caption: str = "") -> Table:
    """A list of facts, one row for each name."""
    return Table(caption=caption, rows=tuple(named.items()))


EPSILONS: Final = tuple(map(Fraction, ("0", "1/2", "1", "2", "4", "8")))
"""Where delta is stated, beside the epsilon of the claim."""

DELTAS: Final = tuple(map(Fraction, ("1e-3", "1e-5", "1e-6", "1e-9")))
"""Where epsilon is stated, beside the delta of the claim."""

ALPHAS: Final = tuple(map(Fraction, ("1/1000", "1/100", "1/20", "1/10", "1/4", "1/2", "3/4")))
"""Where beta is stated: type I errors."""

BETA_DIGITS: Final = 6
"""Digits of beta that are computed where all of them take seconds."""


def stated_epsilons(claim: Guarantee) -> tuple[Fraction, ...]:
    """The epsilons at which a report states delta, increasing."""
    own = {claim.epsilon} if isinstance(claim, PureDP | ApproximateDP) else set()
    return tuple(sorted({*EPSILONS, *own}))


def stated_deltas(claim: Guarantee) -> tuple[Fraction, ...]:
    """The deltas at which a report states epsilon, decreasing."""
    own = {claim.delta} if isinstance(claim, ApproximateDP) and claim.delta > 0 else set()
    return tuple(sorted({*DELTAS, *own}, reverse=True))


def stated_profile(known: PrivacyLoss | WorstCase, claim: Guarantee) -> list[tuple[Fraction, Enclosure, Fraction]]:
    """Rows (epsilon, the certified delta, the delta that the claim allows at most)."""
    return [(e, known.certified_delta(e), claimed_delta_upper(claim, e)) for e in stated_epsilons(claim)]


def stated_trade_off(known: PrivacyLoss | WorstCase, claim: Guarantee) -> list[tuple[Fraction, Enclosure, Fraction]]:
    """Rows (alpha, the certified beta, the beta that the claim allows at least)."""
    return [(a, known.enclosed_beta(a, BETA_DIGITS), claimed_beta_lower(claim, a)) for a in ALPHAS]


def claimed_delta_upper(claim: Guarantee, epsilon: Fraction) -> Fraction:
    """What the claim allows delta to be at an exact epsilon, at most."""
    if isinstance(claim, PureDP | ApproximateDP) and epsilon == claim.epsilon:
        return claim.delta if isinstance(claim, ApproximateDP) else Fraction(0)
    return Fraction(claim.delta_upper(Enclosure.of(Real.of(epsilon)).lower))  # the profile decreases


def claimed_beta_lower(claim: Guarantee, alpha: Fraction) -> Fraction:
    """What the claim allows beta to be at an exact alpha, at least."""
    return Fraction(claim.beta_lower(min(Enclosure.of(Real.of(alpha)).upper, 1.0)))  # the trade-off function decreases
