"""The audit of a sampler: the claim tested, what the batches look like instead, and what epsilon that makes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal, final

import numpy as np

from dpverdict.audit.batches.claim import BatchClaim
from dpverdict.audit.batches.counts import MISSED, CountTest, detectable
from dpverdict.audit.batches.drawn import DrawnBatches
from dpverdict.audit.batches.epsilons import Training
from dpverdict.audit.batches.tests_of_claims import tests_of
from dpverdict.audit.statistics.proportions import proportion_lower, proportion_upper
from dpverdict.cards import card
from dpverdict.errors import InvalidValue
from dpverdict.numerics.text import about, at_least, at_most, exact_text

SHOWN: Final = 6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A test that rejects the claim."""

    name: str
    words: str
    observed: int
    trials: int
    expected: float | None
    p_value: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonRow:
    """The ends of an epsilon, and the batches that it is of."""

    batches: str
    lower: float
    upper: float

    @property
    def text(self) -> str:
        """The ends, rounded outward; the upper one alone where they agree."""
        lower, upper = at_least(self.lower), at_most(self.upper)
        if math.isinf(self.upper):
            return "not known" if self.lower == 0 else f"at least {lower}"
        if self.upper - self.lower <= 1e-6 * self.upper:
            return f"at most {upper}"
        return f"between {lower} and {upper}" if self.lower else f"at most {upper}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerAudit:
    """What is found of a sampler.

    Attributes:
        claim: in words.
        records: n.
        batches: drawn.
        passes: over the loader.
        error_probability: of rejecting a claim that holds, by any of the tests.
        tests: how many were made.
        findings: the tests that reject, the most telling ones first; the p-values are adjusted for all tests.
        instead: what the batches look like; a description, not a test.
        would_have_shown: deviations that would have been found with probability 0.95.
        epsilons: of the training that was asked about.
        seed: of what the loader was made with.
    """

    claim: str
    records: int
    batches: int
    passes: int
    error_probability: float
    tests: int
    findings: tuple[Finding, ...]
    instead: tuple[str, ...]
    would_have_shown: tuple[str, ...]
    epsilons: tuple[EpsilonRow, ...] = ()
    seed: int | None = None
    delta: str | None = field(default=None)

    @property
    def refuted(self) -> bool:
        """Whether some test rejects the claim."""
        return bool(self.findings)

    @property
    def status(self) -> Literal["REFUTED", "INCONCLUSIVE"]:
        """Never CERTIFIED."""
        return "REFUTED" if self.refuted else "INCONCLUSIVE"

    @property
    def exit_code(self) -> Literal[1, 3]:
        """1 for a claim that is refuted; 3 else: no test certifies how batches are made."""
        return 1 if self.refuted else 3

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; an infinite epsilon is null."""
        fields = asdict(self)
        for row in fields["epsilons"]:
            row["upper"] = None if math.isinf(row["upper"]) else row["upper"]
        return fields | {"exit_code": self.exit_code}

    @staticmethod
    def from_dict(fields: Mapping[str, Any]) -> SamplerAudit:
        """The same, from JSON values."""
        given: dict[str, Any] = {name: value for name, value in fields.items() if name != "exit_code"}
        rows = [row | {"upper": math.inf if row["upper"] is None else row["upper"]} for row in given["epsilons"]]
        given["findings"] = tuple(Finding(**one) for one in given["findings"])
        given["instead"] = tuple(given["instead"])
        given["would_have_shown"] = tuple(given["would_have_shown"])
        given["epsilons"] = tuple(EpsilonRow(**row) for row in rows)
        return SamplerAudit(**given)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        tests = f"{self.tests}, error probability {self.error_probability:g} for all of them together"
        rows = {"drawn": self.drawn, "tests": tests}
        rows |= {one.name: f"{one.words}: {one.observed} of {one.trials}" for one in self.findings[:SHOWN]}
        rows |= {"looks like": "; ".join(self.instead)} if self.instead else {}
        rows |= {f"epsilon at delta {self.delta} of {row.batches}": row.text for row in self.epsilons}
        found = f"{len(self.findings)} of {self.tests} tests reject it" if self.refuted else "no deviation was found"
        follows = "Next: claim the batches that they look like, or mend the loader." if self.refuted else ""
        return card(
            status=self.status,
            name="a loader",
            claim=self.claim,
            answer=f"{found[:1].upper()}{found[1:]}.",
            evidence={"statistical": rows},
            next_step=follows,
        )

    def text(self) -> str:
        """For a terminal."""
        status = "REFUTED" if self.refuted else "INCONCLUSIVE: no deviation found"
        lines = [status, f"claim: {self.claim}", f"drawn: {self.drawn}"]
        if self.seed is not None:
            lines[-1] += f"; seed {self.seed}"
        lines.append(f"{self.tests} tests, error probability {self.error_probability:g} for all of them together")
        for one in self.findings[:SHOWN]:
            expected = "none" if one.expected == 0 else "" if one.expected is None else about(one.expected)
            more = f", expected {expected}" if expected else ""
            sure = "" if one.expected == 0 else f"; p <= {at_most(one.p_value, 2)}"
            lines.append(f"  {one.words}: {one.observed} of {one.trials}{more}{sure}")
        if len(self.findings) > SHOWN:
            lines.append(f"  and {len(self.findings) - SHOWN} more tests that reject it")
        lines += [f"looks like: {one}" for one in self.instead]
        lines += [f"would have been found with probability {1 - MISSED:g}: {one}" for one in self.would_have_shown]
        lines += [f"epsilon at delta {self.delta} of {row.batches}: {row.text}" for row in self.epsilons]
        return "\n".join(lines)

    @property
    def drawn(self) -> str:
        """What was drawn, in words."""
        return f"{self.batches} batches of {self.records} records, in {self.passes} pass{'es'[: 2 * (self.passes > 1)]}"


def audit_batches(
    drawn: DrawnBatches,
    claim: BatchClaim,
    *,
    error_probability: float,
    training: Training | None = None,
    seed: int | None = None,
) -> SamplerAudit:
    """Test how batches are made against what was drawn.

    Every test is of a count, with an exact binomial tail or a bound of Chernoff, and may spend an equal part of the
    error probability; within a test of several counts each has an equal part of that.

    Args:
        drawn: the batches.
        claim: how they are said to be made.
        error_probability: in (0, 1): the claim is rejected with at most this probability if it holds.
        training: whose epsilon is wanted.
        seed: for the report.

    Raises:
        InvalidValue: an error probability out of range; a claim about more records than there are.

    >>> from dpverdict.audit.batches.claim import read_claim
    >>> from dpverdict.audit.batches.drawn import draw_batches
    >>> loader = [list(range(k, k + 10)) for k in range(0, 100, 10)]
    >>> drawn = draw_batches(lambda: loader, batches=50, records=100, seed=1)
    >>> found = audit_batches(drawn, read_claim("shuffle", None, "10"), error_probability=1e-6)
    >>> found.refuted, found.instead[0]
    (True, 'the same batches in every pass, each record in one of them')
    """
    if not 0 < error_probability < 1:
        raise InvalidValue("error_probability", error_probability, "in (0, 1)", "give for example 1e-6")
    if claim.size > drawn.records:
        raise InvalidValue("size", claim.size, f"at most {drawn.records}, the number of records", "correct it")
    tests = tests_of(claim, drawn)
    findings, families = _rejecting(tests, error_probability)
    instead = _described(claim, drawn, findings, error_probability) if findings else ()
    return SamplerAudit(
        claim=claim.words,
        records=drawn.records,
        batches=len(drawn.batches),
        passes=len(drawn.passes),
        error_probability=error_probability,
        tests=len(tests),
        findings=findings,
        instead=instead,
        would_have_shown=() if findings else tuple(_would_have_shown(tests, error_probability / families)),
        epsilons=()
        if training is None
        else tuple(_epsilons(claim, drawn, training, error_probability, bool(findings))),
        seed=seed,
        delta=None if training is None else exact_text(training.delta),
    )


def _rejecting(tests: tuple[CountTest, ...], error_probability: float) -> tuple[tuple[Finding, ...], int]:
    """The tests that reject; and among how many that can err the error probability is divided."""
    families = max(1, sum(test.probability != 0 for test in tests))
    adjusted = [(test, min(1.0, test.p_value * families)) for test in tests]
    found = sorted((one for one in adjusted if one[1] <= error_probability), key=lambda one: one[1])
    return (
        tuple(
            Finding(
                name=test.name,
                words=test.words,
                observed=test.observed,
                trials=test.trials,
                expected=None if math.isnan(test.probability) else test.trials * test.probability,
                p_value=p_value,
            )
            for test, p_value in found
        ),
        families,
    )


def _would_have_shown(tests: tuple[CountTest, ...], level: float) -> list[str]:
    """Of tests of independent trials, the rate that would have been found."""
    said = []
    for test in tests:
        if test.name in ("rate", "each record"):
            rate = detectable(test.trials, test.probability, level / test.among)
            what = {
                "rate": "records in batches at a rate of",
                "each record": "a record in batches at a rate of",
            }[test.name]
            said.append(f"{what} {rate:.4g} or more, in place of {test.probability:.4g}")
    return said


# what it is instead ---------------------------------------------------------------------------------------------------


def _described(
    claim: BatchClaim, drawn: DrawnBatches, findings: tuple[Finding, ...], error_probability: float
) -> tuple[str, ...]:
    """What the batches look like: facts of these batches, and the other ways that no test rejects."""
    said = []
    if drawn.repeats:
        said.append(f"records drawn with replacement: {drawn.repeats} batches hold a record more than once")
    if _repeated_passes(drawn):
        once = ", each record in one of them" if _at_most_once(drawn) else ""
        said.append(f"the same batches in every pass{once}")
        if all(bool(np.all(np.diff(np.concatenate(one.batches)) > 0)) for one in drawn.whole):
            said.append("records in their own order, not shuffled")
    elif _at_most_once(drawn):
        left = drawn.records - len(np.concatenate(drawn.whole[0].batches))
        rest = ", the last partial batch dropped" if left else ""
        sizes = {len(batch) for one in drawn.whole for batch in one.batches[:-1]}
        if len(sizes) == 1:
            said.append(f"shuffled in each pass, batches of {sizes.pop()}{rest}")
    elif len(set(drawn.sizes.tolist())) == 1 and claim.making != "fixed-size":
        said.append(f"batches of {drawn.sizes[0]} records each")
    said += [
        f"no test rejects {one.words}" for one in _candidates(claim, drawn) if _holds(one, drawn, error_probability)
    ]
    if not drawn.repeats and {one.name for one in findings} & {"each record", "favourites", "blocks of records"}:
        lower, upper = _rates(drawn, error_probability)
        if lower.max() > upper.min():
            said.append(
                f"rates that differ: some record's is at least {lower.max():.4g}, some at most {upper.min():.4g}"
            )
    return tuple(said) or ("none of the ways that are known here",)


def _candidates(claim: BatchClaim, drawn: DrawnBatches) -> list[BatchClaim]:
    """Other ways, with parameters taken from what was drawn."""
    n, sizes = drawn.records, drawn.sizes
    found = []
    if drawn.length and int(sizes[0]):
        found.append(BatchClaim("shuffle", size=int(sizes[0])))
        found.append(BatchClaim("balls-in-bins", rate=Fraction(1, drawn.length)))
    if int(sizes[0]) and len(set(sizes.tolist())) == 1 and int(sizes[0]) <= n:
        found.append(BatchClaim("fixed-size", size=int(sizes[0])))
    rate = Fraction(int(sizes.sum()), n * len(sizes)).limit_denominator(10**6)
    if 0 < rate < 1:
        found.append(BatchClaim("poisson", rate=rate))
    return [one for one in found if one != claim]


def _holds(claim: BatchClaim, drawn: DrawnBatches, error_probability: float) -> bool:
    return not _rejecting(tests_of(claim, drawn), error_probability)[0]


def _repeated_passes(drawn: DrawnBatches) -> bool:
    """Whether every pass has the batches of the first, in the same order."""
    if len(drawn.whole) < 2 or not drawn.length:
        return False
    first = [np.sort(batch) for batch in drawn.whole[0].batches]
    return all(
        np.array_equal(mine, np.sort(batch))
        for one in drawn.whole[1:]
        for mine, batch in zip(first, one.batches, strict=True)
    )


def _at_most_once(drawn: DrawnBatches) -> bool:
    """Whether no pass has a record twice, where a pass covers most of them."""
    whole = drawn.whole
    joined = [np.concatenate(one.batches) for one in whole]
    once = all(len(np.unique(one)) == len(one) for one in joined)
    return bool(whole) and once and all(2 * len(one) > drawn.records for one in joined)


def _rates(drawn: DrawnBatches, error_probability: float) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Bounds on the part of the batches that each record is in, for all records at once; shape (n,) each."""
    number = len(drawn.batches)
    share = error_probability / (2 * drawn.records)
    counts = np.minimum(drawn.counts, number)
    return proportion_lower(counts, number, share), proportion_upper(counts, number, share)


