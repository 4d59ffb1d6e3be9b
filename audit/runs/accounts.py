"""From words to accounts: releases that are composed, noise that is calibrated, events that are held to a claim."""

from __future__ import annotations

import hashlib
import math
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final, final

from dpverdict.audit.distinguishing.witness_document import software_versions, strict_json
from dpverdict.audit.documents.request import names_a_callable
from dpverdict.audit.exact.calibrate import Calibration
from dpverdict.audit.exact.calibrate import calibrate as least_scale
from dpverdict.audit.exact.events import loss_from_event
from dpverdict.audit.exact.spending import MOST_RELEASES, Account, Odometer, Spendable, epsilon_of, held_to
from dpverdict.audit.losses.base import PrivacyLoss
from dpverdict.audit.losses.composition import compose_counted
from dpverdict.audit.reports.evidence.risk import risk_section
from dpverdict.audit.reports.html import render_answer
from dpverdict.audit.reports.parts import EvidenceKind, Section, facts
from dpverdict.audit.reports.report import EXIT_CODES
from dpverdict.audit.trials.catalogue import find_mechanism, mechanism_classes, option, takes
from dpverdict.audit.trials.user_functions import load_callable
from dpverdict.balls import Enclosure, exactly
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import as_guarantee
from dpverdict.mechanisms.core.mechanism import StructuredMechanism
from dpverdict.numerics.files import read_limited
from dpverdict.numerics.text import at_least, at_most, decimal, exact_text, time_stamp, whole_number
from dpverdict.risk import Risk

LONGEST_EVENT: Final = 1 << 24
"""Bytes of a file with an event, at most."""

_FOR_EXAMPLE: Final = 'write for example "30 x gaussian sigma=20 sensitivity=1"'
_COUNTED: Final = re.compile(r"\s*(?:(\S+)\s+x\s+)?(\S.*)", re.DOTALL)


def names_an_event(name: str) -> bool:
    """Whether what is to be audited is a file with an event of dp_accounting: its name ends in .json."""
    return name.lower().endswith(".json")


def event_loss(path: str, adjacency: str | None) -> PrivacyLoss:
    """The privacy loss of the event in a file.

    Raises:
        InvalidValue: a file that cannot be read, no relation, or an event of which no exact loss is known.
    """
    if adjacency is None:
        remedy = "add --adjacency add-or-remove-one or --adjacency replace-one: it changes what is spent"
        raise InvalidValue("adjacency", None, "given with an event", remedy)
    try:
        text = read_limited(path, "event", LONGEST_EVENT).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidValue("event", path, "a readable JSON file", f"reading it fails: {error}") from None
    return loss_from_event(text, adjacency)


def event_account(path: str, claim: str | None, adjacency: str | None) -> Account:
    """An accountant's number, stated as a claim, against the exact loss of its event.

    Raises:
        InvalidValue: as `event_loss`, or no claim.
    """
    if claim is None:
        remedy = 'add --claim "eps=3.1, delta=1e-5", with the number of the accountant'
        raise InvalidValue("claim", None, "given with an event", remedy)
    guarantee = as_guarantee(claim)
    return held_to(event_loss(path, adjacency), guarantee)


def account_fields(
    account: Account, path: str, adjacency: str | None, command: str | None = None, risk: Risk | None = None
) -> Mapping[str, object]:
    """An account of the event in a file as JSON values; infinite numbers as texts.

    Args:
        account: of `event_account`.
        path: of the file.
        adjacency: the relation that it was read under, in words.
        command: the command line.
        risk: of what the event spends; None without a base rate.
    """
    comparison = account.comparison
    compared = None
    if comparison is not None:
        sides = {"attained": comparison.attained, "allowed": comparison.allowed}
        compared = {"quantity": comparison.quantity} | {
            name: {"lower": side.lower, "upper": side.upper} for name, side in sides.items()
        }
    return {
        "format": "dpverdict account",
        "version": 1,
        "created": time_stamp(datetime.now(UTC)),
        "event": path,
        "event_sha256": hashlib.sha256(read_limited(path, "event", LONGEST_EVENT)).hexdigest(),
        "relation": adjacency,
        "claim": account.claim.describe(),
        "status": account.status.name,
        "exit_code": EXIT_CODES[account.status],
        "answer": account.summary(),
        "certified": account.certified,
        "compared": strict_json(compared),
        "reason": account.reason,
        "risk": None if risk is None else strict_json(risk.fields()),
        "versions": software_versions(),
        "command": command,
    }


