"""What stands first in every face of a report: a sentence in plain words, the decision, and what was claimed and found.

The sentence says what an attacker gains who must tell from one release whether a record is in the data: with at most
5 % false alarms they still miss the share beta(0.05) of the members. Where the claim is false, what was found stands
beside what was claimed, in a unit in which the two differ. Numbers have the digits a person needs, rounded to the side
on which the sentence stays true; the intervals are in the sections.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, TypeVar, final

from dpverdict.audit.distinguishing.events import claimed_epsilon
from dpverdict.audit.distinguishing.result import DistinguishingTest
from dpverdict.audit.distinguishing.sequential import SequentialTest
from dpverdict.audit.exact.verdict import Status, Verdict
from dpverdict.audit.exact.worst_case import WorstCase, gdp_parameter
from dpverdict.audit.reports.evidence.evidence import Evidence
from dpverdict.audit.reports.parts import BETA_DIGITS, DELTAS, claimed_beta_lower
from dpverdict.balls import Enclosure
from dpverdict.cards import DECISIONS
from dpverdict.errors import InvalidValue, PrecisionExhausted
from dpverdict.mechanisms.core.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverdict.numerics.text import about, at_least, at_most, decimal, exact_text, shown, told_apart

T = TypeVar("T")

FALSE_ALARMS: Final = Fraction(1, 20)
"""The share of false alarms at which the sentence states what an attacker misses."""

_WORTH_COUNTING: Final = 1e-6
"""The least share of missed members that is stated: less protects nobody."""

DIGITS: Final = 3

USUAL_DELTA: Final = Fraction("1e-6")
"""Where epsilon is stated for a claim that names no delta."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What to read first.

    Attributes:
        sentence: what was found, in plain words.
        decision: what follows for the release: one of `cards.DECISIONS`.
        claimed: the claim, and what it means as (epsilon, delta).
        found: the same of what was found; "nothing" if no number was.
    """

    sentence: str
    decision: str
    claimed: str
    found: str


def _leads_to(one: Evidence, status: Status) -> bool:
    """Whether evidence leads to a status by itself."""
    return one.decides is status or (status is Status.REFUTED and one.refutes)


def summary_of(
    status: Status,
    claim: Guarantee,
    *,
    worst: WorstCase | None,
    verdict: Verdict | None,
    tests: tuple[DistinguishingTest | SequentialTest, ...],
    others: tuple[Evidence, ...] = (),
    disagreement: str | None,
    warning: str | None,
) -> Summary:
    """The summary of a report from its evidence.

    Args:
        status: of the report.
        claim: what was audited.
        worst: the worst neighbours.
        verdict: the exact verdict.
        tests: of the releases.
        others: evidence of other kinds that bounds something.
        disagreement: see `Report.disagreement`.
        warning: see `Report.warning`.
    """
    delta = own_delta(claim)
    claimed = f"{claim.describe()}: {meaning(claim)}"
    promised = promised_epsilon(claim, delta)
    if promised is not None and not isinstance(claim, PureDP | ApproximateDP):
        claimed += f"; epsilon {_upper(promised)} at delta {decimal(delta)}"
    epsilon = None if worst is None else _if_enclosed(partial(worst.certified_epsilon, delta))
    if disagreement is not None:
        sentence = disagreement
    elif verdict is not None and verdict.status is status:
        sentence = _exact_sentence(status, claim, worst, verdict, epsilon, promised)
    elif (deciding := next((one.answer for one in others if _leads_to(one, status)), None)) is not None:
        sentence = deciding
    else:
        sentence = _sampled_sentence(claim, tests)
    if warning is not None and disagreement is None:
        sentence += f" {warning}"
    found = _found_in_a_line(status, delta, worst, epsilon, tests) or "; ".join(
        one.found for one in others if one.found
    )
    return Summary(
        sentence=sentence,
        decision=DECISIONS[status.name],
        claimed=claimed,
        found=found or "nothing",
    )


def meaning(claim: Guarantee) -> str:
    """What a guarantee promises, in words that name no other guarantee."""
    match claim:
        case GaussianDP(mu=mu):
            return f"a release tells as little of a record as one draw tells of N(0, 1) from N({exact_text(mu)}, 1)"
        case PureDP():
            return "no outcome is more than exp(epsilon) times as likely with a record as without it"
        case ApproximateDP():
            return (
                "no set of outcomes is more likely with a record than exp(epsilon) times as likely as without it, "
                "plus delta"
            )
        case ZeroConcentratedDP():
            return "the Renyi divergence of every order a is at most a rho"
        case RenyiDP(order=order):
            return f"the Renyi divergence of order {exact_text(order)} is at most epsilon"


def own_delta(claim: Guarantee) -> Fraction:
    """The delta at which a claim is stated as an epsilon."""
    if isinstance(claim, PureDP):
        return Fraction(0)
    return claim.delta if isinstance(claim, ApproximateDP) else USUAL_DELTA


def promised_epsilon(claim: Guarantee, delta: Fraction) -> Fraction | None:
    """An epsilon at which the claim allows at most ``delta``, nearly the least; None if there is none up to 1e12."""
    if isinstance(claim, PureDP) or (isinstance(claim, ApproximateDP) and delta >= claim.delta):
        return claim.epsilon  # of a larger delta it is an upper bound, and the promise as it was made
    level = math.nextafter(float(delta), 0.0) if delta else 0.0
    found = claimed_epsilon(claim, level, most=1e12)
    return None if found is None else Fraction(found)


def _exact_sentence(
    status: Status,
    claim: Guarantee,
    worst: WorstCase | None,
    verdict: Verdict,
    epsilon: Enclosure | None,
    promised: Fraction | None,
) -> str:
    """Of the exact verdict, with the worst pair's epsilon at `own_delta`, and the claim's."""
    if status is Status.INCONCLUSIVE or worst is None:
        return verdict.answer
    say = _said_if_kept if status is Status.CERTIFIED else _said_if_broken
    said = say(claim, worst, epsilon, promised)
    return verdict.answer if said is None else f"{verdict.trust} {said}".lstrip()


def _said_if_kept(
    claim: Guarantee, worst: WorstCase, epsilon: Enclosure | None, promised: Fraction | None
) -> str | None:
    missed = _if_enclosed(lambda: worst.enclosed_beta(FALSE_ALARMS, BETA_DIGITS).lower)
    parts = []
    if missed is not None:
        left = f"still misses {'' if worst.exact else 'at least '}{_percent_down(Fraction(missed))} of the members"
        parts.append(
            f"Whoever attacks a release with {_percent_down(FALSE_ALARMS)} false alarms "
            f"{left if missed > _WORTH_COUNTING else 'may find practically every member'}"
        )
    if epsilon is not None and promised is not None and math.isfinite(epsilon.upper):
        # the verdict has shown that it is no more than is claimed, though balls about an attained claim reach beyond
        found, allowed = _upper(min(Fraction(epsilon.upper), promised)), _upper(promised)
        least, where = "" if worst.exact else "at most ", f"at delta {decimal(own_delta(claim), 6)}"
        how = "as claimed" if found == allowed else f"{allowed} is claimed"
        parts.append(f"epsilon is {least}{found} {where}, {how}")
    return f"{': '.join(parts)}." if parts else None


def _said_if_broken(
    claim: Guarantee, worst: WorstCase, epsilon: Enclosure | None, promised: Fraction | None
) -> str | None:
    """The first of these that shows the difference: epsilon at a delta, or what an attacker misses."""
    if not worst.exact:
        return None
    own = own_delta(claim)
    for delta in (own, *DELTAS):
        found = epsilon if delta == own else _if_enclosed(partial(worst.certified_epsilon, delta))
        allowed = promised if delta == own else promised_epsilon(claim, delta)
        if found is not None and allowed is not None and found.lower > allowed:
            numbers = told_apart(found.lower, allowed, about, DIGITS)
            return (
                f"The promise is broken: the true epsilon is {numbers[0]} at delta {decimal(delta, 6)}, and "
                f"{numbers[1]} was claimed{_attack_in_words(claim, worst)}."
            )
    attack = _attack_in_words(claim, worst)
    return f"The promise is broken{attack}." if attack else None


def _attack_in_words(claim: Guarantee, worst: WorstCase) -> str:
    missed = _if_enclosed(lambda: worst.enclosed_beta(FALSE_ALARMS, BETA_DIGITS).upper)
    promised = claimed_beta_lower(claim, FALSE_ALARMS)
    if missed is None or Fraction(at_most(100 * Fraction(missed), 2)) >= Fraction(at_least(100 * promised, 2)):
        return ""
    return (
        f"; whoever attacks a release with {_percent_down(FALSE_ALARMS)} false alarms misses only "
        f"{at_most(100 * Fraction(missed), 2)} % of the members, not {_percent_down(promised)}"
    )


def _sampled_sentence(claim: Guarantee, tests: tuple[DistinguishingTest | SequentialTest, ...]) -> str:
    refuting = [test for test in tests if test.refuted]
    for test in refuting:
        wrong = f"This finding is wrong with a probability of at most {at_most(test.error_probability, 3)}."
        said = "Releases on the two datasets differ more than the claim allows"
        bound = _bound(claim, test)
        if bound is not None:
            quantity, least, promised, where = bound
            if promised is not None and least > promised:
                numbers = told_apart(least, promised, at_least, DIGITS)
                said += f": {quantity} is at least {numbers[0]}{where}, and {numbers[1]} was claimed"
        return f"{said}. {wrong}"
    test = tests[0]
    pairs = f"{test.samples} releases on each of the two datasets"
    return f"Nothing in {pairs} speaks against the claim; that is no proof of it."


def _bound(
    claim: Guarantee, test: DistinguishingTest | SequentialTest
) -> tuple[str, float, Fraction | None, str] | None:
    """The quantity a test bounds, its lower bound, what was claimed of it, and at which delta."""
    if test.epsilon_lower is not None:
        delta = getattr(test, "delta", None)
        level = own_delta(claim) if delta is None else Fraction(delta)
        if isinstance(claim, ApproximateDP) and delta is not None and delta == _float_above(claim.delta):
            level = claim.delta
        return "epsilon", test.epsilon_lower, promised_epsilon(claim, level), f" at delta {decimal(level, 6)}"
    if isinstance(claim, GaussianDP) and test.mu_lower is not None:
        return "mu", test.mu_lower, claim.mu, ""
    return None


def _found_in_a_line(
    status: Status,
    delta: Fraction,
    worst: WorstCase | None,
    epsilon: Enclosure | None,
    tests: tuple[DistinguishingTest | SequentialTest, ...],
) -> str | None:
    """What was found in a line: the exact parameters, or else the bounds from releases."""
    found = []
    if worst is not None:
        least = "" if worst.exact else "at most "
        rounded = about if worst.exact and status is Status.REFUTED else _with_the_sentence
        mu = _if_enclosed(lambda: gdp_parameter(worst.loss))
        if mu is not None:
            found.append(f"mu {least}{_or_infinite(mu, rounded)}")
        if epsilon is not None:
            known = worst.exact or epsilon.upper < math.inf
            number = f"{least}{_or_infinite(epsilon, rounded)}" if known else "not bounded"
            found.append(f"epsilon {number} at delta {decimal(delta, 6)}")
        return "; ".join(found)
    for test in tests:
        if test.epsilon_lower is not None:
            at = getattr(test, "delta", None)
            level = delta if at is None else Fraction(at)
            least = at_least(test.epsilon_lower, DIGITS)
            found.append(f"epsilon at least {least} at delta {decimal(level, 6)}")
        if test.mu_lower is not None:
            found.append(f"mu at least {at_least(test.mu_lower, DIGITS)}")
    return "; ".join(dict.fromkeys(found))


def _float_above(number: Fraction) -> float:
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


def _if_enclosed(compute: Callable[[], T]) -> T | None:
    """What is computed; None where no enclosure can be had, which the sections then say."""
    try:
        return compute()
    except (PrecisionExhausted, InvalidValue):
        return None


def _upper(number: float | Fraction) -> str:
    return "infinite" if number == math.inf else at_most(number, DIGITS)


def _with_the_sentence(found: Enclosure, digits: int) -> str:
    """Rounded up as in the sentence; a number of few digits that may be the value itself is left as it is."""
    pair = shown(found, digits), at_most(found, digits)
    return pair[0] if pair[0] == about(found, digits) and found.contains(Fraction(pair[0])) else pair[1]


def _or_infinite(found: Enclosure, rounded: Callable[[Enclosure, int], str]) -> str:
    return "infinite" if found.upper == math.inf else rounded(found, DIGITS)


def _percent_down(share: Fraction) -> str:
    """A share in percent, rounded down to two digits.

    >>> _percent_down(Fraction(1, 20)), _percent_down(Fraction(7405, 10000)), _percent_down(Fraction(1, 12345))
    ('5 %', '74 %', '0.0081 %')
    """
    return f"{at_least(100 * share, 2)} %"