def _epsilons(
    claim: BatchClaim, drawn: DrawnBatches, training: Training, error_probability: float, refuted: bool
) -> list[EpsilonRow]:
    """That of the claim, and of what was found."""
    lower, upper = training.claimed(claim, drawn.records)
    rows = [EpsilonRow(batches="the claim", lower=lower, upper=upper)]
    if not refuted:
        return rows
    if drawn.length and _at_most_once(drawn):
        length = drawn.length
        if _repeated_passes(drawn):
            lower, upper = training.known(-(-training.steps // length))
            rows.append(EpsilonRow(batches="the batches of every pass, if they are known", lower=lower, upper=upper))
        elif _holds(balls := BatchClaim("balls-in-bins", rate=Fraction(1, length)), drawn, error_probability):
            lower, upper = training.balls_in_bins(length)
            rows.append(EpsilonRow(batches=balls.words, lower=lower, upper=upper))
        else:
            lower, upper = training.shuffled(length)
            rows.append(
                EpsilonRow(batches=f"records shuffled in each pass, {length} batches", lower=lower, upper=upper)
            )
    elif _holds(fixed := BatchClaim("fixed-size", size=int(drawn.sizes.max())), drawn, error_probability):
        lower, upper = training.fixed_size(Fraction(fixed.size, drawn.records))
        rows.append(EpsilonRow(batches=f"{fixed.words}, a record zeroed out", lower=lower, upper=upper))
    elif not drawn.repeats:
        lowest, highest = _rates(drawn, error_probability)
        place = int(np.argmax(lowest))
        rates = f"{lowest[place]:.4g} and {highest[place]:.4g}"
        ends = [
            training.poisson(_short(float(rate), up=up))
            for rate, up in ((lowest[place], False), (highest[place], True))
        ]
        words = f"Poisson sampling of record {place}, drawn most often, at its rate, between {rates}"
        rows.append(EpsilonRow(batches=words, lower=ends[0][0], upper=ends[1][1]))
    return rows


def _short(rate: float, *, up: bool) -> Fraction:
    """A rate with few digits, away from the middle."""
    scaled = rate * 10**9
    return min(Fraction(1), Fraction(math.ceil(scaled) if up else math.floor(scaled), 10**9))