def account_page(fields: Mapping[str, object], risk: Risk | None = None) -> str:
    """The same as one HTML page that loads nothing; the risk of ``fields`` once more, as it was found."""
    words = {
        "relation": "neighbouring relation",
        "event_sha256": "SHA-256 of the file",
        "certified": "by ball arithmetic or exact numbers",
        "compared": "compared",
        "command": "command",
    }
    said = {what: str(fields[name]) for name, what in words.items() if fields[name] is not None}
    section = Section(anchor="account", title="The account", evidence=EvidenceKind.NONE, tables=(facts(said),))
    return render_answer(
        brand="privacy account",
        status=str(fields["status"]),
        subject=str(fields["event"]),
        claim=str(fields["claim"]),
        answer=str(fields["answer"]),
        sections=(section, *(() if risk is None else (risk_section(risk, EvidenceKind.EXACT),))),
        created=str(fields["created"]),
        closing="Nothing was sampled.",
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """What releases spend together.

    Attributes:
        account: all of them, held to the claim.
        releases: each as it was written, with how often it runs, and how often it could run again, if that was asked.
        loss: what they spend, or one that dominates it.
    """

    account: Account
    releases: tuple[tuple[str, int, int | None], ...]
    loss: PrivacyLoss

    def text(self) -> str:
        """The answer, and a line for each sort of release."""
        lines = [self.account.summary()]
        for name, count, more in self.releases:
            left = f"at least {more}" if more is not None and more >= MOST_RELEASES else str(more)
            remaining = "" if more is None else f"; remaining: {left} more of it"
            lines.append(f"  spent: {count} x {name}{remaining}")
        return "\n".join(lines)


def spent_or_held(
    releases: Sequence[str],
    claim: str | None,
    delta: str | None,
    adjacency: str | None,
    *,
    folder: str = "",
    remaining: bool = True,
) -> Composed | SpentEpsilon:
    """What releases spend together: held to a claim, or their epsilon at a delta; see `composed` and `spent_epsilon`.

    Raises:
        InvalidValue: releases, a claim or a delta that cannot be read; both of these, or none.
    """
    check_question(claim, delta)
    if claim is None:
        return spent_epsilon(releases, str(delta), adjacency, folder=folder)
    return composed(releases, claim, adjacency, folder=folder, remaining=remaining)


def check_question(claim: str | None, delta: str | None) -> None:
    """Whether there is a claim to hold what is spent to, or a delta at which its epsilon is wanted.

    Raises:
        InvalidValue: both, none, or one that cannot be read.
    """
    if (claim is None) == (delta is None):
        requirement = "given, or --delta and not both"
        raise InvalidValue("claim", claim, requirement, 'add --delta 1e-6, or --claim "eps=1, delta=1e-6"')
    if claim is None:
        _level(str(delta))
    else:
        as_guarantee(claim)


def composed(
    releases: Sequence[str], claim: str, adjacency: str | None, *, folder: str = "", remaining: bool = True
) -> Composed:
    """The account of releases that are each written as ``30 x gaussian sigma=20 sensitivity=1``, or a .json file.

    Args:
        releases: what is released.
        claim: of all of them together.
        adjacency: of events.
        folder: where relative paths begin; "" for the current one.
        remaining: whether to find out how often each could run again, which takes a composition for every guess.

    Raises:
        InvalidValue: releases or a claim that cannot be read.

    >>> print(composed(["12 x gaussian sigma=25 sensitivity=1"], "eps=1, delta=1e-6", None).text().splitlines()[1])
      spent: 12 x gaussian sigma=25 sensitivity=1; remaining: 23 more of it
    """
    odometer = Odometer(claim)
    spent = [_spending(text, adjacency, folder) for text in releases]
    for _, count, one in spent:
        odometer.spend(one, count)
    return Composed(
        account=odometer.account(),
        releases=tuple((name, count, odometer.remaining(one) if remaining else None) for name, count, one in spent),
        loss=odometer.loss,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SpentEpsilon:
    """The epsilon that releases spend together at one delta.

    Attributes:
        delta: at which it is stated.
        above: holds for every pair of neighbours; encloses the bound.
        attained: of a pair of neighbours; the same as ``above`` where the worst pair is known.
        certified: whether both are by ball arithmetic or exact numbers.
        releases: each as it was written, with how often it runs.
        loss: what they spend, or one that dominates it.
    """

    delta: Fraction
    above: Enclosure
    attained: Enclosure
    certified: bool
    releases: tuple[tuple[str, int], ...]
    loss: PrivacyLoss

    def text(self) -> str:
        """The answer, and a line for each sort of release."""
        how = "certified" if self.certified else "by two-sided float64 bounds, not certified"
        least = at_least(self.attained.lower)
        if self.attained.lower == math.inf:
            answer = f"epsilon is infinite at delta {decimal(self.delta, 6)}, {how}"
        elif self.above.upper == math.inf:
            answer = f"no epsilon is known to be kept at delta {decimal(self.delta, 6)}; at least {least}"
        else:
            answer = f"epsilon at most {at_most(self.above)} at delta {decimal(self.delta, 6)}"
            answer += f", {how}; a pair attains at least {least}"
        return "\n".join([answer, *(f"  spent: {count} x {name}" for name, count in self.releases)])


def spent_epsilon(releases: Sequence[str], delta: str, adjacency: str | None, *, folder: str = "") -> SpentEpsilon:
    """The least epsilon that releases keep together with ``delta``; they are written as for `composed`.

    Raises:
        InvalidValue: releases that cannot be read, or a delta that is not from 0 to below 1.

    >>> spent_epsilon(["12 x gaussian sigma=25 sensitivity=1"], "1e-6", None).text().splitlines()[0]
    'epsilon at most 0.5627 at delta 1e-6, certified; a pair attains at least 0.5626'
    """
    level = _level(delta)
    return _spent([_spending(text, adjacency, folder) for text in releases], level)


def _level(delta: str) -> Fraction:
    level = exactly(delta, name="delta")
    if not 0 <= level < 1:
        raise InvalidValue("delta", delta, "from 0 to below 1", "1e-6 is usual")
    return level


def _spent(spent: Sequence[tuple[str, int, Spendable]], level: Fraction) -> SpentEpsilon:
    above, attained, certified = epsilon_of([(one, count) for _, count, one in spent], level)
    named = tuple((name, count) for name, count, _ in spent)
    loss = compose_counted([(one.loss, count) for _, count, one in spent])
    return SpentEpsilon(delta=level, above=above, attained=attained, certified=certified, releases=named, loss=loss)


def asks_for_epsilon(name: str, options: Mapping[str, str | None]) -> bool:
    """Whether a delta is given to a mechanism of the catalogue that takes none: a question, not a parameter."""
    given = {parameter for parameter, word in options.items() if word is not None}
    asked = "delta" in given and not given & {"epsilon", "calibration"}  # with them it says how noise is calibrated
    return asked and name in mechanism_classes() and not takes(name, "delta")


def spent_by(name: str, given: Mapping[str, str], delta: str) -> tuple[SpentEpsilon, Sequence[str]]:
    """The least epsilon that one mechanism keeps with ``delta``, and what was taken for granted.

    Raises:
        InvalidValue: parameters that do not fit, or a delta that is not from 0 to below 1.
    """
    level = _level(delta)
    named = find_mechanism(name, dict(given))
    words = " ".join([name, *(f"{parameter}={word}" for parameter, word in given.items())])
    return _spent([(words, 1, Spendable.of(named.mechanism))], level), named.notes


def risk_lines(risk: Risk | None) -> list[str]:
    """What an attacker attains, in lines; none where no base rate was given."""
    if risk is None:
        return []
    said = (*risk.sentences(), f"({risk.how})")
    return [f"  {line}" for one in said for line in textwrap.wrap(one, _WIDTH, break_on_hyphens=False)]


_WIDTH: Final = 78


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRelease:
    """One sort of release, as it is written: a mechanism with its parameters, or a file with an event.

    Attributes:
        what: all of it but how often it runs.
        count: how often it runs.
        name: of the mechanism, or the file.
        given: parameters of the mechanism, by their names.
    """

    what: str
    count: int
    name: str
    given: Mapping[str, str]

    @property
    def is_event(self) -> bool:
        """Whether it is a file with an event."""
        return names_an_event(self.what)

    @property
    def runs_code(self) -> bool:
        """Whether it names a class of the user."""
        return not self.is_event and names_a_callable(self.name)


def read_release(text: str) -> WrittenRelease:
    """What is written about one sort of release; nothing is loaded, and no parameter is looked at.

    Raises:
        InvalidValue: it is not written as ``30 x gaussian sigma=20 sensitivity=1`` is.
    """
    matched = _COUNTED.fullmatch(text)
    if matched is None:
        raise InvalidValue("release", text, "a mechanism", _FOR_EXAMPLE)
    times, what = matched.group(1) or "1", matched.group(2).strip()
    if not re.fullmatch(r"[-+\d.eE]+", times):
        raise InvalidValue("release", text, "a number of times, x, and a mechanism", _FOR_EXAMPLE)
    count = whole_number(times, f"releases of {what.split()[0]}", at_least=1, at_most=MOST_RELEASES)
    if names_an_event(what):
        return WrittenRelease(what=what, count=count, name=what, given={})
    name, *words = what.split()
    given: dict[str, str] = {}
    for word in words:
        parameter, _, value = word.partition("=")
        given[parameter.replace("-", "_")] = value
    if not all("=" in word for word in words) or len(given) < len(words):
        raise InvalidValue("release", text, "a name and parameters, each once", _FOR_EXAMPLE)
    if listed := next((word for word in words if word.endswith((",", ";"))), None):
        remedy = f"write {listed.rstrip(',;')}, without a comma"
        raise InvalidValue("release", text, "a name and parameters with spaces between them", remedy)
    return WrittenRelease(what=what, count=count, name=name, given=given)


def _spending(text: str, adjacency: str | None, folder: str) -> tuple[str, int, Spendable]:
    """A sort of release: its words, how often it runs, and what it spends."""
    written = read_release(text)
    if written.is_event:
        return written.what, written.count, Spendable.of(event_loss(os.path.join(folder, written.what), adjacency))
    name = os.path.join(folder, written.name) if ".py:" in written.name else written.name
    if written.runs_code and not isinstance(load_callable(name, name="mechanism"), type):
        remedy = f"of a function nothing is known that could be added; {_FOR_EXAMPLE}"
        raise InvalidValue("release", written.name, "a mechanism that dpverdict list shows", remedy)
    try:
        return written.what, written.count, Spendable.of(find_mechanism(name, dict(written.given)).mechanism)
    except InvalidValue as error:
        raise _in_words_of_a_release(error, written.what) from None


def _in_words_of_a_release(error: InvalidValue, what: str) -> InvalidValue:
    """The error with its parameters as a release has them: ``sigma=20``, where an audit has ``--sigma 20``."""
    remedy = re.sub(r"--([a-z][\w-]*)", lambda named: f"{named[1].replace('-', '_')}=...", error.remedy)
    return InvalidValue(error.name, error.value, error.requirement, f"{remedy}, in {what!r}")


def calibrated(name: str, words: Mapping[str, str | None], claim: str, releases: str) -> Calibration:
    """The least scale of a mechanism of the catalogue that keeps a claim.

    Raises:
        InvalidValue: a mechanism that no scale is found for, its scale among the words, or a claim it cannot keep.
    """
    given = {parameter: word for parameter, word in words.items() if word is not None}
    # the noise of others follows from what they are to keep, such as mu: they take no scale
    scaled = {one: kind for one, kind in mechanism_classes().items() if kind.scaled_by and takes(one, kind.scaled_by)}
    loaded = load_callable(name, name="mechanism") if names_a_callable(name) else None
    kind = loaded if isinstance(loaded, type) and issubclass(loaded, StructuredMechanism) else scaled.get(name)
    if kind is None or kind.scaled_by is None:
        if names_a_callable(name):
            remedy = "add --schema patients.toml; dpverdict schema TABLE --out patients.toml writes one"
            raise InvalidValue("schema", None, "given for a function, of the table that it takes", remedy)
        remedy = f"dpverdict compare {name} --claim ... finds the least noise of the others"
        raise InvalidValue("mechanism", name, f"one of {', '.join(scaled)}", remedy)
    scale = kind.scaled_by
    if scale in given:
        raise InvalidValue(scale, given[scale], "left out: it is what is to be found", f"drop {option(scale)}")
    if "sensitivity" in {parameter.name for parameter in kind.parameters} and "sensitivity" not in given:
        remedy = "add --sensitivity: how far one record moves the statistic"
        raise InvalidValue("sensitivity", None, f"given for {name}", remedy)

    def make(value: float) -> StructuredMechanism:
        made = find_mechanism(name, {**given, scale: exact_text(Fraction(value))}).mechanism
        assert isinstance(made, StructuredMechanism)  # a name of the catalogue
        return made

    count = whole_number(releases, "releases", at_least=1, at_most=MOST_RELEASES)
    return least_scale(make, claim, releases=count)
